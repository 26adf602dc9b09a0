# shellcheck shell=bash
# What a box of Docker or Podman is held to besides lib.sh: tests/engine/docker.sh and podman.sh. The daemon is our own.
HAS_DAEMON=1
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
. "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
need curl
export CORDON_ENGINE_IMAGE=$DAEMON_IMAGE
FLAGS=(--image "$DAEMON_IMAGE")
LAYERS="mountns pidns netns ipcns utsns cgroupns cgroup rlimits no_new_privs landlock seccomp "

left() { # containers, what lies ready for them, groups, drivers, mounts
	api "$SOCKET" GET "/containers/json?all=1" | grep -o 'cordon-[0-9][0-9a-f-]*' | sort -u
	find /run/cordon/shelf /run/cordon-engine /sys/fs/cgroup -mindepth 1 -maxdepth 4 -name 'cordon-[0-9]*' 2>/dev/null | orphans
	ps -eo stat=,ppid=,comm= | while read -r state parent name; do
		case $state$name in Z*) ;; *cordon-engine-d*) grep -qE '^(cordon|python)' "/proc/$parent/comm" 2>/dev/null || echo "$name" ;; esac
	done
	awk '{ print $2 }' /proc/mounts | grep cordon/shelf | orphans
}
