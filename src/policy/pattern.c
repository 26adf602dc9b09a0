/*
 * Ranges of numbers as regular expressions: see pattern.h. Digits are compared from the left: those that both ends share stay, then
 * come what the lower end leaves open, what the upper one does, and whatever is between. Pure.
 */
#include "policy/pattern.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { DIGITS = 24 };

static bool all(const char *digits, char digit)
{
	return digits[strspn(digits, (const char[]){ digit, 0 })] == 0;
}

static void any_digits(struct str *out, size_t n, bool cut)
{
	if (n)
		str_add(out, "[0-9]");
	if (n && cut)
		str_addf(out, "{0,%zu}", n);
	else if (n > 1)
		str_addf(out, "{%zu}", n);
}

static void between(struct str *out, const char *low, const char *high, bool cut);

/* One digit, and what may follow it. */
static void edge(struct str *out, char digit, const char *low, const char *high, bool cut)
{
	str_add_char(out, digit);
	between(out, low, high, cut);
}

/* Both of one length. With `cut` zeros at the end may be left out. */
static void between(struct str *out, const char *low, const char *high, bool cut)
{
	char zeros[DIGITS] = "", nines[DIGITS] = "", first = low[0], last = high[0];
	size_t n = strlen(low);
	const char *bar = "";

	if (all(low, '0') && all(high, '9')) {
		any_digits(out, n, cut);
		return;
	}
	memset(zeros, '0', n - 1);
	memset(nines, '9', n - 1);
	str_add(out, "(");
	if (first == last) {
		edge(out, first++, low + 1, high + 1, cut);
		bar = "|";
	} else if (!all(low + 1, '0')) {
		edge(out, first++, low + 1, nines, cut);
		bar = "|";
	}
	if (first <= last && !all(high + 1, '9')) {
		str_add(out, bar);
		edge(out, last--, zeros, high + 1, cut);
		bar = "|";
	}
	if (first < last)
		str_addf(out, "%s[%c-%c]", bar, first, last);
	else if (first == last)
		str_addf(out, "%s%c", bar, first);
	if (first <= last)
		any_digits(out, n - 1, cut);
	str_add(out, cut && all(low, '0') ? ")?" : ")");
}

void pattern_whole(struct str *out, uint64_t min, uint64_t max)
{
	char low[DIGITS], high[DIGITS], top[DIGITS];
	const char *bar = "";

	str_add(out, "(");
	snprintf(low, sizeof(low), "%" PRIu64, min);
	snprintf(top, sizeof(top), "%" PRIu64, max);
	for (size_t n = strlen(low); n <= strlen(top) && min <= max; n++) {
		memset(high, '9', n);
		high[n] = 0;
		str_add(out, bar);
		between(out, low, n == strlen(top) ? top : high, false);
		memset(low, '0', n + 1);
		low[0] = '1';
		low[n + 1] = 0;
		bar = "|";
	}
	str_add(out, ")");
}

/* Behind the point, if there is one: from min to max in thousandths; zeros at the end may be left out. */
static void fraction(struct str *out, unsigned min, unsigned max, unsigned step)
{
	char low[DIGITS], high[DIGITS];
	const char *bar = "";

	str_add(out, "(\\.");
	if (step == 1) {
		snprintf(low, sizeof(low), "%03u", min);
		snprintf(high, sizeof(high), "%03u", max);
		str_add(out, "(?=[0-9])");
		between(out, low, high, true);
	} else {
		str_add(out, "(");
		for (unsigned part = min; part <= max; part += step, bar = "|")
			if (part == 0)
				str_add(out, "0{1,3}");
			else if (part % 100 == 0)
				str_addf(out, "%s%u0{0,2}", bar, part / 100);
			else if (part % 10 == 0)
				str_addf(out, "%s%02u0?", bar, part / 10);
			else
				str_addf(out, "%s%03u", bar, part);
		str_add(out, ")");
	}
	str_add(out, min ? ")" : ")?");
}

void pattern_decimal(struct str *out, unsigned __int128 min, unsigned __int128 max, unsigned step)
{
	uint64_t low = (uint64_t)(min / 1000), high = (uint64_t)(max / 1000);
	unsigned from = (unsigned)(min % 1000), to = (unsigned)(max % 1000);

	str_add(out, "(");
	if (low < high && from) {
		str_addf(out, "%" PRIu64, low++);
		fraction(out, from, 999, step);
		str_add(out, "|");
		from = 0;
	}
	if (low < high) {
		pattern_whole(out, low, high - 1);
		fraction(out, 0, 999, step);
		str_add(out, "|");
	}
	str_addf(out, "%" PRIu64, high);
	fraction(out, from, to, step);
	str_add(out, ")");
}
