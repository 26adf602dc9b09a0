#!/usr/bin/env python3
"""Every system call that cordon makes fails once, or is where a process of it is killed; tells what went wrong. TAP.

    every.py fail|kill INJECT WORLD WORKDIR FLAG…

fail: each call of the front, the keeper, init and the payload's child is made to fail. Either the run is refused with a reason, or
      the payload's world is exactly what it is without the failure: the same rights, mounts, namespaces, limits, descriptors.
kill: at each call one or two of the processes are killed. Nothing may be left: no process, no cgroup, no mount, no file.

"@" in a flag is the number of the worker, so that runs at the same time need not share a directory. Unless CORDON_FULL=1 the calls are sampled
(CORDON_SAMPLE of each kind in each process), and at each of them only some of those who can be killed are (CORDON_EACH): in turn.
"""
import concurrent.futures
import errno
import glob
import json
import os
import re
import subprocess
import sys
import threading

CORDON = os.environ["CORDON"]
FULL = os.environ.get("CORDON_FULL") == "1"
SAMPLE = int(os.environ.get("CORDON_SAMPLE", "3"))
EACH = int(os.environ.get("CORDON_EACH", "100"))
MODE, INJECT, WORLD, WORK, *FLAGS = sys.argv[1:]
HOST = [os.readlink(f"/proc/self/ns/{n}") for n in ("cgroup", "ipc", "mnt", "net", "pid", "user", "uts")]
COMMAND = [CORDON, "run", "--json", "--timeout", "10s", *FLAGS, "--ro", f"{WORLD}:/opt/world", "--", "/opt/world", *HOST]
JOBS = int(os.environ.get("CORDON_JOBS", "2"))
WHO = [w.split("+") for w in os.environ.get("CORDON_WHO", "self 0.1 0 0.1+0 0.1+init 0.1+init+0").split()]
# A call of these cannot fail in a way that means anything, or never comes back.
POINTLESS = {"exit_group", "exit", "rt_sigreturn", "pause", "getuid", "geteuid", "getgid", "getegid", "getpid", "getppid", "umask",
             "rt_sigprocmask", "rt_sigaction"}
# A world may differ so far: less to read, or one of several ways to count and to kill, chosen while planning.
HARMLESS = [re.compile(x) for x in (
    r"-(mount|entry) (/etc|/sys|//sys)[/ ]",                  # a convenience of the host that cannot be opened is left out
    r"[-+]mount /opt/world ro,nosuid,nodev,[a-z,]*",          # without an idmap it is readable as far as anyone may read it
    r"[-+](cgroup : |group unified|cgroup :cpuacct|group cpuacct)",
    r"[-+](cgroup :(blkio|cpu)\b|group (blkio|cpu)\b|limit (blkio|cpu))",  # v1: rates and the CPU share come once a run has lasted a moment
)]
count = failed = 0
workers = iter(range(JOBS))
mine = threading.local()
lock = threading.Lock()


def say(good, name, why=""):
    global count, failed
    count += 1
    failed += not good
    print(f"{'ok' if good else 'not ok'} {count} - {name}", flush=True)
    for line in (why if isinstance(why, list) else str(why).splitlines())[:60] if not good else []:
        print(f"# {line}")


def run(tag, *options):
    """One run under the injector: its report, the result, stderr."""
    report = f"{WORK}/{tag}.report"
    command = [a.replace("@", str(getattr(mine, "number", 0))) for a in COMMAND]
    spare = os.open("/etc/hostname", os.O_RDONLY)  # must never reach a payload
    try:
        p = subprocess.run([INJECT, "--report", report, "--seconds", "90", *options, "--", *command], pass_fds=[spare],
                           stdin=subprocess.DEVNULL, capture_output=True, check=False)
    finally:
        os.close(spare)
    seen = {"pids": {}, "limits": [], "started": False, "status": None, "left": None, "fired": None}
    with open(report, encoding="utf-8") as f:
        for line in f:
            key, _, rest = line.strip().partition(" ")
            if key == "pid":
                name, pid = rest.split()
                seen["pids"][name] = int(pid)
            elif key in ("limit", "group"):
                seen["limits"].append(f"{key} {rest}")
            else:
                seen[key] = rest or True
    os.unlink(report)
    try:
        seen["result"] = json.loads(p.stdout)
    except ValueError:
        seen["result"] = None
    seen["err"] = p.stderr.decode(errors="replace")
    return seen


def left_on_host(pids):
    """What carries the name of one of these processes; names are of pid, start and boot."""
    found = []
    for pid in pids:
        for place in ("/sys/fs/cgroup/*/cordon", "/sys/fs/cgroup/cordon", "/sys/fs/cgroup/**/cordon", "/var/tmp", "/run/cordon",
                      f"/tmp/cordon-{os.getuid()}"):
            if "**" in place and os.path.isdir("/sys/fs/cgroup/unified"):
                continue
            found += glob.glob(f"{place}/cordon-{pid}-*", recursive=True) + glob.glob(f"{place}/*/cordon-{pid}-*")
    with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as f:
        text = f.read()
    return sorted(set(found)) + [f"mount of {pid}" for pid in pids if f"cordon-{pid}-" in text]


