#!/bin/bash
# files.storage: disk on a file system with project quota, as root: the file system itself bounds a box's private files in bytes and in number, a payload
# cannot leave its project, and no limit outlives its box. `make test-vm` runs this where the kernel at hand has no quota.
. "$(dirname "$0")/../lib.sh"
levels container
[ -z "$ENGINE" ] || { echo "# boxes of other engines have an image"; done_testing; }
need_root
works_here || skip_all "no boxes of level $LEVEL here"
need python3 mkfs.ext4 chattr lsattr

# quotas DIR: the projects of its file system that have a limit: "NUMBER KIB INODES" one a line.
cat >"$WORK/quotas.py" <<'END'
import ctypes, os, struct, sys
fd, id, libc = os.open(sys.argv[1], os.O_RDONLY), 1, ctypes.CDLL(None, use_errno=True)
buf = ctypes.create_string_buffer(72)
while libc.syscall(443, fd, 0x80000902, id, buf) == 0:  # quotactl_fd, Q_GETNEXTQUOTA of projects
    blocks, _, _, inodes, _, _, _, _, _, found = struct.unpack("8QII", buf.raw)
    if blocks or inodes:
        print(found, blocks, inodes)
    id = found + 1
if ctypes.get_errno() not in (2, 3):  # ENOENT, ESRCH: there are no more
    sys.exit(f"quotactl_fd: {os.strerror(ctypes.get_errno())}")
END
quotas() { python3 "$WORK/quotas.py" "$1"; }
bound() { "$CORDON" plan --storage disk "$@" -- true | sed -n 's/.*private files: //p'; }
by_quota='disk (a directory with a project quota of limits.disk)' by_image='disk (an image of the size of limits.disk)'

# mounted TYPE OPTIONS: the image at $WORK/quota, and a configuration that has scratch directories there.
mounted() {
	mount -t "$1" -o "loop,$2" "$WORK/image.$1" "$WORK/quota" 2>"$WORK/mount.err"
}
umounted() { until_true 10 umount "$WORK/quota"; }
mkdir "$WORK/quota"
defer umount -l "$WORK/quota"
printf 'version: 1\nscratch_dir: %s\n' "$WORK/quota" >"$WORK/config.yaml"
export CORDON_CONFIG=$WORK/config.yaml
truncate -s 600M "$WORK/image.ext4"
mkfs.ext4 -q -F -O quota,project -E quotatype=prjquota "$WORK/image.ext4" || skip_all "this mkfs.ext4 knows no project quota"
mounted ext4 prjquota || skip_all "this kernel mounts no ext4 with project quota (CONFIG_QFMT_V2): $(head -n 1 "$WORK/mount.err")"
quotas "$WORK/quota" >/dev/null || skip_all "no quotactl_fd here (Linux 5.14): $(quotas "$WORK/quota" 2>&1)"

# In shell, since this mostly runs in an emulated machine. Both say how far they came.
# shellcheck disable=SC2016 # for the box's shell
{
	fill='head -c "$1" /dev/zero >"$0/f"; code=$?; stat -c %s "$0/f"; exit $((code * 5))'
	files='cd "$0"; i=0; while [ $i -lt "$1" ] && { true >$i; } 2>err; do i=$((i + 1)); done; echo $i; cat err >&2; [ $i = "$1" ] || exit 6'
}
flags=(--storage disk --memory 64M --disk 24M --tmp 20M --file-size 1G --timeout 50s)
M=$((1 << 20))

# ---- the plan ----
is "$(bound)" "$by_quota" "the plan names the quota"
is "$("$CORDON" plan --json --storage disk -- true | json storage)" "$by_quota" "its JSON too"
is "$(quotas "$WORK/quota")$(find "$WORK/quota" -mindepth 1 ! -name lost+found)" "" "and changes nothing"
is "$(bound --keep)" "$by_quota" "also where the files are kept"
is "$(bound --degrade userns)" "$by_image" "not where the payload may have no user namespace"
like "$("$CORDON" plan --level process -- true)" 'private files: disk \(a directory that the keeper watches\)' "nor at process level"
like "$("$CORDON" doctor)" $'\nok    project_quota ' "doctor knows it"

