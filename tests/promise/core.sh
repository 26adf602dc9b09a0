#!/bin/bash
# A crash in a box leaves no core file and starts no helper of the host: with a pipe in core_pattern the kernel heeds a limit of 1, not 0.
. "$(dirname "$0")/../lib.sh"
levels container process
need python3
ulimit -c unlimited 2>/dev/null || ulimit -c "$(ulimit -Hc)"
hard=$(python3 -c 'import resource; print(resource.getrlimit(resource.RLIMIT_CORE)[1])')
limit='import resource; print(*resource.getrlimit(resource.RLIMIT_CORE))'
if [ "$hard" = 0 ]; then
	skip "the limit is 1" "the caller's own hard limit is 0"
else
	is "$(box -- python3 -c "$limit")" "1 1" "the limit is 1, soft and hard"
	isnt "$(python3 -c "$limit")" "1 1" "control: outside it is another"
	is "$(box -- sh -c "sh -c 'ulimit -c unlimited' 2>/dev/null; python3 -c '$limit'")" "1 1" "and cannot be raised"
	# Nor lowered: 0 is what a pipe in core_pattern does not heed. Programs that set it are told that it is done.
	set_limit='import ctypes, resource, sys
libc = ctypes.CDLL(None, use_errno=True)
new = (ctypes.c_ulong * 2)(int(sys.argv[2]), int(sys.argv[2]))
numbers = {"x86_64": (160, 302), "aarch64": (164, 261)}[__import__("os").uname().machine]
high = 1 << 32
if sys.argv[1] == "libc":
    r = libc.setrlimit(resource.RLIMIT_CORE, new)
elif sys.argv[1] == "setrlimit":
    r = libc.syscall(ctypes.c_long(numbers[0]), ctypes.c_long(high + 4), new)
else:
    r = libc.syscall(ctypes.c_long(numbers[1]), ctypes.c_long(high), ctypes.c_long(high + 4), new, None)
print(r, *resource.getrlimit(resource.RLIMIT_CORE))'
	for way in libc setrlimit prlimit; do
		for value in 0 1 1000000; do
			is "$(box -- python3 -c "$set_limit" "$way" "$value")" "0 1 1" "$way to $value by hand changes nothing"
		done
	done
	is "$(python3 -c "$set_limit" prlimit 0)" "0 0 0" "control: outside it does"
	is "$(box -- sh -c 'ulimit -n 20; ulimit -n; ulimit -s 4096; ulimit -s' | tr '\n' ' ')" "20 4096 " "control: other limits can be set"
fi
pattern=$(cat /proc/sys/kernel/core_pattern)
note "core_pattern: $pattern"
cores() { find "$WORK/c" -type f | grep -c .; }
mkdir "$WORK/c"
# shellcheck disable=SC2016 # the inner shell's
crash='for s in SEGV ABRT QUIT BUS FPE ILL TRAP SYS; do sh -c "kill -$s \$\$"; done; ls -A; kill -SEGV $$'
if [[ $pattern != '|'* && $pattern != */* && $hard != 0 ]]; then
	(cd "$WORK/c" && sh -c "$crash") >/dev/null 2>&1
	isnt "$(cores)" 0 "control: outside a crash leaves a core file"
	rm -f "$WORK/c/"*
fi
result -- sh -c "cd ~; $crash"
expect "a crash is told" status=killed signal=11 stdout= limit=
if can_rw; then
	box --rw "$WORK/c" --workdir "$WORK/c" -- sh -c "$crash" >/dev/null 2>&1
	is "$(cores)" 0 "and leaves nothing in a writable mount"
	box --rw "$WORK/c" --workdir "$WORK/c" -- sh -c 'echo x >x'
	is "$(cores)" 1 "control: in which files can be made"
fi
done_testing
