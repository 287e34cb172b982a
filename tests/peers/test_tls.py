"""Zones over TLS (RFC 9103) between ours and the real BIND and NSD, in both
directions, with the right certificate and the wrong one; dig, kdig and openssl as
clients. The Knot of Debian 12 has no TLS over TCP: of it there is only kdig,
which has another library (GnuTLS)."""
import re
import ssl
import subprocess
import time

import dns.message
import dns.query
import dns.rcode
import pytest

import servers
from certificates import Authority
from ports import free_port
from tls_client import Client, context_for

pytestmark = pytest.mark.lasts(20)

ZONE = "example."
DOMAIN = "ns.example"
LIMIT = 60


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    made = Authority(tmp_path_factory.mktemp("certificates"))
    made.sign(DOMAIN)
    return made


@pytest.fixture(scope="module")
def stranger(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("stranger"), "stranger")


@pytest.fixture(scope="module")
def zones(tmp_path_factory):
    path = tmp_path_factory.mktemp("zones") / "example.zone"
    path.write_text("$TTL 60\n@ IN SOA ns host 7 3600 1 86400 60\n"
                    "@ IN NS ns\nns IN A 192.0.2.1\n" + "".join(
                        f"h{n} IN TXT \"{'x' * 200}\"\n"
                        for n in range(5000)))
    return {ZONE: path}


class _NsdPrimary:
    def __init__(self, zones, authority):
        super().__init__(zones)
        self.authority = authority
        self.tls_port = free_port()

    def command(self):
        self.zone_more = ["\tprovide-xfr: 127.0.0.1 NOKEY"]
        command = super().command()
        conf = self.dir / "nsd.conf"
        name = self.authority.directory / DOMAIN
        conf.write_text(conf.read_text().replace("server:\n", (
            f"server:\n\tip-address: 127.0.0.1@{self.tls_port}\n"
            f"\ttls-port: {self.tls_port}\n\ttls-service-key: \"{name}.key\"\n"
            f"\ttls-service-pem: \"{name}.pem\"\n"), 1))
        return command


class OursPrimary(_NsdPrimary, servers.Ours):
    pass


class NsdPrimary(_NsdPrimary, servers.Nsd):
    pass


class BindPrimary(servers.Bind):
    def __init__(self, zones, authority):
        super().__init__(zones)
        self.authority = authority
        self.tls_port = free_port()

    def command(self):
        command = super().command()
        conf = self.dir / "named.conf"
        name = self.authority.directory / DOMAIN
        text = (f'tls ours {{ key-file "{name}.key"; cert-file "{name}.pem"; '
                "};\n" + conf.read_text())
        text = text.replace("listen-on-v6", (
            f"listen-on port {self.tls_port} tls ours {{ 127.0.0.1; }};\n"
            "allow-transfer { any; };\nlisten-on-v6"), 1)
        conf.write_text(text)
        return command


class _Secondary:
    def __init__(self, upstream, authority, domain=DOMAIN, own=None):
        super().__init__(dict(upstream.zones))
        self.upstream, self.authority = upstream, authority
        self.domain, self.own = domain, own  # own: key and certificate

    def has_zone(self):
        question = dns.message.make_query("h4999.example.", "TXT")
        try:
            return bool(dns.query.udp(question, "127.0.0.1", timeout=1,
                                      port=self.port).answer)
        except (OSError, dns.exception.DNSException):
            return False

    def said(self):
        return "".join(path.read_text(errors="replace") for path in (
            self.dir / "log", self.dir / "output") if path.exists())

    def run(self):
        self.process = subprocess.Popen(
            self.command(), cwd=self.dir, stdin=subprocess.DEVNULL,
            stdout=self.log, stderr=self.log)
        return self

    def wait(self, check):
        end = time.monotonic() + LIMIT
        while not check():
            assert time.monotonic() < end, self.said()
            time.sleep(0.05)


class _NsdSecondary(_Secondary):
    def command(self):
        zones, self.zones = self.zones, {}
        self.more = ["tls-auth:", "\tname: up",
                     f"\tauth-domain-name: {self.domain}"]
        if self.own:
            self.more += [f"\tclient-key: \"{self.own[0]}\"",
                          f"\tclient-cert: \"{self.own[1]}\""]
        for zone in zones:
            self.more += ["zone:", f"\tname: {zone}", (
                f"\trequest-xfr: AXFR 127.0.0.1@{self.upstream.tls_port} "
                "NOKEY up")]
        command = super().command()
        self.zones = zones
        conf = self.dir / "nsd.conf"
        conf.write_text(conf.read_text().replace("server:\n", (
            f"server:\n\ttls-cert-bundle: \"{self.authority.cert}\"\n"), 1))
        return command


class OursSecondary(_NsdSecondary, servers.Ours):
    pass


class NsdSecondary(_NsdSecondary, servers.Nsd):
    pass


