"""RDATA of every type: what real programs make of the rows of rrtypes.txt.

Each row of tests/data/rrtypes.txt goes through our parser and through those
of dnspython, BIND, ldns, NSD and Knot. Where all is well the octets on the
wire are the same, and what we refuse they refuse. DIFFERENCES names each row
where that is not so, and what decides.
"""
import dataclasses
import os
import pathlib
import re
import shutil
import struct
import subprocess

import dns.exception
import dns.name
import dns.rdata
import dns.rdataclass
import dns.rdatatype
import pytest

pytestmark = pytest.mark.lasts(20)

ROWS = pathlib.Path(__file__).parent.parent / "data" / "rrtypes.txt"
ORIGIN = "example.com."


@dataclasses.dataclass(frozen=True)
class Row:
    kind: str  # "": fine, "!": refused, "?": a value breaks a rule
    doubt: bool  # fine with a warning: a peer may refuse it
    rrtype: str
    text: str
    wire: str  # hexadecimal, of a fine row

    def __str__(self):
        return f"{self.rrtype} {self.text}"


def read_rows():
    for line in ROWS.read_text().splitlines():
        if line.startswith("#"):
            continue
        rrtype, text, third, _ = line.split("\t")
        kind = rrtype[0] if rrtype[0] in "!?" else ""
        wire = "" if kind or third == "-" else third
        yield Row(kind, rrtype[0] == "~", rrtype.lstrip("!?~"), text, wire)


class Refused(Exception):
    """The peer does not accept the text."""


class Unknown(Exception):
    """The peer does not know the type; nothing to compare."""


class Ours:
    """The tool of our tree, kept running; one answer a line."""

    def __init__(self):
        build = pathlib.Path(os.environ.get("NSD_BUILD", "build")).resolve()
        self.process = subprocess.Popen(
            [build / "tests" / "lib" / "rdata_tool"], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True, encoding="latin-1")

    def wire(self, rrtype, text):
        self.process.stdin.write(f"{rrtype} {text}\n")
        self.process.stdin.flush()
        word, rest = self.process.stdout.readline().split(" ", 1)
        if word not in ("ok", "doubt"):
            raise Refused(rest)
        return rest.split(" ", 1)[0].replace("-", "")

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


OURS = None


@pytest.fixture(scope="module")
def ours():
    global OURS
    OURS = Ours()
    yield OURS
    OURS.close()


def run(command, text=None, **more):
    return subprocess.run(command, input=text, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, encoding="latin-1",
                          timeout=120, **more)


def unknown_form(text):
    """The octets of RFC 3597 text, or None if it is none."""
    found = re.search(r"\\# (\d+) ?([0-9A-Fa-f ]*)", text)
    return found and found[2].replace(" ", "").lower()


class DnsPython:
    def wire(self, row, directory):
        try:
            rrtype = dns.rdatatype.from_text(row.rrtype)
        except dns.rdatatype.UnknownRdatatype as e:
            raise Unknown from e
        if (dns.rdata.get_rdata_class(dns.rdataclass.IN, rrtype)
                is dns.rdata.GenericRdata
                and not row.text.startswith("\\#")):
            raise Unknown
        try:
            rdata = dns.rdata.from_text(
                "IN", rrtype, row.text,
                origin=dns.name.from_text(ORIGIN), relativize=False)
            return rdata.to_wire().hex()
        except (dns.exception.DNSException, ValueError, NotImplementedError,
                UnicodeError, IndexError) as e:
            raise Refused(repr(e)) from e


class Bind:
    def wire(self, row, directory):
        done = run(["named-rrchecker", "-o", ORIGIN, "-u"],
                   f"IN {row.rrtype} {row.text}\n")
        wire = unknown_form(done.stdout)
        if done.returncode or wire is None:
            raise Refused(done.stdout)
        return wire


class ZoneFile:
    """A peer that reads a zone with the record in it."""

    def lines(self, row):
        if row.rrtype == "SOA":
            return [f"@ 3600 IN SOA {row.text}"]
        return ["@ 3600 IN SOA ns.example.net. h.example.net. 1 2 3 4 5",
                "@ 3600 IN NS ns.example.net.",
                f"r 3600 IN {row.rrtype} {row.text}"]

    def write(self, row, directory):
        path = directory / "zone"
        path.write_text("\n".join([f"$ORIGIN {ORIGIN}", *self.lines(row),
                                   ""]), encoding="latin-1")
        return str(path)

    def owner(self, row):
        return ORIGIN if row.rrtype == "SOA" else f"r.{ORIGIN}"

    def record(self, row, text):
        """The RDATA of the record in a zone as printed."""
        owner = re.escape(self.owner(row))
        flat = re.sub(r"\(([^()\"]*)\)", lambda m: " ".join(m[1].split()),
                      text)
        found = re.search(rf"^{owner}\s+3600\s+(?:IN\s+)?"
                          r"(TYPE\d+|[A-Z0-9-]+)[ \t]*(.*)$", flat, re.M)
        if not found:
            raise Refused(text)
        return found[2].strip()

    def read_back(self, row, text):
        """Reads the text that another server prints with our parser; returns
        the wire form."""
        if row.kind:
            return self.record(row, text)
        try:
            return OURS.wire(row.rrtype, self.record(row, text))
        except Refused as e:
            raise AssertionError(f"we refuse what they print: {text}: {e}")


