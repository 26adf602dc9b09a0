#!/bin/bash
# TLS that is not looked into: the ClientHello must name the very name that the connection is to; what hides it or is no TLS is refused, and
# nothing of it arrives.
. "$(dirname "$0")/lib.sh"
NEVER='^(ECONNREFUSED|ECONNRESET|closed|ssl .*)$'

ask --allow api.example.com --allow files.example.com --allow badcert.example.com -- <<'END'
api, files = address("api.example.com"), address("files.example.com")
good = hello("api.example.com")
say("good", greeted(api, good))
say("case", greeted(api, hello("API.Example.COM")))
say("pieces", greeted(api, good, pieces=40))
body = good[5:]
say("records", greeted(api, record(body[:30]) + record(body[30:90]) + record(body[90:])))
say("other allowed", greeted(api, hello("files.example.com")))
say("other allowed 2", greeted(files, good))
say("refused name", greeted(api, hello("other.example.com")))
say("evil", greeted(api, hello("evil-api.example.com")))
say("none", greeted(api, hello()))
say("ech", greeted(api, hello("api.example.com", ech=True)))
say("http", greeted(api, b"GET / HTTP/1.1\r\nHost: api.example.com\r\n\r\n"))
say("ssh", greeted(api, b"SSH-2.0-OpenSSH_9.0\r\n"))
say("zeros", greeted(api, bytes(600)))
say("alert", greeted(api, b"\x15\3\1\0\2\1\0"))
say("sslv2", greeted(api, b"\x80\x2e\1\0\2\0\x15\0\0\0\x10" + bytes(40)))
say("endless", greeted(api, record(b"\1\xff\xff\xff" + bytes(16000)) + record(bytes(16000)), timeout=3))
say("nul", greeted(api, good.replace(b"api.example.com", b"api.example\0com")))
say("address as name", greeted(api, good.replace(b"api.example.com", b"255.255.255.255")))
say("second", retried("badcert.example.com", "badcert.example.com", "badcert.example.com"))
say("second without more", retried("badcert.example.com", "badcert.example.com", "badcert.example.com", between=b""))
say("second ahead", retried("badcert.example.com", "badcert.example.com", "badcert.example.com", ahead=True))
say("second other", retried("badcert.example.com", "badcert.example.com", "evilert.example.com"))
say("second other ahead", retried("badcert.example.com", "badcert.example.com", "evilert.example.com", ahead=True))
say("second other behind data", retried("badcert.example.com", "badcert.example.com", "evilert.example.com", between=b"\x17\3\3\0\1\1"))
say("second other behind an alert", retried("badcert.example.com", "badcert.example.com", "evilert.example.com", between=b"\x15\3\3\0\2\1\x5a"))
say("plain TLS", https("api.example.com", "/x").splitlines()[-1])
say("bad certificate", https("badcert.example.com"))
END
say_is good hello "the name itself"
say_is case hello "in any case"
say_is pieces hello "byte by byte"
say_is records hello "cut into records"
say_is "plain TLS" "ok GET /x" "control: a whole request"
say_is second hello "a second ClientHello, where the server asks for one"
say_is "second without more" hello "with nothing before it"
say_is "second ahead" hello "and sent ahead"
for what in other "other ahead" "other behind data" "other behind an alert"; do says "second $what" "$NEVER" "a second one with another name: $what"; done
for what in "other allowed" "other allowed 2" "refused name" evil none ech http ssh zeros alert sslv2 endless nul "address as name"; do
	says "$what" "$NEVER" "refused: $what"
done
says "bad certificate" '^ssl CERTIFICATE_VERIFY_FAILED' "a certificate is the client's to judge"
is "$(to 192.0.2.11)$(to 192.0.2.12)" 00 "what is refused dials nobody"
expect "the result says why" 'network=~names files.example.com, not' 'network=~names no server' 'network=~ECH' 'network=~ot TLS'
policy <<'END'
network:
  mode: allow
  allow:
    - {host: api.example.com, ports: [443], ech: allow}
END
ask --policy "$WORK/policy.yaml" -- <<'END'
say("ech", greeted("api.example.com", hello("api.example.com", ech=True)))
say("wrong", greeted("api.example.com", hello("files.example.com", ech=True)))
END
say_is ech hello "control: an encrypted ClientHello where the rule lets it pass"
says wrong "$NEVER" "whose outer name is still looked at"

