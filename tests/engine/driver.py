"""TAP: each engine of the arguments (all of them without), driven as the keeper does. Daemons are our own and are ended by pid."""
import os, re, shutil, signal, subprocess, sys, tempfile, time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from drive import Driver, KILL, STAT, PAUSE, RESUME

PROGRAMS, INNER, WORK = os.environ["ENGINE_PROGRAMS"], os.environ["INNER"], sys.argv[1]
ENGINES = sys.argv[2:] or ["crun", "runc", "runsc", "docker", "podman"]
ROOT = os.geteuid() == 0
TOP = "/run/cordon-engine" if ROOT else os.path.join(os.environ.get("XDG_RUNTIME_DIR", ""), "cordon-engine")
count = failed = 0


def ok(good, what, *said):
    global count, failed
    count += 1
    failed += not good
    print("%s %d - %s" % ("ok" if good else "not ok", count, what), flush=True)
    for text in said if not good else ():
        print("# " + repr(text), flush=True)
    return good


def skip(what, why):
    global count, failed
    must = os.environ.get("CORDON_MUST") == "1"
    count += 1
    failed += must
    print("%s %d - %s # SKIP %s" % ("not ok" if must else "ok", count, what, why), flush=True)


def until(holds, seconds=10):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if holds():
            return True
        time.sleep(0.05)
    return holds()


def groups(owner):
    found = []
    for dir, dirs, _ in os.walk("/sys/fs/cgroup"):
        found += [os.path.join(dir, d) for d in dirs if owner in d]
        dirs[:] = [d for d in dirs if dir.count("/") < 6]
    return found


class Engine:
    def __init__(self, name, image=None, env=None, daemon=None):
        self.name, self.image, self.env, self.daemon = name, image, dict(os.environ, **(env or {})), daemon
        self.is_oci, self.is_gvisor = image is None, name == "runsc"

    def spec(self, **more):
        spec = {"init": INNER, "tmpfs": [{"dest": "/tmp", "size_bytes": 1 << 20, "inodes": 50}, {"dest": "/home/box", "size_bytes": 1 << 20, "mode": 0o700}],
                "mounts": [{"source": WORK + "/ro", "dest": "/in"}, {"source": WORK + "/rw", "dest": "/out", "writable": True}],
                "limits": {"memory_bytes": 512 << 20 if self.is_gvisor else 64 << 20, "processes": 20, "cpu_milli": 1000, "open_files": 64}}
        if self.is_oci:
            spec["rootfs"] = WORK + "/root"
            if ROOT:
                ids = [{"inside": 0, "outside": 700000, "count": 1}, {"inside": 1000, "outside": 700001, "count": 1}]
                spec["userns"] = {"uid": ids, "gid": ids}
        else:
            spec["image"] = self.image
        spec.update(more)
        return spec

    def start(self, **more):
        program = "cordon-engine-docker" if self.name in ("docker", "podman") else "cordon-engine"
        return Driver(os.path.join(PROGRAMS, program), self.name, self.spec(**more), env=self.env)

    def started(self, **more):
        d = self.start(**more)
        packet = d.packet()
        if not packet or packet["type"] != "created":
            ok(False, "%s: a container starts" % self.name, packet)
            d.end()
            return None, packet
        return d, packet

    def nothing_left(self, d, what):
        owner = d.spec["owner"]
        ok(until(lambda: not os.path.exists(TOP + "/" + owner) and not (ROOT and groups(owner)) and not self.listed(owner)),
           "%s: %s: nothing is left" % (self.name, what), os.path.exists(TOP + "/" + owner), groups(owner), self.listed(owner))

    def listed(self, owner):
        if self.is_oci:
            return ""
        host = self.env["DOCKER_HOST" if self.name == "docker" else "CONTAINER_HOST"].replace("unix://", "")
        out = subprocess.run(["curl", "-s", "-m", "5", "--unix-socket", host, "http://d/v1.41/containers/json?all=1"], capture_output=True, text=True).stdout
        return owner if owner in out else ""


