#!/bin/bash
# The host's processes cannot be signalled, traced, read or slowed; a signal to everybody stays inside.
. "$(dirname "$0")/../lib.sh"
levels container process
"$PROBE" sleep 100 >/dev/null &
pid=$!
defer kill "$pid"
sleep 0.1
gone='^(ESRCH|EPERM|EACCES)$'
# Landlock scopes signals from kernel 6.12 on; before that the process level as a user promises nothing here.
abi=$(python3 -c 'import ctypes; print(ctypes.CDLL(None).syscall(444, None, 0, 1))')
if [ "$LEVEL" = process ] && [ "$ME" = user ] && [ "$abi" -lt 6 ]; then
	skip "signals to the host" "Landlock ABI $abi has no scope for signals"
else
	for act in "kill $pid 0" "kill $pid 19" "kill $pid 15" "tgkill $pid 15" "sigqueue $pid 15" "pidfd-kill $pid 15"; do
		# shellcheck disable=SC2086 # words
		like "$(probe $act)" "$gone" "refused: ${act/$pid/PID}"
	done
	ok "the process is alive" kill -0 "$pid"
	like "$(ps -o stat= -p "$pid")" '^S' "and not stopped"
	box -- sh -c 'kill -9 -1' 2>/dev/null
	ok "kill -9 -1 inside does not reach the host" kill -0 "$pid"
	box -- python3 -c 'import os, signal
for sig in (signal.SIGSTOP, signal.SIGKILL):
    for pid in (os.getppid(), 1, -1):
        try: os.kill(pid, sig)
        except OSError: pass' 2>/dev/null
	ok "nor SIGSTOP and SIGKILL to the parent, pid 1 and everybody" kill -0 "$pid"
	is "$(box -- echo well)" well "and boxes still start"
fi
is "$(bare kill "$pid" 0)" ok "control: outside it can be signalled"

# kill(0): the group of the caller is another one. We would die of it.
box -- sh -c 'kill -TERM 0; sleep 5' 2>/dev/null
is "$?" 143 "kill 0 ends the payload's own group only"
box -- sh -c 'kill -INT -$PPID; kill -INT 0; sleep 5' 2>/dev/null
isnt "$?" 0 "nor does the parent's"

for act in "attach $pid" trace-child read-child; do
	# shellcheck disable=SC2086 # words
	is "$(probe $act)" EPERM "refused: ${act/$pid/PID}"
	# shellcheck disable=SC2086 # words
	[ "$act" != "attach $pid" ] && is "$(bare $act)" ok "control: $act outside"
done
if [ "$(cat /proc/sys/kernel/yama/ptrace_scope 2>/dev/null || echo 0)" = 0 ] || [ "$ME" = root ]; then
	is "$(bare attach "$pid")" ok "control: the process can be traced outside"
fi
if [ "$LEVEL" = container ]; then
	for act in setpriority setaffinity; do
		is "$(probe $act "$pid")" ESRCH "$act: there is no such process"
		is "$(bare $act "$pid")" ok "control: $act outside"
	done
	is "$(box -- sh -c 'echo $$')" 2 "pids start anew"
	is "$(box -- sh -c 'kill -9 1; kill -15 1; sleep 0.1; echo alive' 2>/dev/null)" alive "init cannot be ended from inside"
fi
is "$(probe prlimit "$pid")" EPERM "the limits of others cannot be asked or set"
is "$(bare prlimit "$pid")" ok "control: outside they can"

# A lease on a file that is given: whoever opens it outside to write would wait for up to fs.lease-break-time.
mkdir "$WORK/given"
echo text >"$WORK/given/file"
chmod 777 "$WORK/given"
chmod 666 "$WORK/given/file"
lease='import fcntl, os, sys
for cmd in (1024, 1040, (1 << 32) + 1024):
    try:
        fcntl.fcntl(os.open(sys.argv[1], os.O_RDONLY), cmd if cmd < 1 << 31 else cmd - (1 << 32), fcntl.F_RDLCK)
        print("held", flush=True)
    except OSError as e:
        print("refused")'
if [ "$(python3 -c "$lease" "$WORK/given/file" | sed -n 1p)" = held ]; then
	pass "control: outside there are leases"
	is "$(box --ro "$WORK/given" -- python3 -c "$lease" "$WORK/given/file" | sort -u)" refused "no lease on what is given to read"
	can_rw && is "$(box --rw "$WORK/given" -- python3 -c "$lease" "$WORK/given/file" | sort -u)" refused "nor on what is given to write"
else
	skip "no lease" "this file system has none"
fi
done_testing
