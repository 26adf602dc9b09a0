#!/bin/bash
# Where limits come from is said, and what cannot be had is refused: cgroup, or watch.
. "$(dirname "$0")/../lib.sh"
levels container process
works_here || skip_all "no boxes of level $LEVEL here"
result -- true
source=$(field isolation.limit_source)
like "$source" '^(cgroup|watch)$' "the result names the source ($source)"
# A plan shows no limit that nothing holds.
has() { "$CORDON" doctor --json | python3 -c 'import json, sys; print(*(l["state"] for l in json.load(sys.stdin)["layers"] if l["name"] == sys.argv[1]))' "$1"; }
plan=$("$CORDON" plan --level "$LEVEL" --cpus 0.5 -- true 2>&1)
if [ "$(has cgroup.cpu)" = available ]; then
	like "$plan" 'cpus +0\.5' "the plan has a share of CPU"
else
	like "$plan" 'limits.cpus needs the cpu cgroup controller' "a share of CPU that was chosen is refused where there is none"
	result --cpus 0.5 -- true
	expect "by a run, too" status=failed error.code=unavailable 'error.message=~limits.cpus' 'error.hint=~.'
	plan=$("$CORDON" plan --level "$LEVEL" --cpus 1.0 -- true 2>&1)
	like "$plan" 'cpus +not limited' "control: one that is no tighter than the default is left out"
	like "$plan" 'no share of CPU' "and said to be"
fi
if [ "$source" = cgroup ]; then
	like "$(field isolation.layers | tr '\n' ' ')" 'cgroup ' "and the cgroup is among the layers"
	result --require cgroup -- echo here
	expect "--require cgroup is content" status=success stdout=$'here\n'
else
	result --require cgroup -- echo here
	expect "--require cgroup refuses to run" status=failed stdout= error.code=unavailable 'error.message=~cgroup' 'error.hint=~.'
	is "$RESULT_STATUS" 125 "with exit status 125"
	status 0 "control: without it the same runs" box -- true
	like "$("$CORDON" plan -- true 2>&1)" 'watch' "the plan says watch beforehand"
fi
# What a plan says of private files is what becomes of them: the peak has what is in /tmp, or it does not.
if [ "$LEVEL" = container ] && [ -z "$ENGINE" ]; then
	result --file-size 80M -- sh -c 'head -c 60M /dev/zero >/tmp/x'
	if [ "$(field memory_peak_bytes)" -gt 60000000 ]; then said='counts against limits.memory'; else said='on top of limits.memory'; fi
	like "$("$CORDON" plan -- true 2>&1)" "private files: memory .tmpfs, $said" "private files in memory: $said, and the plan says so"
fi
result --require seccomp -- true
expect "--require of another layer" status=success
result --require nonsense -- true
expect "--require of none" status=failed 'error.message=~nonsense'
if [ "$source" = watch ] && [ "$ME" = user ]; then
	note "watch: memory, processes and CPU time still hold; see the other files of tests/limits, which ran like this"
	result --memory 64M -- python3 -c 'import mmap; x = [mmap.mmap(-1, 1 << 20) for _ in range(300)]; [m.write(b"x" * (1 << 20)) for m in x]; import time; time.sleep(20)'
	expect "watch: shared memory is seen by the keeper" status='~resource_exceeded|error|killed' 'wall_ms=<25000'
fi
done_testing
