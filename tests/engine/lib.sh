# shellcheck shell=bash
# What a box of another engine is held to; tests/engine/NAME.sh says which. `oci` runs all of it for a runtime, daemons.sh for daemons.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
levels container
need python3 busybox
[ "$ME" = root ] || [ "${HAS_DAEMON:-}" ] || [ "${CORDON_GROUPS:-}" ] || skip_all "for an ordinary user tests/engine/user.sh makes groups, and then calls this"
containers=/run/cordon-engine
[ "$ME" = root ] || containers=${XDG_RUNTIME_DIR:+$XDG_RUNTIME_DIR/cordon-engine} containers=${containers:-/tmp/cordon-engine-$(id -u)}
FLAGS=() # of every run

gvisor() { [ "$ENGINE" = runsc ]; } # a kernel of its own: no Landlock, no listeners, and the host does not see its processes
orphans() { # of names that end in an owner's, those whose keeper is gone: other boxes of this host are nobody's business
	local path pid
	while read -r path; do
		pid=${path##*/cordon-}
		[ -e "/proc/${pid%%-*}" ] || echo "$path"
	done
}
left() { # what is left of a container: directories, groups, processes, mounts
	{
		find "$containers" -mindepth 1 -maxdepth 1 -name 'cordon-*'
		find /sys/fs/cgroup -mindepth 1 -maxdepth 4 -type d -name 'cordon-[0-9]*'
	} 2>/dev/null | orphans
	pgrep -af '^runsc-(sandbox|gofer) ' | sed -n 's|.*\(/cordon-[0-9]*-[0-9]*-[0-9a-f]*\).*|\1|p' | orphans
	ps -eo stat=,pid=,ppid=,comm= | while read -r state pid parent name; do # of our drivers, those that no keeper and no test has
		case $state$name in Z*) ;; *cordon-engine*)
			[ "$(dirname "$(readlink "/proc/$pid/exe")")" != "$(dirname "$(realpath "$CORDON")")" ] ||
				grep -qE '^(cordon|python)' "/proc/$parent/comm" 2>/dev/null || echo "$name $pid" ;;
		esac
	done
	sed -n 's|^[^ ]* \([^ ]*/cordon-[0-9]*-[0-9]*-[0-9a-f]*\).*|\1|p' /proc/mounts | orphans
}
# until_gone DESC: what is there now is gone within a few seconds. Other boxes of this host are nobody's business: $before is what was there,
# and what comes meanwhile is somebody else's.
until_gone() {
	local still
	alone
	still=$(left | sort | comm -13 <(echo "$before") -)
	for _ in $(seq 100); do
		[ "$still" ] || break
		sleep 0.1
		still=$(left | sort | comm -12 <(echo "$still") -)
	done
	is "$still" "" "$1"
	together
}

