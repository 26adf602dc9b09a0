/* Numbers with units: see unit.h. One table of units; one walk over the text. Pure. */
#include "policy/unit.h"

#include "policy/pattern.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Thousandths of a number take ten bits more than the number. */
typedef unsigned __int128 wide;

struct unit {
	const char *name;
	uint64_t factor;
};

static const struct unit sizes[] = {
	{ "", 1 },
	{ "K", 1ULL << 10 },
	{ "M", 1ULL << 20 },
	{ "G", 1ULL << 30 },
	{ "T", 1ULL << 40 },
	{ "KiB", 1ULL << 10 },
	{ "MiB", 1ULL << 20 },
	{ "GiB", 1ULL << 30 },
	{ "TiB", 1ULL << 40 },
	{ NULL, 0 },
};
static const struct unit rates[] = {
	{ "/s", 1 },
	{ "K/s", 1ULL << 10 },
	{ "M/s", 1ULL << 20 },
	{ "G/s", 1ULL << 30 },
	{ "T/s", 1ULL << 40 },
	{ "KiB/s", 1ULL << 10 },
	{ "MiB/s", 1ULL << 20 },
	{ "GiB/s", 1ULL << 30 },
	{ "TiB/s", 1ULL << 40 },
	{ NULL, 0 },
};
static const struct unit durations[] = {
	{ "ms", 1 }, { "s", 1000 }, { "m", 60000 }, { "h", 3600000 }, { NULL, 0 },
};
static const struct unit counts[] = {
	{ "", 1 },
	{ "k", 1000 },
	{ "m", 1000000 },
	{ NULL, 0 },
};
static const struct unit cpus[] = {
	{ "", 1000 },
	{ NULL, 0 },
};

/* What a type of number is called, how it is written, and what to write instead of something else. */
static const struct kind {
	const struct unit *units;
	const char *name, *whole, *hint;
} kinds[] = {
	[TYPE_SIZE] = { sizes, "a size", "a whole number of bytes",
			"K, M, G and T are powers of 1024 (512M, also 512MiB); a bare number is bytes" },
	[TYPE_RATE] = { rates, "a rate", "a whole number of bytes per second", "write a size and '/s', as in 50M/s" },
	[TYPE_DURATION] = { durations, "a time", "a whole number of milliseconds",
			    "write ms, s, m or h behind it, as in 500ms, 60s or 5m" },
	[TYPE_COUNT] = { counts, "a number", "a whole number", "k is 1000 and m is 1000000, as in 20k" },
	[TYPE_CPUS] = { cpus, "a number of CPUs", "a number of thousandths",
			"write a decimal number, as in 1.5 or 0.25" },
};

static const struct kind *kind_of(enum option_type type)
{
	return (size_t)type < ARRAY_LEN(kinds) ? &kinds[type] : NULL;
}

__attribute__((format(printf, 2, 3))) static int fault_set(struct unit_fault *fault, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(fault->message, sizeof(fault->message), fmt, ap);
	va_end(ap);
	return -1;
}

/* The digits and up to three decimals, in thousandths; *end is what follows. 0, -1 no number, -2 too large. */
static int parse_milli(const char *text, wide *ret, const char **end)
{
	const char *p = text;
	wide n = 0;
	unsigned scale = 1000;

	if (*p < '0' || *p > '9' || (*p == '0' && p[1] >= '0' && p[1] <= '9'))
		return -1;
	for (; *p >= '0' && *p <= '9'; p++)
		if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, (unsigned)(*p - '0'), &n))
			return -2;
	if (__builtin_mul_overflow(n, 1000, &n))
		return -2;
	if (*p == '.') {
		for (p++; *p >= '0' && *p <= '9'; p++) {
			scale /= 10;
			if (!scale)
				return -1;
			if (__builtin_add_overflow(n, (unsigned)(*p - '0') * scale, &n))
				return -2;
		}
		if (scale == 1000)
			return -1;
	}
	*ret = n;
	*end = p;
	return 0;
}

/* A unit that differs in case only, or that people write for one of ours: for the hint. */
static const char *near_unit(const struct kind *kind, const char *name)
{
	static const char *const same[][2] = {
		{ "kb", "K" },    { "mb", "M" },   { "gb", "G" },     { "tb", "T" },      { "b", "" },
		{ "bytes", "" },  { "sec", "s" },  { "secs", "s" },   { "second", "s" },  { "seconds", "s" },
		{ "min", "m" },   { "mins", "m" }, { "minute", "m" }, { "minutes", "m" }, { "hour", "h" },
		{ "hours", "h" }, { "hr", "h" },   { "msec", "ms" },
	};

	for (const struct unit *u = kind->units; u->name; u++)
		if (strcasecmp(u->name, name) == 0)
			return u->name;
	for (size_t i = 0; i < ARRAY_LEN(same); i++)
		for (const struct unit *u = kind->units; u->name; u++)
			if (strcasecmp(same[i][0], name) == 0 && strcmp(same[i][1], u->name) == 0)
				return u->name;
	return NULL;
}

