#!/bin/bash
# kill -9 of any process of a box of crun, runc or runsc, at any moment: the run ends, the next one works, and nothing is left. SEED=N
# repeats the moments.
. "$(dirname "$0")/lib.sh"
SEED=${SEED:-$$}
RANDOM=$SEED
note "SEED=$SEED"

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
begin() {
	timeout -k 5 40 "$CORDON" run --engine "$ENGINE" -- sh -c 'sleep 1; echo done' >/dev/null 2>"$WORK/why" &
	run=$!
}
end() { # WHAT: of the run, which must not take too long; $code
	wait "$run" 2>/dev/null
	code=$?
	[ $code != 124 ] || hung+=" $1"
}

# The runtime itself is there for some milliseconds: a stand-in starts the real one and ends it so many after its start ($WORK/after; "stop": it
# stops before it has started anything, and is struck from here). $WORK/met says whether that was in time.
mkdir "$WORK/path"
stand_in() {
	rm -f "$WORK"/path/*
	cat >"$WORK/path/$ENGINE" <<END
#!/bin/bash
verb= after=\$(cat "$WORK/after")
for arg; do case \$arg in run) verb=run ;; esac; done
[ "\$verb" ] || exec $(command -v "$ENGINE") "\$@"
if [ "\$after" = stop ]; then
	echo \$\$ >"$WORK/stopped"
	kill -STOP \$\$
fi
$(command -v "$ENGINE") "\$@" &
sleep "\$after"
kill -9 \$!
wait \$!
status=\$?
[ \$status = 137 ] || exit \$status
echo met >"$WORK/met"
kill -9 \$\$
END
	chmod 755 "$WORK/path/$ENGINE"
}
# strike MS: a random moment below that; sooner where the runtime had gone.
strike() {
	local most=$1
	rm -f "$WORK/met"
	for _ in 1 2 3 4 5 6 7 8; do
		after=$((RANDOM % most))
		printf '0.%03d' $after >"$WORK/after"
		PATH=$WORK/path:$PATH begin
		end "$ENGINE after $after ms"
		[ ! -e "$WORK/met" ] || break
		most=$((most / 2 + 1))
	done
	if [ ! -e "$WORK/met" ]; then missed+=" $ENGINE"; else
		is "$code" 125 "$ENGINE: itself, $after ms after its start: the run failed"
		like "$(cat "$WORK/why")" "$ENGINE was killed by signal 9" "$ENGINE: and says so"
	fi
}
stopped() {
	echo stop >"$WORK/after"
	rm -f "$WORK/stopped"
	PATH=$WORK/path:$PATH begin
	until_true 20 test -s "$WORK/stopped" && kill -9 "$(cat "$WORK/stopped")" || missed+=" $ENGINE"
	end "$ENGINE before its start"
	is "$code" 125 "$ENGINE: itself, before it has done anything: the run failed"
}

[ $# != 0 ] || set -- crun runc runsc
for ENGINE; do
	command -v "$ENGINE" >/dev/null || { skip "$ENGINE" "there is no $ENGINE"; continue; }
	alone
	before=$(left | sort)
	hung='' missed='' met=''
	# Of gVisor there are its kernel and its file server, whose threads have other names; its init is nobody to the host.
	inner='^cordon-init$'
	! gvisor || inner='^(runsc|exe|6)'
	for victim in '^cordon$' '^cordon-keeper$' '^cordon-engine$' "$inner" '^cordon-(keeper|engine)$' '^cordon'; do
		for _ in 1 2 3; do
			begin
			hit "$victim"
			end "$victim"
			[ -z "$struck" ] || break
		done
		if [ "$struck" ]; then met+=" $victim"; else missed+=" $victim"; fi
	done
	stand_in
	stopped
	for _ in 1 2 3; do strike "$(gvisor && echo 200 || echo 40)"; done
	is "$missed" "" "$ENGINE: control: each was hit:$met, and the runtime itself"
	is "$hung" "" "$ENGINE: every run ended"
	is "$(box -- echo works)" works "$ENGINE: the next box works"
	ok "$ENGINE: what can only be swept is" "$CORDON" sweep
	is "$(box -- echo works)" works "$ENGINE: and another"
	until_gone "$ENGINE: nothing is left"
done
done_testing
