#!/bin/bash
# The control groups of the host are out of reach: not visible, not mountable, no way up, no release_agent.
. "$(dirname "$0")/../lib.sh"
levels container process
no='^(ENOENT|EACCES|EPERM|EROFS)$'
is "$(probe calls mount fsopen)" $'mount EPERM\nfsopen EPERM' "no cgroup file system can be mounted"
if [ -e /sys/fs/cgroup ]; then
	is "$(bare open /sys/fs/cgroup dir)" ok "control: it is there outside"
fi
like "$(probe open /sys/fs/cgroup dir)" "$no" "it is not there inside"
n=0
while read -r file && [ $n -lt 6 ]; do
	n=$((n + 1))
	like "$(probe open "$file" w)" "$no" "not to be written: ${file#/sys/fs/cgroup}"
	like "$(probe open "$file" r)" "$no" "nor read"
done < <(find /sys/fs/cgroup -maxdepth 2 \( -name release_agent -o -name cgroup.procs -o -name notify_on_release \) 2>/dev/null)
isnt $n 0 "control: there are such files outside"
if [ "$LEVEL" = container ]; then
	is "$(box -- sh -c 'find / -xdev \( -name release_agent -o -name cgroup.procs \) 2>/dev/null')" "" "no such file lies anywhere inside"
	is "$(box -- sh -c 'grep -cE "^[^ ]+ [^ ]+ cgroup2? " /proc/mounts')" 0 "nothing of it is mounted"
	# What the payload reads of its place is relative to the box: the host's own tree is not told.
	here=$(sed -n 's/^[0-9]*:memory:\|^0:://p' /proc/self/cgroup | head -1)
	[ "$here" = / ] || unlike "$(box -- cat /proc/self/cgroup)" ":$here" "the caller's group is not told"
	if [ -z "$ENGINE" ]; then
		is "$(box -- sed -nE 's/^[0-9]*:(memory|pids)?://p' /proc/self/cgroup | sort -u)" / "its own is the top of what it sees"
	fi
fi
isnt "$(box -- sh -c 'echo 1 >/proc/self/cgroup' 2>/dev/null && echo wrote)" wrote "it cannot be changed through /proc"
# The payload is in the group that bounds its memory; who watches over it is not: filling memory does not end them.
result -- true
if [ -z "$ENGINE" ] && [ "$(field isolation.limit_source)" = cgroup ]; then
	"$CORDON" run --level "$LEVEL" --timeout 60s -- sh -c 'echo on; sleep 30' >"$WORK/on" &
	front=$!
	defer kill "$front"
	until_true 20 test -s "$WORK/on"
	group() { sed -nE 's/^[0-9]*:(memory)?://p' "/proc/$1/cgroup" 2>/dev/null | sort -u | paste -sd' '; }
	keeper=$(pgrep -P "$front" | head -n 1)
	init=$(pgrep -P "$keeper" | head -n 1)
	payload=$(pgrep -P "$init" | head -n 1)
	like "$(group "$payload")" 'cordon-[0-9]+-' "control: the payload has a group of its own"
	for who in front keeper init; do
		unlike "$(group "${!who}")" 'cordon-[0-9]+-' "the $who is not in it"
	done
	kill "$front"
fi
done_testing
