"""nsd-control stats, stats_noreset and stats_more (doc/surface.md section 4):
what is counted, what sets it back to 0, and what outlives a process."""

import json
import mmap
import os
import pathlib
import re
import signal
import socket
import time
import urllib.request

import dns.message
import pytest

import control
from harness import DEADLINE, read_proc, wait_for, zone_text
from ports import free_port

pytestmark = pytest.mark.plain

GROUPS = """\
pattern:
	name: grouped
	zonefile: "a.test.zone"
	zonestats: "%s"
pattern:
	name: other
	zonefile: "a.test.zone"
	zonestats: "both"
zone:
	name: one.test
	zonefile: a.test.zone
	zonestats: "both"
zone:
	name: two.test
	zonefile: a.test.zone
	zonestats: "both"
zone:
	name: c.test
	zonefile: a.test.zone
	zonestats: "%z/%y"
"""


def start(make_server, extra="", **options):
    made = make_server(zones={"a.test": zone_text(1)}, options=options,
                       extra=extra)
    return control.config(made).start()


# ---- readers of the lines, as monitoring has them --------------------------


def read_lines(text):
    """Reads lines as scripts do: the name ends at the first "="."""
    return dict(line.split("=", 1) for line in text.splitlines())


def read_as_telegraf(text):
    """As telegraf's input for NSD: fields, and those of each server. It splits
    at "=" and wants two parts, floats, and serverN.queries."""
    fields, servers = {}, {}
    for line in text.splitlines():
        parts = line.split("=")
        if len(parts) != 2:
            continue
        name, value = parts[0], float(parts[1])
        if re.fullmatch(r"server\d+\.queries", name):
            servers[name.split(".")[0][len("server"):]] = value
        else:
            fields[name.replace(".", "_")] = value
    return fields, servers


def read_as_tree(text):
    """Reads names as converters to JSON do: dots are levels, numbers are
    numbers."""
    tree = {}
    for line in text.splitlines():
        name, value = line.rsplit("=", 1)
        at = tree
        *levels, last = name.split(".")
        for level in levels:
            at = at.setdefault(level, {})
            assert isinstance(at, dict), f"{name} is a value and a level"
        at[last] = float(value) if "." in value else int(value)
    return tree


def stats(server, verb="stats"):
    code, text = control.ask(server, verb)
    assert code == 0, text
    return {name: float(value) if "." in value else int(value)
            for name, value in read_lines(text).items()}


def counted(server, name, verb="stats_noreset"):
    return stats(server, verb)[name]


# ---- what is counted -------------------------------------------------------


def test_stats_sets_back_and_stats_noreset_does_not(make_server):
    server = start(make_server, **{"server-count": 2})
    stats(server)
    for _ in range(7):
        server.query("www.a.test", "A")
    server.query("absent.a.test", "MX", tcp=True)
    first = stats(server, "stats_noreset")
    assert first["num.queries"] == 8
    assert first["server0.queries"] + first["server1.queries"] == 8
    assert first["num.type.A"] == 7
    assert first["num.type.MX"] == 1
    assert first["num.rcode.NXDOMAIN"] == 1
    assert first["num.udp"] == 7
    assert first["num.tcp"] == 1
    assert first["num.class.IN"] == 8
    assert first["zone.primary"] == first["zone.master"] == 1
    assert first["zone.secondary"] == first["zone.slave"] == 0
    second = stats(server, "stats_noreset")
    assert second["num.queries"] == 8
    assert second["time.elapsed"] > first["time.elapsed"]
    third = stats(server)
    assert third["num.queries"] == 8
    fourth = stats(server)
    assert fourth["num.queries"] == 0
    assert fourth["server0.queries"] == fourth["server1.queries"] == 0
    assert fourth["num.type.A"] == 0
    assert fourth["time.elapsed"] < third["time.elapsed"]
    assert fourth["time.boot"] > third["time.boot"]


