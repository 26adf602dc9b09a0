"""Tables and pictures from what bench/bench.sh measured: report.py BUILD_DIR.

Reads *.tsv (ROUND NAME NANOSECONDS) and *.steps (bench/steps.c), prints the tables, and writes results.md, results.json, start.svg,
wall.svg and steps.svg. Ratios are medians over rounds of times of the same round. Nothing here fails because of a number.
"""
import collections
import json
import os
import platform
import statistics
import sys
from xml.sax.saxutils import escape

build = sys.argv[1]
lines = []
results = {}
targets = []


def say(text=""):
    lines.append(text)


def load(name):
    """{command: {round: milliseconds}}, in the order of first sight."""
    path = os.path.join(build, name + ".tsv")
    times = {}
    if os.path.exists(path):
        with open(path) as f:
            for line in f:
                number, command, ns = line.split()
                times.setdefault(command, {})[int(number)] = int(ns) / 1e6
    return times


def percentile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * share))]


def ratio(times, name, base):
    """The median over rounds of name/base."""
    both = times[name].keys() & times[base].keys()
    return statistics.median(times[name][r] / times[base][r] for r in both)


def target(what, got, bound, least=False):
    ok = got >= bound if least else got <= bound
    targets.append((what, got, bound, least, ok))


def table(head, rows):
    widths = [max(len(r[i]) for r in [head] + rows) for i in range(len(head))]

    def line(cells):
        text = [cells[0].ljust(widths[0])] + [c.rjust(w) for c, w in zip(cells[1:], widths[1:])]
        return "| " + " | ".join(text) + " |"

    say(line(head))
    say("|" + "|".join("-" * (w + 1) + ("-" if i == 0 else ":") for i, w in enumerate(widths)) + "|")
    for r in rows:
        say(line(r))
    say()


def compare(name, title, bases=("bare", "bwrap")):
    times = load(name)
    bases = [b for b in bases if b in times]
    if not times or not bases:
        return times
    say(f"### {title}")
    say()
    rows = []
    results[name] = {}
    for command in sorted(times, key=lambda c: statistics.median(times[c].values())):
        values = list(times[command].values())
        p50, p99 = statistics.median(values), percentile(values, 0.99)
        ratios = {b: ratio(times, command, b) for b in bases}
        results[name][command] = {"min_ms": min(values), "p50_ms": p50, "p99_ms": p99, "rounds": len(values),
                                  **{"x_" + b: r for b, r in ratios.items()}}
        rows.append([command, f"{min(values):.2f}", f"{p50:.2f}", f"{p99:.2f}"] + [f"{ratios[b]:.2f}" for b in bases])
    table(["", "min ms", "p50 ms", "p99 ms"] + ["x " + b for b in bases], rows)
    return times


# ---- the comparisons ----

def start(user):
    times = compare("start-" + user, f"Start of `true`, as {user}")
    if "cordon" in times and "bwrap" in times:
        target(f"start as {user}, of bwrap's", ratio(times, "cordon", "bwrap"), 0.65)
        target(f"start as {user}, of bare", ratio(times, "cordon", "bare"), 5)
    if "cordon" in times and "cordon-before" in times:
        target(f"start as {user}, of a build without a network", ratio(times, "cordon", "cordon-before"), 1.05)
    compare("alone-" + user, f"The same after a pause of 100 ms, as {user}")


def image(user):
    times = compare("image-" + user, f"Start of `true` from an image, as {user}")
    if "cordon" in times and "cordon-image" in times:
        target(f"start from an image as {user}, of the host's root", ratio(times, "cordon-image", "cordon"), 1.3)


