"""The schema and the parser on the same values: schema.py CORDON [SEED]. Every number of the option table at the edges of its range in
every unit, texts of every kind, wrong types. Prints where they differ."""
import concurrent.futures, json, os, random, subprocess, sys, tempfile
import jsonschema

CORDON, SEED = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(1 << 32)
schema = json.loads(subprocess.check_output([CORDON, "policy", "schema"]))
jsonschema.Draft202012Validator.check_schema(schema)
valid = jsonschema.Draft202012Validator(schema).is_valid
rng = random.Random(SEED)

KINDS = {  # the unit of each, and what else people write
    "size": {"": 1, **{u + x: 1024 ** (i + 1) for i, u in enumerate("KMGT") for x in ("", "iB")}},
    "time": {"ms": 1, "s": 1000, "m": 60000, "h": 3600000},
    "count": {"": 1, "k": 1000, "m": 1000000},
    "cpus": {"": 1000},
}
KINDS["rate"] = {u + "/s": f for u, f in KINDS["size"].items()}
YEAR = 86400000 * 365
RANGES = {  # of options.def
    "limits.memory": ("size", 1 << 20, 1 << 50), "limits.cpus": ("cpus", 10, 1024000), "limits.cpu_time": ("time", 1, YEAR),
    "limits.wall_time": ("time", 1, YEAR), "limits.grace": ("time", 0, 3600000), "limits.processes": ("count", 1, 1 << 22),
    "limits.open_files": ("count", 8, 1 << 20), "limits.file_size": ("size", 1, 1 << 50), "limits.output": ("size", 1, 1 << 40),
    "limits.disk": ("size", 1 << 16, 1 << 50), "limits.inodes": ("count", 64, 1 << 31), "limits.disk_read": ("rate", 4096, 1 << 50),
    "limits.disk_write": ("rate", 4096, 1 << 50), "files.tmp": ("size", 1 << 16, 1 << 50), "network.connections": ("count", 1, 1 << 16),
    "network.connect_timeout": ("time", 1, 86400000), "network.idle_timeout": ("time", 1, YEAR), "network.download": ("rate", 1024, 1 << 50),
    "network.upload": ("rate", 1024, 1 << 50), "network.download_total": ("size", 1, 1 << 60), "network.upload_total": ("size", 1, 1 << 60),
}
WRONG = [None, True, False, [], {}, "", [1], {"a": 1}, 1.5, -1, 0, 1 << 64, "true"]
PATHS = ["/", "/a", "/a/", "//a", "/./a", "/a/../b", "/..", "/../a", "a", "./a", "../a", "..", ".", "a/../b", "~", "~/a", "a~/b", "/a b", "/é", "/a\tb", "/a\x7f", "",
         "/a:/b", "/a:b", "/a:", ":/a", "/a:/b:/c", "/a:/", "/a:/.", "/a://", "/a:/proc", "/a:/./proc/x", "/a:/procs", "/a:/.proc", "/a:/dev/shm", "/sys", "/proc", "/proc:/p",
         "/a:/b/..", "/a/..:/b", "a/..:/b", "../..:/b", "..:/b", "..b:/c", "/a/..:b", "/a:/..b", "/" + "x" * 4094, "/" + "x" * 4095]
TMPFS = ["/c:64M", "/c:4K", "/c:4095", "/c:0", "/c:1024T", "/c:1024.125T", "/c:64m", "c:64M", "/:64M", "/dev/x:64M", "/c/../d:1M", "/c", "/c:", "/c:1M:1M", "//c/:1M"]
WORDS = ["agent", "root", "rooty", "Agent", "_a", "-a", "a" * 32, "a" * 33, "a.b", "a b", "ä", "1a", "[", "ls", "a/b", "/usr/bin/python3", "/usr/bin/", "//usr", "/usr/../b",
         "/usr/./b", "/usr/..", "a,b", "userns", "cgroup", "cgroups", "timens", "PATH", "A-B", "x" * 1024, "x" * 1025, "a\x01b", "memory", "disk", "strict", "allow", "none", "deny",
         "process", "container", "vm", "host", "image:a", "image:", "image:a/b:1", "image:a//b", "image:a/.b", "image:.a", "image:a/", "image:a@sha256:" + "0" * 64, "image:a@sha256:0",
         "http://a:1", "http://a:65535", "http://a:65536", "http://a:0", "http://a", "http://u@a:1", "https://a:1", "http://a:1/", "http://[::1]:80", "http://::1:80"]
