#!/bin/bash
# The same with a writable directory, protected paths and files copied in and out: failures and kills leave the directory alone.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/build.sh"
levels container
works_here || skip_all "no boxes of level $LEVEL here"
mkdir -p "$WORK/out"
for i in 0 1; do
	mkdir -p "$WORK/project$i/.git"
	echo data >"$WORK/project$i/data"
done
echo data >"$WORK/input"
flags=(--rw "$WORK/project@:/project" --protect .git/hooks/ --protect .envrc --in "$WORK/input:/home/agent/input"
	--out "/home/agent/input:$WORK/out/input@")
tree() { (cd "$WORK" && find project? -printf '%p %y %m %U\n' | sort && cat project?/data); }
before=$(tree)
if ! box "${flags[@]//@/0}" -- true; then
	fail "control: the run itself works"
	done_testing
fi
is "$(tree)" "$before" "control: the run leaves the directory as it was"
for mode in fail kill; do
	if CORDON_JOBS=2 CORDON_SAMPLE=1 CORDON_EACH=1 CORDON_WHO="0.1 0 0.1+0" python3 "$TOP/tests/fault/every.py" "$mode" "$INJECT" "$WORLD" "$WORK" --level "$LEVEL" "${flags[@]}" >"$WORK/log"; then
		pass "$mode: $(grep -c '^ok' "$WORK/log") groups of places"
	else
		fail "$mode" "$(grep -v '^ok' "$WORK/log" | head -100)"
	fi
	# What a failed removal, or a kill of both, leaves behind is removed by the next start.
	box "${flags[@]//@/0}" -- true >/dev/null 2>&1
	box "${flags[@]//@/1}" -- sleep 0.1 >/dev/null 2>&1
	is "$(tree)" "$before" "$mode: the directory is as it was"
	is "$(find "$WORK/out" -name '.cordon-out-*')" "" "$mode: nothing half-written is left"
done
done_testing
