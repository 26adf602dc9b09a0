/*
 * Boxes that live, through cordon.h alone: living ENGINE DIRECTORY [counts|holds] runs everything that is promised of them there and prints
 * TAP; with a group that counts processes and memory, or one that only holds them. living hold ENGINE opens a box, starts a job that waits,
 * says "ready" and waits for it, so that tests/life/living_lib.sh can kill whom it likes; living frozen ENGINE pauses it first. LIVING_ROOT is
 * files.root. living pauses ENGINE DIRECTORY: pauses at bad moments.
 * living late ENGINE IMAGE pauses a job that is over its deadline before the driver (tests/engine/stranger.py) gets to it.
 */
#include "living.h"

/* ---- jobs ---- */

static void test_jobs(void)
{
	static const char *const env[] = { "GIVEN=yes", NULL };
	struct cordon_result *r = RUN(.line = "echo out; echo err >&2; exit 7");

	ok(r && r->status == CORDON_ERROR && r->exit_code == 7, "a job in a box that lives has its exit code");
	is_str(r ? r->out.data : NULL, "out\n", "its output");
	is_str(r ? r->err.data : NULL, "err\n", "both of them");
	is_str(r ? r->engine : NULL, engine, "its engine");
	cordon_result_free(r);
	says("echo kept >~/file; echo too >/tmp/file; echo done", "done\n", "another job");
	says("cat ~/file /tmp/file; pwd", "kept\ntoo\n/home/agent\n", "finds what an earlier one wrote");
	ended(RUN(.line = "kill -SEGV $$"), CORDON_KILLED, NULL, "a signal");
	r = RUN(.line = "echo $GIVEN $PWD", .env = env, .workdir = "/tmp");
	is_str(r ? r->out.data : NULL, "yes /tmp\n", "variables and a directory of its own");
	cordon_result_free(r);
	says("echo $GIVEN", "\n", "which the next one does not have");
	r = RUN(.language = "python", .code = "print(6 * 7)");
	is_str(r ? r->out.data : err.message, "42\n", "a language");
	cordon_result_free(r);
	r = RUN(.language = "python", .code = "print('again')");
	is_str(r ? r->out.data : err.message, "again\n", "and once more, in the place of the first");
	cordon_result_free(r);
	says("rm -f ~/main.py; ln -s /tmp/elsewhere ~/main.py; echo ok", "ok\n", "where the payload laid a link");
	r = RUN(.language = "python", .code = "print('through')");
	is_str(r ? r->out.data : err.message, "through\n", "it is replaced");
	cordon_result_free(r);
	says("cd /tmp; echo *", "file\n", "and not followed");
}

static void test_missing(void)
{
	static const char *const argv[] = { "no-such-program", NULL };
	struct cordon_job job = { .size = sizeof(job), .argv = argv };
	struct cordon_result *r = NULL;

	ok(cordon_box_exec(box, &job, NULL, &r, &err) == 0 && r->status == CORDON_REFUSED && r->error &&
		   r->error->code == CORDON_NOT_FOUND,
	   "a program that is not there is a result");
	cordon_result_free(r);
	r = RUN(.line = "echo never", .workdir = "/no/such/place");
	ok(!r && err.code == CORDON_INVALID, "a directory that is not there is an error: %s", err.message);
	cordon_result_free(r);
	says("echo on", "on\n", "and the box goes on");
}

static void test_input(void)
{
	char big[100000];
	int pair[2];
	struct cordon_io io = CORDON_IO_INIT;
	struct cordon_result *r;

	memset(big, 'x', sizeof(big));
	write_text(in_dir("input"), "one line\n");
	io.stdin_fd = open(in_dir("input"), O_RDONLY | O_CLOEXEC);
	for (int i = 0; i < 3; i++) {
		(void)lseek(io.stdin_fd, 0, SEEK_SET);
		r = RUN(.line = "cat", .io = &io);
		is_str(r ? r->out.data : err.message, "one line\n", "input, time %d", i + 1);
		cordon_result_free(r);
	}
	(void)close(io.stdin_fd);
	if (pipe2(pair, O_CLOEXEC) < 0)
		abort();
	io.stdin_fd = -1;
	io.control_fd = pair[0];
	(void)!write(pair[1], (char[]){ SIGTERM }, 1);
	r = RUN(.line = "trap 'echo heard; exit 3' TERM; while :; do sleep 0.05; done", .io = &io, .timeout_ms = 5000);
	ok(r && (r->exit_code == 3 || r->signal == SIGTERM), "a signal arrives");
	cordon_result_free(r);
	(void)!write(pair[1], (char[]){ SIGKILL }, 1);
	ended(RUN(.line = "sleep 30", .io = &io), CORDON_CANCELLED, NULL, "one that is cancelled");
	says("echo on", "on\n", "leaves the box as it is");
	(void)close(pair[0]);
	(void)close(pair[1]);
}

