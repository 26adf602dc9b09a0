/*
 * cordon-init in namespaces of our own instead of a container: input within its credit, output, statuses, refused calls, files in and
 * out, the end by END and by the keeper's death, and what the payload cannot do to it.
 */
#include "base/fd.h"
#include "os/process.h"
#include "os/userns.h"
#include "stream/frame.h"
#include "stream/job.h"

#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct talk {
	int sock, init; /* pidfd */
	struct frame_reader reader;
	struct str out, err, said; /* said: one letter per other frame; contents of files in `out` */
	uint64_t credit;
	uint32_t applied;
	struct frame_exit exit;
	struct frame_denial denial;
	struct cordon_error error;
	bool gone;
};

static char program[4096];

static void find_program(void)
{
	char self[4000];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	self[n > 0 ? n : 0] = '\0';
	*strrchr(self, '/') = '\0';
	snprintf(program, sizeof(program), "%s/../cordon-init", self);
}

static _Noreturn void become(int sock, int go)
{
	static char own[] = "PATH=/nowhere/of/the/image:/usr/bin:/bin", lang[] = "LANG=image", more[] = "IMAGE=its own",
		    home[] = "HOME=/image";
	char *const argv[] = { program, NULL }, *const env[] = { own, lang, more, home, NULL };
	char byte;

	if (read(go, &byte, 1) != 1 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("proc", "/proc", "proc", 0, NULL) < 0)
		_exit(120);
	(void)dup2(sock, 0);
	(void)dup2(sock, 1);
	execve(program, argv, env);
	_exit(121);
}

static bool begin(struct talk *t)
{
	const struct id_range uid = { 1000, geteuid(), 1 }, gid = { 1000, getegid(), 1 };
	int pair[2], go[2];
	pid_t pid;

	*t = (struct talk){ .init = -1 };
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0 || pipe2(go, O_CLOEXEC) < 0)
		return false;
	pid = process_clone(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS, &t->init);
	if (pid == 0)
		become(pair[1], go[0]);
	t->sock = pair[0];
	(void)close(pair[1]);
	(void)close(go[0]);
	if (pid < 0 || userns_write_maps(pid, &uid, 1, &gid, 1, geteuid() != 0) < 0)
		return false;
	(void)!write(go[1], "", 1);
	(void)close(go[1]);
	return true;
}

static void finish(struct talk *t)
{
	(void)close(t->sock);
	process_end(&t->init);
	str_done(&t->out);
	str_done(&t->err);
	str_done(&t->said);
}

static void take(struct talk *t, const struct frame *f)
{
	struct frame_entry e;
	uint32_t n;

	switch ((int)f->type) {
	case FRAME_STDOUT:
	case FRAME_DATA:
		str_add_bytes(&t->out, f->body, f->len);
		break;
	case FRAME_STDERR:
		str_add_bytes(&t->err, f->body, f->len);
		break;
	case FRAME_CREDIT:
		t->credit += frame_get_u32(f, &n) == 0 ? n : 0;
		break;
	case FRAME_STARTED:
		str_add_char(&t->said, 's');
		(void)frame_get_u32(f, &t->applied);
		break;
	case FRAME_DENIAL:
		(void)frame_get_denial(f, &t->denial);
		break;
	case FRAME_EXITED:
		str_add_char(&t->said, 'x');
		(void)frame_get_exit(f, &t->exit);
		break;
	case FRAME_ERROR:
		str_add_char(&t->said, 'e');
		(void)frame_get_error(f, &t->error);
		break;
	case FRAME_ENTRY:
		if (frame_get_entry(f, &e) == 0)
			str_addf(&t->out, "[%u %s %o]", e.depth, e.name, e.mode);
		break;
	case FRAME_COLLECTED:
		str_add_char(&t->said, 'c');
		break;
	default:
		break;
	}
}

