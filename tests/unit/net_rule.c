/* Rules: read, checked, decided over, narrowed; paths of requests. */
#include "net/rule.h"
#include "tap.h"

#include <errno.h>

/* ---- building ---- */

static struct net_rule rule_of(const char *text, bool is_address)
{
	struct net_rule rule = { 0 };
	struct cordon_error err = { 0 };

	if (net_rule_parse(text, is_address, &rule, &err) < 0)
		ok(false, "'%s' is a rule: %s", text, err.message);
	return rule;
}

/* "HOST… [METHOD…] [/path…] [$secret] [+ech]"; an address begins with "@". */
static void add(struct net_rules *rules, const char *spec)
{
	char copy[256], *save = NULL, *word;

	snprintf(copy, sizeof(copy), "%s", spec);
	word = strtok_r(copy, " ", &save);
	struct net_rule rule = word[0] == '@' ? rule_of(word + 1, true) : rule_of(word, false);
	while ((word = strtok_r(NULL, " ", &save))) {
		if (word[0] == '/')
			strv_add(&rule.paths, word);
		else if (word[0] == '$')
			rule.secret = strdup(word + 1);
		else if (word[0] == '+')
			rule.ech = true;
		else
			strv_add(&rule.methods, word);
	}
	net_rules_add(rules, &rule);
}

/* Specs separated by "; ". */
static struct net_rules rules_of(enum net_mode mode, const char *specs)
{
	struct net_rules rules = { .mode = mode };
	char copy[1024], *save = NULL;
	struct cordon_error err = { 0 };

	snprintf(copy, sizeof(copy), "%s", specs);
	for (char *spec = strtok_r(copy, ";", &save); spec; spec = strtok_r(NULL, ";", &save))
		add(&rules, spec + strspn(spec, " "));
	for (size_t i = 0; i < rules.n; i++)
		if (net_rule_check(&rules.v[i], &err) < 0)
			ok(false, "'%s': %s", specs, err.message);
	if (net_rules_check(&rules, &err) < 0)
		ok(false, "'%s': %s", specs, err.message);
	return rules;
}

/* ---- reading ---- */

static void check_parse(const char *text, bool is_address, const char *want)
{
	struct net_rule rule = { 0 }, again = { 0 };
	struct cordon_error err = { 0 };
	int rc = net_rule_parse(text, is_address, &rule, &err);

	if (!want) {
		ok(rc < 0 && err.code == CORDON_INVALID && err.message[0], "'%s' is refused: %s", text, err.message);
	} else {
		is_str(rule.text, want, "'%s' as a rule", text);
		ok(rc == 0 && net_rule_parse(want, is_address, &again, &err) == 0 && again.text &&
			   strcmp(again.text, want) == 0,
		   "and read again");
	}
	net_rule_done(&rule);
	net_rule_done(&again);
}

