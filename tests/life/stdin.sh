#!/bin/bash
# stdin is streamed: large, ended, interactive, never read, never ended. Output that nobody wants ends the run. Signals reach the payload.
. "$(dirname "$0")/../lib.sh"
levels container process
works_here || skip_all "no boxes of level $LEVEL here"
need python3

head -c 20M /dev/urandom >"$WORK/large"
want=$(cksum <"$WORK/large")
is "$(box --output 64M -- cat <"$WORK/large" | cksum)" "$want" "20 MB through stdin and stdout"
# shellcheck disable=SC2002 # a pipe is what is wanted
is "$(cat "$WORK/large" | box --output 64M -- cat | cksum)" "$want" "also through pipes"
is "$(box -- cksum <"$WORK/large")" "$want" "and into a program that reads it"
is "$(printf 'a\nb\n' | box -- sh -c 'read -r x; echo "$x"')" a "what is not read does no harm"
is "$(box -- wc -c </dev/null)" 0 "an empty stdin ends at once"
is "$(yes | box -- head -n 1)" y "a writer that never ends does not hold up the return"
out=$(sleep 55 | box -- echo now &)
like "$out" now "nor does one that never writes"
is "$(box -- sh -c 'exec 0<&-; sleep 0.2; echo fine' <"$WORK/large")" fine "a payload that closes stdin goes on"

ok "a line at a time, both ways" timeout 60 python3 - "$CORDON" run --level "$LEVEL" -- sh -c 'while read -r line; do echo "<$line>"; done; echo end' <<'PY'
import subprocess, sys
p = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
for word in (b"one", b"two", b"three"):
    p.stdin.write(word + b"\n")
    p.stdin.flush()
    assert p.stdout.readline() == b"<" + word + b">\n"
p.stdin.close()
assert p.stdout.readline() == b"end\n" and p.wait(30) == 0
PY

# ---- output that nobody reads ----
# shellcheck disable=SC2016
is "$(bash -c '"$CORDON" run --level "$LEVEL" -- yes 2>/dev/null | head -n 1; echo "${PIPESTATUS[0]}"')" $'y\n141' "| head -n 1 ends the run"
out=$(for _ in 1 2 3 4 5 6; do "$CORDON" run --level "$LEVEL" -- echo hello 2>"$WORK/err" >/dev/full; echo $?; done | sort -u)
is "$out" 125 "a full disk under stdout is no success"
like "$(cat "$WORK/err")" 'No space left' "and is told"

# ---- signals ----
ok "signals are forwarded, two of them cancel" timeout 120 python3 - "$CORDON" run --level "$LEVEL" <<'PY'
import signal, subprocess, sys, time
def start(script, *flags):
    p = subprocess.Popen([*sys.argv[1:], *flags, "--", "sh", "-c", script], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, start_new_session=True)
    assert p.stdout.readline() == b"ready\n"
    return p
for name in ("INT", "TERM", "USR1", "USR2", "HUP", "QUIT"):
    p = start(f"trap 'echo got {name}; exit 9' {name}; echo ready; while :; do sleep 0.05; done")
    p.send_signal(getattr(signal, f"SIG{name}"))
    assert p.stdout.readline() == f"got {name}\n".encode(), name
    assert p.wait(30) == 9, (name, p.returncode)
p = start("echo ready; sleep 50")
p.send_signal(signal.SIGTERM)
assert p.wait(30) == 143, p.returncode
p = start("trap '' INT TERM; echo ready; while :; do sleep 0.05; done")
p.send_signal(signal.SIGINT)
time.sleep(0.3)
assert p.poll() is None, "one is for the payload"
p.send_signal(signal.SIGINT)
assert p.wait(30) == 137, p.returncode
assert b"cancelled" in p.stderr.read()
PY
python3 - "$WORK/.result" "$CORDON" run --level "$LEVEL" --json -- sh -c 'trap "" INT; sleep 50' <<'PY'
import os, signal, subprocess, sys, time
p = subprocess.Popen(sys.argv[2:], stdin=subprocess.DEVNULL, stdout=open(sys.argv[1], "wb"), start_new_session=True)
time.sleep(1.5)
p.send_signal(signal.SIGINT)
time.sleep(0.2)
p.send_signal(signal.SIGINT)
p.wait(30)
PY
: >"$WORK/.result.err"
expect "cancelled is a status of its own" status=cancelled exit_code= limit= 'wall_ms=>1000'
done_testing