/* Reads until the letter was said, the stream ends or `ms` have passed. */
static bool hear(struct talk *t, char letter, int ms)
{
	while (!t->said.data || !strchr(t->said.data, letter)) {
		struct pollfd p = { .fd = t->sock, .events = POLLIN };
		struct frame f;
		size_t room;
		void *to = frame_room(&t->reader, &room);
		ssize_t n;

		if (poll(&p, 1, ms) <= 0)
			return false;
		n = read(t->sock, to, room);
		if (n <= 0) {
			t->gone = true;
			return false;
		}
		frame_added(&t->reader, (size_t)n);
		while (frame_next(&t->reader, &f) == 1)
			take(t, &f);
	}
	return true;
}

static void tell(struct talk *t, struct str *frames)
{
	(void)fd_write_all(t->sock, frames->data, frames->len);
	str_done(frames);
}

static void tell_one(struct talk *t, enum frame_type type, const void *body, size_t len)
{
	struct str s = { 0 };

	frame_put(&s, type, body, len);
	tell(t, &s);
}

static struct stream_job new_job(const char *line)
{
	struct stream_job job = { .flags = STREAM_LANDLOCK,
				  .open_files = 64,
				  .file_size_bytes = 1 << 20,
				  .cpu_seconds = 20,
				  .copy_bytes = 1 << 20,
				  .out_bytes = 1 << 20,
				  .copy_files = 10 };

	job.workdir = strdup("/");
	job.path = strdup("/usr/bin:/bin");
	(void)strv_add(&job.argv, "sh");
	(void)strv_add(&job.argv, "-c");
	(void)strv_add(&job.argv, line);
	(void)strv_add(&job.env, "PATH=/usr/bin:/bin");
	(void)strv_add(&job.grants, "rx /");
	(void)strv_add(&job.grants, "rw /proc");
	(void)strv_add(&job.grants, "rwd /dev");
	(void)strv_add(&job.disks, "/tmp");
	return job;
}

static void put_job(struct str *s, struct stream_job *job)
{
	auto_str struct str body = { 0 };

	stream_job_put(&body, job);
	frame_put(s, FRAME_JOB, body.data, body.len);
	stream_job_done(job);
}

static bool start(struct talk *t, struct stream_job job)
{
	struct str s = { 0 };

	if (!begin(t)) {
		stream_job_done(&job);
		return false;
	}
	put_job(&s, &job);
	frame_put(&s, FRAME_START, NULL, 0);
	tell(t, &s);
	return true;
}

static void test_run(void)
{
	struct talk t;

	ok(start(&t, new_job("echo out; echo err >&2; exit 7")) && hear(&t, 'x', 5000), "a payload runs and ends");
	is_str(t.out.data, "out\n", "its output");
	is_str(t.err.data, "err\n", "its errors");
	ok(WIFEXITED(t.exit.status) && WEXITSTATUS(t.exit.status) == 7, "its status");
	is_num(t.applied & 15, 15, "all of init's layers were put on");
	ok(!t.exit.disk_full && !t.exit.inodes_full && t.exit.maxrss_bytes > 0, "and counted");
	finish(&t);
	ok(start(&t, new_job("kill -USR1 $$")) && hear(&t, 'x', 5000), "one that dies of a signal");
	ok(WIFSIGNALED(t.exit.status) && WTERMSIG(t.exit.status) == SIGUSR1, "is told by it");
	finish(&t);
	ok(start(&t, new_job("head -c 1000000 /dev/zero; sleep 0.1; (sleep 60 &) ; echo end >&2")) &&
		   hear(&t, 'x', 5000),
	   "much output and a child that stays behind");
	ok(t.out.len == 1000000 && t.err.data && strcmp(t.err.data, "end\n") == 0,
	   "all came, and nobody waited for it");
	finish(&t);
}

static void test_rights(void)
{
	struct talk t;

	ok(start(&t, new_job("grep -E '^(CapEff|NoNewPrivs|Seccomp):' /proc/self/status | tr -d '\\t\\n'; kill -9 1; "
			     "cat /proc/1/environ || echo shut; echo alive; ulimit -n; ls /proc/self/fd | wc -l")) &&
		   hear(&t, 'x', 5000),
	   "what a payload has");
	is_str(t.out.data, "CapEff:0000000000000000NoNewPrivs:1Seccomp:2shut\nalive\n64\n4\n",
	       "no rights, no way to init, its own fds only");
	finish(&t);
}