def test_counts_that_nobody_has_got_are_shown_again(make_server):
    """Groups make the answer so long that it does not fit into the socket."""
    extra = "".join(f"zone:\n\tname: z{i}.test\n\tzonefile: a.test.zone\n"
                    f"\tzonestats: g{i}\n" for i in range(400))
    server = start(make_server, extra=extra)
    stats(server)
    for _ in range(5):
        server.query("www.z7.test", "A")
    for octets in 0, 1, 100_000:
        with control.connect(server) as client:
            client.sendall(b"NSDCT1 stats\n")
            while octets > 0:
                octets -= len(client.recv(octets))
    # A client that does not read until another has asked.
    with control.connect(server) as client:
        client.sendall(b"NSDCT1 stats\n")
        client.recv(1)
        server.query("www.z7.test", "A")
        shown = stats(server)
        control.read_all(client)
    assert shown["num.queries"] == shown["g7.num.queries"] == 6
    assert shown["server0.queries"] == 6
    assert shown["time.elapsed"] > 0
    shown = stats(server)
    assert shown["num.queries"] == shown["g7.num.queries"] == 0


def test_lines_and_their_order(make_server):
    server = start(make_server, **{"server-count": 3})
    _, text = control.ask(server, "stats")
    names = [line.split("=")[0] for line in text.splitlines()]
    rest = [n for n in names if not n.startswith("num.type.")]
    assert rest == [
        "server0.queries", "server1.queries", "server2.queries",
        "num.queries", "time.boot", "time.elapsed", "size.db.disk",
        "size.db.mem", "size.xfrd.mem", "size.config.disk",
        "size.config.mem", "num.opcode.QUERY", "num.class.IN", *(
            n for n in rest if n == "num.class.CH"),
        *(f"num.rcode.{n}" for n in "NOERROR FORMERR SERVFAIL NXDOMAIN"
          " NOTIMP REFUSED YXDOMAIN".split()),
        *(f"num.{n}" for n in "edns ednserr udp udp6 tcp tcp6 tls tls6"
          " answer_wo_aa rxerr txerr raxfr rixfr truncated dropped".split()),
        "zone.primary", "zone.secondary", "zone.master", "zone.slave"]
    types = [n[len("num.type."):] for n in names
             if n.startswith("num.type.")]
    assert types[:7] == ["A", "NS", "MD", "MF", "CNAME", "SOA", "MB"]
    assert not any(n.startswith("TYPE") for n in types)
    assert re.search(r"^time.boot=\d+\.\d{6}$", text, re.M)
    assert re.search(r"^time.elapsed=\d+\.\d{6}$", text, re.M)
    server.query("www.a.test", "TYPE200")
    assert counted(server, "num.type.TYPE200") == 1


def test_the_page_explains_each_line(make_server):
    server = start(make_server, extra=GROUPS)
    page = pathlib.Path(__file__).parents[2] / "doc/nsd-control.8"
    text = re.sub(r"\\f[BIR]", "", page.read_text())
    entries = set(re.findall(r"\S+\.\S+(?=,|\n)", "\n".join(
        re.findall(r"^\.TP\n(.*\n)", text.partition(".SH COUNTERS")[2], re.M))))
    _, lines = control.ask(server, "stats_noreset")
    shown = set()
    for line in lines.splitlines():
        name = re.sub(r"^server\d+", "serverN", line.split("=")[0])
        name = re.sub(r"\b(type|opcode|class|rcode)\.\w+$", r"\1.X", name)
        if not name.startswith(("both.", "test/c.")):
            shown.add(name)
    # Lines of UPDATEs are there when there were some.
    assert shown and entries == shown | {"GROUP.num.queries",
                                         "num.update.received", "num.update.X"}


def test_parsers_of_monitoring_read_it(make_server):
    server = start(make_server, extra=GROUPS, **{"server-count": 2})
    for _ in range(3):
        server.query("www.one.test", "A")
    _, text = control.ask(server, "stats_noreset")
    fields, servers = read_as_telegraf(text)
    assert set(servers) == {"0", "1"}
    assert sum(servers.values()) == fields["num_queries"] >= 3
    assert fields["num_type_A"] == 3
    assert fields["time_boot"] > 0
    assert len(fields) == text.count("\n") - 2
    tree = read_as_tree(text)
    assert tree["num"]["type"]["A"] == 3
    assert tree["both"]["num"]["udp"] == 3
    assert tree["size"]["db"]["disk"] == 0


