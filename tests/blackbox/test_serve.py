"""Answers of a running server, and properties of its processes."""

import collections
import os
import re
import time

import pytest

import dns.flags

import harness
from harness import ede_codes, open_files, wait_for, zone_text


@pytest.mark.parametrize("tcp", [False, True])
@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_answers(nsd, tcp, address, count):
    server = nsd(zones={"example": zone_text()}, address=address,
                 options={"server-count": count})
    for _ in range(20):
        response = server.query("www.example", "A", tcp=tcp)
        assert response.flags & dns.flags.AA
        assert [rr.address for rr in response.answer[0]] == ["192.0.2.1"]
    assert server.rcode("nx.example", "A", tcp=tcp) == "NXDOMAIN"
    assert server.rcode("other.", "A", tcp=tcp) == "REFUSED"


def test_reply_that_no_datagram_carries_is_truncated(nsd):
    """Fault 41: not silence, though ipv4-edns-size would allow it. RFC 791
    section 3.1: all of a datagram, with its headers, is 65535 octets."""
    large = "".join(f'large TXT "{"x" * 200}{i:04}"\n' for i in range(301))
    server = nsd(zones={"example": zone_text() + large
                        + f'large TXT "{"y" * 149}"\n'},
                 options={"ipv4-edns-size": 65535,
                          "minimal-responses": "yes"})
    reply = server.query("large.example", "TXT", edns=0, payload=65535,
                         timeout=20)
    assert reply.flags & dns.flags.TC
    reply = server.query("large.example", "TXT", edns=0, payload=65535,
                         tcp=True)
    assert len(reply.answer[0]) == 302


def test_wildcard_address_is_the_default(nsd):
    server = nsd(zones={"example": zone_text()},
                 options={"ip-address": None})
    for address in ("127.0.0.1", "127.0.0.3", "::1"):
        for tcp in (False, True):
            assert server.answer("www.example", "A", address=address,
                                 tcp=tcp) == ["192.0.2.1"]


def test_device_name_stands_for_its_addresses(nsd):
    server = nsd(zones={"example": zone_text()}, options={"ip-address": "lo"})
    assert server.answer("www.example", "A") == ["192.0.2.1"]
    assert server.answer("www.example", "A", address="::1") == ["192.0.2.1"]


def test_address_with_a_port_of_its_own(nsd):
    port = harness.free_port()
    server = nsd(zones={"example": zone_text()},
                 options={"ip-address": ["127.0.0.1",
                                         f"127.0.0.1@{port}"]})
    assert server.answer("www.example", "A", port=port) == ["192.0.2.1"]


def test_zone_without_its_file_is_servfail_not_ready(nsd):
    server = nsd(zones={"example": zone_text(), "missing.test": None})
    response = server.query("www.missing.test", "A", edns=0)
    assert response.rcode() == dns.rcode.SERVFAIL
    assert ede_codes(response) == [14]
    server.wait_log(r"error: zonefile missing\.test\.zone does not exist")
    assert server.answer("www.example", "A") == ["192.0.2.1"]


def test_broken_zone_file_is_reported_with_its_line(nsd):
    server = nsd(zones={"example": zone_text(),
                        "broken.test": zone_text() + "w IN A 1.2.3\n"
                        "v IN AAAA 1.2.3.4\n"})
    server.wait_log(r"error: broken\.test\.zone:9: ")
    server.wait_log(r"error: broken\.test\.zone:8: ")
    server.wait_log(r"error: zone broken\.test file broken\.test\.zone "
                    r"read with 2 errors")
    assert server.rcode("broken.test", "SOA") == "SERVFAIL"


def test_a_thousand_zones(nsd):
    server = nsd(zones={f"zone{i}.example": zone_text(i + 1)
                        for i in range(1000)})
    server.wait_log("zone zone[0-9]+.example read with success", count=1000)
    for i in range(0, 1000, 37):
        assert server.serial(f"zone{i}.example") == i + 1


def ask_early(server, zone):
    """The serial, by a query that is sent before any worker serves; None
    before there are sockets."""
    try:
        response = server.query(zone, "SOA", tcp=True)
    except ConnectionRefusedError:
        return None
    return response.answer[0][0].serial if response.answer else -1


