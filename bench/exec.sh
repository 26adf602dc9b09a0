# shellcheck shell=bash disable=SC2154
# What a job costs in a box that lives, against `docker exec` in a container that runs; sourced by bench.sh, whose words it uses. The daemon is
# this measurement's own, as in engines.sh. As root.
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
	docker run --detach --name bench-exec "${engines_flags[@]}" cordon-bench /bin/sh -c 'while :; do sleep 1000; done' >/dev/null 2>>"$build/notes" || return
	list+=(--- cordon-docker @docker=image:cordon-bench --- docker-exec "$(command -v docker)" exec bench-exec /bin/true)
}

living() {
	list=(bare /bin/true --- cordon-native @native --- cordon-crun @crun --- cordon-runc @runc)
	exec_docker
	say '  exec'
	(cd / && "$work/exec" -n "$rounds" "${list[@]}") >"$build/exec.tsv" 2>>"$build/notes" || note 'exec: broken off'
	list=()
	if [ -n "${DOCKER_HOST:-}" ]; then
		docker rm --force bench-exec >/dev/null 2>&1
		unset DOCKER_HOST
	fi
	engines_down
}
