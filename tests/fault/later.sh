#!/bin/bash
# Limits that come once a run has lasted a moment (v1: CPU share and disk rates) and cannot be set end it as a failure of ours: status 125, and why.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/build.sh"
levels container
need_root
works_here || skip_all "no boxes of level $LEVEL here"
run() { # FLAG… of inject
	"$INJECT" --report "$WORK/report" --seconds 30 "$@" -- "$CORDON" run --json --cpus 0.5 -- sleep 0.4 >"$WORK/.result" 2>"$WORK/err" </dev/null
	sed -n 's/^status //p' "$WORK/report"
}
is "$(run --list "$WORK/list")" 0 "control: with them it runs"
[ -d /sys/fs/cgroup/memory ] || skip_all "no limit comes later where groups are of v2"
# The groups of memory and processes are made first, each in a tree of its own.
code=$(run --every 0.1:mkdir --spare 2 --error 5)
is "$code" 125 "one that cannot be set ends the run as a failure" || note "$(cat "$WORK/report" "$WORK/.result")"
cp "$WORK/err" "$WORK/.result.err"
expect "and tells which" status=failed limit= exit_code= error.code=system 'error.message=~limit CPU and disk rates' error.step=cgroup
done_testing
