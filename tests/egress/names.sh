#!/bin/bash
# What is allowed by name is reached by that name, on its ports, and nothing else is; in no spelling.
. "$(dirname "$0")/lib.sh"

is "$(web --allow api.example.com -- https://api.example.com/x)" "ok GET /x" "an allowed name is reached"
isnt "$(to 192.0.2.10)" 0 "at its own address"
is "$(web --allow files.example.com:443 --allow api.example.com:443 -- https://files.example.com/x)" "ok GET /x" "and so is a second one"
result --allow api.example.com -- curl -sS -m 20 https://other.example.com/
expect "another name is not even resolved" status=error exit_code=6
is "$(asked other.example.com)" 0 "and nobody was asked for it"
status 0 "control: outside it can be reached" curl -sS -m 5 https://other.example.com/
isnt "$(asked other.example.com)" 0 "control: which is asked for there"
result --net allow -- curl -sS -m 20 https://api.example.com/
expect "a network without rules has nothing" status=error exit_code=6

# ---- patterns ----
before=$(seen dns name)
ask --allow '*.example.com' --allow 'xn--bcher-kva.example' -- <<'END'
for name in ["api.example.com", "API.eXaMple.COM", "a.b.c.example.com", "example.com", "evilexample.com", "evil-example.com", "example.com.evil.example",
             "com", "xn--bcher-kva.example", "other.xn--bcher-kva.example", "localhost.example.org"]:
    say(name, resolve(name))
say("nul", resolve([b"api\0", b"example", b"com"]))
say("nul2", resolve([b"api", b"example", b"com\0", b"evil"]))
say("dot", resolve([b"evil.example.com"]))
say("dot2", resolve([b"api.example", b"com"]))
say("line", resolve([b"api\r\nx", b"example", b"com"]))
say("space", resolve([b"api ", b"example", b"com"]))
say("high", resolve(["b\u00fccher".encode(), b"example", b"com"]))
say("star", resolve([b"*", b"example", b"com"]))
say("underscore", resolve("_tcp.example.com"))
say("long", resolve(".".join(["x" * 63] * 3 + ["y" * 50, "example.com"])))
say("root", resolve([]))
packet = query("aPi.ExAmPle.com")
say("mixing", packet[12:29] == ask_udp(packet)[12:29])
say("final dot", socket.getaddrinfo("api.example.com.", 443)[0][4][0] == address("api.example.com"))
say("stable", len({address("api.example.com") for _ in range(5)}))
END
for name in api.example.com API.eXaMple.COM a.b.c.example.com xn--bcher-kva.example; do
	says "$name" '^ok 198\.1[89]\.[0-9.]+$' "$name is resolved"
done
for name in example.com evilexample.com evil-example.com example.com.evil.example com other.xn--bcher-kva.example localhost.example.org; do
	says "$name" '^(nxdomain|refused)$' "$name is not"
done
for name in nul nul2 dot dot2 line space high star root long; do
	says "$name" '^(nxdomain|refused|formerr)$' "what is no name ($name) is none here"
done
says underscore '^ok 198\.1[89]\.[0-9.]+$' "a name with an underscore is one"
say_is mixing True "the question comes back as it was asked"
say_is "final dot" True "a dot at the end changes nothing"
say_is stable 1 "a name keeps its address"
is "$(seen dns name)" "$before" "nobody was asked for any of them"
is "$(web --allow 'bücher.example' -- https://bücher.example/x)" "ok GET /x" "a name in another script, written as it is read"
is "$(web --allow 'xn--bcher-kva.example' -- https://bücher.example/x)" "ok GET /x" "and in ASCII"
is "$(web --allow 'API.Example.COM.' -- https://api.example.com/x)" "ok GET /x" "a rule is read like a name"
for rule in 'http://api.example.com' 'user@api.example.com' 'api..example.com' '*.*.example.com' 'a*.example.com' 'api.example.com:0' 'api.example.com:70000' \
	'api example.com' '-' '' 'api.example.com:8080' $'api.example.com\nx'; do
	box --allow "$rule" -- true >/dev/null 2>&1
	is $? 125 "no rule: $(printf %q "$rule")"
