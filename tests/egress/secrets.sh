#!/bin/bash
# Secrets: the box has a placeholder, the server gets the value, and nobody else ever sees it.
. "$(dirname "$0")/lib.sh"
VALUE='s3cr3t/value+42=='
export MYKEY=$VALUE
printf '%s\n' "$VALUE-file" >"$WORK/key"
chmod 600 "$WORK/key"
policy <<END
network:
  mode: allow
  allow:
    - {host: api.example.com, ports: [443], secret: KEY, paths: ["/*"]}
    - {host: git.example.com, ports: [443], secret: FILED}
    - {host: h2.example.com, ports: [443], secret: RUN}
    - {host: files.example.com, ports: [443]}
    - {host: files.example.com, ports: [80]}
secrets:
  KEY: {from: "env:MYKEY", header: "Authorization: Bearer {}"}
  FILED: {from: "file:$WORK/key"}
  RUN: {from: "command:echo ran >>$WORK/ran; echo $VALUE-command", header: "X-Api-Key: {}"}
END
P=(--policy "$WORK/policy.yaml")
# forms TEXT: what it looks like in a text, plain or percent-encoded (its first letters are not escaped), and at each place that base64 can have it: a regex
forms() {
	$PYTHON -c '
import base64, sys
value = sys.argv[1].encode()
print("|".join([sys.argv[1][:6]] + [base64.b64encode(bytes(pad) + value)[5:15].decode().replace("+", "[+]") for pad in range(3)]))' "$1"
}
FORMS=$(forms "$VALUE")
for text in "$VALUE" "$(printf %s "$VALUE" | base64)" "$(printf %s "x$VALUE" | base64)" "$(printf %s "xy$VALUE" | base64)" 's3cr3t%2Fvalue%2B42'; do
	like "a $text b" "$FORMS" "control: the search for it finds $text"
done
# The memory of the box is searched for its hash: who searched for the value itself would find that.
ask "${P[@]}" -- "$(printf %s "$VALUE" | sha256sum | cut -d' ' -f1)" <<'END'
import os, glob, hashlib
key = os.environ["KEY"]
say("placeholder", key)
say("header", https("api.example.com", "/secret-echo").replace("\r\n", "|"))
say("own", https("api.example.com", "/own", headers="Authorization: Bearer mine\r\nX-Api-Key: mine2\r\nX_Api_Key: mine3\r\nCookie: a=b\r\n").splitlines()[-1])
say("placed", https("git.example.com", "/placed", headers=f"X-Token: {os.environ['FILED']}\r\n").splitlines()[-1])
say("query", https("api.example.com", "/query?key=" + key).splitlines()[-1])
say("chunked", https("api.example.com", "/secret-echo?chunked=1").replace("\r\n", ""))
say("gzip", https("api.example.com", "/secret-echo?gzip=1", headers="Accept-Encoding: gzip\r\n").replace("\r\n", "|"))
say("gzip elsewhere", status(https("files.example.com", "/secret-echo?gzip=1")))
say("command", https("h2.example.com", "/command").splitlines()[-1])
say("command 2", https("h2.example.com", "/command").splitlines()[-1])
say("elsewhere", https("files.example.com", "/elsewhere?k=" + key, headers=f"Authorization: Bearer {key}\r\n").splitlines()[-1])
say("plain", status(request("files.example.com", f"GET /elsewhere80 HTTP/1.1\r\nHost: files.example.com\r\nAuthorization: {key}\r\nConnection: close\r\n\r\n")))
say("refused", https("api.example.com", "/x/../../y?k=" + key).replace("\r\n", "|").replace("\n", "|"))
def pieces(path, parts):
    """What a file has in these, in pieces that overlap."""
    try:
        with open(path, "rb", buffering=0) as f:
            for at, end in parts:
                while at < end and (data := os.pread(f.fileno(), min(end - at, 1 << 20), at)):
                    yield data
                    at += max(len(data) - 100, 100)
    except (OSError, OverflowError):  # of addresses that no offset reaches, gVisor says that they can be read
        pass
