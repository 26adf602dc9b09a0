# shellcheck shell=bash
# What a box that lives is held to, on any engine: tests/life/living.sh, tests/engine/living*.sh. After tests/lib.sh and tests/life/lib.sh.
living=$(dirname "$PROBE")/living
[ -x "$living" ] || skip_all "there is no $living: make probe"

# Programs of libexec are looked for beside the one that runs.
mkdir "$WORK/bin"
cp "$living" "$WORK/bin/living"
for program in "$(dirname "$(realpath "$CORDON")")"/cordon-*; do
	[ ! -x "$program" ] || ln -s "$program" "$WORK/bin/"
done
living=$WORK/bin/living

# suite ENGINE [counts]: every line of it is one of ours.
suite() {
	local line
	mkdir "$WORK/files"
	# shellcheck disable=SC2086 # none at all, or a word
	timeout -k 5 100 "$living" ${MODE:-} "$1" "$WORK/files" "${@:2}" >"$WORK/log" 2>&1
	[ $? = 0 ] || fail "$1: the program ended well" "$(tail -n 5 "$WORK/log")"
	while IFS= read -r line; do
		case $line in
		"ok "*) pass "$1: ${line#* - }" ;;
		"not ok "*) fail "$1: ${line#* - }" ;;
		1..*) ;;
		*) note "$line" ;;
		esac
	done <"$WORK/log"
	rm -rf "$WORK/files"
}

left() { # what carries the name of a keeper in $1
	host_state | grep "cordon-$1-"
	find /run/cordon-engine -mindepth 1 -maxdepth 1 -name "cordon-$1-*" 2>/dev/null
}
# ended DESC KEEPER PID…: within a few seconds nothing of them is left.
ended() {
	local desc=$1 keeper=$2 i
	shift 2
	for i in $(seq 60); do
		no_such "$@" && [ -z "$(left "$keeper")" ] && break
		sleep 0.1
	done
	no_such "$@" && pass "$desc: no process is left" || fail "$desc: no process is left" "$(ps -o pid,ppid,comm,args -p "$(echo "$@" | tr ' ' ,)")"
	is "$(left "$keeper")" "" "$desc: no group, directory or mount is left"
}
# A runtime's container is a child of nobody here: it is known by what it runs.
sleepers() { pgrep -f '^sleep 432[12]$'; }
# hold ENGINE [frozen]: a holder with a job under way; $holder, $keeper and all of its processes in $pids.
hold() {
	: >"$WORK/held"
	"$living" "${2:-hold}" "$1" >"$WORK/held" 2>&1 &
	holder=$!
	until_true 20 grep -q ^ready "$WORK/held" || { fail "$1: a box is held" "$(cat "$WORK/held")"; return 1; }
	keeper=$(awk '/^ready/ { print $2 }' "$WORK/held")
	until_true 10 sleepers
	sleep 0.3
	pids=$(descendants "$holder")
	[ "$(echo "$pids" | wc -l)" -ge 2 ] && pass "$1: control: a box is held" || fail "$1: control: a box is held" "$pids"
}
# paused ENGINE [DRIVER]: pauses at bad moments, and what frozen does.
paused() {
	MODE=pauses suite "$1"
	frozen "$@"
}
# frozen ENGINE [DRIVER]: kill -9 of who holds a job that is paused, of its keeper, of the driver.
frozen() {
	local victim
	alone
	for victim in holder keeper ${2:-}; do
		hold "$1" frozen || break
		like "$(cat "$WORK/held")" '^ready' "$1: control: it is paused"
		case $victim in
		holder) kill -9 "$holder" ;;
		keeper) kill -9 "$keeper" ;;
		*) kill -9 "$(pgrep -P "$keeper" -x "$victim")" ;;
		esac
		wait "$holder" 2>/dev/null
		# shellcheck disable=SC2086 # pids
		ended "$1, paused, $victim killed" "$keeper" $pids
		is "$(sleepers)" "" "$1, paused, $victim killed: the job least of all"
	done
	together
}
killed() { # ENGINE
	alone
	kills "$1"
	together
}
kills() {
	hold "$1" || return
	kill -9 "$holder"
	wait "$holder" 2>/dev/null
	# shellcheck disable=SC2086 # pids
	ended "$1, holder killed" "$keeper" $pids
	is "$(sleepers)" "" "$1, holder killed: the job least of all"
	hold "$1" || return
	kill -9 "$keeper"
	wait "$holder"
	like "$(sed -n 2p "$WORK/held")" "keeper was killed" "$1, keeper killed: the job's caller is told"
	like "$(sed -n 3p "$WORK/held")" "has ended" "$1, keeper killed: so is the next"
	# shellcheck disable=SC2086
	ended "$1, keeper killed" "$keeper" $pids
	is "$(sleepers)" "" "$1, keeper killed: the job least of all"
	hold "$1" || return
	kill -9 "$holder" "$keeper"
	wait "$holder" 2>/dev/null
	until_true 20 no_such "$keeper" # an orphan counts as long as nobody has waited for it
	"$CORDON" sweep
	# shellcheck disable=SC2086
	ended "$1, both killed and swept" "$keeper" $pids
	is "$(sleepers)" "" "$1, both killed: the job least of all"
}
