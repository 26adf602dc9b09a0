#!/bin/bash
# process.subuids, as an ordinary user: init has an id of its own, which the payload cannot reach, and the payload none of the caller's groups.
. "$(dirname "$0")/../lib.sh"
levels container
[ "$ME" = user ] || skip_all "root's boxes have ids of their own anyway"
works_here || skip_all "no boxes of level $LEVEL here"
need newuidmap
grep -qE "^($(id -un)|$(id -u)):" /etc/subuid && grep -qE "^($(id -un)|$(id -u)):" /etc/subgid || skip_all "$(id -un) has no subordinate ids: usermod --add-subuids"

# ids FLAG…: the host's ids of a running box's init and payload.
ids() {
	local front keeper init payload
	"$CORDON" run "$@" --timeout 60s -- sh -c 'echo on; sleep 40' >"$WORK/on" &
	front=$!
	until_true 20 test -s "$WORK/on"
	keeper=$(pgrep -P "$front" | head -n 1)
	init=$(pgrep -P "$keeper" | head -n 1)
	payload=$(pgrep -P "$init" | head -n 1)
	echo "$(awk '/^Uid:/ { print $2 }' "/proc/$init/status") $(awk '/^Uid:/ { print $2 }' "/proc/$payload/status")"
	kill "$front"
	wait "$front" 2>/dev/null
	: >"$WORK/on"
}
me=$(id -u)
is "$(ids)" "$me $me" "control: without, init and payload are the caller outside"
read -r init payload < <(ids --subuids)
is "$payload" "$me" "with it the payload still is: files stay the caller's"
isnt "$init" "$me" "init is somebody else"
first=$(awk -F: -v n="$(id -un)" -v u="$me" '$1 == n || $1 == u { print $2; exit }' /etc/subuid)
[ "$init" -ge "$first" ] && pass "of the subordinate ids" || fail "of the subordinate ids" "$init, from $first on"
is "$(box --subuids -- id -u)" 1000 "inside it is the same user as ever"
is "$(box --subuids -- id -G)" 1000 "in no group but its own"
is "$(box --subuids -- sh -c 'kill -0 1 2>/dev/null && echo reached; cat /proc/1/status 2>/dev/null | head -n 1')" "" "it reaches init neither by a signal nor in /proc"
mkdir "$WORK/shared"
ok "it writes to what it is given" box --subuids --rw "$WORK/shared:/m" -- sh -c 'echo hello >/m/file'
is "$(stat -c %u "$WORK/shared/file")" "$me" "and that belongs to the caller"
result --subuids --memory 64M -- true
expect "the layers are the same" status=success 'isolation.layers=~userns'
is "$(box --subuids -- sh -c 'cat /etc/shadow 2>&1 | head -c 30; capsh --print 2>/dev/null | head -n 1; grep CapBnd /proc/self/status')" \
	"$(box -- sh -c 'cat /etc/shadow 2>&1 | head -c 30; capsh --print 2>/dev/null | head -n 1; grep CapBnd /proc/self/status')" "and nothing is gained"
done_testing
