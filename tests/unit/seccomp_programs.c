/*
 * Ordinary programs run under the filter as if it were not there: they succeed, and nothing is told to the listener, so
 * that the result of a good program shows no denial. A program that this host lacks is not tried, and that is said.
 */
#include <fcntl.h>

#include "seccomp_child.h"
#include "tap.h"

static const struct seccomp_options normal = { .notify = true }, strict = { .notify = true, .strict = true },
				    host = { .notify = true, .no_sockets = true }, /* on_host needs a keeper */
	lock = { .notify = true, .exec_lock = true },
				    strict_lock = { .notify = true, .strict = true, .exec_lock = true };

#define PYTHON "/usr/bin/python3"
#define IN_TMP "d=$(mktemp -d) && cd $d && trap 'rm -rf $d' EXIT && "

static const char asyncio[] = "import asyncio\n"
			      "async def main():\n"
			      "    s = await asyncio.start_server(lambda r, w: w.close(), '127.0.0.1', 0)\n"
			      "    r, w = await asyncio.open_connection(*s.sockets[0].getsockname())\n"
			      "    await r.read()\n"
			      "    p = await asyncio.create_subprocess_exec('/bin/true')\n"
			      "    await p.wait()\n"
			      "asyncio.run(main())\n";
static const char pools[] = "import multiprocessing as mp\n"
			    "for m in ('fork', 'spawn', 'forkserver'):\n"
			    "    with mp.get_context(m).Pool(2) as p:\n"
			    "        assert p.map(abs, [-1, 2]) == [1, 2]\n";
static const char fork_pool[] = "import multiprocessing as mp, subprocess\n"
				"with mp.get_context('fork').Pool(2) as p:\n"
				"    assert p.map(abs, [-1, 2]) == [1, 2]\n"
				"subprocess.run(['/bin/true'], check=True)\n";
static const char plain[] = "import json, math, os, re, sqlite3, tempfile, threading, time\n"
			    "t = threading.Thread(target=time.sleep, args=(0.01,)); t.start(); t.join()\n"
			    "c = sqlite3.connect(':memory:'); c.execute('create table t(a)')\n"
			    "with tempfile.TemporaryDirectory() as d:\n"
			    "    with open(d + '/a', 'w') as f: f.write(json.dumps([math.pi]))\n"
			    "    assert re.match('.3.1', open(d + '/a').read()) and os.listdir(d) == ['a']\n";
static const char workers[] =
	"const { Worker, isMainThread } = require('worker_threads');"
	"const w = new Worker('1 + 1', { eval: true });"
	"w.on('exit', () => require('child_process').execFile('/bin/true', [], (e) => {"
	" const s = require('net').createServer((c) => c.end()).listen(0, '127.0.0.1', () =>"
	"  require('net').connect(s.address().port, '127.0.0.1').on('close', () => s.close()).resume()) }))";
static const char c_program[] = "echo 'int main(void) { return 0; }' > a.c && gcc -O2 -o a a.c && ./a";
static const char git[] =
	"git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x && git log -1 >x";

static const struct {
	const char *what;
	const struct seccomp_options *options;
	const char *argv[4];
} programs[] = {
	{ "true", &normal, { "/bin/true" } },
	{ "python: asyncio", &normal, { PYTHON, "-c", asyncio } },
	{ "python: multiprocessing by fork, spawn and forkserver", &normal, { PYTHON, "-c", pools } },
	{ "python: a plain script", &normal, { PYTHON, "-c", plain } },
	{ "node: a worker, a process, a connection", &normal, { "/usr/bin/node", "-e", workers } },
	{ "java", &normal, { "/usr/bin/java", "-version" } },
	{ "perl", &normal, { "/usr/bin/perl", "-e", "fork ? wait : exit; socket(S, 1, 1, 0) or die" } },
	{ "gcc", &normal, { "/usr/bin/gcc" } },
	{ "git", &normal, { "/usr/bin/git" } },
	{ "tar", &normal, { "/bin/tar" } },
	{ "sqlite3", &normal, { "/usr/bin/sqlite3" } },
	{ "ls -l, which asks for user names", &normal, { "/bin/ls", "-l", "/" } },
	{ "a shell's pipe and background job",
	  &normal,
	  { "/bin/sh", "-c", "echo a | cat >/dev/null; sleep 0 & wait" } },
	{ "strict: true", &strict, { "/bin/true" } },
	{ "strict: cat", &strict, { "/bin/cat", "/etc/passwd" } },
	{ "strict: ls -l", &strict, { "/bin/ls", "-l", "/" } },
	{ "strict: python with files, threads and a database", &strict, { PYTHON, "-c", plain } },
	{ "process level: python with a fork pool and a subprocess", &host, { PYTHON, "-c", fork_pool } },
	{ "process level: ls -l", &host, { "/bin/ls", "-l", "/" } },
	{ "process level: gcc", &host, { "/usr/bin/gcc" } },
	{ "process level: git", &host, { "/usr/bin/git" } },
	{ "commands: python", &lock, { PYTHON, "-c", plain } },
	{ "commands: python with asyncio", &lock, { PYTHON, "-c", asyncio } },
	{ "commands: gcc", &lock, { "/usr/bin/gcc" } },
	{ "commands: git", &lock, { "/usr/bin/git" } },
	{ "strict commands: python", &strict_lock, { PYTHON, "-c", plain } },
};

