#!/bin/bash
# A system call that fails, whichever it is, ends in a refusal with a reason, or in a payload whose world is exactly as promised. As root and as
# an ordinary user, at both levels.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/build.sh"
works_here || skip_all "no boxes of level $LEVEL here"
tap_done=1
# More of them where most are made.
sample=1
[ "$ME $LEVEL" != "root container" ] || sample=2
CORDON_SAMPLE=$sample python3 "$TOP/tests/fault/every.py" fail "$INJECT" "$WORLD" "$WORK" --level "$LEVEL"
