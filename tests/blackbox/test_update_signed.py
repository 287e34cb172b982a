"""Updates of signed zones, as signers make them: the differences between two
versions that ldns-signzone or dnssec-signzone has signed are taken, and leave
exactly the second one; without one of their records of DNSSEC they are refused,
with the name and type (RFC 3007 section 4.3)."""
import dns.edns
import dns.query
import dns.rcode
import dns.rdatatype
import dns.update
import dns.zone
import pytest

from harness import DEADLINE
from signing import DENIALS, ORIGIN, ZONE, run

ZONES = ("zone:\n\tname: example.org\n\tzonefile: example.org.zone\n"
         "\tallow-update: 127.0.0.1 NOKEY\n\tprovide-xfr: 127.0.0.1 NOKEY\n"
         "{more}")
# Another address; names that come and go, also an empty non-terminal; a cut
# that hides a name, and one that is no more; a DS that comes, and one that goes.
CHANGES = [
    ("2024010101", "2024010102"),
    ("mail A 192.0.2.3\n", "mail A 192.0.2.33\n"),
    ("a.b.c A 192.0.2.3\n", "new.ent.here A 192.0.2.3\nnew TXT a\n"),
    ("*.w CNAME ns\n", "*.v CNAME ns\n"),
    ("self NS self\n", ""),
    ("z TYPE65280", "c.b.c NS ns.example.net.\nz TYPE65280"),
    ("c.b.c 7200 A 192.0.2.4\n", ""),
    ("insecure NS ns.insecure\n", "insecure NS ns.insecure\ninsecure DS 12345 "
     "13 2 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\n"),
]


def changed(text):
    for old, new in CHANGES:
        assert old in text
        text = text.replace(old, new)
    return text


class Ldns:
    def __init__(self, directory):
        self.keys = [run("ldns-keygen", "-r", "/dev/urandom", "-a",
                         "ECDSAP256SHA256", *kind, "example.org",
                         cwd=directory).strip() for kind in (["-k"], [])]

    def sign(self, directory, denial):
        options = {"nsec": [], "nsec3": ["-n", "-t", "0"],
                   "opt-out": ["-n", "-t", "0", "-p", "-s", "abcd"]}[denial]
        run("ldns-signzone", *options, "-o", "example.org", "-f", "signed",
            "plain", *self.keys, cwd=directory)


class Bind:
    def __init__(self, directory):
        for kind in ([], ["-f", "KSK"]):
            run("dnssec-keygen", "-q", "-a", "ECDSAP256SHA256", *kind,
                "example.org", cwd=directory)

    def sign(self, directory, denial):
        options = {"nsec": [], "nsec3": ["-3", "-"],
                   "opt-out": ["-3", "abcd", "-A"]}[denial]
        run("dnssec-signzone", "-S", "-x", *options, "-o", "example.org",
            "-f", "signed", "plain", cwd=directory)


def versions(signer, directory, denial):
    """The text of the first version as signed; both as sets of records."""
    signer = signer(directory)
    texts = []
    for text in (ZONE, changed(ZONE)):
        (directory / "plain").write_text(text)
        signer.sign(directory, denial)
        texts.append((directory / "signed").read_text())
    return texts[0], *(records(dns.zone.from_text(text, ORIGIN,
                                                  relativize=False))
                       for text in texts)


def records(zone):
    return {(name, ttl, rdata)
            for name, ttl, rdata in zone.iterate_rdatas()}


def differences(old, new, without=None):
    """The update that leads from one version to the other."""
    update = dns.update.UpdateMessage(ORIGIN)
    update.use_edns(0, request_payload=65535)
    for name, _, rdata in sorted(old - new, key=str):
        if rdata.rdtype != dns.rdatatype.SOA and (name, rdata) != without:
            update.delete(name, rdata)
    for name, ttl, rdata in sorted(new - old, key=str):
        if (name, rdata) != without:
            update.add(name, ttl, rdata)
    return update


def send(server, update):
    return dns.query.tcp(update, server.address, port=server.port,
                         timeout=DEADLINE)


def texts(reply):
    return [option.text for option in reply.options
            if option.otype == dns.edns.OptionType.EDE]


def served(server):
    zone = dns.zone.Zone(ORIGIN, relativize=False)
    dns.query.inbound_xfr(server.address, zone, port=server.port,
                          timeout=DEADLINE)
    return records(zone)


def start(make_server, text, more=""):
    server = make_server(zones={}, extra=ZONES.format(more=more),
                         options={"server-count": 1, "verbosity": 1})
    server.zone_file("example.org").write_text(text)
    return server.start()


@pytest.mark.parametrize("denial", DENIALS)
@pytest.mark.parametrize("signer", [Ldns, Bind])
def test_differences_of_a_signer(make_server, tmp_path, signer, denial):
    text, old, new = versions(signer, tmp_path, denial)
    server = start(make_server, text)
    needed = [(name, rdata) for name, _, rdata in sorted(new - old, key=str)
              if rdata.rdtype in (dns.rdatatype.RRSIG, dns.rdatatype.NSEC,
                                  dns.rdatatype.NSEC3, dns.rdatatype.SOA)]
    assert len(needed) > 10
    # A choice of them. Signatures of records that are the same as before, made
    # anew, may be absent: others are there.
    for without in needed[::7]:
        if without[1].rdtype == dns.rdatatype.RRSIG:
            continue
        reply = send(server, differences(old, new, without))
        assert reply.rcode() == dns.rcode.REFUSED, without
        assert texts(reply)
    assert served(server) == old
    reply = send(server, differences(old, new))
    assert reply.rcode() == dns.rcode.NOERROR, texts(reply)
    assert served(server) == new


def test_update_without_signatures(make_server, tmp_path):
    text, old, _ = versions(Ldns, tmp_path, "nsec")
    server = start(make_server, text)
    update = dns.update.UpdateMessage(ORIGIN)
    update.use_edns(0, request_payload=65535)
    update.add("unsigned", 60, "A", "192.0.2.1")
    reply = send(server, update)
    assert reply.rcode() == dns.rcode.REFUSED
    assert texts(reply) == ["example.org. SOA: the zone is signed, so the"
                            " update needs a newer one"]
    server.wait_log("example.org. SOA: the zone is signed")
    assert served(server) == old


def test_update_without_the_check(make_server, tmp_path):
    text, _, _ = versions(Ldns, tmp_path, "nsec")
    server = start(make_server, text, "\tupdate-signed: no-check\n")
    update = dns.update.UpdateMessage(ORIGIN)
    update.add("unsigned", 60, "A", "192.0.2.1")
    assert send(server, update).rcode() == dns.rcode.NOERROR
    assert server.rcode("unsigned.example.org", "A") == "NOERROR"
