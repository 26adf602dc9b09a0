#!/bin/bash
# Pid 1 of the guest. Sets up what systemd would on a Debian host (mounts, loopback, limits, a cgroup v2 tree with all
# controllers on), runs the job, sends its output and status to the host, and resets the machine. It reaps orphans as any init.
set -u

vm=/usr/local/lib/vm
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin HOME=/root LANG=C.UTF-8
umask 022

mount --make-rshared /
cp -P $vm/dev/* /dev
echo "$(< /etc/hostname)" > /proc/sys/kernel/hostname
ip link set lo up
ip address add 192.0.2.99/32 dev lo # one that is not only its own
modprobe -qa virtio_pci virtio_console fuse loop overlay
install -d -o 1000 -g 1000 -m 0700 /home/tester /run/user/1000
chmod u+s /usr/bin/su /usr/bin/newuidmap /usr/bin/newgidmap 2> /dev/null
ulimit -Hn 524288

# The repository may lie below a directory that an ordinary user could not pass.
above=() d=${vm_repo:?a kernel argument}
while [ -n "$d" ]; do
	above+=("$d")
	d=${d%/*}
done
chmod a+x "${above[@]}"

while IFS='=' read -r key value; do
	[ -z "$key" ] || printf '%s\n' "$value" > "/proc/sys/${key//./\/}"
done <<END
fs.protected_hardlinks=1
fs.protected_symlinks=1
fs.protected_regular=2
fs.protected_fifos=1
kernel.pid_max=4194304
net.ipv4.ping_group_range=0 2147483647
$(< $vm/sysctl)
END

# Processes only in leaves: the kernel lets no cgroup but the root have both processes and controllers for its children.
cd /sys/fs/cgroup || exit
read -ra all < cgroup.controllers
mkdir -p init.scope system.slice user.slice/user-{0,1000}.slice user.slice/user-1000.slice/user@1000.service/{init.scope,app.slice}
echo $$ > init.scope/cgroup.procs
manager=user.slice/user-1000.slice/user@1000.service
for d in . system.slice user.slice user.slice/user-{0,1000}.slice $manager $manager/app.slice; do
	echo "${all[*]/#/+}" > "$d/cgroup.subtree_control"
done
chown 1000:1000 $manager{,/init.scope,/app.slice} $manager{,/init.scope,/app.slice}/cgroup.{procs,threads,subtree_control}
cd /

for p in /sys/class/virtio-ports/*; do
	case $(< "$p/name") in
	out) exec 8> "/dev/${p##*/}" ;;
	status) exec 9> "/dev/${p##*/}" ;;
	esac
done

# A pipe between, as tests expect one; what a left-over process still holds is not waited for.
exec 7> >(exec cat >&8 9>&-)
copier=$!
vm-as "$(< $vm/user)" bash $vm/job < /dev/null >&7 2>&1 7>&- 8>&- 9>&-
status=$?
exec 7>&-
for ((i = 0; i < 50; i++)); do
	kill -0 $copier 2> /dev/null || break
	sleep 0.1
done
echo $status >&9

# A port becomes writable again when the host has taken what was written before.
perl -e 'for my $f (8, 9) { my $w = ""; vec($w, $f, 1) = 1; select(undef, $w, undef, 10); }'
echo b > /proc/sysrq-trigger
sleep 60
