# shellcheck shell=bash
# The harness of every tests/*/*.sh. A test file is a bash script of its own:
#
#	#!/bin/bash
#	# What is promised, in a sentence.
#	. "$(dirname "$0")/../lib.sh"
#	levels container process          # where it is promised; elsewhere the file has nothing to say
#	is "$(box -- echo hello)" hello "echo says hello"
#	done_testing
#
# It prints TAP and exits non-zero when something failed. The kernel decides, not strings: prefer an errno from `probe` or what
# is on the disk afterwards to a message. Every promise wants its control: the same act succeeds where the rule is absent.
#
# Environment: CORDON the command (build/cordon), CORDON_LEVEL container or process, CORDON_PROBE the probe program
# (build/test/probe), CORDON_MUST=1 makes a failure of every skip. CORDON_ENGINE: the engine that builds the boxes, CORDON_ENGINE_IMAGE: the image
# that engines with images of their own need.
#
# Variables: $TOP the repository, $WORK an empty directory of this test's own, removed at the end, $LEVEL, $PROBE, $ME (root or user).
set -u
export LC_ALL=C.UTF-8
TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
CORDON=${CORDON:-$TOP/build/cordon}
case $CORDON in /*) ;; *) CORDON=$PWD/$CORDON ;; esac
LEVEL=${CORDON_LEVEL:-container}
ENGINE=${CORDON_ENGINE:-}
PROBE=${CORDON_PROBE:-$TOP/build/test/probe}
if [ "$(id -u)" = 0 ]; then ME=root; else ME=user; fi
export CORDON PROBE ME LEVEL
WORK=$(mktemp -d "${TMPDIR:-/tmp}/cordon-test.XXXXXX") || exit 1
WORK=$(realpath "$WORK")
chmod 755 "$WORK" # so that no mode does what a wall should
# A python3 that is a script of a version manager takes ten times as long to start, hundreds of times.
if IFS= read -rn 2 first <"$(command -v python3 || echo /dev/null)" && [ "$first" = '#!' ] && [ -x /usr/bin/python3 ]; then
	mkdir "$WORK/.bin" && ln -s /usr/bin/python3 "$WORK/.bin/" && PATH=$WORK/.bin:$PATH
fi 2>/dev/null
# Under an engine $CORDON is a script that asks for it in every run, however a test starts one; a policy that names none is extended by one that does.
case $CORDON in */.command) CORDON=$CORDON_PROGRAM ;; esac # a test that starts itself again
export CORDON_PROGRAM=$CORDON CORDON_TEST=$$
if [ -n "$ENGINE" ]; then
	CORDON=$WORK/.command
	cat >"$CORDON" <<-'END'
		#!/bin/bash
		case $1 in run | code) verb=$1 && shift ;; *) exec "$CORDON_PROGRAM" "$@" ;; esac
		engine=$CORDON_ENGINE image=${CORDON_ENGINE_IMAGE:-} certs=${CORDON_ENGINE_CERTS:-} flags=()
		while [ $# != 0 ] && [ "$1" != -- ]; do
			case $1 in
			--engine | --image)
				[ "$2" = "$CORDON_ENGINE" ] || [ "$2" = "${CORDON_ENGINE_IMAGE:-}" ] || { engine='' image='' && flags+=("$1" "$2"); }
				shift 2 && continue
				;;
			--root) image='' ;;
			--policy)
				grep -qs '^engine:' "$2" && engine='' image='' certs=''
				if [ -n "$engine" ] && [ -f "$2" ]; then
					# Without it every check that something is refused would hold: the test ends, and has failed.
					made=$(mktemp "${0%/*}/.policy.XXXXXX") && chmod 644 "$made" || { kill -TERM "$CORDON_TEST"; exit 125; }
					printf 'version: 1\nextends: "%s"\nengine: %s\n%s\n' "$(realpath "$2")" "$engine" "${image:+files: {root: \"image:$image\"\}}" >"$made"
					set -- "$1" "$made" "${@:3}"
					image=''
				fi
				flags+=("$1")
				shift
				;;
			esac
			flags+=("$1")
			shift
		done
		exec "$CORDON_PROGRAM" "$verb" ${engine:+--engine "$engine"} ${image:+--image "$image"} ${certs:+--ro "$certs:/etc/ssl/certs"} "${flags[@]}" "$@"
	END
	chmod 755 "$CORDON"