def test_json_has_the_same(make_server):
    server = start(make_server, extra=GROUPS)
    server.query("www.one.test", "A")
    lines = stats(server, "stats_noreset")
    code, text = control.ask(server, "-j", "stats_noreset")
    assert code == 0 and text.endswith("}\n")
    found = json.loads(text)
    assert list(found) == list(lines)
    changing = ("time.boot", "time.elapsed", "size.xfrd.mem", "size.db.mem")
    assert {n: v for n, v in found.items() if n not in changing} \
        == {n: v for n, v in lines.items() if n not in changing}
    assert found["time.elapsed"] > lines["time.elapsed"]
    assert json.loads(control.ask(server, "-j", "stats")[1])
    assert counted(server, "num.queries") == 0


# ---- groups ----------------------------------------------------------------


def test_groups_count_their_zones(make_server):
    server = start(make_server, extra=GROUPS)
    stats(server)
    for zone, count in (("one.test", 2), ("two.test", 3), ("c.test", 4),
                        ("a.test", 5)):
        for _ in range(count):
            server.query(f"www.{zone}", "A")
    server.query("x.two.test", "AAAA", tcp=True, edns=0)
    found = stats(server)
    assert found["num.queries"] == 15
    assert found["both.num.queries"] == 6
    assert found["both.num.type.A"] == 5
    assert found["both.num.tcp"] == 1
    assert found["both.num.edns"] == 1
    assert found["both.num.rcode.NXDOMAIN"] == 1
    assert found["test/c.num.queries"] == 4
    assert not any(n.startswith("a.test.") for n in found)
    _, text = control.ask(server, "stats_noreset")
    names = [line.split("=")[0] for line in text.splitlines()]
    own = names[names.index("num.type.A"):names.index("num.dropped") + 1]
    for group in ("both", "test/c"):
        at = names.index(f"{group}.num.queries")
        assert at > names.index("zone.slave")
        assert names[at + 1:at + 4] == [
            f"{group}.{n}" for n in own[:3]]
        assert f"{group}.num.dropped" in names
    assert stats(server, "stats_noreset")["both.num.queries"] == 0


def test_groups_come_with_zones(make_server):
    """A group that no zone has any more keeps what it has counted."""
    server = start(make_server, extra=GROUPS)
    assert "new.test.num.queries" not in stats(server)
    assert control.ask(server, "addzone", "new.test", "grouped") \
        == (0, "ok\n")
    for _ in range(3):
        server.query("www.new.test", "A")
    assert counted(server, "new.test.num.queries") == 3
    assert control.ask(server, "delzone", "new.test") == (0, "ok\n")
    server.query("www.new.test", "A")
    assert counted(server, "new.test.num.queries") == 3
    assert control.ask(server, "addzone", "new.test", "grouped") \
        == (0, "ok\n")
    server.query("www.new.test", "A")
    assert counted(server, "new.test.num.queries") == 4
    assert counted(server, "size.config.disk") \
        == (server.directory / "zone.list").stat().st_size > 0
    # Another pattern, another group.
    assert control.ask(server, "changezone", "new.test", "other") \
        == (0, "ok\n")
    server.query("www.new.test", "A")
    found = stats(server, "stats_noreset")
    assert found["new.test.num.queries"] == 4
    assert found["both.num.queries"] == 1


def groups_of(server):
    """The groups that stats and the metrics show, which must be the same."""
    names = {name.rsplit(".num.queries", 1)[0] for name in stats(
        server, "stats_noreset") if name.endswith(".num.queries")}
    with urllib.request.urlopen(
            f"http://127.0.0.1:{server.options['metrics-port']}/metrics",
            timeout=DEADLINE) as answer:
        text = answer.read().decode()
    assert names == set(re.findall(
        r'^nsd_zonestats_queries_total\{zone="(.*?)"\} ', text, re.M))
    return names


