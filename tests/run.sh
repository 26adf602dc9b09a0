#!/bin/bash
# Runs test files, two at a time, each with a bound of its own, and counts: run.sh [--tap] [--label NAME] [--counts FILE] FILE…
#
# A file is a script that prints TAP and exits non-zero on failure, or an executable that does (unit tests). --tap prints
# every line as it came; otherwise a line for each file, with what failed. --counts adds "PASSED FAILED SKIPPED" to a file.
# A file that fails beside another one is told, and run once more, alone: what counts is that run. TEST_AGAIN=0 counts the first.
# Environment: JOBS (2), TEST_TIMEOUT seconds for each file (120); the rest is for the tests: see lib.sh.
set -u
label='' tap='' counts=''
while [ $# -gt 0 ]; do
	case $1 in
	--tap) tap=1 ;;
	--label) label=$2 && shift ;;
	--counts) counts=$2 && shift ;;
	*) break ;;
	esac
	shift
done
top=$(cd "$(dirname "$0")/.." && pwd)
logs=$(mktemp -d "${TMPDIR:-/tmp}/cordon-run.XXXXXX")
trap 'rm -rf "$logs"' EXIT
cd "$top" || exit 1

short() { # a file's name as it is told: promise/files
	local s=${1%.sh}
	s=${s#"$top"/}
	echo "${label:+$label: }${s#tests/}"
}
number() { grep -c "$@" || true; }

run_one() { # FILE LOG [last]
	local begin=$EPOCHREALTIME status
	if [[ $1 == *.sh ]]; then
		timeout -k 10 "${TEST_TIMEOUT:-120}" bash "$1" >"$2" 2>"$2.err" </dev/null
	else
		timeout -k 10 "${TEST_TIMEOUT:-120}" "$1" >"$2" 2>"$2.err" </dev/null
	fi
	status=$?
	if [ "$status" = 124 ] || [ "$status" = 137 ]; then
		echo "not ok - $(basename "$1") took more than ${TEST_TIMEOUT:-120} s" >>"$2"
	elif [ "$status" != 0 ] && ! grep -q '^not ok' "$2"; then
		echo "not ok - $(basename "$1") ended with status $status" >>"$2"
		sed 's/^/# /' "$2.err" | tail -20 >>"$2"
	fi
	report "$1" "$2" "$(((${EPOCHREALTIME/./} - ${begin/./}) / 1000))" "${3:-}"
}

report() { # FILE LOG MILLISECONDS [last]
	local passed failed skipped again=''
	failed=$(number '^not ok' "$2")
	skipped=$(number '^ok.*# SKIP' "$2")
	passed=$(($(number '^ok' "$2") - skipped))
	if [ "$failed" != 0 ] && [ -z "$4" ] && [ "${TEST_AGAIN:-1}" = 1 ]; then
		again='; once more, alone'
		echo "$1" >>"$logs/again"
	else
		echo "$passed $failed $skipped" >>"$logs/counts"
	fi
	(
		flock 9
		if [ -n "$tap" ]; then
			[ -z "$again" ] || { echo "# $(short "$1")$again" && return; }
			grep -E '^(ok|not ok|#)' "$2" | sed -E "s|^(ok\|not ok) [0-9]* ?-? ?|\1 - $(short "$1"): |"
			return
		fi
		printf '%-50s %3d passed%s%s  %d.%d s\n' "$(short "$1")" "$passed" \
			"$([ "$failed" = 0 ] || echo ", $failed FAILED$again")" "$([ "$skipped" = 0 ] || echo ", $skipped skipped")" \
			$(($3 / 1000)) $(($3 % 1000 / 100))
		awk '/^(ok|1\.\.)/ { told = 0 } /^not ok/ { told = 1 } told { print "    " substr($0, 1, 600) }' "$2"
		sed -n 's/^ok [0-9]* - \(.*# SKIP.*\)/    skipped: \1/p' "$2"
	) 9>"$logs/lock"
}

for file in "$@"; do
	while [ "$(jobs -rp | wc -l)" -ge "${JOBS:-2}" ]; do wait -n; done
	log=$logs/$(echo "$file" | tr / _)
	run_one "$file" "$log" &
done
wait
if [ -f "$logs/again" ]; then
	while read -r file; do
		run_one "$file" "$logs/$(echo "$file" | tr / _)" last
	done <"$logs/again"
fi
[ -f "$logs/counts" ] || { echo "not ok - ${label:-run.sh}: there is nothing to run"; exit 1; }
[ -z "$counts" ] || cat "$logs/counts" >>"$counts"
! awk '{ failed += $2 } END { exit !failed }' "$logs/counts"
