/*
 * effective(policy, request) is never wider than the policy: over many generated pairs, against a slow reference that
 * knows nothing of how narrowing works. The reference walks a small real tree and compares what could be read and written,
 * by inode; which mount each probed path of the box shows; and every other value by what it means. That the reference can
 * say no is tested as well: a policy is widened by hand in every way, and must then be found wider.
 */
#include "network_reference.h"

#include <dirent.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAIRS = 6000, INODES_MAX = 256 };

static char top[] = "/tmp/cordon-unit-XXXXXX";
static uint64_t seed = 0x9e3779b97f4a7c15ULL;

static unsigned pick(unsigned n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned)(seed >> 33) % n;
}

/* ---- the reference: files ----------------------------------------------------------------------------- */

struct inodes {
	ino_t v[INODES_MAX];
	size_t n;
};

static bool inodes_have(const struct inodes *set, ino_t ino)
{
	for (size_t i = 0; i < set->n; i++)
		if (set->v[i] == ino)
			return true;
	return false;
}

static void inodes_add(struct inodes *set, ino_t ino)
{
	if (!inodes_have(set, ino) && set->n < INODES_MAX)
		set->v[set->n++] = ino;
}

/* Everything physically below path, without what `without` holds. */
static void walk(struct inodes *set, const char *path, const struct inodes *without)
{
	struct stat st;
	struct dirent *e;
	DIR *d;

	if (lstat(path, &st) < 0 || (without && inodes_have(without, st.st_ino)))
		return;
	inodes_add(set, st.st_ino);
	if (!S_ISDIR(st.st_mode) || !(d = opendir(path)))
		return;
	while ((e = readdir(d))) {
		char below[PATH_MAX];

		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (snprintf(below, sizeof(below), "%s/%s", path, e->d_name) < (int)sizeof(below))
			walk(set, below, without);
	}
	closedir(d);
}

static bool begins(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	while (n > 1 && dir[n - 1] == '/')
		n--;
	return strncmp(path, dir, n) == 0 && (path[n] == '/' || !path[n]);
}

/* What files.protect takes away from a writable source that shows at dest (NULL: anywhere). */
static void protected_in(struct inodes *set, const struct cordon_policy *p, const char *source, const char *dest)
{
	const struct strv *list = policy_list(p, OPT_PROTECT);

	for (size_t i = 0; i < list->n; i++) {
		const char *entry = list->v[i];
		char path[PATH_MAX] = "";

		if (entry[0] != '/')
			snprintf(path, sizeof(path), "%s/%s", source, entry);
		else if (dest && begins(entry, dest))
			snprintf(path, sizeof(path), "%s/%s", source, entry + strlen(dest));
		if (path[0])
			walk(set, path, NULL);
	}
}

/* What a payload could read and write under p; with `could` also what any caller could be granted. */
static void reach(const struct cordon_policy *p, bool could, struct inodes *can_read, struct inodes *can_write)
{
	static const enum option_id mounts[] = { OPT_READ, OPT_WRITE },
				    allowed[] = { OPT_ALLOWED_READ, OPT_ALLOWED_WRITE };
	char real[PATH_MAX];

	for (int k = 0; k < 2; k++) {
		const struct strv *list = policy_list(p, mounts[k]);

		for (size_t i = 0; i + 2 <= list->n; i += 2) {
			struct inodes without = { .n = 0 };

			if (!realpath(list->v[i], real))
				continue;
			walk(can_read, real, NULL);
			protected_in(&without, p, real, list->v[i + 1]);
			if (k == 1)
				walk(can_write, real, &without);
		}
		list = policy_list(p, allowed[k]);
		for (size_t i = 0; could && i < list->n; i++) {
			struct inodes without = { .n = 0 };

			if (!realpath(list->v[i], real))
				continue;
			walk(can_read, real, NULL);
			protected_in(&without, p, real, NULL);
			if (k == 1)
				walk(can_write, real, &without);
		}
	}
}

