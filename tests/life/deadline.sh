#!/bin/bash
# Nothing outlives its deadline, and nothing holds up the return: daemons, stopped processes, new sessions, ignored signals, held pipes.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
levels container process
works_here || skip_all "no boxes of level $LEVEL here"
need python3

# Each payload writes a mark into a host directory again and again; after the run no mark may come any more.
mkdir "$WORK/marks"
chmod 777 "$WORK/marks"
cat >"$WORK/linger.py" <<'PY'
"""linger.py KIND FOREGROUND: leaves something behind that goes on marking; then waits, or ends."""
import os, signal, sys, time
kind, foreground = sys.argv[1:]
here = os.environ["MARKS"]

def mark():
    n = 0
    while True:
        n += 1
        with open(f"{here}/{kind}", "w") as f:
            f.write(str(n))
        time.sleep(0.02)

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

def closed():
    os.closerange(0, 256)
    mark()

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
        with open(f"{here}/{kind}", "a") as f:
            f.write("x")
        time.sleep(0.01)

child({"daemon": daemon, "ignoring": ignoring, "stopped": stopped, "closed": closed, "chain": chain, "forking": forking,
       "grandchild": lambda: child(mark), "background": mark}[kind])
for _ in range(500):
    if os.path.exists(f"{here}/{kind}"):
        break
    time.sleep(0.02)
print("started", flush=True)
if foreground == "wait":
    time.sleep(60)
PY
still() { # KIND: whether marks still come
	local one
	one=$(cksum <"$WORK/marks/$1")
	sleep 0.4
	[ "$one" != "$(cksum <"$WORK/marks/$1")" ]
}
dest=/marks
[ "$LEVEL" = process ] && dest=$WORK/marks
linger() { # KIND FOREGROUND FLAG…
	local kind=$1 foreground=$2
	shift 2
	result --rw "$WORK/marks:$dest" --ro "$WORK/linger.py" --env "MARKS=$dest" "$@" -- python3 "$WORK/linger.py" "$kind" "$foreground"
}

MARKS=$WORK/marks python3 "$WORK/linger.py" background end >/dev/null
ok "control: outside of a box it does linger" still background
loose=$(pgrep -f "$WORK/linger.py" | head -1)
[ -n "$loose" ] && kill "$loose"

for kind in background grandchild daemon ignoring stopped closed chain forking; do
	linger "$kind" wait --timeout 1500ms
	expect "$kind: the deadline comes" status=timeout 'stdout=~^started' 'wall_ms=<25000'
	[ -e "$WORK/marks/$kind" ] && pass "$kind: control: it was there" || fail "$kind: control: it was there"
	refused "$kind: and does not outlive it" still "$kind"
	rm -f "$WORK/marks/$kind"
	linger "$kind" end --timeout 50s
	expect "$kind: the return does not wait for it" status=success stdout=$'started\n' 'wall_ms=<25000'
	refused "$kind: and it is gone with the payload" still "$kind"
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
print("keeper gone" if not children else f"still there: {children}")
data = p.stdout.read()
print(p.wait(), len(data) > 0)
PY
is "$(python3 "$WORK/slow.py" "$CORDON" run --level "$LEVEL" --output 100M --timeout 1s -- yes)" $'keeper gone\n124 True' \
	"a slow reader does not put off the deadline"
done_testing
