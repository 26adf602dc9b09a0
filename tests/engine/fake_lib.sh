# shellcheck shell=bash
# For tests against daemons that say what a test wants: tests/engine/fake.py.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
levels container
need python3 unshare
mkdir "$WORK/d"

# Where the daemon's processes are: limits that hold are looked up, and a box without them is refused. An ordinary user has no groups to give; what he is
# told in the end is that, and not that something was wrong before.
FAKE_GROUPS='' REACHED="125 no process of this machine "
make_groups() {
	local top=/sys/fs/cgroup name=fake-$$ dir file files=(memory/%s/memory.limit_in_bytes pids/%s/pids.max cpu/%s/cpu.cfs_quota_us) values=(256M 60 50000) i
	FAKE_SWAP=$top/memory/$name/memory.memsw.limit_in_bytes FAKE_SWAP_NONE=256M FAKE_SWAP_ALL=-1
	[ ! -e $top/cgroup.controllers ] || files=(%s/memory.max %s/pids.max %s/cpu.max) FAKE_SWAP=$top/$name/memory.swap.max FAKE_SWAP_NONE=0 FAKE_SWAP_ALL=max
	for i in 0 1 2; do
		dir=$top/${files[i]/\%s/$name} file=${dir##*/} dir=${dir%/*}
		[ -d "$dir" ] || { mkdir "$dir" && defer rmdir "$dir" && FAKE_GROUPS+=" $dir"; }
		[ -e "$dir/$file" ] && echo "${values[i]}" >"$dir/$file" || { skip "boxes that run" "no $file in $dir" && FAKE_GROUPS='' && return; }
	done
	[ ! -e "$FAKE_SWAP" ] || echo "$FAKE_SWAP_NONE" >"$FAKE_SWAP"
	REACHED="0 hello "
}
[ "$ME" != root ] || make_groups
export FAKE_GROUPS

fake() { # SCENARIO…: a daemon for each
	[ -z "${feed:-}" ] || exec {feed}>&-
	rm -f "$WORK/fifo" "$WORK/ready" && mkfifo "$WORK/fifo"
	python3 "$TOP/tests/engine/fake.py" "$WORK/d" "$@" <"$WORK/fifo" >"$WORK/ready" 2>"$WORK/fake.err" &
	exec {feed}>"$WORK/fifo"
	until_true 10 grep -q ready "$WORK/ready" || note "$(cat "$WORK/fake.err")"
}
# at SCENARIO FLAG… -- COMMAND…: a run on that daemon. $WORK/d/SCENARIO.code, .out and .err are what came of it, .ms how long it took.
at() {
	local name=$1 begin=$EPOCHREALTIME
	shift
	DOCKER_HOST=unix://$WORK/d/$name.sock timeout ${IMPATIENT:+-s INT} -k 9 "${IMPATIENT:-${PATIENT:-9}}" "$CORDON" run --engine docker --image any "$@" >"$WORK/d/$name.out" 2>"$WORK/d/$name.err"
	echo $? >"$WORK/d/$name.code"
	echo $(((${EPOCHREALTIME/./} - ${begin/./}) / 1000)) >"$WORK/d/$name.ms"
}
all() { # SCENARIO…: ten at a time
	local pids=() name
	for name; do
		at "$name" -- true &
		pids+=($!)
		[ ${#pids[@]} -lt 10 ] || { wait "${pids[@]}" && pids=(); }
	done
	[ ${#pids[@]} = 0 ] || wait "${pids[@]}"
}
# came SCENARIO: how far it came, in a line: "0 hello " is a box that ran.
came() { echo "$(cat "$WORK/d/$1.code") $(grep -o 'no process of this machine' "$WORK/d/$1.err" || cat "$WORK/d/$1.out") "; }
