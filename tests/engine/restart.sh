#!/bin/bash
# kill -9 of dockerd at random moments of runs: each ends with what its payload said or with a clear error, the next run on the restarted
# daemon works, and nothing of the others is left: containers, mounts of the shelf, groups, processes. SEED=N repeats a round, RESTARTS=N
# is how many there are.
. "$(dirname "$0")/daemons.sh"
need dockerd
need_root
ENGINE=docker SOCKET=$WORK/docker.sock SEED=${SEED:-$$}
RANDOM=$SEED
note "SEED=$SEED"
defer eval 'daemon_stop "${DOCKER_PID:-}" "$WORK"'
docker_start "$WORK" || skip_all "dockerd does not start here: $(tail -n 3 "$WORK/docker.log")"
mkdir "$WORK/rw"
marker=87$$
before=$(left | sort)
alone

# round N: one run, whose daemon is killed somewhere between its first request and its last: while it is being made, while its payload runs, which both have
# no end of their own, or at any time, perhaps behind its end. Says what is wrong.
alive() { pgrep -f "^sleep $marker\$" >/dev/null; }
gone() { ! alive; }
round() {
	local run code ms payload="sleep $marker"
	case $(($1 % 3)) in 0) ms=$((RANDOM % 900)) payload="sleep 0.4; echo done" ;; 1) ms=$((RANDOM % 350)) ;; 2) ms=$((RANDOM % 200)) ;; esac
	timeout -k 5 60 "$CORDON" run --engine docker "${FLAGS[@]}" --rw "$WORK/rw:/work" --protect .new/ -- sh -c "$payload" >"$WORK/said" 2>"$WORK/why" &
	run=$!
	[ $(($1 % 3)) != 2 ] || until_true 20 alive || echo "round $1: there is no payload"
	sleep "$(printf '0.%03d' "$ms")"
	kill -9 "$DOCKER_PID"
	wait "$DOCKER_PID" 2>/dev/null
	[ $(($1 % 3)) != 2 ] || until_true 10 gone || echo "round $1, $ms ms: the payload outlives its daemon"
	docker_run "$WORK" || note "$(tail -n 5 "$WORK/docker.log")"
	wait "$run"
	code=$?
	case $code in
	0) [ "$(cat "$WORK/said")" = "done" ] || echo "round $1, $ms ms: success without its output" ;;
	125) grep -q '^hint: ' "$WORK/why" && grep -qE 'went away|cannot be reached|ended' "$WORK/why" || echo "round $1, $ms ms: no clear error: $(cat "$WORK/why")" ;;
	*) echo "round $1, $ms ms: status $code, $(cat "$WORK/said" "$WORK/why")" ;;
	esac
	gone || echo "round $1, $ms ms: the run has ended, and its payload has not"
	note "round $1: killed after $ms ms, status $code, $(head -n 1 "$WORK/why")" >&2
	[ "$(box -- echo works 2>&1)" = works ] || echo "round $1, $ms ms: the next run does not work"
}

for i in $(seq "${RESTARTS:-5}"); do
	round "$i"
done >"$WORK/wrong" 2>"$WORK/notes"
cat "$WORK/notes"
is "$(cat "$WORK/wrong")" "" "a daemon that is killed at a random moment: its run ends clearly, and the next one works"
like "$(cat "$WORK/notes")" "status 125" "control: some were killed in the middle"
is "$(listed)" 0 "no container is left"
until_gone "nor a mount, a group, a driver or anything on the shelf"
refused "nor a payload" alive
refused "nor a placeholder" test -e "$WORK/rw/.new"
done_testing
