#!/bin/bash
# What `make test-vm` runs inside the guest, once for each user: first that the guest is what it should be, then what differs on this
# kernel and with cgroup v2 alone. Prints TAP; the host counts. The argument is the user of run.sh: root, tester or tester-nodelegate.
#
# Starting a program takes some 80 ms in an emulated machine, so the files are chosen: those whose subject is the kernel's, and of them those that
# take seconds. VM_TESTS="promise/setuid limits/memory" runs others instead, VM_TESTS=all everything, which takes an hour.
# shellcheck disable=SC2317 # check() calls the functions
set -u

who=$1
failed=0

check() {
	local name=$1 why
	shift
	if why=$("$@" 2>&1); then
		echo "ok - vm $who: $name${why:+ ($why)}"
	else
		failed=1
		echo "not ok - vm $who: $name"
		printf '%s\n' "$why" | sed 's/^/# /'
	fi
}

kernel() { uname -r; }
user() { id -un && [ "$(id -un)" = "${who%%-*}" ]; }
cgroup_v2_only() { ! grep -q ' - cgroup ' /proc/self/mountinfo && [ "$(wc -l < /proc/self/cgroup)" = 1 ]; }

controllers() {
	local c have
	have=$(cat "/sys/fs/cgroup$(sed 's/^0:://' /proc/self/cgroup)/cgroup.controllers")
	echo "$have"
	for c in cpu io memory pids; do
		[[ " $have " == *" $c "* ]] || return 1
	done
}

# A limited child of the user's own subtree, with a process in it: what a run needs from delegation.
own_cgroup() {
	local base box
	base=/sys/fs/cgroup$(sed 's/^0:://' /proc/self/cgroup)
	box=${base%/*}/check
	mkdir "$box" && echo 64M > "$box/memory.max" && echo 8 > "$box/pids.max" &&
		bash -c "echo \$\$ > $box/cgroup.procs && cat /proc/self/cgroup" && rmdir "$box"
}
no_cgroup() {
	local base
	base=/sys/fs/cgroup$(sed 's/^0:://' /proc/self/cgroup)
	! mkdir "$base/check" 2> /dev/null && ! mkdir "${base%/*}/check" 2> /dev/null
}

landlock() { python3 -c 'import ctypes, sys; v = ctypes.CDLL(None).syscall(444, None, 0, 1); print("ABI", v); sys.exit(v < 1)'; }
namespaces() { unshare --user --map-root-user --mount --pid --net --ipc --uts --cgroup --fork true; }
python() { python3 -c 'import hashlib, json, platform; print(platform.python_version())'; }
loopback() {
	python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); socket.create_connection(s.getsockname(), 5)'
}
scratch() { local f; f=$(mktemp) && rm "$f" && touch "$HOME/check" && rm "$HOME/check"; }

check kernel kernel
check "the user" user
check "cgroup v2 only" cgroup_v2_only
check "cgroup controllers" controllers
if [ "$who" = tester-nodelegate ]; then
	check "no cgroup of its own" no_cgroup
else
	check "a cgroup of its own" own_cgroup
fi
check landlock landlock
check namespaces namespaces
check python3 python
check loopback loopback
check "scratch space" scratch

if [ -x build/cordon ]; then
	check "cordon starts" build/cordon --version
else
	echo "ok - vm $who: cordon starts # SKIP build/cordon is not built"
fi
export TEST_TIMEOUT=${TEST_TIMEOUT:-240}
run() { # LEVEL NAME…
	local level=$1
	shift
	CORDON_LEVEL=$level tests/run.sh --tap --label "vm $who, $level" "${@/%/.sh}" || failed=1
}
case $who in
root)
	container=(vm/cgroup2 promise/{identity,mounts,namespaces,network,syscalls} limits/{source,quota} egress/names vm/{engines,docker,podman,engine_net})
	process=(vm/cgroup2) ;;
tester)
	container=(vm/cgroup2 promise/{identity,cgroup} limits/{source,processes} egress/names vm/engines engine/rootless)
	process=(promise/writes vm/cgroup2) ;;
*)
	container=(vm/{cgroup2,engines} promise/processes limits/source)
	process=() ;;
esac
if [ "${VM_TESTS:-}" = all ]; then
	mapfile -t container < <(printf '%s\n' tests/{promise,limits,life,programs}/*.sh | sed 's|^tests/||; s|\.sh$||' | grep -vE '/(run|lib)$')
	process=("${container[@]}")
elif [ -n "${VM_TESTS:-}" ]; then
	read -ra container <<<"$VM_TESTS"
	process=()
fi
run container "${container[@]/#/tests/}"
[ ${#process[@]} = 0 ] || run process "${process[@]/#/tests/}"
exit $failed
