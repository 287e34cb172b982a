"""A server behind a real proxy: dnsdist, which speaks PROXYv2 over UDP and
TCP. Access lists, transfers and rate limits are about its clients (faults
40)."""
import re
import socket

import dns.flags
import dns.message
import dns.query
import dns.rcode
import pytest

import servers
from ports import free_port

ZONE = """\
$TTL 3600
@	IN SOA ns host 1 7200 3600 1209600 300
	IN NS ns
ns	IN A 192.0.2.53
"""
# Of zone few.test; that of dnsdist itself is 127.0.0.1.
MAY_ASK, MAY_TAKE, MAY_NOT = "127.0.0.2", "127.0.0.3", "127.0.0.4"
LIMIT = 5
TIMEOUT = 60


class Behind(servers.Ours):
    """Our server, with a socket that is for dnsdist alone."""

    def __init__(self, zones):
        super().__init__(zones)
        self.proxied = free_port()
        self.more = [
            "server:", f"\tip-address: 127.0.0.1@{self.proxied}",
            f"\tproxy-protocol-port: {self.proxied}",
            "\tallow-proxy: 127.0.0.1", f"\trrl-ratelimit: {LIMIT}",
            "\trrl-slip: 1", "zone:", "\tname: few.test",
            f'\tzonefile: "{zones["example.test"]}"',
            f"\tallow-query: {MAY_ASK} NOKEY",
            f"\tprovide-xfr: {MAY_TAKE} NOKEY"]


@pytest.fixture(scope="module")
def behind(tmp_path_factory):
    zone = tmp_path_factory.mktemp("dnsdist") / "zone"
    zone.write_text(ZONE)
    server = Behind({"example.test": zone}).start()
    proxy = servers.Dnsdist({"example.test": zone}, server.proxied)
    try:
        yield server, proxy.start()
    finally:
        proxy.stop()
        server.stop()


def ask(proxy, source, name, rdtype="A", tcp=False):
    query = dns.message.make_query(name, rdtype)
    by = dns.query.tcp if tcp else dns.query.udp
    return by(query, "127.0.0.1", TIMEOUT, proxy.port, source)


@pytest.mark.parametrize("tcp", [False, True], ids=["udp", "tcp"])
def test_access_is_of_the_client(behind, tcp):
    _, proxy = behind
    for source in MAY_ASK, MAY_TAKE, MAY_NOT, "127.0.0.1":
        assert ask(proxy, source, "ns.example.test", tcp=tcp).answer
        reply = ask(proxy, source, "ns.few.test", tcp=tcp)
        assert (reply.rcode() == dns.rcode.NOERROR) == (source == MAY_ASK)


def test_transfer_is_for_the_client(behind):
    _, proxy = behind
    for source in MAY_ASK, MAY_TAKE, MAY_NOT, "127.0.0.1":
        reply = ask(proxy, source, "few.test", "AXFR", tcp=True)
        assert (len(reply.answer) > 2) == (source == MAY_TAKE)
        assert (reply.rcode() == dns.rcode.REFUSED) == (source != MAY_TAKE)


def cut_short(proxy, source, count):
    """Of so many answers, which all come."""
    cut = 0
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.bind((source, 0))
        client.settimeout(TIMEOUT)
        client.connect(("127.0.0.1", proxy.port))
        for number in range(count):
            client.send(dns.message.make_query(
                f"no{number}.example.test", "A", use_edns=False).to_wire())
        for _ in range(count):
            reply = dns.message.from_wire(client.recv(4096))
            cut += bool(reply.flags & dns.flags.TC)
    return cut


def test_limits_are_of_the_client(behind):
    server, proxy = behind
    assert cut_short(proxy, "127.0.1.1", 100) > 50
    # Another one behind the same proxy.
    assert cut_short(proxy, "127.0.2.1", LIMIT) == 0
    log = (server.dir / "log").read_text()
    assert re.search(r"ratelimit block example\.test\. type nxdomain target "
                     r"127\.0\.1\.0/24 query 127\.0\.1\.1 A", log)
    assert "target 127.0.0.0/24" not in log
