/*
 * process.refuse_patterns: shell lines that are refused before they run, because they are almost surely a mistake. A
 * courtesy for whoever wrote the line, not a wall: the walls hold without it, and a line can always be written otherwise.
 *
 * A pattern is text to be found in the line. Blanks in it stand for any run of blanks. Where it begins or ends in a letter, digit
 * or slash it must begin or end a word there: "sudo" does not match "pseudo", "rm -rf /" does not match "rm -rf /tmp/x",
 * "mkfs" matches "mkfs.ext4". Pure.
 */
#include "policy/policy.h"

#include <ctype.h>
#include <string.h>

const char *const refuse_builtin[] = {
	"rm -rf /", "rm -fr /", "rm -rf ~",    "rm -rf --no-preserve-root",
	"mkfs",     "dd if=",   "dd of=/dev/", "> /dev/sd",
	">/dev/sd", "| sh",     "| bash",      "|sh",
	"|bash",    "sudo",     "printenv",    "chmod -R 777 /",
	":(){",     "shutdown", "reboot",      "insmod",
	"modprobe", NULL,
};

static const struct {
	const char *begins, *why;
} reasons[] = {
	{ "rm ", "it would delete all that the box can write to: name what is to go" },
	{ "mkfs", "a box has no disks" },
	{ "dd ", "a box has no disks, and copies files with cp, head and tail" },
	{ ">", "a box has no disks" },
	{ "|", "it runs what nobody has looked at: put it into a file, look, and run that" },
	{ "sudo", "nobody can become root in a box, and nothing in it needs root" },
	{ "printenv", "the environment is what the policy declares: see `cordon plan`" },
	{ "chmod ", "it would open all that the box can write to: name what it is for" },
	{ ":(){", "it forks without end, until limits.processes" },
	{ "shutdown", "the host is not the box's to end" },
	{ "reboot", "the host is not the box's to end" },
	{ "insmod", "the kernel is the host's" },
	{ "modprobe", "the kernel is the host's" },
};

const char *refuse_reason(const char *pattern)
{
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (strncmp(pattern, reasons[i].begins, strlen(reasons[i].begins)) == 0)
			return reasons[i].why;
	return "it would not do in a box what it says";
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-';
}

/* Whether the pattern stands at p, whatever is around it; *ret_end is behind it. */
static bool match_here(const char *pattern, const char *p, const char **ret_end)
{
	while (*pattern) {
		if (is_blank(*pattern)) {
			if (!is_blank(*p))
				return false;
			pattern += strspn(pattern, " \t");
			p += strspn(p, " \t");
		} else if (*pattern++ != *p++) {
			return false;
		}
	}
	*ret_end = p;
	return true;
}

static bool pattern_matches(const char *pattern, const char *line)
{
	size_t len = strlen(pattern);
	bool word_first = len && is_word(pattern[0]);
	bool word_last = len && (is_word(pattern[len - 1]) || pattern[len - 1] == '/');

	for (const char *p = line; len && *p; p++) {
		const char *end;

		if (word_first && p > line && (is_word(p[-1]) || p[-1] == '.'))
			continue;
		if (match_here(pattern, p, &end) && !(word_last && is_word(*end)))
			return true;
	}
	return false;
}

const char *refuse_match(const struct cordon_policy *p, const char *line)
{
	const struct strv *list = policy_list(p, OPT_REFUSE_PATTERNS);
	const char *const *patterns =
		policy_has(p, OPT_REFUSE_PATTERNS) ? (const char *const *)list->v : refuse_builtin;

	for (; patterns && *patterns; patterns++)
		if (pattern_matches(*patterns, line))
			return *patterns;
	return NULL;
}
