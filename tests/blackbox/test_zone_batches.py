"""Zones of several clients come, go and change together, while processes
die."""
import os
import random
import signal
import threading
import time

import pytest

import control
from harness import wait_for, zone_text

PATTERNS = ('pattern:\n\tname: p\n\tzonefile: "some.zone"\n'
            'pattern:\n\tname: q\n\tzonefile: "other.zone"\n'
            'pattern:\n\tname: longer\n\tzonefile: "some.zone"\n')
CLIENTS = 4
ZONES = 6
TURNS = 60
KILLS = 3


@pytest.fixture
def server(make_server):
    made = make_server(zones={"example": zone_text()}, extra=PATTERNS)
    (made.directory / "some.zone").write_text(zone_text(3))
    (made.directory / "other.zone").write_text(zone_text(7))
    return control.config(made).start()


class Client:
    """Changes zones of its own, one after the other."""

    def __init__(self, server, number):
        self.server = server
        self.random = random.Random(number)
        self.names = [f"z{i}.c{number}" for i in range(ZONES)]
        # The pattern of each, None: it is not there; several: nobody said.
        self.may_be = {name: {None} for name in self.names}
        self.wrong = []
        self.turns = self.told = 0
        self.enough = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def ask(self, *words):
        """The answer; "" if it was lost."""
        try:
            return control.say(self.server,
                               f"NSDCT1 {' '.join(words)}\n".encode())
        except OSError:
            return ""

    def turn(self):
        name = self.random.choice(self.names)
        verb = self.random.choice(["addzone", "delzone", "changezone"])
        pattern = self.random.choice(["p", "q", "longer"])
        text = self.ask(verb, name, *([] if verb == "delzone" else [pattern]))
        before = self.may_be[name]
        after = {None} if verb == "delzone" else {pattern}
        if text.startswith("warning zone") and None in before:
            self.may_be[name] = {None}
        elif "already exists" in text and before != {None}:
            self.may_be[name] = before - {None}
        elif text.endswith("ok\n"):
            self.may_be[name] = after
        elif text == "" or "is being ended" in text:
            self.may_be[name] = before | after
            time.sleep(0.01)
            return
        else:
            self.wrong.append((verb, name, pattern, before, text))
        self.told += 1

    def run(self):
        while self.turns < TURNS or not self.enough.is_set():
            self.turns += 1
            self.turn()


def listed(server):
    """The pattern of each zone."""
    path = server.directory / "zone.list"
    words = [line.split() for line in path.read_text().splitlines()]
    return {line[1]: line[2] for line in words if line[0] == "add"}


def agree(server, names):
    there = listed(server)
    serials = {None: None, "p": 3, "longer": 3, "q": 7}
    return all(server.serial(name) == serials[there.get(name)]
               for name in names)


@pytest.mark.parametrize("role", [None, "loader", "xfrd"])
def test_what_clients_are_told_is_so(server, role):
    clients = [Client(server, i) for i in range(CLIENTS)]
    for client in clients:
        client.thread.start()
    for _ in range(KILLS if role else 0):
        pid = server.kill(role)
        server.wait_replaced(role, pid)
        wait_for("xfrd", lambda: control.ask(server, "status")[0] == 0)
    for client in clients:
        client.enough.set()
        client.thread.join()
        assert client.wrong == []
        assert role == "xfrd" or client.told == client.turns
    names = [name for client in clients for name in client.names]
    wait_for("an agreement", lambda: agree(server, names))
    there = listed(server)
    for client in clients:
        for name in client.names:
            assert there.get(name) in client.may_be[name]


def known(server):
    """The zones that xfrd knows, with their patterns; None: of nsd.conf."""
    lines = control.ask(server, "listzones")[1].splitlines()
    return {name: pattern or None for name, _, pattern in
            (line.partition("\t") for line in lines)}


def reconfigure(server, base, zones):
    """nsd.conf has these zones, too. The answer may be lost."""
    server.extra = base + "".join(
        f'zone:\n\tname: {zone}\n\tzonefile: "some.zone"\n'
        for zone in zones)
    server.write_config()
    return control.ask(server, "reconfig")


@pytest.mark.parametrize("role", ["loader", "xfrd"])
def test_what_clients_are_told_is_so_beside_reconfigs(server, role):
    """A process dies while the zones of nsd.conf are on their way."""
    base = server.extra
    clients = [Client(server, i) for i in range(CLIENTS)]
    for client in clients:
        client.thread.start()
    for i in range(2 * KILLS):
        # Each adds one and removes another.
        thread = threading.Thread(target=reconfigure, args=(
            server, base, [f"f{i}", f"f{i + 1}"]))
        thread.start()
        time.sleep(0.005 * i)
        pid = server.kill(role)
        server.wait_replaced(role, pid)
        thread.join()
        wait_for("xfrd", lambda: control.ask(server, "status")[0] == 0)
    for client in clients:
        client.enough.set()
        client.thread.join()
        assert client.wrong == []
    reconfigure(server, base, ["end"])
    wait_for("the last one", lambda: server.serial("end") == 3)
    names = [name for client in clients for name in client.names]
    wait_for("an agreement", lambda: agree(server, names))
    there = listed(server)
    for client in clients:
        for name in client.names:
            assert there.get(name) in client.may_be[name]
    assert known(server) == {"example": None, "end": None, **there}


def tell(server, may_be, verb, name, *pattern):
    """The answer; "" if there is none. may_be: zones that may be there."""
    if verb == "addzone":
        may_be.add(name)
    with control.connect(server) as client:
        client.settimeout(5)
        client.sendall(f"NSDCT1 {' '.join([verb, name, *pattern])}\n".encode())
        try:
            answer = client.recv(100).decode()
        except TimeoutError:
            return ""
    if verb == "delzone" and answer == "ok\n":
        may_be.remove(name)
    return answer


def test_main_has_heard_of_what_was_told_before_it_makes_another_xfrd(server):
    """Main reads all messages of a dead xfrd before it makes another one: more
    than in a turn, and so many that no more are answered."""
    main = server.kill("main", signal.SIGSTOP)
    may_be = set()
    # There is one at any time, and the next one takes the place in the list
    # of the one before it.
    for number in range(999):
        verbs = ["addzone", f"z{number:03}", "p"], ["delzone",
                                                    f"z{number - 1:03}"]
        told = [tell(server, may_be, *words) for words in verbs]
        if "" in told:
            break
    pid = server.kill("xfrd")
    os.kill(main, signal.SIGCONT)
    server.wait_replaced("xfrd", pid)
    wait_for("xfrd", lambda: control.ask(server, "status")[0] == 0)
    names = [f"z{i:03}" for i in range(number + 1)]
    wait_for("an agreement", lambda: agree(server, names))
    assert set(listed(server)) <= may_be
    assert "was cut short" not in server.read_log()