static const char *files_wider(const struct cordon_policy *was, const struct cordon_policy *is)
{
	static struct inodes read_was, write_was, read_is, write_is;

	read_was.n = write_was.n = read_is.n = write_is.n = 0;
	reach(was, true, &read_was, &write_was);
	reach(is, true, &read_is, &write_is);
	for (size_t i = 0; i < read_is.n; i++)
		if (!inodes_have(&read_was, read_is.v[i]))
			return "a file can be read that could not";
	for (size_t i = 0; i < write_is.n; i++)
		if (!inodes_have(&write_was, write_is.v[i]))
			return "a file can be written that could not";
	return NULL;
}

/* ---- the reference: what the box shows ---------------------------------------------------------------- */

/* What a path of the box shows: "read SRC", "write SRC", "tmpfs" or "" for the root. */
static void shows(const struct cordon_policy *p, const char *path, char *buf, size_t size)
{
	static const enum option_id ids[] = { OPT_READ, OPT_WRITE, OPT_TMPFS };
	static const char *const names[] = { "read", "write", "tmpfs" };
	size_t best = 0;

	buf[0] = '\0';
	for (size_t k = 0; k < ARRAY_LEN(ids); k++) {
		const struct strv *list = policy_list(p, ids[k]);

		for (size_t i = 0; i + 2 <= list->n; i += 2) {
			const char *dest = list->v[ids[k] == OPT_TMPFS ? i : i + 1];

			if (!begins(path, dest) || strlen(dest) <= best)
				continue;
			best = strlen(dest);
			snprintf(buf, size, "%s %s", names[k], ids[k] == OPT_TMPFS ? "" : list->v[i]);
		}
	}
}

static bool same_view(const char *was, const char *is)
{
	if (strcmp(was, is) == 0)
		return true;
	return strncmp(was, "write ", 6) == 0 && strncmp(is, "read ", 5) == 0 && strcmp(was + 6, is + 5) == 0;
}

static const char *probe(const struct cordon_policy *was, const struct cordon_policy *is, const char *path)
{
	char a[PATH_MAX], b[PATH_MAX];

	shows(was, path, a, sizeof(a));
	shows(is, path, b, sizeof(b));
	return same_view(a, b) ? NULL : "a path of the policy or of the system shows something else";
}

/* Protected paths that are relative stand below every writable mount. */
static const char *protect_wider(const struct cordon_policy *was, const struct cordon_policy *is)
{
	const struct strv *protect = policy_list(was, OPT_PROTECT), *mounts = policy_list(was, OPT_WRITE);
	const char *why = NULL;
	char path[PATH_MAX];

	for (size_t i = 0; i < protect->n; i++)
		for (size_t k = 0; k + 2 <= mounts->n && !why; k += 2) {
			if (protect->v[i][0] == '/')
				continue;
			snprintf(path, sizeof(path), "%s/%s", mounts->v[k + 1], protect->v[i]);
			why = probe(was, is, path);
		}
	return why;
}

static const char *view_wider(const struct cordon_policy *was, const struct cordon_policy *is)
{
	static const char *const fixed[] = { "/usr",  "/usr/bin/python3", "/bin/sh", "/etc/passwd", "/lib/x",
					     "/proc", "/dev/null" };
	static const enum option_id ids[] = { OPT_READ, OPT_WRITE, OPT_TMPFS };
	const struct strv *protect = policy_list(was, OPT_PROTECT);
	const char *why = NULL;
	char a[PATH_MAX], b[PATH_MAX];

	for (size_t i = 0; i < ARRAY_LEN(fixed) && !why; i++)
		why = probe(was, is, fixed[i]);
	for (size_t k = 0; k < ARRAY_LEN(ids); k++) {
		const struct strv *list = policy_list(was, ids[k]);

		for (size_t i = 0; i + 2 <= list->n && !why; i += 2) {
			const char *dest = list->v[ids[k] == OPT_TMPFS ? i : i + 1];

			why = probe(was, is, dest);
			snprintf(a, sizeof(a), "%s/b", dest);
			why = why ? why : probe(was, is, a);
		}
	}
	for (size_t i = 0; i < protect->n && !why; i++) {
		if (protect->v[i][0] != '/')
			continue;
		shows(was, protect->v[i], a, sizeof(a));
		shows(is, protect->v[i], b, sizeof(b));
		if (strncmp(b, "tmpfs", 5) == 0 && strcmp(a, b) != 0)
			why = "a protected path became private and writable";
	}
	return why ? why : protect_wider(was, is);
}

