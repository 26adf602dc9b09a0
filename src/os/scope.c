/*
 * A transient scope from systemd's user manager. The conversation, little enough to speak it here:
 *
 *	> \0AUTH EXTERNAL <uid in hex>       the socket's credentials prove it
 *	< OK <guid>
 *	> BEGIN, Hello(), StartTransientUnit("cordon-….scope", "fail", [PIDs, Delegate …], [])
 *	< the reply to it, among others
 *
 * after which the manager moves the process, and /proc/PID/cgroup tells when that is done. The manager's
 * own socket is asked first (no bus in between, no Hello), then the user's bus. Replies are read with
 * bounds: what answers runs as the same user, so it is trusted no less than we are, but it may be broken.
 *
 * Runs in the keeper, with the user's rights. Blocks for at most the given time.
 */
#include "os/scope.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { WIRE_MAX = 2048, HEADER_FIXED = 16, SERIAL_HELLO = 1, SERIAL_START = 2, PLACES = 3 };
enum message_type { METHOD_CALL = 1, METHOD_RETURN = 2, METHOD_ERROR = 3 };
enum header_field {
	FIELD_PATH = 1,
	FIELD_INTERFACE,
	FIELD_MEMBER,
	FIELD_ERROR,
	FIELD_REPLY,
	FIELD_DESTINATION,
	FIELD_SENDER,
	FIELD_SIGNATURE
};

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
static const char own_endian = 'l';
#else
static const char own_endian = 'B';
#endif

/* A message in the making. Positions count from its first byte, which is what alignment goes by. */
struct wire {
	unsigned char data[WIRE_MAX];
	size_t len;
	bool overflow;
};

static void put_bytes(struct wire *w, const void *data, size_t len)
{
	if (len > sizeof(w->data) - w->len) {
		w->overflow = true;
		return;
	}
	memcpy(w->data + w->len, data, len);
	w->len += len;
}

static void put_align(struct wire *w, size_t to)
{
	static const char zeros[8];

	put_bytes(w, zeros, (to - w->len % to) % to);
}

static void put_u32(struct wire *w, uint32_t value)
{
	put_align(w, 4);
	put_bytes(w, &value, sizeof(value));
}

static void put_string(struct wire *w, const char *s)
{
	size_t len = strlen(s);

	put_u32(w, (uint32_t)len);
	put_bytes(w, s, len + 1);
}

static void put_signature(struct wire *w, const char *s)
{
	unsigned char len = (unsigned char)strlen(s);

	put_bytes(w, &len, 1);
	put_bytes(w, s, (size_t)len + 1);
}

/* A length that is known only afterwards: where it stands, and where what it counts begins. */
struct span {
	size_t at, start;
};

static struct span span_open(struct wire *w, size_t element_align)
{
	struct span s;

	put_u32(w, 0);
	s.at = w->len - 4;
	put_align(w, element_align); /* not counted, even when no element follows */
	s.start = w->len;
	return s;
}

static void span_close(struct wire *w, struct span s)
{
	uint32_t len = (uint32_t)(w->len - s.start);

	if (!w->overflow)
		memcpy(w->data + s.at, &len, sizeof(len));
}

static void put_field(struct wire *w, enum header_field code, const char *type, const char *value)
{
	unsigned char byte = (unsigned char)code;

	put_align(w, 8);
	put_bytes(w, &byte, 1);
	put_signature(w, type);
	if (*type == 'g')
		put_signature(w, value);
	else
		put_string(w, value);
}

/* Everything up to the body; the body's length is filled in by end_call(). */
static void begin_call(struct wire *w, uint32_t serial, const char *where[4], const char *signature)
{
	const char head[] = { own_endian, METHOD_CALL, 0, 1 };
	struct span fields;

	*w = (struct wire){ .len = 0 };
	put_bytes(w, head, sizeof(head));
	put_u32(w, 0);
	put_u32(w, serial);
	fields = span_open(w, 8);
	put_field(w, FIELD_PATH, "o", where[0]);
	put_field(w, FIELD_DESTINATION, "s", where[1]);
	put_field(w, FIELD_INTERFACE, "s", where[2]);
	put_field(w, FIELD_MEMBER, "s", where[3]);
	if (signature)
		put_field(w, FIELD_SIGNATURE, "g", signature);
	span_close(w, fields);
	put_align(w, 8);
}

static void end_call(struct wire *w, size_t body_start)
{
	uint32_t len = (uint32_t)(w->len - body_start);

	memcpy(w->data + 4, &len, sizeof(len));
}

static void write_hello(struct wire *w)
{
	const char *where[] = { "/org/freedesktop/DBus", "org.freedesktop.DBus", "org.freedesktop.DBus", "Hello" };

	begin_call(w, SERIAL_HELLO, where, NULL);
}

static void put_text_property(struct wire *w, const char *name, const char *value)
{
	put_align(w, 8);
	put_string(w, name);
	put_signature(w, "s");
	put_string(w, value);
}

