#!/bin/bash
# Modes, times, owners and attributes of files outside, or in what is given read-only, are as they were; a payload's own it can change.
. "$(dirname "$0")/../lib.sh"
levels container process
# coreutils' stat asks in a way that an old gVisor does not know: there the boxes have one that asks as always.
if [ "$ENGINE" = runsc ]; then
	mkdir "$WORK/tools"
	cat >"$WORK/tools/stat" <<-'PY'
		#!/usr/bin/python3
		import os, sys
		for path in sys.argv[3:]:
		    s = os.lstat(path)
		    print(sys.argv[2].replace("%a", "%o" % (s.st_mode & 0o7777)).replace("%X", str(int(s.st_atime))).replace("%Y", str(int(s.st_mtime))))
	PY
	chmod 755 "$WORK/tools" "$WORK/tools/stat"
	box() { timeout -k 5 60 "$CORDON" run --level "$LEVEL" --ro "$WORK/tools:/opt/tools" --env PATH=/opt/tools:/usr/bin:/bin "$@"; }
fi
no='^(EROFS|EACCES|EPERM|ENOENT|ENOTSUP|EOPNOTSUPP)$'
mkdir "$WORK/outside" "$WORK/ro" "$WORK/rw"
echo canary >"$WORK/outside/file"
echo canary >"$WORK/ro/file"
# As root the payload has another id: what it would own, if a mode alone were the wall, is what everybody may write.
canaries=("$WORK/outside" "$WORK/outside/file" "$WORK/ro" "$WORK/ro/file")
chmod 640 "$WORK/outside/file" "$WORK/ro/file"
chmod 755 "$WORK/outside" "$WORK/ro"
setfattr -n user.kept -v 1 "$WORK/outside/file" "$WORK/ro/file" 2>/dev/null
touch -d 2020-01-02 "${canaries[@]}"
look() { stat -c '%n %a %u %g %y' "${canaries[@]}" && getfattr -d --absolute-names "${canaries[@]}" 2>/dev/null; }
before=$(look)
PROBE_FLAGS=(--ro "$WORK/ro")

modes=(chmod fchmod fchmodat fchmodat2 chmod-high chmod-path)
times=(utime utimes futimesat utimensat futimens touch)
above=()
[ "$LEVEL" = container ] || above=("$(dirname "$WORK")") # in a container /tmp is the box's own
for file in "${canaries[@]}" "${above[@]}"; do
	for act in "${modes[@]}"; do
		said=$(probe "$act" "$file" 0777)
		[ "$said" = ENOSYS ] || like "$said" "$no" "$act of ${file#"$WORK"/} is refused"
	done
	for act in "${times[@]}" chown lchown fchownat; do
		like "$(probe "$act" "$file")" "$no" "$act of ${file#"$WORK"/} is refused"
	done
	like "$(probe setxattr "$file" user.x)" "$no" "setxattr of ${file#"$WORK"/} is refused"
	like "$(probe removexattr "$file" user.kept)" "$no" "removexattr of ${file#"$WORK"/} is refused"
done
is "$(look)" "$before" "all of them are as they were"

# The control: outside the very same acts succeed.
echo own >"$WORK/own"
here=()
for act in "${modes[@]}"; do
	said=$(bare "$act" "$WORK/own" 0711)
	[ "$said" = ENOSYS ] && continue # an older kernel
	is "$said" ok "control: $act outside"
	here+=("$act")
done
for act in "${times[@]}" chown lchown fchownat; do
	is "$(bare "$act" "$WORK/own")" ok "control: $act outside"
done

# What is its own it can change: in the private directory, and in what is given writable.
own() { # FLAG… -- DIR: every act, then the mode and the time
	local dir=${*: -1} act
	set -- "${@:1:$#-2}"
	for act in "${here[@]}"; do
		is "$(box "$@" --ro "$PROBE" -- sh -c "cd $dir && echo x >f && $PROBE $act f 0711 && stat -c %a f" 2>&1 | tr '\n' ' ')" "ok 711 " "$act of its own"
	done
	for act in utime utimes futimesat utimensat futimens; do
		is "$(box "$@" --ro "$PROBE" -- sh -c "cd $dir && echo x >f && $PROBE $act f && stat -c '%X %Y' f" 2>&1 | tr '\n' ' ')" "ok 1 2 " "$act of its own"
	done
	is "$(box "$@" -- sh -c "cd $dir && touch -d 2001-01-01 f && touch f && [ \$(stat -c %Y f) -gt 1500000000 ] && echo now")" now "touch without a time"
	is "$(box "$@" -- sh -c "cd $dir && mkdir -p d/e && chmod 1770 d/e && stat -c %a d/e && cd d/e && chmod 700 . ../../d && stat -c %a . .." | tr '\n' ' ')" "1770 700 700 " "directories, relative paths"
	is "$(box "$@" -- sh -c "cd $dir && echo x >f && ln -sf f l && touch -h -d @5 l && chmod 640 l && stat -c %Y l && stat -c %a f" | tr '\n' ' ')" "5 640 " "through a link, and the link itself"
	is "$(box "$@" --ro "$PROBE" -- sh -c "cd $dir && mkdir -p d && echo x >d/g && $PROBE chmod-dir d g 0604 && stat -c %a d/g" | tr '\n' ' ')" "ok 604 " "from a directory that is open"
	is "$(box "$@" --ro "$PROBE" -- sh -c "cd $dir && echo x >f; $PROBE chmod none 0600; $PROBE utimensat none; $PROBE chmod f/x 0600")" $'ENOENT\nENOENT\nENOTDIR' "what is not there is not there"
}
own -- .
if can_rw; then
	own --rw "$WORK/rw" -- "$WORK/rw"
	is "$(stat -c %a "$WORK/rw/f")" 640 "the host sees it"
	echo one >"$WORK/single"
	is "$(box --rw "$WORK/single" -- sh -c "chmod 604 $WORK/single && stat -c %a $WORK/single")" 604 "a file that is given by itself"
