#!/bin/bash
# A fork bomb ends at its deadline, whole: nobody who forks faster than he is killed is left.
. "$(dirname "$0")/../lib.sh"
levels container process
mark=bomb-$BASHPID-$RANDOM
cat >"$WORK/bomb.py" <<'END'
import os
while True:
    try:
        os.fork()
    except OSError:
        pass
END
left() { pgrep -f "python3 .*$mark" | wc -l; }
/usr/bin/python3 -c 'import time; time.sleep(30)' "$mark" &
control=$!
sleep 0.5
is "$(left)" 1 "control: what carries the mark is found"
kill "$control"
wait "$control" 2>/dev/null
out=$(box --json --pids 40 --timeout 2s --in "$WORK/bomb.py:bomb.py" --workdir /home/agent -- python3 bomb.py "$mark")
like "$(json status <<<"$out")" "^(timeout|resource_exceeded)$" "the bomb is ended"
is "$(left)" 0 "and nothing of it is left"
done_testing
