#!/bin/bash
# What is given read-only is read-only to the last mount below it; what is given writable belongs to who it belonged to.
. "$(dirname "$0")/../lib.sh"
levels container
mkdir -p "$WORK/d/sub" "$WORK/other"
echo one >"$WORK/d/file"
echo two >"$WORK/d/sub/file"
echo three >"$WORK/other/file"
is "$(box --ro "$WORK/d:/data" -- sh -c 'cat /data/file /data/sub/file')" $'one\ntwo' "--ro shows the tree at another place"
PROBE_FLAGS=(--ro "$WORK/d:/data")
for act in "write /data/file x" "open /data/new create" "unlink /data/file" "mkdir /data/x 0755" "rename /data/file /data/f2" "chmod /data/file 0777" \
	"truncate /data/file" "link /data/file /data/l" "symlink a /data/s" "setxattr /data/file user.x" "write /data/sub/file x"; do
	# shellcheck disable=SC2086 # words
	like "$(probe $act)" '^(EROFS|EACCES|EXDEV)$' "--ro: $act"
done
PROBE_FLAGS=(--rw "$WORK/d:/data")
is "$(probe write /data/file x)" ok "control: --rw: write"
is "$(probe chmod /data/file 0640) $(stat -c %a "$WORK/d/file")" "ok 640" "control: --rw: chmod"
PROBE_FLAGS=(--rw "$WORK/d:/data" --ro "$WORK/other:/data/sub")
is "$(probe read /data/sub/file)" "ok three" "a mount in a mount"
like "$(probe write /data/sub/file x)" '^(EROFS|EACCES)$' "read-only in writable is read-only"
is "$(probe open /data/beside create)" ok "beside it is writable"
is "$(probe open /data/sub/../again create)" ok "also by way of it"
like "$(probe unlink /data/sub)" '^(EBUSY|EROFS|EACCES|ENOTEMPTY)$' "what lies under a mount cannot be taken away"
like "$(probe rename /data/sub /data/moved)" '^(EBUSY|EROFS|EACCES|EXDEV)$' "nor moved"
is "$(cat "$WORK/d/sub/file")" two "what is under it is as it was"
PROBE_FLAGS=(--ro "$WORK/d:/data" --rw "$WORK/other:/data/sub")
is "$(probe write /data/sub/file x)" ok "writable in read-only is writable"
like "$(probe write /data/file x)" '^(EROFS|EACCES)$' "and the rest is not"
refused "two mounts at one place" box --ro "$WORK/d:/data" --ro "$WORK/other:/data" -- true
for place in / /proc /proc/x /sys /dev /dev/x /dev/shm; do
	refused "no mount at $place" box --ro "$WORK/d:$place" -- true
done
ln -s /etc "$WORK/d/etc-link"
refused "no mount through a link in another mount" box --rw "$WORK/d:/data" --ro "$WORK/other:/data/etc-link" -- true
refused "no mount point is made in the host's directory" box --rw "$WORK/d:/data" --ro "$WORK/other:/data/not-there" -- true
ok "nothing was made there" test ! -e "$WORK/d/not-there"

# Ownership.
if [ "$ME" = user ]; then
	is "$(stat -c %u "$WORK/d/again")" "$(id -u)" "what it made is the caller's"
	is "$(box --rw "$WORK/d:/data" -- stat -c %U /data /data/file | sort -u)" agent "inside, it is the payload's"
	done_testing
fi
mkdir "$WORK/theirs"
echo x >"$WORK/theirs/file"
chown -R 12345:23456 "$WORK/theirs"
chmod 600 "$WORK/theirs/file"
is "$(box --rw "$WORK/theirs:/data" -- stat -c %U /data /data/file | sort -u)" agent "inside, it is the payload's"
is "$(box --rw "$WORK/theirs:/data" -- sh -c 'echo y >/data/new && mkdir /data/dir && cat /data/file')" x "which reads and writes"
is "$(stat -c %u:%g "$WORK/theirs/new" "$WORK/theirs/dir" | sort -u)" 12345:23456 "outside, what it made is the directory's owner's"
mkdir "$WORK/mixed"
chown 12345:23456 "$WORK/mixed"
echo root-only >"$WORK/mixed/file"
chmod 600 "$WORK/mixed/file"
PROBE_FLAGS=(--rw "$WORK/mixed:/data")
is "$(probe read /data/file)" EACCES "a file of somebody else in it stays closed"
mkdir "$WORK/roots"
PROBE_FLAGS=(--rw "$WORK/roots:/data")
is "$(probe open /data/new create) $(stat -c %u "$WORK/roots/new")" "ok 0" "root's own directory: root's files"
# A writable mount below a read-only one.
below() { "${APART[@]}" sh -c 'mount -t tmpfs none "$1/sub" && echo x >"$1/sub/file" && shift && exec "$@"' sh "$@"; }
deep() { below "$WORK/d" "$CORDON" run --ro "$PROBE" --ro "$WORK/d:/data" -- "$PROBE" "$@"; }
like "$(deep write /data/sub/file x)" '^(EROFS|EACCES)$' "a file system below a read-only mount is read-only, too"
like "$(deep read /data/sub/file)" '^ok x' "control: it is there"
done_testing
