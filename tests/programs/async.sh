#!/bin/bash
# Ordinary Python works in a box: threads, asyncio, subprocesses, venv, the libraries that ask the kernel for more; at container
# level also servers and their clients on the box's own loopback.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
levels container process
has python3 python3 || done_testing

python "threads, with locks and a queue" 4950 <<'END'
import concurrent.futures, queue, threading
lock, total, q = threading.Lock(), 0, queue.Queue()
def add(n):
    global total
    with lock:
        total += n
    q.put(n)
with concurrent.futures.ThreadPoolExecutor(16) as pool:
    list(pool.map(add, range(100)))
assert sum(q.get() for _ in range(100)) == total
print(total)
END
python "subprocesses, with pipes, a timeout and signals" "HELLO 7 -9 3 -15" <<'END'
import signal, subprocess
out = subprocess.run(["tr", "a-z", "A-Z"], input="hello", text=True, capture_output=True, check=True).stdout
code = subprocess.run("exit 7", shell=True).returncode
p = subprocess.Popen(["sleep", "60"])
try:
    p.wait(0.05)
except subprocess.TimeoutExpired:
    p.kill()
pipe = subprocess.run("printf 'c\\nb\\na\\n' | sort | wc -l", shell=True, text=True, capture_output=True).stdout.strip()
t = subprocess.Popen(["sleep", "60"], start_new_session=True)
t.send_signal(signal.SIGTERM)
print(out, code, p.wait(), pipe, t.wait())
END
python "asyncio: tasks, subprocesses, signals, threads" "7 out 1 thread" <<'END'
import asyncio, os, signal
async def main():
    loop = asyncio.get_running_loop()
    got = asyncio.Event()
    loop.add_signal_handler(signal.SIGUSR1, got.set)
    p = await asyncio.create_subprocess_exec("sh", "-c", "echo out; exit 7", stdout=asyncio.subprocess.PIPE)
    out, _ = await p.communicate()
    os.kill(os.getpid(), signal.SIGUSR1)
    await asyncio.wait_for(got.wait(), 10)
    one, _ = await asyncio.gather(asyncio.sleep(0.01, 1), asyncio.sleep(0.01))
    print(p.returncode, out.decode().strip(), one, await asyncio.to_thread(lambda: "thread"))
asyncio.run(main())
END
python "a socketpair and os.fork" "ping pong" <<'END'
import os, socket
a, b = socket.socketpair()
if os.fork() == 0:
    b.send(b.recv(9).replace(b"i", b"o"))
    os._exit(0)
a.send(b"ping")
print("ping", a.recv(9).decode())
os.wait()
END
python "files: tempfile, mmap, locks, shutil, sqlite3" "5 hello 3 ok" <<'END'
import fcntl, mmap, os, shutil, sqlite3, tempfile
with tempfile.TemporaryDirectory() as d:
    path = os.path.join(d, "file")
    with open(path, "wb+") as f:
        f.write(b"hello")
        f.flush()
        os.fsync(f.fileno())
        fcntl.flock(f, fcntl.LOCK_EX)
        fcntl.lockf(f, fcntl.LOCK_EX)
        m = mmap.mmap(f.fileno(), 0)
        text = m[:].decode()
    shutil.copytree(d, d + "2")
    size = os.stat(d + "2/file").st_size
    shutil.rmtree(d + "2")
    db = sqlite3.connect(d + "/db")
    db.execute("pragma journal_mode=wal")
    db.execute("create table t(a)")
    db.executemany("insert into t values(?)", [(i,) for i in range(3)])
    db.commit()
    n = db.execute("select count(*) from t").fetchone()[0]
    with tempfile.TemporaryFile() as t, tempfile.NamedTemporaryFile() as u:
        t.write(b"x"), u.write(b"x")
    print(size, text, n, db.execute("pragma integrity_check").fetchone()[0])
