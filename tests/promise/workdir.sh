#!/bin/bash
# The working directory is in the box, also where ".." leads to its root while the host's tree is still being left.
. "$(dirname "$0")/../lib.sh"
levels container
ln -s ../../../../../../../../etc "$WORK/up"
is "$(cd "$WORK/up" && [ -e shadow ] && echo there)" there "control: outside, the link leads to the host's /etc"
is "$(cd "$WORK" && box --rw . --workdir "$WORK/up" -- sh -c 'pwd -P; [ -e shadow ] && echo there')" /etc \
	"inside, it leads to the box's own"
if command -v strace >/dev/null; then
	is "$(cd "$WORK" && strace -f -o /dev/null -e inject=umount2:delay_enter=300000 "$CORDON" run --rw . --workdir "$WORK/up" -- \
		sh -c 'pwd -P; [ -e shadow ] && echo there')" /etc "also while the host's tree is slow to leave"
else
	skip "also while the host's tree is slow to leave" "no strace"
fi
done_testing
