#!/bin/sh
# make install, uninstall and deb: everything in its place, nothing left behind, and it runs from there. TAP.
set -u
cd "$(dirname "$0")/../.." || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
count=0 failed=0

check() { # NAME COMMAND…
	title=$1
	shift
	count=$((count + 1))
	if "$@" >"$work/log" 2>&1; then
		echo "ok $count - $title"
	else
		echo "not ok $count - $title"
		sed 's/^/# /' "$work/log"
		failed=$((failed + 1))
	fi
}
have() { # ROOT FILE…
	root=$1
	shift
	for file in "$@"; do
		[ -e "$root/$file" ] || { echo "$root/$file is missing"; return 1; }
	done
}
nothing_left() {
	left=$(find "$work/root" ! -type d)
	[ -z "$left" ] || { echo "$left"; return 1; }
}
says_version() { # ROOT
	"$1/usr/bin/cordon" version | grep -qx 'cordon [0-9.]*'
}
is_static() {
	! readelf -d "$1" | grep NEEDED
}
runs() { # ROOT: as far as this host allows boxes at all
	"$1/usr/bin/cordon" doctor >/dev/null || return 0
	[ "$("$1/usr/bin/cordon" run -- echo hello)" = hello ]
}
runs_elsewhere() { # ROOT: an engine's driver and init are found, too
	"$1/usr/bin/cordon" doctor >/dev/null && [ "$(id -u)" = 0 ] && command -v crun >/dev/null || return 0
	[ "$("$1/usr/bin/cordon" run --engine crun -- echo hello)" = hello ]
}
same_script() { # SHELL FILE
	"$work/root/usr/bin/cordon" completion "$1" | cmp - "$work/root/$2"
}
sums() { # ROOT DEB
	dpkg-deb --info "$2" md5sums | (cd "$1" && md5sum --quiet -c)
}

check 'make install' make -s install PREFIX=/usr DESTDIR="$work/root"
check 'everything is in its place' have "$work/root/usr" bin/cordon lib/libcordon.so lib/libcordon.so.0 lib/libcordon.a \
	include/cordon.h lib/pkgconfig/cordon.pc share/man/man1/cordon.1 share/man/man5/cordon-policy.5 \
	share/bash-completion/completions/cordon share/zsh/site-functions/_cordon \
	share/fish/vendor_completions.d/cordon.fish share/cordon/profiles/strict.yaml
check 'the installed command runs' says_version "$work/root"
check 'the installed command can make a box' runs "$work/root"
check 'also with an engine of the host' runs_elsewhere "$work/root"
check 'it prints the bash completion' same_script bash usr/share/bash-completion/completions/cordon
check 'it prints the zsh completion' same_script zsh usr/share/zsh/site-functions/_cordon
check 'it prints the fish completion' same_script fish usr/share/fish/vendor_completions.d/cordon.fish
check 'make uninstall' make -s uninstall PREFIX=/usr DESTDIR="$work/root"
check 'nothing is left' nothing_left

if command -v dpkg-deb >/dev/null 2>&1; then
	check 'make deb' env DPKG_DEB_COMPRESSOR_LEVEL=0 make -s deb # packing takes longest
	for package in cordon libcordon-dev; do
		deb=$(find build -maxdepth 1 -name "${package}_*.deb")
		check "$package: unpacks" dpkg -x "$deb" "$work/deb"
		check "$package: checksums" sums "$work/deb" "$deb"
	done
	check 'the packaged command runs' says_version "$work/deb"
	check 'the packaged command can make a box' runs "$work/deb"
	check 'the packaged command is static' is_static "$work/deb/usr/bin/cordon"
fi
echo "1..$count"
[ $failed -eq 0 ]