# ---- bytes and files ----
result "${flags[@]}" -- sh -c "$fill" /home/agent 16M
expect "control: 16 MB fit into 24" status=success stdout=$((16 * M))$'\n'
result "${flags[@]}" -- sh -c "$fill" /home/agent 40M
expect "40 do not" status=resource_exceeded limit=disk exit_code=5 stdout=">$((22 * M))" stdout="<$((24 * M + 1))" 'stderr=~Disk quota exceeded'
result "${flags[@]}" --disk 60M -- sh -c "$fill" /home/agent 40M
expect "control: but into 60" status=success stdout=$((40 * M))$'\n'
result "${flags[@]}" -- sh -c "$fill" /tmp 16M
expect "control: nor is there less room in /tmp" status=success stdout=$((16 * M))$'\n'
result "${flags[@]}" --tmp 8M -- sh -c "$fill; sleep 5" /tmp 16M
expect "which has a size of its own" status=resource_exceeded limit=disk
result "${flags[@]}" --inodes 300 -- sh -c "$files" /home/agent 100
expect "control: 100 files fit into 300" status=success stdout=$'100\n'
result "${flags[@]}" --inodes 300 -- sh -c "$files" /home/agent 1000
expect "1000 files do not" status=resource_exceeded limit=inodes exit_code=6 'stdout=~^2[0-9][0-9]$' 'stderr=~[Qq]uota'
result "${flags[@]}" -- sh -c 'cd; exec 3>f; rm f; head -c 40M /dev/zero >&3 || exit 5'
expect "a file without a name counts" exit_code=5 'stderr=~Disk quota exceeded'
is "$(box "${flags[@]}" --inodes 300 -- df -B1M --output=size,itotal /home/agent | tail -n 1 | xargs)" "24 300" "statfs inside tells limits.disk and limits.inodes"
like "$(df -B1M --output=size "$WORK/quota" | tail -n 1)" '^ *5[0-9][0-9]$' "control: outside it tells the whole file system"

# ---- in and out ----
head -c 8M /dev/zero >"$WORK/big"
ok "a file goes in and another out" box "${flags[@]}" --in "$WORK/big:/home/agent/big" --out "/home/agent/copy:$WORK/copy" -- cp big copy
is "$(stat -c %s "$WORK/copy")" $((8 * M)) "whole"
status 125 "what does not fit does not go in" "$CORDON" run "${flags[@]}" --disk 8M --tmp 2M --in "$WORK/big:/home/agent/big" -- true
like "$ERR" 'raise --disk' "and is told what to do"

# ---- out of the project ----
cat >"$WORK/leave.py" <<'END'
import errno, fcntl, os, struct, sys
GET, SET, GETFLAGS, SETFLAGS = 0x801c581f, 0x401c5820, 0x80086601, 0x40086602
INHERIT, INHERIT_FLAG = 0x200, 0x20000000
os.chdir(sys.argv[1])
open("f", "w").close()
os.mkdir("d")
def tried(name, act, to):
    fd = os.open(name, os.O_RDONLY)
    try:
        act(fd, to)
        return "ok"
    except OSError as e:
        return errno.errorcode[e.errno]
def change(fd, to):
    flags, extsize, n, project, cow, pad = struct.unpack("5I8s", fcntl.ioctl(fd, GET, bytes(28)))
    number, keep = to
    fcntl.ioctl(fd, SET, struct.pack("5I8s", flags if keep else flags & ~INHERIT, extsize, n, project if number is None else number, cow, pad))
def unflag(fd, to):
    flags, = struct.unpack("i", fcntl.ioctl(fd, GETFLAGS, bytes(4)))
    fcntl.ioctl(fd, SETFLAGS, struct.pack("i", flags & ~INHERIT_FLAG))
print(tried("f", change, (0, True)), tried("f", change, (7, True)), tried("d", change, (0, True)), tried("d", change, (None, False)), tried("d", unflag, None),
      tried("f", change, (None, True)))
