/* The network part of a policy: what files and flags may say, what is said of everything else, and what the plan gets of it. */
#include "policy/network.h"
#include "tap.h"

static int parse(struct cordon_policy **p, const char *text, struct cordon_error *err)
{
	return cordon_policy_parse(p, "p.yaml", "/dir", text, strlen(text), err);
}

/* The configuration of a text; rules.mode is NET_NONE where something failed, which is told. */
static struct net_config config_of(const char *text)
{
	struct cordon_policy *p = NULL;
	struct cordon_error err = { 0 };
	struct net_config c = { 0 };

	if (parse(&p, text, &err) < 0 || policy_network(p, &c, &err) < 0)
		note("%s (%s)", err.message, err.hint);
	cordon_policy_free(p);
	return c;
}

static const char whole[] =
	"version: 1\n"
	"network:\n"
	"  allow:\n"
	"    - host: API.github.com.\n"
	"    - {host: \"*.pypi.org\", ports: [443]}\n"
	"    - {host: api.example.com, ports: [443], methods: [GET, HEAD], paths: [\"/v1/*\"], secret: EXAMPLE_KEY}\n"
	"    - {host: git.example.com, ports: [22, 8000-8010], protocol: tcp}\n"
	"    - {address: 10.1.2.0/24, ports: [5432], protocol: tcp}\n"
	"    - {host: new.example.com, ech: allow}\n"
	"    - bücher.example:8443/tls\n"
	"  allow_cidr: [\"192.0.2.7:22\"]\n"
	"  private: allow\n"
	"  read_only: true\n"
	"  connections: 20\n"
	"  connect_timeout: 10s\n"
	"  idle_timeout: 1m\n"
	"  download: 10M/s\n"
	"  upload: 2M/s\n"
	"  download_total: 1G\n"
	"  upload_total: 10M\n"
	"  upstream_proxy: http://Proxy.example:3128\n"
	"secrets:\n"
	"  EXAMPLE_KEY: {from: \"env:KEY\", header: \"Authorization: Bearer {}\"}\n"
	"  TOKEN: {from: \"command:get-token --now\", ttl: 90s}\n"
	"  FILE: {from: \"file:keys/x\"}\n";

static void test_rules(const struct net_rules *r)
{
	ok(r->mode == NET_ALLOW && r->n == 8 && r->allow_private && r->read_only, "rules make the mode allow");
	if (r->n != 8)
		return;
	is_str(r->v[0].host, "api.github.com", "a name in its one form");
	is_num(r->v[0].port_count, 0, "no ports are 443 and 80");
	is_str(r->v[1].text, "*.pypi.org:443", "told as it would be written");
	ok(r->v[2].methods.n == 2 && r->v[2].paths.n == 1 && strcmp(r->v[2].paths.v[0], "/v1/*") == 0, "requests");
	is_str(r->v[2].secret, "EXAMPLE_KEY", "the secret");
	ok(r->v[3].ports[1].first == 8000 && r->v[3].ports[1].last == 8010 && r->v[3].protocol == NET_TCP, "a range");
	ok(!r->v[4].host && r->v[4].prefix.bits == 24, "a prefix");
	ok(r->v[5].ech && !r->v[0].ech, "ech");
	is_str(r->v[6].text, "xn--bcher-kva.example:8443/tls", "a text is a rule, too");
	is_str(r->v[7].text, "192.0.2.7:22/tcp", "of an address as well, which is tcp");
}

/* What is accepted here must not be refused by the process that is told of it. */
static void test_wire(const struct net_config *c)
{
	struct net_config again = { 0 };
	struct cordon_error err = { 0 };
	struct str wire = { 0 };

	ok(net_config_encode(c, &wire) == 0 && net_config_decode(wire.data, wire.len, &again, &err) == 0 &&
		   again.rules.n == c->rules.n && again.secret_count == c->secret_count,
	   "and egress takes it %s", err.message);
	net_config_done(&again);
	str_done(&wire);
}

