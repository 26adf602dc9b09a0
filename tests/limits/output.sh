#!/bin/bash
# Output is bounded for each stream; what is cut says so; a flood fills neither memory nor time.
. "$(dirname "$0")/../lib.sh"
levels container process
works_here || skip_all "no boxes of level $LEVEL here"
need python3

result --output 64K -- sh -c 'head -c 65536 /dev/zero | tr "\0" x'
expect "control: exactly the bound is not too much" status=success stdout_truncated=false stderr_truncated=false
is "$(field stdout | tr -d '\n' | wc -c)" 65536 "and complete"
result --output 64K -- sh -c 'head -c 65537 /dev/zero | tr "\0" x; sleep 30'
expect "one byte more is" status=resource_exceeded limit=output stdout_truncated=true stderr_truncated=false 'wall_ms=<25000'
is "$(field stdout | tr -d '\n' | wc -c)" 65536 "cut at the bound"
result --output 64K -- sh -c 'yes >&2'
expect "a flood on stderr" status=resource_exceeded limit=output stdout_truncated=false stderr_truncated=true stdout= 'wall_ms=<25000'
expect "cut at the bound as well" 'stderr=~^(y\n){32768}$'
result --output 64K -- sh -c 'yes & yes >&2'
expect "a flood on both" status=resource_exceeded limit=output 'wall_ms=<25000'
result --output 100K -- sh -c '(head -c 90K /dev/zero | tr "\0" a) ; (head -c 90K /dev/zero | tr "\0" b) >&2'
expect "the bound is for each" status=success stdout_truncated=false stderr_truncated=false

# Many bytes at once: the memory of the front does not grow with them.
"$CORDON" run --level "$LEVEL" --json --output 1M -- sh -c 'head -c 300M /dev/zero' >"$WORK/flood" 2>/dev/null &
front=$!
peak=0
while kill -0 "$front" 2>/dev/null; do
	now=$(awk '/VmHWM/ { print $2 }' "/proc/$front/status" 2>/dev/null)
	[ "${now:-0}" -gt "$peak" ] && peak=$now
	sleep 0.01
done
wait "$front"
[ "$peak" -lt 60000 ] && pass "a flood does not fill memory ($peak kB)" || fail "a flood does not fill memory" "$peak kB"
ok "and its result is whole" python3 -c 'import json, sys; assert json.load(open(sys.argv[1]))["stdout_truncated"] is True' "$WORK/flood"

# Streamed output is bounded, too.
n=$(box --quiet --output 10K -- yes 2>/dev/null | wc -c)
is "$n" 10240 "streamed output is cut at the bound"
box --output 10K -- yes >/dev/null 2>"$WORK/err"
is "$?" 137 "and the run is ended"
like "$(cat "$WORK/err")" "output" "which is told"

# A cut in the middle of a character, or of an escape, leaves JSON whole and loses nothing that was kept.
for bytes in 10 11 12 13; do
	result --output "$bytes" -- python3 -c 'import sys; sys.stdout.write("\u20ac" * 100)'
	ok "cut after $bytes bytes of three-byte characters: JSON is whole" python3 - "$WORK/.result" "$bytes" <<'PY'
import base64, json, sys
r, n = json.load(open(sys.argv[1], encoding="utf-8")), int(sys.argv[2])
data = base64.b64decode(r["stdout"]) if r["encoding"] == "base64" else r["stdout"].encode()
assert data == ("\u20ac" * 100).encode()[:n], (data, r["encoding"])
PY
done

# ---- carried without loss ----
result -- python3 -c 'import os; os.write(1, bytes(range(256))); os.write(2, b"\xff\xfe")'
expect "bytes that are no UTF-8 are base64" status=success encoding=base64
ok "all 256 of them" python3 - "$WORK/.result" <<'PY'
import base64, json, sys
r = json.load(open(sys.argv[1]))
assert base64.b64decode(r["stdout"]) == bytes(range(256)) and base64.b64decode(r["stderr"]) == b"\xff\xfe"
PY
result -- python3 -c 'import os; os.write(1, "\x00\x01\x1f\"\\\x7f\u2028é€😀\n".encode())'
expect "control characters and quotes stay text" encoding=utf-8
ok "and are the same" python3 - "$WORK/.result" <<'PY'
import json, sys
assert json.load(open(sys.argv[1], encoding="utf-8"))["stdout"] == "\x00\x01\x1f\"\\\x7f\u2028é€😀\n"
PY
for bytes in '\xed\xa0\x80' '\xc0\x80' '\xf4\x90\x80\x80' '\xe2\x82' '\x80'; do
	result -- printf "$bytes"
	expect "$bytes is no UTF-8" encoding=base64
done
done_testing
