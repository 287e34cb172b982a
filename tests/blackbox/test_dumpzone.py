"""nsd-control dumpzone: a zone as it is in memory."""
import re
import subprocess
import time

import dns.zone
import pytest

import control
from harness import BUILD, DEADLINE, zone_text

LARGE = 200_000


def large_text(serial):
    return zone_text(serial) + "".join(
        f"name-{i:07} IN TXT \"some forty octets of text for the size\"\n"
        for i in range(LARGE))


@pytest.fixture
def server(make_server):
    made = make_server(zones={"example": zone_text(3), "empty.test": None})
    return control.config(made).start()


# Names and texts of all kinds, and other TTLs.
MORE = r"""
*.wild 60 IN MX 10 mail
a\.b\"c\032d IN TXT "semi; colon" "quo\"te" "\000\255" ""
UpPer IN CNAME www.Other.test.
under 0 IN NS ns.under
ns.under 2147483647 IN AAAA 2001:db8::1
type 300 IN TYPE65280 \# 3 0a0b0c
caa IN CAA 0 issue "ca.test; account=1"
_443._tcp IN TLSA 3 1 1 00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff
svc IN HTTPS 1 . alpn=h2,h3 ipv4hint=192.0.2.1
"""


def parse(text, origin="example"):
    return dns.zone.from_text(text, origin, relativize=False,
                              check_origin=False)


def test_zone_is_what_its_file_says(server):
    server.write_zone("example", zone_text(3) + MORE)
    assert control.ask(server, "reload", "example")[0] == 0
    code, text = control.ask(server, "dumpzone", "example")
    assert code == 0
    lines = text.splitlines()
    assert lines[0] == "; zone example, serial 3, as it is in memory"
    zone = parse(text)
    count = len(list(zone.iterate_rdatas()))
    assert lines[-1] == f"; end of zone example, {count} records"
    written = parse(server.zone_file("example").read_text())
    assert zone == written and count == len(list(written.iterate_rdatas()))
    # Sets of records are equal whatever their TTLs.
    assert set(zone.iterate_rdatas()) == set(written.iterate_rdatas())
    # Another program takes it.
    path = server.directory / "dumped"
    path.write_text(text)
    subprocess.run([BUILD / "nsd-checkzone", "example", path], check=True,
                   timeout=DEADLINE, stdout=subprocess.DEVNULL)


def test_names_that_look_like_errors_are_none(server):
    server.write_zone("example", zone_text(4) + "error IN A 192.0.2.1\n"
                      "zzz IN A 192.0.2.1\nerror.zzz IN A 192.0.2.1\n")
    assert control.ask(server, "reload", "example")[0] == 0
    code, text = control.ask(server, "dumpzone", "example.")
    assert code == 0
    assert text.splitlines()[-2].startswith("error\t")
    assert parse(text) == parse(server.zone_file("example").read_text())


def test_zone_that_is_not_there(server):
    assert control.ask(server, "dumpzone", "nope.test") == (
        1, "error zone nope.test not configured\n")
    assert control.ask(server, "dumpzone", "a..b") == (
        1, "error cannot parse zone name 'a..b'\n")
    assert control.ask(server, "dumpzone", "empty.test") == (
        1, "error zone empty.test is not loaded\n")
    assert control.ask(server, "dumpzone") == (
        1, "error could not find next argument after \n")


def memory(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return int(re.search(r"RssAnon:\s+(\d+)", status.read())[1])


def test_clients_that_do_not_read_hold_nobody_and_little(server):
    server.write_zone("example", large_text(5))
    assert control.ask(server, "reload", "example") == (0, "ok\n")
    before = memory(server.role("xfrd"))
    clients = [control.connect(server) for _ in range(5)]
    try:
        for client in clients:
            client.sendall(b"NSDCT1 dumpzone example\n")
        last = control.read_all(clients.pop())
        assert last == "error 4 zones are being dumped: try again later\n"
        # Other commands go on, and later changes are not in the dumps.
        server.write_zone("example", large_text(6))
        assert control.ask(server, "reload", "example") == (0, "ok\n")
        assert control.ask(server, "status")[0] == 0
        assert server.serial("example") == 6
        assert memory(server.role("xfrd")) < before + 4096
        text = control.read_all(clients.pop())
        assert text.startswith("; zone example, serial 5, as it is in memory")
        assert text.count("\nname-") == LARGE
        assert "\n; end of zone example, " in text[-60:]
        # A dump has ended: there is room for another.
        code, text = control.ask(server, "dumpzone", "example")
        assert code == 0 and text.count("\nname-") == LARGE
    finally:
        for client in clients:
            client.close()


@pytest.mark.lasts(65)
def test_client_that_reads_slowly_is_cut_off(server):
    """A slow client is cut off after a minute: it would hold the version for
    days."""
    server.write_zone("example", large_text(5))
    assert control.ask(server, "reload", "example") == (0, "ok\n")
    with control.connect(server) as client:
        client.sendall(b"NSDCT1 dumpzone example\n")
        begun, text = time.monotonic(), b""
        while octets := client.recv(4096):
            text += octets
            # Faster once it has the end to come.
            if time.monotonic() < begun + 75:
                time.sleep(0.2)
    assert text.endswith(b"\nerror the zone is read too slowly\n")
    assert server.serial("example") == 5
