#!/bin/bash
# Never weaker in silence: where a layer cannot be had, nothing runs, and the error says which, why and what to do. --degrade is
# the only way around, and it shows in the result.
. "$(dirname "$0")/../lib.sh"
levels container process
without=$(dirname "$PROBE")/without
lacking() { # WHAT FLAG… -- COMMAND: on a host without that
	local what=$1
	shift
	timeout 60 "$without" "$what" -- "$CORDON" run --level "$LEVEL" "$@"
}
# refusal WHAT PATTERN: nothing starts; the reason is told with a hint.
refusal() {
	lacking "$1" -- sh -c 'echo started' >"$WORK/out" 2>"$WORK/err"
	is "$? $(cat "$WORK/out")" "125 " "without $1: nothing runs"
	like "$(cat "$WORK/err")" "$2" "without $1: the error says what is missing"
	like "$(cat "$WORK/err")" 'hint:' "without $1: and what to do"
	lacking "$1" --json -- sh -c 'echo started' >"$WORK/.result" 2>/dev/null
	isnt "$(field error.message)" "" "without $1: in JSON, too"
	is "$(field stdout)" "" "without $1: nothing ran there either"
}
# A host without user namespaces: a pass of its own in all.sh.
if [ "$LEVEL" = container ] && [ "$ME" = user ] && [ "$(cat /proc/sys/user/max_user_namespaces)" = 0 ]; then
	box -- sh -c 'echo started' >"$WORK/out" 2>"$WORK/err"
	is "$? $(cat "$WORK/out")" "125 " "without user namespaces nothing runs"
	like "$(cat "$WORK/err")" max_user_namespaces "the error names the setting"
	like "$(cat "$WORK/err")" 'hint:.*(sysctl|--level process)' "and what to do"
	refused "--degrade userns does not help an ordinary user" box --degrade userns -- true
	is "$(timeout 60 "$CORDON" run --level process -- echo fine)" fine "control: process level works"
	like "$("$CORDON" doctor 2>&1)" max_user_namespaces "doctor says the same"
	done_testing
fi
is "$(lacking 999=38 -- echo fine)" fine "control: on a host that lacks nothing it runs"
is "$(lacking clone3 -- echo fine)" fine "without clone3, as in a container, it runs"
is "$(lacking keyctl -- echo fine)" fine "without keyrings it runs"
refusal landlock Landlock
refusal landlock-none Landlock
refusal seccomp seccomp
if [ "$LEVEL" = process ]; then
	is "$(lacking namespaces -- echo fine)" fine "process level needs no namespaces"
	refused "and cannot do without Landlock" lacking landlock --degrade landlock -- true
	refused "nor without seccomp" lacking seccomp --degrade seccomp -- true
	# What it cannot hold it refuses.
	mkdir "$WORK/given"
	for flags in "--rw $WORK/given --protect x" "--rw $WORK/given --protect $WORK/given/x" "--ro $WORK/given:/x" "--tmpfs /x:1M" "--commands true" \
		"--root $WORK/given" "--require userns" "--require netns"; do
		# shellcheck disable=SC2086 # words
		refused "refused: ${flags//$WORK/WORK}" box $flags -- true
	done
else
	refusal namespaces 'namespace'
	refusal mounts '.'
	# With --degrade: it runs, and says so.
	for layer in landlock seccomp; do
		lacking $layer --degrade $layer --json -- echo started >"$WORK/.result" 2>/dev/null
		is "$(field stdout)" started "--degrade $layer: it runs"
		is "$(field isolation.degraded)" $layer "--degrade $layer: the result says so"
		unlike "$(field isolation.layers)" "$layer" "--degrade $layer: it is not among the layers"
		box --degrade $layer --json -- echo started >"$WORK/.result" 2>/dev/null
		is "$(field isolation.degraded)" "" "--degrade $layer where it can be had takes nothing away"
		like "$(field isolation.layers)" "$layer" "--degrade $layer where it can be had: it is among the layers"
		refused "--degrade of another layer does not help against a missing $layer" lacking $layer --degrade netns -- true
	done
	for layer in mountns pidns no_new_privs rlimits nonsense; do
		refused "--degrade $layer is no choice" box --degrade $layer -- true
	done
	# What is degraded can be refused by policy.
	printf 'version: 1\n' >"$WORK/p.yaml"
	refused "a request cannot degrade a policy" box --policy "$WORK/p.yaml" --degrade landlock -- true
