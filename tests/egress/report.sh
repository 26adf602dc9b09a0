#!/bin/bash
# What a box tried is in its result: names, connections, bytes, refusals with what would allow them. Without a network there is nothing of all this,
# not even a process.
. "$(dirname "$0")/lib.sh"

result --allow api.example.com:443 --allow nx.example.com:443 -- bash -c '
	for i in 1 2 3; do curl -sS https://api.example.com/x; done
	curl -sS -m 5 https://files.example.com/; curl -sS -m 5 http://192.0.2.10/; curl -sS -m 5 http://api.example.com:8080/; curl -sS -m 5 https://nx.example.com/
	exec 3<>/dev/udp/192.0.2.10/443; echo x >&3; true' 2>/dev/null
expect "a result has its network" status=success 'network=~"kind": "connection", "decision": "allowed", "host": "api.example.com"'
is "$(rows connection allowed api.example.com)" 3 "three connections that went through"
is "$(rows dns refused files.example.com)" 1 "a name that did not"
row() { # KIND HOST PORT FIELD
	json network <"$WORK/.result" | $PYTHON -c '
import json, sys
for row in map(json.loads, sys.stdin):
    if (row["kind"], row["host"], str(row.get("port", ""))) == tuple(sys.argv[1:4]):
        print(row.get(sys.argv[4], ""))
        break' "$@"
}
is "$(row connection api.example.com 443 address)" 192.0.2.10 "with the address that was dialled"
is "$(row connection api.example.com 443 rule)" api.example.com:443 "the rule that allowed it"
like "$(row connection api.example.com 443 down_bytes)" '^[0-9]{4,5}$' "and how much came"
like "$(row connection api.example.com 443 up_bytes)" '^[0-9]{3,5}$' "and went"
like "$(row connection api.example.com 443 duration_ms)" '^[0-9.]+$' "and how long it took"
like "$(row connection api.example.com 443 time)" '^1[0-9]{9}' "and when"
is "$(row connection nx.example.com 443 decision)" failed "a name that does not exist is a failure, not a refusal"
like "$(row connection nx.example.com 443 reason)" 'does not exist' "with its reason"
is "$(row attempt 192.0.2.10 80 decision)" refused "a port where nothing listens"
is "$(row attempt 192.0.2.10 80 allow)" "--allow-cidr 192.0.2.10:80" "and what would allow it"
is "$(row attempt api.example.com 8080 allow)" "--allow api.example.com:8080/tcp" "also of a name"
like "$(row attempt 192.0.2.10 443 reason)" UDP "and UDP"
expect "refusals are denials" 'denials=~dns files.example.com' 'denials=~--allow files.example.com' 'denials=~api.example.com:8080'
unlike "$(field denials)" 'nx.example.com' "what was allowed and failed is none"
# and on standard error, where the run did not end well
net_box() { { box "$@" >/dev/null; } 2>&1; }
said=$(net_box --allow nx.example.com:443 -- curl -sS -m 5 https://nx.example.com/)
like "$said" 'cordon: network: nx.example.com:443: resolving nx.example.com: .*does not exist' "it is told to a person, too"
unlike "$(net_box --quiet --allow nx.example.com:443 -- curl -sS -m 5 https://nx.example.com/)" 'cordon:' "but not with --quiet"
unlike "$(net_box --allow api.example.com:443 -- curl -sS -m 5 https://api.example.com/x)" 'cordon:' "control: nothing where it was reached"
# what the result proposes works
result --allow files.example.com -- curl -sS -m 5 https://files.example.com/x
expect "control: with what was proposed it is reached" status=success $'stdout=ok GET /x\n' 'denials=[]'
result --allow api.example.com:8080/tcp -- curl -sS -m 5 http://api.example.com:8080/x
expect "control: and so is the port" status=success $'stdout=ok GET /x\n' 'denials=[]'

# ---- the log ----
policy <<'END'
network:
  allow:
    - {host: api.example.com, ports: [443], methods: [GET], paths: ["/v1/*"]}
    - {host: api.example.com, ports: [80]}
    - {host: files.example.com, ports: [443]}
END
result --log "$WORK/log" --policy "$WORK/policy.yaml" -- bash -c '
	curl -sS https://api.example.com/v1/x; curl -sS https://api.example.com/v2/x; curl -sS http://api.example.com/y; curl -sS https://files.example.com/z
	curl -sS -m 5 https://other.example.com/; curl -sS -m 5 http://192.0.2.10:81/; true' 2>/dev/null
logged() { # KIND DECISION HOST PORT METHOD PATH: how often it is in the log
	$PYTHON - "$WORK/log" "$@" <<'END'
import json, sys
keys = ("kind", "decision", "host", "port", "method", "path")
print(sum(all(str(row.get(k, "")) == w for k, w in zip(keys, sys.argv[2:])) for row in map(json.loads, open(sys.argv[1]))))
END
}
is "$(logged dns allowed api.example.com) $(logged dns refused other.example.com)" "1 1" "--log has the names"
is "$(logged request allowed api.example.com 443 GET /v1/x) $(logged request refused api.example.com 443 GET /v2/x) $(logged request allowed api.example.com 80 GET /y)" "1 1 1" "the requests"
is "$(logged connection allowed files.example.com 443) $(logged connection allowed api.example.com 80)" "1 1" "the connections"
is "$(logged attempt refused 192.0.2.10 81)" 1 "and the attempts"
is "$(wc -l <"$WORK/log")" "$(rows)" "as many lines as the result counts"

# ---- bounded ----
ask --allow '*.wild.example:22/tcp' -- <<'END'
for i in range(300):
    tried(socket.create_connection, ("192.0.2.10", 1000 + i), timeout=2)
    resolve(f"x{i}.evil.example")
say("done", 1)
END
told=$(rows) lost=$(field network_lost)
if [ "$told" -ge 200 ] && [ "$told" -lt 512 ]; then pass "a scan does not fill the result ($told of 600)"; else fail "a scan does not fill the result" "$told rows"; fi
is $((told + lost)) 600 "and what is left out is counted"
ask --allow '*.wild.example' -- <<'END'
for i in range(700):
    resolve(f"n{i}.wild.example")
say("last", resolve("n699.wild.example"))
END
says last '^ok 198' "seven hundred names are resolved"
is "$(json network <"$WORK/.result" | wc -l) $(($(rows dns allowed) + $(field network_lost)))" "512 700" "of which the result has 512, and how many more there were"

# ---- the process ----
start() { # FLAG…: a box that waits for the file go; $! is cordon
	mkdir -p "$WORK/shared" && rm -f "$WORK/shared/go"
	"${UNCAP[@]}" "$CORDON" run --json "$@" --ro "$WORK/shared:/tmp/shared" -- bash -c '
		curl -sS -m 5 https://api.example.com/first; until [ -e /tmp/shared/go ]; do sleep 0.05; done; curl -sS -m 5 https://api.example.com/x' >"$WORK/.result" 2>"$WORK/.result.err" &
}
start --allow api.example.com
pid=$!
until_true 20 grep -q '"/first"' "$NET/http.log"
sleep 1 # the server has been asked: its answer is on its way
it=$(egress_of $pid)
like "$it" '^[0-9]+$' "one process carries the connections"
is "$(sed -n 's/^Cap\(Prm\|Eff\|Inh\|Amb\):\t//p' "/proc/$it/status" | sort -u)" 0000000000000000 "without a capability"
is "$(sed -n 's/^Seccomp:\t//p' "/proc/$it/status")$(sed -n 's/^NoNewPrivs:\t//p' "/proc/$it/status")" 21 "behind a filter"
if [ "$ME" = root ]; then
	unlike "$(sed -n 's/^Uid:\t//p' "/proc/$it/status")" '^0' "not as root"
	is "$(sed -n 's/^CapBnd:\t//p' "/proc/$it/status")" 0000000000000000 "nor a way to one"
	is "$(sed -n 's/^Groups:\t//p' "/proc/$it/status" | tr -d ' ')" "" "in no group"
fi
is "$(tr '\0' ' ' <"/proc/$it/environ" 2>/dev/null)" "" "without an environment"
like "$(grep core "/proc/$it/limits")" '^Max core file size +1 +1 ' "and writes no core file"
kill -9 "$it"
sleep 0.2
touch "$WORK/shared/go"
wait $pid
is $? 125 "when it is killed the run ends with 125, whatever the payload makes of it"
expect "when it is killed the box has no network, and the result says so" 'error.message=~egress process was killed.*no network' 'error.step=egress'
is "$(field stdout)" "ok GET /first" "nothing is reached any more"
first=$(seen http '"/first"')
start --net-read-only --allow api.example.com
pid=$!
more() { [ "$(seen http '"/first"')" -gt "$first" ]; }
until_true 20 more
sleep 1
it=$(egress_of $pid)
is "$(cat "/proc/$it/comm")" cordon-egress-t "where TLS is looked into it is another program"
kill -9 "$it"
sleep 0.2
touch "$WORK/shared/go"
wait $pid
is "$? $(field stdout)" "125 ok GET /first" "whose end is the same"
expect "and told the same" 'error.message=~egress process was killed.*no network' 'error.step=egress'
start --net-read-only --allow api.example.com
pid=$!
touch "$WORK/shared/go"
wait $pid
is "$? $(field stdout | xargs)" "0 ok GET /first ok GET /x" "control: where nobody kills it both are reached"
start --net none
pid=$!
sleep 0.5
is "$(egress_of $pid)" "" "--net none starts no such process"
touch "$WORK/shared/go"
wait $pid
expect "and has no network in its result" 'network=~^(\[\]|)$' 'denials=[]'

# ---- started when it is wanted, or when the run lasts ----
mkdir -p "$WORK/shared" && rm -f "$WORK/shared/"*
box --json --allow api.example.com --rw "$WORK/shared:/tmp/shared" -- bash -c '
	touch /tmp/shared/up; until [ -e /tmp/shared/go ]; do sleep 0.05; done; curl -sS -m 5 https://api.example.com/x' >"$WORK/.result" 2>"$WORK/.result.err" &
pid=$!
chmod 777 "$WORK/shared"
until_true 20 test -e "$WORK/shared/up"
egress_is_up() { [ -n "$(egress_of $pid)" ]; }
until_true 20 egress_is_up
like "$(egress_of $pid)" '^[0-9]+$' "a run that lasts has it before it wants something"
touch "$WORK/shared/go"
wait $pid
expect "and is served" status=success $'stdout=ok GET /x\n'
# also who is gone before it is there
cc -O2 -static -o "$WORK/last" -x c - <<'END'
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	static const char question[] = "\1\2\1\0\0\1\0\0\0\0\0\0\4evil\7example\0\0\1\0\1";
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(argc == 3 ? atoi(argv[2]) : 0) };
	int udp = strcmp(argv[1], "udp") == 0, fd = socket(AF_INET, (udp ? SOCK_DGRAM : SOCK_STREAM) | SOCK_NONBLOCK, 0);

	inet_pton(AF_INET, "192.0.2.77", &to.sin_addr);
	connect(fd, (struct sockaddr *)&to, sizeof(to));
	if (udp)
		send(fd, question, sizeof(question) - 1, 0);
	return kill(getpid(), SIGKILL);
}
END
chmod 755 "$WORK/last"
for how in "tcp 80" "tcp 443" "tcp 81" "udp 53" "udp 99"; do
	# shellcheck disable=SC2086 # two words
	result --allow api.example.com --ro "$WORK/last:/tmp/last" -- /tmp/last $how
	case $how in
	*53) like "$(field network)" '"kind": "dns", "decision": "refused", "host": "evil.example"' "a question that nobody waits for is told" ;;
	*) like "$(field network)" "192.0.2.77\", .*\"port\": ${how#* }," "$how: an attempt that nobody waits for is told" ;;
	esac
done
status 125 "level process has no network to give" "${UNCAP[@]}" "$CORDON" run --level process --allow api.example.com -- true
like "$ERR" 'container' "and says where there is one"
status 125 "plan says the same" "${UNCAP[@]}" "$CORDON" plan --level process --allow api.example.com -- true
like "$ERR" 'container' "with the same hint"
like "$("$CORDON" doctor 2>&1)" 'process  .*cannot promise a network by name' "and doctor says it beforehand"
done_testing