static void check_parsing(void)
{
	static const char *const hosts[][2] = {
		{ "example.com", "example.com" },
		{ "Example.COM.:443", "example.com:443" },
		{ "*.pypi.org:443,80", "*.pypi.org:443,80" },
		{ "*:443", "*:443" },
		{ "git.example.com:22/tcp", "git.example.com:22/tcp" },
		{ "example.com:8000-8010/http", "example.com:8000-8010/http" },
		{ "bücher.example:443", "xn--bcher-kva.example:443" },
		{ "example.com:1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16/tcp",
		  "example.com:1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16/tcp" },
		{ "example.com:1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17/tcp", NULL },
		{ "", NULL },
		{ ":443", NULL },
		{ "example.com:", NULL },
		{ "example.com:0", NULL },
		{ "example.com:65536", NULL },
		{ "example.com:0443", NULL },
		{ "example.com:443,", NULL },
		{ "example.com:,443", NULL },
		{ "example.com:443 ", NULL },
		{ "example.com:+443", NULL },
		{ "example.com:90-80", NULL },
		{ "example.com:80-", NULL },
		{ "example.com:443/", NULL },
		{ "example.com:443/udp", NULL },
		{ "example.com:443/tls/tls", NULL },
		{ "example.com/x", NULL },
		{ "https://example.com", NULL },
		{ "user@example.com", NULL },
		{ "127.0.0.1:443", NULL },
		{ "0x7f.1", NULL },
		{ "::1", NULL },
		{ "[::1]:443", NULL },
		{ "10.0.0.0/8", NULL },
	};
	static const char *const addresses[][2] = {
		{ "10.1.2.0/24:5432/tcp", "10.1.2.0/24:5432/tcp" },
		{ "10.1.2.3", "10.1.2.3" },
		{ "10.1.2.3:22/tcp", "10.1.2.3:22/tcp" },
		{ "2001:db8::/32", "2001:db8::/32" },
		{ "2001:db8::/32:443", "[2001:db8::]/32:443" },
		{ "[2001:db8::1]:443", "[2001:db8::1]:443" },
		{ "[2001:db8::]/32:443", "[2001:db8::]/32:443" },
		{ "[2001:db8::1]", "2001:db8::1" },
		{ "2001:db8::1", "2001:db8::1" },
		{ "10.1.2.3/24:22/tcp", NULL },
		{ "10.1:22/tcp", NULL },
		{ "010.1.2.3:22/tcp", NULL },
		{ "::ffff:10.1.2.3", NULL },
		{ "[2001:db8::1:443", NULL },
		{ "[10.1.2.3]:443", NULL },
		{ "[2001:db8::1]443", NULL },
		{ "10.1.2.0/24:", NULL },
		{ "10.1.2.0/24x", NULL },
		{ "example.com", NULL },
		{ "", NULL },
		{ "*", NULL },
	};

	for (size_t i = 0; i < ARRAY_LEN(hosts); i++)
		check_parse(hosts[i][0], false, hosts[i][1]);
	for (size_t i = 0; i < ARRAY_LEN(addresses); i++)
		check_parse(addresses[i][0], true, addresses[i][1]);
}

/* ---- checks ---- */

static void check_rule(const char *spec, bool good)
{
	struct net_rules rules = { .mode = NET_ALLOW };
	struct cordon_error err = { 0 };
	int rc;

	add(&rules, spec);
	rc = net_rule_check(&rules.v[0], &err);
	ok(good ? rc == 0 : rc < 0 && err.code == CORDON_INVALID, "'%s' is %s %s", spec,
	   good ? "good" : "refused:", err.message);
	net_rules_done(&rules);
}

static void check_rules(const char *specs, bool good)
{
	struct net_rules rules = { .mode = NET_ALLOW };
	struct cordon_error err = { 0 };
	char copy[1024], *save = NULL;

	snprintf(copy, sizeof(copy), "%s", specs);
	for (char *spec = strtok_r(copy, ";", &save); spec; spec = strtok_r(NULL, ";", &save))
		add(&rules, spec + strspn(spec, " "));
	int rc = net_rules_check(&rules, &err);
	ok(good ? rc == 0 : rc < 0 && err.code == CORDON_INVALID, "'%.60s…' are %s %s", specs,
	   good ? "good" : "refused:", err.message);
	net_rules_done(&rules);
}

