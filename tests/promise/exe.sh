#!/bin/bash
# The program cordon itself cannot be changed from inside, also where it belongs to the caller and the box has just executed it.
. "$(dirname "$0")/../lib.sh"
levels container process
cp "$(realpath "$CORDON_PROGRAM")" "$WORK/cordon"
chmod 755 "$WORK/cordon"
for program in "$(dirname "$(realpath "$CORDON_PROGRAM")")"/cordon-{engine,engine-docker,init}; do [ -z "$ENGINE" ] || cp "$program" "$WORK"; done
CORDON_PROGRAM=$WORK/cordon
[ -n "$ENGINE" ] || CORDON=$CORDON_PROGRAM
hash=$(sha256sum <"$CORDON_PROGRAM")
no='^(ENOENT|EACCES|EPERM|ETXTBSY|EROFS|ELOOP|ESRCH)$'
is "$(bare open "$CORDON_PROGRAM" rw)" ok "control: the caller may write the program file"

mkdir "$WORK/rw"
# A script whose interpreter is whatever executes it.
printf '#!/proc/self/exe\n' >"$WORK/rw/script"
printf '#!/proc/1/exe\n' >"$WORK/rw/script1"
chmod 755 "$WORK/rw/script" "$WORK/rw/script1"
for script in script script1; do
	refused "$script: not executed as cordon" box --ro "$WORK/rw" -- "$WORK/rw/$script" --version
	unlike "$(box --ro "$WORK/rw" -- "$WORK/rw/$script" --version 2>/dev/null)" "^cordon [0-9]" "$script: cordon did not start"
done
refused "/proc/self/exe as the command" box -- /proc/self/exe --version
for path in /proc/self/exe /proc/1/exe /proc/self/../1/exe /proc/thread-self/exe; do
	for how in w rw; do
		like "$(probe open "$path" $how)" "$no" "$path cannot be opened ($how)"
	done
done
[ "$LEVEL" = container ] && unlike "$(probe readlink /proc/1/exe)" cordon "pid 1's program has no name inside"
# Everything that looks like a program of another process, again and again while boxes start beside it.
cat >"$WORK/rw/attack.py" <<'PY'
import os, time
end, tries, won = time.time() + 4, 0, 0
while time.time() < end:
    for pid in list(range(0, 40)) + ["self", "thread-self"]:
        for name in ("exe", "root", "cwd"):
            tries += 1
            try:
                fd = os.open(f"/proc/{pid}/{name}", os.O_RDONLY)
            except OSError:
                continue
            if name == "exe" and b"cordon-keeper" in os.read(fd, 1 << 23):
                won += 1
                for how in (os.O_WRONLY, os.O_RDWR | os.O_TRUNC):
                    try: os.write(os.open(f"/proc/self/fd/{fd}", how), b"owned")
                    except OSError: pass
            os.close(fd)
print("tries" if tries > 100 else "idle", won)
PY
background bash -c "while :; do '$CORDON' run --level $LEVEL -- true; done" 2>/dev/null
is "$(box --ro "$WORK/rw" --cpus 1 -- python3 "$WORK/rw/attack.py")" "tries 0" "no look at the program file in four seconds of trying"
is "$(sha256sum <"$CORDON_PROGRAM")" "$hash" "the program file is as it was"
is "$(box -- echo still)" still "and runs"
done_testing
