#!/bin/bash
# The caller's terminal is not the payload's: nothing can be typed into it. A terminal of its own takes no injection either.
. "$(dirname "$0")/../lib.sh"
levels container process
need script
sti=0x5412 linux=0x541c setd=0x5423

# in_terminal COMMAND…: with a terminal as stdin, stdout and stderr, and controlling. What is written to fd 7 is typed there, and nothing else:
# at the end of its own input script would type an end of file.
mkfifo "$WORK/keys" && exec 7<>"$WORK/keys"
in_terminal() { SHELL=/bin/bash script -qec "$(printf '%q ' "$@")" /dev/null <&7 2>/dev/null | tr -d '\r'; }
is "$(in_terminal "$PROBE" isatty 0)" ok "control: there is a terminal"
said=$(bare pty-ioctl $sti)
if [ "$said" = ok ]; then
	pass "control: TIOCSTI works on a terminal of one's own outside"
else
	skip "control: TIOCSTI outside" "this kernel refuses it ($said; dev.tty.legacy_tiocsti)"
fi
for fd in 0 1 2; do
	is "$(in_terminal "$CORDON" run --level "$LEVEL" --ro "$PROBE" -- "$PROBE" isatty $fd)" ENOTTY "fd $fd is not the caller's terminal"
done
like "$(in_terminal "$CORDON" run --level "$LEVEL" --ro "$PROBE" -- "$PROBE" open /dev/tty rw)" '^(ENXIO|EACCES|ENOENT)$' "nor is it the controlling one"
is "$(in_terminal "$PROBE" open /dev/tty rw)" ok "control: outside it is"

with_tty() { in_terminal "$CORDON" run --level "$LEVEL" --tty --ro "$PROBE" -- "$PROBE" "$@"; }
is "$(with_tty isatty 0)" ok "--tty: a terminal"
which='python3 -c "import os; s = os.fstat(0); print(s.st_dev, s.st_rdev)"'
is "$(in_terminal bash -c "$which; $which" | uniq | wc -l)" 1 "control: two programs outside share one"
is "$(in_terminal bash -c "$which; '$CORDON' run --level $LEVEL --tty -- $which" | uniq | wc -l)" 2 "of its own"
for request in $sti $linux $setd; do
	for high in '' 0x1000000 0xffffffff; do
		n=$(printf '0x%s%08x' "${high#0x}" $((request)))
		is "$(with_tty ioctl 0 "$n")" EPERM "--tty: ioctl $n is refused"
	done
done
if [ "$LEVEL" = container ]; then
	for request in $sti $linux $setd 0x100005412 0xffffffff00005412 0x10000541c; do
		is "$(probe pty-ioctl "$request")" EPERM "on a terminal that it made itself: $request"
	done
	is "$(probe pty-ioctl 0x540f)" ok "control: TIOCGPGRP works there" # writes a pid into what we pass
fi
# What the payload says is not typed in: after the run, the caller's terminal has no input waiting.
typed='IFS= read -rt 0.3 -n 1 typed; echo "typed:$typed:"'
said=$(in_terminal bash -c "'$CORDON' run --level $LEVEL --tty --ro '$PROBE' -- sh -c '$PROBE ioctl 0 0x5412; printf \"\\033[6n\"' >/dev/null; $typed")
like "$said" "typed::" "nothing was typed into the caller's terminal"
printf x >&7
like "$(in_terminal bash -c "$typed")" "typed:x:" "control: what is typed is seen"
done_testing
