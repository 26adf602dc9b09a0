/* The specification of a container (stream/engine.h), read strictly. Runs in both drivers, with the caller's rights. */
#ifndef ENGINE_SPEC_H
#define ENGINE_SPEC_H

#include "base/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct spec_limits {
	uint64_t memory_bytes, cpu_milli, processes, open_files, file_size_bytes, core_bytes, read_bps, write_bps;
};

/* Strings and lists belong to json; lists were looked through and are well-formed. NULL where absent. */
struct spec {
	json_t *json;
	const char *owner, *init, *image, *hostname, *runtime, *dir, *platform, *netns, *link;
	json_t *rootfs; /* always a list */
	json_t *env, *mounts, *files, *tmpfs, *seccomp, *uid_map, *gid_map;
	bool pull;
	unsigned uid, gid;
	struct spec_limits limits;
};

/* One entry of `mounts` or `files`. */
struct spec_mount {
	const char *source, *dest;
	bool writable, is_held;
};
struct spec_tmpfs {
	const char *dest;
	uint64_t size_bytes, inodes;
	unsigned mode;
	bool exec;
};

int spec_parse(struct spec *ret_spec, const char *text, size_t len, struct cordon_error *err);
void spec_done(struct spec *spec);
bool spec_is_owner(const char *owner);
/* false for what is not such an entry. */
bool spec_mount(const json_t *entry, struct spec_mount *ret);
bool spec_tmpfs(const json_t *entry, struct spec_tmpfs *ret);

#endif
