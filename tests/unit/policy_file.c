/* Policies from files and texts: places in messages, extending, hostile input, and no byte on stderr. */
#include "policy/policy.h"
#include "tap.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static int parse(struct cordon_policy **p, const char *text, struct cordon_error *err)
{
	return cordon_policy_parse(p, "p.yaml", "/dir", text, strlen(text), err);
}

static const struct {
	const char *text, *message, *hint;
	int code;
} bad[] = {
	{ "", "p.yaml:1:1: ", "version: 1", CORDON_INVALID },
	{ "# nothing\n", "p.yaml:1:1: ", "version: 1", CORDON_INVALID },
	{ "hello", "p.yaml:1:1: a mapping is wanted", "version: 1", CORDON_INVALID },
	{ "[version, 1]", "p.yaml:1:1: a mapping is wanted", "", CORDON_INVALID },
	{ "level: container\n", "p.yaml:1:1: 'version' is missing", "version: 1", CORDON_INVALID },
	{ "version: 2\n", "p.yaml:1:10: version: only version 1", "version: 1", CORDON_INVALID },
	{ "version: '1'\n", "p.yaml:1:10: version: only version 1", "", CORDON_INVALID },
	{ "version: [1]\n", "p.yaml:1:10: version: only version 1", "", CORDON_INVALID },
	{ "version: 1\nversion: 1\n", "p.yaml:2:1: the key 'version' stands here twice", "line 1", CORDON_INVALID },
	{ "version: 1\nlimits:\n  memory: 1G\n  memory: 2G\n", "p.yaml:4:3: the key 'memory'", "line 3",
	  CORDON_INVALID },
	{ "version: 1\nlimits: {memory: 1G, \"memory\": 2G}\n", "p.yaml:2:22: the key 'memory'", "", CORDON_INVALID },
	{ "version: 1\nlimits:\n  memroy: 1G\n", "p.yaml:3:3: no such key in limits: 'memroy'", "limits.memory",
	  CORDON_INVALID },
	{ "version: 1\nlimit: {}\n", "p.yaml:2:1: no such key: 'limit'", "limits", CORDON_INVALID },
	{ "version: 1\nmemory: 1G\n", "p.yaml:2:1: no such key: 'memory'", "limits.memory", CORDON_INVALID },
	{ "version: 1\nlimits.memory: 1G\n", "p.yaml:2:1: no such key", "limits: {memory: ", CORDON_INVALID },
	{ "version: 1\nextend: strict\n", "p.yaml:2:1: no such key: 'extend'", "extends", CORDON_INVALID },
	{ "version: 1\n'': 1\n", "p.yaml:2:1: no such key: ''", "", CORDON_INVALID },
	{ "version: 1\nlimits:\n", "p.yaml:2:1: limits: a mapping is wanted here, not nothing", "remove",
	  CORDON_INVALID },
	{ "version: 1\nlimits: [1]\n", "p.yaml:2:9: limits: a mapping is wanted here, not a list", "", CORDON_INVALID },
	{ "version: 1\nlimits: {memory: [1G]}\n", "p.yaml:2:18: limits.memory: a single value", "", CORDON_INVALID },
	{ "version: 1\nlimits: {memory: }\n", "limits.memory: a single value is wanted here, not nothing", "",
	  CORDON_INVALID },
	{ "version: 1\nlimits: {memory: null}\n", "p.yaml:2:18: limits.memory: ", "", CORDON_INVALID },
	{ "version: 1\nlimits: {memory: 512m}\n", "p.yaml:2:18: limits.memory: unknown unit", "512M", CORDON_INVALID },
	{ "version: 1\nlimits: {memory: -1}\n", "p.yaml:2:18: limits.memory: '-1' is negative", "", CORDON_INVALID },
	{ "version: 1\nlimits: {wall_time: 60}\n", "p.yaml:2:21: limits.wall_time: '60' has no unit", "60s",
	  CORDON_INVALID },
	{ "version: 1\nlevel: vm\n", "p.yaml:2:8: level 'vm' is not built in", "container", CORDON_UNAVAILABLE },
	{ "version: 1\nnetwork: host\n", "p.yaml:2:10: network.mode: 'host' is not one of none, allow, open", "none",
	  CORDON_INVALID },
	{ "version: 1\nnetwork:\n", "p.yaml:2:1: network.mode: a single value", "remove", CORDON_INVALID },
	{ "version: 1\nnetwork: [a.b]\n", "p.yaml:2:10: network: a mapping is wanted here, not a list", "",
	  CORDON_INVALID },
	{ "version: 1\nprocess: {commands: []}\n", "p.yaml:2:21: process.commands: an empty list", "any",
	  CORDON_INVALID },
	{ "version: 1\nprocess: {commands: python3}\n", "p.yaml:2:21: process.commands: a list is wanted", "[one",
	  CORDON_INVALID },
	{ "version: 1\nprocess: {commands: {a: b}}\n", "p.yaml:2:21: process.commands: a list is wanted", "",
	  CORDON_INVALID },
	{ "version: 1\nprocess:\n  commands:\n  - ls\n  - [x]\n", "p.yaml:5:5: process.commands: a single", "",
	  CORDON_INVALID },
	{ "version: 1\nprocess:\n  commands:\n    -\n    - ls\n", "process.commands: a single value", "",
	  CORDON_INVALID },
	{ "version: 1\nprocess: {env: [A]}\n", "p.yaml:2:16: process.env: a mapping", "{NAME", CORDON_INVALID },
	{ "version: 1\nprocess: {env: {A: ~}}\n", "p.yaml:2:20: process.env: a single value", "\"\"", CORDON_INVALID },
	{ "version: 1\nprocess: {env: {A-B: 1}}\n", "p.yaml:2:22: process.env: 'A-B' is not", "", CORDON_INVALID },
	{ "version: 1\nfiles: {read: [data:x]}\n", "p.yaml:2:16: files.read: 'x' is not an absolute", "",
	  CORDON_INVALID },
	{ "version: 1\nfiles: {write: [/a:/w], read: [/b:/w]}\n",
	  "p.yaml:2:32: files.read: something else is mounted at '/w'", "files.write", CORDON_INVALID },
	{ "version: 1\nfiles: {read: [\"/a\\nb\"]}\n", "p.yaml:2:16: files.read: a control character", "",
	  CORDON_INVALID },
	{ "version: 1\nfiles: {read: [\"/a\\0b\"]}\n", "p.yaml:2:16: a NUL character", "", CORDON_INVALID },
	{ "version: 1\na: &x 1\n", "anchors are not allowed", "", CORDON_INVALID },
	{ "version: 1\na: *x\n", "p.yaml:2:", "", CORDON_INVALID },
	{ "version: 1\na: !!str x\n", "tags are not allowed", "", CORDON_INVALID },
	{ "version: 1\n<<: {a: 1}\n", "p.yaml:2:1: merge keys are not allowed", "extends", CORDON_INVALID },
	{ "version: 1\n? [a]\n: b\n", "p.yaml:2:3: a key must be a word", "", CORDON_INVALID },
	{ "version: 1\n---\nversion: 1\n", "p.yaml:2:1: a second document", "---", CORDON_INVALID },
	{ "version: 1\nlimits: {memory: 1G\n", "p.yaml:3:1: ", "bracket", CORDON_INVALID },
	{ "limits:\n\tmemory: 1G\n", "p.yaml:2:1: ", "indentation", CORDON_INVALID },
	{ "version: 1\nlevel: \"container\n", "p.yaml:2:", "", CORDON_INVALID },
	{ "version: 1\nlevel: a: b\n", "p.yaml:2:", "", CORDON_INVALID },
	{ "version: 1\nlevel: \xff\n", "p.yaml:2:8: not UTF-8", "UTF-8", CORDON_INVALID },
	{ "version: 1\nlevel: \"\\uD800\"\n", "p.yaml:2:", "", CORDON_INVALID },
	{ "version: 1\nextends: []\n", "p.yaml:2:10: extends: a single value", "preset", CORDON_INVALID },
	{ "version: 1\nextends: strikt\n", "p.yaml:2:10: no preset is called 'strikt'", "strict", CORDON_NOT_FOUND },
	{ "version: 1\nextends: ../../etc\n", "p.yaml:2:10: ", "", CORDON_NOT_FOUND },
	{ "version: 1\nextends: Strict!\n", "p.yaml:2:10: no preset", "strict", CORDON_NOT_FOUND },
	{ "version: 1\nextends: base.yaml\n", "p.yaml:2:10: policy '/dir/base.yaml'", "", CORDON_NOT_FOUND },
};