static void check_checks(void)
{
	static const char *const good[] = { "example.com",
					    "example.com GET HEAD /v1/* $KEY",
					    "example.com:443 M-SEARCH",
					    "example.com:22/tcp",
					    "@10.0.0.0/8:5432/tcp",
					    "example.com +ech",
					    "*:443",
					    "example.com:80 $KEY",
					    "example.com:8443/tls +ech",
					    "example.com /a%20b/*",
					    "example.com /*",
					    "example.com /a*b*c" };
	static const char *const bad[] = {
		"example.com:22",          "example.com:80-81",       "example.com:22/tcp GET", "example.com:22/tcp /x",
		"example.com:22/tcp $KEY", "example.com:22/tcp +ech", "example.com:80 +ech",    "example.com get",
		"example.com G:T",         "example.com CONNECT",     "example.com +ech GET",   "example.com $9KEY",
		"example.com $A-B",        "example.com /a/../b",     "example.com //a",        "example.com /a?b",
		"example.com /a%2fb",      "example.com /%61",        "example.com /a;b",       "example.com /a#b",
		"@10.0.0.0/8:5432"
	};

	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		check_rule(good[i], true);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		check_rule(bad[i], false);
	check_rules("example.com; example.com:443 GET", true);
	check_rules("example.com:443; *.example.com:443/tcp", true);
	check_rules("example.com:443; example.com:443/tcp", false);
	check_rules("example.com:400-500/tcp; example.com", false);
	check_rules("@10.0.0.0/8:80/tcp; @10.1.0.0/16:80", false);
	check_rules("@10.0.0.0/8:80/tcp; @11.0.0.0/16:80", true);
	check_rules("a.b; a.b; a.b; a.b; a.b; a.b; a.b; a.b; a.b; a.b; a.b; a.b; a.b; a.b; a.b; a.b", true);
	check_rules("a.b; a.b; a.b; a.b; a.b; a.b; a.b; a.b; a.b; a.b; a.b; a.b; a.b; a.b; a.b; a.b; a.b", false);
}

/* ---- decisions ---- */

static bool reaches(const struct net_rules *rules, const char *target, uint16_t port, struct net_match *match)
{
	struct net_address address;
	char reason[160] = "";
	bool literal = address_parse(target, strlen(target), &address) == 0;
	int rc = net_rules_connect(rules, literal ? NULL : target, literal ? &address : NULL, port, match, reason,
				   sizeof(reason));

	if (rc < 0 && (rc != -EACCES || !reason[0]))
		ok(false, "a refusal has its reason");
	if (rc == 0 && match->needs_address != literal)
		ok(false, "a match knows that it is literal");
	return rc == 0;
}

struct connect_case {
	enum net_mode mode;
	const char *specs, *target;
	uint16_t port;
	const char *rule; /* first of the match; NULL: refused */
};

static const struct connect_case connects[] = {
	{ NET_ALLOW, "", "example.com", 443, NULL },
	{ NET_NONE, "example.com", "example.com", 443, NULL },
	{ NET_ALLOW, "example.com", "example.com", 443, "example.com" },
	{ NET_ALLOW, "example.com", "example.com", 80, "example.com" },
	{ NET_ALLOW, "example.com", "example.com", 81, NULL },
	{ NET_ALLOW, "example.com", "www.example.com", 443, NULL },
	{ NET_ALLOW, "*.example.com", "www.example.com", 443, "*.example.com" },
	{ NET_ALLOW, "*.example.com", "example.com", 443, NULL },
	{ NET_ALLOW, "*.example.com", "evilexample.com", 443, NULL },
	{ NET_ALLOW, "*.example.com", "evil-example.com", 443, NULL },
	{ NET_ALLOW, "*; *.com; *.example.com; api.example.com", "api.example.com", 443, "api.example.com" },
	{ NET_ALLOW, "*; *.com; *.example.com", "api.example.com", 443, "*.example.com" },
	{ NET_ALLOW, "*; *.com", "api.example.com", 443, "*.com" },
	{ NET_ALLOW, "*", "api.example.com", 443, "*" },
	{ NET_ALLOW, "api.example.com:443; *.example.com:80", "api.example.com", 80, "*.example.com:80" },
	{ NET_ALLOW, "*", "192.0.2.1", 443, "*" },
	{ NET_ALLOW, "*", "10.1.2.3", 443, NULL },
	{ NET_ALLOW, "*", "127.0.0.1", 443, NULL },
	{ NET_ALLOW, "*.com", "192.0.2.1", 443, NULL },
	{ NET_ALLOW, "@10.0.0.0/8:5432/tcp", "10.1.2.3", 5432, "10.0.0.0/8:5432/tcp" },
	{ NET_ALLOW, "@10.0.0.0/8:5432/tcp", "10.1.2.3", 5433, NULL },
	{ NET_ALLOW, "@10.0.0.0/8:5432/tcp", "11.1.2.3", 5432, NULL },
	{ NET_ALLOW, "@10.0.0.0/8:5432/tcp", "::ffff:10.1.2.3", 5432, NULL },
	{ NET_ALLOW, "@10.0.0.0/8:5432/tcp", "example.com", 5432, NULL },
	{ NET_ALLOW, "@0.0.0.0/0:5432/tcp", "192.0.2.1", 5432, "0.0.0.0/0:5432/tcp" },
	{ NET_ALLOW, "@0.0.0.0/0:5432/tcp", "10.1.2.3", 5432, NULL },
	{ NET_ALLOW, "@0.0.0.0/0:5432/tcp", "169.254.169.254", 5432, NULL },
	{ NET_ALLOW, "@::/0:5432/tcp", "::ffff:127.0.0.1", 5432, NULL },
	{ NET_ALLOW, "@127.0.0.1:5432/tcp", "127.0.0.1", 5432, "127.0.0.1:5432/tcp" },
	{ NET_ALLOW, "*:443; @192.0.2.0/24:443", "192.0.2.1", 443, "192.0.2.0/24:443" },
	{ NET_OPEN, "", "example.com", 22, "--net open" },
	{ NET_OPEN, "", "192.0.2.1", 22, "--net open" },
	{ NET_OPEN, "", "2001:db8::1", 22, "--net open" },
	{ NET_OPEN, "", "10.1.2.3", 22, NULL },
	{ NET_OPEN, "", "169.254.169.254", 80, NULL },
	{ NET_OPEN, "", "::ffff:192.0.2.1", 22, NULL },
	{ NET_OPEN, "@10.0.0.0/8:22/tcp", "10.1.2.3", 22, "10.0.0.0/8:22/tcp" },
	{ NET_OPEN, "example.com:443 GET", "example.com", 443, "example.com:443" },
	{ NET_OPEN, "example.com:443 GET", "example.com", 444, "--net open" },
	{ NET_OPEN, "*:443", "example.com", 443, "*:443" },
};

