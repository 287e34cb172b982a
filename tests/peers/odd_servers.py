"""Our server and the real BIND, Knot and NSD with one zone, one key, cookies, and
all the transports that each has."""
import functools
import socket

import odd_exchange
import odd_requests
import servers
from ports import free_port
from tls_client import context_for

DOMAIN = "ns.example"
TEXT = """\
$ORIGIN example.
$TTL 3600
@	IN SOA ns h 1 7200 3600 1209600 300
	IN NS ns
ns	IN A 192.0.2.1
"""
COOKIE_SECRET = "000102030405060708090a0b0c0d0e0f"


class _Nsd:
    def command(self):
        name = self.authority.directory / DOMAIN
        self.minimal = True
        self.zone_more = ["\tprovide-xfr: 127.0.0.1 key"]
        self.more = [
            "key:", "\tname: key", "\talgorithm: hmac-sha256",
            f'\tsecret: "{odd_requests.ENCODED}"', "server:",
            f"\tip-address: 127.0.0.1@{self.tls_port}",
            f"\ttls-port: {self.tls_port}",
            f'\ttls-service-key: "{name}.key"',
            f'\ttls-service-pem: "{name}.pem"', "\tanswer-cookie: yes",
            f'\tcookie-secret: "{COOKIE_SECRET}"', *self.of_proxy()]
        return super().command()

    def of_proxy(self):
        return []


class Ours(_Nsd, servers.Ours):
    addresses = ["127.0.0.1"]
    tls_stream = odd_exchange.Stream
    ways = "udp", "tcp", "tls", "proxy udp", "proxy tcp"

    def of_proxy(self):
        return [f"\tip-address: 127.0.0.1@{self.proxy_port}",
                f"\tproxy-protocol-port: {self.proxy_port}",
                "\tallow-proxy: 127.0.0.1"]


class Nsd(_Nsd, servers.Nsd):
    """Each process of NSD sends no more than 100 errors a second and drops the
    others. So it has many processes, each with an address of its own."""

    ways = "tls", "tcp", "udp"
    tls_stream = odd_exchange.OneByOne
    addresses = [f"127.0.1.{i}" for i in range(1, 25)]

    def of_proxy(self):
        return [f"\tserver-count: {len(self.addresses)}",
                *(f'\tip-address: {address}@{port} servers="{i}"'
                  for i, address in enumerate(self.addresses, 1)
                  for port in (self.port, self.tls_port))]


class Bind(servers.Bind):
    addresses = ["127.0.0.1"]
    tls_stream = odd_exchange.Stream
    ways = "udp", "tcp", "tls"

    def command(self):
        self.minimal = True
        command = super().command()
        conf = self.dir / "named.conf"
        name = self.authority.directory / DOMAIN
        text = conf.read_text().replace("listen-on-v6", (
            f"listen-on port {self.tls_port} tls ours {{ 127.0.0.1; }};\n"
            "listen-on-v6"), 1).replace("answer-cookie no", (
                f'cookie-secret "{COOKIE_SECRET}"; answer-cookie yes'))
        conf.write_text(
            f'tls ours {{ key-file "{name}.key"; cert-file "{name}.pem"; }};\n'
            'key "key" { algorithm hmac-sha256; '
            f'secret "{odd_requests.ENCODED}"; }};\n' + text)
        return command


class Knot(servers.Knot):
    addresses = ["127.0.0.1"]
    tls_stream = odd_exchange.Stream
    ways = "udp", "tcp", "proxy udp"

    def command(self):
        command = super().command()
        conf = self.dir / "knot.conf"
        conf.write_text(conf.read_text().replace(
            f"    listen: 127.0.0.1@{self.port}\n",
            f"    listen: [127.0.0.1@{self.port}, "
            f"127.0.0.1@{self.proxy_port}]\n    proxy-allowlist: 127.0.0.1\n"
        ).replace(
            "template:\n  - id: default\n",
            "key:\n  - id: key\n    algorithm: hmac-sha256\n"
            f"    secret: {odd_requests.ENCODED}\n"
            "acl:\n  - id: acl\n    key: key\n    action: transfer\n"
            "mod-cookies:\n  - id: default\n"
            f"    secret: [0x{COOKIE_SECRET}]\n"
            "template:\n  - id: default\n    acl: acl\n"
            "    global-module: mod-cookies/default\n"))
        return command


ALL = Ours, Bind, Knot, Nsd


def make(kind, zone, authority):
    server = kind({"example.": zone})
    server.authority = authority
    server.tls_port, server.proxy_port = free_port(), free_port()
    return server


def _tcp(address):
    return socket.create_connection(address, 60)


def _tls(context, address):
    return context.wrap_socket(_tcp(address), server_hostname=DOMAIN)


def ways(server):
    """{transport: ways to ask the server, which share the requests}."""
    tls = functools.partial(_tls, context_for())
    plain = [(address, server.port) for address in server.addresses]
    secure = [(address, server.tls_port) for address in server.addresses]
    proxied = [(address, server.proxy_port) for address in server.addresses]
    made = {
        "udp": [odd_exchange.Datagrams(a) for a in plain],
        "tcp": [odd_exchange.Stream(functools.partial(_tcp, a))
                for a in plain],
        "tls": [server.tls_stream(functools.partial(tls, a))
                for a in secure],
        "proxy udp": [odd_exchange.Datagrams(a, odd_exchange.PROXY)
                      for a in proxied],
        "proxy tcp": [odd_exchange.Stream(functools.partial(_tcp, a),
                                          odd_exchange.PROXY_STREAM)
                      for a in proxied],
    }
    return {name: made[name] for name in server.ways}
