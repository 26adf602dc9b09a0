/*
 * How secrets get into requests: see secret.h. Values have been checked for line ends when they came (secret.c); placeholders are
 * searched as they stand, and inside of Basic credentials, because that is what clients make of a password in a URL.
 *
 * The egress process; no privilege.
 */
#include "egress/secret.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Headers by which services know their callers. */
static const char *const credentials[] = {
	"Authorization",
	"Proxy-Authorization",
	"Cookie",
	"X-Api-Key",
	"Api-Key",
	"ApiKey",
	"X-ApiKey",
	"X-Api-Token",
	"X-Auth-Token",
	"X-Auth-Key",
	"X-Auth-Email",
	"X-Auth",
	"X-Authorization",
	"X-Access-Token",
	"X-Token",
	"Private-Token",
	"Job-Token",
	"Deploy-Token",
	"X-Gitlab-Token",
	"X-Goog-Api-Key",
	"X-Goog-Iam-Authorization-Token",
	"X-Amz-Security-Token",
	"X-Functions-Key",
	"X-Vault-Token",
	"X-Shopify-Access-Token",
	"X-Figma-Token",
	"X-Subscription-Token",
	"X-Plex-Token",
	"X-Redmine-Api-Key",
	"X-Mashape-Key",
	"X-Rapidapi-Key",
	"X-Secret-Key",
	"X-Session-Token",
	"X-User-Token",
	"Circle-Token",
	"Ocp-Apim-Subscription-Key",
	"Authentication",
	"Access-Token",
	"Token",
	"Dd-Api-Key",
	"Dd-Application-Key",
};

enum { BASIC_MAX = 2048 }; /* of decoded Basic credentials; longer ones are not looked into */

bool secret_is_credential(const struct http_field *field)
{
	for (size_t i = 0; i < sizeof(credentials) / sizeof(*credentials); i++) {
		if (http_name_like(field, credentials[i], strlen(credentials[i])))
			return true;
	}
	return false;
}

static const char *find_placeholder(const struct net_secret *secret, const char *data, size_t len)
{
	if (!secret->placeholder || !secret->placeholder[0] || !len)
		return NULL;
	return memmem(data, len, secret->placeholder, strlen(secret->placeholder));
}

bool secret_in_text(const struct net_secret *secret, struct http_span text)
{
	return find_placeholder(secret, text.data, text.len) != NULL;
}

/* ---- Basic credentials ---- */

static const char base64_digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* The length; -1: it is no base64, or too long. */
static int base64_decode(struct http_span text, char *ret, size_t size)
{
	unsigned bits = 0, have = 0;
	size_t n = 0;

	while (text.len && text.data[text.len - 1] == '=')
		text.len--;
	for (size_t i = 0; i < text.len; i++) {
		const char *digit = text.data[i] ? strchr(base64_digits, text.data[i]) : NULL;

		if (!digit)
			return -1;
		bits = (bits << 6 | (unsigned)(digit - base64_digits)) & 0xffff;
		have += 6;
		if (have < 8)
			continue;
		have -= 8;
		if (n == size)
			return -1;
		ret[n++] = (char)(bits >> have & 0xff);
	}
	return (int)n;
}

static void base64_add(struct buffer *to, const char *data, size_t len)
{
	for (size_t i = 0; i < len; i += 3) {
		size_t have = len - i < 3 ? len - i : 3;
		unsigned bits = (unsigned)(unsigned char)data[i] << 16;
		char out[4];

		if (have > 1)
			bits |= (unsigned)(unsigned char)data[i + 1] << 8;
		if (have > 2)
			bits |= (unsigned char)data[i + 2];
		out[0] = base64_digits[bits >> 18 & 63];
		out[1] = base64_digits[bits >> 12 & 63];
		out[2] = '=';
		out[3] = '=';
		if (have > 1)
			out[2] = base64_digits[bits >> 6 & 63];
		if (have > 2)
			out[3] = base64_digits[bits & 63];
		buffer_add(to, out, sizeof(out));
	}
}

