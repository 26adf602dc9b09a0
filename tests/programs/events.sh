#!/bin/bash
# What asynchronous runtimes stand on works in a box: epoll with eventfd, timerfd, signalfd, pidfds, socketpairs that carry fds; at
# container level also inotify, and sockets with pathname, abstract and loopback addresses.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
levels container process
has gcc gcc || done_testing

ok "the program is built" gcc -O1 -Wall -pthread -o "$WORK/events" "$TOP/tests/programs/events.c"
all=$'eventfd\ntimerfd\nsignalfd\npidfd\nmemfd\nsocketpair'
is "$("$WORK/events" 2>&1)" "$all" "control: it works outside"
works "epoll, eventfd, timerfd, signalfd, pidfd, memfd, socketpair" "$all" --ro "$WORK/events" -- "$WORK/events"
if here; then
	works "inotify, unix sockets by path and by abstract name, and TCP on loopback" "$all"$'\ninotify\npathname\nabstract\nloopback' --ro "$WORK/events" -- \
		"$WORK/events" sockets
fi
done_testing
