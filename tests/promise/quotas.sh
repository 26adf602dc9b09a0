#!/bin/bash
# Limits, priorities and scheduling of init and of others' processes cannot be changed; what the whole machine shares cannot be used up.
. "$(dirname "$0")/../lib.sh"
levels container process
"$PROBE" sleep 100 >/dev/null &
pid=$!
defer kill "$pid"
nobody=1073741808 # no process has this uid

# init: at container level it is pid 1, rootless with the payload's own uid.
if [ "$LEVEL" = container ]; then
	for act in prlimit prlimit-set setpriority setscheduler setaffinity ioprio; do
		is "$(probe "$act" 1)" EPERM "$act of init is refused"
	done
	# shellcheck disable=SC2016
	is "$(box --ro "$PROBE" -- sh -c 'sleep 5 & '"$PROBE"' setpriority $!; '"$PROBE"' setscheduler $!; '"$PROBE"' setaffinity $!; kill $!')" $'ok\nok\nok' "control: of another process of the box it is not"
else
	# shellcheck disable=SC2016
	is "$(box --ro "$PROBE" -- sh -c 'for act in prlimit prlimit-set setpriority setscheduler setaffinity ioprio; do '"$PROBE"' $act $PPID; done' | sort -u)" EPERM "nothing of the parent can be changed"
fi
is "$(probe prlimit 0) $(probe prlimit-set 0) $(probe setpriority 0)" "ok ok ok" "control: one's own can be"
status 0 "a box whose payload tries to stop init ends in time" timeout 20 "$CORDON" run --level "$LEVEL" -- \
	python3 -c 'import resource
for pid in range(1, 40):
    try: resource.prlimit(pid, resource.RLIMIT_NOFILE, (0, 0))
    except OSError: pass'

# Processes of the host, of the same user where cordon is not root.
for act in prlimit-set setpriority setscheduler setaffinity ioprio; do
	like "$(probe "$act" "$pid")" '^(EPERM|ESRCH)$' "$act of a process outside is refused"
done
is "$(ps -o ni=,cls= -p "$pid" | tr -d ' ')" 0TS "its priority is as it was"
for act in setpriority-user ioprio-user; do
	is "$(probe $act $nobody)" EPERM "$act is refused"
	is "$(bare $act $nobody)" ESRCH "control: outside the kernel looks for the user's processes"
done
for act in setpriority setscheduler setaffinity ioprio; do
	is "$(bare "$act" "$pid")" ok "control: $act outside"
done

# Kernel AIO has one count for the whole machine.
is "$(probe calls io_setup)" "io_setup ENOSYS" "no contexts for kernel AIO"
isnt "$(bare calls io_setup)" "io_setup ENOSYS" "control: the kernel has them"

# A pair of datagram sockets is a socket that can send anywhere.
if [ "$LEVEL" = process ]; then
	python3 -c 'import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.bind(sys.argv[1])
while True: open(sys.argv[2], "a").write(s.recv(100).decode() + "\n")' "$WORK/socket" "$WORK/heard" &
	defer kill "$!"
	until_true 10 test -S "$WORK/socket"
	chmod 777 "$WORK/socket"
	for type in 2 3; do # SOCK_DGRAM, and SOCK_RAW, which is the same here
		is "$(probe pair-sendto "$WORK/socket" $type)" EAFNOSUPPORT "no pair of type $type"
	done
	for type in 1 5; do # SOCK_STREAM, SOCK_SEQPACKET
		probe pair-sendto "$WORK/socket" $type >/dev/null
		is "$(probe pair-connect "$WORK/socket" $type)" EPERM "a pair of type $type cannot be connected elsewhere"
		is "$(probe socketpair 1 $type)" ok "control: it can be had"
	done
	sleep 0.2
	ok "nothing was heard outside" test ! -s "$WORK/heard"
	is "$(bare pair-sendto "$WORK/socket" 2)" ok "control: outside a pair sends anywhere"
	ok "control: and it is heard" until_true 10 grep -q visited "$WORK/heard"
fi
done_testing
