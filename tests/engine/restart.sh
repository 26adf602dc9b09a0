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

# round N: one run, whose daemon is killed somewhere between its first request and its last. Says what is wrong.
round() {
	local run code ms=$((RANDOM % ($1 % 2 ? 350 : 900))) # half of them while it is being made
	timeout -k 5 60 "$CORDON" run --engine docker "${FLAGS[@]}" --rw "$WORK/rw:/work" --protect .new/ -- sh -c "sleep 0.4; sleep 0.0$marker; echo done" >"$WORK/said" 2>"$WORK/why" &
	run=$!
	sleep "$(printf '0.%03d' "$ms")"
	kill -9 "$DOCKER_PID"
	wait "$DOCKER_PID" 2>/dev/null
	docker_run "$WORK" || note "$(tail -n 5 "$WORK/docker.log")"
	wait "$run"
	code=$?
	case $code in
	0) [ "$(cat "$WORK/said")" = "done" ] || echo "round $1, $ms ms: success without its output" ;;
	125) grep -q '^hint: ' "$WORK/why" && grep -qE 'went away|cannot be reached|ended' "$WORK/why" || echo "round $1, $ms ms: no clear error: $(cat "$WORK/why")" ;;
	*) echo "round $1, $ms ms: status $code, $(cat "$WORK/said" "$WORK/why")" ;;
	esac
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
refused "nor a payload" pgrep -f "^sleep 0.0$marker\$"
refused "nor a placeholder" test -e "$WORK/rw/.new"
done_testing
