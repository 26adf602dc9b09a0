#!/bin/bash
# The network by name on every engine that gives one: the same names, addresses, protocols, requests, secrets and reports as in a box of our own,
# and nothing is left of it. tests/egress with CORDON_ENGINE=NAME holds the rest.
. "$(dirname "$0")/network_lib.sh"
[ "$ME" = root ] || skip_all "as an ordinary user: network_user.sh, which root starts"

for ENGINE in ${CORDON_ENGINE:-crun runc runsc docker podman}; do
	unset CORDON_ENGINE_IMAGE
	case $ENGINE in
	docker | podman)
		if ! command -v "${ENGINE/docker/dockerd}" >/dev/null || ! "${ENGINE}_start" "$WORK"; then
			skip "$ENGINE: network" "there is no $ENGINE, or it does not start: $(tail -n 2 "$WORK/$ENGINE.log" 2>/dev/null)"
			continue
		fi
		export CORDON_ENGINE_IMAGE=$DAEMON_IMAGE
		all
		if [ "$ENGINE" = docker ]; then daemon_stop "$DOCKER_PID" "$WORK"; else daemon_stop "$PODMAN_PID" "$WORK"; fi
		;;
	*) if command -v "$ENGINE" >/dev/null; then all; else skip "$ENGINE: network" "there is no $ENGINE"; fi ;;
	esac
done
done_testing
