"""tests/bench/replay sends a capture again as it says, and counts what comes
back; tests/bench/gen_capture makes one."""
import ipaddress
import json
import random
import struct
import subprocess

import dns.message
import dns.rdatatype
import pytest

import harness

REPLAY = harness.BUILD / "tests/bench/replay"
GEN_CAPTURE = harness.BUILD / "tests/bench/gen_capture"
ETHERNET, RAW, COOKED, COOKED2, VLANS = 1, 101, 113, 276, 1 << 16 | 1
SYN, ACK, FIN = 2, 16, 1
SERVER = {4: "192.0.2.53", 6: "2001:db8::53"}


# ---- captures

def query(name="www.example", rdtype="A", **more):
    return dns.message.make_query(name, rdtype, **more).to_wire()


def packet(client, protocol, payload):
    """An IP packet; replay checks no checksum."""
    source = ipaddress.ip_address(client)
    to = ipaddress.ip_address(SERVER[source.version]).packed
    if source.version == 6:
        return struct.pack(">IHBB", 6 << 28, len(payload), protocol, 64) \
            + source.packed + to + payload
    return struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(payload), 0, 0, 64,
                       protocol, 0) + source.packed + to + payload


def datagram(client, message, port=53):
    return packet(client, 17, struct.pack(
        ">HHHH", 5353, port, 8 + len(message), 0) + message)


def segment(client, seq, flags, data=b"", port=4000):
    return packet(client, 6, struct.pack(
        ">HHIIBBHHH", port, 53, seq % 2**32, 0, 0x50, flags, 65535, 0, 0)
        + data)


def framed(message):
    return struct.pack(">H", len(message)) + message


def write_capture(path, packets, link=RAW, order="<", nsec=False):
    """packets: (seconds, octets)."""
    head = {RAW: b"", ETHERNET: bytes(12) + b"\x08\x00",
            COOKED: bytes(14) + b"\x08\x00",
            COOKED2: b"\x08\x00" + bytes(18),
            VLANS: bytes(12) + bytes.fromhex("88a8 0001 8100 0002 0800")}[link]
    magic, unit = (0xa1b23c4d, 1e9) if nsec else (0xa1b2c3d4, 1e6)
    with open(path, "wb") as f:
        f.write(struct.pack(order + "IHHIIII", magic, 2, 4, 0, 0, 65535,
                            link & 0xffff))
        for seconds, octets in packets:
            octets = head + octets
            f.write(struct.pack(order + "IIII", int(seconds), round(
                seconds % 1 * unit), len(octets), len(octets)) + octets)


def replay(server, path, *options):
    done = subprocess.run(
        [REPLAY, "-w", str(harness.DEADLINE * 1000), *map(str, options),
         str(server.port), path], stdout=subprocess.PIPE, check=True,
        text=True, timeout=3 * harness.DEADLINE)
    return json.loads(done.stdout)


@pytest.fixture
def server(nsd):
    return nsd(zones={"example": harness.zone_text()},
               options={"tcp-count": 200,
                        "ip-address": ["127.0.0.1", "::1"]})


def ends(tcp):
    return sum(tcp[end] for end in (
        "answered", "timeouts", "refused", "cut", "unsent"))


# ---- what is counted

@pytest.mark.parametrize("share", [0, 30, 100])
def test_a_share_is_asked_again_over_tcp(server, tmp_path, share):
    names = tmp_path / "names"
    names.write_text("www.example A\nnone.example A\nns.example AAAA\n"
                     "txt.example TXT\n")
    got = replay(server, names, "-r", 400, "-n", 200, "-l", "-s", share)
    assert got["udp"]["sent"] == got["udp"]["answered"] == 200
    assert got["tcp"]["asked"] == got["tcp"]["answered"] == 2 * share
    assert got["tcp"]["connections"] == 2 * share
    assert got["latency"]["both"]["count"] == 2 * share
    # NXDOMAIN: a quarter of UDP's, and as many of those asked again.
    assert sum(got["rcodes"]) == 200 + 2 * share
    assert got["rcodes"][3] >= 50 and got["rcodes"][0] >= 150


