#!/bin/bash
# Locks behind locks. What stands outside a box is hard to misuse: its tables are read-only once they are relocated, it has no memory that is both written and executed, and
# who holds the deadline is not scheduled behind the payload.
. "$(dirname "$0")/../lib.sh"
levels container process
nice=0
[ "$ME" = user ] || nice=-3
nice -n $nice "$CORDON_PROGRAM" run --level "$LEVEL" -- sleep 30 &
front=$!
defer kill $front
for _ in $(seq 100); do
	keeper=$(pgrep -P $front | head -1)
	init=$([ -z "$keeper" ] || pgrep -P "$keeper" | head -1)
	if [ -n "$init" ] && pgrep -P "$init" sleep >/dev/null; then break; fi
	sleep 0.05
done
# relro PID: how the kernel has mapped what the linker wants read-only.
relro() {
	python3 - "$1" <<'PY'
import os, struct, sys
pid = sys.argv[1]
maps = [line.split(None, 5) for line in open(f"/proc/{pid}/maps")]
exe = os.readlink(f"/proc/{pid}/exe")
ours = [m for m in maps if len(m) > 5 and m[5].strip() == exe]
with open(f"/proc/{pid}/exe", "rb") as file:
    head = file.read(64)
    at, size, count = struct.unpack_from("<Q", head, 32)[0], *struct.unpack_from("<HH", head, 54)
    file.seek(at)
    rows = [struct.unpack("<IIQQQQQQ", file.read(size)[:56]) for _ in range(count)]
base = int(ours[0][0].split("-")[0], 16)
kinds = set()
for kind, _, _, address, _, _, length, _ in rows:
    if kind != 0x6474E552:
        continue
    for page in range(base + address & ~4095, base + address + length & ~4095, 4096):
        kinds |= {m[1] for m in maps if int(m[0].split("-")[0], 16) <= page < int(m[0].split("-")[1], 16)}
print(" ".join(sorted(kinds)) or "nothing")
PY
}
looked=(front keeper init)
if [ "$ME" = user ]; then # those are not dumpable: nobody but root looks into them
	looked=(front)
	refused "keeper's memory is not the caller's to read" cat "/proc/$keeper/maps"
fi
for who in "${looked[@]}"; do
	is "$(relro "${!who}")" "r--p" "$who: relocated tables are read-only"
	is "$(awk '$2 ~ /wx/' "/proc/${!who}/maps")" "" "$who: no memory is written and executed"
	isnt "$(awk '$2 ~ /rw-p/' "/proc/${!who}/maps")" "" "control: $who has memory that is written"
done
is "$(ps -o cls= -p "$keeper" | xargs) $(ps -o cls= -p "$init" | xargs)" "TS TS" "keeper and init are of the ordinary class"
is "$(ps -o cls= -p $front | xargs)" B "control: the front is not"
is "$(ps -o ni= -p "$keeper" | xargs)" $nice "the keeper has the caller's priority"
is "$(ps -o ni= -p "$(pgrep -P "$init" sleep)" | xargs)" 0 "the payload has no better one than others"
if [ "$LEVEL" = container ]; then
	# Of every mount: no set-user-id program counts, no device but ours, nothing is written but what is the payload's, and nobody hears of mounts.
	box -- cat /proc/self/mountinfo >"$WORK/mounts"
	is "$(awk '$6 !~ /nosuid/ { print $5 }' "$WORK/mounts")" "" "every mount is nosuid"
	is "$(awk '$6 !~ /nodev/ { print $5 }' "$WORK/mounts" | sort | xargs)" "/dev/full /dev/null /dev/pts /dev/random /dev/tty /dev/urandom /dev/zero" "and nodev, but for devices"
	is "$(awk '$6 ~ /^rw/ && $6 ~ /nodev/ { print $5 }' "$WORK/mounts" | sort | xargs)" "/dev/shm /home/agent /proc /tmp" "and read-only, but for what is the payload's"
	is "$(grep -c 'shared:\|master:' "$WORK/mounts")" 0 "and private"
	mkdir "$WORK/given"
	is "$(box --rw "$WORK/given:/given" -- awk '$6 ~ /^rw/ && $6 ~ /nosuid,nodev/ { print $5 }' /proc/self/mountinfo | grep -cx /given)" 1 "control: what is given to write is there, nosuid and nodev"
fi
# Landlock behind read-only mounts: with the mounts' lock left open, which only shows where the root's directories are the payload's own.
if [ "$LEVEL" = container ] && [ "$ME" = user ] && command -v strace >/dev/null; then
	open() { strace -f -qq -o /dev/null -e trace=mount_setattr -e inject=mount_setattr:retval=0 "$@" -- sh -c 'echo x >/new && echo written' 2>&1; }
	like "$(open "$CORDON" run)" 'Permission denied' "with writable mounts Landlock still refuses"
	like "$(open "$(dirname "$PROBE")/without" landlock -- "$CORDON" run --degrade landlock)" '^written' "control: without Landlock that is written"
fi
done_testing