static void test_whole(void)
{
	struct net_config c = config_of(whole);

	test_rules(&c.rules);
	test_wire(&c);
	is_num(c.connections, 20, "connections");
	ok(c.connect_timeout_ms == 10000 && c.idle_timeout_ms == 60000, "timeouts");
	ok(c.download_bps == 10 << 20 && c.upload_bps == 2 << 20, "rates");
	ok(c.download_total == 1 << 30 && c.upload_total == 10 << 20, "totals");
	ok(c.proxy_host && strcmp(c.proxy_host, "proxy.example") == 0 && c.proxy_port == 3128, "the proxy");
	is_num(c.secret_count, 3, "secrets");
	if (c.secret_count == 3) {
		is_str(c.secrets[0].name, "EXAMPLE_KEY", "its name");
		is_str(c.secrets[0].from, "env:KEY", "from the environment");
		is_str(c.secrets[0].header, "Authorization: Bearer {}", "with a header");
		ok(c.secrets[0].ttl_ms == 0 && !c.secrets[0].placeholder, "for good; the placeholder is the plan's");
		ok(c.secrets[1].ttl_ms == 90000 && !c.secrets[1].header, "a command's for as long as is said");
		is_str(c.secrets[2].from, "file:/dir/keys/x", "a path starts at the policy's directory");
		is_num(c.secrets[2].ttl_ms, 300000, "a file's for five minutes");
	}
	net_config_done(&c);
}

static void test_modes(void)
{
	static const struct {
		const char *text;
		enum net_mode mode;
		size_t rules;
	} modes[] = {
		{ "", NET_NONE, 0 },
		{ "network: none\n", NET_NONE, 0 },
		{ "network: open\n", NET_OPEN, 0 },
		{ "network: allow\n", NET_ALLOW, 0 },
		{ "network: {}\n", NET_NONE, 0 },
		{ "network: {connections: 5}\n", NET_NONE, 0 },
		{ "network: {allow: []}\n", NET_ALLOW, 0 },
		{ "network: {allow: [a.b]}\n", NET_ALLOW, 1 },
		{ "network: {allow: [a.b, A.B., {host: a.b}]}\n", NET_ALLOW, 1 },
		{ "network: {allow: [a.b], mode: open}\n", NET_OPEN, 1 },
		{ "network: {mode: none, allow: [a.b]}\n", NET_NONE, 0 },
	};
	struct net_config c;

	for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
		char text[200];

		snprintf(text, sizeof(text), "version: 1\n%s", modes[i].text);
		c = config_of(text);
		ok(c.rules.mode == modes[i].mode && c.rules.n == modes[i].rules, "mode %d with %zu rules: %s",
		   c.rules.mode, c.rules.n, modes[i].text);
		net_config_done(&c);
	}
	c = config_of("version: 1\nnetwork: allow\n");
	ok(c.connections == 10 && c.connect_timeout_ms == 30000 && c.idle_timeout_ms == 300000, "usual limits");
	ok(!c.download_bps && !c.upload_bps && !c.download_total && !c.upload_total && !c.proxy_host, "and no others");
	ok(!c.rules.allow_private && !c.rules.read_only, "private ranges are refused");
	net_config_done(&c);
}

/* ---- files --------------------------------------------------------------------------------------------- */

