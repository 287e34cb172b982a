"""The zone file of a zone that takes updates, and its journal: what a start
serves, what a reload reads, and what is written (doc/decisions/0168)."""
import os
import re
import signal

import dns.query
import dns.rcode
import dns.rdatatype
import dns.update
import dns.zone
import pytest

import control
import transferred
from harness import wait_for, zone_text

NOBODY = 65534
UPDATED = ("zone:\n\tname: example\n\tzonefile: example.zone\n"
           "\tallow-update: 127.0.0.1 NOKEY\n"
           "\tprovide-xfr: 127.0.0.1 NOKEY\n")


def server_of(make_server, extra=UPDATED, **options):
    return control.config(make_server(
        zones={"b.test": zone_text(1)}, extra=extra,
        options={"server-count": 2, "verbosity": 2, **options},
        updates=True))


@pytest.fixture
def server(make_server):
    return server_of(make_server)


def write_file(server, serial, *lines):
    text = zone_text(serial) + "".join(line + "\n" for line in lines)
    server.write_zone("example", text)
    server.zones.pop("example")


def keep_diffs(server, *versions):
    transferred.keep(server, "example", versions[0][0], versions[-1][1],
                     transferred.diffs("example.", *versions))


def keep_whole(server, serial, *lines):
    transferred.keep(server, "example", 0, serial,
                     transferred.whole("example.", serial, *lines))


def is_served(server, name="u"):
    return server.rcode(f"{name}.example", "TXT")


# ---- a start -------------------------------------------------------------------

def test_start_with_the_file_and_updates(server):
    write_file(server, 3)
    keep_diffs(server, (3, 4, [], ["u 60 TXT x"]))
    keep_diffs(server, (4, 5, [], ["v 60 TXT x"]))
    server.start()
    assert server.serial("example") == 5
    assert is_served(server, "u") == is_served(server, "v") == "NOERROR"


def test_start_with_a_file_newer_than_all_updates(server):
    write_file(server, 9, "own TXT mine")
    keep_diffs(server, (3, 4, [], ["u 60 TXT x"]))
    server.start()
    assert server.serial("example") == 9
    assert is_served(server, "own") == "NOERROR"
    assert is_served(server) == "NXDOMAIN"
    server.wait_log("has serial 9, which is newer than 4 of the last update")


@pytest.mark.parametrize("serial", (2, 4, 5))
def test_start_with_a_file_changed_by_hand(server, serial):
    """The serial is older, or by chance that of an update: what was answered
    is not lost without a word. A newer file counts then."""
    write_file(server, serial, "own TXT mine")
    keep_diffs(server, (3, 4, [], ["u 60 TXT x"]))
    keep_diffs(server, (4, 5, [], ["v 60 TXT x"]))
    server.start()
    server.wait_log("those from serial 3 to 5: they do not lead on from its "
                    f"file .* which was changed by hand and has serial "
                    f"{serial}.")
    assert server.rcode("example", "SOA") == "SERVFAIL"
    write_file(server, 5, "own TXT mine", "more TXT mine")
    assert control.ask(server, "reload", "example")[0] == 1
    assert server.rcode("example", "SOA") == "SERVFAIL"
    server.kill("loader")
    server.wait_log("loader")
    write_file(server, 6, "own TXT mine")
    assert control.ask(server, "reload", "example") == (0, "ok\n")
    assert server.serial("example") == 6
    assert is_served(server, "own") == "NOERROR"


def test_start_with_the_right_file_after_all(server):
    write_file(server, 4)
    keep_diffs(server, (3, 4, [], ["u 60 TXT x"]))
    server.start()
    assert server.rcode("example", "SOA") == "SERVFAIL"
    server.stop()
    write_file(server, 3)
    server.start()
    assert server.serial("example") == 4
    assert is_served(server) == "NOERROR"


def test_start_with_a_file_edited_under_its_serial(server):
    """Updates are applied to it if they fit; else the zone is not served."""
    write_file(server, 3, "own TXT mine")
    keep_diffs(server, (3, 4, [], ["u 60 TXT x"]))
    server.start()
    assert server.serial("example") == 4
    assert is_served(server, "own") == is_served(server, "u") == "NOERROR"
    server.stop()


