#!/bin/bash
# Files in and out, environment, working directory, patterns: the happy ways and the refusals.
. "$(dirname "$0")/../lib.sh"
levels container
works_here || skip_all "no boxes of level $LEVEL here"
cd "$WORK" || exit 1
mkdir -p tree/sub
echo one >tree/a
echo two >tree/sub/b
ln -s a tree/link
echo data >data.csv

# ---- in and out ----
status 0 "--in and --out of a file" box --in data.csv:/tmp/d.csv --out /tmp/out.txt:result.txt -- sh -c 'sed s/data/DATA/ /tmp/d.csv >/tmp/out.txt'
is "$(cat result.txt 2>/dev/null)" DATA "the file came out"
is "$(cat data.csv)" data "the original is untouched"
status 0 "--in without DEST" box --in data.csv -- sh -c 'cat data.csv || cat ~/data.csv'
is "$OUT" data "lands in the home"
status 0 "--in and --out of a tree" box --in tree:/tmp/t --out /tmp/t:copy -- sh -c 'echo new >/tmp/t/sub/c; rm /tmp/t/link'
is "$(cd copy 2>/dev/null && find . -type f | sort | tr '\n' ' ')" "./a ./sub/b ./sub/c " "all of it"
is "$(stat -c %u copy/sub/c 2>/dev/null)" "$(id -u)" "and it belongs to the caller"
status 0 "--in of a tree with a link" box --in tree:/tmp/t -- sh -c 'cat /tmp/t/link'
is "$OUT" one "keeps the link inside"
box --out /tmp/none:none.txt -- true >/dev/null 2>"$WORK/err"
isnt "$?" 0 "--out of what is not there is told"
like "$(cat "$WORK/err")" '/tmp/none' "by name"
ok "and leaves nothing" test ! -e none.txt
box --out /tmp/l:l.txt -- ln -s /etc/passwd /tmp/l >/dev/null 2>&1
ok "a symbolic link does not come out" test ! -e l.txt
echo before >kept.txt
status 0 "--out over an existing file" box --out /tmp/x:kept.txt -- sh -c 'echo after >/tmp/x'
is "$(cat kept.txt)" after "replaces it"
status 3 "--out after a failure of the payload" box --out /tmp/x:failed.txt -- sh -c 'echo partial >/tmp/x; exit 3'
is "$(cat failed.txt 2>/dev/null)" partial "still comes out"
is "$(find . -name '.cordon-out-*')" "" "nothing half-written is left"
refused "--in of what is not there is refused" box --in nothing-here -- true

# ---- mounts and the working directory ----
status 0 "--ro" box --ro tree:/data -- cat /data/a
is "$OUT" one "reads"
refused "and cannot be written" box --ro tree:/data -- sh -c 'echo x >/data/a'
chmod 777 tree
status 0 "--rw" box --rw tree:/data -- sh -c 'echo x >/data/new'
is "$(stat -c %u tree/new 2>/dev/null)" "$(id -u)" "files belong to the caller"
status 0 "the caller's directory is the working directory if the box has it" box --rw "$WORK/tree" -- pwd
is "$OUT" /home/agent "control: not when it is another"
cd tree || exit 1
status 0 "from within" box --rw "$WORK/tree" -- pwd
is "$OUT" "$WORK/tree" "it is"
cd ..
status 0 "--workdir" box --workdir /usr/bin -- pwd
is "$OUT" /usr/bin "is taken"
box --workdir /nowhere -- pwd >/dev/null 2>"$WORK/err"
isnt "$?" 0 "--workdir that is not there is refused"
like "$(cat "$WORK/err")" '/nowhere' "by name"
status 0 "--user" box --user worker -- sh -c 'id -un; echo "$HOME"'
is "$OUT" $'worker\n/home/worker' "names the user"
refused "--user root is refused" box --user root -- true

# ---- environment ----
status 0 "the environment is empty but for four" env SECRET=s FOO=bar "$CORDON" run -- env
is "$(echo "$OUT" | cut -d= -f1 | sort | tr '\n' ' ')" "HOME LANG PATH TERM " "and these are they"
status 0 "--env and --pass-env" env FOO=bar BAZ=qux "$CORDON" run --env A=1 --env B='x y=z' --pass-env FOO --env BAZ -- sh -c 'echo "$A,$B,$FOO,$BAZ"'
is "$OUT" "1,x y=z,bar,qux" "pass what is named"
refused "--env without a name" box --env =x -- true

# ---- patterns ----
for line in 'rm -rf /' 'sudo ls' 'echo x | sh' 'mkfs.ext4 /dev/sda' 'printenv'; do
	status 126 "'$line' is refused" box -- sh -c "$line"
done
status 0 "control: an ordinary line is not" box -- sh -c 'rm -rf /tmp/x; echo fine'
status 126 "behind options" box -- bash -e -o pipefail -c 'sudo ls'
like "$ERR" 'hint: nobody can become root' "with the reason"
status 126 "among them" box -- sh -ec 'curl x | sh'
like "$ERR" 'hint: it runs what nobody has looked at' "each with its own"
status 126 "as a program text of one line" "$CORDON" code --level "$LEVEL" bash -e 'sudo ls'
status 0 "control: a word behind the line is no line" box -- sh -c 'echo fine' sudo
status 0 "control: a script is its author's" "$CORDON" code --level "$LEVEL" sh -e $'# sudo\necho fine'
printf 'version: 1\nprocess: {refuse_patterns: ["forbidden-word"]}\n' >p.yaml
status 126 "patterns of the policy" "$CORDON" run --policy ./p.yaml -- sh -c 'echo forbidden-word'
like "$ERR" 'forbidden-word' "are named"
printf 'version: 1\nprocess: {refuse_patterns: []}\n' >q.yaml
status 0 "control: an empty list refuses nothing" "$CORDON" run --policy ./q.yaml -- sh -c 'printenv HOME'
done_testing