static void test_landlock(void)
{
	char dir[] = "/tmp/cordon-inner-XXXXXX";
	auto_free char *line = NULL, *given = NULL;
	struct stream_job job;
	struct talk t;

	if (!mkdtemp(dir))
		abort();
	line = str_printf("touch %s/x && echo made; rm -f %s/x", dir, dir);
	given = str_printf("rwx %s", dir);
	ok(start(&t, new_job(line)) && hear(&t, 'x', 5000) && !t.out.len, "what is not granted cannot be written");
	finish(&t);
	job = new_job(line);
	(void)strv_add(&job.grants, given);
	ok(start(&t, job) && hear(&t, 'x', 5000) && t.out.len, "control: what is granted can");
	finish(&t);
	(void)rmdir(dir);
}

static void test_denial(void)
{
	auto_free char *line = str_printf("exec perl -e 'exit(syscall(%d, 0, 0, 0, 0, 0) == -1 && $!{EPERM} ? 3 : 4)'",
					  (int)SYS_mount);
	struct talk t;

	ok(start(&t, new_job(line)) && hear(&t, 'x', 5000), "a refused call");
	is_num(WEXITSTATUS(t.exit.status), 3, "fails");
	ok(t.denial.nr == SYS_mount && t.denial.count == 1, "and is told, once");
	finish(&t);
}

static void test_missing(void)
{
	struct stream_job job = new_job("");
	struct talk t;

	strv_done(&job.argv);
	(void)strv_add(&job.argv, "no-such-program");
	ok(start(&t, job) && hear(&t, 'x', 5000), "a program that is not there");
	is_str(t.said.data, "sex", "is told after the start and before the end");
	ok(t.error.code == CORDON_NOT_FOUND && strcmp(t.error.step, "exec") == 0, "as what it is: %s", t.error.message);
	finish(&t);
	job = new_job("true");
	free(job.workdir);
	job.workdir = strdup("/nowhere");
	ok(start(&t, job) && hear(&t, 'x', 5000) && strcmp(t.error.step, "workdir") == 0 && t.said.data[0] == 'e',
	   "a working directory that is not there is told before any start");
	finish(&t);
}

/* More than fits anywhere at once, and never more than was allowed. */
static void test_input(void)
{
	size_t sent = 0, size = 1000000;
	auto_free char *data = malloc(size);
	bool same;
	struct talk t;

	for (size_t i = 0; i < size; i++)
		data[i] = (char)(i / 251 + i);
	ok(start(&t, new_job("cat")) && hear(&t, 's', 5000), "cat starts");
	while (sent < size && !t.gone) {
		size_t n = size - sent < t.credit ? size - sent : t.credit;

		if (n == 0) {
			(void)hear(&t, 'x', 20);
			continue;
		}
		tell_one(&t, FRAME_STDIN, data + sent, n);
		sent += n;
		t.credit -= n;
	}
	tell_one(&t, FRAME_STDIN, NULL, 0);
	ok(hear(&t, 'x', 5000), "and ends with its input");
	same = t.out.len == size && memcmp(t.out.data, data, size) == 0;
	ok(same, "what went in came out");
	finish(&t);
	ok(start(&t, new_job("cat")) && hear(&t, 's', 5000), "another one");
	for (int i = 0; i < 8; i++)
		tell_one(&t, FRAME_STDIN, data, 60000);
	(void)hear(&t, 'x', 2000);
	ok(t.gone || t.out.len >= 60000, "beyond its credit the stream is at an end, or was in time");
	finish(&t);
}

