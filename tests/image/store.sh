#!/bin/bash
# The store: whole or not at all. Killed and concurrent imports, images in use, removal.
. "$(dirname "$0")/lib.sh"

ok "an image" image import "$IMAGES/docker-new.tar"
ok "and its lower half" image import "$IMAGES/root.tar" half
refused "control: what is not there is not removed" image rm nothing
ok "one is removed" image rm half
is "$(ls "$STORE/roots" | wc -l) $(ls "$STORE/layers" | wc -l)" "1 2" "its root goes, layers that another has stay"

# In use: the box keeps its files, and they go when nobody uses them any more.
box --image tiny:new -- /bin/sh -c 'echo up; sleep 3; cat /data/changed; ls /app' >"$WORK/out" 2>&1 &
until_true 20 grep -q up "$WORK/out"
ok "an image is removed while a box lives in it" image rm tiny:new
is "$(ls "$STORE/roots" | wc -l)" 1 "its root stays for the box"
refused "no new box gets it" box --image tiny:new -- /bin/true
wait
is "$(tr '\n' ' ' <"$WORK/out")" "up uppertool " "the box did not notice"
ok "the next command" image import "$IMAGES/later.tar" later
is "$(ls "$STORE/roots" | wc -l) $(ls "$STORE/layers" | wc -l)" "1 1" "collects it"

# Killed at any moment: nothing half, and what is left is swept.
for delay in 0.005 0.01 0.02 0.03 0.05 0.08; do
	"$CORDON" image import "$IMAGES/docker-new.tar" killed >/dev/null 2>&1 &
	sleep "$delay"
	kill -KILL $! 2>/dev/null
	wait $! 2>/dev/null
done
if image inspect killed >/dev/null 2>&1; then
	is "$(box --image killed -- /bin/sh -c 'cat /data/changed')" upper "an import that was killed had been whole"
else
	pass "an import that was killed is not there"
fi
image rm killed >/dev/null 2>&1
ok "the next import" image import "$IMAGES/later.tar" later
is "$(ls "$STORE/tmp")" "" "sweeps what is left"

pids=()
for i in 1 2 3 4 5 6; do
	"$CORDON" image import "$IMAGES/docker-new.tar" "same:$((i % 3))" >/dev/null 2>"$WORK/err$i" &
	pids+=($!)
done
good=0
for pid in "${pids[@]}"; do wait "$pid" && good=$((good + 1)); done
is "$good" 6 "six imports of one image at once"
for i in 0 1 2; do is "$(box --image same:$i -- /bin/sh -c 'cat /data/changed /data/kept')" upperkept "same:$i is whole"; done
is "$(ls "$STORE/tmp")" "" "and leave nothing"
ok "all are removed" image rm same:0 same:1 same:2 later
is "$(find "$STORE/roots" "$STORE/layers" "$STORE/names" "$STORE/tmp" -mindepth 1 | wc -l)" 0 "with everything that was theirs"

chmod 755 "$STORE"
status 125 "a store that others can enter is refused" image ls
chmod 700 "$STORE"
done_testing
