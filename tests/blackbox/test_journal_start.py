"""A start goes on where transfers had come to: zone files, and what the journal
has beyond them."""

import pytest

import transferred
from harness import wait_for, zone_text

SECONDARY = ("zone:\n\tname: example\n\tzonefile: example.zone\n"
             "\trequest-xfr: 127.0.0.1@1 NOKEY\n")


@pytest.fixture
def server(make_server):
    return make_server(zones={"b.test": zone_text(1)}, extra=SECONDARY,
                       options={"server-count": 2, "verbosity": 2},
                       updates=True)


def write_file(server, serial):
    server.write_zone("example", zone_text(serial))
    server.zones.pop("example")


def keep_whole(server, serial, *lines):
    transferred.keep(server, "example", 0, serial,
                     transferred.whole("example.", serial, *lines))


def keep_diffs(server, *versions):
    transferred.keep(server, "example", versions[0][0], versions[-1][1],
                     transferred.diffs("example.", *versions))


def test_without_a_file(server):
    keep_whole(server, 5, "a 60 A 192.0.2.1")
    keep_diffs(server, (5, 6, ["a 60 A 192.0.2.1"], ["a 60 A 192.0.2.2"]))
    keep_diffs(server, (6, 7, [], ["b 60 TXT x"]), (7, 8, [], ["c 60 TXT y"]))
    server.start()
    server.wait_log("zone example: from serial 5 to 8 by the journal")
    assert server.serial("example") == 8
    assert server.answer("a.example", "A") == ["192.0.2.2"]
    assert server.answer("c.example", "TXT") == ['"y"']


def test_file_and_what_follows(server):
    write_file(server, 3)
    keep_whole(server, 2, "a 60 A 192.0.2.1")
    keep_diffs(server, (3, 4, ["www 3600 A 192.0.2.1"], ["b 60 TXT x"]))
    server.start()
    server.wait_log("zone example: from serial 3 to 4 by the journal")
    assert server.serial("example") == 4
    assert server.answer("b.example", "TXT") == ['"x"']
    assert server.rcode("a.example", "A") == "NXDOMAIN"


def test_whole_zone_newer_than_the_file(server):
    write_file(server, 3)
    keep_whole(server, 5, "a 60 A 192.0.2.1")
    keep_diffs(server, (5, 6, [], ["b 60 TXT x"]))
    server.start()
    server.wait_serial("example", 6)
    assert server.answer("a.example", "A") == ["192.0.2.1"]
    # The file is older, and stays unread.
    server.reload()
    server.wait_log("zone example: its file is older than serial 6")
    assert server.serial("example") == 6


def test_file_newer_than_the_journal(server):
    keep_whole(server, 5)
    keep_diffs(server, (5, 6, [], ["b 60 TXT x"]))
    write_file(server, 7)
    server.start()
    assert server.serial("example") == 7
    assert server.rcode("b.example", "TXT") == "NXDOMAIN"


@pytest.mark.parametrize("has_file", [False, True])
def test_serials_that_go_round(server, has_file):
    """An operator goes from dates to small numbers in two steps (RFC 1982
    section 3.2): the last serial counts as older than the first one."""
    if has_file:
        write_file(server, 2026112801)
    else:
        keep_whole(server, 2026112801, "a 60 A 192.0.2.1")
    keep_diffs(server, (2026112801, 4173596448, [], ["b 60 TXT x"]))
    keep_diffs(server, (4173596448, 1, [], ["c 60 TXT x"]))
    server.start()
    server.wait_log("zone example: from serial 2026112801 to 1 by the journal")
    assert server.serial("example") == 1
    assert server.answer("c.example", "TXT") == ['"x"']


def test_whole_zone_from_which_serials_go_round(server):
    write_file(server, 2026112801)
    keep_whole(server, 4173596448, "a 60 A 192.0.2.1")
    keep_diffs(server, (4173596448, 1, [], ["c 60 TXT x"]))
    server.start()
    server.wait_serial("example", 1)
    assert server.answer("c.example", "TXT") == ['"x"']


