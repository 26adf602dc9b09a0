#!/bin/bash
# A daemon of Docker that answers what it likes (tests/engine/fake.py): garbage, too much, too little, too late, at every step of a run, is an error
# with status 125 and in time; a process that it names is neither signalled nor entered unless it runs our init; and of the containers that it lists only
# orphans of this machine are removed.
. "$(dirname "$0")/fake_lib.sh"

# ---- what is no answer ----

# What a ping and a start say beside their heads is nobody's business, and a stream has no JSON.
bad=()
for step in ping create attach start inspect ${FAKE_GROUPS:+wait}; do
	for kind in garbage empty html types huge endless cut refused; do
		case $kind.$step in *.ping | *.attach | *.start) [[ $kind =~ garbage|empty|huge|endless ]] || continue ;; esac
		[ "$kind.$step" != huge.start ] || continue
		[ "$kind.$step" != huge.attach ] || [ "$FAKE_GROUPS" ] || continue # a stream, which is heard once there is a box
		bad+=("$kind.$step")
	done
done
fine=({garbage,huge,types,refused,cut}.list {html,refused}.ping types.delete)
fake good "${bad[@]}" "${fine[@]}"
at good -- true
is "$(came good)" "$REACHED" "control: one that behaves" || cat "$WORK/d/good.err"
like "$(cat "$WORK/d/good.log")" 'POST /v1.41/containers/create\?name=cordon-' "and is asked for a container by its name"
all "${bad[@]}" "${fine[@]}"
wrong='' slow=''
for name in "${bad[@]}"; do
	[ "$(cat "$WORK/d/$name.code")" = 125 ] && grep -q '^cordon: ' "$WORK/d/$name.err" && ! grep -q 'no process of this' "$WORK/d/$name.err" || wrong+="$name: status $(cat "$WORK/d/$name.code"), $(head -c 300 "$WORK/d/$name.out" "$WORK/d/$name.err")"$'\n'
	[ "$(cat "$WORK/d/$name.ms")" -lt 6000 ] || slow+=" $name: $(cat "$WORK/d/$name.ms") ms"
done
is "$wrong" "" "what is no answer ends the run with an error and status 125 (${#bad[@]} of them)"
is "$slow" "" "soon"
unlike "$(cat "$WORK"/d/*.err)" $'[\x1b\x07]' "and no control character of it reaches the terminal"
for name in "${fine[@]}"; do
	[ "$(came "$name")" = "$REACHED" ] || echo "$name: $(cat "$WORK/d/$name.code" "$WORK/d/$name.err")"
done >"$WORK/wrong"
is "$(cat "$WORK/wrong")" "" "a list that cannot be read, a ping and a removal that says more keep nobody from running"

# ---- what is no answer yet ----

late=(hang.{ping,list,create,attach,start,inspect} drip.attach)
fake "${late[@]}" hang.version
IMPATIENT=0.7 all "${late[@]}"
for name in "${late[@]}"; do
	[ "$(cat "$WORK/d/$name.code")" = 124 ] && [ "$(cat "$WORK/d/$name.ms")" -lt 5000 ] && grep -q '^cordon: ' "$WORK/d/$name.err" || echo "$name: $(cat "$WORK/d/$name.code" "$WORK/d/$name.ms" "$WORK/d/$name.err")"
done >"$WORK/wrong"
is "$(cat "$WORK/wrong")" "" "a daemon that does not answer is not waited for when the caller cancels, at any step"

# The first question is answered within seconds or not at all; both who run a box and who ask what there is are told, and what helps. Later ones have
# their time, too, beside each other here: what only looks for orphans costs it, and the run goes on.
late=(hang.{ping,version,attach})
[ "${CORDON_FULL:-0}" != 1 ] || late+=(hang.{create,start,inspect}) # which have a minute
waiting=()
for name in "${late[@]}" hang.list; do
	: >"$WORK/d/$name.log"
	PATIENT=80 at "$name" -- true &
	waiting+=($!)
done
DOCKER_HOST=unix://$WORK/d/hang.ping.sock CONTAINER_HOST=unix:///nowhere timeout -k 5 30 "$CORDON" doctor >"$WORK/doctor" 2>&1
wait "${waiting[@]}"
for name in "${late[@]}"; do
	case $name in *.ping | *.version) most=20000 ;; *.attach) most=30000 ;; *) most=75000 ;; esac
	is "$(cat "$WORK/d/$name.code")" 125 "$name: a daemon that does not answer ends the run" || cat "$WORK/d/$name.err"
	like "$(cat "$WORK/d/$name.err")" "$name.sock does not answer.*hint: .*log; restarting it" "$name: with the reason and the remedy"
	ok "$name: in time" test "$(cat "$WORK/d/$name.ms")" -lt $most || cat "$WORK/d/$name.ms"
	case $name in *.attach | *.start | *.inspect) like "$(cat "$WORK/d/$name.log")" "/attach.*DELETE" "$name: and what it made is removed" ;; esac