def whole_life(e):
    d, created = e.started()
    if not d:
        return
    line = d.line()
    ok(line and re.search(r"argc=1 argv0=/\.cordon(-[0-9a-f]{32})?/init pid=1 uid=", line), "%s: init runs alone" % e.name, line)
    ok(created["version"].startswith(e.name + " "), "%s: it says its version" % e.name, created)
    said = d.ask("put /home/box/a 10")
    ok(said == "written", "%s: control: what is given can be written" % e.name, said, d.ask("stat /home/box"))
    ok(d.ask("put /new 1").startswith(("Read-only", "Permission")), "%s: the root cannot" % e.name)
    ok(d.ask("put /in/new 1").startswith(("Read-only", "Permission")), "%s: nor a read-only mount" % e.name)
    said = d.ask("put /out/%s 1" % e.name)  # a file of its own: who wrote the others is somebody else
    ok(said == "written", "%s: control: a writable mount can" % e.name, said)
    ok("space" in d.ask("put /tmp/big 2000000"), "%s: memory has its size" % e.name)
    ok("inodes" in created["lacks"] or d.ask("files /tmp 200") != "200 files", "%s: and its number of files, or it says so" % e.name, created["lacks"])
    ok(d.ask("mount") == "Operation not permitted", "%s: nothing is mounted" % e.name)
    status = d.ask_file("/proc/self/status")
    ok("CapEff:\t0000000000000000" in status and (e.is_gvisor or "NoNewPrivs:\t1" in status), "%s: no capabilities, no new privileges" % e.name, status)
    if "memory" not in created["lacks"] and not e.is_gvisor:
        ok(d.ask("eat 1000000") == "exit 0", "%s: control: a little memory" % e.name)
        ok(d.ask("eat 200000000") == "signal 9", "%s: too much memory" % e.name)
        d.request(STAT)
        stats = d.packet()
        ok(stats["oom"] == 1 and 30 << 20 < stats["peak"] <= 64 << 20, "%s: is told" % e.name, stats)
    bred = d.ask("breed 100")
    ok("processes" in created["lacks"] or bred in ("18 children", "19 children"), "%s: processes are bounded, or it says so" % e.name, bred, created["lacks"])
    d.say("exit 7")
    end = d.packet()
    ok(end and end["type"] == "exited" and end["status"] == 7 << 8, "%s: its end is told" % e.name, end)
    ok(d.end() == 0, "%s: and the driver ends well" % e.name)
    e.nothing_left(d, "after its end")


def big_stream(e):
    d, _ = e.started()
    if not d:
        return
    d.line()
    good = all(d.ask("echo " + "x" * 3000 + str(i)) == "echo " + "x" * 3000 + str(i) for i in range(100))
    ok(good, "%s: the stream carries every byte" % e.name)
    d.stream.shutdown(1)
    end = d.packet()
    ok(end and end["type"] == "exited" and end["status"] == 0, "%s: its end reaches the container" % e.name, end)
    d.end()


def killed(e):
    d, _ = e.started()
    if not d:
        return
    d.line()
    d.say("spin 1000000")
    d.request(KILL)
    end = d.packet()
    ok(end and end["type"] == "exited" and end["status"] & 0x7f == signal.SIGKILL, "%s: killed when told to" % e.name, end)
    d.end()
    e.nothing_left(d, "after a kill")
    d, created = e.started()
    d.line()
    d.say("spin 1000000")
    ok(d.end() in (0, 1), "%s: ends with its keeper" % e.name)
    ok(not os.path.exists("/proc/%d" % created["pid"]), "%s: and the container, too" % e.name)
    e.nothing_left(d, "after the keeper's end")


