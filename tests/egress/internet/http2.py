"""As much of HTTP/2 as one request of an ordinary client needs: settings, a response to every request, pings. Header blocks are not decoded."""
import struct

DATA, HEADERS, SETTINGS, PING, GOAWAY, CONTINUATION = 0, 1, 4, 6, 7, 9
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
STATUS_200 = b"\x88"


def frame(kind, flags, stream, payload=b""):
    return struct.pack("!I", len(payload))[1:] + struct.pack("!BBI", kind, flags, stream) + payload


def serve(conn, stream, body):
    """How many requests were answered."""
    served = 0
    if stream.read(len(PREFACE)) != PREFACE:
        return served
    conn.sendall(frame(SETTINGS, 0, 0))
    while True:
        head = stream.read(9)
        if len(head) < 9:
            return served
        length, kind, flags, number = int.from_bytes(head[:3], "big"), head[3], head[4], int.from_bytes(head[5:], "big")
        payload = stream.read(length)
        if kind == SETTINGS and not flags & 1:
            conn.sendall(frame(SETTINGS, 1, 0))
        elif kind == PING and not flags & 1:
            conn.sendall(frame(PING, 1, 0, payload))
        elif kind == GOAWAY:
            return served
        elif kind in (HEADERS, DATA) and flags & 1:  # the end of the request
            served += 1
            conn.sendall(frame(HEADERS, 4, number, STATUS_200) + frame(DATA, 1, number, body))
