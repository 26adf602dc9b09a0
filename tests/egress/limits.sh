#!/bin/bash
# Limits of a network: connections at once, rates, totals, and how long a silence may be.
. "$(dirname "$0")/lib.sh"
E=(--allow "git.example.com:22,7002/tcp" --allow api.example.com:8080/tcp)

ask --connections 3 "${E[@]}" -- <<'END'
held, words = [], []
for i in range(5):
    def one():
        s = socket.create_connection(("git.example.com", 22), timeout=3)
        held.append(s)
        s.sendall(b"x")
        return s.recv(1).decode() or "closed"
    words.append(tried(one))
say("five", " ".join(words))
for s in held:
    s.close()
time.sleep(0.3)
say("again", talk("git.example.com", 22, b"x"))
END
says five '^x x x (ECONNRESET|closed) (ECONNRESET|closed)$' "three connections at once, and no fourth"
say_is again x "when they end there is room again"
expect "the refusal is told" 'denials=~connections' 'network=~more than 3 connections at once'

# How many milliseconds it took in there: an engine's own start is not the network's. The command says what it moved, and ten megabytes it must be.
rate() { # FLAG RATE COMMAND
	box "$1" "$2" "${R[@]}" -- bash -c 'begin=$EPOCHREALTIME
		moved=$(($(eval "$0" 2>/dev/null | paste -sd+)))
		[ "$moved" != 10000000 ] || echo $(((${EPOCHREALTIME/./} - ${begin/./}) / 1000))' "$3" 2>/dev/null
}
R=(--allow api.example.com:8080/tcp)
between() { # GOT MIN MAX DESC
	if [ -n "$1" ] && [ "$1" -ge "$2" ] && [ "$1" -le "$3" ]; then pass "$4 ($1 ms)"; else fail "$4" "${1:-no} ms, not $2 to $3"; fi
}
between "$(rate --download 5M/s 'curl -sS -o /dev/null -w "%{size_download}\n" "http://api.example.com:8080/big?n=10000000"')" 1300 4000 "10 MB at 5 MB/s, of which the first come at once"
between "$(rate --download 500M/s 'curl -sS -o /dev/null -w "%{size_download}\n" "http://api.example.com:8080/big?n=10000000"')" 0 1000 "control: at 500 MB/s"
between "$(rate --upload 5M/s 'head -c 10000000 /dev/zero | curl -sS -T - -H Expect: http://api.example.com:8080/sink; echo')" 1300 4000 "uploading as well"
between "$(rate --download 5M/s 'for i in 1 2 3 4 5; do curl -sS -o /dev/null -w "%{size_download}\n" "http://api.example.com:8080/big?n=2000000" & done; wait')" 1300 4000 "over all connections together"

# Where requests are read, every byte counts as well: plain, and through TLS. If one of both were not held up, it would take half the time.
R=(--allow api.example.com --net-read-only)
between "$(rate --download 5M/s 'for i in http https; do curl -sS -o /dev/null -w "%{size_download}\n" "$i://api.example.com/big?n=5000000" & done; wait')" 1300 4000 "10 MB at 5 MB/s, half of them through TLS that is looked into"
between "$(rate --download 500M/s 'for i in http https; do curl -sS -o /dev/null -w "%{size_download}\n" "$i://api.example.com/big?n=5000000" & done; wait')" 0 1000 "control: at 500 MB/s"
read_policy() { # LINE…: of network
	policy <<END
network:
$(printf '  %s\n' "$@")
  allow:
    - {host: api.example.com, ports: [80], methods: [GET, PUT]}
    - {host: api.example.com, ports: [443], methods: [GET, PUT]}
    - {host: git.example.com, ports: [7002], protocol: tls, methods: [GET]}
END
}
read_policy 'download_total: 1M' 'upload_total: 1M'
for scheme in http https; do
	result --policy "$WORK/policy.yaml" -- bash -c "curl -sS -m 5 '$scheme://api.example.com/big?n=3000000' | wc -c; curl -sS -m 5 $scheme://api.example.com/x | wc -c"
	read -r -d '' first second < <(field stdout)
	if [ "${first:-0}" -gt 0 ] && [ "$first" -le 1048576 ]; then pass "$scheme: a total ends the transfer"; else fail "$scheme: a total ends the transfer" "$first"; fi
	is "$second" 0 "$scheme: and everything after it"
	expect "$scheme: which is told" 'denials=~download_total'
	result --policy "$WORK/policy.yaml" -- bash -c "head -c 3000000 /dev/zero | curl -sS -m 5 -T - -H Expect: $scheme://api.example.com/sink"
	expect "$scheme: a total of uploads" status=error 'denials=~upload_total'