static const struct {
	const char *text, *message, *hint;
} bad[] = {
	{ "network: {alow: [a.b]}", "p.yaml:2:11: no such key in network: 'alow'", "network.allow" },
	{ "network: {allow: a.b}", "p.yaml:2:18: network.allow: a list is wanted", "[api.example.com]" },
	{ "network: {allow: [[a.b]]}", "p.yaml:2:19: network.allow: a single value", "" },
	{ "network:\n  allow:\n  - host: a.b\n    port: [1]", "p.yaml:5:5: no such key in a rule: 'port'", "ports" },
	{ "network: {allow: [{}]}", "p.yaml:2:19: network.allow: a rule without a host", "{host: " },
	{ "network: {allow: [{host: a.b, address: 192.0.2.1, ports: [1], protocol: tcp}]}", "not for both", "" },
	{ "network: {allow: [{host: 0x7f.1}]}", "p.yaml:2:26: network.allow.host: '0x7f.1' is an address, not a name",
	  "address: 127.0.0.1" },
	{ "network: {allow: [{host: \"10.1\"}]}", "is an address, not a name", "address: 10.0.0.1" },
	{ "network: {allow: [{host: \"::1\"}]}", "is an address, not a name", "address: ::1" },
	{ "network: {allow: [\"10.1\"]}", "p.yaml:2:19: network.allow: '10.1' is an address, not a name",
	  "--allow-cidr" },
	{ "network: {allow: [{host: 10.0.0.0/8}]}", "is not a host's name", "'address:'" },
	{ "network: {allow: [{host: \"https://a.b/c\"}]}", "is not a host's name", "without scheme" },
	{ "network: {allow: [\"https://a.b/c\"]}", "is not a host's name", "without scheme" },
	{ "network: {allow: [{host: \"a.*.b\"}]}", "is not a host's name", "*.example.com" },
	{ "network: {allow: [{host: \"*evil.com\"}]}", "is not a host's name", "*.example.com" },
	{ "network: {allow: [{host: a b}]}", "is not a host's name", "" },
	{ "network: {allow: [{host: user@a.b}]}", "is not a host's name", "" },
	{ "network: {allow: [{host: [a.b]}]}", "network.allow.host: a single value", "" },
	{ "network: {allow: [{address: 10.1, ports: [1], protocol: tcp}]}",
	  "p.yaml:2:29: network.allow.address: '10.1' is neither", "write 10.0.0.1" },
	{ "network: {allow: [{address: 10.1.2.3/24, ports: [1], protocol: tcp}]}", "is neither", "no bit set" },
	{ "network: {allow: [{host: a.b, ports: [0]}]}", "p.yaml:2:39: network.allow.ports: '0' is not a port",
	  "65535" },
	{ "network: {allow: [{host: a.b, ports: [65536]}]}", "'65536' is not a port", "" },
	{ "network: {allow: [{host: a.b, ports: [9-8]}]}", "'9-8' is not a port", "" },
	{ "network: {allow: [{host: a.b, ports: [\"1,2\"]}]}", "'1,2' is not a port", "" },
	{ "network: {allow: [{host: a.b, ports: 443}]}", "network.allow.ports: a list is wanted", "[443]" },
	{ "network: {allow: [{host: a.b, ports: []}]}", "an empty list takes nothing", "leave the key out" },
	{ "network: {allow: [{host: a.b, ports: [22]}]}",
	  "p.yaml:2:19: network.allow: rule for 'a.b:22': port 22 needs a protocol", "protocol" },
	{ "network: {allow: [{host: a.b, protocol: tcp}]}", "a protocol needs its ports", "" },
	{ "network: {allow: [{host: a.b, ports: [22], protocol: ssh}]}", "network.allow.protocol: 'ssh' is not one of",
	  "tls|http|tcp" },
	{ "network: {allow: [{host: a.b, ports: [443], protocol: tsl}]}", "'tsl' is not one of", "did you mean tls" },
	{ "network: {allow: [{host: a.b, methods: [get]}]}", "network.allow.methods: 'get' is not a method", "GET" },
	{ "network: {allow: [{host: a.b, methods: [CONNECT]}]}", "CONNECT", "" },
	{ "network: {allow: [{host: a.b, methods: []}]}", "an empty list takes nothing", "" },
	{ "network: {allow: [{host: a.b, paths: [v1]}]}", "network.allow.paths: 'v1' is not a path", "slash" },
	{ "network: {allow: [{host: a.b, paths: [\"/a?b\"]}]}", "is not a path", "query" },
	{ "network: {allow: [{host: a.b, paths: [\"/a/../b\"]}]}", "would match nothing", "" },
	{ "network: {allow: [{host: a.b, ports: [22], protocol: tcp, methods: [GET]}]}", "need tls or http", "" },
	{ "network: {allow: [{host: a.b, ech: maybe}]}", "network.allow.ech: 'maybe' is not one of", "" },
	{ "network: {allow: [{host: a.b, ech: allow, methods: [GET]}]}", "encrypted with ech", "" },
	{ "network: {allow: [{host: a.b, secret: K}]}",
	  "p.yaml:2:18: network.allow: the rule for 'a.b:443' wants the secret 'K', which is not there",
	  "secrets: {K:" },
	{ "network: {allow: [{host: a.b, secret: KYE}]}\nsecrets: {KEY: {from: \"env:A\"}}", "wants the secret 'KYE'",
	  "KEY" },
	{ "network: {allow: [\"a.b:443/tcp\", a.b]}", "p.yaml:2:18: network.allow: rule for", "" },
	{ "network: {allow_cidr: [10.0.0.0/8]}", "p.yaml:2:24: network.allow_cidr: '10.0.0.0/8' has no ports", "5432" },
	{ "network: {allow_cidr: [a.b]}", "is not an address", "" },
	{ "network: {private: maybe}", "p.yaml:2:20: network.private: 'maybe' is not one of deny, allow", "" },
	{ "network: {connections: 0}", "network.connections: '0' is too small", "from 1" },
	{ "network: {download: 10M}", "network.download: ", "50M/s" },
	{ "network: {upstream_proxy: \"p.example:80\"}", "network.upstream_proxy: 'p.example:80' is not a proxy",
	  "http://" },
	{ "network: {upstream_proxy: \"http://p.example\"}", "is not a proxy", "port" },
	{ "network: {upstream_proxy: \"http://u:p@p.example:80\"}", "is not a proxy", "password" },
	{ "network: {upstream_proxy: \"http://p.example:80/\"}", "is not a proxy", "nothing behind" },
	{ "secrets: [a]", "p.yaml:2:10: secrets: a mapping is wanted", "{NAME: " },
	{ "secrets: {K: \"env:K\"}", "p.yaml:2:14: secrets: a mapping is wanted", "from" },
	{ "secrets: {K: {}}", "the secret 'K' has no 'from'", "env:VARIABLE" },
	{ "secrets: {K: {form: \"env:K\"}}", "p.yaml:2:15: no such key in a secret: 'form'", "from" },
	{ "secrets: {K: {from: K}}", "p.yaml:2:21: secrets.from: 'K' says not where", "env:VARIABLE" },
	{ "secrets: {K: {from: \"env:\"}}", "says not where", "" },
	{ "secrets: {K: {from: \"env:A B\"}}", "not a variable's name", "" },
	{ "secrets: {K: {from: \"vault:x\"}}", "says not where", "" },
	{ "secrets: {K: {from: \"command: \"}}", "says not where", "" },
	{ "secrets: {K: {from: \"file:~/x\"}}", "not expanded", "" },
	{ "secrets: {\"A-B\": {from: \"env:K\"}}", "'A-B' is not a variable's name", "" },
	{ "secrets: {LD_PRELOAD: {from: \"env:K\"}}", "decides what programs run", "" },
	{ "secrets: {K: {from: \"env:K\", header: \"Bearer {}\"}}", "secrets.header: 'Bearer {}' is not a header",
	  "Authorization" },
	{ "secrets: {K: {from: \"env:K\", header: \"X-Key: x\"}}", "no {} in", "" },
	{ "secrets: {K: {from: \"env:K\", header: \"X-Key: {}{}\"}}", "more than one {} in", "" },
	{ "secrets: {K: {from: \"env:K\", header: \"Host: {}\"}}", "no header for a secret", "" },
	{ "secrets: {K: {from: \"env:K\", header: \"X-K: {}\\r\\nX: y\"}}", "control character", "" },
	{ "secrets: {K: {from: \"env:K\", ttl: 60}}", "secrets.ttl: '60' has no unit", "60s" },
	{ "secrets: {K: {from: \"env:K\", ttl: 1ms}}", "too small", "1s" },
	{ "secrets: {K: {from: \"env:K\"}}\nprocess: {env: {K: x}}", "is a secret and a variable", "process.env" },
};