def test_what_is_truncated_is_asked_again(nsd, tmp_path):
    text = harness.zone_text() + "".join(
        f'long IN TXT "{number:0200}"\n' for number in range(8))
    server = nsd(zones={"example": text}, options={"tcp-count": 200})
    names = tmp_path / "names"
    names.write_text("www.example A\nlong.example TXT\nns.example A\n"
                     "none.example A\n")
    got = replay(server, names, "-r", 400, "-n", 200, "-l", "-d", "-C")
    assert got["udp"]["answered"] == 200
    assert got["truncated"] == got["tcp"]["asked"] == 50
    assert got["tcp"]["answered"] == 50
    # Of UDP 512 or 1232 octets at most; of TCP all of it.
    assert got["lengths"]["udp"]["max"] <= 1232
    assert 1600 < got["lengths"]["tcp"]["p50"] == got["lengths"]["tcp"]["max"]
    assert abs(got["lengths"]["tcp"]["mean"] * 50
               - got["tcp"]["octets"]) <= 50
    got = replay(server, names, "-r", 400, "-n", 200, "-l", "-d")
    assert got["truncated"] == 50 and got["tcp"]["asked"] == 0


def test_all_over_tcp(server, tmp_path):
    names = tmp_path / "names"
    names.write_text("www.example A\n")
    got = replay(server, names, "-r", 200, "-n", 100, "-l", "-T")
    assert got["udp"]["sent"] == 0
    assert got["tcp"]["answered"] == got["tcp"]["connections"] == 100
    assert got["latency"]["tcp"]["count"] == 100


def test_connections_that_stay(server, tmp_path):
    names = tmp_path / "names"
    names.write_text("www.example A\n" * 20)
    got = replay(server, names, "-r", 400, "-n", 200, "-l", "-T", "-k", 3)
    assert got["tcp"]["answered"] == 200
    # The server ends connections of many queries or of long ones only.
    assert 1 <= got["tcp"]["connections"] < 200


def test_nobody_there(tmp_path, server):
    names = tmp_path / "names"
    names.write_text("www.example A\n")
    server.stop()
    done = subprocess.run(
        [REPLAY, "-w", "50", "-r", "100", "-n", "10", "-l", "-T",
         str(server.port), names], stdout=subprocess.PIPE, check=True,
        timeout=harness.DEADLINE)
    got = json.loads(done.stdout)
    assert got["tcp"]["asked"] == 10 == got["tcp"]["refused"]
    done = subprocess.run(
        [REPLAY, "-w", "50", "-r", "100", "-n", "10", "-l", "-s", "100",
         str(server.port), names], stdout=subprocess.PIPE, check=True,
        timeout=harness.DEADLINE)
    got = json.loads(done.stdout)
    assert got["udp"]["sent"] + got["udp"]["unsent"] == 10
    assert got["udp"]["timeouts"] == got["udp"]["sent"]
    assert got["tcp"]["asked"] == 0


def test_processes_of_the_server(server, tmp_path):
    names = tmp_path / "names"
    names.write_text("www.example A\n")
    pids = server.processes().values()
    got = replay(server, names, "-r", 200, "-n", 200, "-l", "-i", 0.2, "-p",
                 ",".join(map(str, pids)))
    used = got["server"]
    assert used["processes"] == len(pids)
    assert 0 < used["user"] + used["system"] < got["seconds"] * 64
    assert used["pss_mib"] > 0
    course = got["course"]
    assert len(course) > 1
    assert sum(part["udp_sent"] for part in course) == 200
    assert sum(part["udp_answered"] for part in course) == 200
    for mode in "user", "system":
        assert abs(sum(part["server"][mode] for part in course)
                   - used[mode]) < 1e-3


# ---- captures

@pytest.mark.parametrize("link, order, nsec", [
    (RAW, "<", True), (RAW, ">", False), (ETHERNET, "<", False),
    (COOKED, ">", True), (COOKED2, "<", False), (VLANS, ">", False)])
