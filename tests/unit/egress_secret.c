/* Secrets: fetched when needed, checked, renewed; put into requests and nowhere else. */
#include "egress/secret.h"

#include "base/clock.h"
#include "tap.h"

#include <errno.h>

static struct net_secret table[] = {
	{ .name = (char *)"KEY",
	  .header = (char *)"Authorization: Bearer {}",
	  .placeholder = (char *)"cordon-secret-KEY" },
	{ .name = (char *)"TOKEN", .placeholder = (char *)"cordon-secret-TOKEN", .ttl_ms = 1000 },
};
static const struct net_config config = { .secrets = table, .secret_count = 2 };
static unsigned wanted, woken;
static char wanted_name[64];

static void want(void *arg, const char *name)
{
	(void)arg;
	wanted++;
	snprintf(wanted_name, sizeof(wanted_name), "%s", name);
}

static void ready(struct secret_wait *wait)
{
	(void)wait;
	woken++;
}

static void answer(struct secrets *s, const char *name, bool good, const char *text, size_t len)
{
	struct net_secret_value v = { .ok = good, .len = (uint32_t)len };

	memcpy(v.name, name, strlen(name) + 1);
	memcpy(v.text, text, len);
	secrets_answer(s, &v);
}

static void test_store(void)
{
	struct secrets *s = secrets_new(&config, want, NULL);
	struct secret_wait wait = { .ready = ready }, gone = { .ready = ready };
	struct secret_use use = { 0 };
	const char *why = NULL;
	uint64_t now = clock_us();

	is_num(-secrets_get(s, "OTHER", now, &use, &why), EACCES, "a secret that nobody configured");
	answer(s, "KEY", true, "unasked", 7);
	is_num(-secrets_get(s, "KEY", now, &use, &why), EAGAIN,
	       "not there at first, also where an answer came unasked");
	is_num(wanted, 1, "it was asked for");
	is_str(wanted_name, "KEY", "by its name");
	secrets_get(s, "KEY", now, &use, &why);
	is_num(wanted, 1, "once");
	secrets_wait(s, &wait);
	secrets_wait(s, &gone);
	secrets_forget(&gone);
	answer(s, "KEY", true, "value-1\n", 8);
	is_num(woken, 1, "who waits is woken, who left is not");
	is_num(secrets_get(s, "KEY", now, &use, &why), 0, "there it is");
	ok(use.len == 7 && memcmp(use.value, "value-1", 7) == 0, "without the line end of its file");

	is_num(-secrets_get(s, "TOKEN", now, &use, &why), EAGAIN, "another one");
	answer(s, "TOKEN", true, "a\r\nX: y", 7);
	is_num(-secrets_get(s, "TOKEN", now, &use, &why), EACCES, "a value with a line end is refused");
	ok(strstr(why, "line end"), "with the reason: %s", why);
	is_num(-secrets_get(s, "TOKEN", now + 4000000, &use, &why), EAGAIN, "asked again after a moment");
	answer(s, "TOKEN", true, "a\0b", 3);
	is_num(-secrets_get(s, "TOKEN", clock_us(), &use, &why), EACCES, "nor one with a NUL");
	secrets_get(s, "TOKEN", clock_us() + 4000000, &use, &why);
	answer(s, "TOKEN", false, "no such\nfile", 12);
	is_num(-secrets_get(s, "TOKEN", clock_us(), &use, &why), EACCES, "one that could not be had");
	is_str(why, "no such?file", "says why, on one line");
	secrets_get(s, "TOKEN", clock_us() + 4000000, &use, &why);
	answer(s, "TOKEN", true, "first", 5);
	is_num(secrets_get(s, "TOKEN", clock_us(), &use, &why), 0, "good for its time");
	is_num(-secrets_get(s, "TOKEN", clock_us() + 1100000, &use, &why), EAGAIN, "and not longer");
	secrets_free(s);
}