done

# ---- very many names ----
ask --allow '*.wild.example:22/tcp' -- <<'END'
found = [address(f"n{i}.wild.example") for i in range(2000)]
say("names", len(set(found)))
say("last", talk("n1999.wild.example", 22, b"hello"))
END
say_is names 2000 "two thousand names have two thousand addresses"
say_is last hello "and the last of them is reached"

# ---- ports ----
ask --allow api.example.com:443 --allow git.example.com:22/tcp --allow api.example.com:8443/tls -- <<'END'
say("443", https("api.example.com", "/x").splitlines()[-1])
say("8443", https("api.example.com", "/x", port=8443).splitlines()[-1])
say("80", request("api.example.com", "GET / HTTP/1.0\r\nHost: api.example.com\r\n\r\n"))
say("8080", request("api.example.com", "GET / HTTP/1.0\r\nHost: api.example.com\r\n\r\n", port=8080))
say("22", talk("git.example.com", 22, b"SSH-2.0-x\r\n"))
say("api 22", talk("api.example.com", 22, b"x"))
say("git 443", greeted("git.example.com", hello("git.example.com")))
END
say_is 443 "ok GET /x" "the port of a rule"
say_is 8443 "ok GET /x" "another with its protocol"
says 80 '^(ECONNREFUSED|ECONNRESET)$' "no other: 80"
says 8080 '^(ECONNREFUSED|ECONNRESET)$' "nor 8080"
says 22 '^SSH-2.0-x' "plain TCP where a rule has it"
says "api 22" '^(ECONNREFUSED|ECONNRESET)$' "not for a name whose rule has not"
says "git 443" '^(ECONNREFUSED|ECONNRESET)$' "nor the other way round"
is "$(seen tcp '"to": "192.0.2.10"' '"port": 22')" 0 "nothing arrived at the ports without a rule"
expect "which is told" 'denials=~api.example.com.*--allow api.example.com:22/tcp'

# ---- everything public ----
ask --net open -- <<'END'
say("name", https("other.example.com", "/x").splitlines()[-1])
say("any port", talk("db.example.com", 5432, b"hello"))
say("address", talk("192.0.2.99", 22, b"hello"))
say("private name", talk("private.example.com", 22, b"hello"))
say("private", talk("10.1.2.3", 22, b"hello"))
say("meta", talk("169.254.169.254", 80, b"GET / HTTP/1.0\r\n\r\n"))
END
say_is name "ok GET /x" "--net open: any name"
say_is "any port" hello "any port"
say_is address hello "any public address"
for what in "private name" private meta; do says "$what" '^(ECONNREFUSED|ECONNRESET)$' "but not: $what"; done
is "$(to 10.1.2.3)$(to 169.254.169.254)" 00 "nothing arrived there"
status 0 "control: both can be reached outside" sh -c 'curl -sS -m 5 http://10.1.2.3/ && curl -sS -m 5 http://169.254.169.254/'

# ---- more ports than are listened on at once ----
# Who was used longest ago goes, and comes back when it is wanted; what it has accepted lives on.
ask --net open --connections 100 -- <<'END'
held = socket.create_connection(("192.0.2.99", 22), timeout=5)
for port in range(20000, 21200):
    tried(lambda: socket.create_connection(("192.0.2.99", port), timeout=5).close())
time.sleep(0.5)  # those that nobody answers are still being ended
say("new", talk("192.0.2.99", 5432, b"hello"))
held.sendall(b"still")
say("held", tried(held.recv, 10))
say("again", talk("192.0.2.99", 22, b"hello"))
END
say_is new hello "after twelve hundred ports another one"
say_is held "b'still'" "what the first has accepted is there"
say_is again hello "and the first again"
is "$(field network | grep -c 'nobody can listen')" 0 "of none it is said that nobody can listen there"
done_testing
