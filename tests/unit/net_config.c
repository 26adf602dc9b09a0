/* What egress is told: through its text and back, and what its reader refuses. */
#include "net/config.h"
#include "tap.h"

#include <errno.h>

#define LINES(text) text, sizeof(text) /* the literal's own NUL ends the last line */

static const char whole[] =
	"mode=allow\0read_only=1\0connections=10\0connect_timeout_ms=30000\0idle_timeout_ms=300000\0"
	"download_bps=0\0upload_bps=1\0download_total=18446744073709551615\0upload_total=7\0"
	"proxy_host=proxy.example\0proxy_port=3128\0ca_file=/etc/corp.pem\0"
	"rule=host:api.example.com\0ports=443,8000-8010\0protocol=tls\0method=GET\0method=HEAD\0path=/v1/*\0"
	"use_secret=KEY\0text=api.example.com:443\0"
	"rule=address:10.1.2.0/24\0ports=5432\0protocol=tcp\0"
	"rule=host:*.example\0ports=443\0ech=1\0"
	"secret=KEY\0header=Authorization: Bearer {}\0placeholder=cordon-placeholder\0ttl_ms=60000\0"
	"secret=OTHER\0ttl_ms=0";

static void check_whole(void)
{
	struct net_config config = { 0 }, copy = { 0 };
	struct cordon_error err = { 0 };
	auto_str struct str text = { 0 }, again = { 0 };

	if (!ok(net_config_decode(LINES(whole), &config, &err) == 0, "a whole configuration is read: %s", err.message))
		return;
	ok(config.rules.mode == NET_ALLOW && config.rules.read_only && !config.rules.allow_private, "its mode");
	ok(config.connections == 10 && config.download_total == UINT64_MAX && config.upload_total == 7, "its numbers");
	is_str(config.proxy_host, "proxy.example", "its proxy");
	is_num(config.proxy_port, 3128, "and the port of that");
	is_str(config.ca_file, "/etc/corp.pem", "its roots");
	is_num(config.rules.n, 3, "its rules");
	const struct net_rule *rule = &config.rules.v[0];
	is_str(rule->host, "api.example.com", "the host of the first");
	ok(rule->port_count == 2 && rule->ports[1].first == 8000 && rule->ports[1].last == 8010, "its ports");
	ok(rule->methods.n == 2 && strv_has(&rule->methods, "HEAD") && rule->paths.n == 1, "its methods and paths");
	is_str(rule->secret, "KEY", "its secret");
	ok(!config.rules.v[1].host && config.rules.v[1].prefix.bits == 24, "the address of the second");
	ok(config.rules.v[2].ech, "the ech of the third");
	const struct net_secret *secret = net_config_secret(&config, "KEY");
	ok(secret && strcmp(secret->header, "Authorization: Bearer {}") == 0 && secret->ttl_ms == 60000, "a secret");
	ok(!net_config_secret(&config, "NONE"), "one that is not there");

	free(config.secrets[0].from);
	config.secrets[0].from = strdup("env:HOST_SIDE");
	ok(net_config_encode(&config, &text) == 0 && text.len == sizeof(whole) &&
		   memcmp(text.data, whole, text.len) == 0,
	   "written as it was read, without where secrets come from");
	ok(net_config_copy(&copy, &config) == 0 && net_config_encode(&copy, &again) == 0 && again.len == text.len &&
		   memcmp(again.data, text.data, text.len) == 0,
	   "a copy is the same");
	is_str(copy.secrets[0].from, "env:HOST_SIDE", "with all of its secrets");
	net_config_done(&config);
	net_config_done(&copy);
	net_config_done(&copy);
	ok(true, "ended twice");
}

static void refused(const char *data, size_t len, const char *what)
{
	struct net_config config = { 0 };
	struct cordon_error err = { 0 };

	ok(net_config_decode(data, len, &config, &err) < 0 && err.code == CORDON_INVALID && !config.rules.v &&
		   !config.secrets,
	   "%s: %s", what, err.message);
}

static void taken(const char *data, size_t len, const char *what)
{
	struct net_config config = { 0 };
	struct cordon_error err = { 0 };

	ok(net_config_decode(data, len, &config, &err) == 0, "%s %s", what, err.message);
	net_config_done(&config);
}