fi
# A mount namespace of a test's own; a daemon still sees what is mounted for it in cordon's state, if that is shared: tools/engines.sh
APART=(unshare -m --propagation private)
[ -z "${CORDON_ENGINE_IMAGE:-}" ] || APART=(unshare -m --propagation unchanged)
TAP_MAIN=$BASHPID tap_count=0 tap_failed=0 tap_done=
tap_defer=()

# ---- saying ----

tap_line() { # STATUS DESC
	tap_count=$((tap_count + 1))
	echo "$1 $tap_count - $2"
	[ "$1" = ok ] || tap_failed=$((tap_failed + 1))
}
note() { printf '%s\n' "$*" | sed 's/^/# /'; }
pass() { tap_line ok "$1"; }
fail() { # DESC [WHY…]
	tap_line "not ok" "$1"
	shift
	[ $# = 0 ] || note "$*"
	return 1
}
skip() { # DESC REASON
	if [ "${CORDON_MUST:-0}" = 1 ]; then
		fail "$1" "skipped, but CORDON_MUST=1: $2"
	else
		tap_line ok "$1 # SKIP $2"
	fi
}
# The rest of the file cannot be tested here.
skip_all() { # REASON
	skip "$(basename "$0" .sh)" "$1"
	done_testing
}
done_testing() {
	tap_done=1
	echo "1..$tap_count"
	[ "$tap_failed" = 0 ]
	exit
}

# ---- asking ----

# ok DESC COMMAND…: the command succeeds. refused DESC COMMAND…: it does not.
ok() {
	local desc=$1 log
	shift
	if log=$("$@" 2>&1); then pass "$desc"; else fail "$desc" "status $?: $* :: ${log:0:2000}"; fi
}
refused() {
	local desc=$1 log
	shift
	if log=$("$@" 2>&1); then fail "$desc" "succeeded: $* :: ${log:0:2000}"; else pass "$desc"; fi
}
is() { # GOT WANT DESC
	if [ "$1" = "$2" ]; then pass "$3"; else fail "$3" "got:  ${1:0:2000}"$'\n'"want: ${2:0:2000}"; fi
}
isnt() { # GOT UNWANTED DESC
	if [ "$1" != "$2" ]; then pass "$3"; else fail "$3" "got:  ${1:0:2000}"; fi
}
like() { # GOT REGEX DESC
	if [[ $1 =~ $2 ]]; then pass "$3"; else fail "$3" "got:  ${1:0:2000}"$'\n'"want: $2"; fi
}
unlike() { # GOT REGEX DESC
	if [[ ! $1 =~ $2 ]]; then pass "$3"; else fail "$3" "got:  ${1:0:2000}"$'\n'"must not match: $2"; fi
}
# status WANT DESC COMMAND…: the exit status is exactly this. $OUT and $ERR hold what was said.
status() {
	local want=$1 desc=$2 got
	shift 2
	"$@" >"$WORK/.out" 2>"$WORK/.err"
	got=$?
	OUT=$(tr -d '\0' <"$WORK/.out") ERR=$(tr -d '\0' <"$WORK/.err")
	if [ "$got" = "$want" ]; then pass "$desc"; else fail "$desc" "status $got, not $want"$'\n'"out: ${OUT:0:1000}"$'\n'"err: ${ERR:0:1000}"; fi
}

# ---- the box ----

# box FLAG… -- COMMAND…: cordon run at the level under test. No run may take a minute.
box() { timeout -k 5 60 "$CORDON" run --level "$LEVEL" ${ENGINE:+--engine "$ENGINE"} ${CORDON_ENGINE_IMAGE:+--image "$CORDON_ENGINE_IMAGE"} "$@"; }
# result FLAG… -- COMMAND…: the same with --json; field PATH then reads it: field status, field isolation.layers, field error.message
result() {
	box --json "$@" >"$WORK/.result" 2>"$WORK/.result.err"
	RESULT_STATUS=$?
	return "$RESULT_STATUS"
}
field() { json "$1" <"$WORK/.result"; }
# json PATH: one value out of JSON on stdin; text as it is, null and what is not there as nothing, lists one item a line.
json() {
	python3 -IS -c '
import json, sys
value = json.load(sys.stdin)
for key in [k for k in sys.argv[1].split(".") if k]:
    value = value[int(key)] if isinstance(value, list) and int(key) < len(value) else \
            value.get(key) if isinstance(value, dict) else None
for v in value if isinstance(value, list) else [value]:
    if v is not None:
        print(json.dumps(v) if isinstance(v, (dict, list, bool)) else v)' "$1"
}
# expect DESC PATH=WANT…: several fields of the last result at once. WANT is the whole text, or ~REGEX, or <NUMBER, or >NUMBER.
expect() {
	local desc=$1 why
	shift
	if why=$(python3 -IS -c '
import json, re, sys
try:
    result = json.load(open(sys.argv[1]))
except ValueError as e:
    sys.exit(f"no JSON: {e}: {open(sys.argv[1], errors='"'replace'"').read()[:500]!r}")
bad = []
for want in sys.argv[2:]:
    path, _, want = want.partition("=")
    value = result
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else value[int(key)] if isinstance(value, list) and int(key) < len(value) else None
    text = "" if value is None else value if isinstance(value, str) else json.dumps(value)
    good = re.search(want[1:], text, re.S) if want[:1] == "~" else float(text or "nan") < float(want[1:]) if want[:1] == "<" else \
           float(text or "nan") > float(want[1:]) if want[:1] == ">" else text == want
    if not good:
        bad.append(f"{path}: {text[:300]!r}, wanted {want!r}")
if bad:
    sys.exit("\n".join(bad + [json.dumps(result)[:1500]]))' "$WORK/.result" "$@" 2>&1); then
		pass "$desc"
	else
		fail "$desc" "$why"$'\n'"$(head -c 500 "$WORK/.result.err")"
	fi
}
# probe ACT…: an act inside a box, whose answer is "ok …" or an errno ("EPERM"). bare ACT…: the same outside, the control.
# PROBE_FLAGS=(…) are more flags of cordon run for it.
PROBE_FLAGS=()
probe() { box --ro "$PROBE" "${PROBE_FLAGS[@]}" -- "$PROBE" "$@" 2>&1; }
bare() { timeout -k 5 60 "$PROBE" "$@" 2>&1; }

# ---- where we are ----

# levels NAME…: the file's promise is made at these levels only. Elsewhere there is nothing to test: not a skip.
levels() {
	[[ " $* " == *" $LEVEL "* ]] && return
	echo "# not promised at level $LEVEL"
	done_testing
}
# can_rw: whether writable mounts are promised: as root the process level has none, since the payload is another user.
can_rw() { [ "$LEVEL" = container ] || [ "$ME" = user ]; }
# needs_rw: the file is all about writable mounts.
needs_rw() {
	can_rw && return
	echo "# level process as root has no writable mounts"
	done_testing
}
# need PROGRAM…: without them nothing here can be tested.
need() {
	local p
	for p in "$@"; do
		command -v "$p" >/dev/null || skip_all "there is no $p"
	done
}
need_root() { [ "$ME" = root ] || skip_all "only root can set this up"; }
# works_here: whether boxes of this level can be had at all.
works_here() { box -- true >/dev/null 2>&1; }
# defer COMMAND…: done at the end, last first, whatever happens.
defer() { tap_defer+=("$(printf '%q ' "$@")"); }
# background COMMAND…: started now, ended at the end. $! is its pid.
background() {
	"$@" &
	defer kill "$!"
}
# alone … together: what kills and then looks what is left on this host has no other test of the kind beside it. Ends with the test.
alone() {
	local i
	[ -z "${ALONE:-}" ] || return 0
	for i in $(seq 3000); do
		mkdir /tmp/cordon-tests-alone 2>/dev/null && break
		[ $((i % 50)) != 0 ] || [ -e "/proc/$(cat /tmp/cordon-tests-alone/pid 2>/dev/null)/stat" ] || rm -rf /tmp/cordon-tests-alone 2>/dev/null
		sleep 0.1
	done
	echo $$ 2>/dev/null >/tmp/cordon-tests-alone/pid && ALONE=1
	defer together
}
together() {
	[ -z "${ALONE:-}" ] || rm -rf /tmp/cordon-tests-alone
	ALONE=
}
# until_true SECONDS COMMAND…: waits for a condition; fails when it never comes.
until_true() {
	local end=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ "$SECONDS" -lt "$end" ] || return 1
		sleep 0.05
	done
}

tap_end() {
	local code=$? i
	[ "$BASHPID" = "$TAP_MAIN" ] || return
	trap - EXIT
	for ((i = ${#tap_defer[@]} - 1; i >= 0; i--)); do
		eval "${tap_defer[i]}" >/dev/null 2>&1
	done
	rm -rf "$WORK" 2>/dev/null || { chmod -R u+rwX "$WORK" && rm -rf "$WORK"; } 2>/dev/null
	if [ -z "$tap_done" ]; then
		tap_count=$((tap_count + 1))
		echo "not ok $tap_count - $(basename "$0") ended early, status $code"
		exit 1
	fi
	exit "$code"
}
trap tap_end EXIT
trap 'exit 143' TERM INT HUP