static void test_mask(void)
{
	struct secrets *s = secrets_new(&config, want, NULL);
	struct secret_use use;
	struct mask_flow flow = { 0 };
	const char *why;
	char text[] = "first second third!";
	bool failed;
	struct mask *m = secrets_mask(s, &failed);

	ok(m && !failed && mask_pass(m, &flow, text, strlen(text), false) == strlen(text),
	   "nothing to mask before anything was fetched");
	is_str(text, "first second third!", "and nothing held back");
	mask_unref(m);
	secrets_get(s, "TOKEN", clock_us(), &use, &why);
	answer(s, "TOKEN", true, "first!", 6);
	secrets_get(s, "TOKEN", clock_us() + 2000000, &use, &why);
	answer(s, "TOKEN", true, "first", 5);
	secrets_get(s, "TOKEN", clock_us() + 2000000, &use, &why);
	answer(s, "TOKEN", true, "second", 6);
	m = secrets_mask(s, &failed);
	mask_pass(m, &flow, text, strlen(text), true);
	is_str(text, "***** ****** third!", "the value and the one before it are masked");
	mask_unref(m);
	secrets_free(s);
}

static const char *value_of(const char *name, const char *text)
{
	static struct buffer out;
	const struct http_field field = { { name, strlen(name) }, { text, strlen(text) } };
	const struct secret_use uses[] = { { &table[0], "k+/ 1", 5 }, { &table[1], "tok", 3 } };

	buffer_done(&out);
	secret_add_value(&out, &field, uses, 2);
	buffer_add(&out, "", 1);
	return buffer_data(&out);
}

static void test_apply(void)
{
	const char *target = "/a?k=cordon-secret-KEY&t=cordon-secret-TOKEN&cordon-secret-KE";
	const struct secret_use uses[] = { { &table[0], "k+/ 1", 5 }, { &table[1], "tok", 3 } };
	struct buffer out = { 0 };
	struct http_field field = { { "authorization", 13 }, { "Bearer x", 8 } };

	secret_add_target(&out, (struct http_span){ target, strlen(target) }, uses, 2);
	buffer_add(&out, "", 1);
	is_str(buffer_data(&out), "/a?k=k%2B%2F%201&t=tok&cordon-secret-KE", "placeholders in a target, encoded");
	buffer_done(&out);
	secret_add_header(&out, &uses[0]);
	buffer_add(&out, "", 1);
	is_str(buffer_data(&out), "Authorization: Bearer k+/ 1\r\n", "the configured header");
	buffer_done(&out);
	is_str(value_of("X-Any", "a cordon-secret-KEY b cordon-secret-TOKEN"), "a k+/ 1 b tok",
	       "placeholders in a value");
	is_str(value_of("X-Any", "nothing"), "nothing", "a value without one");
	/* user:cordon-secret-TOKEN, user:tok */
	is_str(value_of("Authorization", "Basic dXNlcjpjb3Jkb24tc2VjcmV0LVRPS0VO"),
	       "Basic dXNlcjp0b2s=", "inside of Basic credentials");
	is_str(value_of("X-Any", "Basic dXNlcjpjb3Jkb24tc2VjcmV0LVRPS0VO"), "Basic dXNlcjpjb3Jkb24tc2VjcmV0LVRPS0VO",
	       "only in the header that has them");
	is_str(value_of("Authorization", "Basic !!!"), "Basic !!!", "what is no base64 stays");
	ok(secret_is_credential(&field), "Authorization is a credential in any spelling");
	ok(secret_sets_field(&table[0], &field) && !secret_sets_field(&table[1], &field), "and the one that is set");
	ok(!secret_in_field(&table[0], &field), "it carries no placeholder");
	field.value = (struct http_span){ "Basic dXNlcjpjb3Jkb24tc2VjcmV0LVRPS0VO", 38 };
	ok(secret_in_field(&table[1], &field) && !secret_in_field(&table[0], &field), "now it carries one");
	field.name = (struct http_span){ "Accept", 6 };
	ok(!secret_is_credential(&field), "Accept is none");
	value_of("X", "y");
}

int main(void)
{
	test_store();
	test_mask();
	test_apply();
	return done_testing();
}
