# shellcheck shell=bash
# What boxes of other engines are held to on a host with cgroup v2 alone: engines.sh, docker.sh, podman.sh. Run by suite.sh, in the guest, where every start
# of a program takes its time: few runs, each for several promises.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
. "$TOP/tests/engine/daemon.sh"
levels container
need busybox
v2=/sys/fs/cgroup
[ -e $v2/cgroup.controllers ] || skip_all "no cgroup v2 alone"
own=$v2$(sed 's/^0:://' /proc/self/cgroup)

containers=/run/cordon-engine
[ "$ME" = root ] || containers=$XDG_RUNTIME_DIR/cordon-engine

# Groups and directories of containers, but for those of boxes that other tests have running: theirs say so by their pid. A runtime's have the owner's
# name, a daemon's a name of its own.
names=(-name 'cordon-[0-9]*')
left() {
	local dir pid
	find $v2 "$containers" -mindepth 1 -type d \( "${names[@]}" \) -prune -print 2>/dev/null | while read -r dir; do
		pid=${dir##*/cordon-}
		[ -e "/proc/${pid%%-*}" ] || echo "$dir"
	done
}
nothing_left() { [ -z "$(left)" ]; }
nothing() { ok "$ENGINE: nothing is left$1" until_true 20 nothing_left || note "$(left)"; }

results() {
	result --memory 64M --pids 12 --cpus 0.5 -- sh -c 'sleep 0.1 & sleep 0.1 & dd bs=30M count=1 if=/dev/zero 2>/dev/null | wc -c; exit 7'
	expect "$ENGINE: what stays below its limits ends as it wants" status=error exit_code=7 $'stdout=31457280\n' "isolation.engine=$ENGINE" \
		'isolation.layers=~"cgroupns", "cgroup"' isolation.limit_source=cgroup 'memory_peak_bytes=>31457280' 'memory_peak_bytes=<67108865'
	result --memory 64M -- sh -c 'dd bs=200M count=1 if=/dev/zero of=/dev/null'
	expect "$ENGINE: too much memory" status=resource_exceeded limit=memory 'memory_peak_bytes=>50000000' 'memory_peak_bytes=<67108865'
	result --pids 12 -- sh -c 'for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14; do sleep 3 & done; wait'
	expect "$ENGINE: too many processes" status=resource_exceeded limit=processes
}
more_results() {
	result --cpu-time 1s --timeout 40s -- sh -c 'while :; do :; done'
	expect "$ENGINE: too much CPU time" status=resource_exceeded limit=cpu_time 'cpu_ms=>900'
	result -- busybox mount -t tmpfs tmpfs /tmp
	expect "$ENGINE: a refused call is told" status=error 'denials=~mount'
}

# ---- kill -9 ----
running() { pgrep -xf "sleep 98.$$"; }
stopped() { ! running; }
ours() { # PID…: of them and their descendants, cordon's own that are outside: front, keeper, driver
	local p
	for p in "$@"; do
		grep -qxE 'cordon|cordon-keeper|cordon-engine.*' "/proc/$p/comm" && echo "$p"
		# shellcheck disable=SC2046 # pids
		ours $(pgrep -P "$p")
	done
}
limits_of() { # DIR: the nearest upwards that say something
	local dir file
	for file in memory.max memory.swap.max pids.max cpu.max; do
		dir=$1
		while [ "$dir" != $v2 ] && { [ ! -e "$dir/$file" ] || grep -q '^max' "$dir/$file"; }; do dir=${dir%/*}; done
		cat "$dir/$file" 2>/dev/null
	done | tr '\n' ' '
}
killed() {
	local front dir victims
	"$CORDON" run --engine "$ENGINE" ${CORDON_ENGINE_IMAGE:+--image "$CORDON_ENGINE_IMAGE"} --memory 64M --pids 12 --cpus 0.5 -- sh -c "sleep 98.$$; true" >/dev/null 2>&1 &
	front=$!
	if ! until_true 40 running; then
		fail "$ENGINE: one is running"
		return
	fi
	dir=$v2$(sed 's/^0:://' "/proc/$(running | head -n 1)/cgroup")
	is "$(limits_of "$dir")" "67108864 0 13 50000 100000 " "$ENGINE: the limits are where the kernel has them"
	victims=$(ours "$front")
	is "$(wc -w <<<"$victims") $(grep -cxF "$victims" "$dir/cgroup.procs")" "3 0" "$ENGINE: cordon, its keeper and its driver are not in there"
	# All three at once, so that nobody can undo anything for another.
	# shellcheck disable=SC2086 # pids
	kill -9 $victims
	wait "$front" 2>/dev/null
	ok "$ENGINE: killed together, the payload ends" until_true 20 stopped
	"$CORDON" sweep
}

# ---- daemons, with an image of busybox alone ----
busybox_image() {
	busybox_tar "$WORK/image.tar"
	image_tar() { echo "$WORK/image.tar"; }
	export CORDON_ENGINE_IMAGE=$DAEMON_IMAGE
}
daemon() { # PID
	defer daemon_stop "$1" "$WORK"
	results
	nothing ""
	killed
	nothing " after kill -9 and a sweep"
}
