/*
 * What egress is told, as text and back: see config.h. The text is "key=value" strings, each with its NUL: what holds for all first, then
 * the rules ("rule=host:NAME" or "rule=address:NETWORK" and what follows), then the secrets ("secret=NAME" and what follows). It comes from
 * the plan, but the reader trusts nothing: a key that is unknown, twice or in the wrong place is an error, and everything that a
 * policy would have to satisfy is checked again. Pure; written with the rights of the caller, read in egress before its jail.
 */
#include "net/config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum section { SECTION_ALL, SECTION_RULE, SECTION_SECRET };

struct decoder {
	struct net_config *config;
	enum section section;
	uint32_t seen; /* keys of this section, by their place in the table */
	bool has_mode;
};

/* ---- values ---- */

static const char *const mode_names[] = { [NET_NONE] = "none", [NET_ALLOW] = "allow", [NET_OPEN] = "open" };

static int number_parse(const char *text, uint64_t *ret)
{
	uint64_t v = 0;

	if (!text[0] || (text[0] == '0' && text[1]))
		return -EINVAL;
	for (; *text; text++) {
		if (*text < '0' || *text > '9' || __builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(*text - '0'), &v))
			return -EINVAL;
	}
	*ret = v;
	return 0;
}

static int flag_parse(const char *text, bool *ret)
{
	*ret = strcmp(text, "1") == 0;
	return *ret ? 0 : -EINVAL;
}

static int string_set(char **to, const char *text)
{
	if (!text[0])
		return -EINVAL;
	*to = strdup(text);
	return *to ? 0 : -ENOMEM;
}

static struct net_rule *last_rule(struct decoder *d)
{
	return &d->config->rules.v[d->config->rules.n - 1];
}

static struct net_secret *last_secret(struct decoder *d)
{
	return &d->config->secrets[d->config->secret_count - 1];
}

static int set_mode(struct decoder *d, const char *value)
{
	for (size_t i = 0; i < ARRAY_LEN(mode_names); i++)
		if (strcmp(value, mode_names[i]) == 0) {
			d->config->rules.mode = (enum net_mode)i;
			d->has_mode = true;
			return 0;
		}
	return -EINVAL;
}

static int set_read_only(struct decoder *d, const char *value)
{
	return flag_parse(value, &d->config->rules.read_only);
}

static int set_allow_private(struct decoder *d, const char *value)
{
	return flag_parse(value, &d->config->rules.allow_private);
}

static int set_proxy_host(struct decoder *d, const char *value)
{
	char name[HOSTNAME_SIZE];

	if (hostname_parse(value, strlen(value), true, name) == HOSTNAME_INVALID)
		return -EINVAL;
	return string_set(&d->config->proxy_host, value);
}

static int set_proxy_port(struct decoder *d, const char *value)
{
	uint64_t port;

	if (number_parse(value, &port) < 0 || !port || port > UINT16_MAX)
		return -EINVAL;
	d->config->proxy_port = (uint16_t)port;
	return 0;
}

static int begin_rule(struct decoder *d, const char *value)
{
	struct net_rule rule = { 0 };
	int rc;

	if (str_starts(value, "host:"))
		rc = string_set(&rule.host, value + 5);
	else if (str_starts(value, "address:"))
		rc = prefix_parse(value + 8, strlen(value + 8), &rule.prefix);
	else
		rc = -EINVAL;
	return rc < 0 ? rc : net_rules_add(&d->config->rules, &rule);
}

static int set_ports(struct decoder *d, const char *value)
{
	return net_ports_parse(value, strlen(value), last_rule(d));
}

static int set_protocol(struct decoder *d, const char *value)
{
	last_rule(d)->has_protocol = true;
	return net_protocol_parse(value, &last_rule(d)->protocol);
}

static int add_method(struct decoder *d, const char *value)
{
	return strv_add(&last_rule(d)->methods, value);
}

static int add_path(struct decoder *d, const char *value)
{
	return strv_add(&last_rule(d)->paths, value);
}

static int set_use_secret(struct decoder *d, const char *value)
{
	return string_set(&last_rule(d)->secret, value);
}

static int set_ech(struct decoder *d, const char *value)
{
	return flag_parse(value, &last_rule(d)->ech);
}

static int set_text(struct decoder *d, const char *value)
{
	return string_set(&last_rule(d)->text, value);
}

