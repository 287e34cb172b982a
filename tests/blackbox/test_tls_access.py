"""Access over TLS: clients with certificates, and the versions by which zones
are transferred (RFC 9103)."""
import ssl

import dns.edns
import dns.message
import dns.query
import dns.rcode
import dns.rrset
import pytest

from certificates import Authority
from harness import LATE
from tls_client import Client, context_for

WWW = ["192.0.2.1"]
DATED = "Zone transfers over TLS need TLS 1.3"


def test_mutual(start_tls, authority, directory):
    server = start_tls(mutual=True)
    mine = authority.sign("client.example")
    with Client(server.auth_port, context_for(authority,
                                              client=mine)) as client:
        assert client.address() == WWW
    # Without one on the other port, as ever.
    with Client(server.tls_port, context_for(authority)) as client:
        assert client.address() == WWW
    stranger = Authority(directory / "other", "stranger")
    late = authority.sign("late.example", days=0)
    for own in (None, stranger.sign("client.example"), late):
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            context = context_for(authority, client=own, version=version)
            with pytest.raises((ssl.SSLError, EOFError, OSError)):
                with Client(server.auth_port, context) as client:
                    client.address()
    assert server.answer("www.example", "A") == WWW


def transfer(server, port, context, rdtype="AXFR"):
    with Client(port, context) as client:
        return client.ask("example", rdtype)


def refusal(reply):
    assert reply.rcode() == dns.rcode.REFUSED
    return [option.code for option in reply.options
            if option.otype == dns.edns.OptionType.EDE]


PROVIDE = """\
	allow-query: 192.0.2.7 NOKEY
	provide-xfr: 127.0.0.1 NOKEY down
tls-auth:
	name: down
	auth-domain-name: "client.example"
"""


def test_zone_for_clients_with_a_certificate(start_tls, authority, directory):
    """Fault 39, CVE-2026-12490: in plain, AXFR, IXFR and SOA are refused."""
    server = start_tls(mutual=True, more=PROVIDE)
    mine = context_for(authority, client=authority.sign("client.example"))
    assert len(transfer(server, server.auth_port, mine).answer) > 2
    assert transfer(server, server.auth_port, mine, "SOA").answer
    # No more than that: allow-query does not ask for certificates.
    assert transfer(server, server.auth_port, mine,
                    "NS").rcode() == dns.rcode.REFUSED
    other = context_for(authority, client=authority.sign("other.example"))
    plain = context_for(authority)
    for rdtype in ("AXFR", "SOA"):
        request = dns.message.make_query("example", rdtype, use_edns=0)
        for reply in (transfer(server, server.auth_port, other, rdtype),
                      transfer(server, server.tls_port, plain, rdtype)):
            assert reply.rcode() == dns.rcode.REFUSED
        assert refusal(dns.query.tcp(request, "127.0.0.1", LATE,
                                     server.port)) == [18]
    for rdtype in ("IXFR", "SOA"):
        request = dns.message.make_query("example", rdtype, use_edns=0)
        if rdtype == "IXFR":
            request.authority.append(dns.rrset.from_text(
                "example.", 0, "IN", "SOA", ". . 0 0 0 0 0"))
        for ask in (dns.query.tcp, dns.query.udp):
            assert refusal(ask(request, "127.0.0.1", LATE,
                               server.port)) == [18]


def test_tls_auth_xfr_only(start_tls, authority):
    server = start_tls(mutual=True, more="\tprovide-xfr: 127.0.0.1 NOKEY\n",
                       **{"tls-auth-xfr-only": "yes"})
    mine = context_for(authority, client=authority.sign("client.example"))
    assert len(transfer(server, server.auth_port, mine).answer) > 2
    assert transfer(server, server.tls_port, context_for(
        authority)).rcode() == dns.rcode.REFUSED
    request = dns.message.make_query("example", "AXFR", use_edns=0)
    assert refusal(dns.query.tcp(request, "127.0.0.1", LATE,
                                 server.port)) == [18]
    # Other questions are answered everywhere.
    assert server.answer("www.example", "A") == WWW


def ask_transfer(client, rdtype):
    request = dns.message.make_query("example", rdtype, use_edns=0)
    if rdtype == "IXFR":
        request.authority.append(dns.rrset.from_text(
            "example.", 0, "IN", "SOA", ". . 0 0 0 0 0"))
    client.send(request)
    return client.receive()


@pytest.mark.parametrize("mutual", [False, True])
def test_zones_need_tls_1_3(start_tls, authority, mutual):
    """RFC 9103. All else is answered."""
    server = start_tls(mutual=mutual, more="\tprovide-xfr: 127.0.0.1 NOKEY\n")
    mine = authority.sign("client.example") if mutual else None
    port = server.auth_port if mutual else server.tls_port
    old, new = (context_for(authority, client=mine, version=version)
                for version in (ssl.TLSVersion.TLSv1_2,
                                ssl.TLSVersion.TLSv1_3))
    for rdtype in ("AXFR", "IXFR"):
        with Client(port, old) as client:
            reply = ask_transfer(client, rdtype)
            assert refusal(reply) == [18] and not reply.answer
            assert [option.text for option in reply.options] == [DATED]
            assert client.address() == WWW
            assert client.ask("example", "SOA").answer
        with Client(port, new) as client:
            assert len(ask_transfer(client, rdtype).answer) > 2
