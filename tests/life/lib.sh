# shellcheck shell=bash
# Sourced: what is on the host, so that it can be compared.

# host_state: every lasting thing that runs could leave: cgroups, mounts, scratch and state directories. Only of our own runs where
# OWNERS is set (a regex of pids); else all of them, which suits a quiet machine.
host_state() {
	find /sys/fs/cgroup -maxdepth 6 -type d -name 'cordon-*' 2>/dev/null
	find /var/tmp /run/cordon "/tmp/cordon-$(id -u)" "${XDG_RUNTIME_DIR:-/nonexistent}/cordon" -maxdepth 3 -name 'cordon-*' 2>/dev/null
	grep -o 'cordon-[0-9]*-[0-9]*-[0-9a-f]*' /proc/self/mountinfo
}
# left_of FILE: of what host_state tells, whatever carries one of the pids in FILE.
left_of() {
	host_state | grep -E "/?cordon-($(paste -sd'|' "$1"))-" | sort -u
}
# descendants PID: its children and theirs, one a line.
descendants() {
	local child
	cat /proc/"$1"/task/*/children 2>/dev/null | tr ' ' '\n' | while read -r child; do
		[ -n "$child" ] || continue
		echo "$child"
		descendants "$child"
	done
}
# no_such PID…: all of them are gone (zombies are not).
no_such() {
	local pid
	for pid in "$@"; do
		[ ! -e "/proc/$pid" ] || return 1
	done
}
# mounts: how many there are, but for those of other tests and their daemons
mounts() { grep -vcE '/cordon-(test|image)\.|/cordon/shelf' /proc/self/mountinfo; }