class Ldns(ZoneFile):
    def wire(self, row, directory):
        done = run(["ldns-read-zone", "-u", row.rrtype,
                    self.write(row, directory)])
        if done.returncode:
            raise Refused(done.stdout)
        wire = unknown_form(self.record(row, done.stdout))
        return wire if wire is not None else self.read_back(row, done.stdout)


class Nsd(ZoneFile):
    def wire(self, row, directory):
        done = run(["nsd-checkzone", "-p", ORIGIN,
                    self.write(row, directory)])
        if done.returncode or re.search(r"\berror: ", done.stdout):
            raise Refused(done.stdout)
        owner = "example" if row.rrtype == "SOA" else "r"
        return self.read_back(row, re.sub(
            rf"^{owner}\t", f"{self.owner(row)}\t", done.stdout, flags=re.M))


class Knot(ZoneFile):
    """Says only whether it takes the record."""

    def wire(self, row, directory):
        done = run(["kzonecheck", "-o", ORIGIN, self.write(row, directory)])
        if done.returncode:
            raise Refused(done.stdout)
        return row.wire


PEERS = {
    "dnspython": (DnsPython, None),
    "bind": (Bind, "named-rrchecker"),
    "ldns": (Ldns, "ldns-read-zone"),
    "nsd": (Nsd, "nsd-checkzone"),
    "knot": (Knot, "kzonecheck"),
}


class Difference:
    """Rows on which a peer may differ from us, and what decides."""

    def __init__(self, peers, pattern, reason, kind=""):
        self.kind = kind  # if given, only for such rows
        self.peers = peers.split()
        self.pattern = re.compile(pattern)
        self.reason = reason

    def excuses(self, peer, row):
        return (peer in self.peers and self.kind in row.kind
                and self.pattern.match(str(row)))


# Fine rows that a peer refuses.
REFUSED = [
    Difference("bind", r"(CLA|IPN) ", "a type younger than the peer"),
    Difference("bind nsd knot ldns dnspython",
               r"(SVCB|HTTPS) .*(ohttp|docpath|tls-supported-groups|pvd|"
               r"dohpath|key11)", "a key younger than the peer"),
    Difference("nsd knot ldns",
               r"(GPOS|EID|NIMLOC|SINK|NINFO|RKEY|TALINK|DSYNC|HHIT|BRID|"
               r"UINFO|UID|GID|UNSPEC|DOA|RESINFO|WALLET|CLA|IPN|TA|DLV|A6|"
               r"ATMA|HIP|AMTRELAY|NSAP-PTR|AVC) ",
               "a type that the peer does not know"),
    Difference("knot", r"(MD|MF|MB|MG|MR|NULL|X25|ISDN|SIG|KEY|PX|NXT|WKS|"
               r"NSAP) ", "a type that the peer does not know"),
    Difference("ldns", r"(NXT|TYPE\d+) ", "not for the tool in use"),
    Difference("bind nsd knot ldns dnspython", r"NSEC .*NXNAME",
               "RFC 9824 section 4: the type is younger than the peer"),
    Difference("bind dnspython nsd knot", r"(CDS|CDNSKEY) 0 [03] 0 0$",
               "RFC 8078 section 4 prints it so; its errata have 00, AA=="),
    Difference("bind dnspython knot ldns", r"LOC 32 7 n",
               "RFC 1876 section 3 has capitals; NSD takes both"),
    Difference("nsd knot", r"LOC .* \.5m", "RFC 1876 section 3 leaves it open"),
    Difference("dnspython knot", r"NID 65535 1:2:AB:0",
               "RFC 6742 section 2.1.2: as in RFC 4291, zeros may be left"
               " out"),
    Difference("bind dnspython ldns", r"IPSECKEY 10 [01] 0 ",
               "RFC 4025 section 2.4: algorithm 0 says that there is no key"),
    Difference("ldns", r"IPSECKEY 10 2 2 .* ",
               "RFC 4025 section 3.1: base64 may have blanks in it"),
    Difference("dnspython", r"SVCB 0 alias.example.com. port=53",
               "RFC 9460 section 2.4.2: parsers may warn"),
    Difference("dnspython", r"HTTPS .*ech=", "the value is no ECHConfigList;"
               " RFC 9460 leaves that to the client"),
    Difference("dnspython", r"SVCB .*key11=", "section 2.1: an empty value"),
    Difference("knot ldns", r"HTTPS 1 . no-default-alpn=\"\"",
               "RFC 9460 section 2.1: the same as no value"),
    Difference("ldns nsd", r"HTTPS 1 . key3=",
               "RFC 9460 section 2.1: keyN has octets as they are"),
    Difference("nsd ldns", r"KEY 49152", "RFC 2535 section 3.1.2: no key"),
    Difference("nsd", r"RRSIG TYPE65280",
               "RFC 4034 section 3.2: a time may be a number of seconds"),
    Difference("nsd", r"CAA 128 TBS", "RFC 8659 section 4.1: the case of a"
               " tag says nothing"),
    Difference("nsd ldns", r"WKS 10.0.0.1 udp$", "RFC 1035 section 3.4.2"),
    Difference("bind ldns", r'CAA 0 "issue"', "RFC 8659 section 4.1.1 has no"
               " quotes; others take them"),
    Difference("ldns", r"CAA 0 iodef mailto", "RFC 8659 section 4.1.1:"
               " quotes may be left out"),
    Difference("ldns", r"CSYNC 0 0$", "RFC 7477 section 2.1.1.3: the bitmap"
               " may be empty"),
    Difference("knot", r"(NS (ns1|@)|SOA|DS 1 253|RRSIG NSEC3PARAM|TYPE65280"
               r" .* 0 00)", "refused for the zone, not for the RDATA"),
    Difference("nsd", r"NSAP 0x\.4", "RFC 1706 section 5: dots for reading"),
]

