/*
 * The configuration of an installation: which file counts, what each key takes, who may say it. It is read once per process, so
 * every case is a child of its own.
 */
#include "policy/config.h"
#include "policy/policy.h"
#include "tap.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[] = "/tmp/cordon-unit-XXXXXX";

static void put(const char *name, const char *text)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		printf("Bail out! cannot write %s\n", path);
	close(fd);
}

/* What a child found, in one piece. */
struct found {
	bool good;
	struct cordon_error err;
	char policy[200], preset_dir[200], state_dir[200], scratch_dir[200], language[200], platform[20];
	size_t languages;
	int colour;
	bool wants_colour;
	char origin[400];
	uint64_t memory_bytes;
};

static void look(struct found *f)
{
	const struct config *c = config_get(&f->err);
	struct cordon_policy *p = NULL;
	char *text = NULL;

	f->good = c && config_get(NULL) == c;
	f->wants_colour = cordon_config_colour();
	if (!c)
		return;
	snprintf(f->policy, sizeof(f->policy), "%s", c->policy ? c->policy : "");
	snprintf(f->preset_dir, sizeof(f->preset_dir), "%s", c->preset_dir ? c->preset_dir : "");
	snprintf(f->state_dir, sizeof(f->state_dir), "%s", c->state_dir);
	snprintf(f->scratch_dir, sizeof(f->scratch_dir), "%s", c->scratch_dir);
	snprintf(f->platform, sizeof(f->platform), "%s", c->runsc_platform ? c->runsc_platform : "none");
	f->languages = c->language_count;
	if (c->language_count)
		snprintf(f->language, sizeof(f->language), "%s %s %s", c->languages[0].name, c->languages[0].extension,
			 c->languages[0].command.v[0]);
	f->colour = c->colour;
	if (cordon_policy_new(&p, &f->err) == 0)
		f->memory_bytes = policy_num(p, OPT_MEMORY);
	cordon_policy_free(p);
	if (cordon_config_describe(CORDON_JSON, &text, &f->err) == 0) {
		char *at = strstr(strstr(text, "origins"), "\"scratch_dir\": \"");

		snprintf(f->origin, sizeof(f->origin), "%.*s", (int)strcspn(at + 16, "\""), at + 16);
	}
	free(text);
}

/* In a child with this CORDON_CONFIG (NULL: none) and user; HOME is the test's directory. */
static struct found ask(const char *named, uid_t uid)
{
	struct found f = { 0 };
	char path[256];
	int ends[2];
	pid_t pid;

	if (pipe(ends) < 0)
		return f;
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		setenv("HOME", dir, 1);
		unsetenv("CORDON_CONFIG");
		unsetenv("NO_COLOR");
		setenv("XDG_RUNTIME_DIR", "/run/user/x", 1);
		snprintf(path, sizeof(path), "%s/%s", dir, named ? named : "");
		if (named)
			setenv("CORDON_CONFIG", path, 1);
		if (uid && setresuid(uid, uid, uid) < 0)
			_exit(1);
		look(&f);
		_exit(write(ends[1], &f, sizeof(f)) == (ssize_t)sizeof(f) ? 0 : 1);
	}
	close(ends[1]);
	if (read(ends[0], &f, sizeof(f)) != (ssize_t)sizeof(f))
		f.good = false;
	close(ends[0]);
	waitpid(pid, NULL, 0);
	return f;
}

static void test_none(void)
{
	struct found f = ask(NULL, 0);

	if (!ok(f.good, "without a file: %s", f.err.message))
		return;
	is_str(f.policy, "", "the policy is the built-in one");
	is_str(f.state_dir, geteuid() == 0 ? "/run/cordon" : "/run/user/x/cordon", "the state directory");
	is_str(f.scratch_dir, "/var/tmp", "the scratch directory");
	is_str(f.origin, "default", "which is the default");
	is_str(f.platform, "none", "no platform of gVisor is chosen");
	is_num(f.memory_bytes, 512ULL << 20, "and a policy is the table's");
	ok(f.wants_colour, "colours are wanted");
}

