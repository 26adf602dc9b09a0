"""A small internet: python3 internet DIRECTORY, as whoever owns the network namespace. It writes DIRECTORY/ready when all is up, its logs
beside it, and ends with whoever started it.

Every address is local here (AnyIP on lo), documentation ranges and private ones alike: the servers stand at all of them, so that a wall with a
hole is seen as one.
"""
import ctypes
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time

import dns
import log
import web
import wire

SANS = "DNS:example.com,DNS:*.example.com,DNS:*.wild.example,DNS:*.pypi.example,DNS:xn--bcher-kva.example,DNS:*.chain.example,DNS:evil-example.com"


def openssl(*words):
    subprocess.run(["openssl", *words], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def certificate(work, name, issuer, sans):
    new = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30", "-subj", f"/CN={name}"]
    sign = ["-CA", f"{work}/{issuer}.pem", "-CAkey", f"{work}/{issuer}.key"] if issuer else []
    extra = ["-addext", f"subjectAltName={sans}", "-addext", "basicConstraints=critical,CA:FALSE"] if issuer else []
    openssl("req", "-x509", *new, *sign, *extra, "-keyout", f"{work}/{name}.key", "-out", f"{work}/{name}.pem")


def expired(work, name, issuer, key, sans):
    """The certificate of another's key, whose time was over when it was made."""
    openssl("req", "-new", "-key", f"{work}/{key}.key", "-subj", f"/CN={name}", "-addext", f"subjectAltName={sans}", "-out", f"{work}/{name}.csr")
    openssl("x509", "-req", "-in", f"{work}/{name}.csr", "-copy_extensions", "copy", "-CA", f"{work}/{issuer}.pem", "-CAkey", f"{work}/{issuer}.key",
            "-days", "-1", "-out", f"{work}/{name}.pem")


def context(work, name, alpn=("http/1.1",), key=None):
    c = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    c.load_cert_chain(f"{work}/{name}.pem", f"{work}/{key or name}.key")
    c.set_alpn_protocols(list(alpn))
    return c


def contexts(work):
    certificate(work, "ca", None, None)
    certificate(work, "otherca", None, None)
    certificate(work, "good", "ca", SANS)
    certificate(work, "bad", "otherca", SANS)
    certificate(work, "wrong", "ca", "DNS:somebody-else.example")
    expired(work, "expired", "ca", "good", SANS)
    good = context(work, "good")
    by_name = {"h2.example.com": context(work, "good", ("h2", "http/1.1")), "badcert.example.com": context(work, "bad"),
               "wronghost.example.com": context(work, "wrong"), "expired.example.com": context(work, "expired", key="good")}

    def choose(sock, name, _):
        sock.sni = name
        if name in by_name and not os.path.exists(f"{work}/renewed"):  # a test makes this file: then every certificate is good
            sock.context = by_name[name]

    good.sni_callback = choose
    return good


def tls(conn, c):
    try:
        conn = c.wrap_socket(conn, server_side=True)
    except (ssl.SSLError, OSError) as e:
        log.write("error", tls=repr(e))
        return
    with conn:
        web.serve(conn, getattr(conn, "sni", None))
        if conn.fileno() >= 0:
            conn.settimeout(1)
            conn.unwrap()


def echo(conn):
    total = 0
    while (data := conn.recv(65536)):
        total += len(data)
        conn.sendall(data)
    log.write("tcp", echoed=total)


def count(conn):
    """Answers only when the other side has said all."""
    total = 0
    while (data := conn.recv(1 << 16)):
        total += len(data)
    time.sleep(0.2)
    conn.sendall(f"{total} bytes\n".encode())


def greet(conn):
    conn.sendall(b"220 hello\r\n")
    echo(conn)


def rude(conn):
    conn.recv(1)
    web.abort(conn)


def hold(conn):
    """Says nothing, for as long as it takes."""
    while conn.recv(65536):
        pass


def carry(source, to):
    try:
        while (data := source.recv(1 << 16)):
            to.sendall(data)
        to.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def proxy(conn):
    """CONNECT, for whoever asks: every name is at one address here."""
    head = b""
    while b"\r\n\r\n" not in head and (data := conn.recv(4096)):
        head += data
    words = head.split(b"\r\n")[0].decode("latin-1").split(" ")
    asked = words[1] if words[0] == "CONNECT" else ""
    log.write("proxy", asked=asked, head=head.decode("latin-1"))
    if asked.startswith("broken."):
        conn.sendall(b"SSH-2.0-none\r\n\r\n")
    elif not asked or asked.startswith("forbidden."):
        conn.sendall(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
    else:
        with socket.create_connection(("192.0.2.10", int(asked.rpartition(":")[2]))) as far:
            conn.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            threading.Thread(target=carry, args=(far, conn), daemon=True).start()
            carry(conn, far)
            time.sleep(0.2)


def run(handler, conn):
    try:
        local, peer = conn.getsockname(), conn.getpeername()
        log.write("tcp", to=local[0].removeprefix("::ffff:"), port=local[1], peer=peer[1])
        with conn:
            handler(conn)
    except (OSError, ValueError) as e:
        log.write("error", tcp=repr(e))


def listen(port, handler):
    sock = socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True, backlog=1024, reuse_port=True)

    def accept():
        while True:
            conn, _ = sock.accept()
            threading.Thread(target=run, args=(handler, conn), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()


def blackhole(address, port):
    """Every packet to it is lost."""
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    wire.attach(sock, wire.NOTHING)
    sock.bind((address, port))
    sock.listen(1)
    return sock


def abstract(name):
    sock = socket.socket(socket.AF_UNIX)
    sock.bind("\0" + name)
    sock.listen(8)
    while True:
        sock.accept()[0].close()
        log.write("tcp", to="abstract", port=0)


def main(work):
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    threading.stack_size(256 * 1024)
    log.start(work)
    web.root = work
    wire.start()
    good = contexts(work)
    dns.start("192.0.2.53")
    for port in (80, 8080):
        listen(port, web.serve)
    for port in (443, 853, 8443):
        listen(port, lambda conn: tls(conn, good))
    for port, handler in ((22, echo), (5432, echo), (25, greet), (7000, count), (7001, rude), (7002, hold), (3128, proxy)):
        listen(port, handler)
    holes = [blackhole("203.0.113.66", port) for port in (80, 443, 22)]
    threading.Thread(target=abstract, args=("cordon-internet",), daemon=True).start()
    with open(f"{work}/ready.tmp", "w") as f:
        f.write("up\n")
    os.rename(f"{work}/ready.tmp", f"{work}/ready")
    while holes:
        signal.pause()


main(sys.argv[1])
