"""HTTP/1.1 servers, plain and over TLS, one thread for each connection. They listen on every address: whatever is reached, and should not be,
answers. Each request is written down with the address and the name that it came to."""
import base64
import gzip
import hashlib
import json
import os
import socket
import ssl
import struct
import subprocess
import time
import urllib.parse

import dns
import http2
import log

ZEROS = bytes(1 << 20)


def abort(sock):
    """Ends it with a reset. The raw socket: TLS must not say goodbye."""
    raw = socket.socket(fileno=sock.detach())
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    raw.close()


class Gone(Exception):
    """The connection is no more, or no longer HTTP."""


class Request:
    def __init__(self, conn, stream):
        line = stream.readline(65536)
        if not line.strip():
            raise Gone
        self.conn, self.stream = conn, stream
        self.method, self.target, self.version = (line.decode("latin-1").split() + ["", "", ""])[:3]
        self.headers, self.sent = [], False
        while (line := stream.readline(65536).rstrip(b"\r\n")):
            name, _, value = line.decode("latin-1").partition(":")
            self.headers.append([name, value.strip()])
        url = urllib.parse.urlsplit(self.target)
        self.path, self.query = url.path, {k: v[-1] for k, v in urllib.parse.parse_qs(url.query).items()}

    def header(self, name, default=""):
        return next((v for k, v in self.headers if k.lower() == name.lower()), default)

    def parts(self):
        """The body as it comes."""
        if self.header("expect").lower() == "100-continue":
            self.conn.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        if "chunked" in self.header("transfer-encoding").lower():
            while (size := int(self.stream.readline().split(b";")[0] or b"0", 16)):
                yield self.stream.read(size)
                self.stream.readline()
            while self.stream.readline().strip():
                pass
            return
        left = int(self.header("content-length", "0"))
        while left > 0:
            part = self.stream.read(min(left, 1 << 16))
            if not part:
                raise Gone
            left -= len(part)
            yield part

    def head(self, status, headers):
        lines = [f"HTTP/1.1 {status} X"] + [f"{k}: {v}" for k, v in headers]
        self.sent = True
        self.conn.sendall(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))

    def reply(self, body=b"", status=200, headers=(), kind="text/plain"):
        if isinstance(body, str):
            body = body.encode()
        self.head(status, [("Content-Type", kind), ("Content-Length", len(body)), *headers])
        if self.method != "HEAD":
            self.conn.sendall(body)


# ---- what there is ----


def echo(r, body):
    seen = {"method": r.method, "target": r.target, "headers": r.headers, "body": body.decode("latin-1")[:4096], "length": len(body)}
    r.reply(json.dumps(seen), kind="application/json")


def big(r, body):
    left = int(r.query.get("n", "1000000"))
    r.head(200, [("Content-Type", "application/octet-stream"), ("Content-Length", left)])
    while left > 0 and r.method != "HEAD":
        left -= r.conn.send(ZEROS[:left] if left < len(ZEROS) else ZEROS)


def slow(r, body):
    n, pause = int(r.query.get("n", "5")), float(r.query.get("pause", "0.1"))
    r.head(200, [("Content-Length", n)])
    for _ in range(n):
        time.sleep(pause)
        r.conn.sendall(b"s")


def wait(r, body):
    time.sleep(float(r.query.get("s", "1")))
    r.reply("waited")


def reset(r, body):
    r.head(200, [("Content-Length", 1000)])
    r.conn.sendall(b"x" * 100)
    time.sleep(0.1)
    abort(r.conn)
    raise Gone


def short(r, body):
    r.head(200, [("Content-Length", 1000)])
    r.conn.sendall(b"x" * 100)
    raise Gone


def close(r, body):
    r.head(200, [("Connection", "close")])
    r.conn.sendall(b"until the end")
    raise Gone


def chunked(r, body):
    r.head(200, [("Transfer-Encoding", "chunked")])
    for part in (b"one ", b"two ", b"three"):
        r.conn.sendall(b"%x\r\n%s\r\n" % (len(part), part))
        time.sleep(0.02)
    r.conn.sendall(b"0\r\n\r\n")


def redirect(r, body):
    r.reply("", int(r.query.get("status", "302")), [("Location", r.query["to"])])


def secret_echo(r, body):
    value = r.header("authorization") + r.header("x-api-key")
    plain = value.removeprefix("Bearer ")
    text = f"plain={value} query={r.target} percent={urllib.parse.quote(plain, safe='')} base64={base64.b64encode(plain.encode()).decode()}"
    slash = chr(92) + "/"
    text += f" json={plain.replace('/', slash)} basic={base64.b64encode(b'x:' + plain.encode()).decode()} {base64.b64encode(b'me+:' + plain.encode()).decode()}\n"
    if "gzip" in r.query:
        r.reply(gzip.compress(text.encode()), headers=[("Content-Encoding", "gzip")])
    elif "chunked" in r.query:  # a value that is cut in two
        r.head(200, [("Content-Type", "text/plain"), ("Transfer-Encoding", "chunked")])
        for i in range(0, len(text), 7):
            part = text[i : i + 7].encode()
            r.conn.sendall(b"%x\r\n%s\r\n" % (len(part), part))
        r.conn.sendall(b"0\r\n\r\n")
    else:
        r.reply(text, headers=[("X-Seen", value)])


