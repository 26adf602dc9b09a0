#!/bin/bash
# When the host itself replaces a protected file, the kernel lifts the box's mount with it: the box is ended rather than left unprotected.
. "$(dirname "$0")/../lib.sh"
levels container
mkdir -p "$WORK/p/.git"
echo ours >"$WORK/p/.git/config"
payload='for i in $(seq 100); do echo theirs 2>/dev/null >.git/config; touch x; rm x; sleep 0.1; [ -e stop ] && exit 0; done; exit 9'

(sleep 1 && touch "$WORK/p/stop") &
ok "control: left alone on the host, the run goes on to its end" box --rw "$WORK/p" --protect .git/config --workdir "$WORK/p" -- sh -c "$payload"
wait
is "$(cat "$WORK/p/.git/config")" ours "and the file is what it was"
rm -f "$WORK/p/stop"

(sleep 1 && echo new >"$WORK/p/.git/next" && mv "$WORK/p/.git/next" "$WORK/p/.git/config") &
out=$(box --json --rw "$WORK/p" --protect .git/config --workdir "$WORK/p" -- sh -c "$payload")
wait
is "$(json status <<<"$out")" cancelled "replaced on the host, the run is ended"
like "$(json error.message <<<"$out")" "was replaced on the host" "and says why"
done_testing
