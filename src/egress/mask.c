/*
 * Masking: see mask.h.
 *
 * Theory of operation: all patterns are searched at once with Wu and Manber's shift table: the two bytes at the end of a window as long as the
 * shortest pattern say how far it may move on. Text without a match is skipped in strides of nearly that length. A byte is overwritten
 * only when the window has passed it, because a match that begins later may need it.
 *
 * Base64 of the value inside something longer: which characters depend on the value alone is known for each of its three alignments; these are
 * the patterns. At either end at most one character with some bits of the value stays as it was.
 *
 * The patterns are as secret as the values: they are kept in a vault. The egress process.
 */
#include "egress/mask.h"

#include "egress/vault.h"

#include <stdint.h>
#include <string.h>

enum { SLOTS = 4096, FORMS = 16, CORE_MIN = 6 };

struct pattern {
	uint32_t at, len; /* in mask.text */
};

struct mask {
	size_t refs, size; /* size: of the whole allocation */
	size_t shortest, longest, count, used;
	uint16_t shift[SLOTS];
	struct pattern *patterns; /* behind it, and then: */
	char *text;
};

/* ---- the forms of a value ---- */

struct writer {
	struct mask *m;
	size_t max, start;
};

static void put(struct writer *w, char c)
{
	if (w->m->used < w->max)
		w->m->text[w->m->used++] = c;
}

/* Keeps what was put since the last one, unless it is too short or there already. */
static void keep(struct writer *w, size_t min)
{
	struct mask *m = w->m;
	size_t len = m->used - w->start;
	bool fresh = len >= min;

	for (size_t i = 0; fresh && i < m->count; i++)
		fresh = m->patterns[i].len != len || memcmp(m->text + m->patterns[i].at, m->text + w->start, len) != 0;
	if (fresh) {
		m->patterns[m->count++] = (struct pattern){ (uint32_t)w->start, (uint32_t)len };
		m->shortest = len < m->shortest ? len : m->shortest;
		m->longest = len > m->longest ? len : m->longest;
	} else {
		m->used = w->start;
	}
	w->start = m->used;
}

static bool is_unreserved(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || strchr("-._~", c);
}

static void put_percent(struct writer *w, const struct mask_value *v, const char *digits, bool keep_slash)
{
	for (size_t i = 0; i < v->len; i++) {
		unsigned char c = (unsigned char)v->data[i];

		if (is_unreserved((char)c) || (keep_slash && c == '/')) {
			put(w, (char)c);
			continue;
		}
		put(w, '%');
		put(w, digits[c >> 4]);
		put(w, digits[c & 15]);
	}
	keep(w, 1);
}

static void put_json(struct writer *w, const struct mask_value *v, const char *special)
{
	for (size_t i = 0; i < v->len; i++) {
		if (strchr(special, v->data[i]))
			put(w, '\\');
		put(w, v->data[i]);
	}
	keep(w, 1);
}

/* As encoders write it that want JSON to stand in a page as well: these characters by their number. */
static void put_json_numbers(struct writer *w, const struct mask_value *v, const char *special, const char *digits)
{
	for (size_t i = 0; i < v->len; i++) {
		unsigned char c = (unsigned char)v->data[i];

		if (strchr(special, c)) {
			for (const char *p = "\\u00"; *p; p++)
				put(w, *p);
			put(w, digits[c >> 4]);
			put(w, digits[c & 15]);
			continue;
		}
		if (c == '"' || c == '\\')
			put(w, '\\');
		put(w, (char)c);
	}
	keep(w, 1);
}

/* The value begins `skip` bytes into a group of three. */
static void put_base64(struct writer *w, const struct mask_value *v, const char *tail, size_t skip)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
	size_t first = (8 * skip + 5) / 6, last = 8 * (skip + v->len) / 6;

	for (size_t i = first; i < last; i++) {
		size_t bit = 6 * i - 8 * skip, byte = bit / 8;
		unsigned two = (unsigned)(unsigned char)v->data[byte] << 8;
		unsigned six;

		if (byte + 1 < v->len)
			two |= (unsigned char)v->data[byte + 1];
		six = two >> (10 - bit % 8) & 63;
		put(w, six < 62 ? digits[six] : tail[six - 62]);
	}
	keep(w, CORE_MIN);
}

