"""The RCODE and EDE (RFC 8914) of refusals: ours beside the real BIND, Knot
and NSD. REFUSALS is the table of it."""
import dns.message
import dns.opcode
import dns.rrset
import pytest

import servers
from test_requests import ask, outcome

ZONE = """\
$TTL 3600
@	IN SOA ns.open. host 1 7200 3600 1209600 300
	IN NS ns.open.
ns	IN A 192.0.2.1
"""


class ClosedBind(servers.Bind):
    def command(self):
        made = super().command()
        conf = self.dir / "named.conf"
        conf.write_text(conf.read_text().replace(
            "recursion no;", "recursion no; allow-transfer { none; };") + (
            f'zone "closed." {{ type primary; file "{self.zones["open."]}";'
            " allow-query { none; }; };\n"))
        return made


class ClosedKnot(servers.Knot):
    def command(self):
        made = super().command()
        conf = self.dir / "knot.conf"
        conf.write_text(conf.read_text().replace(
            "template:", "mod-queryacl:\n  - id: none\n"
            "    address: 192.0.2.7\ntemplate:") + (
            f'  - domain: "closed."\n    file: "{self.zones["open."]}"\n'
            "    module: mod-queryacl/none\n"))
        return made


def closed_nsd(kind):
    class Closed(kind):
        def __init__(self, zones):
            super().__init__(zones)
            self.more = ["zone:", "\tname: closed.",
                         f'\tzonefile: "{zones["open."]}"',
                         "\tallow-query: 192.0.2.7 NOKEY",
                         "zone:", "\tname: absent.",
                         "\tzonefile: absent.zone"]
    return Closed


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    zone = tmp_path_factory.mktemp("refusals") / "open.zone"
    zone.write_text(ZONE)
    started = {}
    try:
        for kind in (closed_nsd(servers.Ours), ClosedBind, ClosedKnot,
                     closed_nsd(servers.Nsd)):
            server = kind({"open.": zone})
            started[server.name] = server
            server.start()
        yield started
    finally:
        for server in started.values():
            server.stop()


def query(name, rdtype, rdclass="IN", opcode=dns.opcode.QUERY):
    message = dns.message.make_query(name, rdtype, rdclass, use_edns=0)
    message.flags = message.flags & ~0x7800 | opcode << 11
    if rdtype == "IXFR":
        message.authority.append(dns.rrset.from_text(
            name, 0, "IN", "SOA", ". . 0 0 0 0 0"))
    return message


# The request, over TCP or not; the replies of ours, BIND, Knot and NSD.
REFUSALS = {
    "a name of no zone": (
        query("elsewhere.", "A"), False,
        "REFUSED EDE20", "REFUSED", "REFUSED EDE20", "REFUSED EDE20"),
    "a name of a zone that is not for us": (
        query("ns.closed.", "A"), False,
        "REFUSED EDE18", "REFUSED EDE18", "NOTAUTH", "REFUSED EDE18"),
    "its SOA": (
        query("closed.", "SOA"), False,
        "REFUSED EDE18", "REFUSED EDE18", "NOTAUTH", "REFUSED EDE18"),
    "a transfer": (
        query("open.", "AXFR"), True,
        "REFUSED EDE18", "REFUSED EDE18", "NOTAUTH", "REFUSED EDE18"),
    "differences": (
        query("open.", "IXFR"), True,
        "REFUSED EDE18", "REFUSED EDE18", "NOTAUTH", "REFUSED EDE18"),
    "differences, over UDP": (
        query("open.", "IXFR"), False,
        "REFUSED EDE18", "REFUSED EDE18", "NOTAUTH", "REFUSED EDE18"),
    "a transfer of no zone": (
        query("elsewhere.", "AXFR"), True,
        "NOTAUTH EDE20", "NOTAUTH", "NOTAUTH", "NOTAUTH"),
    "a transfer over UDP": (
        query("open.", "AXFR"), False,
        "NOTIMP EDE21", "REFUSED EDE18", "NOTIMP", "NOTIMP"),
    # BIND takes it as one that is of no use: it is primary itself.
    "a NOTIFY": (
        query("open.", "SOA", opcode=dns.opcode.NOTIFY), False,
        "REFUSED EDE18", "NOERROR AA", "NOTAUTH", "REFUSED"),
    "a NOTIFY of no zone": (
        query("elsewhere.", "SOA", opcode=dns.opcode.NOTIFY), False,
        "NXDOMAIN EDE20", "NOTAUTH", "NOTAUTH", "NXDOMAIN"),
    # Of what we do not know, only the header is looked at.
    "an UPDATE": (
        query("open.", "SOA", opcode=dns.opcode.UPDATE), False,
        "NOTIMP", "REFUSED", "NOTAUTH", "NOTIMP"),
    "an unknown opcode": (
        query("open.", "SOA", opcode=dns.opcode.STATUS), False,
        "NOTIMP", "NOTIMP", "NOTIMP", "NOTIMP"),
    "another class": (
        query("open.", "A", "HS"), False,
        "REFUSED EDE21", "REFUSED EDE18", "REFUSED", "REFUSED EDE21"),
    # The others have no such zone.
    "a zone that has not been loaded": (
        query("absent.", "SOA"), False,
        "SERVFAIL EDE14", "REFUSED", "REFUSED EDE20", "SERVFAIL EDE14"),
}


@pytest.mark.parametrize("what", REFUSALS)
def test_refusals(running, what):
    message, tcp, *expected = REFUSALS[what]
    wire = message.to_wire()
    got = [outcome(ask(running[name], wire, tcp))
           for name in ("ours", "bind", "knot", "nsd")]
    assert got == expected
