#!/bin/bash
# TLS that is looked into, where a rule has methods or paths: each request is checked as it will be understood; the box trusts an authority of its own,
# which nobody else does, and whose key is nowhere in it.
. "$(dirname "$0")/lib.sh"
policy <<'END'
network:
  mode: allow
  allow:
    - {host: api.example.com, ports: [443], methods: [GET, HEAD], paths: ["/v1/*", "/open", "/big", "/echo", "/chunked", "/redirect"]}
    - {host: api.example.com, ports: [443], methods: [POST], paths: ["/post/*"]}
    - {host: git.example.com, ports: [443], paths: ["/ws"]}
    - {host: files.example.com, ports: [443]}
    - {host: badcert.example.com, ports: [443], methods: [GET]}
    - {host: wronghost.example.com, ports: [443], methods: [GET]}
    - {host: h2.example.com, ports: [443], methods: [GET]}
    - {host: api.example.com, ports: [80], methods: [GET], paths: ["/v1/*"]}
END
P=(--policy "$WORK/policy.yaml")
ask "${P[@]}" -- <<'END'
def go(key, path, method="GET", headers="", **more):
    say(key, status(https("api.example.com", path, method=method, headers=headers, **more)))
go("get", "/v1/x")
go("head", "/v1/x", "HEAD")
go("post", "/post/x", "POST", "Content-Length: 2\r\n", body="hi")
go("query", "/v1/x?a=/../b&c=..%2f")
go("exact", "/open")
go("unreserved", "/v1/%41%7e")
for i, path in enumerate(["/v2/x", "/", "/v1", "/V1/x", "/open/", "/openx", "/v1/../v2/x", "/v1/%2e%2e/v2/x", "/v1/..%2fv2/x", "/v1/%2e%2e%2fv2/x", "/v1/%252e%252e/v2",
                          "/v1/..;/v2/x", "/v1;/../v2", "//v2/x", "/v1/..\\v2/x", "/v1/%5c..%5cv2", "/v1/x%00", "/v1/x%0d%0aX: y", "/v1/%zz", "/v1/%2", "/v2/../../v1/x",
                          "/./v2/v1/x", "http://api.example.com/v2/x", "http://other.example.com/v1/x", "/v1/x#/../v2", "*", "v1/x", "/v1/\xe4"]):
    say(f"path {i}", f"{status(https('api.example.com', path))} {path}")
for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "get", "CONNECT", "PROPFIND", "BREW"]:
    go("method " + method, "/v1/x", method, "Content-Length: 0\r\n")
for name in ["X-HTTP-Method-Override: DELETE", "X-Original-URL: /v2/x", "X-Rewrite-URL: /v2/x"]:
    go(name.split(":")[0], "/v1/x", headers=name + "\r\n")