def test_groups_that_no_zone_is_in_any_more_are_not_shown(make_server):
    """A group without zones is not shown until it has one again, and then goes
    on where it was."""
    many = "".join(f"zone:\n\tname: z{i}.test\n\tzonefile: a.test.zone\n"
                   f"\tzonestats: g{i:02}\n" for i in range(30))
    server = start(make_server, extra=many + GROUPS, **{
        "metrics-enable": "yes", "metrics-interface": "127.0.0.1",
        "metrics-port": free_port()})
    server.query("www.z29.test", "A")
    every = {f"g{i:02}" for i in range(30)} | {"both", "test/c"}
    assert groups_of(server) == every
    full = server.extra
    server.extra = full.replace(many, "").replace('"%z/%y"', "both")
    assert control.reconfig(server)[0] == 0
    assert groups_of(server) == {"both"}
    control.ask(server, "addzone", "g07", "grouped")
    server.extra = full
    assert control.reconfig(server)[0] == 0
    assert groups_of(server) == every | {"g07"}
    assert stats(server)["g29.num.queries"] == 1


def test_a_group_for_each_of_many_zones(make_server):
    count = 2000
    extra = "pattern:\n\tname: p\n\tzonefile: a.test.zone\n" \
        '\tzonestats: "%s"\n' + "".join(
            f"zone:\n\tname: z{i}.test\n\tinclude-pattern: p\n"
            for i in range(count))
    server = start(make_server, extra=extra)
    for i in range(0, count, 500):
        server.query(f"www.z{i}.test", "A")
    found = stats(server)
    for i in range(count):
        assert found[f"z{i}.test.num.queries"] == (i % 500 == 0)
    assert found["zone.primary"] == count + 1


# ---- what outlives what ----------------------------------------------------


@pytest.mark.parametrize("role", ["server 1", "xfrd", "loader"])
def test_counters_outlive_a_process(make_server, role):
    server = start(make_server, extra=GROUPS)
    server.query("www.one.test", "A")
    stats(server)
    for _ in range(5):
        server.query("www.one.test", "MX")
    pid = server.kill(role)
    server.wait_replaced(role, pid)
    server.wait_serving()
    server.query("www.one.test", "MX")
    found = wait_for("an answer of xfrd", lambda: control.ask(
        server, "stats_noreset")[0] == 0 and stats(server, "stats_noreset"))
    assert found["num.type.MX"] == 6
    assert found["num.type.A"] == 0
    assert found["both.num.type.MX"] == 6
    assert found["both.num.type.A"] == 0


def test_counters_outlive_a_reload(make_server):
    server = start(make_server, extra=GROUPS)
    for _ in range(5):
        server.query("www.one.test", "MX")
    server.write_zone("a.test", zone_text(2))
    assert control.ask(server, "reload") == (0, "ok\n")
    found = stats(server)
    assert found["num.type.MX"] == 5
    assert found["both.num.type.MX"] == 5


def test_a_stopped_worker_does_not_hold_stats_up(make_server):
    server = start(make_server, **{"server-count": 2, "replace-hung": "no"})
    pids = [server.role("server 1"), server.role("server 2"),
            server.role("loader")]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    begun = time.monotonic()
    assert stats(server)["num.queries"] > 0
    assert time.monotonic() - begun < 30
    for pid in pids:
        os.kill(pid, signal.SIGCONT)


def test_transfers_are_counted_when_they_are_allowed(make_server):
    server = start(make_server, extra="zone:\n\tname: x.test\n"
                   "\tzonefile: a.test.zone\n"
                   "\tprovide-xfr: 127.0.0.1 NOKEY\n")
    stats(server)
    server.query("a.test", "AXFR", tcp=True)
    assert counted(server, "num.raxfr") == 0
    server.query("x.test", "AXFR", tcp=True)
    assert counted(server, "num.raxfr") == 1


def timed_over_udp(server):
    found = read_lines(control.ask(server, "stats_more")[1])
    return sum(int(value) for key, value in found.items()
               if ".latency.udp." in key and not key.endswith(".usec"))


def assert_request_without_answer_is_not_timed(server):
    before = timed_over_udp(server)
    query = dns.message.make_query("www.a.test", "A")
    answer = dns.message.make_response(query)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(30)
        sock.connect((server.address, server.port))
        # One socket is one worker's: it sees them in this order.
        for message in answer, answer, query:
            sock.send(message.to_wire())
        sock.recv(4096)
    wait_for("the answer's time", lambda: timed_over_udp(server) > before)
    assert timed_over_udp(server) == before + 1


