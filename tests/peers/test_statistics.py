"""Statistics beside those of NSD: the same requests, the same counters."""
import socket
import struct
import subprocess
import time

import dns.message
import dns.query
import pytest

import servers
from servers import build_dir

ZONE = """$ORIGIN {name}.
$TTL 3600
@	SOA ns h 1 7200 3600 1209600 300
	NS ns
ns	A 192.0.2.53
www	A 192.0.2.1
big	TXT {text}
sub	NS ns.sub
ns.sub	A 192.0.2.3
"""

GROUPS = """\
remote-control:
	control-enable: yes
	control-interface: {dir}/control
"""


class Counting:
    """A server with nsd-control, in the same way for both."""

    def __init__(self, server, program):
        self.server, self.program = server, program
        server.zone_more = ["\tzonestats: \"%s\""]
        server.more = ["\tprovide-xfr: 127.0.0.1 NOKEY",
                       GROUPS.format(dir=server.dir)]
        server.start()
        self.wait()

    def lines(self, verb="stats"):
        """[(name, value)]"""
        result = subprocess.run(
            [self.program, "-c", str(self.server.dir / "nsd.conf"), verb],
            capture_output=True, text=True, timeout=60, check=False)
        assert result.returncode == 0, result.stdout + result.stderr
        return [line.split("=") for line in result.stdout.splitlines()]

    def wait(self):
        end = time.monotonic() + 60
        while True:
            try:
                return self.lines()
            except AssertionError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.05)

    def counts(self):
        """The counters that are not 0; of all servers together."""
        found = {}
        for name, value in self.lines():
            if name.startswith("server"):
                name = "servers"
            elif "num." not in name:
                continue
            found[name] = found.get(name, 0) + int(value)
        return {name: value for name, value in found.items() if value}

    def settle(self, wanted):
        """The counters once they are what is wanted, or after a while. None:
        once there are some and no more come. A reply may be there before it
        is counted."""
        end = time.monotonic() + 60
        found, quiet = {}, 0
        while time.monotonic() < end:
            more = self.counts()
            for name, value in more.items():
                found[name] = found.get(name, 0) + value
            quiet = 0 if more else quiet + 1
            if found == wanted or (wanted is None and found and quiet > 2):
                break
            time.sleep(0.02)
        return found


class OursCounting(servers.Ours):
    def command(self):
        return with_control(super().command(), self)


class NsdCounting(servers.Nsd):
    def command(self):
        return with_control(super().command(), self)


def with_control(command, server):
    """servers.py ends each configuration in control-enable: no."""
    conf = server.dir / "nsd.conf"
    conf.write_text(conf.read_text().removesuffix(
        "remote-control:\n\tcontrol-enable: no\n"))
    return command


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    path = tmp_path_factory.mktemp("zones")
    zones = {}
    for name in ("a.test", "b.test"):
        zones[name] = path / name
        zones[name].write_text(ZONE.format(
            name=name, text=" ".join(['"%s"' % ("x" * 200)] * 30)))
    made = []
    try:
        for server, program in (
                (OursCounting(zones), build_dir() / "nsd-control"),
                (NsdCounting(zones), "/usr/sbin/nsd-control")):
            made.append(Counting(server, str(program)))
        yield made
    finally:
        for one in made:
            one.server.stop()


def query(name, rdtype, rdclass="IN", **more):
    return dns.message.make_query(name, rdtype, rdclass, **more).to_wire()


def header(flags, questions=1, additional=0):
    return struct.pack("!6H", 7, flags, questions, 0, 0, additional)


def question(rdtype, rdclass=1):
    return b"\x03www\x01a\x04test\0" + struct.pack("!HH", rdtype, rdclass)


def udp(octets):
    def send(port):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.settimeout(0.2)
            sock.sendto(octets, ("127.0.0.1", port))
            try:
                sock.recv(65535)
            except TimeoutError:
                pass
    return send


def tcp(*messages):
    def send(port):
        with socket.create_connection(("127.0.0.1", port)) as sock:
            sock.settimeout(60)
            for octets in messages:
                sock.sendall(struct.pack("!H", len(octets)) + octets)
                sock.recv(65535)
    return send


