#!/bin/bash
# Processes, open files and file sizes are bounded, and the result says which bound was met.
. "$(dirname "$0")/../lib.sh"
levels container process
works_here || skip_all "no boxes of level $LEVEL here"
need python3
result -- true
source=$(field isolation.limit_source)

# ---- processes ----
cat >"$WORK/fork.py" <<'PY'
"""fork.py N: starts N children that wait; says how many there could be."""
import os, sys, time
n = 0
try:
    for _ in range(int(sys.argv[1])):
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        n += 1
except OSError as e:
    print(n, e.strerror)
    sys.exit(4)
print(n)
PY
forks() { result "${flags[@]}" -- python3 -c "$(cat "$WORK/fork.py")" "$@"; }
flags=(--pids 64)
forks 20
expect "control: twenty processes fit into 64" status=success stdout=$'20\n'
flags=(--pids 10)
forks 20
if [ "$LEVEL" = process ] && [ "$source" = watch ]; then
	# RLIMIT_NPROC counts the user's processes everywhere; without a user namespace the number is not exact.
	expect "not into 10" status='~error|resource_exceeded'
else
	expect "not into 10: fork says so" exit_code=4 'stdout=~^[5-9] Resource temporarily unavailable'
fi
[ "$source" = cgroup ] && expect "and the result names the limit" status=resource_exceeded limit=processes
few=10
[ "$LEVEL" = process ] && [ "$source" = watch ] && few=$(($(ps -u "$(id -u)" -L --no-headers | wc -l) + 64))
result --pids "$few" -- sh -c 'for i in 1 2 3; do sleep 0.1 & done; wait; echo fine'
expect "within the limit nothing is reported" status=success stdout=$'fine\n' limit=

# A fork bomb: ends by the deadline, everything of it is gone, and the host hardly notices.
before=$(date +%s%N)
# shellcheck disable=SC2016
result --pids 32 --timeout 2s --cpu-time 20s -- python3 -c '
import os
while True:
    try:
        os.fork()
    except OSError:
        pass'
after=$(date +%s%N)
expect "a fork bomb ends by the deadline" status='~^(timeout|resource_exceeded)$' limit='~^(wall_time|processes)$' 'wall_ms=>1900'
[ $(((after - before) / 1000000)) -lt 30000 ] && pass "in bounded time" || fail "in bounded time" "$(((after - before) / 1000000)) ms"
result --pids 16 -- python3 -c '
import threading, time
n = 0
try:
    for _ in range(100):
        threading.Thread(target=time.sleep, args=(30,), daemon=True).start()
        n += 1
except RuntimeError:
    pass
print(n)'
if [ "$LEVEL" = process ] && [ "$source" = watch ]; then
	note "threads at process level without cgroups: counted with the user's others"
else
	like "$(field stdout)" '^(1[0-5]|[5-9])$' "threads count as well"
fi

# ---- open files ----
result --open-files 64 -- python3 -c '
import os
n = 0
try:
    while True:
        os.open("/dev/null", os.O_RDONLY)
        n += 1
except OSError as e:
    print(n, e.errno)'
expect "--open-files 64" status=success 'stdout=~^(59|60|61|62) 24$'
result --open-files 64 -- python3 -c 'import os, resource; resource.setrlimit(resource.RLIMIT_NOFILE, (65, 65))'
expect "and it cannot be raised" status=error 'stderr=~not allowed|exceeds'
result --open-files 2000 -- python3 -c 'import os; [os.open("/dev/null", os.O_RDONLY) for _ in range(1500)]; print("fine")'
expect "control: 1500 open files within 2000" status=success stdout=$'fine\n'

# ---- file size ----
# shellcheck disable=SC2016
where='cd "${TMPDIR:-/tmp}" 2>/dev/null || cd; '
result --file-size 1M -- sh -c "$where head -c 900K /dev/zero >x && ls -l x | wc -l"
expect "control: a file of 900K within 1M" status=success stdout=$'1\n'
result --file-size 1M -- python3 -c '
import os, signal
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # Python ignores it
os.chdir(os.environ["HOME"])
with open("x", "wb", buffering=0) as f:
    while True:
        f.write(b"x" * 65536)'
expect "a file over 1M ends by SIGXFSZ" status=resource_exceeded limit=file_size signal=25
result --file-size 1M -- python3 -c '
import os
os.chdir(os.environ["HOME"])
n = 0
try:
    with open("x", "wb", buffering=0) as f:
        while True:
            n += f.write(b"x" * 65536)
except OSError as e:
    print(n, e.errno)'
expect "who ignores the signal gets EFBIG" status=success stdout=$'1048576 27\n'
mkdir "$WORK/rw"
[ "$ME" = root ] && chmod 777 "$WORK/rw"
if [ "$LEVEL" = container ]; then
	result --file-size 1M --rw "$WORK/rw:/rw" -- sh -c 'head -c 5M /dev/zero >/rw/x'
	is "$(stat -c %s "$WORK/rw/x" 2>/dev/null)" 1048576 "in a host directory as well"
fi
done_testing