statuses() {
	result -- sh -c 'echo out; echo err >&2; exit 7'
	is "$RESULT_STATUS $(field status) $(field exit_code) $(field stdout) $(field stderr)" "7 error 7 out err" "an exit code, and both streams"
	is "$(field isolation.engine)" "$ENGINE" "the result names the engine"
	like "$(field isolation.engine_version)" "^$ENGINE [0-9]" "and its version"
	is "$(field isolation.layers | tr '\n' ' ')" "$LAYERS" "with every layer that it has"
	gvisor && like "$(field isolation.engine_version)" '\((systrap|ptrace|kvm)\)$' "and how it catches calls"
	status 137 "a signal" box -- sh -c 'kill -KILL $$'
	result --timeout 1s -- sh -c 'trap "" TERM; sleep 30'
	is "$RESULT_STATUS $(field status) $(field limit)" "124 timeout wall_time" "the deadline"
	result --timeout 1s --grace 5s -- sh -c 'trap "echo bye; exit 3" TERM; while :; do sleep 0.05; done'
	is "$(field status) $(field stdout)" "timeout bye" "with grace it hears SIGTERM first"
	result --memory 64M -- python3 -c 'x = bytearray(200 << 20)'
	is "$(field status) $(field limit)" "resource_exceeded memory" "memory"
	if gvisor; then # whose clock goes on while it is held back
		result --cpus 0.2 --cpu-time 1s --timeout 40s -- python3 -c 'while True: pass'
		is "$(field status) $(field limit)" "resource_exceeded cpu_time" "CPU time is what was used, also of a share"
		expect "and what is told" 'cpu_ms=>950' 'cpu_ms=<1500'
	elif [ -z "${HAS_DAEMON:-}" ]; then
		is "$(box -- python3 -c 'import ctypes; n = 0
while ctypes.CDLL(None).inotify_init() >= 0: n += 1
print(n)')" 32 "instances of inotify: a share of the caller's"
	fi
	result --output 10K -- head -c 1000000 /dev/zero
	is "$(field status) $(field limit) $(field stdout_truncated)" "resource_exceeded output true" "output"
	result --cpu-time 300ms -- sh -c 'while :; do :; done'
	is "$(field status) $(field limit)" "resource_exceeded cpu_time" "CPU time"
	result --pids 8 -- python3 -c 'import os, time
for i in range(20):
    if os.fork() == 0: time.sleep(2); os._exit(0)'
	# gVisor counts them itself, and tells nobody but who asks for one more
	is "$(field status) $(field limit)" "$(gvisor && echo 'error ' || echo resource_exceeded processes)" "processes"
	result --timeout 30s -- python3 -c 'import os, time
for i in range(8):
    if os.fork() == 0:
        os.setsid()
        while True:
            try:
                if os.fork(): os._exit(0)
            except OSError: pass
            time.sleep(0.001)'
	is "$(field status) $(field exit_code)" "success 0" "what goes on forking ends with the payload"
	result --disk 1M --tmp 256K -- sh -c 'head -c 4M /dev/zero >/tmp/x'
	is "$(field status) $(field limit)" "resource_exceeded disk" "disk"
	result -- no-such-program
	is "$RESULT_STATUS $(field status) $(field error.code)" "127 denied not_found" "a program that is not there"
	result -- python3 -c 'import ctypes; ctypes.CDLL(None).mount(None, b"/tmp", b"tmpfs", 0, None)'
	if gvisor; then is "$(field denials)" "" "a refused call is not told"; else like "$(field denials.0.what)" "mount" "a refused call is told"; fi
	is "$(seq 100000 | box -- md5sum)" "$(seq 100000 | md5sum)" "input arrives, all of it"
	is "$(head -c 900k /dev/zero | box -- cat | wc -c)" 921600 "and comes back"
	is "$(yes | box -- head -n 1)" y "input that nobody reads any more ends nothing"
}