class BindSecondary(_Secondary, servers.Bind):
    def command(self):
        command = super().command()
        conf = self.dir / "named.conf"
        own = (f'key-file "{self.own[0]}"; cert-file "{self.own[1]}"; '
               if self.own else "")
        text = (f'tls up {{ ca-file "{self.authority.cert}"; {own}'
                f'remote-hostname "{self.domain}"; }};\n' + conf.read_text())
        for zone, path in self.zones.items():
            text = text.replace(
                f'zone "{zone}" {{ type primary; file "{path}"; }};',
                f'zone "{zone}" {{ type secondary; primaries {{ 127.0.0.1 '
                f"port {self.upstream.tls_port} tls up; }}; "
                f'file "{self.dir}/{zone}zone"; }};')
        conf.write_text(text)
        return command


@pytest.fixture(scope="module", params=[OursPrimary, NsdPrimary, BindPrimary])
def primary(request, zones, authority):
    server = request.param(zones, authority)
    try:
        yield server.start()
    finally:
        server.stop()


SECONDARIES = [OursSecondary, NsdSecondary, BindSecondary]


@pytest.mark.parametrize("kind", SECONDARIES)
def test_transfer(primary, authority, kind):
    if not isinstance(primary, OursPrimary) and kind is not OursSecondary:
        return  # neither side is ours
    server = kind(primary, authority)
    try:
        server.run()
        server.wait(server.has_zone)
    finally:
        server.stop()


FAILED = {
    OursSecondary: r": TLS: certificate: ",
    NsdSecondary: r"TLS|tls|certificate|handshake",
    BindSecondary: r"TLS peer certificate verification failed",
}


@pytest.mark.parametrize("what", ["name", "authority"])
@pytest.mark.parametrize("kind", SECONDARIES)
def test_wrong_certificate(primary, authority, stranger, kind, what):
    if not isinstance(primary, OursPrimary) and kind is not OursSecondary:
        return
    server = (kind(primary, authority, "other.example") if what == "name"
              else kind(primary, stranger))
    try:
        server.run()
        server.wait(lambda: re.search(FAILED[kind], server.said()))
        assert not server.has_zone()
    finally:
        server.stop()


# ---- clients with certificates


class OursMutual(OursPrimary):
    """Gives the zone to client.example alone."""

    def command(self):
        auth_port = free_port()
        self.more = [
            "server:", f"\tip-address: 127.0.0.1@{auth_port}",
            f"\ttls-auth-port: {auth_port}",
            f"\ttls-cert-bundle: \"{self.authority.cert}\"",
            "tls-auth:", "\tname: down", "\tauth-domain-name: client.example"]
        command = super().command()
        conf = self.dir / "nsd.conf"
        conf.write_text(conf.read_text().replace(
            "127.0.0.1 NOKEY", "127.0.0.1 NOKEY down"))
        self.tls_port = auth_port
        return command


class BindMutual(BindPrimary):
    """Gives it to whoever has a certificate of the authority."""

    def command(self):
        command = super().command()
        conf = self.dir / "named.conf"
        conf.write_text(conf.read_text().replace(
            "tls ours {", f'tls ours {{ ca-file "{self.authority.cert}";', 1))
        return command


# The NSD of Debian 12 wants no certificates of clients.
@pytest.fixture(scope="module", params=[OursMutual, BindMutual])
def mutual_primary(request, zones, authority):
    with servers.started(request.param(zones, authority)) as server:
        yield server


@pytest.mark.parametrize("kind", SECONDARIES)
def test_transfer_with_a_certificate(mutual_primary, authority, kind):
    if kind is not OursSecondary and not isinstance(mutual_primary,
                                                    OursMutual):
        return
    server = kind(mutual_primary, authority,
                  own=authority.sign("client.example"))
    try:
        server.run()
        server.wait(server.has_zone)
    finally:
        server.stop()


REFUSED = {
    OursSecondary: r"error: .* 127.0.0.1@\d+ with tls-auth up",
    NsdSecondary: r"TLS|tls|ssl_read returned error|certificate|REFUSED",
    BindSecondary: r"failed (while receiving|sending) re(sponses|quest data)"
                   r": |TLS",
}


@pytest.mark.parametrize("who", ["nobody", "stranger", "other.example"])
@pytest.mark.parametrize("kind", SECONDARIES)
def test_transfer_with_a_wrong_certificate(mutual_primary, authority, stranger,
                                           kind, who):
    """None, one of another authority, or one of somebody else."""
    ours = isinstance(mutual_primary, OursMutual)
    if not ours and (kind is not OursSecondary or who == "other.example"):
        return
    own = {"nobody": lambda: None,
           "stranger": lambda: stranger.sign("client.example"),
           "other.example": lambda: authority.sign("other.example")}[who]()
    server = kind(mutual_primary, authority, own=own)
    try:
        server.run()
        server.wait(lambda: re.search(REFUSED[kind], server.said()))
        assert not server.has_zone()
    finally:
        server.stop()


