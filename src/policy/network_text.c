/* Words of the network part: hosts, where secrets come from, headers, the proxy. See network.h. Pure. */
#include "policy/network.h"
#include "policy/text.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int no_control(const char *text, const struct source *at, struct cordon_error *err)
{
	for (const char *p = text; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f) {
			source_fail(at, err, "a control character in the text");
			return fail_hint(err, "remove it");
		}
	if (strlen(text) > TEXT_WORD_MAX)
		return source_fail(at, err, "longer than %d bytes", TEXT_WORD_MAX);
	return 0;
}

/* ---- hosts --------------------------------------------------------------------------------------------- */

static int is_address(const char *text, const struct source *at, struct cordon_error *err)
{
	struct net_address address;
	char shown[ADDRESS_TEXT];

	source_fail(at, err, "'%.100s' is an address, not a name", text);
	if (address_parse(text, strlen(text), &address) < 0)
		return fail_hint(err, "addresses are named with 'address:' and their ports");
	return fail_hint(err, "addresses are named with 'address: %s' and their ports (or --allow-cidr)",
			 address_text(&address, shown));
}

int network_host(char **ret, const char *text, const struct source *at, struct cordon_error *err)
{
	char name[HOSTNAME_SIZE];
	int status = hostname_pattern_parse(text, strlen(text), name);

	if (status == -EADDRNOTAVAIL)
		return is_address(text, at, err);
	if (status < 0) {
		source_fail(at, err, "'%.100s' is not a host's name", text);
		if (strstr(text, "://"))
			return fail_hint(err, "only the name, without scheme and path");
		if (strchr(text, '*'))
			return fail_hint(err, "a star stands in front only: *.example.com, or * for any name");
		if (strchr(text, '/'))
			return fail_hint(err, "addresses are named with 'address:' (or --allow-cidr)");
		return fail_hint(err, "as in api.example.com or *.example.com; ports are said with 'ports:'");
	}
	*ret = strdup(name);
	return *ret ? 0 : fail_memory(err);
}

/* ---- secrets ------------------------------------------------------------------------------------------- */

static int from_unknown(const char *text, const struct source *at, struct cordon_error *err)
{
	source_fail(at, err, "'%.100s' says not where the value comes from", text);
	return fail_hint(err, "write env:VARIABLE, file:PATH or command:LINE");
}

int network_from(char **ret, const char *text, const struct source *at, struct cordon_error *err)
{
	const char *what = strchr(text, ':');
	auto_free char *path = NULL;

	if (no_control(text, at, err) < 0)
		return -1;
	if (!what || !what[1])
		return from_unknown(text, at, err);
	what++;
	if (str_starts(text, "env:")) {
		if (text_check_env(what, at, err) < 0)
			return -1;
		*ret = strdup(text);
	} else if (str_starts(text, "file:")) {
		if (text_host_path(&path, what, at, err) < 0)
			return -1;
		*ret = str_printf("file:%s", path);
	} else if (str_starts(text, "command:") && what[strspn(what, " ")]) {
		*ret = strdup(text);
	} else {
		return from_unknown(text, at, err);
	}
	return *ret ? 0 : fail_memory(err);
}

uint64_t network_usual_ttl(const char *from)
{
	return str_starts(from, "env:") ? 0 : 5 * 60 * 1000;
}

int network_check_secret_name(const char *name, const struct source *at, struct cordon_error *err)
{
	if (text_check_env(name, at, err) < 0)
		return -1;
	if (strlen(name) > 200)
		return source_fail(at, err, "a name longer than 200 bytes");
	if (!env_name_is_loader(name) && strcmp(name, "PATH") != 0)
		return 0;
	source_fail(at, err, "'%.100s' decides what programs run", name);
	return fail_hint(err, "the name is a variable in the box: choose another");
}

