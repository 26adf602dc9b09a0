"""What the programs of these tests share inside a box: sockets whose answer is a word, DNS by hand, ClientHellos by hand."""
import errno
import ipaddress
import socket
import ssl
import struct
import sys
import time

RESOLVER = "198.19.255.1"
TYPES = {"A": 1, "NS": 2, "CNAME": 5, "SOA": 6, "PTR": 12, "MX": 15, "TXT": 16, "AAAA": 28, "SRV": 33, "SVCB": 64, "HTTPS": 65, "ANY": 255}
CODES = ["ok", "formerr", "servfail", "nxdomain", "notimp", "refused"]


def say(key, value):
    print(f"{key}: {value}", flush=True)


def word(error):
    if isinstance(error, socket.gaierror):
        return "unknown"
    if isinstance(error, (socket.timeout, TimeoutError)):
        return "timeout"
    if isinstance(error, ssl.SSLError):
        return "ssl " + (error.reason or "error")
    if error.errno in (errno.ENOTCONN, errno.EPIPE):  # how a reset looks to whoever was about to shut down or to send
        return "ECONNRESET"
    return errno.errorcode.get(error.errno, str(error))


def tried(act, *args, **more):
    """What it gave, or the error as a word."""
    try:
        return act(*args, **more)
    except OSError as e:
        return word(e)


def receive(sock):
    """Until the end, or until nothing more comes after something did."""
    out = b""
    try:
        while (data := sock.recv(65536)):
            out += data
    except TimeoutError:
        if not out:
            raise
    return out


def talk(host, port, data=b"", timeout=5):
    """Sends, and all that comes back until the other side ends; "closed" where nothing does."""

    def go():
        with socket.create_connection((host, port), timeout=timeout) as s:
            if data:
                s.sendall(data)
            s.shutdown(socket.SHUT_WR)
            return receive(s).decode("latin-1") or "closed"

    return tried(go)


def request(host, text, port=80, timeout=5):
    """Raw bytes to a server; what comes back, without waiting for more than it has to say."""

    def go():
        with socket.create_connection((host, port), timeout=timeout) as s:
            s.sendall(text if isinstance(text, bytes) else text.encode("latin-1"))
            return receive(s).decode("latin-1") or "closed"

    return tried(go)


def status(answer):
    """Of every response in it: "200", "200 403", or the word that came instead."""
    found = [line.split()[1] for line in answer.split("\n") if line.startswith("HTTP/1.")]
    return " ".join(found) or answer.split("\n")[0]


# ---- DNS ----


def query(labels, kind="A", flags=0x0100, count=1, klass=1, extra=b""):
    if isinstance(labels, str):
        labels = [p.encode("latin-1") for p in labels.split(".") if p]
    name = b"".join(bytes([len(p)]) + p for p in labels) + b"\0"
    return struct.pack("!HHHHHH", 0x1234, flags, count, 0, 0, 0) + name + struct.pack("!HH", TYPES[kind], klass) + extra


def read_answer(packet):
    code, answers = packet[3] & 15, struct.unpack_from("!H", packet, 6)[0]
    at, found = 12, []
    if struct.unpack_from("!H", packet, 4)[0]:
        while packet[at]:
            at += 1 + packet[at]
        at += 5
    for _ in range(answers):
        while packet[at] and packet[at] < 192:
            at += 1 + packet[at]
        at += 2 if packet[at] >= 192 else 1
        kind, _, _, size = struct.unpack_from("!HHIH", packet, at)
        found.append(str(ipaddress.ip_address(packet[at + 10 : at + 10 + size])) if kind in (1, 28) else f"type{kind}")
        at += 10 + size
    return " ".join([CODES[code] if code < len(CODES) else str(code)] + found)


def ask_udp(packet, server=RESOLVER, timeout=2):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(timeout)
        s.connect((server, 53))
        s.send(packet)
        return s.recv(4096)


def ask_tcp(packet, server=RESOLVER, timeout=2):
    with socket.create_connection((server, 53), timeout=timeout) as s, s.makefile("rb") as stream:
        s.sendall(struct.pack("!H", len(packet)) + packet)
        head = stream.read(2)
        return stream.read(struct.unpack("!H", head)[0]) if len(head) == 2 else b""


def resolve(labels, kind="A", server=RESOLVER, over="udp"):
    def go():
        answer = (ask_udp if over == "udp" else ask_tcp)(query(labels, kind), server)
        return read_answer(answer) if answer else "closed"

    return tried(go)


def address(name):
    return resolve(name).split()[-1]


# ---- TLS ----