END
is "$(box "${flags[@]}" --ro "$WORK/leave.py:/leave.py" -- python3 /leave.py /home/agent 2>/dev/null)" "EPERM EPERM EPERM EPERM EPERM EPERM" \
	"a payload changes neither a file's project nor what new files inherit: the filter"
# By whoever owns the files, in a directory that is a project: without a filter.
theirs() { # COMMAND…
	rm -rf "$WORK/quota/mine"
	mkdir "$WORK/quota/mine"
	chattr +P -p 1234 "$WORK/quota/mine"
	chown 4321 "$WORK/quota/mine"
	setpriv --reuid 4321 --regid 4321 --clear-groups "$@" python3 "$WORK/leave.py" "$WORK/quota/mine" 2>&1
}
is "$(theirs unshare --user)" "EINVAL EINVAL EINVAL EINVAL EINVAL ok" "and behind it, in a user namespace: the kernel"
is "$(theirs)" "ok ok ok ok ok ok" "control: on the host whoever owns a file can"
rm -rf "$WORK/quota/mine"
refused "so cannot chattr" box "${flags[@]}" -- sh -c 'cd && touch f && chattr -p 0 f'
ok "control: which is there, as lsattr" box "${flags[@]}" -- sh -c 'cd && touch f && lsattr -p f && command -v chattr'

# ---- two at once ----
# shellcheck disable=SC2016 # for the box's shell
meet='head -c "$0" /dev/zero >~/f; echo $?; echo >/meet/$1; while [ ! -e /meet/go ]; do sleep 0.1; done'
mkdir "$WORK/meet"
chmod 777 "$WORK/meet"
box "${flags[@]}" --disk 12M --tmp 2M --rw "$WORK/meet:/meet" -- sh -c "$meet" 24M one >"$WORK/one" 2>/dev/null &
one=$!
box "${flags[@]}" --disk 20M --tmp 2M --rw "$WORK/meet:/meet" -- sh -c "$meet" 16M two >"$WORK/two" 2>/dev/null &
two=$!
until_true 60 test -e "$WORK/meet/one" -a -e "$WORK/meet/two"
is "$(quotas "$WORK/quota" | cut -d' ' -f2 | sort -n | paste -sd' ')" "$((12 << 10)) $((20 << 10))" "two boxes at once have a limit each"
is "$(quotas "$WORK/quota" | cut -d' ' -f1 | sort -u | wc -l)" 2 "for a project each"
touch "$WORK/meet/go"
wait $one $two
is "$(cat "$WORK/one") $(cat "$WORK/two")" "1 0" "one is full, the other one is not"
is "$(quotas "$WORK/quota")" "" "no limit is left when they have ended"

# ---- kept ----
# In a pid namespace of their own keepers have the same pids again, and so would their projects have the same numbers.
apart() { timeout -k 5 60 unshare -pf --mount-proc "$CORDON" run --json "${flags[@]}" --disk 12M --tmp 2M "$@" >"$WORK/.result" 2>"$WORK/.result.err"; }
numbers=()
for i in 1 2; do
	apart --keep -- sh -c 'head -c 8M /dev/zero >~/x'
	expect "--keep, $i: 8 MB fit into 12" status=success
	kept=$(field kept)
	is "$(stat -c %s "$kept/agent/x")" $((8 * M)) "--keep, $i: they are where it says"
	numbers+=("$(lsattr -pd "$kept" | xargs | cut -d' ' -f1)")
done
is "$(quotas "$WORK/quota")" "" "what is kept has no limit"
like "${numbers[*]}" '^16[0-9]{8} 16[0-9]{8}$' "it keeps the number of its project"
isnt "${numbers[0]}" "${numbers[1]}" "which no other box gets"
ok "what is kept can grow" sh -c "head -c 16M /dev/zero >'$kept/agent/y'"
rm -rf "$WORK"/quota/cordon-0/kept-*
apart -- sh -c 'head -c 24M /dev/zero >~/x'
expect "control: a box with that pid is held as any other" status=resource_exceeded limit=disk

