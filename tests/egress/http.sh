#!/bin/bash
# Plain HTTP: every request on a connection is for the name that the connection is to, and reads only one way. What two readers could read
# differently does not pass.
. "$(dirname "$0")/lib.sh"

ask --allow api.example.com --allow files.example.com -- <<'END'
H = "Host: api.example.com\r\n"
C = "Connection: close\r\n"
def go(key, text, host="api.example.com"):
    say(key, status(request(host, text, timeout=4)))
# ---- what is right ----
go("plain", f"GET /plain HTTP/1.1\r\n{H}{C}\r\n")
go("case", f"GET /case HTTP/1.1\r\nhOST: API.Example.Com\r\n{C}\r\n")
go("port", f"GET /port HTTP/1.1\r\nHost: api.example.com:80\r\n{C}\r\n")
go("dot", f"GET /dot HTTP/1.1\r\nHost: api.example.com.\r\n{C}\r\n")
go("old", f"GET /old HTTP/1.0\r\n{H}\r\n")
go("absolute", f"GET http://api.example.com/absolute HTTP/1.1\r\n{H}{C}\r\n")
go("post", f"POST /echo HTTP/1.1\r\n{H}{C}Content-Length: 5\r\n\r\nhello")
go("chunked", f"POST /echo HTTP/1.1\r\n{H}{C}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n")
go("pipeline", f"GET /p1 HTTP/1.1\r\n{H}\r\nGET /p2 HTTP/1.1\r\n{H}{C}\r\n")
go("options", f"OPTIONS * HTTP/1.1\r\n{H}{C}\r\n")
go("head", f"HEAD /head HTTP/1.1\r\n{H}{C}\r\n")
# ---- another host ----
go("host", f"GET /bad HTTP/1.1\r\nHost: files.example.com\r\n{C}\r\n")
go("refused host", f"GET /bad HTTP/1.1\r\nHost: other.example.com\r\n{C}\r\n")
go("no host", f"GET /bad HTTP/1.1\r\n{C}\r\n")
go("no host 1.0", "GET /bad HTTP/1.0\r\n\r\n")
go("two hosts", f"GET /bad HTTP/1.1\r\n{H}Host: other.example.com\r\n{C}\r\n")
go("same host twice", f"GET /bad HTTP/1.1\r\n{H}{H}{C}\r\n")
go("userinfo", f"GET /bad HTTP/1.1\r\nHost: api.example.com@other.example.com\r\n{C}\r\n")
go("host port", f"GET /bad HTTP/1.1\r\nHost: api.example.com:8080\r\n{C}\r\n")
go("host address", f"GET /bad HTTP/1.1\r\nHost: 192.0.2.10\r\n{C}\r\n")
go("host nul", f"GET /bad HTTP/1.1\r\nHost: api.example.com\0.evil\r\n{C}\r\n")
go("absolute other", f"GET http://other.example.com/bad HTTP/1.1\r\n{H}{C}\r\n")
go("absolute user", f"GET http://api.example.com@other.example.com/bad HTTP/1.1\r\n{H}{C}\r\n")
go("absolute https", f"GET https://api.example.com/bad HTTP/1.1\r\n{H}{C}\r\n")
go("connect", f"CONNECT other.example.com:443 HTTP/1.1\r\nHost: other.example.com:443\r\n\r\n")
go("connect self", f"CONNECT api.example.com:443 HTTP/1.1\r\nHost: api.example.com:443\r\n\r\n")
go("second host", f"GET /p3 HTTP/1.1\r\n{H}\r\nGET /bad HTTP/1.1\r\nHost: other.example.com\r\n{C}\r\n")
# ---- smuggling ----
S = "GET /bad HTTP/1.1\r\nHost: other.example.com\r\n\r\n"
go("cl te", f"POST /bad HTTP/1.1\r\n{H}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{S}")
go("te cl", f"POST /bad HTTP/1.1\r\n{H}Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n{S}")
go("two lengths", f"POST /bad HTTP/1.1\r\n{H}Content-Length: 0\r\nContent-Length: {len(S)}\r\n\r\n{S}")
go("list of lengths", f"POST /bad HTTP/1.1\r\n{H}Content-Length: 0, {len(S)}\r\n\r\n{S}")
go("plus", f"POST /bad HTTP/1.1\r\n{H}Content-Length: +0\r\n\r\n{S}")
go("negative", f"POST /bad HTTP/1.1\r\n{H}Content-Length: -1\r\n\r\n{S}")
go("hex", f"POST /bad HTTP/1.1\r\n{H}Content-Length: 0x0\r\n\r\n{S}")
go("huge", f"POST /bad HTTP/1.1\r\n{H}Content-Length: 18446744073709551617\r\n\r\n{S}")
go("te identity", f"POST /bad HTTP/1.1\r\n{H}Transfer-Encoding: identity\r\n\r\n{S}")
go("te xchunked", f"POST /bad HTTP/1.1\r\n{H}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n{S}")
go("te list", f"POST /bad HTTP/1.1\r\n{H}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n{S}")
go("te 1.0", f"POST /bad HTTP/1.0\r\n{H}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n{S}")
go("te space", f"POST /bad HTTP/1.1\r\n{H}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n{S}")
go("te tab", f"POST /bad HTTP/1.1\r\n{H}Transfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n{S}")
go("fold", f"POST /bad HTTP/1.1\r\n{H}X: a\r\n Transfer-Encoding: chunked\r\n\r\n")
go("bare lf", f"GET /bad HTTP/1.1\n{H}{C}\n")
go("bare cr", f"GET /bad HTTP/1.1\r\n{H}X: a\rHost: other.example.com\r\n{C}\r\n")
go("lf in field", f"GET /bad HTTP/1.1\r\n{H}X: a\nHost: other.example.com\r\n{C}\r\n")
go("no colon", f"GET /bad HTTP/1.1\r\n{H}what is this\r\n{C}\r\n")
go("two spaces", f"GET  /bad HTTP/1.1\r\n{H}{C}\r\n")
go("version", f"GET /bad HTTP/3.1\r\n{H}{C}\r\n")
go("no version", "GET /bad\r\n")
go("leading line", f"\r\nGET /bad HTTP/1.1\r\nHost: other.example.com\r\n{C}\r\n")
go("h2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
go("binary", bytes(range(256)))
go("tls", hello("api.example.com"))
go("big head", f"GET /bad HTTP/1.1\r\n{H}X: {'x' * 100000}\r\n{C}\r\n")
go("many fields", f"GET /bad HTTP/1.1\r\n{H}{'X: y' + chr(13) + chr(10)}{C}\r\n".replace("X: y\r\n", "X: y\r\n" * 2000))
# what passes as a first request and would be a second one only for another reader
T = f"POST /first HTTP/1.1\r\n{H}Transfer-Encoding: chunked\r\n\r\n"
go("chunk sign", T + f"+5\r\nhello\r\n0\r\n\r\n{S}")
go("chunk ext", T + f"5;a=b\r\nhello\r\n0\r\n\r\n{S}")
go("chunk lf", T + f"5\nhello\r\n0\r\n\r\n{S}")
go("chunk 0x", T + f"0x5\r\nhello\r\n0\r\n\r\n{S}")
go("chunk huge", T + f"ffffffffffffffff1\r\nhello\r\n0\r\n\r\n{S}")
go("trailer", T + f"5\r\nhello\r\n0\r\nHost: other.example.com\r\n\r\n{S}")
say("h2c", status(request("api.example.com", timeout=1, text=f"GET /h2c HTTP/1.1\r\n{H}Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n")))
END
for what in plain case port dot old absolute post chunked options head; do say_is "$what" 200 "passes: $what"; done
say_is pipeline "200 200" "two requests, one after the other"
for what in host "refused host" "no host" "no host 1.0" "two hosts" "same host twice" userinfo "host port" "host address" "host nul" "absolute other" "absolute user" \
	"absolute https" connect "connect self" "cl te" "te cl" "two lengths" "list of lengths" plus negative hex huge "te identity" "te xchunked" "te list" "te 1.0" \
	"te space" "te tab" fold "bare lf" "bare cr" "lf in field" "no colon" "two spaces" version "no version" "leading line" h2 binary tls "big head" "many fields"; do
	says "$what" '^(4[0-9][0-9]|501|505|ECONNRESET|closed)$' "refused: $what"
done
says "second host" '^200 (4[0-9][0-9])$' "the second request is looked at like the first"
for what in "chunk sign" "chunk ext" "chunk lf" "chunk 0x" "chunk huge" trailer; do
	say_is "$what" 400 "refused: $what"
done
say_is h2c 200 "h2c is no way out: the request passes without the offer"
is "$(seen http /h2c)" 1 "control: and arrives"
unlike "$(cat "$NET/http.log")" 'h2c.*Upgrade' "the server was not asked for one"
is "$(seen http /bad)" 0 "nothing that was refused arrived"
isnt "$(seen http /plain)" 0 "control: what passed did"
is "$(to 192.0.2.11)$(to 192.0.2.12)" 00 "and no other host was dialled"
expect "the result says why" 'network=~"kind": "request", "decision": "refused"' 'network=~Host'

# ---- redirects lead nowhere else ----
for where in http://10.1.2.3/x http://169.254.169.254/latest http://127.0.0.1/x http://other.example.com/x http://private.example.com/x; do
	unlike "$(web --allow api.example.com --allow private.example.com -- -L -m 5 "http://api.example.com/redirect?to=$where")" '^ok GET' "a redirect to $where ends there"
done
is "$(to 10.1.2.3)$(to 169.254.169.254)$(to 127.0.0.1)$(to 192.0.2.12)" 0000 "nothing arrived"
is "$(web --allow api.example.com -- -L 'http://api.example.com/redirect?to=http://api.example.com/x')" "ok GET /x" "control: one to an allowed name is followed"

# ---- one that waits holds up no other ----
ask --allow api.example.com -- <<'END'
import threading
get = "GET %s HTTP/1.1\r\nHost: api.example.com\r\nConnection: close\r\n\r\n"
waiting = threading.Thread(target=lambda: say("waited", request("api.example.com", get % "/wait?s=1").splitlines()[-1]))
waiting.start()
time.sleep(0.2)
say("others", " ".join(status(request("api.example.com", get % "/x")) for _ in range(5)))
say("still", waiting.is_alive())
waiting.join()
END
is "$(said others) $(said still) $(said waited)" "200 200 200 200 200 True waited" "while a server takes its time for one request, others pass"

# ---- answers of every kind ----
answers() { web --allow api.example.com -- "$@"; }
is "$(answers http://api.example.com/chunked)" "one two three" "in chunks"
is "$(answers http://api.example.com/close)" "until the end" "until the end"
like "$(answers http://api.example.com/short)" '\((18|56)\)' "cut short: told so"
like "$(answers http://api.example.com/reset)" '\((18|56)\)' "reset: told so"
is "$(answers -I http://api.example.com/big?n=100 | grep -ci 'content-length: 100')" 1 "to HEAD"
is "$(box --allow api.example.com -- bash -c 'head -c 3000000 /dev/zero | curl -sS -m 20 -T - http://api.example.com/sink')" 3000000 "a body after 100-continue"
is "$(box --allow api.example.com -- bash -c 'curl -sS -m 50 "http://api.example.com/big?n=300000000" | wc -c')" 300000000 "three hundred megabytes"
status 0 "twenty requests on one connection" box --allow api.example.com -- bash -c '
	for i in $(seq 20); do echo "url=http://api.example.com/n$i"; done >/tmp/c; [ "$(curl -sS -K /tmp/c | grep -c "ok GET /n")" = 20 ]'
done_testing
