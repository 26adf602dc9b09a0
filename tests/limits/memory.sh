#!/bin/bash
# Memory of every kind is bounded: anonymous, files in memory, page cache, shared, System V, pipes. The neighbours live on.
. "$(dirname "$0")/../lib.sh"
levels container process
works_here || skip_all "no boxes of level $LEVEL here"
need python3

cat >"$WORK/eat.py" <<'PY'
"""eat.py KIND MEGABYTES: takes that much memory of one kind in pieces of a megabyte, holds it and says so."""
import ctypes, mmap, os, sys
kind, pieces = sys.argv[1], int(sys.argv[2])
M = 1 << 20
held = []
libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
for i in range(pieces):
    if kind == "anonymous":
        held.append(bytearray(b"x") * M)
    elif kind == "shared":
        m = mmap.mmap(-1, M)
        m.write(b"x" * M)
        held.append(m)
    elif kind in ("/tmp", "/dev/shm", "home"):
        with open(f"{os.environ['HOME'] if kind == 'home' else kind}/{i}", "wb") as f:
            f.write(b"x" * M)
    elif kind == "sysv":
        n = libc.shmget(0, M, 0o1600)
        if n < 0:
            raise OSError(ctypes.get_errno(), "shmget")
        at = libc.shmat(n, None, 0)
        ctypes.memset(at, 1, M)
    elif kind == "memfd":
        fd = os.memfd_create("x")
        os.write(fd, b"x" * M)
        held.append(fd)
    elif kind == "pipes":
        for _ in range(16):
            r, w = os.pipe()
            os.set_blocking(w, False)
            if os.write(w, b"x" * 65536) < 65536:
                sys.exit("the kernel's own bound on pipes")
    elif kind == "children":
        if os.fork() == 0:
            x = bytearray(b"x") * (8 * M)
            import time
            time.sleep(60)
print("held", flush=True)
PY
eat() { result --open-files 65536 "${flags[@]}" -- python3 -c "$(cat "$WORK/eat.py")" "$@"; }

# The neighbour runs all along and must not notice.
"$CORDON" run --level "$LEVEL" --timeout 50s -- sh -c 'while [ ! -e /tmp/stop ]; do sleep 0.2; echo alive; done' >"$WORK/neighbour" 2>&1 &
neighbour=$!
defer kill "$neighbour"

flags=(--memory 96M)
result -- true
source=$(field isolation.limit_source)
note "limits come from $source"

kinds=(anonymous shared memfd pipes)
[ "$LEVEL" = container ] && kinds+=(/tmp /dev/shm home sysv)
for kind in "${kinds[@]}"; do
	flags=(--memory 512M --tmp 200M --disk 450M)
	[ "$LEVEL" = process ] && flags=(--memory 512M)
	eat "$kind" 40
	expect "control: 40 MB of $kind memory fit into 512M" status=success stdout=$'held\n' limit=
done

# What the kernel counts (cgroup) ends in resource_exceeded; without cgroups a process gets ENOMEM or is seen by the keeper.
for kind in anonymous shared memfd pipes sysv; do
	[ "$kind" = sysv ] && [ "$LEVEL" = process ] && continue
	limit=96
	[ "$kind" = pipes ] && limit=48 # the kernel has a bound of its own, 64 MB for each user
	flags=(--memory "${limit}M")
	eat "$kind" 400
	if [ "$source" = cgroup ]; then
		expect "400 MB of $kind memory do not fit into ${limit}M" status=resource_exceeded limit=memory stdout= \
			memory_peak_bytes="<$((limit * 1100000))" memory_peak_bytes=">$((limit * 700000))"
	elif [ "$kind" = memfd ]; then
		# Pages of files without a name that nobody maps belong to no process: polling does not see them, and doctor says so.
		like "$("$CORDON" doctor)" 'cannot promise exact memory limits' "watch: doctor says what is not promised of $kind memory"
	else
		# Whether by the keeper, by RLIMIT_DATA or by the kernel's own bounds: it ends, and never with success.
		expect "400 MB of $kind memory do not fit into ${limit}M (watch)" status='~^(error|resource_exceeded)$' stdout=
	fi
done

if [ "$LEVEL" = container ]; then
	for kind in /tmp /dev/shm home; do
		flags=(--memory 96M)
		eat "$kind" 400
		expect "400 MB in $kind do not fit into 96M" status='~^(error|resource_exceeded)$' stdout= limit='~^(memory|disk)$' \
			memory_peak_bytes='<110000000'
	done
fi

# Buffers of sockets: v1 has a limit of their own for them, on top. They are dropped or wait, and nobody is ended for it.
cat >"$WORK/buffers.py" <<'PY'
"""buffers.py KIND: fills the buffers of 400 sockets on loopback and says how many megabytes the kernel holds for them."""
import socket, struct, sys
kind, held, total = sys.argv[1], [], 0
def memory(s, i): # SO_MEMINFO: received, and to be sent
    return struct.unpack("9I", s.getsockopt(socket.SOL_SOCKET, 55, 36))[i]
