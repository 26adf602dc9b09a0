#!/bin/bash
# Placeholders of protected paths are undone: at the end, after kill -9 of the keeper, of both, while another box needs them.
. "$(dirname "$0")/../lib.sh"
levels container
D=$WORK/d
mkdir "$D"
gone() { [ ! -e "$D/.git" ] && [ ! -e "$D/a" ]; }
here() { [ -e "$D/.git" ]; }
buried() { [ ! -e "/proc/$keeper" ] && [ ! -e "/proc/$front" ]; }
start() { # a box that stays; $front is its pid
	"$CORDON" run --rw "$D:/m" --protect /m/.git/hooks --protect /m/a/b/c --timeout 60s -- sleep 50 &
	front=$!
	disown "$front"
	defer kill -9 "$front"
	until_true 10 here || return 1
	until_true 10 pgrep -P "$front"
	keeper=$(pgrep -P "$front")
}
box --rw "$D:/m" --protect /m/.git/hooks --protect /m/a/b/c -- true
ok "gone after an ordinary end" gone
is "$(ls -A "$D")" "" "nothing else is left either"
box --rw "$D:/m" --protect /m/.git/hooks --protect /m/a/b/c -- sh -c 'exit 3'
ok "gone after a failure" gone
box --rw "$D:/m" --protect /m/.git/hooks --timeout 200ms -- sleep 10
ok "gone after the deadline" gone
box --rw "$D:/m" --protect /m/.git/hooks -- /no/such/program 2>/dev/null
ok "gone after what could not start" gone

start && pass "control: while it runs there is one" || fail "control: while it runs there is one"
kill -9 "$keeper"
ok "kill -9 of the keeper: the front undoes it" until_true 10 gone
start
kill -9 "$front"
ok "kill -9 of the front: the keeper undoes it" until_true 10 gone
for round in 1 2 3; do
	start
	kill -STOP "$front"
	kill -9 "$keeper" "$front"
	until_true 10 buried # nobody is dead before somebody has waited for him, which may be a slow pid 1
	box -- true
	until_true 5 gone
	ok "kill -9 of both ($round): the next run undoes it" gone
done

# Two boxes, one after the other.
start
first=$front
"$CORDON" run --rw "$D:/m" --protect /m/.git/hooks --timeout 60s -- sleep 50 &
second=$!
disown "$second"
defer kill -9 "$second"
sleep 1
kill -TERM "$first"
sleep 1
ok "what another box needs stays" here
refused "and is held for a third" box --rw "$D:/m" --protect /m/.git/hooks -- sh -c 'mkdir -p /m/.git/hooks; echo evil >/m/.git/hooks/x || echo evil >/m/.git/hooks'
is "$(grep -rl evil "$D")" "" "nothing is written there"
kill -TERM "$second"
ok "until that ends" until_true 10 gone

# What somebody else put there is not taken away.
start
mkdir -p "$D/.git/objects" && echo mine >"$D/.git/objects/x"
kill -TERM "$front"
front_gone() { ! kill -0 "$front"; }
until_true 10 front_gone
sleep 1
box -- true
is "$(cat "$D/.git/objects/x" 2>/dev/null)" mine "what the host's user made in it meanwhile is kept"
done_testing
