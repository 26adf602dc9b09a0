/* What policies tell of themselves: text and JSON load to the same policy; options, presets and schema. */
#include "policy/policy.h"
#include "tap.h"

#include <time.h>

static bool same_list(const struct strv *a, const struct strv *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (strcmp(a->v[i], b->v[i]) != 0)
			return false;
	return true;
}

static bool same(const struct cordon_policy *a, const struct cordon_policy *b)
{
	for (int i = 0; i < OPTION_COUNT; i++) {
		const struct policy_value *x = &a->values[i], *y = &b->values[i];

		if (x->set != y->set || x->num != y->num || !same_list(&x->list, &y->list) || !x->text != !y->text ||
		    (x->text && strcmp(x->text, y->text) != 0)) {
			note("%s differs", options[i].key);
			return false;
		}
	}
	return true;
}

static const char awkward[] =
	"version: 1\nlevel: process\ndegrade: [landlock]\nrequire: [cgroup]\n"
	"limits: {memory: 2000003, cpus: 0.125, wall_time: 90500ms, inodes: 1001, disk_read: 4097/s}\n"
	"files: {read: ['/with space', \"/quo\\\"te:/b\", '/#x', '/ü'], write: ['/a, b:/c d'], tmpfs: ['/t:12345'],\n"
	"        protect: [.git/hooks/, /c/x], root: '/some/#root', forbidden: ['/{x}'], storage: disk}\n"
	"process: {user: a-b, commands: ['yes', /bin/true, '[', null-x], workdir: '/a: b', refuse_patterns: ['a # b', "
	"'- x'],\n"
	"          env: {A: '', B: 'null', C: '~', D: \"two\\nlines\", E: '# no comment', F: 'x: y', G: ' s ', H: "
	"'true', I: \"\\t\"},\n"
	"          pass_env: [TZ]}\n"
	"network: {allow: ['B\u00fccher.example', 'x.y:22/tcp', {host: '*', ports: [80, 443], methods: [GET, PUT]},\n"
	"          {address: '2001:db8::/32', ports: [1-65535], protocol: tcp}, {host: n.u, ech: allow},\n"
	"          {host: null.null, paths: ['/a,b', '/{c}/*'], secret: K}],\n"
	"          mode: open, private: allow, download: 4097/s, upload_total: 3, upstream_proxy: 'http://P.q:1'}\n"
	"secrets: {K: {from: 'command:a b: \"c\" # d', header: 'X-K: a {}, #b'}, null: {from: 'file:/x y', ttl: "
	"90500ms}}\n";

static void round_trip(const char *what, struct cordon_policy *p)
{
	struct cordon_policy *again = NULL, *from_json = NULL;
	struct cordon_error err = { 0 };
	char *text = cordon_policy_describe(p, CORDON_TEXT), *json = cordon_policy_describe(p, CORDON_JSON);
	char *begin = json ? strstr(json, "\"policy\": ") : NULL, *end = json ? strstr(json, ",\n  \"origins\"") : NULL;

	ok(text && cordon_policy_parse(&again, "told.yaml", NULL, text, strlen(text), &err) == 0 && same(p, again),
	   "%s, told as text, is the same %s", what, err.message);
	if (begin && end) {
		begin += strlen("\"policy\": ");
		*end = '\0';
	}
	ok(begin && end && cordon_policy_parse(&from_json, "told.json", NULL, begin, strlen(begin), &err) == 0 &&
		   same(p, from_json),
	   "%s, told as JSON, is the same %s", what, err.message);
	cordon_policy_free(again);
	cordon_policy_free(from_json);
	free(text);
	free(json);
}

static void test_round_trip(void)
{
	static const char *const names[] = { "default", "strict", "shell", "build", "judge", "python-data" };
	struct cordon_policy *p = NULL;
	struct cordon_error err = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		p = NULL;
		if (ok(cordon_policy_load(&p, names[i], &err) == 0, "preset %s", names[i]))
			round_trip(names[i], p);
		cordon_policy_free(p);
	}
	p = NULL;
	if (ok(cordon_policy_parse(&p, "awkward", "/", awkward, strlen(awkward), &err) == 0, "an awkward one: %s",
	       err.message))
		round_trip("the awkward one", p);
	cordon_policy_free(p);
}

