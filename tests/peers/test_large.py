"""RRsets that fill most of a message over TCP: all servers send the same."""
import socket

import dns.message
import pytest

import compare
import servers

ZONE = "large.test"
APEX = f"""$TTL 3600
@ SOA ns host 1 7200 3600 1209600 300
@ NS ns
ns A 192.0.2.1
"""


def many(count, *lines):
    return "".join(f"{line.format(n)}\n" for n in range(count)
                   for line in lines)


# The names of each owner have other suffixes, or suffixes that stand as far
# behind as pointers reach.
RECORDS = {
    "ptr": many(1800, "ptr PTR host{}.some.where.else."),
    "mx": many(1500, "mx MX 10 mx{}.mail"),
    "zones": many(900, "zones PTR www.d{}.example.",
                  "zones PTR xxx.d{}.example."),
    "link": "link CNAME ptr\n",
}
REFERRAL = many(900, "sub NS n{}.sub", "n{}.sub A 192.0.2.1",
                "n{}.sub AAAA 2001:db8::1")


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    path = tmp_path_factory.mktemp("large") / f"{ZONE}.zone"
    path.write_text(APEX + "".join(RECORDS.values()) + REFERRAL)
    started = {}
    try:
        for kind in (servers.Ours, *servers.RIVALS):
            started[kind.name] = kind({ZONE: path}).start()
        yield started
    finally:
        for server in started.values():
            server.stop()


def ask(server, owner, rdtype):
    """The answer, and the octets of the message."""
    query = dns.message.make_query(f"{owner}.{ZONE}", rdtype, use_edns=0)
    query = query.to_wire()
    with socket.create_connection(("127.0.0.1", server.port), 20) as sock:
        sock.sendall(len(query).to_bytes(2, "big") + query)
        with sock.makefile("rb") as stream:
            wire = stream.read(int.from_bytes(stream.read(2), "big"))
    return compare.read_reply(wire), len(wire)


@pytest.mark.parametrize("owner", RECORDS)
def test_large_rrsets_are_sent_whole(running, owner):
    rdtype = "MX" if owner == "mx" else "PTR"
    ours, size = ask(running["ours"], owner, rdtype)
    assert "TC" not in ours.flags
    for name, server in running.items():
        theirs, their_size = ask(server, owner, rdtype)
        assert theirs.answer == ours.answer, name
        # All compress about as well. Knot finds names within names, too.
        assert size <= their_size + 100, name


def test_large_referrals_have_their_glue(running):
    ours, _ = ask(running["ours"], "www.sub", "A")
    assert "TC" not in ours.flags
    assert len(ours.authority) == 900
    assert len(ours.additional) == 1800
    for name, server in running.items():
        theirs, _ = ask(server, "www.sub", "A")
        assert theirs.authority == ours.authority, name
        assert theirs.additional <= ours.additional, name