# Fine rows of which a peer makes other octets.
OTHER = [
    Difference("nsd", r"(CNAME Host|MX \\# 5)",
               "the peer lower-cases names; RFC 4343 section 4.1 lets us keep"
               " the case"),
    Difference("nsd", r"SOA . . 4294967295 4294967295",
               "RFC 1035 section 3.3.13: 32 bits"),
    Difference("ldns", r"NSAP-PTR", "RFC 1706 section 6: a name"),
    Difference("dnspython", r"URI .*\\255", "an octet; before 2.4 the peer"
               " writes it as UTF-8"),
    Difference("ldns", r"NSEC . NXNAME", "a type younger than the peer"),
    Difference("ldns", r"CDNSKEY 0 3 0 0$", "see CDNSKEY above"),
    Difference("ldns", r"ATMA ", "af-dans-0152: a format octet is first"),
    Difference("ldns", r"IPSECKEY 10 3 2 mygateway",
               "RFC 1035 section 5.1: a relative name gets the origin"),
    Difference("ldns", r"SVCB 16 foo.example.org. alpn=\"?f",
               "RFC 9460 appendix D.2, figure 10"),
    Difference("ldns", r"LOC 90 0 0.001",
               "the peer takes digits of the fraction for whole ones"),
    Difference("ldns", r"SVCB .*alpn=a\\\\b",
               "BIND and NSD drop a backslash before any octet"),
    Difference("nsd", r"SVCB 16 foo.example.org. alpn=\"a",
               "the peer prints the octet 0 as it is"),
]