# Requests that count the same in both.
SAME = {
    "A": udp(query("www.a.test", "A")),
    "of another zone": udp(query("www.b.test", "A")),
    "absent": udp(query("no.a.test", "A")),
    "no data": udp(query("www.a.test", "MX")),
    "EDNS": udp(query("www.a.test", "A", use_edns=0)),
    "EDNS 1": udp(query("www.a.test", "A", use_edns=1)),
    "wrong OPT": udp(header(0, additional=1) + question(1)
                     + b"\0\0\x29\x10\0\0\0\0\0\0\x05ab"),
    "refused": udp(query("x.other", "A")),
    "truncated": udp(query("big.a.test", "TXT")),
    "referral": udp(query("x.sub.a.test", "A")),
    "over TCP": tcp(query("www.a.test", "A"), query("www.a.test", "MX")),
    **{f"class {n}": udp(header(0) + question(1, n))
       for n in (0, 2, 3, 4, 5, 254, 255, 65280)},
    "CH": udp(query("id.server", "TXT", "CH")),
    "AXFR over UDP": udp(query("a.test", "AXFR")),
    "type above 255": udp(query("www.a.test", "CAA")),
    "too short": udp(b"\0\0\0"),
    "a reply": udp(header(0x8000) + question(1)),
    "opcode 9": udp(header(9 << 11) + question(1)),
}

# Where ours counts more. NSD
# counts no opcode of what it refuses for its form or its opcode, and nothing of
# transfers and NOTIFY for the group, but raxfr and rixfr.
MORE = {
    "malformed": (udp(header(0) + b"\x03ww"), {"num.opcode.QUERY": 1}),
    "no question": (udp(header(0, 0)), {"num.opcode.QUERY": 1}),
    "IQUERY": (udp(header(1 << 11) + question(1)), {"num.opcode.IQUERY": 1}),
    "STATUS": (udp(header(2 << 11) + question(1)), {"num.opcode.STATUS": 1}),
    "UPDATE": (udp(header(5 << 11) + question(6)), {"num.opcode.UPDATE": 1}),
    "AXFR": (tcp(query("b.test", "AXFR")), {
        "b.test.num.queries": 1, "b.test.num.type.TYPE252": 1,
        "b.test.num.opcode.QUERY": 1, "b.test.num.class.IN": 1,
        "b.test.num.rcode.NOERROR": 1, "b.test.num.tcp": 1}),
    "AXFR refused": (tcp(query("a.test", "AXFR")), {
        "a.test.num.queries": 1, "a.test.num.type.TYPE252": 1,
        "a.test.num.opcode.QUERY": 1, "a.test.num.class.IN": 1,
        "a.test.num.rcode.REFUSED": 1, "a.test.num.tcp": 1}),
}


def look(both, send):
    found = []
    for counting in both:
        counting.counts()
        send(counting.server.port)
        found.append(counting)
    return found


@pytest.mark.parametrize("what", SAME)
def test_counts_the_same(both, what):
    ours, theirs = look(both, SAME[what])
    wanted = theirs.settle(None)
    assert wanted and ours.settle(wanted) == wanted


@pytest.mark.parametrize("what", MORE)
def test_counts_more(both, what):
    send, more = MORE[what]
    ours, theirs = look(both, send)
    wanted = {**theirs.settle(None), **more}
    assert ours.settle(wanted) == wanted


def test_each_type_has_the_same_key(both):
    """Collectors chart num.type.TYPE252 and num.type.TYPE255. What is answered
    differs for some of them."""
    for counting in both:
        counting.counts()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.settimeout(60)
            sock.connect(("127.0.0.1", counting.server.port))
            for rdtype in range(257):
                sock.send(header(0) + question(rdtype))
                sock.recv(4096)
    ours, theirs = ({name: value for name, value in
                     counting.settle(None).items()
                     if name.startswith("num.type.")} for counting in both)
    assert {"num.type.TYPE31", "num.type.TYPE251",
            "num.type.TYPE255"} <= theirs.keys()
    assert ours == theirs


def test_lines_are_the_same_in_the_same_order(both):
    """Ours has two more, of later versions."""
    for counting in both:
        counting.counts()
    ours, theirs = ([name for name, _ in counting.lines("stats_noreset")]
                    for counting in both)
    assert [name for name in ours
            if name not in ("zone.primary", "zone.secondary")] == theirs
