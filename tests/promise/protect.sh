#!/bin/bash
# files.protect holds in a writable mount whatever is there: nothing, a file, a directory, a link, a linked parent; whatever is tried.
. "$(dirname "$0")/../lib.sh"
levels container
D=$WORK/d
# What the host sees of the protected place, by inode where it exists: nothing of it may differ afterwards.
state() {
	local p
	for p in "$D/sub" "$D/sub/target" "$D/sub/target/inner" "$D/elsewhere" "$D/elsewhere/target" "$D/elsewhere/target/inner"; do
		stat -c '%n %F %a %s %i' "$p" 2>/dev/null || echo "$p missing"
		[ ! -L "$p" ] || readlink "$p"
		[ ! -f "$p" ] || cat "$p"
	done
}
set_up() { # STATE
	rm -rf "$D"
	mkdir -p "$D/mine/dir"
	echo evil >"$D/mine/file"
	case $1 in linked-parent) mkdir "$D/elsewhere" && ln -s elsewhere "$D/sub" ;; missing-parent) ;; *) mkdir "$D/sub" ;; esac
	case $1 in
	file | linked-parent) echo good >"$D/sub/target" ;;
	dir) mkdir "$D/sub/target" && echo good >"$D/sub/target/inner" ;;
	link) mkdir "$D/elsewhere" && echo good >"$D/elsewhere/target" && ln -s ../elsewhere/target "$D/sub/target" ;;
	dangling) mkdir "$D/elsewhere" && ln -s ../elsewhere/target "$D/sub/target" ;;
	esac
}
acts=(
	"create: echo evil >sub/target"
	"create below: mkdir -p sub/target && echo evil >sub/target/inner"
	"append: echo evil >>sub/target"
	"rename over: mv -T mine/file sub/target"
	"rename a directory over: mv -T mine/dir sub/target"
	"mkdir: mkdir sub/target"
	"hardlink: ln mine/file sub/target"
	"hardlink over: ln -f mine/file sub/target"
	"symlink: ln -s ../mine/file sub/target"
	"symlink over: ln -sfn ../mine/file sub/target"
	"remove: rm -rf sub/target"
	"rename away: mv sub/target mine/stolen"
	"hardlink away: ln sub/target mine/alias && echo evil >mine/alias"
	"mode: chmod 777 sub/target"
	"exchange: $PROBE exchange mine/file sub/target; $PROBE exchange mine/dir sub/target"
	"parent swapped: mv sub old; mkdir sub; echo evil >sub/target"
	"parent exchanged: mkdir mine/s; echo evil >mine/s/target; $PROBE exchange mine/s sub"
	"parent removed: rm -rf sub; mkdir sub; echo evil >sub/target"
	"parent linked: mv sub old; ln -s mine sub; cp mine/file mine/target"
	"whole swapped: cd ..; mv m n; mkdir m"
	"written in place: dd if=mine/file of=sub/target conv=notrunc"
	"truncated: : >sub/target"
)
python='import os,sys
for f in (lambda: os.mknod("sub/target"), lambda: os.open("sub/target", os.O_CREAT|os.O_WRONLY, 0o644), lambda: os.open("sub", os.O_TMPFILE|os.O_WRONLY),
          lambda: os.utime("sub/target"), lambda: os.setxattr("sub/target", "user.x", b"x"), lambda: os.truncate("sub/target", 0)):
    try: f()
    except OSError: pass'
for state in missing missing-parent file dir link dangling linked-parent; do
	changed=0
	for act in "${acts[@]}"; do
		set_up $state
		before=$(state)
		box --rw "$D:/m" --ro "$PROBE" --protect /m/sub/target --workdir /m -- sh -c "${act#*: }" >"$WORK/said" 2>&1
		is "$(state)" "$before" "$state × ${act%%: *}"
		# The control: without the rule it changes something, for at least some of the acts.
		[[ $state == *-parent || $state == dangling ]] && continue
		set_up $state
		before=$(state)
		box --rw "$D:/m" --ro "$PROBE" --workdir /m -- sh -c "${act#*: }" >/dev/null 2>&1
		[ "$(state)" = "$before" ] || changed=$((changed + 1))
	done
	set_up $state
	before=$(state)
	box --rw "$D:/m" --protect /m/sub/target --workdir /m -- python3 -c "$python" >/dev/null 2>&1
	is "$(state)" "$before" "$state × calls by hand"
	[[ $state == *-parent || $state == dangling ]] && continue
	[ "$changed" -ge 8 ] && pass "control: $state: $changed of the acts change it without the rule" || fail "control: $state" "only $changed"
