#!/bin/bash
# No fd of the caller reaches the payload, nor does its working directory, on any way to start something.
. "$(dirname "$0")/../lib.sh"
levels container process
echo secret >"$WORK/secret"
mkdir "$WORK/rw"
exec 7<"$WORK/secret" 8>"$WORK/written" 9</ 200<"$WORK/secret"
like "$(bare fds)" " 7 8 9 .*200" "control: they are inherited outside"

python='import os
def there(fd):
    try: os.fstat(fd); return True
    except OSError: return False
print([fd for fd in range(1024) if there(fd)])'
echo in >"$WORK/in"
is "$(probe fds)" "ok 0 1 2" "run"
is "$(probe fds </dev/null)" "ok 0 1 2" "run, stdin from /dev/null"
is "$(probe fds <&-)" "ok 0 1 2" "run, stdin closed"
is "$(echo x | probe fds)" "ok 0 1 2" "run, stdin from a pipe"
PROBE_FLAGS=(--rw "$WORK/rw")
can_rw || PROBE_FLAGS=(--ro "$WORK/rw")
is "$(probe fds)" "ok 0 1 2" "run with a mount"
PROBE_FLAGS=(--in "$WORK/in" --out in:"$WORK/out")
[ "$LEVEL" = container ] && is "$(probe fds)" "ok 0 1 2" "run with files in and out"
PROBE_FLAGS=()
result --ro "$PROBE" -- "$PROBE" fds
is "$(field stdout)" "ok 0 1 2" "run --json"
is "$(box --ro "$PROBE" -- sh -c "exec $PROBE fds")" "ok 0 1 2" "through a shell"
is "$("$CORDON" code --level "$LEVEL" python -e "$python" 2>&1)" "[0, 1, 2]" "code python"
is "$(box --ro "$PROBE" --tty -- "$PROBE" fds </dev/null | tr -d '\r')" "ok 0 1 2" "run --tty"
if [ "$LEVEL" = container ]; then
	is "$(box -- sh -c 'ls /proc/self/fd | head -3 | xargs')" "0 1 2" "/proc/self/fd says so, too"
	is "$(box --commands python3 -- python3 -c "$python")" "[0, 1, 2]" "run --commands"
fi
for n in 3 4 5 6 7 9 10 200; do
	like "$(box -- sh -c "cat /proc/self/fd/$n /dev/fd/$n <&$n" 2>&1)" "(Bad file|bad fd|Bad fd|No such|denied)" "fd $n leads nowhere"
done

# Working directories.
cd "$WORK" || exit
is "$(bare readlink /proc/self/cwd)" "ok $WORK" "control: the directory is inherited outside"
unlike "$(box -- pwd)" "^$WORK$" "the caller's directory is not inherited"
like "$(probe read secret)" '^(ENOENT|EACCES)$' "a relative path does not lead there"
like "$(probe read ../../../../../../../../.."$WORK/secret")" '^(ENOENT|EACCES)$' "nor with many .."
for dir in /proc/self/fd/7 /proc/self/fd/9 /proc/1/root /proc/self/cwd/../.. "/proc/self/fd/9/$WORK" /dev/fd/9; do
	box --workdir "$dir" --ro "$PROBE" -- "$PROBE" read "../$WORK/secret" >"$WORK/said" 2>&1
	unlike "$(cat "$WORK/said")" '^ok secret' "--workdir $dir leads to no file of the host"
done
done_testing
