#!/bin/bash
# The payload is nobody: no capability in any set, locked securebits, no_new_privs, no groups, its own session, a clean umask.
. "$(dirname "$0")/../lib.sh"
levels container process
[ "$ME" = user ] || isnt "$(bare identity | grep ^effective)" "effective 000000000" "control: root has capabilities outside"
get() { echo "$all" | sed -n "s/^$1 //p"; }
check_all() { # WAY
	for set in permitted effective inheritable; do is "$(get $set)" 000000000 "$1: $set is empty"; done
	is "$(get ambient)" 0 "$1: ambient is empty"
	is "$(get no_new_privs)" 1 "$1: no_new_privs"
	is "$(get seccomp)" 2 "$1: a filter is on"
	isnt "$(get uid)" "0 0" "$1: not root"
	is "$(get umask)" 22 "$1: the umask is 022"
	if [ "$LEVEL" = container ] || [ "$ME" = root ]; then
		is "$(get bounding)" 0 "$1: the bounding set is empty"
		is "$(get securebits)" ef "$1: securebits are set and locked"
		# An ordinary user cannot give up groups without the help of subordinate ids.
		[ "$ME" = user ] || is "$(get groups)" 0 "$1: no supplementary groups"
	fi
}
all=$(umask 077; probe identity)
check_all run
is "$(get session)" 1 "run: it leads a session"
all=$(box --ro "$PROBE" -- sh -c "$PROBE identity; true")
check_all "a grandchild"
all=$(box --tty --ro "$PROBE" -- "$PROBE" identity </dev/null | tr -d '\r')
check_all --tty
for id in 0 1 65534; do
	like "$(probe setuid $id)" '^(EPERM|EINVAL)$' "setuid to $id is refused" # EINVAL: no such id in the namespace
done
is "$(probe setgroups)" EPERM "setgroups is refused"
if [ "$ME" = root ]; then
	is "$(bare setuid 65534)" ok "control: root may change its id outside"
	# Its host id is nobody's: neither root's nor that of an account.
	box -- sleep 3.14159 &
	uid_of() { ps -eo uid=,args= | awk '$2 == "sleep" && $3 == "3.14159" { print $1 }'; }
	has_uid() { [ -n "$(uid_of)" ]; }
	until_true 5 has_uid
	uid=$(uid_of)
	refused "its host uid $uid belongs to no account" getent passwd "${uid:-0}"
	isnt "${uid:-0}" 0 "its host uid is not root's"
	# Two boxes have different ones.
	box -- sleep 3.14159 &
	sleep 0.3
	is "$(uid_of | sort | uniq -d)" "" "two boxes at once have different ids"
	wait
fi
refused "--user root is refused" box --user root -- true
ok "control: --user agent is not" box --user agent -- true
done_testing
