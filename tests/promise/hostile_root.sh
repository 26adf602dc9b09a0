#!/bin/bash
# A hostile files.root: whatever lies where the box has its own places, nothing outside is read, written or made.
. "$(dirname "$0")/../lib.sh"
levels container
[ -z "${CORDON_ENGINE_IMAGE:-}" ] || skip_all "the engine runs images of its own, and no root of the caller's"
canary=canary-$RANDOM$RANDOM
hex=$(printf %s "$canary" | od -An -tx1 | tr -d ' \n')
mkdir -p "$WORK/outside/agent" "$WORK/outside/sys" "$WORK/outside/shm" "$WORK/outside/pts"
echo "$canary" >"$WORK/outside/file"
echo "$canary" >"$WORK/outside/passwd"
chmod -R a+rwX "$WORK/outside"
look() {
	(cd "$WORK/outside" && find . -printf '%p %m %U %G %y %l %T@ %s\n' | sort && sha256sum file passwd)
}
before=$(look)
n=0
fresh() {
	n=$((n + 1))
	R=$WORK/root$n
	mkdir -p "$R/bin" "$R/etc" "$R/usr/bin" "$R/tmp" "$R/home" "$R/dev" "$R/proc" "$R/sys" "$R/run"
	ln "$PROBE" "$R/bin/probe" 2>/dev/null || cp "$PROBE" "$R/bin/probe"
	echo "root:x:0:0::/:/bin/sh" >"$R/etc/passwd"
}
boxed() { timeout -k 5 60 "$CORDON" run --root "$R" "$@"; }

out=$WORK/outside
fresh
is "$(boxed -- /bin/probe open /tmp/x create)" ok "control: an honest root works"
is "$(boxed -- /bin/probe open /etc/x create)" EROFS "and is read-only"
is "$(boxed -- /bin/probe open /dev/null w)" ok "with a /dev of the box"
like "$(boxed -- /bin/probe read /proc/self/status)" '^ok Name' "and a /proc of the box"
like "$(boxed -- /bin/probe read /etc/passwd)" '^ok root:x:0:0:root:/:' "and the box's own passwd"

like "$(boxed --ro "$out:/tmp/o" -- /bin/probe search "$hex" /etc /tmp)" 'found /tmp/o/file' "control: the search finds what is given"

# try NAME SETUP…: whether it starts or not, the outside is as it was and not to be seen.
try() {
	local title=$1 act
	shift
	fresh
	(cd "$R" && eval "$*") || fail "$title: setting up"
	for act in "open /home/agent/x create" "open /dev/shm/x create"; do
		# shellcheck disable=SC2086 # words
		boxed -- /bin/probe $act >"$WORK/said" 2>&1
		! grep -q "$canary" "$WORK/said" || fail "$title: $act read the canary"
	done
	boxed -- /bin/probe search "$hex" /etc /dev /home /tmp /usr /run /sys /bin >"$WORK/said" 2>&1
	unlike "$(cat "$WORK/said")" "found /" "$title: the canary is not to be seen"
	is "$(look)" "$before" "$title: the outside is as it was"
	rm -rf "$R"
}
up=../outside
for place in dev proc sys tmp home etc run usr; do
	try "$place links to a directory outside" "rm -rf $place; ln -s $out $place"
	try "$place links outside, relatively" "rm -rf $place; ln -s $up $place"
	try "$place dangles" "rm -rf $place; ln -s /nowhere $place"
	try "$place loops" "rm -rf $place; ln -s $place $place"
	try "$place is a file" "rm -rf $place; echo x >$place"
	try "$place is a FIFO" "rm -rf $place; mkfifo $place"
done
for place in dev/null dev/pts dev/shm dev/fd proc/sys sys/devices etc/passwd etc/group etc/hosts etc/resolv.conf etc/hostname home/agent; do
	try "$place links to a file outside" "rm -rf $place; ln -s $out/file $place"
	try "$place links to a directory outside" "rm -rf $place; ln -s $out $place"
	try "$place dangles outside" "rm -rf $place; ln -s $out/new $place"
	try "$place is a directory" "rm -rf $place; mkdir -p $place"
done
for place in .empty .empty-file .etc-passwd .etc-hosts .old; do
	try "$place links outside" "ln -s $out/file $place"
	try "$place dangles outside" "ln -s $out/new $place"
done
try "every place at once" "rm -rf dev proc sys tmp home; for p in dev proc sys tmp home; do ln -s $out \$p; done"
try "bin links to /" "mv bin b; ln -s / bin"

# Mounts and copies into such a root.
fresh
ln -s "$out" "$R/link"
mkdir "$WORK/data"
echo data >"$WORK/data/f"
boxed --ro "$WORK/data:/link/sub" -- /bin/probe read /link/sub/f >/dev/null 2>&1
boxed --rw "$WORK/data:/link" -- /bin/probe open /link/x create >/dev/null 2>&1
boxed --in "$WORK/data/f:/link/f" -- /bin/probe read /link/f >/dev/null 2>&1
boxed --out "/link/file:$WORK/copied" -- /bin/probe read /link/f >/dev/null 2>&1
boxed --workdir /link -- /bin/probe open x create >/dev/null 2>&1
is "$(look)" "$before" "mounts, copies and directories through a link of the root change nothing outside"
ok "and nothing was copied out" test ! -e "$WORK/copied"
refused "a command by way of a link out of the root" boxed -- /link/../../bin/true
status 126 "a forbidden directory is no root" box --root /etc -- true
refused "a file is no root" box --root "$WORK/data/f" -- true
done_testing
