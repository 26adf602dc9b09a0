#!/bin/bash
# Addresses: by number only where a rule says so, in whatever spelling; by name never to what is private, however the name is made to lead there.
. "$(dirname "$0")/lib.sh"
NEVER='^(ECONNREFUSED|ECONNRESET|ENETUNREACH|EHOSTUNREACH|timeout)$'

# ---- by number ----
ask --allow api.example.com --allow git.example.com:22/tcp -- <<'END'
for host in ["192.0.2.14", "3221225998", "0xc000020e", "0300.0.2.016", "192.0.526", "127.0.0.1", "0", "127.1", "2130706433", "0x7f.1", "10.1.2.3",
             "169.254.169.254", "0251.0376.0251.0376", "100.64.0.1", "198.19.255.1", "198.18.0.200", "255.255.255.255", "224.0.0.1", "0.0.0.0"]:
    say(host, talk(host, 22, b"hello", timeout=2))
    say(host + " 443", greeted(host, hello("api.example.com"), timeout=2))
for host in ["::1", "2001:db8::80", "::ffff:192.0.2.14", "::ffff:10.1.2.3", "fd00:ec2::254", "64:ff9b::a01:203", "fe80::1"]:
    say(host, talk(host, 22, b"hello", timeout=2))
say("by name", talk("git.example.com", 22, b"hello"))
END
for host in 192.0.2.14 3221225998 0xc000020e 0300.0.2.016 192.0.526 127.0.0.1 0 127.1 2130706433 0x7f.1 10.1.2.3 169.254.169.254 0251.0376.0251.0376 \
	100.64.0.1 198.19.255.1 198.18.0.200 255.255.255.255 224.0.0.1 0.0.0.0; do
	says "$host" "$NEVER|^EACCES$|^EINVAL$" "$host is not reached"
	says "$host 443" "$NEVER|^EACCES$|^EINVAL$" "nor with an allowed name in TLS"
done
for host in ::1 2001:db8::80 ::ffff:192.0.2.14 ::ffff:10.1.2.3 fd00:ec2::254 64:ff9b::a01:203 fe80::1; do
	says "$host" "$NEVER|^EADDRNOTAVAIL$|^EINVAL$|^EAFNOSUPPORT$" "$host neither"
done
say_is "by name" hello "control: the server answers by its name"
is "$(seen tcp '"to"')" 1 "nothing else arrived anywhere"
for host in 192.0.2.14 127.0.0.1 10.1.2.3 169.254.169.254; do
	is "$(curl -sS -m 5 "http://$host/x")" "ok GET /x" "control: outside $host answers"
done
before=$(to 10.1.2.3)
ask --allow-cidr 192.0.2.14:22/tcp --allow-cidr 10.1.2.0/24:5432/tcp --allow-cidr 0.0.0.0/0:7000/tcp -- <<'END'
for host in ["192.0.2.14", "3221225998", "0xc000020e", "0300.0.2.016"]:
    say(host, talk(host, 22, b"hello"))
say("next", talk("192.0.2.15", 22, b"hello"))
say("port", talk("192.0.2.14", 5432, b"hello"))
say("named", talk("10.1.2.3", 5432, b"hello"))
say("named, other port", talk("10.1.2.3", 22, b"hello"))
say("outside the prefix", talk("10.1.3.3", 5432, b"hello"))
say("everything", talk("203.0.113.5", 7000, b"hello"))
for host in ["10.1.2.3", "127.0.0.1", "169.254.169.254", "192.168.1.1", "100.64.0.1", "198.18.0.200"]:
    say("not everything " + host, talk(host, 7000, b"hello", timeout=2))
