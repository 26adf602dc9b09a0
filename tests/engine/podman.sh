#!/bin/bash
# A box of Podman is as one of our own: statuses, files, rights, and nothing left.
. "$(dirname "$0")/daemons.sh"
need podman
need_root
ENGINE=podman SOCKET=$WORK/podman.sock
defer eval 'daemon_stop "${PODMAN_PID:-}" "$WORK"'
podman_start "$WORK" || skip_all "podman's service does not start here: $(tail -n 3 "$WORK/podman.log")"
before=$(left | sort)
rootless() { # Podman of an ordinary user: where it leaves the limits out, as on cgroup v1, it is refused
	local me=${CORDON_TEST_USER:-agentuser} run=$WORK/rootless pid
	id "$me" >/dev/null 2>&1 && grep -q "^$me:" /etc/subuid || { skip "rootless" "there is no user $me with subordinate ids"; return; }
	mkdir -m 700 "$run" "$run/home" "$run/work" && chown -R "$me" "$run"
	as_me() { (cd / && setpriv --reuid="$me" --regid="$(id -g "$me")" --init-groups env HOME="$run/home" XDG_RUNTIME_DIR="$run" CONTAINER_HOST="unix://$run/podman.sock" "$@"); }
	as_me env -u CONTAINER_HOST podman --root "$run/podman" --runroot "$run/run" --storage-driver vfs --runtime "$(command -v runc)" --cgroup-manager cgroupfs \
		system service --time=0 "unix://$run/podman.sock" >>"$run/podman.log" 2>&1 &
	pid=$!
	if ! daemon_wait "$pid" "$run/podman.sock" || ! image_load "$run/podman.sock"; then
		skip "rootless" "its service does not start here: $(tail -n 2 "$run/podman.log")"
	else
		as_me timeout -k 5 60 "$CORDON" run --engine podman "${FLAGS[@]}" --rw "$run/work:/work" -- sh -c 'echo made >/work/new' >"$run/said" 2>&1
		if [ -e "$run/work/new" ]; then
			is "$(stat -c %U "$run/work/new")" "$me" "rootless: what it writes is the caller's"
		else
			like "$(cat "$run/said")" "cannot hold limits" "rootless: what does not hold the limits is refused"
		fi
		is "$(api "$run/podman.sock" GET "/containers/json?all=1" | grep -c cordon-)" 0 "rootless: nothing is left"
		CONTAINER_HOST=unix://$run/podman.sock status 125 "root does not use another user's" "$CORDON" run --engine podman "${FLAGS[@]}" -- true
		like "$ERR" "another user's" "and is told"
	fi
	for p in $(pgrep -u "$me" -f "system service --time=0 unix://$run/podman.sock"); do kill "$p"; done
	wait "$pid" 2>/dev/null
	kill "$(cat "$run/libpod/tmp/pause.pid")" 2>/dev/null # who holds its namespaces
}

# On cgroup v1 it makes no cgroup namespace, and the result says so.
[ -e /sys/fs/cgroup/cgroup.controllers ] || {
	LAYERS=${LAYERS/cgroupns /}
	status 125 "a required layer that is missing is refused" box --require cgroupns -- true
	like "$ERR" "a cgroup namespace" "by name"
}
statuses
files
rights
refusals
ordinary_user
status 125 "an ordinary user's limit on files is refused" user_box --inodes 100 -- true
like "$ERR" "limits.inodes" "by name"
rootless
ends
random_kills 4
done_testing
