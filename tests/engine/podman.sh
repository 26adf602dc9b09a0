#!/bin/bash
# A box of Podman is as one of our own: statuses, files, rights, and nothing left.
. "$(dirname "$0")/daemons.sh"
need podman
need_root
ENGINE=podman SOCKET=$WORK/podman.sock
podman_start "$WORK" || skip_all "podman's service does not start here: $(tail -n 3 "$WORK/podman.log")"
defer eval 'daemon_stop "$PODMAN_PID" "$WORK"'
before=$(left | sort)
statuses
files
rights
refusals
ends
done_testing