def test_queries_wait_for_the_first_pass(make_server):
    """Queries during the first pass wait for the zones, for up to a second: on
    a slow machine that is enough for fewer zones."""
    for count in (1000, 300, 100, 30, 10):
        server = make_server(f"of{count}", zones={
            f"zone{i}.example": zone_text(i + 1) for i in range(count)})
        server.start(ready=False)
        serial = wait_for("the sockets", lambda s=server: ask_early(
            s, f"zone{count - 1}.example"))
        server.wait_log("nsd started")
        log = server.read_log()
        server.stop()
        if 0 <= log.find(f"{count} zones: ") < log.find("nsd started"):
            assert serial == count
            return
    raise AssertionError("no zones are read in a second")


def test_zone_that_takes_long_is_servfail_after_a_second(make_server,
                                                         directory):
    """The zone's file cannot be opened as yet."""
    server = make_server(zones={"example": zone_text(), "slow.test": None})
    slow = harness.Held(directory / "slow.test.zone")
    server.start(ready=False)
    server.wait_log("nsd started")
    response = server.query("slow.test", "SOA", edns=0)
    assert response.rcode() == dns.rcode.SERVFAIL
    assert server.answer("www.example", "A") == ["192.0.2.1"]
    wait_for("its reader", slow.is_waited_for)
    assert server.stop() == 0
    slow.close()


# ---- what the processes are ------------------------------------------------------

def test_processes_have_their_names(nsd):
    server = nsd(zones={"example": zone_text()}, options={"server-count": 2})
    wait_for("all", lambda: set(server.roles()) == {
        "main", "loader", "server 1", "server 2", "xfrd"})
    for name, pid in server.roles().items():
        arguments = harness.read_proc(pid, "cmdline").rstrip("\0")
        assert arguments == f"nsd: {name}"


def is_what_a_worker_needs(files):
    kinds = [re.sub(r"[\d\[\]:]", "", f) for f in files.values()]
    # Log; UDP, TCP, two channels, lifeline and the two of libevent's signals;
    # event loop; its signals; the epoll set of TCP; the event that tells it to
    # end.
    return (kinds.count("socket") <= 7 and len(files) <= 3 + 12
            and not [f for f in files.values() if "memfd" in f
                     or f.endswith(".zone")])


def test_worker_holds_what_it_needs_and_no_more(nsd):
    server = nsd(zones={"example": zone_text()}, options={"server-count": 3})
    for index in (1, 2, 3):
        # A worker has its name before it has closed the rest.
        pid = server.role(f"server {index}")
        wait_for(f"server {index} without more",
                 lambda pid=pid: is_what_a_worker_needs(open_files(pid)))


def test_loader_holds_what_it_needs_and_no_more(nsd):
    """The loader has none of main's own descriptors, whatever main has by
    now."""
    server = nsd(zones={"example": zone_text()})
    files = open_files(server.role("loader"))
    known = re.compile(r"^(socket|pipe)|signalfd|eventpoll|eventfd|nsd\.log$|"
                       "nsd-counts|nsd-store|nsd-readers")
    kinds = collections.Counter(
        (known.search(file) or [file])[0]
        for number, file in files.items() if number > 2)
    # Channels to main and xfrd; SIGTERM; the event that tells it to end, the
    # one and the pipe that wake it; the counters of a worker, xfrd and loader.
    assert not kinds - collections.Counter({
        "nsd.log": 1, "socket": 2, "signalfd": 1, "eventpoll": 1,
        "eventfd": 2, "pipe": 2, "nsd-counts": 3, "nsd-store": 2,
        "nsd-readers": 1}), files


def test_worker_cannot_write_the_store(nsd):
    server = nsd(zones={"example": zone_text()})
    maps = harness.read_proc(server.role("server 1"), "maps")
    store = [line for line in maps.splitlines() if "memfd:nsd-store" in line]
    assert store
    for line in store:
        assert "w" not in line.split()[1], line
    loader = harness.read_proc(server.role("loader"), "maps")
    assert any("rw-s" in line for line in loader.splitlines()
               if "memfd:nsd-store" in line)


def test_loader_has_no_network_socket(nsd):
    server = nsd(zones={"example": zone_text()})
    pid = server.role("loader")
    inodes = {re.search(r"\d+", f)[0] for f in open_files(pid).values()
              if f.startswith("socket:")}
    for table in ("udp", "udp6", "tcp", "tcp6"):
        for line in harness.read_proc(pid, f"net/{table}").splitlines()[1:]:
            assert line.split()[9] not in inodes


