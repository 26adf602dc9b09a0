#!/bin/bash
# A box of Docker is as one of our own: statuses, files, rights, what happens when the daemon goes, and nothing left.
. "$(dirname "$0")/daemons.sh"
need dockerd
need_root
ENGINE=docker SOCKET=$WORK/docker.sock PORT=$((20000 + RANDOM % 20000))
DOCKER_MORE="-H tcp://127.0.0.1:$PORT"
defer eval 'daemon_stop "${DOCKER_PID:-}" "$WORK"'
docker_start "$WORK" || skip_all "dockerd does not start here: $(tail -n 3 "$WORK/docker.log")"
before=$(left | sort)

memory() {
	status 125 "less memory than a daemon allows" box --memory 4M -- true
	like "$ERR" "hint: .*--memory 64M" "is told how much does"
	is "$(box --memory 64M -- echo fine)" fine "control: that much does"
}

# The kernel has it: the second number counts memory and swap.
swap() {
	local pid dir run
	box --memory 64M -- sleep 4324$$ >/dev/null 2>&1 &
	run=$!
	until_true 20 pgrep -f "^sleep 4324$$\$"
	pid=$(pgrep -f "^sleep 4324$$\$")
	if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
		dir=/sys/fs/cgroup$(sed -n 's/^0:://p' "/proc/$pid/cgroup")
		is "$(cat "$dir/memory.max" "$dir/memory.swap.max" | tr '\n' ' ')" "67108864 0 " "memory is limited, and swap is none"
	else
		dir=/sys/fs/cgroup/memory$(sed -n 's/^[0-9]*:[^:]*memory[^:]*://p' "/proc/$pid/cgroup")
		is "$(cat "$dir/memory.limit_in_bytes" "$dir/memory.memsw.limit_in_bytes" | tr '\n' ' ')" "67108864 67108864 " "memory is limited, and memory with swap to the same"
	fi
	kill "$pid"
	wait "$run"
}

# The daemon's own socket is the host: neither it nor what it lies in is given to a box, whatever it is called.
own_socket() {
	local how path
	mkdir -p "$WORK/beside" && echo beside >"$WORK/beside/file" && ln -s "$WORK" "$WORK/beside/around"
	for how in --ro --rw; do
		for path in "$SOCKET" "$WORK" "$WORK/beside/around" "$WORK/beside/around/docker.sock"; do
			status 126 "$how of ${path/$WORK/…}, where the daemon listens, is refused" box $how "$path:/mnt" -- true
			like "$ERR" "mount of '.*' refused: it .*docker.sock', which is forbidden" "and says why"
		done
		is "$(box $how "$WORK/beside/file:/mnt" -- cat /mnt)" beside "control: $how of a file in a directory beside it"
	done
}

daemon_goes() {
	local pid start
	alone
	is "$(DOCKER_HOST=tcp://127.0.0.1:$PORT box -- echo there)" there "a daemon over tcp on this host"
	box -- sh -c 'echo runs; sleep 4323' >"$WORK/said" 2>"$WORK/why" &
	pid=$!
	until_true 20 test -s "$WORK/said"
	kill -9 "$DOCKER_PID"
	wait "$DOCKER_PID" 2>/dev/null
	start=$SECONDS
	wait "$pid"
	is $? 125 "a daemon that is killed in the middle of a run ends it"
	like "$(cat "$WORK/why")" "went away.*start it" "with the reason and the remedy"
	ok "soon" test $((SECONDS - start)) -lt 20
	refused "and the payload is gone" pgrep -f '^sleep 4323$'
	status 125 "without it there is no box" box -- true
	docker_run "$WORK" || note "$(tail -n 5 "$WORK/docker.log")"
	is "$(box -- echo again)" again "once it is back there is"
	is "$(listed)" 0 "and nothing of the old one"
	box -- sh -c 'echo runs; sleep 4323' >"$WORK/said" 2>"$WORK/why" &
	pid=$!
	until_true 20 grep -q runs "$WORK/said"
	kill "$DOCKER_PID"
	wait "$DOCKER_PID" 2>/dev/null
	wait "$pid"
	is $? 125 "a daemon that is restarted in the middle of a run ends it, too"
	like "$(cat "$WORK/why")" "(container of docker ended while the payload ran.*hint: .*restarted.*run it again|went away.*hint: start it)" "with the reason and the remedy"
	refused "and the payload is gone" pgrep -f '^sleep 4323$'
	docker_run "$WORK" || note "$(tail -n 5 "$WORK/docker.log")"
	is "$(box -- echo again)" again "and goes on"
	kill -STOP "$DOCKER_PID"
	timeout -s INT 2 "$CORDON" run --engine docker "${FLAGS[@]}" -- true >/dev/null 2>&1
	isnt $? 0 "one that does not answer is not waited for when the caller cancels"
	kill -CONT "$DOCKER_PID"
	until_gone "nothing is left of all that"
}