static void test_bad(void)
{
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct cordon_policy *p = (void *)0x1;
		struct cordon_error err = { 0 };
		int status = parse(&p, bad[i].text, &err);

		ok(status == -1 && p == (void *)0x1 && err.code == bad[i].code && strstr(err.message, bad[i].message) &&
			   strstr(err.hint, bad[i].hint) && err.hint[0],
		   "refused: %s (%s) [%s]", err.message, err.hint, cordon_code_name(err.code));
	}
}

static const char example[] =
	"version: 1\n"
	"level: process\n"
	"limits: {memory: 1G, cpus: 0.5, cpu_time: 1m, wall_time: 90s, processes: 8, open_files: 64,\n"
	"         file_size: 1M, output: 4K, disk: 1M, inodes: 1k, disk_read: 1M/s, disk_write: 1M/s}\n"
	"files:\n"
	"  root: host\n"
	"  read:  [/srv/data]\n"
	"  write: [./work:/workspace]\n"
	"  tmp: 1M\n"
	"  protect: [/workspace/.git/hooks, .git/config]\n"
	"  allowed_read: [/srv]\n"
	"  allowed_write: []\n"
	"  forbidden: [/srv/private]\n"
	"network: none\n"
	"process: {user: bob, commands: [python3, ls, cat], env: {LANG: C.UTF-8, N: 1, E: \"\"}, pass_env: [TZ],\n"
	"          syscalls: strict, workdir: /workspace}\n";

