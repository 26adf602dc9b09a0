/*
 * A JSON writer over struct str: commas and escapes are its business. Invalid UTF-8 in strings becomes U+FFFD;
 * where bytes must survive, json_bytes() says `encoding: base64`. Any process, any privilege.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "base/str.h"

struct json {
	struct str out;
	unsigned depth;
	bool comma[32]; /* a value stands before the next one at this depth */
	bool pretty;
};
/* key is NULL inside arrays and at the top. */
void json_object(struct json *j, const char *key);
void json_array(struct json *j, const char *key);
void json_end_object(struct json *j);
void json_end_array(struct json *j);
void json_string(struct json *j, const char *key, const char *value); /* NULL value: null */
void json_string_len(struct json *j, const char *key, const char *value, size_t len);
void json_uint(struct json *j, const char *key, uint64_t value);
void json_int(struct json *j, const char *key, int64_t value);
void json_double(struct json *j, const char *key, double value); /* three decimals */
void json_bool(struct json *j, const char *key, bool value);
void json_null(struct json *j, const char *key);
void json_strings(struct json *j, const char *key, const char *const *values); /* NULL-terminated, or NULL: [] */
bool json_is_utf8(const char *data, size_t len);
void json_base64(struct json *j, const char *key, const void *data, size_t len);
char *json_take(struct json *j); /* malloc'd, or NULL when memory ran out */

#endif
