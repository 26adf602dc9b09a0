#!/bin/bash
# crun, runc and runsc build boxes for an ordinary user, too, in control groups that were given to him; without such groups they refuse, and say
# what would help. As root: makes the groups and calls tests/engine/crun.sh and the others as the user. As the user: the refusal.
. "$(dirname "$0")/../lib.sh"
levels container
if [ "$ME" = user ]; then
	for engine in crun runc runsc; do
		command -v $engine >/dev/null || [ -x /usr/sbin/$engine ] || { skip "$engine" "there is no $engine"; continue; }
		result --engine $engine -- true
		[ "$(field status)" != success ] || { skip "$engine refuses without groups" "this user has control groups"; continue; }
		is "$RESULT_STATUS" 125 "$engine without control groups is refused"
		like "$(field error.message)$(field error.hint)" "limits.memory.*Delegate=yes|subordinate ids.*usermod" "and the remedy told"
	done
	is "$(find "/tmp/cordon-engine-$(id -u)" -mindepth 1 -name 'cordon-*' 2>/dev/null)" "" "nothing is left"
	done_testing
fi

# ---- as root: groups for a user ----
user=${CORDON_TEST_USER:-}
for name in $user agentuser cordon-test nobody; do
	grep -q "^$name:" /etc/subuid && grep -q "^$name:" /etc/subgid && id "$name" >/dev/null 2>&1 && break
	name=
done
[ "$name" ] || skip_all "no user with subordinate ids: useradd makes them"
need setpriv newuidmap
[ -d /sys/fs/cgroup/memory ] || skip_all "on cgroup v2 a user's groups are systemd's to give: tests/vm"
group=cordon-user-test-$$
trees=(memory pids cpu cpuacct blkio unified)
remove_groups() {
	local tree
	for tree in "${trees[@]}"; do rmdir "/sys/fs/cgroup/$tree/$group/cordon" "/sys/fs/cgroup/$tree/$group" 2>/dev/null; done
}
defer remove_groups
for tree in "${trees[@]}"; do
	dir=/sys/fs/cgroup/$tree/$group
	[ -d "/sys/fs/cgroup/$tree" ] && mkdir "$dir" && chown "$name" "$dir" "$dir/cgroup.procs"
done
mkdir "$WORK/build" "$WORK/tmp" "$WORK/tests"
for program in cordon cordon-engine cordon-init; do cp "$(dirname "$(realpath "$CORDON")")/$program" "$WORK/build/"; done
chown "$name" "$WORK/build/cordon-init" # which is the payload's own file then, and read-only all the same
cp -r "$TOP/tests/lib.sh" "$TOP/tests/engine" "$WORK/tests/"
chown -R "$name" "$WORK/tmp"
as_user() { # COMMAND…: in the groups
	# shellcheck disable=SC2016 # for the inner shell
	sh -c 'for dir in /sys/fs/cgroup/*/'"$group"'; do echo $$ >"$dir/cgroup.procs"; done; exec "$@"' sh \
		setpriv --reuid "$name" --regid "$(id -g "$name")" --init-groups --inh-caps=-all --reset-env \
		env HOME="$WORK/tmp" TMPDIR="$WORK/tmp" LC_ALL=C.UTF-8 PATH="$PATH" CORDON_GROUPS=1 CORDON="$WORK/build/cordon" "$@"
}
if command -v crun >/dev/null; then
	cp -r "$TOP/tests/promise" "$WORK/tests/"
	as_user env CORDON_ENGINE=crun bash "$WORK/tests/promise/inotify.sh" >"$WORK/log" 2>&1
	is "$(grep -A4 '^not ok' "$WORK/log"; grep -c '^ok' "$WORK/log")" 15 "crun as $name: what the kernel counts for him is not used up"
fi
for engine in crun runc runsc; do
	command -v $engine >/dev/null || { skip "$engine" "there is no $engine"; continue; }
	as_user bash "$WORK/tests/engine/$engine.sh" >"$WORK/log" 2>&1
	bad=$(grep -A4 '^not ok' "$WORK/log")
	is "$bad" "" "$engine as $name: all of tests/engine/$engine.sh"
	like "$(grep -c '^ok' "$WORK/log")" '^([4-9][0-9]|1[0-9][0-9])$' "which are that many checks"
done
is "$(find /sys/fs/cgroup -mindepth 3 -path "*/$group/*" -name 'cordon-[0-9]*' -type d 2>/dev/null)" "" "nothing is left in the groups"
done_testing
