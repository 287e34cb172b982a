"""Requests signed with TSIG: what ours replies beside the real BIND, Knot and
NSD, and transfers to these with keys."""
import base64
import hmac
import time
from unittest import mock

import dns.exception
import dns.message
import dns.name
import dns.query
import dns.rcode
import dns.tsig
import pytest

import secondaries
import servers
from test_requests import ask
from test_transfer import TIMEOUT, canonical, in_file

pytestmark = pytest.mark.lasts(10)

ZONE = "example."
SECRET = bytes(range(1, 40))
TEXT = """\
$ORIGIN example.
$TTL 3600
@	IN SOA ns h 1 2 3 4 300
	IN NS ns
ns	IN A 192.0.2.1
""" + "".join(f'n{i} IN TXT "some text to make it long {i}"\n'
              for i in range(3000))
ALGORITHMS = ["hmac-md5", "hmac-sha1", "hmac-sha224", "hmac-sha256",
              "hmac-sha384", "hmac-sha512"]
ENCODED = base64.b64encode(SECRET).decode()


def key_of(algorithm, owner=None, secret=SECRET):
    full = algorithm.replace("hmac-md5", "hmac-md5.sig-alg.reg.int")
    return dns.tsig.Key(owner or f"key-{algorithm}.", secret, full)


def nsd_keys():
    return [line for algorithm in ALGORITHMS for line in (
        "key:", f"\tname: key-{algorithm}", f"\talgorithm: {algorithm}",
        f'\tsecret: "{ENCODED}"')]


class Bind(servers.Bind):
    def command(self):
        command = super().command()
        path = self.dir / "named.conf"
        text = path.read_text()
        for algorithm in ALGORITHMS:
            text += (f'key "key-{algorithm}" {{ algorithm {algorithm}; '
                     f'secret "{ENCODED}"; }};\n')
        path.write_text(text)
        return command


class Knot(servers.Knot):
    def command(self):
        command = super().command()
        path = self.dir / "knot.conf"
        keys = "".join(f"  - id: key-{algorithm}\n    algorithm: {algorithm}\n"
                       f"    secret: {ENCODED}\n" for algorithm in ALGORITHMS)
        rules = "".join(f"  - id: acl-{algorithm}\n    key: key-{algorithm}\n"
                        "    action: transfer\n" for algorithm in ALGORITHMS)
        names = ", ".join(f"acl-{algorithm}" for algorithm in ALGORITHMS)
        path.write_text(path.read_text().replace(
            "template:\n  - id: default\n",
            f"key:\n{keys}acl:\n{rules}"
            f"template:\n  - id: default\n    acl: [{names}]\n"))
        return command


@pytest.fixture(scope="module")
def zone_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("tsig") / "example.zone"
    path.write_text(TEXT)
    return path


@pytest.fixture(scope="module")
def running(zone_file):
    started = {}
    try:
        for kind in (servers.Ours, servers.Nsd, Bind, Knot):
            server = kind({ZONE: zone_file})
            started[kind.name] = server
            if kind in (servers.Ours, servers.Nsd):
                server.more = nsd_keys()
                server.zone_more = [f"\tprovide-xfr: 127.0.0.1 key-{a}"
                                    for a in ALGORITHMS]
            server.start()
        yield started
    finally:
        for server in started.values():
            server.stop()


def signed(key, late=0, rdtype="SOA"):
    query = dns.message.make_query(ZONE, rdtype)
    query.use_tsig(key, fudge=300)
    now = time.time()
    with mock.patch("time.time", lambda: now + late):
        return query, query.to_wire()


def is_signed(request_mac, key, wire):
    """Whether the MAC of a reply with one key and no compression is right: that
    of an error, which dnspython does not look at."""
    at = wire.rfind(key.name.to_wire())
    fixed = at + len(key.name.to_wire()) + 10
    mac_at = fixed + len(key.algorithm.to_wire()) + 10
    mac_len = int.from_bytes(wire[mac_at - 2:mac_at], "big")
    count = int.from_bytes(wire[10:12], "big") - 1
    rest = wire[mac_at + mac_len:]
    data = (len(request_mac).to_bytes(2, "big") + request_mac + rest[:2]
            + wire[2:10] + count.to_bytes(2, "big") + wire[12:at]
            + key.name.to_wire() + b"\0\xff\0\0\0\0"
            + wire[fixed:mac_at - 2] + rest[2:])
    mac = hmac.digest(key.secret, data, key.algorithm.labels[0][5:].decode())
    return mac == wire[mac_at:mac_at + mac_len]


