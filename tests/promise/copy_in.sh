#!/bin/bash
# --in copies what was named and nothing it points at; odd files end in an error, never in a hang; the originals stay.
. "$(dirname "$0")/../lib.sh"
levels container process
mkdir -p "$WORK/t/dir" "$WORK/secret"
echo one >"$WORK/t/file"
echo two >"$WORK/t/dir/file"
echo secret >"$WORK/secret/file"
echo lone >"$WORK/lone"
hash=$(cd "$WORK" && find . -type f -newermt 2000-01-01 ! -name '.*' -exec sha256sum {} + | sort)
is "$(box --in "$WORK/lone" -- cat lone)" lone "a file, into the home"
is "$(box --in "$WORK/lone:a/b" -- cat a/b)" lone "a file, elsewhere"
is "$(box --in "$WORK/lone:/home/agent/c" -- cat c)" lone "a file, by its whole path"
[ "$LEVEL" = process ] || is "$(box --in "$WORK/lone:/tmp/a/b" -- cat /tmp/a/b)" lone "a file, outside of the home"
is "$(box --in "$WORK/t" -- sh -c 'cat t/file t/dir/file; find t -uid "$(id -u)" | wc -l')" $'one\ntwo\n4' "a tree, for the payload's user"
is "$(box --in "$WORK/t" -- sh -c 'echo changed >t/file; rm -r t; echo changed')" changed "which may change it"
is "$(cd "$WORK" && find . -type f -newermt 2000-01-01 ! -name '.*' -exec sha256sum {} + | sort)" "$hash" "the originals are as they were"

# What is named may be a link: the copy has the name that was said.
ln -s lone "$WORK/alias"
ln -s t "$WORK/tree"
is "$(box --in "$WORK/alias" -- cat alias)" lone "a file named by a link, into the home"
is "$(cd "$WORK/secret" && box --in ../tree/ -- cat tree/file)" one "a tree named by one"
is "$(cd "$WORK/t" && box --in . -- cat t/file)" one "the directory that one is in has the name it has"
rm "$WORK/alias" "$WORK/tree"

# Links are copied as links.
ln -s "$WORK/secret/file" "$WORK/t/link"
ln -s "$WORK/secret" "$WORK/t/dirlink"
ln -s ../../../../../../../../.."$WORK/secret/file" "$WORK/t/up"
is "$(cat "$WORK/t/link" "$WORK/t/dirlink/file" "$WORK/t/up" | sort -u)" secret "control: they lead to it outside"
unlike "$(box --in "$WORK/t" -- sh -c 'cat t/link t/dirlink/file t/up; find t -type f -exec cat {} +' 2>/dev/null)" secret "what a link in it points at does not come along"
rm "$WORK/t/link" "$WORK/t/dirlink" "$WORK/t/up"
ln "$WORK/secret/file" "$WORK/t/hard"
is "$(box --in "$WORK/t" -- cat t/hard)" secret "a hardlink is the file itself"
box --in "$WORK/t" -- sh -c 'echo x >t/hard' && is "$(cat "$WORK/secret/file")" secret "of which the copy is its own"
rm "$WORK/t/hard"

# Things that are not files.
mkfifo "$WORK/t/fifo"
start=$SECONDS
refused "a FIFO in the tree is an error" box --in "$WORK/t" -- true
refused "a FIFO itself is an error" box --in "$WORK/t/fifo" -- true
ok "and no hang" test $((SECONDS - start)) -lt 20
rm "$WORK/t/fifo"
if [ "$ME" = root ]; then
	mknod "$WORK/t/zero" c 1 5
	start=$SECONDS
	refused "a device in the tree is an error" box --in "$WORK/t" -- true
	ok "and no hang" test $((SECONDS - start)) -lt 20
	rm "$WORK/t/zero"
fi
python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$WORK/t/sock"
refused "a socket in the tree is an error" box --in "$WORK/t" -- true
rm "$WORK/t/sock"