def test_zones_over_tls_1_2(primary, authority):
    """RFC 9103 wants 1.3, which is a difference: decisions/0127."""
    context = context_for(authority, version=ssl.TLSVersion.TLSv1_2)
    with Client(primary.tls_port, context, name=DOMAIN) as client:
        rcode = client.ask(ZONE, "AXFR").rcode()
    assert rcode == (dns.rcode.REFUSED if primary.name == "ours"
                     else dns.rcode.NOERROR)


def dig(port, *options):
    return subprocess.run(
        ["dig", "@127.0.0.1", "-p", str(port), "+tls", "+tries=1", "+time=10",
         *options, "h1.example", "TXT"], capture_output=True, text=True,
        timeout=LIMIT, check=False).stdout


def test_dig(zones, authority, stranger):
    server = OursPrimary(zones, authority).start()
    try:
        right = (f"+tls-ca={authority.cert}", f"+tls-hostname={DOMAIN}")
        assert "status: NOERROR" in dig(server.tls_port, *right)
        assert "status: NOERROR" in dig(server.tls_port)
        for wrong in ((right[0], "+tls-hostname=other.example"),
                      (f"+tls-ca={stranger.cert}", right[1])):
            assert "status:" not in dig(server.tls_port, *wrong)
    finally:
        server.stop()


@pytest.fixture
def mutual(zones, authority):
    """A server that wants certificates on a port of its own."""
    server = OursPrimary(zones, authority)
    server.auth_port = free_port()
    server.more = ["server:",
                   f"\tip-address: 127.0.0.1@{server.auth_port}",
                   f"\ttls-auth-port: {server.auth_port}",
                   f"\ttls-cert-bundle: \"{authority.cert}\""]
    try:
        yield server.start()
    finally:
        server.stop()


def kdig(port, *options, name="h1.example", rdtype="TXT"):
    return subprocess.run(
        ["kdig", "@127.0.0.1", "-p", str(port), "+tls", "+retry=0",
         "+timeout=10", *options, name, rdtype], capture_output=True,
        text=True, timeout=LIMIT, check=False).stdout


def test_kdig(mutual, authority, stranger):
    """RFC 8310: opportunistic, by name and authority, and with a certificate
    of its own."""
    port = mutual.tls_port
    right = (f"+tls-ca={authority.cert}", f"+tls-hostname={DOMAIN}")
    for options in ((), right, (*right, "+padding"), (*right, "+keepopen")):
        assert "status: NOERROR" in kdig(port, *options), options
    for wrong in ((right[0], "+tls-hostname=other.example"),
                  (f"+tls-ca={stranger.cert}", right[1])):
        assert "status:" not in kdig(port, *wrong), wrong
    for more in (), ("+padding",):
        text = kdig(port, *right, *more, name=ZONE, rdtype="AXFR")
        assert text.count("\tTXT\t") == 5000 and text.count("\tSOA\t") == 2
    for signer, served in (authority, True), (stranger, False):
        key, cert = signer.sign("client.example")
        text = kdig(mutual.auth_port, *right, f"+tls-keyfile={key}",
                    f"+tls-certfile={cert}")
        assert ("status: NOERROR" in text) == served
    assert "status:" not in kdig(mutual.auth_port, *right)


def s_client(port, *options):
    done = subprocess.run(
        ["openssl", "s_client", "-connect", f"127.0.0.1:{port}", *options],
        input="", capture_output=True, text=True, timeout=LIMIT, check=False)
    return done.stdout + done.stderr


@pytest.mark.parametrize("options, expected", [
    (("-tls1_3",), "New, TLSv1.3, Cipher is TLS_AES_128_GCM_SHA256"),
    (("-tls1_2",), r"New, TLSv1.2, Cipher is ECDHE-ECDSA-"),
    (("-tls1_3", "-ciphersuites", "TLS_CHACHA20_POLY1305_SHA256"),
     "Cipher is TLS_CHACHA20_POLY1305_SHA256"),
    (("-groups", "P-256"), "Server Temp Key: ECDH, prime256v1"),
    # The second key share comes after a HelloRetryRequest.
    (("-groups", "ffdhe2048:X25519"), "Server Temp Key: X25519"),
    (("-alpn", "h2,dot"), "ALPN protocol: dot"),
    (("-alpn", "h2"), "no application protocol"),
    (("-tls1_1", "-cipher", "ALL:@SECLEVEL=0"), "alert protocol version"),
    (("-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-SHA"),
     "alert handshake failure"),
    (("-tls1_3", "-groups", "P-521"), "alert handshake failure"),
])
def test_s_client(mutual, options, expected):
    """RFC 7301, RFC 9325: parameters that are agreed upon, or refused."""
    assert re.search(expected, s_client(mutual.tls_port, *options))
