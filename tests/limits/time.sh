#!/bin/bash
# Time: the deadline, the grace before it, CPU time of everybody together, and the share of a CPU.
. "$(dirname "$0")/../lib.sh"
levels container process
works_here || skip_all "no boxes of level $LEVEL here"
need python3

# ---- wall time ----
result --timeout 30s -- sleep 0.3
expect "control: what ends in time succeeds" status=success exit_code=0 limit= 'wall_ms=>290' 'wall_ms=<30000'
result --timeout 500ms -- sleep 30
expect "the deadline ends a run" status=timeout limit=wall_time exit_code= 'wall_ms=>490' 'wall_ms=<25000'
is "$RESULT_STATUS" 124 "with exit status 124"
result --timeout 700ms -- sh -c 'echo before; sleep 30; echo after'
expect "what was said before it is told" status=timeout stdout=$'before\n'
box --quiet --timeout 300ms -- sleep 30
is "$?" 124 "also without --json"

# ---- grace ----
# shellcheck disable=SC2016 # the payload's own variables
trapper='trap "echo term; exit 3" TERM; echo ready; while :; do sleep 0.05; done'
result --timeout 1s --grace 20s -- sh -c "$trapper"
expect "--grace sends SIGTERM first" status=timeout 'stdout=~ready\s+term' 'wall_ms=<20000'
result --timeout 1s -- sh -c "$trapper"
expect "control: without it there is no SIGTERM" status=timeout stdout=$'ready\n'
result --timeout 1s --grace 20s -- sh -c "trap 'echo term; exit 3' TERM; echo ready; kill -STOP \$\$; while :; do sleep 0.05; done"
expect "also one that is stopped hears it" status=timeout 'stdout=~ready\s+term' 'wall_ms=<20000'
result --timeout 500ms --grace 700ms -- sh -c 'trap "" TERM; echo ready; while :; do sleep 0.05; done'
expect "who ignores SIGTERM is killed after the grace" status=timeout stdout=$'ready\n' 'wall_ms=>1150' 'wall_ms=<25000'

# ---- CPU time ----
cat >"$WORK/burn.py" <<'PY'
"""burn.py PROCESSES SECONDS: that many processes use that much CPU time each."""
import os, resource, sys, time
children = []
for _ in range(int(sys.argv[1])):
    pid = os.fork()
    if pid == 0:
        while time.process_time() < float(sys.argv[2]):
            pass
        os._exit(0)
    children.append(pid)
for pid in children:
    os.waitpid(pid, 0)
print("burnt")
PY
burn() { result --timeout 50s "${flags[@]}" -- python3 -c "$(cat "$WORK/burn.py")" "$@"; }
flags=(--cpu-time 20s --cpus 2)
burn 3 0.4
expect "control: three processes of 0.4 s of CPU each" status=success stdout=$'burnt\n' 'cpu_ms=>1100' 'cpu_ms=<15000'
flags=(--cpu-time 1s --cpus 2)
burn 3 30
expect "CPU time counts for all together" status=resource_exceeded limit=cpu_time exit_code= 'cpu_ms=>950' 'cpu_ms=<6000' stdout=
flags=(--cpu-time 600ms --cpus 2)
burn 1 30
expect "and for one" status=resource_exceeded limit=cpu_time 'cpu_ms=>550' 'cpu_ms=<6000'
# Processes that come and go: the time of the dead counts, too.
result --cpu-time 1s --timeout 50s -- sh -c 'while :; do python3 -c "
import time
while time.process_time() < 0.1: pass"; done'
expect "and for those that have ended" status=resource_exceeded limit=cpu_time 'cpu_ms=<15000'
result --cpu-time 1s --timeout 3s -- sleep 30
expect "sleeping uses none" status=timeout limit=wall_time 'cpu_ms=<900'

# ---- a share ----
# Over two seconds of wall time, by what the host counted: another kernel's clock does not know that it was held back. A slow or busy
# machine only makes the share smaller.
cat >"$WORK/share.py" <<'PY'
import os, time
start = time.monotonic()
if os.fork() == 0:
    while time.monotonic() - start < 2: pass
    os._exit(0)
while time.monotonic() - start < 2: pass
os.wait()
PY
share() {
	result --cpus "$1" -- python3 -c "$(cat "$WORK/share.py")"
	python3 -c 'import sys; print(f"{float(sys.argv[1]) / max(float(sys.argv[2]), 2000):.2f}")' "$(field cpu_ms)" "$(field wall_ms)"
}
result -- true
if [ "$(field isolation.limit_source)" = cgroup ]; then
	got=$(share 0.2)
	like "$got" '^0\.([01][0-9]|2[0-9]|3[0-4])$' "--cpus 0.2 is a fifth of a CPU"
	if [ "$(nproc)" -ge 2 ]; then
		got=$(share 1.0)
		like "$got" '^(0\.[0-9]+|1\.[01][0-9]?)$' "--cpus 1.0 is one CPU, also for two processes"
	fi
	got=$(share 2.0)
	if [[ $got =~ ^(0\.[3-9]|[1-9]) ]]; then
		pass "control: --cpus 2.0 is more than a fifth ($got)"
	elif [ "$(cut -d. -f1 /proc/loadavg)" -ge "$(nproc)" ]; then
		tap_line ok "control: --cpus 2.0 is more than a fifth # SKIP the machine is busy, and gives $got at most"
	else
		fail "control: --cpus 2.0 is more than a fifth" "$got"
	fi
else
	note "no share of CPU without cgroups: doctor and plan say so"
	like "$("$CORDON" doctor)" 'no share of CPU|cannot promise a share of CPU' "doctor says that there is no share of CPU"
fi
done_testing