done

# Around it, work goes on.
set_up file
is "$(box --rw "$D:/m" --protect /m/sub/target --workdir /m -- sh -c 'echo x >sub/other && mkdir new && cat sub/target sub/other')" $'good\nx' \
	"control: beside it everything works"
set_up missing
is "$(box --rw "$D:/m" --protect /m/sub/target --workdir /m -- sh -c 'echo x >sub/other; echo y >mine/y; cat mine/y sub/other')" $'y\nx' \
	"control: also where it is missing"
ok "which it is on the host afterwards" test ! -e "$D/sub/target"
set_up file
printf 'version: 1\nfiles: {write: ["%s:/m"], protect: ["sub/target"]}\n' "$D" >"$WORK/p.yaml"
box --policy "$WORK/p.yaml" --workdir /m -- sh -c 'echo evil >sub/target' 2>/dev/null
is "$(cat "$D/sub/target")" good "a relative path protects it in every writable mount"
status 0 "a protected path outside every writable mount needs nothing" box --protect /etc/x -- true

# A second name of the same directory would be a way around.
refused "the same directory twice" box --rw "$D:/m" --rw "$D:/n" --protect /m/sub/target -- true
refused "a directory and one in it" box --rw "$D:/m" --rw "$D/sub:/n" --protect /m/sub/target -- true
# Also where the host itself has it under a second name: a bind mount, in a mount namespace of this test's own.
if [ "$ME" = root ] && unshare -m true 2>/dev/null; then
	mkdir -p "$D/sub/deep" "$WORK/bind" "$WORK/other"
	aliased() { # SOURCE FLAG…: with SOURCE bound to $WORK/bind
		local source=$1
		shift
		"${APART[@]}" bash -c 'mount --bind "$1" "$2" && shift 2 && exec timeout -k 5 60 "$@"' bash "$source" "$WORK/bind" "$CORDON" run --level "$LEVEL" "$@"
	}
	ok "control: the bind mount works" aliased "$D" --rw "$WORK/bind:/n" -- test -d /n/sub
	for source in "$D" "$D/sub"; do
		refused "${source#"$WORK"/} bound elsewhere and given under both names" aliased "$source" --rw "$D:/m" --rw "$WORK/bind:/n" --protect /m/sub/target -- true
		refused "in the other order" aliased "$source" --rw "$WORK/bind:/n" --rw "$D:/m" --protect /m/sub/target -- true
	done
	refused "what holds it, bound elsewhere" aliased "$D" --rw "$D/sub:/m" --rw "$WORK/bind:/n" --protect /m/target -- true
	refused "a part of the bind mount" aliased "$D" --rw "$D:/m" --rw "$WORK/bind/sub:/n" --protect /m/sub/target -- true
	cat "$D/sub/target" >"$WORK/was"
	aliased "$D" --rw "$D:/m" --rw "$WORK/bind:/n" --protect /m/sub/target -- sh -c 'echo evil >/n/sub/target' >/dev/null 2>&1
	ok "so that nothing is written" cmp "$D/sub/target" "$WORK/was"
	ok "control: read-only the second name is no way" aliased "$D" --rw "$D:/m" --ro "$WORK/bind:/n" --protect /m/sub/target -- true
	ok "control: another directory bound there" aliased "$WORK/other" --rw "$D:/m" --rw "$WORK/bind:/n" --protect /m/sub/target -- true
	ok "control: without a protected path" aliased "$D" --rw "$D:/m" --rw "$WORK/bind:/n" -- true
fi
done_testing
