#!/bin/bash
# With --tty a shell has job control and the caller's size, and a prompt is a prompt.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
levels container process
has python3 python3 || done_testing

for story in bash line; do
	while IFS= read -r said; do
		case $said in
		"ok "*) pass "$story: ${said#ok }" ;;
		"not ok "*) fail "$story: ${said#not ok }" ;;
		*) note "$said" ;;
		esac
	done < <(timeout -k 5 100 python3 "$TOP/tests/programs/jobs.py" "$story" 2>&1 || echo "not ok it ended with status $?")
done
if here && command -v less >/dev/null; then
	like "$(box --tty --env TERM=xterm -- bash -c 'seq 3 | less -F -X' </dev/null 2>&1 | tr -d '\r' | paste -sd' ')" "1 2 3" "less shows a short page"
fi
done_testing