def test_start_with_updates_that_do_not_fit(server):
    write_file(server, 3, "u 60 TXT x")
    keep_diffs(server, (3, 4, [], ["u 60 TXT x"]))
    server.start()
    server.wait_log("which cannot be applied to serial 3 of its file")
    assert server.rcode("example", "SOA") == "SERVFAIL"
    server.kill("loader")
    wait_for("the journal looked at again", lambda: server.read_log().count(
        "which cannot be applied to serial 3 of its file") == 2)
    assert server.rcode("example", "SOA") == "SERVFAIL"
    write_file(server, 5)
    assert control.ask(server, "reload", "example") == (0, "ok\n")
    assert server.serial("example") == 5


@pytest.mark.parametrize("serial", (2, 6, 7))
def test_start_with_a_whole_version_in_the_journal(server, serial):
    """No file but a newer one is needed then."""
    write_file(server, serial, "own TXT mine")
    keep_whole(server, 5, "u 60 TXT x")
    keep_diffs(server, (5, 6, [], ["v 60 TXT x"]), (6, 7, [], ["w 60 TXT x"]))
    server.start()
    assert server.serial("example") == 7
    assert is_served(server, "own") == "NXDOMAIN"
    assert is_served(server, "u") == is_served(server, "w") == "NOERROR"


def test_start_with_what_the_writer_has_written(server):
    """A death between the file and the journal's note of it."""
    write_file(server, 4, "u 60 TXT x")
    path = server.zone_file("example")
    path.write_text("; zone example written by NSD 1 on Sun\n"
                    "; received update to serial 4 at 2026 from k\n"
                    + path.read_text())
    keep_diffs(server, (3, 4, [], ["u 60 TXT x"]))
    keep_diffs(server, (4, 5, [], ["v 60 TXT x"]))
    server.start()
    assert server.serial("example") == 5
    assert is_served(server, "u") == is_served(server, "v") == "NOERROR"


def test_file_is_checked_as_that_of_a_primary(server):
    write_file(server, 3, "u TXT x", "u CNAME y")
    server.start()
    server.wait_log("zone example file example.zone read with 1 errors")
    assert server.rcode("example", "SOA") == "SERVFAIL"


# ---- a reload ------------------------------------------------------------------

def diffs(*versions):
    return "diffs example.\n" + "\n".join(
        "\n".join([f"remove {transferred.soa(old)}", *removed,
                   f"add {transferred.soa(new)}", *added])
        for old, new, removed, added in versions)


@pytest.fixture
def served(server):
    """Serial 3 of its file is served."""
    write_file(server, 3)
    server.start()
    assert server.serial("example") == 3
    return server


def update(server, old, name="u"):
    assert server.update(diffs((old, old + 1, [], [
        f"add {name} 60 TXT x"])))[0] == "ok"
    assert server.serial("example") == old + 1


def reload(server):
    return control.ask(server, "reload", "example")


@pytest.mark.parametrize("serial", (4, 5, 9))
def test_reload_of_an_updated_zone_reads_no_changed_file(served, serial):
    update(served, 3)
    update(served, 4, "v")
    assert reload(served) == (0, "ok\n")  # the file is as it was
    write_file(served, serial, "own TXT mine")
    status, text = reload(served)
    assert status == 1
    assert f"is at serial 5: its file example.zone has serial {serial}" in text
    # The error names every step, whatever the serial is.
    assert ("first nsd-control freeze, then change the file that this has"
            " written, with a newer serial, then nsd-control thaw") in text
    assert served.serial("example") == 5
    assert is_served(served) == "NOERROR" != is_served(served, "own")
    update(served, 5, "w")
    served.reload()
    served.wait_log("has not changed since it was not taken, nsd-control"
                    " reload example says why")
    assert served.serial("example") == 6


def test_reload_before_any_update_reads_a_newer_file(served):
    write_file(served, 4, "own TXT mine")
    assert reload(served) == (0, "ok\n")
    assert served.serial("example") == 4
    update(served, 4)
    assert is_served(served, "own") == is_served(served) == "NOERROR"


@pytest.mark.parametrize("records", (5, 3000))
@pytest.mark.parametrize("serial", (2, 3))
def test_reload_refuses_other_records_without_a_newer_serial(
        server, serial, records):
    """Secondaries would never get them."""
    many = [f"n{i} TXT x" for i in range(records)]
    write_file(server, 3, *many)
    server.start()
    write_file(server, serial, "own TXT mine", *many)
    status, text = reload(server)
    assert status == 1
    assert f"has serial {serial}" in text and "give it a newer" in text
    assert server.serial("example") == 3
    assert is_served(server, "own") == "NXDOMAIN"
    write_file(server, 3, *many)  # as it was, but another file
    assert reload(server) == (0, "ok\n")
    write_file(server, 4, "own TXT mine", *many)
    assert reload(server) == (0, "ok\n")
    assert server.serial("example") == 4
    assert is_served(server, "own") == "NOERROR"


