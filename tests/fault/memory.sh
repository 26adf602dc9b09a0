#!/bin/bash
# No byte is used wrongly, no memory is lost: runs with AddressSanitizer and UBSan, leaks included. valgrind.sh has the rest of it.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/build.sh"
levels container
works_here || skip_all "no boxes of level $LEVEL here"

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
done_testing
