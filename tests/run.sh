#!/bin/bash
# Runs test files, two at a time, each with a bound of its own, and counts: run.sh [--tap] [--label NAME] [--counts FILE] FILE…
#
# A file is a script that prints TAP and exits non-zero on failure, or an executable that does (unit tests). --tap prints
# every line as it came; otherwise a line for each file, with what failed. --counts adds "PASSED FAILED SKIPPED" to a file.
# --plan FILE: also the files of a list, a line for each: its label, the file, and a program that runs it as whom and where it is to be run, with tabs between.
# A file that fails beside another one is told, as its first try, and run once more, alone: what counts is that run. TEST_AGAIN=0 counts the first.
# Environment: JOBS (2), TEST_TIMEOUT seconds for each file (120), TEST_UNTIL: those that have not begun when the machine has been up for so many seconds are
# skipped; the rest is for the tests: see lib.sh.
set -u
label='' tap='' counts='' plan=''
while [ $# -gt 0 ]; do
	case $1 in
	--tap) tap=1 ;;
	--label) label=$2 && shift ;;
	--counts) counts=$2 && shift ;;
	--plan) plan=$2 && shift ;;
	*) break ;;
	esac
	shift
done
top=$(cd "$(dirname "$0")/.." && pwd)
logs=$(mktemp -d "${TMPDIR:-/tmp}/cordon-run.XXXXXX")
trap 'rm -rf "$logs"' EXIT
cd "$top" || exit 1
TIMEFORMAT='%U %S'
labels=() files=() runners=()
for file in "$@"; do labels+=("$label") && files+=("$file") && runners+=(env); done
if [ -n "$plan" ]; then
	while IFS=$'\t' read -r name file runner; do labels+=("$name") && files+=("$file") && runners+=("$runner"); done <"$plan"
fi

short() { # the name of a place as it is told: promise/files
	local s=${files[$1]%.sh}
	s=${s#"$top"/}
	echo "${labels[$1]:+${labels[$1]}: }${s##*tests/}"
}
number() { grep -c "$@" || true; }

late() { [ -n "${TEST_UNTIL:-}" ] && [ "$(cut -d. -f1 /proc/uptime)" -ge "$TEST_UNTIL" ]; }
run_one() { # PLACE [last]
	local begin=$EPOCHREALTIME status file=${files[$1]} log=$logs/$1 how=()
	trap : TERM INT HUP # stop says when
	if [ -z "${2:-}" ] && late; then
		echo 'ok 1 - all of it # SKIP no time is left' >"$log"
		echo 0.0 0.0 >"$log.time"
		report "$1" 0
		return
	fi
	[[ $file != *.sh ]] || how=(bash)
	{ time timeout -k 10 "${TEST_TIMEOUT:-120}" "${runners[$1]}" "${how[@]}" "$file" >"$log" 2>"$log.err" </dev/null; } 2>"$log.time"
	status=$?
	if [ "$status" = 124 ] || [ "$status" = 137 ]; then
		echo "not ok - $(basename "$file") took more than ${TEST_TIMEOUT:-120} s" >>"$log"
	elif [ "$status" != 0 ] && ! grep -q '^not ok' "$log"; then
		echo "not ok - $(basename "$file") ended with status $status" >>"$log"
		sed 's/^/# /' "$log.err" | tail -20 >>"$log"
	fi
	report "$1" "$(((${EPOCHREALTIME/./} - ${begin/./}) / 1000))" "${2:-}"
}

cpu_ms() { # FILE: of what the shell counted, its own children and theirs
	local user=0 system=0
	read -r user system < <(tail -n 1 "$1")
	echo $((10#${user/./} + 10#${system/./}))
}
report() { # PLACE MILLISECONDS [last]
	set -- "$1" "$2" "${3:-}"
	local passed failed skipped again='' said='' log=$logs/$1 cpu
	failed=$(number '^not ok' "$log")
	skipped=$(number '^ok.*# SKIP' "$log")
	passed=$(($(number '^ok' "$log") - skipped))
	cpu=$(cpu_ms "$log.time")
	if [ "$failed" != 0 ] && [ -z "$3" ] && [ "${TEST_AGAIN:-1}" = 1 ]; then
		again=1
		echo "$1" >>"$logs/again"
		said=", $failed not at the first try: once more, alone"
	else
		echo "$passed $failed $skipped" >>"$logs/counts"
		[ "$failed" = 0 ] || said=", $failed FAILED"
		[ -z "$3" ] || said+=" at the second try"
	fi
	(
		flock 9
		if [ -n "$tap" ]; then
			[ -z "$again" ] || { echo "# $(short "$1")$said" && return; }
			grep -E '^(ok|not ok|#)' "$log" | sed -E "s|^(ok\|not ok) [0-9]* ?-? ?|\1 - $(short "$1"): |"
			return
		fi
		[ "$skipped" = 0 ] || said+=", $skipped skipped"
		printf '%-50s %3d passed%s  %d.%d s, %d.%d CPU\n' "$(short "$1")" "$passed" "$said" $(($2 / 1000)) $(($2 % 1000 / 100)) $((cpu / 1000)) $((cpu % 1000 / 100))
		# Who counts what failed by the words of TAP counts what is the result: those of a first try are told in others.
		awk -v first="$again" '/^(ok|1\.\.)/ { told = 0 } /^not ok/ { told = 1 }
			told { if (first) { sub(/^not ok/, "failed"); gsub(/not ok/, "failed"); gsub(/FAILED/, "failed"); $0 = "first try: " $0 } print "    " substr($0, 1, 600) }' "$log"
		sed -n 's/^ok [0-9]* - \(.*# SKIP.*\)/    skipped: \1/p' "$log"
	) 9>"$logs/lock"
}

finish() {
	[ -f "$logs/counts" ] || { echo "not ok - ${label:-run.sh}: there is nothing to run"; exit 1; }
	[ -z "$counts" ] || cat "$logs/counts" >>"$counts"
	! awk '{ failed += $2 } END { exit !failed }' "$logs/counts"
	exit
}
# Who is told to end ends what runs, by its own bound's process, and says how far it came.
stop() {
	trap - TERM INT HUP
	local job runs=''
	for job in $(jobs -rp); do runs+=" $(pgrep -P "$job" -x timeout)"; done
	# shellcheck disable=SC2086 # pids
	kill $runs 2>/dev/null
	wait
	[ -f "$logs/counts" ] || : >"$logs/counts"
	echo "${label:-run.sh}: told to end after $(wc -l <"$logs/counts") of ${#files[@]} files: FAILED"
	echo 0 1 0 >>"$logs/counts"
	finish
}
trap stop TERM INT HUP

for place in "${!files[@]}"; do
	while [ "$(jobs -rp | wc -l)" -ge "${JOBS:-2}" ]; do wait -n; done
	run_one "$place" &
done
wait
if [ -f "$logs/again" ]; then
	while read -r place; do
		run_one "$place" last &
		wait
	done <"$logs/again"
fi
finish
