# shellcheck shell=bash
# tests/engine/image.sh DIR [PROGRAM…]: the root of a small image, made from this host's packages: no registry is needed. PROGRAM: more of them, by their paths,
# with the package that each is of and what that depends on; one that this host has not is not in the image, either. Prints nothing.
set -eu
dir=$1
shift
export LC_ALL=C
packages=(libc6 libc-bin coreutils bash dash grep sed mawk procps util-linux util-linux-extra findutils hostname mount diffutils tar
	python3-minimal python3.11-minimal libpython3.11-minimal libpython3.11-stdlib busybox-static busybox strace)
mkdir -p "$dir"/{usr/{bin,sbin,lib,lib64,local/bin},etc,tmp,home,proc,sys,dev,run,var/tmp,root,opt}
for link in bin sbin lib lib64; do ln -sfn usr/$link "$dir/$link"; done
list=$(mktemp)
trap 'rm -f "$list"' EXIT
# Files and links of the packages, without what nobody runs; and the libraries that those programs need.
dpkg -L "${packages[@]}" 2>/dev/null | grep -vE '^/(usr/share|etc|var)/|/__pycache__|/lib2to3|/gconv/|/ensurepip|/pydoc' | while read -r f; do
	[ ! -f "$f" ] || echo "$f"
done >"$list"
grep -E 'bin/|\.so' "$list" | xargs -r ldd 2>/dev/null | grep -oE '/[^ ]+\.so[^ ]*' | sort -u >>"$list"
# More programs are whole packages, which have parts in /usr/share and /etc. npm replaces itself, past any package.
for program; do
	package=$(dpkg -S "$(realpath "$program")" 2>/dev/null) || continue
	apt-cache depends --recurse --installed --no-pre-depends --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces --no-enhances "${package%%: *}"
	[ "$program" != /usr/bin/npm ] || find /usr/lib/node_modules/npm ! -type d >>"$list" || :
done | grep '^[a-z0-9]' | sort -u | while read -r package; do
	dpkg -L "$package" 2>/dev/null || : # a name that others provide
done | sort -u | grep -vE '^/usr/share/(doc|man|locale|info|lintian|bug|fonts|bash-completion)/|^/var/|/__pycache__|^/etc/(passwd|group|hosts|hostname|resolv.conf|nsswitch.conf)$' |
	while read -r f; do
		[ ! -f "$f" ] && [ ! -L "$f" ] || echo "$f"
	done >>"$list"
# A path of a merged root may say /bin: it is /usr/bin.
while read -r f; do
	case $f in /bin/* | /sbin/* | /lib/* | /lib64/*) f=/usr$f ;; esac
	[ -f "$f" ] || [ -L "$f" ] || continue
	echo "$f"
	[ ! -L "$f" ] || { f=$(realpath "$f") || continue; case $f in /usr/*) [ -d "$f" ] || echo "$f" ;; esac; }
done <"$list" | tar -C / -c --no-recursion --files-from <(sort -u | sed 's|^/||') 2>/dev/null | tar -C "$dir" -x
[ -e "$dir/usr/bin/sh" ] || ln -s busybox "$dir/usr/bin/sh"
ln -sf mawk "$dir/usr/bin/awk"
for java in "$dir"/usr/lib/jvm/*/bin/java; do [ ! -e "$java" ] || ln -sf "${java#"$dir"}" "$dir/usr/bin/java"; done
[ $# = 0 ] || mkdir -p "$dir/etc/ssl/certs" # where the tests' own are mounted
printf 'root:x:0:0:root:/root:/bin/sh\n' >"$dir/etc/passwd"
printf 'root:x:0:\n' >"$dir/etc/group"