done
read_policy 'download_total: 10M' 'upload_total: 10M'
result --policy "$WORK/policy.yaml" -- bash -c 'for i in http https; do curl -sS -m 5 "$i://api.example.com/big?n=3000000" | wc -c; head -c 1000000 /dev/zero | curl -sS -m 5 -T - -H Expect: $i://api.example.com/sink; echo; done'
expect "control: within them nothing happens" status=success $'stdout=3000000\n1000000\n3000000\n1000000\n' 'denials=[]'

result --download-total 1M "${E[@]}" -- bash -c 'curl -sS -m 5 "http://api.example.com:8080/big?n=3000000" | wc -c; curl -sS -m 5 http://api.example.com:8080/x | wc -c'
read -r -d '' first second < <(field stdout)
if [ "${first:-0}" -gt 0 ] && [ "$first" -le 1048576 ]; then pass "a total ends the transfer"; else fail "a total ends the transfer" "$first"; fi
is "$second" 0 "and everything after it"
expect "which is told" 'denials=~download_total'
result --upload-total 1M "${E[@]}" -- bash -c 'head -c 3000000 /dev/zero | curl -sS -m 5 -T - -H Expect: http://api.example.com:8080/sink'
expect "a total of uploads" status=error 'denials=~upload_total'
result --download-total 10M --upload-total 10M "${E[@]}" -- bash -c 'curl -sS -m 5 "http://api.example.com:8080/big?n=3000000" | wc -c'
expect "control: within them nothing happens" status=success $'stdout=3000000\n' 'denials=[]'

ask --idle-timeout 1s "${E[@]}" -- <<'END'
def silent(pause):
    with socket.create_connection(("git.example.com", 22), timeout=5) as s:
        for _ in range(4):
            s.sendall(b"x")
            if not s.recv(1):
                return "closed"
            time.sleep(pause)
        return "open"
begin = time.monotonic()
with socket.create_connection(("git.example.com", 7002), timeout=5) as s:
    say("idle", tried(lambda: s.recv(1) or "closed"))
say("after", time.monotonic() - begin)
say("busy", tried(silent, 0.5))
END
says idle '^(ECONNRESET|closed)$' "a connection that is silent for idle_timeout is ended"
says after '^(0\.9|1\.)' "then and not before"
say_is busy open "control: one that is not goes on"
expect "which is told" 'network=~idle_timeout'

# The same in the middle of a response that is read; and a server that takes the connection and never begins TLS.
read_policy 'idle_timeout: 1s' 'connect_timeout: 2s'
result --policy "$WORK/policy.yaml" -- bash -c '
	try() { local begin=$EPOCHREALTIME; curl -sS -o /dev/null -m 8 "$2" 2>/dev/null; echo "$1 $? $(((${EPOCHREALTIME/./} - ${begin/./}) / 100000))"; }
	for scheme in http https; do
		try $scheme-idle "$scheme://api.example.com/slow?n=2&pause=6" &
		try $scheme-busy "$scheme://api.example.com/slow?n=4&pause=0.5" &
	done
	try silent https://git.example.com:7002/ &
	wait'
got=$(field stdout)
for scheme in http https; do
	like "$got" "$scheme-idle (18|52|56) (9|[12][0-9])([^0-9]|$)" "$scheme: a response that stops for idle_timeout is ended"
	like "$got" "$scheme-busy 0 [23][0-9]([^0-9]|$)" "$scheme: control: one that does not comes whole"
done
like "$got" 'silent [1-9][0-9]* (19|[23][0-9])([^0-9]|$)' "a server that never begins TLS is waited for as long as connect_timeout says"
expect "which are told" 'network=~idle_timeout' 'network=~git.example.com.*no connection within 2 s \(connect_timeout\)'
done_testing
