#!/bin/bash
# A driver and an init that do what they like (tests/engine/stranger.py): no deadline waits for them, nothing that cannot be is believed, and
# whoever still has the stream is cut off.
. "$(dirname "$0")/../lib.sh"
levels container
need python3
mkdir "$WORK/bin"
ln "$(realpath "$CORDON")" "$WORK/bin/cordon" 2>/dev/null || cp "$(realpath "$CORDON")" "$WORK/bin/cordon"
for program in "$(dirname "$(realpath "$CORDON")")"/cordon-*; do
	[ ! -x "$program" ] || [ "$(basename "$program")" = cordon-engine-docker ] || ln -s "$program" "$WORK/bin/"
done
install -m 755 "$(dirname "$0")/stranger.py" "$WORK/bin/cordon-engine-docker"
CORDON=$WORK/bin/cordon ENGINE=docker CORDON_ENGINE_IMAGE=any
export STRANGER STRANGER_LOG=$WORK/log

STRANGER=good
result -- true
is "$(field status) $(field stdout) $(field isolation.engine_version)" "success hello docker 1 (stranger)" "control: one that behaves"

STRANGER=flood
start=$SECONDS
result --timeout 1s -- true
is "$(field status) $(field limit)" "timeout wall_time" "an init that never stops talking: the deadline is kept"
[ $((SECONDS - start)) -lt 15 ] && pass "in time" || fail "in time" "$((SECONDS - start)) s"

STRANGER=collected
result -- true
like "$(field error.message)" "cannot be" "files that nobody asked for are not believed"
result --out /tmp/x:"$WORK/x" -- true
like "$(field error.message)" "cannot be" "nor before the payload's end"

for STRANGER in outlive outlive-error; do
	: >"$STRANGER_LOG"
	start=$SECONDS
	result --timeout 20s -- true
	[ $((SECONDS - start)) -lt 10 ] && pass "$STRANGER: who keeps the stream keeps nobody waiting" || fail "$STRANGER: who keeps the stream keeps nobody waiting" "$((SECONDS - start)) s"
	like "$(field error.message)" "container of docker ended" "$STRANGER: it is told"
	is "$(cat "$STRANGER_LOG")" ended "$STRANGER: and it is cut off"
done

living=$(dirname "$PROBE")/living
if [ -x "$living" ]; then
	STRANGER=late
	: >"$STRANGER_LOG"
	cp "$living" "$WORK/bin/living"
	timeout -k 5 60 "$WORK/bin/living" late docker image:any >"$WORK/late" 2>&1
	is "$(grep -c '^ok' "$WORK/late") $(grep -v '^ok' "$WORK/late")" "3 1..3" "a pause that comes after the deadline" || cat "$WORK/late"
	is "$(tr '\n' ' ' <"$STRANGER_LOG")" "paused resumed " "is taken back"
else
	skip "a pause that comes after the deadline" "there is no $living: make probe"
fi
done_testing
