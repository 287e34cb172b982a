"""Updates that a secondary of ours passes on (update-forward) to the real BIND
and Knot, and to ours, as primaries. Clients sign with a key that the primary
alone knows."""
import contextlib
import socket
import threading
import time

import dns.edns
import dns.message
import dns.query
import dns.rcode
import dns.tsig
import dns.tsigkeyring
import dns.update
import pytest

import servers
from catalog_servers import until
from certificates import Authority
from ports import free_port

pytestmark = pytest.mark.lasts(20)

ZONE = "example."
DOMAIN = "ns.example"
LIMIT = 60
SECRET = "c2VjcmV0IG9mIGEgdGVzdA=="
KEYRING = dns.tsigkeyring.from_text({"good.key": SECRET})
STRANGE = dns.tsigkeyring.from_text({"good.key": "b3RoZXIgc2VjcmV0"})
TEXT = """$TTL 60
@ IN SOA ns host 7 3600 1 86400 60
@ IN NS ns
ns IN A 192.0.2.1
"""


class _Primary:
    tls_port = None
    refuses = dns.rcode.REFUSED  # to requests that are not signed

    def __init__(self, authority):
        super().__init__({})
        self.zones = {ZONE: self.write("example.zone", TEXT)}
        self.authority = authority


class OursPrimary(_Primary, servers.Ours):
    def command(self):
        self.tls_port = free_port()
        self.zone_more = ["\tallow-update: 127.0.0.1 good.key",
                          "\tprovide-xfr: 127.0.0.1 NOKEY"]
        self.more = ["key:", "\tname: good.key", "\talgorithm: hmac-sha256",
                     f'\tsecret: "{SECRET}"']
        command = super().command()
        conf = self.dir / "nsd.conf"
        name = self.authority.directory / DOMAIN
        conf.write_text(conf.read_text().replace("server:\n", (
            f"server:\n\tip-address: 127.0.0.1@{self.tls_port}\n"
            f"\ttls-port: {self.tls_port}\n\ttls-service-key: \"{name}.key\"\n"
            f"\ttls-service-pem: \"{name}.pem\"\n"), 1))
        return command


class BindPrimary(_Primary, servers.Bind):
    def command(self):
        self.tls_port = free_port()
        command = super().command()
        conf = self.dir / "named.conf"
        name = self.authority.directory / DOMAIN
        text = conf.read_text().replace(
            "type primary;",
            'type primary; allow-update { key "good.key"; };')
        text = text.replace("listen-on-v6", (
            f"listen-on port {self.tls_port} tls ours {{ 127.0.0.1; }};\n"
            "allow-transfer { any; };\nlisten-on-v6"), 1)
        conf.write_text(
            'key "good.key" { algorithm hmac-sha256; secret "' + SECRET
            + f'"; }};\ntls ours {{ key-file "{name}.key"; cert-file'
            f' "{name}.pem"; }};\n' + text)
        return command


class KnotPrimary(_Primary, servers.Knot):
    refuses = dns.rcode.NOTAUTH

    def command(self):
        command = super().command()
        conf = self.dir / "knot.conf"
        conf.write_text(conf.read_text().replace("template:\n", (
            "key:\n  - id: good.key\n    algorithm: hmac-sha256\n"
            f"    secret: {SECRET}\nacl:\n"
            "  - id: update\n    key: good.key\n    action: update\n"
            "  - id: transfer\n    action: transfer\n"
            "template:\n")).replace(
                "    journal-content: none\n",
                "    journal-content: changes\n"
                "    acl: [update, transfer]\n"))
        return command


class Secondary(servers.Ours):
    """primaries: the rest of each request-xfr."""

    def __init__(self, primaries, more=(), forward="NOKEY"):
        super().__init__({ZONE: "copy.zone"})
        self.zone_more = [f"\trequest-xfr: {p}" for p in primaries]
        self.zone_more.append(f"\tupdate-forward: 127.0.0.1 {forward}")
        self.more = list(more)


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    made = Authority(tmp_path_factory.mktemp("certificates"))
    made.sign(DOMAIN)
    return made


@pytest.fixture(params=[OursPrimary, BindPrimary, KnotPrimary])
def primary(request, authority):
    with servers.started(request.param(authority)) as server:
        yield server


def change(name="www", keyring=KEYRING):
    update = dns.update.UpdateMessage(ZONE)
    if keyring is not None:
        update.use_tsig(keyring, "good.key", algorithm=dns.tsig.HMAC_SHA256)
    update.use_edns(0)
    update.add(name, 60, "A", "192.0.2.9")
    return update