def world(seen):
    result = seen["result"] or {}
    return [*(result.get("stdout") or "").splitlines(), *seen["limits"], json.dumps(result.get("isolation"))]


def difference(baseline, seen):
    """What one world has and the other has not, but for what may differ."""
    changes = [f"-{x}" for x in world(baseline) if x not in world(seen)] + [f"+{x}" for x in world(seen) if x not in world(baseline)]
    return [x for x in changes if not any(h.match(x) for h in HARMLESS)]


def places():
    listing = f"{WORK}/list"
    baseline = run("baseline", "--list", listing)
    kinds, chosen = {}, []
    with open(listing, encoding="utf-8") as f:
        for line in f:
            name, number, call = line.split()
            if call not in POINTLESS and (name, number) != ("0", "1"):
                kinds.setdefault((name, call), []).append((name, int(number), call))
    for events in kinds.values():
        n = len(events)
        take = n if FULL or n <= SAMPLE else SAMPLE
        chosen += [events[i * (n - 1) // max(take - 1, 1)] for i in range(take)]
    return baseline, sorted(set(chosen))


def judge_failure(baseline, place, number):
    name, n, call = place
    seen = run(f"{name}-{n}-{number}", "--at", f"{name}:{n}", "--error", str(number))
    what = f"{call} fails with {errno.errorcode[number]} ({name}:{n})"
    problems = []
    result = seen["result"] or {}
    if seen["status"] == "hangs":
        problems.append("hangs")
    if seen["left"] != "0":
        problems.append(f"{seen['left']} processes were left")
    left = left_on_host(seen["pids"].values())
    if left and call not in ("rmdir", "unlinkat"):
        problems.append(f"left behind: {left}")
    if not seen["fired"]:
        return None
    if seen["started"] and result.get("status") == "success":
        other = difference(baseline, seen)
        if any(x.startswith("+mount /project/.git ro") for x in other):  # the whole of it instead of a part
            other = [x for x in other if "mount /project/.git" not in x]
        if other:
            problems.append("the payload ran in another world:\n" + "\n".join(other))
    elif not seen["started"]:
        error = result.get("error") or {}
        if seen["status"] == "0":
            problems.append("reports success and ran nothing")
        if name != "0" and (not error.get("message") or not error.get("step") or seen["status"] not in ("125", "126", "127")):
            problems.append(f"no reason given: status {seen['status']}, {error}, {seen['err']}")
    return what, problems


def judge_kill(place, who):
    name, n, call = place
    seen = run(f"{name}-{n}-{'-'.join(who)}", "--at", f"{name}:{n}", "--kill", ",".join(who))
    if not seen["fired"]:
        return None
    problems = []
    if seen["status"] == "hangs" or seen["left"] != "0":
        problems.append(f"status {seen['status']}, {seen['left']} processes were left")
    together = "0" in who and "0.1" in who
    if together:  # what both leave is swept by the next start
        subprocess.run([CORDON, "sweep"], check=False)
    left = left_on_host(seen["pids"].values())
    if left:
        problems.append(f"left behind: {left}")
    return f"kill {' and '.join(who)} at {call} ({name}:{n})", problems


def number_worker():
    global workers
    with lock:
        mine.number = next(workers, None)
        if mine.number is None:
            workers = iter(range(1, JOBS))
            mine.number = 0


def summary(jobs, title):
    """Hundreds of runs, one line each for those that went wrong and one for the rest."""
    done = reached = 0
    with concurrent.futures.ThreadPoolExecutor(JOBS, initializer=number_worker) as pool:
        for verdict in pool.map(lambda job: job[0](*job[1:]), jobs):
            done += 1
            if verdict is None:
                continue
            reached += 1
            if verdict[1]:
                say(False, f"{title}: {verdict[0]}", "\n".join(verdict[1]))
    say(reached > done // 2, f"{title}: {reached} of {done} places reached", "the listing does not fit the runs")


def main():
    baseline, chosen = places()
    again = run("again")
    say(baseline["status"] == "0" and baseline["started"] and baseline["left"] == "0", "control: a run without failures", baseline)
    other = difference(baseline, again)
    say(len(world(baseline)) > 50 and not other, "control: its world is the same twice", other)
    say(not left_on_host([*baseline["pids"].values(), *again["pids"].values()]), "control: and leaves nothing")
    if MODE == "fail":
        for number in (errno.ENOMEM, errno.EPERM, errno.EINVAL) if FULL else (errno.EPERM,):
            summary([(judge_failure, baseline, p, number) for p in chosen], f"each call fails, {errno.errorcode[number]}")
        return
    inner = [p for p in chosen if p[0] != "0"]
    init = max((p[0] for p in chosen if p[0].count(".") == 2), default="0.1.1")
    for turn, who in enumerate([init if w == "init" else w for w in who] for who in WHO):
        places_of = [p for i, p in enumerate(inner if who != ["self"] else chosen) if FULL or (i + turn) % len(WHO) < EACH]
        summary([(judge_kill, p, who) for p in places_of], f"killed at each call: {' and '.join(who)}")


main()
print(f"1..{count}")
sys.exit(1 if failed else 0)
