/*
 * For the static analyser alone, which reads one file at a time: what it cannot see from there is that these functions
 * always return -1. Without it every `return cordon_fail(…)` looks like a success that left its out-parameter unset. Files
 * that define one of these functions are read without it.
 */
#include "base/error.h"
#include "policy/source.h"

#define cordon_fail(...) ((void)cordon_fail(__VA_ARGS__), -1)
#define fail_hint(...) ((void)fail_hint(__VA_ARGS__), -1)
#define fail_step(...) ((void)fail_step(__VA_ARGS__), -1)
#define fail_memory(...) ((void)fail_memory(__VA_ARGS__), -1)
#define source_fail(...) ((void)source_fail(__VA_ARGS__), -1)
