#!/usr/bin/python3
# A daemon that says what a test wants, and does nothing: fake.py DIRECTORY SCENARIO… listens on DIRECTORY/SCENARIO.sock for each, writes what it was
# asked to DIRECTORY/SCENARIO.log, says "ready", and ends with its stdin. A scenario is KIND or KIND.STEP: at that step of a run the answer is of that kind.
#
#	good       a container whose init says "hello" and goes
#	garbage, empty, html, null, types, huge, endless, cut, refused, hang   an answer that is none; refused: an error with control characters
#	drip       one byte a second
#	pid        the container's process is the one that FAKE_PID names; mute: and its init never speaks
#	list       the containers of FAKE_LIST, whatever was asked for
import json, os, socket, struct, sys, threading, time

READY, STARTED, STDOUT, EXITED, START, END, KILL = 11, 14, 15, 18, 2, 5, 6
ID = "0123456789abcdef" * 4
STEPS = {"/_ping": "ping", "/version": "version", "/containers/json": "list", "/containers/create": "create", "/attach": "attach",
         "/start": "start", "/wait": "wait", "/stats": "stats", "/kill": "kill", "/json": "inspect"}


def frame(kind, body=b""):
    data = struct.pack("<BI", kind, len(body)) + body
    return struct.pack(">B3xI", 1, len(data)) + data  # on stdout of an attached container


def answer(status, body, kind="application/json", more=""):
    return (f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nApi-Version: 1.41\r\nServer: Docker/20.10.24 (linux)\r\n{more}"
            f"Content-Length: {len(body)}\r\n\r\n").encode() + body


class Daemon:
    def __init__(self, where, name):
        self.kind, _, self.step = name.partition(".")
        self.log = open(f"{where}/{name}.log", "a", buffering=1)
        self.ended = threading.Event()
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(f"{where}/{name}.sock")
        self.listener.listen(16)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            threading.Thread(target=self.serve, args=(self.listener.accept()[0],), daemon=True).start()

    def serve(self, peer):
        try:
            data = b""
            while True:
                while b"\r\n\r\n" not in data:
                    more = peer.recv(65536)
                    if not more:
                        return
                    data += more
                head, data = data.split(b"\r\n\r\n", 1)
                size = [int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
                while size and len(data) < size[0]:
                    data += peer.recv(65536)
                data = data[size[0] if size else 0:]
                method, path = head.decode().split(" ")[:2]
                self.log.write(f"{method} {path}\n")
                if not self.obey(peer, method, path.split("?")[0]):
                    return
        except OSError:
            pass
        finally:
            peer.close()

    def obey(self, peer, method, path):  # False: the connection is over
        step = "delete" if method == "DELETE" else next(s for end, s in STEPS.items() if path.endswith(end))
        if step == self.step and self.kind not in ("good", "pid", "mute", "list"):
            return self.spoil(peer)
        if step == "attach":
            peer.sendall(b"HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n")
            return self.init(peer)
        if step == "wait":
            self.ended.wait()
            peer.sendall(answer(200, b'{"StatusCode":0}'))
        elif step == "list":
            peer.sendall(answer(200, os.environ["FAKE_LIST"].encode() if self.kind == "list" else b"[]"))
        elif step == "create":
            peer.sendall(answer(201, json.dumps({"Id": ID, "Warnings": []}).encode()))
        elif step == "inspect":
            pid = int(os.environ["FAKE_PID"]) if self.kind in ("pid", "mute") else 0
            peer.sendall(answer(200, json.dumps({"State": {"Running": True, "Pid": pid, "ExitCode": 0}}).encode()))
        elif step == "ping" and self.step == "version":  # a head that does not tell who answers
            peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nOK")
        elif step in ("ping", "version", "stats"):
            peer.sendall(answer(200, b"{}"))
        else:
            if step in ("delete", "kill"):
                self.ended.set()
            peer.sendall(answer(204, b""))
        return True

    def spoil(self, peer):
        bodies = {"html": b"<html>hello</html>", "null": b"null", "types": b'{"Id":[1],"State":{"Pid":-5,"ExitCode":"x"},"StatusCode":{}}'}
        kind = self.kind
        if kind == "garbage":
            peer.sendall(bytes(range(256)) * 16)
        elif kind in bodies:
            peer.sendall(answer(200, bodies[kind], "text/html" if kind == "html" else "application/json"))
            return True
        elif kind == "huge":
            peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" + b'"')
            for _ in range(256):
                peer.sendall(b"x" * (1 << 18))
        elif kind == "endless":  # a head without an end
            peer.sendall(b"HTTP/1.1 200 OK\r\n")
            for _ in range(256):
                peer.sendall(b"X-More: " + b"x" * (1 << 14) + b"\r\n")
        elif kind == "cut":
            peer.sendall(answer(200, b'{"Id":"' + ID.encode() + b'","StatusCode":0}')[:-4])
        elif kind == "refused":
            peer.sendall(answer(500, json.dumps({"message": "no \x1b[31mway\x07"}).encode()))
            return True
        elif kind == "drip":
            for byte in b"HTTP/1.1 101 UPGRADED\r\nX-Slow: " + b"x" * 1000:
                peer.sendall(bytes([byte]))
                time.sleep(1)
        elif kind == "hang":
            time.sleep(600)
        return False

    def init(self, peer):  # what the container's would say
        if self.kind == "mute":
            self.ended.wait()
            return False
        peer.sendall(frame(READY, struct.pack("<I", 1)))
        data = b""
        while True:
            more = peer.recv(65536)
            if not more:
                self.ended.set()
                return False
            data += more
            while len(data) >= 5 and len(data) >= 5 + struct.unpack_from("<I", data, 1)[0]:
                kind, size = struct.unpack_from("<BI", data)
                data = data[5 + size:]
                if kind == START:
                    peer.sendall(frame(STARTED, struct.pack("<I", 15)) + frame(STDOUT, b"hello\n"))
                if kind == START and self.step != "wait" or kind == KILL:
                    peer.sendall(frame(EXITED, struct.pack("<IQQI", 0, 0, 0, 0)))
                if kind == END:
                    self.ended.set()
                    return False


for scenario in sys.argv[2:]:
    Daemon(sys.argv[1], scenario)
print("ready", flush=True)
sys.stdin.read()
os._exit(0)
