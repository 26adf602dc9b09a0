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
	result --require seccomp -- sh -c 'echo out; echo err >&2; exit 7'
	is "$RESULT_STATUS $(field status) $(field exit_code) $(field stdout) $(field stderr)" "7 error 7 out err" "an exit code, and both streams"
	is "$(field isolation.engine)" "$ENGINE" "the result names the engine"
	like "$(field isolation.engine_version)" "^$ENGINE [0-9]" "and its version"
	VERSION=$(field isolation.engine_version)
	is "$(field isolation.layers | tr '\n' ' ')" "$LAYERS" "with every layer that it has"
	is "$(field isolation.required)" seccomp "and what was required"
	gvisor && like "$(field isolation.engine_version)" '\((systrap|ptrace|kvm)\)$' "and how it catches calls"
	result -- sh -c 'kill -KILL $$'
	is "$RESULT_STATUS $(field status) $(field signal) $(field limit)" "137 killed 9 " "a signal, and no limit"
	result --timeout 1s -- sh -c 'trap "" TERM; sleep 30'
	is "$RESULT_STATUS $(field status) $(field limit)" "124 timeout wall_time" "the deadline"
	result --timeout 1s --grace 5s -- sh -c 'trap "echo bye; exit 3" TERM; while :; do sleep 0.05; done'
	is "$(field status) $(field stdout)" "timeout bye" "with grace it hears SIGTERM first"
	result --memory 64M -- python3 -c 'x = bytearray(200 << 20)'
	is "$RESULT_STATUS $(field status) $(field limit)" "137 resource_exceeded memory" "memory"
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

# around PID: gVisor's kernel is a process of the host, in namespaces of its own. Not that of pids, which its ptrace is not had without, nor that of
# control groups: those are of what the payload sees, which is that kernel's.
around() {
	local name same=''
	for name in mnt net ipc uts user; do
		[ "$(readlink "/proc/$1/ns/$name")" ] && [ "$(readlink "/proc/$1/ns/$name")" != "$(readlink "/proc/self/ns/$name")" ] || same+="$name "
	done
	is "$same" "" "what gVisor runs in shares no namespace of files, network, IPC, names or ids with the host"
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
	[ "$ME" != root ] || around "$(pgrep -f "^runsc-sandbox .*/cordon-$keeper-")"
	wait "$pid"
}

# look COMMAND…: from where COMMAND runs it, a line for each thing that is looked at: its name and what is so. $LISTENER: a port of ours outside, at $ADDRESSES.
look() {
	local it='
import errno, os, re, socket, stat, sys
def tried(act, *args):
    try: act(*args)
    except OSError as e: return errno.errorcode.get(e.errno, str(e))
    return "ok"
def told(path): # what is covered is not there, or is empty
    try: s = os.stat(path)
    except OSError: return False
    return bool(os.listdir(path)) if stat.S_ISDIR(s.st_mode) else s.st_rdev != os.makedev(1, 3)
def is_read_only(path):
    return os.path.exists(path) and bool(os.statvfs(path).f_flag & os.ST_RDONLY)
def loopback():
    with socket.create_server(("127.0.0.1", 0)) as s: socket.create_connection(s.getsockname(), 5).close()
port, pid, addresses = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
print("interfaces", *[line.split(":")[0].strip() for line in open("/proc/net/dev") if ":" in line])
print("connect", *[tried(lambda: socket.create_connection((a, port), 5).close()) for a in addresses])
print("loopback", tried(loopback))
print("kill", tried(os.kill, pid, 0))
for name in "mnt", "pid", "net", "ipc", "uts", "user", "cgroup":
    if os.path.lexists("/proc/self/ns/" + name): print("ns-" + name, os.readlink("/proc/self/ns/" + name))
print("told", *[p for p in ("/proc/acpi", "/proc/asound", "/proc/interrupts", "/proc/kcore", "/proc/keys", "/proc/key-users", "/proc/latency_stats",
      "/proc/sched_debug", "/proc/scsi", "/proc/timer_list", "/sys/firmware") if told(p)])
print("hostname", tried(open, "/proc/sys/kernel/hostname", "r+b"))
try: print("read-only", *[p for p in ("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger", "/tmp") if is_read_only(p)])
except OSError as e: print("read-only", e.strerror)
for mount in [line.split() for line in open("/proc/mounts")]:
    if re.fullmatch("/[.]cordon[^/]*/init", mount[1]):
        print("init", mount[3].split(",")[0], tried(open, mount[1], "r+b"), tried(os.chmod, mount[1], stat.S_IMODE(os.stat(mount[1]).st_mode)))
own = "/tmp/look-%d" % os.getpid()
print("own", tried(lambda: open(own, "w").close()), tried(open, own, "r+b"), tried(os.chmod, own, 0o700), tried(os.unlink, own))'
	"$@" python3 -c "$it" "$LISTENER" $$ "${ADDRESSES[@]}"
}
inside() { sed -n "s/^$1 //p;s/^$1\$//p" "$WORK/inside"; }
outside() { sed -n "s/^$1 //p;s/^$1\$//p" "$WORK/outside"; }