def websocket(r, body):
    if r.header("upgrade").lower() != "websocket":
        return r.reply("no websocket", 400)
    key = r.header("sec-websocket-key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
    accept = base64.b64encode(hashlib.sha1(key.encode()).digest()).decode()
    r.head(101, [("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Accept", accept)])
    while len(head := r.stream.read(2)) == 2 and head[0] & 15 != 8:
        size, mask = head[1] & 127, r.stream.read(4)
        data = bytes(b ^ mask[i % 4] for i, b in enumerate(r.stream.read(size)))
        log.write("http", websocket=data.decode("latin-1"))
        r.conn.sendall(bytes([head[0], size]) + data)
    raise Gone


def doh(r, body):
    reply = dns.guarded(body, "https")
    r.reply(reply or b"", 200 if reply else 400, kind="application/dns-message")


def git(r, body):
    """Smart HTTP: git's own backend, by CGI."""
    env = dict(os.environ, GIT_PROJECT_ROOT=f"{root}/repos", GIT_HTTP_EXPORT_ALL="1", REQUEST_METHOD=r.method,
               PATH_INFO=r.path.removeprefix("/git"), QUERY_STRING=urllib.parse.urlsplit(r.target).query,
               CONTENT_TYPE=r.header("content-type"), REMOTE_ADDR="192.0.2.99", CONTENT_LENGTH=str(len(body)),
               HTTP_CONTENT_ENCODING=r.header("content-encoding"), GIT_PROTOCOL=r.header("git-protocol"),
               GIT_CONFIG_COUNT="1", GIT_CONFIG_KEY_0="safe.directory", GIT_CONFIG_VALUE_0="*")
    done = subprocess.run(["git", "http-backend"], input=body, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    head, _, rest = done.stdout.partition(b"\r\n\r\n")
    headers = [line.split(": ", 1) for line in head.decode("latin-1").split("\r\n") if ": " in line]
    status = next((v.split()[0] for k, v in headers if k == "Status"), "200")
    r.head(status, [(k, v) for k, v in headers if k != "Status"] + [("Content-Length", len(rest))])
    r.conn.sendall(rest)


def files(r, body):
    """Of the directory www, with an index where there is one."""
    path = os.path.normpath(f"{root}/www/{urllib.parse.unquote(r.path)}")
    if os.path.isdir(path):
        path += "/index.html"
    if not path.startswith(f"{root}/www/") or not os.path.isfile(path):
        return r.reply(f"{r.method} {r.path} is not here", 404)
    with open(path, "rb") as f:
        r.reply(f.read(), kind={"json": "application/json", "html": "text/html"}.get(path.rpartition(".")[2], "application/octet-stream"))


PATHS = {"/echo": echo, "/big": big, "/slow": slow, "/wait": wait, "/reset": reset, "/short": short, "/close": close, "/chunked": chunked,
         "/redirect": redirect, "/secret-echo": secret_echo, "/ws": websocket, "/dns-query": doh}
root = ""


def answer(r, sni):
    body, length = b"", 0
    for part in r.parts():
        length += len(part)
        if r.path != "/sink":
            body += part
    local = r.conn.getsockname()
    log.write("http", to=local[0].removeprefix("::ffff:"), port=local[1], tls=isinstance(r.conn, ssl.SSLSocket), sni=sni, method=r.method, target=r.target,
              headers=r.headers, length=length, body=body[:2000].decode("latin-1"))
    if r.path == "/sink":
        r.reply(str(length))
    elif r.path.startswith("/git/"):
        git(r, body)
    elif r.path.startswith(("/simple", "/npm", "/files/")):
        files(r, body)
    else:
        PATHS.get(r.path, lambda r, _: r.reply(f"ok {r.method} {r.target}\n"))(r, body)


def serve(conn, sni=None):
    if isinstance(conn, ssl.SSLSocket) and conn.selected_alpn_protocol() == "h2":
        with conn.makefile("rb") as stream:
            n = http2.serve(conn, stream, b"over h2\n")
        log.write("http", to=conn.getsockname()[0].removeprefix("::ffff:"), port=conn.getsockname()[1], tls=True, sni=sni, method="h2", target=str(n))
        return
    try:
        with conn.makefile("rb") as stream:
            while True:
                request = Request(conn, stream)
                answer(request, sni)
                if request.header("connection").lower() == "close" or request.version == "HTTP/1.0":
                    return
    except Gone:
        pass