def throughput(user):
    times = load("throughput-" + user)
    if not times:
        return
    say(f"### 500 runs, 4 at a time, as {user}")
    say()
    rows = []
    results["throughput-" + user] = {}
    for command, rounds in times.items():
        rate = 50 / (statistics.median(rounds.values()) / 1e3)
        of_bwrap = 1 / ratio(times, command, "bwrap") if "bwrap" in times else None
        results["throughput-" + user][command] = {"runs_per_s": rate, "x_bwrap": of_bwrap}
        rows.append([command, f"{rate:.0f}", f"{of_bwrap:.2f}" if of_bwrap else ""])
    table(["", "runs/s", "x bwrap"], rows)
    say("floor: the layers of the box alone, without anybody who holds a deadline, counts or cleans up (bench/floor.c).")
    say()
    if "cordon" in times and "bwrap" in times:
        target(f"rate as {user}, of bwrap's", 1 / ratio(times, "cordon", "bwrap"), 1.6, least=True)


def inside(user):
    rows = []
    for name, what, bound in (("cpu", "CPU-bound loop", 1.01), ("syscall", "getppid", 1.35),
                              ("compile", "compiling a small tree", 1.10), ("unpack", "unpacking a tar", 1.10)):
        times = load(f"{name}-{user}")
        if "cordon" not in times or "bare" not in times:
            continue
        r = ratio(times, "cordon", "bare")
        bare, box = (statistics.median(times[c].values()) for c in ("bare", "cordon"))
        results[f"{name}-{user}"] = {"bare_ms": bare, "cordon_ms": box, "x_bare": r}
        rows.append([what, f"{bare:.2f}", f"{box:.2f}", f"{r:.3f}"])
        target(f"{what} as {user}, of bare", r, bound)
    if rows:
        say(f"### Inside, as {user}")
        say()
        table(["", "bare ms", "cordon ms", "x bare"], rows)


# ---- boxes that live ----

def living():
    times = load("exec")
    if not times:
        return
    base = "docker-exec" if "docker-exec" in times else None
    rows = []
    results["exec"] = {}
    for command in sorted(times, key=lambda c: statistics.median(times[c].values())):
        values = list(times[command].values())
        p50, p99 = statistics.median(values), percentile(values, 0.99)
        r = ratio(times, command, base) if base else None
        results["exec"][command] = {"p50_ms": p50, "p99_ms": p99, "rounds": len(values), "x_docker_exec": r}
        rows.append([command, f"{p50:.2f}", f"{p99:.2f}", f"{r:.2f}" if base else "-"])
        if base and command.startswith("cordon-"):
            target(f"exec in a living box of {command[7:]}, of docker exec", r, 0.5)
    say("### /bin/true in a box that lives, as root")
    say()
    table(["", "p50 ms", "p99 ms", "of docker exec"], rows)


# ---- other engines ----

def engines():
    rows = []
    for engine in ("crun", "runc", "runsc", "docker", "podman"):
        times = load("engine-" + engine)
        box = "cordon-" + engine
        if engine not in times or box not in times:
            continue
        r = ratio(times, box, engine)
        own, ours = (statistics.median(times[c].values()) for c in (engine, box))
        results["engine-" + engine] = {"own_ms": own, "cordon_ms": ours, "x_own": r}
        rows.append([engine, f"{own:.1f}", f"{ours:.1f}", f"{r:.2f}"])
        target(f"--engine {engine}, of its own command", r, 1.15)
    if rows:
        say("### Boxes of other engines against the engine's own command for the same container, as root")
        say()
        table(["", "own ms", "cordon ms", "x own"], rows)


# ---- the wall ----

DOWNLOAD_MB = 256 * 1.048576  # bench/wall.sh
DOWNLOADS = {
    "tcp-direct": "TCP, direct",
    "tcp-wall": "TCP, through the wall",
    "http-direct": "HTTP, direct",
    "http-wall": "HTTP, through the wall, every request looked at",
    "tls-direct": "TLS, direct",
    "tls-wall": "TLS, through the wall, by its ClientHello",
    "tls-intercepted": "TLS, through the wall, intercepted",
}