static void test_bad(void)
{
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct cordon_policy *p = NULL;
		struct cordon_error err = { 0 };
		char text[300];

		snprintf(text, sizeof(text), "version: 1\n%s\n", bad[i].text);
		ok(parse(&p, text, &err) == -1 && !p && err.code == CORDON_INVALID &&
			   strstr(err.message, bad[i].message) && strstr(err.hint, bad[i].hint),
		   "%s: %s (%s)", bad[i].text, err.message, err.hint);
		cordon_policy_free(p);
	}
}

static void test_extends(void)
{
	struct cordon_policy *p = NULL;
	struct cordon_error err = { 0 };
	struct net_config c = { 0 };
	char path[] = "/tmp/cordon-unit-XXXXXX.yaml", text[400];
	int fd = mkstemps(path, 5);
	FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;

	if (!ok(f, "a base"))
		return;
	fputs("version: 1\nnetwork: {allow: [a.b, {host: c.d, secret: K}], connections: 3}\n"
	      "secrets: {K: {from: \"env:OLD\"}, L: {from: \"env:L\"}}\n",
	      f);
	fclose(f);
	snprintf(text, sizeof(text),
		 "version: 1\nextends: %s\nnetwork: {allow: [a.b, e.f]}\nsecrets: {K: {from: \"env:NEW\"}}\n", path);
	ok(parse(&p, text, &err) == 0 && policy_network(p, &c, &err) == 0, "what extends it %s", err.message);
	ok(c.rules.n == 3 && strcmp(c.rules.v[2].host, "e.f") == 0, "adds rules");
	ok(c.connections == 3 && c.secret_count == 2, "and keeps the rest");
	ok(c.secret_count == 2 && strcmp(c.secrets[1].from, "env:NEW") == 0,
	   "a secret of the same name is the new one");
	cordon_policy_free(p);
	net_config_done(&c);
	remove(path);
}

