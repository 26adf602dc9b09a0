#!/bin/bash
# Calls that reach into the kernel, into mounts, namespaces and other processes are refused with an errno, and told.
. "$(dirname "$0")/../lib.sh"
levels container process
mapfile -t names < <("$PROBE" call-names)
declare -A inside outside
while read -r name said; do inside[$name]=$said; done < <(probe calls "${names[@]}")
# The control has rights: root's, or those of a user namespace of its own.
control=("$PROBE")
[ "$ME" = root ] || control=(unshare -Urm "$PROBE")
while read -r name said; do outside[$name]=$said; done < <("${control[@]}" calls "${names[@]}" 2>/dev/null)

for name in "${names[@]}"; do
	case $name in
	clone3 | openat2 | io_setup | io_uring_* | unknown-*) want=ENOSYS ;;
	*) want=EPERM ;;
	esac
	is "${inside[$name]:-}" $want "$name: $want"
	case $name:${outside[$name]:-none} in
	unknown-*) ;;
	*:none) ;; # told once, below
	*:ENOSYS) [ "$want" = ENOSYS ] || note "control: this kernel has no $name" ;;
	*:EPERM) [ "$ME" = user ] || fail "control: $name outside" "EPERM there, too" ;;
	*) isnt "${outside[$name]}" "$want" "control: $name outside says ${outside[$name]}" ;;
	esac
done

[ ${#outside[@]} != 0 ] || skip "controls of the calls" "no rights to try them with: there are no user namespaces here"
is "$(probe listener)" EBUSY "no filter with a listener of its own"
like "$(bare listener)" '^ok$' "control: outside there may be one"
like "$(probe sched-core)" '^EPERM$' "no core of its own"
is "$(probe x32)" ENOSYS "the x32 ABI is not there"
said=$(bare int80 20)
if [ "$said" = ok ]; then
	is "$(probe int80 20)" ENOSYS "int 0x80: getpid of i386 is refused"
	is "$(probe int80 102 1)" ENOSYS "int 0x80: socketcall is refused"
	is "$(probe int80 21 1 1)" ENOSYS "int 0x80: mount is refused"
	is "$(probe int80 120)" ENOSYS "int 0x80: clone is refused"
else
	skip "int 0x80" "this kernel runs no i386 calls ($said)"
fi

# They are told as denials, in words.
result --ro "$PROBE" -- "$PROBE" calls mount ptrace mount
like "$(field denials.0.what)" 'mount|ptrace' "a refused call is a denial"
like "$(field denials)" '"count": 2' "counted when repeated"
like "$(field denials.0.rule)" seccomp "with its rule"
isnt "$(field denials.0.allow)" "" "and what would allow it"
result -- true
is "$(field denials)" "" "control: none where nothing was refused"

# strict is smaller.
is "$(box --syscalls strict -- cat /dev/null && echo ok)" ok "strict: cat works"
if [ "$LEVEL" = container ]; then
	PROBE_FLAGS=(--syscalls strict)
	is "$(probe socket 1 1 0)" EAFNOSUPPORT "strict: no socket"
	is "$(probe kill 1 0)" EPERM "strict: no signal"
	like "$(probe trace-child)" '^EPERM$' "strict: no child"
fi
done_testing