def download(user):
    times = load("download-" + user)
    if "tcp-direct" not in times:
        return
    say(f"### A download of 256 MiB, as {user}")
    say()
    say("Direct is the same client and server over loopback. The ratios are of speeds.")
    say()
    rows = []
    results["download-" + user] = {}
    for command in (c for c in DOWNLOADS if c in times):
        speed = DOWNLOAD_MB / statistics.median(times[command].values()) * 1e3
        of = {b: 1 / ratio(times, command, b + "-direct") for b in ("tcp", "http", "tls") if b + "-direct" in times}
        results["download-" + user][command] = {"mb_per_s": speed, **{f"of_{b}_direct": r for b, r in of.items()}}
        same = command.split("-")[0]
        rows.append([DOWNLOADS[command], f"{speed:.0f}", f"{of['tcp']:.2f}", f"{of[same]:.2f}" if same in of else ""])
    table(["", "MB/s", "of TCP direct", "of the same direct"], rows)
    for command, aim in (("tcp-wall", 0.7), ("http-wall", 0.7), ("tls-wall", 0.7), ("tls-intercepted", 0.35)):
        direct = command.split("-")[0] + "-direct"
        if command in times and direct in times:
            target(f"{DOWNLOADS[command]}, a download as {user}, of the same direct", 1 / ratio(times, command, direct), aim, least=True)


def connect(user):
    times = load("connect-" + user)
    if "direct" not in times:
        return
    say(f"### A new connection, a byte there and back, as {user}")
    say()
    rows = []
    results["connect-" + user] = {}
    for command, what in (("direct", "direct"), ("address", "through the wall, to an address"), ("name", "through the wall, to a name")):
        if command in times:
            us, r = statistics.median(times[command].values()) * 1e3, ratio(times, command, "direct")
            results["connect-" + user][command] = {"p50_us": us, "x_direct": r}
            rows.append([what, f"{us:.0f}", f"{r:.2f}"])
    table(["", "p50 us", "x direct"], rows)
    for command in ("address", "name"):
        if command in times:
            target(f"a connection to {'a name' if command == 'name' else 'an address'} as {user}, of direct", ratio(times, command, "direct"), 3)


def held(user):
    path = os.path.join(build, f"held-{user}.txt")
    if not os.path.exists(path):
        return
    say(f"### 1,000 connections held by one egress process, as {user}")
    say()
    memory = {}
    with open(path) as f:
        for line in f:
            command, field, kib = line.split()
            memory.setdefault(command, {})["peak_mb" if field == "VmHWM:" else "rss_mb"] = int(kib) * 1024 / 1e6
    results["held-" + user] = memory
    table(["", "RSS MB", "peak MB"], [[c, f"{m['rss_mb']:.1f}", f"{m['peak_mb']:.1f}"] for c, m in memory.items()])
    for command, what in (("tcp", ""), ("tls-intercepted", " that are intercepted")):
        if command in memory:
            target(f"MB of egress with 1,000 connections{what}, as {user}", memory[command]["rss_mb"], 32)


def more_ms(part, times, command, without):
    both = times[without].keys() & times[command].keys()
    more = statistics.median(times[command][r] - times[without][r] for r in both)
    results[part][command]["more_ms"] = more
    return more


def network(user):
    part = "network-" + user
    times = compare(part, f"Start of `true` with a network that is not used, as {user}", ("none",))
    if "none" in times and "network" in times:
        target(f"ms that a network adds, as {user}", more_ms(part, times, "network", "none"), 2)


def use(user):
    part = "use-" + user
    times = compare(part, f"A payload that asks for a name, which is refused, as {user}", ("none-shell", "none-python"))
    for command in ("shell", "python"):
        if command in times and "none-" + command in times:
            say(f"{command}: {more_ms(part, times, command, 'none-' + command):.1f} ms more than without a network")
            say()


# ---- where the time goes ----

PROCESSES = ("front", "keeper", "init", "payload")
Step = collections.namedtuple("Step", "process depth name begin wall cpu")