static void check_connects(void)
{
	for (size_t i = 0; i < ARRAY_LEN(connects); i++) {
		const struct connect_case *c = &connects[i];
		struct net_rules rules = rules_of(c->mode, c->specs);
		struct net_match match = { 0 };
		bool reached = reaches(&rules, c->target, c->port, &match);

		is_str(reached ? match.rules[0]->text : NULL, c->rule, "'%s': %s:%u", c->specs, c->target, c->port);
		net_rules_done(&rules);
	}
}

static void check_names(void)
{
	struct net_rules rules = rules_of(NET_ALLOW, "example.com:22/tcp; *.example.net; @192.0.2.0/24:443");

	ok(net_rules_name(&rules, "example.com"), "a name with a rule for some port may be resolved");
	ok(net_rules_name(&rules, "a.example.net"), "one below a wildcard as well");
	ok(!net_rules_name(&rules, "example.net") && !net_rules_name(&rules, "a.example.com"), "others may not");
	rules.mode = NET_NONE;
	ok(!net_rules_name(&rules, "example.com"), "none without a network");
	rules.mode = NET_OPEN;
	ok(net_rules_name(&rules, "any.where"), "any with an open one");
	net_rules_done(&rules);
}

static const char *dials(const struct net_rules *rules, const char *target, uint16_t port, const char *address)
{
	struct net_address a;
	struct net_match match;

	if (!reaches(rules, target, port, &match) || address_parse(address, strlen(address), &a) < 0)
		return "no match";
	return net_rules_dial(rules, &match, &a);
}

