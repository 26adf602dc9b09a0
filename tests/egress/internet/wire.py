"""Every packet that begins something on this internet: TCP SYNs, UDP, ICMP; each place once. All of it passes lo, so this sees all of it.

The filter keeps what a transfer consists of away from here.
"""
import ctypes
import ipaddress
import socket
import struct
import threading

import log

SO_ATTACH_FILTER, ETH_P_ALL = 26, 3


def attach(sock, program):
    """Classic BPF, as (code, jt, jf, k)."""
    code = b"".join(struct.pack("HBBI", *line) for line in program)
    buffer = ctypes.create_string_buffer(code, len(code))
    sock.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("HL", len(program), ctypes.addressof(buffer)))


LDB, LDB_X, LDX_HEAD, LDX = 0x30, 0x50, 0xB1, 0x01
AND, RSH, EQ, RET = 0x54, 0x74, 0x15, 0x06
BEGINNINGS = [
    (LDB, 0, 0, 0),
    (RSH, 0, 0, 4),
    (EQ, 0, 4, 4),  # IPv4: its protocol, then where TCP begins
    (LDB, 0, 0, 9),
    (EQ, 0, 8, 6),
    (LDX_HEAD, 0, 0, 0),
    (EQ, 3, 0, 6),
    (LDB, 0, 0, 6),  # IPv6
    (EQ, 0, 4, 6),
    (LDX, 0, 0, 40),
    (LDB_X, 0, 0, 13),
    (AND, 0, 0, 0x12),
    (EQ, 0, 1, 0x02),  # SYN without ACK
    (RET, 0, 0, 128),
    (RET, 0, 0, 0),
]
NOTHING = [(RET, 0, 0, 0)]


def read(packet):
    four = packet[0] >> 4 == 4
    protocol = packet[9] if four else packet[6]
    to = packet[16:20] if four else packet[24:40]
    head = (packet[0] & 15) * 4 if four else 40
    port = struct.unpack_from("!H", packet, head + 2)[0] if protocol in (6, 17) and len(packet) >= head + 4 else 0
    return {6: "tcp", 17: "udp", 1: "icmp", 58: "icmp"}.get(protocol, protocol), str(ipaddress.ip_address(to)), port


def watch(sock):
    seen = set()
    while True:
        packet = sock.recv(256)
        what = read(packet)
        if what not in seen:
            seen.add(what)
            log.write("wire", proto=what[0], to=what[1], port=what[2])


def start():
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_ALL))
    attach(sock, BEGINNINGS)
    sock.bind(("lo", ETH_P_ALL))
    threading.Thread(target=watch, args=(sock,), daemon=True).start()