def hello(sni=None, ech=False):
    """A ClientHello as OpenSSL says it; with the extension of an encrypted one, if wanted."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    try:
        context.wrap_bio(incoming, outgoing, server_hostname=sni).do_handshake()
    except ssl.SSLWantReadError:
        pass
    body = outgoing.read()[9:]
    if ech:
        at = 2 + 32
        at += 1 + body[at]
        at += 2 + struct.unpack_from("!H", body, at)[0]
        at += 1 + body[at]
        extensions = body[at + 2 :] + struct.pack("!HH", 0xFE0D, 8) + bytes(8)
        body = body[:at] + struct.pack("!H", len(extensions)) + extensions
    return record(b"\1" + struct.pack("!I", len(body))[1:] + body)


def record(data):
    return b"\x16\3\1" + struct.pack("!H", len(data)) + data


def retried(host, first, second, between=b"\x14\3\3\0\1\1", ahead=False):
    """Makes the server ask for a second ClientHello, by a first one without a key, and says what came of that. ahead: it is not waited for."""
    body = hello(first)[9:]
    at = 2 + 32
    at += 1 + body[at]
    at += 2 + struct.unpack_from("!H", body, at)[0]
    at += 1 + body[at]
    extensions, empty = body[at + 2 :], b""
    while extensions:
        kind, size = struct.unpack_from("!HH", extensions)
        value, extensions = extensions[4 : 4 + size], extensions[4 + size :]
        value = b"\0\0" if kind == 51 else value
        empty += struct.pack("!HH", kind, len(value)) + value
    one = body[:at] + struct.pack("!H", len(empty)) + empty
    two = between + record(b"\1" + struct.pack("!I", len(body))[1:] + body).replace(first.encode(), second.encode())

    def go():
        with socket.create_connection((host, 443), timeout=5) as s, s.makefile("rb") as stream:
            s.sendall(record(b"\1" + struct.pack("!I", len(one))[1:] + one) + (two if ahead else b""))
            head = stream.read(5)
            if b"\xcf\x21\xad\x74\xe5\x9a" not in stream.read(struct.unpack("!H", head[3:])[0]):
                return "no retry"
            s.sendall(b"" if ahead else two[:70])
            time.sleep(0.05)
            s.sendall(b"" if ahead else two[70:])
            head = stream.read(5)
            if head[:1] == b"\x14":
                stream.read(1)
                head = stream.read(5)
            return "closed" if not head else "hello" if head[0] == 22 else "alert" if head[0] == 21 else repr(head)

    return tried(go)


def greeted(host, data, port=443, timeout=5, pieces=1):
    """What a server says first to these bytes: "hello" is a ServerHello."""

    def go():
        with socket.create_connection((host, port), timeout=timeout) as s:
            step = -(-len(data) // pieces)
            for i in range(0, len(data), step):
                s.sendall(data[i : i + step])
                if pieces > 1:
                    time.sleep(0.01)
            got = s.recv(5)
            return "closed" if not got else "hello" if got[0] == 22 else "alert" if got[0] == 21 else repr(got)

    return tried(go)


def https(host, path="/", sni=None, port=443, timeout=5, headers="", method="GET", server=None, cafile=None, body=""):
    """One request over TLS that is verified; server: the name in Host."""

    def go():
        context = ssl.create_default_context(cafile=cafile)
        with socket.create_connection((host, port), timeout=timeout) as raw:
            with context.wrap_socket(raw, server_hostname=sni or host) as s:
                s.sendall(f"{method} {path} HTTP/1.1\r\nHost: {server or sni or host}\r\nConnection: close\r\n{headers}\r\n{body}".encode())
                return receive(s).decode("latin-1") or "closed"

    return tried(go)


def exchange(host, *texts, timeout=5):
    """These over one connection with TLS that is verified, each when the one before it was answered; all that came back."""

    def go():
        out = b""
        with socket.create_connection((host, 443), timeout=timeout) as raw, ssl.create_default_context().wrap_socket(raw, server_hostname=host) as s:
            for i, text in enumerate(texts):
                s.sendall(text.encode("latin-1"))
                out += receive(s) if i == len(texts) - 1 else s.recv(65536)
        return out.decode("latin-1") or "closed"

    return tried(go)


def websocket(host, path="/ws"):
    """Opens one, sends a word, and what comes back; or the first line of what came instead."""
    context = ssl.create_default_context()
    with socket.create_connection((host, 443), timeout=5) as raw, context.wrap_socket(raw, server_hostname=host) as s:
        upgrade = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\nSec-WebSocket-Version: 13\r\n"
        s.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n{upgrade}\r\n".encode())
        head = b""
        while b"\r\n\r\n" not in head:
            more = s.recv(1)
            if not more:
                return head.split(b"\r\n")[0].decode() or "closed"
            head += more
        if b" 101 " not in head:
            return head.split(b"\r\n")[0].decode()
        data = b"hello"
        s.sendall(b"\x81" + bytes([0x80 | len(data)]) + b"\1\2\3\4" + bytes(b ^ (i % 4 + 1) for i, b in enumerate(data)))
        got = s.recv(2)
        return s.recv(got[1]).decode()


arguments = sys.argv[1:]