static void test_end(void)
{
	struct timespec before, after;
	int status = 0;
	struct talk t;

	ok(start(&t, new_job("trap '' TERM; (setsid sleep 100 &); sleep 100")) && hear(&t, 's', 5000),
	   "one that stays");
	clock_gettime(CLOCK_MONOTONIC, &before);
	tell_one(&t, FRAME_END, NULL, 0);
	ok(hear(&t, 'x', 5000) && WIFSIGNALED(t.exit.status) && WTERMSIG(t.exit.status) == SIGKILL, "is killed by END");
	clock_gettime(CLOCK_MONOTONIC, &after);
	ok(after.tv_sec - before.tv_sec < 3, "at once");
	tell_one(&t, FRAME_END, NULL, 0);
	ok(process_wait(t.init, &status) == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0, "and init goes, too");
	finish(&t);
	ok(start(&t, new_job("trap 'exit 5' TERM; while :; do sleep 0.05; done")) && hear(&t, 's', 5000),
	   "one that listens");
	usleep(100000);
	tell_one(&t, FRAME_SIGNAL, "\x0f", 1);
	ok(hear(&t, 'x', 5000) && WEXITSTATUS(t.exit.status) == 5, "hears a signal");
	finish(&t);
	ok(start(&t, new_job("sleep 100")) && hear(&t, 's', 5000), "one whose keeper goes");
	(void)shutdown(t.sock, SHUT_RDWR);
	ok(process_wait(t.init, &status) == 0, "ends with it");
	finish(&t);
}

/* A keeper that does not read: END is heard all the same. */
static void test_full(void)
{
	struct pollfd p;
	struct talk t;

	ok(start(&t, new_job("cat /dev/zero")), "one that writes without end");
	usleep(300000);
	tell_one(&t, FRAME_END, NULL, 0);
	ok(hear(&t, 'x', 5000), "ends although nobody read");
	ok(t.out.len < 4 << 20, "and what waited was bounded (%zu bytes)", t.out.len);
	tell_one(&t, FRAME_END, NULL, 0);
	p = (struct pollfd){ .fd = t.init, .events = POLLIN };
	ok(poll(&p, 1, 3000) == 1, "init is gone");
	finish(&t);
}

static void test_files(void)
{
	char dir[] = "/tmp/cordon-inner-XXXXXX";
	auto_free char *in = NULL, *line = NULL, *given = NULL, *missing = NULL;
	struct frame_entry e = { .mode = S_IFDIR | 0755 };
	struct stream_job job;
	struct str s = { 0 };
	struct talk t;

	if (!mkdtemp(dir))
		abort();
	in = str_printf("%s/deep/tree", dir);
	missing = str_printf("%s/none", dir);
	line = str_printf("cd %s && cat file && readlink link && stat -c %%a file && chmod 0 file && rm link", in);
	given = str_printf("rwx %s", dir);
	job = new_job(line);
	(void)strv_add(&job.grants, given);
	(void)strv_add(&job.ins, in);
	(void)strv_add(&job.outs, in);
	(void)strv_add(&job.outs, missing);
	ok(begin(&t), "init");
	put_job(&s, &job);
	frame_put_entry(&s, &e);
	e = (struct frame_entry){ .depth = 1, .mode = S_IFREG | 0640, .name = "file" };
	frame_put_entry(&s, &e);
	frame_put(&s, FRAME_DATA, "contents\n", 9);
	e = (struct frame_entry){ .depth = 1, .mode = S_IFLNK | 0777, .name = "link" };
	frame_put_entry(&s, &e);
	frame_put(&s, FRAME_DATA, "/etc", 4);
	frame_put(&s, FRAME_START, NULL, 0);
	tell(&t, &s);
	ok(hear(&t, 'x', 5000), "a payload with files");
	is_str(t.out.data, "contents\n/etc\n640\n", "has them as they were sent");
	str_done(&t.out);
	tell_one(&t, FRAME_COLLECT, NULL, 0);
	ok(hear(&t, 'c', 5000), "and they are handed out");
	is_str(t.out.data, "[0  40755][1 file 100000]contents\n", "also what the payload shut");
	ok(t.error.code == CORDON_NOT_FOUND && strcmp(t.error.step, "copy out") == 0, "what is not there is told");
	finish(&t);
	free(line);
	line = str_printf("rm -rf %s", dir);
	ok(system(line) == 0, "removed");
}

