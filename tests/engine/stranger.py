#!/usr/bin/python3
# In the place of cordon-engine-docker (src/stream/engine.h), and of init behind it (src/stream/frame.h): what a keeper must bear of both.
# $STRANGER says what it does; it ends with its keeper, or when it is told to.
import os, select, socket, struct, sys, time

if len(sys.argv) > 2:  # an errand
    sys.exit(0)
END, KILL, START, READY, CREDIT, STARTED, STDOUT, EXITED, COLLECTED = 5, 6, 2, 11, 12, 14, 15, 18, 20
CREATED, GONE, FAILED, STATS, END_IT, STAT, PAUSE, RESUME, LEAVE = 1, 2, 3, 4, 6, 7, 8, 9, 10
what = os.environ["STRANGER"]
stream = socket.socket(fileno=4)
control = socket.socket(fileno=5)


def frame(kind, body=b""):
    return struct.pack("<BI", kind, len(body)) + body


def number(kind, value=0):
    return frame(kind, struct.pack("<I", value))


def numbers(kind):
    return struct.pack("=Iiiiii5Q", kind, kind == GONE, 0, 0, 0, 0, 1 << 20, 1 << 20, 1, 2, 0)


def leave():
    control.send(numbers(GONE))
    os._exit(0)


def hear():  # frames of the keeper
    data = b""
    while True:
        more = stream.recv(65536)
        if not more:
            leave()
        data += more
        while len(data) >= 5 and len(data) >= 5 + struct.unpack_from("<I", data, 1)[0]:
            size = 5 + struct.unpack_from("<I", data, 1)[0]
            yield data[0]
            data = data[size:]


def flood():  # what means nothing, as fast as it goes, so that there is always more; a block is never split
    block = number(CREDIT) * 1000
    children = []
    while len(children) < 3 and 0 not in children:
        children.append(os.fork())
    if 0 in children:
        control.close()
        try:
            while True:
                stream.send(block)
        except OSError:
            os._exit(0)
    stream.close()
    while obey():
        pass
    for child in children:
        os.kill(child, 9)
    leave()


def obey():  # False: to be ended
    packet = control.recv(64)
    kind = struct.unpack_from("=I", packet)[0] if packet else END_IT
    if kind == END_IT:
        return False
    if kind == PAUSE and what == "late":
        time.sleep(3)
        open(os.environ["STRANGER_LOG"], "a").write("paused\n")
    if kind == RESUME and what == "late":
        open(os.environ["STRANGER_LOG"], "a").write("resumed\n")
    if kind != LEAVE:
        control.send(numbers(STATS))
    return True


def outlive(status):  # somebody keeps the stream when the driver has gone
    if os.fork():
        if status:
            control.send(struct.pack("=IIii32s1024s1024s", FAILED, 0, 6, 0, b"", b"the container of docker ended badly", b""))
            os._exit(status)
        leave()
    control.close()
    stream.settimeout(30)
    ended = False
    try:
        while stream.recv(4096):  # what the keeper said before
            pass
        ended = True
    except OSError:
        pass
    open(os.environ["STRANGER_LOG"], "a").write("ended\n" if ended else "left\n")
    os._exit(0)


def serve():  # as init would
    stream.send(frame(STDOUT, b"hello\n"))
    if what == "good":
        stream.send(frame(EXITED, struct.pack("<IQQI", 0, 0, 0, 0)))
    frames = heard
    while True:
        readable = select.select([control, stream], [], [])[0]
        if control in readable and not obey():
            leave()
        if stream in readable:
            kind = next(frames)
            if kind == END and what == "good":
                leave()
            if kind in (END, KILL):
                stream.send(frame(EXITED, struct.pack("<IQQI", 9, 0, 0, 0)))


heard = hear()
control.send(struct.pack("=IIii80s96s96si64s", CREATED, 0, 0, 0, b"stranger", b"docker 1 (stranger)", b"", 0, b""))
stream.send(number(READY, 1))
while next(heard) != START:
    pass
stream.send(number(STARTED, 15) + number(CREDIT, 65536))
if what == "flood":
    stream.send(number(CREDIT))  # within what it may
    flood()
elif what == "collected":
    stream.send(frame(COLLECTED))
elif what == "outlive":
    outlive(0)
elif what == "outlive-error":
    outlive(1)
serve()