static void test_example(void)
{
	struct cordon_policy *p = NULL;
	struct cordon_error err = { 0 };

	if (!ok(parse(&p, example, &err) == 0, "the whole of it: %s", err.message))
		return;
	is_num(policy_num(p, OPT_LEVEL), LEVEL_PROCESS, "level");
	is_num(policy_num(p, OPT_WALL_TIME), 90000, "wall_time");
	is_num(policy_num(p, OPT_CPUS), 500, "cpus");
	is_str(policy_list(p, OPT_WRITE)->v[0], "/dir/work", "a relative source starts at the file's directory");
	is_str(policy_list(p, OPT_WRITE)->v[1], "/workspace", "its DEST");
	is_num(policy_list(p, OPT_COMMANDS)->n, 3, "commands");
	is_str(policy_list(p, OPT_ENV)->v[3], "1", "a number is the text that stands there");
	is_str(policy_list(p, OPT_ENV)->v[5], "", "an empty text in quotes");
	is_str(p->values[OPT_MEMORY].origin, "p.yaml:3:18", "where memory stands");
	is_str(p->values[OPT_COMMANDS].origin, "p.yaml:15:32", "where a list stands");
	is_str(p->values[OPT_GRACE].origin, NULL, "what does not stand there has no origin");
	cordon_policy_free(p);
}

static void test_json(void)
{
	static const char good[] = "{\n\t\"version\": 1,\n\t\"limits\": {\"memory\": \"1G\", \"processes\": 8},\n"
				   "\t\"process\": {\"env\": {\"A\": \"\\u00e9\\\"\\/\"}}\n}\n";
	static const char yaml[] = "{version: 1}";
	static const char twice[] = "{\"version\": 1, \"version\": 1}";
	struct cordon_policy *p = NULL;
	struct cordon_error err = { 0 };

	if (ok(cordon_policy_parse(&p, "p.json", NULL, good, strlen(good), &err) == 0, "JSON: %s", err.message))
		is_str(policy_list(p, OPT_ENV)->v[1], "\xc3\xa9\"/", "with escapes");
	cordon_policy_free(p);
	p = NULL;
	ok(cordon_policy_parse(&p, "p.json", NULL, yaml, strlen(yaml), &err) == -1 &&
		   strstr(err.message, "p.json:1:2: "),
	   "a .json file is JSON: %s", err.message);
	ok(cordon_policy_parse(&p, "p.yaml", NULL, yaml, strlen(yaml), &err) == 0, "the same as YAML");
	cordon_policy_free(p);
	ok(cordon_policy_parse(&p, "p.json", NULL, twice, strlen(twice), &err) == -1 &&
		   strstr(err.message, "p.json:1:16: "),
	   "twice in JSON: %s", err.message);
	ok(cordon_policy_parse(&p, "p", NULL, "version: 1\nfiles: {read: [x:/x]}", 32, &err) == -1 &&
		   strstr(err.message, "not an absolute path"),
	   "without a directory no relative path: %s", err.message);
	ok(cordon_policy_parse(&p, "p", NULL, "version: 1\nextends: ./x.yaml", 28, &err) == -1 &&
		   strstr(err.message, "not an absolute path"),
	   "nor base: %s", err.message);
	ok(cordon_policy_parse(&p, "p", "rel", "version: 1", 10, &err) == -1, "a directory is absolute");
}

