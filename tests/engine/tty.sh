#!/bin/bash
# A terminal in a box of another engine is the payload's own, with job control, the caller's size, Ctrl-C and end of file, as natively.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/tty_lib.sh"
for engine in crun runc runsc; do
	command -v $engine >/dev/null || { skip "$engine" "there is no $engine"; continue; }
	terminals $engine
done
done_testing
