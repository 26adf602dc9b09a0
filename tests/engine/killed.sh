#!/bin/bash
# kill -9 of any process of a box of crun, runc or runsc, at any moment: the run ends, the next one works, and nothing is left.
. "$(dirname "$0")/lib.sh"
RANDOM=${SEED:-$$}
note "SEED=$RANDOM"

below() { # PID PATTERN: its descendants of such a name
	ps -eo pid=,ppid=,comm= | awk -v top="$1" -v name="$2" '
		{ pid[NR] = $1; parent[$1] = $2; comm[$1] = $3 }
		END {
			for (i = 1; i <= NR; i++) {
				for (p = pid[i]; p in parent && p != top && p > 1; p = parent[p]) ;
				if (p == top && pid[i] != top && comm[pid[i]] ~ name) print pid[i]
			}
		}'
}
# hit PATTERN: those of the box whose name matches, once there are any, a random moment after. Empties $struck when none came.
hit() {
	local pids
	struck=
	for _ in $(seq 100); do
		pids=$(below "$run" "$1")
		[ "$pids" ] && break
		sleep 0.01
	done
	[ "$pids" ] || return
	sleep "0.$(printf %02d $((RANDOM % 25)))"
	# shellcheck disable=SC2086 # a list
	kill -9 $pids 2>/dev/null && struck=$pids
}
# The runtime's own are its start and, with gVisor, its kernel and its file server, whose threads have other names.
[ $# != 0 ] || set -- crun runc runsc
for ENGINE; do
	command -v "$ENGINE" >/dev/null || { skip "$ENGINE" "there is no $ENGINE"; continue; }
	alone
	before=$(left | sort)
	hits=0 hung=
	for victim in '^cordon$' '^cordon-keeper$' '^cordon-engine$' "^($ENGINE|exe|6)" '^cordon-init$' '^cordon-(keeper|engine)$' '^cordon'; do
		timeout -k 5 40 "$CORDON" run --engine "$ENGINE" -- sh -c 'sleep 1; echo done' >/dev/null 2>&1 &
		run=$!
		hit "$victim"
		[ "$struck" ] && hits=$((hits + 1))
		wait "$run" 2>/dev/null
		[ $? != 124 ] || hung+=" $victim"
	done
	like "$hits" '^[4-7]$' "$ENGINE: control: processes were killed ($hits times)"
	is "$hung" "" "$ENGINE: every run ended"
	is "$(box -- echo works)" works "$ENGINE: the next box works"
	ok "$ENGINE: what can only be swept is" "$CORDON" sweep
	is "$(box -- echo works)" works "$ENGINE: and another"
	until_gone "$ENGINE: nothing is left"
done
done_testing
