#!/bin/bash
# The demonstration behind `make demo`: demo.sh CORDON. A Python answer from a box, then ten attacks, each with what stopped it.
#
# Everything an attack goes for is planted here and looked at afterwards from outside, and where that is harmless the same attack runs without
# a box first, so that "stopped" means something. Ends with 1 if an attack got through. As root or as an ordinary user.
set -u
cordon=$(realpath "$1")
here=$(cd "$(dirname "$0")" && pwd)
python=/usr/bin/python3
secret="SECRET-$RANDOM$RANDOM"
marker="cordon-demo-$$-$RANDOM"
[ -x "$python" ] || { echo "demo: $python is missing" >&2; exit 1; }

work=$(mktemp -d "${TMPDIR:-/tmp}/cordon-demo.XXXXXX") || exit 1
background=()
cleanup() {
	for pid in "${background[@]}"; do
		kill "$pid" 2>/dev/null
		wait "$pid" 2>/dev/null
	done
	rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

if [ -t 1 ] && [ -z "${NO_COLOR:-}" ] && [ "${TERM:-dumb}" != dumb ]; then
	bold=$'\e[1m' dim=$'\e[2m' good=$'\e[32m' bad=$'\e[1;31m' end=$'\e[0m'
else
	bold='' dim='' good='' bad='' end=''
fi

# Microseconds, in $now: without a fork, which would be measured along.
now=0
clock() {
	now=${EPOCHREALTIME/[.,]/}
}

# ---- results ----

# From the JSON in $work/result to shell variables, one a line.
cat >"$work/tell.py" <<'END'
import json, shlex, sys
try:
    r = json.load(sys.stdin)
except ValueError:
    r = {"status": "no result"}
i = r.get("isolation") or {}
error = r.get("error") or {}
said = [l for l in r.get("stdout", "").splitlines() if l and not l.startswith("AAAA")]
told = {
    "status": r["status"], "limit": r.get("limit") or "", "wall": "%.1f" % (r.get("wall_ms") or 0),
    "memory": "%.1f" % ((r.get("memory_peak_bytes") or 0) / 1048576), "length": len(r.get("stdout", "")),
    "said": "; ".join(said), "layers": " ".join(i.get("layers") or []), "source": i.get("limit_source") or "",
    "error": error.get("message") or "",
    "denials": "; ".join("%s (%s)" % (d["what"], d["rule"]) for d in r.get("denials") or []),
}
for name, value in told.items():
    print("%s=%s" % (name, shlex.quote(str(value))))
END

status='' limit='' wall='' memory='' length=0 said='' layers='' source='' error='' denials='' took=0

# in_box ARG…: runs cordon, leaves the result in the variables above.
in_box() {
	local start
	clock
	start=$now
	"$cordon" "$@" >"$work/result" 2>"$work/complaint" </dev/null
	clock
	took=$(((now - start + 500) / 1000))
	tell
}

tell() {
	eval "$("$python" -I "$work/tell.py" <"$work/result")"
}

attack() { # OPTIONS… -- NAME ARG…
	in_box code python --json "$here/attack.py" "$@"
}

# The same attack without a box: it must get through, or its failure inside proves nothing.
control() {
	if ! "$python" -I "$here/attack.py" "$@" 2>&1 | grep -q OWNED; then
		echo "demo: without a box '$1' does not get through either: nothing is shown by it" >&2
		failed=$((failed + 1))
	fi
}

number=0
failed=0
# verdict TITLE WHAT-STOPPED-IT: the caller's last test decides. An attack that never ran was not stopped.
verdict() {
	local rc=$? word="${good}stopped${end}"
	number=$((number + 1))
	if [ -z "$said$limit" ]; then
		word="${bad}DID NOT RUN${end}"
		rc=1
	elif [ $rc -ne 0 ]; then
		word="${bad}GOT THROUGH${end}"
	fi
	[ $rc -eq 0 ] || failed=$((failed + 1))
	printf ' %2d  %s%-22s%s %b  %5d ms   %s\n' "$number" "$bold" "$1" "$end" "$word" "$took" "$2"
	if [ $rc -ne 0 ]; then
		cat "$work/result" "$work/complaint"
	elif [ -n "$said" ]; then
		printf '     %s%s%s\n' "$dim" "$said" "$end"
	fi
}

# ---- what the attacks go for ----

plant() {
	mkdir "$work/home" "$work/home/.ssh" "$work/data" "$work/shared"
	key=$work/home/.ssh/id_ed25519
	echo "$secret" >"$key"
	echo original >"$work/data/canary"
	chmod 755 "$work"
	# A listener that writes down who came.
	"$python" -I - "$work" >/dev/null 2>&1 <<'END' &
import os, socket, sys
s = socket.create_server(("127.0.0.1", 0))
with open(sys.argv[1] + "/port.new", "w") as f:
    f.write(str(s.getsockname()[1]))
os.rename(sys.argv[1] + "/port.new", sys.argv[1] + "/port")
while True:
    c, _ = s.accept()
    open(sys.argv[1] + "/visited", "w").close()
    c.close()
END
	background+=($!)
	sleep 600 &
	victim=$!
	background+=("$victim")
	for _ in $(seq 200); do
		[ -s "$work/port" ] && break
		sleep 0.02
	done
	port=$(cat "$work/port")
}

leaked() {
	grep -qsF -e "$secret" -e OWNED "$work/result"
}

# ---- the answer ----

# In milliseconds, as seen from this shell.
median() {
	local start
	for _ in {1..20}; do
		clock
		start=$now
		"$@"
		clock
		echo $((now - start))
	done | sort -n | awk 'NR == 10 { printf "%.1f", $1 / 1000 }'
}

show_answer() {
	local code='print("primes below 1000:", sum(all(n % d for d in range(2, n)) for n in range(2, 1000)))' bare

	printf '%sA question for Python, answered in a box:%s\n\n' "$bold" "$end"
	printf "   \$ cordon code python -e '%s'\n" "$code"
	in_box code python --json -e "$code"
	if [ "$status" != success ]; then
		cat "$work/result" "$work/complaint"
		echo "demo: no box can be built here; \`$cordon doctor\` says why" >&2
		exit 1
	fi
	printf '   %s%s%s\n\n' "$good" "$said" "$end"
	printf '   %s: %s ms in the box, %s ms with building it and taking it down; memory %s MiB; limits by %s\n' \
		"$status" "$wall" "$took" "$memory" "$source"
	printf '   %sbehind %s%s\n' "$dim" "$layers" "$end"
	bare=$(median /bin/true)
	printf '   A box around /bin/true, all of that included: %s ms; /bin/true alone: %s ms (medians of 20).\n\n' \
		"$(median "$cordon" run -- /bin/true)" "$bare"
}

# ---- the attacks ----

running_markers() {
	grep -lsa "^$marker" /proc/[0-9]*/cmdline 2>/dev/null | wc -l
}

attack_files() {
	control read_key "$key"
	attack -- read_key "$key"
	! leaked
	verdict 'read a key' 'the box has a root of its own: what is not mounted is not there'

	control write_outside "$work/home/pwned" "$work/data/canary"
	rm -f "$work/home/pwned"
	echo original >"$work/data/canary"
	attack --ro "$work/data:/data" -- write_outside "$work/home/pwned" /data/canary
	[ ! -e "$work/home/pwned" ] && [ "$(cat "$work/data/canary")" = original ] && ! leaked
	verdict 'write outside' 'no such place, and mounts are read-only unless you say --rw'
}

attack_network() {
	control reach_network "$port"
	rm -f "$work/visited"
	attack -- reach_network "$port"
	[ ! -e "$work/visited" ] && ! leaked
	verdict 'reach the network' 'a network namespace with a loopback of its own and nothing else'
}

attack_limits() {
	# Without a cgroup the kernel tells the process alone that it hit a limit, and that has to do.
	attack --pids 64 -- fork_bomb
	[ "$limit" = processes ] || { [ "$source" = watch ] && [[ $said == *'after 6'[0-9]' children' ]]; }
	verdict 'fork bomb' "limit: ${limit:-processes}, by $source"

	attack --memory 96M -- memory_bomb
	[ "$limit" = memory ] || { [ "$source" = watch ] && [[ $said == *'MemoryError after '[0-9][0-9]' MiB' ]]; }
	verdict 'memory bomb' "limit: ${limit:-memory}, at $memory MiB, by $source"
}

# On a busy machine the daemons may not even have begun when the deadline comes, which would show nothing: then it gets a later one.
attack_deadline() {
	local start run deadline seen=0
	for deadline in 500ms 2s 8s; do
		clock
		start=$now
		"$cordon" code python --json "$here/attack.py" --timeout $deadline -- outlive "$marker" \
			>"$work/result" 2>"$work/complaint" </dev/null &
		run=$!
		while kill -0 $run 2>/dev/null; do
			[ "$seen" -gt 0 ] || seen=$(running_markers)
			sleep 0.02
		done
		wait $run
		clock
		took=$(((now - start + 500) / 1000))
		[ "$seen" -eq 0 ] || break
	done
	tell
	[ "$seen" -gt 0 ] || echo "demo: the daemons never ran: nothing is shown by their end" >&2
	[ "$seen" -gt 0 ] && [ "$status" = timeout ] && [ "$(running_markers)" -eq 0 ]
	verdict 'outlive the deadline' "$status after $wall ms; the daemons ended with their pid namespace"
}

attack_kernel() {
	attack -- ptrace_host "$victim"
	kill -0 "$victim" 2>/dev/null && ! leaked
	verdict 'ptrace the host' "$denials, and the pid namespace has no such process"

	attack -- mount
	[ -n "$denials" ] && ! leaked
	verdict 'mount' "$denials"
}

attack_symlink() {
	control symlink "$work/shared" "$key"
	rm -f "$work/shared/report.txt"
	attack --rw "$work/shared:/work" --out "/work/report.txt:$work/report.txt" -- symlink /work "$key"
	[ -L "$work/shared/report.txt" ] && [ ! -e "$work/report.txt" ] && ! leaked
	verdict 'escape by symlink' "paths are walked by fd: ${error#"${error%%:*}": }"
}

attack_output() {
	attack --output 1M -- flood
	[ "$limit" = output ] && [ "$length" -le 1048576 ]
	verdict 'flood the output' "limit: $limit, $length bytes were kept"
}

close_up() {
	local ran_us dir=.
	clock
	ran_us=$((now - began_us))
	if [ "$failed" -ne 0 ]; then
		printf '\n%s%d of %d checks failed.%s\n' "$bad" "$failed" "$number" "$end"
		exit 1
	fi
	printf '\n%sAll ten were stopped%s, in %d.%d s with everything around them.\n' "$good" "$end" $((ran_us / 1000000)) $((ran_us / 100000 % 10))
	# What lies in /root, say, is never mounted.
	"$cordon" plan --rw . -- true >/dev/null 2>&1 || dir=DIR
	cat <<END

${bold}Try next${end}
   build/cordon run -- ls -la / /home                     what a program sees
   $(printf '%-54s' "build/cordon run --rw $dir --timeout 5m -- make") build what you do not trust
   build/cordon code python --json -e 'open("/x", "w")'   the result that an agent gets
   $(printf '%-54s' "build/cordon plan --rw $dir -- make") what would be done, without doing it
   build/cordon doctor                                    what this machine offers
   make bench                                             what it costs
END
}

clock
began_us=$now
printf '\n%scordon %s%s on Linux %s, as %s\n\n' "$bold" "$("$cordon" --version | grep -o '[0-9][0-9.]*' | head -1)" "$end" \
	"$(uname -r)" "$([ "$(id -u)" = 0 ] && echo root || echo 'an ordinary user')"
plant
show_answer
printf '%sTen attacks, each from inside a box of its own:%s\n\n' "$bold" "$end"
attack_files
attack_network
attack_limits
attack_deadline
attack_kernel
attack_symlink
attack_output
close_up
