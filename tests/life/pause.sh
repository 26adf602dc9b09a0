#!/bin/bash
# Pausing a box that lives at bad moments: while its job begins, forks without end, is over its deadline, has ended; and whoever is killed while
# it is paused, nobody stays frozen: pause.sh [native|crun|runc…]; native and crun unless told.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
levels container
need_root
works_here || skip_all "no boxes of level $LEVEL here"
need python3
. "$(dirname "$0")/living_lib.sh"

[ $# != 0 ] || set -- native crun
for engine; do
	if [ "$engine" = native ]; then
		paused native
	elif command -v "$engine" >/dev/null; then
		paused "$engine" cordon-engine
	else
		skip "$engine" "there is no $engine"
	fi
done
done_testing