fi
# Other levels are not there, and not replaced.
for level in vm wasm; do
	"$CORDON" run --level $level -- sh -c 'echo started' >"$WORK/out" 2>"$WORK/err"
	isnt "$? $(cat "$WORK/out")" "0 started" "level $level is not replaced by another"
	like "$(cat "$WORK/err")" 'not built in' "level $level: the error says so"
done
# No namespaces of one kind at all: the sysctl of a user namespace of our own, so that the host's stays as it is.
if [ "$ME" = user ] && [ "$LEVEL" = container ]; then
	none() { # KIND COMMAND…
		unshare --user --map-user="$(id -u)" --map-group="$(id -g)" --keep-caps sh -c \
			'echo 0 >/proc/sys/user/max_$0_namespaces && exec setpriv --inh-caps=-all --ambient-caps=-all "$@"' "$@"
	}
	if none user true 2>/dev/null; then
		for kind in user cgroup net; do
			none $kind "$CORDON" run -- sh -c 'echo started' >"$WORK/out" 2>"$WORK/err"
			is "$? $(cat "$WORK/out")" "125 " "max_${kind}_namespaces 0: nothing runs"
			like "$(cat "$WORK/err")" "max_${kind}_namespaces" "the error names the setting"
		done
		for kind in cgroup net; do
			none $kind "$CORDON" run --degrade ${kind}ns --json -- echo started >"$WORK/.result" 2>/dev/null
			is "$(field stdout) $(field isolation.degraded)" "started ${kind}ns" "--degrade ${kind}ns: it runs, and the result says so"
			unlike "$(field isolation.layers)" "${kind}ns" "--degrade ${kind}ns: it is not among the layers"
		done
	else
		skip "max_user_namespaces 0" "no user namespace to try it in"
	fi
fi
# Without a user namespace the kernel does not keep a box's mounts from a host whose own are shared: here a host of our own, which has none.
if [ "$ME" = root ] && [ "$LEVEL" = container ]; then
	mkfifo "$WORK/go"
	# shellcheck disable=SC2016 # for that shell
	unshare --user --mount --keep-caps sh -c 'read -r _ <"$1"
		mount --make-rshared / && echo 0 >/proc/sys/user/max_user_namespaces || exit
		before=$(wc -l </proc/self/mountinfo)
		"$2" run --degrade userns --json -- sh -c "echo started" >"$3/.result" 2>&1
		echo "$? $(($(wc -l </proc/self/mountinfo) - before))" >"$3/left"
		mount -t tmpfs x /mnt && echo $(($(wc -l </proc/self/mountinfo) - before)) >"$3/control"' sh "$WORK/go" "$CORDON" "$WORK" &
	for map in uid_map gid_map; do
		for _ in $(seq 50); do
			[ -z "$(cat /proc/$!/$map)" ] || break
			echo '0 0 4294967295' >"/proc/$!/$map" 2>/dev/null || sleep 0.05
		done
	done
	echo go >"$WORK/go"
	wait $!
	is "$(field stdout)" started "--degrade userns: it runs, also where mounts are shared"
	is "$(field isolation.degraded)" userns "--degrade userns: the result says so"
	is "$(cat "$WORK/left")" "0 0" "--degrade userns: no mount of the box is the host's"
	is "$(cat "$WORK/control")" 1 "control: a mount there is seen"
fi
# The result tells what really held.
result -- true
want="landlock no_new_privs rlimits seccomp"
[ "$LEVEL" = process ] || want="$want cgroupns ipcns mountns netns pidns userns utsns"
is "$(field isolation.layers | grep -vx cgroup | sort | xargs)" "$(echo "$want" | tr ' ' '\n' | sort | xargs)" "the layers of the result"
is "$(field isolation.level)" "$LEVEL" "the level of the result"
if [ "$(field isolation.limit_source)" = cgroup ]; then
	ok "--require cgroup where there is one" box --require cgroup -- true
else
	refused "--require cgroup where there is none" box --require cgroup -- true
fi
done_testing
