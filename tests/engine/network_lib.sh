# shellcheck shell=bash
# What the network of a box of another engine is held to: network.sh as root, network_user.sh as an ordinary user. `all` runs it for $ENGINE.
. "$(dirname "${BASH_SOURCE[0]}")/../egress/lib.sh"
. "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"

# $GET PATH, in a box: an image has no curl, and Python takes its time on a busy machine
GET="bash -c 'exec 3<>/dev/tcp/api.example.com/80 && printf \"GET /\$0 HTTP/1.0\\r\\nHost: api.example.com\\r\\n\\r\\n\" >&3 && tail -n 1 <&3'"
NOT='^(ECONNREFUSED|ECONNRESET|closed)$' # with a listener for another rule's sake, or without
links() { ip -o link | cut -d: -f2 | sort | tr -d '\n'; }
below() { # PID: its descendants
	ps -eo pid=,ppid= | awk -v top="$1" '{ parent[$1] = $2 } END { for (p in parent) { for (q = p; q > 1 && q != top; q = parent[q]); if (q == top && p != top) printf "%s%s", sep, p; sep = " " } }' | sed 's/^ *//'
}
ours() { egress_of $BASHPID; }
policy_of() {
	policy <<END
network:
  allow:
    - {host: api.example.com, ports: [443], methods: [GET], paths: ["/v1/*", "/echo"], secret: KEY}
    - {host: files.example.com, ports: [443]}
secrets:
  KEY: {from: "env:THE_KEY", header: "Authorization: Bearer {}"}
END
}

reach() {
	: >"$NET/dns.log"
	: >"$NET/tcp.log"
	ask --allow api.example.com --allow '*.wild.example:443' --allow git.example.com:22/tcp --allow-cidr 192.0.2.14:8080/tcp --allow private.example.com --ro "$NET/ca.pem:/tmp/ca.pem" -- <<'END'
import urllib.request
trust = ssl.create_default_context(cafile="/tmp/ca.pem")
say("https", tried(lambda: urllib.request.urlopen("https://api.example.com/x", timeout=5, context=trust).read().decode().strip()))
say("http", status(request("api.example.com", "GET /x HTTP/1.1\r\nHost: api.example.com\r\nConnection: close\r\n\r\n")))
say("host", status(request("api.example.com", "GET /x HTTP/1.1\r\nHost: evil.example.com\r\nConnection: close\r\n\r\n")))
say("wild", tried(lambda: urllib.request.urlopen("https://a.wild.example/x", timeout=5, context=trust).read().decode().strip()))
say("apex", tried(socket.create_connection, ("wild.example", 443), 5))
say("name", tried(socket.create_connection, ("files.example.com", 443), 5))
say("port", talk("api.example.com", 8080, b"x"))
say("number", talk("192.0.2.10", 443, b"x"))
say("cidr", status(request("192.0.2.14", "GET /x HTTP/1.0\r\n\r\n", 8080)))
say("private", tried(lambda: urllib.request.urlopen("http://private.example.com/x", timeout=5).status))
say("metadata", talk("169.254.169.254", 80, b"x"))
def sni(name):
    c = ssl.create_default_context(); c.check_hostname = False; c.verify_mode = ssl.CERT_NONE
    with socket.create_connection(("api.example.com", 443), 5) as s, c.wrap_socket(s, server_hostname=name) as t:
        return "through"
say("sni", tried(sni, "other.example.com"))
say("sni_right", tried(sni, "api.example.com"))
def own(port):
    with socket.socket() as l:
        l.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); l.bind(("127.0.0.1", port)); l.listen()
        with socket.create_connection(("127.0.0.1", port), 5): return "ok"
for port in (53, 80, 443): say(f"own{port}", tried(own, port))
END
	say_is https "ok GET /x" "$ENGINE: an allowed name, over TLS"
	say_is http 200 "$ENGINE: and over HTTP"
	say_is host 403 "$ENGINE: a Host of another name is refused"
	say_is wild "ok GET /x" "$ENGINE: a name below a wildcard"
	say_is apex unknown "$ENGINE: not the one above it"
	say_is name unknown "$ENGINE: a name that no rule has"
	says port "$NOT" "$ENGINE: a port that none has"
	says number "$NOT" "$ENGINE: an address by number"
	say_is cidr 200 "$ENGINE: control: one that a rule names"
	says private "403|ECONNRESET" "$ENGINE: a name that leads to a private address"
	says metadata "$NOT" "$ENGINE: nor metadata by number"
	says sni '^(ECONNRESET|closed|ssl .*)$' "$ENGINE: a ClientHello of another name"
	say_is sni_right through "$ENGINE: control: of the right one"
	is "$(said own53)$(said own80)$(said own443)" okokok "$ENGINE: every port is free for its own servers"
	expect "$ENGINE: all of it is in the result" 'isolation.engine='"$ENGINE" 'network=~"decision": "allowed", "host": "api.example.com"' \
		'denials=~dns files.example.com' 'denials=~--allow files.example.com' 'denials=~api.example.com:8080' 'denials=~private \(RFC 1918\)'
	is "$(asked files.example.com) $(to 10.1.2.3)" "0 0" "$ENGINE: and nothing of what was refused left"
}