# ---- clients that lie ----
two=(--allow api.example.com --allow files.example.com)
lie() { box "${two[@]}" -- bash -c "$1" 2>&1; }
like "$(lie 'a=$(getent hosts api.example.com); curl -sS -m 5 --resolve "files.example.com:443:${a%% *}" https://files.example.com/x')" '^curl: ' "curl --resolve to another name's address"
like "$(lie 'a=$(getent hosts files.example.com); curl -sS -m 5 --resolve "files.example.com:443:${a%% *}" https://files.example.com/x')" '^ok GET /x' "control: to its own"
like "$(lie 'curl -sS -m 5 --connect-to files.example.com:443:api.example.com:443 https://files.example.com/x')" '^curl: ' "curl --connect-to"
like "$(lie 'curl -sS -m 5 --resolve other.example.com:443:192.0.2.12 https://other.example.com/x')" '^curl: ' "a name that is not allowed, by its real address"
like "$(lie 'a=$(getent hosts api.example.com); curl -sSk -m 5 https://${a%% *}/x')" '^curl: ' "the address of a name, by number: no SNI"
like "$(lie 'curl -sS -m 5 --doh-url https://other.example.com/dns-query https://api.example.com/x')" '^curl: ' "DNS over HTTPS at a name that is not allowed"
like "$(lie 'curl -sSk -m 5 --doh-insecure --doh-url https://192.0.2.53/dns-query https://other.example.com/x')" '^curl: ' "DNS over HTTPS at an address"
ask "${two[@]}" -- <<'END'
for host in ["192.0.2.53", "1.1.1.1", "api.example.com"]:
    say(host, greeted(host, hello("api.example.com"), port=853, timeout=2))
say("proxy", request("api.example.com", "CONNECT other.example.com:443 HTTP/1.1\r\nHost: other.example.com:443\r\n\r\n", port=3128, timeout=2))
END
for host in 192.0.2.53 1.1.1.1 api.example.com; do says "$host" "$NEVER" "DNS over TLS at $host"; done
says proxy "$NEVER" "nor a proxy of one's own choice"
is "$(asked other.example.com)$(to 192.0.2.12)$(seen tcp '"port": 853')" 000 "none of it arrived"
like "$(lie 'curl -sS -m 5 --doh-url https://files.example.com/dns-query https://api.example.com/x')" '^curl: ' "DNS over HTTPS at a name that is allowed gives an address that is not"
isnt "$(seen dns '"name": "api.example.com"' '"over": "https"')" 0 "control: which was asked for there"
is "$(curl -sS -m 5 --doh-url https://other.example.com/dns-query https://api.example.com/x)" "ok GET /x" "control: outside DNS over HTTPS works"
status 0 "control: outside DoT's port answers" openssl s_client -connect 192.0.2.53:853 -servername api.example.com </dev/null

# ---- plain text where TLS is the rule ----
is "$(web --allow api.example.com:8443/tls -- https://api.example.com:8443/x)" "ok GET /x" "TLS on another port"
like "$(web --allow api.example.com:8080/tls -- http://api.example.com:8080/x)" '^curl: ' "no plain HTTP where the rule says tls"
is "$(seen tcp '"port": 8080')" 0 "none of it arrived"
is "$(web --allow api.example.com:8080/tcp -- http://api.example.com:8080/x)" "ok GET /x" "control: where it says tcp"

# ---- who has a TLS library in it ----
openssl_of() { { nm "$1" && nm -D "$1"; } 2>/dev/null | grep -cE ' (SSL|EVP|X509)_'; }
built=$(dirname "$(realpath "$CORDON_PROGRAM")")
if [ ! -x "$built/cordon-egress-tls" ] || ! nm "$built/cordon-egress-tls" 2>/dev/null | grep -q ' main$'; then
	skip "who has a TLS library in it" "no programs with symbols beside $CORDON_PROGRAM, or no nm to read them"
else
	for program in cordon cordon-init cordon-egress; do
		like "$(openssl_of "$built/$program") $(nm "$built/$program" | grep -c ' main$')" '^0 1$' "$program has nothing of OpenSSL, and is not linked with it"
	done
	isnt "$(openssl_of "$built/cordon-egress-tls")" 0 "control: cordon-egress-tls has it"
fi
done_testing
