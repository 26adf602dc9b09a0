#!/bin/bash
# Pausing boxes of other engines that live at bad moments, as tests/life/pause.sh does: pause.sh [docker|podman|runsc…]. Unless told: docker, and of runsc,
# which is slow and paused as crun is, only that nobody stays frozen.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../life/lib.sh"
. "$(dirname "$0")/daemon.sh"
levels container
need_root
need python3 curl
. "$(dirname "$0")/../life/living_lib.sh"

runsc=paused
[ $# != 0 ] || { set -- docker runsc && runsc=frozen; }
for engine; do
	program=$engine
	[ "$engine" != docker ] || program=dockerd
	command -v "$program" >/dev/null || { skip "$engine" "there is no $program"; continue; }
	case $engine in
	docker)
		defer eval 'daemon_stop "$DOCKER_PID" "$WORK"'
		docker_start "$WORK" || { skip docker "dockerd does not start here: $(tail -n 3 "$WORK/docker.log")"; continue; }
		LIVING_ROOT=image:$DAEMON_IMAGE paused docker cordon-engine-d
		;;
	podman)
		defer eval 'daemon_stop "$PODMAN_PID" "$WORK"'
		podman_start "$WORK" || { skip podman "podman does not start here: $(tail -n 3 "$WORK/podman.log")"; continue; }
		LIVING_ROOT=image:$DAEMON_IMAGE paused podman cordon-engine-d
		;;
	*) $runsc "$engine" cordon-engine ;;
	esac
done
done_testing
