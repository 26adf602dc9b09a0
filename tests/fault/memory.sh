#!/bin/bash
# No byte is used wrongly, no memory or descriptor is lost: runs with AddressSanitizer and UBSan, leaks included, and valgrind.
. "$(dirname "$0")/../lib.sh"
levels container
works_here || skip_all "no boxes of level $LEVEL here"

# built VARIANT PROGRAM: built if it can be. tests/fuzz/replay.sh builds the same one.
built() {
	if [ -w "$TOP/build" ] && command -v make "${CC:-cc}" >/dev/null; then
		flock "$TOP/build/$1.lock" make -s -j"$(nproc)" -C "$TOP" V="$1" "build/$1/$2" >"$WORK/make.log" 2>&1 || note "$(tail -n 5 "$WORK/make.log")"
	fi
	[ -x "$TOP/build/$1/$2" ]
}

# ---- AddressSanitizer: real runs, every way they end ----
if built asan cordon; then
	export ASAN_OPTIONS=detect_leaks=1:abort_on_error=0:exitcode=98 UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 LSAN_OPTIONS=exitcode=97
	mkdir "$WORK/project"
	chmod 777 "$WORK/project"
	echo data >"$WORK/in"
	asan() { # STATUS DESC ARG…
		local want=$1 desc=$2
		shift 2
		timeout 100 "$TOP/build/asan/cordon" "$@" >"$WORK/out" 2>"$WORK/err" </dev/null
		is "$?" "$want" "asan: $desc"
		unlike "$(cat "$WORK/err")" 'Sanitizer|runtime error' "asan: $desc, and nothing to complain about"
	}
	asan 0 "a run" run -- echo hello
	asan 0 "a run with --json" run --json -- echo hello
	asan 3 "a failure" run -- sh -c 'exit 3'
	asan 124 "the deadline" run --timeout 500ms --grace 100ms -q -- sleep 20
	asan 137 "a flood" run --output 4K -q -- yes
	asan 127 "not found" run -- no-such-thing
	asan 126 "refused" run --ro /etc -- true
	asan 125 "a wrong flag" run --memroy 1 -- true
	asan 0 "files, protection, mounts" run --rw "$WORK/project:/p" --protect .git/hooks/ --in "$WORK/in:/tmp/in" --out "/tmp/in:$WORK/back" \
		--ro "$WORK/in:/data/in" --env A=b --workdir /p -- sh -c 'cat /tmp/in /data/in >made'
	asan 0 "a policy" run --policy strict -- python3 -c 'print(1)'
	asan 1 "denials" run --policy strict --json -- python3 -c 'import os; os.execv("/bin/ls", ["ls"])'
	asan 0 "code" code python -e 'print(1)'
	asan 0 "plan" plan --rw "$WORK/project:/p" --json -- true
	asan 0 "policy show" policy show strict --memory 64M --json
	asan 0 "policy schema" policy schema
	printf 'version: 1\nlimits: {memroy: 1}\n' >"$WORK/bad.yaml"
	asan 1 "a bad policy" policy check "$WORK/bad.yaml"
	asan 0 "config" config show --json
	asan 0 "doctor" doctor
	asan 0 "sweep" sweep
	asan 0 "storage: disk" run --storage disk -- true
	asan 0 "process level" run --level process -- true
	asan 0 "a terminal" run --tty -- true
	# Control: the tools do notice. A program with a leak, built the same way.
	printf '#include <stdlib.h>\n#include <string.h>\nint main(void) { volatile char *p = strdup("x"); p = 0; return p != 0; }\n' >"$WORK/leak.c"
	"${CC:-cc}" -fsanitize=address "$WORK/leak.c" -o "$WORK/leak" && "$WORK/leak" >/dev/null 2>&1
	isnt "$?" 0 "asan: control: a leak is noticed"
else
	skip "AddressSanitizer" "build/asan/cordon is not built and cannot be"
fi

# ---- valgrind: what it can follow. It knows neither Landlock nor the new mount calls, so runs are left to AddressSanitizer. ----
if ! command -v valgrind >/dev/null; then
	skip "valgrind" "there is no valgrind"
elif ! built release cordon-dynamic; then # in a static program it does not see what is allocated
	skip "valgrind" "build/release/cordon-dynamic is not built and cannot be"
else
	note "LEFT OUT of valgrind: run, code, plan and doctor: landlock_create_ruleset, openat2, open_tree and others are unknown to it"
	grind() { # STATUS DESC ARG…
		local want=$1 desc=$2
		shift 2
		timeout 100 valgrind -q --track-fds=yes --leak-check=full --show-leak-kinds=definite,indirect,possible --errors-for-leak-kinds=definite \
			--error-exitcode=99 --log-file="$WORK/vg" "$TOP/build/release/cordon-dynamic" "$@" >"$WORK/out" 2>"$WORK/err" </dev/null
		is "$?" "$want" "valgrind: $desc"
		is "$(grep -cE 'Invalid|uninitialised|definitely lost' "$WORK/vg")" 0 "valgrind: $desc, no error" || note "$(head -20 "$WORK/vg")"
		# Descriptors above 2 that were not inherited.
		is "$(grep -A1 -E 'Open file descriptor ([3-9]|[1-9][0-9]+)' "$WORK/vg" | grep -v inherited | grep -cE 'at 0x')" 0 "valgrind: $desc, no descriptor is lost"
	}
	grind 0 "policy show" policy show strict --memory 64M
	grind 0 "policy show --json" policy show build --json
	grind 0 "policy schema" policy schema
	grind 0 "policy list" policy list
	grind 1 "a policy with an error" policy check "$WORK/none.yaml"
	printf 'version: 1\nlimits: {memory: 1G, memory: 2G}\n' >"$WORK/twice.yaml"
	grind 1 "a key twice" policy check "$WORK/twice.yaml"
	grind 0 "config show" config show
	grind 0 "languages" languages --json
	grind 125 "a wrong flag" run --memroy 1 -- true
	grind 125 "narrowing refused" run --policy strict --memory 1T -- true
	grind 0 "help" help options
	printf '#include <stdlib.h>\n#include <string.h>\nint main(void) { volatile char *p = strdup("x"); p = 0; return p != 0; }\n' >"$WORK/leak.c"
	"${CC:-cc}" -g "$WORK/leak.c" -o "$WORK/leak" && valgrind -q --leak-check=full --error-exitcode=99 "$WORK/leak" >/dev/null 2>&1
	is "$?" 99 "valgrind: control: a leak is noticed"
fi
done_testing
