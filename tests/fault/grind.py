#!/usr/bin/env python3
"""Runs of boxes under valgrind, in every process of them: front, keeper, init and the payload's child until it executes. TAP.

    grind.py INJECT THROUGH CORDON LIVES LOSES SUPPRESSIONS WORKDIR

valgrind does not know some of the calls that boxes are made with: through.c and inject.c take them past it. It follows cordon's forks and clones,
and lets go of whoever executes a program. What is held against it: no wrong use of memory, none that is lost, and no descriptor that is still
open at a process's end but for those that it has to have (EXPECTED). Whoever is killed tells nothing: init is given the time to end.
The failures: a sample of the calls that the front and the keeper make fails, in each case with nothing lost by the front, which goes on;
the others end where they are. CORDON_FULL=1 has all of them.
"""
import collections
import concurrent.futures
import glob
import os
import re
import subprocess
import sys

INJECT, THROUGH, CORDON, LIVES, LOSES, SUPPRESSIONS, WORK = sys.argv[1:]
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FULL = os.environ.get("CORDON_FULL") == "1"
SAMPLE = 6
VALGRIND = ["/usr/bin/valgrind", "-q", "--track-fds=yes", "--leak-check=full", "--show-leak-kinds=definite,indirect,possible",
            "--errors-for-leak-kinds=definite,possible", f"--suppressions={SUPPRESSIONS}"]
# Where a line of a stack is in cordon: FILE -> its directory. Helpers below are not who holds a descriptor.
SOURCES = {os.path.basename(p): os.path.basename(os.path.dirname(p)) for p in glob.glob(f"{TOP}/src/*/*.c")}
HELPERS = ("base", "musl")
SOURCES.update({"link.c": HELPERS[0], "mount.c": HELPERS[0]})
# What a process still has at its end, by who opened it: (directory or function, how many at most, why).
EXPECTED = {
    "front": [("cli_front", 2, "the pipe that signal handlers write to")],
    "holder": [],  # a program that uses the library: all is given back
    "keeper": [("run_start", 1, "the front's link"), ("box_start", 2, "the front's link and control"), ("plan/", 99, "the plan's paths")],
    "init": [("init_main", 1, "its signals"), ("native_build", 1, "the keeper's link, its lifeline"),
             ("take_cgroup", 99, "where jobs of a box that lives join"), ("open_group", 99, "process level: the group that it kills"),
             ("make_inner", 1, "process level: the private directory")],
}
WRONG = re.compile(r"Invalid |uninitialised|Syscall param|(definitely|indirectly|possibly) lost in|Mismatched|overlap|Process terminating|"
                   r"the 'impossible' happened|unhandled amd64-linux syscall|unhandled instruction")
# Calls that valgrind does not make for itself.
SAFE = {"socketpair", "pipe2", "openat2", "mkdir", "mkdirat", "sendmsg", "recvmsg", "poll", "memfd_create", "clone", "wait4", "waitid", "mount",
        "pidfd_open", "flock", "rmdir", "unlinkat", "landlock_create_ruleset", "open_tree", "fchmod", "chmod"}
count = failed = 0


def say(good, name, why=""):
    global count, failed
    count += 1
    failed += not good
    print(f"{'ok' if good else 'not ok'} {count} - {name}", flush=True)
    for line in str(why).splitlines()[:60] if not good else []:
        print(f"# {line}")


def run(tag, command, *options):
    """The command's status, what valgrind says of each process, and their names."""
    log, report = f"{WORK}/{tag}.log", f"{WORK}/{tag}.report"
    p = subprocess.run([INJECT, "--through", "yes", "--report", report, "--seconds", "60", *options, "--",
                        *VALGRIND, f"--log-file={log}", *command],
                       env={**os.environ, "LD_PRELOAD": THROUGH}, stdin=subprocess.DEVNULL, capture_output=True, check=False, close_fds=True)
    said, names, status, fired = collections.defaultdict(list), {}, None, False
    with open(report, encoding="utf-8") as f:
        for key, *rest in (line.split() for line in f):
            if key == "pid":
                names[int(rest[1])] = rest[0]
            status = rest[0] if key == "status" else status
            fired = fired or key == "fired"
    with open(log, encoding="utf-8", errors="replace") as f:
        for line in f:
            found = re.match(r"(?:==|--)(\d+)(?:==|--) ?(.*)", line)
            if found:
                said[int(found[1])].append(found[2])
    os.unlink(log)
    os.unlink(report)
    return {"status": status, "fired": fired, "said": said, "names": names, "err": p.stderr.decode(errors="replace"), "out": p.stdout}


def role_of(seen, pid, holder):
    """Who a process is: pid 1 is init of a pid namespace, others are known by their descent. At process level init is the keeper's last child."""
    name = seen["names"].get(pid)
    last = max((n for n in seen["names"].values() if n.count(".") == 2), default=None)
    if pid == 1 or (1 not in seen["said"] and name and name == last):
        return "init"
    return {"0": holder, "0.1": "keeper"}.get(name, "another")


def opener(stack):
    """Whoever of cordon opened it: its function and its directory."""
    for line in stack:
        found = re.match(r"\s*(?:at|by) 0x[0-9A-F]+: (\w+)(?:\.\S+)? \(([\w.]+):\d+\)", line)
        if found and SOURCES.get(found[2], HELPERS[0]) not in HELPERS:
            return found[1], SOURCES[found[2]] + "/"
    return "nobody known", ""


