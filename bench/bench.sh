#!/bin/bash
# The measurements behind `make bench`: bench.sh BUILD_DIR, which holds what mk/bench.mk makes.
#
# Every comparison runs interleaved in one spawn (bench/spawn.c); its times go to BUILD_DIR/*.tsv, and bench/report.py makes the tables and
# pictures. What is not installed or does not work here is told, not left out in silence. As root everything is measured twice,
# as root and as an ordinary user. ROUNDS=N for more or fewer rounds; ONLY=wall (or another part's name) for one part. Its start
# is compared with that of another build, too: of the commit before there was a network (built once, of this repository's history), or BEFORE=PATH.
set -u
build=$(realpath "$1")
here=$(cd "$(dirname "$0")" && pwd)
rounds=${ROUNDS:-200}
nobody=65534

work=$(mktemp -d /tmp/cordon-bench.XXXXXX) || exit 1
holder=''
server=''
cleanup() {
	[ -z "$holder" ] || kill "$holder" 2>/dev/null
	[ -z "$server" ] || kill "$server" 2>/dev/null
	engines_down
	rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM
# An ordinary user need not be able to reach the build directory.
(cd "$build" && cp cordon cordon-egress cordon-egress-tls cordon-image cordon-engine cordon-engine-docker cordon-init cordon-steps floor spawn work true wire serve exec "$work") || exit 1
before_network=78da599
before() { # builds that commit, where its history is here
	local tree=$build/before
	[ -x "$tree/build/release/cordon" ] && echo "$tree/build/release/cordon" && return
	git -C "$here" cat-file -e $before_network 2>/dev/null || return
	echo "  building $before_network, to compare the start with" >&2
	rm -rf "$tree" && mkdir "$tree" && git -C "$here/.." archive $before_network | tar -x -C "$tree" &&
		make -s -C "$tree" V=release build/release/cordon >"$build/before.log" 2>&1 && echo "$tree/build/release/cordon"
}
case ${ONLY:-start} in start) BEFORE=${BEFORE:-$(before)} ;; esac
[ -z "${BEFORE:-}" ] || cp "$BEFORE" "$work/cordon-before" || exit 1
chmod 755 "$work"
cordon=$work/cordon
rm -f "$build"/*.svg "$build"/*.tsv "$build"/held-*.txt "$build"/*.steps "$build/notes"
: >"$build/notes"

as=()       # what puts a command under the user who measures
suffix=root # of the files
list=()     # the commands of one comparison, as spawn wants them

say() {
	printf '%s\n' "$*" >&2
}

note() {
	printf '%s\n' "$*" >>"$build/notes"
}

# add NAME [-m NSFILE] COMMAND ARG…: only if it works here.
add() {
	local complaint
	if ! complaint=$(cd / && "${as[@]}" "$work/spawn" -n 1 "$@" 2>&1 >/dev/null); then
		note "$1 (as $suffix): not measured: $(printf '%s' "$complaint" | head -1)"
		return
	fi
	[ ${#list[@]} -eq 0 ] || list+=(---)
	list+=("$@")
}

# Where Debian has no package it may be here all the same.
add_if() {
	if command -v "$2" >/dev/null 2>&1; then
		local name=$1 path
		path=$(command -v "$2")
		shift 2
		add "$name" "$path" "$@"
	else
		note "$1 (as $suffix): not measured: not installed"
	fi
}

# measure FILE SPAWN-OPTION…
measure() {
	local file=$1
	shift
	say "  $file"
	(cd / && "${as[@]}" "$work/spawn" "$@" "${list[@]}") >"$build/$file.tsv" || note "$file: broken off"
	list=()
}

bwrap=(/usr/bin/bwrap --unshare-all --ro-bind / / --proc /proc --dev /dev --tmpfs /tmp)

# ---- start ----

# A box from an image (busybox and nothing else, in a store of this measurement's own) beside one from the host's root. Both read the
# configuration that names the store.
image() {
	local busybox config=$work/images-$suffix.yaml
	busybox=$(command -v busybox) || { note 'cordon-image: not measured: no busybox'; return; }
	mkdir -p "$work/rootfs/bin" "$work/rootfs/etc" "$work/store-$suffix"
	cp "$busybox" "$work/rootfs/bin/busybox"
	ln -sf busybox "$work/rootfs/bin/true"
	tar -C "$work/rootfs" -cf "$work/rootfs.tar" .
	printf 'version: 1\nimages_dir: %s\n' "$work/store-$suffix" >"$config"
	chmod 700 "$work/store-$suffix"
	[ ${#as[@]} -eq 0 ] || chown "$nobody:$nobody" "$work/store-$suffix"
	"${as[@]}" env CORDON_CONFIG="$config" "$cordon" image import "$work/rootfs.tar" bench >/dev/null 2>>"$build/notes" || return
	export CORDON_CONFIG=$config
	add bare /bin/true
	add cordon "$cordon" run -- /bin/true
	add cordon-image "$cordon" run --image bench -- /bin/true
	measure "image-$suffix" -n "$rounds"
	unset CORDON_CONFIG
}

start() {
	add bare /bin/true
	add bare-static "$work/true"
	add cordon "$cordon" run -- /bin/true
	if [ -n "${BEFORE:-}" ]; then add cordon-before "$work/cordon-before" run -- /bin/true; else say "  no build of cordon without a network: the start is not compared with it"; fi
	add cordon-process "$cordon" run --level process -- /bin/true
	add floor "$work/floor" /bin/true
	add bwrap "${bwrap[@]}" /bin/true
	add_if minijail0 minijail0 -U -v -p -l -e -n --uts -N -r -P / /bin/true
	add_if nsjail nsjail -Mo -Q --chroot / -- /bin/true
	add_if isolate isolate --run -- /bin/true
	measure "start-$suffix" -n "$rounds"

	add bare /bin/true
	add cordon "$cordon" run -- /bin/true
	add bwrap "${bwrap[@]}" /bin/true
	measure "alone-$suffix" -n $((rounds / 8 + 1)) -p 100
}

throughput() {
	add bare /bin/true
	add floor "$work/floor" /bin/true # a box's layers with nothing around them
	add cordon "$cordon" run -- /bin/true
	add bwrap "${bwrap[@]}" /bin/true
	measure "throughput-$suffix" -n 10 -c 50 -j 4
}

# ---- OCI runtimes ----

# A bundle with nothing in it but the static true; the limits are cordon's.
bundle() {
	mkdir -p "$work/bundle/rootfs/proc" "$work/bundle/rootfs/dev" "$work/bundle/rootfs/sys"
	cp "$work/true" "$work/bundle/rootfs/true"
	cat >"$work/bundle/config.json" <<'END'
{ "ociVersion": "1.0.2",
  "process": { "terminal": false, "user": { "uid": 1000, "gid": 1000 }, "args": ["/true"], "env": ["PATH=/"], "cwd": "/",
    "capabilities": {}, "noNewPrivileges": true },
  "root": { "path": "rootfs", "readonly": true }, "hostname": "bench",
  "mounts": [ { "destination": "/proc", "type": "proc", "source": "proc" },
    { "destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "strictatime", "mode=755", "size=64k"] } ],
  "linux": { "namespaces": [ { "type": "pid" }, { "type": "network" }, { "type": "ipc" }, { "type": "uts" }, { "type": "mount" } ],
    "resources": { "memory": { "limit": 536870912 }, "pids": { "limit": 64 } } } }
END
}

# crun refuses hybrid cgroups: it gets a mount namespace in which the unified tree is not to be seen.
hide_unified() {
	grep -q ' /sys/fs/cgroup/unified cgroup2 ' /proc/self/mounts || return 1
	unshare --mount --propagation private sh -c 'umount /sys/fs/cgroup/unified && echo hidden && exec sleep 3600' \
		>"$work/hidden" &
	holder=$!
	for _ in $(seq 100); do
		[ ! -s "$work/hidden" ] || return 0
		sleep 0.02
	done
	return 1
}

oci() {
	local ns=()
	bundle
	if hide_unified; then
		ns=(-m "/proc/$holder/ns/mnt")
		note 'crun: in a mount namespace without the unified cgroup tree, since it refuses hybrid hosts'
	fi
	add bare /bin/true
	add cordon "$cordon" run -- /bin/true
	add crun "${ns[@]}" /usr/bin/crun run --bundle "$work/bundle" "bench-crun-$$"
	add runc "${ns[@]}" /usr/sbin/runc run --bundle "$work/bundle" "bench-runc-$$"
	measure "oci-$suffix" -n $((rounds / 4 + 1))
}

# ---- inside ----

make_tree() {
	local dir=$1
	mkdir -p "$dir/src"
	for i in $(seq 6); do
		{
			echo '#include <stdio.h>'
			echo '#include <stdlib.h>'
			echo '#include <string.h>'
			for k in $(seq 40); do
				echo "int f_${i}_$k(const char *s) { char b[64]; snprintf(b, sizeof(b), \"%s$k\", s); return (int)strlen(b) + abs($k - $i); }"
			done
		} >"$dir/src/file$i.c"
	done
	mkdir -p "$dir/pack"
	for d in $(seq 40); do
		mkdir "$dir/pack/$d"
		for f in $(seq 25); do
			printf '%04096d' "$((d * f))" >"$dir/pack/$d/$f"
		done
	done
	tar -cf "$dir/pack.tar" -C "$dir" pack
	rm -rf "$dir/pack"
}

inside() {
	local box=("$cordon" run --memory 2G --pids 512 --timeout 10m --cpu-time 10m --cpus "$(nproc)")
	# shellcheck disable=SC2016  # for the shell that compiles
	local compile='rm -f *.o && for f in src/*.c; do gcc -O1 -c $f || exit 1; done' unpack='rm -rf pack && tar --no-same-owner -xf pack.tar'
	local dir=$work/tree-$suffix
	make_tree "$dir"
	[ ${#as[@]} -eq 0 ] || chown -R "$nobody:$nobody" "$dir"
	add bare "$work/work" cpu 20000000
	add cordon "${box[@]}" --ro "$work/work:/work" -- /work cpu 20000000
	measure "cpu-$suffix" -o -n 40
	add bare "$work/work" syscall 100000
	add cordon "${box[@]}" --ro "$work/work:/work" -- /work syscall 100000
	measure "syscall-$suffix" -o -n 60
	add bare /bin/sh -c "cd $dir && $compile"
	add cordon "${box[@]}" --rw "$dir:/tree" --workdir /tree -- /bin/sh -c "$compile"
	measure "compile-$suffix" -n 10
	add bare /bin/sh -c "cd $dir && $unpack"
	add cordon "${box[@]}" --rw "$dir:/tree" --workdir /tree -- /bin/sh -c "$unpack"
	measure "unpack-$suffix" -n 20
}

# ---- where the time goes ----

steps() {
	local file=$work/steps-$suffix
	: >"$file"
	chmod 666 "$file"
	say "  steps-$suffix"
	for _ in $(seq $((rounds / 3 + 1))); do
		(cd / && STEPS_OUT=$file "${as[@]}" "$work/cordon-steps" run -- /bin/true </dev/null)
	done
	cp "$file" "$build/$suffix.steps"
}

. "$here/wall.sh"
. "$here/engines.sh"
. "$here/exec.sh"

part() {
	case ${ONLY:-$1} in "$1") "$1" ;; esac
}

everything() {
	part start
	part image
	part throughput
	part inside
	part steps
	part wall
}

say "measuring, $rounds rounds; a quiet machine measures better"
note "load at the start: $(cut -d' ' -f1-3 /proc/loadavg)"
if [ "$(id -u)" -eq 0 ]; then
	everything
	part oci
	part engines
	case ${ONLY:-exec} in exec) living ;; esac
	suffix=user
	as=(setpriv "--reuid=$nobody" "--regid=$nobody" --clear-groups --)
	everything
else
	suffix=user
	everything
fi
note "load at the end: $(cut -d' ' -f1-3 /proc/loadavg)"
python3 "$here/report.py" "$build"
