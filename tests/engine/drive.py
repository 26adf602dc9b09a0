"""Drives a driver as the keeper does: a specification, a stream, a control socket. See src/stream/engine.h."""
import json, os, re, select, signal, socket, struct, subprocess, time

TYPES = {1: "created", 2: "exited", 3: "error", 4: "stats", 5: "progress"}
KILL, STAT, PAUSE, RESUME = 6, 7, 8, 9
LACKS = ["memory", "cpu", "processes", "disk_rate", "userns", "inodes", "owner", "cgroupns"]


def text(raw):
    return raw.split(b"\0", 1)[0].decode("utf-8", "replace")


def owner_name():
    boot = open("/proc/sys/kernel/random/boot_id").read()[:8]
    ticks = int(time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK"))
    return "cordon-%d-%d-%s" % (os.getpid(), ticks, boot)


def read_packet(raw):
    kind = TYPES.get(struct.unpack_from("I", raw)[0])
    if kind == "created":
        _, lacks, pid, local = struct.unpack_from("IIii", raw)
        return {"type": kind, "lacks": [n for i, n in enumerate(LACKS) if lacks & 1 << i], "pid": pid, "local": local,
                "id": text(raw[16:96]), "version": text(raw[96:192]), "detail": text(raw[192:288])}
    if kind in ("exited", "stats"):
        _, exited, has, status, oom, paused, peak, memory, cpu, procs, refused = struct.unpack_from("IiiiiiQQQQQ", raw)
        return {"type": kind, "exited": exited, "has_status": has, "status": status, "oom": oom, "paused": paused, "peak": peak,
                "memory": memory, "cpu_us": cpu, "processes": procs, "refusals": refused}
    if kind == "error":
        code, errnum = struct.unpack_from("ii", raw, 8)
        return {"type": kind, "code": code, "errnum": errnum, "step": text(raw[16:48]), "message": text(raw[48:1072]),
                "hint": text(raw[1072:2096])}
    if kind == "progress":
        done, total = struct.unpack_from("QQ", raw, 8)
        return {"type": kind, "done": done, "total": total, "text": text(raw[24:144])}
    return {"type": "unknown"}


class Driver:
    def __init__(self, program, engine, spec, env=None):
        self.stream, stream = socket.socketpair()
        self.control, control = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.spec = dict({"owner": owner_name()}, **spec)
        memfd = os.memfd_create("spec")
        os.write(memfd, json.dumps(self.spec).encode())

        def place():
            fds = [os.dup(f) for f in (memfd, stream.fileno(), control.fileno())]
            high = [os.dup2(f, 100 + i) for i, f in enumerate(fds)]
            for i, f in enumerate(high):
                os.dup2(f, 3 + i)

        self.process = subprocess.Popen([program, engine], preexec_fn=place, close_fds=False, env=env, stdin=subprocess.DEVNULL)
        os.close(memfd)
        stream.close()
        control.close()
        self.rest = b""

    def packet(self, timeout=60):
        """The next one that is not progress; None at the end."""
        while True:
            self.control.settimeout(timeout)
            raw = self.control.recv(8192)
            if not raw:
                return None
            packet = read_packet(raw)
            if packet["type"] != "progress":
                return packet

    def say(self, line):
        """What cannot be said is no error here: the answer that does not come is."""
        try:
            self.stream.sendall(line.encode() + b"\n")
        except BrokenPipeError:
            print("# the stream has ended; the driver said:", self.packet(1), flush=True)

    def line(self, timeout=30):
        self.stream.settimeout(timeout)
        while b"\n" not in self.rest:
            more = self.stream.recv(65536)
            if not more:
                return None
            self.rest += more
        line, self.rest = self.rest.split(b"\n", 1)
        return line.decode("utf-8", "replace")

    def ask(self, line, timeout=30):
        self.say(line)
        return self.line(timeout)

    def ask_file(self, path):
        """All of a small file."""
        self.say("cat " + path)
        self.say("echo end")
        lines = []
        while (line := self.line()) not in (None, "echo end"):
            lines.append(line)
        return "\n".join(lines)

    def request(self, kind):
        self.control.send(struct.pack("II", kind, 0))

    def end(self, timeout=30):
        """Its exit status; the keeper's ends are closed first."""
        self.control.close()
        self.stream.close()
        return self.process.wait(timeout)
