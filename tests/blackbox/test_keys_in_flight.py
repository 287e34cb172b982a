"""Fault 59: the key of a transfer goes, or changes, while the transfer is under
way."""
import base64
import threading

import dns.message
import dns.tsigkeyring
import pytest

import control
from harness import DEADLINE, wait_for, zone_text
from scripted_primary import ScriptedPrimary, records, reply, soa, whole

SECRETS = {name: base64.b64encode(name.encode() * 20).decode()
           for name in ("old", "new", "other")}


class Transfer:
    """A transfer that was asked for, with a key or None."""

    def __init__(self, key, serial):
        self.key, self.serial = key, serial
        self.may_go_on = threading.Event()
        self.is_over = threading.Event()


class Primary(ScriptedPrimary):
    """Sends half a transfer, and the rest when it may. Its replies are signed
    as the query was."""

    def __init__(self):
        self.serial = 1
        self.transfers = []
        super().__init__(self.say, keyring=dns.tsigkeyring.from_text({
            "k.": SECRETS["old"], "n.": SECRETS["other"]}))

    def say(self, apex, rdtype, query):
        if rdtype == "SOA":
            yield reply(query, soa(apex, self.serial))
            return
        transfer = Transfer(
            query.keyname.to_text() if query.had_tsig else None, self.serial)
        rest = whole(query, apex, self.serial, "www A 192.0.2.7")
        first = reply(query, *rest.answer[:2])
        rest.answer = rest.answer[2:]
        yield first.to_wire(max_size=65535, multi=True)
        self.transfers.append(transfer)
        if transfer.serial > 1 and not transfer.may_go_on.wait(DEADLINE):
            return
        rest.request_mac = first.mac
        try:
            yield rest.to_wire(max_size=65535, multi=True,
                               tsig_ctx=getattr(first, "tsig_ctx", None))
        finally:
            transfer.is_over.set() # also if nobody is there to take it

    def wait_transfer(self, nth):
        """Waits for the nth transfer, which is then under way."""
        return wait_for("a transfer", lambda: len(self.transfers) > nth
                        and self.transfers[nth])


@pytest.fixture
def primary():
    with Primary() as made:
        yield made
        for transfer in made.transfers:
            transfer.may_go_on.set()


def write(server, primary, key, keys):
    server.extra = "".join(
        f"key:\n\tname: {name}\n\talgorithm: hmac-sha256\n\tsecret: {secret}\n"
        for name, secret in keys.items())
    server.extra += (
        "zone:\n\tname: s.test\n\tzonefile: s.test.zone\n"
        f"\trequest-xfr: AXFR 127.0.0.1@{primary.port} {key}\n"
        "\tmin-retry-time: 1\n\tmax-retry-time: 1\n\tmax-refresh-time: 1\n")
    control.config(server)


@pytest.fixture
def server(make_server, primary):
    """A server with serial 1, and transfer number 1, of serial 2, half way."""
    server = make_server(zones={"example": zone_text()},
                         options={"verbosity": 1, "tcp-timeout": 120})
    write(server, primary, "k", {"k": SECRETS["old"], "n": SECRETS["other"]})
    server.start()
    server.wait_serial("s.test", 1)
    primary.serial = 2
    primary.wait_transfer(1)
    return server


def check_end(server, transfer):
    """Half a transfer is not served; the whole is."""
    assert server.serial("s.test") == 1
    transfer.may_go_on.set()
    server.wait_serial("s.test", transfer.serial)
    assert server.answer("www.s.test", "A") == ["192.0.2.7"]
    log = server.read_log()
    assert "was killed by signal" not in log and "have died" not in log


def check_given_up(server, primary, key):
    """The transfer is asked for again with another key; the first one comes to
    its end, and is not taken any more."""
    first, other = primary.transfers[1], primary.wait_transfer(2)
    assert (first.key, other.key) == ("k.", key)
    first.may_go_on.set()
    assert first.is_over.wait(DEADLINE)
    assert control.ask(server, "zonestatus", "s.test")[0] == 0
    check_end(server, other)
    assert (first.serial, other.serial) == (2, 3)
    assert "update to serial 2 " not in server.read_log()


@pytest.mark.lasts(30)
@pytest.mark.parametrize("key, keys, seen", (
    ("NOKEY", {}, None),
    ("NOKEY", {"n": SECRETS["other"]}, None),
    ("n", {"n": SECRETS["other"]}, "n."),
))
def test_key_that_a_reconfig_removes(server, primary, key, keys, seen):
    primary.serial = 3
    write(server, primary, key, keys)
    code, text = control.ask(server, "reconfig")
    assert (code, text.splitlines()[-1]) == (0, "ok"), text
    check_given_up(server, primary, seen)
    assert '"k"' not in control.ask(server, "print_tsig")[1]


def test_reconfig_without_a_key_that_is_needed_changes_nothing(server,
                                                               primary):
    xfrd = server.role("xfrd")
    write(server, primary, "k", {})
    # The program would read the file itself.
    text = control.say(server, b"NSDCT1 reconfig\n")
    assert "could not be found" in text and "\nerror " in text, text
    check_end(server, primary.transfers[1])
    assert server.role("xfrd") == xfrd
    assert len(primary.transfers) == 2


def test_zone_gets_another_key_and_the_old_one_goes(server, primary):
    primary.serial = 3
    assert control.ask(server, "del_tsig", "k")[0] == 1
    assert control.ask(server, "assoc_tsig", "s.test", "n") == (0, "ok\n")
    assert control.ask(server, "del_tsig", "k") == (0, "ok\n")
    check_given_up(server, primary, "n.")


def test_secret_that_changes_leaves_the_transfer_alone(server, primary):
    """The transfer was asked for with the old secret, and is checked with
    it."""
    assert control.ask(server, "update_tsig", "k", SECRETS["new"]) == (
        0, "ok\n")
    check_end(server, primary.transfers[1])
    assert len(primary.transfers) == 2
