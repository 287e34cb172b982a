"""A server behind a proxy that speaks PROXYv2: access lists, answers and
figures are about the client that it names (faults 40)."""
import ipaddress
import random
import re
import signal
import socket
import struct

import dns.message
import dns.opcode
import dns.query
import dns.rcode
import pytest

import control
from harness import DEADLINE, is_alive, wait_for, zone_text
from ports import free_port

SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"
LOCAL, PROXY = 0x20, 0x21

ACCESS = """\
zone:
	name: few.test
	zonefile: example.zone
	allow-query: 192.0.2.0/25 NOKEY
	allow-query: 2001:db8::/32 NOKEY
	allow-query: 192.0.2.66 BLOCKED
	provide-xfr: 192.0.2.1 NOKEY
zone:
	name: mapped.test
	zonefile: example.zone
	allow-query: ::ffff:192.0.2.1 NOKEY
	allow-query: ::ffff:198.51.100.0/120 NOKEY
	allow-query: ::ffff:203.0.113.5-::ffff:203.0.113.9 NOKEY
	allow-query: ::ffff:198.51.100.6 BLOCKED
	allow-query: ::/8 NOKEY
"""

# With proxies that may not speak for anybody, each for one of the lists. The
# second zone has lists that are long enough for an index.
BLOCKED = """\
	allow-query: 0.0.0.0/0 NOKEY
	allow-query: 127.0.0.7 BLOCKED
	provide-xfr: 192.0.2.1 NOKEY
	provide-xfr: 127.0.0.8 BLOCKED
	allow-notify: 192.0.2.1 NOKEY
	allow-notify: 127.0.0.9 BLOCKED
	request-xfr: 127.0.0.1@1 NOKEY
"""
MORE = "".join(f"\t{name}: 203.0.113.{2 * i} NOKEY\n" for i in range(10)
               for name in ("allow-query", "provide-xfr", "allow-notify"))
BLOCKING = f"""\
zone:
	name: few.test
	zonefile: example.zone
{BLOCKED}zone:
	name: many.test
	zonefile: example.zone
{BLOCKED}{MORE}"""


def header(source, port=4321, command=PROXY, more=b"", protocol=2):
    source = ipaddress.ip_address(source)
    body = source.packed + source.packed + struct.pack("!HH", port, 53) + more
    family = 1 if source.version == 4 else 2
    return (SIGNATURE + bytes([command, family << 4 | protocol])
            + struct.pack("!H", len(body)) + body)


@pytest.fixture
def proxied(nsd):
    def start(access=ACCESS, **options):
        port = free_port()
        server = nsd(zones={"example": zone_text()}, extra=access, options={
            "ip-address": ["127.0.0.1", f"127.0.0.1@{port}"],
            "proxy-protocol-port": port, **options})
        server.proxy_port = port
        return server
    return start


def over_udp(server, octets, timeout=DEADLINE, source="127.0.0.1"):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.bind((source, 0))
        client.settimeout(timeout)
        client.sendto(octets, ("127.0.0.1", server.proxy_port))
        return client.recv(65535)


def over_tcp(server, head, request, source="127.0.0.1"):
    """The first message; empty if the server closes."""
    with socket.create_connection(("127.0.0.1", server.proxy_port), DEADLINE,
                                  (source, 0)) as client:
        try:
            client.sendall(head + struct.pack("!H", len(request)) + request)
            with client.makefile("rb") as stream:
                size = stream.read(2)
                return stream.read(int.from_bytes(size, "big"))
        except ConnectionError:
            return b""


def ask(server, source, name="www.few.test", rdtype="A", tcp=False):
    message = dns.message.make_query(name, rdtype)
    head, wire = header(source), message.to_wire()
    octets = over_tcp(server, head, wire) if tcp else over_udp(
        server, head + wire)
    answer = dns.message.from_wire(octets, one_rr_per_rrset=True,
                                   ignore_trailing=True)
    assert answer.id == message.id
    return answer


@pytest.mark.parametrize("tcp", [False, True], ids=["udp", "tcp"])
def test_access_is_of_the_client(proxied, tcp):
    server = proxied()
    for source in "192.0.2.1", "192.0.2.127", "2001:db8::1":
        assert ask(server, source, tcp=tcp).rcode() == dns.rcode.NOERROR
    for source in "192.0.2.66", "192.0.2.128", "127.0.0.1", "2001:db9::1":
        assert ask(server, source, tcp=tcp).rcode() == dns.rcode.REFUSED
    # As a proxy names them whose socket is for both families.
    for source, rcode in (("192.0.2.1", dns.rcode.NOERROR),
                          ("192.0.2.66", dns.rcode.REFUSED)):
        assert ask(server, f"::ffff:{source}", tcp=tcp).rcode() == rcode
    # Without a proxy the same zone is not for us; others are for all.
    assert server.rcode("www.few.test", "A", tcp=tcp) == "REFUSED"
    assert server.answer("www.example", "A", tcp=tcp) == ["192.0.2.1"]