/* ---- hostile ------------------------------------------------------------------------------------------ */

static char *repeat(const char *head, const char *part, size_t n)
{
	size_t a = strlen(head), b = strlen(part);
	char *text = malloc(a + b * n + 1);

	memcpy(text, head, a + 1);
	for (size_t i = 0; i < n; i++)
		memcpy(text + a + i * b, part, b + 1);
	return text;
}

static void refused(const char *what, char *text, size_t len)
{
	struct cordon_policy *p = NULL;
	struct cordon_error err = { 0 };
	int status = cordon_policy_parse(&p, "h.yaml", "/", text, len, &err);

	ok(status == -1 && err.code == CORDON_INVALID && str_starts(err.message, "h.yaml:"), "%s: %.80s", what,
	   err.message);
	if (status == 0)
		cordon_policy_free(p);
	free(text);
}

static void test_hostile(void)
{
	static const struct {
		const char *what, *head, *part;
		size_t n;
	} texts[] = {
		{ "open brackets", "version: 1\na: ", "[", 200000 },
		{ "open braces", "version: 1\na: ", "{a: ", 100000 },
		{ "nested lists", "version: 1\na:\n", "- ", 200000 },
		{ "nested keys", "version: 1\na: ", "? ", 200000 },
		{ "quotes", "version: 1\na: ", "\"", 100001 },
		{ "more than a MiB", "version: 1\n#", "x", 1 << 20 },
		{ "many entries", "version: 1\nprocess: {commands: [", "a,", 100000 },
		{ "an open comment of commas", "", ",", 1000 },
		{ "a long key", "version: 1\n", "k", 1000000 },
		{ "tabs", "", "\t", 1000 },
		{ "percent signs", "", "%", 1000 },
		{ "documents", "", "---\n", 10000 },
		{ "document ends", "", "...\n", 10000 },
		{ "block scalars", "version: 1\na: |", "\n b", 100000 },
		{ "carriage returns", "version: 2", "\r", 100000 },
		{ "colons", "version: 1\n", ":", 100000 },
		{ "anchors", "version: 1\n", "&a ", 10000 },
		{ "an alias bomb", "version: 1\na: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\n", "", 0 },
	};
	char *text;

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		text = repeat(texts[i].head, texts[i].part, texts[i].n);
		refused(texts[i].what, text, strlen(text));
	}
	refused("a NUL byte", memcpy(malloc(16), "version: 1\n\0 x: ", 16), 16);
	refused("UTF-16", memcpy(malloc(8), "\xff\xfev\0e\0r\0", 8), 8);
	refused("a cut character", memcpy(malloc(12), "version: 1 \xe2", 12), 12);
	refused("only NUL", calloc(1, 1), 1);
}

/* A text of many escapes comes in many pieces; nothing of it is lost or left behind. */
static void test_pieces(void)
{
	auto_str struct str s = { 0 };
	struct cordon_policy *p = NULL;
	struct cordon_error err = { 0 };

	str_add(&s, "version: 1\nprocess: {env: {A: \"");
	for (int i = 0; i < 1000; i++)
		str_add(&s, "\\tx");
	str_add(&s, "\", B: '");
	for (int i = 0; i < 1000; i++)
		str_add(&s, "''y");
	str_add(&s, "'}}\n");
	ok(parse(&p, s.data, &err) == 0 && strlen(policy_list(p, OPT_ENV)->v[1]) == 2000 &&
		   strlen(policy_list(p, OPT_ENV)->v[3]) == 2000,
	   "a thousand escapes: %s", err.message);
	cordon_policy_free(p);
}

/* Many different variables are many different keys: the bound holds there, too. */
static void test_many(void)
{
	struct str s = { 0 };
	char *text;

	str_add(&s, "version: 1\nprocess: {env: {");
	for (int i = 0; i < 1000; i++)
		str_addf(&s, "V%d: x, ", i);
	str_add(&s, "}}\n");
	{
		struct cordon_policy *p = NULL;
		struct cordon_error err = { 0 };

		ok(parse(&p, s.data, &err) == 0, "a thousand variables are fine %s", err.message);
		cordon_policy_free(p);
	}
	str_done(&s);
	str_add(&s, "version: 1\nprocess: {env: {");
	for (int i = 0; i < 5000; i++)
		str_addf(&s, "V%d: x, ", i);
	str_add(&s, "}}\n");
	text = str_take(&s);
	test_pieces();
	refused("five thousand are not", text, strlen(text));
}