def places():
    for pid in filter(str.isdigit, os.listdir("/proc")):
        maps = tried(lambda: open(f"/proc/{pid}/maps").readlines())
        for line in maps if isinstance(maps, list) else []:
            if " r" in line:  # each by itself: some cannot be read, such as [vvar]
                yield f"/proc/{pid}/mem", [tuple(int(x, 16) for x in line.split()[0].split("-"))]
    for path in glob.glob("/proc/[0-9]*/environ") + glob.glob("/proc/[0-9]*/cmdline") + glob.glob("/etc/cordon/*") + glob.glob("/tmp/*"):
        yield path, [(0, 1 << 20)]
def search(middle, before, size, digest):
    """Where something has this hash: the text around its middle."""
    found = set()
    for path, parts in places():
        for data in pieces(path, parts):
            at = data.find(middle)
            while at >= 0:
                if at >= before and hashlib.sha256(data[at - before : at - before + size]).hexdigest() == digest:
                    found.add(path)
                at = data.find(middle, at + 1)
    return " ".join(sorted(found)) or "nowhere"
say("in the box", search(b"value+42", 7, 17, arguments[0]))
say("self", f"/proc/{os.getpid()}/mem")
say("control", search(b"secret-KEY-", 7, len(key), hashlib.sha256(key.encode()).hexdigest()))
END
says placeholder '^cordon-secret-KEY-[0-9a-f]{32}$' "the box has a placeholder"
unlike "$GOT" "$FORMS" "and never the value, in no form"
unlike "$(cat "$WORK/.result" "$WORK/.result.err")" "$FORMS" "nor does the result"
is "$(seen http /secret-echo "Bearer $VALUE\"")" 3 "the server gets it in its header"
says header 'X-Seen: Bearer \*+' "what it sends back in a header is masked"
says header 'plain=Bearer \*+ .*percent=\*+ base64=[*A-Za-z0-9+/=]{0,4}\*+.* json=\*+ basic=' "and in a body, also encoded"
says chunked '\*{10}' "control: the answer in pieces arrives"
is "$(seen http '"/own"' "Bearer $VALUE")" 1 "credentials of the box's own are replaced"
is "$(seen http '"/own"' mine)" 0 "and stripped"
is "$(seen http '"/placed"' "[\"X-Token\", \"$VALUE-file\"]")" 1 "a placeholder in a header is replaced, from a file"
isnt "$(seen http '/query?key=s3cr3t')" 0 "a placeholder in the query is replaced"
is "$(seen http '"/command"' "[\"X-Api-Key\", \"$VALUE-command\"]")" 2 "one that a command gives"
is "$(wc -l <"$WORK/ran")" 1 "which ran once"
is "$(seen http /elsewhere s3cr3t)$(seen http /elsewhere80 s3cr3t)" 00 "another host never gets it"
is "$(seen http /elsewhere80 cordon-secret-KEY)" 1 "control: it gets the placeholder"
say_is "in the box" nowhere "it is in no file and no process of the box"
self=$(said self)
like " $(said control) " " ${self:-it said nothing} " "control: the same search finds the placeholder in memory"
like "$(said control)" '/proc/[0-9]+/environ' "control: and in an environment"
says gzip '^HTTP/1.1 502 .*compressed although that was not asked for' "an answer that is compressed, where it could not be masked, is a failure"
say_is "gzip elsewhere" 200 "control: it passes from a host without a secret"
says refused '^HTTP/1.1 403 .*request: GET /x/../../y\|' "a refusal repeats the path and no query"
is "$(seen http 'y?k=')" 0 "and nothing of it arrives"
unset MYKEY
status 125 "a variable that is not set is an error before anything starts" box "${P[@]}" -- true
like "$ERR" MYKEY "which names it"
export MYKEY=$VALUE

