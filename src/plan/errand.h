/* A driver of another engine (stream/engine.h) on an errand: it says something, or cleans up, and ends. Runs in the caller or the keeper. */
#ifndef PLAN_ERRAND_H
#define PLAN_ERRAND_H

#include <stdint.h>

/* Runs {driver, engine, what, arg} with the caller's environment; arg may be NULL. 0 where it ended well, else -1. *ret_said, where wanted,
 * is malloc'd: up to a few lines of what it said, or NULL. */
int engine_errand(const char *driver, const char *engine, const char *what, const char *arg, unsigned timeout_ms,
		  char **ret_said);

#endif