static void check_dials(void)
{
	struct net_rules rules = rules_of(NET_ALLOW, "example.com; *:8000/tcp; @10.0.0.0/8:443; @192.0.2.0/24:443");

	is_str(dials(&rules, "example.com", 443, "203.0.113.1"), NULL, "a name at a public address");
	is_str(dials(&rules, "example.com", 443, "2001:db8::1"), NULL, "a name at a public address of IPv6");
	is_str(dials(&rules, "example.com", 443, "169.254.169.254"), "link-local, cloud metadata",
	       "a name at the metadata");
	is_str(dials(&rules, "example.com", 443, "10.1.2.3"), "private (RFC 1918)", "a name at a private address");
	is_str(dials(&rules, "example.com", 443, "::ffff:203.0.113.1"), "IPv4-mapped", "a name at a mapped address");
	is_str(dials(&rules, "10.1.2.3", 443, "10.1.2.3"), NULL, "a private address that a rule names");
	is_str(dials(&rules, "10.1.2.3", 443, "203.0.113.1"), "not the address that the rule names",
	       "and another than that");
	is_str(dials(&rules, "203.0.113.1", 8000, "203.0.113.1"), NULL, "a public address under *");
	is_str(dials(&rules, "203.0.113.1", 8000, "127.0.0.1"), "loopback", "a special one in its place");
	rules.allow_private = true;
	is_str(dials(&rules, "example.com", 443, "10.1.2.3"), NULL,
	       "private addresses for names where that is allowed");
	is_str(dials(&rules, "127.0.0.1", 8000, "127.0.0.1"), NULL, "and under *");
	net_rules_done(&rules);
}

static const char *request(const struct net_rules *rules, const char *host, uint16_t port, const char *method,
			   const char *path)
{
	struct net_match match = { 0 };

	if (!reaches(rules, host, port, &match))
		return "no match";
	const struct net_rule *rule = net_rules_request(rules, &match, method, path);
	return rule ? rule->text : NULL;
}

static void check_requests(void)
{
	struct net_rules rules =
		rules_of(NET_ALLOW, "a.example GET HEAD /v1/*; a.example:443 POST /v1/items; b.example; "
				    "c.example GET; c.example $KEY /k/*; *.example");
	struct net_match match = { 0 };

	ok(reaches(&rules, "a.example", 443, &match) && match.n == 2 && match.inspect && match.protocol == NET_TLS,
	   "rules of one name together, inspected");
	ok(reaches(&rules, "a.example", 80, &match) && match.n == 1 && match.inspect && match.protocol == NET_HTTP,
	   "only those with the port");
	ok(reaches(&rules, "b.example", 443, &match) && !match.inspect, "nothing to inspect");
	is_str(request(&rules, "a.example", 443, "GET", "/v1/x/y"), "a.example", "a method and a path");
	is_str(request(&rules, "a.example", 443, "GET", "/v2/x"), NULL, "another path");
	is_str(request(&rules, "a.example", 443, "POST", "/v1/x"), NULL, "another method");
	is_str(request(&rules, "a.example", 443, "get", "/v1/x"), NULL, "methods have a case");
	is_str(request(&rules, "a.example", 443, "POST", "/v1/items"), "a.example:443", "the other rule");
	is_str(request(&rules, "a.example", 80, "POST", "/v1/items"), NULL, "which has not this port");
	is_str(request(&rules, "b.example", 443, "DELETE", "/"), "b.example", "anything where nothing is said");
	ok(reaches(&rules, "c.example", 443, &match) &&
		   net_rules_request(&rules, &match, "GET", "/k/x")->secret != NULL,
	   "rather the rule with the secret");
	ok(net_rules_request(&rules, &match, "GET", "/x")->secret == NULL, "but only where it takes the path");
	rules.read_only = true;
	ok(reaches(&rules, "b.example", 443, &match) && match.inspect, "read-only is inspected");
	is_str(request(&rules, "b.example", 443, "DELETE", "/"), NULL, "read-only does not delete");
	is_str(request(&rules, "b.example", 443, "OPTIONS", "/"), "b.example", "but asks");
	is_str(request(&rules, "a.example", 443, "POST", "/v1/items"), NULL, "whatever a rule says");
	net_rules_done(&rules);

	rules = rules_of(NET_OPEN, "git.example:22/tcp");
	rules.read_only = true;
	ok(!reaches(&rules, "git.example", 22, &match), "read-only has no tcp");
	ok(!reaches(&rules, "x.example", 8080, &match), "also where it is open");
	ok(reaches(&rules, "x.example", 443, &match) && match.protocol == NET_TLS && match.inspect,
	   "but what can be inspected");
	ok(reaches(&rules, "x.example", 80, &match) && match.protocol == NET_HTTP && match.inspect, "on both ports");
	rules.read_only = false;
	ok(reaches(&rules, "git.example", 22, &match) && match.protocol == NET_TCP && !match.inspect,
	   "otherwise it has");
	net_rules_done(&rules);
}

