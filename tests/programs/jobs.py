#!/usr/bin/env python3
"""Types into `cordon run --tty` and reads what comes back: jobs.py STORY. TAP lines without numbers; the status is 1 when one failed."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

CORDON, LEVEL = os.environ["CORDON"], os.environ["LEVEL"]
ENGINE = ["--engine", os.environ["CORDON_ENGINE"]] if os.environ.get("CORDON_ENGINE") else []
ENGINE += ["--image", os.environ["CORDON_ENGINE_IMAGE"]] if os.environ.get("CORDON_ENGINE_IMAGE") else []


class Terminal:
    def __init__(self, *command):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 31, 97, 0, 0))
        self.process = subprocess.Popen([CORDON, "run", "--level", LEVEL, *ENGINE, "--tty", *command], stdin=slave, stdout=slave, stderr=slave,
                                        start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(slave)
        self.seen = ""

    def until(self, pattern, seconds=30):
        """Reads until the pattern comes after what was matched before; the match, or None."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            m = re.search(pattern, self.seen, re.S)
            if m:
                self.seen = self.seen[m.end():]
                return m
            if select.select([self.master], [], [], 0.2)[0]:
                try:
                    data = os.read(self.master, 65536)
                except OSError:
                    data = b""
                if not data:
                    break
                self.seen += data.decode(errors="replace")
                self.seen = re.sub("\\r|\x1b\\[\\?2004[hl]", "", self.seen)  # bracketed paste
        m = re.search(pattern, self.seen, re.S)
        return m

    def type(self, text):
        os.write(self.master, text.encode())

    def end(self):
        try:
            status = self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = "hangs"
        os.close(self.master)
        return status


def say(good, what, terminal=None):
    print(f"{'ok' if good else 'not ok'} {what}", flush=True)
    if not good and terminal:
        print("# " + repr(terminal.seen[-600:]), flush=True)


# The prompt is told apart from the echo of what was typed by its number.
def bash():
    t = Terminal("--env", "PS1=<\\#>", "--", "bash", "--norc", "--noprofile", "-i")
    say(t.until("<1>"), "an interactive bash comes up", t)
    say("no job control" not in t.seen and "cannot set terminal" not in t.seen, "with job control", t)
    t.type("sleep 61 & sleep 62 &\n")
    say(t.until(r"\[2\] \d+\n.*<2>"), "two jobs in the background", t)
    t.type("jobs\n")
    say(t.until(r"\[1\].*Running.*sleep 61.*\[2\].*Running.*sleep 62.*<3>"), "jobs lists them", t)
    t.type("fg %1\n")
    say(t.until(r"sleep 61\n"), "fg brings one to the front", t)
    time.sleep(0.3)
    t.type("\x1a")
    say(t.until(r"Stopped.*<4>"), "Ctrl-Z stops it", t)
    t.type("bg\n")
    say(t.until(r"sleep 61 &.*<5>"), "bg lets it go on", t)
    t.type("kill %1 %2; wait; echo ki''lled\n")
    say(t.until(r"\nkilled\n.*<6>"), "kill ends both", t)
    t.type("cat\n")
    t.until("cat\n")
    time.sleep(0.3)
    t.type("\x03")
    say(t.until(r"\^C.*<7>"), "Ctrl-C ends a program and not the shell", t)
    t.type("stty size; echo $?\n")
    say(t.until(r"\n31 97\n0\n"), "the size is the caller's", t)
    fcntl.ioctl(t.master, termios.TIOCSWINSZ, struct.pack("HHHH", 20, 50, 0, 0))
    time.sleep(0.3)
    t.type("stty size\n")
    say(t.until(r"\n20 50\n"), "and follows it", t)
    t.type("exit 5\n")
    say(t.end() == 5, "its status is the shell's")


def plain():
    """What is left where the kernel knows no controlling terminal."""
    t = Terminal("--", "python3", "-q")
    say(t.until(">>> "), "python's prompt", t)
    t.type("6 * 7\n")
    say(t.until(r"\n42\n>>> "), "answers", t)
    t.type("import os; os.get_terminal_size()\n")
    say(t.until(r"columns=97, lines=31"), "the size is the caller's", t)
    fcntl.ioctl(t.master, termios.TIOCSWINSZ, struct.pack("HHHH", 20, 50, 0, 0))
    time.sleep(0.3)
    t.type("os.get_terminal_size()\n")
    say(t.until(r"columns=50, lines=20.*>>> "), "and follows it", t)
    t.type("\x04")
    say(t.end() == 0, "ends at Ctrl-D")


def line():
    t = Terminal("--", "python3", "-q")
    say(t.until(">>> "), "python's prompt", t)
    t.type("6 * 7\n")
    say(t.until(r"\n42\n>>> "), "answers", t)
    t.type("\x04")
    say(t.end() == 0, "ends at Ctrl-D")
    t = Terminal("--", "sh", "-c", "test -t 0 && test -t 1 && test -t 2 && tty && echo again >/dev/tty && echo more >/dev/stdout")
    say(t.until(r"/dev/pts/\d+\nagain\nmore\n"), "tty, /dev/tty and /dev/stdout", t)
    say(t.end() == 0, "and a good status")


signal.signal(signal.SIGTTOU, signal.SIG_IGN)
{"bash": bash, "line": line, "plain": plain}[sys.argv[1]]()
