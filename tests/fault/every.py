#!/usr/bin/env python3
"""Every system call that cordon makes fails once, or is where a process of it is killed; tells what went wrong. TAP.

    every.py fail|kill INJECT WORLD WORKDIR FLAG…

fail: each call of the front, the keeper, init and the payload's child is made to fail. Either the run is refused with a reason, or
      the payload's world is exactly what it is without the failure: the same rights, mounts, namespaces, limits, descriptors.
      Controls: calls that are told to have been made and were not, and what is noticed of them.
kill: at each call one or two of the processes are killed. Nothing may be left: no process, no cgroup, no mount, no file.

"@" in a flag is the number of the worker, so that runs at the same time need not share a directory. Unless CORDON_FULL=1 the calls are sampled
(CORDON_SAMPLE of each kind in each process), and at each of them only some of those who can be killed are (CORDON_EACH): in turn.
LIVES is a program that has two jobs in one box that lives, instead of a run of its own for each.
"""
import concurrent.futures
import errno
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import threading

CORDON = os.environ["CORDON"]
FULL = os.environ.get("CORDON_FULL") == "1"
SAMPLE = int(os.environ.get("CORDON_SAMPLE", "3"))
EACH = int(os.environ.get("CORDON_EACH", "100"))
MODE, INJECT, WORLD, WORK, *FLAGS = sys.argv[1:]
HOST = [os.readlink(f"/proc/self/ns/{n}") for n in ("cgroup", "ipc", "mnt", "net", "pid", "user", "uts")]
LEVEL = os.environ["LEVEL"]
LIVES = os.environ.get("LIVES")
SEEN, INSIDE = (WORLD, WORLD) if LEVEL == "process" else (f"{WORLD}:/opt/world", "/opt/world")
COMMAND = [LIVES, SEEN, INSIDE, *HOST] if LIVES else \
          [CORDON, "run", "--json", "--timeout", "10s", *FLAGS, "--ro", SEEN, "--", INSIDE, *HOST]
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
# What differs from run to run, or is the host's and no part of the box.
VARIES = [(re.compile(x), to) for x, to in ((r"cordon-\d+-\d+-[0-9a-f]{8}-[0-9a-f]+", "OWNER"), (r"\b16106\d{5}\b", "ID"), (r"(?<=NSpid:\t)\d+$", "N"))]
HOSTS = re.compile(r"(mount|space|entry|cgroup :\S*freezer) " if LEVEL == "process" else r"$^")
# Told to be made and not made: the payload's child, or init, would never know. A box without that is another one.
PRETENDED = [("child", "landlock_restrict_self"), ("child", "prlimit64")] + \
            ([] if LEVEL == "process" else [("init", "sethostname"), ("init", "mount_setattr")])
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


def run(tag, *options, command=None):
    """One run under the injector: its report, the results, stderr."""
    report = f"{WORK}/{tag}.report"
    command = [a.replace("@", str(getattr(mine, "number", 0))) for a in command or COMMAND]
    spare = os.open("/etc/hostname", os.O_RDONLY)  # must never reach a payload
    try:
        p = subprocess.run([INJECT, "--report", report, "--seconds", "90", *options, "--", *command], pass_fds=[spare],
                           stdin=subprocess.DEVNULL, capture_output=True, check=False)
    finally:
        os.close(spare)
    seen = {"pids": {}, "facts": [], "started": False, "status": None, "left": None, "fired": None}
    with open(report, encoding="utf-8") as f:
        for line in f:
            key, _, rest = line.strip().partition(" ")
            if key == "pid":
                name, pid = rest.split()
                seen["pids"][name] = int(pid)
            elif key in ("limit", "group", "rights"):
                seen["facts"].append(f"{key} {rest}")
            else:
                seen[key] = rest or True
    os.unlink(report)
    try:
        said = json.loads(p.stdout)
        seen["results"] = said if isinstance(said, list) else [said]
    except ValueError:
        seen["results"] = None
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


def same(lines):
    """Without what differs from run to run."""
    for pattern, to in VARIES:
        lines = [pattern.sub(to, x) for x in lines]
    return {x for x in lines if not HOSTS.match(x)}


def worlds(seen):
    """One for each job: what its payload saw, and what the result lists."""
    return [same([*(r.get("stdout") or "").splitlines(), json.dumps(r.get("isolation"))]) for r in seen["results"] or []]


def changes(before, after):
    """What one has and the other has not, but for what may differ."""
    found = [f"-{x}" for x in sorted(before - after)] + [f"+{x}" for x in sorted(after - before)]
    return [x for x in found if not any(h.match(x) for h in HARMLESS)]


def difference(baseline, seen):
    """Of the kernel's account of each payload that was executed, and of the worlds of those that succeeded."""
    found = changes(same(baseline["facts"]), same(seen["facts"])) if seen["started"] else []
    for before, after, result in zip(worlds(baseline), worlds(seen), seen["results"] or []):
        found += changes(before, after) if result["status"] == "success" else []
    if any(x.startswith("+mount /project/.git ro") for x in found):  # the whole of it instead of a part
        found = [x for x in found if "mount /project/.git" not in x]
    return found


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