/* What frames a request or says where it goes is not for secrets. */
static bool header_is_reserved(const char *name, size_t len)
{
	static const char *const reserved[] = { "Host",    "Connection", "Content-Length", "Transfer-Encoding",
						"Upgrade", "TE",         "Trailer",        "Expect" };

	for (size_t i = 0; i < ARRAY_LEN(reserved); i++)
		if (strlen(reserved[i]) == len && strncasecmp(reserved[i], name, len) == 0)
			return true;
	return false;
}

int network_check_header(const char *text, const struct source *at, struct cordon_error *err)
{
	size_t len = strcspn(text, ":");
	bool good = len && text[len] == ':' && text[len + 1] == ' ' && text[len + 2];
	const char *mark;

	if (no_control(text, at, err) < 0)
		return -1;
	for (size_t i = 0; good && i < len; i++)
		good = isalnum((unsigned char)text[i]) || strchr("-._", text[i]);
	for (const char *p = text; good && *p; p++)
		good = (unsigned char)*p < 0x80;
	if (!good) {
		source_fail(at, err, "'%.100s' is not a header", text);
		return fail_hint(err, "write it whole, {} for the value: \"Authorization: Bearer {}\"");
	}
	mark = strstr(text + len, "{}");
	if (!mark || strstr(mark + 2, "{}")) {
		source_fail(at, err, "%s {} in '%.100s'", mark ? "more than one" : "no", text);
		return fail_hint(err, "{} stands for the value: \"Authorization: Bearer {}\"");
	}
	if (header_is_reserved(text, len)) {
		source_fail(at, err, "'%.*s' is no header for a secret", (int)len, text);
		return fail_hint(err, "it says how the request travels");
	}
	return 0;
}

/* ---- the proxy ----------------------------------------------------------------------------------------- */

static int proxy_wrong(const char *text, const char *hint, const struct source *at, struct cordon_error *err)
{
	source_fail(at, err, "'%.100s' is not a proxy", text);
	return fail_hint(err, "%s", hint);
}

/* "NAME:PORT", "ADDRESS:PORT" or "[ADDRESS]:PORT". */
static int proxy_place(const char *text, char **ret_host, uint16_t *ret_port)
{
	const char *colon = strrchr(text, ':');
	size_t len = colon ? (size_t)(colon - text) : 0;
	char name[HOSTNAME_SIZE], shown[ADDRESS_TEXT];
	struct net_address address;
	struct net_rule ports = { 0 };

	if (!len || net_ports_parse(colon + 1, strlen(colon + 1), &ports) < 0 || ports.port_count != 1 ||
	    ports.ports[0].first != ports.ports[0].last)
		return -EINVAL;
	if (text[0] != '[' && memchr(text, ':', len))
		return -EINVAL;
	switch (hostname_parse(text, len, true, name)) {
	case HOSTNAME_NAME:
		*ret_host = strdup(name);
		break;
	case HOSTNAME_ADDRESS:
		if (address_parse(text, len, &address) < 0)
			return -EINVAL;
		*ret_host = strdup(address_text(&address, shown));
		break;
	case HOSTNAME_INVALID:
		return -EINVAL;
	}
	*ret_port = ports.ports[0].first;
	return *ret_host ? 0 : -ENOMEM;
}

int network_proxy(const char *text, char **ret_host, uint16_t *ret_port, const struct source *at,
		  struct cordon_error *err)
{
	int status;

	*ret_host = NULL;
	*ret_port = 0;
	if (strcmp(text, "none") == 0)
		return 0;
	if (!str_starts(text, "http://"))
		return proxy_wrong(text, "write none or http://HOST:PORT; it is spoken to in plain HTTP (CONNECT)", at,
				   err);
	if (strchr(text, '@'))
		return proxy_wrong("http://…@…", "a user's name and password cannot be given here", at, err);
	status = proxy_place(text + strlen("http://"), ret_host, ret_port);
	if (status == -ENOMEM)
		return fail_memory(err);
	return status < 0 ? proxy_wrong(text, "write http://HOST:PORT, with the port and nothing behind it", at, err)
			  : 0;
}