static void add_value(struct writer *w, const struct mask_value *v)
{
	for (size_t i = 0; i < v->len; i++)
		put(w, v->data[i]);
	keep(w, 1);
	put_percent(w, v, "0123456789ABCDEF", false);
	put_percent(w, v, "0123456789abcdef", false);
	put_percent(w, v, "0123456789ABCDEF", true);
	put_percent(w, v, "0123456789abcdef", true);
	put_json(w, v, "\"\\");
	put_json(w, v, "\"\\/");
	put_json_numbers(w, v, "<>&", "0123456789abcdef");
	put_json_numbers(w, v, "<>&='", "0123456789abcdef");
	put_json_numbers(w, v, "<>&'\"+`", "0123456789ABCDEF");
	for (size_t skip = 0; skip < 3; skip++) {
		put_base64(w, v, "+/", skip);
		put_base64(w, v, "-_", skip);
	}
}

/* ---- the table ---- */

static size_t slot(const struct mask *m, const char *end)
{
	unsigned char last = (unsigned char)end[-1];

	if (m->shortest < 2)
		return last;
	return ((size_t)(unsigned char)end[-2] << 4 ^ last) & (SLOTS - 1);
}

static void build_table(struct mask *m)
{
	size_t block = m->shortest < 2 ? 1 : 2, stride = m->shortest - block + 1;

	for (size_t i = 0; i < SLOTS; i++)
		m->shift[i] = (uint16_t)(stride < UINT16_MAX ? stride : UINT16_MAX);
	for (size_t i = 0; i < m->count; i++) {
		const char *text = m->text + m->patterns[i].at;

		for (size_t end = block; end <= m->shortest; end++) {
			uint16_t *shift = &m->shift[slot(m, text + end)];

			if (m->shortest - end < *shift)
				*shift = (uint16_t)(m->shortest - end);
		}
	}
}

struct mask *mask_new(const struct mask_value *values, size_t n)
{
	size_t text = 0, size;
	struct writer w = { 0 };
	struct mask *m;

	for (size_t i = 0; i < n; i++)
		/* the value, four times three, twice two, three times six, six times four thirds */
		text += values[i].len * 48 + 64;
	size = sizeof(*m) + n * FORMS * sizeof(struct pattern) + text;
	m = vault_alloc(size);
	if (!m)
		return NULL;
	m->refs = 1;
	m->size = size;
	m->shortest = SIZE_MAX;
	m->patterns = (struct pattern *)(m + 1);
	m->text = (char *)(m->patterns + n * FORMS);
	w = (struct writer){ .m = m, .max = text };
	for (size_t i = 0; i < n; i++) {
		if (values[i].len)
			add_value(&w, &values[i]);
	}
	if (m->count)
		build_table(m);
	return m;
}

struct mask *mask_ref(struct mask *m)
{
	if (m)
		m->refs++;
	return m;
}

void mask_unref(struct mask *m)
{
	if (m && --m->refs == 0)
		vault_free(m, m->size);
}

size_t mask_longest(const struct mask *m)
{
	return m->longest;
}

/* ---- the search ---- */

/* The longest pattern that stands at data, or 0; *ret_more: one may, if more bytes came. */
static size_t match_at(const struct mask *m, const char *data, size_t len, bool *ret_more)
{
	size_t found = 0;

	for (size_t i = 0; i < m->count; i++) {
		size_t want = m->patterns[i].len, have = want < len ? want : len;

		if (memcmp(data, m->text + m->patterns[i].at, have) != 0)
			continue;
		if (have < want)
			*ret_more = true;
		else if (want > found)
			found = want;
	}
	return found;
}

/* Overwrites what is covered of [*done, to). */
static void cover_up(char *data, size_t *done, size_t cover, size_t to)
{
	size_t until = cover < to ? cover : to;

	if (*done < until)
		memset(data + *done, '*', until - *done);
	if (*done < to)
		*done = to;
}

size_t mask_pass(const struct mask *m, struct mask_flow *flow, char *data, size_t len, bool end)
{
	size_t at = 0, done = 0, cover = flow->cover;
	bool more = false;

	if (!m->count)
		return len;
	while (at < len) {
		size_t found;

		if (len - at >= m->shortest) {
			size_t shift = m->shift[slot(m, data + at + m->shortest)];

			if (shift) {
				at += shift;
				continue;
			}
		}
		/* Here, or (near the end of the data) anywhere from here on, one may stand or begin. */
		cover_up(data, &done, cover, at);
		found = match_at(m, data + at, len - at, &more);
		if (found && at + found > cover)
			cover = at + found;
		if (more && !end)
			break;
		at++;
	}
	if (at > len)
		at = len;
	cover_up(data, &done, cover, at);
	flow->cover = cover > at ? cover - at : 0;
	return at;
}
