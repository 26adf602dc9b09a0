#!/bin/bash
# Nothing outlives its deadline, and nothing holds up the return: daemons, stopped processes, new sessions, ignored signals, held pipes.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
levels container process
works_here || skip_all "no boxes of level $LEVEL here"
need python3

# Each payload leaves something behind whose command line has a word of its own; after the run no process has it any more.
cat >"$WORK/linger.py" <<'PY'
"""linger.py KIND FOREGROUND WORD: leaves something behind; then waits, or ends."""
import os, signal, sys, time
kind, foreground, word = sys.argv[1:]
there, here = os.pipe()

def mark():
    os.write(here, b"x")
    time.sleep(0.05)
    if kind == "closed":
        os.closerange(0, 256)
    time.sleep(90)

def child(do):
    if os.fork() == 0:
        do()
        os._exit(0)

def daemon():
    os.setsid()
    child(mark)

def ignoring():
    for s in range(1, 32):
        try:
            signal.signal(s, signal.SIG_IGN)
        except (OSError, ValueError):
            pass
    mark()

def stopped():
    child(mark)
    os.kill(os.getpid(), signal.SIGSTOP)

def chain():
    for _ in range(5):
        if os.fork():
            os._exit(0)
        os.setsid()
    mark()

def forking():
    while True:
        if os.fork():
            os._exit(0)
        os.write(here, b"x")
        time.sleep(0.05)

child({"daemon": daemon, "ignoring": ignoring, "stopped": stopped, "closed": mark, "chain": chain, "forking": forking,
       "grandchild": lambda: child(mark), "background": mark}[kind])
os.read(there, 1)
print("started", flush=True)
if foreground == "wait":
    time.sleep(60)
PY
still() { pgrep -f "$1" >/dev/null; }
linger() { # KIND FOREGROUND WORD FLAG…
	local kind=$1 foreground=$2 word=$3
	shift 3
	result "$@" -- python3 -c "$(cat "$WORK/linger.py")" "$kind" "$foreground" "$word"
}
word=linger-$$-$RANDOM

python3 "$WORK/linger.py" background end "$word-out" >/dev/null
ok "control: outside of a box it does linger" still "$word-out"
loose=$(pgrep -f "$word-out" | head -1)
[ -z "$loose" ] || kill "$loose"

for kind in background grandchild daemon ignoring stopped closed chain forking; do
	linger "$kind" wait "$word-$kind" --timeout 2s
	refused "$kind: does not outlive the deadline" still "$word-$kind"
	expect "$kind: which came" status=timeout 'stdout=~^started' 'wall_ms=<25000'
	linger "$kind" end "$word-$kind" --timeout 50s
	refused "$kind: is gone with the payload" still "$word-$kind"
	expect "$kind: and did not put off the return" status=success stdout=$'started\n' 'wall_ms=<25000'
done

# Streams held by what is in the background: neither pipe nor file holds up the return.
before=$(date +%s)
out=$(box -- sh -c 'sleep 55 & echo now')
is "$out" now "a background process that holds stdout does not block the return"
[ $(($(date +%s) - before)) -lt 40 ] && pass "at once" || fail "at once"
out=$(box --timeout 1s --quiet -- sh -c '(trap "" TERM INT HUP; sleep 55) & echo now; sleep 55')
is "$out" now "nor does it at the deadline"

# A reader that does not read: the deadline does not wait for it.
cat >"$WORK/slow.py" <<'PY'
import os, subprocess, sys, time
p = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
start = time.monotonic()
time.sleep(4)  # nobody reads
children = open(f"/proc/{p.pid}/task/{p.pid}/children").read().split() if p.poll() is None else []
children = [c for c in children if open(f"/proc/{c}/stat").read().rsplit(")", 1)[1].split()[0] != "Z"]  # the front is busy writing
alive = os.popen("pgrep -f '^yes " + sys.argv[-1] + "$'").read()  # nor does its payload
print("payload gone" if not alive else f"still there: {alive}")
print("keeper gone" if not children else "still there")
data = p.stdout.read()
print(p.wait(), len(data) > 0)
PY
# Another engine's keeper carries what was said, and stays until it has been taken.
gone='keeper gone'
[ -z "$ENGINE" ] || gone='still there'
is "$(python3 "$WORK/slow.py" "$CORDON" run --level "$LEVEL" --output 100M --timeout 1s -- yes "slow-$word")" "payload gone
$gone
124 True" "a slow reader does not put off the deadline"
done_testing