static void test_layers(void)
{
	struct found f;
	char want[300];

	put(".config/cordon/config.yaml",
	    "version: 1\npolicy: strict\nscratch_dir: /home/scratch\npreset_dir: presets\n"
	    "runsc_platform: kvm\nlanguages: {lua: {command: [lua5.4, '{file}', '{args}'], extension: lua}}\n");
	f = ask(NULL, 0);
	if (!ok(f.good, "a file of the home directory: %s", f.err.message))
		return;
	is_str(f.policy, "strict", "names the policy");
	is_num(f.memory_bytes, 256ULL << 20, "which then is in force");
	snprintf(want, sizeof(want), "%s/.config/cordon/presets", dir);
	is_str(f.preset_dir, want, "a relative path starts at the file");
	is_str(f.language, "lua lua lua5.4", "a language");
	is_str(f.platform, "kvm", "gVisor's platform");
	put("named.yaml", "version: 1\nscratch_dir: /named\nrunsc_platform: auto\ncolour: never\nlanguages:\n"
			  "  lua: {command: [luajit, '{file}'], extension: lua}\n  r: {command: [Rscript, '{file}'], "
			  "extension: R}\n");
	f = ask("named.yaml", 0);
	if (!ok(f.good, "CORDON_CONFIG over it: %s", f.err.message))
		return;
	is_str(f.policy, "strict", "what it leaves out stays");
	is_str(f.scratch_dir, "/named", "what it says counts");
	is_str(f.platform, "none", "auto is none");
	snprintf(want, sizeof(want), "%s/named.yaml:2:14", dir);
	is_str(f.origin, want, "and its place is told");
	is_str(f.language, "lua lua luajit", "a language again replaces it");
	is_num(f.languages, 2, "another is added");
	ok(f.colour == 2 && !f.wants_colour, "no colours");
}

static void test_presets(void)
{
	struct found f;
	char path[256];

	snprintf(path, sizeof(path), "%s/.config/cordon/presets", dir);
	mkdir(path, 0700);
	put(".config/cordon/presets/strict.yaml", "version: 1\nextends: strict\nlimits: {memory: 99M}\n");
	f = ask(NULL, 0);
	ok(f.good && f.memory_bytes == 99ULL << 20,
	   "an installed preset goes before a built-in one, and extends it: %s", f.err.message);
	put(".config/cordon/presets/own.yaml", "version: 1\nextends: strict\nlimits: {processes: 3}\n");
	put("own.yaml", "version: 1\npolicy: own\n");
	f = ask("own.yaml", 0);
	ok(f.good && f.memory_bytes == 99ULL << 20, "and others extend it: %s", f.err.message);
}

static void test_owner(void)
{
	struct found f;
	char path[256];

	if (geteuid() != 0) {
		skip("files of other users need root");
		return;
	}
	snprintf(path, sizeof(path), "%s/.config/cordon/config.yaml", dir);
	chmod(dir, 0755);
	if (chown(path, 4242, 4242) < 0)
		ok(false, "chown");
	f = ask(NULL, 0);
	ok(f.good && !f.policy[0], "a file of somebody else's home does not count");
	f = ask(NULL, 4242);
	ok(f.good, "nor does one that cannot be reached break anything: %s", f.err.message);
	is_str(f.state_dir, "/run/user/x/cordon", "an ordinary user's state directory");
	if (chown(path, 0, 0) < 0)
		ok(false, "chown");
	chmod(path, 0666);
	f = ask(NULL, 0);
	ok(!f.good && f.err.code == CORDON_DENIED && strstr(f.err.message, "by anyone"),
	   "nor one that anyone may write: %s", f.err.message);
	chmod(path, 0600);
}

