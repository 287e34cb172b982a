"""Updates of clients in xfrd (RFC 2136): what zonestatus and the log have of
them, frozen zones, a disk that fails, an xfrd that dies."""
import base64
import errno
import itertools
import json
import re
import socket
import struct
import threading

import dns.edns
import dns.query
import dns.rcode
import dns.tsigkeyring
import dns.update
import pytest

import control
from harness import BUILD, DEADLINE, wait_for, zone_text
from test_disk_fails import WRITES, Disk
from test_freeze import is_frozen

ADDRESS = r"127\.0\.0\.1"
SECRET = base64.b64encode(b"k" * 20).decode()
KEYS = "".join(f"key:\n\tname: {name}\n\talgorithm: sha256\n"
               f"\tsecret: {SECRET}\n" for name in ("k", "acme"))
RING = dns.tsigkeyring.from_text({"k": SECRET, "acme": SECRET})
ZONES = (
    "zone:\n\tname: taken\n\tzonefile: taken.zone\n"
    "\tallow-update: 127.0.0.0/8 k\n"
    "\tupdate-policy: acme _acme-challenge.* TXT\n"
    "zone:\n\tname: open\n\tzonefile: open.zone\n"
    "\tallow-update: 127.0.0.0/8 NOKEY\n")
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d"


def make(make_server, **options):
    server = make_server(
        zones={"example": zone_text(1)},
        options={"server-count": 1, "verbosity": 1, **options})
    for name in "taken", "open":
        server.zone_file(name).write_text(zone_text(1))
    server.extra = KEYS + ZONES
    server.write_config()
    return server


def change(zone="taken", name="new", key="k", rdtype="A"):
    update = dns.update.UpdateMessage(zone, keyring=RING if key else None,
                                      keyname=key)
    update.use_edns(0)
    update.add(name, 60, rdtype, "192.0.2.9")
    return update


def send(server, update):
    return dns.query.udp(update, server.address, port=server.port,
                         timeout=DEADLINE)


def why(reply):
    """The text of the extended error."""
    return [(int(o.code), o.text) for o in reply.options
            if isinstance(o, dns.edns.EDEOption)]


@pytest.fixture(name="server")
def server_fixture(make_server):
    return control.config(make(make_server)).start()


def status(server, zone="taken"):
    code, text = control.ask(server, "zonestatus", zone)
    assert code == 0, text
    return text


def status_json(server, zone="taken"):
    code, text = control.ask(server, "-j", "zonestatus", zone)
    assert code == 0, text
    return json.loads(text)[0]


def test_last_update_in_zonestatus(server):
    assert "update:" not in status(server)
    assert "last_update" not in status_json(server)
    assert send(server, change()).rcode() == dns.rcode.NOERROR
    # An update that changes nothing does not count.
    assert send(server, change(key="acme", name="_acme-challenge.new",
                               rdtype="TXT")).rcode() == dns.rcode.NOERROR
    assert send(server, change()).rcode() == dns.rcode.NOERROR
    pattern = rf'\t\tupdate: "serial 3 from {ADDRESS} key acme at {TIME}"\n'
    assert re.search(pattern, status(server))
    last = status_json(server)
    assert last["frozen"] is None and last["updates_waiting"] == 0
    last = last["last_update"]
    assert (last["serial"], last["from"], last["key"]) == (
        3, "127.0.0.1", "acme")
    assert send(server, change("open", key=None)).rcode() == 0
    assert re.search(rf'update: "serial 2 from {ADDRESS} at {TIME}"',
                     status(server, "open"))
    # The next xfrd finds it in the journal.
    pid = server.role("xfrd")
    server.kill("xfrd")
    server.wait_replaced("xfrd", pid)
    assert re.search(pattern, status(server))


def test_zone_without_updates_has_no_lines(server):
    for word in "update", "frozen":
        assert word not in status(server, "example")
        assert word not in " ".join(status_json(server, "example"))


def test_log_has_updates(server):
    assert send(server, change()).rcode() == 0
    server.wait_log(r"update for taken from 127\.0\.0\.1 key k: serial 2, 1"
                    r" added, 0 removed")
    update = change(name="other")
    update.present("nobody")
    reply = send(server, update)
    assert reply.rcode() == dns.rcode.NXDOMAIN
    assert "update for taken from 127.0.0.1 key k: NXDOMAIN: " \
        + why(reply)[0][1] in server.read_log()
    # One line for each, and no other at this verbosity.
    assert "committed" not in server.read_log()


def send_many(server, count, name):
    """Over one connection, all at once. Returns RCODEs."""
    wires = [change("open", name=f"{name}{n}", key=None).to_wire()
             for n in range(count)]
    with socket.create_connection((server.address, server.port),
                                  DEADLINE) as sock:
        def write():
            sock.sendall(b"".join(struct.pack("!H", len(wire)) + wire
                                  for wire in wires))

        thread = threading.Thread(target=write)
        thread.start()
        codes = []
        with sock.makefile("rb") as stream:
            for _ in range(count):
                head = stream.read(2)
                if len(head) < 2:
                    break
                codes.append(stream.read(*struct.unpack("!H", head))[3] & 15)
        thread.join()
    return codes


def test_log_of_a_flood(server):
    """Some lines a second; the number of the others."""
    count = 1000
    assert send_many(server, count, "a") == [0] * count
    known = len(re.findall("update for open ", server.read_log()))
    assert 0 < known < count
    assert server.serial("open") == 1 + count

    names = itertools.count()

    def all_told():
        # The line about the others comes with the next update.
        send_many(server, 1, f"b{next(names)}x")
        log = server.read_log()
        told = len(re.findall("update for open ", log))
        left_out = sum(map(int, re.findall(r"update: (\d+) more", log)))
        return told + left_out >= count

    wait_for("the others", all_told)


