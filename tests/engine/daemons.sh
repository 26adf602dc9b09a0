# shellcheck shell=bash
# What a box of Docker or Podman is held to besides lib.sh: tests/engine/docker.sh and podman.sh. The daemon is our own.
HAS_DAEMON=1
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
. "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
need curl
export CORDON_ENGINE_IMAGE=$DAEMON_IMAGE
FLAGS=(--image "$DAEMON_IMAGE")
LAYERS="mountns pidns netns ipcns utsns cgroupns cgroup rlimits no_new_privs landlock seccomp "

# groups: of containers, which have their ids for names, those that are new and that nobody is in. Others' come and go.
every_group() { find /sys/fs/cgroup -mindepth 2 -maxdepth 4 -type d \( -path '*/docker/*' -o -name 'docker-*.scope' -o -name 'libpod-*' \) 2>/dev/null | sort; }
every_group >"$WORK/.groups"
groups() {
	local dir pid
	every_group | comm -13 "$WORK/.groups" - | while read -r dir; do
		{ read -r pid <"$dir/cgroup.procs"; } 2>/dev/null || [ ! -d "$dir" ] || echo "$dir"
	done
}
left() { # containers, what lies ready for them, groups, drivers, mounts
	api "$SOCKET" GET "/containers/json?all=1" | grep -o 'cordon-[0-9][0-9a-f-]*' | sort -u
	groups
	find /run/cordon/shelf /run/cordon-engine -mindepth 1 -maxdepth 4 -name 'cordon-[0-9]*' 2>/dev/null | orphans
	ps -eo stat=,pid=,ppid=,comm= | while read -r state pid parent name; do
		case $state$name in Z*) ;; *cordon-engine-d*)
			[ "$(dirname "$(readlink "/proc/$pid/exe")")" != "$(dirname "$(realpath "$CORDON")")" ] ||
				grep -qE '^(cordon|python)' "/proc/$parent/comm" 2>/dev/null || echo "$name $pid" ;;
		esac
	done
	awk '{ print $2 }' /proc/mounts | grep cordon/shelf | orphans
}

listed() { api "$SOCKET" GET "/containers/json?all=1" | grep -c cordon-; } # containers that the daemon knows

# What an ordinary user who may use the socket gets: his own id, so that files stay his.
user_box() { (cd / && setpriv --reuid=54321 --regid=54321 --clear-groups env HOME=/nonexistent XDG_RUNTIME_DIR="$WORK/user" timeout -k 5 60 "$CORDON" run --engine "$ENGINE" --image "$DAEMON_IMAGE" "$@"); }
ordinary_user() {
	mkdir -m 700 "$WORK/user" && mkdir "$WORK/mine" "$WORK/theirs" "$WORK/mine/.git" && chown -R 54321:54321 "$WORK/user" "$WORK/mine"
	status 125 "a user who may not use the socket" user_box -- true
	like "$ERR" "Permission denied" "is told"
	like "$ERR" "usermod -aG" "with the remedy"
	chmod 666 "$SOCKET"
	is "$(user_box -- sh -c 'id -u; id -g; id -G; id -un' | tr '\n' ' ')" "54321 54321 54321 agent " "who may is himself inside"
	ok "writes where he may" user_box --rw "$WORK/mine:/work" -- sh -c 'echo x >/work/new'
	is "$(stat -c %u:%g "$WORK/mine/new")" 54321:54321 "and it is his"
	refused "nowhere else" user_box --rw "$WORK/theirs:/work" -- touch /work/new
	refused "protected paths hold" user_box --rw "$WORK/mine:/work" --protect .git/hooks/ -- sh -c 'mkdir -p /work/.git/hooks && touch /work/.git/hooks/x'
	is "$(ls -A "$WORK/mine/.git")" "" "and leave nothing"
	ok "files in and out" user_box --in "$WORK/mine:in" --out "in:$WORK/user/out" -- sh -c 'cat in/new && touch in/more'
	is "$(ls -A "$WORK/user/out" | tr '\n' ' ')" ".git more new " "arrive"
	user_box --json --memory 64M -- python3 -c 'x = bytearray(200 << 20)' >"$WORK/.result"
	is "$? $(field status) $(field limit)" "137 resource_exceeded memory" "memory is bounded"
	user_box --json --disk 2M --tmp 1M -- sh -c 'head -c 1500k /dev/zero >/tmp/x; head -c 100 /dev/zero >~/x && echo end; exit 1' >"$WORK/.result"
	is "$(field status) $(field limit) $(field stdout)" "resource_exceeded disk end" "so is /tmp, apart from the home"
	is "$(user_box -- sh -c 'touch /x /home/x /run/x /usr/x 2>/dev/null || true; ls /x /home/x /run/x /usr/x 2>/dev/null')" "" "nothing else is writable"
	is "$(find "$WORK/user/cordon/shelf" -mindepth 1)" "" "nothing is left"
	chmod 660 "$SOCKET"
}

