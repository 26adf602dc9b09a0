#!/bin/bash
# image.sh OUT.img KERNEL_VERSION MODULES_DIR
# Builds the guest's root file system, an ext4 image, from the Debian packages installed on this host: their files are
# copied, so neither network nor root is needed. The image is made anew only when a package, the kernel or this file has changed.
set -euo pipefail

out=$1 version=$2 modules=$3
self=$(readlink -f "$0")

# Without these there is no guest; the optional ones are taken where the host has them.
needed="bash coreutils findutils grep iproute2 kmod mawk mount perl procps python3 sed tar util-linux"
optional="attr acl binutils bubblewrap busybox-static bzip2 containerd crun curl dbus dbus-user-session diffutils docker.io e2fsprogs file g++ gawk gcc gdb git jq libcap2-bin libc6-dev less
	libfyaml0 libpam-systemd make nodejs openssl patch podman psmisc python3-yaml ruby runc sqlite3 strace systemd uidmap unzip valgrind xfsprogs xz-utils zip"

installed() {
	# shellcheck disable=SC2086,SC2016 # a list of words; dpkg's own variables
	dpkg-query -W -f '${db:Status-Status} ${Package}\n' $1 2>/dev/null | sed -n 's/^installed //p' | sort -u
}

# shellcheck disable=SC2016 # dpkg's own variables
essential=$(dpkg-query -W -f '${Package} ${Essential} ${Priority}\n' | awk '$2 == "yes" || $NF == "required" { print $1 }')
mapfile -t want < <(installed "$needed $optional $essential")
for p in $needed; do
	[[ " ${want[*]} " == *" $p "* ]] || { echo "vm: package $p is not installed" >&2; exit 1; }
done
mapfile -t packages < <(installed "$(apt-cache depends --recurse --installed --no-recommends --no-suggests --no-conflicts \
	--no-breaks --no-replaces --no-enhances "${want[@]}" | grep '^[a-z0-9]' | sort -u | tr '\n' ' ')")

# shellcheck disable=SC2016 # dpkg's own variables
key=$({ dpkg-query -W -f '${Package} ${Version}\n' "${packages[@]}"; echo "$version $modules"; cat "$self"; } | sha256sum)
if [ -f "$out" ] && [ "$(cat "$out.key" 2>/dev/null)" = "$key" ]; then
	exit 0
fi

# An ordinary user becomes root of a user namespace, so that the files in the image belong to root.
if [ "$(id -u)" != 0 ]; then
	exec unshare --user --map-root-user -- "$self" "$@"
fi

echo "vm: building $out from ${#packages[@]} packages" >&2
stage=$out.d
rm -rf "$stage" "$out" "$out.key"
trap 'rm -rf "$stage"' EXIT
mkdir -p "$stage"/{usr/{bin,sbin,lib,lib32,lib64,libx32},dev,etc,home/tester,mnt,proc,root,run,srv,sys,tmp,var/{lib,log,tmp}}
for d in bin sbin lib lib32 lib64 libx32; do
	ln -s "usr/$d" "$stage/$d"
done

{
	dpkg-query -L "${packages[@]}" | grep '^/'
	find /usr/bin /usr/sbin /usr/lib -lname '/etc/alternatives/*'
	find /etc/alternatives -type l
} | grep -Ev '^/usr/share/(doc|man|info|locale|lintian|bug)/|^/(boot|dev|proc|run|sys|tmp|var)(/|$)|^/\.?$' | sort -u |
	tar -C / -cf - --owner=0 --group=0 --no-recursion --ignore-failed-read --warning=no-failed-read -T <(sed 's|^/||' ) |
	tar -C "$stage" -xpf - --keep-directory-symlink
mkdir -p "$stage/lib/modules"
cp -a --no-preserve=ownership "$modules" "$stage/lib/modules/$version"
depmod -b "$stage" "$version"

cd "$stage"
cat > etc/passwd <<-'END'
	root:x:0:0:root:/root:/bin/bash
	daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin
	messagebus:x:100:100::/nonexistent:/usr/sbin/nologin
	tester:x:1000:1000:tester:/home/tester:/bin/bash
	nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin
END
cat > etc/group <<-'END'
	root:x:0:
	daemon:x:1:
	tty:x:5:
	shadow:x:42:
	messagebus:x:100:
	tester:x:1000:
	nogroup:x:65534:
END
printf 'root:*:19000:0:99999:7:::\ntester:*:19000:0:99999:7:::\n' > etc/shadow
echo 'tester:100000:65536' | tee etc/subuid > etc/subgid
printf '127.0.0.1\tlocalhost\n::1\tlocalhost\n127.0.1.1\tguest\n' > etc/hosts
printf 'passwd: files\ngroup: files\nshadow: files\nhosts: files dns\n' > etc/nsswitch.conf
echo guest > etc/hostname
cat > etc/fstab <<-'END'
	proc       /proc                proc       nosuid,nodev,noexec                                       0 0
	sysfs      /sys                 sysfs      nosuid,nodev,noexec                                       0 0
	run        /run                 tmpfs      nosuid,nodev,mode=0755,size=20%                           0 0
	devpts     /dev/pts             devpts     nosuid,noexec,gid=5,mode=0620,ptmxmode=0666,X-mount.mkdir 0 0
	shm        /dev/shm             tmpfs      nosuid,nodev,mode=1777,X-mount.mkdir                      0 0
	mqueue     /dev/mqueue          mqueue     nosuid,nodev,noexec,X-mount.mkdir                         0 0
	securityfs /sys/kernel/security securityfs nosuid,nodev,noexec                                       0 0
	cgroup2    /sys/fs/cgroup       cgroup2    nosuid,nodev,noexec,nsdelegate,memory_recursiveprot       0 0
END
: > etc/resolv.conf
ln -sfn /proc/self/mounts etc/mtab
ln -sfn /run var/run
# What no package brings, since its installation makes it: a login is registered with systemd where that runs, and nobody needs a password.
mkdir -p etc/pam.d
echo 'auth required pam_deny.so' > etc/pam.d/common-auth
echo 'password required pam_deny.so' > etc/pam.d/common-password
echo 'account required pam_permit.so' > etc/pam.d/common-account
echo 'session required pam_permit.so' > etc/pam.d/common-session-noninteractive
printf 'session required pam_permit.so\nsession optional pam_systemd.so\n' > etc/pam.d/common-session
echo 0123456789abcdef0123456789abcdef > etc/machine-id
chmod 0640 etc/shadow
chmod 0700 root
chmod 1777 tmp var/tmp
ldconfig -r "$stage"

# What differs from run to run, the repository and the job, comes on a second disk: a plain tar archive.
rm -f usr/sbin/init
cat > usr/sbin/init <<-'END'
	#!/bin/bash
	mount -t devtmpfs -o mode=0755,nosuid dev /dev
	exec </dev/null >/dev/console 2>&1
	mount -a
	tar -C / --keep-directory-symlink -xpf "$vm_job"
	exec /bin/bash /usr/local/lib/vm/init.sh
END
chmod 0755 usr/sbin/init

size=$(du -sm --apparent-size . | cut -f1)
mke2fs -q -F -t ext4 -O ^has_journal -E root_owner=0:0,lazy_itable_init=1 -N 200000 -m 0 \
	-d . "$out.tmp" "$((size * 5 / 4 + 4096))M" > /dev/null
mv "$out.tmp" "$out"
echo "$key" > "$out.key"