def write_cut_file(server, serial):
    """Writes a file without its last records, which is a valid zone all the
    same."""
    text = zone_text(serial)
    server.write_zone("example", text[:text.index("www")])
    server.zones.pop("example")


def test_file_that_was_cut_short_gives_way_to_the_journal(server):
    """The journal has all of that version, with sums."""
    write_cut_file(server, 5)
    keep_whole(server, 5, "www 3600 A 192.0.2.1")
    server.start()
    server.wait_serial("example", 5)
    assert server.answer("www.example", "A") == ["192.0.2.1"]
    # The cut file has been seen; a new one put there is read.
    server.reload()
    assert server.answer("www.example", "A") == ["192.0.2.1"]
    server.zone_file("example").write_text(zone_text(6, "192.0.2.6"))
    server.reload()
    server.wait_serial("example", 6)
    assert server.answer("www.example", "A") == ["192.0.2.6"]


def test_chain_with_a_gap_serves_what_is_sound(server):
    write_file(server, 3)
    keep_diffs(server, (4, 5, [], ["b 60 TXT x"]))
    server.start()
    server.wait_log("nothing that leads there from 3")
    assert server.serial("example") == 3


def test_differences_that_do_not_fit_end_the_chain(server):
    keep_whole(server, 5)
    keep_diffs(server, (5, 6, [], ["b 60 TXT x"]))
    keep_diffs(server, (6, 7, ["no 60 TXT x"], []))
    keep_diffs(server, (7, 8, [], ["c 60 TXT x"]))
    server.start()
    server.wait_log("to get to serial 7 cannot be applied:"
                    " the differences do not fit")
    assert server.serial("example") == 6


@pytest.mark.parametrize("serial", [3, 5])
def test_damage_is_not_trusted(server, serial):
    """With a damaged journal the file is served, whatever its serial."""
    keep_whole(server, 5, *(f"h{i} 60 TXT {'x' * 200}" for i in range(900)))
    write_file(server, serial)
    folder = server.directory / "xfrd.state.journal"
    path, = folder.glob("*.seg")
    octets = bytearray(path.read_bytes())
    octets[len(octets) // 2] ^= 1
    path.write_bytes(octets)
    server.start()
    assert server.serial("example") == serial
    assert server.answer("www.example", "A") == ["192.0.2.1"]


@pytest.mark.parametrize("find", [bytearray.index, bytearray.rindex])
def test_damaged_text_is_not_published_later(server, find):
    """Nor by xfrd, which has what was never published published."""
    keep_whole(server, 5, *(f"h{i} 60 TXT {'x' * 200}" for i in range(9000)))
    folder = server.directory / "xfrd.state.journal"
    path, = folder.glob("*.zone")
    octets = bytearray(path.read_bytes())
    at = find(octets, b"x" * 100)
    octets[at + 9] ^= 1
    path.write_bytes(octets)
    server.start(ready=False)
    server.wait_log("zone example: serial 5 in the journal is damaged")
    assert server.rcode("h0.example", "TXT") == "SERVFAIL"


def test_loader_that_is_killed_finds_all_again(server):
    keep_whole(server, 5)
    keep_diffs(server, (5, 6, [], ["b 60 TXT x"]))
    server.start()
    assert server.serial("example") == 6
    old = server.role("loader")
    server.kill("loader")
    server.wait_replaced("loader", old)
    server.wait_log("the loader takes over")
    wait_for("an answer", lambda: server.serial("example") == 6)
    assert server.rcode("no.example", "A") == "NXDOMAIN"


def test_database_and_what_follows(server):
    """The zone is served at once, and then goes on; the file is not read."""
    server.options["database"] = f'"{server.directory}/nsd.db"'
    server.write_config()
    keep_whole(server, 5)
    server.start()
    server.wait_serial("example", 5)
    assert server.stop() == 0
    keep_diffs(server, (5, 6, [], ["b 60 TXT x"]))
    known = len(server.read_log())
    server.start()
    server.wait_log("zone example: from serial 5 to 6 by the journal", known)
    server.wait_serial("example", 6)
    assert server.answer("b.example", "TXT") == ['"x"']