/* ---- paths ---- */

struct within_case {
	const char *inner;
	enum net_mode mode;
	const char *outer;
	bool within;
};

static const struct within_case withins[] = {
	/* Repeats. */
	{ "a.example", NET_ALLOW, "a.example", true },
	{ "a.example GET /v1/* $KEY", NET_ALLOW, "a.example GET /v1/* $KEY", true },
	{ "*.example", NET_ALLOW, "*.example", true },
	{ "*", NET_ALLOW, "*", true },
	{ "a.example:22/tcp", NET_ALLOW, "a.example:22/tcp", true },
	{ "@10.0.0.0/8:22/tcp", NET_ALLOW, "@10.0.0.0/8:22/tcp", true },
	{ "a.example:443 +ech", NET_ALLOW, "a.example:443 +ech", true },
	/* Hosts. */
	{ "a.example", NET_ALLOW, "*.example", true },
	{ "*.a.example", NET_ALLOW, "*.example", true },
	{ "*.example", NET_ALLOW, "*", true },
	{ "example", NET_ALLOW, "*.example", false },
	{ "evilexample", NET_ALLOW, "*.example", false },
	{ "*.example", NET_ALLOW, "a.example", false },
	{ "*", NET_ALLOW, "*.example", false },
	{ "a.example", NET_ALLOW, "b.example", false },
	{ "a.example", NET_NONE, "a.example", false },
	{ "a.example", NET_ALLOW, "", false },
	/* Ports. */
	{ "a.example:443", NET_ALLOW, "a.example", true },
	{ "a.example", NET_ALLOW, "a.example:443", false },
	{ "a.example", NET_ALLOW, "a.example:443; a.example:80", true },
	{ "a.example", NET_ALLOW, "a.example:443; *.example:80", true },
	{ "a.example:8000-8005/tcp", NET_ALLOW, "a.example:8000-8010/tcp", true },
	{ "a.example:8000-8010/tcp", NET_ALLOW, "a.example:8000-8005/tcp; a.example:8006-8010/tcp", true },
	{ "a.example:8000-8010/tcp", NET_ALLOW, "a.example:8000-8005/tcp; a.example:8007-8010/tcp", false },
	{ "a.example:443", NET_ALLOW, "a.example:443/tcp", true },
	{ "a.example:443/tcp", NET_ALLOW, "a.example:443", false },
	{ "a.example:443/http", NET_ALLOW, "a.example:443", false },
	/* Requests. */
	{ "a.example GET", NET_ALLOW, "a.example", true },
	{ "a.example", NET_ALLOW, "a.example GET", false },
	{ "a.example GET", NET_ALLOW, "a.example GET HEAD", true },
	{ "a.example GET POST", NET_ALLOW, "a.example GET HEAD", false },
	{ "a.example /v1/x", NET_ALLOW, "a.example /v1/*", true },
	{ "a.example /v1/x*", NET_ALLOW, "a.example /v1/*", true },
	{ "a.example /v1*", NET_ALLOW, "a.example /v1/*", false },
	{ "a.example /v1/x /v2", NET_ALLOW, "a.example /v1/* /v2", true },
	{ "a.example /*", NET_ALLOW, "a.example /*", true },
	/* What is looked at stays looked at. */
	{ "a.example", NET_ALLOW, "a.example /*", false },
	{ "a.example", NET_ALLOW, "a.example; a.example $KEY", false },
	{ "a.example /*", NET_ALLOW, "a.example; a.example $KEY", true },
	{ "a.example:80", NET_ALLOW, "a.example; a.example:443 $KEY", true },
	{ "@192.0.2.0/24:443", NET_ALLOW, "@192.0.2.0/24:443; @192.0.2.7:443 GET", false },
	{ "@192.0.2.0/25:443", NET_ALLOW, "@192.0.2.0/24:443; @192.0.2.200:443 GET", true },
	{ "a.example", NET_ALLOW, "a.example /v1/*", false },
	{ "a.example $KEY", NET_ALLOW, "a.example $KEY", true },
	{ "a.example", NET_ALLOW, "a.example $KEY", false },
	{ "a.example $KEY", NET_ALLOW, "a.example", false },
	{ "a.example $KEY", NET_ALLOW, "a.example $OTHER", false },
	{ "a.example $KEY", NET_OPEN, "", false },
	{ "a.example:443 +ech", NET_ALLOW, "a.example:443", false },
	{ "a.example:443", NET_ALLOW, "a.example:443 +ech", true },
	{ "a.example:443 +ech", NET_ALLOW, "a.example:443 +ech; a.example:443", false },
	{ "@192.0.2.7:443 +ech", NET_ALLOW, "@192.0.2.0/24:443 +ech", true },
	{ "@192.0.2.7:443 +ech", NET_ALLOW, "@192.0.2.0/24:443 +ech; @192.0.2.0/25:443", false },
	/* What is closer speaks alone. */
	{ "a.example", NET_ALLOW, "*.example; a.example GET", false },
	{ "a.example GET", NET_ALLOW, "*.example; a.example GET", true },
	{ "*.example", NET_ALLOW, "*.example; a.example GET", false },
	{ "*.example:80", NET_ALLOW, "*.example; a.example:443 GET", true },
	{ "*.example GET", NET_ALLOW, "*.example; a.example GET", true },
	{ "b.example", NET_ALLOW, "*.example; a.example GET", true },
	{ "*", NET_OPEN, "*.example:443 GET", false },
	{ "*:443", NET_ALLOW, "*:443; @192.0.2.0/24:443 GET", false },
	{ "*:443", NET_ALLOW, "*:443; @10.0.0.0/24:443 GET", true },
	/* Open. */
	{ "a.example", NET_OPEN, "", true },
	{ "*:1-65535/tcp", NET_OPEN, "", true },
	{ "a.example", NET_OPEN, "a.example GET", false },
	{ "@192.0.2.0/24:22/tcp", NET_OPEN, "", true },
	{ "@10.0.0.0/8:22/tcp", NET_OPEN, "", false },
	{ "@192.0.2.0/24:443", NET_OPEN, "@192.0.2.7:443 GET", false },
	/* Addresses. */
	{ "@10.1.0.0/16:22/tcp", NET_ALLOW, "@10.0.0.0/8:22/tcp", true },
	{ "@10.0.0.0/8:22/tcp", NET_ALLOW, "@10.1.0.0/16:22/tcp", false },
	{ "@10.0.0.0/8:22/tcp", NET_ALLOW, "@0.0.0.0/0:22/tcp", false },
	{ "@192.0.2.0/24:22/tcp", NET_ALLOW, "@0.0.0.0/0:22/tcp", true },
	{ "@192.0.2.0/24:443", NET_ALLOW, "*", true },
	{ "@192.0.2.0/24:443", NET_ALLOW, "*.example", false },
	{ "a.example:443", NET_ALLOW, "@0.0.0.0/0:443", false },
};