LISTS = {"degrade": WORDS, "require": WORDS, "process.commands": WORDS, "process.pass_env": WORDS, "process.refuse_patterns": WORDS, "files.read": PATHS, "files.write": PATHS,
         "files.protect": PATHS, "files.allowed_read": PATHS, "files.allowed_write": PATHS, "files.forbidden": PATHS, "files.tmpfs": TMPFS + PATHS,
         "network.allow": ["a.b", "a.b:443", "a.b:22/tcp", "a.b:0", "a.b:65536/tcp", "a.b:1-2/tcp", "a.b:", "a.b:22/udp", "a b", "*", "*.a", "a/b", "::1",
                           {"host": "a.b"}, {"host": "a.b", "ports": [443]}, {"host": "a.b", "ports": [0]}, {"host": "a.b", "ports": ["1-65536"], "protocol": "tcp"}, {"hots": "a.b"}, {},
                           {"host": True}, {"host": "a.b", "address": "10.0.0.1"}]}
TEXTS = {"level": WORDS, "engine": WORDS + ["native", "runc"], "files.root": WORDS + [p for p in PATHS if len(p) < 4000], "files.storage": WORDS, "network": WORDS,
         "network.private": WORDS, "network.upstream_proxy": WORDS, "network.ca_file": PATHS, "process.user": WORDS, "process.workdir": PATHS, "process.syscalls": WORDS,
         "process.subuids": [], "network.read_only": [],
         "process.env": [{k: "v"} for k in ("A", "1A", "a-b", "", "A=B")] + [{"A": v} for v in ("", 1, 1.5, True, None, [], {})],
         "secrets": [{"K": {"from": "env:A", "ttl": t}} for t in ("1s", "999ms", "0.999s", "8760h", "8760.001h", "5", "0.001h")] + [{n: {"from": "env:A"}} for n in ("PATH", "LD_X", "1A", "A", "a" * 201)]
         + [{"K": {"from": f}} for f in ("env:1", "env:", "file:/a", "file:~/a", "command:x", "command: ", "x")]}


def decimal(milli):
    """A number of thousandths, with some of the zeros at its end."""
    text = "%d.%03d" % divmod(milli, 1000)
    least = text.rstrip("0").rstrip(".")
    return rng.choice([least, text, least if "." not in least else text[:max(len(least), len(text) - 1)]])


def numbers(kind, low, high):
    units = KINDS[kind]
    for unit, factor in units.items():
        for edge in (low, high):
            at = edge * 1000 // factor
            near = {max(at + d, 0) for d in (-1000, -125, -1, 0, 1, 125, 1000)} | {at // 1000 * 1000, at // 125 * 125}
            yield from (decimal(m) + unit for m in near)
        spread = rng.uniform(0, len(str(high * 1000 // factor)) + 1)
        yield from (decimal(int(10 ** spread) // s * s) + unit for s in (1, 125, 1000))
    yield from ("0" + rng.choice(list(units)), "01", "1.", ".5", "1.0001", "-1", "+1", "1e3", "1 ", "x", "12KB", "5sec", "99999999999999999999999999999999999999999999", "5%")
    yield from (n for n in (low, high, low - 1, high + 1, 2) if kind != "cpus")


def policies():
    for key, (kind, low, high) in RANGES.items():
        yield from ((key, v) for v in [*numbers(kind, low, high), *WRONG])
    for key, values in LISTS.items():
        yield from ((key, [v]) for v in values + [1, True, None])
        yield from ((key, v) for v in ["a", *WRONG])
    for key, values in TEXTS.items():
        yield from ((key, v) for v in values + WRONG)
    yield from (("version", v) for v in ("1", 2, None, True))
    yield from (("limits", v) for v in WRONG)
    yield from (("extends", v) for v in (1, True, None, []))


def takes(case):
    number, (key, value) = case
    section, _, name = key.partition(".")
    policy = {"version": 1, section: {name: value} if name else value}
    path = os.path.join(work, "%d.json" % number)
    with open(path, "w", encoding="utf-8") as f:
        json.dump(policy, f, ensure_ascii=False)
    run = subprocess.run([CORDON, "policy", "check", path], capture_output=True, text=True)
    os.unlink(path)
    assert run.returncode in (0, 1), (key, value, run)
    return key, value, valid(policy), run.returncode == 0, run.stderr.split("\n")[0]


keys = set(RANGES) | set(LISTS) | set(TEXTS)
known = {k + ("." + n if n else "") for k, v in schema["properties"].items() for n in (v.get("properties") or {"": 0})}
known |= {"network." + n for v in schema["properties"]["network"]["anyOf"] for n in v.get("properties", {})}
missing = known - keys - {"version", "extends", "network.mode", "network.allow_cidr"}
assert not missing, "keys that are not tried here: %s" % missing
taken = refused = 0
differ = []
with tempfile.TemporaryDirectory() as work, concurrent.futures.ThreadPoolExecutor(4) as pool:
    for key, value, schema_takes, parser_takes, why in pool.map(takes, enumerate(policies())):
        taken, refused = taken + parser_takes, refused + (not parser_takes)
        if schema_takes != parser_takes:
            differ.append((key, str(value)[:80], "schema takes" if schema_takes else "schema refuses", why))
print("seed %d: %d taken, %d refused" % (SEED, taken, refused))
for line in differ[:20]:
    print(*line)
sys.exit(bool(differ) or taken < 300 or refused < 300)
