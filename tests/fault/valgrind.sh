#!/bin/bash
# No byte is used wrongly, no memory or descriptor is lost: valgrind over commands, and over runs of boxes in every process of them (grind.py).
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/build.sh"
levels container
works_here || skip_all "no boxes of level $LEVEL here"
need valgrind
# In a static program valgrind does not see what is allocated.
dynamic=$TOP/build/release/cordon-dynamic
built release cordon-dynamic || skip_all "$dynamic is not built and cannot be"

# ---- commands ----
grind() { # STATUS DESC ARG…
	local want=$1 desc=$2
	shift 2
	timeout 100 valgrind -q --track-fds=yes --leak-check=full --show-leak-kinds=definite,indirect,possible --errors-for-leak-kinds=definite \
		--error-exitcode=99 --log-file="$WORK/vg" "$dynamic" "$@" >"$WORK/out" 2>"$WORK/err" </dev/null
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

# ---- runs ----
lives=$(dirname "$PROBE")/lives through=$(dirname "$PROBE")/through.so
if [ ! -x "$lives" ] || [ ! -e "$through" ]; then
	skip "runs under valgrind" "there is no $lives or $through: make probe"
	done_testing
fi
if grep -q __asan_init "$lives"; then
	skip "runs under valgrind" "$lives is built with AddressSanitizer, which valgrind cannot run"
	done_testing
fi
"${CC:-cc}" -D_GNU_SOURCE -O0 -g "$(dirname "$0")/loses.c" -o "$WORK/loses" || fail "build loses.c"
python3 "$(dirname "$0")/grind.py" "$INJECT" "$through" "$dynamic" "$lives" "$WORK/loses" "$(dirname "$0")/valgrind.supp" "$WORK" >"$WORK/log" 2>&1
code=$?
while IFS= read -r line; do
	case $line in
	"ok "*) pass "valgrind: ${line#* - }" ;;
	"not ok "*) fail "valgrind: ${line#* - }" ;;
	1..*) code=0 ;;
	*) note "${line#\# }" ;;
	esac
done <"$WORK/log"
is "$code" 0 "valgrind: grind.py came to its end"
done_testing
