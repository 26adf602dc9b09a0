# shellcheck shell=bash disable=SC2154
# What a job costs in a box that lives, against `docker exec` in a container that runs, and `podman exec`; sourced by bench.sh, whose words it
# uses. The daemons are this measurement's own, as in engines.sh. As root.
own_podman=()
exec_docker() {
	local socket=$work/docker.sock
	if ! command -v dockerd >/dev/null || ! command -v docker >/dev/null; then
		say '  docker exec IS NOT MEASURED: dockerd or docker is not installed'
		note 'docker exec: not installed'
		return
	fi
	engines_daemon docker "$socket" dockerd --iptables=false --ip6tables=false --bridge=none --data-root "$work/docker" \
		--exec-root "$work/docker-run" -p "$work/docker.pid" -H "unix://$socket" || return
	export DOCKER_HOST=unix://$socket
	docker run --detach --name bench-exec "${engines_flags[@]}" cordon-bench /bin/busybox sleep 1000000 >/dev/null 2>>"$build/notes" || return
	list+=(--- cordon-docker @docker=image:cordon-bench --- docker-exec "$(command -v docker)" exec bench-exec /bin/true)
}

exec_podman() {
	local socket=$work/podman.sock podman
	podman=$(command -v podman) || {
		say '  podman exec IS NOT MEASURED: it is not installed'
		note 'podman exec: not installed'
		return
	}
	# runc: crun refuses hybrid hosts.
	own_podman=("$podman" --root "$work/podman" --runroot "$work/podman-run" --cgroup-manager cgroupfs --runtime "$(command -v runc)")
	engines_daemon podman "$socket" "${own_podman[@]}" system service --time=0 "unix://$socket" || return
	# Of podman's own command the variable would make a client.
	"${own_podman[@]}" run --detach --name bench-exec "${engines_flags[@]}" --ulimit nofile=1024 --ulimit nproc=32768 cordon-bench \
		/bin/busybox sleep 1000000 >/dev/null 2>>"$build/notes" || return
	export CONTAINER_HOST=unix://$socket
	list+=(--- cordon-podman @podman=image:cordon-bench --- podman-exec /usr/bin/env -u CONTAINER_HOST "${own_podman[@]}" exec bench-exec /bin/true)
}

living() {
	list=(bare /bin/true --- cordon-native @native --- cordon-crun @crun --- cordon-runc @runc --- cordon-runsc @runsc)
	exec_docker
	exec_podman
	say '  exec'
	(cd / && "$work/exec" -n "$rounds" "${list[@]}") >"$build/exec.tsv" 2>>"$build/notes" || note 'exec: broken off'
	list=()
	if [ -n "${DOCKER_HOST:-}" ]; then
		docker rm --force bench-exec >/dev/null 2>&1
		unset DOCKER_HOST
	fi
	if [ ${#own_podman[@]} != 0 ]; then
		unset CONTAINER_HOST
		"${own_podman[@]}" rm --force --time 0 bench-exec >/dev/null 2>&1
	fi
	engines_down
}
