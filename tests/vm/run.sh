#!/bin/bash
# Runs a command in a virtual machine with Debian's cloud kernel and cgroup v2 only, prints its output and ends with its status.
#
#   run.sh [OPTIONS] -- COMMAND ARG…
#   run.sh [OPTIONS] --script FILE [ARG…]      many commands in one boot; `vm-as USER COMMAND…` (as root) changes the user
#
#   --user root|tester|tester-nodelegate   who runs it (default root); tester has a delegated cgroup, the third has not
#   --timeout SEC   for the whole machine (default 300); then the status is 124
#   --mem MB        of the machine (default 2048)
#   --sysctl K=V    set before the command runs; may be repeated
#   --env K=V       in the command's environment; may be repeated
#   --systemd       pid 1 is systemd, with logind and D-Bus; users log in: see as.sh
#
# VM_KERNEL (a vmlinuz), VM_MODULES (its modules), VM_APPEND (kernel arguments) and VM_CPUS override what is found.
# The repository stands at the same path as here, without .git and objects, and belongs to root. The root file system is a
# writable ext4 whose changes are thrown away. Status 125: the machine itself failed; its console follows.
set -euo pipefail

die() { echo "vm: $*" >&2; exit 125; }

here=$(dirname "$(readlink -f "$0")")
repo=$(readlink -f "$here/../..")
user=root timeout=300 mem=2048 script='' sysctls=() envs=() systemd=''
while [ $# -gt 0 ]; do
	case $1 in
	--user) user=$2; shift 2 ;;
	--timeout) timeout=$2; shift 2 ;;
	--mem) mem=$2; shift 2 ;;
	--sysctl) sysctls+=("$2"); shift 2 ;;
	--env) envs+=("$2"); shift 2 ;;
	--systemd) systemd=1; shift ;;
	--script) script=$2; shift 2; break ;;
	--) shift; break ;;
	*) die "unknown option '$1'" ;;
	esac
done
[ -n "$script" ] || [ $# -gt 0 ] || die "nothing to run"
case $user in root | tester | tester-nodelegate) ;; *) die "unknown user '$user'" ;; esac

# shellcheck disable=SC2012 # version sort; the names are the kernel package's own
kernel=${VM_KERNEL:-$(ls -v /boot/vmlinuz-*-cloud-amd64 2>/dev/null | tail -n 1)}
[ -r "$kernel" ] || die "no kernel: install linux-image-cloud-amd64 or set VM_KERNEL"
version=${kernel##*/vmlinuz-}
modules=${VM_MODULES:-/lib/modules/$version}
[ -d "$modules" ] || die "no modules in $modules: set VM_MODULES"
command -v qemu-system-x86_64 > /dev/null || die "install qemu-system-x86"
[ -z "$systemd" ] || [ -x /lib/systemd/systemd ] || die "install systemd, dbus-user-session and libpam-systemd"

cache=$repo/build/vm
mkdir -p "$cache"
image=$cache/root-$version.img
flock "$cache/lock" "$here/image.sh" "$image" "$version" "$modules" || die "no image"

for run in "$cache"/run.*; do
	kill -0 "${run##*.}" 2>/dev/null || rm -rf "$run"
done
run=$cache/run.$$
mkdir "$run"
pid=''
trap '[ -z "$pid" ] || kill "$pid" 2>/dev/null || :; rm -rf "$run"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# The job, and the repository, as one archive that the guest unpacks from its second disk.
vm=$run/root/usr/local/lib/vm
mkdir -p "$vm/dev" "$run/root/usr/local/bin"
ln -s /proc/self/fd "$vm/dev/fd"
ln -s /proc/self/fd/0 "$vm/dev/stdin"
ln -s /proc/self/fd/1 "$vm/dev/stdout"
ln -s /proc/self/fd/2 "$vm/dev/stderr"
cp "$here"/{init,job}.sh "$vm"
cp "$here/as.sh" "$run/root/usr/local/bin/vm-as"
chmod 0755 "$run/root/usr/local/bin/vm-as"
printf '%s\n' "${sysctls[@]}" > "$vm/sysctl"
echo "$user" > "$vm/user"
{
	printf 'cd %q\n' "$repo"
	[ ${#envs[@]} = 0 ] || printf 'export %q\n' "${envs[@]}"
	if [ -n "$script" ]; then
		cp "$script" "$vm/script"
		set -- bash /usr/local/lib/vm/script "$@"
	fi
	printf 'exec'
	printf ' %q' "$@"
	echo
} > "$vm/job"

list_files() {
	cd "$repo"
	if [ -e .git ]; then
		git ls-files -co --exclude-standard
	else
		find . -path ./build -prune -o ! -type d -print
	fi
	if [ -d build ]; then
		find build \( -path build/vm -o -path build/asan -o -path build/coverage \) -prune -o \
			! -type d ! -name '*.[od]' ! -name '*.gc*' -print
	fi
}
list_files | while read -r f; do if [ -e "$repo/$f" ] || [ -L "$repo/$f" ]; then printf '%s\n' "$f"; fi; done > "$run/files"
tar -cf "$run/job.tar" --owner=0 --group=0 --mode=go=u-w -C "$run/root" usr/local
tar -rf "$run/job.tar" --owner=0 --group=0 --mode=go=u-w -C "$repo" --transform "s|^|${repo#/}/|S" -T "$run/files" \
	--ignore-failed-read --warning=no-file-changed || [ $? = 1 ]
truncate -s %1M "$run/job.tar"

append=(console=ttyS0 quiet panic=-1 reboot=t root=/dev/nvme0n1 rootfstype=ext4 rw vm_job=/dev/nvme1n1 "vm_repo=$repo"
	${systemd:+vm_systemd=1} cgroup_no_v1=all "lsm=landlock,lockdown,yama,integrity,apparmor,bpf")

# Two ports come back: what the command writes, and at the end its status. Both go to files, which never make the machine
# wait and lose nothing, and so does the kernel's console.
: > "$run/out"
TMPDIR=$run setpriv --pdeathsig TERM -- timeout --foreground -k 5 "$timeout" \
	qemu-system-x86_64 -nodefaults -no-user-config -display none -no-reboot -M q35 -accel tcg,thread=multi -cpu max \
	-smp "${VM_CPUS:-2}" -m "$mem" -kernel "$kernel" \
	-append "${append[*]} ${VM_APPEND:-}" \
	-drive "if=none,id=root,file=$image,format=raw,snapshot=on,cache=unsafe" -device nvme,drive=root,serial=root \
	-drive "if=none,id=job,file=$run/job.tar,format=raw,readonly=on" -device nvme,drive=job,serial=job \
	-serial "file:$run/console" -device virtio-serial-pci \
	-chardev "file,id=out,path=$run/out,append=on" -device virtserialport,chardev=out,name=out \
	-chardev "file,id=status,path=$run/status" -device virtserialport,chardev=status,name=status < /dev/null >&2 &
pid=$!
tail -c +1 -f -s 0.1 --pid "$pid" "$run/out" &
copier=$!
wait "$pid" && rc=0 || rc=$?
pid=''
wait "$copier" || :

status=$(cat "$run/status" 2>/dev/null || :)
if [[ $status =~ ^[0-9]+$ ]]; then
	exit "$status"
fi
case $rc in
124 | 137) echo "vm: not finished after $timeout s; the end of the console:" >&2; rc=124 ;;
*) echo "vm: the machine ended without a status; the end of the console:" >&2; rc=125 ;;
esac
tail -n 40 "$run/console" >&2 || :
exit "$rc"
