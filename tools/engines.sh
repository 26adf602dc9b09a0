#!/bin/bash
# The table of docs/ENGINES.md: what each engine holds of the tests of a native box, from a run, as root: tools/engines.sh [ENGINE…]
# ONLY=egress/ takes the tests of that beginning alone. A test counts with how many of its checks held; what is left are the differences that the page speaks of.
set -u
cd "$(dirname "$0")/.." || exit 1
export CORDON=${CORDON:-$PWD/build/cordon}
engines=("${@:-native}")
[ $# != 0 ] || engines=(native crun runc)
tests=(promise/view promise/writes promise/proc promise/environment promise/fds promise/identity promise/syscalls promise/namespaces
	promise/processes promise/sockets promise/network promise/setuid promise/mounts promise/protect promise/copy_in promise/copy_out
	limits/memory limits/time limits/processes limits/output limits/disk life/stdin life/deadline
	egress/names egress/address egress/dns egress/tls egress/http egress/inspect egress/secrets egress/relay egress/limits egress/report egress/clients)
# Daemons of our own, for those that need one, with an image of this host's packages.
. tests/engine/daemon.sh
dir=$(mktemp -d)
trap 'daemon_stop "${DOCKER_PID:-}" "$dir"; daemon_stop "${PODMAN_PID:-}" "$dir"; rm -rf "$dir"' EXIT
image() { case $1 in docker | podman) echo "$DAEMON_IMAGE" ;; esac; } # ENGINE: what it needs besides
version() { # ENGINE
	local image
	image=$(image "$1")
	"$CORDON" run --engine "$1" ${image:+--image "$image"} --json -- true | sed -n 's/.*"engine_version": "\(.*\)".*/\1/p'
}
for engine in "${engines[@]}"; do
	case $engine in docker | podman) "${engine}_start" "$dir" || exit 1 ;; esac
done
held() { # ENGINE TEST: "held" or "12 of 15"
	local log
	log=$(CORDON_ENGINE=${1/native/} CORDON_ENGINE_IMAGE=$(image "$1") timeout 900 bash "tests/$2.sh" 2>/dev/null)
	awk '/^ok/ { good++ } /^not ok/ { bad++ } END { if (bad) printf "%d of %d\n", good, good + bad; else print good ? "held" : "nothing ran" }' <<<"$log"
}
printf '| test |'
for engine in "${engines[@]}"; do
	if [ "$engine" = native ]; then printf ' native |'; else printf ' %s |' "$(version "$engine")"; fi
done
printf '\n|---|'
printf -- '---|%.0s' "${engines[@]}"
echo
for name in "${tests[@]}"; do
	case $name in "${ONLY:-}"*) ;; *) continue ;; esac
	printf '| tests/%s.sh |' "$name"
	for engine in "${engines[@]}"; do printf ' %s |' "$(held "$engine" "$name")"; done
	echo
done
