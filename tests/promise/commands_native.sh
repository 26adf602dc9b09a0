#!/bin/bash
# process.commands: no machine code that is not the system's or a listed program's, neither out of memory nor out of a file that the caller
# or the payload put somewhere.
. "$(dirname "$0")/../lib.sh"
levels container
needs_rw
need python3
cat >"$WORK/code.py" <<'PY'
"""code.py WAY: makes machine code that is in no file and runs it: "ran 1337"."""
import ctypes, os, platform, sys
P, L, I = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = libc.mremap.restype = libc.shmat.restype = P
libc.mmap.argtypes = [P, L, I, I, I, ctypes.c_long]
libc.mremap.argtypes = [P, L, L, I]
libc.mprotect.argtypes = [P, L, I]
libc.pkey_mprotect.argtypes = [P, L, I, I]
libc.shmat.argtypes = [I, P, I]
R, W, X, SHARED, PRIVATE, ANONYMOUS = 1, 2, 4, 1, 2, 32
code = bytes.fromhex({"x86_64": "b839050000c3", "aarch64": "20a78052c0035fd6"}[platform.machine()])  # return 1337
def good(value):
    if value is None or value in (-1, 2**64 - 1):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return value
def run(at):
    return ctypes.CFUNCTYPE(I)(at)()
def write(at):
    ctypes.memmove(at, code, len(code))
def memory():
    at = good(libc.mmap(None, 4096, R | W, PRIVATE | ANONYMOUS, -1, 0))
    write(at)
    return at
def two(fd):  # one mapping to execute, one to write
    os.truncate(fd, 4096)
    a = good(libc.mmap(None, 4096, R | X, SHARED, fd, 0))
    write(good(libc.mmap(None, 4096, R | W, SHARED, fd, 0)))
    return run(a)
def zero():  # memory with the look of a file
    a = good(libc.mmap(None, 4096, R | X, SHARED, os.open("/dev/zero", os.O_RDWR), 0))
    b = good(libc.mremap(a, 0, 4096, 1))
    good(libc.mprotect(b, 4096, R | W))
    write(b)
    return run(a)
def zero_private():
    a = good(libc.mmap(None, 4096, R | W, PRIVATE, os.open("/dev/zero", os.O_RDONLY), 0))
    write(a)
    good(libc.mprotect(a, 4096, R | X))
    return run(a)
def memfd():
    return two(os.memfd_create("x"))
def file(path):
    return two(os.open(path, os.O_RDWR | os.O_CREAT, 0o755))
def sysv():
    n = good(libc.shmget(0, 4096, 0o1700))
    a, b = good(libc.shmat(n, None, 0o100000)), good(libc.shmat(n, None, 0))  # SHM_EXEC
    write(b)
    return run(a)
def mprotect():
    at = memory()
    good(libc.mprotect(at, 4096, R | X))
    return run(at)
def pkey():
    at = memory()
    good(libc.pkey_mprotect(at, 4096, R | X, -1))
    return run(at)
def text():  # a library's own code, made writable
    at = ctypes.cast(ctypes.CDLL("libm.so.6").cbrt, P).value
    page = at & ~4095
    good(libc.mprotect(page, 8192, R | W))
    write(at)
    good(libc.mprotect(page, 8192, R | X))
    return run(at)
def proc():
    at = ctypes.cast(libc.ffs, P).value
    with open("/proc/self/mem", "r+b", buffering=0) as f:
        f.seek(at)
        f.write(code)
    return run(at)
try:
    print("ran", globals()[sys.argv[1]](*sys.argv[2:]))
except OSError as e:
    print("refused:", e.strerror)
PY
mkdir "$WORK/rw"
machine=$(cat "$WORK/code.py")
for way in zero zero_private memfd sysv mprotect pkey text proc "file /tmp/x" "file /dev/shm/x" "file /m/x"; do
	rm -f "$WORK/rw/x"
	# shellcheck disable=SC2086 # words
	is "$(box --rw "$WORK/rw:/m" -- python3 -c "$machine" $way 2>&1)" "ran 1337" "control: $way, without the list"
	rm -f "$WORK/rw/x"
	# shellcheck disable=SC2086 # words
	like "$(box --commands python3 --rw "$WORK/rw:/m" -- python3 -c "$machine" $way 2>&1)" '^refused: ' "$way"
