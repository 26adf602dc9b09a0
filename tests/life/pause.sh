#!/bin/bash
# Pausing a box that lives at bad moments: while its job begins, forks without end, is over its deadline, has ended; and whoever is killed while
# it is paused, nobody stays frozen.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
levels container
need_root
works_here || skip_all "no boxes of level $LEVEL here"
need python3
. "$(dirname "$0")/living_lib.sh"

paused native
for engine in crun runc; do
	command -v $engine >/dev/null || { skip "$engine" "there is no $engine"; continue; }
	paused $engine cordon-engine
done
done_testing