/* ---- flags --------------------------------------------------------------------------------------------- */

static int set(struct cordon_policy *p, const char *key, const char *value)
{
	struct cordon_error err = { 0 };
	int status = cordon_policy_set(p, key, value, &err);

	if (status < 0)
		note("%s (%s)", err.message, err.hint);
	return status;
}

static void test_flags(void)
{
	struct cordon_policy *p = NULL;
	struct net_config c = { 0 };

	if (cordon_policy_new(&p, NULL) < 0)
		return;
	ok(set(p, "secrets", "K=env:KEY@api.example.com,other.org") == 0 && policy_num(p, OPT_NETWORK) == NET_ALLOW,
	   "a secret with its hosts");
	ok(set(p, "network.allow", "api.example.com") == 0 && set(p, "network.allow", "*.pypi.org:443") == 0, "hosts");
	ok(set(p, "network.allow_cidr", "[2001:db8::]/32:22,80") == 0, "addresses");
	ok(policy_network(p, &c, NULL) == 0 && c.rules.n == 5 && c.secret_count == 1, "make rules");
	if (c.rules.n == 5) {
		is_str(c.rules.v[0].text, "api.example.com:443", "the secret's host on 443");
		is_str(c.rules.v[0].secret, "K", "has it");
		is_str(c.rules.v[1].text, "other.org:443", "the other as well");
		ok(!c.rules.v[2].secret && !c.rules.v[2].port_count, "what else it may is without");
		is_str(c.rules.v[4].text, "[2001:db8::]/32:22,80/tcp", "an IPv6 prefix");
	}
	net_config_done(&c);
	ok(set(p, "network.mode", "open") == 0 && set(p, "network.allow", "x.y") == 0 &&
		   policy_num(p, OPT_NETWORK) == NET_OPEN,
	   "open stays open");
	ok(set(p, "network", "none") == 0 && policy_network(p, &c, NULL) == 0 && !c.rules.n && !c.secrets &&
		   !c.connections,
	   "none has nothing");
	cordon_policy_free(p);
}

/* A secret for a host keeps to what the host's rules say. */
static void test_secret_like(void)
{
	struct cordon_policy *p = NULL;
	struct net_config c = { 0 };

	if (!ok(parse(&p, "version: 1\nnetwork: {allow: [{host: a.b, methods: [GET], paths: [/v1]}]}\n", NULL) == 0,
		"a rule"))
		return;
	ok(set(p, "secrets", "K=env:K@a.b") == 0 && policy_network(p, &c, NULL) == 0 && c.rules.n == 2, "and a secret");
	if (c.rules.n == 2)
		ok(c.rules.v[1].methods.n == 1 && c.rules.v[1].paths.n == 1 && c.rules.v[1].secret &&
			   c.rules.v[1].port_count == 1,
		   "which is for the same requests");
	net_config_done(&c);
	cordon_policy_free(p);
}

static const struct {
	const char *key, *text, *message, *hint;
} bad_flags[] = {
	{ "network.allow", "", "not a host name", "" },
	{ "network.allow", "0x7f.1", "is an address, not a name", "--allow-cidr" },
	{ "network.allow", "a.b:22", "port 22 needs a protocol", "/tcp" },
	{ "network.allow", "a.b:22/ssh", "not a protocol", "" },
	{ "network.allow", "a.b:", "not a port", "" },
	{ "network.allow", "*x.com", "not a host name", "*.name" },
	{ "network.allow_cidr", "10.0.0.0/8", "no ports", "5432" },
	{ "network.allow_cidr", "10.0.0.1/8:1", "not an address", "prefix" },
	{ "secrets", "K", "not NAME=FROM@HOST", "API_KEY=env:" },
	{ "secrets", "K=env:K", "not NAME=FROM@HOST", "" },
	{ "secrets", "K@a=env:K", "not NAME=FROM@HOST", "" },
	{ "secrets", "=env:K@a.b", "not a variable's name", "" },
	{ "secrets", "K=x:K@a.b", "says not where", "" },
	{ "secrets", "K=env:K@", "is not a host's name", "" },
	{ "secrets", "K=env:K@a.b,", "is not a host's name", "" },
	{ "secrets", "K=env:K@10.1", "is an address", "" },
};