def test_forms_of_captures(server, tmp_path, link, order, nsec):
    capture = tmp_path / "capture"
    write_capture(capture, [(0.01 * n, datagram("198.51.100.1", query()))
                            for n in range(10)], link, order, nsec)
    got = replay(server, capture)
    assert got["queries"] == got["udp"]["answered"] == 10


def test_a_capture_of_pcapng_is_named(tmp_path):
    capture = tmp_path / "capture"
    capture.write_bytes(bytes.fromhex("0a0d0d0a 1c000000 4d3c2b1a 01000000")
                        + bytes(12))
    done = subprocess.run([REPLAY, "1", capture], stderr=subprocess.PIPE,
                          check=False, text=True, timeout=harness.DEADLINE)
    assert done.returncode == 1 and "pcapng" in done.stderr


def test_packets_of_one_time_have_a_rate(server, tmp_path):
    capture = tmp_path / "capture"
    write_capture(capture, [(7, datagram("198.51.100.1", query()))] * 41)
    assert 0.4 <= replay(server, capture, "-r", 100)["seconds"]


def test_families_and_transports(server, tmp_path):
    """Queries of TCP are those of its streams: with several in a segment, over
    several, sent again, and with octets missing."""
    one, two = framed(query()), framed(query("txt.example", "TXT"))
    capture = tmp_path / "capture"
    data = one + two
    write_capture(capture, [(0.001 * n, octets) for n, octets in enumerate([
        datagram("2001:db8::1", query()),
        datagram("198.51.100.1", query()),
        # Not a query to this port, a reply, and no message.
        datagram("198.51.100.1", query(), port=54),
        datagram("198.51.100.1", query()[:2] + b"\x80" + query()[3:]),
        datagram("198.51.100.1", b"abc"),
        segment("198.51.100.2", 2**32 - 1, SYN),
        segment("198.51.100.2", 0, ACK, data),
        segment("198.51.100.2", len(data), FIN | ACK),
        segment("2001:db8::2", 99, SYN),
        segment("2001:db8::2", 100, ACK, one[:7]),
        segment("2001:db8::2", 100, ACK, one[:7]),
        segment("2001:db8::2", 104, ACK, one[4:]),
        segment("198.51.100.3", 0, SYN),
        segment("198.51.100.3", 1, ACK, one[:5]),
        segment("198.51.100.3", 9, ACK, one[8:]),
    ])])
    got = replay(server, capture)
    assert got["queries"] == 5
    assert got["skipped"] == 3
    assert got["udp"]["sent"] == got["udp"]["answered"] == 2
    assert got["tcp"]["asked"] == got["tcp"]["answered"] == 3
    # Each family to its own address.
    got = replay(server, capture, "-a", "127.0.0.1", "-a", "::1")
    assert got["udp"]["answered"] == 2 and got["tcp"]["answered"] == 3


def test_captures_that_are_cut_or_made_up(server, tmp_path):
    whole = tmp_path / "whole"
    write_capture(whole, [(0.001 * n, octets) for n, octets in enumerate([
        datagram("198.51.100.1", query()), datagram("2001:db8::1", query()),
        segment("198.51.100.2", 9, SYN),
        segment("198.51.100.2", 10, ACK, framed(query()))])])
    data, rng = whole.read_bytes(), random.Random(1)
    for turn in range(40):
        part = bytearray(data[:rng.randrange(25, len(data) + 1)])
        for _ in range(turn % 4):
            part[rng.randrange(24, len(part))] = rng.randrange(256)
        broken = tmp_path / "broken"
        broken.write_bytes(part)
        # The times may be years apart.
        done = subprocess.run(
            [REPLAY, "-w", "20", "-t", "0.01", str(server.port), broken],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
            timeout=harness.DEADLINE, text=True)
        assert done.returncode == 0 or "no queries" in done.stderr \
            or "link type" in done.stderr, done.stderr


# ---- times