static void check_within(void)
{
	for (size_t i = 0; i < ARRAY_LEN(withins); i++) {
		const struct within_case *c = &withins[i];
		struct net_rules inner = rules_of(NET_ALLOW, c->inner), outer = rules_of(c->mode, c->outer);

		ok(net_rule_is_within(&inner.v[0], &outer) == c->within, "'%s' is %swithin '%s'%s", c->inner,
		   c->within ? "" : "not ", c->outer, c->mode == NET_OPEN ? ", open" : "");
		net_rules_done(&inner);
		net_rules_done(&outer);
	}
}

static bool sets_within(enum net_mode inner_mode, const char *inner_specs, enum net_mode mode, const char *specs)
{
	struct net_rules inner = rules_of(inner_mode, inner_specs), outer = rules_of(mode, specs);
	bool within = net_rules_are_within(&inner, &outer);

	net_rules_done(&inner);
	net_rules_done(&outer);
	return within;
}

static void check_sets_within(void)
{
	static const char secret[] = "a.example; a.example:443 $KEY; @192.0.2.0/24:443; @192.0.2.7:443 GET";
	static const char many[] = "*.example; a.example GET; *:443; @192.0.2.0/24:443 GET; @10.0.0.0/8:22/tcp";

	ok(sets_within(NET_ALLOW, many, NET_ALLOW, many), "a set is within itself");
	ok(sets_within(NET_OPEN, many, NET_OPEN, many), "also an open one");
	ok(!sets_within(NET_ALLOW, "*.example", NET_ALLOW, many), "but not without its closer rule");
	ok(sets_within(NET_ALLOW, many, NET_OPEN, many), "a set is within an open one");
	ok(sets_within(NET_ALLOW, secret, NET_ALLOW, secret), "what is looked at beside what is not");
	ok(!sets_within(NET_ALLOW, "a.example; @192.0.2.7:443 GET", NET_ALLOW, secret), "and not if it no longer is");
	ok(!sets_within(NET_OPEN, many, NET_ALLOW, many), "but not the other way");
	ok(!sets_within(NET_OPEN, "", NET_OPEN, "a.example:443 GET"), "open is not within what says less somewhere");
	ok(sets_within(NET_OPEN, "a.example:443 GET", NET_OPEN, ""), "the other way it is");
	ok(sets_within(NET_NONE, "", NET_NONE, "") && sets_within(NET_NONE, "a.example", NET_ALLOW, ""),
	   "none is within all");
	ok(!sets_within(NET_ALLOW, "a.example", NET_NONE, ""), "nothing is within none");

	struct net_rules inner = rules_of(NET_ALLOW, "a.example"), outer = rules_of(NET_ALLOW, "a.example");
	outer.read_only = true;
	ok(!net_rules_are_within(&inner, &outer), "what writes is not within what reads");
	inner.read_only = true;
	ok(net_rules_are_within(&inner, &outer), "what reads is");
	outer.read_only = false;
	ok(net_rules_are_within(&inner, &outer), "also within what writes");
	inner.allow_private = true;
	ok(!net_rules_are_within(&inner, &outer), "private ranges are not within public ones");
	net_rules_done(&inner);
	net_rules_done(&outer);
}