# What it is shut off from, by the kernel's word; the same looks outside are the controls. One box for all of it.
walls() {
	local layer name same='' path
	python3 -c 'import socket
s = socket.create_server(("", 0), backlog=50)
print(s.getsockname()[1], flush=True)
while True: s.accept()[0].close()' >"$WORK/port" &
	defer kill $!
	until_true 20 test -s "$WORK/port"
	LISTENER=$(cat "$WORK/port")
	mapfile -t ADDRESSES < <(echo 127.0.0.1; ip -4 -o address show scope global 2>/dev/null | sed -n 's|.* inet \([0-9.]*\)/.*|\1|p' | head -n 1)
	look env >"$WORK/outside" 2>&1
	look box -- >"$WORK/inside" 2>&1
	is "$(inside interfaces)" lo "no network: there is loopback alone"
	is "$(outside connect)" "ok${ADDRESSES[1]:+ ok}" "control: a server of the host answers outside"
	like "$(inside connect)" "^E[A-Z]+${ADDRESSES[1]:+ E[A-Z]+}\$" "and not inside"
	is "$(inside loopback) $(outside loopback)" "ok ok" "control: loopback of its own works"
	is "$(outside kill) $(inside kill)" "ok ESRCH" "a process of the host is not there"
	if ! gvisor; then # what is inside is named by its own kernel; `around` looks from outside
		for layer in $LAYERS; do
			case $layer in *ns) ;; *) continue ;; esac
			name=${layer%ns} name=${name/mount/mnt}
			[ "$(inside "ns-$name")" ] && [ "$(inside "ns-$name")" != "$(outside "ns-$name")" ] || same+="$name "
		done
		is "$same" "" "of the namespaces that the result names none is the host's"
	fi
	like "$(outside told)" /proc/interrupts "control: outside, /proc tells about the host"
	is "$(grep ^told "$WORK/inside")" told "inside, it is covered"
	like "$(inside hostname)" '^E[A-Z]+$' "/proc/sys cannot be written"
	if ! gvisor; then # whose /proc is no mount, and of its own kernel
		same=
		for path in /proc/bus /proc/fs /proc/irq /proc/sys; do [ ! -e $path ] || same+="$path "; done
		is "$(inside read-only) " "$same" "what changes the kernel is read-only, /tmp is not"
		is "$(outside read-only)" "" "control: outside nothing of it is"
	fi
	# Who is no owner is told so by gVisor first. Elsewhere the mount answers, also to who owns the file, as in tests/engine/user.sh.
	like "$(inside init)" "^ro E[A-Z]+ $(gvisor && echo 'E[A-Z]+' || echo EROFS)\$" "init is read-only"
	is "$(inside own)" "ok ok ok ok" "control: a file of its own is not"
}

