"""Validators and iterations of NSEC3: a zone for each number, truly signed by
ldns-signzone, is served by ours; Unbound, and delv of BIND, ask for a name that does
not exist. The result depends on no load."""
import os
import socket
import struct
import subprocess
import time

import servers
from ports import free_port

ITERATIONS = (0, 1, 50, 100, 150, 151, 500, 501, 2500)
LIMIT_SEC = 60
# Flags of a query: recursion desired, and whether it was validated, please.
RD, AD = 0x100, 0x20
NXDOMAIN = 3
ZONE = """{name}. 3600 IN SOA ns.{name}. host.{name}. 1 3600 900 604800 900
{name}. 3600 IN NS ns.{name}.
ns.{name}. 3600 IN A 127.0.0.1
"""
UNBOUND = """server:
	interface: 127.0.0.1@{port}
	username: ""
	chroot: ""
	directory: {folder}
	pidfile: ""
	use-syslog: no
	do-not-query-localhost: no
	trust-anchor-file: {folder}/anchors
remote-control:
	control-enable: no
"""


def zone_name(iterations):
    return f"with{iterations}"


def key_of(folder, name):
    """The DNSKEY record of a key made for it."""
    base = subprocess.run(
        ["ldns-keygen", "-a", "ECDSAP256SHA256", name], cwd=folder,
        check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    with open(f"{folder}/{base}.key", encoding="ascii") as f:
        return base, f.readline()


def make_zones(folder):
    """({zone: DNSKEY record}, the zones as a server takes them)"""
    keys, files = {}, {}
    for iterations in ITERATIONS:
        name = zone_name(iterations)
        with open(f"{folder}/{name}", "w", encoding="ascii") as f:
            f.write(ZONE.format(name=name))
        base, keys[name] = key_of(folder, name)
        subprocess.run(["ldns-signzone", "-n", "-t", str(iterations), name,
                        base], cwd=folder, check=True,
                       stderr=subprocess.DEVNULL)
        files[name] = f"{folder}/{name}.signed"
    return keys, servers.ZoneSet("validated", files,
                                 probe=(zone_name(0) + ".", 6))


def asked(port, name):
    """The outcome of a name, of a validator that listens there."""
    query = bytearray(servers.wire_query(name, 1, 1))
    query[2:4] = struct.pack(">H", RD | AD)
    end = time.monotonic() + LIMIT_SEC
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(5)
        sock.connect(("127.0.0.1", port))
        while time.monotonic() < end:
            try:
                sock.send(query)
                reply = sock.recv(4096)
            except OSError:
                time.sleep(0.05)
                continue
            flags = struct.unpack(">H", reply[2:4])[0]
            if flags & 15 != NXDOMAIN:
                return f"RCODE {flags & 15}"
            return "validated" if flags & AD else "insecure"
    raise OSError("unbound does not answer")


def by_unbound(folder, keys, port):
    """{zone: what it says}"""
    own = free_port()
    with open(f"{folder}/anchors", "w", encoding="ascii") as f:
        f.writelines(keys.values())
    with open(f"{folder}/unbound.conf", "w", encoding="ascii") as f:
        f.write(UNBOUND.format(port=own, folder=folder))
        f.writelines(f"stub-zone:\n\tname: {name}\n\tstub-addr: "
                     f"127.0.0.1@{port}\n" for name in keys)
    process = subprocess.Popen(
        [servers.find_program("unbound") or "unbound", "-d", "-c",
         f"{folder}/unbound.conf"], stdin=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL)
    try:
        return {name: asked(own, f"none.{name}.") for name in keys}
    finally:
        process.terminate()
        process.wait()


def by_delv(folder, keys, port):
    found = {}
    for name, key in keys.items():
        # Owner, class, type, then flags, protocol, algorithm and the key.
        flags, protocol, algorithm, text = key.split(";")[0].split()[3:]
        with open(f"{folder}/{name}.anchor", "w", encoding="ascii") as f:
            f.write(f'trust-anchors {{ "{name}." static-key {flags} '
                    f'{protocol} {algorithm} "{text}"; }};\n')
        text = subprocess.run(
            ["delv", "@127.0.0.1", "-p", str(port), "-a",
             f"{folder}/{name}.anchor", f"+root={name}", f"none.{name}", "A"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            check=False).stdout
        found[name] = "validated" if "fully validated" in text else \
            "insecure" if "unsigned answer" in text else "failed"
    return found


class Parts:
    """Of a study, which has the rest."""

    def part_validators(self):
        folder = os.path.join(self.work, "validators")
        os.mkdir(folder)
        keys, zones = make_zones(folder)
        server = self.start(next(iter(self.programs)), zones)
        try:
            for validator, ask in (("unbound", by_unbound), ("delv", by_delv)):
                said = ask(folder, keys, server.port)
                for iterations in ITERATIONS:
                    self.note("validators", validator, iterations=iterations,
                              version=version_of(validator),
                              said=said[zone_name(iterations)])
        finally:
            server.stop()


def version_of(validator):
    program = servers.find_program(validator) or validator
    flag = {"unbound": "-V", "delv": "-v"}[validator]
    text = subprocess.run([program, flag], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True,
                          check=False).stdout.split("\n")[0]
    return text.replace("Version", "Unbound")
