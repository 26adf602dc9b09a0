# shellcheck shell=bash
# Daemons of the tests' own: docker_start DIR, podman_start DIR, docker_stop, podman_stop. Each has its own data, state and socket below DIR, touches
# no network of the host, and has the image $DAEMON_IMAGE. They set DOCKER_HOST and CONTAINER_HOST. No registry is needed.
DAEMON_TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
DAEMON_IMAGE=cordon-test
PATH=$PATH:/usr/sbin:/sbin

# image_tar: the path of the image's tar, made once in a build tree. cordon-clients is the one with what tests/egress run in a box, for tools/engines.sh.
image_tar() {
	local tar=$DAEMON_TOP/build/test/engine-image.tar dir lock programs=()
	if [ "$DAEMON_IMAGE" = cordon-clients ]; then
		tar=$DAEMON_TOP/build/clients-image.tar
		programs=(/usr/bin/{curl,wget,git,openssl,node,npm,perl,java,python3} /usr/lib/python3/dist-packages/pip/__init__.py)
	fi
	mkdir -p "${tar%/*}"
	exec {lock}>"$tar.lock" && flock "$lock" # others want it, too, and it takes its time
	if [ ! -s "$tar" ]; then
		dir=$(mktemp -d "${TMPDIR:-/tmp}/cordon-image.XXXXXX") || return 1 # without one we would write into the host's root
		bash "$DAEMON_TOP/tests/engine/image.sh" "$dir/root" "${programs[@]}" && tar -C "$dir/root" --owner=0 --group=0 -cf "$dir/image.tar" . && mv "$dir/image.tar" "$tar"
		rm -rf "$dir"
	fi
	exec {lock}>&-
	echo "$tar"
}

# busybox_tar FILE: another image, of busybox alone, for who has little time.
busybox_tar() {
	local dir name
	dir=$(mktemp -d "${TMPDIR:-/tmp}/cordon-image.XXXXXX") || return 1 # without one we would write into the host's root
	chmod 755 "$dir"
	mkdir "$dir"/{bin,etc,home,proc,sys,dev,run,tmp}
	cp /bin/busybox "$dir/bin/"
	for name in sh cat dd id nc sleep touch true wc; do ln -s busybox "$dir/bin/$name"; done
	tar -C "$dir" --owner=0 --group=0 -cf "$1" .
	rm -rf "$dir"
}

api() { # SOCKET METHOD PATH [CURL-FLAG…]
	local socket=$1 method=$2 path=$3
	shift 3
	curl -s -m 60 --unix-socket "$socket" -X "$method" "$@" "http://d/v1.41$path"
}

image_load() { # SOCKET: unless it has it
	api "$1" GET "/images/$DAEMON_IMAGE/json" -f >/dev/null && return
	api "$1" POST "/images/create?fromSrc=-&repo=$DAEMON_IMAGE" -f -H "Content-Type: application/x-tar" -T "$(image_tar)" >/dev/null
}

daemon_wait() { # PID SOCKET
	local i
	for i in $(seq 400); do
		kill -0 "$1" 2>/dev/null || return 1
		[ -S "$2" ] && api "$2" GET /version -f >/dev/null && return 0
		sleep 0.1
	done
	return 1
}

# docker_run DIR: only the daemon, on the socket it always has. After a kill -9 the containerd of the old one, which dies with it, looks alive to
# the new one until somebody has waited for it: without its pid file there is nothing to look at.
docker_run() {
	local file=$1/docker-run/containerd/containerd.pid i
	for i in $(seq 50); do
		grep -qs '^State:[[:space:]]*[^ZX]' "/proc/$(cat "$file" 2>/dev/null)/status" || break
		sleep 0.1
	done
	rm -f "$file"
	docker_try "$1" || docker_try "$1"
}
docker_try() {
	dockerd --iptables=false --ip6tables=false --bridge=none --data-root "$1/docker" --exec-root "$1/docker-run" \
		-p "$1/docker.pid" -H "unix://$1/docker.sock" ${DOCKER_MORE:+$DOCKER_MORE} >>"$1/docker.log" 2>&1 &
	DOCKER_PID=$!
	daemon_wait "$DOCKER_PID" "$1/docker.sock" && return
	kill "$DOCKER_PID" 2>/dev/null
	wait "$DOCKER_PID" 2>/dev/null
	return 1
}

docker_start() { # DIR
	export DOCKER_HOST=unix://$1/docker.sock
	docker_run "$1" && image_load "$1/docker.sock"
}

podman_start() { # DIR
	export CONTAINER_HOST=unix://$1/podman.sock
	# conmon makes a file "oom" where it stands
	env -u CONTAINER_HOST -C "$1" podman --root "$1/podman" --runroot "$1/podman-run" --runtime "$(command -v runc || command -v crun)" --cgroup-manager cgroupfs \
		system service --time=0 "unix://$1/podman.sock" >>"$1/podman.log" 2>&1 &
	PODMAN_PID=$!
	daemon_wait "$PODMAN_PID" "$1/podman.sock" && image_load "$1/podman.sock"
}

# daemon_stop PID DIR: ended by its pid; what it left below DIR, processes and mounts, goes, too.
daemon_stop() {
	[ "$1" ] || return 0
	local i place
	kill "$1" 2>/dev/null
	for i in $(seq 150); do
		kill -0 "$1" 2>/dev/null || break
		sleep 0.1
	done
	kill -9 "$1" 2>/dev/null
	wait "$1" 2>/dev/null
	# Of a daemon that was killed, who watched its containers is still there.
	pgrep -f "^[^ ]*containerd-shim[^ ]* .* -address $2/docker-run/" | while read -r i; do kill -9 "$i"; done
	for i in 1 2; do
		while read -r place; do umount -l "$place" 2>/dev/null; done < <(awk -v d="$2/" 'index($5, d) == 1 { print $5 }' /proc/self/mountinfo | sort -r)
	done
}
