/*
 * Host names: see hostname.h. The order matters: what a person may have written is first mapped (IDNA, which also turns full-width
 * dots and digits into plain ones), then the result is looked at as plain bytes, by rules that do not know where they came from. A
 * name whose last label is a number is an address to some resolver and therefore never a name here. Text from the wire does not
 * reach libidn2. Pure; any process, any privilege.
 */
#include "net/hostname.h"

#include "base/str.h"
#include "net/address.h"

#include <errno.h>
#include <idn2.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_LEN = HOSTNAME_SIZE - 1, LABEL_MAX = 63, INPUT_MAX = 1024 };

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_alnum(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z');
}

/* Letters, digits, hyphens that are not at an end, underscores (_dmarc, _acme-challenge). */
static bool label_valid(const char *label, size_t len)
{
	if (!len || len > LABEL_MAX || label[0] == '-' || label[len - 1] == '-')
		return false;
	for (size_t i = 0; i < len; i++)
		if (!is_alnum(label[i]) && label[i] != '-' && label[i] != '_')
			return false;
	return true;
}

/* "1", "007", "0x", "0x7f": what makes resolvers and browsers read the whole as an address. */
static bool label_is_number(const char *label, size_t len)
{
	bool hex = len >= 2 && label[0] == '0' && label[1] == 'x';

	for (size_t i = hex ? 2 : 0; i < len; i++)
		if (!is_digit(label[i]) && !(hex && label[i] >= 'a' && label[i] <= 'f'))
			return false;
	return len > 0;
}

static enum hostname_kind classify_address(const char *text, size_t len)
{
	struct net_address address;

	return address_parse(text, len, &address) == 0 ? HOSTNAME_ADDRESS : HOSTNAME_INVALID;
}

/* Plain bytes. */
static enum hostname_kind parse_ascii(const char *text, size_t len, char ret[HOSTNAME_SIZE])
{
	char name[HOSTNAME_SIZE] = "";
	size_t label = 0;

	if (memchr(text, ':', len))
		return classify_address(text, len);
	if (len && text[len - 1] == '.')
		len--;
	if (!len)
		return HOSTNAME_INVALID;
	if (len > NAME_MAX_LEN) /* numbers may have any count of leading zeros */
		return classify_address(text, len);
	for (size_t i = 0; i < len; i++)
		name[i] = (char)(text[i] >= 'A' && text[i] <= 'Z' ? text[i] | 0x20 : text[i]);
	name[len] = '\0';
	const char *dot = strrchr(name, '.'), *last = dot ? dot + 1 : name;
	if (label_is_number(last, strlen(last)))
		return classify_address(name, len);
	for (size_t i = 0; i <= len; i++) {
		if (i < len && name[i] != '.')
			continue;
		if (!label_valid(name + label, i - label))
			return HOSTNAME_INVALID;
		label = i + 1;
	}
	memcpy(ret, name, len + 1);
	return HOSTNAME_NAME;
}

static bool has_a_label(const char *text)
{
	const char *label = text;

	while (strncasecmp(label, "xn--", 4) != 0) {
		label = strchr(label, '.');
		if (!label)
			return false;
		label++;
	}
	return true;
}

/* A-labels stand for something, or the policy has a mistake in it. */
static bool a_labels_valid(const char *text)
{
	auto_free char *unicode = NULL;

	return !has_a_label(text) || idn2_to_unicode_8z8z(text, &unicode, IDN2_NONTRANSITIONAL) == IDN2_OK;
}

static enum hostname_kind parse_idna(const char *text, size_t len, char ret[HOSTNAME_SIZE])
{
	auto_free char *input = strndup(text, len), *ascii = NULL;
	uint8_t *out = NULL;

	/* Labels of plain bytes need no mapping, and libidn2 knows nothing of underscores and lengths that we do. */
	for (size_t i = 0; input && i < len; i++)
		if ((unsigned char)text[i] >= 0x80) {
			if (idn2_lookup_u8((const uint8_t *)input, &out, IDN2_NONTRANSITIONAL | IDN2_NFC_INPUT) !=
			    IDN2_OK)
				return HOSTNAME_INVALID;
			ascii = (char *)out;
			break;
		}
	if (!ascii)
		ascii = STEAL(input);
	if (!ascii || !a_labels_valid(ascii))
		return HOSTNAME_INVALID;
	return parse_ascii(ascii, strlen(ascii), ret);
}

enum hostname_kind hostname_parse(const char *text, size_t len, bool idna, char ret[HOSTNAME_SIZE])
{
	if (!len || len > INPUT_MAX || memchr(text, '\0', len))
		return HOSTNAME_INVALID;
	return idna ? parse_idna(text, len, ret) : parse_ascii(text, len, ret);
}

int hostname_pattern_parse(const char *text, size_t len, char ret[HOSTNAME_SIZE])
{
	size_t skip = 0;
	char name[HOSTNAME_SIZE];

	if (len == 1 && text[0] == '*') {
		memcpy(ret, "*", 2);
		return 0;
	}
	if (len > 2 && text[0] == '*' && text[1] == '.')
		skip = 2;
	enum hostname_kind kind = hostname_parse(text + skip, len - skip, true, name);
	if (kind != HOSTNAME_NAME)
		return kind == HOSTNAME_ADDRESS && !skip ? -EADDRNOTAVAIL : -EINVAL;
	size_t n = strlen(name);
	if (n + skip > NAME_MAX_LEN) /* no name is long enough to match it */
		return -EINVAL;
	memcpy(ret, "*.", skip);
	memcpy(ret + skip, name, n + 1);
	return 0;
}

bool hostname_match(const char *pattern, const char *name)
{
	if (pattern[0] != '*')
		return strcmp(pattern, name) == 0;
	if (pattern[1] == '\0')
		return name[0] != '\0';
	/* The dot of the pattern is compared as well: a match never begins inside a label. */
	size_t n = strlen(name), suffix = strlen(pattern + 1);
	return n > suffix && strcmp(name + n - suffix, pattern + 1) == 0;
}
