#!/usr/bin/python3
# A daemon that says what a test wants, and does nothing: fake.py DIRECTORY SCENARIO… listens on DIRECTORY/SCENARIO.sock for each, writes what it was
# asked to DIRECTORY/SCENARIO.log, says "ready", and ends with its stdin. A scenario is KIND or KIND.STEP: at that step of a run the answer is of that kind.
#
#	good       a container whose init says "hello" and goes
#	garbage, empty, html, null, types, huge, endless, cut, refused, hang   an answer that is none; refused: an error with control characters
#	drip       one byte a second; drip.pull, hang.pull: an image is to be pulled first, which takes forever
#	pid        the container's process is the one that FAKE_PID names
#	mute       its init never speaks, and the daemon does not end it, either
#	list       the containers of FAKE_LIST, whatever was asked for
#	warn       a container with the warning of DIRECTORY/SCENARIO.text
#	say        an error with the text of DIRECTORY/SCENARIO.text
#	api.1.47   one of that API, which a ping tells; told.1.47: which a ping does not tell, and is asked for
# DIRECTORY/SCENARIO.body is what the last container was to be made of.
#
# The process of all others is the init that was asked for, where it was asked for, in the control groups FAKE_GROUPS, of which DIRECTORY/SCENARIO.pid
# tells the number; it hears and says nothing. Without FAKE_GROUPS there is none.
import json, os, socket, struct, subprocess, sys, threading, time

PLACE = """for group in $FAKE_GROUPS; do echo 0 >"$group/cgroup.procs" || exit; done
mount -t tmpfs none "$1" && cd "$1" && mkdir dev old ".${3%/*}" && touch dev/null ".$3" && mount --bind /dev/null dev/null && mount --bind "$2" ".$3" &&
	pivot_root . old && exec "$3" """
READY, STARTED, STDOUT, EXITED, START, END, KILL = 11, 14, 15, 18, 2, 5, 6
ID = "0123456789abcdef" * 4
STEPS = {"/_ping": "ping", "/version": "version", "/containers/json": "list", "/containers/create": "create", "/attach": "attach",
         "/start": "start", "/wait": "wait", "/stats": "stats", "/kill": "kill", "/json": "inspect", "/images/create": "pull"}


def frame(kind, body=b""):
    data = struct.pack("<BI", kind, len(body)) + body
    return struct.pack(">B3xI", 1, len(data)) + data  # on stdout of an attached container


def answer(status, body, kind="application/json", more=""):
    return (f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nApi-Version: 1.41\r\nServer: Docker/20.10.24 (linux)\r\n{more}"
            f"Content-Length: {len(body)}\r\n\r\n").encode() + body


class Daemon:
    def __init__(self, where, name):
        self.kind, _, self.step = name.partition(".")
        self.where, self.name, self.process, self.pid = where, name, None, 0
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
                body, data = data[:size[0] if size else 0], data[size[0] if size else 0:]
                method, path = head.decode().split(" ")[:2]
                if "/containers/create" in path:
                    open(f"{self.where}/{self.name}.body", "wb").write(body)
                self.log.write(f"{method} {path}\n")
                if not self.obey(peer, method, path.split("?")[0], body):
                    return
        except OSError:
            pass
        finally:
            peer.close()

    def place(self, body):  # init in a pid and a mount namespace of its own
        if not os.environ.get("FAKE_GROUPS") or self.process:
            return
        path = body["Entrypoint"][0]
        source = next(m["Source"] for m in body["HostConfig"]["Mounts"] if m["Target"] == path)
        root = f"{self.where}/{self.name}.root"
        os.makedirs(root, exist_ok=True)
        self.process = subprocess.Popen(["unshare", "-m", "-p", "-f", "--kill-child", "sh", "-c", PLACE, "sh", root, source, path],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for _ in range(500):
            with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children") as children:
                self.pid = int((children.read().split() or [0])[0])
            if self.pid and os.readlink(f"/proc/{self.pid}/exe") == path:
                break
            time.sleep(0.01)
        with open(f"{self.where}/{self.name}.pid", "w") as file:
            file.write(str(self.pid))

    def end(self):
        if self.process and self.kind != "mute":
            self.process.kill()
            self.process.wait()
            self.process, self.pid = None, 0
        self.ended.set()

    def obey(self, peer, method, path, body):  # False: the connection is over
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
        elif step == "create" and self.step == "pull":
            peer.sendall(answer(404, b'{"message":"No such image: any"}'))
        elif step == "create":
            self.place(json.loads(body))
            warnings = [open(f"{self.where}/{self.name}.text").read()] if self.kind == "warn" else []
            peer.sendall(answer(201, json.dumps({"Id": ID, "Warnings": warnings}).encode()))
        elif step == "inspect":
            pid = int(os.environ["FAKE_PID"]) if self.kind == "pid" else self.pid
            peer.sendall(answer(200, json.dumps({"State": {"Running": True, "Pid": pid, "ExitCode": 0}}).encode()))
        elif step == "pull":
            peer.sendall(answer(200, b'{"status":"Pulled"}\n'))
        elif step == "ping" and self.kind == "api":
            peer.sendall(answer(200, b"OK").replace(b"1.41", self.step.encode()))
        elif step == "version" and self.kind == "told":
            peer.sendall(answer(200, json.dumps({"Version": "9.8", "ApiVersion": self.step}).encode()))
        elif step == "ping" and (self.step == "version" or self.kind == "told"):  # a head that does not tell who answers
            peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nOK")
        elif step in ("ping", "version", "stats"):
            peer.sendall(answer(200, b"{}"))
        else:
            if step in ("delete", "kill"):
                self.end()
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
        elif kind == "say":
            peer.sendall(answer(500, json.dumps({"message": open(f"{self.where}/{self.name}.text").read()}).encode()))
            return True
        elif kind == "drip" and self.step == "pull":
            peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
            for n in range(3000):
                peer.sendall(json.dumps({"status": "Downloading", "progressDetail": {"current": n, "total": 3000}}).encode() + b"\n")
                time.sleep(0.2)
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


daemons = [Daemon(sys.argv[1], scenario) for scenario in sys.argv[2:]]
print("ready", flush=True)
sys.stdin.read()
for daemon in daemons:
    if daemon.process:
        daemon.process.kill()
os._exit(0)
