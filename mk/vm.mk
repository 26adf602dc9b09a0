# The promises that another kernel could break, on Debian's cloud kernel with cgroup v2 only, in a virtual machine: see tests/vm/run.sh.
# VM_KERNEL=FILE takes another kernel, VM_USERS="tester" only some of the users, VM_TIMEOUT=SEC another bound than ten minutes,
# VM_UNTIL=SEC skips what has not begun when the machine has been up for so long,
# VM_TESTS="promise/setuid limits/memory" other files than those that tests/vm/suite.sh chooses (all: everything, an hour).
VM_PACKAGES := qemu-system-x86 linux-image-cloud-amd64 e2fsprogs xfsprogs kmod git strace uidmap crun runc busybox-static

.PHONY: test-vm vm-packages
vm-packages:
	@sh tools/need.sh $(VM_PACKAGES)
test-vm: vm-packages
	@$(MAKE) --no-print-directory -j$(shell nproc) all probe
	tests/vm/test.sh