END
for host in 192.0.2.14 3221225998 0xc000020e 0300.0.2.016; do say_is "$host" hello "a rule for an address: $host is it"; done
for what in next port "named, other port" "outside the prefix"; do says "$what" "$NEVER" "and nothing else: $what"; done
say_is named hello "a private network that is named is reached"
says everything '^5 bytes' "a rule for all addresses reaches a public one"
for host in 10.1.2.3 127.0.0.1 169.254.169.254 192.168.1.1 100.64.0.1 198.18.0.200; do says "not everything $host" "$NEVER" "and means no private one: $host"; done
is "$(to 10.1.2.3)" $((before + 1)) "only the one connection arrived there"

# ---- by name, to where it must not lead ----
names=(private loop meta cgnat zero ula loop6 mapped nat64 sixtofour pool cname-private inhosts)
flags=()
for name in "${names[@]}"; do flags+=(--allow "$name.example.com:22,443/tcp"); done
before=$(seen tcp '"to"')
ask "${flags[@]}" -- "${names[@]}" <<'END'
for name in arguments:
    say(name, talk(f"{name}.example.com", 22, b"hello", timeout=5))
END
for name in "${names[@]}"; do says "$name" "$NEVER" "$name.example.com is resolved and not reached"; done
is "$(seen tcp '"to"')" "$before" "nothing arrived anywhere"
isnt "$(asked private.example.com)" 0 "control: the names were asked for"
expect "the result says why" 'network=~private.example.com is at 10.1.2.3: .*private' 'network=~cloud metadata'
ask --private allow --allow private.example.com:22/tcp --allow inhosts.example.com:22/tcp -- <<'END'
say("private", talk("private.example.com", 22, b"hello"))
say("inhosts", talk("inhosts.example.com", 22, b"hello"))
END
say_is private hello "control: with --private allow it is reached"
say_is inhosts hello "control: and so is a name out of /etc/hosts"

# ---- names that change their mind ----
special() { echo "$(to 10.1.2.3) $(to 169.254.169.254) $(to fd00:ec2::254)"; }
before=$(special)
ask --allow rebind.example.com:22/tcp --allow mixed.example.com:22/tcp --allow mixed6.example.com:22/tcp -- <<'END'
for i in range(3):
    say(f"rebind {i}", talk("rebind.example.com", 22, b"hello"))
for i in range(3):
    say(f"mixed {i}", talk("mixed.example.com", 22, b"hello"))
    say(f"mixed6 {i}", talk("mixed6.example.com", 22, b"hello"))
END
say_is "rebind 0" hello "rebinding: good at first"
says "rebind 1" "$NEVER" "and then not"
says "rebind 2" "$NEVER" "nor later"
for i in 0 1 2; do
	say_is "mixed $i" hello "good and private answers together: the good one is taken"
	say_is "mixed6 $i" hello "in two families"
done
is "$(to 192.0.2.30) $(to 192.0.2.31)" "1 6" "control: all that was reached is the good ones"
is "$(special)" "$before" "nothing arrived at what is private, nor at the metadata servers"
expect "and why is told" 'network=~rebind.example.com is at 169.254.169.254: .*metadata'

# ---- ways that are odd and good ----
odd=(v6only both cname crowd tc second slow goodhosts)
flags=()
for name in "${odd[@]}"; do flags+=(--allow "$name.example.com:22/tcp"); done
ask "${flags[@]}" --allow cname-loop.example.com:22/tcp --allow cname-bare.example.com:22/tcp --allow nx.example.com:22/tcp --allow servfail.example.com:22/tcp -- "${odd[@]}" <<'END'
for name in arguments:
    say(name, talk(f"{name}.example.com", 22, b"hello"))
for name in ["cname-loop", "cname-bare", "nx", "servfail"]:
    say(name, talk(f"{name}.example.com", 22, b"hello", timeout=10))