/* ---- the reference: everything else ------------------------------------------------------------------- */

static bool all_in(const struct strv *some, const struct strv *all)
{
	for (size_t i = 0; i < some->n; i++) {
		bool found = false;

		for (size_t k = 0; k < all->n; k++)
			found = found || strcmp(some->v[i], all->v[k]) == 0;
		if (!found)
			return false;
	}
	return true;
}

static const char *env_wider(const struct cordon_policy *was, const struct cordon_policy *is)
{
	const struct strv *a = policy_list(was, OPT_ENV), *b = policy_list(is, OPT_ENV);

	for (size_t i = 0; i < a->n; i += 2) {
		bool kept = false;

		for (size_t k = 0; k < b->n; k += 2)
			kept = kept || (strcmp(a->v[i], b->v[k]) == 0 && strcmp(a->v[i + 1], b->v[k + 1]) == 0);
		if (!kept)
			return "a variable of the policy changed";
	}
	for (size_t k = 0; k < b->n; k += 2) {
		bool had = false;

		for (size_t i = 0; i < a->n; i += 2)
			had = had || strcmp(a->v[i], b->v[k]) == 0;
		if (!had && (strncmp(b->v[k], "LD_", 3) == 0 ||
			     (strcmp(b->v[k], "PATH") == 0 && policy_has(was, OPT_COMMANDS))))
			return "a variable that decides what runs";
	}
	return NULL;
}

static const char *lists_wider(const struct cordon_policy *was, const struct cordon_policy *is)
{
	static const enum option_id fewer[] = { OPT_DEGRADE, OPT_PASS_ENV };
	static const enum option_id more[] = { OPT_REQUIRE, OPT_PROTECT, OPT_FORBIDDEN };

	for (size_t i = 0; i < ARRAY_LEN(fewer); i++)
		if (!all_in(policy_list(is, fewer[i]), policy_list(was, fewer[i])))
			return options[fewer[i]].key;
	for (size_t i = 0; i < ARRAY_LEN(more); i++)
		if (!all_in(policy_list(was, more[i]), policy_list(is, more[i])))
			return options[more[i]].key;
	if (policy_has(was, OPT_COMMANDS) &&
	    (!policy_has(is, OPT_COMMANDS) || !all_in(policy_list(is, OPT_COMMANDS), policy_list(was, OPT_COMMANDS))))
		return "process.commands";
	if (refuse_match(was, "sudo x") && !refuse_match(is, "sudo x"))
		return "process.refuse_patterns";
	return env_wider(was, is);
}

static const char *numbers_wider(const struct cordon_policy *was, const struct cordon_policy *is)
{
	static const enum option_id at_most[] = { OPT_MEMORY,     OPT_CPUS,      OPT_CPU_TIME,   OPT_WALL_TIME,
						  OPT_GRACE,      OPT_PROCESSES, OPT_OPEN_FILES, OPT_FILE_SIZE,
						  OPT_OUTPUT,     OPT_DISK,      OPT_INODES,     OPT_DISK_READ,
						  OPT_DISK_WRITE, OPT_TMP,       OPT_SYSCALLS };

	for (size_t i = 0; i < ARRAY_LEN(at_most); i++)
		if (!policy_has(is, at_most[i]) || policy_num(is, at_most[i]) > policy_num(was, at_most[i]))
			return options[at_most[i]].key;
	if (policy_num(is, OPT_LEVEL) < policy_num(was, OPT_LEVEL) ||
	    policy_num(is, OPT_SUBUIDS) < policy_num(was, OPT_SUBUIDS))
		return "level or subuids";
	if (policy_num(is, OPT_STORAGE) != policy_num(was, OPT_STORAGE))
		return "storage";
	if (strcmp(policy_text(is, OPT_USER), policy_text(was, OPT_USER)) != 0 ||
	    strcmp(policy_text(is, OPT_ROOT), policy_text(was, OPT_ROOT)) != 0)
		return "user or root";
	return NULL;
}

