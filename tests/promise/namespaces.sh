#!/bin/bash
# No new namespace of any kind, by no call; none can be entered. Nested user namespaces with all their surface stay shut.
. "$(dirname "$0")/../lib.sh"
levels container process
kinds=(user mnt pid net ipc uts cgroup)
control=("$PROBE")
[ "$ME" = root ] || control=(unshare -Ur "$PROBE")
if ! "${control[@]}" unshare net >/dev/null 2>&1; then
	control=()
	skip "controls of namespaces" "none can be had outside either"
fi
each() { printf "%s $1\n" "${kinds[@]}"; }
is "$(probe unshare "${kinds[@]}" time)" "$(each EPERM; echo time EPERM)" "unshare is refused"
is "$(probe clone "${kinds[@]}")" "$(each EPERM)" "clone is refused"
is "$(probe clone3 "${kinds[@]}")" "$(each ENOSYS)" "clone3 is not there"
if [ ${#control[@]} != 0 ]; then
	is "$("${control[@]}" unshare "${kinds[@]}")" "$(each ok)" "control: unshare works outside"
	is "$("${control[@]}" clone "${kinds[@]}")" "$(each ok)" "control: clone works outside"
	is "$("${control[@]}" clone3 "${kinds[@]}")" "$(each ok)" "control: clone3 works outside"
fi
is "$(box -- python3 -c 'import threading as t; x = t.Thread(target=print, args=("thread",)); x.start(); x.join()')" thread "control: threads work"
is "$(box -- sh -c '(echo child)')" child "control: children work"
refused "the command unshare" box -- unshare -Ur true
refused "the command nsenter" box -- nsenter -t 1 -m true
if [ "$LEVEL" = container ]; then
	for ns in user mnt pid net ipc uts cgroup; do
		isnt "$(box -- readlink /proc/self/ns/$ns)" "$(readlink /proc/self/ns/$ns)" "its $ns namespace is its own"
		like "$(probe open "/proc/1/ns/$ns" r)" '^(ENOENT|EACCES|EPERM)$' "pid 1's $ns namespace cannot be opened"
	done
	is "$(box -- hostname)" cordon "the host's name is not told"
	is "$(box -- cat /proc/sys/kernel/hostname /etc/hostname)" $'cordon\ncordon' "nor in files"
	refused "nor set" box -- hostname other
	is "$(box -- sh -c 'ipcs -m | grep -c 0x')" 0 "there is no System V memory of the host"
	if command -v ipcmk >/dev/null && id=$(ipcmk -M 64 2>/dev/null | grep -o '[0-9]*$'); then
		defer ipcrm -m "$id"
		isnt "$(ipcs -m | grep -c 0x)" 0 "control: outside there is"
		is "$(box -- sh -c 'ipcs -m | grep -c 0x')" 0 "and still none inside"
	fi
fi
done_testing