END
say_is v6only hello "a name with IPv6 only is reached over IPv4 inside"
say_is both hello "one with both families"
say_is cname hello "one behind a chain of aliases"
say_is crowd hello "one with forty addresses, whose answer comes over TCP"
say_is tc hello "one whose answer is cut over UDP"
say_is second hello "one whose first address is dead"
say_is slow hello "one whose servers are slow"
say_is goodhosts hello "one out of /etc/hosts"
for name in cname-loop nx servfail; do says "$name" "$NEVER" "$name fails"; done
isnt "$(seen tcp '"to": "2001:db8::80"')" 0 "control: over IPv6 outside"
# An alias is the resolver's to follow: it is no name that a rule allows.
says cname-bare "$NEVER" "an alias alone, without the address behind it, fails"
expect "as a name without an address" 'network=~resolving cname-bare.example.com: the name does not exist'
is "$(seen dns chain.example)" 0 "what is behind an alias is not asked for"
unlike "$(field network)" 'chain\.example' "nor told"
isnt "$(asked cname.example.com) $(asked cname-bare.example.com)" "0 0" "control: the names themselves were"
ask --allow b.chain.example:22/tcp -- <<'END'
say("target", talk("b.chain.example", 22, b"hello"))
END
is "$(said target) $(seen dns '"b.chain.example", "type": 1,')" "hello 1" "control: one that is allowed by itself is asked for, and reached"

# ---- names that are not found, where the host has domains to look in ----
printf 'nameserver 192.0.2.53\nsearch corp.example\noptions ndots:5\n' >"$NET/resolv.conf"
before="$(asked nx.example.com) $(asked servfail.example.com)"
ask --allow nx.example.com:22/tcp --allow servfail.example.com:22/tcp --allow single:22/tcp -- <<'END'
for name in ["nx.example.com", "servfail.example.com", "single"]:
    say(name, talk(name, 22, b"hello", timeout=10))
END
for name in nx.example.com servfail.example.com; do says $name "$NEVER" "$name fails, also where there is a search domain"; done
isnt "$(asked nx.example.com) $(asked servfail.example.com)" "$before" "control: for which the servers were asked"
is "$(said single) $(seen dns '"single", "type": 1,')" "hello 1" "a name of one label is asked for as it stands"
is "$(seen dns corp.example)" 0 "and nothing below the search domain"
getent hosts nx.example.com >/dev/null
isnt "$(asked nx.example.com.corp.example)" 0 "control: outside the same name makes the resolver ask for one there"
echo 'nameserver 192.0.2.53' >"$NET/resolv.conf"

# ---- any port, and many: who decides on each packet tells its refusals as well ----
before="$(to 10.1.2.3) $(to 169.254.169.254)"
ask --net open -- <<'END'
say("private name", talk("private.example.com", 22, b"hello"))
say("private", talk("10.1.2.3", 22, b"hello"))
say("meta", talk("169.254.169.254", 80, b"GET / HTTP/1.0\r\n\r\n"))
say("public", talk("192.0.2.99", 22, b"hello"))
END
for what in "private name" private meta; do says "$what" '^(ECONNREFUSED|ECONNRESET)$' "open: $what is refused"; done
say_is public hello "control: what is public is not"
expect "each is a denial" 'denials=~private.example.com:22' 'denials=~ 10.1.2.3:22' 'denials=~ 169.254.169.254:80'
unlike "$(field denials)" 192.0.2.99 "control: and nothing else"
ask --allow git.example.com:5000-6000/tcp --allow private.example.com:5000-6000/tcp -- <<'END'
say("within", talk("git.example.com", 5432, b"hello"))
say("closed", talk("git.example.com", 5433, b"hello"))
say("outside", talk("git.example.com", 22, b"hello"))
say("above", talk("git.example.com", 7000, b"hello"))
say("other", talk("192.0.2.99", 5432, b"hello"))
say("private", talk("private.example.com", 5432, b"hello"))
END
say_is within hello "a range of ports: one within it"
says closed '^(ECONNREFUSED|ECONNRESET)$' "also where nobody listens"
for what in outside above other private; do says "$what" '^(ECONNREFUSED|ECONNRESET)$' "and nothing else: $what"; done
expect "which are denials" 'denials=~git.example.com:22.*--allow git.example.com:22/tcp' 'denials=~git.example.com:7000' 'denials=~192.0.2.99:5432' 'denials=~private.example.com:5432'
unlike "$(field denials)" 'git.example.com:543[23]' "control: but for what is within it"
is "$(to 10.1.2.3) $(to 169.254.169.254)" "$before" "nothing arrived at what is private"

