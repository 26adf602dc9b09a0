#!/bin/bash
# A box of Docker is as one of our own: statuses, files, rights, what happens when the daemon goes, and nothing left.
. "$(dirname "$0")/daemons.sh"
need dockerd
need_root
ENGINE=docker SOCKET=$WORK/docker.sock
docker_start "$WORK" || skip_all "dockerd does not start here: $(tail -n 3 "$WORK/docker.log")"
defer eval 'daemon_stop "$DOCKER_PID" "$WORK"'
before=$(left | sort)
statuses
files
rights
refusals
ends
done_testing