static void test_origins(void)
{
	struct cordon_policy *p = NULL;
	struct cordon_error err = { 0 };
	char *text;

	ok(cordon_policy_load(&p, "strict", &err) == 0, "a preset");
	ok(cordon_policy_set_from(p, "limits.memory", "100M", "flag --memory", &err) == 0, "and a flag");
	text = cordon_policy_describe(p, CORDON_TEXT);
	ok(strstr(text, "  memory: 100M                              # flag --memory\n"), "the flag is told");
	ok(strstr(text, "# preset strict\n"), "the preset is told");
	ok(strstr(text, "network:\n  mode: none                                # default\n"), "the default is told");
	free(text);
	text = cordon_policy_describe(p, CORDON_JSON);
	ok(strstr(text, "\"limits.memory\": \"flag --memory\"") && strstr(text, "\"memory\": \"100M\""),
	   "in JSON, too");
	free(text);
	cordon_policy_free(p);
	ok(cordon_policy_new_request(&p, &err) == 0 && cordon_policy_set(p, "limits.memory", "1G", &err) == 0,
	   "a request");
	text = cordon_policy_describe(p, CORDON_TEXT);
	is_str(text, "version: 1\nlimits:\n  memory: 1G                                # call\n",
	       "tells only what it asks for");
	free(text);
	cordon_policy_free(p);
}

static void test_options(void)
{
	size_t n;
	const struct cordon_option *o = cordon_options(&n);
	bool good = true;

	is_num(n, OPTION_COUNT, "one public row for each option");
	for (size_t i = 0; i < n; i++) {
		good = good && o[i].key && (o[i].metavar || o[i].is_switch) && o[i].help && strlen(o[i].help) < 160 &&
		       (!o[i].flag || strncmp(o[i].flag, "--", 2) == 0);
		for (size_t k = 0; k < i; k++)
			good = good && strcmp(o[i].key, o[k].key) != 0 &&
			       !(o[i].flag && o[k].flag && strcmp(o[i].flag, o[k].flag) == 0);
	}
	ok(good, "keys and flags are there, and each once");
	is_str(o[OPT_MEMORY].flag, "--memory", "a flag");
	ok(o[OPT_READ].is_list && o[OPT_ENV].is_list && !o[OPT_MEMORY].is_list, "lists say so");
}

static void test_presets(void)
{
	char *text = cordon_policy_presets(CORDON_TEXT), *json = cordon_policy_presets(CORDON_JSON);

	ok(text && strstr(text, "strict         for code nobody has read"), "a line each: name, first comment");
	ok(json && strstr(json, "\"name\": \"judge\""), "in JSON, too");
	free(text);
	free(json);
}

static void test_schema(void)
{
	char *schema = cordon_policy_schema();
	bool all = schema;

	for (int i = 0; i < OPTION_COUNT; i++) {
		const char *dot = strchr(options[i].key, '.');
		char name[64];

		snprintf(name, sizeof(name), "\"%s\": {", dot ? dot + 1 : options[i].key);
		all = all && strstr(schema, name) && strstr(schema, options[i].help);
	}
	ok(all, "every key stands in the schema, with its help");
	ok(schema && strstr(schema, "draft/2020-12/schema"), "which is of 2020-12");
	free(schema);
}

/* Every run starts here: it must cost next to nothing. The best of many rounds, since the machine may be busy. */
static void test_speed(void)
{
	double best = 1e9;

	for (int round = 0; round < 50; round++) {
		struct timespec a, b;
		double us;

		clock_gettime(CLOCK_MONOTONIC, &a);
		for (int i = 0; i < 20; i++) {
			struct cordon_policy *p = NULL;

			if (cordon_policy_new(&p, NULL) < 0)
				break;
			cordon_policy_free(p);
		}
		clock_gettime(CLOCK_MONOTONIC, &b);
		us = ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) / 1e3 / 20;
		best = us < best ? us : best;
	}
	ok(best < 100, "the defaults take %.2f µs", best);
}

int main(void)
{
	test_round_trip();
	test_origins();
	test_options();
	test_presets();
	test_schema();
	test_speed();
	return done_testing();
}
