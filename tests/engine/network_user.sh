#!/bin/bash
# The network by name on other engines for an ordinary user. Started by root, who makes the internet, control groups that are the user's, and a
# daemon whose socket he may use.
. "$(dirname "$0")/network_lib.sh"
need_root
need setpriv newuidmap
user=
for name in ${CORDON_TEST_USER:-} agentuser cordon-test nobody; do
	if grep -q "^$name:" /etc/subuid && grep -q "^$name:" /etc/subgid && id "$name" >/dev/null 2>&1; then user=$name && break; fi
done
[ "$user" ] || skip_all "no user with subordinate ids: useradd makes them"
[ -d /sys/fs/cgroup/memory ] || skip_all "on cgroup v2 a user's groups are systemd's to give: tests/vm"

# ---- what is the user's ----
group=cordon-net-test-$$
remove_groups() { for dir in /sys/fs/cgroup/*/"$group"; do rmdir "$dir/cordon" "$dir" 2>/dev/null; done; }
defer remove_groups
for tree in memory pids cpu cpuacct blkio unified; do
	dir=/sys/fs/cgroup/$tree/$group
	[ -d "/sys/fs/cgroup/$tree" ] && mkdir "$dir" && chown "$user" "$dir" "$dir/cgroup.procs"
done
mkdir -p "$WORK/build" "$WORK/tmp" "$WORK/tests/egress"
for program in cordon cordon-engine cordon-engine-docker cordon-init cordon-egress cordon-egress-tls; do cp "$(dirname "$(realpath "$CORDON")")/$program" "$WORK/build/"; done
cp "$TOP/tests/egress/inside.py" "$WORK/tests/egress/"
chown "$user" "$WORK/tmp"
TOP=$WORK CORDON=$WORK/build/cordon
# shellcheck disable=SC2016 # for the inner shell
UNCAP=(sh -c 'for dir in /sys/fs/cgroup/*/'"$group"'; do echo $$ >"$dir/cgroup.procs"; done; exec "$@"' sh
	setpriv --reuid "$user" --regid "$(id -g "$user")" --init-groups --inh-caps=-all
	env HOME="$WORK/tmp" TMPDIR="$WORK/tmp" XDG_RUNTIME_DIR="$WORK/tmp")

for ENGINE in ${CORDON_ENGINE:-crun runc}; do
	if command -v "$ENGINE" >/dev/null; then all; else skip "$ENGINE: network" "there is no $ENGINE"; fi
done
ENGINE=runsc
if command -v runsc >/dev/null; then
	status 125 "runsc: refused to an ordinary user" box --allow api.example.com -- true
	like "$ERR" "runsc.*network.*ordinary user" "runsc: and says so"
fi
done_testing