def test_file_with_faults_under_an_updated_zone(served):
    update(served, 3)
    write_file(served, 9, "u TXT x", "u CNAME y")
    assert reload(served)[0] == 1
    update(served, 4, "v")
    assert is_served(served) == is_served(served, "v") == "NOERROR"


@pytest.mark.parametrize("records", (5, 3000))
def test_changed_file_is_a_difference(server, records):
    """Secondaries have it by IXFR, as updates before and behind it."""
    many = [f"n{i} TXT x" for i in range(records)]
    write_file(server, 3, *many)
    server.start()
    write_file(server, 7, "own TXT mine", *many)
    assert reload(server) == (0, "ok\n")
    update(server, 7)
    update(server, 8, "v")
    for serial in (3, 7, 8):
        steps = ixfr(server, serial)
        assert steps[0][0] == serial and steps[-1][1] == 9, steps


def ixfr(server, serial):
    """The steps of an answer: (from, to); None: the whole zone."""
    rrs = [rrset for message in dns.query.xfr(
        server.address, "example", "IXFR", port=server.port, serial=serial,
        relativize=False, timeout=30) for rrset in message.answer]
    if rrs[1].rdtype != dns.rdatatype.SOA:
        return None
    soas = [rrset[0].serial for rrset in rrs
            if rrset.rdtype == dns.rdatatype.SOA][1:-1]
    return list(zip(soas[::2], soas[1::2]))


# ---- the file is written -------------------------------------------------------

@pytest.fixture
def ahead(server):
    """Served is serial 5, the file has 3, the journal has the updates."""
    write_file(server, 3, "; a comment of the operator")
    keep_diffs(server, (3, 4, [], ["u 60 TXT x"]), (4, 5, [], ["v 60 TXT x"]))
    server.start()
    assert server.serial("example") == 5
    return server


def serial_of(path):
    return dns.zone.from_file(str(path), "example").get_soa().serial


def with_serial(text, serial):
    """Text of a file that the server has written, with another serial."""
    changed, count = re.subn(r"\b5(?=\s+7200)", str(serial), text)
    assert count == 1, text
    return changed


def write(server):
    assert control.ask(server, "write", "example") == (0, "ok\n")


def test_file_is_written_and_read_no_more(ahead):
    path = ahead.zone_file("example")
    write(ahead)
    text = path.read_text()
    assert serial_of(path) == 5 and "comment of the operator" not in text
    assert not path.with_name("example.zone.edited").exists()
    before = ahead.read_log().count("example read with success")
    assert reload(ahead) == (0, "ok\n")
    assert ahead.read_log().count("example read with success") == before
    ahead.stop()
    ahead.start()
    assert ahead.serial("example") == 5
    assert is_served(ahead) == is_served(ahead, "v") == "NOERROR"


def test_file_that_was_written_may_be_changed(ahead):
    """Until the next update."""
    write(ahead)
    path = ahead.zone_file("example")
    path.write_text(with_serial(path.read_text(), 9) + "own 60 TXT x\n")
    assert serial_of(path) == 9
    assert reload(ahead) == (0, "ok\n")
    assert ahead.serial("example") == 9
    assert is_served(ahead) == is_served(ahead, "own") == "NOERROR"
    assert ixfr(ahead, 5) == [(5, 9)]


@pytest.mark.parametrize("is_reloaded", (False, True))
@pytest.mark.parametrize("serial", (3, 4, 5, 9))
def test_file_changed_by_hand_is_set_aside(ahead, serial, is_reloaded):
    """Neither the updates are lost nor the operator's changes."""
    path = ahead.zone_file("example")
    aside = path.with_name("example.zone.edited")
    write_file(ahead, serial, "own TXT mine")
    edited = path.read_text()
    if is_reloaded:
        assert reload(ahead)[0] == 1
    write(ahead)
    ahead.wait_log("changed by hand and is not read: it is kept as"
                   " .*example.zone.edited")
    assert serial_of(path) == 5
    assert aside.read_text() == edited
    ahead.stop()
    ahead.start()
    assert ahead.serial("example") == 5
    assert is_served(ahead) == "NOERROR" != is_served(ahead, "own")


