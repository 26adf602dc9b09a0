/* Requests only narrow: every rule of the NARROW column, with what it lets through beside what it refuses. */
#include "policy/policy.h"
#include "tap.h"

#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/cordon-unit-XXXXXX";

/* "key=value" lines into a policy or request; %D is the test's directory. */
static int fill(struct cordon_policy *p, const char *lines, struct cordon_error *err)
{
	while (*lines) {
		size_t len = strcspn(lines, "\n");
		char key[64], value[512] = "";
		size_t eq = strcspn(lines, "="), at = 0;

		snprintf(key, sizeof(key), "%.*s", (int)eq, lines);
		for (size_t i = eq + 1; i < len; i++) {
			if (lines[i] == '%' && lines[i + 1] == 'D') {
				at += (size_t)snprintf(value + at, sizeof(value) - at, "%s", dir);
				i++;
			} else {
				value[at++] = lines[i];
			}
		}
		if (cordon_policy_set_from(p, key, value, p->is_request ? "request" : "operator", err) < 0)
			return -1;
		lines += len + (lines[len] == '\n');
	}
	return 0;
}

static int narrow(struct cordon_policy **ret, const char *policy, const char *request, struct cordon_error *err)
{
	struct cordon_policy *p = NULL, *r = NULL;
	int status = -1;

	*ret = NULL;
	if (cordon_policy_new(&p, err) < 0 || fill(p, policy, err) < 0 || cordon_policy_new_request(&r, err) < 0 ||
	    fill(r, request, err) < 0)
		printf("# cannot set up: %s\n", err->message);
	else
		status = cordon_policy_narrow(p, r, err);
	cordon_policy_free(r);
	*ret = p;
	return status;
}

#define WORK "files.write=%D/work:/work\n"
#define ALLOW "files.allowed_read=%D/pub\nfiles.allowed_write=%D/box\n"

