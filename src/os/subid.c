/* Subordinate ids: see subid.h. Plan (finding) and keeper (mapping), with an ordinary user's rights. */
#include "os/subid.h"

#include "base/fd.h"
#include "base/str.h"
#include "os/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FILE_MAX = 4 << 20 };
static const char uid_helper[] = "/usr/bin/newuidmap", gid_helper[] = "/usr/bin/newgidmap";

/* The field of the line of a colon-separated file whose field `key_field` is `key`; into buf. */
static int find_field(const char *file, size_t key_field, const char *key, size_t field, char *buf, size_t size)
{
	auto_free char *text = NULL;
	char *save = NULL;

	if (fd_load_at(AT_FDCWD, file, FILE_MAX, &text) < 0)
		return -ENOENT;
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *fields[4] = { 0 }, *at = line;

		for (size_t i = 0; i < ARRAY_LEN(fields) && at; i++)
			fields[i] = strsep(&at, ":");
		if (!fields[key_field] || !fields[field] || strcmp(fields[key_field], key) != 0)
			continue;
		snprintf(buf, size, "%s", fields[field]);
		return 0;
	}
	return -ENOENT;
}

static int find_range(const char *file, uid_t uid, unsigned *ret_first)
{
	char number[16], name[256], first[32], *end;
	unsigned long value;

	snprintf(number, sizeof(number), "%u", (unsigned)uid);
	if (find_field(file, 0, number, 1, first, sizeof(first)) < 0 &&
	    (find_field("/etc/passwd", 2, number, 0, name, sizeof(name)) < 0 ||
	     find_field(file, 0, name, 1, first, sizeof(first)) < 0))
		return -ENOENT;
	value = strtoul(first, &end, 10);
	if (*end || !value || value > 0xfffffffeUL)
		return -ENOENT;
	*ret_first = (unsigned)value;
	return 0;
}

int subid_find(uid_t uid, uid_t *ret_subuid, gid_t *ret_subgid)
{
	if (access(uid_helper, X_OK) < 0 || access(gid_helper, X_OK) < 0)
		return -ENOENT;
	if (find_range("/etc/subuid", uid, ret_subuid) < 0)
		return -ENOENT;
	return find_range("/etc/subgid", uid, ret_subgid);
}

static int start_helper(const char *helper, pid_t pid, const struct subid_pair *ids, int *ret_pidfd)
{
	char numbers[7][16], one[] = "1";
	char *const argv[] = { (char *)(uintptr_t)helper,
			       numbers[0],
			       numbers[1],
			       numbers[2],
			       one,
			       numbers[3],
			       numbers[4],
			       one,
			       ids->next_inside ? numbers[5] : NULL,
			       numbers[6],
			       one,
			       NULL };
	char *const env[] = { NULL };
	pid_t child;

	snprintf(numbers[0], sizeof(numbers[0]), "%d", (int)pid);
	snprintf(numbers[1], sizeof(numbers[1]), "%u", ids->inside);
	snprintf(numbers[2], sizeof(numbers[2]), "%u", ids->outside);
	snprintf(numbers[3], sizeof(numbers[3]), "%u", ids->sub_inside);
	snprintf(numbers[4], sizeof(numbers[4]), "%u", ids->sub_outside);
	snprintf(numbers[5], sizeof(numbers[5]), "%u", ids->next_inside);
	snprintf(numbers[6], sizeof(numbers[6]), "%u", ids->sub_outside + 1);
	child = process_clone(0, ret_pidfd);
	if (child == 0) {
		int null = open("/dev/null", O_RDWR | O_CLOEXEC);

		for (int i = 0; i < 3; i++)
			(void)dup2(null, i);
		execve(helper, argv, env);
		_exit(127);
	}
	return child < 0 ? child : 0;
}

static int await(int *pidfd)
{
	int status = 0, r = process_wait(*pidfd, &status);

	fd_close(pidfd);
	return r < 0 ? r : WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EPERM;
}

int subid_map(pid_t pid, const struct subid_pair *uids, const struct subid_pair *gids)
{
	int users = -1, groups = -1;
	int r = start_helper(uid_helper, pid, uids, &users);
	int s = r < 0 ? r : start_helper(gid_helper, pid, gids, &groups);

	if (users >= 0)
		r = await(&users);
	if (groups >= 0)
		s = await(&groups);
	return r < 0 ? r : s;
}
