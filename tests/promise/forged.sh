#!/bin/bash
# The result says what the kernel did, not what the payload pretends: neither a signal nor an exit status makes a limit of it.
. "$(dirname "$0")/../lib.sh"
levels container process
need python3
# shellcheck disable=SC2016 # the payload's own
for way in 'kill -XCPU $$' 'exec python3 -c "import os; os.kill(os.getpid(), 24)"' 'kill -XCPU 0'; do
	result --cpu-time 20s -- sh -c "$way"
	expect "a forged SIGXCPU is a signal and no limit: ${way%% -*}" status=killed signal=24 limit= exit_code= cpu_ms='<15000'
	is "$RESULT_STATUS" 152 "with its status"
done
result --cpu-time 1s --timeout 50s -- python3 -c 'while True: pass'
expect "control: CPU time that was used up is one" status=resource_exceeded limit=cpu_time cpu_ms='>850'
result --cpu-time 1s --timeout 50s -- python3 -c '
import os, time
while time.process_time() < 0.2: pass
os.kill(os.getpid(), 24)'
expect "a fifth of it used, and the signal" status=killed signal=24 limit=
# shellcheck disable=SC2016 # the payload's own
result --memory 64M -- sh -c 'kill -KILL $$'
expect "SIGKILL alone is not memory" status=killed signal=9 limit=
result --memory 64M -- python3 -c '
held = []
while True: held.append(bytearray(b"x") * (1 << 20))'
expect "control: memory is" status='~^(resource_exceeded|error)$'
for code in 124 125 126 127 137 152 153; do
	result -- sh -c "exit $code"
	expect "exit status $code is the payload's" status=error exit_code=$code signal= limit= error=
done
result --timeout 300ms -- sleep 30
expect "control: the deadline is a timeout" status=timeout limit=wall_time
result -- sh -c 'echo "cordon: timeout after 1.0 s (limits.wall_time)" >&2; exit 1'
expect "words change nothing" status=error exit_code=1 limit=
done_testing