rights() {
	is "$(box -- sh -c 'id -un; id -Gn; hostname; pwd' | tr '\n' ' ')" "agent agent cordon /home/agent " "who it is"
	[ ${#FLAGS[@]} != 0 ] || is "$(box -- sh -c 'id -u; id -G' | tr '\n' ' ')" "1000 1000 " "by number"
	is "$(box -- grep -E '^(CapInh|CapPrm|CapEff|CapBnd|Seccomp:)' /proc/self/status | tr -d '\t\n')" \
		"CapInh:0000000000000000CapPrm:0000000000000000CapEff:0000000000000000CapBnd:0000000000000000Seccomp:2" "no capabilities in any set"
	is "$(box -- python3 -c 'import ctypes; print(ctypes.CDLL(None).prctl(39, 0, 0, 0, 0))')" 1 "and no new privileges"
	is "$(SECRET=x box --env A=b -- env | grep -E '^(A|SECRET)=')" "A=b" "its environment is the policy's"
	walls
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

# What stands around the container: nobody who is dead and still counted, nobody with the caller's better priority; and what an owner left goes, however deep.
around() {
	local front driver='' dead=cordon-4194304-1-00000000 deep=/run/cordon-engine
	[ "$ME" = root ] || return
	alone
	nice -n -5 "$CORDON" run --engine "$ENGINE" -- sh -c 'echo runs; sleep 60' >"$WORK/around" &
	front=$!
	for _ in $(seq 100); do [ -s "$WORK/around" ] && break; sleep 0.1; done
	driver=$(pgrep -P "$(pgrep -P $front | head -1)" cordon-engine)
	is "$(ps -o stat= --ppid "$driver" | grep -c Z)" 0 "no child of the driver waits to be reaped"
	isnt "$(ps -o pid= --ppid "$driver")" "" "control: it has children"
	is "$(ps -eo ni=,pid=,ppid= | python3 -c 'import sys
rows = [line.split() for line in sys.stdin]
below = {sys.argv[1]}
for _ in rows:
    below |= {pid for _, pid, parent in rows if parent in below}
print(sorted({nice for nice, pid, _ in rows if pid in below and pid != sys.argv[1]}))' "$driver")" "['0']" "what the runtime starts has no better priority than others"
	is "$(ps -o ni= -p $front | xargs)" -5 "control: the caller has"
	kill $front
	wait $front 2>/dev/null
	mkdir -p "$deep/$dead/$(seq -s / 80)"
	"$CORDON" sweep
	refused "a deep tree that a dead owner left is swept" test -e "$deep/$dead"
}

sorted() { grep . | sort | tr '\n' ' '; }
refusals() {
	local flags more=()
	! gvisor || more=("--disk-read 4M/s" "--disk-write 4M/s")
	for flags in "--commands true" ${HAS_DAEMON:+"--storage disk"} "--subuids" "--degrade landlock" "--level process" "${more[@]}"; do
		# shellcheck disable=SC2086 # a flag and its value
		status 125 "$flags is refused" "$CORDON" run --engine "$ENGINE" "${FLAGS[@]}" $flags -- true
		like "$ERR" "$ENGINE" "and says by whom"
	done
	status 126 "something laid into /proc is refused" "$CORDON" run --engine "$ENGINE" "${FLAGS[@]}" --in /bin/true:/proc/x -- true
	like "$("$CORDON" plan --engine "$ENGINE" "${FLAGS[@]}" -- true)" "engine $ENGINE v?[0-9]" "the plan names it and its version"
	"$CORDON" plan --engine "$ENGINE" "${FLAGS[@]}" --require seccomp --json -- true >"$WORK/plan"
	is "$(json engine <"$WORK/plan") $(json required <"$WORK/plan")" "$ENGINE seccomp" "as JSON, too, with what was required"
	"$CORDON" doctor --json >"$WORK/doctor"
	python3 -c 'import json, sys; print(json.dumps(*[e for e in json.load(open(sys.argv[1]))["engines"] if e["name"] == sys.argv[2]]))' "$WORK/doctor" "$ENGINE" >"$WORK/engine"
	is "$(json works <"$WORK/engine") $(json version <"$WORK/engine")" "true $(json engine_version <"$WORK/plan")" "doctor names it, and the same version as the plan"
	like "$(json engine_version <"$WORK/plan")" '^[^ ]*[0-9]' "which is one"
	VERSION=${VERSION#* }
	is "$(json engine_version <"$WORK/plan" | cut -d ' ' -f 1)" "${VERSION%% *}" "and the result's"
	is "$(json engine_layers <"$WORK/plan" | sorted)" "$(json layers <"$WORK/engine" | sorted)" "what it gives is the same in both"
	is "$(json engine_layers <"$WORK/plan" | sorted | sed 's/cgroupns //')" "$(echo "${LAYERS// /$'\n'}" | sorted | sed 's/cgroupns //')" "and what the result had"
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
	around
	ends
	done_testing
}
