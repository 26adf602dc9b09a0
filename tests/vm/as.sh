#!/bin/bash
# vm-as root|tester|tester-nodelegate COMMAND ARG…
# Runs a command as a fresh login of that user would: clean environment, own session, own cgroup. The cgroup of `tester` lies
# in a subtree that belongs to the user, as below systemd's user@1000.service; that of the other two belongs to root.
# Where systemd runs, `tester` really logs in, by PAM, and has a session of systemd-logind's and a user manager; `tester-nodelegate` is a service of
# the system's, which has neither; root stays where it is.
set -eu

if [ -d /run/systemd/system ]; then
	owner=$1
	shift
	case $owner in
	root) exec "$@" ;;
	tester) exec su -l tester -c "exec $(printf '%q ' "$@")" ;;
	tester-nodelegate) exec systemd-run --quiet --pipe --wait --collect --uid=1000 --gid=1000 -- "$@" ;;
	*) echo "vm-as: unknown user '$owner'" >&2; exit 125 ;;
	esac
fi

case $1 in
root) uid=0 leaf=user.slice/user-0.slice/session-$$.scope ;;
tester) uid=1000 leaf=user.slice/user-1000.slice/user@1000.service/app.slice/test-$$.scope ;;
tester-nodelegate) uid=1000 leaf=user.slice/user-1000.slice/session-$$.scope ;;
*) echo "vm-as: unknown user '$1'" >&2; exit 125 ;;
esac
owner=$1
shift

leaf=/sys/fs/cgroup/$leaf
mkdir "$leaf"
if [ "$owner" = tester ]; then
	chown 1000:1000 "$leaf" "$leaf"/cgroup.{procs,threads,subtree_control}
fi
echo $$ > "$leaf/cgroup.procs"

env=(LANG=C.UTF-8)
[ $uid = 0 ] || env+=("XDG_RUNTIME_DIR=/run/user/$uid")
exec setsid --wait setpriv --reuid $uid --regid $uid --init-groups --inh-caps=-all --reset-env -- env "${env[@]}" "$@"
