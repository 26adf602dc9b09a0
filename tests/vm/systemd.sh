#!/bin/bash
# An ordinary login on a host of systemd's: no group is its own, and its user manager, asked over its socket or the bus, gives a scope in which the kernel
# holds the limits; nothing is left of it, also after kill -9. Where there is no manager, or one that does not answer or was given too little, that is said,
# `--require cgroup` refuses, and the remedy that doctor prints is one. Run by test.sh as root, in a guest whose pid 1 is systemd.
. "$(dirname "$0")/../lib.sh"
levels container
need_root
[ "$(cat /proc/1/comm)" = systemd ] || skip_all "pid 1 is not systemd"
need loginctl su strace
v2=/sys/fs/cgroup
manager=$v2/user.slice/user-1000.slice/user@1000.service
program=$CORDON

# by USER [NAME=VALUE…]: from here on cordon is started by this user of vm-as, with this environment besides.
CORDON=$WORK/cordon
by() {
	printf '#!/bin/bash\nexec vm-as%s "$@"\n' "$(printf ' %q' "$1" env "${@:2}" "$program")" >"$CORDON"
	chmod 755 "$CORDON"
}
left() {
	find $v2 -name '*cordon-*'
	vm-as tester systemctl --user list-units --all --plain --no-legend 'cordon*'
}
nothing_left() { [ -z "$(left)" ]; }
nothing() { ok "no scope and no group is left $1" until_true 10 nothing_left || note "$(left)"; }
payload() { pgrep -xf "sleep $1"; }
group_of() { echo "$v2$(sed 's/^0:://' "/proc/$1/cgroup")"; }
no_payload() { ! payload "$1"; }
# examine: what doctor says; found NAME FIELD: of one layer of it.
examine() { "$CORDON" doctor --json >"$WORK/doctor"; }
found() { python3 -IS -c 'import json, sys
for layer in json.load(open(sys.argv[1]))["layers"]:
    if layer["name"] == sys.argv[2]:
        print(layer[sys.argv[3]] or "")' "$WORK/doctor" "$1" "$2"; }
source_of_limits() { json limit_source <"$WORK/doctor"; }
refused_with() { # DESC MESSAGE HINT
	result --require cgroup -- true
	expect "$1: refused" status=failed error.code=unavailable "error.message=~$2" "error.hint=~$3"
	result -- true
	expect "and without --require it is watched" status=success isolation.limit_source=watch 'isolation.layers=~"rlimits"'
}

# ---- a login ----
by tester
vm-as tester sleep 900 2>/dev/null & # another one that stays, so that the manager does
defer kill $!
own=$(vm-as tester sed 's/^0:://' /proc/self/cgroup)
like "$own" '^/user\.slice/user-1000\.slice/session-[^/]*\.scope$' "a login is in a session of systemd's ($(systemctl --version | head -n 1))"
is "$(vm-as tester sh -c 'mkdir $0/x 2>/dev/null || echo refused' $v2/user.slice/user-1000.slice)" refused "in which it can make no group"
result --require cgroup --memory 64M -- true
expect "it gets one" status=success isolation.limit_source=cgroup 'isolation.layers=~"cgroup"' 'memory_peak_bytes=>1'
nothing "when it has ended"

result --require cgroup --memory 64M --timeout 40s -- python3 -c 'x = bytearray(b"x") * (300 << 20); print(len(x))'
expect "too much memory" status=resource_exceeded limit=memory stdout= 'memory_peak_bytes=<70000000'
result --require cgroup --pids 10 -- python3 -c 'import os, sys, time
n = 0
try:
    while n < 300:
        n += 1
        if os.fork() == 0:
            time.sleep(30)
            os._exit(0)
except OSError:
    sys.exit(str(n))'
expect "too many processes" status=resource_exceeded limit=processes 'stderr=~^([1-9]|10)$'

vm-as tester strace -f -e trace=clone3,clone,fork,vfork -o /tmp/births "$program" run -- true
is "$(grep -cE ' (v?fork|clone)\(' /tmp/births) $(grep -cE 'clone3.* = -1' /tmp/births)" "1 0" "the payload is born in its group"

# ---- while it runs, and after kill -9 ----
"$CORDON" run --require cgroup --memory 64M --pids 20 --cpus 0.5 --timeout 100s -- sh -c 'sleep 98.7; true' 2>/dev/null &
ok "one is running" until_true 20 payload 98.7
dir=$(group_of "$(payload 98.7)")
owner=${dir##*/}
is "$dir" "$manager/app.slice/$owner.scope/cordon/$owner" "its group is in a scope of its own"
is "$(cd "$dir" && cat memory.max memory.swap.max pids.max cpu.max | tr '\n' ' ')" "$((64 << 20)) 0 20 50000 100000 " "and has the limits"
like "$(left)" "$owner\.scope +loaded active running cordon sandbox" "control: systemd knows it"
front=$(pgrep -u 1000 -x cordon) keeper=$(pgrep -u 1000 -x cordon-keeper)
is "$(group_of "$keeper")" "${dir%/cordon/*}/keeper" "the keeper is in the scope"
like "$(group_of "$front")" '/session-[^/]*\.scope$' "the front stayed in the session"
kill -9 "$front" "$keeper"
ok "front and keeper killed, the payload ends" until_true 20 no_payload 98.7
nothing "after kill -9"
"$CORDON" run --require cgroup -- sleep 97.7 2>/dev/null &
ok "one is running" until_true 20 payload 97.7
kill -9 "$(pgrep -u 1000 -x cordon-keeper)"
wait $!
ok "the keeper alone killed, the payload ends" until_true 20 no_payload 97.7
nothing "after that"

# ---- many ----
vm-as tester sh -c 'seq 20 | xargs -P 4 -I{} "$0" run --json --require cgroup --memory 64M -- echo {}' "$program" >"$WORK/many"
is "$(grep -c '"limit_source": "cgroup"' "$WORK/many") $(grep '"stdout"' "$WORK/many" | sort -u | wc -l)" "20 20" "twenty, four at a time"
nothing "of them"

if [ -n "${VM_SHORT:-}" ]; then
	skip "other ways to the manager, one that fails, and what doctor advises" "VM_SHORT is set: make test-systemd has it"
	done_testing
fi

# ---- other ways to the manager ----
by tester XDG_RUNTIME_DIR=/nonexistent
result --require cgroup -- true
expect "over the session's bus" status=success isolation.limit_source=cgroup
by tester-nodelegate
result --require cgroup -- true
expect "from a service of the system's, which knows no bus" status=success isolation.limit_source=cgroup
if [ -u /usr/bin/newuidmap ] && command -v crun >/dev/null; then
	by tester
	ENGINE=crun result --require cgroup --memory 64M -- sh -c 'dd bs=200M count=1 if=/dev/zero of=/dev/null'
	expect "crun: its container's limits hold in a scope" status=resource_exceeded limit=memory isolation.limit_source=cgroup
else
	skip "crun: its container's limits hold in a scope" "no crun or no newuidmap"
fi
nothing "of these"

# ---- no manager, or one that does not answer ----
by tester XDG_RUNTIME_DIR=/nonexistent DBUS_SESSION_BUS_ADDRESS=
refused_with "a manager that is not found" 'no systemd user manager answers' 'loginctl enable-linger 1000'
examine
is "$(source_of_limits)" watch "which doctor says too"
by tester-nodelegate
pid=$(systemctl show -P MainPID user@1000)
kill -STOP "$pid"
refused_with "a manager that hangs" 'gives no scope' 'systemctl --user status'
kill -CONT "$pid"
nothing "when it goes on"
systemctl stop user@1000
refused_with "a manager that is stopped" 'no systemd user manager answers' 'loginctl enable-linger 1000'
examine
remedy=$(found cgroup remedy)
like "$remedy" '^as root: [^;]*; ' "doctor has a remedy for root"
note "$remedy"
remedy=${remedy#as root: }
ok "which can be done" bash -c "${remedy%%;*}"
result --require cgroup -- true
expect "and is one" status=success isolation.limit_source=cgroup

# ---- a manager that was given too little ----
less=/run/systemd/system/user@.service.d
mkdir -p $less
printf '[Service]\nDelegate=\nDelegate=memory pids\n' >$less/00-less.conf
systemctl daemon-reload && systemctl restart user@1000
by tester
note "controllers: $(cat "$manager/cgroup.controllers")"
refused_with "a manager without cpu" 'not delegated: cpu io' 'Delegate='
examine
is "$(source_of_limits) $(found cgroup.cpu state)" "watch limited" "which doctor says too"
remedy=$(found cgroup.cpu remedy)
like "$remedy" '^as root: [^;]*; then as uid 1000: ' "it has a remedy for root and for the user"
note "$remedy"
remedy=${remedy#as root: }
ok "root's can be done" bash -c "${remedy%%;*}"
like "$(cat "$manager/cgroup.controllers")" '\<io\>' "the manager was given all"
result -- true
expect "of which it does not know yet: limits that nobody chose are left out" status=success
result --disk-read 10M/s -- true
expect "those that were are refused" status=failed error.code=unavailable 'error.hint=~systemctl --user daemon-reexec'
examine
is "$(found cgroup.io state) $(found cgroup.io remedy)" "limited systemctl --user daemon-reexec, so that the manager knows what it was given" "which doctor says too"
# shellcheck disable=SC2086 # a command
ok "the user's can be done" vm-as tester ${remedy##*: }
examine
is "$(source_of_limits) $(found cgroup.cpu state) $(found cgroup.io state)" "cgroup available available" "then doctor finds everything"
"$CORDON" run --require cgroup --disk-read 10M/s -- sleep 96.7 &
ok "and a box has it" until_true 20 payload 96.7
like "$(cat "$(group_of "$(payload 96.7)")/io.max")" 'rbps=10485760' "by io.max"
kill "$(pgrep -u 1000 -x cordon)"
wait $!
nothing "of all this"
done_testing