go("get to post", "/post/x")
go("host", "/v1/x", server="files.example.com")
go("host refused", "/v1/x", server="other.example.com")
H = "Host: api.example.com\r\n"
say("two", status(exchange("api.example.com", f"GET /v1/one HTTP/1.1\r\n{H}\r\n", f"GET /v1/two HTTP/1.1\r\n{H}Connection: close\r\n\r\n")))
say("second", status(exchange("api.example.com", f"GET /v1/three HTTP/1.1\r\n{H}\r\n", f"GET /v2/bad HTTP/1.1\r\n{H}Connection: close\r\n\r\n")))
say("second ahead", status(exchange("api.example.com", f"GET /v1/four HTTP/1.1\r\n{H}\r\nGET /v2/bad HTTP/1.1\r\n{H}Connection: close\r\n\r\n")))
say("second host", status(exchange("api.example.com", f"GET /v1/five HTTP/1.1\r\n{H}\r\n", "GET /v1/bad HTTP/1.1\r\nHost: other.example.com\r\n\r\n")))
say("second method", status(exchange("api.example.com", f"GET /v1/six HTTP/1.1\r\n{H}\r\n", f"DELETE /v1/bad HTTP/1.1\r\n{H}\r\n")))
say("smuggled", status(https("api.example.com", "/post/x", method="POST", headers="Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", body="0\r\n\r\nGET /v2/bad HTTP/1.1\r\nHost: api.example.com\r\n\r\n")))
say("wrong sni", status(https("api.example.com", "/v1/x", sni="files.example.com")))
say("no sni", greeted("api.example.com", hello()))
say("ech", greeted("api.example.com", hello("api.example.com", ech=True)))
say("ech wrong", greeted("api.example.com", hello("files.example.com", ech=True)))
say("plain", status(request("api.example.com", "GET /v1/x HTTP/1.1\r\nHost: api.example.com\r\n\r\n", port=443)))
say("bad certificate", status(https("badcert.example.com", "/x")))
say("wrong host", status(https("wronghost.example.com", "/x")))
say("untouched", https("files.example.com", "/any").splitlines()[-1])
say("80", status(request("api.example.com", "GET /v1/x HTTP/1.1\r\nHost: api.example.com\r\nConnection: close\r\n\r\n")))
say("80 bad", status(request("api.example.com", "GET /v2/bad HTTP/1.1\r\nHost: api.example.com\r\nConnection: close\r\n\r\n")))
END
for what in get head post query exact unreserved 80; do say_is "$what" 200 "passes: $what"; done
for i in $(seq 0 27); do says "path $i" '^(4[0-9][0-9]|ECONNRESET|closed) ' "refused: $(said "path $i" | cut -d' ' -f2-)"; done
for m in POST PUT DELETE PATCH OPTIONS TRACE get CONNECT PROPFIND BREW; do says "method $m" '^(4[0-9][0-9]|ECONNRESET|closed)' "refused: $m"; done
for what in "get to post" host "host refused" smuggled "80 bad"; do says "$what" '^(4[0-9][0-9])' "refused: $what"; done
say_is two "200 200" "control: two requests on one connection"
for what in second "second ahead" "second host" "second method"; do say_is "$what" "200 403" "the second request of a connection is looked at like the first: $what"; done
is "$(seen http /v1/one)$(seen http /v1/two)$(seen http /v1/three)$(seen http /v1/four)$(seen http /v1/five)$(seen http /v1/six)" 111111 "control: those before it arrived"
say_is "wrong sni" "ssl TLSV1_UNRECOGNIZED_NAME" "a ClientHello with another name"
says "no sni" '^(alert|ECONNRESET|closed)' "and one without"
say_is ech hello "of an encrypted ClientHello the outer part counts: TLS ends here"
say_is "ech wrong" alert "and must be the name"
says plain '^(400|403|ECONNRESET|closed|\x15.*)$' "no plain text"
says "bad certificate" '^502' "the server's certificate is checked: an unknown authority"
says "wrong host" '^502' "and another host's"
say_is untouched "ok GET /any" "control: a host without such rules is not looked into"
is "$(seen http '"target": "/v2')$(seen http bad)" 00 "nothing that was refused arrived"
expect "each request is told" 'network=~"kind": "request", "decision": "allowed", "host": "api.example.com"' 'network=~"method": "GET", "path": "/v1/x"' 'denials=~/v2/x'
for name in "X-HTTP-Method-Override: DELETE" "X-Original-URL: /v2/x" "X-Rewrite-URL: /v2/x"; do
	say_is "${name%%:*}" 200 "a request with ${name%%:*} passes"
	is "$(seen http "${name%%:*}")" 0 "and the header does not"
done

# ---- the authority ----
ask "${P[@]}" --ro "$NET/ca.pem:/tmp/real.pem" --ro "$NET/bad.key:/tmp/other.key" -- <<'END'
import glob, os, subprocess
def issuer(host, cafile=None):
    context = ssl.create_default_context(cafile=cafile)
    with socket.create_connection((host, 443), timeout=5) as raw, context.wrap_socket(raw, server_hostname=host) as s:
        return dict(x[0] for x in s.getpeercert()["issuer"])["commonName"]
say("box", issuer("api.example.com"))
say("real", issuer("files.example.com"))
say("system", tried(issuer, "api.example.com", "/tmp/real.pem"))
def spoken(alpn, version=None):
    context = ssl.create_default_context()
    context.set_alpn_protocols(alpn)
    context.maximum_version = version or context.maximum_version
    with socket.create_connection(("api.example.com", 443), timeout=5) as raw, context.wrap_socket(raw, server_hostname="api.example.com") as s:
        return f"{s.version()} {s.selected_alpn_protocol()}"
