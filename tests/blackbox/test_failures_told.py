"""Log lines at verbosity 0 of transfers and NOTIFYs that fail: an error with
address and port for each kind of failure, once; and a line once it is over."""
import re
import socket

import dns.message
import dns.name
import dns.rcode
import dns.tsigkeyring
import pytest

import control
from harness import wait_for, zone_text
from ports import free_port
from scripted_primary import ScriptedPrimary, error, reply, soa, whole

SECRET = "K2tf3TRjvQkVCmJF3/Z9vA=="
KEYS = dns.tsigkeyring.from_text({"k.": ("hmac-sha256", SECRET)})


def failing(code):
    return lambda query, _: error(query, code)


def unsigned(query, apex):
    query.keyring = query.tsig = None
    return [whole(query, apex, 7)]


def closed(_query, _apex):
    return [None]


def broken(query, apex):
    return [whole(query, apex, 7).to_wire()[:-40]]


# 2021-03-04T05:06:07Z
THEIR_CLOCK = 1614834367


def at_another_time(query, _):
    """RFC 8945 section 5.2.3: the clock of who refuses is in the TSIG."""
    message, = error(query, dns.rcode.NOTAUTH)
    message.use_tsig(KEYS, dns.name.from_text("k."), fudge=300,
                     tsig_error=dns.rcode.BADTIME,
                     other_data=THEIR_CLOCK.to_bytes(6, "big"))
    return [message]


class Primary(ScriptedPrimary):
    """Tells its SOA, and fails at transfers as long as `bad` is set."""

    def __init__(self, bad, soa_too=False, **more):
        self.bad, self.soa_too, self.rounds = bad, soa_too, 0
        super().__init__(self.tell, **more)

    def tell(self, apex, rdtype, query):
        self.rounds += rdtype != "SOA" or self.soa_too
        if self.bad and (rdtype != "SOA" or self.soa_too):
            return self.bad(query, apex)
        if rdtype == "SOA":
            return [reply(query, soa(apex, 7))]
        return [whole(query, apex, 7)]


def secondary(make_server, *primaries, key="NOKEY"):
    requests = "".join(f"\trequest-xfr: 127.0.0.1@{port} {key}\n"
                       for port in primaries)
    server = make_server(zones={"example": zone_text()}, extra=(
        f"key:\n\tname: k\n\talgorithm: hmac-sha256\n\tsecret: {SECRET}\n"
        f"zone:\n\tname: s.test\n\tzonefile: s.zone\n{requests}"
        "\tmin-retry-time: 1\n\tmax-retry-time: 1\n\tmax-refresh-time: 1\n"),
        options={"verbosity": 0})
    return control.config(server).start()


def lines(server):
    """The zone's log lines, without time and pid."""
    return [re.sub(r"^\[[^]]*\] nsd\[\d+\]: ", "", line)
            for line in server.read_log().splitlines() if "s.test" in line]


WAYS = {
    "refused": (failing(dns.rcode.REFUSED), "NOKEY",
                "xfrd: zone s.test received error code REFUSED from {}: "
                "it answers REFUSED"),
    "servfail": (failing(dns.rcode.SERVFAIL), "NOKEY",
                 "xfrd: zone s.test received error code SERVFAIL from {}: "
                 "it answers SERVFAIL"),
    "notauth": (failing(dns.rcode.NOTAUTH), "NOKEY",
                "xfrd: zone s.test received error code SERVER NOT"
                " AUTHORITATIVE FOR ZONE from {}: it answers NOTAUTH"
                " (server not authoritative for zone)"),
    "unsigned": (unsigned, "k",
                 "xfrd: zone s.test, from {}: no tsig in first packet of"
                 " reply with key k: the message is not signed"),
    "closed": (closed, "NOKEY",
               "xfrd: failed reading tcp the connection was closed too early:"
               " zone s.test, from {}"),
    "broken": (broken, "NOKEY",
               "xfrd: zone s.test bad transfer 0 from {}: the message is"
               " malformed"),
}