# Bounds.
truncate -s 1T "$WORK/t/sparse"
start=$SECONDS
refused "a terabyte of holes does not fit" box --in "$WORK/t" -- true
ok "and is known in time" test $((SECONDS - start)) -lt 50
rm "$WORK/t/sparse"
mkdir "$WORK/many"
touch "$WORK/many/"{1..300}
result --inodes 200 --in "$WORK/many" -- true
expect "files that do not fit are told with what would help" status=failed 'error.message=~copy in' 'error.hint=~--inodes'
is "$(box --in "$WORK/many" -- sh -c 'ls many | wc -l')" 300 "control: they do fit"
rm -r "$WORK/many"
chmod 6755 "$WORK/t/file"
is "$(box --in "$WORK/t" -- python3 -c "import os; print(oct(os.stat('t/file').st_mode))")" 0o100755 "setuid bits are left behind"
name=$(printf 'n%.0s' {1..255})
echo long >"$WORK/t/$name"
is "$(box --in "$WORK/t" -- cat "t/$name")" long "a name of 255 letters"
odd=$'a\nb *?\\x:"'
echo odd >"$WORK/t/$odd"
is "$(box --in "$WORK/t" -- cat "t/$odd")" odd "a name of odd letters"
deep=$WORK/t
for _ in {1..80}; do deep=$deep/d; done
mkdir -p "$deep"
refused "eighty directories deep is an error" box --in "$WORK/t" -- true
refused "into /proc" box --in "$WORK/lone:/proc/x" -- true
refused "over the root" box --in "$WORK/lone:/" -- true
[ "$LEVEL" = process ] || refused "into a read-only mount" box --ro "$WORK/secret:/tmp/s" --in "$WORK/lone:/tmp/s/x" -- true
ok "nothing was made there" test ! -e "$WORK/secret/x"

# With a policy the caller takes from where it allows, also when --in is all that is asked for, and fills what is the payload's own.
mkdir "$WORK/allowed"
echo given >"$WORK/allowed/file"
ln -s "$WORK/secret" "$WORK/allowed/link"
printf 'version: 1\nlevel: %s\nfiles: {allowed_read: ["%s"]}\n' "$LEVEL" "$WORK/allowed" >"$WORK/some.yaml"
printf 'version: 1\nlevel: %s\n' "$LEVEL" >"$WORK/none.yaml"
with() { # POLICY FLAG…: no other flag than --in
	local policy=$1
	shift
	timeout -k 5 60 "$CORDON" run --policy "$WORK/$policy.yaml" "$@"
}
is "$(with some --in "$WORK/allowed/file:x" -- cat x)" given "what the policy allows to be read comes in"
for path in "$WORK/secret/file" "$WORK/secret" "$WORK/allowed/../secret/file" "$WORK/allowed/link/file" "$WORK"; do
	status 126 "what it does not allow does not: ${path#"$WORK"}" with some --in "$path:x" -- sh -c 'cat x x/file x/secret/file'
	unlike "$OUT" secret "nor a word of it"
done
status 126 "a policy that allows nothing to be read" with none --in "$WORK/lone:x" -- cat x
like "$ERR" allowed_read "says what would"
is "$(box --in "$WORK/secret/file:x" -- cat x)" secret "control: without a policy the caller takes what it can read"
if [ "$LEVEL" = container ]; then
	for dest in /tmp/x /home/agent/x /cache/x; do
		is "$(with some --tmpfs /cache:1M --in "$WORK/allowed/file:$dest" -- cat "$dest")" given "and may fill ${dest%/x}"
	done
	for dest in /etc/hosts /etc/x /x /usr/x /opt/x /var/x; do
		status 126 "but not ${dest}" with some --in "$WORK/allowed/file:$dest" -- true
	done
	is "$(box --in "$WORK/allowed/file:/etc/x" -- cat /etc/x)" given "control: without a policy /etc is the caller's to fill"
fi
done_testing
