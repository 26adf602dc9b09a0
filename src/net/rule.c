/*
 * Rules as objects: read from text, checked, copied. See rule.h. What a rule must satisfy is checked in one place, net_rule_check(),
 * whatever it came from: flags, policies and the wire. Pure; any process, any privilege.
 */
#include "net/rule.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const protocol_names[] = { [NET_TLS] = "tls", [NET_HTTP] = "http", [NET_TCP] = "tcp" };

const char *net_protocol_name(enum net_protocol protocol)
{
	return protocol_names[protocol];
}

int net_protocol_parse(const char *text, enum net_protocol *ret)
{
	for (size_t i = 0; i < ARRAY_LEN(protocol_names); i++)
		if (strcmp(text, protocol_names[i]) == 0) {
			*ret = (enum net_protocol)i;
			return 0;
		}
	return -EINVAL;
}

void net_rule_done(struct net_rule *rule)
{
	free(rule->host);
	strv_done(&rule->methods);
	strv_done(&rule->paths);
	free(rule->secret);
	free(rule->text);
	*rule = (struct net_rule){ 0 };
}

void net_rules_done(struct net_rules *rules)
{
	for (size_t i = 0; i < rules->n; i++)
		net_rule_done(&rules->v[i]);
	free(rules->v);
	*rules = (struct net_rules){ 0 };
}

int net_rule_copy(struct net_rule *to, const struct net_rule *from)
{
	struct net_rule rule = *from;

	rule.methods = rule.paths = (struct strv){ 0 };
	rule.host = from->host ? strdup(from->host) : NULL;
	rule.secret = from->secret ? strdup(from->secret) : NULL;
	rule.text = from->text ? strdup(from->text) : NULL;
	if (!rule.host != !from->host || !rule.secret != !from->secret || !rule.text != !from->text ||
	    strv_copy(&rule.methods, &from->methods) < 0 || strv_copy(&rule.paths, &from->paths) < 0) {
		net_rule_done(&rule);
		return -ENOMEM;
	}
	*to = rule;
	return 0;
}

int net_rules_add(struct net_rules *rules, struct net_rule *rule)
{
	struct net_rule *v = realloc(rules->v, (rules->n + 1) * sizeof(*v));

	if (!v) {
		net_rule_done(rule);
		return -ENOMEM;
	}
	rules->v = v;
	v[rules->n++] = *rule;
	*rule = (struct net_rule){ 0 };
	return 0;
}

size_t net_rule_spans(const struct net_rule *rule, struct net_span ret[NET_PORTS_MAX])
{
	size_t n = 0;

	if (!rule->port_count) {
		ret[0] = (struct net_span){ 443, 443, NET_TLS };
		ret[1] = (struct net_span){ 80, 80, NET_HTTP };
		return 2;
	}
	for (size_t i = 0; i < rule->port_count && i < NET_PORTS_MAX; i++) {
		struct net_span span = { rule->ports[i].first, rule->ports[i].last, rule->protocol };

		if (!rule->has_protocol) {
			if (span.first != span.last || (span.first != 443 && span.first != 80))
				continue; /* not to be guessed; net_rule_check() says so */
			span.protocol = span.first == 443 ? NET_TLS : NET_HTTP;
		}
		ret[n++] = span;
	}
	return n;
}

bool net_rule_port(const struct net_rule *rule, uint16_t port, enum net_protocol *ret)
{
	struct net_span spans[NET_PORTS_MAX];
	size_t n = net_rule_spans(rule, spans);

	for (size_t i = 0; i < n; i++)
		if (port >= spans[i].first && port <= spans[i].last) {
			*ret = spans[i].protocol;
			return true;
		}
	return false;
}

/* ---- text ---- */

void net_ports_text(const struct net_rule *rule, struct str *ret)
{
	for (size_t i = 0; i < rule->port_count; i++) {
		str_addf(ret, "%s%u", i ? "," : "", rule->ports[i].first);
		if (rule->ports[i].last != rule->ports[i].first)
			str_addf(ret, "-%u", rule->ports[i].last);
	}
}

char *net_rule_text(const struct net_rule *rule)
{
	auto_str struct str s = { 0 };
	char address[ADDRESS_TEXT + 8];

	if (rule->host) {
		str_add(&s, rule->host);
	} else if (rule->prefix.base.family == AF_INET6 && rule->port_count) {
		str_addf(&s, "[%s]", address_text(&rule->prefix.base, address));
		if (rule->prefix.bits != 128)
			str_addf(&s, "/%u", rule->prefix.bits);
	} else {
		str_add(&s, prefix_text(&rule->prefix, address, sizeof(address)));
	}
	if (rule->port_count) {
		str_add_char(&s, ':');
		net_ports_text(rule, &s);
		if (rule->has_protocol)
			str_addf(&s, "/%s", net_protocol_name(rule->protocol));
	}
	return str_take(&s);
}

static int port_parse(const char **p, uint16_t *ret)
{
	const char *s = *p;
	unsigned v = 0;

	if (*s < '1' || *s > '9')
		return -EINVAL;
	for (; *s >= '0' && *s <= '9'; s++) {
		v = v * 10 + (unsigned)(*s - '0');
		if (v > UINT16_MAX)
			return -EINVAL;
	}
	*p = s;
	*ret = (uint16_t)v;
	return 0;
}