static int wrong_unit(const struct kind *kind, const char *text, const char *unit, struct unit_fault *fault)
{
	int digits = (int)(unit - text);
	const char *near = near_unit(kind, unit);

	if (kind == &kinds[TYPE_DURATION] && !*unit) {
		snprintf(fault->hint, sizeof(fault->hint), "for seconds write %ss", text);
		return fault_set(fault, "'%s' has no unit", text);
	}
	if (kind == &kinds[TYPE_RATE] && !strstr(unit, "/s"))
		return fault_set(fault, "'%.60s' is not a rate", text);
	if (near)
		snprintf(fault->hint, sizeof(fault->hint), "did you mean %.*s%s?", digits, text, near);
	return fault_set(fault, "unknown unit '%.40s' in '%.60s'", unit, text);
}

int unit_parse(enum option_type type, const char *text, uint64_t *ret_num, struct unit_fault *fault)
{
	const struct kind *kind = kind_of(type);
	const struct unit *unit;
	const char *end = text;
	wide milli = 0, product;
	int status;

	if (!kind)
		return fault_set(fault, "not a number");
	snprintf(fault->hint, sizeof(fault->hint), "%s", kind->hint);
	if (*text == '-')
		return fault_set(fault, "'%.60s' is negative", text);
	status = parse_milli(text, &milli, &end);
	if (status == -1)
		return fault_set(fault, "'%.60s' is not %s", text, kind->name);
	if (status == -2)
		return fault_set(fault, "'%.60s' is too large", text);
	for (unit = kind->units; unit->name && strcmp(unit->name, end) != 0; unit++)
		;
	if (!unit->name)
		return wrong_unit(kind, text, end, fault);
	if (__builtin_mul_overflow(milli, unit->factor, &product) || product / 1000 > UINT64_MAX)
		return fault_set(fault, "'%.60s' is too large", text);
	if (product % 1000)
		return fault_set(fault, "'%.60s' is not %s", text, kind->whole);
	*ret_num = (uint64_t)(product / 1000);
	return 0;
}

/* The largest of these units that divides num, from `units` in rising order. */
static const struct unit *best_unit(const struct unit *units, size_t n, uint64_t num)
{
	const struct unit *best = units;

	for (size_t i = 1; i < n; i++)
		if (num && num % units[i].factor == 0)
			best = &units[i];
	return best;
}

/* Few people think of 60s as 1m: a larger unit only from two of it on. */
static const struct unit *best_duration(uint64_t ms)
{
	const struct unit *best = &durations[1];

	if (ms % 1000)
		return &durations[0];
	for (size_t i = 2; durations[i].name; i++)
		if (ms >= 2 * durations[i].factor && ms % durations[i].factor == 0)
			best = &durations[i];
	return best;
}

const char *unit_text(enum option_type type, uint64_t num, char *buf, size_t size)
{
	const struct unit *unit = &counts[0];

	if (type == TYPE_CPUS) {
		int digits = num % 100 == 0 ? 1 : num % 10 == 0 ? 2 : 3;
		uint64_t fraction = num % 1000 / (digits == 1 ? 100 : digits == 2 ? 10 : 1);

		snprintf(buf, size, "%" PRIu64 ".%0*" PRIu64, num / 1000, digits, fraction);
		return buf;
	}
	if (type == TYPE_SIZE)
		unit = best_unit(sizes, 5, num);
	else if (type == TYPE_RATE)
		unit = best_unit(rates, 5, num);
	else if (type == TYPE_DURATION)
		unit = best_duration(num);
	else if (num >= 10000)
		unit = best_unit(counts, 2, num);
	snprintf(buf, size, "%" PRIu64 "%s", num / unit->factor, unit->name);
	return buf;
}

/* ---- as a regular expression ---- */

/* All names of one factor, behind the numbers of it that are in range. */
static void unit_alternative(struct str *out, const struct unit *units, uint64_t factor, uint64_t min, uint64_t max)
{
	wide low = ((wide)min * 1000 + factor - 1) / factor, high = (wide)max * 1000 / factor;
	const char *bar = "";
	unsigned step = 1;

	while ((wide)factor * step % 1000)
		step++;
	low = (low + step - 1) / step * step;
	high = high / step * step;
	if (low > high)
		return;
	str_add(out, out->len > 2 ? "|" : "");
	pattern_decimal(out, low, high, step);
	str_add(out, "(");
	for (const struct unit *u = units; u->name; u++)
		if (u->factor == factor) {
			str_addf(out, "%s%s", bar, u->name);
			bar = "|";
		}
	str_add(out, ")");
}

char *unit_pattern(enum option_type type, uint64_t min, uint64_t max)
{
	const struct kind *kind = kind_of(type);
	auto_str struct str out = { 0 };

	str_add(&out, "^(");
	for (const struct unit *u = kind ? kind->units : NULL; u && u->name; u++) {
		bool before = false;

		for (const struct unit *other = kind->units; other != u; other++)
			before = before || other->factor == u->factor;
		if (!before)
			unit_alternative(&out, kind->units, u->factor, min, max);
	}
	str_add(&out, ")$");
	return str_take(&out);
}
