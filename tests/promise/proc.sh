#!/bin/bash
# /proc tells nothing of the host's processes: not the launcher's environment or arguments, no other process, no kernel memory.
. "$(dirname "$0")/../lib.sh"
levels container process
no='^(ENOENT|EACCES|EPERM|ESRCH|EIO)$'
empty='^(ok $|ok$|ENOENT|EACCES|EPERM)'

secret=cordon-canary-$RANDOM$RANDOM$RANDOM
hex=$(printf %s "$secret" | od -An -tx1 | tr -d ' \n')

# In the environment and in argv[0] of the launcher; its children inherit both.
launch() { (export TEST_SECRET="$secret" && exec -a "$secret" timeout 60 "$@"); }
like "$(export OTHER_SECRET="$secret" && exec "$PROBE" search "$hex" "/proc/$BASHPID")" "found /proc/[0-9]+/environ" "control: the search finds the environment outside"
like "$(exec -a "$secret" "$PROBE" search "$hex" "/proc/$BASHPID")" "found /proc/[0-9]+/cmdline" "control: and the arguments"
said=$(launch "$CORDON" run --level "$LEVEL" --ro "$PROBE" -- "$PROBE" search "$hex" /proc)
unlike "$said" found "the launcher's environment and arguments are nowhere under /proc"
like "$said" "searched (some|many|none)" "the search ran"
# Named one by one, since a listing may leave them out.
said=$(launch "$CORDON" run --level "$LEVEL" -- sh -c 'for p in 1 self $PPID $$; do cat /proc/$p/environ /proc/$p/cmdline /proc/$p/task/*/environ; done' 2>/dev/null | tr '\0' '\n')
unlike "$said" "$secret" "nor in the files of pid 1, the parent and itself"
said=$(launch "$CORDON" run --level "$LEVEL" -- env)
unlike "$said" "$secret" "nor in its own environment"
like "$(launch "$CORDON" run --level "$LEVEL" --pass-env TEST_SECRET -- env)" "$secret" "control: --pass-env hands it on"

# The host's processes.
background "$PROBE" sleep 100 >/dev/null
pid=$!
is "$(bare open "/proc/$pid/status" r)" ok "control: another process can be seen outside"
for what in root cwd exe; do
	like "$(bare readlink "/proc/$pid/$what")" "^ok " "control: and its $what"
done
for what in status environ cmdline root cwd exe maps mem fd ns/mnt; do
	like "$(probe open "/proc/$pid/$what" r)" "$no" "/proc/PID/$what of the host's process is not there"
done
for what in environ root root/etc cwd exe maps mem fd ns/mnt ns/user task stack syscall; do
	like "$(probe open "/proc/1/$what" r)" "$no" "/proc/1/$what cannot be opened"
done
like "$(probe readlink /proc/1/exe)" "$no" "nor where pid 1's program lies"
if [ "$LEVEL" = container ]; then
	is "$(box -- sh -c 'ls /proc | grep -x "[0-9]*" | while read -r p; do [ -e "/proc/$p/status" ] && grep -H ^Name: /proc/$p/status; done' | grep -c cordon)" 0 \
		"of cordon's processes none is listed"
	like "$(box -- sh -c 'sleep 5 & ls /proc | grep -cx "[0-9]*"')" '^[3-6]$' "of all processes its own are"
	is "$(box -- sh -c 'readlink /proc/self/root; readlink /proc/self/cwd')" $'/\n/home/agent' "its own root and directory are the box's"
fi

# Kernel memory and lists.
for what in kcore kmsg keys key-users sysrq-trigger timer_list sched_debug interrupts kallsyms kpagecount slabinfo vmallocinfo iomem; do
	[ -e "/proc/$what" ] || continue
	case $what in
	kallsyms | interrupts | sysrq-trigger | iomem) ;;
	*) [ "$ME" = user ] || [ "$what" = kmsg ] || is "$(bare open "/proc/$what" r)" ok "control: root may open /proc/$what outside" ;;
	esac
	case $what in
	kallsyms) unlike "$(probe read /proc/kallsyms)" 'ok 0*[1-9a-f][0-9a-f]* ' "/proc/kallsyms tells no address" ;;
	iomem) unlike "$(box -- cat /proc/iomem 2>/dev/null)" '[1-9a-f]+-' "/proc/iomem tells no address" ;;
	*) like "$(probe read "/proc/$what")" "$empty" "/proc/$what is empty or closed" ;;
	esac
done

# File modes already refuse an unprivileged id; the mount must refuse as well, since ids have been mistaken elsewhere.
if [ "$LEVEL" = container ]; then
	flags='import os; print(bool(os.statvfs("/proc/sys").f_flag & os.ST_RDONLY))'
	if [ "$(/usr/bin/python3 -c "$flags")" = True ]; then
		skip "control: outside, /proc/sys is mounted writable" "this host is itself a container with a read-only /proc/sys"
	else
		pass "control: outside, /proc/sys is mounted writable"
	fi
	is "$(box -- python3 -c "$flags")" True "inside, /proc/sys is mounted read-only"
fi
done_testing