done
is "$(came hang.list)" "$REACHED" "hang.list: one that does not list its containers has a box run all the same" || cat "$WORK/d/hang.list.err"
ok "hang.list: in time, and not before it was waited for" test "$(cat "$WORK/d/hang.list.ms")" -gt 15000 -a "$(cat "$WORK/d/hang.list.ms")" -lt 35000 || cat "$WORK/d/hang.list.ms"
like "$(cat "$WORK/doctor")" "hang.ping.sock does not answer.*log; restarting it" "cordon doctor tells both, too"

# An image that is being pulled, slowly or without a word: the caller's wish to end and his death are heard at once.
pulls=({drip,hang}.pull)
fake "${pulls[@]}"
for name in "${pulls[@]}"; do
	IMPATIENT=2 at "$name" -- true
	is "$(cat "$WORK/d/$name.code")" 124 "$name: an interrupt ends it" || cat "$WORK/d/$name.err"
	ok "$name: at once" test "$(cat "$WORK/d/$name.ms")" -lt 5000 || cat "$WORK/d/$name.ms"
	like "$(cat "$WORK/d/$name.log")" "images/create.*DELETE" "$name: control: while it was being pulled; and what may have been made is removed"
	: >"$WORK/d/$name.log"
	DOCKER_HOST=unix://$WORK/d/$name.sock "$CORDON" run --engine docker --image any -- true >/dev/null 2>&1 &
	run=$!
	ok "$name: control: again" until_true 10 grep -q images/create "$WORK/d/$name.log"
	keeper=$(pgrep -P "$run") driver=$(pgrep -P "$keeper")
	like "$(cat "/proc/$keeper/comm" "/proc/$driver/comm" 2>&1)" "cordon-keeper.*cordon-engine" "$name: control: with a keeper and a driver"
	kill -9 "$run"
	wait "$run" 2>/dev/null
	no_more() { [ ! -e "/proc/$keeper" ] && [ ! -e "/proc/$driver" ]; }
	ok "$name: kill -9 of cordon ends both" until_true 5 no_more
	like "$(cat "$WORK/d/$name.log")" "DELETE" "$name: and what may have been made is removed"
done

# ---- no daemon at all ----

where() { # HOST DESC HINT
	DOCKER_HOST=$1 status 125 "$2 is refused" timeout -k 5 20 "$CORDON" run --engine docker --image any -- true
	like "$ERR" "DOCKER_HOST is '.*hint: .*$3" "$2: with what is understood"
	unlike "$ERR" $'[\x1b\x07]' "$2: and nothing for the terminal"
}
understood='unix:///PATH and tcp://HOST:PORT without TLS'
where ssh://user@example.com "a daemon over ssh" "$understood"
where https://127.0.0.1:2376 "one over https" "$understood"
where $'\e[31mjunk\a' "junk" "$understood"
where unix:// "no path" "$understood"
where "unix:///$(printf '%0300d' 0)" "a path that is too long" "$understood"
where tcp:// "no host" "$understood"
where tcp://127.0.0.1:1/v1.41/containers "a path of a host" "$understood"
where tcp://user@127.0.0.1:1 "a user of a host" "$understood"
DOCKER_TLS_VERIFY=1 where tcp://127.0.0.1:1 "TLS" "DOCKER_TLS_VERIFY is set"
DOCKER_HOST=tcp://127.0.0.1:1 status 125 "control: without it" timeout -k 5 20 "$CORDON" run --engine docker --image any -- true
like "$ERR" "127.0.0.1:1 cannot be reached" "that one is asked"

# ---- limits that are not held ----

if [ "$FAKE_GROUPS" ]; then
	fake good.swap good.held warn.swap warn.other
	echo "Your kernel does not support swap limit capabilities or the cgroup is not mounted. Memory limited without swap." >"$WORK/d/warn.swap.text"
	echo "Your kernel is old." >"$WORK/d/warn.other.text"
	unswapped() { # SCENARIO DESC
		at "$1" --memory 256M -- true
		is "$(cat "$WORK/d/$1.code" "$WORK/d/$1.out")" 125 "$2 is refused" || cat "$WORK/d/$1.err"
		like "$(cat "$WORK/d/$1.err")" "docker cannot hold limits.memory without swap.*hint: swapoff" "$2: with the reason and the remedy"
		like "$(cat "$WORK/d/$1.log")" "DELETE" "$2: and its container is removed"
	}
	if [ -e "$FAKE_SWAP" ]; then
		unswapped warn.swap "a daemon that warns that it does not limit swap"
		echo "$FAKE_SWAP_ALL" >"$FAKE_SWAP"
		unswapped good.swap "one that says nothing and does not"
		echo "$FAKE_SWAP_NONE" >"$FAKE_SWAP"
	else
		skip "swap that is not limited" "this kernel does not count it"
	fi
	at good.held --memory 256M -- true
	at warn.other --memory 256M -- true
	is "$(came good.held)$(came warn.other)" "$REACHED$REACHED" "control: one that does has a box, whatever else it warns of"
