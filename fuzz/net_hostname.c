/*
 * Any text as a host name, from a person and from the wire, as a rule and as an address. The first line is the text, the second a pattern for
 * it. A name is in its one form, is no address to anybody, and a pattern matches whole labels only.
 */
#include "net/rule.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool good, const char *what, const char *detail)
{
	if (good)
		return;
	fprintf(stderr, "%s: '%s'\n", what, detail);
	abort();
}

static void check_name(const char *name)
{
	struct net_address address;
	struct in_addr in;
	struct in6_addr in6;
	char again[HOSTNAME_SIZE];
	size_t len = strlen(name), label = 0;

	must(len && len <= 253 && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_.") == len, "not its form", name);
	for (size_t i = 0; i <= len; i++, label++)
		if (i == len || name[i] == '.') {
			must(label > 0 && label <= 63, "a label", name);
			label = (size_t)-1;
		}
	must(hostname_parse(name, len, false, again) == HOSTNAME_NAME && strcmp(again, name) == 0, "not stable", name);
	must(address_parse(name, len, &address) < 0, "an address as well", name);
	must(!inet_aton(name, &in) && inet_pton(AF_INET6, name, &in6) != 1, "an address to libc", name);
}

static void check_text(const char *text, size_t len, bool idna)
{
	char name[HOSTNAME_SIZE];
	struct net_address address;
	struct in_addr in;
	struct in6_addr in6;
	enum hostname_kind kind = hostname_parse(text, len, idna, name);

	if (kind == HOSTNAME_NAME) {
		check_name(name);
		must(idna || strncasecmp(name, text, strlen(name)) == 0, "another name on the wire", text);
	}
	if (strlen(text) != len)
		must(kind == HOSTNAME_INVALID, "NUL", text);
	else if (len <= 1024 && !strpbrk(text, " \t\n\v\f\r") &&
		 (inet_aton(text, &in) || inet_pton(AF_INET6, text, &in6) == 1))
		must(kind == HOSTNAME_ADDRESS && address_parse(text, len, &address) == 0,
		     "libc takes it for an address", text);
}

/* Label by label, from the end. */
static bool slow_match(const char *pattern, const char *name)
{
	const char *p, *n;

	if (strcmp(pattern, "*") == 0)
		return true;
	for (;;) {
		p = strrchr(pattern, '.');
		n = strrchr(name, '.');
		if (strcmp(p ? p + 1 : pattern, "*") == 0)
			return true;
		if (strcmp(p ? p + 1 : pattern, n ? n + 1 : name) != 0 || !p || !n)
			return strcmp(pattern, name) == 0;
		*(char *)(uintptr_t)p = *(char *)(uintptr_t)n = '\0'; /* copies of ours */
	}
}

static void check_match(const char *text, size_t len, const char *wanted, size_t wanted_len)
{
	char name[HOSTNAME_SIZE], pattern[HOSTNAME_SIZE], again[HOSTNAME_SIZE], name_copy[HOSTNAME_SIZE];

	if (hostname_pattern_parse(wanted, wanted_len, pattern) < 0 ||
	    hostname_parse(text, len, false, name) != HOSTNAME_NAME)
		return;
	must(hostname_pattern_parse(pattern, strlen(pattern), again) == 0 && strcmp(again, pattern) == 0, "pattern",
	     pattern);
	bool match = hostname_match(pattern, name);
	memcpy(name_copy, name, sizeof(name));
	must(match == slow_match(again, name_copy), "decided differently", name);
	if (match && pattern[0] == '*' && pattern[1])
		must(strcmp(name, pattern + 2) != 0 && strlen(name) > strlen(pattern + 2), "the name itself", name);
}

static void check_rule(const char *text, bool is_address)
{
	struct net_rule rule = { 0 }, again = { 0 };
	struct cordon_error err = { 0 };

	if (net_rule_parse(text, is_address, &rule, &err) < 0) {
		must(err.message[0] && !rule.text, "refused without a reason", text);
		return;
	}
	must(net_rule_parse(rule.text, is_address, &again, &err) == 0 && strcmp(rule.text, again.text) == 0, "told",
	     rule.text);
	must(net_rule_check(&rule, &err) == net_rule_check(&again, &err), "checked", rule.text);
	net_rule_done(&rule);
	net_rule_done(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *newline = memchr(data, '\n', size);
	size_t len = newline ? (size_t)(newline - data) : size;
	char *text = malloc(len + 1);
	struct net_prefix prefix;

	if (!text)
		return 0;
	memcpy(text, data, len);
	text[len] = '\0';
	check_text(text, len, false);
	check_text(text, len, true);
	check_rule(text, false);
	check_rule(text, true);
	if (prefix_parse(text, len, &prefix) == 0) {
		char buf[64];

		must(strncmp(prefix_text(&prefix, buf, sizeof(buf)), text, strcspn(text, "/")) == 0, "prefix", text);
	}
	if (newline)
		check_match(text, len, (const char *)newline + 1, size - len - 1);
	free(text);
	return 0;
}