def test_mapped_addresses_are_those_of_ipv4(proxied):
    """IPv4-mapped addresses of a proxy match lists of IPv4."""
    server = proxied()
    for source, allowed in (("192.0.2.1", True), ("192.0.2.2", False),
                            ("198.51.100.0", True), ("198.51.100.255", True),
                            ("198.51.100.6", False), ("198.51.101.0", False),
                            ("203.0.113.4", False), ("203.0.113.5", True),
                            ("203.0.113.9", True), ("203.0.113.10", False)):
        for said in source, f"::ffff:{source}":
            assert (ask(server, said, "www.mapped.test").rcode()
                    == dns.rcode.NOERROR) == allowed
    assert ask(server, "::fffe:192.0.2.2",
               "www.mapped.test").rcode() == dns.rcode.NOERROR


def test_transfer_is_for_the_client(proxied):
    server = proxied()
    assert ask(server, "192.0.2.1", "few.test", "AXFR",
               tcp=True).rcode() == dns.rcode.NOERROR
    assert ask(server, "192.0.2.2", "few.test", "AXFR",
               tcp=True).rcode() == dns.rcode.REFUSED


@pytest.mark.parametrize("zone", ["few.test", "many.test"])
def test_proxies_that_are_blocked(proxied, zone):
    server = proxied(access=BLOCKING)
    notify = dns.message.make_query(zone, "SOA")
    notify.set_opcode(dns.opcode.NOTIFY)
    requests = {"query": dns.message.make_query(f"www.{zone}", "A"),
                "transfer": dns.message.make_query(zone, "AXFR"),
                "notify": notify}
    head = header("192.0.2.1")
    blocked = {"127.0.0.6": None, "127.0.0.7": "query",
               "127.0.0.8": "transfer", "127.0.0.9": "notify"}
    for source, kind in blocked.items():
        for what, message in requests.items():
            wire = message.to_wire()
            replies = [over_tcp(server, head, wire, source)]
            if what != "transfer":
                replies.append(over_udp(server, head + wire, source=source))
            expected = (dns.rcode.REFUSED if what == kind
                        else dns.rcode.NOERROR)
            assert [reply[3] & 15 for reply in replies] == [
                expected] * len(replies), (source, what)


def test_proxy_that_speaks_for_itself(proxied):
    """LOCAL, and family unspecified: what a proxy asks to see whether we are
    there."""
    server = proxied()
    wire = dns.message.make_query("www.example", "A").to_wire()
    for head in (SIGNATURE + bytes([LOCAL, 0, 0, 0]),
                 header("192.0.2.1", command=LOCAL),
                 SIGNATURE + bytes([PROXY, 0, 0, 2]) + b"xy"):
        for octets in over_udp(server, head + wire), over_tcp(server, head,
                                                              wire):
            assert dns.message.from_wire(octets).rcode() == dns.rcode.NOERROR
    # The proxy's own address counts.
    wire = dns.message.make_query("www.few.test", "A").to_wire()
    octets = over_udp(server, header("192.0.2.1", command=LOCAL) + wire)
    assert dns.message.from_wire(octets).rcode() == dns.rcode.REFUSED


def test_allow_proxy(proxied):
    server = proxied(**{"allow-proxy": ["127.0.0.2", "127.0.1.0/24"]})
    wire = dns.message.make_query("www.few.test", "A").to_wire()
    head = header("192.0.2.1")
    for source in "127.0.0.2", "127.0.1.9":
        assert over_udp(server, head + wire, source=source)
        assert over_tcp(server, head, wire, source=source)
    assert over_tcp(server, head, wire, source="127.0.0.3") == b""
    with pytest.raises(TimeoutError):
        over_udp(server, head + wire, timeout=0.3, source="127.0.0.3")


def is_proxy(server, source):
    """Whether that address may speak for others, in all workers."""
    head = header("192.0.2.1")
    wire = dns.message.make_query("www.few.test", "A").to_wire()
    said = {bool(over_tcp(server, head, wire, source)) for _ in range(8)}
    assert len(said) == 1
    return said.pop()