def private_kib(pid):
    """Memory that is this process's own: not the store, and not the pages of
    programs and libraries, which the whole machine shares."""
    text = harness.read_proc(pid, "status")
    return int(re.search(r"RssAnon:\s+(\d+)", text)[1])


@pytest.mark.plain_only
def test_worker_and_main_are_small(nsd):
    server = nsd(zones={f"z{i}.example": zone_text() for i in range(500)},
                 options={"server-count": 2})
    for _ in range(100):
        server.query("www.z7.example", "A")
        server.query("www.z7.example", "A", tcp=True)
    sizes = {name: private_kib(pid) for name, pid in server.roles().items()}
    for name in ("main", "server 1", "server 2", "xfrd"):
        assert sizes[name] < 1536, sizes


def test_each_server_runs_on_its_cpu(nsd):
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("needs two processors")
    first, second = sorted(os.sched_getaffinity(0))[:2]
    server = nsd(zones={"example": zone_text()},
                 options={"server-count": 2,
                          "cpu-affinity": f"{first} {second}",
                          "server-1-cpu-affinity": second,
                          "server-2-cpu-affinity": first,
                          "xfrd-cpu-affinity": second})
    roles = server.roles()
    assert os.sched_getaffinity(roles["server 1"]) == {second}
    assert os.sched_getaffinity(roles["server 2"]) == {first}
    assert os.sched_getaffinity(server.role("xfrd")) == {second}
    assert os.sched_getaffinity(roles["main"]) == {first, second}
    assert os.sched_getaffinity(roles["loader"]) == {first, second}


def test_without_cpu_affinity_nobody_is_bound(nsd):
    """NSD starts so, and binds nobody, whatever the processors are."""
    server = nsd(zones={"example": zone_text()},
                 options={"server-1-cpu-affinity": 300,
                          "xfrd-cpu-affinity": 301})
    everything = os.sched_getaffinity(0)
    for name in ("server 1", "xfrd", "loader"):
        assert os.sched_getaffinity(server.role(name)) == everything
    assert "have no effect without cpu-affinity" in server.read_log()


def test_servers_share_the_clients(nsd):
    """SO_REUSEPORT: both workers see queries."""
    server = nsd(zones={"example": zone_text()}, options={"server-count": 2})
    load = harness.Load(server, clients=32)
    load.step_answers(1000)
    load.finish()
    assert load.lost == 0
    server.signal(harness.signal.SIGUSR1)
    server.wait_log(r"XSTATS", count=2)
    counts = [int(m) for m in re.findall(r"XSTATS.* RQ=(\d+)",
                                         server.read_log())]
    assert len(counts) == 2
    assert all(c > 0 for c in counts), counts
    assert sum(counts) >= load.answered


def test_acl_of_a_zone_is_kept(make_server):
    server = make_server(zones={"example": zone_text()}, extra="""
zone:
	name: closed.test
	zonefile: example.zone
	allow-query: 192.0.2.0/24 NOKEY
zone:
	name: open.test
	zonefile: example.zone
	allow-query: 127.0.0.0/8 NOKEY
""").start()
    response = server.query("closed.test", "SOA", edns=0)
    assert response.rcode() == dns.rcode.REFUSED
    assert ede_codes(response) == [18]
    assert server.rcode("open.test", "SOA") == "NOERROR"


def test_tcp_count_is_respected_by_idle_clients(nsd):
    import socket
    server = nsd(zones={"example": zone_text()},
                 options={"tcp-count": 10, "tcp-timeout": 3})
    idle = [socket.create_connection(("127.0.0.1", server.port))
            for _ in range(30)]
    # The usual time-out is 120 seconds, and without a limit it were at once.
    assert server.answer("www.example", "A", tcp=True,
                         timeout=60) == ["192.0.2.1"]
    for s in idle:
        s.close()


def test_server_is_identified_by_the_name_of_the_host(nsd):
    server = nsd(zones={"example": zone_text()})
    for name in ("id.server", "hostname.bind"):
        assert server.answer(name, "TXT", rdclass="CH") == [
            f'"{os.uname().nodename}"']