def send(server, update, tcp=False):
    """The reply, whose signature was checked."""
    ask = dns.query.tcp if tcp else dns.query.udp
    return ask(update, "127.0.0.1", port=server.port, timeout=LIMIT)


def serves(server, name):
    reply = dns.query.udp(dns.message.make_query(f"{name}.{ZONE}", "A"),
                          "127.0.0.1", port=server.port, timeout=LIMIT)
    return bool(reply.answer)


def texts_of(reply):
    return [option.text for option in reply.options
            if isinstance(option, dns.edns.EDEOption)]


def said(server):
    return (server.dir / "log").read_text()


@pytest.mark.parametrize("tcp", [False, True])
def test_update_is_passed_on(primary, tcp):
    with servers.started(Secondary([f"127.0.0.1@{primary.port} NOKEY"])) \
            as server:
        reply = send(server, change(), tcp)
        assert reply.rcode() == dns.rcode.NOERROR
        assert reply.had_tsig
        assert serves(primary, "www")
        assert f"update for example from 127.0.0.1: passed on to" \
            f" 127.0.0.1@{primary.port}: NOERROR" in said(server)


def test_refusal_is_passed_back(primary):
    with servers.started(Secondary([f"127.0.0.1@{primary.port} NOKEY"])) \
            as server:
        with pytest.raises(dns.tsig.PeerBadSignature):
            send(server, change(keyring=STRANGE))
        reply = send(server, change(keyring=None))
        assert reply.rcode() == primary.refuses
        update = change()
        update.present("nobody")
        assert send(server, update).rcode() == dns.rcode.NXDOMAIN
        assert not serves(primary, "www")


def test_next_primary_is_asked(primary):
    with servers.started(Secondary([
            f"127.0.0.1@{free_port()} NOKEY",
            f"127.0.0.1@{primary.port} NOKEY"])) as server:
        assert send(server, change()).rcode() == dns.rcode.NOERROR
        assert serves(primary, "www")


