#!/bin/bash
# Front, keeper and init killed at random moments, alone and together: no process, cgroup, mount, directory or zombie is left.
# tests/fault/kill.sh does the same at every system call; here the moments are the clock's, and nobody is traced.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
levels container process
works_here || skip_all "no boxes of level $LEVEL here"
need python3

cat >"$WORK/kill.py" <<'PY'
"""kill.py ROUNDS WHO COMMAND…: starts COMMAND, kills WHO of it after 0 to 30 ms (WITHIN seconds), waits for all; prints the keepers' pids and what was left."""
import ctypes, os, random, signal, subprocess, sys, time
rounds, who, command = int(sys.argv[1]), sys.argv[2].split("+"), sys.argv[3:]
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # orphans come to us
random.seed(int(os.environ.get("CORDON_SEED", "0")) or None)

def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as f:
            return [int(c) for c in f.read().split()]
    except OSError:
        return []

# A pid is only signalled through a pidfd that was checked to be a descendant: numbers come round again.
def end(pid, parent):
    if pid <= 1:
        return
    try:
        fd = os.pidfd_open(pid)
    except OSError:
        return
    if parent is None or pid in children(parent):
        try:
            signal.pidfd_send_signal(fd, signal.SIGKILL)
        except OSError:
            pass
    os.close(fd)

left, hung = [], 0
for _ in range(rounds):
    p = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(random.random() * float(os.environ.get("WITHIN", "0.030")))
    keeper = (children(p.pid) or [0])[0]
    init = (children(keeper) or [0])[-1] if keeper else 0
    if keeper:
        print("keeper", keeper)
    if "init" in who:
        end(init, keeper)
    if "keeper" in who:
        end(keeper, p.pid)
    if "front" in who:
        os.kill(p.pid, signal.SIGKILL)
    try:
        p.wait(30)
    except subprocess.TimeoutExpired:
        hung += 1
        p.kill()
        p.wait()
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:  # everything that was orphaned falls to us; nothing may remain
        try:
            if os.waitpid(-1, os.WNOHANG) == (0, 0):
                time.sleep(0.002)
        except ChildProcessError:
            break
    else:
        left.append(children(os.getpid()))
        for c in children(os.getpid()):
            end(c, os.getpid())
print("left", left)
print("hung", hung)
PY
mkdir "$WORK/project"
flags=(--timeout 20s)
[ "$LEVEL" = container ] && flags+=(--rw "$WORK/project:/project" --protect .git/config)
payload=(sh -c 'sleep 0.01; (sleep 30 &) ; sleep 0.02')
mounts_before=$(mounts)
kinds=(keeper init front keeper+front keeper+init keeper+init+front)
if [ "$LEVEL" = process ]; then
	# No pid namespace: when init itself is killed, only a cgroup can end what it left, and only whoever is left to use it.
	kinds=(keeper front keeper+front)
	result -- true
	[[ "$(field isolation.layers)" == *cgroup* ]] && kinds+=(init keeper+init)
fi
for who in "${kinds[@]}"; do
	timeout 300 python3 "$WORK/kill.py" 34 "$who" "$CORDON" run --level "$LEVEL" "${flags[@]}" -- "${payload[@]}" >"$WORK/log"
	awk '$1 == "keeper" { print $2 }' "$WORK/log" | sort -u >"$WORK/keepers"
	[ "$(wc -l <"$WORK/keepers")" -ge 10 ] && pass "$who: control: there were boxes to kill" || fail "$who: control: there were boxes to kill" "$(cat "$WORK/log")"
	is "$(grep ^left "$WORK/log")" "left []" "$who killed: no process is left"
	is "$(grep ^hung "$WORK/log")" "hung 0" "$who killed: nobody hangs"
	# What both leave together is swept by the next start; all else is gone by itself.
	[[ $who == *keeper*front* ]] && box "${flags[@]}" -- sleep 0.1 >/dev/null 2>&1
	is "$(left_of "$WORK/keepers")" "" "$who killed: no cgroup, directory or mount is left"
	is "$(find "$WORK/project" -mindepth 1)" "" "$who killed: no placeholder is left"
done
# On disk: a directory or, as root, an image on a loop device, which takes longer to make.
if [ "$LEVEL" = container ]; then
	loops() { losetup -lnO BACK-FILE 2>/dev/null | grep -E "cordon-($(paste -sd'|' "$WORK/keepers"))-"; }
	for who in keeper front keeper+front; do
		WITHIN=0.2 timeout 300 python3 "$WORK/kill.py" 8 "$who" "$CORDON" run --storage disk --disk 24M --tmp 8M --timeout 20s -- sh -c 'head -c 1M /dev/zero >"$HOME/x"; sleep 0.1' >"$WORK/log"
		awk '$1 == "keeper" { print $2 }' "$WORK/log" | sort -u >"$WORK/keepers"
		isnt "$(wc -l <"$WORK/keepers")" 0 "on disk, $who: control: there were boxes to kill"
		is "$(grep -E '^(left|hung)' "$WORK/log" | paste -sd' ')" "left [] hung 0" "on disk, $who killed: no process is left, nobody hangs"
		[ $who != keeper+front ] || box -- sleep 0.1 >/dev/null 2>&1
		is "$(left_of "$WORK/keepers")$(loops)" "" "on disk, $who killed: no cgroup, directory, mount or loop device is left"
	done
fi
is "$(mounts)" "$mounts_before" "as many mounts as before"
done_testing