@pytest.mark.parametrize("way", WAYS)
def test_transfer_that_fails_is_told_once_and_its_end(make_server, way):
    bad, key, expected = WAYS[way]
    with Primary(bad, keyring=KEYS) as primary:
        server = secondary(make_server, primary.port, key=key)
        address = f"127.0.0.1@{primary.port}"
        wait_for("three rounds", lambda: primary.rounds >= 4)
        assert lines(server) == ["error: " + expected.format(address)]
        primary.bad = None
        server.wait_serial("s.test", 7)
        server.wait_log(f"notice: xfrd: zone s.test is well again, from"
                        f" {address}$")
        primary.bad = bad
        control.ask(server, "force_transfer", "s.test")
        server.wait_log("error: " + re.escape(expected.format(address)),
                        count=2)


def test_both_clocks_are_told_where_they_differ(make_server):
    with Primary(at_another_time, keyring=KEYS) as primary:
        server = secondary(make_server, primary.port, key="k")
        server.wait_log(
            f"error: xfrd: zone s.test, from 127.0.0.1@{primary.port}: tsig"
            r" error \(Bad Time\) with key k: it refuses our signature:"
            r" BADTIME, its clock says 2021-03-04T05:06:07Z and ours"
            r" \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")


@pytest.mark.parametrize("way", ("refused", "broken"))
def test_differences_that_are_followed_by_axfr_are_no_error(make_server, way):
    """The zone is well, whatever its differences are."""
    bad = WAYS[way][0]

    class Whole(Primary):
        serial = 7

        def tell(self, apex, rdtype, query):
            if rdtype == "IXFR":
                return bad(query, apex)
            if rdtype == "SOA":
                return [reply(query, soa(apex, self.serial))]
            return [whole(query, apex, self.serial)]

    with Whole(None) as primary:
        server = secondary(make_server, primary.port)
        server.wait_serial("s.test", 7)
        primary.serial = 8
        server.wait_serial("s.test", 8)
        assert lines(server) == [
            "info: zone s.test serial 0 is updated to 7",
            "info: zone s.test serial 7 is updated to 8"]


def test_primary_that_does_not_listen(make_server):
    """The failure is logged once, not for each attempt: SOA over UDP and TCP,
    IXFR."""
    with Primary(None) as primary:
        server = secondary(make_server, primary.port)
        server.wait_serial("s.test", 7)
        port = primary.port
    address = f"127.0.0.1@{port}"
    server.wait_log(f"error: s.test: Could not tcp connect to {address}:"
                    " Connection refused")

    def rounds():
        text = control.ask(server, "zonestatus", "s.test")[1]
        return re.search(r"failed-attempts: [3-9]", text)
    wait_for("three rounds", rounds)
    assert len([line for line in lines(server) if "error" in line]) == 1
    with Primary(None, port=port):
        server.wait_log(f"notice: xfrd: zone s.test is well again, from"
                        f" {address}$")


def test_primary_that_fails_beside_one_that_does_not(make_server):
    """A failing primary is one error, not one for each round."""
    with Primary(failing(dns.rcode.REFUSED), soa_too=True) as bad, \
            Primary(None, soa_too=True) as good:
        server = secondary(make_server, bad.port, good.port)
        server.wait_serial("s.test", 7)
        wait_for("rounds", lambda: bad.rounds >= 4 and good.rounds >= 4)
        text = control.ask(server, "zonestatus", "s.test")[1]
    assert [line for line in lines(server) if "error" in line] == [
        f"error: xfrd: zone s.test received error code REFUSED from"
        f" 127.0.0.1@{bad.port}: it answers REFUSED"]
    assert re.search(rf'\n\t\tfailing: "127.0.0.1@{bad.port}: it answers'
                     r' REFUSED, since \d+ sec"\n', text)
    assert f"failing: \"127.0.0.1@{good.port}" not in text
    assert re.search(rf'\n\t\tlast-transfer: "AXFR from 127.0.0.1@{good.port},'
                     r' \d+ bytes in \d+\.\d+ seconds, \d+ sec ago"\n', text)


