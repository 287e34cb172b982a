"""The real BIND, Knot and NSD, and ours, as primaries of a secondary of ours.
Their zone files change, and they tell the secondary. key: the algorithm, the
name and the secret that transfers are signed with, or None."""
import os
import signal

import servers


class _Primary:
    def __init__(self, zones):
        super().__init__(zones)
        self.key = None
        self.notified = None  # the port of who is told of changes

    def reread(self):
        """Has the server read its zone files again."""
        os.kill(self.process.pid, signal.SIGHUP)


class _NsdConf(_Primary):
    extra = []

    def command(self):
        name = "NOKEY"
        if self.key:
            algorithm, name, secret = self.key
            self.more = ["key:", f"\tname: {name}",
                         f"\talgorithm: {algorithm}", f'\tsecret: "{secret}"']
        self.zone_more = [f"\tprovide-xfr: 127.0.0.1 {name}", *self.extra]
        if self.notified:
            self.zone_more.append(f"\tnotify: 127.0.0.1@{self.notified}"
                                  f" {name}")
        return super().command()


class Ours(_NsdConf, servers.Ours):
    extra = ["\tstore-ixfr: yes", "\tcreate-ixfr: yes"]


class Nsd(_NsdConf, servers.Nsd):
    extra = ["\tstore-ixfr: yes", "\tcreate-ixfr: yes"]


class Knot(_Primary, servers.Knot):
    def command(self):
        key, use, remote = [], [], []
        if self.key:
            algorithm, name, secret = self.key
            key = ["key:", f"  - id: {name}", f"    algorithm: {algorithm}",
                   f"    secret: {secret}"]
            use = [f"    key: {name}"]
        told = []
        if self.notified:
            remote = ["remote:", "  - id: told",
                      f"    address: 127.0.0.1@{self.notified}", *use]
            told = ["    notify: told"]
        lines = [
            "server:", f'    rundir: "{self.dir}"',
            f"    listen: 127.0.0.1@{self.port}",
            "    udp-workers: 1", "    tcp-workers: 1",
            "    background-workers: 1",
            "database:", f'    storage: "{self.dir}"',
            "log:", "  - target: stderr", "    any: info", *key, *remote,
            "acl:", "  - id: all", "    address: 127.0.0.1", *use,
            "    action: transfer",
            "template:", "  - id: default", "    zonefile-sync: -1",
            "    journal-content: changes", "    zonefile-load: difference",
            "    semantic-checks: off", "    acl: all", *told,
            "zone:",
        ]
        for zone, path in self.zones.items():
            lines += [f'  - domain: "{zone}"', f'    file: "{path}"']
        conf = self.write("knot.conf", "\n".join(lines) + "\n")
        return ["/usr/sbin/knotd", "-c", str(conf)]


class Bind(_Primary, servers.Bind):
    def command(self):
        command = super().command()
        conf = self.dir / "named.conf"
        text = conf.read_text()
        use = ""
        allow = "any;"
        if self.key:
            algorithm, name, secret = self.key
            text = (f'key "{name}" {{ algorithm {algorithm}; '
                    f'secret "{secret}"; }};\n') + text
            use = f' key "{name}"'
            allow = f'key "{name}";'
        # By itself it has ten transfers at a time, and refuses others.
        text = text.replace("options {", "options { transfers-out 1000;", 1)
        more = f"allow-transfer {{ {allow} }}; ixfr-from-differences yes; "
        if self.notified:
            more += ("notify explicit; notify-delay 0; also-notify "
                     f"{{ 127.0.0.1 port {self.notified}{use}; }}; ")
        text = text.replace("notify no;", "").replace(
            "{ type primary; ", f"{{ type primary; {more}")
        conf.write_text(text)
        return command


ALL = (Bind, Knot, Nsd, Ours)
