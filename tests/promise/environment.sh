#!/bin/bash
# The environment is empty but for PATH, HOME, LANG, TERM and what is declared.
. "$(dirname "$0")/../lib.sh"
levels container process
export TEST_CANARY=secret AWS_SECRET_ACCESS_KEY=secret LD_PRELOAD_X=1 PYTHONPATH=/tmp BASH_ENV=/tmp/x ENV=/tmp/x
names() { "$@" -- python3 -c 'import os; print(*sorted(os.environ))'; }
like "$(env)" TEST_CANARY=secret "control: it is there outside"
own="HOME LANG PATH TERM"
[ "$LEVEL" = container ] || own="$own TMPDIR" # its private directory is not /tmp there
is "$(names box)" "$own" "nothing else"
like "$(names box --env A=1)" '^A HOME' "--env adds"
is "$(box --env "A=b c=d" -- sh -c 'echo "$A"')" "b c=d" "with its value"
is "$(box --pass-env TEST_CANARY -- sh -c 'echo "$TEST_CANARY"')" secret "--pass-env hands on"
is "$(names box --pass-env NOT_SET_ANYWHERE)" "$own" "what is not set is not handed on"
is "$("$CORDON" code --level "$LEVEL" sh -e 'echo "${TEST_CANARY:-none}"')" none "code: the same"
isnt "$(box -- sh -c 'echo "$HOME"')" "$HOME" "HOME is the box's"
is "$(box -- sh -c 'trap - INT; kill -l >/dev/null; ulimit -c')" 0 "no core dumps"
# Signals that the caller ignores or blocks are as usual inside.
# As GNU make does: the two signals of libc that libc itself does not touch.
cat >"$WORK/ignore.py" <<'PY'
import ctypes, os, platform, struct, sys
nr = 13 if platform.machine() == "x86_64" else 134
for sig in (32, 33):
    ctypes.CDLL(None).syscall(nr, sig, struct.pack("QQQQ", 1, 0, 0, 0), None, 8)
os.execvp(sys.argv[1], sys.argv[1:])
PY
like "$(python3 "$WORK/ignore.py" grep SigIgn /proc/self/status | cut -f2)" '^000000018' "control: they are inherited outside"
(
	trap '' TERM INT PIPE
	python3 "$WORK/ignore.py" "$CORDON" run --level "$LEVEL" -- sh -c 'grep -E "^Sig(Ign|Blk)" /proc/self/status' >"$WORK/signals" 2>/dev/null
)
if [ "$LEVEL" = container ]; then
	is "$(awk '{ print $2 }' "$WORK/signals" | sort -u)" 0000000000000000 "no ignored or blocked signal is inherited"
fi
done_testing
