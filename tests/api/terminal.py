#!/usr/bin/env python3
"""Signals and the terminal: what the front passes on, when it gives up, and that it leaves the terminal as it was. TAP."""
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
import fcntl

CORDON = os.environ.get("CORDON", os.path.join(os.path.dirname(__file__), "../../build/cordon"))
count = failed = 0


def check(name, good, detail=""):
    global count, failed
    count += 1
    failed += not good
    print(f"{'ok' if good else 'not ok'} {count} - {name}")
    if not good:
        print(f"# {detail!r}")


def start(*args, **kw):
    return subprocess.Popen([CORDON, "run", *args], start_new_session=True, **kw)


def read_until(fd, word, seconds=20):
    """What comes from fd until word is in it."""
    out, end = b"", time.monotonic() + seconds
    while word not in out and time.monotonic() < end:
        if not select.select([fd], [], [], 0.2)[0]:
            continue
        try:
            data = os.read(fd, 65536)
        except OSError:
            break
        if not data:
            break
        out += data
    return out


def finish(p, seconds=20):
    try:
        return p.wait(seconds)
    except subprocess.TimeoutExpired:
        p.kill()
        return "hangs"


def signals():
    for name in ("INT", "TERM", "HUP", "QUIT", "USR1", "USR2"):
        p = start("--", "sh", "-c", f"trap 'echo got {name}; exit 9' {name}; echo ready; while :; do sleep 0.1; done",
                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        read_until(p.stdout.fileno(), b"ready")
        p.send_signal(getattr(signal, "SIG" + name))
        out = read_until(p.stdout.fileno(), b"got")
        check(f"SIG{name} reaches the payload", (finish(p), f"got {name}".encode() in out) == (9, True), out)

    # A loop: dash forgets a SIGINT that comes between two of its commands.
    p = start("--", "sh", "-c", "while :; do echo ready; sleep 0.1; done", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
              stderr=subprocess.PIPE)
    read_until(p.stdout.fileno(), b"ready")
    p.send_signal(signal.SIGINT)
    status, err = finish(p), p.stderr.read()
    check("who interrupts is told nothing", (status, err) == (130, b""), (status, err))

    p = start("--", "sh", "-c", "trap '' INT TERM; echo ready; sleep 30; sleep 30", stdin=subprocess.DEVNULL,
              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    read_until(p.stdout.fileno(), b"ready")
    p.send_signal(signal.SIGTERM)
    time.sleep(0.5)
    alive = p.poll() is None
    p.send_signal(signal.SIGTERM)
    begin = time.monotonic()
    status, err = finish(p), p.stderr.read()
    check("one SIGTERM may be ignored", alive)
    check("a second one ends the run", status not in (0, "hangs") and b"cancelled" in err, (status, err))
    check("at once", time.monotonic() - begin < 3)

    r, w = os.pipe()
    p = start("--", "yes", stdin=subprocess.DEVNULL, stdout=w, stderr=subprocess.DEVNULL)
    time.sleep(0.7)
    p.send_signal(signal.SIGTERM)
    time.sleep(0.3)
    p.send_signal(signal.SIGTERM)
    check("also while nobody reads the output", finish(p, 5) != "hangs")
    os.close(r)
    os.close(w)

    p = subprocess.Popen(["nohup", CORDON, "run", "--", "sh", "-c", "echo ready; sleep 1; echo done"],
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    read_until(p.stdout.fileno(), b"ready")
    p.send_signal(signal.SIGHUP)
    check("what the caller ignores stays ignored", (b"done" in read_until(p.stdout.fileno(), b"done"), finish(p)) == (True, 0))


def with_terminal(*args):
    """Runs with a terminal as everything; returns process, master and slave."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 77, 0, 0))
    before = termios.tcgetattr(slave)
    return start(*args, stdin=slave, stdout=slave, stderr=slave), master, slave, before


def terminal():
    p, master, slave, before = with_terminal(
        "--tty", "--", "sh", "-c", "test -t 0 && test -t 1 && stty size && read x && echo got $x && stty size")
    out = read_until(master, b"33 77")
    check("--tty gives a terminal of the same size", b"33 77" in out, out)
    raw = termios.tcgetattr(slave)
    check("the caller's terminal is raw meanwhile", not raw[3] & termios.ICANON)
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
    p.send_signal(signal.SIGWINCH)
    time.sleep(0.3)
    os.write(master, b"hello\r")
    out = read_until(master, b"40 100")
    check("keys reach the payload", b"got hello" in out, out)
    check("a new size reaches the payload", b"40 100" in out, out)
    check("it ends well", finish(p) == 0)
    check("the terminal is as before", termios.tcgetattr(slave) == before)

    p, master, slave, before = with_terminal("--tty", "--", "sh", "-c", "while :; do echo ready; sleep 0.1; done")
    read_until(master, b"ready")
    os.write(master, b"\x03")
    check("Ctrl-C interrupts through the payload's terminal", finish(p) == 130, p.returncode)

    p, master, slave, before = with_terminal("--tty", "--", "sh", "-c", "echo ready; sleep 30")
    read_until(master, b"ready")
    p.send_signal(signal.SIGTERM)
    check("SIGTERM ends it", finish(p) == 143, p.returncode)
    check("and restores the terminal", termios.tcgetattr(slave) == before)

    p, master, slave, before = with_terminal("--tty", "--", "sh", "-c", "echo ready; sleep 30")
    read_until(master, b"ready")
    p.send_signal(signal.SIGSEGV)
    finish(p)
    check("a crash restores the terminal", termios.tcgetattr(slave) == before)

    p = start("--tty", "--", "sh", "-c", "test -t 1 && read x && echo got $x", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    out, _ = p.communicate(b"hello\n", timeout=30)
    check("--tty without a terminal", b"got hello" in out, out)

    for typed in (b"hello\n", b"no newline", b""):
        p = start("--tty", "--timeout", "20s", "--", "sh", "-c", "stty -echo; cat; echo over", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        out, _ = p.communicate(typed, timeout=30)
        check(f"--tty: what is piped in ends ({typed!r})", p.returncode == 0 and b"over" in out and typed.strip() in out, (p.returncode, out))

    p, master, slave, before = with_terminal("--", "sh", "-c", "tty; exit 3")
    out = read_until(master, b"not a tty")
    check("without --tty there is none", (b"not a tty" in out, finish(p)) == (True, 3), out)


signals()
terminal()
print(f"1..{count}")
sys.exit(1 if failed else 0)