def test_stop_writes_the_file(ahead):
    write_file(ahead, 9, "own TXT mine")
    ahead.stop()
    path = ahead.zone_file("example")
    assert serial_of(path) == 5
    assert serial_of(path.with_name("example.zone.edited")) == 9


def test_file_that_cannot_be_written_is_trouble(make_server, directory):
    """The updates of a primary are in the journal alone then."""
    folder = directory / "closed"
    folder.mkdir()
    directory.chmod(0o777)
    (folder / "zone").write_text(zone_text(1))
    options = {"zonefiles-write": 1}
    if os.geteuid() == 0:
        for path in (folder, folder / "zone"):
            os.chown(path, NOBODY, NOBODY)
        options["username"] = "nobody"
    folder.chmod(0o555)
    server = server_of(make_server, UPDATED.replace(
        "example.zone", f'"{folder}/zone"'), **options).start()
    change = dns.update.UpdateMessage("example")
    change.add("u", 60, "TXT", "x")
    assert dns.query.udp(change, "127.0.0.1", port=server.port,
                         timeout=10).rcode() == dns.rcode.NOERROR
    line = "trouble: zone example cannot be written: Permission denied\n"
    wait_for("the trouble", lambda: line in control.ask(server, "status")[1])
    assert '\t\tfile-serial: 1\n\t\tlast-write: "failed ' \
        in control.ask(server, "zonestatus", "example")[1]
    folder.chmod(0o755)
    assert control.ask(server, "write", "example")[0] == 0
    assert line not in control.ask(server, "status")[1]
    assert serial_of(folder / "zone") == 2


def test_freeze_edit_thaw(ahead):
    path = ahead.zone_file("example")
    assert control.ask(ahead, "freeze", "example") == (0, "ok\n")
    assert serial_of(path) == 5
    text = path.read_text()
    path.write_text(text + "own 60 TXT mine\n")  # the same serial
    status, answer = control.ask(ahead, "thaw", "example")
    assert status == 1 and "has serial 5 and other records" in answer, answer
    assert is_served(ahead, "own") == "NXDOMAIN"
    path.write_text(with_serial(text, 4) + "own 60 TXT mine\n")
    assert control.ask(ahead, "thaw", "example")[0] == 1
    path.write_text(with_serial(text, 6) + "own 60 TXT mine\n")
    assert control.ask(ahead, "thaw", "example") == (0, "ok\n")
    assert ahead.serial("example") == 6
    assert is_served(ahead, "own") == "NOERROR"
    assert ixfr(ahead, 5) == [(5, 6)]


def test_thaw_without_a_change(ahead):
    assert control.ask(ahead, "freeze", "example") == (0, "ok\n")
    assert control.ask(ahead, "thaw", "example") == (0, "ok\n")
    assert ahead.serial("example") == 5


# ---- updates of clients --------------------------------------------------------

def send(server, name):
    """As a client. Returns the RCODE."""
    change = dns.update.UpdateMessage("example")
    change.add(name, 60, "TXT", "x")
    return dns.rcode.to_text(dns.query.tcp(
        change, server.address, port=server.port, timeout=60).rcode())


def kill_all(server):
    """As kill -9 of all processes of the server."""
    for session in server.sessions:
        os.killpg(session, signal.SIGKILL)
    server.process.wait(60)
    wait_for("the end of all", lambda: not server.leftovers())
    server.sessions.clear()


@pytest.mark.parametrize("serial", (3, 4, 5, 6))
def test_updates_outlast_a_file_changed_by_hand(served, serial):
    """With the first update after that the journal gets the zone whole."""
    assert send(served, "u") == "NOERROR"
    write_file(served, serial, "own TXT mine")
    assert send(served, "v") == send(served, "w") == "NOERROR"
    assert served.serial("example") == 6
    wait_for("the whole zone", lambda: b"\3www\7example" in b"".join(
        path.read_bytes() for path in served.directory.glob(
            "xfrd.state.journal/*.seg")))
    kill_all(served)
    served.start()
    assert served.serial("example") == 6
    assert is_served(served, "u") == is_served(served, "w") == "NOERROR"
    assert is_served(served, "own") == "NXDOMAIN"


def test_newer_file_ends_what_the_journal_has(served):
    """Otherwise updates that are gone would come back with later ones."""
    assert send(served, "u") == send(served, "v") == "NOERROR"
    kill_all(served)
    write_file(served, 6, "own TXT mine")
    served.start()
    assert served.serial("example") == 6
    assert send(served, "w") == "NOERROR"
    kill_all(served)
    served.start()
    assert served.serial("example") == 7
    assert is_served(served, "own") == is_served(served, "w") == "NOERROR"
    assert is_served(served, "u") == "NXDOMAIN"
    write(served)
    assert serial_of(served.zone_file("example")) == 7


