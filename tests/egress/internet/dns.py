"""A DNS server that can lie. Every question is written down before it is answered, so that a test can prove what was never asked.

A name that no table has exists as well, at ELSEWHERE: whoever asks for a name that should not leave the box gets an answer, and what follows
from that would be seen.
"""
import ipaddress
import socket
import struct
import threading
import time

import log

A, CNAME, AAAA = 1, 5, 28
OK, SERVFAIL, NXDOMAIN = 0, 2, 3
ELSEWHERE = "203.0.113.200"

# name: addresses of both families, or a function of how often it was asked
STATIC = {
    "api.example.com": ["192.0.2.10"],
    "files.example.com": ["192.0.2.11"],
    "other.example.com": ["192.0.2.12"],
    "h2.example.com": ["192.0.2.13"],
    "git.example.com": ["192.0.2.14"],
    "badcert.example.com": ["192.0.2.15"],
    "wronghost.example.com": ["192.0.2.16"],
    "dead.example.com": ["192.0.2.9"],
    "db.example.com": ["192.0.2.17"],
    "example.com": ["203.0.113.70"],
    "evil-example.com": ["203.0.113.71"],
    "evilexample.com": ["203.0.113.72"],
    "xn--bcher-kva.example": ["192.0.2.34"],
    "v6only.example.com": ["2001:db8::80"],
    "both.example.com": ["2001:db8::81", "192.0.2.35"],
    "mixed.example.com": ["10.1.2.3", "192.0.2.31", "169.254.169.254"],
    "mixed6.example.com": ["fd00:ec2::254", "192.0.2.31"],
    "private.example.com": ["10.1.2.3"],
    "loop.example.com": ["127.0.0.1"],
    "meta.example.com": ["169.254.169.254"],
    "cgnat.example.com": ["100.64.0.1"],
    "zero.example.com": ["0.0.0.0"],
    "ula.example.com": ["fd00:ec2::254"],
    "loop6.example.com": ["::1"],
    "mapped.example.com": ["::ffff:10.1.2.3"],
    "nat64.example.com": ["64:ff9b::a01:203"],
    "sixtofour.example.com": ["2002:a01:203::1"],
    "pool.example.com": ["198.18.0.1"],
    "blackhole.example.com": ["203.0.113.66"],
    "second.example.com": ["203.0.113.66", "192.0.2.33"],
    "crowd.example.com": [f"192.0.2.{n}" for n in range(100, 140)],
    "tc.example.com": ["192.0.2.36"],
    "slow.example.com": ["192.0.2.37"],
    "b.chain.example": ["192.0.2.32"],
    "internal.chain.example": ["10.1.2.3"],
    # good once, and from then on where the credentials of a cloud are
    "rebind.example.com": lambda n: ["192.0.2.30"] if n == 1 else ["169.254.169.254"],
}
ALIAS = {
    "cname.example.com": "a.chain.example",
    "a.chain.example": "b.chain.example",
    "cname-private.example.com": "internal.chain.example",
    "cname-bare.example.com": "b.chain.example",
    "cname-loop.example.com": "cname-loop2.example.com",
    "cname-loop2.example.com": "cname-loop.example.com",
}
BARE = {"cname-bare.example.com"}  # the alias alone, of which who asks has to make a question of its own
WILD = {".wild.example": "192.0.2.20", ".pypi.example": "192.0.2.21"}
FAIL = {"nx.example.com": NXDOMAIN, "servfail.example.com": SERVFAIL}
asked = {}
asked_lock = threading.Lock()


def addresses(name, kind):
    """What the name has of this family; rebinding counts each family by itself."""
    found = STATIC.get(name)
    if callable(found):
        with asked_lock:
            asked[name, kind] = asked.get((name, kind), 0) + 1
            found = found(asked[name, kind])
    if found is None:
        found = [next((a for suffix, a in WILD.items() if name.endswith(suffix)), ELSEWHERE)]
    version = 4 if kind == A else 6
    return [a for a in found if ipaddress.ip_address(a).version == version] if kind in (A, AAAA) else []


def encode(name):
    return b"".join(bytes([len(p)]) + p.encode("latin-1") for p in name.split(".") if p) + b"\0"


def records(name, kind):
    out = []
    for _ in range(8):
        if name not in ALIAS:
            break
        target = encode(ALIAS[name])
        out.append(encode(name) + struct.pack("!HHIH", CNAME, 1, 0, len(target)) + target)
        if name in BARE:
            return out
        name = ALIAS[name]
    if name in ALIAS:
        return out
    for text in addresses(name, kind):
        packed = ipaddress.ip_address(text).packed
        out.append(encode(name) + struct.pack("!HHIH", kind, 1, 0 if callable(STATIC.get(name)) else 60, len(packed)) + packed)
    return out


def question(packet):
    at, labels = 12, []
    while packet[at]:
        labels.append(packet[at + 1 : at + 1 + packet[at]].decode("latin-1"))
        at += 1 + packet[at]
    kind = struct.unpack_from("!H", packet, at + 1)[0]
    return ".".join(labels).lower(), kind, packet[12 : at + 5]


def answer(packet, over):
    name, kind, asked_for = question(packet)
    log.write("dns", name=name, type=kind, over=over)
    if name == "never.example.com":
        return None
    if name == "slow.example.com":
        time.sleep(1.0)
    code = FAIL.get(name, OK)
    found = records(name, kind) if code == OK else []
    truncated = name == "tc.example.com" and over == "udp"
    if truncated:
        found = []
    body = b"".join(found)
    flags = 0x8180 | code | (0x0200 if truncated else 0)
    if over == "udp" and len(body) > 1100:
        flags, found, body = flags | 0x0200, [], b""
    return packet[:2] + struct.pack("!HHHHH", flags, 1, len(found), 0, 0) + asked_for + body


def guarded(packet, over):
    try:
        return answer(packet, over)
    except (IndexError, struct.error, ValueError) as e:
        log.write("error", dns=repr(e))
        return None


def serve_datagram(sock, packet, peer):
    reply = guarded(packet, "udp")
    if reply:
        sock.sendto(reply, peer)


def serve_udp(sock):
    while True:
        packet, peer = sock.recvfrom(4096)
        if b"\4slow\7example" in packet:
            threading.Thread(target=serve_datagram, args=(sock, packet, peer), daemon=True).start()
        else:
            serve_datagram(sock, packet, peer)


def serve_stream(conn):
    with conn, conn.makefile("rb") as stream:
        while True:
            head = stream.read(2)
            if len(head) < 2:
                return
            reply = guarded(stream.read(struct.unpack("!H", head)[0]), "tcp")
            if reply is None:
                return
            conn.sendall(struct.pack("!H", len(reply)) + reply)


def serve_tcp(sock):
    while True:
        conn, _ = sock.accept()
        threading.Thread(target=serve_stream, args=(conn,), daemon=True).start()


def start(address):
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind((address, 53))
    tcp = socket.create_server((address, 53), backlog=64)
    threading.Thread(target=serve_udp, args=(udp,), daemon=True).start()
    threading.Thread(target=serve_tcp, args=(tcp,), daemon=True).start()