done

# A library that is a copy of the system's is another file: whether it was loaded, the process's own maps tell.
libm=$(python3 -c 'import ctypes
ctypes.CDLL("libm.so.6")
print(next(l.split()[-1] for l in open("/proc/self/maps") if "/libm" in l))')
mkdir "$WORK/d" "$WORK/lib"
cp "$libm" "$WORK/d/ev.so"
echo /ev.so >"$WORK/d/preload"
chmod 755 "$WORK/d/ev.so"
loaded() { grep -c 'r-xp.*/ev\.so$'; } # <MAPS
in=(--in "$WORK/d/ev.so:/ev.so" --in "$WORK/d/preload:/etc/ld.so.preload")
isnt "$(box "${in[@]}" -- cat /proc/self/maps | loaded)" 0 "control: without the list, what --in puts beside the root is loaded by /etc/ld.so.preload"
is "$(box --commands cat "${in[@]}" -- cat /proc/self/maps 2>/dev/null | loaded)" 0 "with it nothing in the root itself can be loaded"
is "$(box --commands cat --in "$WORK/d/ev.so:/etc/ev.so" --env LD_PRELOAD=/etc/ev.so -- cat /proc/self/maps 2>/dev/null | loaded)" 0 "nor in /etc"
is "$(box --commands cat "${in[@]}" -- cat /etc/ld.so.preload 2>/dev/null)" /ev.so "control: both are there"
# A caller of a policy cannot put them there in the first place.
printf 'version: 1\nfiles: {allowed_read: [%s]}\nprocess: {commands: [cat]}\n' "$WORK/d" >"$WORK/p.yaml"
with() { timeout -k 5 60 "$CORDON" run --policy "$WORK/p.yaml" "$@"; }
is "$(with --in "$WORK/d/preload:x" -- cat x)" /ev.so "control: with a policy --in fills the home"
for dest in /etc/ld.so.preload /etc/passwd /ev.so /usr/lib/ev.so /lib/ev.so /home/agent/../../etc/ld.so.preload; do
	status 126 "with a policy, --in does not fill $dest" with --in "$WORK/d/preload:$dest" -- cat /dev/null
done
is "$(with "${in[@]}" -- cat /proc/self/maps 2>/dev/null | loaded)" 0 "nor is anything loaded"

# Below a library directory: what is mounted there is not the system's, and least of all what the payload wrote.
for place in /usr/local/lib/python3*/dist-packages /usr/local/lib/python3* /usr/lib/python3*/dist-packages "$(dirname "$(realpath "$libm")")"/*/; do
	place=${place%/}
	[ -d "$place" ] && [ ! -L "$place" ] || continue
	[[ ${tried:-} != *" $(dirname "$place") "* || $place == *python3* ]] || continue
	tried="${tried:-} $(dirname "$place") "
	for mount in "--rw $WORK/lib:$place" "--tmpfs $place:4M"; do
		rm -f "$WORK/lib/ev.so"
		# shellcheck disable=SC2206 # words
		flags=($mount --ro "$WORK/d:/d")
		act="cat /d/ev.so >$place/ev.so && LD_PRELOAD=$place/ev.so cat /proc/self/maps"
		isnt "$(box "${flags[@]}" -- sh -c "$act" | loaded)" 0 "control: ${mount%% *} at $place: a library written there loads without the list"
		rm -f "$WORK/lib/ev.so"
		is "$(box --commands sh --commands cat "${flags[@]}" -- sh -c "$act" 2>/dev/null | loaded)" 0 "with it, it does not"
		is "$(box --commands sh --commands cat "${flags[@]}" -- sh -c "cat /d/preload >$place/f && cat $place/f")" /ev.so "control: writable it is"
	done
	is "$(box --commands cat --ro "$WORK/d:$place" --env LD_PRELOAD="$place/ev.so" -- cat /proc/self/maps 2>/dev/null | loaded)" 0 "--ro at $place: nor one of the host's"
done
is "$(box --commands python3 -- python3 -c 'import ctypes, json, sqlite3, ssl; print("imports")')" imports "control: the system's own libraries load"

# The list changes nothing else of a mount: read-only and protected stay so, wherever it lies.
mkdir "$WORK/r"
echo good >"$WORK/r/f"
chmod 777 "$WORK/r"
chmod 666 "$WORK/r/f"
for place in /r /tmp/r /home/agent/r /cache/r; do
	for flags in "--ro $WORK/r:$place" "--rw $WORK/r:$place --protect $place/f"; do
		# shellcheck disable=SC2086 # words
		box --commands sh --tmpfs /cache:4M $flags -- sh -c "echo evil >$place/f; echo evil >>$place/f" 2>/dev/null
		is "$(cat "$WORK/r/f")" good "${flags%% *} at $place holds with the list"
	done
	is "$(box --commands sh --commands cat --tmpfs /cache:4M --rw "$WORK/r:$place" -- sh -c "echo x >$place/g && cat $place/g")" x "control: --rw at $place is writable with the list"
done

# A listed program in a writable mount stays what it is.
W=$WORK/w
tool() {
	rm -rf "$W"
	mkdir -p "$W/sub"
	cp /usr/bin/id "$W/other"
	cp /bin/echo "$W/tool"
	cp /bin/echo "$W/sub/tool"
}
listed=(--commands sh --commands cat --commands mv --commands ln --commands rm --commands cp --commands mkdir --commands python3)
tool
is "$(box --commands "$W/tool" --rw "$W" -- "$W/tool" works 2>&1)" works "a listed program in a writable mount runs"
like "$(box --rw "$W" --workdir "$W" -- sh -c 'cat other >tool; ./tool')" uid= "control: without the list it can become another one"
acts=(
	"written: cat other >T"
	"appended: cat other >>T"
	"renamed over: mv -f other T"
	"removed and made anew: rm -f T; cat other >T"
	"linked over: ln -f other T"
	"linked by symlink: ln -sfn other T"
	"copied over: cp -f other T"
	"a hardlink of it written: ln T alias && cat other >alias"
	"its directory swapped: mv sub old; mkdir sub; cp other sub/tool"
	"truncated: python3 -c 'import os; os.truncate(\"T\", 0)'"
	"written through /proc: exec 3<T; cat other >/proc/self/fd/3"
	"its mode: python3 -c 'import os; os.chmod(\"T\", 0)'"
)
for name in tool sub/tool; do
	for act in "${acts[@]}"; do
		tool
		code=${act#*: }
		said=$(box "${listed[@]}" --commands "$W/$name" --rw "$W" --workdir "$W" -- sh -c "${code//T/$name}; $W/$name works" 2>/dev/null)
		unlike "$said" uid= "$name × ${act%%: *}"
		[[ $act == "its directory"* ]] && continue
		is "$(cmp "$W/$name" /bin/echo && tail -n 1 <<<"$said")" works "and it runs as before"
	done
done
# Nor under a second name that it has: either nothing runs, or it runs as it was.
tool
ln "$W/tool" "$W/alias"
said=$(box "${listed[@]}" --commands "$W/tool" --rw "$W" --workdir "$W" -- sh -c 'cat other >alias; ./tool; echo end' 2>/dev/null)
unlike "$said" uid= "tool × a hardlink from before"
tool
said=$(box "${listed[@]}" --commands "$W/tool" --rw "$W" --rw "$W:/b" --workdir "$W" -- sh -c 'cat other >/b/tool; ./tool; echo end' 2>/dev/null)
unlike "$said" uid= "tool × the directory mounted twice"
tool
said=$(box "${listed[@]}" --commands "$W/sub/tool" --rw "$W/sub" --rw "$W:/b" --workdir "$W/sub" -- sh -c 'cat /b/other >/b/sub/tool; ./tool; echo end' 2>/dev/null)
unlike "$said" uid= "tool × the directory above it mounted as well"
done_testing