static void test_background(void)
{
	says("sleep 1234 & setsid sleep 1235 & (trap '' TERM HUP; sleep 1236) & echo left", "left\n",
	     "what a job leaves in the background");
	says("for p in /proc/[0-9]*; do tr '\\0' ' ' <$p/cmdline; done 2>/dev/null | grep -c '^sleep 123'; true", "0\n",
	     "is ended with it");
}

/* ---- limits ---- */

static void test_deadline(void)
{
	struct timespec a, b;
	long ms;

	(void)clock_gettime(CLOCK_MONOTONIC, &a);
	ended(RUN(.line = "echo more >>~/file; trap '' TERM; setsid sleep 1237 & sleep 30", .timeout_ms = 400),
	      CORDON_TIMEOUT, "wall_time", "a deadline of a job's own");
	(void)clock_gettime(CLOCK_MONOTONIC, &b);
	ms = (b.tv_sec - a.tv_sec) * 1000 + (b.tv_nsec - a.tv_nsec) / 1000000;
	ok(ms >= 390 && ms < 3000, "in its time (%ld ms)", ms);
	says("tail -n 1 ~/file; for p in /proc/[0-9]*; do tr '\\0' ' ' <$p/cmdline; done 2>/dev/null | grep -c '^sleep "
	     "1237'; true",
	     "more\n0\n", "the next job finds the box alive, and nothing else");
	ok(!RUN(.line = "true", .timeout_ms = 3600000) && err.code == CORDON_DENIED,
	   "a later one than the policy's is refused");
}

static void test_limits(bool holds)
{
	struct cordon_result *r = RUN(.line = "head -c 300000 /dev/zero");

	ok(r && r->out.len == 65536 && r->out.truncated, "output is cut at its bound");
	ended(r, CORDON_RESOURCE_EXCEEDED, "output", "and told");
	r = RUN(.line = "head -c 60000 /dev/zero; head -c 60000 /dev/zero >&2");
	ok(r && r->out.len == 60000 && r->err.len == 60000 && !r->out.truncated, "the bound is each job's own");
	ended(r, CORDON_SUCCESS, NULL, "and nothing is left of the one before");
	r = RUN(.line = "python3 -c 'x = bytearray(200 << 20)'");
	if (holds)
		ended(r, CORDON_RESOURCE_EXCEEDED, "memory", "memory runs out");
	else /* without a group a large piece is not even given */
		ended(r, CORDON_ERROR, NULL, "memory runs out");
	if (strcmp(engine, "runsc") == 0) { /* a kernel of its own goes with its memory */
		ok(!RUN(.line = "true") && strstr(err.message, "earlier job"), "with it went the box: %s", err.message);
		close_box();
		open_box();
	}
	ended(RUN(.line = "exit 1"), CORDON_ERROR, NULL, "for one job, not for the next");
	r = RUN(.line = "while :; do :; done");
	if (strcmp(engine, "runsc") == 0 && r &&
	    r->status == CORDON_KILLED) { /* by its own kernel, which counts otherwise */
		cordon_result_free(r);
		r = NULL;
	} else {
		ended(r, CORDON_RESOURCE_EXCEEDED, "cpu_time", "so does CPU time");
	}
	r = RUN(.line = "i=0; while [ $i -lt 1000 ]; do i=$((i + 1)); done");
	ok(r && r->cpu_us < 700000, "which counts anew (%llu us)", r ? (unsigned long long)r->cpu_us : 0);
	ended(r, CORDON_SUCCESS, NULL, "for each");
}