/* Shell lines for the programs that stand alone above. */
static const char *line_of(const char *program)
{
	if (strcmp(program, "/usr/bin/gcc") == 0)
		return c_program;
	if (strcmp(program, "/usr/bin/git") == 0)
		return git;
	if (strcmp(program, "/bin/tar") == 0)
		return "mkdir a && echo x > a/b && ln -s b a/c && tar czf a.tgz a && rm -r a && tar xzf a.tgz && cat "
		       "a/c >x";
	if (strcmp(program, "/usr/bin/sqlite3") == 0)
		return "sqlite3 a.db 'create table t(a); insert into t values (1); select * from t' >x";
	return NULL;
}

static int exec_program(void *arg)
{
	const char *const *argv = arg, *line = argv[1] ? NULL : line_of(argv[0]);
	char buf[512];
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	dup2(null, STDOUT_FILENO);
	dup2(null, STDIN_FILENO);
	if (!getenv("SECCOMP_PROGRAMS_STDERR"))
		dup2(null, STDERR_FILENO);
	if (!line) {
		execv(argv[0], (char *const *)(uintptr_t)argv);
		return 127;
	}
	snprintf(buf, sizeof(buf), IN_TMP "%s", line);
	execl("/bin/sh", "sh", "-c", buf, (char *)NULL);
	return 127;
}

struct told {
	unsigned count;
	char names[256];
};

static void tell(void *arg, const struct seccomp_event *e)
{
	const struct seccomp_options none = { 0 };
	struct seccomp_reason reason;
	struct told *t = arg;
	size_t len = strlen(t->names);

	if (e->nr == SYS_execve || e->nr == SYS_execveat)
		return;
	seccomp_explain(e->nr, &none, &reason);
	t->count++;
	snprintf(t->names + len, sizeof(t->names) - len, " %s(%#jx, %#jx)", reason.name, (uintmax_t)e->args[0],
		 (uintmax_t)e->args[1]);
}

static void test_program(size_t i)
{
	const char *const *argv = programs[i].argv;
	struct told t = { 0 };
	struct child c;
	int status;

	if (access(argv[0], X_OK) < 0) {
		note("%s: no %s here", programs[i].what, argv[0]);
		return;
	}
	c = child_start(programs[i].options, exec_program, (void *)(uintptr_t)argv);
	status = child_serve(&c, tell, &t);
	if (!ok(status == 0 && t.count == 0, "%s", programs[i].what))
		note("status %#x, %u denials:%s", status, t.count, t.names);
}

/* The check can fail: a program that does what is refused is told of. */
static void test_control(void)
{
	static const char *const argv[] = { PYTHON, "-c", "import socket; socket.socket(socket.AF_UNIX)", NULL };
	struct child c = child_start(&host, exec_program, (void *)(uintptr_t)argv);
	struct told t = { 0 };
	int status = child_serve(&c, tell, &t);

	ok(status != 0 && t.count > 0, "control: a program that is refused something fails, and it is told");
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_LEN(programs); i++)
		test_program(i);
	test_control();
	return done_testing();
}
