/* The D-Bus conversation against a made-up manager that checks every byte, and against a real dbus-daemon
 * where there is one. */
#include "tap.h"

#include "base/fd.h"
#include "os/scope.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/* Written by an independent encoder: Hello, and StartTransientUnit of "cordon-test.scope" for pid 4242. */
static const char hello_hex[] =
	"6c01000100000000010000006e00000001016f00150000002f6f72672f667265656465736b746f702f44427573000000"
	"06017300140000006f72672e667265656465736b746f702e444275730000000002017300140000006f72672e66726565"
	"6465736b746f702e4442757300000000030173000500000048656c6c6f000000";
static const char start_hex[] =
	"6c010001b800000002000000b600000001016f00190000002f6f72672f667265656465736b746f702f73797374656d64"
	"310000000000000006017300180000006f72672e667265656465736b746f702e73797374656d64310000000000000000"
	"02017300200000006f72672e667265656465736b746f702e73797374656d64312e4d616e616765720000000000000000"
	"030173001200000053746172745472616e7369656e74556e697400000000000008016700107373612873762961287361"
	"287376292900000011000000636f72646f6e2d746573742e73636f7065000000040000006661696c0000000088000000"
	"0b0000004465736372697074696f6e00017300000e000000636f72646f6e2073616e64626f7800000b000000436f6c6c"
	"6563744d6f6465000173000012000000696e6163746976652d6f722d6661696c65640000000000000800000044656c65"
	"676174650001620001000000000000000400000050494473000261750000000004000000921000000000000000000000";

static char dir[] = "/tmp/cordon-scope-test-XXXXXX";

enum answer { ACCEPT, REFUSE_AUTH, UNIT_EXISTS, CUT_OFF, GARBAGE, HUGE_FIELDS, SILENCE, NOISE_FIRST, SHORT_FIELD };

static size_t from_hex(const char *hex, unsigned char *out)
{
	size_t n = strlen(hex) / 2;

	for (size_t i = 0; i < n; i++) {
		char pair[3] = { hex[2 * i], hex[2 * i + 1], 0 };

		out[i] = (unsigned char)strtoul(pair, NULL, 16);
	}
	return n;
}

static bool expect(int fd, const void *want, size_t len)
{
	unsigned char got[2048];

	return fd_read_full(fd, got, len) == (ssize_t)len && memcmp(got, want, len) == 0;
}

static bool expect_hex(int fd, const char *hex)
{
	unsigned char want[2048];
	size_t n = from_hex(hex, want);

	return expect(fd, want, n);
}

/* A header with REPLY_SERIAL and optionally ERROR_NAME, without a body. */
static void send_reply(int fd, char type, uint32_t serial, const char *error)
{
	unsigned char m[256] = { 'l', (unsigned char)type, 0, 1 };
	size_t at = 16;
	uint32_t len;

	m[8] = 9;
	memcpy(m + at, "\x05\x01u\x00", 4);
	memcpy(m + at + 4, &serial, 4);
	at += 8;
	if (error) {
		len = (uint32_t)strlen(error);
		memcpy(m + at, "\x04\x01s\x00", 4);
		memcpy(m + at + 4, &len, 4);
		memcpy(m + at + 8, error, len + 1);
		at += 8 + len + 1;
	}
	/* A signature of one letter is the shortest field there is: 7 bytes. */
	at = (at + 7) & ~(size_t)7;
	memcpy(m + at, "\x08\x01g\x00\x01o\x00", 7);
	at += 7;
	len = (uint32_t)(at - 16);
	memcpy(m + 12, &len, 4);
	fd_write_all(fd, m, (at + 7) & ~(size_t)7);
}

static void answer(int fd, enum answer how)
{
	switch (how) {
	case NOISE_FIRST:
		send_reply(fd, 2, 1, NULL);
		send_reply(fd, 4, 0, NULL);
		send_reply(fd, 3, 1, "org.example.NotYours");
		send_reply(fd, 2, 2, NULL);
		break;
	case ACCEPT:
		send_reply(fd, 2, 2, NULL);
		break;
	case UNIT_EXISTS:
		send_reply(fd, 3, 2, "org.freedesktop.systemd1.UnitExists");
		break;
	case GARBAGE:
		fd_write_all(fd, "HTTP/1.1 400 Bad Request\r\n\r\n", 28);
		break;
	case HUGE_FIELDS:
		fd_write_all(fd, "l\2\0\1\0\0\0\0\1\0\0\0\xff\xff\xff\xff", 16);
		break;
	case SHORT_FIELD:
		fd_write_all(fd, "l\2\0\1\0\0\0\0\1\0\0\0\x8\0\0\0\5\1s\0\xff\0\0\0", 24);
		break;
	case SILENCE:
		sleep(5);
		break;
	case REFUSE_AUTH:
	case CUT_OFF:
		break;
	}
}