fi
result -- sh -c 'set -e; echo x >a; chmod 600 a; touch -d @7 a; cp -a a b; cp -p a c; mkdir d; tar cf t a b; tar xf t -C d; install -m 711 a i; stat -c "%a %Y" b c d/a i | cut -d" " -f1'
expect "cp -a, tar, install: no denial" status=success $'stdout=600\n600\n600\n711\n' 'denials=[]'
if command -v gcc >/dev/null && { [ -z "${CORDON_ENGINE_IMAGE:-}" ] || box -- sh -c "command -v gcc" >/dev/null; }; then
	is "$(printf '#include <stdio.h>\nint main(void) { puts("built"); }\n' | box -- sh -c 'gcc -x c - -o a && ./a')" built "what gcc builds can be run"
fi
echo 'import os, shutil
open("a", "w").write("x"); os.chmod("a", 0o640); os.utime("a", (1, 2)); shutil.copy2("a", "b"); os.mkdir("d", 0o700); shutil.copytree("d", "e")
print(oct(os.stat("b").st_mode), os.stat("b").st_mtime)' >"$WORK/p.py"
is "$(box --ro "$WORK/p.py" -- python3 "$WORK/p.py")" "0o100640 2.0" "python: chmod, utime, copy2, copytree"

if [ "$LEVEL" = process ]; then
	# Persistent harm: the directories above the private one.
	scratch=$(box -- sh -c 'pwd')
	[ -n "$scratch" ] || fail "the private directory has no path"
	defer chmod 711 "$(dirname "$(dirname "$scratch")")" # were it not so, no later box of this user would start
	# shellcheck disable=SC2016 # the box's own directory
	is "$(box --ro "$PROBE" -- sh -c 'for d in .. ../.. "$PWD/../.." "${PWD%/*/*}"; do '"$PROBE"' chmod "$d" 0777; '"$PROBE"' touch "$d"; '"$PROBE"' chmod-dir . "$d" 0777; done' | sort -u)" EPERM "the scratch directories above cannot be changed"
	is "$(box -- true && echo well)" well "and boxes still start"
	# Refusals are told, and what would allow it.
	result --ro "$PROBE" -- "$PROBE" chmod "$WORK/outside/file" 0777
	like "$(field denials.0.what)" '^system call chmod' "the refusal is a denial"
	like "$(field denials.0.allow)" 'working directory' "and says where it would be allowed"
	# A link inside leads outside.
	is "$(box --ro "$PROBE" -- sh -c "ln -s $WORK/outside/file l && $PROBE chmod l 0777; ln -s $WORK/outside d && $PROBE chmod d/file 0777; $PROBE chmod ./d/../outside/file 0777" | sort -u)" EPERM "a link in the private directory leads to nothing new"
	# Memory and links that change between check and deed.
	# shellcheck disable=SC2016
	said=$(box --ro "$PROBE" -- sh -c 'echo x >own && '"$PROBE chmod-race \$PWD/own $WORK/outside/file 0777 2")
	is "$said" "ok done refused" "a path that changes in memory: sometimes its own, sometimes refused"
	said=$(box --ro "$PROBE" -- sh -c "echo x >own && ln -s $WORK/outside/file bad && ln -s own good && { $PROBE swap good bad 3 >/dev/null 2>&1 & $PROBE chmod-loop good 0777 2; }")
	is "$said" "ok done refused" "a link that is swapped: the same"
	said=$(box --ro "$PROBE" -- sh -c "mkdir d && echo x >d/file && ln -s $WORK/outside bad && { $PROBE swap d bad 3 >/dev/null 2>&1 & $PROBE chmod-loop d/file 0777 2; }")
	is "$said" "ok done refused" "a directory that is swapped: the same"
	is "$(look)" "$before" "outside all is as it was"
fi
done_testing
