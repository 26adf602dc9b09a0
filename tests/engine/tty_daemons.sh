#!/bin/bash
# A terminal in a box of Docker or Podman: as tests/engine/tty.sh.
. "$(dirname "$0")/daemons.sh"
. "$(dirname "$0")/tty_lib.sh"
need_root
defer eval 'daemon_stop "${DOCKER_PID:-}" "$WORK"; daemon_stop "${PODMAN_PID:-}" "$WORK"'
for engine in docker podman; do
	command -v "$([ $engine = docker ] && echo dockerd || echo podman)" >/dev/null || { skip "$engine" "there is no $engine"; continue; }
	${engine}_start "$WORK" || { skip "$engine" "it does not start here: $(tail -n 3 "$WORK/$engine.log")"; continue; }
	terminals $engine
done
done_testing