static int begin_secret(struct decoder *d, const char *value)
{
	struct net_config *c = d->config;

	if (net_config_secret(c, value))
		return -EEXIST;
	struct net_secret *v = realloc(c->secrets, (c->secret_count + 1) * sizeof(*v));
	if (!v)
		return -ENOMEM;
	c->secrets = v;
	v[c->secret_count++] = (struct net_secret){ 0 };
	return string_set(&last_secret(d)->name, value);
}

static int set_header(struct decoder *d, const char *value)
{
	return string_set(&last_secret(d)->header, value);
}

static int set_placeholder(struct decoder *d, const char *value)
{
	return string_set(&last_secret(d)->placeholder, value);
}

static int set_ttl(struct decoder *d, const char *value)
{
	return number_parse(value, &last_secret(d)->ttl_ms);
}

static int set_ca_file(struct decoder *d, const char *value)
{
	return value[0] == '/' ? string_set(&d->config->ca_file, value) : -EINVAL;
}

/* ---- the keys ---- */

struct key {
	enum section section;
	const char *name;
	int (*set)(struct decoder *d, const char *value);
	bool many;
};

static const struct key keys[] = {
	{ SECTION_ALL, "mode", set_mode, false },
	{ SECTION_ALL, "read_only", set_read_only, false },
	{ SECTION_ALL, "allow_private", set_allow_private, false },
	{ SECTION_ALL, "proxy_host", set_proxy_host, false },
	{ SECTION_ALL, "proxy_port", set_proxy_port, false },
	{ SECTION_ALL, "ca_file", set_ca_file, false },
	{ SECTION_RULE, "ports", set_ports, false },
	{ SECTION_RULE, "protocol", set_protocol, false },
	{ SECTION_RULE, "method", add_method, true },
	{ SECTION_RULE, "path", add_path, true },
	{ SECTION_RULE, "use_secret", set_use_secret, false },
	{ SECTION_RULE, "ech", set_ech, false },
	{ SECTION_RULE, "text", set_text, false },
	{ SECTION_SECRET, "header", set_header, false },
	{ SECTION_SECRET, "placeholder", set_placeholder, false },
	{ SECTION_SECRET, "ttl_ms", set_ttl, false },
};

/* Of SECTION_ALL as well. */
static const struct {
	const char *name;
	size_t offset;
} numbers[] = {
	{ "connections", offsetof(struct net_config, connections) },
	{ "connect_timeout_ms", offsetof(struct net_config, connect_timeout_ms) },
	{ "idle_timeout_ms", offsetof(struct net_config, idle_timeout_ms) },
	{ "download_bps", offsetof(struct net_config, download_bps) },
	{ "upload_bps", offsetof(struct net_config, upload_bps) },
	{ "download_total", offsetof(struct net_config, download_total) },
	{ "upload_total", offsetof(struct net_config, upload_total) },
};
_Static_assert(ARRAY_LEN(keys) + ARRAY_LEN(numbers) <= 32, "one bit of decoder.seen for each key");

/* ---- reading ---- */

static bool key_is(const char *line, size_t len, const char *name)
{
	return strlen(name) == len && memcmp(line, name, len) == 0;
}

static int see(struct decoder *d, size_t i)
{
	if (d->seen & 1u << i)
		return -EEXIST;
	d->seen |= 1u << i;
	return 0;
}

/* A section begins where the last one may end: rules come before secrets. */
static int begin(struct decoder *d, enum section section)
{
	if (section < d->section)
		return -ENOENT;
	d->section = section;
	d->seen = 0;
	return 0;
}

/* 0; -ENOENT: no such key here; -EEXIST: twice; -EINVAL and -E2BIG: not such a value; -ENOMEM. */
static int decode_line(struct decoder *d, const char *line, size_t len, const char *value)
{
	int rc;

	if (key_is(line, len, "rule")) {
		rc = begin(d, SECTION_RULE);
		return rc < 0 ? rc : begin_rule(d, value);
	}
	if (key_is(line, len, "secret")) {
		rc = begin(d, SECTION_SECRET);
		return rc < 0 ? rc : begin_secret(d, value);
	}
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		if (keys[i].section == d->section && key_is(line, len, keys[i].name)) {
			rc = keys[i].many ? 0 : see(d, i);
			return rc < 0 ? rc : keys[i].set(d, value);
		}
	for (size_t i = 0; i < ARRAY_LEN(numbers) && d->section == SECTION_ALL; i++)
		if (key_is(line, len, numbers[i].name)) {
			rc = see(d, ARRAY_LEN(keys) + i);
			return rc < 0 ? rc : number_parse(value, (uint64_t *)((char *)d->config + numbers[i].offset));
		}
	return -ENOENT;
}

