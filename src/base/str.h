/*
 * Strings: ownership helpers, a growing buffer and NULL-terminated vectors. A buffer remembers that memory ran
 * out instead of failing at each append: ask once at the end. Any process, any privilege.
 */
#ifndef BASE_STR_H
#define BASE_STR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void str_free_p(void *p); /* for auto_free: p is a pointer to the pointer */
#define auto_free __attribute__((cleanup(str_free_p)))
#define STEAL(p)                                    \
	({                                          \
		__typeof__(p) *steal_p_ = &(p);     \
		__typeof__(p) steal_v_ = *steal_p_; \
		*steal_p_ = NULL;                   \
		steal_v_;                           \
	})
#define ARRAY_LEN(a) (sizeof(a) / sizeof(*(a)))

struct str {
	char *data; /* NUL-terminated once anything was added, else NULL */
	size_t len, cap;
	bool failed; /* memory ran out somewhere */
};
void str_add(struct str *s, const char *text);
void str_add_bytes(struct str *s, const void *data, size_t len);
void str_add_char(struct str *s, char c);
__attribute__((format(printf, 2, 3))) void str_addf(struct str *s, const char *fmt, ...);
__attribute__((format(printf, 2, 0))) void str_addv(struct str *s, const char *fmt, va_list ap);
/* Hands the text over (never NULL unless memory ran out) and resets the buffer. */
char *str_take(struct str *s);
void str_done(struct str *s);
#define auto_str __attribute__((cleanup(str_done)))

__attribute__((format(printf, 1, 2))) char *str_printf(const char *fmt, ...); /* malloc'd or NULL */
bool str_starts(const char *s, const char *prefix);
bool str_ends(const char *s, const char *suffix);
/* Edit distance for "did you mean", bounded: more than `max` is max+1. */
size_t str_distance(const char *a, const char *b, size_t max);

/* A NULL-terminated vector of malloc'd strings; NULL is an empty one. */
struct strv {
	char **v;
	size_t n;
};
int strv_add(struct strv *sv, const char *s);            /* copies; 0 or -ENOMEM */
int strv_add_take(struct strv *sv, char *s);             /* takes s, also on failure; NULL s is -ENOMEM */
int strv_copy(struct strv *to, const struct strv *from); /* appends */
bool strv_has(const struct strv *sv, const char *s);
void strv_done(struct strv *sv);

/* "512 MiB", "1.5 GiB": for people. buf holds at least 32. */
const char *str_size(uint64_t bytes, char *buf);

/* The character that text begins with, in UTF-8: how many bytes it has, or 0 where it is none (overlong forms, surrogates and what is beyond U+10FFFF
 * included). At least one byte is there. */
size_t str_decode(const char *text, size_t left, uint32_t *ret_char);

#endif
