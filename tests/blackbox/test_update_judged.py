"""Commands of operators while an update is judged by a verifier."""
import threading

import dns.query
import dns.rcode
import dns.update
import pytest

import control
from harness import DEADLINE, wait_for, zone_text
from ports import free_port
from test_candidates import Verifier

ZONES = ("verify:\n\tenable: yes\n\tport: {port}\n\tverifier: {path}\n"
         "\tverifier-feed-zone: no\n"
         "zone:\n\tname: example\n\tzonefile: example.zone\n"
         "\tallow-update: 127.0.0.0/8 NOKEY\n")


class Later(threading.Thread):
    """A call that ends later, and its result."""

    def __init__(self, call, *args):
        super().__init__(daemon=True)
        self.call, self.args, self.got = call, args, None
        self.start()

    def run(self):
        self.got = self.call(*self.args)

    def result(self):
        self.join(DEADLINE)
        assert not self.is_alive()
        return self.got


@pytest.fixture
def verifier(tmp_path):
    return Verifier(tmp_path / "verifier")


@pytest.fixture
def server(make_server, verifier):
    made = make_server(
        zones={}, extra=ZONES.format(port=free_port(), path=verifier.path),
        options={"server-count": 1, "verbosity": 2, "zonefiles-write": 0,
                 "replace-hung": "no"})
    made.zone_file("example").write_text(zone_text(1))
    return control.config(made).start()


def send(server, name):
    update = dns.update.UpdateMessage("example")
    update.add(name, 60, "TXT", "x")
    answer = dns.query.tcp(update, server.address, DEADLINE, server.port)
    return dns.rcode.to_text(answer.rcode())


def send_judged(server, verifier, name):
    """An update that waits for the verifier's word."""
    asked = len(verifier.asked())
    verifier.say("wait")
    sending = Later(send, server, name)
    verifier.wait_asked(asked + 1)
    return sending


# ---- the zone file ------------------------------------------------------------

@pytest.mark.parametrize("writes", (1, 2))
@pytest.mark.parametrize("verdict", ("0", "1"))
def test_file_that_is_written_meanwhile_is_known(server, verifier, writes,
                                                 verdict):
    """The file counts as the server's own, not as one changed by hand."""
    assert send(server, "u") == "NOERROR"
    sending = send_judged(server, verifier, "v")
    for _ in range(writes):
        assert control.ask(server, "write", "example") == (0, "ok\n")
    verifier.say(verdict)
    assert sending.result() == ("NOERROR" if verdict == "0" else "REFUSED")
    assert control.ask(server, "reload", "example") == (0, "ok\n")
    assert "trouble" not in control.ask(server, "status")[1]
    verifier.say("0")
    assert send(server, "w") == "NOERROR"
    assert control.ask(server, "write", "example") == (0, "ok\n")
    assert "by hand" not in server.read_log()
    path = server.zone_file("example")
    assert not path.with_name("example.zone.edited").exists()
    assert "w" in path.read_text()


# ---- freeze and thaw ----------------------------------------------------------

def is_frozen(server):
    return "frozen: yes" in control.ask(server, "zonestatus", "example")[1]


@pytest.mark.parametrize("zone, why", [
    (["example"], "the zone was thawed or removed meanwhile"),
    ([], "zones were thawed meanwhile, and are not frozen")])
def test_freeze_that_is_undone_while_it_waits(server, verifier, zone, why):
    sending = send_judged(server, verifier, "v")
    freezing = []
    for count in 1, 2:
        freezing.append(Later(control.ask, server, "freeze", *zone))
        wait_for("the command", lambda c=count: server.read_log().count(
            "control cmd:  freeze") == c)
    wait_for("frozen", lambda: is_frozen(server))
    assert control.ask(server, "thaw", *zone) == (0, "ok\n")
    assert not is_frozen(server)
    verifier.say("0")
    assert sending.result() == "NOERROR"
    for one in freezing:
        assert one.result() == (1, f"error {why}\n")
    assert not is_frozen(server)
    assert send(server, "w") == "NOERROR"
    assert control.ask(server, "freeze", *zone) == (0, "ok\n")
    assert is_frozen(server)
