#!/bin/bash
# Single calls that fail where it matters how that is told: as a failure of ours, with its step, at once, and with nothing left behind.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/build.sh"
levels container
works_here || skip_all "no boxes of level $LEVEL here"

# run LEVEL FLAG… [-- COMMAND…]: under the injector; $code is cordon's status
run() {
	local level=$1 flags=()
	shift
	while [ $# != 0 ] && [ "$1" != -- ]; do flags+=("$1") && shift; done
	[ $# != 0 ] || set -- -- echo hello
	"$INJECT" --report "$WORK/report" --seconds 30 "${flags[@]}" -- "$CORDON" run --json --level "$level" --timeout 5s "$@" \
		>"$WORK/.result" 2>"$WORK/.result.err" </dev/null
	code=$(sed -n 's/^status //p' "$WORK/report")
}
# of PART CALL: how often the front, the keeper, init or the child made it in the run before; $who is its name
of() {
	local child
	child=$(awk '$3 == "execve" && $1 != "0" { name = $1 } END { print name }' "$WORK/list")
	case $1 in front) who=0 ;; keeper) who=0.1 ;; init) who=${child%.*} ;; child) who=$child ;; esac
	times=$(awk -v who="$who" -v call="$2" '$1 == who && $3 == call' "$WORK/list" | wc -l)
}
failure() { # DESC STEP MESSAGE
	is "$code" 125 "$1: it ends as a failure" || note "$(cat "$WORK/report" "$WORK/.result")"
	expect "$1: which is told" status=failed exit_code= "error.step=$2" "error.message=~$3" wall_ms="<4000"
	is "$(sed -n 's/^left //p' "$WORK/report")" 0 "$1: no process is left"
}
left() { # what carries the name of the last run's keeper
	local pid
	pid=$(sed -n 's/^pid 0.1 //p' "$WORK/report")
	find /var/tmp "/tmp/cordon-$(id -u)" /sys/fs/cgroup -maxdepth 4 -name "cordon-$pid-*" 2>/dev/null
}

for level in container process; do
	run $level --list "$WORK/list"
	is "$code $(field stdout)" "0 hello" "$level: control: without a failure it runs"

	of child prlimit64
	run $level --every "$who:prlimit64" --spare $((times - 1)) --error 1
	failure "$level: the last limit before execve" started "set resource limits"
	of child prctl
	if [ "$ME" = root ] || [ "$level" = container ]; then # most of them are the bounding set's
		run $level --every "$who:prctl" --spare $((times / 2)) --once yes --error 22
		failure "$level: one of the bounding set" "payload identity" .
	fi
	of init wait4
	[ "$times" != 0 ] && run $level --every "$who:wait4" --error 22
	failure "$level: init's wait" init "wait for the payload"
	of init sendmsg
	run $level --every "$who:sendmsg" --spare $((times - 1)) --error 1
	failure "$level: init's last word" init "init ended"
	for call in pipe2 socketpair mmap fork; do
		of front "$call"
		[ "$times" != 0 ] || continue # another libc
		run $level --every "0:$call" --spare $((times - 1)) --error 1
		[ "$(field status)" = success ] || failure "$level: the front's $call" front .
	done
	# The last one reads what the payload said, or the end of it.
	of front read
	for spare in 1 2 3 4; do
		run $level --every 0:read --spare $((times - spare)) --once yes --error 5
		if [ "$code" = 0 ]; then
			is "$(field stdout)" hello "$level: read $spare from the end: success has all of the output"
		else
			failure "$level: read $spare from the end" '~.' .
		fi
	done
	of keeper unlinkat
	if [ "$times" != 0 ]; then
		run $level --every 0.1:unlinkat --error 1
		is "$code $(left)" "0 " "$level: what the keeper cannot remove, the front does"
	fi
	of keeper rmdir
	if [ "$times" != 0 ]; then
		run $level --every 0.1:rmdir --error 1
		is "$code $(left)" "0 " "$level: the same of its groups"
	fi
	# A refused call waits for the keeper's answer: the second ioctl of each two.
	run $level --list "$WORK/list" -- unshare --net true
	of keeper ioctl
	run $level --every 0.1:ioctl --spare $((times - 1)) --once yes --error 4 -- unshare --net true
	is "$(field status)" error "$level: an answer that is interrupted is given again"
	expect "$level: and the call is told" "denials.0.what=~unshare" wall_ms="<4000"
done

# A box that lives: what the keeper cannot tell of it or of a job is heard as its end.
lives=$(dirname "$PROBE")/lives
if [ ! -x "$lives" ]; then
	skip "a box that lives" "there is no $lives: make probe"
	done_testing
fi
live() { # FLAG…
	"$INJECT" --report "$WORK/report" --seconds 30 "$@" -- "$lives" /etc/hostname echo hello >"$WORK/.result" 2>"$WORK/.result.err" </dev/null
	code=$(sed -n 's/^status //p' "$WORK/report")
}
live --list "$WORK/list"
is "$code $(json 1.stdout <"$WORK/.result")" "0 hello" "lives: control: two jobs"
of keeper sendmsg
for spare in $(seq 0 $((times - 1))); do
	live --every 0.1:sendmsg --spare "$spare" --once yes --error 12
	like "$code $(json 0.status <"$WORK/.result") $(json 1.status <"$WORK/.result")" '^(0 success success|125 failed .*|125 success failed)$' \
		"lives: the keeper's word $((spare + 1)) of $times is lost: it is told, and nobody waits"
	is "$(sed -n 's/^left //p' "$WORK/report") $(left)" "0 " "lives: word $((spare + 1)): nothing is left"
done
done_testing
