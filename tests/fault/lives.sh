#!/bin/bash
# The same of a box that lives, through the library: a system call that fails ends in an error with a reason, of the box or of a job, or in
# jobs whose worlds are exactly as promised; and nothing of the box is left.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/build.sh"
levels container
works_here || skip_all "no boxes of level $LEVEL here"
lives=$(dirname "$PROBE")/lives
[ -x "$lives" ] || skip_all "there is no $lives: make probe"
tap_done=1
LIVES=$lives CORDON_SAMPLE=1 python3 "$TOP/tests/fault/every.py" fail "$INJECT" "$WORLD" "$WORK"