/* NULL, or in what `is` allows more than `was`. */
static const char *wider(const struct cordon_policy *was, const struct cordon_policy *is)
{
	const char *why = numbers_wider(was, is);

	why = why ? why : lists_wider(was, is);
	why = why ? why : network_wider(was, is);
	why = why ? why : view_wider(was, is);
	return why ? why : files_wider(was, is);
}

/* ---- generating --------------------------------------------------------------------------------------- */

static const char *const sources[] = { "a",     "a/b",    "a/.git",   "a/.git/hooks", "a/l",
				       "a/ls",  "a/b/up", "c",        "c/d",          "c/l2",
				       "s",     "",       "c/d/../d", "none",         "a/.git/hooks/x",
				       "a/ls/k" };
static const char *const dests[] = { "/w",    "/w/x",   "/w/.git",  "/w/.git/hooks", "/w/.git/hooks/y",
				     "/v",    "/v/q/r", "/usr/bin", "/etc/z",        "/tmp/t",
				     "/home", "/data",  "/data/b" };

/* Texts for a key, most of them good. NULL-terminated. */
static const struct {
	const char *key;
	const char *texts[8];
} words[] = {
	{ "level", { "process", "container" } },
	{ "degrade", { "landlock", "cgroup", "seccomp" } },
	{ "require", { "cgroup", "landlock" } },
	{ "limits.memory", { "64M", "512M", "1G", "3M" } },
	{ "limits.cpus", { "0.5", "1.0", "2.5" } },
	{ "limits.cpu_time", { "1s", "30s", "1m" } },
	{ "limits.wall_time", { "1s", "60s", "61s" } },
	{ "limits.grace", { "0s", "1s" } },
	{ "limits.processes", { "1", "64", "65" } },
	{ "limits.open_files", { "8", "1024", "2k" } },
	{ "limits.file_size", { "1", "64M", "65M" } },
	{ "limits.output", { "1K", "1M", "2M" } },
	{ "limits.disk", { "64K", "256M", "1G" } },
	{ "limits.inodes", { "64", "20k", "21k" } },
	{ "limits.disk_read", { "4K/s", "100M/s", "1G/s" } },
	{ "limits.disk_write", { "4K/s", "50M/s", "1G/s" } },
	{ "files.tmp", { "64K", "100M", "1G" } },
	{ "files.storage", { "memory", "disk" } },
	{ "files.root", { "host", "/srv/root" } },
	{ "files.protect", { ".git/hooks", ".git/hooks/", "b", "/w/.git/hooks", "/data/b/", "/v" } },
	{ "files.forbidden", { "/x", "/y" } },
	{ "network.mode", { "none", "allow", "open" } },
	{ "network.allow", { "api.example.com", "*.example.com:443", "*", "other.org:22/tcp", "api.example.com:80" } },
	{ "network.allow_cidr", { "10.1.0.0/16:22", "1.0.0.0/8:443/tls" } },
	{ "network.private", { "deny", "allow" } },
	{ "network.read_only", { "true", "false" } },
	{ "network.connections", { "1", "10", "11" } },
	{ "network.idle_timeout", { "1s", "5m", "6m" } },
	{ "network.download", { "1M/s", "2M/s" } },
	{ "network.upload_total", { "1M", "2M" } },
	{ "network.upstream_proxy", { "none", "http://p.example:80" } },
	{ "secrets", { "K=env:K@api.example.com", "K=env:OTHER@other.org" } },
	{ "process.user", { "agent", "bob" } },
	{ "process.subuids", { "true", "false" } },
	{ "process.commands", { "ls", "cat", "/bin/ls", "python3" } },
	{ "process.env", { "A=1", "A=2", "B=", "LD_PRELOAD=x", "PATH=/w" } },
	{ "process.pass_env", { "TZ", "HOME" } },
	{ "process.syscalls", { "strict", "default" } },
	{ "process.workdir", { "/w", "/tmp" } },
	{ "process.refuse_patterns", { "x", "sudo" } },
};