def test_allow_proxy_follows_nsd_conf(make_server):
    """Connections that are there stay; a list that is none changes nothing."""
    port = free_port()
    server = make_server(zones={"example": zone_text()}, extra=ACCESS,
                         options={"allow-proxy": "127.0.0.2",
                                  "ip-address": ["127.0.0.1",
                                                 f"127.0.0.1@{port}"],
                                  "proxy-protocol-port": port,
                                  "server-count": 2})
    server.proxy_port = port
    control.config(server).start()
    assert is_proxy(server, "127.0.0.2") and not is_proxy(server, "127.0.0.3")
    wire = dns.message.make_query("www.few.test", "A").to_wire()
    with socket.create_connection(("127.0.0.1", port), DEADLINE,
                                  ("127.0.0.2", 0)) as old:
        old.sendall(header("192.0.2.1"))
        for allowed, text in (("127.0.0.3", "changes applied\nok\n"),
                              ("127.0.0.0/33", "nothing has changed\n")):
            server.options["allow-proxy"] = allowed
            server.write_config()
            # The tool would not take the second one either.
            said = control.say(server, b"NSDCT1  reconfig\n")
            assert said.endswith(text), said
            assert is_proxy(server, "127.0.0.3")
            assert not is_proxy(server, "127.0.0.2")
            old.sendall(struct.pack("!H", len(wire)) + wire)
            assert dns.query.receive_tcp(old)[0].rcode() == dns.rcode.NOERROR
    assert re.search(r"nsd.conf:\d+: .*error", said)


def malformed():
    """(what, header): none of them may be answered."""
    good = header("192.0.2.1")
    yield "none", b""
    yield "version 1", b"PROXY UDP4 192.0.2.1 127.0.0.1 1 53\r\n"
    yield "signature", b"\n" + good[1:]
    yield "version 3", good[:12] + b"\x31" + good[13:]
    yield "command", good[:12] + b"\x22" + good[13:]
    yield "UNIX", header("192.0.2.1")[:13] + b"\x32" + struct.pack(
        "!H", 216) + bytes(216)
    yield "addresses cut", SIGNATURE + b"\x21\x12\0\x0b" + bytes(11)
    yield "addition cut", header("192.0.2.1", more=b"\x01\0\x09abc")
    yield "crc32c", header("192.0.2.1", more=b"\x03\0\x04abcd")
    yield "longer than it is", good[:14] + b"\xff\xff" + good[16:]


def test_malformed_headers(proxied):
    server = proxied()
    pid = server.role("server 1")
    wire = dns.message.make_query("www.example", "A").to_wire()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.connect(("127.0.0.1", server.proxy_port))
        for what, head in malformed():
            client.send(head + wire)
            assert over_tcp(server, head, wire) == b"", what
        # Of all that came over UDP, only this is answered.
        last = dns.message.make_query("txt.example", "TXT")
        client.settimeout(DEADLINE)
        client.send(header("192.0.2.1") + last.to_wire())
        assert dns.message.from_wire(client.recv(65535)).id == last.id
    assert is_alive(pid)
    known = len(server.read_log())
    server.signal(signal.SIGUSR1)
    line = server.wait_log(rf"\[{pid}\]: info: XSTATS .* RErr=(\d+)", known)
    assert int(line[1]) == 2 * len(list(malformed()))


def test_header_in_single_octets(proxied):
    server = proxied()
    wire = dns.message.make_query("www.few.test", "A").to_wire()
    octets = header("192.0.2.1") + struct.pack("!H", len(wire)) + wire
    with socket.create_connection(("127.0.0.1", server.proxy_port),
                                  DEADLINE) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for at in range(len(octets)):
            client.send(octets[at:at + 1])
        with client.makefile("rb") as stream:
            size = int.from_bytes(stream.read(2), "big")
            answer = dns.message.from_wire(stream.read(size))
    assert answer.rcode() == dns.rcode.NOERROR


def test_any_octets(proxied):
    server = proxied()
    pid = server.role("server 1")
    chance = random.Random(1)
    good = header("2001:db8::1", more=b"\x01\0\x03abc")
    wire = dns.message.make_query("www.few.test", "A").to_wire()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.connect(("127.0.0.1", server.proxy_port))
        for _ in range(2000):
            octets = bytearray(good + wire)
            for _ in range(chance.randrange(1, 4)):
                octets[chance.randrange(len(octets))] = chance.randrange(256)
            client.send(octets[:chance.randrange(len(octets) + 1)])
    assert ask(server, "192.0.2.1").rcode() == dns.rcode.NOERROR
    assert is_alive(pid)


def test_workers_that_adopt_know_proxies(nsd):
    """The sockets of a worker that is gone are served by another meanwhile."""
    port = free_port()
    server = nsd(zones={"example": zone_text()}, extra=ACCESS, options={
        "ip-address": [f"127.0.0.1 servers=1", f"127.0.0.1@{port} servers=2"],
        "proxy-protocol-port": port, "server-count": 2})
    server.proxy_port = port
    server.kill("server 2")
    wait_for("an answer", lambda: ask(
        server, "192.0.2.1").rcode() == dns.rcode.NOERROR)