def load_steps(user):
    """Median begin, wall and CPU time of each step, in microseconds, over the faster half of the runs."""
    path = os.path.join(build, user + ".steps")
    runs = []
    if os.path.exists(path):
        with open(path) as f:
            for line in f:
                if line == "run\n":
                    runs.append([])
                    continue
                process, depth, begin, end, cpu, name = line.split()
                runs[-1].append((int(process), int(depth), int(begin), int(end), int(cpu), name))
    runs = [r for r in runs if r]
    runs.sort(key=lambda r: max(e[3] for e in r) - r[0][2])
    runs = runs[:max(1, len(runs) // 2)]
    seen = collections.defaultdict(list)
    for run in runs:
        count = collections.Counter()
        ends = max(e[3] for e in run)
        # What execve began ends where init hears of it.
        heard = min((e[3] for e in run if e[0] == 2 and e[5] == "poll" and e[3] > max(
            (x[2] for x in run if x[5] == "execve"), default=0)), default=ends)
        for process, depth, begin, end, cpu, name in run:
            key = (process, depth, name, count[process, depth, name])
            count[process, depth, name] += 1
            if name == "execve":
                end, cpu, name = heard, 0, "execve, the program, its end"
            seen[key].append(((begin - run[0][2]) / 1e3, (end - begin) / 1e3, cpu / 1e3))
    steps = []
    for (process, depth, name, _), times in seen.items():
        if len(times) * 2 > len(runs) and process < len(PROCESSES):
            steps.append(Step(PROCESSES[process], depth, name, *(statistics.median(t[i] for t in times) for i in range(3))))
    return sorted(steps, key=lambda s: s.begin)


WAITING = ("poll", "waitpid", "waitid", "link_receive", "cordon_run")


def steps(user):
    all_steps = load_steps(user)
    if not all_steps:
        return all_steps
    say(f"### Where the time goes, as {user}")
    say()
    say("Microseconds after main(); medians of the faster half. Waiting for others is left out, and so is what takes under 20.")
    say()
    rows = []
    for s in all_steps:
        if s.name not in WAITING and s.wall >= 20 and s.depth < 3:
            rows.append([f"{s.process}: {'  ' * s.depth}{s.name}", f"{s.begin:.0f}", f"{s.wall:.0f}", f"{s.cpu:.0f}"])
    table(["step", "begins", "takes", "CPU"], rows)
    results["steps-" + user] = [s._asdict() for s in all_steps]
    return all_steps


# ---- pictures ----

def svg(name, width, height, body):
    with open(os.path.join(build, name), "w") as f:
        f.write(f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
                f'font-family="sans-serif" font-size="12">\n<rect width="100%" height="100%" fill="white"/>\n{body}</svg>\n')


def draw_start():
    groups = [(u, results["start-" + u]) for u in ("root", "user") if "start-" + u in results]
    if "oci-root" in results:
        groups.append(("root, OCI runtimes", {k: v for k, v in results["oci-root"].items() if k in ("cordon", "crun", "runc")}))
    if not groups:
        return
    longest = max(c["p50_ms"] for _, g in groups for c in g.values())
    y, body = 24, ""
    for title, group in groups:
        body += f'<text x="10" y="{y}" font-weight="bold">start of true, as {escape(title)} (median, line to p99)</text>\n'
        for command, c in group.items():
            y += 22
            w, tail = c["p50_ms"] / longest * 520, min(c["p99_ms"] / longest, 1.12) * 520
            colour = "#2a7" if command.startswith("cordon") else "#89a"
            body += (f'<text x="130" y="{y + 4}" text-anchor="end">{escape(command)}</text>'
                     f'<rect x="140" y="{y - 8}" width="{w:.1f}" height="15" fill="{colour}"/>'
                     f'<line x1="{140 + w:.1f}" x2="{140 + max(w, tail):.1f}" y1="{y}" y2="{y}" stroke="{colour}"/>'
                     f'<text x="{148 + max(w, tail):.1f}" y="{y + 4}">{c["p50_ms"]:.2f} ms</text>\n')
        y += 36
    svg("start.svg", 820, y, body)


def draw_wall():
    groups = [(u, results["download-" + u]) for u in ("root", "user") if "download-" + u in results]
    if not groups:
        return
    fastest = max(c["mb_per_s"] for _, g in groups for c in g.values())
    y, body = 24, ""
    for title, group in groups:
        body += f'<text x="10" y="{y}" font-weight="bold">a large download, as {escape(title)} (median)</text>\n'
        for command, c in group.items():
            y += 22
            w = c["mb_per_s"] / fastest * 380
            colour = "#89a" if command.endswith("direct") else "#2a7"
            body += (f'<text x="330" y="{y + 4}" text-anchor="end">{escape(DOWNLOADS[command])}</text>'
                     f'<rect x="340" y="{y - 8}" width="{w:.1f}" height="15" fill="{colour}"/>'
                     f'<text x="{348 + w:.1f}" y="{y + 4}">{c["mb_per_s"]:.0f} MB/s</text>\n')
        y += 36
    svg("wall.svg", 820, y, body)


def draw_steps(user, all_steps):
    shown = [s for s in all_steps if s.depth < 2 and s.name != "cordon_run" and s.wall >= 1]
    if not shown:
        return
    end = max(s.begin + s.wall for s in shown)
    colours = ("#2a7", "#48c", "#c73", "#a5a", "#899", "#b93", "#36a", "#795")
    lane = {p: 40 + i * 64 for i, p in enumerate(PROCESSES)}
    body = f'<text x="10" y="20" font-weight="bold">one run of true, as {user}: {end / 1e3:.2f} ms after main()</text>\n'
    for p, y in lane.items():
        body += f'<text x="10" y="{y + 18}">{p}</text><line x1="70" x2="1090" y1="{y + 50}" y2="{y + 50}" stroke="#ddd"/>\n'
    for i, s in enumerate(shown):
        x, w = 70 + s.begin / end * 1000, max(s.wall / end * 1000, 0.5)
        waiting = s.name in WAITING
        y = lane[s.process] + (24 if s.depth else 0)
        fill = "#eee" if waiting else colours[i % len(colours)]
        body += (f'<rect x="{x:.1f}" y="{y}" width="{w:.1f}" height="22" fill="{fill}"><title>{escape(s.name)}: {s.wall:.0f} us, '
                 f'CPU {s.cpu:.0f}</title></rect>')
        if w > 7 * len(s.name) and not waiting:
            body += f'<text x="{x + 3:.1f}" y="{y + 15}" fill="white" font-size="11">{escape(s.name)}</text>'
        body += "\n"
    svg(f"steps-{user}.svg", 1110, 310, body)


def close():
    say("### Aims")
    say()
    table(["", "measured", "aim", ""], [[what, f"{got:.3f}" if bound < 1.2 and not least else f"{got:.2f}",
                                        f"{'>=' if least else '<='} {bound}", "reached" if ok else "missed"]
                                       for what, got, bound, least, ok in targets])
    notes = os.path.join(build, "notes")
    if os.path.exists(notes) and os.path.getsize(notes):
        with open(notes) as f:
            for line in f:
                say("- " + line.strip())
        say()
    results["aims"] = [{"what": w, "measured": g, "aim": b, "reached": ok} for w, g, b, _, ok in targets]
    text = f"## What a box costs\n\nLinux {platform.release()}, {os.cpu_count()} CPUs. Ratios are medians over interleaved rounds.\n\n" + "\n".join(lines)
    print(text)
    with open(os.path.join(build, "results.md"), "w") as f:
        f.write(text + "\n")
    with open(os.path.join(build, "results.json"), "w") as f:
        json.dump(results, f, indent=1)
    print(f"written: {build}/results.md results.json " + " ".join(sorted(n for n in os.listdir(build) if n.endswith(".svg"))))


for who in ("root", "user"):
    start(who)
    image(who)
    throughput(who)
    inside(who)
    download(who)
    connect(who)
    held(who)
    network(who)
    use(who)
compare("oci-root", "OCI runtimes around a static `true`, as root", ("bare", "cordon"))
engines()
living()
for who in ("root", "user"):
    draw_steps(who, steps(who))
draw_start()
draw_wall()
close()