/* ---- extending ---------------------------------------------------------------------------------------- */

static char dir[] = "/tmp/cordon-unit-XXXXXX";

static const char *put(const char *name, const char *text)
{
	static char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		printf("Bail out! cannot write %s\n", path);
	close(fd);
	return path;
}

static void test_extends(void)
{
	struct cordon_policy *p = NULL;
	struct cordon_error err = { 0 };
	char want[256];

	put("base.yaml",
	    "version: 1\nextends: strict\nlimits: {memory: 1G, processes: 7}\n"
	    "files: {read: [./data:/data, /srv:/srv], protect: [.git/], forbidden: [/a], allowed_read: [/srv]}\n"
	    "process: {env: {A: base, B: base}, pass_env: [TZ, LC_ALL]}\n");
	if (!ok(cordon_policy_load(&p,
				   put("top.yaml",
				       "version: 1\nextends: ./base.yaml\nlimits: {memory: 2G}\n"
				       "files: {write: [/new:/data], protect: [.hg/, .git/], forbidden: [/b]}\n"
				       "process: {env: {B: top, C: top}, pass_env: [TERM], commands: [ls]}\n"),
				   &err) == 0,
		"three in a row: %s", err.message))
		return;
	is_num(policy_num(p, OPT_MEMORY), 2ULL << 30, "the last one counts");
	is_num(policy_num(p, OPT_PROCESSES), 7, "what it leaves out is its base's");
	is_num(policy_num(p, OPT_SYSCALLS), SYSCALLS_STRICT, "and its base's base's");
	is_num(policy_list(p, OPT_READ)->n, 2, "a mount at the same DEST replaces the base's");
	is_str(policy_list(p, OPT_READ)->v[0], "/srv", "the others stay");
	is_str(policy_list(p, OPT_WRITE)->v[0], "/new", "the new one is there");
	is_num(policy_list(p, OPT_PROTECT)->n, 2, "protected paths add, each once");
	is_num(policy_list(p, OPT_FORBIDDEN)->n, 2, "forbidden ones as well");
	is_num(policy_list(p, OPT_ALLOWED_READ)->n, 1, "what the base allows is kept");
	is_num(policy_list(p, OPT_ENV)->n, 6, "variables add");
	is_num(policy_list(p, OPT_PASS_ENV)->n, 1, "words replace");
	is_str(policy_list(p, OPT_COMMANDS)->v[0], "ls", "commands replace: the operator may widen a base");
	snprintf(want, sizeof(want), "%s/base.yaml:4:51, %s/top.yaml:4:39", dir, dir);
	is_str(p->values[OPT_PROTECT].origin, want, "both places are told");
	is_str(p->values[OPT_SYSCALLS].origin, "preset strict", "and the preset");
	cordon_policy_free(p);
}

static void test_chain(void)
{
	struct cordon_policy *p = NULL;
	struct cordon_error err = { 0 };
	char text[64], name[32], path[256];

	put("b.yaml", "version: 1\nextends: a.yaml\n");
	ok(cordon_policy_load(&p, put("a.yaml", "version: 1\nextends: b.yaml\n"), &err) == -1 &&
		   strstr(err.message, "b.yaml:2:10: ") && strstr(err.message, "extends itself"),
	   "a circle: %s", err.message);
	ok(cordon_policy_load(&p, put("self.yaml", "version: 1\nextends: ./../x/../self.yaml\n"), &err) == -1,
	   "itself: %s", err.message);
	snprintf(path, sizeof(path), "%s/link.yaml", dir);
	ok(symlink("loop.yaml", path) == 0, "a symlink");
	ok(cordon_policy_load(&p, put("loop.yaml", "version: 1\nextends: link.yaml\n"), &err) == -1 &&
		   strstr(err.message, "extends itself"),
	   "itself by another name: %s", err.message);
	put("c0.yaml", "version: 1\n");
	for (int i = 1; i <= 9; i++) {
		snprintf(name, sizeof(name), "c%d.yaml", i);
		snprintf(text, sizeof(text), "version: 1\nextends: c%d.yaml\n", i - 1);
		put(name, text);
	}
	snprintf(path, sizeof(path), "%s/c7.yaml", dir);
	ok(cordon_policy_load(&p, path, &err) == 0, "eight in a row: %s", err.message);
	cordon_policy_free(p);
	snprintf(path, sizeof(path), "%s/c8.yaml", dir);
	ok(cordon_policy_load(&p, path, &err) == -1 && strstr(err.message, "more than 8"), "nine are too many: %s",
	   err.message);
	ok(cordon_policy_load(&p, put("bad.yaml", "version: 1\nextends: worse.yaml\n"), &err) == -1 &&
		   strstr(err.message, "bad.yaml:2:10: policy ") && err.code == CORDON_NOT_FOUND,
	   "a base that is not there: %s", err.message);
	put("worse.yaml", "version: 1\nlimits: {memory: 1Q}\n");
	snprintf(path, sizeof(path), "%s/bad.yaml", dir);
	ok(cordon_policy_load(&p, path, &err) == -1 && strstr(err.message, "worse.yaml:2:18: limits.memory"),
	   "an error of the base is told of the base: %s", err.message);
}

