#!/bin/bash
# Hundreds of runs, one after the other and side by side, leave the host as it was.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
levels container process
works_here || skip_all "no boxes of level $LEVEL here"
need python3 xargs

inodes() { find /dev/shm /tmp -maxdepth 1 -name '*cordon-[0-9]*-[0-9]*-*' -newer "$WORK/start" 2>/dev/null; }
touch "$WORK/start"
sleep 0.02
mounts_before=$(mounts)
# shellcheck disable=SC2016 # the inner shell's
runs='i=0; while [ $i -lt 200 ]; do "$CORDON" run --level "$LEVEL" -- true || echo failed; i=$((i + 1)); done'
out=$(sh -c "$runs" 2>&1)
is "$out" "" "two hundred runs, one after the other"
is "$(mounts)" "$mounts_before" "leave no mount"
is "$(inodes)" "" "no file"

# shellcheck disable=SC2016
seq 200 | xargs -P 8 -I{} sh -c 'out=$("$CORDON" run --level "$LEVEL" -- echo {} 2>&1); [ "$out" = {} ] && echo good || echo "bad: $out"' >"$WORK/side"
is "$(sort "$WORK/side" | uniq -c | sed 's/^ *//')" "200 good" "two hundred runs, eight at a time"
is "$(mounts)" "$mounts_before" "leave no mount"

# Each run's cgroup is gone when it returns.
cat >"$WORK/owners.py" <<'PY'
import glob, json, os, subprocess, sys, time
for _ in range(30):
    p = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL)
    keeper = None
    while keeper is None and p.poll() is None:
        c = open(f"/proc/{p.pid}/task/{p.pid}/children").read().split()
        keeper = c[0] if c else None
    p.wait()
    left = [g for g in glob.glob("/sys/fs/cgroup/**/cordon-*", recursive=True) if keeper and f"cordon-{keeper}-" in g]
    if left:
        print(left)
PY
is "$(python3 "$WORK/owners.py" "$CORDON" run --level "$LEVEL" -- true 2>&1)" "" "a cgroup is gone when its run returns"

# The library's caller does not lose descriptors or gain children: many runs in one process.
if [ -e "$TOP/build/release/libcordon.so" ] && [ "$LEVEL" = container ]; then
	cat >"$WORK/lib.py" <<'PY'
import ctypes, os, sys
lib = ctypes.CDLL(sys.argv[1])
class Job(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("argv", ctypes.POINTER(ctypes.c_char_p)), ("rest", ctypes.c_char * 104)]
for name in ("cordon_policy_free", "cordon_plan_free", "cordon_result_free"):
    getattr(lib, name).argtypes = [ctypes.c_void_p]
argv = (ctypes.c_char_p * 2)(b"true", None)
job = Job(16, argv)
counts = []
for i in range(60):
    policy, plan, result = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    err = ctypes.create_string_buffer(4096)
    full = Job(ctypes.sizeof(Job), argv)
    assert lib.cordon_policy_new(ctypes.byref(policy), err) == 0, err.raw[40:200]
    assert lib.cordon_plan_new(ctypes.byref(plan), policy, ctypes.byref(full), err) == 0, err.raw[40:200]
    assert lib.cordon_run(plan, None, ctypes.byref(result), err) == 0, err.raw[40:200]
    lib.cordon_result_free(result)
    lib.cordon_plan_free(plan)
    lib.cordon_policy_free(policy)
    counts.append(len(os.listdir("/proc/self/fd")))
children = open(f"/proc/self/task/{os.getpid()}/children").read().split()
print(counts[0] == counts[-1], children)
PY
	is "$(python3 "$WORK/lib.py" "$TOP/build/release/libcordon.so" 2>&1)" "True []" "sixty runs in one process: as many descriptors, no zombie"
fi
done_testing