static void put(struct cordon_policy *p, const char *key, const char *text)
{
	cordon_policy_set(p, key, text, NULL); /* what is refused is simply not there */
}

static void generate(struct cordon_policy *p, bool request)
{
	static const char *const mounts[] = { "files.read", "files.write" };
	static const char *const allowed[] = { "files.allowed_read", "files.allowed_write" };
	char text[PATH_MAX];

	for (unsigned n = pick(request ? 3 : 8); n; n--) {
		size_t i = pick(ARRAY_LEN(words)), k = 0;

		while (words[i].texts[k])
			k++;
		put(p, words[i].key, words[i].texts[pick((unsigned)k)]);
	}
	if (pick(3))
		network_generate(p, pick(request ? 4 : 7), !request || !pick(8), pick);
	for (unsigned n = pick(3); n; n--) {
		snprintf(text, sizeof(text), "%s/%s:%s", top, sources[pick(ARRAY_LEN(sources))],
			 dests[pick(ARRAY_LEN(dests))]);
		put(p, mounts[pick(2)], text);
	}
	if (!pick(3)) {
		snprintf(text, sizeof(text), "%s:1M", dests[pick(ARRAY_LEN(dests))]);
		put(p, "files.tmpfs", text);
	}
	for (unsigned n = request ? !pick(8) : pick(4); n; n--) {
		snprintf(text, sizeof(text), "%s/%s", top, sources[pick(ARRAY_LEN(sources))]);
		put(p, allowed[pick(2)], text);
	}
}

/* ---- the tests ---------------------------------------------------------------------------------------- */

static unsigned granted, granted_mounts, granted_rules, refused, found_wider;

static void test_pair(void)
{
	struct cordon_policy *p = NULL, *was = NULL, *r = NULL;
	struct cordon_error err = { 0 };
	const char *why;

	if (cordon_policy_new(&p, &err) < 0 || cordon_policy_new_request(&r, &err) < 0)
		return;
	generate(p, false);
	generate(r, true);
	if (policy_copy(&was, p, &err) < 0)
		return;
	if (cordon_policy_narrow(p, r, &err) == 0) {
		granted++;
		granted_mounts += p->requested.n > 0;
		granted_rules += policy_num(p, OPT_NETWORK) && policy_list(r, OPT_ALLOW)->n;
	} else {
		refused++;
	}
	why = wider(was, p);
	if (why) {
		char *a = cordon_policy_describe(was, CORDON_TEXT), *b = cordon_policy_describe(r, CORDON_TEXT);

		if (!found_wider++)
			note("wider: %s\n%s\n----\n%s", why, a, b);
		free(a);
		free(b);
	}
	cordon_policy_free(p);
	cordon_policy_free(was);
	cordon_policy_free(r);
}

enum { WIDEN_NETWORK = 16, WIDEN_WAYS = WIDEN_NETWORK + 9 };