static void test_denials(void)
{
	struct cordon_result *r;

	r = RUN(.line = "python3 -c 'import ctypes; ctypes.CDLL(None).mount(None, b\"/tmp\", b\"tmpfs\", 0, None)'");
	if (strcmp(engine, "runsc") != 0)
		ok(r && r->denial_count >= 1 && strstr(r->denials[0].what, "mount"), "a refused call is told");
	cordon_result_free(r);
	r = RUN(.line = "true");
	ok(r && r->denial_count == 0, "to the job that tried");
	cordon_result_free(r);
}

/* The second and third job of a box that lives have what the one job of a box of its own has. */
static void test_same(void)
{
	static const char line[] =
		"{ grep -E '^(Uid|Gid|Groups|Cap|NoNewPrivs|Seccomp:|Umask|Sig[BI])' /proc/self/status; "
		"cat /proc/self/limits; env | sort; id; hostname; pwd; umask; ls -l /proc/self/fd | wc -l; "
		"ls /; ls -a ~ >/dev/null; touch /usr/x /etc/x 2>/dev/null && echo bad; "
		"cat /proc/sys/kernel/hostname; awk '{ print $5, $6, $9 }' /proc/self/mountinfo | sort; "
		"cat /proc/net/dev | cut -d: -f1; nice; cat /proc/self/oom_score_adj; } | "
		"sed -E 's/1610[0-9]{6}/OWN/g; s/\\.cordon-[0-9a-f]{32}/.cordon/g'"; /* a host id and init's place may be the box's own */
	static const char *const argv[] = { "sh", "-c", line, NULL };
	struct cordon_job job = { .size = sizeof(job), .argv = argv };
	struct cordon_plan *once = NULL;
	struct cordon_result *a = NULL, *b;

	ok(cordon_plan_new(&once, policy, &job, &err) == 0 && cordon_run(once, NULL, &a, &err) == 0,
	   "a box of one job");
	for (int i = 0; a && i < 2; i++) {
		b = RUN(.line = line);
		is_str(b ? b->out.data : err.message, a->out.data, "what a job sees of itself is the same");
		ok(b && a->layers && b->layers, "both have layers");
		for (int k = 0; b && (a->layers[k] || b->layers[k]); k++)
			if (!is_str(b->layers[k], a->layers[k], "the same"))
				break;
		cordon_result_free(b);
	}
	cordon_result_free(a);
	cordon_plan_free(once);
}

/* ---- files ---- */

static void test_put(void)
{
	char command[4096];

	write_text(in_dir("one"), "first\n");
	ok(cordon_box_put(box, in_dir("one"), "one", &err) == 0, "a file is put: %s", err.message);
	says("cat ~/one; [ -O ~/one ] && find ~/one -printf '%m\\n'; echo mine >>~/one", "first\n644\n",
	     "the payload has it, and owns it");
	write_text(in_dir("one"), "second\n");
	(void)chmod(in_dir("one"), 0755);
	ok(cordon_box_put(box, in_dir("one"), "/home/agent/one", &err) == 0, "another takes its place: %s",
	   err.message);
	says("cat ~/one; find ~/one -printf '%m\\n'", "second\n755\n", "whole");
	snprintf(command, sizeof(command),
		 "mkdir -p %s/tree/sub && echo deep >%s/tree/sub/file && ln -s /etc/passwd %s/tree/link && chmod 750 "
		 "%s/tree/sub",
		 dir, dir, dir, dir);
	ok(system(command) == 0 && cordon_box_put(box, in_dir("tree"), "new/place/tree", &err) == 0, "a tree: %s",
	   err.message);
	says("cd ~/new/place/tree && cat sub/file && readlink link && find sub -maxdepth 0 -printf '%m\\n'",
	     "deep\n/etc/passwd\n750\n", "with everything in it");
	ok(cordon_box_put(box, in_dir("tree"), "new/place/tree", &err) < 0, "a directory gives way to none");
	ok(cordon_box_put(box, in_dir("one"), "/usr/one", &err) < 0, "nor does what is read-only: %s", err.message);
	ok(cordon_box_put(box, "/no/such/file", "x", &err) < 0, "what is not there cannot be put");
	says("ln -s /tmp ~/door; echo ok", "ok\n", "a link of the payload's");
	ok(cordon_box_put(box, in_dir("one"), "door/x", &err) < 0, "is no way in");
	says("cd /tmp; test -e x && echo there; echo on", "on\n", "and the box goes on");
}

