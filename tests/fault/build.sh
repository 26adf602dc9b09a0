# shellcheck shell=bash
# Sourced: builds the two helpers of this directory once and sets INJECT and WORLD; built, where more is needed.
INJECT=$TOP/build/test/inject WORLD=$TOP/build/test/world
export ASAN_OPTIONS=detect_leaks=0 # of V=asan: who is traced cannot look for them; memory.sh does
fault_build() { # NAME
	local to=$TOP/build/test/$1 from=$TOP/tests/fault/$1.c
	[ "$to" -nt "$from" ] && return
	[ -x "$to" ] && [ ! -d "$TOP/src" ] && return # a copy of what is tested
	command -v "${CC:-cc}" >/dev/null || skip_all "there is no C compiler"
	mkdir -p "$TOP/build/test" 2>/dev/null
	if "${CC:-cc}" -std=gnu17 -D_GNU_SOURCE -O1 -g -Wall -Wextra -Werror -I"$TOP/src" -static "$from" -o "$WORK/$1"; then
		mv "$WORK/$1" "$to" 2>/dev/null || eval "${1^^}=$WORK/$1"
		chmod 755 "$to" "$WORK/$1" 2>/dev/null
	else
		fail "build $1"
		done_testing
	fi
}
fault_build inject
fault_build world

# built VARIANT PROGRAM: built if it can be. tests/fuzz/replay.sh builds the same one.
built() {
	if [ -w "$TOP/build" ] && command -v make "${CC:-cc}" >/dev/null; then
		flock "$TOP/build/$1.lock" make -s -j"$(nproc)" -C "$TOP" V="$1" "build/$1/$2" >"$WORK/make.log" 2>&1 || note "$(tail -n 5 "$WORK/make.log")"
	fi
	[ -x "$TOP/build/$1/$2" ]
}