def test_file_of_another_serial_is_told_at_a_crash(served):
    """The file got the serial of an update by chance, behind the last one."""
    assert send(served, "u") == send(served, "v") == "NOERROR"
    write_file(served, 4, "own TXT mine")
    kill_all(served)
    served.start()
    assert served.rcode("example", "SOA") == "SERVFAIL"
    assert send(served, "w") == "SERVFAIL"
    write_file(served, 6, "own TXT mine")
    assert reload(served) == (0, "ok\n")
    assert send(served, "w") == "NOERROR"
    assert served.serial("example") == 7


# ---- other options -------------------------------------------------------------

PLAIN = UPDATED.replace("\tallow-update: 127.0.0.1 NOKEY\n", "")
SECONDARY = PLAIN + "\trequest-xfr: 127.0.0.1@1 NOKEY\n"


def configure(server, extra):
    at = server.extra.index("remote-control:")
    server.extra = extra + server.extra[at:]
    server.write_config()


def reconfig(server, extra):
    configure(server, extra)
    status, text = control.ask(server, "reconfig")
    assert status == 0, text


def test_zone_that_begins_to_take_updates(make_server):
    server = server_of(make_server, PLAIN)
    write_file(server, 3)
    server.start()
    assert send(server, "u") == "NOTIMP"
    reconfig(server, UPDATED)
    assert send(server, "u") == "NOERROR"
    assert server.serial("example") == 4
    kill_all(server)
    server.start()
    assert server.serial("example") == 4
    assert is_served(server) == "NOERROR"
    assert b"www" not in journal_of(server)  # the file is the base


def journal_of(server):
    return b"".join(path.read_bytes() for path in server.directory.glob(
        "xfrd.state.journal/*.seg"))


def test_edit_before_a_zone_begins_to_take_updates(make_server):
    """The file was not reloaded: it is not what updates lead on from."""
    server = server_of(make_server, PLAIN)
    write_file(server, 3)
    server.start()
    write_file(server, 4, "own TXT mine")
    reconfig(server, UPDATED)
    assert server.serial("example") == 3
    assert send(server, "u") == "NOERROR"
    wait_for("the whole zone", lambda: b"\3www\7example" in journal_of(server))
    kill_all(server)
    server.start()
    assert server.serial("example") == 4
    assert is_served(server) == "NOERROR" != is_served(server, "own")


def test_zone_that_ceases_to_take_updates(served):
    """The file gets all, and is the truth from then on."""
    assert send(served, "u") == "NOERROR"
    path = served.zone_file("example")
    reconfig(served, PLAIN)
    assert send(served, "v") == "NOTIMP"
    wait_for("the file", lambda: serial_of(path) == 4)
    path.write_text(re.sub(r"\b4(?=\s+7200)", "2", path.read_text())
                    + "own 60 TXT mine\n")
    assert reload(served) == (0, "ok\n")
    assert served.serial("example") == 2
    assert is_served(served) == is_served(served, "own") == "NOERROR"
    kill_all(served)
    served.start()
    assert served.serial("example") == 2
    reconfig(served, UPDATED)
    assert send(served, "v") == "NOERROR"
    kill_all(served)
    served.start()
    assert served.serial("example") == 3
    assert is_served(served) == is_served(served, "v") == "NOERROR"


@pytest.mark.parametrize("way", ("kill", "stop"))
def test_zone_that_ceases_while_the_server_is_down(served, way):
    assert send(served, "u") == "NOERROR"
    if way == "kill":
        kill_all(served)
    else:
        served.stop()
    configure(served, PLAIN)
    served.start()
    assert served.serial("example") == 4
    assert is_served(served) == "NOERROR"
    assert reload(served) == (0, "ok\n")  # the file may be older
    assert served.serial("example") == 4
    write(served)
    assert serial_of(served.zone_file("example")) == 4
    served.stop()
    served.start()
    assert served.serial("example") == 4


def test_zone_that_becomes_a_secondary_and_back(served):
    assert send(served, "u") == "NOERROR"
    reconfig(served, SECONDARY)
    assert served.serial("example") == 4
    reconfig(served, UPDATED)
    assert send(served, "v") == "NOERROR"
    assert served.serial("example") == 5
    kill_all(served)
    served.start()
    assert served.serial("example") == 5
    assert is_served(served) == is_served(served, "v") == "NOERROR"
    write(served)
    assert serial_of(served.zone_file("example")) == 5