static const struct {
	const char *policy, *request;
	bool granted;
	const char *message; /* part of the refusal */
} cases[] = {
	/* numbers */
	{ "", "limits.memory=256M", true, "" },
	{ "", "limits.memory=512M", true, "" },
	{ "", "limits.memory=513M", false, "limits.memory: '513M' was asked for, but the policy says 512M" },
	{ "", "limits.cpus=1.001", false, "limits.cpus" },
	{ "", "limits.wall_time=61s", false, "'61s' was asked for, but the policy says 60s" },
	{ "limits.wall_time=5m", "limits.wall_time=61s", true, "" },
	{ "", "limits.grace=1s", false, "limits.grace" },
	{ "", "files.tmp=1G", false, "files.tmp" },
	{ "", "level=process", false, "level: 'process' was asked for, but the policy says container" },
	{ "level=process", "level=container", true, "" },
	{ "", "process.syscalls=strict", true, "" },
	{ "process.syscalls=strict", "process.syscalls=default", false, "process.syscalls" },
	/* the same */
	{ "", "process.user=agent", true, "" },
	{ "", "process.user=bob", false, "process.user: 'bob' was asked for, but the policy says 'agent'" },
	{ "", "files.root=/", false, "files.root" },
	{ "", "files.storage=disk", false, "files.storage" },
	{ "", "network=none", true, "" },
	/* subsets */
	{ "", "process.commands=ls", true, "" },
	{ "process.commands=ls\nprocess.commands=cat", "process.commands=cat", true, "" },
	{ "process.commands=ls\nprocess.commands=cat", "process.commands=sh", false,
	  "'sh' was asked for, but the policy has ls, cat" },
	{ "process.commands=ls", "process.commands=/tmp/ls", false, "process.commands" },
	{ "", "degrade=landlock", false, "degrade" },
	{ "degrade=landlock\ndegrade=cgroup", "degrade=cgroup", true, "" },
	{ "", "process.pass_env=HOME", false, "process.pass_env" },
	{ "process.pass_env=TZ", "process.pass_env=TZ", true, "" },
	/* more */
	{ "", "require=cgroup", true, "" },
	{ "", "files.protect=/x", true, "" },
	{ "", "files.forbidden=/x", true, "" },
	{ "", "process.refuse_patterns=x", true, "" },
	/* free, with rules */
	{ "", "process.workdir=/tmp", true, "" },
	{ "", "process.env=A=1", true, "" },
	{ "process.env=A=1", "process.env=A=1", true, "" },
	{ "process.env=A=1", "process.env=A=2", false, "the policy sets it to '1'" },
	{ "", "process.env=LD_PRELOAD=/x.so", false, "LD_PRELOAD" },
	{ "", "process.env=LD_LIBRARY_PATH=/x", false, "LD_LIBRARY_PATH" },
	{ "", "process.env=GLIBC_TUNABLES=x", false, "GLIBC_TUNABLES" },
	{ "", "process.env=PATH=/x", true, "" },
	{ "process.commands=ls", "process.env=PATH=/x", false, "process.commands" },
	{ "", "files.tmpfs=/cache:1M", true, "" },
	{ WORK, "files.tmpfs=/work:1M", false, "is mounted by the policy" },
	{ WORK, "files.tmpfs=/work/sub:1M", false, "is mounted by the policy" },
	{ "files.write=%D/work:/a/b", "files.tmpfs=/a:1M", false, "is mounted by the policy" },
	{ "files.read=%D/work:/data", "files.tmpfs=/data:1M", false, "is mounted by the policy" },
	{ "files.tmpfs=/cache:1M", "files.tmpfs=/cache:2M", false, "is mounted by the policy" },
	{ "files.protect=/work/.git", "files.tmpfs=/work:1M", false, "is protected" },
	{ "files.protect=/work/.git/", "files.tmpfs=/work/.git/x:1M", false, "is protected" },
	{ "", "files.tmpfs=/usr:1M", false, "belongs to the box itself" },
	{ "", "files.tmpfs=/etc/ssl:1M", false, "belongs to the box itself" },
	{ "", "files.tmpfs=/tmp:1M", false, "belongs to the box itself" },
	{ "", "files.tmpfs=/tmp/x:1M", true, "" },
	{ "", "files.tmpfs=/usrlocal:1M", true, "" },
	/* mounts: where from */
	{ "", "files.read=%D/pub:/p", false, "files.allowed_read is empty" },
	{ "", "files.write=%D/box:/p", false, "files.allowed_write is empty" },
	{ ALLOW, "files.read=%D/pub:/p", true, "" },
	{ ALLOW, "files.read=%D/pub/sub:/p", true, "" },
	{ ALLOW, "files.read=%D/box:/p", true, "" },
	{ ALLOW, "files.write=%D/box:/p", true, "" },
	{ ALLOW, "files.write=%D/box/sub:/p", true, "" },
	{ ALLOW, "files.write=%D/pub:/p", false, "not within files.allowed_write" },
	{ ALLOW, "files.read=%D:/p", false, "not within files.allowed_read" },
	{ ALLOW, "files.read=%D/public:/p", false, "not within files.allowed_read" },
	{ ALLOW, "files.read=%D/secret:/p", false, "not within files.allowed_read" },
	{ ALLOW, "files.read=%D/pub/out:/p", false, "a symlink in it leads out" },
	{ ALLOW, "files.read=%D/pub/out/key:/p", false, "a symlink in it leads out" },
	{ ALLOW, "files.read=%D/pub/up/secret:/p", false, "a symlink in it leads out" },
	{ ALLOW, "files.read=%D/pub/in:/p", true, "" },
	{ ALLOW, "files.read=%D/topub:/p", true, "" },
	{ "files.allowed_read=%D/topub", "files.read=%D/pub/sub:/p", true, "" },
	{ ALLOW, "files.write=%D/box/topub:/p", false, "a symlink in it leads out" },
	{ ALLOW, "files.read=%D/pub/none:/p", false, "No such file" },
	{ ALLOW, "files.read=%D/secret/none:/p", false, "not within" },
	{ ALLOW, "files.read=/proc/self/cwd:/p", false, "not within" },
	{ "files.allowed_read=%D/none", "files.read=%D/pub:/p", false, "not within" },
	/* mounts: where to */
	{ ALLOW, "files.read=%D/pub:/usr/bin", false, "belongs to the box itself" },
	{ ALLOW, "files.read=%D/pub:/lib64", false, "belongs to the box itself" },
	{ ALLOW, "files.read=%D/pub:/etc/passwd", false, "belongs to the box itself" },
	{ ALLOW, "files.read=%D/pub:/home", false, "belongs to the box itself" },
	{ ALLOW, "files.read=%D/pub:/home/agent/data", true, "" },
	{ ALLOW WORK, "files.read=%D/pub:/work", false, "is mounted by the policy" },
	{ ALLOW WORK, "files.read=%D/pub:/work/x", false, "is mounted by the policy" },
	{ ALLOW "files.read=%D/work:/a/b", "files.write=%D/box:/a", false, "is mounted by the policy" },
	{ ALLOW WORK, "files.read=%D/pub:/work2", true, "" },
	{ ALLOW "files.protect=/work/.git/hooks", "files.write=%D/box:/work", true, "" },
	{ ALLOW "files.protect=/work/.git/hooks", "files.write=%D/box:/work/.git/hooks", false, "is protected" },
	{ ALLOW "files.protect=/work/.git/hooks", "files.write=%D/box:/work/.git/hooks/x", false, "is protected" },
	/* mounts: around what is protected */
	{ "files.allowed_write=%D/work\n" WORK, "files.write=%D/work:/w2", false, "mounts" },
	{ "files.allowed_write=%D/work\n" WORK, "files.write=%D/work/sub:/w2", false, "mounts" },
	{ "files.allowed_write=%D\n" WORK, "files.write=%D:/w2", false, "mounts" },
	{ ALLOW "files.protect=.git/hooks", "files.write=%D/box/repo:/w", true, "" },
	{ ALLOW "files.protect=.git/hooks", "files.write=%D/box/repo/.git:/w", false, "protects '.git/hooks'" },
	{ ALLOW "files.protect=.git/hooks/", "files.write=%D/box/repo/.git/hooks:/w", false, "protects" },
	{ ALLOW "files.protect=.git/hooks", "files.write=%D/box/repo/.git/info:/w", true, "" },
	{ ALLOW "files.protect=.git/hooks", "files.read=%D/box/repo/.git/hooks:/w", true, "" },
	/* mounts: the policy's own */
	{ WORK, "files.write=%D/work:/work", true, "" },
	{ WORK, "files.read=%D/work:/work", true, "" },
	{ "files.read=%D/work:/work", "files.read=%D/work:/work", true, "" },
	{ "files.read=%D/work:/work", "files.write=%D/work:/work", false, "files.write" },
	{ WORK, "files.read=%D/work:/elsewhere", false, "files.read" },
	/* allowed_* */
	{ ALLOW, "files.allowed_read=%D/pub/sub", true, "" },
	{ ALLOW, "files.allowed_read=%D/pub/out", false, "files.allowed_read" },
	{ ALLOW, "files.allowed_read=/", false, "files.allowed_read" },
	{ "", "files.allowed_write=%D/pub", false, "files.allowed_write" },
};

