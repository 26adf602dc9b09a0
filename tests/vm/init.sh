#!/bin/bash
# Pid 1 of the guest. Sets up what systemd would on a Debian host (mounts, loopback, limits, a cgroup v2 tree with all
# controllers on) and becomes job.sh, which reaps orphans as any init. With run.sh --systemd it becomes systemd instead, for which job.sh is a service.
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

if [ -n "${vm_systemd:-}" ]; then
	rm /etc/fstab # all of it is mounted
	mkdir -p /run/systemd/system /run/tmpfiles.d
	ln -s /dev/null /run/tmpfiles.d/tmp.conf # the repository may lie in /tmp
	cat > /run/systemd/system/vm.service <<-END
		[Unit]
		Wants=dbus.service systemd-logind.service systemd-user-sessions.service
		After=dbus.service systemd-logind.service systemd-user-sessions.service
		[Service]
		ExecStart=/bin/bash $vm/job.sh
		Environment=PATH=$PATH HOME=$HOME LANG=$LANG
		StandardError=null
		TasksMax=infinity
	END
	# Devices are there already, and nobody waits for the others.
	for unit in systemd-udev{d,-trigger}.service systemd-udevd-{control,kernel}.socket systemd-modules-load.service; do
		ln -s /dev/null "/run/systemd/system/$unit"
	done
	exec /lib/systemd/systemd --unit=vm.service --show-status=no
fi

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

exec bash $vm/job.sh