END
python "ctypes: a callback from C, and the C library" "[1, 2, 3] 3" <<'END'
import ctypes
libc = ctypes.CDLL(None)
kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
items = (ctypes.c_int * 3)(3, 1, 2)
libc.qsort(items, 3, ctypes.sizeof(ctypes.c_int), kind(lambda a, b: a[0] - b[0]))
print(list(items), libc.strlen(b"abc"))
END
python "time, random, TLS library, locale, machine, limits" ok <<'END'
import datetime, hashlib, locale, os, platform, random, resource, secrets, ssl, time, uuid
assert abs(time.time() - datetime.datetime.now().timestamp()) < 5 and time.monotonic() > 0
assert len(secrets.token_bytes(32)) == 32 and uuid.uuid4() and random.random() < 1
assert hashlib.sha256(b"").hexdigest().startswith("e3b0") and ssl.create_default_context()
assert locale.setlocale(locale.LC_ALL, "") == "C.UTF-8" and locale.getpreferredencoding() == "UTF-8"
assert platform.machine() and os.uname().sysname == "Linux" and os.cpu_count() >= 1 and len(os.sched_getaffinity(0)) >= 1
assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == 1024
assert os.path.expanduser("~") == os.environ["HOME"] and os.access(os.environ["HOME"], os.W_OK)
print("ok")
END
# shellcheck disable=SC2016,SC2088 # for the shell inside; a regular expression
works "a venv without pip, and a module in it" '~/v 42$' -- bash -c '
	python3 -m venv --without-pip "$HOME/v" && . "$HOME/v/bin/activate" &&
	site=$(python -c "import sysconfig; print(sysconfig.get_path(\"purelib\"))") && echo "answer = 42" >"$site/mine.py" &&
	python -c "import mine, sys; print(sys.prefix, mine.answer)"'
# shellcheck disable=SC2016 # for the shell inside
works "a module of its own, compiled and cached" 3 -- bash -c '
	cd "$HOME" && echo "x = 3" >mod.py && python3 -c "import mod; print(mod.x)" && ls __pycache__/mod.*.pyc >/dev/null'
here || done_testing

python "asyncio: TCP, UDP and unix servers on the box's own loopback" "tcp udp unix" <<'END'
import asyncio
async def echo(r, w):
    w.write(await r.readline())
    await w.drain()
    w.close()
class Udp(asyncio.DatagramProtocol):
    def connection_made(self, t): self.t = t
    def datagram_received(self, data, addr): self.t.sendto(data, addr)
class Client(asyncio.DatagramProtocol):
    def __init__(self, done): self.done = done
    def connection_made(self, t): t.sendto(b"udp")
    def datagram_received(self, data, addr): self.done.set_result(data.decode())
async def ask(opened, word):
    r, w = opened
    w.write(word.encode() + b"\n")
    got = (await r.readline()).decode().strip()
    w.close()
    return got
async def main():
    loop = asyncio.get_running_loop()
    tcp = await asyncio.start_server(echo, "localhost", 0)
    unix = await asyncio.start_unix_server(echo, "/tmp/sock")
    t, _ = await loop.create_datagram_endpoint(Udp, ("127.0.0.1", 0))
    done = loop.create_future()
    await loop.create_datagram_endpoint(lambda: Client(done), remote_addr=t.get_extra_info("sockname"))
    at = [s.getsockname() for s in tcp.sockets if s.family.name == "AF_INET"][0]
    print(await ask(await asyncio.open_connection(*at), "tcp"), await asyncio.wait_for(done, 10),
          await ask(await asyncio.open_unix_connection("/tmp/sock"), "unix"))
asyncio.run(main())
END
python "an HTTP server and its client; names of the box's own" "200 hi localhost agent" <<'END'
import http.server, os, pwd, socket, threading, urllib.request
class H(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"hi")
    def log_message(self, *a): pass
s = http.server.ThreadingHTTPServer(("localhost", 0), H)
threading.Thread(target=s.serve_forever, daemon=True).start()
r = urllib.request.urlopen(f"http://localhost:{s.server_port}/")
assert socket.gethostbyname(socket.gethostname()).startswith("127.")
assert ("127.0.0.1", 80) in [a[4] for a in socket.getaddrinfo("localhost", 80, type=socket.SOCK_STREAM)]
print(r.status, r.read().decode(), socket.gethostbyaddr("127.0.0.1")[0], pwd.getpwuid(os.getuid()).pw_name)
END
done_testing
