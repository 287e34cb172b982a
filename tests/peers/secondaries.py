"""The real BIND, Knot and NSD as secondaries of our server. key: the algorithm,
the name and the secret of the key to ask with, or None."""
import contextlib
import time

import dns.exception
import dns.message
import dns.query

import servers


class _Secondary:
    """Has the zones of upstream, all from there."""

    def __init__(self, upstream):
        super().__init__(dict(upstream.zones))
        self.upstream = upstream
        self.key = None
        self.how = "AXFR "  # "": by differences, and told of changes


class Nsd(_Secondary, servers.Nsd):
    def _wait_for(self, zone):
        """Until the processes are gone that were there before the zone: some of
        them answer a few times more."""
        super()._wait_for(zone)
        question = dns.message.make_query(zone, "SOA")
        end = time.monotonic() + servers.START_DEADLINE
        good = 0
        while good < 10:
            assert time.monotonic() < end, f"not all serve {zone}"
            with contextlib.suppress(OSError, dns.exception.DNSException):
                good = good + 1 if dns.query.tcp(
                    question, "127.0.0.1", port=self.port,
                    timeout=5).rcode() == 0 else 0

    def command(self):
        zones, self.zones = self.zones, {}
        name, self.more = "NOKEY", []
        if self.key:
            algorithm, name, secret = self.key
            self.more += ["key:", f"\tname: {name}",
                          f"\talgorithm: {algorithm}",
                          f'\tsecret: "{secret}"']
        for zone in zones:
            self.more += [
                "zone:", f"\tname: {zone}",
                f"\trequest-xfr: {self.how}127.0.0.1@{self.upstream.port}"
                f" {name}", f"\tallow-notify: 127.0.0.1 {name}",
                "\tprovide-xfr: 127.0.0.1 NOKEY"]
        command = super().command()
        self.zones = zones
        return command


class Knot(_Secondary, servers.Knot):
    def command(self):
        key, use = [], []
        if self.key:
            algorithm, name, secret = self.key
            key = ["key:", f"  - id: {name}", f"    algorithm: {algorithm}",
                   f"    secret: {secret}"]
            use = [f"    key: {name}"]
        lines = [
            "server:", f'    rundir: "{self.dir}"',
            f"    listen: 127.0.0.1@{self.port}",
            "    udp-workers: 1", "    tcp-workers: 1",
            "    background-workers: 1",
            # A secondary of this server may have to wait for a processor.
            "    tcp-io-timeout: 30000", "    tcp-remote-io-timeout: 30000",
            "database:", f'    storage: "{self.dir}"',
            "log:", "  - target: stderr", "    any: info", *key,
            "remote:", "  - id: upstream",
            f"    address: 127.0.0.1@{self.upstream.port}", *use,
            "acl:", "  - id: all", "    address: 127.0.0.1",
            "    action: transfer", "  - id: upstream",
            "    address: 127.0.0.1", *use, "    action: notify",
            "template:", "  - id: default", "    zonefile-sync: -1",
            f"    journal-content: {'none' if self.how else 'changes'}",
            "    semantic-checks: off",
            "    master: upstream", "    acl: [all, upstream]",
            "zone:",
        ]
        lines += [f'  - domain: "{zone}"' for zone in self.zones]
        conf = self.write("knot.conf", "\n".join(lines) + "\n")
        return ["/usr/sbin/knotd", "-c", str(conf)]


class Bind(_Secondary, servers.Bind):
    def command(self):
        command = super().command()
        conf = self.dir / "named.conf"
        # By itself it asks for 20 zones a second.
        text, use = conf.read_text().replace(
            "options {", "options { serial-query-rate 1000; transfers-in 100;"
            " transfers-per-ns 100;", 1), ""
        if self.key:
            algorithm, name, secret = self.key
            text = (f'key "{name}" {{ algorithm {algorithm}; '
                    f'secret "{secret}"; }};\n') + text
            use = f' key "{name}"'
        for zone, path in self.zones.items():
            text = text.replace(
                f'zone "{zone}" {{ type primary; file "{path}"; }};',
                f'zone "{zone}" {{ type secondary; masterfile-format text; '
                f"primaries {{ 127.0.0.1 port {self.upstream.port}{use}; }}; "
                f'file "{self.dir}/{zone}zone"; '
                "allow-transfer { any; }; };")
        conf.write_text(text)
        return command


ALL = (Bind, Knot, Nsd)
