#!/bin/bash
# --out copies what was named, plain files and directories only, whole or not at all, and only to where it was told before the run.
. "$(dirname "$0")/../lib.sh"
levels container process
mkdir "$WORK/o" "$WORK/victim"
echo canary >"$WORK/canary"
echo canary >"$WORK/victim/file"
run() { # SPEC SHELL [FLAG…]
	local spec=$1 code=$2
	shift 2
	box "$@" --out "$spec" -- sh -c "$code"
}
left() { find "$WORK/o" "$WORK" -maxdepth 1 -name '.cordon*' | grep -c . || true; }

ok "a file" run "f:$WORK/o/f" 'echo hello >f; echo other >g'
is "$(cat "$WORK/o/f") $(ls "$WORK/o")" "hello f" "arrives, and nothing else"
ok "a tree" run "t:$WORK/o/t" 'mkdir -p t/sub; echo a >t/a; echo b >t/sub/b'
is "$(cat "$WORK/o/t/a" "$WORK/o/t/sub/b" | xargs)" "a b" "arrives"
is "$(stat -c %u "$WORK/o/f" "$WORK/o/t/sub/b" | sort -u)" "$(id -u)" "and is the caller's"
ok "a tree that may not be written" run "w:$WORK/o/w" 'mkdir -p w/sub; echo a >w/a; echo b >w/sub/b; chmod 555 w/sub w'
is "$(cat "$WORK/o/w/a" "$WORK/o/w/sub/b" | xargs) $(stat -c %a "$WORK/o/w" "$WORK/o/w/sub" | xargs)" "a b 555 555" "arrives as it was"
chmod 755 "$WORK/o/w" "$WORK/o/w/sub"
ok "it replaces a file" run "f:$WORK/o/f" 'echo again >f'
is "$(cat "$WORK/o/f")" again "whole"
ok "a non-zero exit does not matter" run "f:$WORK/o/f2" 'echo x >f; exit 0'
run "f:$WORK/o/f3" 'echo x >f; exit 3'
is "$? $(cat "$WORK/o/f3")" "3 x" "it is copied out, and the status is the payload's"

# Things that are not files, in a tree and alone.
for what in 'ln -s /etc/passwd' 'ln -s /proc/1/environ' "ln -s $WORK/canary" mkfifo; do
	name=${what%% *}
	run "x:$WORK/o/x" "$what x" >/dev/null 2>&1
	ok "$what alone: nothing arrives" test ! -e "$WORK/o/x" -a ! -L "$WORK/o/x"
	start=$SECONDS
	run "d:$WORK/o/d" "mkdir d; echo a >d/a; $what d/x" >/dev/null 2>&1
	ok "$what in a tree: it is left behind" test ! -e "$WORK/o/d/x" -a ! -L "$WORK/o/d/x"
	ok "$name: and no hang" test $((SECONDS - start)) -lt 20
	rm -rf "$WORK/o/d"
done
for what in 'ln -s /etc/passwd x' 'mkfifo x'; do
	result --out "x:$WORK/o/x" -- sh -c "$what"
	expect "${what%% *}: the error says what it is about" error.code=denied 'error.message=~left behind: only files and directories are copied, no links$'
	result --out "d:$WORK/o/d" -- sh -c "mkdir d; cd d; $what"
	expect "${what%% *}: in a tree, too" error.code=denied 'error.message=~left behind: only files and directories are copied, no links$'
	rm -rf "$WORK/o/d"
