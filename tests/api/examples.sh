#!/bin/sh
# The examples compile against an installed library, shared and static, and do what they say. TAP.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${BUILD:-build/release}
cc=${CC:-cc}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
count=0 failed=0

check() { # NAME COMMAND…
	title=$1
	shift
	count=$((count + 1))
	if "$@" >"$work/log" 2>&1; then
		echo "ok $count - $title"
	else
		echo "not ok $count - $title"
		sed 's/^/# /' "$work/log"
		failed=$((failed + 1))
	fi
}

flags() { # shared|static, as pkg-config says them; by hand where it is missing
	if ! command -v pkg-config >/dev/null 2>&1; then
		echo "-I$work/usr/include -L$work/usr/lib -lcordon -lfyaml"
	elif [ "$1" = static ]; then
		PKG_CONFIG_PATH=$work/usr/lib/pkgconfig pkg-config --cflags --libs --static cordon
	else
		PKG_CONFIG_PATH=$work/usr/lib/pkgconfig pkg-config --cflags --libs cordon
	fi
}

# shellcheck disable=SC2046,SC2086  # flags are words
shared() {
	$cc ${EXAMPLE_CFLAGS:-} -Wall -Wextra -Werror -std=gnu17 "examples/$1.c" -o "$work/$1" $(flags shared) -pthread
}
# shellcheck disable=SC2046,SC2086
static() {
	$cc ${EXAMPLE_CFLAGS:-} -std=gnu17 "examples/$1.c" -o "$work/$1-static" \
		$(flags static | sed 's/-lcordon/-l:libcordon.a/g') -pthread
}
says() { # PROGRAM LINE
	said=$(LD_LIBRARY_PATH=$work/usr/lib timeout 60 "$work/$1") || { echo "exit status $?: $said"; return 1; }
	[ "$said" = "$2" ] || { echo "said: $said"; return 1; }
}
# A network needs cordon-egress, which is looked for where the program itself is installed.
says_installed() { # PROGRAM LINES
	mkdir -p "$work/usr/bin" && cp "$work/$1" "$work/usr/bin/$1" && says "usr/bin/$1" "$2"
}
network_lines='dns api.example.com: allowed
dns evil.example.net: refused (no rule allows this name); to allow it: --allow evil.example.net'
living_lines='success: left a file
timeout: 
success: found counted'
same_as_header() {
	sed -n '/^ \*\t#include <cordon.h>/,/^ \*\t}$/s/^ \*//p' include/cordon.h | tr -d '[:space:]' >"$work/a"
	sed 1d examples/hello.c | tr -d '[:space:]' >"$work/b"
	cmp "$work/a" "$work/b"
}
cplusplus() {
	echo '#include <cordon.h>' | ${CXX:-c++} -x c++ -Wall -Wextra -Werror -fsyntax-only -I"$work/usr/include" -
}

check 'make install into a directory' make -s install V="$(basename "$build")" PREFIX="$work/usr" DESTDIR=
check 'hello.c is the example of cordon.h' same_as_header
for name in hello callback threads network living; do
	check "$name.c compiles against the shared library" shared "$name"
	check "$name.c compiles against the static library" static "$name"
done
for kind in '' -static; do
	check "hello$kind" says hello$kind 'success: 42'
	check "callback$kind" says callback$kind 'cancelled after 1000 lines'
	check "threads$kind" says threads$kind '20 of 20 runs succeeded'
	check "living$kind" says living$kind "$living_lines"
	check "network$kind" says_installed network$kind "$network_lines"
done
command -v "${CXX:-c++}" >/dev/null 2>&1 && check 'cordon.h is good C++' cplusplus
echo "1..$count"
[ $failed -eq 0 ]
