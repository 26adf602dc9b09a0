/* What bench/steps.c wraps; mk/bench.mk makes the linker's --wrap options from these names. */
/* clang-format off */
#define STEPS_CORDON(X) \
	X(cordon_policy_new) X(cordon_plan_new) X(cordon_run) X(prepare_box) X(owner_name) \
	X(inside_begin) X(inside_setup) X(root_begin) X(root_build) X(inside_become_payload) \
	X(cgroup_probe) X(cgroup_create) X(cgroup_join) X(cgroup_read_usage) X(cgroup_destroy) \
	X(lasting_undo) X(lasting_sweep) X(userns_write_maps) X(netns_enter_new) X(netns_enter) \
	X(process_close_others) X(process_reset_signals) X(process_end) X(process_new_keyring) \
	X(caps_lock) X(caps_set) X(caps_set_ids) X(limits_apply) \
	X(landlock_new) X(landlock_allow) X(landlock_restrict) X(seccomp_install) \
	X(mount_new) X(mount_new_tmpfs) X(mount_clone) X(mount_restrict) X(mount_attach) \
	X(mount_pivot) X(mount_drop_old_root) X(link_send) X(link_receive) \
	X(egress_prepare) X(egress_start) X(egress_end) X(capture_open) X(gateway_open) X(netlink_commit) X(fd_send) \
	X(gateway_packet_socket) X(fd_write_file_at)
#define STEPS_LIBC(X) X(poll) X(waitpid) X(waitid) X(unshare) X(setns) X(execve)
#define STEPS_FORKING(X) X(fork) X(process_clone) X(process_clone_into)
/* clang-format on */
