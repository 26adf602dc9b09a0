#!/bin/bash
# Boxes of OCI runtimes that live: as tests/life/living.sh.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../life/lib.sh"
levels container
need_root
need python3
. "$(dirname "$0")/../life/living_lib.sh"

for engine in crun runc; do
	command -v $engine >/dev/null || { skip "$engine" "there is no $engine"; continue; }
	suite $engine counts
	killed $engine
done
done_testing
