/* Where a file really lies: see place.h. Runs in the front, with the caller's rights. */
#include "plan/place.h"

#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "os/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

enum { MOUNTINFO_MAX = 64 << 20 };

/* "\040" for a space and the like, in place. */
static void unescape(char *text)
{
	char *to = text;

	for (const char *p = text; *p; p++) {
		if (p[0] == '\\' && p[1] >= '0' && p[1] <= '3' && p[2] >= '0' && p[2] <= '7' && p[3] >= '0' &&
		    p[3] <= '7') {
			*to++ = (char)((p[1] - '0') << 6 | (p[2] - '0') << 3 | (p[3] - '0'));
			p += 3;
		} else {
			*to++ = *p;
		}
	}
	*to = '\0';
}

/* "36 35 98:0 /root /point …": id, parent, device, root, mount point. */
static int add_line(struct place_table *table, char *line)
{
	struct place_mount *grown, *m;
	char *field[5], *end;
	unsigned major, minor;

	for (size_t i = 0; i < ARRAY_LEN(field); i++) {
		field[i] = strsep(&line, " ");
		if (!field[i])
			return -EINVAL;
	}
	grown = realloc(table->mounts, (table->count + 1) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	table->mounts = grown;
	m = &grown[table->count];
	major = (unsigned)strtoul(field[2], &end, 10);
	minor = *end == ':' ? (unsigned)strtoul(end + 1, NULL, 10) : 0;
	unescape(field[3]);
	unescape(field[4]);
	*m = (struct place_mount){ .id = strtoul(field[0], NULL, 10), .place = { .dev = makedev(major, minor) } };
	m->place.path = strdup(field[3]);
	m->point = strdup(field[4]);
	table->count++;
	return m->place.path && m->point ? 0 : -ENOMEM;
}

int place_load(struct place_table *ret)
{
	auto_free char *text = NULL;
	char *save = NULL, *line;
	ssize_t n = fd_load_at(AT_FDCWD, "/proc/self/mountinfo", MOUNTINFO_MAX, &text);
	int r = n < 0 ? (int)n : 0;

	*ret = (struct place_table){ 0 };
	for (line = r < 0 ? NULL : strtok_r(text, "\n", &save); line && r == 0; line = strtok_r(NULL, "\n", &save))
		r = add_line(ret, line);
	if (r < 0)
		place_done(ret);
	return r;
}

void place_done(struct place_table *table)
{
	for (size_t i = 0; i < table->count; i++) {
		free(table->mounts[i].place.path);
		free(table->mounts[i].point);
	}
	free(table->mounts);
	*table = (struct place_table){ 0 };
}

int place_of(const struct place_table *table, int fd, const char *real, struct place *ret)
{
	uint64_t id = 0;
	int r = mount_id(fd, "", &id);

	if (r < 0)
		return r;
	for (size_t i = 0; i < table->count; i++) {
		const struct place_mount *m = &table->mounts[i];
		const char *below = m->id == id ? path_below(real, m->point) : NULL;
		const char *root = strcmp(m->place.path, "/") == 0 ? "" : m->place.path;

		if (!below)
			continue;
		ret->dev = m->place.dev;
		ret->path = *below ? str_printf("%s/%s", root, below) : strdup(m->place.path);
		return ret->path ? 0 : -ENOMEM;
	}
	return -ENOENT;
}

bool place_related(const struct place *a, const struct place *b)
{
	return a->dev == b->dev && (path_is_within(a->path, b->path) || path_is_within(b->path, a->path));
}
