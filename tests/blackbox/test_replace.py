"""A large zone file that has become a wholly different one: the new version is
built beside the old one while the file is read, with little memory for anything
else; if the file is in no order, with its records."""

import pathlib
import re
import time

import pytest

import harness
from harness import Load, zone_text
from steady import Steady

COUNT = 100000
PEAK_COUNT = 300000
# By stride: the most memory, over that of a version, and some more. With all
# records in memory it is over 4 versions in order, and over 5 out of order.
LIMITS = {1: (2, 24 << 10), 7919: (4, 0)}


def delegations(serial, word, more="", count=COUNT, stride=1):
    """stride: not in canonical order, if it is odd and not 1."""
    lines = []
    for n in range(count):
        i = n * stride % count
        owner = f"{word}-{i:06}-with-a-long-name"
        if i % 10 == 0:
            lines.append(f"{owner} NS ns.{owner}\nns.{owner} A "
                         f"10.{i >> 16}.{i >> 8 & 255}.{i & 255}\n")
        else:
            lines.append(f"{owner} NS ns1.hoster-number-{i % 500}.net.\n"
                         f"{owner} NS ns2.hoster-number-{i % 500}.net.\n")
    return zone_text(serial) + "".join(lines) + more


def pids_of(server):
    return [pid for session in server.sessions
            for pid in harness.pids_of_session(session)]


def own_kib(pids):
    """Of all processes, without files: pages of the program and of the C
    library come and go with what else runs on the machine."""
    return sum(int(kib) for pid in pids for kib in re.findall(
        r"^Pss_(?:Anon|Shmem):\s+(\d+)",
        harness.read_proc(pid, "smaps_rollup"), re.M))


def files_kib(pid):
    return int(re.search(r"^RssFile:\s+(\d+)", harness.read_proc(
        pid, "status"), re.M)[1])


def clear_peak(pid):
    """Resets the peak, so that peak_kib is of the time from now on."""
    pathlib.Path(f"/proc/{pid}/clear_refs").write_text("5")


def peak_kib(pid):
    """The most memory that it had, with files; nobody need look at the right
    moment."""
    return int(re.search(r"^VmHWM:\s+(\d+)", harness.read_proc(
        pid, "status"), re.M)[1])


@pytest.fixture(scope="module")
def old_text():
    return delegations(1, "old")


@pytest.fixture
def server(nsd, old_text):
    return nsd(zones={"example": old_text}, options={"verbosity": 2})


def replace(server, text, pattern, look=None):
    """look: is called again and again until the pattern is in the log."""
    known = len(server.read_log())
    server.write_zone("example", text)
    server.reload()
    deadline = time.monotonic() + harness.DEADLINE
    while pattern not in server.read_log()[known:]:
        assert time.monotonic() < deadline
        if look is not None:
            look()
        time.sleep(0.005)
    return server.read_log()[known:]


def check_referral(server, word, i):
    owner = f"{word}-{i:06}-with-a-long-name"
    reply = server.query(f"www.{owner}.example", "A")
    assert not reply.answer
    assert reply.authority[0].name.to_text() == f"{owner}.example."
    if i % 10 == 0:
        assert reply.additional[0].name.to_text() == f"ns.{owner}.example."
        assert reply.additional[0][0].to_text() == (
            f"10.{i >> 16}.{i >> 8 & 255}.{i & 255}")
    else:
        assert {r.to_text() for r in reply.authority[0]} == {
            f"ns{n}.hoster-number-{i % 500}.net." for n in (1, 2)}


@pytest.mark.plain
@pytest.mark.parametrize("stride", [1, 7919])
def test_peak_of_memory(nsd, stride):
    server = nsd(zones={"example": delegations(1, "old", count=PEAK_COUNT)},
                 options={"verbosity": 2})
    loader = server.role("loader")
    pids, all_peak, files = pids_of(server), 0, files_kib(loader)
    rest, at_rest = own_kib(pids), own_kib([loader])

    def look():
        nonlocal all_peak, files
        all_peak = max(all_peak, own_kib(pids))
        files = max(files, files_kib(loader))

    clear_peak(loader)
    text = delegations(2, "new", count=PEAK_COUNT, stride=stride)
    log = replace(server, text, "serial 1 is updated to 2", look)
    assert "records added" not in log
    for i in range(0, PEAK_COUNT, PEAK_COUNT // 50):
        check_referral(server, "new", i)
        check_referral(server, "new", i + 1)
    assert server.rcode("old-000001-with-a-long-name.example",
                        "A") == "NXDOMAIN"
    assert server.role("loader") == loader
    most = peak_kib(loader) - files
    # Not all of the first version may have been touched, so be mapped, when it
    # was measured. The second is as large.
    rest, at_rest = max(rest, own_kib(pids)), max(at_rest, own_kib([loader]))
    print(f"loader: peak {most} KiB, {at_rest} at rest; all: {rest} at rest, "
          f"seen at most {all_peak}; files {files}")
    versions, more = LIMITS[stride]
    if not harness.is_sanitized():
        # Both versions were there at once, so it is a peak.
        assert most > 1.5 * at_rest
        assert most < versions * rest + more
        assert all_peak < versions * rest + more


def test_error_in_the_last_part(server):
    text = delegations(2, "new", "zzz CNAME a\nzzz A 192.0.2.1\n")
    end = text.count("\n")
    log = replace(server, text,
                  "zone example file example.zone read with 1 errors")
    assert f"error: example.zone:{end}: CNAME and other data" in log
    assert server.serial("example") == 1
    check_referral(server, "old", 10)
    replace(server, delegations(3, "new"), "serial 1 is updated to 3")


def test_error_of_syntax(server):
    text = delegations(2, "new", "boo A 300.0.0.1\n")
    log = replace(server, text,
                  "zone example file example.zone read with 1 errors")
    assert "error: example.zone:%d:" % text.count("\n") in log
    assert server.serial("example") == 1


def test_warnings_name_their_line(server):
    """Warnings name their line, also those that only all parts together
    show."""
    more = "aaa NS ns.zzz\nzzz NS ns.zzz\n"
    text = delegations(2, "new", more)
    end = text.count("\n")
    log = replace(server, text, "serial 1 is updated to 2")
    assert (f"warning: example.zone:{end}: zzz.example. NS ns.zzz.example. "
            "has no glue address") in log


def test_file_replaced_while_it_is_read(server):
    load = Load(server, name="www.example")
    with Steady(server) as client:
        for serial in range(2, 6):
            server.write_zone("example", delegations(serial, f"n{serial}"))
            server.reload()
            load.step(0.3)
        server.wait_serial("example", 5)
        load.finish()
    assert load.lost == 0
    assert client.late == []
    check_referral(server, "n5", 20)
    assert server.rcode("n4-000001-with-a-long-name.example",
                        "A") == "NXDOMAIN"
