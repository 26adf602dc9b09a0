#!/bin/bash
# Boxes that live: job after job in one box, through the library alone (tests/life/living.c). And whoever is killed, the process that
# holds the box or its keeper: nothing of it is left. tests/engine/living*.sh is the same on other engines.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
levels container
works_here || skip_all "no boxes of level $LEVEL here"
need python3
. "$(dirname "$0")/living_lib.sh"

counts=
result -- true
[[ "$(field isolation.limit_source)" != cgroup ]] || counts=counts
# shellcheck disable=SC2086 # none or one
suite native $counts
killed native
done_testing
