#!/bin/bash
# Boxes of Docker that live: as tests/life/living.sh.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../life/lib.sh"
. "$(dirname "$0")/daemon.sh"
levels container
need_root
need python3 curl dockerd
. "$(dirname "$0")/../life/living_lib.sh"
docker_start "$WORK" || skip_all "docker does not start here: $(tail -n 3 "$WORK/docker.log")"
defer eval 'daemon_stop "$DOCKER_PID" "$WORK"'

export LIVING_ROOT=image:$DAEMON_IMAGE
suite docker counts
killed docker
done_testing
