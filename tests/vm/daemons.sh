#!/bin/bash
# Docker and Podman on a host with cgroup v2 alone, as root; for an ordinary user's own Podman there is tests/engine/rootless.sh. The image is busybox
# alone. Run by suite.sh, in the guest.
. "$(dirname "$0")/engine_lib.sh"
need curl
need dockerd podman crun
need_root
names=(-name 'libpod-[0-9a-f]*' -o -path '*/docker/*')
export CORDON_ENGINE_IMAGE=$DAEMON_IMAGE

busybox_tar "$WORK/image.tar"
image_tar() { echo "$WORK/image.tar"; }

daemon() { # PID: what a daemon's boxes are held to
	results
	nothing ""
	killed
	nothing " after kill -9 and a sweep"
	daemon_stop "$1" "$WORK"
}
ENGINE=docker
# Out of its sight: AppArmor, whose tools the guest has not.
# shellcheck disable=SC2016 # for the inner shell
dockerd() { exec unshare --mount --propagation slave sh -c 'mount -t tmpfs tmpfs /sys/kernel/security && exec dockerd "$@"' sh "$@"; }
if docker_start "$WORK"; then daemon "$DOCKER_PID"; else fail "docker starts" "$(tail -n 5 "$WORK/docker.log")"; fi
ENGINE=podman
if podman_start "$WORK"; then daemon "$PODMAN_PID"; else fail "podman starts" "$(tail -n 5 "$WORK/podman.log")"; fi
done_testing
