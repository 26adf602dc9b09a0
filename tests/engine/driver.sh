#!/bin/bash
# The drivers drive real runtimes and daemons: what is asked for holds, whatever happens nothing is left. See driver.py.
. "$(dirname "$0")/../lib.sh"
need_root
trap - EXIT
ENGINE_PROGRAMS=$(dirname "$(realpath "$CORDON")") INNER=$TOP/build/test/inner exec python3 "$(dirname "$0")/driver.py" "$WORK" "$@"