def test_zone_with_another_file(served):
    """A file of that name that is there is the operator's. The former one has
    all updates."""
    assert send(served, "u") == "NOERROR"
    other = served.zone_file("other")
    other.write_text(zone_text(2))
    configure(served, UPDATED.replace("example.zone", "other.zone"))
    control.ask(served, "reconfig")
    assert serial_of(served.zone_file("example")) == 4
    assert served.serial("example") == 4
    assert send(served, "v") == "NOERROR"
    wait_for("the whole zone", lambda: b"\3www\7example" in journal_of(served))
    write(served)
    assert serial_of(other) == 5
    assert serial_of(other.with_name("other.zone.edited")) == 2


def test_zone_with_another_file_that_is_newer(served):
    """All updates are in the former file, so this one may be read."""
    assert send(served, "u") == "NOERROR"
    served.zone_file("other").write_text(zone_text(9))
    reconfig(served, UPDATED.replace("example.zone", "other.zone"))
    assert serial_of(served.zone_file("example")) == 4
    assert served.serial("example") == 9
    assert send(served, "v") == "NOERROR"
    kill_all(served)
    served.start()
    assert served.serial("example") == 10


def test_removed_zone_is_forgotten(make_server):
    """Another zone of its name begins with its file."""
    server = server_of(make_server, "pattern:\n\tname: p\n" + UPDATED.replace(
        "zone:\n\tname: example\n", "").replace("example.zone", "%s.zone"))
    server.start()
    for _ in range(2):
        write_file(server, 3)
        assert control.ask(server, "addzone", "example", "p") == (0, "ok\n")
        assert server.serial("example") == 3
        assert is_served(server) == "NXDOMAIN"
        assert send(server, "u") == "NOERROR"
        assert server.serial("example") == 4
        assert control.ask(server, "delzone", "example") == (0, "ok\n")
        assert send(server, "u") != "NOERROR"
    kill_all(server)
    write_file(server, 3)
    server.start()
    assert control.ask(server, "addzone", "example", "p") == (0, "ok\n")
    assert server.serial("example") == 3
    assert is_served(server) == "NXDOMAIN"


@pytest.mark.parametrize("ends", (kill_all, lambda server: server.stop()),
                         ids=("kill", "stop"))
@pytest.mark.parametrize("store", ("no", "yes"))
def test_every_version_is_sent_by_ixfr(make_server, store, ends):
    server = server_of(make_server, UPDATED + f"\tstore-ixfr: {store}\n")
    write_file(server, 3)
    server.start()
    for n in range(20):
        assert send(server, f"u{n}") == "NOERROR"
    for serial in range(3, 23):
        steps = ixfr(server, serial)
        assert steps[0][0] == serial and steps[-1][1] == 23, (serial, steps)
    ends(server)
    server.start()
    assert send(server, "last") == "NOERROR"
    # Without store-ixfr no files of differences are beside the zone file.
    first = 3 if store == "yes" or ends is kill_all else 23
    for serial in range(first, 24):
        steps = ixfr(server, serial)
        assert steps[0][0] == serial and steps[-1][1] == 24, (serial, steps)


def test_other_pattern(make_server):
    """changezone in both directions, as reconfig."""
    options = UPDATED.replace("zone:\n\tname: example\n", "").replace(
        "example.zone", "%s.zone")
    server = server_of(make_server, "".join(
        f"pattern:\n\tname: {name}\n{options.replace(*change)}"
        for name, change in (("updated", ("", "")), (
            "plain", ("\tallow-update: 127.0.0.1 NOKEY\n", "")))))
    server.start()
    write_file(server, 3)
    assert control.ask(server, "addzone", "example", "plain")[0] == 0
    for serial in (4, 5):
        assert send(server, f"u{serial}") == "NOTIMP"
        assert control.ask(server, "changezone", "example", "updated")[0] == 0
        assert send(server, f"u{serial}") == "NOERROR"
        assert server.serial("example") == serial
        assert control.ask(server, "changezone", "example", "plain")[0] == 0
        wait_for("the file", lambda s=serial: serial_of(
            server.zone_file("example")) == s)
    kill_all(server)
    server.start()
    assert server.serial("example") == 5
    assert is_served(server, "u4") == is_served(server, "u5") == "NOERROR"