static const struct {
	const char *text, *message, *hint;
	int code;
} bad[] = {
	{ "policy: strict\n", ":1:1: 'version: 1' is missing", "version: 1", CORDON_INVALID },
	{ "version: 1\npolcy: strict\n", ":2:1: no such key: 'polcy'", "policy", CORDON_INVALID },
	{ "version: 1\npolicy: []\n", ":2:9: policy: a single value", "", CORDON_INVALID },
	{ "version: 1\nstate_dir: ~/x\n", ":2:12: state_dir: ", "", CORDON_INVALID },
	{ "version: 1\ncolour: blue\n", ":2:9: colour: 'blue'", "write one of auto", CORDON_INVALID },
	{ "version: 1\ncolour: alway\n", ":2:9: colour: 'alway'", "did you mean always?", CORDON_INVALID },
	{ "version: 2\n", ":1:10: version: only version 1", "version: 1", CORDON_INVALID },
	{ "version: 1\npolicy: 5\n", ":2:9: policy: a text is wanted here, not a number", "\"5\"", CORDON_INVALID },
	{ "version: 1\npreset_dir: true\n", ":2:13: preset_dir: a text is wanted here", "\"true\"", CORDON_INVALID },
	{ "version: 1\nrunsc_platform: ptracer\n", ":2:17: runsc_platform: 'ptracer'", "ptrace", CORDON_INVALID },
	{ "version: 1\nrunsc_platform: []\n", ":2:17: runsc_platform: a single value", "", CORDON_INVALID },
	{ "version: 1\ncolor: never\n", ":2:1: no such key: 'color'", "colour", CORDON_INVALID },
	{ "version: 1\nengines: [dokcer]\n", ":2:11: engines: there is no engine 'dokcer'", "did you mean docker?",
	  CORDON_INVALID },
	{ "version: 1\nengines: [xen]\n", ":2:11: engines: there is no engine 'xen'", "native|docker", CORDON_INVALID },
	{ "version: 1\nengines: []\n", ":2:10: engines: a list", "", CORDON_INVALID },
	{ "version: 1\nengines: native\n", ":2:10: engines: a list", "", CORDON_INVALID },
	{ "version: 1\nlanguages: {lua: {command: [lua]}}\n", "'{file}' is missing", "", CORDON_INVALID },
	{ "version: 1\nlanguages: {lua: {command: [lua, '{file}']}}\n", "both needed", "", CORDON_INVALID },
	{ "version: 1\nlanguages: {lua: {extension: .lua}}\n", ":2:30: extension: '.lua'", "without a dot",
	  CORDON_INVALID },
	{ "version: 1\nlanguages: {lua: {comand: [x]}}\n", ":2:19: no such key in a language", "did you mean command?",
	  CORDON_INVALID },
	{ "version: 1\nlanguages: {lua: x}\n", ":2:18: lua: a mapping", "", CORDON_INVALID },
	{ "version: 1\nlanguages: {'../x': {}}\n", "not a language's name", "", CORDON_INVALID },
	{ "version: 1\nversion: 1\n", ":2:1: the key 'version'", "", CORDON_INVALID },
	{ "version: 1\n  x", "", "", CORDON_INVALID },
};

static void test_bad(void)
{
	struct found f;

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		put("bad.yaml", bad[i].text);
		f = ask("bad.yaml", 0);
		ok(!f.good && f.err.code == bad[i].code && strstr(f.err.message, bad[i].message) &&
			   strstr(f.err.hint, bad[i].hint) && strcmp(f.err.step, "config") == 0,
		   "refused: %s (%s)", f.err.message, f.err.hint);
	}
	f = ask("none.yaml", 0);
	ok(!f.good && f.err.code == CORDON_NOT_FOUND && strstr(f.err.hint, "CORDON_CONFIG"),
	   "a named file must be there: %s", f.err.message);
}

int main(void)
{
	char path[256];

	if (!mkdtemp(dir))
		return 1;
	if (access("/etc/cordon/config.yaml", F_OK) == 0) {
		skip("this host has a configuration of its own");
		return done_testing();
	}
	test_none();
	snprintf(path, sizeof(path), "%s/.config", dir);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/.config/cordon", dir);
	mkdir(path, 0700);
	test_layers();
	test_presets();
	test_bad();
	test_owner();
	snprintf(path, sizeof(path), "rm -rf '%s'", dir);
	ok(system(path) == 0, "cleaned up");
	return done_testing();
}