static void forget(struct talk *t)
{
	str_done(&t->out);
	str_done(&t->said);
	t->error = (struct cordon_error){ 0 };
}

/* One more job for the same init. */
static bool again(struct talk *t, struct stream_job job)
{
	struct str s = { 0 };

	forget(t);
	put_job(&s, &job);
	frame_put(&s, FRAME_START, NULL, 0);
	tell(t, &s);
	return hear(t, 'x', 5000);
}

static void test_living(void)
{
	char file[] = "/tmp/cordon-inner-XXXXXX";
	auto_free char *write = NULL, *read = NULL;
	struct frame_entry e = { .mode = S_IFREG | 0600 };
	struct stream_job job;
	struct str s = { 0 };
	struct talk t;

	(void)close(mkstemp(file));
	write = str_printf("echo kept >%s; sleep 1000 & echo first", file);
	read = str_printf("cat %s; ps -eo comm= | grep -c sleep", file);
	job = new_job(write);
	(void)strv_add(&job.grants, "rwx /tmp");
	ok(start(&t, job) && hear(&t, 'x', 5000), "a job");
	is_str(t.out.data, "first\n", "says something");
	ok(again(&t, new_job(read)), "the next one in the same container");
	is_str(t.out.data, "kept\n0\n", "finds what the first wrote, and nothing that it left running");
	ok(again(&t, new_job("exec no-such-program")) && t.exit.status != 0, "one that fails");
	job = new_job("true");
	strv_done(&job.argv);
	(void)strv_add(&job.ins, file);
	forget(&t);
	put_job(&s, &job);
	frame_put_entry(&s, &e);
	frame_put(&s, FRAME_DATA, "put\n", 4);
	frame_put(&s, FRAME_START, NULL, 0);
	tell(&t, &s);
	ok(hear(&t, 'x', 5000) && !t.out.data && t.error.code == CORDON_OK,
	   "a job without a command only carries files");
	ok(again(&t, new_job(read)), "and another");
	is_str(t.out.data, "put\n0\n", "which finds the new file in the place of the old");
	job = new_job("echo never");
	(void)strv_add(&job.ins, "/proc/none/file");
	put_job(&s, &job);
	forget(&t);
	frame_put_entry(&s, &e);
	frame_put(&s, FRAME_DATA, "lost", 4);
	frame_put(&s, FRAME_START, NULL, 0);
	tell(&t, &s);
	ok(hear(&t, 'x', 5000) && t.error.code != CORDON_OK && !t.out.data, "one that cannot be prepared is not run");
	ok(again(&t, new_job("echo on")) && t.out.data, "and init goes on");
	is_str(t.out.data, "on\n", "with the next");
	forget(&t);
	tell_one(&t, FRAME_END, NULL, 0);
	ok(!hear(&t, 'x', 3000) && t.gone, "until it is told to go");
	finish(&t);
	(void)unlink(file);
}

static void test_hostile(void)
{
	struct frame_entry e = { .index = 9, .mode = S_IFREG | 0644 };
	struct stream_job job = new_job("true");
	struct str s = { 0 };
	struct talk t;

	ok(begin(&t), "init");
	put_job(&s, &job);
	frame_put_entry(&s, &e);
	tell(&t, &s);
	ok(!hear(&t, 'x', 5000) && t.gone && t.error.code != CORDON_OK, "a file for a place that is not is refused");
	finish(&t);
	ok(begin(&t), "init");
	(void)!write(t.sock, "\xff\xff\xff\xff\xff\xff", 6);
	ok(!hear(&t, 'x', 5000) && t.gone && t.error.code != CORDON_OK, "bytes that are no frame end it");
	finish(&t);
}

/* In an image's container. This host's /tmp and /dev are as they are. */
static struct stream_job new_image_job(const char *line)
{
	struct stream_job job = new_job(line);

	job.flags |= STREAM_IMAGE_ENV;
	strv_done(&job.disks);
	free(job.grants.v[2]);
	job.grants.v[2] = strdup("rwd /dev/null");
	return job;
}