listener = socket.create_server(("127.0.0.1", 0), backlog=512)
for i in range(400):
    if kind == "udp":
        a, b = socket.socket(type=socket.SOCK_DGRAM), socket.socket(type=socket.SOCK_DGRAM)
        b.bind(("127.0.0.1", 0))
        a.connect(b.getsockname())
        a.setblocking(False)
        for _ in range(16):
            try:
                a.send(b"x" * 30000)
            except OSError:
                break
    else:
        a = socket.create_connection(listener.getsockname())
        b = listener.accept()[0]
        a.setblocking(False)
        try:
            while a.send(b"x" * 65536):
                pass
        except OSError:
            pass
    held += [a, b]
print(sum(memory(s, 0) + memory(s, 2) for s in held) >> 20)
PY
if [ "$LEVEL" = container ] && [ "$source" = cgroup ]; then
	for kind in udp tcp; do
		free=$(ulimit -Sn "$(ulimit -Hn)"; python3 "$WORK/buffers.py" "$kind")
		ok "control: outside there is room for ${free:-no} MB in buffers of $kind" test "${free:-0}" -gt 32
		result --memory 48M --open-files 4096 -- python3 -c "$(cat "$WORK/buffers.py")" "$kind"
		got=$(field stdout)
		ok "in a box of 48M for ${got:-no} ($(field status))" test "$(field status)" = resource_exceeded -o "${got:-99}" -lt 24
	done
fi

# Those of netlink are counted by nobody: there are only so many of them.
cat >"$WORK/netlink.py" <<'PY'
"""netlink.py: fills the buffers of netlink sockets, bound or not, as large as they can be, and says how many megabytes the kernel holds for them."""
import os, socket, struct, sys
held = []
try:
    while len(held) < 300:
        held.append(socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0))
except OSError as e:
    print(os.strerror(e.errno))
for s in held:
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 30)
    for i in range(1 << 13):
        try: # RTM_GETLINK of loopback
            s.send(struct.pack("=IHHIIBBHiII", 32, 18, 1, i, 0, 0, 0, 0, 1, 0, 0), socket.MSG_DONTWAIT)
        except OSError:
            break
        if i % 256 == 255 and struct.unpack("9I", s.getsockopt(socket.SOL_SOCKET, 55, 36))[0] > 400000:
            break # enough for the control
print(len(held), sum(struct.unpack("9I", s.getsockopt(socket.SOL_SOCKET, 55, 36))[0] for s in held) >> 20)
PY
if [ "$LEVEL" = container ]; then
	read -r sockets free < <(python3 "$WORK/netlink.py")
	ok "control: outside there are $sockets netlink sockets with $free MB" test "$sockets" -eq 300 -a "$free" -gt 40
	result --memory 96M --timeout 50s -- python3 -c "$(cat "$WORK/netlink.py")"
	like "$(field stdout)" $'^No buffer space available\n[0-9]+ ([0-9]|[12][0-9]|3[0-4])$' "in a box a few, and not one more"
	like "$(field denials.0.what)" 'socket' "which is told"
	is "$(box -- python3 -c 'import socket
for i in range(500): socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0).close()
print("well")')" well "one after the other there are as many as one likes"
fi

flags=(--memory 96M --pids 64)
eat children 40
if [ "$source" = cgroup ]; then
	expect "forty children of 8 MB each do not fit together" status='~^(resource_exceeded|success)$'
	expect "and never had more than 96M" memory_peak_bytes='<104857600'
else
	expect "forty children of 8 MB each do not fit together (watch)" status='~^(resource_exceeded|error|success)$'
fi

# Page cache of a host directory: reclaimed, not fatal, and bounded.
mkdir "$WORK/data"
head -c 200M /dev/zero >"$WORK/data/big"
chmod 755 "$WORK" "$WORK/data"
result --ro "$WORK/data" --memory 64M -- sh -c "cat $WORK/data/big $WORK/data/big | wc -c"
expect "reading 400 MB of files within 64M works" status=success stdout=$'419430400\n'
[ "$source" = cgroup ] && expect "and the page cache stays within the limit" memory_peak_bytes='<68000000'

result --memory 64M -- python3 -c 'x = bytearray(30 << 20); print(len(x))'
expect "the peak is what was used" status=success 'memory_peak_bytes=>31000000' 'memory_peak_bytes=<68000000'
result -- true
expect "and small where little was used" status=success 'memory_peak_bytes=>50000' 'memory_peak_bytes=<30000000'

ok "the neighbour lives" kill -0 "$neighbour"
like "$(tail -n 1 "$WORK/neighbour")" '^alive$' "and works"
done_testing
