#!/bin/bash
# The promise suite, whole, as whoever calls it, at container level and at process level; TAP. CORDON_LEVEL picks one of them.
cd "$(dirname "$0")/../.." || exit 1
shopt -s extglob
failed=0
for level in ${CORDON_LEVEL:-container process}; do
	CORDON_LEVEL=$level tests/run.sh --tap --label "$level" tests/promise/!(run).sh || failed=1
done
exit "$failed"