def mortal_owner():
    child = subprocess.Popen(["sleep", "1000"])
    return child, "cordon-%d-%d-%s" % (child.pid, int(time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK")) + 1,
                                       open("/proc/sys/kernel/random/boot_id").read()[:8])


def swept(e):
    """The owner is a process that is gone; its driver was killed."""
    child, owner = mortal_owner()
    d, created = e.started(owner=owner)
    if not d:
        child.kill()
        return
    d.line()
    d.process.kill()
    d.process.wait()
    child.kill()
    child.wait()
    other, _ = e.started()
    if other:
        other.line()
        e.nothing_left(d, "of a killed driver, once another one starts")
        ok(until(lambda: not os.path.exists("/proc/%d" % created["pid"])), "%s: not its container, either" % e.name)
        ok(other.ask("echo there") == "echo there", "%s: control: who lives is left alone" % e.name)
        other.end()


def errors(e):
    bad = {"rootfs": WORK + "/nowhere"} if e.is_oci else {"image": "cordon-test/nowhere:1", "pull": False}
    d = e.start(**bad)
    packet = d.packet()
    ok(packet and packet["type"] == "error" and packet["message"], "%s: what is not there is an error" % e.name, packet)
    d.end()
    e.nothing_left(d, "after an error")
    if not e.is_oci:
        lost = Engine(e.name, e.image, {"DOCKER_HOST": "unix:///nowhere", "CONTAINER_HOST": "unix:///nowhere"})
        d = lost.start()
        packet = d.packet()
        ok(packet and packet["type"] == "error" and "start it" in packet["hint"], "%s: a daemon that is not there, too, with the remedy" % e.name, packet)
        d.end()
    d = e.start(surprise=True)
    ok(d.packet()["type"] == "error", "%s: a specification with an unknown key" % e.name)
    d.end()
    if e.is_oci:  # who ignored it would run without
        d = e.start(seccomp={"defaultAction": "SCMP_ACT_ALLOW"})
        packet = d.packet()
        ok(packet and packet["type"] == "error" and "seccomp" in packet["message"], "%s: one with a filter, which is init's" % e.name, packet)
        d.end()


def daemon_dies(e):
    if e.name != "docker":
        return
    child, owner = mortal_owner()
    d, created = e.started(owner=owner)
    d.line()
    e.daemon.kill()
    e.daemon.wait()
    packet = d.packet()
    ok(packet and packet["type"] == "error" and "went away" in packet["message"], "docker: a daemon that dies in the middle is an error", packet)
    d.end()
    child.kill()
    child.wait()
    ok(until(lambda: not os.path.exists("/proc/%d" % created["pid"])), "docker: and the container dies, too")
    # A daemon that comes back knows the container again. It also ends what the killed one left: its own containerd.
    e.daemon = start_docker().daemon
    if not e.daemon:
        ok(False, "docker: starts again", open(WORK + "/docker.log").read()[-2000:])
        return
    d, _ = e.started()
    d.line()
    ok(until(lambda: not e.listed(created["id"])), "docker: nothing is left of it, once the daemon is back")
    d.end()


# ---- daemons ----

def make_root():
    for name in ("root/proc", "root/dev", "root/tmp", "root/etc", "root/home/box", "root/.cordon", "root/in", "root/out", "ro", "rw"):
        os.makedirs(WORK + "/" + name, exist_ok=True)
    open(WORK + "/root/.cordon/init", "w").close()
    os.chmod(WORK + "/rw", 0o777)


def load_image(sock):
    tar = subprocess.run(["tar", "-C", WORK + "/root", "-c", "."], capture_output=True, check=True).stdout
    subprocess.run(["curl", "-s", "-f", "-m", "60", "--unix-socket", sock, "-X", "POST", "-H", "Content-Type: application/x-tar", "--data-binary", "@-",
                    "http://d/v1.41/images/create?fromSrc=-&repo=cordon-test-tiny"], input=tar, check=True, stdout=subprocess.DEVNULL)


def start_daemon(name, command, sock):
    if os.path.exists(sock):
        os.unlink(sock)
    daemon = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=open(WORK + "/%s.log" % name, "w"), stderr=subprocess.STDOUT, cwd=WORK)
    if not until(lambda: daemon.poll() is not None or os.path.exists(sock), 40) or daemon.poll() is not None:
        return None
    try:
        load_image(sock)
    except subprocess.CalledProcessError:
        daemon.terminate()
        daemon.wait()
        return None
    return daemon


def start_docker():
    sock = WORK + "/docker.sock"
    command = ["dockerd", "--iptables=false", "--ip6tables=false", "--bridge=none", "--storage-driver=vfs", "--data-root", WORK + "/docker", "--exec-root",
               WORK + "/docker-run", "-p", WORK + "/docker.pid", "-H", "unix://" + sock]
    return Engine("docker", "cordon-test-tiny", {"DOCKER_HOST": "unix://" + sock}, start_daemon("docker", command, sock))


def start_podman():
    sock = WORK + "/podman.sock"
    command = ["podman", "--root", WORK + "/podman", "--runroot", WORK + "/podman-run", "--storage-driver", "vfs", "--runtime", shutil.which("runc") or "runc",
               "--cgroup-manager", "cgroupfs", "system", "service", "--time=0", "unix://" + sock]
    return Engine("podman", "cordon-test-tiny", {"CONTAINER_HOST": "unix://" + sock}, start_daemon("podman", command, sock))


def main():
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    make_root()
    for name in ENGINES:
        program = {"docker": "dockerd"}.get(name, name)
        if not shutil.which(program):
            skip(name, "%s is not installed" % program)
            continue
        if not ROOT and name not in ("crun", "runc"):
            skip(name, "only root starts it here")
            continue
        e = {"docker": start_docker, "podman": start_podman}.get(name, lambda: Engine(name))()
        if not e.is_oci and not e.daemon:
            skip(name, "its daemon does not start here: see " + WORK)
            continue
        try:
            for test in (whole_life, big_stream, killed, swept, errors, daemon_dies):
                test(e)
        finally:
            if e.daemon and e.daemon.poll() is None:
                e.daemon.terminate()
                e.daemon.wait()
    print("1..%d" % count)
    for line in open("/proc/self/mountinfo").read().splitlines():
        if line.split()[4].startswith(WORK + "/"):
            subprocess.run(["umount", "-l", line.split()[4]])
    subprocess.run(["rm", "-rf", WORK])
    return failed > 0


sys.exit(main())