# Kill -9 at random moments of the front, its keeper, the driver, or all of them: the next start finds nothing of it.
random_kills() {
	local i pid keeper driver victims victim hits=0 living
	alone
	for i in $(seq "${1:-8}"); do
		"$CORDON" run --engine "$ENGINE" "${FLAGS[@]}" --rw "$WORK/rw:/work" --protect .new/ -- sleep 4322 >/dev/null 2>&1 &
		pid=$!
		sleep "0.$((RANDOM % 80 + 10))"
		keeper=$(pgrep -P "$pid") driver=$([ -z "$keeper" ] || pgrep -P "$keeper")
		case $((i % 4)) in 0) victims=$pid ;; 1) victims=$keeper ;; 2) victims=$driver ;; 3) victims="$pid $keeper $driver" ;; esac
		living=
		for victim in $victims; do ! grep -qs '^State:[[:space:]]*[^ZX]' "/proc/$victim/status" || living+=" $victim"; done
		# shellcheck disable=SC2086 # a list of pids
		[ -z "$living" ] || { kill -9 $living 2>/dev/null && hits=$((hits + 1)); }
		[ $((i % 4)) = 0 ] || [ $((i % 4)) = 3 ] || kill "$pid" 2>/dev/null
		wait "$pid" 2>/dev/null
		kill -9 "$pid" 2>/dev/null
	done
	ok "control: $hits of ${1:-8} kills hit somebody" test "$hits" -ge $((${1:-8} * 3 / 4))
	for i in $(seq 30); do # those that end by themselves have some seconds; the rest goes with the next start
		box -- true >/dev/null 2>&1
		[ "$(listed)" = 0 ] && break
		sleep 0.3
	done
	is "$(listed)" 0 "kill -9 at random moments: no container is left once another one was started"
	until_gone "nor anything else"
	refused "nor a placeholder" test -e "$WORK/rw/.new"
	refused "nor a payload" pgrep -f '^sleep 4322$'
}

# frozen DAEMON-PID BOX…: a box with a deadline, whose daemon stands still once it runs; $marker is what its payload sleeps. $code, $ms from its
# deadline on, and its result.
# shellcheck disable=SC2154 # the caller's
frozen() {
	local pid=$1 begin
	shift
	"$@" --json --timeout 2s -- sleep "$marker" >"$WORK/.result" 2>"$WORK/why" &
	run=$!
	until_true 20 pgrep -f "^sleep $marker\$" || note "$(cat "$WORK/why" "$WORK/.result")"
	begin=$((${EPOCHREALTIME/./} / 1000 + 2000))
	kill -STOP "$pid"
	wait "$run"
	code=$? ms=$((${EPOCHREALTIME/./} / 1000 - begin))
	note "$ENGINE: a daemon that stands still: over $ms ms after the deadline"
}
# freezes WHO DAEMON-PID BOX…: it is ended without the daemon, and nothing is left once that goes on.
freezes() {
	local who=$1 pid=$2
	shift
	frozen "$@"
	is "$code $(field status) $(field limit)" "124 timeout wall_time" "$ENGINE: a daemon that stands still does not put off the deadline of $who" || cat "$WORK/why" "$WORK/.result"
	like "$(field error.message) $(field error.hint)" "$ENGINE.sock does not answer.*restarting it may help" "$ENGINE: and it is told"
	ok "$ENGINE: soon" test "$ms" -lt 12000
	refused "$ENGINE: and the payload of $who is gone while it stands still" pgrep -f "^sleep $marker\$"
	kill -CONT "$pid"
	until_true 20 nothing_listed
	is "$(listed)" 0 "$ENGINE: once it goes on its container is removed"
	is "$(box -- echo again 2>&1)" again "$ENGINE: and the next box works"
}
nothing_listed() { [ "$(listed)" = 0 ]; }
