#!/bin/bash
# Boxes of gVisor that live: as tests/life/living.sh.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../life/lib.sh"
levels container
need_root
need python3 runsc
. "$(dirname "$0")/../life/living_lib.sh"

suite runsc holds
killed runsc
done_testing