static void test_get(void)
{
	char a[4096], b[4096];
	const char *ins[] = { a, NULL }, *outs[] = { b, NULL };
	struct cordon_result *r;

	says("mkdir -p ~/got/sub && echo result >~/got/sub/file && chmod 0 ~/got/sub/file && mkfifo ~/got/pipe; echo "
	     "ok",
	     "ok\n", "files to be fetched");
	ok(cordon_box_get(box, "got/sub/file", in_dir("file"), &err) == 0, "a file: %s", err.message);
	(void)chmod(in_dir("file"), 0600); /* it is as shut as it was */
	is_str(read_text(in_dir("file")), "result\n", "arrives");
	ok(cordon_box_get(box, "got/sub", in_dir("sub"), &err) == 0, "a tree: %s", err.message);
	(void)chmod(in_dir("sub/file"), 0600);
	is_str(read_text(in_dir("sub/file")), "result\n", "too");
	ok(cordon_box_get(box, "got", in_dir("all"), &err) < 0 && err.code == CORDON_DENIED,
	   "what is neither file nor directory is told");
	ok(cordon_box_get(box, "no/such", in_dir("none"), &err) < 0 && err.code == CORDON_NOT_FOUND,
	   "what is not there, too");
	ok(access(in_dir("none"), F_OK) < 0, "and makes nothing");
	says("cd; rm -r got; ln -s /etc got; echo ok", "ok\n", "a link of the payload's");
	ok(cordon_box_get(box, "got/passwd", in_dir("none"), &err) < 0, "is no way out");
	write_text(in_dir("in"), "in and out\n");
	snprintf(a, sizeof(a), "%s:/tmp/in", in_dir("in"));
	snprintf(b, sizeof(b), "/tmp/out:%s", in_dir("out"));
	r = RUN(.line = "tr a-z A-Z </tmp/in >/tmp/out", .in = ins, .out = outs);
	ended(r, CORDON_SUCCESS, NULL, "a job with files of its own");
	is_str(read_text(in_dir("out")), "IN AND OUT\n", "has them");
	says("mkdir /tmp/many; cd /tmp/many; touch $(seq 200); echo last >201; echo ok", "ok\n", "many files");
	for (int i = 0; i < 3; i++) { /* the wish to end it may meet its end */
		snprintf(b, sizeof(b), "/tmp/many:%s", in_dir(i == 0 ? "many0" : i == 1 ? "many1" : "many2"));
		ended(RUN(.line = "head -c 66000 /dev/zero", .out = outs), CORDON_RESOURCE_EXCEEDED, "output",
		      "too much output");
		is_str(read_text(in_dir(i == 0   ? "many0/201"
					: i == 1 ? "many1/201"
						 : "many2/201")),
		       "last\n", "leaves its files whole");
		says("echo on", "on\n", "and the box alive");
	}
}

/* ---- beside jobs ---- */

static pthread_t thread;
static struct job background;

static void *serve(void *arg)
{
	(void)arg;
	return run(background);
}

static void start(struct job j)
{
	background = j;
	if (pthread_create(&thread, NULL, serve, NULL) != 0)
		abort();
}

static struct cordon_result *finish(void)
{
	void *result = NULL;

	(void)pthread_join(thread, &result);
	return result;
}

static struct cordon_stats stats(void)
{
	struct cordon_stats s = { .size = sizeof(s) };
	struct cordon_error why = { 0 };

	if (cordon_box_stats(box, &s, &why) < 0)
		printf("# stats: %s\n", why.message);
	return s;
}

/* Until a job is there and has children. */
static void await_busy(uint64_t processes)
{
	for (int i = 0; i < 200; i++) {
		struct cordon_stats s = stats();

		if (s.is_busy && s.processes >= processes)
			return;
		nap(20);
	}
}

