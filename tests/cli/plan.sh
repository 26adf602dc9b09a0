#!/bin/bash
# cordon plan says what would be done, and touches nothing.
. "$(dirname "$0")/../lib.sh"
levels container
need python3
mkdir "$WORK/project" "$WORK/out"
flags=(--rw "$WORK/project:/project" --protect .git/hooks/ --memory 64M --storage disk --in "$TOP/Makefile:/home/agent/Makefile" --out "/home/agent/x:$WORK/out/x")
status 0 "plan" "$CORDON" plan "${flags[@]}" -- echo hello
like "$OUT" 'level +container' "tells the level"
like "$OUT" 'seccomp' "the layers"
like "$OUT" '64 MiB' "the limits"
like "$OUT" "/project.*$WORK/project" "the mounts"
like "$OUT" 'PATH=' "the environment"
like "$OUT" 'echo hello' "the command"
like "$OUT" '(cgroup|watch)' "where limits come from"
status 0 "plan --json" "$CORDON" plan --json "${flags[@]}" -- echo hello
ok "is JSON" python3 -c 'import json, sys; r = json.loads(sys.argv[1]); assert r["level"] == "container", r' "$OUT"
status 0 "plan code" "$CORDON" plan code python -e 'print(1)'
like "$OUT" 'python3' "names the interpreter"
printf 'version: 1\nnetwork:\n  allow:\n    - {host: api.example.com, methods: [GET, HEAD], paths: ["/v1/*"]}\n    - a.example.org\n' >"$WORK/net.yaml"
status 0 "plan of rules that speak of requests" "$CORDON" plan --policy "$WORK/net.yaml" -- true
like "$OUT" 'api.example.com, only GET HEAD of /v1/\*' "tells methods and paths"
like "$OUT" $'\n  a.example.org\n' "control: and nothing more where a rule says nothing more"
like "$("$CORDON" plan -- true)" 'uid 1000 inside' "the user's id is told"
user_line=$("$CORDON" plan --engine docker --image x -- true | grep ^user)
unlike "$user_line" 1000 "of an engine without a user namespace, not the one that its boxes do not have"
like "$user_line" 'the same inside and on the host' "but that there is one"
# ---- what Docker's users type ----
while read -r flag want; do
	status 125 "$flag" "$CORDON" run "$flag" -- true
	like "$ERR" "no such flag: $flag.*hint: .*$want" "is told what it is here"
done <<-'END'
	--volume --rw
	--network --net
	-it --tty
	-e --env
	-w --workdir
	-m --memory
	-u --user
	--rm outlives
	--name outlives
	--privileged such
END
status 125 "-v PATH:PATH" "$CORDON" run -v /src:/dst -- true
like "$ERR" "hint: .*--ro /src:/dst and --rw /src:/dst" "is told what it is here"
status 0 "control: -v is --verbose" "$CORDON" run -v true
status 127 "plan of what is not there" "$CORDON" plan code nolang -e 1
status 126 "plan of what is forbidden" "$CORDON" plan --ro /etc -- true
is "$(find "$WORK/project" "$WORK/out" -mindepth 1)" "" "no placeholder, no file"
if command -v strace >/dev/null; then
	strace -f -qq -o "$WORK/trace" "$CORDON" plan "${flags[@]}" -- echo hello >/dev/null 2>&1
	writing() { # calls that change something; openat only where it may create or write
		grep -E '^[0-9]+ +(mount|move_mount|fsopen|fsmount|open_tree|mount_setattr|umount2|pivot_root|mkdir|mkdirat|rmdir|unlink|unlinkat|rename|renameat2?|link|linkat|symlink|symlinkat|mknod|mknodat|chmod|fchmod|fchmodat|chown|fchown|fchownat|truncate|ftruncate|sethostname|unshare|setns|clone3?|fork|vfork|bpf|keyctl|ioctl|kill)\(' "$1"
		grep -E 'openat2?\(.*(O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|O_APPEND)' "$1" | grep -v /dev/null
		grep -E '^[0-9]+ +(write|pwrite64|sendmsg|sendto)\(' "$1" | grep -vE 'write\((1|2),'
	}
	is "$(writing "$WORK/trace")" "" "strace sees no call that changes anything"
	strace -f -qq -o "$WORK/trace2" "$CORDON" run "${flags[@]:0:4}" -- true >/dev/null 2>&1
	isnt "$(writing "$WORK/trace2")" "" "control: a run does make such calls"
else
	skip "strace sees no call that changes anything" "there is no strace"
fi
done_testing
