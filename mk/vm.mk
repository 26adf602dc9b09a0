# The promises that another kernel could break, on Debian's cloud kernel with cgroup v2 only, in a virtual machine: see tests/vm/run.sh.
# VM_KERNEL=FILE takes another kernel, VM_USERS="tester" only some of the users, VM_TIMEOUT=SEC another bound than ten minutes,
# VM_UNTIL=SEC skips what has not begun when the machine has been up for so long,
# VM_TESTS="promise/setuid limits/memory" other files than those that tests/vm/suite.sh chooses (all: everything, an hour).
# test-systemd boots it with systemd, and logs in: part of test-vm, unless VM_SYSTEMD=0; VM_SHORT=1 takes the first half of it.
VM_PACKAGES := qemu-system-x86 linux-image-cloud-amd64 e2fsprogs xfsprogs kmod git strace uidmap crun runc busybox-static
VM_PACKAGES += systemd dbus dbus-user-session libpam-systemd
VM_SYSTEMD ?= 1

.PHONY: test-vm test-systemd vm-packages
vm-packages:
	@sh tools/need.sh $(VM_PACKAGES)
test-systemd: vm-packages
	@$(MAKE) --no-print-directory -j$(shell nproc) all
	tests/vm/test.sh systemd
test-vm: vm-packages $(if $(filter 0,$(VM_SYSTEMD)),,test-systemd)
	@$(MAKE) --no-print-directory -j$(shell nproc) all probe
	tests/vm/test.sh