def reason_missing(seen, name):
    """Why it is not told what failed, if so. The front's own output may be what failed: then its status has to do."""
    results = seen["results"]
    if not results:
        return None if name == "0" and seen["status"] not in ("0", None) else f"no result, status {seen['status']}: {seen['err']}"
    for result in results:
        error = result.get("error") or {}
        if result["status"] == "success":
            continue
        if result["status"] not in ("failed", "denied") or not error.get("message") or not error.get("step"):
            return f"{result['status']}, exit code {result['exit_code']}, {error}, {seen['err']}"
    good = all(r["status"] == "success" for r in results)
    if good != (seen["status"] == "0") or (not good and seen["status"] not in ("125", "126", "127")):
        return None if name == "0" and seen["status"] != "0" else f"status {seen['status']} for {[r['status'] for r in results]}"
    return None


def problems_of(baseline, seen, name):
    problems = []
    if seen["status"] == "hangs":
        problems.append("hangs")
    if seen["left"] != "0":
        problems.append(f"{seen['left']} processes were left")
    left = left_on_host(seen["pids"].values())
    if left:
        problems.append(f"left behind: {left}")
    if not seen["started"] and any(r["status"] == "success" for r in seen["results"] or []):
        problems.append("reports success and ran nothing")
    missing = reason_missing(seen, name)
    if missing:
        problems.append(f"no reason given: {missing}")
    other = difference(baseline, seen)
    if other:
        problems.append("the payload ran in another world:\n" + "\n".join(other))
    return problems


def judge_failure(baseline, place, number):
    name, n, call = place
    seen = run(f"{name}-{n}-{number}", "--at", f"{name}:{n}", "--error", str(number))
    call = seen["fired"] or call  # the order of calls is not the same in every run
    if not seen["fired"] or call in POINTLESS:
        return None
    return f"{call} fails with {errno.errorcode[number]} ({name}:{n})", problems_of(baseline, seen, name)


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


def noticed(name, baseline, seen, pattern, who="0.1"):
    found = "\n".join(problems_of(baseline, seen, who))
    say(re.search(pattern, found, re.S), f"control: {name} is noticed", found or "nothing was")


def controls(baseline):
    """Each thing that must not be is made to be, and the same judge asked."""
    child = max((n for n in baseline["pids"] if n.count(".") == 3), default="0.1.1.1")
    for who, call in PRETENDED:
        name = child if who == "child" else child.rsplit(".", 1)[0]
        seen = run(f"pretend-{call}", "--every", f"{name}:{call}", "--pretend", "yes")
        if seen["fired"]:
            noticed(f"a payload without {call}", baseline, seen, "another world")
    seen = run("hangs", "--seconds", "0.5", command=["/bin/sleep", "20"])
    noticed("a run that hangs", baseline, seen, "hangs")
    seen = run("left", "--left", "0.5", command=["/bin/sh", "-c", "sleep 20 & exit 0"])
    noticed("a process that is left", baseline, seen, "processes were left")
    with open("/proc/uptime", encoding="ascii") as f, open("/proc/sys/kernel/random/boot_id", encoding="ascii") as g:
        ticks, boot = int(float(f.read().split()[0]) * 100), g.read()[:8]
    os.makedirs(f"/var/tmp/cordon-{os.getuid()}", mode=0o700, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f"cordon-{os.getpid()}-{ticks}-{boot}", dir=f"/var/tmp/cordon-{os.getuid()}"):
        noticed("a directory that is left", baseline, {**baseline, "pids": {"0.1": os.getpid()}}, "left behind")
    result = baseline["results"][0]
    for what, change in (("a failure without a reason", {"status": "failed"}),
                         ("a failure of ours that is told as the payload's", {"status": "error", "exit_code": 127})):
        seen = {**baseline, "status": "125", "results": [{**result, **change}]}
        noticed(what, baseline, seen, "no reason given")
    noticed("success that nobody ran", baseline, {**baseline, "started": False}, "ran nothing")
    layers = {**result["isolation"], "layers": [x for x in result["isolation"]["layers"] if x != "seccomp"]}
    noticed("a layer that is not listed", baseline, {**baseline, "results": [{**result, "isolation": layers}]}, "another world")
    facts = [x.replace("Seccomp:\t2", "Seccomp:\t0") for x in baseline["facts"]]
    noticed("a payload without seccomp", baseline, {**baseline, "facts": facts}, "another world")


def main():
    baseline, chosen = places()
    again = run("again")
    say(baseline["status"] == "0" and baseline["started"] and baseline["left"] == "0" and not reason_missing(baseline, "0.1"),
        "control: a run without failures", baseline)
    other = difference(baseline, again)
    size = len(baseline["facts"]) + sum(len(w) for w in worlds(baseline))
    say(size > 50 and not other, f"control: its world, of {size} facts, is the same twice", other)
    say(not left_on_host([*baseline["pids"].values(), *again["pids"].values()]), "control: and leaves nothing")
    if MODE == "fail":
        controls(baseline)
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
