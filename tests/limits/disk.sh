#!/bin/bash
# What is written that is not a host mount is bounded in bytes and in files: /tmp, the home, /dev/shm, tmpfs of one's own, scratch on disk.
. "$(dirname "$0")/../lib.sh"
levels container
works_here || skip_all "no boxes of level $LEVEL here"
need python3

fill='import os, sys
n = 0
try:
    with open(sys.argv[1] + "/f", "wb", buffering=0) as f:
        while n < int(sys.argv[2]) << 20:
            n += f.write(b"x" * 65536)
except OSError as e:
    print(n >> 20, e.errno)
    sys.exit(5)
print(n >> 20)'
inodes='import os, sys
n = 0
try:
    for i in range(int(sys.argv[2])):
        os.close(os.open(f"{sys.argv[1]}/{i}", os.O_CREAT | os.O_WRONLY))
        n += 1
except OSError as e:
    print(n, e.errno)
    sys.exit(6)
print(n)'

# ---- bytes ----
for place in /tmp /dev/shm /home/agent; do
	result --disk 40M --tmp 20M -- python3 -c "$fill" "$place" 10
	expect "control: 10 MB fit into $place" status=success stdout=$'10\n'
	result --disk 40M --tmp 20M -- python3 -c "$fill" "$place" 60
	expect "60 MB do not fit into $place" status=resource_exceeded limit=disk exit_code=5 'stdout=~^(1[0-9]|2[0-9]|3[0-9]) 28$'
done
result --tmp 1M -- python3 -c "$fill" /tmp 5
expect "files.tmp is the size of /tmp" status=resource_exceeded 'stdout=~^(0|1) 28$'
result --tmp 20M -- python3 -c "$fill" /tmp 5
expect "control: 5 MB into 20M" status=success stdout=$'5\n'
result --tmpfs /cache:2M -- python3 -c "$fill" /cache 5
expect "a tmpfs of one's own has its size" exit_code=5 'stdout=~^(1|2) 28$'
result --tmpfs /cache:8M -- python3 -c "$fill" /cache 5
expect "control: and is writable up to it" status=success stdout=$'5\n'
# Everything together stays within limits.disk.
result --disk 40M --tmp 20M --tmpfs /cache:5M -- python3 -c '
import os
n = 0
for place in ("/tmp", "/dev/shm", "/home/agent", "/cache"):
    try:
        with open(place + "/f", "wb", buffering=0) as f:
            while True:
                n += f.write(b"x" * 65536)
    except OSError:
        pass
print(n >> 20)'
like "$(field stdout)" '^(2[5-9]|3[0-9]|40)$' "all places together hold no more than limits.disk"

# ---- inodes ----
for place in /tmp /home/agent /dev/shm; do
	result --inodes 400 -- python3 -c "$inodes" "$place" 100
	expect "control: 100 files in $place" status=success stdout=$'100\n'
	result --inodes 400 -- python3 -c "$inodes" "$place" 1000
	expect "1000 files do not fit into 400 in $place" status=resource_exceeded limit=inodes exit_code=6 'stdout=~^[0-9]+ 28$'
done
result --inodes 400 -- python3 -c '
import os
n = 0
for place in ("/tmp", "/dev/shm", "/home/agent"):
    try:
        for i in range(2000):
            os.close(os.open(f"{place}/{i}", os.O_CREAT | os.O_WRONLY))
            n += 1
    except OSError:
        pass
print(n)'
like "$(field stdout)" '^([1-3][0-9][0-9]|400)$' "all places together hold no more than limits.inodes"

# ---- a plan that cannot hold is refused ----
status 125 "a disk that memory cannot hold is refused" "$CORDON" run --memory 64M --disk 128M -- true
like "$ERR" 'cannot be held by limits.memory' "and says so"
status 125 "a /tmp that leaves nothing is refused" "$CORDON" run --disk 10M --tmp 10M -- true

