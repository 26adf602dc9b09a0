#!/bin/bash
# What differs on a host with cgroup v2 alone and kernel 6.1: limits in the unified tree or, where nothing is delegated, by watch; what a
# killed keeper leaves there; Landlock without scopes; idmapped mounts that not every file system has. Run by suite.sh, in the guest.
. "$(dirname "$0")/../lib.sh"
levels container process
v2=/sys/fs/cgroup
[ -e $v2/cgroup.controllers ] || skip_all "no cgroup v2 alone"
if ! touch "$v2/$(sed 's/^0:://' /proc/self/cgroup)/cgroup.procs" 2>/dev/null; then want=watch; else want=cgroup; fi
note "$(id -un): limits by $want"

result --memory 300M -- true
expect "limits come from $want" status=success "isolation.limit_source=$want"
like "$("$CORDON" doctor)" "$LEVEL" "doctor has an answer"
ok "and this level works by it" "$CORDON" doctor

# ---- what stands in the unified tree while a box runs ----
# the_box SECONDS: the cgroup of the box whose payload sleeps for this long.
the_box() {
	local pid
	pid=$(pgrep -xf "sleep $1") && echo "$v2$(sed 's/^0:://' "/proc/$pid/cgroup")"
}
limit_of() { # DIR FILE: the nearest one upwards that says something
	local dir=$1
	while [ "$dir" != $v2 ]; do
		if [ -e "$dir/$2" ] && ! grep -q '^max' "$dir/$2"; then
			cat "$dir/$2"
			return
		fi
		dir=${dir%/*}
	done
}
# Joining a group waits for a grace period, milliseconds; being born in one does not. Who cannot be is forked and joins: forks of a run, the keeper's
# among them, and births that were refused. Arguments of a user's init cannot be read.
births() {
	strace -f -e trace=clone3,clone,fork,vfork -o "$WORK/births" "$CORDON" run --level "$LEVEL" -- true
	echo "$(grep -cE ' (v?fork|clone)\(' "$WORK/births") $(grep -cE 'clone3.* = -1' "$WORK/births")"
}
if [ $want = cgroup ]; then
	"$CORDON" run --level "$LEVEL" --memory 64M --disk 32M --tmp 16M --pids 20 --cpus 0.5 --timeout 100s -- sh -c 'sleep 98.7; true' &
	front=$!
	defer kill "$front"
	ok "a box in a cgroup of its own" until_true 30 the_box 98.7
	dir=$(the_box 98.7)
	note "$dir"
	is "$(limit_of "$dir" memory.max)" $((64 << 20)) "memory.max"
	is "$(limit_of "$dir" memory.swap.max)" 0 "memory.swap.max"
	like "$(limit_of "$dir" pids.max)" '^2[0-9]$' "pids.max"
	like "$(limit_of "$dir" cpu.max)" '^[0-9]+ [0-9]+$' "cpu.max"
	read -r quota period < <(limit_of "$dir" cpu.max)
	is $((quota * 10 / period)) 5 "of half a CPU"
	unlike "$(cat "/proc/$front/cgroup")" "${dir##*/}\$" "the front is not in it"

	is "$(births)" "1 0" "the payload is born in its group"

	# Of the file that everybody may write to, so that inits can do that, nobody gains anything: neither from outside nor from among them.
	if [ "$ME$LEVEL" = rootcontainer ]; then
		somebody=(setpriv --reuid=65534 --regid=65534 --clear-groups)
		go() { "${somebody[@]}" sh -c 'echo 0 >"$0/cgroup.procs"' "$1" 2>/dev/null && echo went; }
		is "$(stat -c %a $v2/cordon/cgroup.procs) $(stat -c %a $v2/cordon/init/cgroup.procs)" "666 644" "control: one of them is everybody's"
		for to in $v2/cordon $v2/cordon/init "$dir"; do
			isnt "$(go "$to")" went "from outside nobody gets to ${to#$v2}"
		done
		isnt "$("${somebody[@]}" sh -c 'echo "$1" >"$0/cordon/cgroup.procs" && echo went' $v2 "$(pgrep -xf 'sleep 98.7')" 2>/dev/null)" went "nor takes anybody out"
		among() { sh -c 'echo 0 >"$0/cordon/init/cgroup.procs" && exec "$@"' "$v2" "$@"; }
		is "$(among "${somebody[@]}" sed 's/^0:://' /proc/self/cgroup)" /cordon/init "control: somebody is among the inits"
		for to in $v2/cordon $v2 "$dir"; do
			isnt "$(among "${somebody[@]}" sh -c 'echo 0 >"$0/cgroup.procs" && echo went' "$to" 2>/dev/null)" went "and gets no further: ${to#$v2}"
		done
		is "$(among sh -c 'echo 0 >"$0/cgroup.procs" && echo went' "$dir")" went "control: root does"
	fi

	# Front and keeper at once, so that neither can undo for the other.
	keeper=$(pgrep -P "$front" | head -n 1)
	kill -9 "$front" "$keeper"
	ok "front and keeper killed: the payload ends" until_true 30 bash -c '! pgrep -xf "sleep 98.7"'
	result -- true
	ok "and the next run sweeps the cgroup" until_true 20 test ! -e "$dir"

	result --cpus 0.2 -- timeout 2 sh -c 'while :; do :; done'
	share=$(python3 -c 'import json, sys; r = json.load(open(sys.argv[1])); print(int(100 * r["cpu_ms"] / r["wall_ms"]))' "$WORK/.result")
	like "$share" '^[1-4]?[0-9]$' "a fifth of a CPU is much less than one ($share %)"
	result --memory 64M --disk 48M -- sh -c 'head -c 40M /dev/zero >/tmp/f; head -c 40M /dev/zero | tail -c 40M | wc -c'
	[ "$LEVEL" = process ] || expect "files in memory count" status=resource_exceeded limit=memory
else
	is "$(find $v2 -type d -name '*cordon-*' 2>/dev/null)" "" "nothing was made in the host's tree"
	is "$(births)" "2 0" "control: without a group the payload is forked"
	result --require cgroup -- true
	expect "--require cgroup refuses, with a remedy" status=failed error.code=unavailable 'error.hint=~.'
fi
result --memory 64M --timeout 40s -- python3 -c 'x = bytearray(b"x") * (300 << 20); print(len(x))'
if [ $want = cgroup ]; then
	expect "too much memory is told by the kernel's account" status=resource_exceeded limit=memory stdout= 'memory_peak_bytes=<70000000'
else
	expect "too much memory ends it" 'status=~^(error|resource_exceeded)$' stdout=
fi
result --pids 10 -- python3 -c 'import os, time
for i in range(30):
    if os.fork() == 0:
        time.sleep(30)
        os._exit(0)
print("all")'
expect "too many processes fail" 'status=~^(error|resource_exceeded)$' stdout=
result --cpu-time 1s --timeout 40s -- sh -c 'while :; do :; done'
expect "CPU time is bounded" status=resource_exceeded limit=cpu_time

# ---- files of the host's ----
if can_rw; then
	mkdir "$WORK/disk" "$WORK/memory"
	places=("$WORK/disk")
	if [ "$ME" = root ] && mount -t tmpfs tmpfs "$WORK/memory"; then
		defer umount "$WORK/memory"
		places+=("$WORK/memory")
	fi
	for dir in "${places[@]}"; do
		type=$(stat -f -c %T "$dir")
		result --rw "$dir" -- sh -c 'echo hello >"$0/file" && chmod 600 "$0/file" && cat "$0/file"' "$dir"
		if [ "$(field status)" = failed ]; then
			# Idmapped mounts of tmpfs came with 6.3; without them root's box cannot write as its owner, and that is said.
			expect "--rw on $type is refused with a reason" error.code=unavailable 'error.message=~.' 'error.hint=~.'
			[ "$type" = tmpfs ] || fail "--rw on $type works for $ME" "$(field error.message)"
			continue
		fi
		expect "--rw on $type" status=success stdout=$'hello\n'
		is "$(stat -c %u:%g:%a "$dir/file")" "$(id -u):$(id -g):600" "what it wrote there belongs to the caller"
	done
fi
done_testing