for name in ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "PIP_CERT", "AWS_CA_BUNDLE"]:
    say(name, https("api.example.com", "/v1/x", cafile=os.environ.get(name, "/none")).splitlines()[-1])
say("NODE_EXTRA_CA_CERTS", https("api.example.com", "/v1/x", cafile=os.environ.get("NODE_EXTRA_CA_CERTS", "/none")).splitlines()[-1])
say("both", tried(spoken, ["h2", "http/1.1"]))
say("1.2", tried(spoken, ["http/1.1"], ssl.TLSVersion.TLSv1_2))
say("h2", tried(spoken, ["h2"]))
keys = subprocess.run("grep -rls 'PRIVATE'' KEY' /etc/cordon /etc/ssl /tmp /run 2>/dev/null", shell=True, capture_output=True, text=True).stdout
say("keys", " ".join(keys.split()))
say("writable", tried(lambda: open("/etc/cordon/ca.pem", "a") and "yes"))
print(open("/etc/cordon/ca.pem").read())
END
like "$(said box)" cordon "the box sees its own authority"
say_is real ca "and the real one where nothing is looked into"
says system '^ssl CERTIFICATE_VERIFY_FAILED' "who trusts only the system does not trust it"
say_is keys /tmp/other.key "its key is nowhere in the box, where the same search finds another"
for name in SSL_CERT_FILE REQUESTS_CA_BUNDLE CURL_CA_BUNDLE GIT_SSL_CAINFO PIP_CERT AWS_CA_BUNDLE NODE_EXTRA_CA_CERTS; do
	say_is $name "ok GET /v1/x" "$name leads to it"
done
say_is both "TLSv1.3 http/1.1" "who offers HTTP/2 as well speaks HTTP/1.1"
say_is 1.2 "TLSv1.2 http/1.1" "also with TLS 1.2"
says h2 '^ssl ' "and who offers nothing else is refused"
expect "with the reason" 'network=~only HTTP/1.1 can be inspected'
says writable '^(EROFS|EACCES|EPERM)$' "nor can its certificate be changed"
sed -n '/BEGIN/,/END/p' <<<"$GOT" >"$WORK/first.pem"
box "${P[@]}" -- cat /etc/cordon/ca.pem >"$WORK/second.pem"
ok "it is a certificate" openssl x509 -in "$WORK/first.pem" -noout
isnt "$(openssl x509 -in "$WORK/first.pem" -noout -fingerprint)" "$(openssl x509 -in "$WORK/second.pem" -noout -fingerprint)" "each box has another"
ask --allow api.example.com -- <<'END'
import os
say("none", os.path.exists("/etc/cordon/ca.pem"))
say("env", "SSL_CERT_FILE" in os.environ)
END
is "$(said none)$(said env)" FalseFalse "a box where nothing is looked into has none"

# ---- websocket, and reading only ----
ask "${P[@]}" -- <<'END'
say("allowed", tried(websocket, "git.example.com"))
say("path", tried(websocket, "api.example.com"))
END
say_is allowed hello "a WebSocket where the path is allowed"
says path '403' "and not where it is not"
ask --net-read-only --allow git.example.com --allow api.example.com --allow db.example.com:22/tcp -- <<'END'
say("websocket", tried(websocket, "git.example.com"))
for method in ["GET", "HEAD", "OPTIONS", "POST", "PUT", "DELETE", "PATCH"]:
    say(method, status(https("api.example.com", "/echo", method=method, headers="Content-Length: 0\r\n")))