static void test_stats(bool counts)
{
	struct cordon_stats s = stats();
	struct cordon_error why = { 0 };
	struct cordon_result *r = NULL;
	static const char *const argv[] = { "true", NULL };
	struct cordon_job job = { .size = sizeof(job), .argv = argv };

	ok(!s.is_busy && !s.is_paused && s.processes == 0, "between jobs nothing runs");
	start((struct job){
		.line = "python3 -c 'import time; x = bytearray(30 << 20); time.sleep(1.5)'; sleep 0.1 & wait" });
	await_busy(counts ? 2 : 0);
	nap(600);
	s = stats();
	ok(s.is_busy, "a job is there");
	if (counts) {
		ok(s.processes >= 2 && s.processes < 5, "its processes (%llu)", (unsigned long long)s.processes);
		ok(s.memory_bytes >= 30u << 20 && s.memory_bytes < 128u << 20, "its memory (%llu)",
		   (unsigned long long)s.memory_bytes);
		ok(s.cpu_us > 0, "its CPU time");
	}
	ok(cordon_box_exec(box, &job, NULL, &r, &why) < 0 && why.code == CORDON_BUSY, "a second one is refused: %s",
	   why.message);
	ok(cordon_box_put(box, in_dir("one"), "x", &why) < 0 && why.code == CORDON_BUSY, "files, too");
	ended(finish(), CORDON_SUCCESS, NULL, "and the first goes on to its end");
}

static void test_pause(void)
{
	struct cordon_error why = { 0 };
	struct cordon_result *r = NULL;
	struct cordon_stats a, b;

	start((struct job){ .line = "i=0; while [ $i -lt 150000 ]; do i=$((i + 1)); done; echo counted",
			    .timeout_ms = 6000 });
	await_busy(0);
	if (cordon_box_pause(box, &why) < 0) {
		ok(why.code == CORDON_UNAVAILABLE && why.hint[0], "where a box cannot be paused it says so: %s (%s)",
		   why.message, why.hint);
		cordon_result_free(finish());
		return;
	}
	ok(true, "a job is paused");
	nap(100);
	a = stats();
	nap(700);
	b = stats();
	ok(a.is_paused && b.is_paused && b.is_busy, "stays so");
	ok(b.cpu_us - a.cpu_us < 20000, "and uses no CPU (%llu us)", (unsigned long long)(b.cpu_us - a.cpu_us));
	ok(cordon_box_pause(box, &why) == 0, "twice is fine");
	ok(cordon_box_resume(box, &why) == 0 && !stats().is_paused, "it is resumed");
	nap(300);
	a = stats();
	ok(!a.is_busy || a.cpu_us > b.cpu_us, "and goes on");
	r = finish();
	is_str(r ? r->out.data : err.message, "counted\n", "to its end");
	cordon_result_free(r);
	start((struct job){ .line = "sleep 0.8; echo slept", .timeout_ms = 2000 });
	await_busy(0);
	ok(cordon_box_pause(box, &why) == 0, "paused beyond its deadline");
	nap(2500);
	ok(cordon_box_resume(box, &why) == 0, "and resumed");
	r = finish();
	ok(r && r->wall_us < 2000000, "a pause is no time of the job's (%llu us)",
	   r ? (unsigned long long)r->wall_us : 0);
	ended(r, CORDON_SUCCESS, NULL, "nor its deadline's");
	ok(cordon_box_pause(box, &why) == 0, "a box is paused between jobs");
	ok(!RUN(.line = "true") && err.code == CORDON_BUSY, "and takes none: %s", err.message);
	ok(cordon_box_resume(box, &why) == 0, "until it is resumed");
	says("echo on", "on\n", "then it does");
	/* Processes that are each too short for a limit of their own. */
	start((struct job){ .line = "while :; do sh -c 'i=0; while [ $i -lt 9999 ]; do i=$((i + 1)); done'; done" });
	await_busy(0);
	nap(200);
	ok(cordon_box_pause(box, &why) == 0, "paused for longer than its CPU time");
	nap(4000);
	ok(cordon_box_resume(box, &why) == 0, "and resumed");
	r = finish();
	ok(r && r->cpu_us < 3000000, "it has no more of that than before (%llu us)",
	   r ? (unsigned long long)r->cpu_us : 0);
	ended(r, CORDON_RESOURCE_EXCEEDED, "cpu_time", "which is told");
}