static void test_cases(void)
{
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct cordon_policy *p = NULL;
		struct cordon_error err = { 0 };
		int status = narrow(&p, cases[i].policy, cases[i].request, &err);

		if (cases[i].granted)
			ok(status == 0, "granted: %s %s", cases[i].request, err.message);
		else
			ok(status == -1 && (err.code == CORDON_DENIED || err.code == CORDON_NOT_FOUND) &&
				   err.message[0] && strstr(err.message, cases[i].message),
			   "refused: %s [%s]", err.message, cordon_code_name(err.code));
		cordon_policy_free(p);
	}
}

static void test_result(void)
{
	struct cordon_policy *p = NULL;
	struct cordon_error err = { 0 };
	char want[256];

	ok(narrow(&p, ALLOW WORK "files.protect=.git/\nprocess.env=A=1",
		  "files.read=%D/topub:/p\nfiles.read=%D/work:/work\n"
		  "limits.memory=64M\nfiles.protect=/"
		  "x\nprocess.env=B=2\nprocess.refuse_patterns=x\nprocess.commands=ls",
		  &err) == 0,
	   "a request of many things: %s", err.message);
	snprintf(want, sizeof(want), "%s/pub", dir);
	is_num(policy_num(p, OPT_MEMORY), 64ULL << 20, "less memory");
	is_num(policy_list(p, OPT_WRITE)->n, 0, "what was writable and asked for as readable");
	is_num(policy_list(p, OPT_READ)->n, 4, "is readable, beside the new mount");
	is_str(policy_list(p, OPT_READ)->v[0], want, "whose source is its real path");
	ok(policy_mount_is_requested(p, "/p") && !policy_mount_is_requested(p, "/work"),
	   "and which is known as requested");
	is_num(policy_list(p, OPT_PROTECT)->n, 2, "both protected paths");
	is_num(policy_list(p, OPT_ENV)->n, 4, "both variables");
	is_str(refuse_match(p, "sudo x"), "sudo", "the built-in patterns stay");
	is_str(refuse_match(p, "say x"), "x", "beside the new one");
	is_str(policy_list(p, OPT_COMMANDS)->v[0], "ls", "commands");
	is_str(p->values[OPT_MEMORY].origin, "request", "where it came from");
	cordon_policy_free(p);
}

