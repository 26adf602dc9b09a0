#!/bin/bash
# What a box of Docker or Podman needs beside its daemon is killed, or the daemon goes, while the payload runs: the run ends soon, with an error that says
# why and what helps; the payload is gone, the next box works, and nothing is left; so it is where the daemon stands still,
# where the deadline holds all the same. tests/engine/restart.sh does it to dockerd at random moments.
. "$(dirname "$0")/daemons.sh"
need_root
marker=88$$ RUNC=$(command -v runc)
[ "$RUNC" ] || skip "a runtime that is killed" "there is no runc"

# begin: a run whose payload is there; $run.
begin() {
	rm -f "$WORK/said"
	box --timeout 50s -- sh -c "echo runs; sleep $marker" >"$WORK/said" 2>"$WORK/why" &
	run=$!
	until_true 30 test -s "$WORK/said" || note "$(cat "$WORK/why")"
	began=$SECONDS
}
# hit SIGNAL WHO PID…: there is something to be killed.
hit() {
	ok "$ENGINE: control: there is $2" kill -"$1" "${@:3}"
}
# ended DESC REGEX: the run has failed, soon, and says this
ended() {
	wait "$run"
	is $? 125 "$ENGINE: $1 ends the run"
	like "$(cat "$WORK/why")" "$2" "$ENGINE: with the reason and the remedy"
	ok "$ENGINE: soon" test $((SECONDS - began)) -lt 20
	refused "$ENGINE: and the payload is gone" pgrep -f "^sleep $marker\$"
}
again() {
	is "$(box -- echo again 2>&1)" again "$ENGINE: the next box works"
	is "$(listed)" 0 "$ENGINE: and of the other one no container is known"
	until_gone "$ENGINE: nor is anything else left"
}
by_it='container of (docker|podman) ended while the payload ran.*hint: .*stopped or restarted.*run it again'
inits() { pgrep -f '^/\.cordon-[0-9a-f]*/init$' | while read -r pid; do ! grep -qs "$(known)" "/proc/$pid/cgroup" || echo "$pid"; done; }
known() { api "$SOCKET" GET "/containers/json" | grep -o '"Id":"[0-9a-f]*"' | head -n 1 | cut -d'"' -f4; } # the id of the one that runs

# The runtime below the daemon is there for some milliseconds: a stand-in ends the real one while it makes a container, where $WORK/strike says after
# how many seconds, and writes $WORK/met where that was in time.
mkdir "$WORK/path"
[ -z "$RUNC" ] || cat >"$WORK/path/runc" <<END
#!/bin/bash
verb=
for arg; do case \$arg in create) verb=create ;; esac; done
[ "\$verb" ] && [ -e "$WORK/strike" ] || exec $RUNC "\$@"
$RUNC "\$@" &
sleep "\$(cat "$WORK/strike")"
kill -9 \$! && echo met >"$WORK/met"
wait \$!
exit 137
END
[ -z "$RUNC" ] || chmod 755 "$WORK/path/runc"
runtime_goes() {
	local after met=0
	for after in 0 0.01 0.03; do
		rm -f "$WORK/met"
		echo $after >"$WORK/strike"
		status 125 "$ENGINE: a runtime that is killed $after s after its start ends the run" box -- true
		rm "$WORK/strike"
		like "$ERR" "could not (create|start|attach to) the container: ..*hint: ..*" "$ENGINE: with the reason and the remedy"
		[ ! -e "$WORK/met" ] || met=$((met + 1)) # else it was through by then; the daemon hears of a failure all the same
	done
	ok "$ENGINE: control: it was killed in time ($met of 3)" test "$met" -gt 0
	again
}

stands_still() { # DAEMON-PID
	[ -d "$WORK/user" ] || mkdir -m 700 "$WORK/user" && chown 54321:54321 "$WORK/user"
	chmod 666 "$SOCKET"
	freezes root "$1" box
	freezes "an ordinary user" "$1" user_box
	until_gone "$ENGINE: nothing is left of both"
}

docker_goes() {
	stands_still "$DOCKER_PID"
	[ -z "$RUNC" ] || runtime_goes
	begin
	hit KILL "its shim" $(pgrep -f "^[^ ]*containerd-shim[^ ]* .* -address $WORK/docker-run/")
	ended "a shim that is killed" "$by_it"
	again
	begin
	hit KILL "its first process" "$(inits)"
	ended "a first process that is killed" "$by_it"
	again
}
podman_goes() {
	stands_still "$PODMAN_PID"
	[ -z "$RUNC" ] || runtime_goes
	begin
	hit KILL "its conmon" $(pgrep -f "^[^ ]*conmon .* $WORK/podman")
	ended "a conmon that is killed" "$by_it"
	again
	begin
	hit KILL "its first process" "$(inits)"
	ended "a first process that is killed" "$by_it"
	again
	for signal in KILL TERM; do
		begin
		hit $signal "its service" "$PODMAN_PID"
		wait "$PODMAN_PID" 2>/dev/null
		ended "a service that gets SIG$signal" "podman.sock cannot be reached or went away.*hint: start it"
		status 125 "$ENGINE: without it there is no box" box -- true
		rm -f "$SOCKET"
		podman_start "$WORK" || note "$(tail -n 5 "$WORK/podman.log")"
		again
	done
}

defer eval 'daemon_stop "${DOCKER_PID:-}" "$WORK"; daemon_stop "${PODMAN_PID:-}" "$WORK"'
for ENGINE in docker podman; do
	SOCKET=$WORK/$ENGINE.sock
	command -v "$([ $ENGINE = docker ] && echo dockerd || echo podman)" >/dev/null || { skip "$ENGINE" "there is no $ENGINE"; continue; }
	PATH=$WORK/path:$PATH ${ENGINE}_start "$WORK" || { skip "$ENGINE" "it does not start here: $(tail -n 3 "$WORK/$ENGINE.log")"; continue; }
	alone
	before=$(left | sort)
	${ENGINE}_goes
done
done_testing