# ---- a response that began before the value was known ----
ask "${P[@]}" -- <<'END'
import os
s = ssl.create_default_context().wrap_socket(socket.create_connection(("git.example.com", 443), timeout=5), server_hostname="git.example.com")
s.sendall(b"GET /ws HTTP/1.1\r\nHost: git.example.com\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
          b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
say("upgrade", s.recv(4096).split(b"\r\n")[0].decode())
def back(text):
    s.sendall(bytes([0x81, 0x80 | len(text), 0, 0, 0, 0]) + text)
    return s.recv(4096)[2:].decode()
value = b"s3cr" + b"3t/value+42==-file"
say("before", back(value))
https("git.example.com", "/late", headers=f"X-Token: {os.environ['FILED']}\r\n")
say("after", back(value))
END
says upgrade ' 101 ' "control: a WebSocket, before anything needs the secret"
say_is before "$VALUE-file" "control: nobody knows the value yet"
is "$(seen http '"/late"' "$VALUE-file")" 1 "control: then a request brings it"
say_is after '**********************' "and on the WebSocket it is masked from then on"

# ---- one that expires, and what the log has of all this ----
policy <<END
network:
  allow:
    - {host: api.example.com, ports: [443], secret: SHORT, paths: ["/short*"]}
secrets:
  SHORT: {from: "command:echo ran >>$WORK/again; echo $VALUE-\$(wc -l <$WORK/again)", header: "X-Api-Key: {}", ttl: 1s}
END
ask "${P[@]}" --log "$WORK/log" -- <<'END'
import os
say("first", status(https("api.example.com", "/short1?k=" + os.environ["SHORT"])))
time.sleep(1.2)
say("second", status(https("api.example.com", "/short2?k=" + os.environ["SHORT"])))
say("other", status(https("api.example.com", "/other?k=" + os.environ["SHORT"])))
END
is "$(said first) $(said second) $(seen http /short1 "$VALUE-1\"") $(seen http /short2 "$VALUE-2\"")" "200 200 1 1" "a secret whose ttl is over is fetched again"
is "$(wc -l <"$WORK/again")" 2 "and only then"
say_is other 403 "control: and one request is refused"
isnt "$(grep -c '"kind":"request"' "$WORK/log")" 0 "control: the log has the requests"
unlike "$(cat "$WORK/log" "$WORK/.result" "$WORK/.result.err")" "$FORMS" "but no value"

# ---- by flags ----
ask --secret TOKEN=env:MYKEY@api.example.com --allow api.example.com -- <<'END'
import os
say("placeholder", os.environ["TOKEN"])
say("flag", https("api.example.com", "/flag", headers=f"Authorization: token {os.environ['TOKEN']}\r\n").splitlines()[-1])
END
says placeholder '^cordon-secret-TOKEN' "--secret gives a placeholder"
is "$(seen http '"/flag"' "token $VALUE")" 1 "that the server sees as the value"

# ---- commands that do not end as they should ----
policy <<END
network:
  allow:
    - {host: api.example.com, ports: [80], protocol: http, secret: QUIET}
    - {host: git.example.com, ports: [80], protocol: http, secret: FAILED}
    - {host: files.example.com, ports: [80], protocol: http, secret: PIPED}
    - {host: db.example.com, ports: [80], protocol: http, secret: LINES}
    - {host: h2.example.com, ports: [80], protocol: http, secret: LONG}
secrets:
  QUIET: {from: "command:printf $VALUE; exec >&-; sleep 50", header: "X-Api-Key: {}"}
  FAILED: {from: "command:echo failed >>$WORK/said; printf $VALUE; exit 3", header: "X-Api-Key: {}"}
  LINES: {from: "command:echo lines >>$WORK/said; echo $VALUE; echo $VALUE", header: "X-Api-Key: {}"}
  LONG: {from: "command:echo long >>$WORK/said; yes $VALUE | head -c 9000 | tr -d '[:space:]'", header: "X-Api-Key: {}"}
  PIPED: {from: 'command:kill -PIPE \$\$; echo ignored', header: "X-Api-Key: {}"}