files() {
	mkdir "$WORK/ro" "$WORK/rw" "$WORK/out"
	echo given >"$WORK/ro/file"
	local owner
	owner=$(id -u)
	[ "$ME" != root ] || owner=1234
	chown "$owner" "$WORK/rw"
	is "$(box --ro "$WORK/ro:/data" -- cat /data/file)" given "what is given can be read"
	refused "but not written" box --ro "$WORK/ro:/data" -- touch /data/new
	gvisor || like "$(box --ro "$WORK/ro:/data" -- grep ' /data ' /proc/mounts)" 'ro,nosuid,nodev' "nor has it devices or set-user-id programs"
	ok "a writable mount is the payload's" box --rw "$WORK/rw:/work" -- sh -c 'echo made >/work/new'
	is "$(cat "$WORK/rw/new"; stat -c %u "$WORK/rw/new")" "made
$owner" "and its files belong to who owned it"
	ok "files in and out" box --in "$WORK/ro:/home/agent/in" --out "/home/agent/out:$WORK/out/tree" -- \
		sh -c 'mkdir -p out/sub && cp in/file out/sub/copy && chmod 0 out/sub/copy'
	chmod u+r "$WORK/out/tree/sub/copy"
	is "$(cat "$WORK/out/tree/sub/copy")" given "arrive"
	refused "the host's files are not there" box -- test -e /etc/shadow
	refused "nor is the root writable" box -- touch /usr/x
	ok "control: the home and /tmp are" box -- sh -c 'touch ~/x /tmp/x /dev/shm/x'
	mkdir "$WORK/rw/.git"
	refused "a protected path stays, also one that is not there yet" box --rw "$WORK/rw:/work" --protect .git/hooks/ -- sh -c 'mkdir -p /work/.git/hooks && touch /work/.git/hooks/x'
	is "$(find "$WORK/rw/.git" -mindepth 1)" "" "and nothing is left of it"
	[ ${#FLAGS[@]} = 0 ] || return
	mkdir -p "$WORK/root/bin" && cp /bin/busybox "$WORK/root/bin/" && ln -s busybox "$WORK/root/bin/sh"
	is "$(box --root "$WORK/root" -- /bin/sh -c 'echo $0; /bin/busybox ls /bin' | tr '\n' ' ')" "/bin/sh busybox sh " "a root of one's own"
}

# gVisor looks mounts up by name: whoever can write to a directory that is given may have a link on the way to the next one.
by_name() {
	local real
	real=$(command -v runsc)
	mkdir -p "$WORK/given/sub/x" "$WORK/other" "$WORK/theirs/x" "$WORK/path" "$WORK/root/opt/x"
	echo ours >"$WORK/other/file"
	echo theirs >"$WORK/theirs/x/file"
	is "$(box --rw "$WORK/given:/work" --ro "$WORK/other:/work/sub/x" -- sh -c 'cat /work/sub/x/file; touch /work/sub/x/new 2>/dev/null; touch /work/new && echo written')" "ours
written" "a mount below another"
	cat >"$WORK/path/runsc" <<END
#!/bin/sh
for arg; do
	if [ "\$before" = --bundle ]; then
		cp "\$arg/config.json" "$WORK/config.json"
		mv "$WORK/given/sub" "$WORK/given/old" && ln -s "$WORK/theirs" "$WORK/given/sub"
	fi
	before=\$arg
done
exec $real "\$@"
END
	chmod 755 "$WORK/path/runsc"
	is "$(PATH=$WORK/path:$PATH box --rw "$WORK/given:/work" --ro "$WORK/other:/work/sub/x" -- sh -c 'cat /work/old/x/file /work/sub/x/file' 2>/dev/null)" ours "is that one still, when a link takes the place of its directory"
	like "$(cat "$WORK/config.json")" '/work"' "control: the specification was seen"
	unlike "$(cat "$WORK/config.json")" /work/sub "and no path through it was in there"
	status 125 "nor in a directory of a root of one's own" box --root "$WORK/root" --ro "$WORK/other:/opt/x" -- true
	like "$ERR" "others may change" "which is said"
}

# It takes orders over an abstract socket, which has no owner: who cannot see it cannot give any.
orders() {
	local pid keeper
	timeout -k 5 30 "$CORDON" run --engine "$ENGINE" "${FLAGS[@]}" -- sh -c 'echo runs; sleep 3' >"$WORK/orders" &
	pid=$!
	until_true 20 test -s "$WORK/orders"
	is "$(grep -c "@runsc-sandbox" /proc/net/unix)" 0 "gVisor's socket is not among the host's"
	keeper=$(pgrep -P "$(pgrep -P "$pid")")
	[ "$ME" != root ] || like "$(cat "/proc/$(pgrep -P "$keeper" -x cordon-engine)/net/unix")" "@runsc-sandbox" "control: it is where its driver is"
	wait "$pid"
}

rights() {
	is "$(box -- sh -c 'id -un; id -Gn; hostname; pwd' | tr '\n' ' ')" "agent agent cordon /home/agent " "who it is"
	[ ${#FLAGS[@]} != 0 ] || is "$(box -- sh -c 'id -u; id -G' | tr '\n' ' ')" "1000 1000 " "by number"
	is "$(box -- grep -E '^(CapInh|CapPrm|CapEff|CapBnd|Seccomp:)' /proc/self/status | tr -d '\t\n')" \
		"CapInh:0000000000000000CapPrm:0000000000000000CapEff:0000000000000000CapBnd:0000000000000000Seccomp:2" "no capabilities in any set"
	is "$(box -- python3 -c 'import ctypes; print(ctypes.CDLL(None).prctl(39, 0, 0, 0, 0))')" 1 "and no new privileges"
	is "$(SECRET=x box --env A=b -- env | grep -E '^(A|SECRET)=')" "A=b" "its environment is the policy's"
	is "$(box -- ls /sys/class/net 2>&1 | grep -c eth)" 0 "no network"
	refused "not even to the outside" box -- python3 -c 'import socket; socket.create_connection(("192.0.2.1", 80), 2)'
	ok "control: its own loopback works" box -- python3 -c 'import socket
s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(); socket.create_connection(s.getsockname())'
	refused "init cannot be looked into" box -- python3 -c 'import os; os.readlink("/proc/1/exe"), open("/proc/1/mem")'
	is "$(box -- sh -c 'kill -9 1; kill -STOP 1; echo alive')" alive "nor killed"
	is "$(box -- python3 -c 'import os; print(len(os.listdir("/proc/self/fd")))')" 4 "it has no fds but its own"
}

# Names are decided before anything leaves the host: this needs no network.
logs() {
	box --log "$WORK/log" --allow api.example.com -- python3 -c 'import socket
for name in "api.example.com", "evil.example.net":
    try: socket.gethostbyname(name)
    except OSError: pass'
	is "$(python3 -c 'import json, sys
for line in sys.stdin:
    event = json.loads(line)
    print(event["host"], event["decision"])' <"$WORK/log" 2>&1 | sort -u)" "api.example.com allowed
evil.example.net refused" "--log has what it tried, a JSON object a line"
	is "$(stat -c %a "$WORK/log")" 600 "for nobody else to read"
	refused "control: without a network there is nothing to log" test -s <(box --log "$WORK/none" -- true; cat "$WORK/none")
}

ends() {
	local pid
	until_gone "nothing is left of all that"
	alone
	timeout -k 5 60 "$CORDON" run --engine "$ENGINE" "${FLAGS[@]}" -- sh -c 'echo runs; sleep 4321'"$$" >"$WORK/said" &
	pid=$!
	for _ in $(seq 100); do [ -s "$WORK/said" ] && break; sleep 0.1; done
	gvisor || ok "one is running" pgrep -f "^sleep 4321$$\$"
	is "$(cat "$WORK/said")" runs "and says so"
	# timeout, cordon and its keeper at once, by their pids
	kill -9 $(pgrep -P "$pid") $(pgrep -P "$(pgrep -P "$pid" | head -1)") "$pid" 2>/dev/null
	wait "$pid" 2>/dev/null
	until_gone "and after cordon and its keeper were killed nothing is"
	refused "its payload, least of all" pgrep -f "^sleep 4321$$\$"
}

refusals() {
	local flags
	for flags in "--commands true" ${HAS_DAEMON:+"--storage disk"} "--subuids" "--degrade landlock" "--level process"; do
		# shellcheck disable=SC2086 # a flag and its value
		status 125 "$flags is refused" "$CORDON" run --engine "$ENGINE" "${FLAGS[@]}" $flags -- true
		like "$ERR" "$ENGINE" "and says by whom"
	done
	status 126 "something laid into /proc is refused" "$CORDON" run --engine "$ENGINE" "${FLAGS[@]}" --in /bin/true:/proc/x -- true
	like "$("$CORDON" plan --engine "$ENGINE" "${FLAGS[@]}" -- true)" "engine $ENGINE v?[0-9]" "the plan names it and its version"
	"$CORDON" plan --engine "$ENGINE" "${FLAGS[@]}" --require seccomp --json -- true >"$WORK/plan"
	is "$(json engine <"$WORK/plan") $(json required <"$WORK/plan")" "$ENGINE seccomp" "as JSON, too, with what was required"
	"$CORDON" doctor --json >"$WORK/doctor"
	like "$(python3 -c 'import json, sys; print(*[(e["works"], e["version"], "seccomp" in e["layers"]) for e in json.load(open(sys.argv[1]))["engines"] if e["name"] == sys.argv[2]])' "$WORK/doctor" "$ENGINE")" \
		"True, '[^']*[0-9][^']*', True" "doctor names it, its version and its layers"
}

# A link to one place for who mounts, to another for who executes.
own_place() {
	mkdir -p "$WORK/itsown/usr" "$WORK/itsown/theirs"
	status 127 "control: a root file system without programs" box --root "$WORK/itsown" -- theirs
	ln -s /proc/self/cwd/theirs "$WORK/itsown/.cordon"
	status 126 "one with a link where init is to lie is refused" box --root "$WORK/itsown" -- theirs
	like "$ERR" "'/.cordon' of its own" "which is said"
}

disk() {
	result --storage disk --disk 32M -- sh -c 'head -c 1M /dev/zero >~/x; head -c 80M /dev/zero >~/y; sleep 3; exit 5'
	is "$(field status) $(field limit)" "resource_exceeded disk" "files on disk are bounded"
	ok "control: a few are not" box --storage disk --disk 32M -- sh -c 'head -c 1M /dev/zero >~/x && test -s ~/x'
	result --storage disk --keep -- sh -c 'echo kept >~/x'
	is "$(cat "$(field kept)"/*/x)" kept "and are kept where that was asked for"
	rm -rf "$(dirname "$(field kept)")"
}

oci() { # RUNTIME
	ENGINE=$1
	LAYERS="userns mountns pidns netns ipcns utsns cgroupns cgroup rlimits no_new_privs $(gvisor || echo 'landlock ')seccomp "
	command -v "$1" >/dev/null || skip_all "there is no $1"
	before=$(left | sort)
	statuses
	files
	! gvisor || by_name
	! gvisor || orders
	own_place
	rights
	disk
	refusals
	[ "$ME" != root ] || logs
	ends
	done_testing
}