/* ---- many ---- */

static void test_many(void)
{
	unsigned fds, keeper_fds;
	long keeper = first_child(), rss, keeper_rss;
	char pid[32];
	unsigned bad = 0;
	struct cordon_result *before = RUN(.line = "set -- /proc/[0-9]*; echo $#");

	snprintf(pid, sizeof(pid), "%ld", keeper);
	for (int i = 0; i < 10; i++)
		cordon_result_free(RUN(.line = "true"));
	fds = count_fds("self");
	keeper_fds = count_fds(pid);
	rss = rss_kib("self");
	keeper_rss = rss_kib(pid);
	for (int i = 0; i < 200; i++) {
		struct cordon_result *r = RUN(.line = i % 10 ? "true" : "sleep 100 & head -c 70000 /dev/zero");

		bad += !r || (i % 10 && r->status != CORDON_SUCCESS);
		cordon_result_free(r);
	}
	is_num(bad, 0, "two hundred jobs in one box");
	is_num(count_fds("self"), fds, "as many fds as before");
	is_num(count_fds(pid), keeper_fds, "the keeper, too");
#ifdef __SANITIZE_ADDRESS__
	rss += 1 << 20; /* which keeps what is freed; leaks it tells at the end */
	keeper_rss += 1 << 20;
#endif
	ok(rss_kib("self") <= rss + 512 && rss_kib(pid) <= keeper_rss + 512, "no memory is left (%ld and %ld KiB more)",
	   rss_kib("self") - rss, rss_kib(pid) - keeper_rss);
	says("set -- /proc/[0-9]*; echo $#", before ? before->out.data : "", "nor a process");
	cordon_result_free(before);
}

/* ---- a network ---- */

static bool tried(const struct cordon_result *r, const char *host, const char *decision)
{
	for (size_t i = 0; r && i < r->network_count; i++)
		if (strcmp(r->network[i].host, host) == 0 && strcmp(r->network[i].decision, decision) == 0)
			return true;
	return false;
}

/* Names are decided before anything leaves the host: no network of its own is needed for this. */
static void test_network(void)
{
	struct cordon_policy *before = policy;
	struct cordon_result *r;

	policy = NULL;
	if (cordon_policy_new(&policy, &err) < 0)
		exit(1);
	set("engine", engine);
	if (getenv("LIVING_ROOT"))
		set("files.root", getenv("LIVING_ROOT"));
	set("network.allow", "api.example.com");
	open_box();
	for (int i = 0; i < 2; i++) {
		r = RUN(.line = "python3 -c 'import socket; print(socket.gethostbyname(\"api.example.com\"))'");
		ok(r && r->status == CORDON_SUCCESS && r->out.len > 4, "a name that is allowed has an address, job %d",
		   i + 1);
		ok(tried(r, "api.example.com", "allowed"), "and is told");
		ok(!tried(r, "evil.example.net", "refused"), "alone");
		cordon_result_free(r);
		r = RUN(.line = "python3 -c 'import socket; socket.gethostbyname(\"evil.example.net\")' 2>/dev/null");
		ok(r && r->status == CORDON_ERROR, "another has none");
		ok(tried(r, "evil.example.net", "refused") && r->denial_count > 0, "and is refused");
		ok(!tried(r, "api.example.com", "allowed"), "with nothing of the job before");
		cordon_result_free(r);
	}
	close_box();
	cordon_policy_free(policy);
	policy = before;
}

/* ---- what is no job ---- */