static void widen_network(struct cordon_policy *p, int way)
{
	switch (way) {
	case 0:
		put(p, "network.allow", "other.org");
		break;
	case 1:
		put(p, "network.allow", "api.example.com:22/tcp");
		break;
	case 2:
		put(p, "network.allow_cidr", "10.1.2.3:22");
		break;
	case 3:
		put(p, "network.mode", "open");
		break;
	case 4:
		put(p, "network.private", "allow");
		break;
	case 5:
		put(p, "secrets", "N=env:N@api.example.com");
		break;
	case 6:
		put(p, "network.upstream_proxy", "http://p.example:80");
		break;
	case 7:
		p->values[OPT_CONNECTIONS].num++;
		break;
	default: /* the wildcard speaks now, and nobody looks at requests any more */
		value_list_remove(&p->values[OPT_ALLOW].list, 2, 1);
		break;
	}
}

/* Ways to widen, each of which the reference must see. */
static void widen(struct cordon_policy *p, int way)
{
	char text[PATH_MAX];

	switch (way) {
	case 0:
		p->values[OPT_MEMORY].num++;
		break;
	case 1:
		p->values[OPT_LEVEL].num = LEVEL_PROCESS;
		break;
	case 2:
		put(p, "process.commands", "sh");
		break;
	case 3:
		snprintf(text, sizeof(text), "%s/s:/other", top);
		put(p, "files.read", text);
		break;
	case 4:
		snprintf(text, sizeof(text), "%s/c:/other", top);
		put(p, "files.write", text);
		break;
	case 5:
		snprintf(text, sizeof(text), "%s/a/.git:/other", top);
		put(p, "files.write", text);
		break;
	case 6:
		put(p, "files.tmpfs", "/w/.git:1M");
		break;
	case 7:
		put(p, "files.tmpfs", "/w:1M");
		strv_done(&p->values[OPT_WRITE].list);
		break;
	case 8:
		strv_done(&p->values[OPT_PROTECT].list);
		break;
	case 9:
		put(p, "degrade", "seccomp");
		break;
	case 10:
		put(p, "process.env", "A=other");
		break;
	case 11:
		put(p, "files.allowed_write", top);
		break;
	case 12:
		p->values[OPT_COMMANDS].set = false;
		break;
	case 13:
		snprintf(text, sizeof(text), "%s/c:/usr/bin", top);
		put(p, "files.read", text);
		break;
	case 14:
		put(p, "process.env", "LD_PRELOAD=x");
		break;
	default:
		put(p, "process.refuse_patterns", "only this");
		break;
	}
}

static void test_reference(void)
{
	for (int way = 0; way < WIDEN_WAYS; way++) {
		struct cordon_policy *p = NULL, *was = NULL;
		char text[PATH_MAX];
		const char *why;

		if (cordon_policy_new(&p, NULL) < 0)
			return;
		snprintf(text, sizeof(text), "%s/a:/w", top);
		put(p, "files.write", text);
		snprintf(text, sizeof(text), "%s/c", top);
		put(p, "files.allowed_read", text);
		put(p, "files.protect", ".git/hooks");
		put(p, "process.commands", "ls");
		put(p, "process.env", "A=1");
		put(p, "network.allow", "*.example.com");
		put(p, "network.allow", "x.example.com:80");
		put(p, "secrets", "K=env:K@x.example.com");
		if (policy_copy(&was, p, NULL) < 0)
			return;
		ok(!wider(was, p), "a policy is not wider than itself");
		if (way < WIDEN_NETWORK)
			widen(p, way);
		else
			widen_network(p, way - WIDEN_NETWORK);
		why = wider(was, p);
		ok(why, "widened in way %d it is: %s", way, why ? why : "not seen");
		cordon_policy_free(p);
		cordon_policy_free(was);
	}
}

