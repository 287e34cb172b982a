"""A client that asks at a steady rate beside a test, whatever that does, and
notes each question that was not answered, or too late:

    with Steady(server) as client:
        ...                     # reloads, changes
    assert client.late == []

A server that stands still for a while is asked all the same, so that each of
the questions of that while is late, and not only one of each client.
"""

import contextlib
import pathlib
import selectors
import socket
import struct
import threading

import dns.message

from harness import LATE, Clock

HEADER = struct.Struct("!HH")
RESPONSE = 0x8000
RCODE = 0x000F


class RunningClock(Clock):
    """Seconds in which neither this thread nor the server's processes waited
    for a processor, as the kernel counts them: what takes long by this clock, a
    busy machine is not to blame for, however many others run there. Two that
    wait at a time are counted twice, so it is slow rather than fast."""

    def __init__(self, pids):
        super().__init__()
        names = [f"/proc/{pid}/schedstat" for pid in [*pids, "thread-self"]]
        # A kernel without them leaves the clock of harness.
        self.files = [name for name in names if pathlib.Path(name).exists()]
        self.thread = None
        self.waited = 0.0

    def tick(self):
        before, known = self.now, self.waited
        super().tick()
        # The second number: nanoseconds on a run queue.
        self.waited = sum(int(pathlib.Path(file).read_text().split()[1])
                          for file in self.files) / 1e9
        if self.thread != threading.get_native_id():
            self.thread = threading.get_native_id()
        else:
            self.now = max(before, self.now - (self.waited - known))
        return self.now


class Steady:
    """UDP, from several ports, so that all workers are asked."""

    def __init__(self, server, name="www.example", rate=200, clients=8,
                 limit=LATE, clock=None):
        self.interval = 1 / rate
        self.limit = limit
        self.question = dns.message.make_query(name, "A").to_wire()[2:]
        self.sent = 0
        self.answered = 0
        self.worst = 0.0
        self.waits = []  # for each answer
        self.late = []  # when it was asked
        self.waiting = {}  # {number: when it was asked}, in that order
        self.overdue = {}  # the same, of those that are late
        self.clock = clock or Clock()
        self.error = None
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.selector = selectors.DefaultSelector()
        self.sockets = []
        for _ in range(clients):
            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            s.connect((server.address, server.port))
            s.setblocking(False)
            self.selector.register(s, selectors.EVENT_READ)
            self.sockets.append(s)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()
        self.selector.close()
        for s in self.sockets:
            s.close()
        if self.error is not None:
            raise self.error
        print(f"steady client: {self.sent} asked, {self.answered} answered,"
              f" the slowest after {self.worst * 1000:.1f} ms")
        assert self.answered > 0

    def _run(self):
        try:
            following = self.clock.tick()
            while not self.over.is_set() or self.waiting:
                now = self.clock.tick()
                if now >= following:
                    following += self.interval
                    if not self.over.is_set():
                        self._ask(now)
                pause = min(max(following - now, 0), Clock.STEP / 2)
                for key, _ in self.selector.select(pause):
                    self._receive(key.fileobj)
                self._give_up()
        except Exception as error:
            self.error = error

    def _ask(self, now):
        number = self.sent & 0xffff
        with contextlib.suppress(OSError):
            self.sockets[self.sent % len(self.sockets)].send(
                struct.pack("!H", number) + self.question)
        self.waiting[number] = now
        self.sent += 1

    def _receive(self, s):
        try:
            response = s.recv(4096)
        except OSError:
            return
        number, flags = HEADER.unpack_from(response)
        since = self.waiting.pop(number, None)
        if since is None:
            since = self.overdue.pop(number, self.clock.now)
        elif flags & RCODE or not flags & RESPONSE:
            self.late.append(since)
        else:
            self.answered += 1
        self.waits.append(self.clock.tick() - since)
        self.worst = max(self.worst, self.waits[-1])

    def _give_up(self):
        """Gives up queries whose time is over."""
        now = self.clock.tick()
        while self.waiting:
            number, since = next(iter(self.waiting.items()))
            if now - since <= self.limit:
                return
            del self.waiting[number]
            self.overdue[number] = since
            self.late.append(since)