static void test_refusals(void)
{
	static const char *const argv[] = { "true", NULL }, *const ins[] = { "/bin/true:/tmp/x", NULL };
	struct cordon_job bad = { .size = sizeof(bad), .lives = true, .argv = argv };
	struct cordon_plan *p = NULL, *with = NULL;
	struct cordon_box *none = NULL;
	struct cordon_result *r = NULL;

	ok(cordon_plan_new(&p, policy, &bad, &err) < 0 && err.code == CORDON_INVALID,
	   "a box that lives is planned without a command");
	ok(cordon_run(plan, NULL, &r, &err) < 0 && err.code == CORDON_INVALID, "and is not for cordon_run()");
	bad.lives = false;
	ok(cordon_plan_new(&p, policy, &bad, &err) == 0 && cordon_box_open(&none, p, &err) < 0 &&
		   err.code == CORDON_INVALID,
	   "nor another for cordon_box_open(): %s", err.hint);
	cordon_plan_free(p);
	bad.tty = true;
	ok(cordon_box_exec(box, &bad, NULL, &r, &err) < 0 && err.code == CORDON_UNAVAILABLE, "a job has no terminal");
	bad = (struct cordon_job){ .size = sizeof(bad) };
	ok(cordon_box_exec(box, &bad, NULL, &r, &err) < 0 && err.code == CORDON_INVALID, "nor is it nothing at all");
	bad = (struct cordon_job){ .size = sizeof(bad), .lives = true, .in = ins };
	is_num(cordon_plan_new(&with, policy, &bad, &err) < 0 && strstr(err.message, "opened empty"),
	       getenv("LIVING_ROOT") != NULL,
	       "files to begin with are refused where the root is the engine's, and planned elsewhere");
	cordon_plan_free(with);
	cordon_box_close(NULL);
}

static void begin(const char *name)
{
	engine = name;
	if (cordon_policy_new(&policy, &err) < 0)
		exit(1);
	set("engine", engine);
	if (getenv("LIVING_ROOT")) /* engines with images of their own */
		set("files.root", getenv("LIVING_ROOT"));
	set("limits.memory", "128M");
	set("limits.output", "64K");
	set("limits.cpu_time", "1500ms");
	set("limits.wall_time", "20s");
}

static int hold(bool paused)
{
	struct cordon_error why = { 0 };
	struct cordon_result *r;

	open_box();
	cordon_result_free(RUN(.line = "echo x >~/x"));
	start((struct job){ .line = "setsid sleep 4322 & sleep 4321", .timeout_ms = 20000 });
	if (paused) {
		await_busy(0);
		nap(300);
		if (cordon_box_pause(box, &why) < 0)
			printf("no pause: %s\n", why.message);
	}
	printf("ready %ld\n", first_child());
	fflush(stdout);
	r = finish();
	printf("%s\n", r ? cordon_status_name(r->status) : err.message);
	cordon_result_free(r);
	r = RUN(.line = "true");
	printf("%s\n", r ? cordon_status_name(r->status) : err.message);
	cordon_result_free(r);
	close_box();
	return 0;
}

/* Pausing a job at any moment of its start: it stands still, or the pause is refused; it never goes on beyond everybody's clock. */
static void pause_early(void)
{
	struct cordon_error why = { 0 };
	unsigned paused = 0, went_on = 0, lost = 0;

	for (unsigned i = 0; i < 10; i++) {
		struct cordon_result *r;
		bool held;

		start((struct job){ .line = "sleep 0.4; echo slept", .timeout_ms = 5000 });
		nap(i % 5 * 2);
		held = cordon_box_pause(box, &why) == 0;
		if (held && !stats().is_busy) /* it came before the job, which is refused then */
			held = false;
		nap(held ? 600 : 0); /* longer than it sleeps, which is longer than a busy daemon takes to pause */
		paused += held;
		went_on += held && !stats().is_busy;
		(void)cordon_box_resume(box, &why);
		r = finish();
		lost += held && (!r || r->status != CORDON_SUCCESS || strcmp(r->out.data, "slept\n") != 0);
		cordon_result_free(r);
	}
	ok(paused > 2, "control: %u jobs were paused while they began", paused);
	is_num(went_on, 0, "none of them went on");
	is_num(lost, 0, "and all of them did afterwards");
}