# ---- killed ----
held() { # starts a box that waits; $front and $keeper
	"$CORDON" run "${flags[@]}" --timeout 60s -- sh -c 'echo >~/x; sleep 50' 2>/dev/null &
	front=$!
	until_true 20 sh -c "[ -e $WORK/quota/cordon-0/cordon-*/files/agent/x ]"
	keeper=$(cat "/proc/$front/task/$front/children")
	keeper=${keeper%% *}
}
gone() { [ ! -e "/proc/$keeper" ]; }
held
isnt "$(quotas "$WORK/quota")" "" "control: a box that runs has a limit"
kill -9 "$keeper"
wait "$front" 2>/dev/null
is "$(quotas "$WORK/quota")$(ls "$WORK/quota/cordon-0")" "" "the keeper killed: no limit and no directory is left"
held
kill -9 "$keeper" "$front"
wait "$front" 2>/dev/null
until_true 20 gone
isnt "$(quotas "$WORK/quota")" "" "control: keeper and front killed: the limit is left"
box -- sleep 0.5
is "$(quotas "$WORK/quota")$(ls "$WORK/quota/cordon-0")" "" "the next run sweeps it, and the directory"

# ---- a box that lives ----
living=$(dirname "$PROBE")/living_disk
if [ -x "$living" ]; then
	while IFS= read -r line; do
		case $line in
		"ok "*) pass "a box that lives: ${line#* - }" ;;
		"not ok "*) fail "a box that lives: ${line#* - }" ;;
		1..*) ;;
		*) note "$line" ;;
		esac
	done < <(timeout -k 5 100 "$living" 2>&1 || echo "not ok 0 - it ended with $?")
	is "$(quotas "$WORK/quota")$(ls "$WORK/quota/cordon-0")" "" "a box that lives: nothing is left"
else
	skip "a box that lives" "there is no $living: make probe"
fi

# ---- where it is not used ----
mkdir "$WORK/quota/theirs"
chattr +P -p 1234 "$WORK/quota/theirs"
printf 'version: 1\nscratch_dir: %s\n' "$WORK/quota/theirs" >"$WORK/theirs.yaml"
is "$(CORDON_CONFIG=$WORK/theirs.yaml bound)" "$by_image" "a directory that belongs to a project is left to it"
umounted
# Counted, but not held: the feature alone does that.
mounted ext4 noquota || mounted ext4 defaults || fail "control: the same file system without prjquota" "$(cat "$WORK/mount.err")"
is "$(bound)" "$by_image" "the same file system without prjquota: the plan has an image"
result "${flags[@]}" -- sh -c "$fill" /home/agent 40M
expect "which holds" status=resource_exceeded limit=disk exit_code=5 'stderr=~No space left'
umounted

# ---- xfs ----
if ! command -v mkfs.xfs >/dev/null; then
	skip "xfs" "there is no mkfs.xfs"
elif ! { truncate -s 600M "$WORK/image.xfs" && mkfs.xfs -q "$WORK/image.xfs" && mounted xfs pquota; }; then
	skip "xfs" "this kernel mounts no xfs with project quota: $(head -n 1 "$WORK/mount.err")"
else
	is "$(bound)" "$by_quota" "xfs: the plan names the quota"
	result "${flags[@]}" -- sh -c "$fill" /home/agent 16M
	expect "xfs: control: 16 MB fit into 24" status=success stdout=$((16 * M))$'\n'
	result "${flags[@]}" -- sh -c "$fill" /home/agent 40M
	expect "xfs: 40 do not" status=resource_exceeded limit=disk exit_code=5 'stderr=~No space left'
	result "${flags[@]}" --inodes 300 -- sh -c "$files" /home/agent 1000
	expect "xfs: nor 1000 files into 300" status=resource_exceeded limit=inodes exit_code=6 'stdout=~^2[0-9][0-9]$'
	is "$(theirs unshare --user)" "EINVAL EINVAL EINVAL EINVAL EINVAL ok" "xfs: in a user namespace nobody leaves a project"
	is "$(quotas "$WORK/quota")" "" "xfs: no limit is left"
fi
done_testing