def test_many_at_once(primary):
    """More than have connections at a time."""
    codes = []

    def ask(number):
        codes.append(send(server, change(f"h{number}"), tcp=True).rcode())

    with servers.started(Secondary([f"127.0.0.1@{primary.port} NOKEY"])) \
            as server:
        threads = [threading.Thread(target=ask, args=(n,))
                   for n in range(100)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert codes == [dns.rcode.NOERROR] * 100
        assert all(serves(primary, f"h{n}") for n in range(100))


@pytest.fixture
def ours(authority):
    with servers.started(OursPrimary(authority)) as server:
        yield server


def test_primary_that_is_gone(ours):
    with servers.started(Secondary([f"127.0.0.1@{ours.port} NOKEY"])) \
            as server:
        ours.end()
        reply = send(server, change(keyring=None))
        assert reply.rcode() == dns.rcode.SERVFAIL
        why = f"127.0.0.1@{ours.port}: Connection refused"
        assert texts_of(reply) == [why]
        assert f"update for example from 127.0.0.1: SERVFAIL: {why}" \
            in said(server)


def test_primary_that_is_silent(ours):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with servers.started(Secondary([f"127.0.0.1@{ours.port} NOKEY"])) \
                as server:
            server.end()
            server.zone_more[0] = f"\trequest-xfr: 127.0.0.1@{port} NOKEY"
            server.start()
            began = time.monotonic()
            reply = send(server, change(keyring=None))
            assert time.monotonic() - began > 9
            assert reply.rcode() == dns.rcode.SERVFAIL
            assert texts_of(reply) == [f"127.0.0.1@{port}: no answer in time"]


def test_many_silent_primaries(ours):
    """The time is shared out, so that the last primary is asked, too, and clients
    have a reply before workers forget the request, after 30 s."""
    with contextlib.ExitStack() as stack:
        silent = [stack.enter_context(socket.create_server(("127.0.0.1", 0)))
                  for _ in range(4)]
        ports = [s.getsockname()[1] for s in silent]
        server = stack.enter_context(servers.started(
            Secondary([f"127.0.0.1@{ours.port} NOKEY"])))
        for last, update, rcode in (
                (ports[3], change(keyring=None), dns.rcode.SERVFAIL),
                (ours.port, change(), dns.rcode.NOERROR)):
            server.end()
            server.zone_more[0] = "\n".join(
                f"\trequest-xfr: 127.0.0.1@{port} NOKEY"
                for port in ports[:3] + [last])
            server.start()
            assert send(server, update, tcp=True).rcode() == rcode
        failed = "; ".join(f"127.0.0.1@{port}: no answer in time"
                           for port in ports)
        assert f"update for example from 127.0.0.1: SERVFAIL: {failed}" \
            in said(server)
        assert serves(ours, "www")


def test_silent_primary_leaves_room_for_other_zones(ours):
    """More wait for it than may, and another zone is updated at once."""
    replies = []

    def ask(number):
        try:
            replies.append(send(server, change(f"h{number}", None)))
        except (OSError, EOFError, dns.exception.DNSException):
            pass

    with socket.create_server(("127.0.0.1", 0), backlog=500) as silent:
        port = silent.getsockname()[1]
        here = Secondary([f"127.0.0.1@{ours.port} NOKEY"], [
            "key:", "\tname: good.key", "\talgorithm: hmac-sha256",
            f'\tsecret: "{SECRET}"',
            "zone:", "\tname: here.", "\tzonefile: here.zone",
            "\tallow-update: 127.0.0.1 good.key"])
        with servers.started(here) as server:
            server.end()
            server.write("here.zone", TEXT)
            server.zone_more[0] = f"\trequest-xfr: 127.0.0.1@{port} NOKEY"
            server.start()
            threads = [threading.Thread(target=ask, args=(n,), daemon=True)
                       for n in range(300)]
            for thread in threads:
                thread.start()
            until(lambda: any(
                texts_of(r) == ["too many updates are being passed on"]
                for r in list(replies)), lambda: f"{len(replies)} replies")
            update = dns.update.UpdateMessage("here.")
            update.use_tsig(KEYRING, "good.key",
                            algorithm=dns.tsig.HMAC_SHA256)
            update.add("www", 60, "A", "192.0.2.9")
            began = time.monotonic()
            assert send(server, update).rcode() == dns.rcode.NOERROR
            # Half the time that the silent one has for each.
            assert time.monotonic() - began < 5
            # Workers would forget whoever waits longer.
            until(lambda: any(
                texts_of(r) == ["no connection was free in time"]
                for r in list(replies)), lambda: f"{len(replies)} replies")


def test_primaries_of_each_other(ours):
    """An update that comes back is not passed on again."""
    both = [Secondary([f"127.0.0.1@{ours.port} NOKEY"]) for _ in range(2)]
    one, other = both
    with servers.started(one), servers.started(other):
        for server, primary_port in (one, other.port), (other, one.port):
            server.end()
            server.zone_more[0] = \
                f"\trequest-xfr: 127.0.0.1@{primary_port} NOKEY"
            server.start()
        reply = send(one, change(keyring=None), tcp=True)
        assert reply.rcode() == dns.rcode.SERVFAIL
        assert texts_of(reply) == ["the update comes back: primaries pass it"
                                   " on to each other"]


def test_clients_that_may_not(ours):
    with servers.started(Secondary([f"127.0.0.1@{ours.port} NOKEY"],
                                   forward="BLOCKED")) as server:
        assert send(server, change(keyring=None)).rcode() \
            == dns.rcode.REFUSED
        assert not serves(ours, "www")


def test_key_is_checked_here(ours):
    """With a key in update-forward, the secondary knows it, too."""
    key = ["key:", "\tname: good.key", "\talgorithm: hmac-sha256",
           f'\tsecret: "{SECRET}"']
    with servers.started(Secondary([f"127.0.0.1@{ours.port} NOKEY"], key,
                                   forward="good.key")) as server:
        assert send(server, change()).rcode() == dns.rcode.NOERROR
        assert serves(ours, "www")
        assert send(server, change("w2", None)).rcode() == dns.rcode.REFUSED
        with pytest.raises(dns.tsig.PeerBadSignature):
            send(server, change("w2", STRANGE))
        assert "update for example from 127.0.0.1 key good.key: passed on" \
            in said(server)


@pytest.mark.parametrize("kind", [OursPrimary, BindPrimary])
def test_over_tls(kind, authority):
    with servers.started(kind(authority)) as primary:
        more = ["tls-auth:", "\tname: up",
                f"\tauth-domain-name: {DOMAIN}"]
        server = Secondary(
            [f"AXFR 127.0.0.1@{primary.tls_port} NOKEY up"], more)
        command = server.command

        def with_bundle():
            made = command()
            conf = server.dir / "nsd.conf"
            conf.write_text(conf.read_text().replace("server:\n", (
                f"server:\n\ttls-cert-bundle: \"{authority.cert}\"\n"), 1))
            return made

        server.command = with_bundle
        with servers.started(server):
            assert send(server, change()).rcode() == dns.rcode.NOERROR
            assert serves(primary, "www")