disk_full() {
	mkdir "$WORK/full" && mount -t tmpfs -o size=190m tmpfs "$WORK/full"
	defer umount -l "$WORK/full"
	(
		DOCKER_MORE= # the port is the other one's
		docker_start "$WORK/full" || exit 9
		head -c 200M /dev/zero >"$WORK/full/fill" 2>/dev/null
		box -- true 2>"$WORK/why"
		echo $? >"$WORK/code"
		rm "$WORK/full/fill"
		box -- echo fits >"$WORK/fits" 2>&1
		daemon_stop "$DOCKER_PID" "$WORK/full"
	)
	is "$(cat "$WORK/code")" 125 "a daemon without disk is an error"
	like "$(cat "$WORK/why")" "no space left.*prune" "with the remedy"
	is "$(cat "$WORK/fits")" fits "control: with some it works"
}

# A daemon whose containers have ids of their own: what an ordinary user writes into a mount would not be his, and root's boxes have ids that it
# has none for. Both are refused, and told why; all else works.
remapped() {
	local name dir=$WORK/remap
	for name in ${CORDON_TEST_USER:-} agentuser cordon-test nobody; do
		grep -q "^$name:" /etc/subuid && grep -q "^$name:" /etc/subgid && id "$name" >/dev/null 2>&1 && break
		name=
	done
	[ "$name" ] || { skip "userns-remap" "no user with subordinate ids: useradd makes them"; return; }
	mkdir -m 711 "$dir"
	(
		DOCKER_MORE=--userns-remap=$name SOCKET=$dir/docker.sock
		docker_start "$dir" || { fail "userns-remap: dockerd starts" "$(tail -n 3 "$dir/docker.log")"; exit; }
		status 125 "userns-remap: root's box is refused" box -- true
		like "$ERR" "hint: .*userns-remap" "userns-remap: and told why"
		chmod 666 "$SOCKET"
		mkdir "$dir/mine" && echo given >"$dir/mine/file" && chown -R 54321:54321 "$dir/mine"
		is "$(user_box --ro "$dir/mine:/data" -- sh -c 'id -u; cat /data/file; touch ~/x /tmp/x && awk "{ print \$2 }" /proc/self/uid_map' | tr '\n' ' ')" \
			"54321 given $(sed -n "s/^$name:\([0-9]*\):.*/\1/p" /etc/subuid | head -n 1) " "userns-remap: a user's box runs, in its user namespace"
		status 137 "userns-remap: its memory is bounded" user_box --memory 64M -- python3 -c 'x = bytearray(200 << 20)'
		ok "userns-remap: files in and out" user_box --in "$dir/mine:in" --out "in:$WORK/user/remapped" -- sh -c 'cp in/file in/more'
		is "$(stat -c %u "$WORK/user/remapped/more")" 54321 "userns-remap: are his"
		status 125 "userns-remap: a writable mount is refused" user_box --rw "$dir/mine:/work" -- touch /work/new
		like "$ERR" "who owns what is written.*hint: .*--in, --out" "userns-remap: with a way that works"
		is "$(ls "$dir/mine"; listed)" $'file\n0' "userns-remap: and nothing is left of it"
		marker=86$$ # his payload is not his to kill
		frozen "$DOCKER_PID" user_box
		# shellcheck disable=SC2154 # frozen's
		is "$code $(field status)" "125 failed" "userns-remap: a daemon that stands still: a box that cannot be ended has failed" || cat "$WORK/.result"
		like "$(field error.message)$(field error.hint)" "does not answer: its box could not be ended, and the payload may still run.*restart the daemon" "userns-remap: which is told, with the remedy"
		# shellcheck disable=SC2154 # frozen's
		ok "userns-remap: soon" test "$ms" -lt 12000
		ok "userns-remap: control: it runs" pgrep -f "^sleep $marker\$"
		kill -CONT "$DOCKER_PID"
		until_true 20 nothing_listed
		refused "userns-remap: once it goes on it does not" pgrep -f "^sleep $marker\$"
		is "$(listed)" 0 "userns-remap: nor is there a container"
		daemon_stop "$DOCKER_PID" "$dir"
		echo "$tap_count $tap_failed" >"$WORK/remapped"
	)
	read -r tap_count tap_failed <"$WORK/remapped"
}

statuses
files
rights
refusals
ordinary_user
remapped
memory
swap
own_socket
ends
random_kills
daemon_goes
disk_full
done_testing
