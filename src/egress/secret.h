/*
 * Secrets: values that are fetched when they are first needed and kept in a vault, and how they get into a request. Which requests
 * those are is decided before (inspect_request.c). Runs in the egress process.
 */
#ifndef EGRESS_SECRET_H
#define EGRESS_SECRET_H

#include "egress/buffer.h"
#include "egress/http.h"
#include "egress/mask.h"
#include "net/config.h"
#include "net/event.h"

struct secrets;

struct secret_wait {
	struct secret_wait *next, *prev; /* NULL: does not wait */
	void (*ready)(struct secret_wait *wait);
};

/* `want` asks whoever has the values; the answer comes back through secrets_answer(). config must outlive it. NULL: no memory. */
struct secrets *secrets_new(const struct net_config *config, void (*want)(void *arg, const char *name), void *arg);
void secrets_free(struct secrets *s);
/* Checks the value and wakes all who wait (each asks again). Answers that nobody asked for are dropped. */
void secrets_answer(struct secrets *s, const struct net_secret_value *answer);

/* One secret that a request may use. */
struct secret_use {
	const struct net_secret *secret;
	const char *value; /* not NUL-terminated; good until the loop goes on */
	size_t len;
};
/* 0 and *ret; -EAGAIN: it was asked for, wait with secrets_wait(); -EACCES: it cannot be had, *ret_why says why. */
int secrets_get(struct secrets *s, const char *name, uint64_t now_us, struct secret_use *ret, const char **ret_why);
void secrets_wait(struct secrets *s, struct secret_wait *wait);
void secrets_forget(struct secret_wait *wait);
/* For responses: every value that was fetched, and the ones before them. A reference, also where there is none
 * yet; NULL: memory ran out (*ret_failed). */
struct mask *secrets_mask(struct secrets *s, bool *ret_failed);

/* ---- requests (secret_apply.c) ---- */

/* A field that carries credentials by its name, whatever is in it. */
bool secret_is_credential(const struct http_field *field);
/* The placeholder is in there; for fields also inside of "Basic" credentials. */
bool secret_in_text(const struct net_secret *secret, struct http_span text);
bool secret_in_field(const struct net_secret *secret, const struct http_field *field);
/* The name of the header that the secret is configured to set is the field's. */
bool secret_sets_field(const struct net_secret *secret, const struct http_field *field);

/* Writes text with every placeholder replaced; in a target the value is percent-encoded, so that it stays one piece of it. */
void secret_add_target(struct buffer *to, struct http_span target, const struct secret_use *uses, size_t n);
void secret_add_value(struct buffer *to, const struct http_field *field, const struct secret_use *uses, size_t n);
/* The configured header as a line. */
void secret_add_header(struct buffer *to, const struct secret_use *use);

#endif