static void test_bad_flags(void)
{
	for (size_t i = 0; i < ARRAY_LEN(bad_flags); i++) {
		struct cordon_policy *p = NULL;
		struct cordon_error err = { 0 };

		if (cordon_policy_new(&p, NULL) < 0)
			return;
		ok(cordon_policy_set(p, bad_flags[i].key, bad_flags[i].text, &err) == -1 &&
			   strstr(err.message, bad_flags[i].message) && strstr(err.hint, bad_flags[i].hint),
		   "%s '%s': %s (%s)", bad_flags[i].key, bad_flags[i].text, err.message, err.hint);
		ok(!policy_list(p, OPT_ALLOW)->n && !policy_list(p, OPT_SECRETS)->n &&
			   policy_num(p, OPT_NETWORK) == NET_NONE,
		   "and nothing changed");
		cordon_policy_free(p);
	}
}

/* ---- requests ------------------------------------------------------------------------------------------ */

static const char operators[] =
	"version: 1\nnetwork:\n  allow: [{host: api.example.com, methods: [GET, PUT]}, \"*.example.com\",\n"
	"          {host: s.org, secret: K}, {address: 10.0.0.0/8, ports: [22], protocol: tcp}]\n"
	"  download: 1M/s\nsecrets: {K: {from: \"env:K\"}}\n";

static const struct {
	const char *key, *value;
	bool granted;
} requests[] = {
	{ "network.mode", "none", true },
	{ "network.mode", "allow", true },
	{ "network.mode", "open", false },
	{ "network.allow", "x.example.com", true },
	{ "network.allow", "*.b.example.com:443", true },
	{ "network.allow", "api.example.com", false },
	{ "network.allow", "*.example.com", false }, /* alone it would speak for api.example.com */
	{ "network.allow", "x.example.com:22/tcp", false },
	{ "network.allow", "example.com", false },
	{ "network.allow", "s.org", false },
	{ "network.allow", "other.org", false },
	{ "network.allow_cidr", "10.1.0.0/16:22", true },
	{ "network.allow_cidr", "10.1.0.0/16:23", false },
	{ "network.allow_cidr", "192.0.2.0/24:22", false },
	{ "network.private", "deny", true },
	{ "network.private", "allow", false },
	{ "network.read_only", "true", true },
	{ "network.connections", "5", true },
	{ "network.connections", "11", false },
	{ "network.download", "1K/s", true },
	{ "network.download", "2M/s", false },
	{ "network.upload", "2M/s", true },
	{ "network.upstream_proxy", "none", true },
	{ "network.upstream_proxy", "http://p.example:80", false },
	{ "secrets", "K=env:K@s.org", true },
	{ "secrets", "K=env:OTHER@s.org", false },
	{ "secrets", "K=env:K@api.example.com", false },
	{ "secrets", "L=env:K@s.org", false },
};

static void test_requests(void)
{
	for (size_t i = 0; i < ARRAY_LEN(requests); i++) {
		struct cordon_policy *p = NULL, *r = NULL;
		struct cordon_error err = { 0 };
		int status;

		if (!ok(parse(&p, operators, &err) == 0 && cordon_policy_new_request(&r, NULL) == 0 &&
				set(r, requests[i].key, requests[i].value) == 0,
			"%s %s can be asked for %s", requests[i].key, requests[i].value, err.message))
			return;
		status = cordon_policy_narrow(p, r, &err);
		ok((status == 0) == requests[i].granted && (status == 0 || err.code == CORDON_DENIED), "and is %s: %s",
		   status == 0 ? "granted" : "denied", err.message);
		cordon_policy_free(p);
		cordon_policy_free(r);
	}
}

int main(void)
{
	test_whole();
	test_modes();
	test_bad();
	test_extends();
	test_flags();
	test_secret_like();
	test_bad_flags();
	test_requests();
	return done_testing();
}
