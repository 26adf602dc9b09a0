"""What tools/engines.sh found, as docs/ENGINES.md has it: engines.py LOGS REASONS ENGINE…

LOGS/ENGINE/version and LOGS/ENGINE/TEST (TAP) are a run's. First comes the table, a row for each test; then, by name, every check that did not hold or was
left out, below the reason that REASONS (tools/engines.why) has for it. What has none comes last, and is said to.

Ends with 1 where that table cannot stand as it is, and says why on stderr: something is not explained, a check of a native box did not hold, a test
said nothing, or an engine has no version.
"""
import collections
import os
import re
import sys

logs, why, engines = sys.argv[1], sys.argv[2], sys.argv[3:]


def tests():
    """As the first engine ran them."""
    top = os.path.join(logs, engines[0])
    for group in ("promise", "limits", "life", "egress"):
        if os.path.isdir(os.path.join(top, group)):
            yield from (f"{group}/{name}" for name in sorted(os.listdir(os.path.join(top, group))) if not name.endswith(".err"))


def lines(path):
    try:
        with open(path, errors="replace") as file:
            return file.read().splitlines()
    except OSError:
        return []


def read(engine, test):
    """How many held, and the names of those that did not and of those that were left out."""
    good, bad, left = 0, [], []
    for line in lines(os.path.join(logs, engine, test)):
        match = re.match(r"(not )?ok \d* ?-? ?(.*)", line)
        if not match:
            continue
        name = re.sub(r"/tmp/cordon-test\.\w+", "$WORK", match[2]).replace("|", "\\|")
        if match[1]:
            bad.append(name)
        elif " # SKIP " in name:
            left.append(name.replace(" # SKIP ", ", left out: "))
        else:
            good += 1
    return good, bad, left


def cell(good, bad, left):
    if not good and not bad:
        return "left out" if left else "nothing ran"
    said = f"{good} of {good + len(bad)}" if bad else "held"
    return said + (f", {len(left)} left out" if left else "")


def reasons():
    """Of each line of the file: the reason above it, and the expressions for engine, test and check."""
    found, reason = [], ""
    for line in lines(why):
        if line.startswith("= "):
            reason = line[2:]
        elif line and not line.startswith("#"):
            found.append((reason, *(re.compile(word) for word in line.split(None, 2))))
    return found


def explain(rules, engine, test, check):
    for reason, *about in rules:
        if all(e.fullmatch(text) for e, text in zip(about, (engine, test, check))):
            return reason
    return None


def tell(missing):
    """missing: [(reason, test, check, engine)], below each reason in the order of the file."""
    order = list(dict.fromkeys(rule[0] for rule in reasons())) + [None]
    for reason in order:
        checks = collections.defaultdict(dict)
        for why_not, test, check, engine in missing:
            if why_not == reason:
                checks[test].setdefault(check, []).append(engine)
        if not checks:
            continue
        print(f"\n- {reason or '**Not explained.**'}")
        for test, found in checks.items():
            groups = collections.defaultdict(list)
            for check, who in found.items():
                groups[", ".join(who)].append(check)
            print(f"  - `{test}`, " + "; ".join(f"{who}: " + ", ".join(f"“{c}”" for c in names) for who, names in groups.items()))


def wrong(versions, found, missing):
    """Why the table cannot stand. found: {(engine, test): (good, bad, left)}."""
    for engine, version in versions.items():
        if not version:
            yield f"{engine} has no version"
    for (engine, test), (good, bad, left) in found.items():
        if engine == "native" and bad:
            yield f"native, {test}: {len(bad)} did not hold"
        if not good and not bad and not left:
            yield f"{engine}, {test}: nothing ran"
    count = sum(reason is None for reason, *_ in missing)
    if count:
        yield f"{count} not explained"


def main():
    versions = {engine: " ".join(lines(os.path.join(logs, engine, "version"))) for engine in engines}
    print("| test | " + " | ".join(version or engine for engine, version in versions.items()) + " |")
    print("|---|" + "---|" * len(engines))
    everything, missing, rules = {}, [], reasons()
    for test in tests():
        found = {engine: read(engine, test) for engine in engines}
        everything.update({(engine, test): what for engine, what in found.items()})
        print(f"| {test} | " + " | ".join(cell(*found[engine]) for engine in engines) + " |")
        for engine in engines:
            for name, times in collections.Counter(found[engine][1] + found[engine][2]).items():
                said = name + (f" ({times} times)" if times > 1 else "")
                missing.append((explain(rules, engine, test, name), test, said, engine))
    tell(missing)
    why_not = list(wrong(versions, everything, missing)) or ([] if everything else ["there is nothing to tell"])
    for line in why_not:
        print(f"engines.py: {line}", file=sys.stderr)
    return 1 if why_not else 0


sys.exit(main())