def test_frozen_zone_refuses(server):
    assert send(server, change()).rcode() == 0
    assert control.ask(server, "freeze", "taken") == (0, "ok\n")
    path = server.zone_file("taken")
    assert "\nnew\t60\t" in path.read_text()
    reply = send(server, change(name="more"))
    assert reply.rcode() == dns.rcode.REFUSED
    assert why(reply) == [(18, "the zone is frozen")]
    assert server.serial("taken") == 2
    text = path.read_text()
    assert "more" not in text
    edited = text.replace("\t\t2 7200", "\t\t3 7200")
    path.write_text(edited.replace("\nnew\t", "\nrenewed\t"))
    assert server.serial("taken") == 2
    code, said = control.ask(server, "thaw", "taken")
    assert (code, said) == (0, "ok\n")
    assert server.serial("taken") == 3
    assert server.answer("renewed.taken", "A") == ["192.0.2.9"]
    assert server.rcode("new.taken", "A") == "NXDOMAIN"
    assert send(server, change(name="more")).rcode() == 0
    assert server.serial("taken") == 4


def test_freeze_waits_for_updates_under_way(server):
    """Updates that were answered are in the file."""
    codes = []
    threads = [threading.Thread(target=lambda n=n: codes.extend(
        send_many(server, 200, f"t{n}x"))) for n in range(4)]
    for thread in threads:
        thread.start()
    wait_for("some", lambda: server.serial("open") > 50)
    assert control.ask(server, "freeze", "open") == (0, "ok\n")
    text = server.zone_file("open").read_text()
    serial = server.serial("open")
    for thread in threads:
        thread.join()
    assert set(codes) <= {0, dns.rcode.REFUSED}
    assert codes.count(0) == serial - 1 == server.serial("open") - 1
    assert len(re.findall("192.0.2.9", text)) == serial - 1
    assert is_frozen(server, "open")


def test_full_disk(make_server, directory):
    """SERVFAIL for the whole batch, with the reason; later it goes on."""
    disk = Disk(directory / "failing")
    server = control.config(make(make_server, sandbox="no"))
    server.program = BUILD / "tests/lib/nsd_failing"
    server.environment["NSD_FAILING"] = str(directory / "failing")
    server.start()
    assert send(server, change()).rcode() == 0
    disk.fail(errno.ENOSPC, ".seg", WRITES)
    reply = send(server, change(name="lost"))
    assert reply.rcode() == dns.rcode.SERVFAIL
    assert why(reply) == [(0, "the update could not be kept and served: No"
                           " space left on device")]
    assert server.serial("taken") == 2
    assert server.rcode("lost.taken", "A") == "NXDOMAIN"
    disk.mend()
    assert send(server, change(name="kept")).rcode() == 0
    assert server.serial("taken") == 3
    server.stop()
    server.start()
    assert server.serial("taken") == 3
    assert server.rcode("lost.taken", "A") == "NXDOMAIN"
    assert server.answer("kept.taken", "A") == ["192.0.2.9"]


def test_freeze_on_a_full_disk(make_server, directory):
    """The reason is told, and the zone goes on."""
    disk = Disk(directory / "failing")
    server = control.config(make(make_server, sandbox="no"))
    server.program = BUILD / "tests/lib/nsd_failing"
    server.environment["NSD_FAILING"] = str(directory / "failing")
    server.start()
    assert send(server, change()).rcode() == 0
    disk.fail(errno.ENOSPC, "frozen", WRITES)
    assert control.ask(server, "freeze", "taken") == (
        1, "error No space left on device\n")
    disk.mend()
    assert send(server, change(name="kept")).rcode() == 0
    assert control.ask(server, "freeze", "taken") == (0, "ok\n")


def test_deaths_of_xfrd_amid_updates(server):
    """Updates that were answered are served, and each came once."""
    for step in range(6):
        codes = []
        thread = threading.Thread(target=lambda s=step: codes.extend(
            send_many(server, 300, f"s{s}x")))
        thread.start()
        before = server.serial("open")
        wait_for("some", lambda: server.serial("open") > before + step)
        pid = server.role("xfrd")
        server.kill("xfrd")
        server.wait_replaced("xfrd", pid)
        thread.join()
        assert set(codes) <= {0}
        control.ask(server, "zonestatus", "open")
        # The next update goes behind what the last xfrd has left.
        assert send(server, change("open", name=f"end{step}",
                                   key=None)).rcode() == 0
        serial = server.serial("open")
        present = sum(server.rcode(f"s{step}x{n}.open", "A") == "NOERROR"
                      for n in range(300))
        assert present >= len(codes)
        assert serial == before + present + 1, (serial, before, present)


def test_updates_are_taken_no_more(server):
    assert send(server, change()).rcode() == 0
    server.extra = server.extra.replace("\tallow-update: 127.0.0.0/8 k\n", "")
    server.extra = server.extra.replace(
        "\tupdate-policy: acme _acme-challenge.* TXT\n", "")
    control.apply(server)
    assert send(server, change(name="more")).rcode() == dns.rcode.NOTIMP
    assert "update:" not in status(server)
    assert control.ask(server, "freeze", "taken") == (
        1, "error the zone takes no updates\n")
    assert server.serial("taken") == 2
