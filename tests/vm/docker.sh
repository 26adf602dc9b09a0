#!/bin/bash
# Docker on a host with cgroup v2 alone, as root: its boxes' limits are the kernel's in the unified tree, and nothing is left, also after kill -9. Run
# by suite.sh, in the guest.
. "$(dirname "$0")/engine_lib.sh"
need_root
need dockerd curl
ENGINE=docker
# Out of its sight: AppArmor, whose tools the guest has not.
# shellcheck disable=SC2016 # for the inner shell
dockerd() { exec unshare --mount --propagation slave sh -c 'mount -t tmpfs tmpfs /sys/kernel/security && exec dockerd "$@"' sh "$@"; }
names=(-path '*/docker/*')
busybox_image
docker_start "$WORK" || skip_all "dockerd does not start here: $(tail -n 3 "$WORK/docker.log")"
daemon "$DOCKER_PID"
done_testing
