/* Landlock: see landlock.h. */
#include "os/landlock.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Debian 12's header ends at ABI 2. */
#define FS_TRUNCATE (1ULL << 14)  /* ABI 3 */
#define FS_IOCTL_DEV (1ULL << 15) /* ABI 5 */
#define NET_BIND_TCP (1ULL << 0)  /* ABI 4 */
#define NET_CONNECT_TCP (1ULL << 1)
#define SCOPE_ABSTRACT_UNIX_SOCKET (1ULL << 0) /* ABI 6 */
#define SCOPE_SIGNAL (1ULL << 1)

struct ruleset_attr {
	uint64_t handled_access_fs, handled_access_net, scoped;
};

#define FS_READ (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define FS_WRITE                                                                                          \
	(LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE | \
	 LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK |       \
	 LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_SYM)
/* Rights that make sense on something that is not a directory; the kernel refuses the others there. */
#define FS_FILE                                                                                                    \
	(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_READ_FILE | FS_TRUNCATE | \
	 FS_IOCTL_DEV)

int landlock_abi(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	return abi < 0 ? 0 : (int)abi;
}

static uint64_t known_fs(int abi)
{
	uint64_t fs = FS_READ | FS_WRITE | LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
		      LANDLOCK_ACCESS_FS_MAKE_BLOCK;

	if (abi >= 2)
		fs |= LANDLOCK_ACCESS_FS_REFER;
	if (abi >= 3)
		fs |= FS_TRUNCATE;
	if (abi >= 5)
		fs |= FS_IOCTL_DEV;
	return fs;
}

int landlock_new(int abi, bool no_network)
{
	struct ruleset_attr attr = { .handled_access_fs = known_fs(abi) };
	size_t size = abi >= 6 ? sizeof(attr) : abi >= 4 ? offsetof(struct ruleset_attr, scoped) : sizeof(uint64_t);
	long fd;

	if (abi >= 4 && no_network)
		attr.handled_access_net = NET_BIND_TCP | NET_CONNECT_TCP;
	if (abi >= 6)
		attr.scoped = SCOPE_ABSTRACT_UNIX_SOCKET | SCOPE_SIGNAL;
	fd = syscall(SYS_landlock_create_ruleset, &attr, size, 0);
	return fd < 0 ? -errno : (int)fd;
}

int landlock_allow(int ruleset, int abi, int fd, unsigned access)
{
	struct landlock_path_beneath_attr rule = { .parent_fd = fd };
	struct stat st;

	if (access & LANDLOCK_READ)
		rule.allowed_access |= FS_READ;
	if (access & LANDLOCK_EXEC)
		rule.allowed_access |= LANDLOCK_ACCESS_FS_EXECUTE;
	if (access & LANDLOCK_WRITE)
		rule.allowed_access |= FS_WRITE | FS_TRUNCATE | LANDLOCK_ACCESS_FS_REFER;
	if (access & LANDLOCK_DEVICE)
		rule.allowed_access |= FS_IOCTL_DEV;
	rule.allowed_access &= known_fs(abi);
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode))
		rule.allowed_access &= FS_FILE;
	return syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0 ? -errno : 0;
}

int landlock_allow_path(int ruleset, int abi, const char *path, unsigned access)
{
	auto_close int fd = open(path, O_PATH | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	return landlock_allow(ruleset, abi, fd, access);
}

int landlock_restrict(int ruleset)
{
	return syscall(SYS_landlock_restrict_self, ruleset, 0) < 0 ? -errno : 0;
}