def outcome(request_mac, key, wire):
    """The outcome as text, such as "NOTAUTH BADKEY": the rcode, the error in
    the TSIG, and whether that has a MAC."""
    rcode = dns.rcode.to_text(dns.rcode.Rcode(wire[3] & 15))
    try:
        reply = dns.message.from_wire(wire, keyring={key.name: key},
                                      request_mac=request_mac)
        return rcode + " signed" * reply.had_tsig
    except dns.tsig.PeerBadKey:
        return rcode + " BADKEY"
    except dns.tsig.PeerBadSignature:
        return rcode + " BADSIG"
    except dns.tsig.PeerBadTime:
        return rcode + " BADTIME" \
            + " signed" * is_signed(request_mac, key, wire)
    except dns.tsig.BadSignature:
        return rcode + " signed wrongly"


def outcomes(running, query, key, wire, mac=None):
    return {name: outcome(mac or query.mac, key, ask(server, wire))
            for name, server in running.items()}


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_signed_requests_get_signed_replies(running, algorithm):
    key = key_of(algorithm)
    for late in -299, 0, 299:
        query, wire = signed(key, late)
        assert set(outcomes(running, query, key, wire).values()) \
            == {"NOERROR signed"}


def test_keys_that_are_not_known_are_refused(running):
    for key in key_of("hmac-sha256", "other."), \
            key_of("hmac-sha1", "key-hmac-sha256."):
        query, wire = signed(key)
        got = outcomes(running, query, key, wire)
        assert got["ours"] == "NOTAUTH BADKEY"
        assert got["bind"] == got["knot"] == got["ours"], got


def test_wrong_signatures_are_refused(running):
    key = key_of("hmac-sha256", secret=b"something else")
    query, wire = signed(key)
    got = outcomes(running, query, key, wire)
    assert set(got.values()) == {"NOTAUTH BADSIG"}


def test_an_altered_request_is_refused(running):
    key = key_of("hmac-sha256")
    query, wire = signed(key)
    altered = wire[:3] + bytes([wire[3] ^ 0x10]) + wire[4:]
    got = outcomes(running, query, key, altered)
    assert set(got.values()) == {"NOTAUTH BADSIG"}


@pytest.mark.parametrize("late", [-310, 310, 100000])
def test_wrong_times_are_told(running, late):
    key = key_of("hmac-sha256")
    query, wire = signed(key, late)
    got = outcomes(running, query, key, wire)
    assert got["ours"] == "NOTAUTH BADTIME signed"
    assert got["bind"] == got["knot"] == got["ours"], got


def cut(wire, length):
    """The last record's MAC with another length, from SHA-256's 32."""
    mac_at = len(wire) - 6 - 32
    rdlen_at = mac_at - 10 - len(b"\x0bhmac-sha256\0") - 2
    rdlen = int.from_bytes(wire[rdlen_at:rdlen_at + 2], "big")
    return (wire[:rdlen_at] + (rdlen - 32 + length).to_bytes(2, "big")
            + wire[rdlen_at + 2:mac_at - 2] + length.to_bytes(2, "big")
            + wire[mac_at:mac_at + length] + wire[-6:])


@pytest.mark.parametrize("length", [0, 1, 9, 15])
def test_short_macs_are_malformed(running, length):
    key = key_of("hmac-sha256")
    query, wire = signed(key)
    got = outcomes(running, query, key, cut(wire, length))
    assert got["ours"] == "FORMERR"
    # None of the others believes them.
    assert "NOERROR" not in " ".join(got.values()), got


def test_macs_may_be_cut_to_half(running):
    key = key_of("hmac-sha256")
    query, wire = signed(key)
    got = outcomes({"ours": running["ours"]}, query, key, cut(wire, 16),
                   query.mac[:16])
    assert got == {"ours": "NOERROR signed"}


def test_a_zone_for_keys_is_for_no_others(running, zone_file):
    ours = running["ours"]
    for key in (None, key_of("hmac-sha256")):
        messages = dns.query.xfr(
            "127.0.0.1", ZONE, port=ours.port, relativize=False,
            timeout=TIMEOUT, lifetime=TIMEOUT, keyring=key,
            keyalgorithm=key.algorithm if key else None)
        if key is None:
            with pytest.raises(dns.exception.DNSException) as error:
                list(messages)
            assert "REFUSED" in str(error.value)
        else:
            # Each message is checked; so are those of several in a chain.
            messages = list(messages)
            assert len(messages) > 3
            assert all(message.had_tsig for message in messages)
            assert canonical(messages, ZONE) == in_file(ZONE, zone_file)


@pytest.mark.parametrize("algorithm", ["hmac-md5", "hmac-sha256",
                                       "hmac-sha512"])
@pytest.mark.parametrize("kind", secondaries.ALL)
def test_secondaries_take_a_zone_with_a_key(running, zone_file, kind,
                                            algorithm):
    secondary = kind(running["ours"])
    secondary.key = algorithm, f"key-{algorithm}", ENCODED
    try:
        secondary.start()
        messages = list(dns.query.xfr(
            "127.0.0.1", ZONE, port=secondary.port, relativize=False,
            timeout=TIMEOUT, lifetime=TIMEOUT))
        assert canonical(messages, ZONE) == in_file(ZONE, zone_file)
    finally:
        secondary.stop()
