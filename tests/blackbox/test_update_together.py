"""Updates of clients that wait together for the loader: repeats of one of them
(RFC 2136 section 5.1), and one whose version the loader refuses, or dies of."""
import json
import signal
import socket

import dns.edns
import dns.message
import dns.rcode
import dns.update
import pytest

import control
from harness import DEADLINE, wait_for, zone_text

ZONES = ("zone:\n\tname: open\n\tzonefile: open.zone\n"
         "\tallow-update: 127.0.0.0/8 NOKEY\n{more}")
# A digest that no zone has (RFC 8976 section 2).
WRONG = "1 1 1 " + "00" * 48


@pytest.fixture(name="make_open")
def make_open_fixture(make_server):
    def make_open(more=""):
        server = make_server(zones={}, extra=ZONES.format(more=more),
                             options={"server-count": 1, "verbosity": 1,
                                      "replace-hung": "no"})
        server.zone_file("open").write_text(zone_text(1))
        return control.config(server).start()
    return make_open


def change(name, rdtype="A", rdata="192.0.2.9"):
    """An update that cannot be made twice."""
    update = dns.update.UpdateMessage("open")
    update.use_edns(0)
    update.absent(name, rdtype)
    update.add(name, 60, rdtype, rdata)
    return update


def waiting(server):
    code, text = control.ask(server, "-j", "zonestatus", "open")
    assert code == 0, text
    return json.loads(text)[0]["updates_waiting"]


class Client:
    """A socket; what is sent over it, and what comes back."""

    def __init__(self, server):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.settimeout(DEADLINE)
        self.socket.connect((server.address, server.port))

    def send(self, wire):
        self.socket.send(wire)

    def receive(self):
        return dns.message.from_wire(self.socket.recv(65535))


def held(server):
    """Stops the loader, and has it hold an update in hand."""
    loader = server.kill("loader", signal.SIGSTOP)
    first = Client(server)
    first.send(change("first").to_wire())
    wait_for("the first update", lambda: waiting(server) == 1)
    return loader, first


def test_repeat_is_carried_out_once(make_open):
    server = make_open()
    _, first = held(server)
    client, wire = Client(server), change("again").to_wire()
    for _ in range(3):
        client.send(wire)
    # Another client's, with the same octets, is none.
    other = Client(server)
    other.send(wire)
    wait_for("updates", lambda: waiting(server) == 3)
    server.kill("loader", signal.SIGCONT)
    assert first.receive().rcode() == dns.rcode.NOERROR
    assert {client.receive().rcode() for _ in range(3)} == {0}
    assert other.receive().rcode() == dns.rcode.YXRRSET
    assert server.serial("open") == 3
    # Behind the answer it is a new request.
    client.send(wire)
    assert client.receive().rcode() == dns.rcode.YXRRSET


@pytest.mark.parametrize("guilty", [{3}, {0, 8}, set(range(9))])
def test_update_that_is_not_served_is_refused_alone(make_open, guilty):
    """A wrong digest is found in the loader, of a whole batch."""
    server = make_open("\tzonemd-verify: yes\n")
    _, first = held(server)
    clients = [Client(server) for _ in range(9)]
    for number, client in enumerate(clients):
        client.send((change("@", "ZONEMD", WRONG) if number in guilty
                     else change(f"n{number}")).to_wire())
        wait_for("the update", lambda n=number: waiting(server) == n + 2)
    server.kill("loader", signal.SIGCONT)
    assert first.receive().rcode() == dns.rcode.NOERROR
    for number, client in enumerate(clients):
        reply = client.receive()
        if number in guilty:
            assert reply.rcode() == dns.rcode.REFUSED
            text, = (o.text for o in reply.options
                     if isinstance(o, dns.edns.EDEOption))
            assert text.startswith("the zone would not be served with it: ")
        else:
            assert reply.rcode() == dns.rcode.NOERROR
    assert server.serial("open") == 2 + len(clients) - len(guilty)
    for number in range(len(clients)):
        assert (server.rcode(f"n{number}.open", "A") == "NXDOMAIN") \
            == (number in guilty)
    # Later updates go on as before.
    client = Client(server)
    client.send(change("last").to_wire())
    assert client.receive().rcode() == dns.rcode.NOERROR


@pytest.mark.parametrize("word, outcomes", [
    ("die-after", {dns.rcode.NOERROR}),  # the second finds it done
    ("die-third", {dns.rcode.NOERROR}),  # the last one that may has done it
    # A loader that fills another store reads the journal, and does not die.
    ("die-before", {dns.rcode.NOERROR, dns.rcode.SERVFAIL})])
def test_loaders_die_of_an_update(make_server, word, outcomes):
    """An update that is served is not refused, and one that is not is."""
    server = make_server(zones={}, extra=ZONES.format(more=""), updates=True,
                         options={"server-count": 1, "verbosity": 1})
    server.zone_file("open").write_text(zone_text(1))
    control.config(server).start()
    client = Client(server)
    client.send(change("deadly", "TXT", word).to_wire())
    reply = client.receive()
    assert reply.rcode() in outcomes, reply
    is_done = reply.rcode() == dns.rcode.NOERROR
    assert server.serial("open") == 1 + is_done
    client.send(change("next").to_wire())
    assert client.receive().rcode() == dns.rcode.NOERROR
    assert server.serial("open") == 2 + is_done
    assert (server.rcode("deadly.open", "TXT") == "NOERROR") == is_done
    server.stop()
    server.start()
    assert server.serial("open") == 2 + is_done