fi

# ---- containers that are listed ----

boot=$(head -c 8 /proc/sys/kernel/random/boot_id)
place=$(cat /etc/machine-id 2>/dev/null)
[ ${#place} -ge 32 ] || place=$(cat /proc/sys/kernel/random/boot_id)
place=$place-$(stat -Lc %i /proc/self/ns/pid)
sh -c 'exit 0' &
gone=$!
wait "$gone"
entry() { printf '{"Id":"%s","Labels":{%s}}' "$1" "$2"; }
here="\"cordon.place\":\"$place\"" orphan="\"cordon.owner\":\"cordon-$gone-1-$boot\""
export FAKE_LIST
FAKE_LIST=[$(entry aaaaaaaaaaaaaaaa "$orphan,$here"),$(entry bbbbbbbbbbbbbbbb "$orphan"),$(entry cccccccccccccccc "$orphan,\"cordon.place\":\"elsewhere-1\"")
FAKE_LIST+=,$(entry dddddddddddddddd "\"cordon.owner\":\"cordon-$$-$(($(cut -d. -f1 /proc/uptime) * 100))-$boot\",$here"),$(entry eeeeeeeeeeeeeeee "\"cordon.owner\":\"somebody\",$here")
FAKE_LIST+=,$(entry ffffffffffffffff "$here"),$(entry "../../x/aaaaaaaa" "$orphan,$here"),7]
fake list
at list -- true
is "$(came list)" "$REACHED" "a daemon that lists whatever it likes" || cat "$WORK/d/list.err"
is "$(sed -n 's|^DELETE /v1.41/containers/\([^?]*\)?.*|\1|p' "$WORK/d/list.log" | grep -v cordon-)" aaaaaaaaaaaaaaaa "has an orphan of this machine removed, and nobody else"

# ---- a process that is named ----

# A number is no process of this machine's: of another, of none, or of another box's init, which is the same file in another place. Limits that nobody can
# look up do not hold, and who is named is neither entered nor killed.
named() { # DESC [FLAG…]
	at pid "${@:2}" -- true
	is "$(came pid)" "125 no process of this machine " "$1" || cat "$WORK/d/pid.err"
}
export FAKE_PID=0
fake pid
named "a daemon that names no process is refused"
like "$(cat "$WORK/d/pid.err")" "hint: a daemon on another machine" "and told why"
like "$(cat "$WORK/d/pid.log")" "DELETE" "its container is removed"
if [ "$FAKE_GROUPS" ]; then
	# In a box of its own: limits that hold, and a network namespace that a gateway could be laid into.
	"$CORDON" run --memory 48M --pids 8 --cpus 0.4 --timeout 60s -- sh -c 'sleep 0.1; exec sleep 31'"$$" &
	defer kill $!
	until_true 10 pgrep -f "^sleep 31$$\$"
	FAKE_PID=$(pgrep -f "^sleep 31$$\$")
	links() { nsenter -t "$FAKE_PID" -n cat /proc/net/dev | grep -c :; }
	there=$(links)
	rm -f "$WORK/d/pid.sock"
	fake pid mute
	named "so is one that names a process of the host" --memory 64M --pids 16 --cpus 0.5
	named "also where there is a network" --memory 64M --pids 16 --cpus 0.5 --allow example.com
	is "$(pgrep -f "^sleep 31$$\$") $(links)" "$FAKE_PID $there" "and that process lives, with its network as it was"
	IMPATIENT=1 at mute -- true
	is "$(cat "$WORK/d/mute.code")" 124 "a container that says nothing is ended" || cat "$WORK/d/mute.err"
	like "$(cat "$WORK/d/mute.log")" "kill" "by the daemon"
	refused "and where that does not, by us: its process is gone" test -e "/proc/$(cat "$WORK/d/mute.pid")/exe"
	if command -v crun >/dev/null; then
		"$CORDON" run --engine crun --memory 48M --pids 8 --cpus 0.4 --timeout 60s -- sleep 32$$ &
		defer kill $!
		until_true 10 pgrep -f "^sleep 32$$\$"
		FAKE_PID=$(ps -o ppid= -p "$(pgrep -f "^sleep 32$$\$")" | tr -d ' ')
		is "$(readlink "/proc/$FAKE_PID/exe")" /.cordon/init "control: another box has an init of the same kind"
		there=$(links)
		rm -f "$WORK/d/pid.sock" "$WORK/d/mute.sock"
		fake pid
		named "one that names it is refused" --memory 64M --pids 16 --cpus 0.5
		named "also where there is a network" --memory 64M --pids 16 --cpus 0.5 --allow example.com
		is "$(pgrep -f "^sleep 32$$\$" | wc -l) $(links)" "1 $there" "and that box lives, with its network as it was"
	else
		skip "the init of another box" "there is no crun"
	fi
fi
done_testing
