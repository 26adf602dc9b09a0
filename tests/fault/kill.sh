#!/bin/bash
# Whoever of front, keeper, init and the payload's child is killed, at whichever system call: nothing of the box is left.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/build.sh"
works_here || skip_all "no boxes of level $LEVEL here"
tap_done=1
CORDON_SAMPLE=1 CORDON_EACH=2 python3 "$TOP/tests/fault/every.py" kill "$INJECT" "$WORLD" "$WORK" --level "$LEVEL"