say("80", status(request("api.example.com", "POST /bad HTTP/1.1\r\nHost: api.example.com\r\nContent-Length: 0\r\n\r\n")))
say("tcp", talk("db.example.com", 22, b"x"))
END
says websocket '^HTTP/1.1 403 ' "reading only: no WebSocket"
for m in GET HEAD OPTIONS; do say_is $m 200 "reading only: $m"; done
for m in POST PUT DELETE PATCH; do says $m '^4' "reading only: no $m"; done
says 80 '^4' "nor over plain HTTP"
say_is tcp ECONNRESET "nor what cannot be looked into"
is "$(to 192.0.2.17)" 0 "which dials nobody"
expect "and says so" 'denials=~connection db.example.com:22.*read-only'
is "$(seen http '"POST"' /bad)" 0 "nothing of it arrived"
ask --allow git.example.com --allow api.example.com --allow db.example.com:22/tcp -- <<'END'
say("websocket", tried(websocket, "git.example.com"))
for method in ["POST", "PUT", "DELETE", "PATCH"]:
    say(method, status(https("api.example.com", "/echo", method=method, headers="Content-Length: 0\r\n")))
say("80", status(request("api.example.com", "POST /good HTTP/1.1\r\nHost: api.example.com\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")))
say("tcp", talk("db.example.com", 22, b"x"))
END
is "$(said websocket) $(said POST) $(said PUT) $(said DELETE) $(said PATCH) $(said 80) $(said tcp)" "hello 200 200 200 200 200 x" "control: all of it passes where one may write"
got=$(box "${P[@]}" -- bash -c 'curl -sS -m 50 "https://api.example.com/big?n=200000000" | wc -c')
is "$got" 200000000 "two hundred megabytes, looked into"
# ---- clients that lie, as in tls.sh ----
lie() { box "${P[@]}" -- bash -c "$1" 2>&1; }
like "$(lie 'a=$(getent hosts git.example.com); curl -sS -m 5 --resolve "api.example.com:443:${a%% *}" https://api.example.com/v1/lie')" '^curl: ' "curl --resolve to another name's address"
is "$(lie 'a=$(getent hosts api.example.com); curl -sS -m 5 --resolve "api.example.com:443:${a%% *}" https://api.example.com/v1/truth')" "ok GET /v1/truth" "control: to its own"
like "$(lie 'curl -sS -m 5 --connect-to api.example.com:443:git.example.com:443 https://api.example.com/v1/lie')" '^curl: ' "curl --connect-to"
like "$(lie 'curl -sS -m 5 --resolve api.example.com:443:192.0.2.10 https://api.example.com/v1/lie')" '^curl: ' "the real address, by number"
is "$(seen http /v1/lie)" 0 "none of which arrived"

# ---- authorities of one's own outside ----
policy <<END
network:
  ca_file: $NET/otherca.pem
  allow:
    - {host: badcert.example.com, ports: [443], methods: [GET]}
    - {host: api.example.com, ports: [443], methods: [GET]}
    - {host: wronghost.example.com, ports: [443], methods: [GET]}
END
for name in badcert api; do
	is "$(web --policy "$WORK/policy.yaml" -- https://$name.example.com/x)" "ok GET /x" "ca_file: its servers are accepted besides the host's: $name"
done
like "$(web --policy "$WORK/policy.yaml" -- https://wronghost.example.com/x)" 'failed: certificate' "and no others"
is "$(web --net-read-only --ca-file "$NET/otherca.pem" --allow badcert.example.com -- https://badcert.example.com/x)" "ok GET /x" "--ca-file does the same"

# ---- a certificate whose time is over ----
result --net-read-only --allow expired.example.com:443 -- curl -sS -m 5 https://expired.example.com/expired
like "$(field stdout)" 'failed: certificate not accepted: certificate has expired' "a server whose certificate has expired is not spoken to"
expect "which is told" 'network=~"decision": "failed", "host": "expired.example.com".*certificate has expired'
is "$(seen http '"/expired"')" 0 "nothing of the request arrived"
touch "$NET/renewed"
is "$(web --net-read-only --allow expired.example.com:443 -- https://expired.example.com/expired)" "ok GET /expired" "control: the same server, once its certificate is renewed"
rm "$NET/renewed"

# ---- egress that does not come up ----
policy <<END
network:
  ca_file: $WORK/nothing.pem
  allow:
    - {host: api.example.com, ports: [443], methods: [GET]}
END
told=0
for _ in $(seq 20); do
	box --policy "$WORK/policy.yaml" -- true 2>&1 | grep -q "open '$WORK/nothing.pem'" && told=$((told + 1))
done
is $told 20 "why egress did not start is told, and not what its end broke in the box"
done_testing
