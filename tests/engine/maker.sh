#!/bin/bash
# The process that makes a box's gateway stands still: the caller's signals and his end are heard all the same, and nothing is left.
. "$(dirname "$0")/lib.sh"
need crun
need_root
ENGINE=crun
before=$(left | sort)

# stopped SIGNAL: how a run ends that gets it while its maker is stopped, and after how many milliseconds.
stopped() {
	python3 - "$CORDON" "$1" <<'END'
import os, signal, subprocess, sys, time

cordon, sent = sys.argv[1], getattr(signal, "SIG" + sys.argv[2])


def children(pid):
    try:
        return [int(c) for c in open(f"/proc/{pid}/task/{pid}/children").read().split()]
    except OSError:
        return []


def name_of(pid):
    try:
        return open(f"/proc/{pid}/comm").read().strip()
    except OSError:
        return None


def is_maker(pid):
    return name_of(pid) == "cordon-gateway"


for _ in range(40):  # it lives for milliseconds: again, until it was stopped in time
    run = subprocess.Popen([cordon, "run", "--engine", "crun", "--allow", "example.com", "--", "true"], stderr=subprocess.PIPE)
    keeper, maker = None, None
    end = time.monotonic() + 5
    while not maker and time.monotonic() < end and run.poll() is None:
        keeper = keeper or next(iter(children(run.pid)), None)
        maker = keeper and next(filter(is_maker, children(keeper)), None)
        time.sleep(0 if maker else 0.0002)  # who sleeps is woken at once, also on a busy machine
    try:
        os.kill(maker, signal.SIGSTOP)
    except (OSError, TypeError):
        run.communicate()
        continue
    time.sleep(0.3)
    others = {name_of(c) for c in children(keeper) if c != maker}
    if is_maker(maker) and run.poll() is None and others == {"cordon-egress"}:
        break
    try:
        os.kill(maker, signal.SIGCONT)
    except OSError:
        pass
    run.communicate()
else:
    sys.exit("the maker was never there to be stopped")
begun = time.monotonic()
run.send_signal(sent)
if sent == signal.SIGKILL:
    run.wait()
    while os.path.exists(f"/proc/{keeper}") and time.monotonic() < begun + 30 and open(f"/proc/{keeper}/stat").read().rsplit(")")[1].split()[0] != "Z":
        time.sleep(0.02)
said = run.communicate()[1].decode()
quick = time.monotonic() - begun < 3
while os.path.exists(f"/proc/{maker}") and time.monotonic() < begun + 3:
    time.sleep(0.02)
print(run.returncode != 0, "soon" if quick else "late", "alive" if os.path.exists(f"/proc/{maker}") else "gone", "cancelled" if "cancelled" in said else "")
END
}
ok "control: it runs" box --allow example.com -- true
is "$(stopped INT 2>&1)" "True soon gone cancelled" "an interrupt is heard while the gateway is made"
is "$(stopped TERM 2>&1)" "True soon gone cancelled" "so is the wish to end"
is "$(stopped KILL 2>&1)" "True soon gone " "and the caller's death"
until_gone "nothing is left"
done_testing