done
run "l/f:$WORK/o/through" "mkdir real; echo x >real/f; ln -s real l" >/dev/null 2>&1
ok "not through a link" test ! -e "$WORK/o/through"
for path in /proc/self/status /proc/1/environ /dev/zero /dev/fd/0 /etc/../proc/version; do
	timeout 60 "$CORDON" run --level "$LEVEL" --out "$path:$WORK/o/p" -- true >/dev/null 2>&1
	case $path in /dev/*) ok "$path does not arrive" test ! -s "$WORK/o/p" ;; *) unlike "$(cat "$WORK/o/p" 2>/dev/null)" "cordon-keeper|$HOME" "$path tells nothing of the keeper" ;; esac
	rm -rf "$WORK/o/p"
done
result --out "nothing-there:$WORK/o/n" -- true
like "$(field error.message)" nothing-there "what is not there is told"

# Bounds: whole or not at all.
start=$SECONDS
result --file-size 2T --out "s:$WORK/o/s" -- truncate -s 1T s
ok "a terabyte of holes: not at all" test ! -e "$WORK/o/s"
ok "in time" test $((SECONDS - start)) -lt 60
like "$(field error.message)" 's' "and told"
result --file-size 2T --out "d:$WORK/o/d" -- sh -c 'mkdir d; echo a >d/a; truncate -s 1T d/b; echo c >d/c'
ok "in a tree: the tree not at all" test ! -e "$WORK/o/d"
is "$(left)" 0 "nothing half-written is left"
run "h:$WORK/o/h" 'mkdir h; echo x >h/a; ln h/a h/b' && is "$(stat -c %h "$WORK/o/h/a") $(cat "$WORK/o/h/b")" "1 x" "hardlinks become files of their own"
name=$(printf 'n%.0s' {1..255})
ok "a name of 255 letters" run "d:$WORK/o/long" "mkdir d; echo x >d/$name"
is "$(cat "$WORK/o/long/$name")" x "arrives"
run "deep:$WORK/o/deep" 'd=deep; for i in $(seq 100); do d=$d/d; done; mkdir -p $d; echo x >$d/f' >/dev/null 2>&1
is "$(left)" 0 "a hundred directories deep leaves nothing half-written"
run "m:$WORK/o/m" 'echo x >m; chmod 0777 m; chmod 6777 m 2>/dev/null'
is "$(find "$WORK/o" -perm /6000)" "" "no setuid bit arrives"
ok "a tree that nobody may write to" run "d:$WORK/o/shut" 'mkdir -p d/sub; echo a >d/a; echo b >d/sub/b; chmod 500 d/sub; chmod 555 d'
is "$(cat "$WORK/o/shut/a" "$WORK/o/shut/sub/b" | xargs) $(stat -c %a "$WORK/o/shut" "$WORK/o/shut/sub" | xargs)" "a b 555 500" "arrives whole, with its modes"
chmod -R u+w "$WORK/o/shut"

# Only what is the box's own can be copied out.
for path in /etc/shadow "$WORK/canary" "../../..$WORK/canary"; do
	timeout 60 "$CORDON" run --level "$LEVEL" --out "$path:$WORK/o/p" -- true >/dev/null 2>&1
	ok "$path of the host does not arrive" test ! -e "$WORK/o/p"
done

# Targets.
ln -s "$WORK/canary" "$WORK/o/link"
run "f:$WORK/o/link" 'echo owned >f' >/dev/null 2>&1
is "$(cat "$WORK/canary")" canary "a link at the target is not followed"
ln -s "$WORK/not-there" "$WORK/o/dangling"
run "f:$WORK/o/dangling" 'echo owned >f' >/dev/null 2>&1
ok "nor a dangling one" test ! -e "$WORK/not-there"
ok "both links are still there" test -L "$WORK/o/link" -a -L "$WORK/o/dangling"
mkfifo "$WORK/o/fifo"
[ "$ME" = user ] || mknod "$WORK/o/null" c 1 3
for name in link fifo null; do
	[ -e "$WORK/o/$name" ] || continue
	result --out "f:$WORK/o/$name" -- sh -c 'echo owned >f'
	is "$RESULT_STATUS $(field error.code)" "125 denied" "a target that is a $name is refused"
	ok "and left alone" test -L "$WORK/o/$name" -o -p "$WORK/o/$name" -o -c "$WORK/o/$name"
done
mkdir "$WORK/o/full"
echo x >"$WORK/o/full/x"
run "f:$WORK/o/full" 'echo owned >f' >/dev/null 2>&1
is "$(cat "$WORK/o/full/x")" x "a directory at the target is left alone"
refused "a target whose directory is missing" run "f:$WORK/o/missing/f" 'echo x >f'

# The payload may write the directory that the target lies in, and swaps it for a link.
if can_rw; then
	m() { if [ "$LEVEL" = container ]; then echo /m; else echo "$1"; fi; }
	rw() { if [ "$LEVEL" = container ]; then echo "$1:/m"; else echo "$1"; fi; }
	mkdir -p "$WORK/p/sub" "$WORK/q/a/b"
	at=$(m "$WORK/p")
	run "f:$WORK/p/sub/file" "echo owned >f; mv $at/sub $at/old; ln -s $WORK/victim $at/sub" --rw "$(rw "$WORK/p")" --workdir /home/agent >/dev/null 2>&1
	ok "control: the payload swapped it" test -L "$WORK/p/sub"
	is "$(cat "$WORK/victim/file")" canary "a directory swapped for a link by the payload leads nowhere"
	is "$(ls -A "$WORK/victim")" file "and nothing is made there"
	at=$(m "$WORK/q")
	run "d:$WORK/q/a/b/victim" "mkdir d; echo owned >d/file; rm -rf $at/a/b; ln -s $WORK $at/a/b" --rw "$(rw "$WORK/q")" --workdir /home/agent >/dev/null 2>&1
	ok "control: and one further up" test -L "$WORK/q/a/b"
	is "$(cat "$WORK/victim/file")" canary "nor does that"

	# What an earlier run left in the directory is as good as what this one does.
	mkdir -p "$WORK/e/real"
	ln -s e "$WORK/spelling"
	ln -s e/build "$WORK/chain"
	at=$(m "$WORK/e")
	box --rw "$(rw "$WORK/e")" --workdir /home/agent -- sh -c "ln -s $WORK/victim $at/build; ln -s . $at/dot; ln -s ../victim $at/real/rel"
	ok "control: an earlier run left links" test -L "$WORK/e/build" -a -L "$WORK/e/real/rel"
	for target in "$WORK/e/build/result" "$WORK/e/dot/build/result" "$WORK/e/real/../build/result" "$WORK/e/real/rel/result" \
		"$WORK/spelling/build/result" "$WORK/chain/result" "$WORK/./e//build/result"; do
		run "f:$target" 'echo owned >f' --rw "$(rw "$WORK/e")" --workdir /home/agent >/dev/null 2>&1
		is "$(ls -A "$WORK/victim")" file "nothing is written through them: ${target#"$WORK/"}"
		rm -f "$WORK/victim/result"
	done
	for dir in e spelling; do
		(cd "$WORK/$dir" && run "f:build/result" 'echo owned >f' --rw "$(rw "$WORK/e")" --workdir /home/agent) >/dev/null 2>&1
		is "$(ls -A "$WORK/victim")" file "nor from within $dir"
		rm -f "$WORK/victim/result"
		(cd "$WORK/$dir" && run "f:build/result" 'echo owned >f' --rw . --workdir /home/agent) >/dev/null 2>&1
		is "$(ls -A "$WORK/victim")" file "nor with --rw . there"
		rm -f "$WORK/victim/result"
	done
	ok "control: a real directory there" run "f:$WORK/e/real/result" 'echo x >f' --rw "$(rw "$WORK/e")" --workdir /home/agent
	is "$(cat "$WORK/e/real/result")" x "gets it"
	ok "control: where payloads do not write, a link is the caller's own" run "f:$WORK/spelling/real/other" 'echo x >f'
	is "$(cat "$WORK/e/real/other")" x "and followed"
fi
# Several at a time into one directory: each has its own unfinished file. --pids: at process level without a cgroup all that the user runs counts.
mkdir "$WORK/many"
for i in 1 2 3 4 5 6; do
	run "f:$WORK/many/$i" "head -c 2000000 /dev/zero | tr '\\0' $i >f" --pids 2000 >"$WORK/many.$i" 2>&1 &
	runs[i]=$!
done
for i in 1 2 3 4 5 6; do
	wait "${runs[i]}"
	is "$? $(cat "$WORK/many.$i")" "0 " "one of six at a time ends well"
	is "$(head -c 1 "$WORK/many/$i") $(tr -d "$i" <"$WORK/many/$i" | wc -c) $(stat -c %s "$WORK/many/$i")" "$i 0 2000000" "and has its own"
done
is "$(find "$WORK/many" -name '.cordon*')" "" "nothing unfinished is left there"
is "$(left)" 0 "nothing half-written is left"
# What a killed caller left unfinished goes with the next one; what one that lives has under way, and what is none of ours, stays.
mkdir "$WORK/swept"
boot=$(cut -c 1-8 /proc/sys/kernel/random/boot_id)
touch "$WORK/swept/.cordon-out-0-cordon-4194303-1-$boot" "$WORK/swept/.cordon-out-cordon-4194303-1-00000000" "$WORK/swept/.cordon-out-7-cordon-$$-999999999999-$boot" \
	"$WORK/swept/.cordon-out-notes" "$WORK/swept/.cordon-out-8-cordon-4194303-1-00000000-effffffc"
touch -d '2 hours ago' "$WORK/swept/.cordon-out-cordon-4194303-1-00000000"
box --out "x:$WORK/swept/x" -- sh -c 'echo x >x' >/dev/null 2>&1
is "$(ls -A "$WORK/swept" | paste -sd' ')" ".cordon-out-7-cordon-$$-999999999999-$boot .cordon-out-8-cordon-4194303-1-00000000-effffffc .cordon-out-notes x" \
	"what dead callers left is removed, and nothing else: not what another machine may be at work on"
done_testing
