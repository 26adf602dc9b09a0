#!/bin/bash
# Nothing outside can be written: not the root, not /usr, /etc, /proc/sys, /sys, whatever the modes of the files say.
. "$(dirname "$0")/../lib.sh"
levels container process
no='^(EROFS|EACCES|EPERM|ENOENT|EXDEV|ENOTSUP|EOPNOTSUPP)$'

for file in /usr/lib/os-release /etc/ld.so.cache /etc/passwd /proc/sys/kernel/hostname /proc/sys/kernel/core_pattern \
	/proc/sys/vm/drop_caches /proc/sysrq-trigger /proc/self/oom_adj /sys/kernel/uevent_helper /proc/sys/kernel/modprobe; do
	[ -e "$file" ] || continue
	if [ "$ME" = root ]; then
		[ -w "$file" ] && is "$(bare open "$file" w)" ok "control: root may open $file for writing outside"
	fi
	case $file in /proc/self/*) continue ;; esac
	like "$(probe open "$file" w)" "$no" "$file cannot be opened for writing"
done
for dir in / /usr /usr/bin /etc /dev /proc /proc/sys /sys /home /bin /lib /var/tmp; do
	like "$(probe open "$dir/cordon-test-$$" create)" "$no" "no file can be made in $dir"
	like "$(probe mkdir "$dir/cordon-test-$$" 0755)" "$no" "no directory can be made in $dir"
	[ ! -e "$dir/cordon-test-$$" ] || fail "$dir/cordon-test-$$ is there on the host"
done
for act in "unlink /usr/bin/env" "rename /usr/bin/env /usr/bin/env2" "chmod /usr/bin/env 0777" "truncate /usr/lib/os-release" \
	"symlink x /usr/x" "setxattr /usr/bin/env user.x" "link /usr/bin/env /usr/bin/env3"; do
	# shellcheck disable=SC2086 # words
	like "$(probe $act)" "$no" "refused: $act"
done

# The wall is not the mode of the file: a directory and a file in /usr that anybody may write.
if [ "$ME" = root ]; then
	open=$(mktemp -d /usr/local/cordon-test.XXXXXX)
	defer rm -rf "$open"
	chmod 777 "$open"
	echo before >"$open/file"
	chmod 666 "$open/file"
	is "$(setpriv --reuid 65534 --regid 65534 --clear-groups "$PROBE" open "$open/file" w)" ok "control: anybody may write $open/file"
	like "$(probe write "$open/file" after)" "$no" "but not in a box"
	like "$(probe open "$open/new" create)" "$no" "nor make a file beside it"
	like "$(probe unlink "$open/file")" "$no" "nor remove it"
	is "$(cat "$open/file")" before "it is as it was"
else
	skip "a world-writable file in /usr" "only root can make one"
fi

# What is private is writable, and stays private.
if [ "$LEVEL" = container ]; then
	for dir in /tmp /home/agent /dev/shm; do
		is "$(probe open "$dir/cordon-test-$$" create)" ok "control: $dir is writable"
		[ ! -e "$dir/cordon-test-$$" ] || fail "$dir/cordon-test-$$ is there on the host"
	done
fi
is "$(box -- sh -c 'echo x >file && cat file')" x "control: the working directory is writable"
mkdir "$WORK/rw" "$WORK/ro"
echo before >"$WORK/ro/file"
PROBE_FLAGS=(--ro "$WORK/ro")
if can_rw; then
	PROBE_FLAGS+=(--rw "$WORK/rw")
	is "$(probe open "$WORK/rw/file" create)" ok "control: what is given with --rw is writable"
	ok "and the host sees it" test -e "$WORK/rw/file"
fi
like "$(probe write "$WORK/ro/file" after)" "$no" "what is given with --ro is not"
like "$(probe open "$WORK/ro/new" create)" "$no" "nor can a file be made there"
like "$(probe truncate "$WORK/ro/file")" "$no" "nor truncated"
like "$(probe chmod "$WORK/ro/file" 0777)" "$no" "nor can its mode be changed"
like "$(probe setxattr "$WORK/ro/file" user.x)" "$no" "nor its attributes"
is "$(stat -c %a "$WORK/ro/file")" 644 "the mode is as it was"
is "$(cat "$WORK/ro/file")" before "it is as it was"
done_testing
