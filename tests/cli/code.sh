#!/bin/bash
# cordon code: every language, arguments, stdin, tracebacks that name the user's file, interpreters that are not there.
. "$(dirname "$0")/../lib.sh"
levels container
works_here || skip_all "no boxes of level $LEVEL here"

try() { # LANG PROGRAM CODE
	if ! [ -x "/usr/bin/$2" ]; then
		status 127 "$1 without its interpreter" "$CORDON" code "$1" -e "$3"
		like "$ERR" "$2" "names it"
		return
	fi
	status 0 "$1" "$CORDON" code "$1" --memory 1G -e "$3"
	is "$OUT" 42 "$1 answers"
}
try python python3 'print(6 * 7)'
try bash bash 'a=(6 7); echo $((a[0] * a[1]))'
try sh sh 'echo $((6 * 7))'
try node node 'console.log(6 * 7)'
try perl perl 'print 6 * 7, "\n"'
try ruby ruby 'puts 6 * 7'
try c gcc '#include <stdio.h>
int main(void) { printf("%d\n", 6 * 7); return 0; }'

cat >"$WORK/app.py" <<'PY'
import sys
print(sys.argv[1:], sys.stdin.read())
def inner():
    return 1 // 0
inner()
PY
status 1 "a program that fails" bash -c 'echo input | "$CORDON" code python "$1/app.py" -- a -b "c d"' - "$WORK"
is "$OUT" "['a', '-b', 'c d'] input" "has its arguments and stdin"
like "$ERR" 'app.py", line 4, in inner' "and the traceback names the file and line"
unlike "$ERR" "$WORK" "but no path of the host"
echo 'syntax error here(' >"$WORK/bad.sh"
status 2 "a shell script that fails" "$CORDON" code sh "$WORK/bad.sh"
like "$ERR" 'bad.sh: 1:' "names the file"
printf 'int main(void) { return undeclared; }\n' >"$WORK/bad.c"
if command -v gcc >/dev/null; then
	status 1 "C that does not compile" "$CORDON" code c "$WORK/bad.c"
	like "$ERR" 'bad.c:1:.*undeclared' "names file and line"
	status 42 "C: the exit status is the program's" "$CORDON" code c -e 'int main(void) { return 42; }'
	for name in prog prog.txt prog.cpp a.out; do
		printf 'int main(void) { int class = 42; return class; }\n' >"$WORK/$name"
		status 42 "C in a file called $name" "$CORDON" code c "$WORK/$name"
	done
	status 42 "C from a pipe with a name" bash -c '"$CORDON" code c <(printf "int main(void) { return 42; }")'
	status 7 "C: arguments" "$CORDON" code c -e 'int main(int n, char **v) { return n == 3 && v[2][0] == 98 ? 7 : 1; }' -- a b
fi
status 0 "code - from stdin" bash -c 'echo "print(1 + 1)" | "$CORDON" code python -'
is "$OUT" 2 "answers"
status 0 "code -e with an empty program" "$CORDON" code python -e ''
status 127 "a language that is none" "$CORDON" code cobol -e x
like "$ERR" 'known languages: python' "lists those there are"
status 0 "languages" "$CORDON" languages
for l in python bash sh node perl ruby c; do like "$OUT" "(^|
)$l " "lists $l"; done
status 0 "languages --json" "$CORDON" languages --json
ok "is JSON" python3 -c 'import json, sys; assert len(json.loads(sys.argv[1])) >= 7' "$OUT"

# A language of the configuration; a missing interpreter.
cat >"$WORK/config.yaml" <<'YAML'
version: 1
languages:
  rev: {command: [rev, "{file}"], extension: txt}
  lost: {command: [no-such-interpreter, "{file}"], extension: x}
YAML
status 0 "a language of the configuration" env CORDON_CONFIG="$WORK/config.yaml" "$CORDON" code rev -e abc
is "$OUT" cba "runs"
status 127 "a missing interpreter" env CORDON_CONFIG="$WORK/config.yaml" "$CORDON" code lost -e abc
like "$ERR" "needs 'no-such-interpreter'" "is named"
like "$ERR" 'hint: install' "with a remedy"
if [ "$LEVEL" = container ] && busybox=$(command -v busybox); then
	mkdir -p "$WORK/small/bin" "$WORK/small/etc"
	cp "$busybox" "$WORK/small/bin/busybox"
	ln -s busybox "$WORK/small/bin/sh"
	status 127 "a missing compiler" "$CORDON" code c --root "$WORK/small" -e 'int main(void) { return 0; }'
	like "$ERR" "needs 'cc'" "is named, too"
	status 0 "control: what that root has works" "$CORDON" code sh --root "$WORK/small" -e 'exit 0'
fi
done_testing