static void test_intercept(void)
{
	struct net_rule rules[1] = { { .host = (char *)"a.test" } };
	struct net_rules all = { .mode = NET_ALLOW, .v = rules, .n = 1 };

	ok(!net_rules_intercept(&all), "a plain rule needs no authority");
	rules[0].secret = (char *)"KEY";
	ok(net_rules_intercept(&all), "one with a secret does");
	rules[0].has_protocol = true;
	rules[0].protocol = NET_HTTP;
	ok(!net_rules_intercept(&all), "not over plain HTTP");
	rules[0].has_protocol = false;
	rules[0].port_count = 1;
	rules[0].ports[0] = (struct net_ports){ 80, 80 };
	ok(!net_rules_intercept(&all), "nor where 443 is not among its ports");
	rules[0].port_count = 0;
	rules[0].secret = NULL;
	all.read_only = true;
	ok(net_rules_intercept(&all), "a read-only network does");
	all.n = 0;
	ok(!net_rules_intercept(&all), "not where it allows nothing");
	all.mode = NET_OPEN;
	ok(net_rules_intercept(&all), "an open one that is read-only does");
	all.read_only = false;
	ok(!net_rules_intercept(&all), "an open one does not");
	all = (struct net_rules){ .mode = NET_NONE, .read_only = true };
	ok(!net_rules_intercept(&all), "no network, no authority");
}

int main(void)
{
	check_parsing();
	check_checks();
	check_connects();
	check_names();
	check_dials();
	check_requests();
	check_within();
	check_sets_within();
	test_intercept();
	return done_testing();
}
