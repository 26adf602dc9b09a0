#!/bin/bash
# A Debian as mmdebstrap makes it, from the mirror of this host's apt and without a registry, is imported and runs: natively, on the
# runtimes and in Docker, with its own programs and its package database. The other tests' images are of this host's packages, which takes a second or two.
NO_FIXTURES=1
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/../engine/daemon.sh"
DAEMON_IMAGE=cordon-debian
TAR=$TOP/build/test/debian-image.tar # made once in a build tree
image_tar() { echo "$TAR"; }
# shellcheck disable=SC1091 # the host's
read -r id codename < <(. /etc/os-release && echo "$ID ${VERSION_CODENAME:-}")
# shellcheck disable=SC2016 # apt's own
mirror=$(apt-get indextargets --format '$(SITE) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 2>/dev/null | awk -v c="$codename" '$2 == c && $3 == "main" { print $1; exit }')

# make_debian: $TAR. A host without a mirror is told; what fails where there is one has failed.
make_debian() {
	local proxy='' memory=() begin=$SECONDS
	need mmdebstrap apt-get
	[ -n "$mirror" ] || skip_all "NO IMAGE OF DEBIAN'S OWN IS TESTED: apt of this host names no mirror of '$codename'"
	timeout 30 /usr/lib/apt/apt-helper download-file "$mirror/dists/$codename/InRelease" "$WORK/InRelease" >"$WORK/log" 2>&1 ||
		skip_all "NO IMAGE OF DEBIAN'S OWN IS TESTED: the mirror $mirror is not reached: $(tail -n 1 "$WORK/log")"
	eval "$(apt-config shell proxy Acquire::http::Proxy)"
	mkdir -p "${TAR%/*}"
	[ "$ME" = user ] || memory=(unshare -m sh -c 'mount -t tmpfs -o mode=755,size=1g cordon-debian "$TMPDIR"; exec "$@"' sh) # a third of the time
	mkdir "$WORK/memory"
	if TMPDIR=$WORK/memory "${memory[@]}" timeout 80 mmdebstrap --quiet --variant=apt --components=main ${proxy:+--aptopt="Acquire::http::Proxy \"$proxy\""} \
		"$codename" "$WORK/debian.tar" "$mirror" >"$WORK/log" 2>&1; then
		pass "mmdebstrap makes a Debian, $codename"
		note "from $mirror in $((SECONDS - begin)) s, $(stat -c %s "$WORK/debian.tar") bytes"
		mv "$WORK/debian.tar" "$TAR"
	elif [ "$ME" = user ]; then
		skip_all "mmdebstrap cannot make one without root here in 80 s, and root's tests have left none: $(tail -n 1 "$WORK/log")"
	else
		fail "mmdebstrap makes a Debian, $codename" "$(tail -n 5 "$WORK/log")"
		done_testing
	fi
}

# What a box of it shows. By the shell's own means: ls of coreutils 9 asks gVisor of 2022 for what that does not know.
cat >"$WORK/look.sh" <<'END'
. /etc/os-release
echo "$ID $VERSION_CODENAME"
dpkg --version | head -n 1
dpkg-query -W -f '${Package} ${db:Status-Status}\n' apt
dpkg -S /usr/bin/apt-get
apt-get --version | head -n 1
perl -e 'print 6 * 7, "\n"'
cat /etc/apt/sources.list
command -v busybox mmdebstrap
for dir in /usr/bin /var/lib/dpkg /etc/apt; do touch $dir/x 2>/dev/null && echo "$dir can be written to"; done
touch ~/x /tmp/x && echo end
END
held() { # WHO FLAG…
	local who=$1
	shift
	box --ro "$WORK/look.sh:/tmp/look.sh" "$@" -- bash /tmp/look.sh >"$WORK/said" 2>&1
	is "$(sed -E "s/(version|apt) [0-9].*/\1 N/" "$WORK/said")" "$id $codename
Debian 'dpkg' package management program version N
apt installed
apt: /usr/bin/apt-get
apt N
42
deb $mirror $codename main
end" "$who: dpkg, apt and perl are the image's, with their files, which stay as they are"
}

[ -s "$TAR" ] || make_debian

# ---- into the store ----

begin=$EPOCHREALTIME
status 0 "it is imported" image import "$TAR" debian
note "in $(((${EPOCHREALTIME/./} - ${begin/./}) / 1000)) ms"
like "$OUT$ERR" "set-user-id" "what is set-user-id in a Debian is told"
like "$(tar -tvf "$TAR")" $'\n-rws[^\n]*/usr/bin/su\n' "control: it has such programs"
is "$(find "$(root_of debian)" -perm /6000 -type f)" "" "and not so in the store"
is "$(find "$(root_of debian)" -type b -o -type c)" "" "nor are there devices"

# ---- boxes from it ----

held native --image debian
for engine in crun runc runsc; do
	[ "$ME" = root ] || break # an ordinary user's need groups of their own: tests/engine/user.sh
	if command -v $engine >/dev/null; then held $engine --engine $engine --image debian; else skip "$engine" "there is no $engine"; fi
done
if [ "$ME" = root ] && command -v dockerd >/dev/null; then
	mkdir "$WORK/daemon"
	mount -t tmpfs -o mode=755,size=2g cordon-debian "$WORK/daemon" && defer umount -l "$WORK/daemon" # quicker, also to remove
	if docker_start "$WORK/daemon"; then held docker --engine docker --image "$DAEMON_IMAGE"; else fail "docker starts" "$(tail -3 "$WORK/daemon/docker.log")"; fi
	daemon_stop "$DOCKER_PID" "$WORK/daemon"
elif [ "$ME" = root ]; then
	skip docker "there is no dockerd"
fi
done_testing