static void test_load(void)
{
	static const char *const names[] = { "default", "strict", "shell", "build", "judge", "python-data" };
	struct cordon_policy *p = NULL;
	struct cordon_error err = { 0 };
	char path[256];

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		p = NULL;
		ok(cordon_policy_load(&p, names[i], &err) == 0, "preset %s %s", names[i], err.message);
		cordon_policy_free(p);
	}
	p = NULL;
	ok(cordon_policy_load(&p, "nothing-of-that-name", &err) == -1 && err.code == CORDON_NOT_FOUND &&
		   strstr(err.hint, "strict"),
	   "no such preset: %s (%s)", err.message, err.hint);
	ok(cordon_policy_load(&p, "", &err) == -1 && err.code == CORDON_NOT_FOUND, "no name: %s", err.message);
	ok(cordon_policy_load(&p, dir, &err) == -1 && err.code == CORDON_SYSTEM, "a directory: %s", err.message);
	ok(cordon_policy_load(&p, "/dev/zero", &err) == -1 && strstr(err.message, "larger than 1 MiB"), "no end: %s",
	   err.message);
	snprintf(path, sizeof(path), "%s/none.yaml", dir);
	ok(cordon_policy_load(&p, path, &err) == -1 && err.code == CORDON_NOT_FOUND && err.errnum, "no file: %s",
	   err.message);
	if (chdir(dir) == 0) {
		if (ok(cordon_policy_load(&p, "build", &err) == 0, "a built-in preset: %s", err.message))
			is_str(policy_list(p, OPT_WRITE)->v[0], dir, "speaks of the working directory");
		cordon_policy_free(p);
		put("here.yaml", "version: 1\nfiles: {write: [.:/w]}\n");
		if (ok(cordon_policy_load(&p, "here.yaml", &err) == 0, "a file without slash: %s", err.message))
			is_str(policy_list(p, OPT_WRITE)->v[0], dir, "its paths start at its directory");
		cordon_policy_free(p);
	}
}

/* The preset `default` writes out what the table says. */
static void test_default_preset(void)
{
	struct cordon_policy *preset = NULL, *built_in = NULL;
	struct cordon_error err = { 0 };

	if (!ok(cordon_policy_load(&preset, "default", &err) == 0 && cordon_policy_new(&built_in, &err) == 0,
		"both: %s", err.message))
		return;
	for (int i = 0; i < OPTION_COUNT; i++) {
		const struct policy_value *a = &preset->values[i], *b = &built_in->values[i];

		ok(a->set == b->set && a->num == b->num && a->list.n == 0 && b->list.n == 0 &&
			   (a->text ? b->text && strcmp(a->text, b->text) == 0 : !b->text),
		   "%s is the same in profiles/default.yaml", options[i].key);
	}
	cordon_policy_free(preset);
	cordon_policy_free(built_in);
}

int main(void)
{
	char err_path[256], byte[2];
	int saved = dup(2), fd;

	if (!mkdtemp(dir))
		return 1;
	snprintf(err_path, sizeof(err_path), "%s/stderr", dir);
	fd = open(err_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	dup2(fd, 2);
	test_bad();
	test_example();
	test_json();
	test_hostile();
	test_many();
	test_extends();
	test_chain();
	test_load();
	test_default_preset();
	dup2(saved, 2);
	ok(pread(fd, byte, 1, 0) == 0, "nothing was printed on stderr");
	snprintf(err_path, sizeof(err_path), "rm -rf '%s'", dir);
	ok(system(err_path) == 0, "cleaned up");
	return done_testing();
}
