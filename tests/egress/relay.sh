#!/bin/bash
# What goes through the wall goes through whole: every byte in its order, ends and resets of each side, however slow, however much.
. "$(dirname "$0")/lib.sh"
ports=(--allow api.example.com:443 --allow "git.example.com:22,25,7000,7001,7002/tcp" --allow dead.example.com:81/tcp --allow blackhole.example.com:22/tcp)

ask "${ports[@]}" -- <<'END'
import os, hashlib, threading
say("half", talk("git.example.com", 7000, b"x" * 100000))
say("server first", talk("git.example.com", 25, b"HELO\r\n").split("\n")[0].strip())
def wrote_then_reset():
    with socket.create_connection(("git.example.com", 7001), timeout=5) as s:
        s.sendall(b"x")
        return s.recv(10) or "closed"
say("reset", tried(wrote_then_reset))
say("dead", talk("dead.example.com", 81, b"x"))
data = os.urandom(5_000_000)
got = []
with socket.create_connection(("git.example.com", 22), timeout=20) as s:
    reader = threading.Thread(target=lambda: got.append(receive(s)))
    reader.start()
    s.sendall(data)
    s.shutdown(socket.SHUT_WR)
    reader.join()
say("both ways", hashlib.sha256(got[0]).hexdigest() == hashlib.sha256(data).hexdigest())
# one that does not read: the other side has to wait, and nothing is lost
with socket.create_connection(("git.example.com", 22), timeout=20) as s:
    s.settimeout(0.5)
    sent = 0
    try:
        while sent < 1 << 30:
            sent += s.send(bytes(65536))
    except OSError:
        pass
    say("held", sent < 64 << 20)
    s.settimeout(20)
    s.shutdown(socket.SHUT_WR)
    n = 0
    while (more := s.recv(1 << 20)):
        n += len(more)
    say("lost", sent - n)
END
say_is half "100000 bytes" "the end of one side arrives, and the other still speaks"
say_is "server first" "220 hello" "a server that speaks first"
say_is reset ECONNRESET "a reset arrives as a reset"
says dead '^(ECONNRESET|ECONNREFUSED)$' "a host that refuses"
say_is "both ways" True "five megabytes both ways at once, byte for byte"
say_is held True "who does not read holds the other side back"
say_is lost 0 "and loses nothing"
expect "the result says what became of the dead host" 'network=~dead.example.com.*refused'

ask --connect-timeout 2s "${ports[@]}" --allow api.example.com:80 --allow never.example.com:22/tcp -- <<'END'
import threading
def silent(port):
    with socket.create_connection(("api.example.com", port), timeout=8) as s:
        return s.recv(1) or "closed"
def timed(key, act, *args):
    begin = time.monotonic()
    say(key, tried(act, *args))
    say(key + " took", time.monotonic() - begin)
waiting = [threading.Thread(target=timed, args=args) for args in
           [("blackhole", talk, "blackhole.example.com", 22, b"x", 8), ("never", talk, "never.example.com", 22, b"x", 8), ("silent", silent, 443), ("silent 80", silent, 80)]]
for thread in waiting:
    thread.start()
time.sleep(0.2)
say("meanwhile", " ".join(talk("git.example.com", 22, b"%d" % i) for i in range(5)))
say("resolved", resolve("api.example.com"))
say("still", sum(thread.is_alive() for thread in waiting))
END
says blackhole '^(ECONNRESET|ECONNREFUSED)$' "a host that does not answer"
says "blackhole took" '^(1\.9|2\.)' "is given up after connect_timeout"
says never '^(ECONNRESET|ECONNREFUSED)$' "a name whose servers do not answer"
says "never took" '^(1\.9|2\.)' "as well"
for what in silent "silent 80"; do
	says "$what" '^(ECONNRESET|closed)$' "and who does not say what it wants: $what"
	says "$what took" '^(1\.9|2\.)' "then and not before"
