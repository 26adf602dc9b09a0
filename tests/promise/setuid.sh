#!/bin/bash
# No setuid or setgid bit, device node or file capability comes out of a box into a shared directory, and none counts inside.
. "$(dirname "$0")/../lib.sh"
levels container process
needs_rw
mkdir "$WORK/d"
new() { rm -rf "$WORK/d/f" && cp "$PROBE" "$WORK/d/f" && chmod 755 "$WORK/d/f"; }
bits() { find "$WORK/d" -perm /6000 -o -type b -o -type c | grep -c . || true; }

for mode in 04755 02755 06711; do
	for act in chmod fchmod fchmodat fchmodat2 chmod-high; do
		new
		said=$(bare $act "$WORK/d/f" $mode)
		[ "$act:$said" = fchmodat2:ENOSYS ] && continue
		is "$said $(bits)" "ok 1" "control: $act $mode outside"
		new
		PROBE_FLAGS=(--rw "$WORK/d")
		is "$(probe $act "$WORK/d/f" $mode)" EPERM "$act $mode is refused"
		is "$(bits)" 0 "and the file has no such bit"
		is "$(probe $act "$WORK/d/f" 0711) $(stat -c %a "$WORK/d/f")" "ok 711" "control: $act 0711 is not refused"
	done
	for act in creat "open create" "open tmpfile" mknod; do
		rm -rf "$WORK/d/f"
		read -r name how <<<"$act"
		target=$WORK/d/f
		[ "$how" = tmpfile ] && target=$WORK/d
		[ "$name" = mknod ] && m=0100${mode#0} || m=$mode
		is "$(bare "$name" "$target" ${how:+"$how"} "$m")" ok "control: $act $mode outside"
		rm -rf "$WORK/d/f"
		is "$(probe "$name" "$target" ${how:+"$how"} "$m")" EPERM "$act $mode is refused"
		is "$(bits)" 0 "nothing came of it"
	done
	rm -rf "$WORK/d/dir"
	probe mkdir "$WORK/d/dir" "$mode" >/dev/null
	is "$(bits)" 0 "mkdir $mode leaves no bit"
done

# Programs that would carry the bits over.
suid=$(find /usr/bin -xdev -perm -4000 -readable -type f -print -quit)
if [ -n "$suid" ]; then
	rm -rf "$WORK/d/"*
	ok "control: cp -p makes one outside" cp -p "$suid" "$WORK/d/"
	[ "$ME" = root ] && isnt "$(bits)" 0 "control: with its bit"
	rm -rf "$WORK/d/"*
	box --rw "$WORK/d" -- sh -c "cp -p $suid '$WORK/d/a'; install -m 4755 $suid '$WORK/d/b'; cd '$WORK/d' && tar -cf t -C / ${suid#/} && tar -xpf t; cp --preserve=all $suid c; rsync -a $suid '$WORK/d/r' 2>/dev/null; mv t u" >/dev/null 2>&1
	is "$(bits)" 0 "cp -p, install, tar leave none"
	isnt "$(find "$WORK/d" -type f | wc -l)" 0 "control: they copied something"
else
	skip "cp -p of a setuid program" "this host has none that can be read"
fi

# Devices.
for type in 020644 060644; do
	rm -rf "$WORK/d/"*
	[ "$ME" = user ] || is "$(bare mknod "$WORK/d/dev" $type)" ok "control: root makes a device outside"
	rm -rf "$WORK/d/"*
	is "$(probe mknod "$WORK/d/dev" $type) $(bits)" "EPERM 0" "mknod $type is refused"
done
is "$(probe mknod "$WORK/d/fifo" 010644)" ok "control: a FIFO is not"
if [ "$ME" = root ]; then
	mknod -m 666 "$WORK/d/null" c 1 3
	is "$(bare open "$WORK/d/null" w)" ok "control: a device in the directory opens outside"
	[ "$LEVEL" = process ] || is "$(probe open "$WORK/d/null" w)" EACCES "a device in a shared directory does not open inside"
	rm -f "$WORK/d/null"
fi

# File capabilities.
new
if [ "$ME" = root ]; then is "$(bare setcap "$WORK/d/f")" ok "control: root sets a capability outside"; fi
new
# At process level no attribute can be set at all.
like "$(probe setcap "$WORK/d/f")" '^(EPERM|ENOTSUP|EOPNOTSUPP)$' "a capability on a file is refused"
is "$(getfattr -n security.capability --absolute-names "$WORK/d/f" 2>/dev/null)" "" "the file has none"

# A setuid-root file that is there already means nothing inside.
if [ "$ME" = root ]; then
	new
	chmod 4755 "$WORK/d/f"
	is "$(setpriv --reuid 65534 --regid 65534 --clear-groups "$WORK/d/f" identity 2>&1 | grep '^uid')" "uid 65534 0" "control: outside it makes root"
	like "$(box --ro "$WORK/d" -- "$WORK/d/f" identity | grep '^uid')" '^uid ([0-9]+) \1$' "inside it does not"
fi
done_testing