def test_two_primaries_that_fail_are_told_once_each(make_server):
    """Two failing primaries take turns at being the last that failed."""
    with Primary(failing(dns.rcode.REFUSED), soa_too=True) as one, \
            Primary(failing(dns.rcode.SERVFAIL), soa_too=True) as other:
        server = secondary(make_server, one.port, other.port)
        wait_for("rounds", lambda: min(one.rounds, other.rounds) >= 4)
        assert sorted(lines(server)) == [
            "error: xfrd: zone s.test received error code REFUSED from"
            f" 127.0.0.1@{one.port}: it answers REFUSED",
            "error: xfrd: zone s.test received error code SERVFAIL from"
            f" 127.0.0.1@{other.port}: it answers SERVFAIL"]


# ---- NOTIFY


def told(make_server, port, tries=2):
    return control.config(make_server(zones={}, extra=(
        "zone:\n\tname: s.test\n\tzonefile: s.zone\n"
        f"\tnotify: 127.0.0.1@{port} NOKEY\n\tnotify-retry: {tries}\n"),
        options={"verbosity": 0}))


def write_zone(server, serial):
    (server.directory / "s.zone").write_text(zone_text(serial))
    assert control.ask(server, "reload", "s.test") == (0, "ok\n")


def errors(server):
    return [line for line in lines(server) if line.startswith("error")]


def test_target_that_does_not_listen(make_server):
    port = free_port()
    server = told(make_server, port)
    (server.directory / "s.zone").write_text(zone_text())
    server.start()
    expected = ("error: xfrd: zone s.test: max notify send count reached,"
                f" 127.0.0.1@{port} unreachable: Connection refused")
    server.wait_log(re.escape(expected))
    write_zone(server, 2)
    wait_for("its end", lambda: "notify:" not in control.ask(
        server, "zonestatus", "s.test")[1])
    assert errors(server) == [expected]
    trouble = ("trouble: zone s.test has a target of NOTIFY that does not"
               f" acknowledge it: 127.0.0.1@{port}, Connection refused\n")
    assert trouble in control.ask(server, "status")[1]
    with ScriptedPrimary(lambda apex, rdtype, query: [reply(query)],
                         port=port):
        write_zone(server, 3)
        server.wait_log(f"notice: xfrd: zone s.test: 127.0.0.1@{port}"
                        " acknowledges notify again")
    assert "trouble" not in control.ask(server, "status")[1]


@pytest.mark.parametrize("code, words", (
    ("REFUSED", "REFUSED"), ("NOTIMP", "NOT IMPL"),
    ("FORMERR", "FORMAT ERROR")))
def test_target_that_refuses(make_server, code, words):
    """The error is about the secondary, and logged once."""
    def refuse(_apex, _rdtype, query):
        return failing(dns.rcode.from_text(code))(query, None)

    with ScriptedPrimary(refuse) as target:
        server = told(make_server, target.port)
        (server.directory / "s.zone").write_text(zone_text())
        server.start()
        wait_for("its end", lambda: len(target.seen) >= 1
                 and "notify:" not in control.ask(
                     server, "zonestatus", "s.test")[1])
        told_of, = errors(server)
        assert told_of.startswith(
            f"error: xfrd: zone s.test: received notify response error {words}"
            f" from 127.0.0.1@{target.port}: it answers {code}")


def test_target_that_is_silent(make_server):
    """A silent target is logged only after notify-retry attempts."""
    with socket.socket(type=socket.SOCK_DGRAM) as target:
        target.bind(("127.0.0.1", 0))
        port = target.getsockname()[1]
        server = told(make_server, port)
        (server.directory / "s.zone").write_text(zone_text())
        server.start()
        server.wait_log("error: xfrd: zone s.test: max notify send count"
                        f" reached, 127.0.0.1@{port} unreachable: "
                        "(timeout|Connection timed out)")
        assert len(errors(server)) == 1
        target.setblocking(False)
        assert target.recv(4096) and target.recv(4096)
