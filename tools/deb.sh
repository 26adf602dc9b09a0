#!/bin/sh
# Two Debian packages from an installed tree: deb.sh VERSION ROOT OUTPUT-DIRECTORY
#   cordon         the command (static, so it depends on nothing; what talks to Docker and Podman wants libcurl4, libjansson4 and libarchive13), its manual, completion and profiles
#   libcordon-dev  header and libraries
set -eu
version=$1 root=$2 out=$3
arch=$(dpkg --print-architecture)
maintainer=${DEB_MAINTAINER:-cordon maintainers <maintainers@cordon.invalid>}
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
export SOURCE_DATE_EPOCH
umask 022

# What was linked in statically; Debian wants to know it for security updates.
# shellcheck disable=SC2016  # dpkg's variables, not the shell's
built_using=$(dpkg-query -W -f '${source:Package} (= ${source:Version}), ' libc6-dev musl-dev libfyaml-dev libidn2-dev libunistring-dev libssl-dev libc-ares-dev \
	libjansson-dev libarchive-dev zlib1g-dev libbz2-dev liblzma-dev libzstd-dev libacl1-dev nettle-dev | sed 's/, $//')

doc_files() { # PACKAGE: copyright and changelog as policy wants them
	doc=$out/deb/$1/usr/share/doc/$1
	mkdir -p "$doc"
	{
		echo 'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/'
		echo 'Upstream-Name: cordon'
		echo
		printf 'Files: *\nCopyright: the cordon authors\nLicense: Apache-2.0\n'
		printf ' On Debian systems the full text of the Apache License, version 2.0, is in\n /usr/share/common-licenses/Apache-2.0.\n'
	} >"$doc/copyright"
	printf 'cordon (%s) unstable; urgency=medium\n\n  * See CHANGELOG.md.\n\n -- %s  %s\n' "$version" "$maintainer" \
		"$(date -R -u -d "@$SOURCE_DATE_EPOCH")" | gzip -9n >"$doc/changelog.gz"
}

pack() { # PACKAGE SECTION FIELDS; the description comes on stdin
	package=$1 section=$2 fields=$3
	dir=$out/deb/$package
	doc_files "$package"
	mkdir -p "$dir/DEBIAN"
	(cd "$dir" && find usr -type f -print0 | sort -z | xargs -0 md5sum) >"$dir/DEBIAN/md5sums"
	{
		printf 'Package: %s\nSource: cordon\nVersion: %s\nArchitecture: %s\nMaintainer: %s\n' "$package" "$version" "$arch" "$maintainer"
		printf 'Section: %s\nPriority: optional\nInstalled-Size: %s\n' "$section" "$(du -sk --apparent-size "$dir/usr" | cut -f1)"
		printf '%s\n' "$fields"
		cat
	} >"$dir/DEBIAN/control"
	dpkg-deb --root-owner-group -Zxz --build "$dir" "$out/${package}_${version}_$arch.deb"
}

# The library's part of the tree goes to libcordon-dev, the rest to cordon.
rm -rf "$out/deb/cordon" "$out/deb/libcordon-dev"
cp -a "$root" "$out/deb/cordon"
mkdir -p "$out/deb/libcordon-dev/usr/share/doc/libcordon-dev" "$out/deb/libcordon-dev/DEBIAN"
mv "$out/deb/cordon/usr/include" "$out/deb/cordon/usr/lib" "$out/deb/libcordon-dev/usr/"
mv "$out/deb/cordon/usr/share/doc/cordon/examples" "$out/deb/libcordon-dev/usr/share/doc/libcordon-dev/"
rm -f "$out/deb/cordon/usr/share/doc/cordon/LICENSE" # copyright says it
find "$out/deb/cordon/usr/share/man" -type f -name '*.[15]' -exec gzip -9n {} +
strip --remove-section=.comment --remove-section=.note "$out/deb/cordon/usr/bin/cordon" "$out/deb/cordon/usr/libexec/cordon/cordon-egress" \
	"$out/deb/cordon/usr/libexec/cordon/cordon-egress-tls" \
	"$out/deb/cordon/usr/libexec/cordon/cordon-engine" "$out/deb/cordon/usr/libexec/cordon/cordon-engine-docker" "$out/deb/cordon/usr/libexec/cordon/cordon-build" "$out/deb/cordon/usr/libexec/cordon/cordon-init" \
	"$out/deb/cordon/usr/libexec/cordon/cordon-image"
strip --strip-unneeded "$out"/deb/libcordon-dev/usr/lib/*/libcordon.so.0
strip --strip-debug --enable-deterministic-archives "$out"/deb/libcordon-dev/usr/lib/*/libcordon.a
echo 'activate-noawait ldconfig' >"$out/deb/libcordon-dev/DEBIAN/triggers"

pack cordon utils "Built-Using: $built_using
Recommends: libcurl4, libjansson4, libarchive13
Suggests: python3, systemd, crun | runc | docker.io | podman" <<'TEXT'
Description: run what an AI agent wants to run behind real walls
 cordon runs untrusted code (a snippet of Python, a shell command, a tool call)
 in a sandbox of namespaces, seccomp, Landlock and control groups, as root or as
 an ordinary user, without a daemon or an image. A policy says what is allowed;
 the result says what happened and what was refused.
TEXT
pack libcordon-dev libdevel "Depends: libc6, libfyaml-dev, libidn2-dev
Suggests: pkg-config" <<'TEXT'
Description: run untrusted code behind real walls - C library
 libcordon gives C programs what the cordon command does: policies, plans, runs
 with callbacks or collected output, and results. This package has the header,
 the shared and the static library.
TEXT