open_mode() {
	ask --net open -- <<'END'
say("name", tried(talk, "files.example.com", 80, b"GET /x HTTP/1.0\r\n\r\n").split()[1])
say("number", status(request("192.0.2.14", "GET /x HTTP/1.0\r\n\r\n", 8080)))
say("private", talk("10.1.2.3", 80, b"x"))
END
	is "$(said name) $(said number)" "200 200" "$ENGINE: open mode: any name, any port"
	says private "$NOT" "$ENGINE: but no private address"
}

looked_into() {
	policy_of
	export THE_KEY=hunter2-hunter2
	ask --policy "$WORK/policy.yaml" -- <<'END'
import os, urllib.request, urllib.error
def get(url, method="GET"):
    try:
        return urllib.request.urlopen(urllib.request.Request(url, method=method), timeout=5).read().decode().strip()
    except urllib.error.HTTPError as e:
        return e.code
say("path", get("https://api.example.com/v1/a"))
say("other", get("https://api.example.com/v2/a"))
say("method", get("https://api.example.com/v1/a", "POST"))
say("untouched", get("https://files.example.com/x"))
say("file", os.environ.get("SSL_CERT_FILE"))
say("key", os.environ.get("KEY"))
say("value", os.environ.get("THE_KEY"))
files = {p: open(p, "rb").read() for p in ("/proc/self/environ", "/etc/cordon/ca.pem", "/etc/cordon/ca-certificates.crt")}
say("files", sum(b"hunter2" in data for data in files.values()))
say("found", sum(b"BEGIN CERTIFICATE" in data or b"cordon-secret-KEY-" in data for data in files.values()))
END
	say_is path "ok GET /v1/a" "$ENGINE: TLS is looked into, and a request that a rule allows passes"
	is "$(said other) $(said method)" "403 403" "$ENGINE: another path or method does not"
	say_is untouched "ok GET /x" "$ENGINE: control: the other host's own certificate is trusted as before"
	says file '^/etc/cordon/' "$ENGINE: programs are told of the box's own authority"
	says key '^cordon-secret-KEY-' "$ENGINE: a secret is a placeholder"
	is "$(said value) $(said files) $(said found)" "None 0 3" "$ENGINE: its value is in none of the places where the authority and the placeholder are"
	is "$(seen http 'Bearer hunter2-hunter2' | sed 's/^[1-9].*/sent/')" sent "$ENGINE: and in the request that left"
	unlike "$(cat "$WORK/.result" "$WORK/.result.err")" hunter2 "$ENGINE: but not in the result"
}

lives() {
	local pid it
	mkdir -p "$WORK/shared" && rm -f "$WORK/shared/go"
	box --json --allow api.example.com --ro "$WORK/shared:/tmp/shared" -- sh -c "$GET x; until [ -e /tmp/shared/go ]; do sleep 0.05; done; $GET y" >"$WORK/.result" 2>"$WORK/.result.err" &
	pid=$!
	: >"$NET/http.log"
	until_true 20 grep -q api.example.com "$NET/http.log"
	sleep 0.3
	it=$(egress_of $pid)
	like "$it" '^[0-9]+$' "$ENGINE: one egress process carries it"
	unlike "$(sed -n 's/^Uid:\t//p' "/proc/$it/status")" '^0' "$ENGINE: not as root"
	kill -9 "$it"
	sleep 0.2
	touch "$WORK/shared/go"
	wait $pid
	expect "$ENGINE: killed, the box has no network any more, and the result says so" 'error.message=~egress process was killed.*no network' error.step=egress
	is "$(seen http /y)" 0 "$ENGINE: nothing was reached after it"
	result --allow api.example.com --timeout 2s -- sh -c "$GET x; sleep 30"
	expect "$ENGINE: the deadline holds" status=timeout $'stdout=ok GET /x\n'
	is "$(links) $(ours)" "$LINKS " "$ENGINE: no link and no egress process is left"
	alone
	setsid "${UNCAP[@]}" "$CORDON" run --engine "$ENGINE" ${CORDON_ENGINE_IMAGE:+--image "$CORDON_ENGINE_IMAGE"} --allow api.example.com -- sh -c "$GET z; sleep 77$$" >/dev/null 2>&1 &
	pid=$!
	until_true 20 grep -q /z "$NET/http.log"
	until_true 5 pgrep -f "^sleep 77$$\$" >/dev/null
	it=$(below "$pid")
	kill -9 "$pid" "$(pgrep -P "$pid" | head -1)"
	wait "$pid" 2>/dev/null
	gone() { ! ps -o pid= -p "${it// /,}" | grep -q . && ! pgrep -f "^sleep 77$$\$" >/dev/null; }
	if until_true 10 gone; then pass "$ENGINE: killed with its keeper, nothing of it is left"; else fail "$ENGINE: killed with its keeper, nothing of it is left" "$(ps -f -p "${it// /,}")"; fi
	is "$(links)" "$LINKS" "$ENGINE: no link, either"
	together
}

rights() {
	is "$(box --allow api.example.com -- grep -E '^Cap' /proc/self/status | cut -f2 | sort -u)" 0000000000000000 "$ENGINE: the payload has no capability"
	refused "$ENGINE: nor can it change its network" box --allow api.example.com -- busybox ip link set lo down
	result --net none -- bash -c 'ls /proc/sys/net/ipv4/conf; cat /etc/resolv.conf'
	unlike "$(field stdout)" 'eth0|nameserver' "$ENGINE: --net none stays none"
	is "$(field network)" "" "$ENGINE: and has nothing in its result"
}

all() {
	LINKS=$(links)
	reach
	open_mode
	looked_into
	rights
	lives
}