/* The network alone: more of what is asked for is granted, and more of it is looked at. */
static void test_network(unsigned pairs)
{
	unsigned given = 0, wide = 0;

	for (unsigned i = 0; i < pairs; i++) {
		struct cordon_policy *p = NULL, *was = NULL, *r = NULL;
		const char *why;

		if (cordon_policy_new(&p, NULL) < 0 || cordon_policy_new_request(&r, NULL) < 0)
			return;
		network_generate(p, 1 + pick(6), true, pick);
		network_generate(r, 1 + pick(3), false, pick);
		if (!pick(4))
			put(p, "network.read_only", "true");
		if (policy_copy(&was, p, NULL) < 0)
			return;
		given += cordon_policy_narrow(p, r, NULL) == 0 && policy_num(p, OPT_NETWORK);
		why = network_wider(was, p);
		if (why && !wide++) {
			char *a = cordon_policy_describe(was, CORDON_TEXT), *b = cordon_policy_describe(p, CORDON_TEXT);

			note("wider: %s\n%s\n----\n%s", why, a, b);
			free(a);
			free(b);
		}
		cordon_policy_free(p);
		cordon_policy_free(was);
		cordon_policy_free(r);
	}
	is_num(wide, 0, "of %u pairs of networks none is wider than its policy", pairs);
	ok(given > pairs / 20, "%u were granted", given);
}

/* What a policy says already may always be asked for. */
static void test_repeat(void)
{
	unsigned failed = 0;

	for (int i = 0; i < 2000; i++) {
		struct cordon_policy *p = NULL, *r = NULL;
		struct cordon_error err = { 0 };

		if (cordon_policy_new(&p, NULL) < 0)
			return;
		generate(p, false);
		put(p, "process.env", "A=1");
		for (size_t k = policy_list(p, OPT_ENV)->n; k >= 2; k -= 2)
			if (env_name_is_loader(policy_list(p, OPT_ENV)->v[k - 2]) ||
			    strcmp(policy_list(p, OPT_ENV)->v[k - 2], "PATH") == 0)
				strv_done(&p->values[OPT_ENV].list), k = 2;
		strv_done(&p->values[OPT_TMPFS].list);
		strv_done(&p->values[OPT_ALLOWED_READ].list); /* may name what does not exist */
		strv_done(&p->values[OPT_ALLOWED_WRITE].list);
		if (policy_copy(&r, p, NULL) < 0)
			return;
		r->is_request = true;
		if (cordon_policy_narrow(p, r, &err) < 0 && !failed++)
			note("refused: %s", err.message);
		cordon_policy_free(p);
		cordon_policy_free(r);
	}
	is_num(failed, 0, "2000 policies, asked for what they say, grant it");
}

static void make(const char *path, const char *target)
{
	char full[PATH_MAX];

	snprintf(full, sizeof(full), "%s/%s", top, path);
	if ((target ? symlink(target, full) : mkdir(full, 0700)) < 0)
		printf("Bail out! cannot make %s\n", full);
}

int main(int argc, char **argv)
{
	static const char *const dirs[] = { "a",  "a/b", "a/.git", "a/.git/hooks", "a/.git/hooks/x",
					    "c",  "c/d", "c/.git", "c/.git/hooks", "s",
					    "s/k" };
	unsigned pairs = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : PAIRS;
	char command[128];

	if (argc > 2)
		seed ^= strtoull(argv[2], NULL, 10) * 0xbf58476d1ce4e5b9ULL;
	if (!mkdtemp(top))
		return 1;
	for (size_t i = 0; i < ARRAY_LEN(dirs); i++)
		make(dirs[i], NULL);
	make("a/l", "../c");
	make("a/ls", "../s");
	make("a/b/up", "../..");
	make("c/l2", "../a/b");
	test_reference();
	for (unsigned i = 0; i < pairs; i++)
		test_pair();
	is_num(found_wider, 0, "of %u pairs none is wider than its policy", pairs);
	ok(granted > pairs / 10 && refused > pairs / 10, "%u were granted, %u refused", granted, refused);
	ok(granted_mounts > pairs / 200, "%u were granted new mounts", granted_mounts);
	ok(granted_rules > pairs / 200, "%u were granted rules of the network", granted_rules);
	test_network(pairs);
	test_repeat();
	snprintf(command, sizeof(command), "rm -rf '%s'", top);
	ok(system(command) == 0, "cleaned up");
	return done_testing();
}
