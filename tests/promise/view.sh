#!/bin/bash
# The host's files are not there: no home, no /var, /run, /srv, /mnt, no other /tmp, no passwords. What is given is.
. "$(dirname "$0")/../lib.sh"
levels container process
nothing='^(ENOENT|EACCES|EPERM|ENOTDIR)$'

# Canaries wherever the caller may write.
canary=canary-$RANDOM$RANDOM
home=$(getent passwd "$(id -u)" | cut -d: -f6)
for dir in "$home" /root /tmp /var/tmp /srv /mnt /opt /run /var/lib "$TOP" "$WORK" /dev/shm; do
	file=$dir/.cordon-canary-$BASHPID-$RANDOM
	{ echo "$canary" >"$file"; } 2>/dev/null || continue
	defer rm -f "$file"
	chmod 644 "$file"
	is "$(bare read "$file")" "ok $canary" "control: the canary in $dir can be read outside"
	like "$(probe read "$file")" "$nothing" "the canary in $dir cannot be read inside"
done

for dir in /root /var /var/lib /run /srv /mnt /opt /boot /media; do
	[ -d "$dir" ] || continue
	[ "$ME" = user ] && [ ! -r "$dir" ] || is "$(bare open "$dir" dir)" ok "control: $dir opens outside"
	like "$(probe open "$dir" dir)" "$nothing" "there is no $dir inside"
done
for file in /etc/shadow /etc/gshadow /etc/sudoers /etc/ssh /etc/machine-id /etc/fstab; do
	[ -e "$file" ] || continue
	[ ! -r "$file" ] || is "$(bare open "$file" r)" ok "control: $file opens outside"
	like "$(probe open "$file" r)" "$nothing" "there is no $file inside"
done

# Private keys: a member of their group may read them outside, and an ordinary user's box has the caller's groups.
key=/etc/ssl/private/cordon-key-$BASHPID
if [ "$ME" = root ] && [ "$LEVEL" = container ] && [ -z "$ENGINE" ] && getent passwd nobody >/dev/null; then
	[ -d /etc/ssl/private ] || { mkdir -m 755 /etc/ssl/private && defer rmdir /etc/ssl/private; }
	mode=$(stat -c %a /etc/ssl/private)
	defer chmod "$mode" /etc/ssl/private
	chmod a+x /etc/ssl/private
	echo "$canary" >"$key"
	defer rm -f "$key"
	chown root:12345 "$key"
	chmod 640 "$key"
	member() { setpriv --reuid 12346 --regid 12346 --groups 12345 env HOME=/ "$@"; }
	is "$(member cat "$key")" "$canary" "control: a member of its group reads a key of /etc/ssl/private outside"
	if member "$CORDON" run -- true 2>/dev/null; then
		is "$(member "$CORDON" run -- sh -c "cat '$key' 2>/dev/null; ls -A /etc/ssl | grep -vxE 'certs|openssl.cnf|cert.pem|ca-bundle.pem'")" "" \
			"an ordinary user's box has no such key, though it has the group"
		is "$(member "$CORDON" run -- sh -c 'ls /etc/ssl/certs >/dev/null && echo there')" there "control: certificates are there"
	else
		skip "an ordinary user's box has no such key" "no boxes for this user here"
	fi
fi
if [ "$LEVEL" = container ]; then
	is "$(box -- ls /home)" agent "/home holds the box's own home only"
	is "$(box -- ls -A /home/agent)" "" "the home is empty"
	is "$(box -- ls -A /tmp)" "" "/tmp is empty"
	is "$(box -- ls -A /dev/shm)" "" "/dev/shm is empty"
	unlike "$(box -- cat /etc/passwd)" "$(id -un | grep -v '^root$' || echo daemon):" "/etc/passwd does not tell the host's accounts"
	is "$(box -- sh -c 'for f in /etc/hosts /etc/hostname /etc/resolv.conf /etc/nsswitch.conf /etc/group; do cat $f >/dev/null || echo $f; done')" "" \
		"the synthetic files of /etc are there"
	is "$(box -- sh -c 'ls / | grep -vxE "bin|dev|etc|home|lib|lib32|lib64|libx32|proc|sbin|sys|tmp|usr"')" "" "nothing else lies in /"
	is "$(box -- sh -c 'ls /dev | grep -vxE "fd|full|null|ptmx|pts|random|shm|stderr|stdin|stdout|tty|urandom|zero"')" "" \
		"nothing else lies in /dev"
	is "$(box -- sh -c 'find /sys -xdev -maxdepth 2 -mindepth 1 | grep -v ^/sys/devices')" "" "of /sys only devices"
fi

mkdir "$WORK/given"
echo hello >"$WORK/given/file"
is "$(box --ro "$WORK/given" -- cat "$WORK/given/file")" hello "what is given with --ro can be read"
like "$(probe read "$WORK/given/file")" "$nothing" "and without it cannot"
# Neighbours of what was given are not given.
echo secret >"$WORK/secret"
PROBE_FLAGS=(--ro "$WORK/given")
for path in "$WORK/given/../secret" "$WORK/secret"; do
	like "$(probe read "$path")" "$nothing" "not a neighbour of it: ${path#"$WORK"/}"
done
ln -s "$WORK/secret" "$WORK/given/link"
is "$(bare read "$WORK/given/link")" "ok secret" "control: a link in it leads out, outside"
like "$(probe read "$WORK/given/link")" "$nothing" "and nowhere inside"

# What happens in a directory, and what is noted on a file, are told by calls that open neither.
mkdir "$WORK/watched"
echo secret >"$WORK/watched/file"
chmod 755 "$WORK/watched"
watch='import ctypes, os, select, sys
libc, found = ctypes.CDLL(None, use_errno=True), []
fd = libc.inotify_init()
if libc.inotify_add_watch(fd, sys.argv[1].encode(), 0x100) >= 0:
    open(sys.argv[2], "w").close() if len(sys.argv) > 2 else print("waiting", flush=True)
    if select.select([fd], [], [], 5)[0]:
        print("told", b"private-name" in os.read(fd, 4096))
else:
    print("nothing")'
is "$(python3 -c "$watch" "$WORK/watched" "$WORK/watched/private-name")" "told True" "control: outside names are told as files are made"
is "$(box -- python3 -c "$watch" "$WORK/watched")" nothing "inside no directory outside can be watched"
if setfattr -n user.note -v secret "$WORK/watched/file" 2>/dev/null; then
	attributes='import os, sys
for f in (lambda p: os.getxattr(p, "user.note"), os.listxattr, lambda p: os.getxattr(p, "user.note", follow_symlinks=False), lambda p: os.listxattr(os.open(p, os.O_PATH))):
    try:
        print(f(sys.argv[1]) or "nothing")
    except OSError as e:
        print("nothing")'
	like "$(python3 -c "$attributes" "$WORK/watched/file" | sed -n 1p)" secret "control: outside an attribute of the file can be read"
	is "$(box -- python3 -c "$attributes" "$WORK/watched/file" | sort -u)" nothing "inside no attribute of a file outside can"
fi
done_testing
