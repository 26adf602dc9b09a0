# shellcheck shell=bash disable=SC2154
# What a box of another engine costs, against that engine's own command for the same container; sourced by bench.sh, whose words it uses.
#
# Runtimes get a bundle that is the box (bench/bundle.py); daemons, which are this measurement's own and end with it, an image of busybox.
# Each pair is measured by itself, interleaved. As root only, as daemons are.
engines_daemons=()

engines_down() {
	local pid
	for pid in "${engines_daemons[@]}"; do
		kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null
	done
	engines_daemons=()
	# What daemons mounted for themselves and left.
	awk -v top="$work/" 'index($2, top) == 1 { print $2 }' /proc/self/mounts | sort -r | while read -r place; do
		umount -l "$place" 2>/dev/null
	done
}

# engines_pair ENGINE: measures what was added as cordon-ENGINE and ENGINE, and says loudly what is missing.
engines_pair() {
	local missing=''
	case "--- ${list[*]} " in *"--- cordon-$1 "*) ;; *) missing="cordon run --engine $1" ;; esac
	case "--- ${list[*]} " in *"--- $1 "*) ;; *) missing="$missing${missing:+, }$1's own command" ;; esac
	if [ -n "$missing" ]; then
		say "  ENGINE $1 IS NOT MEASURED: $missing does not work here (see the notes)"
		list=()
		return
	fi
	# gVisor's own command fails once in a while on a busy host.
	measure "engine-$1" -e 2 -n $((rounds / 4 + 1))
}

# ---- runtimes ----

engines_runtime() { # RUNTIME [FLAG…]
	local runtime=$1 path ns=() dir=$work/bundle-$1
	shift
	path=$(command -v "$runtime") || {
		say "  ENGINE $runtime IS NOT MEASURED: it is not installed"
		note "$runtime: not installed"
		return
	}
	mkdir -p "$dir"
	"$cordon" run -- cat /proc/mounts | python3 "$here/bundle.py" "$dir" "$([ "$runtime" = runsc ] && echo gvisor)" || return
	if [ "$runtime" = crun ] && { [ -n "$holder" ] || hide_unified; }; then
		ns=(-m "/proc/$holder/ns/mnt")
		note 'crun: in a mount namespace without the unified cgroup tree, since it refuses hybrid hosts'
	fi
	add "cordon-$runtime" "$cordon" run --engine "$runtime" -- /bin/true
	add "$runtime" "${ns[@]}" "$path" "$@" run --bundle "$dir" "bench-$runtime-$$"
	engines_pair "$runtime"
}

# ---- daemons ----

# engines_wait SOCKET PID: until the daemon answers; 1 where it does not.
engines_wait() {
	for _ in $(seq 300); do
		! curl -s -f -m 5 --unix-socket "$1" http://d/_ping >/dev/null 2>&1 || return 0
		kill -0 "$2" 2>/dev/null || return 1
		sleep 0.1
	done
	return 1
}

# The image: busybox, with a place for everything that a box mounts.
engines_image() { # SOCKET
	local root=$work/engine-root
	if [ ! -d "$root" ]; then
		mkdir -p "$root/bin" "$root/proc" "$root/dev" "$root/tmp" "$root/home/agent" "$root/etc" "$root/.cordon"
		cp "$(command -v busybox)" "$root/bin/busybox" && ln -s busybox "$root/bin/true" && ln -s busybox "$root/bin/sh"
		: >"$root/.cordon/init"
	fi
	tar -C "$root" -c . | curl -s -f -m 60 --unix-socket "$1" -X POST -H 'Content-Type: application/x-tar' --data-binary @- \
		'http://d/v1.41/images/create?fromSrc=-&repo=cordon-bench' >/dev/null
}

# engines_daemon ENGINE SOCKET COMMAND…: started, with the image in it.
engines_daemon() {
	local engine=$1 socket=$2
	shift 2
	env -C "$work" "$@" >"$work/$engine.log" 2>&1 </dev/null &
	engines_daemons+=("$!")
	if ! engines_wait "$socket" "$!" || ! engines_image "$socket"; then
		say "  ENGINE $engine IS NOT MEASURED: its daemon does not work here"
		note "$engine: its daemon does not work here: $(tail -1 "$work/$engine.log")"
		return 1
	fi
}

# The flags are those of what cordon asks for (src/driver/docker_json.c) with the defaults of a policy.
engines_flags=(--rm --network none --read-only --cap-drop ALL --security-opt no-new-privileges --memory 512m --memory-swap 512m --cpus 1
	--pids-limit 65 --user 1000:1000 --ipc none --ulimit core=1 --hostname cordon --tmpfs /tmp:size=100m --tmpfs /home/agent:size=256m
	--log-driver none)

engines_docker() {
	local socket=$work/docker.sock
	if ! command -v dockerd >/dev/null || ! command -v docker >/dev/null; then
		say '  ENGINE docker IS NOT MEASURED: dockerd or docker is not installed'
		note 'docker: not installed'
		return
	fi
	engines_daemon docker "$socket" dockerd --iptables=false --ip6tables=false --bridge=none --data-root "$work/docker" \
		--exec-root "$work/docker-run" -p "$work/docker.pid" -H "unix://$socket" || return
	export DOCKER_HOST=unix://$socket
	add cordon-docker "$cordon" run --engine docker --image cordon-bench -- /bin/true
	add docker "$(command -v docker)" run "${engines_flags[@]}" cordon-bench /bin/true
	engines_pair docker
	unset DOCKER_HOST
}

engines_podman() {
	local socket=$work/podman.sock podman
	podman=$(command -v podman) || {
		say '  ENGINE podman IS NOT MEASURED: it is not installed'
		note 'podman: not installed'
		return
	}
	# runc: crun refuses hybrid hosts.
	local own=("$podman" --root "$work/podman" --runroot "$work/podman-run" --cgroup-manager cgroupfs --runtime "$(command -v runc)")
	engines_daemon podman "$socket" "${own[@]}" system service --time=0 "unix://$socket" || return
	# Of podman's own command the variable would make a client.
	add cordon-podman /usr/bin/env "CONTAINER_HOST=unix://$socket" "$cordon" run --engine podman --image cordon-bench -- /bin/true
	add podman "${own[@]}" run "${engines_flags[@]}" --ulimit nofile=1024 --ulimit nproc=32768 cordon-bench /bin/true
	engines_pair podman
}

engines() {
	engines_runtime crun
	engines_runtime runc
	engines_runtime runsc --network=none
	engines_docker
	engines_podman
	engines_down
}