static void check_refusals(void)
{
	taken(LINES("mode=none"), "the least");
	taken(LINES("mode=allow\0rule=host:a.example"), "a rule with nothing else");
	refused("", 0, "nothing");
	refused(LINES(""), "an empty line");
	refused("mode=none", 9, "no NUL at the end");
	refused(LINES("mode=none\0"), "an empty line at the end");
	refused(LINES("connections=1"), "no mode");
	refused(LINES("mode"), "no value");
	refused(LINES("mode="), "an empty value");
	refused(LINES("=none"), "an empty key");
	refused(LINES("mode=None"), "an unknown mode");
	refused(LINES("mode=none\0mode=none"), "a key twice");
	refused(LINES("mode=none\0nonsense=1"), "an unknown key");
	refused(LINES("mode=none\0modes=1"), "a longer key");
	refused(LINES("mode=none\0read_only=0"), "a flag that is not 1");
	refused(LINES("mode=none\0connections=-1"), "a negative number");
	refused(LINES("mode=none\0connections=01"), "a leading zero");
	refused(LINES("mode=none\0connections= 1"), "a space");
	refused(LINES("mode=none\0connections=1 "), "a space behind");
	refused(LINES("mode=none\0connections=0x1"), "a hexadecimal number");
	refused(LINES("mode=none\0connections="), "no number");
	refused(LINES("mode=none\0connections=18446744073709551616"), "one too much");
	refused(LINES("mode=none\0connections=99999999999999999999"), "far too much");
	refused(LINES("mode=none\0connections=1\0connections=2"), "a number twice");
	refused(LINES("mode=none\0proxy_host=proxy.example"), "a proxy without a port");
	refused(LINES("mode=none\0proxy_port=3128"), "a proxy without a host");
	refused(LINES("mode=none\0ca_file=corp.pem"), "roots by a relative path");
	refused(LINES("mode=none\0proxy_host=a b\0proxy_port=3128"), "a proxy that is no host");
	refused(LINES("mode=none\0proxy_host=a.example\0proxy_port=65536"), "a proxy's port");
	refused(LINES("mode=none\0ports=443"), "a key of a rule without one");
	refused(LINES("mode=none\0header=X: {}"), "a key of a secret without one");
	refused(LINES("mode=none\0rule=host:a.example\0connections=1"), "a key behind its section");
	refused(LINES("mode=none\0secret=A\0rule=host:a.example"), "a rule behind the secrets");
	refused(LINES("mode=none\0rule=a.example"), "a rule of no kind");
	refused(LINES("mode=none\0rule=host:A.example"), "a host in another form");
	refused(LINES("mode=none\0rule=host:127.1"), "an address as a host");
	refused(LINES("mode=none\0rule=host:"), "no host");
	refused(LINES("mode=none\0rule=address:10.0.0.1/8"), "bits behind the prefix");
	refused(LINES("mode=none\0rule=host:a.example\0ports=22"), "a port without a protocol");
	refused(LINES("mode=none\0rule=host:a.example\0ports=443\0ports=80"), "ports twice");
	refused(LINES("mode=none\0rule=host:a.example\0ports="), "no ports");
	refused(LINES("mode=none\0rule=host:a.example\0protocol=tcp"), "a protocol without ports");
	refused(LINES("mode=none\0rule=host:a.example\0method=get"), "a method in lower case");
	refused(LINES("mode=none\0rule=host:a.example\0path=/../x"), "a path that is none");
	refused(LINES("mode=none\0rule=host:a.example\0use_secret=KEY"), "a secret that is not there");
	refused(LINES("mode=none\0rule=host:a.example\0rule=host:a.example\0ports=443\0protocol=tcp"), "two protocols");
	refused(LINES("mode=none\0secret=A\0secret=A"), "a secret twice");
	refused(LINES("mode=none\0secret="), "a secret without a name");
	refused(LINES("mode=none\0secret=A B"), "a secret with a bad name");
	refused(LINES("mode=none\0secret=A\0header=X: {}\r\nY: z"), "two headers");
	refused(LINES("mode=none\0secret=A\0header=X: y"), "a header without a place");
	refused(LINES("mode=none\0secret=A\0header=X: {} {}"), "a header with two");
	refused(LINES("mode=none\0secret=A\0header={}"), "a header without a name");
	refused(LINES("mode=none\0secret=A\0header=X Y: {}"), "a header with a space in its name");
	refused(LINES("mode=none\0secret=A\0placeholder=a\nb"), "a placeholder of two lines");
	refused(LINES("mode=none\0secret=A\0from=env:A"), "where a secret comes from");
}

int main(void)
{
	check_whole();
	check_refusals();
	return done_testing();
}