def descriptors(lines):
    """(number or path, stack) of each that is open at the end and was not the caller's."""
    for i, line in enumerate(lines):
        if re.match(r"Open (file descriptor|AF_\w+ socket) \d+", line):
            stack = lines[i + 1:i + 1 + next((k for k, x in enumerate(lines[i + 1:]) if not x.strip()), 0)]
            if "<inherited from parent>" not in "".join(stack):
                yield line, stack


def problems(seen, holder="front", roles=tuple(EXPECTED)):
    """Wrong use in anybody, and what those of these roles have lost."""
    found = []
    for pid, lines in seen["said"].items():
        role = role_of(seen, pid, holder)
        found += [f"{role}: {x}\n" + "\n".join(lines[i + 1:i + 10]) for i, x in enumerate(lines) if WRONG.search(x)]
        if role not in roles:
            continue
        left = {entry[0]: entry[1] for entry in EXPECTED[role]}
        for line, stack in descriptors(lines):
            who = next((w for w in opener(stack) if left.get(w, 0) > 0), None)
            if who:
                left[who] -= 1
            else:
                found.append(f"{role}: {line}\n" + "\n".join(stack[:8]))
    return found


def told(seen, holder="front"):
    """Who said what was open at its end: without that, nothing was looked at."""
    return {role_of(seen, pid, holder) for pid, lines in seen["said"].items() if any("FILE DESCRIPTORS" in x for x in lines)}


def check(name, status, seen, wanted, holder="front"):
    missing = wanted - told(seen, holder)
    say(seen["status"] == str(status) and not missing, f"{name}: it runs, and {', '.join(sorted(wanted))} tell",
        f"status {seen['status']}, not told: {missing}\n{seen['err']}")
    found = problems(seen, holder)
    say(not found, f"{name}: nothing is used wrongly or lost", "\n".join(found))


def controls():
    seen = run("loses", [LOSES])
    found = "\n".join(problems(seen, "holder"))
    for who in ("holder", "keeper"):
        for what in ("definitely lost", "Open file descriptor"):
            say(re.search(f"{who}: .*{what}", found), f"control: '{what}' is noticed, {who}", found)
    say(re.search("keeper: .*Invalid read", found), "control: so is a wrong read", found)
    say(b"openat2" in seen["out"], "control: a call that valgrind does not know is made", seen["out"])


def cases():
    project, given = f"{WORK}/project", f"{WORK}/given"
    os.makedirs(project, exist_ok=True)
    os.chmod(project, 0o777)
    with open(given, "w", encoding="ascii") as f:
        f.write("data\n")
    files = ["--rw", f"{project}:/p", "--protect", ".git/hooks/", "--in", f"{given}:/tmp/in", "--out", f"/tmp/in:{WORK}/back", "--ro", f"{given}:/data"]
    both = {"front", "keeper"}
    return [
        ("a run", 0, ["--", "echo", "hello"], both | {"init"}),
        ("process level", 0, ["--level", "process", "--", "echo", "hello"], both),
        ("files in and out, protection", 0, [*files, "--", "true"], both | {"init"}),
        ("not found", 127, ["--", "no-such-thing"], both),
        ("the deadline", 124, ["--timeout", "500ms", "--", "sleep", "20"], both | {"init"}),
        ("a flood", 137, ["--output", "4K", "-q", "--", "yes"], both | {"init"}),
        ("refused calls", 0, ["--policy", "strict", "--json", "--", "python3", "-c", "import os\ntry: os.execv('/bin/ls', ['ls'])\nexcept OSError: pass"],
         both | {"init"}),
        ("a terminal", 0, ["--tty", "--", "true"], both | {"init"}),
    ]


def failures(pool):
    """Calls of front and keeper that fail, in a box that lives and in a run at process level."""
    jobs = []
    for kind, command, holder in (("a box that lives", [LIVES, "/etc/hostname", "true"], "holder"),
                                  ("process level", [CORDON, "run", "--level", "process", "--", "true"], "front")):
        listing = f"{WORK}/listing"
        run("listing", command, "--list", listing)
        places = collections.Counter()
        with open(listing, encoding="utf-8") as f:
            for name, _, call in (line.split() for line in f):
                places[name, call] += name in ("0", "0.1") and call in SAFE
        every = [(name, call, spare) for (name, call), n in sorted(places.items()) for spare in range(n)]
        take = len(every) if FULL else SAMPLE
        chosen = every[::max(1, len(every) // take)][:take]
        jobs += [(kind, command, holder, place) for place in chosen]

    def one(job):
        kind, command, holder, (name, call, spare) = job
        seen = run(f"{holder}-{name}-{call}-{spare}", command, "--every", f"{name}:{call}", "--spare", str(spare),
                   "--once", "yes", "--error", "1")
        return kind, f"{name}:{call} after {spare}", seen["fired"], problems(seen, holder, (holder,)) + (["hangs"] if seen["status"] == "hangs" else [])

    reached = 0
    for kind, where, fired, found in pool.map(one, jobs):
        reached += bool(fired)
        if found:
            say(False, f"{kind}, {where} fails: nothing is lost", "\n".join(found))
    say(reached > len(jobs) // 2, f"calls that fail: {reached} of {len(jobs)} places reached, and nothing is lost")


def main():
    controls()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        table = cases()
        for (name, status, _, wanted), seen in zip(table, pool.map(lambda c: run(c[0].split()[-1], [CORDON, "run", *c[2]]), table)):
            check(name, status, seen, wanted)
        check("a box that lives", 0, run("lives", [LIVES, "/etc/hostname", "true"]), {"holder", "keeper", "init"}, "holder")
        failures(pool)


main()
print(f"1..{count}")
sys.exit(1 if failed else 0)
