#!/bin/bash
# A box cannot use up what the kernel counts for the caller: inotify instances stay for the caller's own programs.
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
inside=$(box -- sh -c 'echo 100000 >/proc/sys/user/max_inotify_instances; echo 100000 >/proc/sys/fs/inotify/max_user_instances' 2>&1)
like "$inside" '(denied|Read-only|nonexistent|No such).*(denied|Read-only|nonexistent|No such)' "the payload cannot give itself more"
done_testing
