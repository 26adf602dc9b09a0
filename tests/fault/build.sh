# shellcheck shell=bash
# Sourced: builds the two helpers of this directory once and sets INJECT and WORLD.
INJECT=$TOP/build/test/inject WORLD=$TOP/build/test/world
fault_build() { # NAME
	local to=$TOP/build/test/$1 from=$TOP/tests/fault/$1.c
	[ "$to" -nt "$from" ] && return
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
