"""outgoing-interface: from which address primaries are asked, and others told."""
import pytest

from harness import wait_for, zone_text
from ports import free_port
from scripted_primary import ScriptedPrimary, reply, soa, whole

pytestmark = pytest.mark.plain

LOOPBACK_6 = "::1"


def counting():
    """A primary whose serial grows with each query for it, up to 4."""
    serial = [1]

    def answer(apex, rdtype, query):
        if rdtype == "SOA":
            serial[0] = min(serial[0] + 1, 4)
            return [reply(query, soa(apex, serial[0]))]
        return [whole(query, apex, serial[0])]
    return answer


def start(make_server, primaries, ours):
    """primaries: of the zone, and told of it."""
    lines = [f"\t{option}: {p.address}@{p.port} NOKEY\n"
             for p in primaries for option in ("request-xfr", "notify")]
    lines += [f"\toutgoing-interface: {address}\n" for address in ours]
    server = make_server(zones={"example": zone_text()}, extra=(
        "zone:\n\tname: s.test\n\tzonefile: s.test.zone\n"
        "\tmax-refresh-time: 1\n\tmax-retry-time: 1\n" + "".join(lines)))
    return server.start()


def seen(primary):
    """The requests seen, by transport, and their source addresses: {("SOA",
    "udp"): {(address, port)}}."""
    found = {}
    for what, over, address, port in list(primary.seen):
        found.setdefault((what, over), set()).add((address, port))
    return found


def addresses(primary):
    return {address for peers in seen(primary).values()
            for address, _ in peers}


ALL = {("SOA", "udp"), ("IXFR", "tcp"), ("AXFR", "tcp"), ("NOTIFY", "udp")}


def wait_all(primary):
    wait_for("questions of all kinds", lambda: ALL <= seen(primary).keys())


def test_all_that_is_sent_comes_from_it(make_server):
    with ScriptedPrimary(counting()) as primary:
        server = start(make_server, [primary], ["127.0.0.9"])
        wait_all(primary)
        server.wait_serial("s.test", 4)
        assert addresses(primary) == {"127.0.0.9"}


def test_without_one_the_system_chooses(make_server):
    with ScriptedPrimary(counting()) as primary:
        start(make_server, [primary], [])
        wait_all(primary)
        assert addresses(primary) == {"127.0.0.1"}


@pytest.mark.parametrize("ours, expected", (
    (["127.0.0.8", "127.0.0.9"], "127.0.0.8"),
    # Addresses that are not of this machine.
    (["192.0.2.1", "203.0.113.1", "127.0.0.9"], "127.0.0.9"),
    # An address of the other family.
    (["::1", "127.0.0.7", "127.0.0.9"], "127.0.0.7"),
))
def test_of_several_the_first_that_there_is(make_server, ours, expected):
    with ScriptedPrimary(counting()) as primary:
        server = start(make_server, [primary], ours)
        wait_all(primary)
        server.wait_serial("s.test", 4)
        assert addresses(primary) == {expected}
        assert "error: " not in server.read_log()


def test_if_there_is_none_nothing_is_sent(make_server):
    """No request is sent from another address: a primary may tell secondaries
    apart by it."""
    with ScriptedPrimary(counting()) as primary:
        server = start(make_server, [primary], ["192.0.2.1", "203.0.113.1"])
        server.wait_log("s.test: Could not tcp connect to .*: Cannot"
                        " assign requested address")
        assert primary.seen == []


def test_each_kind_of_primary_has_its_own(make_server):
    """The port shows that it is that one: there is one ::1 only."""
    port = free_port()
    with ScriptedPrimary(counting(), LOOPBACK_6) as six, \
            ScriptedPrimary(counting()) as four:
        server = start(make_server, [six, four],
                       [f"::1@{port}", "127.0.0.9"])
        server.wait_serial("s.test", 4)
        wait_for("notify of both", lambda: all(
            ("NOTIFY", "udp") in seen(p) for p in (six, four)))
        assert addresses(four) == {"127.0.0.9"}
        assert {peer for peers in seen(six).values() for peer in peers} \
            == {("::1", port)}