static void write_start(struct wire *w, const char *unit, pid_t pid)
{
	const char *where[] = { "/org/freedesktop/systemd1", "org.freedesktop.systemd1",
				"org.freedesktop.systemd1.Manager", "StartTransientUnit" };
	struct span properties, pids;
	size_t body;

	begin_call(w, SERIAL_START, where, "ssa(sv)a(sa(sv))");
	body = w->len;
	put_string(w, unit);
	put_string(w, "fail");
	properties = span_open(w, 8);
	put_text_property(w, "Description", "cordon sandbox");
	put_text_property(w, "CollectMode", "inactive-or-failed");
	put_align(w, 8);
	put_string(w, "Delegate");
	put_signature(w, "b");
	put_u32(w, 1);
	put_align(w, 8);
	put_string(w, "PIDs");
	put_signature(w, "au");
	pids = span_open(w, 4);
	put_u32(w, (uint32_t)pid);
	span_close(w, pids);
	span_close(w, properties);
	span_close(w, span_open(w, 8)); /* no auxiliary units */
	end_call(w, body);
}

static int left_ms(uint64_t deadline_us)
{
	uint64_t now = clock_us();

	return now >= deadline_us ? 0 : (int)((deadline_us - now + 999) / 1000);
}

/* Not fd_write_all(): a peer that went away must not raise SIGPIPE in whoever uses the library. */
static int send_all(int fd, const void *data, size_t len)
{
	ssize_t n;

	do
		n = send(fd, data, len, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -EIO; /* far less than a socket's buffer: all or nothing */
}

static int read_exactly(int fd, void *data, size_t len, uint64_t deadline_us)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	size_t got = 0;

	while (got < len) {
		ssize_t n = read(fd, (char *)data + got, len - got);

		if (n == 0)
			return -ECONNRESET;
		if (n > 0)
			got += (size_t)n;
		else if (errno != EAGAIN && errno != EINTR)
			return -errno;
		else if (poll(&p, 1, left_ms(deadline_us)) == 0)
			return -ETIMEDOUT;
	}
	return 0;
}

/* What a received header says, as far as we care. */
struct reply {
	unsigned char type;
	uint32_t serial; /* of the call that it answers */
	char error[96];
};

static uint32_t get_u32(const unsigned char *p)
{
	uint32_t value;

	memcpy(&value, p, sizeof(value));
	return value;
}

/* One field at *at; false where it does not fit its frame or is of a type that headers do not hold. */
static bool get_field(const unsigned char *data, size_t len, size_t *at, struct reply *reply)
{
	size_t p = (*at + 7) & ~(size_t)7, size;
	unsigned char code, type;

	if (p > len || len - p < 6 || data[p + 1] != 1)
		return false;
	code = data[p];
	type = data[p + 2];
	if (type != 'g' && len - p < 8)
		return false;
	p += 4; /* which is where 4-byte values lie as well */
	size = type == 'g' ? data[p] : get_u32(data + p);
	if (type == 'u') {
		if (code == FIELD_REPLY)
			reply->serial = (uint32_t)size;
		*at = p + 4;
		return true;
	}
	p += type == 'g' ? 1 : 4;
	if ((type != 's' && type != 'o' && type != 'g') || size >= len - p)
		return false;
	if (code == FIELD_ERROR)
		snprintf(reply->error, sizeof(reply->error), "%.*s", (int)size, (const char *)data + p);
	*at = p + size + 1;
	return true;
}

static int read_message(int fd, struct reply *ret_reply, uint64_t deadline_us)
{
	unsigned char data[8192];
	size_t fields, total, at = HEADER_FIXED;
	int r = read_exactly(fd, data, HEADER_FIXED, deadline_us);

	if (r < 0)
		return r;
	if (data[0] != (unsigned char)own_endian || data[3] != 1)
		return -EPROTO;
	fields = get_u32(data + 12);
	if (fields > sizeof(data) || get_u32(data + 4) > sizeof(data))
		return -EPROTO;
	total = ((HEADER_FIXED + fields + 7) & ~(size_t)7) + get_u32(data + 4);
	if (total > sizeof(data))
		return -EPROTO;
	r = read_exactly(fd, data + HEADER_FIXED, total - HEADER_FIXED, deadline_us);
	if (r < 0)
		return r;
	*ret_reply = (struct reply){ .type = data[1] };
	while (at < HEADER_FIXED + fields)
		if (!get_field(data, HEADER_FIXED + fields, &at, ret_reply))
			return -EPROTO;
	return 0;
}

static int error_number(const char *name)
{
	static const struct {
		const char *name;
		int errnum;
	} known[] = {
		{ "org.freedesktop.systemd1.UnitExists", EEXIST },
		{ "org.freedesktop.DBus.Error.AccessDenied", EACCES },
		{ "org.freedesktop.DBus.Error.InteractiveAuthorizationRequired", EACCES },
		{ "org.freedesktop.DBus.Error.ServiceUnknown", ENXIO },
		{ "org.freedesktop.DBus.Error.NameHasNoOwner", ENXIO },
		{ "org.freedesktop.DBus.Error.NoReply", ETIMEDOUT },
	};

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (strcmp(name, known[i].name) == 0)
			return -known[i].errnum;
	return -EREMOTEIO;
}

