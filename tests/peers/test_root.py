"""Answers of a root zone, where the owner takes one octet (RFC 1035 section
4.1.4), and those to who asks for its name servers."""
import contextlib
import socket

import dns.name
import dns.rdatatype
import pytest

import compare
import conftest
import servers
import signers

# As the root's: two signatures make a denial of some 700 octets.
SIGNING = signers.Signing("bind", "RSASHA256", 2048)
ADDRESSES = {("a.nic.", "A"), ("a.nic.", "AAAA"), ("b.nic.", "A")}


@contextlib.contextmanager
def started(zones, minimal=False):
    """{server name: running server}"""
    with contextlib.ExitStack() as stack:
        running = {}
        for kind in (servers.Ours, *servers.RIVALS):
            server = kind(zones)
            server.minimal = minimal
            running[kind.name] = stack.enter_context(servers.started(server))
        yield running


def ask(server, name, rdtype, how):
    """The octets of the reply, and what it says."""
    wire = compare.make_query(0x4711, dns.name.from_text(name),
                              dns.rdatatype.from_text(rdtype), how)
    where = ("127.0.0.1", server.port)
    if how.tcp:
        with socket.create_connection(where, 20) as sock:
            sock.sendall(len(wire).to_bytes(2, "big") + wire)
            with sock.makefile("rb") as stream:
                reply = stream.read(int.from_bytes(stream.read(2), "big"))
        return len(reply), compare.read_reply(reply)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(20)
        sock.connect(where)
        sock.send(wire)
        reply = sock.recv(65535)
    return len(reply), compare.read_reply(reply)


@pytest.fixture(scope="module")
def signed(tmp_path_factory):
    directory = tmp_path_factory.mktemp("root")
    path = directory / "root.zone"
    path.write_text(conftest.zones_of("root")["."].read_text())
    path = signers.sign(SIGNING, ".", path, directory)
    with started({".": path}) as running:
        yield running


@pytest.mark.parametrize("name, rdtype", [
    (".", "DS"), (".", "AAAA"), ("absent.", "A"), (".", "DNSKEY")])
def test_no_answer_is_longer_than_those_of_others(signed, name, rdtype):
    sizes = {kind: ask(server, name, rdtype, compare.How(
        dnssec=True, tcp=True))[0] for kind, server in signed.items()}
    print(name, rdtype, sizes)
    # BIND alone makes some of them 2 octets shorter.
    assert sizes["ours"] <= min(sizes["knot"], sizes["nsd"])
    how = compare.How(dnssec=True, size=sizes["ours"])
    assert "TC" not in ask(signed["ours"], name, rdtype, how)[1].flags
    how = compare.How(dnssec=True, size=sizes["ours"] - 1)
    assert "TC" in ask(signed["ours"], name, rdtype, how)[1].flags


@pytest.mark.parametrize("how", [
    compare.How(size=0), compare.How(size=512), compare.How(size=1232),
    compare.How(tcp=True)], ids=str)
def test_name_servers_come_with_addresses_though_responses_are_minimal(
        how, tmp_path):
    """RFC 9609 section 4.2: a resolver need not ask for addresses then."""
    with started(conftest.zones_of("root"), minimal=True) as running:
        _, ours = ask(running["ours"], ".", "NS", how)
        assert {(row[0], row[2]) for row in ours.additional} == ADDRESSES
        for rdtype in "NS", "SOA", "TXT", "MX":
            _, ours = ask(running["ours"], ".", rdtype, how)
            for kind, server in running.items():
                if (kind, rdtype) != ("bind", "NS"):  # without addresses
                    assert ask(server, ".", rdtype, how)[1] == ours, kind
