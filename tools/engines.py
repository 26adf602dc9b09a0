"""What tools/engines.sh found, as docs/ENGINES.md has it: engines.py LOGS PAGE ENGINE…

LOGS/ENGINE/version and LOGS/ENGINE/TEST (TAP) are a run's. First comes the table, a row for each test; then a row for each check that did not hold
somewhere, or was left out, with the engines and the reason. Reasons are written by hand, in the page: a check that is there already keeps its own, one
that is not has none, which is said.
"""
import collections
import os
import re
import sys

logs, page, engines = sys.argv[1], sys.argv[2], sys.argv[3:]


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
            left.append(name.replace(" # SKIP ", ": "))
        else:
            good += 1
    return good, bad, left


def cell(good, bad, left):
    if not good and not bad:
        return "left out" if left else "nothing ran"
    said = f"{good} of {good + len(bad)}" if bad else "held"
    return said + (f", {len(left)} left out" if left else "")


def reasons():
    """(test, check) to why, from the page's own rows."""
    found, test = {}, ""
    for line in lines(page):
        row = re.fullmatch(r"\| (.*?) \| (.*?) \| (.*?) \| (.*?) \|", line)
        if row:
            test = row[1].strip() or test
            found[test, row[2]] = row[4]
    return found


def main():
    versions = [" ".join(lines(os.path.join(logs, engine, "version"))) or engine for engine in engines]
    print("| test | " + " | ".join(versions) + " |")
    print("|---|" + "---|" * len(engines))
    missing = []
    for test in tests():
        found = {engine: read(engine, test) for engine in engines}
        print(f"| {test} | " + " | ".join(cell(*found[engine]) for engine in engines) + " |")
        where = collections.defaultdict(dict)
        for engine in engines:
            for name, times in collections.Counter(found[engine][1]).items():
                where[name][engine] = engine + (f" ({times} times)" if times > 1 else "")
            for name in found[engine][2]:
                where[name][engine] = engine + " (left out)"
        missing += [(test, name, ", ".join(who.values())) for name, who in where.items()]
    if not missing:
        return
    why = reasons()
    print("\n| test | check | where | why |\n|---|---|---|---|")
    for test, name, who in missing:
        print(f"| {test} | {name} | {who} | {why.get((test, name), '**not explained**')} |")


main()
