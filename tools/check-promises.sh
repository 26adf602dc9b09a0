#!/bin/sh
# docs/PROMISES.md, tests/promise/ and tests/egress/ tell the same story: every row of the table names a test that is there, every promise
# test stands in a row, and every row has its three columns.
set -eu
cd "$(dirname "$0")/.."
page=docs/PROMISES.md
[ -f "$page" ] || { echo "there is no $page" >&2; exit 1; }
bad=0
complain() {
	echo "$page: $*" >&2
	bad=1
}

rows=$(grep -c '^| .*tests/' "$page" || true)
[ "$rows" -gt 0 ] || complain "no row names a test"
# Tables whose head has a column "test": promise, layer, test.
problems=$(awk -F'|' '/^\|/ && /tests\// {
	if (NF != 5) print "line " NR ": not three columns"
	else if ($2 ~ /^ *$/ || $3 ~ /^ *$/) print "line " NR ": an empty column"
}' "$page")
[ -z "$problems" ] || complain "$problems"
named=$(grep -o 'tests/[a-z_]*/[A-Za-z0-9_.-]*\.\(sh\|c\)' "$page" | sort -u)
for test in $named; do
	[ -f "$test" ] || complain "names $test, which does not exist"
done
for test in tests/promise/*.sh tests/egress/*.sh; do
	case $test in */run.sh | */lib.sh) continue ;; esac
	grep -q "$test" "$page" || complain "does not name $test"
done
exit "$bad"