/* What forks as fast as it can, and what never stays: a process that forks the next and ends. */
static void pause_bomb(const char *line, const char *what)
{
	struct cordon_error why = { 0 };
	struct cordon_stats a, b;
	int r;

	start((struct job){ .line = line, .timeout_ms = 4000 });
	await_busy(0);
	nap(300);
	r = cordon_box_pause(box, &why);
	ok(r == 0, "%s is paused%s%s", what, r ? ": " : "", r ? why.message : "");
	nap(150);
	a = stats();
	nap(400);
	b = stats();
	ok(r < 0 || b.cpu_us - a.cpu_us < 20000, "%s uses no CPU then (%llu us)", what,
	   (unsigned long long)(b.cpu_us - a.cpu_us));
	ok(r < 0 || (b.is_busy && b.is_paused), "%s is still there", what);
	(void)cordon_box_resume(box, &why);
	cordon_result_free(finish());
	says("echo on", "on\n", "the box goes on after %s", what);
}

static int pauses(void)
{
	struct cordon_error why = { 0 };
	struct timespec begun, now;

	open_box();
	start((struct job){ .line = "sleep 0.3" });
	await_busy(0);
	if (cordon_box_pause(box, &why) < 0) {
		ok(why.code == CORDON_UNAVAILABLE, "where a box cannot be paused it says so: %s", why.message);
		cordon_result_free(finish());
		close_box();
		return done_testing();
	}
	(void)cordon_box_resume(box, &why);
	cordon_result_free(finish());
	ok(cordon_box_resume(box, &why) == 0, "a box is resumed that was not paused, after its job: %s", why.message);
	close_box(); /* the first pause of a box has most to do */
	open_box();
	pause_early();
	pause_bomb("while :; do (:) & done 2>/dev/null & sleep 3", "what forks as fast as it can");
	pause_bomb("python3 -c 'import os\nwhile True:\n if os.fork(): os._exit(0)' & sleep 3",
		   "a process that is always the next one");
	start((struct job){ .line = "sleep 30", .timeout_ms = 500 });
	await_busy(0);
	ok(cordon_box_pause(box, &why) == 0, "paused, beyond its deadline");
	nap(800);
	ok(stats().is_busy && cordon_box_resume(box, &why) == 0, "it waits, and is resumed");
	ended(finish(), CORDON_TIMEOUT, "wall_time", "then its deadline comes");
	ok(cordon_box_pause(box, &why) == 0, "a box is paused, and closed so");
	(void)clock_gettime(CLOCK_MONOTONIC, &begun);
	close_box();
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	ok(now.tv_sec - begun.tv_sec < 4, "it ends at once");
	cordon_policy_free(policy);
	return done_testing();
}

static int late(const char *image)
{
	struct cordon_error why = { 0 };
	struct cordon_result *r;

	set("files.root", image);
	open_box();
	start((struct job){ .line = "sleep 60", .timeout_ms = 1000 });
	await_busy(0);
	nap(300);
	ok(cordon_box_pause(box, &why) < 0 && why.code == CORDON_BUSY, "a pause that comes too late is none: %s",
	   why.message);
	ok(!stats().is_paused, "and leaves nothing paused");
	r = finish();
	ended(r, CORDON_TIMEOUT, "wall_time", "its deadline stands");
	close_box();
	cordon_policy_free(policy);
	return done_testing();
}

int main(int argc, char **argv)
{
	bool counts = argc > 3 && strcmp(argv[3], "counts") == 0, holds = argc > 3;

	if (argc > 2 && strcmp(argv[1], "hold") == 0) {
		begin(argv[2]);
		return hold(false);
	}
	if (argc > 2 && strcmp(argv[1], "frozen") == 0) {
		begin(argv[2]);
		return hold(true);
	}
	if (argc > 3 && strcmp(argv[1], "pauses") == 0) {
		begin(argv[2]);
		return pauses();
	}
	if (argc > 3 && strcmp(argv[1], "late") == 0) {
		begin(argv[2]);
		return late(argv[3]);
	}
	if (argc < 3)
		return 2;
	dir = argv[2];
	begin(argv[1]);
	open_box();
	test_jobs();
	test_missing();
	test_input();
	test_background();
	test_deadline();
	test_limits(holds);
	test_denials();
	close_box();
	open_box();
	test_same();
	test_put();
	test_get();
	test_stats(counts);
	test_pause();
	test_many();
	test_refusals();
	close_box();
	test_network();
	cordon_policy_free(policy);
	return done_testing();
}
