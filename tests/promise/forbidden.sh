#!/bin/bash
# Secrets of the host are never mounted nor copied in, in no spelling, not as a part of something else; the error names the rule.
. "$(dirname "$0")/../lib.sh"
levels container process
# A home of the test's own: the caller's HOME is one, whatever the accounts say.
HOME=$WORK/home
export HOME
mkdir -p "$HOME/.ssh/sub" "$HOME/.aws" "$HOME/.config/gh" "$HOME/project" "$WORK/data/sub"
echo secret >"$HOME/.ssh/id_rsa"
echo secret >"$HOME/.ssh/sub/key"
echo secret >"$HOME/.netrc"
echo secret >"$HOME/.bash_history"
echo data >"$WORK/data/file"
dest=/tmp/given
[ "$LEVEL" = container ] || dest='' # process level has no other places

# refuse PATH [PATTERN]: no way to have it, nothing is started, and the error says which rule. What is no path for a mount at all is
# refused as that (125): one with "..", through a link of /proc, or where the box has a place of its own.
refuse() {
	local how spec=$1${dest:+:$dest} want='^126 $' says=${2:-forbidden}
	if [[ $1 =~ \.\.|/proc|^//?(sys|dev|$)(/|$) ]]; then
		want='^12[56] $' says="$says|'\.\.'|symbolic links|nothing can be mounted|neither a file"
	fi
	for how in --ro --rw; do
		timeout 60 "$CORDON" run --level "$LEVEL" $how "$spec" -- sh -c 'echo started' >"$WORK/.out" 2>"$WORK/.err"
		like "$? $(cat "$WORK/.out")" "$want" "$how $1 is refused"
		like "$(cat "$WORK/.err")" "$says" "$how $1: the error says so"
	done
	[ "$LEVEL" = container ] || return
	timeout 60 "$CORDON" run --in "$1:/tmp/x" -- sh -c 'echo started' >"$WORK/.out" 2>"$WORK/.err"
	like "$? $(cat "$WORK/.out")" "$want" "--in $1 is refused"
}

for path in /etc/shadow /etc/gshadow /etc/passwd /etc/sudoers /etc/sudoers.d /root /proc /sys /dev /boot /run /var/run; do
	[ ! -e "$path" ] || refuse "$path" "$path|$(realpath "$path")"
done
for path in / /etc /home /var; do refuse "$path" forbidden; done
for path in /proc/self /proc/self/root /proc/self/fd /proc/1 /sys/kernel /dev/shm /dev/null /run/lock; do
	[ ! -e "$path" ] || refuse "$path" "forbidden|neither a file nor"
done

# The hint fits: what lies in a secret is not helped by a part of it, and a file under another name contains nothing.
status 126 "what lies in a secret" box --ro "$HOME/.ssh/sub${dest:+:$dest}" -- true
like "$ERR" 'it is or lies in .*
hint: mount what lies elsewhere' "is to be taken from elsewhere"
status 126 "what contains a secret" box --ro "$HOME${dest:+:$dest}" -- true
like "$ERR" 'it contains .*
hint: mount a directory that does not contain it' "is too much"
ln "$HOME/.netrc" "$WORK/data/netrc"
status 126 "a hard link of one" box --ro "$WORK/data/netrc${dest:+:$dest}" -- true
like "$ERR" 'it is or lies in .*\.netrc' "is it"
rm "$WORK/data/netrc"

# Homes, whole, in parts, and what is in them.
for path in "$HOME" "$WORK" "$HOME/.ssh" "$HOME/.ssh/id_rsa" "$HOME/.ssh/sub" "$HOME/.ssh/sub/key" "$HOME/.netrc" "$HOME/.aws" \
	"$HOME/.config" "$HOME/.config/gh" "$HOME/.bash_history"; do
	refuse "$path" "$HOME"
done
for name in .ssh .aws .gnupg .config .kube .docker .azure .gcloud; do
	mkdir -p "$HOME/$name"
	refuse "$HOME/$name" "$name"
done
for name in .netrc .git-credentials .npmrc .pypirc .zsh_history .python_history; do
	touch "$HOME/$name"
	refuse "$HOME/$name" "$name"
done
for name in .ash_history .ksh_history .zhistory .histfile .local/share/fish/fish_history; do
	mkdir -p "$(dirname "$HOME/$name")"
	touch "$HOME/$name"
	refuse "$HOME/$name" "$name"
done
# Copies of them in /etc, and what services have in their homes: in a mount namespace of the test's own.
if [ "$ME" = root ] && [ "$LEVEL" = container ]; then
	mkdir -p "$WORK/etc" "$WORK/service/.ssh" "$WORK/service/data"
	cp -a /etc/. "$WORK/etc/" 2>/dev/null
	for name in sudoers sudoers.dpkg-old sudoers~ sudoers.d shadow.bak passwd- gshadow.1; do
		[ -e "$WORK/etc/$name" ] || echo secret >"$WORK/etc/$name"
	done
	echo "svc:x:123:123::$WORK/service:/usr/sbin/nologin" >>"$WORK/etc/passwd"
	echo secret >"$WORK/service/.ssh/id"
	elsewhere() { "${APART[@]}" sh -c 'mount --bind "$0/etc" /etc && exec "$@"' "$WORK" "$@"; }
	for name in sudoers sudoers.dpkg-old sudoers~ sudoers.d shadow.bak passwd- gshadow.1; do
		status 126 "/etc/$name is refused" elsewhere "$CORDON" run --ro "/etc/$name:/tmp/given" -- true
	done
	status 0 "control: another file of /etc" elsewhere "$CORDON" run --ro /etc/hosts:/tmp/given -- true
	status 126 "a service's home with keys" elsewhere "$CORDON" run --ro "$WORK/service:/tmp/given" -- true
	status 126 "and the keys" elsewhere "$CORDON" run --ro "$WORK/service/.ssh/id:/tmp/given" -- true
	status 0 "control: something else in it" elsewhere "$CORDON" run --ro "$WORK/service/data:/tmp/given" -- true
	rm -r "$WORK/service/.ssh"
	status 0 "control: without keys it is a directory like any other" elsewhere "$CORDON" run --ro "$WORK/service:/tmp/given" -- true
fi
homes=0
while IFS=: read -r _ _ uid _ _ other _; do
	[ "$uid" -ge 1000 ] && [ "$uid" != 65534 ] && [ -d "$other" ] && [ -x "$other" ] || continue
	homes=$((homes + 1))
	refuse "$other" "$other|/home"
	[ ! -d "$other/.ssh" ] || refuse "$other/.ssh"
done </etc/passwd
note "$homes homes of accounts"

# Spellings.
cd "$WORK" || exit
ln -s "$HOME/.ssh" "$WORK/link"
ln -s link "$WORK/link2"
ln -s "$HOME" "$WORK/data/up"
ln -s / "$WORK/slash"
for path in "$WORK/link" "$WORK/link2" "$WORK/link/sub" "$WORK/link/id_rsa" "$WORK/data/up" "$WORK/data/up/.ssh" "$WORK/data/../home/.ssh" \
	"/$HOME//.ssh" "$HOME/./.ssh/" "$HOME/.ssh/." "$HOME/.ssh/sub/.." "$HOME/project/../.ssh" "$HOME/project/.." "$WORK/slash" \
	"$WORK/slash/etc" "//etc//shadow" "/etc/../etc/shadow" "$WORK/slash/proc/self/root" "/proc/self/cwd/home/.ssh" "/proc/self/root$HOME/.ssh"; do
	refuse "$path"
done
ln -s /etc/shadow "$WORK/shadow"
refuse "$WORK/shadow" shadow
if [ "$LEVEL" = container ]; then
	for path in home/.ssh ./home/.ssh data/../home/.ssh link; do refuse "$path"; done
fi

# Missing ones: nothing is mounted, and the parent stays refused.
rm -rf "${HOME:?}"/.[a-z]*
refused "a missing one" box --ro "$HOME/.ssh" -- true
refuse "$HOME" "$HOME"
printf 'version: 1\nlevel: %s\nfiles: {read: ["%s"], forbidden: ["%s"]}\n' "$LEVEL" "$WORK/data" "$WORK/data/sub" >"$WORK/policy.yaml"
status 126 "files.forbidden adds to the list" box --policy "$WORK/policy.yaml" -- true
like "$ERR" "$WORK/data/sub" "and is named"

# Sockets of engines, and what boxes are made of.
mkdir -p "$WORK/engine/sub" "$WORK/runtime/cordon/shelf" "$WORK/runtime/cordon-engine" "$WORK/runtime/other"
for variable in DOCKER_HOST CONTAINER_HOST; do
	status 0 "control: a directory without a socket" box --ro "$WORK/engine${dest:+:$dest}" -- true
	was=${!variable:-}
	export "$variable=unix://$WORK/engine/sub/sock"
	refuse "$WORK/engine" "$WORK/engine/sub/sock"
	unset "$variable"
	[ -z "$was" ] || export "$variable=$was"
done
if [ "$ME" = user ]; then
	export XDG_RUNTIME_DIR=$WORK/runtime
	for path in cordon cordon/shelf cordon-engine .; do refuse "$(realpath "$WORK/runtime/$path")" "$WORK/runtime/cordon"; done
	status 0 "control: something beside them" box --ro "$WORK/runtime/other${dest:+:$dest}" -- true
	unset XDG_RUNTIME_DIR
fi
# Where an engine listens when no variable says so, whether it does yet or not.
mkdir -p "$WORK/usual/podman" "$WORK/usual/docker/containerd" "$WORK/usual/other" "$WORK/holds/usual"
for path in usual usual/podman usual/docker usual/docker/containerd holds holds/usual; do
	status 0 "control: $path is like any other" box --ro "$WORK/$path${dest:+:$dest}" -- true
done
also=docker was=${XDG_RUNTIME_DIR:-}
[ "$ME" = root ] || also='docker|cordon' # an ordinary user's own directories are there, too, and named first
export XDG_RUNTIME_DIR=$WORK/usual
touch "$WORK/usual/docker.sock" "$WORK/usual/podman/podman.sock"
ln -s usual "$WORK/usual-link"
for path in usual usual/docker.sock usual-link usual-link/docker.sock usual/docker/containerd; do refuse "$WORK/$path" "$WORK/usual/($also)"; done
for path in usual/podman usual/podman/podman.sock usual-link/podman; do refuse "$WORK/$path" "$WORK/usual/podman"; done
rm "$WORK/usual/docker.sock"
rmdir "$WORK/usual/docker/containerd" "$WORK/usual/docker"
refuse "$WORK/usual" "$WORK/usual/($also)"
status 0 "control: something beside them" box --ro "$WORK/usual/other${dest:+:$dest}" -- true
XDG_RUNTIME_DIR=$WORK/holds/usual
for path in holds holds/usual; do refuse "$WORK/$path" "$WORK/holds/usual/"; done
unset XDG_RUNTIME_DIR
[ -z "$was" ] || export XDG_RUNTIME_DIR="$was"

# Bind mounts of a secret are the secret.
if [ "$ME" = root ] && [ "$LEVEL" = container ]; then
	mkdir -p "$HOME/.ssh/sub" "$WORK/bound" "$WORK/bound-sub" "$WORK/holder/inner"
	echo secret >"$HOME/.ssh/id_rsa"
	bound() { "${APART[@]}" sh -c 'mount --bind "$1" "$2" && shift 2 && exec "$@"' sh "$@"; }
	status 126 "a bind mount of it" bound "$HOME/.ssh" "$WORK/bound" "$CORDON" run --ro "$WORK/bound:/x" -- true
	status 126 "a bind mount of a directory in it" bound "$HOME/.ssh/sub" "$WORK/bound-sub" "$CORDON" run --ro "$WORK/bound-sub:/x" -- true
	touch "$WORK/bound-file"
	status 126 "a bind mount of a file in it" bound "$HOME/.ssh/id_rsa" "$WORK/bound-file" "$CORDON" run --ro "$WORK/bound-file:/x" -- true
	bound "$HOME/.ssh" "$WORK/holder/inner" "$CORDON" run --ro "$WORK/holder:/x" -- cat /x/inner/id_rsa >"$WORK/said" 2>&1
	unlike "$(cat "$WORK/said")" '^secret' "a bind mount of it inside what is given shows nothing of it"
	status 126 "which is refused for it" bound "$HOME/.ssh" "$WORK/holder/inner" "$CORDON" run --ro "$WORK/holder:/x" -- true
	status 126 "a bind mount of the home, of which .aws is missing" bound "$HOME" "$WORK/bound" "$CORDON" run --ro "$WORK/bound:/x" -- true
	is "$(bound "$HOME/.ssh" "$WORK/holder/inner" cat "$WORK/holder/inner/id_rsa")" secret "control: outside it does"
	status 0 "control: a bind mount of something else" bound "$WORK/data" "$WORK/bound" "$CORDON" run --ro "$WORK/bound:/x" -- cat /x/file
fi

# Controls: ordinary directories and files, also beside the secrets.
for path in "$WORK/data" "$WORK/data/file" "$HOME/project" /usr/share; do
	status 0 "control: --ro $path" box --ro "$path${dest:+:$dest}" -- true
done
! can_rw || status 0 "control: --rw of a project in the home" box --rw "$HOME/project${dest:+:$dest}" -- true
done_testing
