#!/bin/bash
# An ordinary user's own Podman, at the socket that it has by itself: where his control groups can hold limits (cgroup v2, delegated), a box is as
# any other, and his files stay his; where they cannot (cgroup v1) it is refused, and says so. Nothing is left.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/daemon.sh"
levels container
if [ "$ME" = root ]; then
	echo "# root's Podman: podman.sh"
	done_testing
fi
need podman newuidmap curl busybox setsid
grep -qE "^($(id -un)|$(id -u)):" /etc/subuid && grep -qE "^($(id -un)|$(id -u)):" /etc/subgid || skip_all "$(id -un) has no subordinate ids: usermod --add-subuids"
ENGINE=podman
export CORDON_ENGINE_IMAGE=$DAEMON_IMAGE XDG_RUNTIME_DIR=$WORK/run HOME=$WORK/home
unset CONTAINER_HOST DOCKER_HOST
SOCKET=$XDG_RUNTIME_DIR/podman/podman.sock
mkdir -m 700 "$XDG_RUNTIME_DIR" "$XDG_RUNTIME_DIR/podman" "$HOME"
busybox_tar "$WORK/image.tar"
image_tar() { echo "$WORK/image.tar"; }
# A path of more than fifty bytes to its state is none to Podman. Without systemd's user manager it is runc that makes groups with limits for a user; vfs needs no FUSE.
runtime=$(command -v runc || command -v crun)
(cd "$WORK" && exec podman --root "$WORK/podman" --runroot "$WORK/r" --storage-driver vfs --runtime "$runtime" --cgroup-manager cgroupfs \
	system service --time=0 "unix://$SOCKET" >"$WORK/podman.log" 2>&1) &
service=$!
stop() { # the service, which may have started itself again in its namespaces, and who holds these
	local pid
	for pid in $(pgrep -u "$(id -u)" -f "system service --time=0 unix://$SOCKET") "$(cat "$XDG_RUNTIME_DIR/libpod/tmp/pause.pid")"; do kill "$pid"; done
	wait $service
}
defer stop
daemon_wait $service "$SOCKET" && image_load "$SOCKET" || skip_all "its service does not start here: $(tail -n 2 "$WORK/podman.log")"

left() { # containers, payloads, groups, what lay ready
	api "$SOCKET" GET "/containers/json?all=1" | grep -o 'cordon-[0-9][0-9a-f-]*' | sort -u
	pgrep -xf "sleep 97.$$"
	find "$XDG_RUNTIME_DIR"/cordon* -mindepth 2 -name 'cordon-[0-9]*' 2>/dev/null
	[ ! -e /sys/fs/cgroup/cgroup.controllers ] || find /sys/fs/cgroup -type d -name 'libpod-*' 2>/dev/null
}
nothing_left() { [ -z "$(left)" ]; }
nothing() { if until_true 20 nothing_left; then pass "$1"; else fail "$1" "$(left)"; fi; }

mkdir "$WORK/work" "$WORK/ro"
echo given >"$WORK/ro/file"
result --memory 64M --pids 12 --rw "$WORK/work:/work" --ro "$WORK/ro:/data" -- \
	sh -c 'id -u; cat /data/file; echo made >/work/new; touch /data/x 2>/dev/null; dd bs=30M count=1 if=/dev/zero 2>/dev/null | wc -c; exit 7'
if [ "$(field status)" = failed ]; then
	expect "without control groups that hold limits it is refused" error.code=unavailable 'error.message=~podman cannot hold limits.memory' 'error.hint=~cgroup v2.*--engine native'
	is "$RESULT_STATUS $(ls "$WORK/work")" "125 " "before anything has run"
	nothing "nothing is left"
	if [ -e /sys/fs/cgroup/cgroup.controllers ]; then skip "limits held" "no control groups are delegated to this user: $(cat /proc/self/cgroup)"; else note "cgroup v1: no user's Podman holds limits; in the guest of tests/vm it does"; fi
	done_testing
fi
expect "a status, output, and what is mounted" status=error exit_code=7 "stdout=$(id -u)"$'\ngiven\n31457280\n' isolation.engine=podman isolation.limit_source=cgroup 'memory_peak_bytes=>31457280'
is "$(stat -c %u:%g "$WORK/work/new"; ls "$WORK/ro")" "$(id -u):$(id -g)"$'\nfile' "what it writes is the caller's; what is read-only stays"
result --memory 64M -- sh -c 'dd bs=200M count=1 if=/dev/zero of=/dev/null'
expect "memory is bounded" status=resource_exceeded limit=memory
result --pids 12 -- sh -c 'for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14; do sleep 3 & done; wait'
expect "so are processes" status=resource_exceeded limit=processes

# ---- the network, to an address of this host's ----
address=$(ip -4 -o address show scope global 2>/dev/null | sed -n 's|.* inet \([0-9.]*\)/.*|\1|p' | head -n 1)
if [ "$address" ]; then
	python3 -c '
import socket, sys
s = socket.create_server((sys.argv[1], 0))
print(s.getsockname()[1], flush=True)
while True:
    c = s.accept()[0]
    c.sendall(b"hello\n")
    c.close()' "$address" >"$WORK/port" &
	defer kill $!
	until_true 20 test -s "$WORK/port"
	port=$(cat "$WORK/port")
	result --allow-cidr "$address:$port/tcp" --timeout 30s -- sh -c "nc $address $port </dev/null; nc -w 2 $address $((port ^ 1)) </dev/null; nc -w 2 other.example.com 80"
	expect "a network: what a rule names is reached, and nothing else" $'stdout=hello\n' status=error 'denials=~other.example.com' "denials=~$address:$((port ^ 1))"
else
	skip "network" "this host has no address of its own"
fi

# ---- kill -9 ----
setsid "$CORDON" run --engine podman --image "$DAEMON_IMAGE" -- sh -c "sleep 97.$$; true" >/dev/null 2>&1 &
front=$!
ok "one is running" until_true 40 pgrep -xf "sleep 97.$$"
keeper=$(pgrep -P $front)
# shellcheck disable=SC2046 # pids
kill -9 $front "$keeper" $(pgrep -P "$keeper")
wait $front 2>/dev/null
result -- true
expect "cordon, its keeper and its driver killed, the next run works" status=success
nothing "and nothing is left"
done_testing