def asked_and_timed(server, transport):
    """Whether the time of each query is counted, of which there are some."""
    found = read_lines(control.ask(server, "stats_more")[1])
    asked = timed = 0
    for name in "server0", "server1":
        asked += int(found[f"{name}.{transport}"])
        timed += sum(int(value) for key, value in found.items()
                     if key.startswith(f"{name}.latency.{transport}.")
                     and not key.endswith(".usec"))
    return asked == timed > 0


def test_stats_more(make_server):
    server = start(make_server, **{"server-count": 2})
    wait_for("figures of the store", lambda: int(read_lines(control.ask(
        server, "stats_more")[1])["store.live"]) > 0)
    found = read_lines(control.ask(server, "stats_more")[1])
    assert int(found["process.main.pid"]) == server.main_pid
    for name, role in (("loader", "loader"), ("xfrd", "xfrd"),
                       ("server0", "server 1"), ("server1", "server 2")):
        assert int(found[f"process.{name}.pid"]) == server.role(role)
        assert found[f"process.{name}.restarts"] == "0"
    for transport in "udp", "tcp":
        server.query("www.a.test", "A", tcp=transport == "tcp")
        # The time is counted after the answer has been sent.
        wait_for("the time", lambda: asked_and_timed(server, transport))
    server.query("www.a.test", "ANY")
    wait_for("a type that NSD shows by number", lambda: read_lines(
        control.ask(server, "stats_more")[1])["num.type.ANY"] == "1")
    assert counted(server, "num.type.TYPE255") == 1
    found = read_lines(control.ask(server, "stats_more")[1])
    assert found["num.type.ANY"] == "1", "it was set back"
    assert found["num.class.HS"] == "0"
    assert_request_without_answer_is_not_timed(server)
    read_as_tree("\n".join(f"{k}={v}" for k, v in found.items()))
    code, text = control.ask(server, "-j", "stats_more")
    assert code == 0 and json.loads(text).keys() == found.keys()
    pid = server.kill("server 2")
    pid = server.wait_replaced("server 2", pid)
    server.wait_serving()
    found = read_lines(control.ask(server, "stats_more")[1])
    assert int(found["process.server1.pid"]) == pid
    assert found["process.server1.restarts"] == "1"


# ---- who can write what ----------------------------------------------------


def mappings(pid):
    """[(start, end, permissions)] of the counters."""
    found = []
    for line in read_proc(pid, "maps").splitlines():
        if "nsd-counts" in line:
            start_, end = line.split()[0].split("-")
            found.append((int(start_, 16), int(end, 16), line.split()[1]))
    return found


@pytest.mark.skipif(os.geteuid() != 0, reason="needs to look into processes")
def test_processes_have_mapped_what_is_theirs(make_server):
    server = start(make_server, **{"server-count": 3})
    maps = {role: mappings(pid) for role, pid in server.roles().items()}
    writable = {role: [m for m in found if m[2][1] == "w"]
                for role, found in maps.items()}
    readable = {role: [m for m in found if m[2][1] != "w"]
                for role, found in maps.items()}
    assert all(m[2][3] == "s" for found in maps.values() for m in found)
    workers = [{m[:2] for m in writable[f"server {i}"]} for i in (1, 2, 3)]
    limits = set.intersection(*workers)  # the table of rate limits
    assert len(limits) == 1
    spans = sorted(limits)
    for found in workers:
        spans += found - limits
    # Besides, each has counters, figures and times of its own.
    assert len(spans) == 10
    spans.sort()
    assert all(a[1] <= b[0] for a, b in zip(spans, spans[1:]))
    # The page of secrets of cookies; the pages of the switch of records with
    # its set of zones, and a page with the cursor of each ring of them.
    parts = readable["server 1"]
    assert [end - start_ for start_, end, _ in parts] == [
        mmap.PAGESIZE, 5 * mmap.PAGESIZE]
    assert readable["server 2"] == readable["server 3"] == parts
    for role in ("xfrd", "loader"):
        for start_, end, _ in writable[role]:
            assert all(end <= s or start_ >= e for s, e in spans), role
    assert readable["xfrd"]