/* Serves one conversation in a child; its exit status is 0 when every byte was as expected. */
static pid_t serve(const char *path, enum answer how, bool direct)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	char auth[64], *p = auth + 1;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), peer;
	pid_t pid;

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	unlink(path);
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, 4) < 0)
		perror(path);
	pid = fork();
	if (pid) {
		close(fd);
		return pid;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	peer = accept(fd, NULL, NULL);
	snprintf(auth, sizeof(auth), "%cAUTH EXTERNAL ", '\0');
	p = auth + 1 + strlen(auth + 1);
	{
		char number[16];

		snprintf(number, sizeof(number), "%u", (unsigned)geteuid());
		for (char *d = number; *d; d++)
			p += snprintf(p, 3, "%02x", (unsigned)*d);
	}
	memcpy(p, "\r\n", 2);
	if (!expect(peer, auth, (size_t)(p + 2 - auth)))
		_exit(1);
	if (how == REFUSE_AUTH) {
		fd_write_all(peer, "REJECTED EXTERNAL\r\n", 19);
		_exit(0);
	}
	fd_write_all(peer, "OK 0123456789abcdef0123456789abcdef\r\n", 37);
	if (!expect(peer, "BEGIN\r\n", 7))
		_exit(2);
	if (!direct && !expect_hex(peer, hello_hex))
		_exit(3);
	if (!expect_hex(peer, start_hex))
		_exit(4);
	answer(peer, how);
	_exit(0);
}

static void test_call(enum answer how, bool direct, int want, const char *what)
{
	char path[64];
	int status = -1, r;
	pid_t pid;

	snprintf(path, sizeof(path), "%s/socket", dir);
	pid = serve(path, how, direct);
	r = scope_call(path, direct, "cordon-test.scope", 4242, how == SILENCE ? 50 : 2000);
	ok(r == want, "%s: %d", what, r);
	if (how == SILENCE)
		kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	ok(how == SILENCE || (WIFEXITED(status) && WEXITSTATUS(status) == 0),
	   "and the manager read what it should (%d)", status);
}

static void test_places(void)
{
	char path[80];
	int status;
	pid_t pid;

	setenv("XDG_RUNTIME_DIR", dir, 1);
	unsetenv("DBUS_SESSION_BUS_ADDRESS");
	ok(!scope_has_bus(), "an empty runtime directory has no manager");
	is_num(scope_request("cordon-test", 4242, 100), -ENOENT, "and nobody to ask");
	snprintf(path, sizeof(path), "unix:path=%s/session,guid=00", dir);
	setenv("DBUS_SESSION_BUS_ADDRESS", path, 1);
	snprintf(path, sizeof(path), "%s/session", dir);
	pid = serve(path, ACCEPT, false);
	ok(scope_has_bus(), "the session bus counts");
	is_num(scope_request("cordon-test", 4242, 100), -ETIMEDOUT, "a scope that never holds the process times out");
	waitpid(pid, &status, 0);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, "it was asked for all the same");
	unlink(path);
	snprintf(path, sizeof(path), "%s/bus", dir);
	pid = serve(path, UNIT_EXISTS, false);
	is_num(scope_request("cordon-test", 4242, 1000), -EEXIST, "the runtime directory's bus comes first");
	waitpid(pid, &status, 0);
	unlink(path);
}

/* A real daemon takes the messages apart more strictly than we could; no systemd answers behind it. */
static void test_daemon(void)
{
	char path[80], config[80], option[100], line[256] = "";
	int pipe_fds[2];
	FILE *file;
	pid_t pid;

	if (access("/usr/bin/dbus-daemon", X_OK) < 0 || pipe(pipe_fds) < 0) {
		skip("no dbus-daemon here");
		return;
	}
	snprintf(path, sizeof(path), "%s/real", dir);
	snprintf(config, sizeof(config), "%s/real.conf", dir);
	snprintf(option, sizeof(option), "--config-file=%s", config);
	file = fopen(config, "we");
	fprintf(file,
		"<busconfig><type>session</type><listen>unix:path=%s</listen><auth>EXTERNAL</auth>"
		"<policy context='default'><allow send_destination='*'/><allow "
		"receive_sender='*'/></policy></busconfig>\n",
		path);
	fclose(file);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(pipe_fds[1], 1);
		dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), 2);
		execl("/usr/bin/dbus-daemon", "dbus-daemon", "--nofork", "--print-address=1", option, NULL);
		_exit(127);
	}
	close(pipe_fds[1]);
	if (read(pipe_fds[0], line, sizeof(line) - 1) <= 0)
		skip("dbus-daemon does not start here");
	else
		is_num(scope_call(path, false, "cordon-test.scope", 4242, 2000), -ENXIO,
		       "a real bus understands it and knows no systemd");
	close(pipe_fds[0]);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

int main(void)
{
	char command[80];

	if (!mkdtemp(dir))
		return 1;
	test_call(ACCEPT, false, 0, "over a bus");
	test_call(ACCEPT, true, 0, "over the manager's own socket");
	test_call(NOISE_FIRST, false, 0, "signals and other replies are passed over");
	test_call(REFUSE_AUTH, false, -EACCES, "authentication refused");
	test_call(UNIT_EXISTS, false, -EEXIST, "an error by its name");
	test_call(CUT_OFF, false, -ECONNRESET, "a manager that hangs up");
	test_call(GARBAGE, false, -EPROTO, "something that is not D-Bus");
	test_call(HUGE_FIELDS, false, -EPROTO, "a header of 4 GB");
	test_call(SHORT_FIELD, false, -EPROTO, "a field that leaves its frame");
	test_call(SILENCE, false, -ETIMEDOUT, "a manager that says nothing");
	ok(scope_call("/nonexistent", false, "x", 1, 100) == -ENOENT, "no socket");
	test_places();
	test_daemon();
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command) || done_testing();
}
