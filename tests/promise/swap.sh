#!/bin/bash
# A process that swaps a directory and a link while boxes start, again and again: what is forbidden is never read nor written.
. "$(dirname "$0")/../lib.sh"
levels container process
seconds=${RACE_SECONDS:-$([ "${CORDON_FULL:-0}" = 1 ] && echo 6 || echo 2)}
export HOME=$WORK/home
secret=$HOME/.ssh
mkdir -p "$secret/x" "$WORK/p/x" "$WORK/p/a/x" "$WORK/p/tree" "$WORK/p/dest/sub" "$WORK/given"
for dir in "$secret" "$secret/x"; do echo secret >"$dir/canary"; done
chmod -R a+rwX "$HOME"
echo plain >"$WORK/p/x/canary"
echo plain >"$WORK/p/a/x/canary"
echo given >"$WORK/given/canary"
is "$(bare read "$secret/canary")" "ok secret" "control: the secret can be read outside"
how=--ro
! can_rw || how=--rw
files=$(find "$HOME" | wc -l)

# race NAME FLAGS… -- COMMAND…: as many starts as fit, two at a time; counts what they said.
race() {
	local title=$1 n
	shift
	rm -f "$WORK"/said.* "$WORK"/starts.*
	for loop in 1 2; do
		(
			end=$((SECONDS + seconds)) n=0
			while [ "$SECONDS" -lt "$end" ] || { [ $n -lt 15 ] && [ "$SECONDS" -lt $((end + 20)) ]; }; do
				timeout 20 "$CORDON" run --level "$LEVEL" --ro "$PROBE" "$@" >>"$WORK/said.$loop" 2>/dev/null
				n=$((n + 1))
			done
			echo $n >"$WORK/starts.$loop"
		) &
	done
	wait
	n=$(($(cat "$WORK/starts.1") + $(cat "$WORK/starts.2")))
	note "$title: $n starts: $(cat "$WORK"/said.* | sort | uniq -c | sort -rn | head -4 | xargs)"
	unlike "$(cat "$WORK"/said.*)" secret "$title: the secret was never read"
	is "$(cat "$secret/canary" "$secret/x/canary" | sort -u)" secret "$title: nor written"
	is "$(find "$HOME" | wc -l)" "$files" "$title: nothing was made beside it"
	[ "$n" -ge 20 ] || fail "$title: too few starts to tell: $n"
}
swapper() { # A B
	"$PROBE" swap "$1" "$2" 600 >/dev/null 2>&1 &
	swapping=$!
	disown "$swapping"
	defer kill "$swapping"
}
stop() {
	kill "$swapping"
	until_true 5 not_alive
}
not_alive() { ! kill -0 "$swapping"; }

# The source itself.
ln -s "$secret" "$WORK/p/link"
swapper "$WORK/p/x" "$WORK/p/link"
spec=$WORK/p/x seen=$WORK/p/x
[ "$LEVEL" = process ] || spec=$WORK/p/x:/m seen=/m
race "the source" $how "$spec" -- sh -c "'$PROBE' read $seen/canary; '$PROBE' write $seen/canary changed"
stop
like "$(cat "$WORK"/said.*)" 'plain|changed' "control: the race was won by the directory at times"

# A directory on the way to it.
ln -s "$secret" "$WORK/p/up"
swapper "$WORK/p/a" "$WORK/p/up"
spec=$WORK/p/a/x seen=$WORK/p/a/x
[ "$LEVEL" = process ] || spec=$WORK/p/a/x:/m seen=/m
race "a parent of the source" $how "$spec" -- "$PROBE" read "$seen/canary"
stop
if [ "$LEVEL" = process ]; then done_testing; fi

# What is copied in.
echo plain >"$WORK/p/tree/f"
ln -s "$secret/canary" "$WORK/p/f-link"
swapper "$WORK/p/tree/f" "$WORK/p/f-link"
race "a file that is copied in" --in "$WORK/p/tree:/tmp/tree" -- sh -c 'cat /tmp/tree/f'
stop
mkdir -p "$WORK/p/tree2/sub"
echo plain >"$WORK/p/tree2/sub/canary"
ln -s "$secret" "$WORK/p/s-link"
swapper "$WORK/p/tree2/sub" "$WORK/p/s-link"
race "a directory that is copied in" --in "$WORK/p/tree2:/tmp/tree" -- sh -c 'cat /tmp/tree/sub/canary'
stop
# The place of a mount in a writable mount.
ln -s /etc "$WORK/p/d-link"
swapper "$WORK/p/dest/sub" "$WORK/p/d-link"
race "the place of a mount" --rw "$WORK/p/dest:/m" --ro "$WORK/given:/m/sub" -- sh -c 'test ! -e /etc/canary || echo secret: mounted over /etc'
stop
# A directory of a root.
mkdir -p "$WORK/p/root/bin" "$WORK/p/root/etc"
cp "$PROBE" "$WORK/p/root/bin/probe"
ln -s "$secret" "$WORK/p/e-link"
swapper "$WORK/p/root/etc" "$WORK/p/e-link"
race "a directory of files.root" --root "$WORK/p/root" -- /bin/probe read /etc/canary
stop
done_testing
