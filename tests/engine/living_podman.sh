#!/bin/bash
# Boxes of Podman that live: as tests/life/living.sh.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../life/lib.sh"
. "$(dirname "$0")/daemon.sh"
levels container
need_root
need python3 curl podman
. "$(dirname "$0")/../life/living_lib.sh"
podman_start "$WORK" || skip_all "podman does not start here: $(tail -n 3 "$WORK/podman.log")"
defer eval 'daemon_stop "$PODMAN_PID" "$WORK"'

export LIVING_ROOT=image:$DAEMON_IMAGE
suite podman counts
killed podman
done_testing