END
begin=$SECONDS
ask "${P[@]}" -- <<'END'
say("failed", request("git.example.com", "GET /failed HTTP/1.1\r\nHost: git.example.com\r\nConnection: close\r\n\r\n").splitlines()[-4])
say("piped", request("files.example.com", "GET /piped HTTP/1.1\r\nHost: files.example.com\r\nConnection: close\r\n\r\n").splitlines()[-4])
say("lines", request("db.example.com", "GET /lines HTTP/1.1\r\nHost: db.example.com\r\nConnection: close\r\n\r\n").splitlines()[-4])
say("long", request("h2.example.com", "GET /long HTTP/1.1\r\nHost: h2.example.com\r\nConnection: close\r\n\r\n").splitlines()[-4])
say("quiet", request("api.example.com", "GET /quiet HTTP/1.1\r\nHost: api.example.com\r\nConnection: close\r\n\r\n", timeout=2))
END
says failed 'its command failed' "what a command says that fails is no value"
says piped 'its command failed' "a command has the usual signals, whatever cordon ignores"
says quiet timeout "one that has said all and does not end is waited for"
ok "and does not hold up the run" test $((SECONDS - begin)) -lt 15
says lines 'LINES' "a value of two lines is none"
says long 'too long' "nor is one that is too long"
is "$(seen http /failed)$(seen http /piped)$(seen http /quiet)$(seen http /lines)$(seen http /long)" 00000 "nothing was sent without its secret"
unlike "$GOT" "$FORMS" "no error says what a command said"
unlike "$(cat "$WORK/.result" "$WORK/.result.err")" "$FORMS" "nor does the result, or what is said to a person"
is "$(sort "$WORK/said" | tr '\n' ' ')" "failed lines long " "control: they ran, and said it"
expect "control: and the result has their failures" 'network=~FAILED.*its command failed' 'network=~LONG'

# ---- where egress keeps it ----
"${UNCAP[@]}" "$CORDON" run --json --secret KEPT=env:MYKEY@api.example.com -- bash -c 'curl -sS -m 5 -H "Authorization: $KEPT" https://api.example.com/kept; sleep 2' >"$WORK/.result" 2>&1 &
pid=$!
until_true 20 grep -q '"/kept"' "$NET/http.log"
it=$(egress_of $pid)
like "$it" '^[0-9]+$' "control: there is one process that has it"
if [ "$ME" = user ]; then # root may look into every process
	readable() { "${UNCAP[@]}" "$PYTHON" -c "import sys; open(f'/proc/{sys.argv[1]}/mem', 'rb')" "$1"; }
	refused "its memory is not even its own user's to open" readable "$it"
	"${UNCAP[@]}" sleep 5 & # with as few capabilities as who looks
	ok "control: that of another process of the user is" readable $!
	kill $!
fi
sleep 0.7 # what it sent has gone out of its buffers
if [ "$ME" = root ]; then
	$PYTHON - "$it" <<'END' >"$WORK/kept"
import sys
place, where = None, {}
with open(f"/proc/{sys.argv[1]}/smaps") as f, open(f"/proc/{sys.argv[1]}/mem", "rb", buffering=0) as mem:
    for line in f:
        words = line.split()
        if "-" in words[0] and not words[0].endswith(":"):
            at, end = (int(x, 16) for x in words[0].split("-"))
            has = False
            try:
                mem.seek(at)
                has = b"s3cr" + b"3t/value" in mem.read(end - at)
            except (OSError, OverflowError):
                pass
        elif words[0] == "VmFlags:" and has:
            print("dd" in words and "left out" or "dumped", line.strip())
END
	is "$(sort -u "$WORK/kept" | cut -d' ' -f1-2)" "left out" "where it has it is left out of core files"
fi
is "$(tr '\0' '\n' <"/proc/$it/cmdline" | grep -c s3cr3t)" 0 "nor is it among its arguments"
is "$(tr '\0' '\n' <"/proc/$it/environ" 2>/dev/null | grep -c s3cr3t)" 0 "or in its environment"
wait $pid
expect "control: the box went well" status=success
done_testing
