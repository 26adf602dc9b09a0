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
	[ "$ENGINE" != docker ] || continue
	if command -v "$ENGINE" >/dev/null; then all; else skip "$ENGINE: network" "there is no $ENGINE"; fi
done

# ---- root's daemon, and a user who may use its socket: init lays the link, and has no right left when there is a payload ----
ENGINE=docker
if ! command -v dockerd >/dev/null || ! docker_start "$WORK"; then
	skip "docker: network" "there is no dockerd, or it does not start: $(tail -n 2 "$WORK/docker.log" 2>/dev/null)"
else
	chmod 666 "$WORK/docker.sock"
	export CORDON_ENGINE_IMAGE=$DAEMON_IMAGE
	all
	is "$(box --allow api.example.com -- grep -E '^(Uid|Gid|Groups|Cap)' /proc/1/status | tr -s '\t ' ' ' | sort -u | tr '\n' ' ' | sed "s/$(id -u "$user")/U/g; s/$(id -g "$user")/U/g")" \
		"CapAmb: 0000000000000000 CapBnd: 0000000000000000 CapEff: 0000000000000000 CapInh: 0000000000000000 CapPrm: 0000000000000000 Gid: U U U U Groups:  Uid: U U U U " \
		"docker: nor has init, in any set"
	refused "docker: the socket of the link answers nobody" box --allow api.example.com -- /usr/bin/python3 -c 'import glob, socket
socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).connect(glob.glob("/.cordon*/net")[0])'
	is "$(box --net none -- sh -c 'ls /.cordon*')" init "docker: control: without a network there is none"
	refused "docker: settings of its network are not its own" box --allow api.example.com -- sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
	daemon_stop "$DOCKER_PID" "$WORK"
fi
ENGINE=podman
if command -v podman >/dev/null && podman_start "$WORK"; then
	chmod 666 "$WORK/podman.sock"
	export CORDON_ENGINE_IMAGE=$DAEMON_IMAGE
	status 125 "podman: root's service has no network for another user" box --allow api.example.com -- true
	like "$ERR" "podman.*another user's.*service of one's own" "podman: and says what would help"
	ok "podman: control: without a network it serves him" box --net none -- true
	daemon_stop "$PODMAN_PID" "$WORK"
else
	skip "podman: refused" "there is no podman, or it does not start"
fi
unset CORDON_ENGINE_IMAGE
ENGINE=runsc
if command -v runsc >/dev/null; then
	status 125 "runsc: refused to an ordinary user" box --allow api.example.com -- true
	like "$ERR" "runsc.*network.*ordinary user" "runsc: and says so"
fi
done_testing
