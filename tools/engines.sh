#!/bin/bash
# The table of docs/ENGINES.md: what each engine holds of the tests of a native box, as root: tools/engines.sh [ENGINE…]
# Prints the table and, by name and reason (tools/engines.why), every check that did not hold or was left out (tools/engines.py). Environment: ONLY=egress/ takes the tests of that beginning
# alone; KEEP=DIR keeps what every test said, as DIR/ENGINE/TEST; AT_ONCE=2 runs so many engines beside each other. --tests prints the tests and ends.
# Ends with 0 only where that can stand as it is: every difference has its reason, natively every check held, every test said something. The table is printed all the same.
set -u
cd "$(dirname "$0")/.." || exit 1
# Of promise, limits and egress it is every test but those of what only a native box has: the levels below "container", a root without user
# namespaces, the cases that natively a test of its own looks at, and documents.
native_only=" promise/downgrade promise/hardened promise/subuids promise/commands promise/commands_native promise/run limits/quota egress/docs "
tests=()
for file in tests/promise/*.sh tests/limits/*.sh tests/life/{stdin,deadline}.sh tests/egress/*.sh; do
	name=${file#tests/} name=${name%.sh}
	IFS= read -r first <"$file"
	[[ $first != '#!'* || $native_only == *" $name "* ]] && continue
	case $name in "${ONLY:-}"*) tests+=("$name") ;; esac
done
if [ "${1:-}" = --tests ]; then
	printf '%s\n' "${tests[@]}"
	exit
fi
go=$(command -v go)
make -s all probe ${go:+build/get-go} >/dev/null || exit 1 # what the tests run
# In a mount namespace of our own, private but for cordon's state: what a box is made of is there, for a daemon out here, when a test has another namespace yet.
if [ -z "${ENGINES_APART:-}" ]; then
	exec env ENGINES_APART=1 unshare --mount --propagation private "$PWD/tools/engines.sh" "$@"
fi
mkdir -p /run/cordon && mount -t tmpfs -o mode=700 cordon-engines /run/cordon && mount --make-shared /run/cordon || exit 1
export CORDON=${CORDON:-$PWD/build/cordon}
engines=("$@")
[ $# != 0 ] || engines=(native crun runc docker podman runsc)
# Daemons of our own, for those that need one, with an image of this host's packages that has the clients of the tests of egress, too.
. tests/engine/daemon.sh
DAEMON_IMAGE=cordon-clients
dir=$(mktemp -d)
logs=${KEEP:-$dir/logs}
trap 'daemon_stop "${DOCKER_PID:-}" "$dir"; daemon_stop "${PODMAN_PID:-}" "$dir"; rm -rf "$dir"' EXIT
trap 'exit 143' TERM INT HUP
image() { case $1 in docker | podman) echo "$DAEMON_IMAGE" ;; esac; } # ENGINE: what it needs besides
version() { # ENGINE
	local image
	image=$(image "$1")
	"$CORDON" run --engine "$1" ${image:+--image "$image"} --json -- true | sed -n 's/.*"engine_version": "\(.*\)".*/\1/p'
}
run() { # ENGINE: its tests, one after the other
	local name log
	for name in "${tests[@]}"; do
		log=$logs/$1/$name
		mkdir -p "${log%/*}"
		RACE_SECONDS=12 CORDON_ENGINE=${1/native/} CORDON_ENGINE_IMAGE=$(image "$1") timeout -k 10 900 bash "tests/$name.sh" >"$log" 2>"$log.err" </dev/null
		[ $? != 124 ] || echo "not ok - $name took more than 15 minutes" >>"$log"
	done
}
for engine in "${engines[@]}"; do
	case $engine in docker | podman) "${engine}_start" "$dir" || { echo "$engine does not start: $(tail -5 "$dir/$engine.log")" >&2 && exit 1; } ;; esac
	mkdir -p "$logs/$engine"
	case $engine in native) echo native ;; *) version "$engine" ;; esac >"$logs/$engine/version"
done
for engine in "${engines[@]}"; do
	while [ "$(jobs -rp | grep -vcxF -e "${DOCKER_PID:-0}" -e "${PODMAN_PID:-0}")" -ge "${AT_ONCE:-1}" ]; do sleep 1; done
	run "$engine" &
	running+=($!)
done
wait "${running[@]}"
python3 tools/engines.py "$logs" tools/engines.why "${engines[@]}"