static int decode_lines(struct decoder *d, const char *data, size_t len, struct cordon_error *err)
{
	if (len && data[len - 1])
		return cordon_fail(err, CORDON_INVALID, 0, "network configuration: cut short");
	for (const char *line = data, *end = data + len; line < end;) {
		size_t n = strlen(line), key = strcspn(line, "=");
		int rc;

		if (key >= n)
			return cordon_fail(err, CORDON_INVALID, 0,
					   "network configuration: not a whole line of key=value");
		rc = decode_line(d, line, key, line + key + 1);
		if (rc == -ENOMEM)
			return fail_memory(err);
		if (rc < 0) /* never the value: it may be long, and it may be a header */
			return cordon_fail(err, CORDON_INVALID, 0, "network configuration: '%.*s' %s",
					   (int)(key < 40 ? key : 40), line,
					   rc == -ENOENT   ? "is not a key here"
					   : rc == -EEXIST ? "is there twice"
							   : "has a bad value");
		line += n + 1;
	}
	return 0;
}

static bool is_printable(const char *text)
{
	for (; *text; text++)
		if (*text < 0x20 || *text > 0x7e)
			return false;
	return true;
}

int net_secret_check(const struct net_secret *secret, struct cordon_error *err)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
	const char *header = secret->header, *mark = header ? strstr(header, "{}") : NULL;

	if (!secret->name || !net_secret_name(secret->name))
		return cordon_fail(err, CORDON_INVALID, 0, "'%.40s' is not the name of a secret",
				   secret->name ? secret->name : "");
	if (header) {
		size_t n = strspn(header, letters);

		while (header[n] == '-' || header[n] == '.')
			n += 1 + strspn(header + n + 1, letters);
		if (!n || header[n] != ':' || !is_printable(header) || !mark || strstr(mark + 2, "{}")) {
			cordon_fail(err, CORDON_INVALID, 0, "the header of secret '%s' is not one", secret->name);
			return fail_hint(err,
					 "write it like \"Authorization: Bearer {}\", with {} where the value goes");
		}
	}
	if (secret->placeholder && (!secret->placeholder[0] || !is_printable(secret->placeholder)))
		return cordon_fail(err, CORDON_INVALID, 0, "the placeholder of secret '%s' is not printable",
				   secret->name);
	return 0;
}

static int config_check(const struct net_config *c, struct cordon_error *err)
{
	for (size_t i = 0; i < c->rules.n; i++) {
		const struct net_rule *rule = &c->rules.v[i];

		if (net_rule_check(rule, err) < 0)
			return -1;
		if (rule->secret && !net_config_secret(c, rule->secret))
			return cordon_fail(err, CORDON_INVALID, 0, "no secret is called '%s'", rule->secret);
	}
	for (size_t i = 0; i < c->secret_count; i++)
		if (net_secret_check(&c->secrets[i], err) < 0)
			return -1;
	if (!c->proxy_host != !c->proxy_port)
		return cordon_fail(err, CORDON_INVALID, 0, "network configuration: a proxy has a host and a port");
	return net_rules_check(&c->rules, err);
}

int net_config_decode(const char *data, size_t len, struct net_config *ret, struct cordon_error *err)
{
	struct net_config config = { 0 };
	struct decoder d = { .config = &config };
	int rc = decode_lines(&d, data, len, err);

	if (rc == 0 && !d.has_mode)
		rc = cordon_fail(err, CORDON_INVALID, 0, "network configuration: no mode");
	if (rc == 0)
		rc = config_check(&config, err);
	if (rc < 0)
		net_config_done(&config);
	else
		*ret = config;
	return rc;
}

/* ---- writing ---- */

static void line_add(struct str *s, const char *key, const char *value)
{
	if (!value)
		return;
	str_add(s, key);
	str_add_char(s, '=');
	str_add_bytes(s, value, strlen(value) + 1);
}

static void number_add(struct str *s, const char *key, uint64_t value)
{
	str_addf(s, "%s=%" PRIu64, key, value);
	str_add_char(s, '\0');
}