/* The right file in the wrong way: /usr/bin is no mount, and /dev one that can be written to. */
static void test_how(void)
{
	static const struct {
		const char *path;
		char how;
		bool good;
	} rows[] = { { "/dev", 'm', true }, { "/usr/bin", 'm', false }, { "/dev", 'r', false } };
	struct talk t;
	struct stat st;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct stream_job job = new_job("echo there");

		if (stat(rows[i].path, &st) < 0)
			abort();
		(void)strv_add_take(&job.checks, str_printf("%llu %llu %c %s", (unsigned long long)st.st_dev,
							    (unsigned long long)st.st_ino, rows[i].how, rows[i].path));
		ok(start(&t, job) && hear(&t, 'x', 5000) &&
			   (rows[i].good ? !!t.out.data : t.error.code == CORDON_DENIED),
		   "%s, '%c': %s", rows[i].path, rows[i].how, t.error.message);
		finish(&t);
	}
}

static void test_image(void)
{
	struct stream_job job = new_job("echo $PATH $LANG $IMAGE $HOME");
	struct talk t;
	struct stat st;

	ok(start(&t, job) && hear(&t, 'x', 5000), "variables");
	is_str(t.out.data, "/usr/bin:/bin\n", "of whoever started init are not the payload's");
	finish(&t);
	job = new_image_job("echo $PATH $LANG $IMAGE $HOME");
	free(job.env.v[0]);
	job.env.v[0] = strdup("HOME=/home/agent");
	ok(start(&t, job) && hear(&t, 'x', 5000), "an image's");
	is_str(t.out.data, "/nowhere/of/the/image:/usr/bin:/bin image its own /home/agent\n", "lie under its own");
	finish(&t);
	job = new_image_job("echo there");
	(void)strv_add(&job.disks, "/proc");
	ok(start(&t, job) && hear(&t, 'x', 5000) && t.error.code == CORDON_DENIED && !t.out.data,
	   "a private directory that is no memory is refused");
	finish(&t);
	if (stat("/usr", &st) < 0)
		abort();
	job = new_job("echo there");
	(void)strv_add_take(&job.checks, str_printf("%llu %llu p /usr", (unsigned long long)st.st_dev,
						    (unsigned long long)st.st_ino));
	ok(start(&t, job) && hear(&t, 'x', 5000) && t.out.data, "what lies where it must");
	finish(&t);
	job = new_job("echo there");
	(void)strv_add_take(&job.checks, str_printf("%llu %llu p /etc", (unsigned long long)st.st_dev,
						    (unsigned long long)st.st_ino));
	ok(start(&t, job) && hear(&t, 'x', 5000) && t.error.code == CORDON_DENIED, "something else is refused");
	ok(!t.out.data, "and nothing is run");
	finish(&t);
	test_how();
}

/* Outside of a pid namespace it would kill everybody. */
static void test_place(void)
{
	char *const argv[] = { program, NULL }, *const env[] = { NULL };
	struct talk t = { .init = -1 };
	int pair[2], status;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		abort();
	pid = fork();
	if (pid == 0) {
		(void)dup2(pair[1], 0);
		(void)dup2(pair[1], 1);
		execve(program, argv, env);
		_exit(121);
	}
	(void)close(pair[1]);
	t.sock = pair[0];
	ok(!hear(&t, 'x', 5000) && t.error.code != CORDON_OK, "anywhere but as pid 1 it refuses: %s", t.error.message);
	ok(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 1, "and goes");
	finish(&t);
}

int main(void)
{
	struct talk t;

	(void)signal(SIGPIPE, SIG_IGN);
	find_program();
	test_place();
	if (!begin(&t)) {
		skip("no user namespaces here: cordon-init has no place to run");
		return done_testing();
	}
	finish(&t);
	test_run();
	test_rights();
	test_landlock();
	test_denial();
	test_missing();
	test_input();
	test_end();
	test_full();
	test_files();
	test_living();
	test_hostile();
	test_image();
	return done_testing();
}
