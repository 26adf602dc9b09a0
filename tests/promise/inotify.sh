#!/bin/bash
# A box cannot use up what the kernel counts for the caller: inotify instances stay for the caller's own programs, and other boxes of his can be
# built while one has as many descriptors under way over unix sockets as it may.
. "$(dirname "$0")/../lib.sh"
levels container
need python3
take='import ctypes, os, sys, time
libc = ctypes.CDLL(None, use_errno=True)
n = 0
while n < int(sys.argv[1]) and libc.inotify_init() >= 0:
    n += 1
print(n, os.strerror(ctypes.get_errno()) if n < int(sys.argv[1]) else "all", flush=True)
time.sleep(float(sys.argv[2]))'
is "$(box -- python3 -c "$take" 4 0)" "4 all" "control: a few work"
is "$(python3 -c "$take" 4 0)" "4 all" "control: and outside"
result -- python3 -c "$take" 2000 0
like "$(field stdout)" '^[0-9]+ Too many open files' "two thousand do not"
count=$(field stdout | cut -d' ' -f1)
most=$(cat /proc/sys/fs/inotify/max_user_instances)
ok "and a box has at most half of the caller's ($count of $most)" test "${count:-$most}" -le $((most / 2))
# While a box holds all it can get, the caller goes on.
mkfifo "$WORK/ready"
box --timeout 40s -- python3 -c "$take" 2000 30 >"$WORK/ready" 2>"$WORK/err" &
holder=$!
defer kill "$holder"
read -r -t 30 held <"$WORK/ready"
like "${held:-$(cat "$WORK/err")}" '^[0-9]+ Too many' "control: a box holds what it got"
ok "control: it lives" kill -0 "$holder"
is "$(python3 -c "$take" 16 0)" "16 all" "the caller can watch files meanwhile"
is "$(box -- python3 -c "$take" 4 0)" "4 all" "and so can another box"
# Watches are counted the same way: one instance may have as many as there are files. The kernel's number for the box is half of the caller's.
watch='import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
fd = libc.inotify_init()
print(sum(libc.inotify_add_watch(fd, b"/usr/bin/" + n, 2) > 0 for n in os.listdir(b"/usr/bin")[:10]))'
is "$(box -- python3 -c "$watch")" 10 "control: a few watches"
is "$(box -- cat /proc/sys/user/max_inotify_watches)" $(($(cat /proc/sys/fs/inotify/max_user_watches) / 2)) "a box gets half of the caller's"
# Descriptors under way: a payload stays below its own limit, which is not that of who builds a box.
flight='import array, os, socket, sys, time
pairs, n, null = [], 0, os.open("/dev/null", 0)
try:
    while n < 100000:
        pairs.append(socket.socketpair())
        pairs[-1][0].sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [null] * 253))])
        n += 253
except OSError as e:
    print(n, e.strerror, flush=True)
time.sleep(float(sys.argv[1]))'
mkfifo "$WORK/flying"
if [ "$ME" = user ] && [ "$(ulimit -Hn)" -ge 2048 ]; then
	box --timeout 40s -- python3 -c "$flight" 30 >"$WORK/flying" 2>"$WORK/err" &
	flyer=$!
	defer kill "$flyer"
	read -r -t 30 held <"$WORK/flying"
	like "${held:-$(cat "$WORK/err")}" '^[0-9]+ Too many references' "control: a box has sent what it may"
	is "$(ulimit -Sn 1024; box -- echo built)" built "another one is built all the same"
	result -- python3 -c 'import ctypes, resource; print(resource.getrlimit(resource.RLIMIT_NOFILE)); ctypes.CDLL(None).mount(0, 0, 0, 0, 0)'
	is "$(field stdout)" "(1024, 1024)" "with its own limit"
	like "$(field denials.0.what)" mount "and all that is told of it"
	kill "$flyer"
	wait "$flyer" 2>/dev/null
fi
inside=$(box -- sh -c 'echo 100000 >/proc/sys/user/max_inotify_instances; echo 100000 >/proc/sys/fs/inotify/max_user_instances' 2>&1)
like "$inside" '(denied|Read-only|nonexistent|No such).*(denied|Read-only|nonexistent|No such)' "the payload cannot give itself more"
done_testing