static void encode_rule(struct str *s, const struct net_rule *rule)
{
	char address[ADDRESS_TEXT + 8];

	if (rule->host)
		str_addf(s, "rule=host:%s", rule->host);
	else
		str_addf(s, "rule=address:%s", prefix_text(&rule->prefix, address, sizeof(address)));
	str_add_char(s, '\0');
	if (rule->port_count) {
		str_add(s, "ports=");
		net_ports_text(rule, s);
		str_add_char(s, '\0');
	}
	line_add(s, "protocol", rule->has_protocol ? net_protocol_name(rule->protocol) : NULL);
	for (size_t i = 0; i < rule->methods.n; i++)
		line_add(s, "method", rule->methods.v[i]);
	for (size_t i = 0; i < rule->paths.n; i++)
		line_add(s, "path", rule->paths.v[i]);
	line_add(s, "use_secret", rule->secret);
	line_add(s, "ech", rule->ech ? "1" : NULL);
	line_add(s, "text", rule->text);
}

int net_config_encode(const struct net_config *config, struct str *ret)
{
	struct str s = { 0 };

	line_add(&s, "mode", mode_names[config->rules.mode]);
	line_add(&s, "read_only", config->rules.read_only ? "1" : NULL);
	line_add(&s, "allow_private", config->rules.allow_private ? "1" : NULL);
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		number_add(&s, numbers[i].name, *(const uint64_t *)((const char *)config + numbers[i].offset));
	line_add(&s, "proxy_host", config->proxy_host);
	if (config->proxy_port)
		number_add(&s, "proxy_port", config->proxy_port);
	line_add(&s, "ca_file", config->ca_file);
	for (size_t i = 0; i < config->rules.n; i++)
		encode_rule(&s, &config->rules.v[i]);
	for (size_t i = 0; i < config->secret_count; i++) {
		line_add(&s, "secret", config->secrets[i].name);
		line_add(&s, "header", config->secrets[i].header);
		line_add(&s, "placeholder", config->secrets[i].placeholder);
		number_add(&s, "ttl_ms", config->secrets[i].ttl_ms);
	}
	if (s.failed) {
		str_done(&s);
		return -ENOMEM;
	}
	*ret = s;
	return 0;
}

/* ---- life ---- */

static void secret_done(struct net_secret *secret)
{
	free(secret->name);
	free(secret->header);
	free(secret->placeholder);
	free(secret->from);
}

void net_config_done(struct net_config *config)
{
	net_rules_done(&config->rules);
	free(config->proxy_host);
	free(config->ca_file);
	for (size_t i = 0; i < config->secret_count; i++)
		secret_done(&config->secrets[i]);
	free(config->secrets);
	*config = (struct net_config){ 0 };
}

static bool string_copy(char **to, const char *from)
{
	*to = from ? strdup(from) : NULL;
	return !from || *to;
}

/* Adds the copy also where memory runs out half-way: the caller gives all of it back. */
static bool secret_copy(struct net_config *to, const struct net_secret *from)
{
	struct net_secret *secret = &to->secrets[to->secret_count++];

	*secret = (struct net_secret){ .ttl_ms = from->ttl_ms };
	return string_copy(&secret->name, from->name) && string_copy(&secret->header, from->header) &&
	       string_copy(&secret->placeholder, from->placeholder) && string_copy(&secret->from, from->from);
}

static bool config_copy(struct net_config *to, const struct net_config *from)
{
	*to = *from;
	to->rules.v = NULL;
	to->rules.n = 0;
	to->secrets = NULL;
	to->secret_count = 0;
	to->ca_file = NULL;
	if (!string_copy(&to->proxy_host, from->proxy_host) || !string_copy(&to->ca_file, from->ca_file))
		return false;
	for (size_t i = 0; i < from->rules.n; i++) {
		struct net_rule rule;

		if (net_rule_copy(&rule, &from->rules.v[i]) < 0 || net_rules_add(&to->rules, &rule) < 0)
			return false;
	}
	to->secrets = from->secret_count ? calloc(from->secret_count, sizeof(*to->secrets)) : NULL;
	if (from->secret_count && !to->secrets)
		return false;
	for (size_t i = 0; i < from->secret_count; i++)
		if (!secret_copy(to, &from->secrets[i]))
			return false;
	return true;
}

int net_config_copy(struct net_config *to, const struct net_config *from)
{
	struct net_config copy;

	if (!config_copy(&copy, from)) {
		net_config_done(&copy);
		return -ENOMEM;
	}
	*to = copy;
	return 0;
}

const struct net_secret *net_config_secret(const struct net_config *config, const char *name)
{
	for (size_t i = 0; i < config->secret_count; i++)
		if (strcmp(config->secrets[i].name, name) == 0)
			return &config->secrets[i];
	return NULL;
}