# ---- other ways out ----
PROBE_FLAGS=(--allow api.example.com)
is "$(probe connect-unix @cordon-internet)" ECONNREFUSED "abstract sockets of the host are not there"
is "$(bare connect-unix @cordon-internet)" ok "control: outside it answers"
like "$(probe own-loopback)" '^ok' "loopback inside is the box's own"
ask --allow api.example.com -- <<'END'
import os
NEWNET = 0x40000000
for name, args in {"raw": (socket.AF_INET, socket.SOCK_RAW, 6), "icmp": (socket.AF_INET, socket.SOCK_DGRAM, 1), "packet": (socket.AF_PACKET, socket.SOCK_RAW, 0),
                   "raw6": (socket.AF_INET6, socket.SOCK_RAW, 58), "vsock": (40, socket.SOCK_STREAM, 0), "sctp": (socket.AF_INET, socket.SOCK_STREAM, 132),
                   "netfilter": (socket.AF_NETLINK, socket.SOCK_RAW, 12)}.items():
    say(name, tried(lambda: socket.socket(*args) and "had"))
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
say("unshare", "had" if libc.unshare(NEWNET) == 0 else errno.errorcode[ctypes.get_errno()])
# a route or an address of one's own
def netlink(kind, payload):
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as s:
        s.send(struct.pack("IHHII", 16 + len(payload), kind, 5, 1, 0) + payload)
        return errno.errorcode.get(-struct.unpack_from("i", s.recv(4096), 16)[0], "had")
say("route", tried(netlink, 24, struct.pack("BBBBBBBBI", 2, 0, 0, 0, 254, 4, 0, 1, 0)))
say("addr", tried(netlink, 20, struct.pack("BBBBI", 2, 32, 0, 0, 1) + struct.pack("HH4s", 8, 2, b"\x0a\1\2\3")))
with socket.create_server(("0.0.0.0", 443)) as server:
    with socket.create_connection(("127.0.0.1", 443)):
        say("own 443", "had")
for port in [22, 53, 80, 443, 5432, 8080, 65535]:
    say(f"gateway {port}", talk("198.19.255.1", port, b"GET / HTTP/1.0\r\n\r\n", timeout=2))
def datagram(host, port):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(2)
        s.connect((host, port))
        s.send(b"\xc0\0\0\0\1" + bytes(1195))
        return s.recv(1)
begin = time.monotonic()
say("quic", tried(datagram, "api.example.com", 443))
say("udp", tried(datagram, "192.0.2.10", 4433))
say("soon", time.monotonic() - begin < 1)
with socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262) as s:
    s.settimeout(2)
    say("mptcp", tried(lambda: (s.connect(("10.1.2.3", 22)), s.send(b"x"), s.recv(1))))
END
for what in raw icmp packet raw6 vsock sctp netfilter; do says "$what" '^(EPERM|EACCES|EAFNOSUPPORT|EPROTONOSUPPORT|ESOCKTNOSUPPORT)$' "no socket of kind $what"; done
says unshare '^(EPERM|ENOSYS)$' "no second network namespace"
says route '^(EPERM|EACCES)$' "no route of its own"
says addr '^(EPERM|EACCES)$' "no address of its own"
say_is "own 443" had "control: but every port for servers of its own"
for port in 22 80 443 5432 8080 65535; do says "gateway $port" "$NEVER" "nothing at the gateway's port $port"; done
is "$(said quic) $(said udp) $(said soon)" "ECONNREFUSED ECONNREFUSED True" "UDP is refused at once: QUIC need not wait to fall back"
says mptcp "$NEVER" "MPTCP leads nowhere else"
done_testing