# Malformed rows that a peer takes.
ACCEPTED = [
    Difference("ldns", r"", "the peer checks hardly a value: numbers wrap,"
               " what is too much is left out"),
    Difference("nsd", r"", "the peer serves digests of any length and the"
               " like; the rules stand in dns/rdata_rule.c", kind="?"),
    Difference("bind", r"GPOS ", "RFC 1712 section 3"),
    Difference("bind", r"NXT ", "RFC 2535 section 5.2: bit 0 is never set"
               " and NXT itself is"),
    Difference("dnspython knot", r"RRSIG .* (AR==|AQ==AQ==|AQ== AQID)$",
               "RFC 4648 sections 3.3 and 3.5"),
    Difference("nsd", r"RRSIG A 5 3 86400 20030229173103",
               "2003 was no leap year"),
    Difference("dnspython nsd", r"LOC .* 0.001m",
               "RFC 1876 section 3: centimetres, at most 90000000.00"),
    Difference("nsd", r"LOC ", "RFC 1876 section 3: ranges"),
    Difference("dnspython", r"APL 3:", "RFC 3123 section 5: 1 or 2 in text"),
    Difference("dnspython nsd", r"NSAP 0x$", "RFC 1706 section 5: one or more"),
    Difference("bind", r"EUI48 ", "RFC 7043 section 3.2: six pairs"),
    Difference("nsd", r"IPSECKEY 10 0 2 a", "RFC 4025 section 3.1"),
    Difference("nsd knot", r"SVCB .*key01=", "RFC 9460 section 2.1"),
    Difference("dnspython knot nsd", r"HTTPS 1 . key[13]=abc",
               "RFC 9460 section 2.1: the key's wire format holds for keyN"),
    Difference("nsd", r"SVCB .*(port=5\\051|alpn=h2,)",
               "RFC 9460 sections 7.2 and A.1"),
    Difference("nsd", r"HTTPS 1 . \"alpn=h2\"", "RFC 9460 section 2.1: only"
               " the value is a string"),
    Difference("nsd knot", r"NS \\256", "RFC 1035 section 5.1: an octet"),
    Difference("nsd", r'(A|NS) "', "RFC 1035 section 5.1 has quotes for"
               " strings only"),
    Difference("nsd", r'(TXT|SVCB) .*\\2', "RFC 1035 section 5.1: \\DDD is"
               " an octet in three digits"),
    Difference("nsd", r"SOA a. b. ", "RFC 1035 section 3.3.13: 32 bits"),
    Difference("nsd", r"(MX (65536|-1)|SRV 0 5 65536|DNSKEY 65536|NSEC3 1 1"
               r" 65536|TLSA 3 1 256|CAA 256)", "theirs wraps around"),
    Difference("nsd", r"NSEC3 1 1 12 - (-|2t7b4g4vs)$", "RFC 5155 section"
               " 3.1.7, RFC 4648 section 6: no group has one digit"),
    Difference("nsd", r"(SMIMEA 3 1 1|CDNSKEY 257 3 0|CDS 1 0 0) 0$",
               "RFC 4648 sections 4 and 8: half an octet"),
    Difference("knot", r"TXT .*x{255}",
               "RFC 1035 section 3.3: 255 octets; theirs makes it two"),
    Difference("knot", r'CAA 0 (is-sue|"")', "RFC 8659 section 4.1"),
    Difference("nsd", r"APL 1:192.168.32.0/$", "RFC 3123 section 5"),
    # dnspython before 2.4, as Debian 12 has it
    Difference("dnspython", r"RRSIG A 5 3 86400 2003(0229|032224)",
               "RFC 4034 section 3.2: a time that there was"),
    Difference("dnspython", r"NSEC3 1 1 12 - 2t7b4g4vsa5smi47k61mv5bv1a22bojw$",
               "RFC 4648 section 7: w is no digit"),
    Difference("dnspython", r"WKS .* 65536$", "a port has 16 bits"),
    Difference("dnspython", r"SVCB 1 foo.example.com. (ALPN=h2|alpn=a\\\\b)",
               "RFC 9460 sections 2.1 and A.1"),
]


def excused(table, peer, row):
    return any(difference.excuses(peer, row) for difference in table)


def compare(name, peer, row, directory):
    """None, or what is wrong and not excused."""
    try:
        theirs = peer.wire(row, directory)
    except Unknown:
        return None
    except Refused as e:
        if row.kind or row.doubt or excused(REFUSED, name, row):
            return None
        return f"{row}: refused: {str(e).strip()[:300]}"
    except struct.error:
        return None if row.kind else f"{row}: crashes the peer"
    except AssertionError as e:
        return None if excused(OTHER, name, row) else f"{row}: {e}"
    if row.kind:
        return (None if excused(ACCEPTED, name, row)
                else f"{row}: malformed, but accepted as {theirs}")
    if theirs != row.wire and not excused(OTHER, name, row):
        return f"{row}: ours is {row.wire}, theirs {theirs}"
    return None


ROWS_OF = {}
for _row in read_rows():
    ROWS_OF.setdefault(_row.rrtype, []).append(_row)


@pytest.mark.parametrize("rrtype", ROWS_OF)
def test_our_wire_is_that_of_the_row(ours, rrtype):
    for row in ROWS_OF[rrtype]:
        if row.kind:
            with pytest.raises(Refused):
                ours.wire(row.rrtype, row.text)
        else:
            assert ours.wire(row.rrtype, row.text) == row.wire, str(row)


@pytest.mark.parametrize("rrtype", ROWS_OF)
@pytest.mark.parametrize("name", PEERS)
def test_peer_agrees(ours, tmp_path, name, rrtype):
    kind, program = PEERS[name]
    assert program is None or shutil.which(program), \
        f"{program} is not installed"
    peer = kind()
    wrong = [compare(name, peer, row, tmp_path) for row in ROWS_OF[rrtype]]
    wrong = [text for text in wrong if text is not None]
    assert not wrong, "\n".join(wrong)
