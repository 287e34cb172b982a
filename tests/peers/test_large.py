"""RRsets that fill most of a message over TCP: all servers send the same."""
import contextlib
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




def in_some_case(name, number):
    """The name with capitals among its last letters, by the bits of number."""
    letters = list(name)
    for i in reversed(range(len(letters))):
        if letters[i].isalpha():
            letters[i] = letters[i].upper() if number & 1 else letters[i]
            number >>= 1
    return "".join(letters)


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
# Name servers that lie in the zone, and not in the child.
SIBLINGS = many(90, "sib NS s{}", "s{} A 192.0.2.1", "s{} AAAA 2001:db8::1")


# Suffixes that differ in case alone.
CASES = "".join("case PTR host{}.{}\n".format(n, in_some_case(
    "the.longer.it.is.the.sooner.the.message.is.full.", n))
    for n in range(1500))


@contextlib.contextmanager
def started(path, text, kinds):
    path.write_text(text)
    running = {}
    try:
        for kind in kinds:
            running[kind.name] = kind({ZONE: path}).start()
        yield running
    finally:
        for server in running.values():
            server.stop()


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    path = tmp_path_factory.mktemp("large") / f"{ZONE}.zone"
    text = APEX + "".join(RECORDS.values()) + REFERRAL + SIBLINGS
    with started(path, text, (servers.Ours, *servers.RIVALS)) as running:
        yield running


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


def test_names_in_all_cases(tmp_path):
    """BIND loads no RRset that takes more than 64 KB without compression."""
    kinds = [kind for kind in (servers.Ours, *servers.RIVALS)
             if kind.name != "bind"]
    with started(tmp_path / f"{ZONE}.zone", APEX + CASES, kinds) as running:
        ours, size = ask(running["ours"], "case", "PTR")
        assert len(ours.answer) == 1500
        for name, server in running.items():
            theirs, their_size = ask(server, "case", "PTR")
            assert theirs.answer == ours.answer, name
            assert size <= their_size + 100, name


def test_glue_of_many_siblings(running):
    """RFC 9471 section 2.2 asks for none. NSD and Knot send all."""
    ours, _ = ask(running["ours"], "www.sib", "A")
    assert "TC" not in ours.flags
    assert len(ours.authority) == 90
    assert len(ours.additional) == 180
    for name, server in running.items():
        theirs, _ = ask(server, "www.sib", "A")
        assert theirs.authority == ours.authority, name
        assert theirs.additional <= ours.additional, name