/* Decodes what follows "Basic " in (Proxy-)Authorization; -1 where the field is none such. */
static int basic_decode(const struct http_field *field, char ret[BASIC_MAX])
{
	struct http_span rest = field->value;

	if (!http_name_is(field, "Authorization") && !http_name_is(field, "Proxy-Authorization"))
		return -1;
	if (rest.len < 6 || strncasecmp(rest.data, "Basic ", 6) != 0)
		return -1;
	rest.data += 6;
	rest.len -= 6;
	while (rest.len && *rest.data == ' ') {
		rest.data++;
		rest.len--;
	}
	return base64_decode(rest, ret, BASIC_MAX);
}

bool secret_in_field(const struct net_secret *secret, const struct http_field *field)
{
	char plain[BASIC_MAX];
	int len;

	if (secret_in_text(secret, field->value))
		return true;
	len = basic_decode(field, plain);
	return len > 0 && find_placeholder(secret, plain, (size_t)len);
}

/* ---- replacing ---- */

static void add_percent(struct buffer *to, const char *data, size_t len)
{
	static const char digits[] = "0123456789ABCDEF";

	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)data[i];

		if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		    (c && strchr("-._~", c))) {
			buffer_add(to, &data[i], 1);
		} else {
			char out[3] = { '%', digits[c >> 4], digits[c & 15] };

			buffer_add(to, out, sizeof(out));
		}
	}
}

static void add_replaced(struct buffer *to, const char *data, size_t len, const struct secret_use *uses, size_t n,
			 bool percent)
{
	while (len) {
		const char *first = NULL;
		const struct secret_use *use = NULL;
		size_t before;

		for (size_t i = 0; i < n; i++) {
			const char *at = find_placeholder(uses[i].secret, data, len);

			if (at && (!first || at < first)) {
				first = at;
				use = &uses[i];
			}
		}
		if (!first) {
			buffer_add(to, data, len);
			return;
		}
		before = (size_t)(first - data);
		buffer_add(to, data, before);
		if (percent)
			add_percent(to, use->value, use->len);
		else
			buffer_add(to, use->value, use->len);
		before += strlen(use->secret->placeholder);
		data += before;
		len -= before;
	}
}

void secret_add_target(struct buffer *to, struct http_span target, const struct secret_use *uses, size_t n)
{
	add_replaced(to, target.data, target.len, uses, n, true);
}

void secret_add_value(struct buffer *to, const struct http_field *field, const struct secret_use *uses, size_t n)
{
	struct buffer replaced = { 0 };
	char plain[BASIC_MAX];
	bool found = false;
	int len = n ? basic_decode(field, plain) : -1;

	for (size_t i = 0; len > 0 && i < n; i++)
		found |= find_placeholder(uses[i].secret, plain, (size_t)len) != NULL;
	if (!found) {
		add_replaced(to, field->value.data, field->value.len, uses, n, false);
		return;
	}
	add_replaced(&replaced, plain, (size_t)len, uses, n, false);
	buffer_add_text(to, "Basic ");
	base64_add(to, buffer_data(&replaced), replaced.len);
	to->failed |= replaced.failed;
	buffer_done(&replaced);
}

bool secret_sets_field(const struct net_secret *secret, const struct http_field *field)
{
	size_t len = secret->header ? strcspn(secret->header, ":") : 0;

	return len && http_name_like(field, secret->header, len);
}

void secret_add_header(struct buffer *to, const struct secret_use *use)
{
	const char *header = use->secret->header, *hole = strstr(header, "{}");

	/* The policy has checked its form; what would break a line is refused again here rather than sent. */
	if (!strchr(header, ':') || strpbrk(header, "\r\n"))
		return;
	if (!hole) {
		buffer_add_text(to, header);
	} else {
		buffer_add(to, header, (size_t)(hole - header));
		buffer_add(to, use->value, use->len);
		buffer_add_text(to, hole + 2);
	}
	buffer_add_text(to, "\r\n");
}
