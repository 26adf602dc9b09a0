#!/bin/bash
# Every fuzzer's corpus runs through the build with sanitizers, and nothing is found.
. "$(dirname "$0")/../lib.sh"
levels container
need make "${CC:-cc}"
# tests/fault/memory.sh builds the same variant
if flock "$TOP/build/asan.lock" make -s -j"$(nproc)" -C "$TOP" fuzz-replay >"$WORK/log" 2>&1; then pass "every corpus"; else fail "every corpus" "$(tail -n 20 "$WORK/log")"; fi
done_testing