def test_times_are_those_of_the_capture(server, tmp_path):
    """Never earlier than captured; how much later is told."""
    capture = tmp_path / "capture"
    write_capture(capture, [(1000 + 0.01 * n, datagram("198.51.100.1", query()))
                            for n in range(41)])
    got = replay(server, capture)
    assert got["udp"]["answered"] == 41
    assert 0.4 <= got["seconds"]
    assert got["lateness"]["count"] == 41
    took = 0.4 + got["lateness"]["max"] / 1e6 + got["latency"]["udp"]["max"] \
        / 1e6
    # A turn of the loop behind what it tells, at most a wait for a core.
    assert got["seconds"] < took + harness.DEADLINE
    # Four times as fast; and at a rate.
    assert 0.1 <= replay(server, capture, "-x", 4)["seconds"]
    assert 0.8 <= replay(server, capture, "-r", 50)["seconds"]
    # Over again, with the gap of the mean between.
    got = replay(server, capture, "-l", "-n", 82)
    assert got["udp"]["sent"] == 82 and got["seconds"] >= 0.81


def test_a_made_capture(server, tmp_path):
    existing, absent = tmp_path / "existing", tmp_path / "absent"
    existing.write_text("www.example A\nns.example A\ntxt.example A\n")
    absent.write_text("none.example A\nnever.example A\n")
    capture, again = tmp_path / "capture", tmp_path / "again"
    for path in capture, again:
        subprocess.run([GEN_CAPTURE, "-t", "4", "-r", "60", "-c", "100", "-T",
                        "10", existing, absent, path], check=True)
    assert capture.read_bytes() == again.read_bytes()
    got = replay(server, capture, "-x", 4)
    # Of 240 at random, and of these a tenth over TCP, a quarter absent; few
    # enough for the queue of a server's socket, if that has to wait long.
    assert 180 < got["queries"] < 300
    assert got["skipped"] == 0
    assert got["udp"]["answered"] + got["tcp"]["answered"] == got["queries"]
    assert 0.03 < got["tcp"]["answered"] / got["queries"] < 0.2
    assert 0.12 < got["rcodes"][3] / got["queries"] < 0.4


def queries_of(path):
    """(name, type, EDNS size or None) of a capture that gen_capture made."""
    data, at, found = path.read_bytes(), 24, []
    while at < len(data):
        length, = struct.unpack_from("<I", data, at + 8)
        message = dns.message.from_wire(data[at + 16 + 28:at + 16 + length])
        question = message.question[0]
        found.append((question.name.to_text(), dns.rdatatype.to_text(
            question.rdtype), message.payload if message.edns == 0 else None))
        at += 16 + length
    return found


def test_a_capture_of_validators(tmp_path):
    """DS of the name above, SOA and DNSKEY of the zone; one size for all who
    have EDNS; all else is the same query."""
    existing, absent = tmp_path / "existing", tmp_path / "absent"
    existing.write_text("www.a.example. A\nwww.b.example. A\n")
    absent.write_text("www.none.example. A\n")
    captures = []
    for number, options in enumerate([(), ("-v", "example."), (
            "-v", "example.", "-e", "777")]):
        path = tmp_path / str(number)
        subprocess.run([GEN_CAPTURE, "-t", "4", "-r", "500", "-T", "0", "-6",
                        "0", *options, existing, absent, path], check=True)
        captures.append(queries_of(path))
    plain, asked, sized = captures
    assert len(plain) == len(asked) == len(sized) > 1000
    assert {size for _, _, size in plain} == {None, 512, 1232, 4096}
    assert {size for _, _, size in sized} == {None, 777}
    for one, two, three in zip(plain, asked, sized):
        assert one[1] == two[1] == three[1] and two[0] == three[0]
        assert (one[2] is None) == (three[2] is None) and one[2] == two[2]
        assert two[0] == ("example." if one[1] in ("SOA", "DNSKEY") else
                          one[0].removeprefix("www.") if one[1] == "DS"
                          else one[0])
    assert {"DS", "DNSKEY", "SOA"} <= {rdtype for _, rdtype, _ in asked}
