"""Updates that secondaries pass on (update-forward), and that come back: ours to
each other. tests/peers has other servers as primaries."""
import socket

import dns.edns
import dns.message
import dns.query
import dns.rcode
import dns.update
import pytest

from harness import DEADLINE, zone_text

ZONE = "example"
COMES_BACK = "the update comes back: primaries pass it on to each other"
LOG_LINE = f"update for example from 127.0.0.1: SERVFAIL: {COMES_BACK}"


@pytest.fixture
def primary(make_server):
    return make_server("primary", extra=(
        f"zone:\n\tname: {ZONE}\n\tzonefile: z\n"
        "\tallow-update: 127.0.0.1 NOKEY\n"
        "\tprovide-xfr: 127.0.0.1 NOKEY\n"))


@pytest.fixture
def two(make_server, primary):
    """Two secondaries that have the zone."""
    (primary.directory / "z").write_text(zone_text(1))
    primary.start()
    servers = [make_server(name) for name in ("one", "other")]
    for server in servers:
        have_primary(server, primary).start()
        server.wait_serial(ZONE, 1)
    return servers


def have_primary(server, primary):
    server.extra = (f"zone:\n\tname: {ZONE}\n\tzonefile: copy\n"
                    f"\trequest-xfr: 127.0.0.1@{primary.port} NOKEY\n"
                    "\tallow-notify: 127.0.0.1 NOKEY\n"
                    "\tupdate-forward: 127.0.0.0/8 NOKEY\n")
    server.write_config()
    return server


def change(name="new"):
    update = dns.update.UpdateMessage(ZONE)
    update.use_edns(0)
    update.add(name, 60, "A", "192.0.2.9")
    return update


def send(server, update, source="127.0.0.1"):
    return dns.query.tcp(update, server.address, port=server.port,
                         timeout=DEADLINE, source=source)


def why(reply):
    return [option.text for option in reply.options
            if isinstance(option, dns.edns.EDEOption)]


def test_each_is_the_primary_of_the_other(two):
    """The update goes round once, and both say why it fails."""
    one, other = two
    for server, its_primary in (one, other), (other, one):
        server.stop()
        have_primary(server, its_primary).start()
    reply = send(one, change())
    assert reply.rcode() == dns.rcode.SERVFAIL
    assert why(reply) == [COMES_BACK]
    one.wait_log(LOG_LINE)
    passed_on = "update for example from 127.0.0.1: passed on to 127.0.0.1@"
    for server, its_primary in (one, other), (other, one):
        server.wait_log(f"{passed_on}{its_primary.port}: SERVFAIL")
        assert server.read_log().count("passed on to") == 1


def test_request_comes_back_behind_its_end(two):
    """From another host, it is one that has gone round; the client may send it
    again, from whatever port."""
    server = two[0]
    update = change()
    for _ in range(2):
        assert send(server, update).rcode() == dns.rcode.NOERROR
    reply = send(server, update, "127.0.0.2")
    assert reply.rcode() == dns.rcode.SERVFAIL
    assert why(reply) == [COMES_BACK]
    server.wait_log(LOG_LINE.replace("from 127.0.0.1", "from 127.0.0.2"))
    # Another request of that host is none that comes back.
    assert send(server, change("w2"), "127.0.0.2").rcode() == dns.rcode.NOERROR


def test_request_comes_back_while_it_is_under_way(two):
    """Address and port tell clients apart while the primary is silent."""
    server = two[0]
    update = change()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        server.stop()
        server.extra = server.extra.replace(
            "request-xfr: 127.0.0.1@",
            f"request-xfr: 127.0.0.1@{silent.getsockname()[1]} NOKEY\n"
            "\trequest-xfr: 127.0.0.1@", 1)
        server.write_config()
        server.start()
        with socket.create_connection((server.address, server.port)) as first:
            wire = update.to_wire()
            first.sendall(len(wire).to_bytes(2, "big") + wire)
            silent.settimeout(DEADLINE)
            asked = set()
            # Refreshes of the zone ask there, too.
            while update.id not in asked:
                connection, _ = silent.accept()
                with connection:
                    head = connection.recv(4, socket.MSG_WAITALL)
                    asked.add(int.from_bytes(head[2:], "big"))
                    if update.id in asked:
                        reply = send(server, update, "127.0.0.2")
            assert reply.rcode() == dns.rcode.SERVFAIL
            assert why(reply) == [COMES_BACK]
            # The next primary has the first one.
            first.settimeout(DEADLINE)
            octets = first.recv(14, socket.MSG_WAITALL)
            assert octets[2:4] == wire[:2]
            assert octets[5] & 15 == dns.rcode.NOERROR