# ---- on disk ----
# shellcheck disable=SC2016
if box --storage disk -- sh -c 'echo x >"$HOME/x"' >/dev/null 2>&1; then
	for place in /tmp /home/agent; do
		result --storage disk --memory 64M --disk 100M --tmp 48M --file-size 1G -- python3 -c "$fill" "$place" 30
		expect "control: 30 MB on disk in $place" status=success stdout=$'30\n'
		result --storage disk --memory 64M --disk 100M --tmp 48M --file-size 1G -- sh -c "python3 -c '$fill' $place 400; sleep 5; exit 5"
		expect "400 MB do not fit on disk in $place" status=resource_exceeded limit=disk
	done
	result --storage disk --memory 64M --disk 100M --inodes 500 -- sh -c "python3 -c '$inodes' /home/agent 3000; sleep 5; exit 6"
	expect "3000 files do not fit on disk into 500" status=resource_exceeded limit=inodes
	result --storage disk --memory 64M --disk 100M --inodes 100 -- sh -c "python3 -c '$inodes' /home/agent 200; sleep 5; exit 6"
	expect "nor 200 into 100" status=resource_exceeded limit=inodes
	result --storage disk --disk 4M --tmp 1M -- sh -c 'echo small >"$HOME/x" && cat "$HOME/x"'
	expect "a small one has room for fewer files, and works" status=success stdout=$'small\n'
	# files.tmp is the size of /tmp there as well.
	result --storage disk --memory 64M --disk 100M --tmp 8M --file-size 1G -- sh -c "python3 -c '$fill' /tmp 30; sleep 5"
	expect "30 MB do not fit on disk into a /tmp of 8" status=resource_exceeded limit=disk
	result --storage disk --memory 64M --disk 100M --tmp 48M --file-size 1G -- sh -c "python3 -c '$fill' /tmp 30; sleep 0.3"
	expect "control: 30 MB into one of 48" status=success
	# A file that has no name any more is still there.
	unnamed='cd; exec 3>f; rm f; head -c "$0" /dev/zero >&3 || exit 5; sleep 3'
	result --storage disk --memory 64M --disk 60M --tmp 48M --file-size 1G -- sh -c "$unnamed" 200M
	if [ "$ME" = user ] && [ -n "$ENGINE" ]; then
		skip "a file without a name counts" "in a box of another engine nobody looks (docs/THREAT-MODEL.md)"
	elif [ "$ME" = root ]; then # a file system of its own size: the write fails, and with the process the file is gone
		expect "a file without a name counts" exit_code=5 'stderr=~No space left'
	else
		expect "a file without a name counts" status=resource_exceeded limit=disk
	fi
	# However deep down in the tree of processes it is held.
	deep='[ "$1" = 0 ] && exec sh -c "$3" "$2"; sh -c "$0" "$0" $(($1 - 1)) "$2" "$3"; exit $?'
	result --storage disk --memory 2G --pids 200 --disk 60M --tmp 48M --file-size 1G -- sh -c "$deep" "$deep" 80 200M "$unnamed"
	if [ "$ME" = user ] && [ -n "$ENGINE" ]; then
		skip "eighty processes deep" "in a box of another engine nobody looks (docs/THREAT-MODEL.md)"
	elif [ "$ME" = root ]; then
		expect "eighty processes deep, too" exit_code=5 'stderr=~No space left'
	else
		expect "eighty processes deep, too" status=resource_exceeded limit=disk
	fi
	result --storage disk --memory 2G --pids 200 --disk 60M --tmp 48M --file-size 1G -- sh -c "$deep" "$deep" 80 4M "$unnamed"
	expect "control: a small one fits there as well" status=success
	result --storage disk --memory 64M --disk 60M --tmp 48M --file-size 1G -- sh -c "$unnamed" 4M
	expect "control: a small one fits" status=success
	# A directory that its owner alone cannot list: what is in it counts, or it counts as too much.
	hidden='import os, sys, time
home = os.environ["HOME"]
os.mkdir(home + "/d")
os.chdir(home + "/d")
os.chmod(home + "/d", int(sys.argv[1], 8))
for i in range(int(sys.argv[2])):
    with open(str(i), "wb", buffering=0) as f:
        for _ in range(20):
            f.write(b"x" * (1 << 20))
print("written", flush=True)
time.sleep(float(sys.argv[3]))'
	result --storage disk --memory 64M --disk 100M --tmp 48M -- python3 -c "$hidden" 0700 1 1
	expect "control: 20 MB on disk in a directory of mode 0700" status=success stdout=$'written\n'
	for mode in 0700 0300; do
		result --storage disk --memory 64M --disk 60M --tmp 48M --timeout 40s -- python3 -c "$hidden" $mode 8 20
		if [ "$ME" = root ]; then # a file system of its own size: the write fails
			expect "160 MB do not fit on disk in a directory of mode $mode" status='~^(resource_exceeded|error)$' stdout= wall_ms='<19000'
		else # watched
			expect "160 MB do not fit on disk in a directory of mode $mode" status=resource_exceeded limit='~^(disk|inodes)$' wall_ms='<19000'
		fi
	done
	scratch_empty() { [ -z "$(find "/var/tmp/cordon-$(id -u)" -mindepth 1 -maxdepth 1 -name 'cordon-*' -newer "$WORK/.result" 2>/dev/null)" ]; }
	ok "nothing is left in the scratch directory" until_true 30 scratch_empty # others may run boxes meanwhile
	result --storage disk --keep -- sh -c 'echo kept >"$HOME/x"'
	kept=$(field kept)
	if [ -n "$kept" ]; then
		isnt "$(find "$kept" -name x 2>/dev/null)" "" "--keep keeps it and says where"
		[[ $kept != */kept-cordon-*/* ]] || defer rm -rf "${kept%/*}"
	else
		fail "--keep says where" "$(cat "$WORK/.result")"
	fi
else
	fail "storage: disk works" "$(box --storage disk -- true 2>&1)"
fi
done_testing
