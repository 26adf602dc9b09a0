#!/bin/bash
# Disk rates hold for direct I/O; where the host cannot hold them, choosing one is refused.
. "$(dirname "$0")/../lib.sh"
levels container
works_here || skip_all "no boxes of level $LEVEL here"
need python3

mkdir "$WORK/data"
chmod 777 "$WORK/data"
head -c 8M /dev/urandom >"$WORK/data/in"
chmod 644 "$WORK/data/in"
cat >"$WORK/data/io.py" <<'PY'
import mmap, os, sys, time
what, path, size = sys.argv[1], sys.argv[2], int(sys.argv[3]) << 20
buf = mmap.mmap(-1, 1 << 20)
fd = os.open(path, os.O_DIRECT | (os.O_RDONLY if what == "read" else os.O_WRONLY | os.O_CREAT), 0o644)
time.sleep(0.5)  # a v1 host gets its rates once a run has lasted a moment
start = time.monotonic()
for _ in range(size >> 20):
    os.readv(fd, [buf]) if what == "read" else os.writev(fd, [buf])
print(f"{time.monotonic() - start:.2f}")
PY
if ! python3 "$WORK/data/io.py" read "$WORK/data/in" 1 >/dev/null 2>&1; then
	skip_all "no direct I/O in $WORK"
fi
case $ENGINE in docker | podman | runsc)
	status 125 "a rate that the engine cannot hold is refused" box --disk-read 4M/s -- true
	like "$ERR" "engine '$ENGINE' cannot give limits.disk_read" "and says so"
	status 125 "of writing as well" box --disk-write 4M/s -- true
	status 0 "control: one that nobody chose is left out" box -- true
	done_testing
	;;
esac
result -- true
if [ "$(field isolation.limit_source)" != cgroup ] || ! "$CORDON" doctor | grep -q '^ok *cgroup.io'; then
	status 125 "a rate that cannot be held is refused" "$CORDON" run --disk-read 1M/s -- true
	like "$ERR" 'cgroup' "and says why"
	status 0 "control: one that nobody chose is left out" "$CORDON" run -- true
	done_testing
fi
disk=$(stat -c %Hd:%Ld "$WORK/data")
[ -e "/sys/dev/block/$disk" ] || skip_all "$WORK is on no disk ($disk)"
seconds() { field stdout; }
at_least() { awk -v got="$1" -v want="$2" 'BEGIN { exit !(got >= want) }'; }
below() { awk -v got="$1" -v want="$2" 'BEGIN { exit !(got < want) }'; }
result --rw "$WORK/data:/data" --disk-read 1G/s -- python3 /data/io.py read /data/in 8
fast=$(seconds)
result --rw "$WORK/data:/data" --disk-read 4M/s -- python3 /data/io.py read /data/in 8
slow=$(seconds)
ok "8 MB at 4M/s take at least 1.2 s ($slow)" at_least "$slow" 1.2
if below "$fast" 1.2; then pass "control: and less without the rate ($fast)"; else skip "control: less without the rate" "the disk itself is slow: $fast s"; fi
result --rw "$WORK/data:/data" --disk-write 1G/s -- python3 /data/io.py write /data/out 8
fast=$(seconds)
result --rw "$WORK/data:/data" --disk-write 4M/s -- python3 /data/io.py write /data/out 8
slow=$(seconds)
ok "8 MB written at 4M/s take at least 1.2 s ($slow)" at_least "$slow" 1.2
if below "$fast" 1.2; then pass "control: and less without the rate ($fast)"; else skip "control: less without the rate" "the disk itself is slow: $fast s"; fi
done_testing
