#!/bin/bash
# process.commands: no other file becomes a program, by execve, a copy, a script, the loader, memory or a program that starts others.
. "$(dirname "$0")/../lib.sh"
levels container
mkdir "$WORK/rw"
cp "$PROBE" "$WORK/rw/probe"
cp /usr/bin/id "$WORK/rw/id"
printf '#!/bin/sh\necho script ran\n' >"$WORK/rw/script"
printf '#!/usr/bin/id\n' >"$WORK/rw/id-script"
chmod 755 "$WORK/rw/"*
only() { # LIST COMMAND…: nothing but the listed
	local list=$1 flags=() name
	shift
	for name in ${list//,/ }; do flags+=(--commands "$name"); done
	box "${flags[@]}" --rw "$WORK/rw:/m" -- "$@"
}
marks='uid=|script ran|^ok|started'

is "$(only cat cat /usr/share/common-licenses/GPL-3 | head -c 5 | wc -c)" 5 "control: a listed program runs"
like "$(box --rw "$WORK/rw:/m" -- sh -c 'id; /m/id; /m/script')" 'uid=.*uid=.*script ran' "control: without the list everything runs"
status 126 "the first program must be listed" only cat id
like "$ERR" 'cat' "the error says which are"
status 126 "by its path, too" only cat /usr/bin/id
status 126 "a copy of one is another file" only cat /m/id
refused "an unknown name in the list" only no-such-program-here true

# A shell is listed, id is not: whatever the shell does, id does not run.
sh_ways=(
	"by name: id"
	"by path: /usr/bin/id"
	"exec: exec id"
	"a copy in /tmp: cp /usr/bin/id /tmp/x && chmod 755 /tmp/x && /tmp/x"
	"a copy in the home: cp /usr/bin/id ~/x && chmod 755 ~/x && ~/x"
	"a copy in /dev/shm: cp /usr/bin/id /dev/shm/x && chmod 755 /dev/shm/x && /dev/shm/x"
	"a copy in a mount: cp /usr/bin/id /m/x && chmod 755 /m/x && /m/x"
	"a program in a mount: /m/id"
	"a static program in a mount: /m/probe fds"
	"a script: /m/script"
	"a script of the unlisted: /m/id-script"
	"a copy of the shell: cp /bin/sh /tmp/sh && /tmp/sh -c 'echo started'"
	"a hardlink: ln /m/id /m/hard && /m/hard"
	"a symlink: ln -s /usr/bin/id /tmp/l && /tmp/l"
	"a copy over a listed name in PATH: mkdir /tmp/b && cp /usr/bin/id /tmp/b/cat && PATH=/tmp/b:\$PATH cat"
	"through /proc/self/root: /proc/self/root/usr/bin/id"
	"through /proc/self/fd: exec 5</usr/bin/id; /proc/self/fd/5; /dev/fd/5"
)
for way in "${sh_ways[@]}"; do
	rm -f "$WORK/rw/x" "$WORK/rw/hard"
	unlike "$(only sh,cp,chmod,ln,cat,mkdir sh -c "${way#*: }" 2>&1)" "$marks" "sh × ${way%%: *}"
done
# The loader as a program, by every name it has.
for ld in /lib64/ld-linux-x86-64.so.2 /lib/ld-linux-aarch64.so.1 /usr/lib/*-linux-gnu/ld-linux-*.so.* /usr/bin/ld.so /lib/ld-musl-*; do
	[ -e "$ld" ] || continue
	[[ $ld == *musl* ]] || like "$(box -- "$ld" /usr/bin/id 2>&1)" "uid=" "control: $ld starts programs without the list"
	for prog in /usr/bin/id /m/id /m/probe; do
		unlike "$(only sh sh -c "$ld $prog fds" 2>&1)" "$marks" "sh × $ld $prog"
	done
	unlike "$(only sh,cp,chmod sh -c "cp $ld /tmp/ld && chmod 755 /tmp/ld && /tmp/ld /usr/bin/id" 2>&1)" "$marks" "sh × a copy of $ld"
done
# Programs that start others.
if [ -x /usr/bin/env ]; then unlike "$(only env env id 2>&1)" "$marks" "env"; fi
unlike "$(only find find /usr/bin/id -exec {} \; 2>&1)" "uid=" "find -exec"
unlike "$(only awk awk 'BEGIN { system("id"); "id" | getline x; print x }' 2>&1)" "uid=" "awk system()"
unlike "$(only xargs xargs -a /dev/null id 2>&1)" "uid=" "xargs"
unlike "$(only tar tar -cf /dev/null --checkpoint=1 --checkpoint-action=exec=id /usr/bin/id 2>&1)" "uid=" "tar --checkpoint-action"
if command -v git >/dev/null; then
	git init -q "$WORK/rw/repo" && git -C "$WORK/rw/repo" -c user.name=a -c user.email=a@b commit -q --allow-empty -m x
	like "$(box --rw "$WORK/rw:/m" --env HOME=/tmp -- git -C /m/repo -c safe.directory='*' -c core.pager='id #' -c pager.log=true --paginate log 2>&1)" . "control: git runs"
	unlike "$(only git git -C /m/repo -c safe.directory='*' -c core.pager=id --paginate log 2>&1)" "uid=" "git -c core.pager"
	unlike "$(only git git -C /m/repo -c safe.directory='*' -c alias.x='!id' x 2>&1)" "uid=" "git alias"
fi
unlike "$(only perl perl -e 'system "id"; exec "/usr/bin/id"' 2>&1)" "uid=" "perl system"
like "$(box -- sh -c 'env id; find /usr/bin/id -exec {} \;; awk "BEGIN { system(\"id\") }"')" 'uid=.*uid=.*uid=' "control: they all do without the list"

# By a descriptor: refused, and told.
by_fd='import os
fd = os.open("/usr/bin/id", os.O_RDONLY)
for what in (fd, f"/proc/self/fd/{fd}", f"/dev/fd/{fd}"):
    try: os.execve(what, ["id"], {})
    except OSError as e: print(e.errno)'
result --commands python3 -- python3 -c "$by_fd"
expect "by a descriptor" stdout=$'13\n13\n13\n'
is "$(python3 -c 'import json, sys; print(sorted(d["what"] for d in json.load(open(sys.argv[1]))["denials"]))' "$WORK/.result")" \
	"['exec /dev/fd/3', 'exec /proc/self/fd/3', 'exec a file by its descriptor']" "each way is among the denials"
result --commands python3,id -- python3 -c "$by_fd"
expect "control: a listed one runs, and nothing is told" 'stdout=~uid=' 'denials=[]'

# Memory.
PROBE_FLAGS=(--commands "$PROBE")
for act in mmap-wx mmap-x mprotect-x "memfd-exec $PROBE"; do
	# shellcheck disable=SC2086 # words
	is "$(probe $act)" EPERM "refused: ${act%% *}"
	[[ $act == memfd-exec* ]] && continue
	# shellcheck disable=SC2086 # words
	is "$(box --ro "$PROBE" -- "$PROBE" $act)" ok "control: $act without the list"
done
for file in /usr/bin/id "$PROBE" /bin/cat; do
	[ "$file" = "$PROBE" ] || is "$(probe mmap-file "$file")" EPERM "mapping $file for execution is refused"
done
is "$(box --ro "$PROBE" -- "$PROBE" mmap-file /usr/bin/id)" ok "control: mapping without the list"
for act in exec fexec; do
	is "$(probe $act /usr/bin/id)" EACCES "$act of what is not listed"
done
memfd='import os
try: fd = os.memfd_create("x")
except OSError as e: print(e.strerror)
else:
    os.write(fd, open("/usr/bin/id", "rb").read())
    os.execve(fd, ["id"], {})'
like "$(box -- python3 -c "$memfd")" uid= "control: python executes memory without the list"
unlike "$(only python3 python3 -c "$memfd" 2>&1)" uid= "python: memfd"
mapping='import mmap
try: mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC); print("mapped")
except OSError as e: print(e.strerror)'
is "$(box -- python3 -c "$mapping")" mapped "control: python maps it without the list"
isnt "$(only python3 python3 -c "$mapping")" mapped "python: writable and executable memory"
is "$(only python3 python3 -c 'import ctypes, json, ssl, sqlite3, threading; print("imports")' 2>&1)" imports "control: a listed interpreter finds its libraries"
so='int main_(void) { return 7; }'
if command -v gcc >/dev/null && echo "$so" | gcc -shared -fPIC -x c - -o "$WORK/rw/lib.so" 2>/dev/null; then
	load='import ctypes; print("ok", ctypes.CDLL("/m/lib.so").main_())'
	like "$(box --rw "$WORK/rw:/m" -- python3 -c "$load")" "ok 7" "control: a library of one's own loads without the list"
	unlike "$(only python3 python3 -c "$load" 2>&1)" "ok 7" "a library that is not the system's does not"
	is "$(box --commands cat --env LD_PRELOAD=/m/lib.so --rw "$WORK/rw:/m" -- cat /proc/self/maps 2>/dev/null | grep -c 'r-xp.*/m/lib.so')" 0 "nor by LD_PRELOAD"
	isnt "$(box --env LD_PRELOAD=/m/lib.so --rw "$WORK/rw:/m" -- cat /proc/self/maps 2>/dev/null | grep -c 'r-xp.*/m/lib.so')" 0 "control: without the list it does"
fi

# The report.
box --json --commands sh --commands cat -- sh -c 'id; id; cat /dev/null' >"$WORK/.result" 2>/dev/null
like "$(field denials)" 'exec /usr/bin/id' "a refused program is a denial"
like "$(field denials.0.rule)" process.commands "with its rule"
like "$(field denials.0.allow)" 'cat' "and what is allowed"
unlike "$(field denials)" 'exec [^"]*cat"' "what is listed is no denial"
done_testing
