#!/bin/bash
# Python's multiprocessing works in a box, by fork, spawn and forkserver, with everything that processes share. Process level promises processes
# and pipes: /dev/shm is the host's there, so that there are no POSIX semaphores and nothing that stands on them.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
levels container process
has python3 python3 || done_testing

python "multiprocessing: processes by fork and spawn, with pipes" "fork 42 spawn 42" <<'END'
import multiprocessing as mp
def child(conn, n):
    conn.send(n * 2)
if __name__ == "__main__":
    said = []
    for method in ("fork", "spawn"):
        ctx = mp.get_context(method)
        a, b = ctx.Pipe()
        p = ctx.Process(target=child, args=(b, 21))
        p.start()
        said.append(f"{method} {a.recv()}")
        p.join()
        assert p.exitcode == 0
    print(*said)
END
here || done_testing

for method in fork spawn forkserver; do
	python "multiprocessing by $method: Pool, Queue, Lock, Value, Event, Manager" "$method [0, 1, 4, 9] 4 4 6" <<END
import multiprocessing as mp
def square(n): return n * n
def worker(q, lock, total, event, shared):
    event.wait(20)
    with lock:
        total.value += 1
    q.put(shared["n"] - 5)
if __name__ == "__main__":
    ctx = mp.get_context("$method")
    with ctx.Pool(3) as pool:
        squares = pool.map(square, range(4))
    q, lock, total, event = ctx.Queue(), ctx.Lock(), ctx.Value("i", 0), ctx.Event()
    with ctx.Manager() as manager:
        shared = manager.dict(n=6)
        ps = [ctx.Process(target=worker, args=(q, lock, total, event, shared)) for _ in range(4)]
        for p in ps: p.start()
        event.set()
        got = sum(q.get(timeout=20) for _ in ps)
        for p in ps: p.join()
        print("$method", squares, got, total.value, shared["n"])
END
done
python "shared memory between processes, and a ProcessPoolExecutor" "b'hello' [2, 4]" <<'END'
import concurrent.futures
from multiprocessing import Process, shared_memory
def double(n): return 2 * n
def fill(name):
    m = shared_memory.SharedMemory(name)
    m.buf[:5] = b"hello"
    m.close()
if __name__ == "__main__":
    m = shared_memory.SharedMemory(create=True, size=1 << 20)
    p = Process(target=fill, args=(m.name,))
    p.start(), p.join()
    said = bytes(m.buf[:5])
    m.close(), m.unlink()
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        print(said, list(pool.map(double, [1, 2])))
END
done_testing
