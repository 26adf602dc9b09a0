#!/bin/sh
# Makes sure that Debian packages are installed: need.sh PACKAGE…
# Does nothing, and needs no network, when they are. As root it installs what is missing, otherwise it says how to.
set -eu
command -v dpkg-query >/dev/null 2>&1 || exit 0 # not Debian: whoever builds here knows where tools come from

look() {
	missing=
	for package in "$@"; do
		status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) || status=
		[ "$status" = installed ] || missing="$missing $package"
	done
}
look "$@"
[ -n "$missing" ] || exit 0

if [ "$(id -u)" -ne 0 ]; then
	echo "cordon: these Debian packages are missing:$missing" >&2
	echo "hint: sudo apt-get install --no-install-recommends$missing" >&2
	exit 1
fi
# One at a time: apt waits for dpkg's lock, but not for that of its own lists.
exec 9</var/lib/dpkg
flock 9
look "$@"
[ -n "$missing" ] || exit 0
echo "installing$missing" >&2
export DEBIAN_FRONTEND=noninteractive
quiet='-qq -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0'
# shellcheck disable=SC2086  # lists of words
{
	for pause in 5 10 20 0; do # somebody else's apt may be at it
		apt-get $quiet update >&2 9<&- && break
		sleep "$pause"
	done
	apt-get $quiet install -y --no-install-recommends $missing >&2 9<&-
}