int net_ports_parse(const char *text, size_t len, struct net_rule *rule)
{
	auto_free char *copy = strndup(text, len);
	struct net_ports ports[NET_PORTS_MAX];
	const char *p = copy;
	size_t n = 0;

	if (!copy)
		return -ENOMEM;
	for (;; p++) {
		if (n == NET_PORTS_MAX)
			return -E2BIG;
		if (port_parse(&p, &ports[n].first) < 0)
			return -EINVAL;
		ports[n].last = ports[n].first;
		if (*p == '-' && (p++, port_parse(&p, &ports[n].last) < 0 || ports[n].last < ports[n].first))
			return -EINVAL;
		n++;
		if (*p != ',')
			break;
	}
	if (*p || strlen(copy) != len)
		return -EINVAL;
	memcpy(rule->ports, ports, sizeof(ports));
	rule->port_count = n;
	return 0;
}

/* How much of the text is the address: up to its bits, its bracket, or the one colon of IPv4 with a port. */
static size_t address_part(const char *text)
{
	const char *slash = strchr(text, '/'), *colon = strchr(text, ':');

	if (text[0] == '[') {
		const char *end = strchr(text, ']');

		if (!end)
			return strlen(text);
		end++;
		if (*end == '/')
			end += 1 + strspn(end + 1, "0123456789");
		return (size_t)(end - text);
	}
	if (slash && slash[1] >= '0' && slash[1] <= '9')
		return (size_t)(slash + 1 - text) + strspn(slash + 1, "0123456789");
	return colon && colon == strrchr(text, ':') ? (size_t)(colon - text) : strlen(text);
}

static int parse_address(const char *text, size_t len, struct net_rule *rule, struct cordon_error *err)
{
	auto_str struct str plain = { 0 };
	struct net_address any;

	if (text[0] == '[' && memchr(text, ':', len)) { /* brackets only keep the port apart */
		const char *end = memchr(text, ']', len);
		size_t n = end ? (size_t)(end - text) : 0;

		if (n) {
			str_add_bytes(&plain, text + 1, n - 1);
			str_add_bytes(&plain, end + 1, len - n - 1);
		}
	} else {
		str_add_bytes(&plain, text, len);
	}
	if (plain.failed)
		return fail_memory(err);
	if (plain.data && prefix_parse(plain.data, plain.len, &rule->prefix) == 0)
		return 0;
	cordon_fail(err, CORDON_INVALID, 0, "'%.*s' is not an address or a network", (int)len, text);
	if (plain.data && address_parse(plain.data, plain.len, &any) == 0) {
		char canonical[ADDRESS_TEXT];

		return fail_hint(err, "write it as %s", address_text(&any, canonical));
	}
	return fail_hint(err,
			 "write it like 192.0.2.7, 10.1.2.0/24 or 2001:db8::/32, with no bits set behind the prefix");
}

static int parse_host(const char *text, size_t len, struct net_rule *rule, struct cordon_error *err)
{
	char host[HOSTNAME_SIZE];
	int rc = hostname_pattern_parse(text, len, host);

	if (rc == -EADDRNOTAVAIL) {
		cordon_fail(err, CORDON_INVALID, 0, "'%.*s' is an address, not a name", (int)len, text);
		return fail_hint(err, "addresses are allowed with --allow-cidr, or `address:` in a policy");
	}
	if (rc < 0) {
		cordon_fail(err, CORDON_INVALID, 0, "'%.*s' is not a host name", (int)len, text);
		return fail_hint(err, "write a name, *.name for all names below it, or * for any");
	}
	rule->host = strdup(host);
	return rule->host ? 0 : fail_memory(err);
}

/* ":PORTS" or ":PORTS/PROTOCOL", or nothing. */
static int parse_ports(const char *text, struct net_rule *rule, struct cordon_error *err)
{
	if (!*text)
		return 0;
	const char *slash = strchr(text, '/');
	size_t len = slash ? (size_t)(slash - text) : strlen(text);
	int rc = *text == ':' ? net_ports_parse(text + 1, len - 1, rule) : -EINVAL;

	if (rc == -ENOMEM)
		return fail_memory(err);
	if (rc == -E2BIG)
		return cordon_fail(err, CORDON_INVALID, 0, "'%s': more than %d ports", text, NET_PORTS_MAX);
	if (rc < 0) {
		cordon_fail(err, CORDON_INVALID, 0, "'%s' is not a port", text);
		return fail_hint(err, "write it like :443, :8000-8010, :80,443 or :22/tcp");
	}
	if (slash && net_protocol_parse(slash + 1, &rule->protocol) < 0)
		return cordon_fail(err, CORDON_INVALID, 0, "'%s' is not a protocol: tls, http or tcp", slash + 1);
	rule->has_protocol = slash != NULL;
	return 0;
}

/*
 * HOST[:PORTS[/PROTOCOL]] or ADDRESS[/BITS][:PORTS[/PROTOCOL]], where PORTS is "443", "8000-8010" or several with commas, and an
 * IPv6 address with ports has brackets. Refused: an address in any spelling where a name is expected, an address in another than
 * its canonical spelling, bits behind the prefix, port 0, what is not understood to its end. What the parts mean together is
 * left to net_rule_check().
 */
int net_rule_parse(const char *text, bool is_address, struct net_rule *ret, struct cordon_error *err)
{
	struct net_rule rule = { 0 };
	size_t len;
	int rc;

	if (is_address)
		len = address_part(text);
	else if (text[0] == '[' || strchr(text, ':') != strrchr(text, ':'))
		len = strlen(text); /* IPv6, or nothing */
	else
		len = strcspn(text, ":");
	rc = is_address ? parse_address(text, len, &rule, err) : parse_host(text, len, &rule, err);
	if (rc == 0)
		rc = parse_ports(text + len, &rule, err);
	if (rc == 0) {
		rule.text = net_rule_text(&rule);
		if (!rule.text)
			rc = fail_memory(err);
	}
	if (rc < 0)
		net_rule_done(&rule);
	else
		*ret = rule;
	return rc;
}