static int await_reply(int fd, uint64_t deadline_us)
{
	struct reply reply;

	for (;;) {
		int r = read_message(fd, &reply, deadline_us);

		if (r < 0)
			return r;
		if (reply.serial != SERIAL_START)
			continue;
		if (reply.type == METHOD_RETURN)
			return 0;
		if (reply.type == METHOD_ERROR)
			return error_number(reply.error);
	}
}

/* The user's number, each digit as two hexadecimal digits: "1000" is "31303030". */
static int authenticate(int fd, uint64_t deadline_us)
{
	char number[16], text[64], line[128], c;
	size_t len = 0;
	int r;

	snprintf(number, sizeof(number), "%u", (unsigned)geteuid());
	len = (size_t)snprintf(text, sizeof(text), "%cAUTH EXTERNAL ", '\0');
	for (const char *p = number; *p; p++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%02x", (unsigned)*p);
	len += (size_t)snprintf(text + len, sizeof(text) - len, "\r\n");
	r = send_all(fd, text, len);
	for (len = 0; r == 0 && len < sizeof(line) - 1;) {
		r = read_exactly(fd, &c, 1, deadline_us);
		line[len++] = c;
		if (c == '\n')
			break;
	}
	if (r < 0)
		return r;
	line[len] = '\0';
	return str_starts(line, "OK ") ? send_all(fd, "BEGIN\r\n", 7) : -EACCES;
}

static int connect_to(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	auto_close int fd = -1;

	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	memcpy(address.sun_path, path, strlen(path) + 1);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return -errno;
	return STEAL_FD(fd);
}

int scope_call(const char *path, bool direct, const char *unit, pid_t pid, int timeout_ms)
{
	uint64_t deadline_us = clock_us() + (uint64_t)timeout_ms * 1000;
	auto_close int fd = connect_to(path);
	struct wire w;
	int r;

	if (fd < 0)
		return fd;
	r = authenticate(fd, deadline_us);
	if (r == 0 && !direct) {
		write_hello(&w);
		r = send_all(fd, w.data, w.len);
	}
	if (r < 0)
		return r;
	write_start(&w, unit, pid);
	if (w.overflow)
		return -ENAMETOOLONG;
	r = send_all(fd, w.data, w.len);
	return r < 0 ? r : await_reply(fd, deadline_us);
}

/* Where to ask, best first; a socket that is not ours is not asked. */
static bool place(int which, char *buf, size_t size)
{
	const char *dir = getenv("XDG_RUNTIME_DIR"), *address = getenv("DBUS_SESSION_BUS_ADDRESS");
	const char *prefix = "unix:path=";
	char fallback[64];
	struct stat st;
	int n;

	snprintf(fallback, sizeof(fallback), "/run/user/%u", (unsigned)geteuid());
	if (which < PLACES - 1)
		n = snprintf(buf, size, "%s/%s", dir && *dir == '/' ? dir : fallback,
			     which ? "bus" : "systemd/private");
	else if (address && str_starts(address, prefix))
		n = snprintf(buf, size, "%.*s", (int)strcspn(address + strlen(prefix), ",;"), address + strlen(prefix));
	else
		return false;
	return n > 0 && (size_t)n < size && stat(buf, &st) == 0 && S_ISSOCK(st.st_mode) && st.st_uid == geteuid();
}

bool scope_has_bus(void)
{
	char path[128];

	for (int i = 0; i < PLACES; i++)
		if (place(i, path, sizeof(path)))
			return true;
	return false;
}

static bool is_in(pid_t pid, const char *unit)
{
	char path[64], text[4096], *p = text;
	size_t len = strlen(unit);

	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	if (fd_read_file_at(AT_FDCWD, path, text, sizeof(text)) < 0)
		return false;
	while ((p = strstr(p, unit))) {
		if (p > text && p[-1] == '/' && (p[len] == '\n' || p[len] == '/' || !p[len]))
			return true;
		p += len;
	}
	return false;
}

int scope_request(const char *name, pid_t pid, int timeout_ms)
{
	uint64_t deadline_us = clock_us() + (uint64_t)timeout_ms * 1000;
	struct timespec pause = { .tv_nsec = 100000 };
	char path[128], unit[128];
	int r = -ENOENT;

	snprintf(unit, sizeof(unit), "%s.scope", name);
	for (int i = 0; i < PLACES && r < 0 && r != -EEXIST && left_ms(deadline_us); i++)
		if (place(i, path, sizeof(path)))
			r = scope_call(path, i == 0, unit, pid, left_ms(deadline_us));
	while (r == 0 && !is_in(pid, unit)) {
		if (!left_ms(deadline_us))
			return -ETIMEDOUT;
		nanosleep(&pause, NULL);
		if (pause.tv_nsec < 5000000)
			pause.tv_nsec *= 2;
	}
	return r;
}
