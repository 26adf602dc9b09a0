/* Capabilities and identity: see caps.h. */
#include "os/caps.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int caps_bound(uint64_t keep)
{
	/* EINVAL ends the walk, if the kernel's last capability is behind us: it knows nothing of this one either way. */
	for (int cap = 0; cap < 64; cap++) {
		if (keep & (1ULL << cap))
			continue;
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0) {
			int why = errno;

			if (why == EINVAL && prctl(PR_CAPBSET_READ, cap, 0, 0, 0) < 0)
				break;
			return -why;
		}
	}
	return 0;
}

int caps_lock(uint64_t keep)
{
	int r = caps_bound(keep);

	if (r < 0)
		return r;
	if (prctl(PR_SET_SECUREBITS,
		  SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP | SECBIT_NO_SETUID_FIXUP_LOCKED |
			  SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED,
		  0, 0, 0) < 0)
		return -errno;
	return prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 ? -errno : 0;
}

int caps_set(uint64_t keep)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };

	data[0].permitted = data[0].effective = (uint32_t)keep;
	data[1].permitted = data[1].effective = (uint32_t)(keep >> 32);
	return syscall(SYS_capset, &head, data) < 0 ? -errno : 0;
}

int caps_set_ids(uid_t uid, gid_t gid, int drop_groups)
{
	if (drop_groups && syscall(SYS_setgroups, 0, NULL) < 0)
		return -errno;
	if (syscall(SYS_setresgid, gid, gid, gid) < 0)
		return -errno;
	return syscall(SYS_setresuid, uid, uid, uid) < 0 ? -errno : 0;
}

bool caps_are_none(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };
	uid_t uid[3];
	gid_t gid[3];

	if (syscall(SYS_capget, &head, data) < 0 || getresuid(&uid[0], &uid[1], &uid[2]) < 0 ||
	    getresgid(&gid[0], &gid[1], &gid[2]) < 0)
		return false;
	for (int i = 0; i < 2; i++)
		if (data[i].permitted || data[i].effective || data[i].inheritable)
			return false;
	for (int cap = 0; cap < 64; cap++)
		if (prctl(PR_CAPBSET_READ, cap, 0, 0, 0) > 0 ||
		    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, cap, 0, 0) > 0)
			return false;
	for (int i = 0; i < 3; i++)
		if (!uid[i] || !gid[i])
			return false;
	return getgroups(0, NULL) == 0;
}