done
expect "each with its reason" 'network=~never.example.com.*connect_timeout' 'network=~no TLS ClientHello within 2 s \(connect_timeout\)' 'network=~no request within 2 s'
say_is meanwhile "0 1 2 3 4" "while all of them wait, others come through"
says resolved '^ok 198' "and names are resolved"
say_is still 4 "control: they were still waiting"

ask "${ports[@]}" -- <<'END'
say("short", https("api.example.com", "/short").replace("\r\n", "|"))
def ended(path):
    """How the connection ended: Python's TLS takes a reset for an end, the kernel does not."""
    with socket.create_connection(("api.example.com", 443), timeout=5) as raw, ssl.create_default_context().wrap_socket(raw, server_hostname="api.example.com") as s:
        s.sendall(f"GET {path} HTTP/1.1\r\nHost: api.example.com\r\n\r\n".encode())
        got = tried(receive, s)
        gone = s.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] == 7  # TCP_CLOSE
        return f"{len(got)} {'reset' if gone else 'end'}"
say("reset", ended("/reset"))
say("end", ended("/close"))
say("slow", https("api.example.com", "/slow?n=20&pause=0.02")[-20:])
say("close", https("api.example.com", "/close")[-13:])
say("chunked", https("api.example.com", "/chunked").replace("\r\n", "|"))
END
say_is slow "ssssssssssssssssssss" "a slow answer, byte by byte"
say_is close "until the end" "one without a length"
says chunked '\|4\|one \|4\|two \|5\|three\|0\|\|$' "one in chunks, as they were sent"
says short 'Content-Length: 1000\|\|x{100}$' "one that is cut short arrives as far as it went, and ends"
says reset '^[0-9]+ reset$' "one that is reset"
says end '^[0-9]+ end$' "control: one that just ends"

# ---- very much ----
# More than 32 bits count, once: it takes its time on a busy machine.
much=1000000000
[ "$ME" = root ] && much=10000000000
[ "${CORDON_FULL:-0}" = 1 ] && much=10000000000
got=$(timeout -k 5 300 "${UNCAP[@]}" "$CORDON" run --timeout 5m --cpu-time 5m --allow api.example.com:8080/tcp -- \
	bash -c "curl -sS -m 290 'http://api.example.com:8080/big?n=$much' | wc -c")
is "$got" $much "$((much / 1000000000)) gigabytes come through, to the byte"
got=$(box --allow api.example.com:443 -- bash -c 'curl -sS -m 55 "https://api.example.com/big?n=200000000" | wc -c')
is "$got" 200000000 "over TLS, too"
got=$(box --allow api.example.com:443 -- bash -c 'head -c 100000000 /dev/zero | curl -sS -m 55 -T - -H Expect: https://api.example.com/sink')
is "$got" 100000000 "and out as well"

# ---- very many ----
ask --connections 1100 --allow git.example.com:22/tcp -- <<'END'
import resource
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
for turn in range(3):
    held = []
    try:
        for i in range(1000):
            held.append(socket.create_connection(("git.example.com", 22), timeout=10))
    except OSError as e:
        say("stopped", f"{turn} {i} {word(e)} {hard}")
    for i, s in enumerate(held):
        s.sendall(b"%d" % i)
    say(f"held {turn}", len(held))
    say(f"answered {turn}", sum(s.recv(10) == b"%d" % i for i, s in enumerate(held)))
    for s in held:
        s.shutdown(socket.SHUT_WR)
    say(f"ended {turn}", sum(s.recv(1) == b"" for s in held))
    for s in held:
        s.close()
END
is "$(said stopped)" "" "a thousand connections can be made, three times over"
for turn in 0 1 2; do
	say_is "held $turn" 1000 "and held"
	say_is "answered $turn" 1000 "and each answers"
	say_is "ended $turn" 1000 "and ends"
done
is "$(rows connection allowed git.example.com)" 3000 "and all are in the result, few rows for all" || note "$(json network <"$WORK/.result" | cut -c1-300 | tail -n 20)"
done_testing
