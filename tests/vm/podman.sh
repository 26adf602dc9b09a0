#!/bin/bash
# Podman on a host with cgroup v2 alone, as root: its boxes' limits are the kernel's in the unified tree, and nothing is left, also after kill -9. An
# ordinary user's own: tests/engine/rootless.sh. Run by suite.sh, in the guest.
. "$(dirname "$0")/engine_lib.sh"
need_root
need podman curl
ENGINE=podman
names=(-name 'libpod-[0-9a-f]*')
busybox_image
podman_start "$WORK" || skip_all "podman's service does not start here: $(tail -n 3 "$WORK/podman.log")"
daemon "$PODMAN_PID"
done_testing