static void test_atomic(void)
{
	struct cordon_policy *p = NULL, *r = NULL;
	struct cordon_error err = { 0 };
	char *before, *after;

	ok(cordon_policy_load(&p, "build", &err) == 0 && cordon_policy_new_request(&r, &err) == 0,
	   "a policy and a request");
	ok(fill(r, "limits.memory=1M\nfiles.protect=/x\nprocess.user=bob", &err) == 0, "of which one part is wrong");
	before = cordon_policy_describe(p, CORDON_TEXT);
	ok(cordon_policy_narrow(p, r, &err) == -1, "is refused: %s", err.message);
	after = cordon_policy_describe(p, CORDON_TEXT);
	is_str(after, before, "and changes nothing");
	ok(cordon_policy_narrow(r, r, &err) == -1 && cordon_policy_narrow(p, p, &err) == -1,
	   "only a request, only on a policy");
	ok(cordon_policy_narrow(p, r, NULL) == -1, "also without an error to fill");
	free(before);
	free(after);
	cordon_policy_free(p);
	cordon_policy_free(r);
}

static void make(const char *path, const char *target)
{
	char full[512];

	snprintf(full, sizeof(full), "%s/%s", dir, path);
	if ((target ? symlink(target, full) : mkdir(full, 0700)) < 0)
		printf("Bail out! cannot make %s\n", full);
}

int main(void)
{
	static const char *const dirs[] = { "work",
					    "work/sub",
					    "pub",
					    "pub/sub",
					    "public",
					    "box",
					    "box/sub",
					    "box/repo",
					    "box/repo/.git",
					    "box/repo/.git/hooks",
					    "box/repo/.git/info",
					    "secret" };
	char command[128];

	if (!mkdtemp(dir))
		return 1;
	for (size_t i = 0; i < ARRAY_LEN(dirs); i++)
		make(dirs[i], NULL);
	make("secret/key", NULL);
	make("pub/out", "../secret");
	make("pub/up", "..");
	make("pub/in", "sub");
	make("topub", "pub");
	make("box/topub", "../pub");
	test_cases();
	test_result();
	test_atomic();
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	ok(system(command) == 0, "cleaned up");
	return done_testing();
}
