/* Strings: see str.h. */
#include "base/str.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void str_free_p(void *p)
{
	void **pp = p;

	free(*pp);
	*pp = NULL;
}

static bool str_room(struct str *s, size_t more)
{
	size_t cap = s->cap ? s->cap : 64;
	char *data;

	if (s->failed || more > SIZE_MAX / 4 - s->len) {
		s->failed = true;
		return false;
	}
	if (s->data && s->len + more + 1 <= s->cap)
		return true;
	while (cap < s->len + more + 1)
		cap *= 2;
	data = realloc(s->data, cap);
	if (!data) {
		s->failed = true;
		return false;
	}
	s->data = data;
	s->cap = cap;
	return true;
}

void str_add_bytes(struct str *s, const void *data, size_t len)
{
	if (!str_room(s, len))
		return;
	if (len)
		memcpy(s->data + s->len, data, len);
	s->len += len;
	s->data[s->len] = '\0';
}

void str_add(struct str *s, const char *text)
{
	str_add_bytes(s, text, strlen(text));
}

void str_add_char(struct str *s, char c)
{
	str_add_bytes(s, &c, 1);
}

void str_addv(struct str *s, const char *fmt, va_list ap)
{
	va_list again;
	int n;

	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	if (n < 0 || !str_room(s, (size_t)n)) {
		s->failed = true;
		return;
	}
	vsnprintf(s->data + s->len, (size_t)n + 1, fmt, ap);
	s->len += (size_t)n;
}

void str_addf(struct str *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	str_addv(s, fmt, ap);
	va_end(ap);
}

char *str_take(struct str *s)
{
	char *data;

	str_add_bytes(s, "", 0);
	data = s->failed ? NULL : STEAL(s->data);
	str_done(s);
	return data;
}

void str_done(struct str *s)
{
	free(s->data);
	*s = (struct str){ 0 };
}

char *str_printf(const char *fmt, ...)
{
	auto_str struct str s = { 0 };
	va_list ap;

	va_start(ap, fmt);
	str_addv(&s, fmt, ap);
	va_end(ap);
	return str_take(&s);
}

bool str_starts(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

bool str_ends(const char *s, const char *suffix)
{
	size_t n = strlen(s), m = strlen(suffix);

	return n >= m && strcmp(s + n - m, suffix) == 0;
}

size_t str_distance(const char *a, const char *b, size_t max)
{
	size_t n = strlen(a), m = strlen(b), row[64];

	if (m >= ARRAY_LEN(row) || n >= ARRAY_LEN(row))
		return max + 1;
	for (size_t j = 0; j <= m; j++)
		row[j] = j;
	for (size_t i = 1; i <= n; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= m; j++) {
			size_t up = row[j], best = diagonal + (a[i - 1] != b[j - 1]);

			best = up + 1 < best ? up + 1 : best;
			best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
			diagonal = up;
			row[j] = best;
		}
	}
	return row[m] > max ? max + 1 : row[m];
}

int strv_add_take(struct strv *sv, char *s)
{
	char **v;

	if (!s)
		return -ENOMEM;
	v = realloc(sv->v, (sv->n + 2) * sizeof(*v));
	if (!v) {
		free(s);
		return -ENOMEM;
	}
	sv->v = v;
	v[sv->n++] = s;
	v[sv->n] = NULL;
	return 0;
}

int strv_add(struct strv *sv, const char *s)
{
	return strv_add_take(sv, strdup(s));
}

int strv_copy(struct strv *to, const struct strv *from)
{
	for (size_t i = 0; i < from->n; i++)
		if (strv_add(to, from->v[i]) < 0)
			return -ENOMEM;
	return 0;
}

bool strv_has(const struct strv *sv, const char *s)
{
	for (size_t i = 0; i < sv->n; i++)
		if (strcmp(sv->v[i], s) == 0)
			return true;
	return false;
}

void strv_done(struct strv *sv)
{
	for (size_t i = 0; i < sv->n; i++)
		free(sv->v[i]);
	free(sv->v);
	*sv = (struct strv){ 0 };
}

const char *str_size(uint64_t bytes, char *buf)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	double value = (double)bytes;
	size_t unit = 0;

	while (value >= 1024 && unit + 1 < ARRAY_LEN(units)) {
		value /= 1024;
		unit++;
	}
	snprintf(buf, 32, unit && value < 10 ? "%.1f %s" : "%.0f %s", value, units[unit]);
	return buf;
}

size_t str_decode(const char *text, size_t left, uint32_t *ret_char)
{
	const unsigned char *p = (const unsigned char *)text;
	uint32_t c;
	size_t n;

	*ret_char = p[0];
	if (p[0] < 0x80)
		return 1;
	n = p[0] >= 0xf0 && p[0] < 0xf5 ? 4 : p[0] >= 0xe0 && p[0] < 0xf0 ? 3 : p[0] >= 0xc2 && p[0] < 0xe0 ? 2 : 0;
	if (!n || n > left)
		return 0;
	c = p[0] & (0xffu >> (n + 1));
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (p[i] & 0x3fu);
	}
	if ((n == 3 && c < 0x800) || (n == 4 && (c < 0x10000 || c > 0x10ffff)) || (c >= 0xd800 && c < 0xe000))
		return 0;
	*ret_char = c;
	return n;
}
