"""Primaries with a catalog zone (RFC 9432): ours and NSD with a producer, Knot
with a generated one, BIND with one written by hand."""
import signal

import catalog_servers
import servers

CATALOG = catalog_servers.CATALOG
SMALL = "@ 300 SOA invalid. invalid. 1 3600 600 86400 0\n@ 300 NS invalid.\n"


class Producer:
    """Mixed into one of the servers. told: ports of the consumers."""

    def __init__(self, told=()):
        super().__init__({})
        self.told = list(told)
        self.small = self.write("small.zone", SMALL)
        self.members = {}  # {name: group}

    def change(self, adds=(), removes=()):
        """{name: group} come, names go. A name in both is a new member."""
        raise NotImplementedError


class _Controlled(Producer, catalog_servers.Controlled):
    """Ours and NSD: members by nsd-control."""

    def command(self):
        give = ["\tprovide-xfr: 127.0.0.1 NOKEY",
                *(f"\tnotify: 127.0.0.1@{port} NOKEY" for port in self.told)]
        self.more = ["zone:", f"\tname: {CATALOG}", "\tcatalog: producer",
                     "\tstore-ixfr: yes", *give]
        for name in ("m", "other"):
            self.more += ["pattern:", f"\tname: {name}",
                          f'\tzonefile: "{self.small}"',
                          f"\tcatalog-producer-zone: {CATALOG}", *give]
        self.control = ["\tcontrol-enable: yes",
                        f'\tcontrol-interface: "{self.dir}/ctl"']
        return super().command()

    def change(self, adds=(), removes=()):
        for name in removes:
            del self.members[name]
            assert self.ask("delzone", name) == (0, "ok\n")
        for name, group in dict(adds).items():
            self.members[name] = group
            assert self.ask("addzone", name, group) == (0, "ok\n")


class Ours(_Controlled, catalog_servers.OursControlled):
    pass


class Between(catalog_servers.Ours):
    """Ours with members of a primary's catalog, which it lists in another one,
    its own. told: ports of the consumers."""

    own = "own.test."

    def command(self):
        *_, conf = command = super().command()
        give = "".join(f"\tnotify: 127.0.0.1@{port} NOKEY\n"
                       for port in self.told)
        path = self.dir / "nsd.conf"
        assert str(path) == conf
        path.write_text(path.read_text().replace(
            '\tzonefile: "%s.z"\n', '\tzonefile: "%s.z"\n'
            f"\tcatalog-producer-zone: {self.own}\n{give}") +
            f"zone:\n\tname: {self.own}\n\tcatalog: producer\n"
            f"\tstore-ixfr: yes\n\tprovide-xfr: 127.0.0.1 NOKEY\n{give}")
        return command


class Nsd(_Controlled, catalog_servers.NsdControlled):
    pass


class Knot(Producer, servers.Knot):
    def command(self):
        remotes = [line for port in self.told for line in (
            f"  - id: to{port}", f"    address: 127.0.0.1@{port}")]
        notify = "[" + ", ".join(f"to{port}" for port in self.told) + "]"
        lines = [
            "server:", f'    rundir: "{self.dir}"',
            f"    listen: 127.0.0.1@{self.port}",
            "    udp-workers: 1", "    tcp-workers: 1",
            "    background-workers: 1",
            "database:", f'    storage: "{self.dir}"',
            "log:", "  - target: stderr", "    any: info",
            "remote:", *remotes,
            "acl:", "  - id: all", "    address: 127.0.0.1",
            "    action: transfer",
            "template:", "  - id: default", f'    storage: "{self.dir}"',
            f'    file: "{self.small}"', "    zonefile-sync: -1",
            "    zonefile-load: whole", "    journal-content: none",
            "    semantic-checks: off", "    acl: all",
            f"    notify: {notify}",
            "zone:", f"  - domain: {CATALOG}", "    catalog-role: generate",
            "    file: cat.zone", "    journal-content: changes",
        ]
        for name, group in self.members.items():
            lines += [f"  - domain: {name}", "    catalog-role: member",
                      f"    catalog-zone: {CATALOG}",
                      f"    catalog-group: {group}"]
        conf = self.write("knot.conf", "\n".join(lines) + "\n")
        return ["/usr/sbin/knotd", "-c", str(conf)]

    def change(self, adds=(), removes=()):
        for name in removes:
            del self.members[name]
        self.members.update(adds)
        self.command()
        self.process.send_signal(signal.SIGHUP)


class Bind(Producer, servers.Bind):
    """A catalog by hand. ids: {name: label}, kept until a name goes; coos: the
    zones' new catalogs."""

    def __init__(self, told=(), catalogs=(CATALOG,)):
        super().__init__(told)
        self.serial = 0
        self.made = 0
        self.ids = {}
        self.coos = {}
        self.catalogs = catalogs
        self.at = {}  # {name: catalogs that list it}, if not the first

    def command(self):
        command = super().command()
        told = " ".join(f"127.0.0.1 port {port};" for port in self.told)
        give = f"allow-transfer {{ any; }}; also-notify {{ {told} }};"
        conf = self.dir / "named.conf"
        text = conf.read_text().replace("notify no;", "notify explicit;"
                                        " notify-delay 0; notify-rate 1000;"
                                        " transfers-out 1000;")
        self.serial += 1
        for catalog in self.catalogs:
            path = self.write(f"{catalog}zone", self.catalog_text(catalog))
            text += (f'zone "{catalog}" {{ type primary; file "{path}"; '
                     f"ixfr-from-differences yes; {give} }};\n")
        for name in self.members:
            text += (f'zone "{name}" {{ type primary; '
                     f'file "{self.small}"; {give} }};\n')
        conf.write_text(text)
        return command

    def catalog_text(self, catalog):
        lines = [f"@ 0 SOA invalid. invalid. {self.serial} 3600 600 86400 0",
                 "@ 0 NS invalid.", "version 0 TXT 2"]
        for name, group in self.members.items():
            if catalog not in self.at.get(name, self.catalogs[:1]):
                continue
            if name not in self.ids:
                self.made += 1
                self.ids[name] = f"id{self.made}"
            node = f"{self.ids[name]}.zones"
            lines += [f"{node} 0 PTR {name}.", f"group.{node} 0 TXT {group}"]
            if name in self.coos and self.coos[name] != catalog:
                lines.append(f"coo.{node} 0 PTR {self.coos[name]}")
        return "\n".join(lines) + "\n"

    def change(self, adds=(), removes=()):
        for name in removes:
            del self.members[name]
            self.ids.pop(name, None)
        self.members.update(adds)
        self.reload()

    def reload(self):
        self.command()
        self.process.send_signal(signal.SIGHUP)


ALL = (Ours, Nsd, Bind, Knot)
