"""Log lines about faults, and how few there are at verbosity 0."""

import os
import re
import signal
import subprocess

import pytest

import harness
from harness import process_state, wait_for, zone_text

pytestmark = pytest.mark.plain

COUNT = 1000
# A warning each: delegations whose name server has no address.
WARNINGS = "".join(f"d{i} NS ns.d{i}\n" for i in range(COUNT))
# An error each.
ERRORS = "".join(f"e{i} A 192.0.2.1\ne{i} CNAME www\n" for i in range(COUNT))


def lines_about(server, what, known=0):
    """The texts of the lines with a word, behind time and pid."""
    return [re.sub(r"^\[.*?\] nsd\[\d+\]: ", "", line)
            for line in server.read_log()[known:].splitlines()
            if what in line]


def test_quiet_log_counts_the_warnings_of_a_zone(nsd):
    server = nsd(zones={"a.test": zone_text() + WARNINGS},
                 options={"verbosity": 0})
    server.wait_log("zone a.test file a.test.zone has")
    assert lines_about(server, "a.test") == [
        f"warning: zone a.test file a.test.zone has {COUNT} warnings, "
        "nsd-checkzone a.test a.test.zone shows them"]
    # nsd-checkzone does show them.
    done = subprocess.run([harness.BUILD / "nsd-checkzone", "a.test",
                           "a.test.zone"], cwd=server.directory, check=False,
                          capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stderr.count("warning: ") >= COUNT
    assert server.answer("www.a.test", "A") == ["192.0.2.1"]


def test_quiet_log_tells_the_first_error_of_a_zone(nsd):
    server = nsd(zones={"a.test": zone_text() + WARNINGS + ERRORS},
                 options={"verbosity": 0})
    server.wait_log("read with")
    line = (zone_text() + WARNINGS).count("\n") + 2
    first, last = lines_about(server, "a.test")
    assert first.startswith(f"error: a.test.zone:{line}: ")
    assert last == (f"error: zone a.test file a.test.zone read with {COUNT} "
                    "errors, nsd-checkzone a.test a.test.zone shows them")


def test_quiet_log_says_all_of_one_error(nsd):
    server = nsd(zones={"a.test": zone_text() + "w A 1.2.3\n"},
                 options={"verbosity": 0})
    server.wait_log("read with")
    first, last = lines_about(server, "a.test")
    assert first.startswith("error: a.test.zone:8: ")
    assert last == "error: zone a.test file a.test.zone read with 1 errors"


def test_log_at_verbosity_1_is_for_a_person(nsd):
    server = nsd(zones={"a.test": zone_text() + WARNINGS,
                        "b.test": zone_text() + ERRORS})
    server.wait_log("zone a.test file a.test.zone has")
    server.wait_log("zone b.test file b.test.zone read with")
    assert len(lines_about(server, "warning: a.test.zone:")) == 50
    assert len(lines_about(server, "error: b.test.zone:")) == 50


def test_log_at_verbosity_2_has_all(nsd):
    server = nsd(zones={"a.test": zone_text() + WARNINGS},
                 options={"verbosity": 2})
    server.wait_log("zone a.test read with success")
    wait_for("all warnings", lambda: len(
        lines_about(server, "warning: a.test.zone:")) == COUNT)
    assert "shows them" not in server.read_log()


@pytest.mark.parametrize("more", ["", ERRORS])
def test_file_that_is_still_broken_is_said_at_each_reload(nsd, more):
    """A broken file is logged once at each reload, though it is not read."""
    server = nsd(zones={"a.test": zone_text(), "b.test": zone_text()},
                 options={"verbosity": 0})
    server.write_zone("a.test", zone_text(2) + "w A 1.2.3\n" + more)
    server.reload()
    server.wait_log("zone a.test file a.test.zone read with")
    for _ in range(2):
        known = len(server.read_log())
        server.reload()
        server.wait_log("zone a.test file", known)
        server.signal(signal.SIGUSR1)
        server.wait_log("STORE", known)
        assert lines_about(server, ".test", known) == [
            "error: zone a.test file a.test.zone has not changed since it "
            "was read with errors, nsd-checkzone a.test a.test.zone shows "
            "them"]
    assert server.serial("a.test") == 1
    known = len(server.read_log())
    server.write_zone("a.test", zone_text(3))
    server.reload()
    server.wait_serial("a.test", 3)
    server.write_zone("b.test", zone_text(3))
    server.reload()
    server.wait_serial("b.test", 3)
    assert "has not changed" not in server.read_log()[known:]


def test_options_without_effect_are_told_with_their_place(nsd):
    server = nsd(zones={"a.test": zone_text()}, extra="""\
server:
	xdp-force-copy: yes
""", options={"verbosity": 0, "xfrdfile": None, "xfrdir": None,
              "zonelistfile": None})
    at = [number for number, line in enumerate(
        server.config.read_text().splitlines(), 1)
        if "xdp-force-copy:" in line]
    assert lines_about(server, "has no effect") == [
        f"warning: {server.config}:{at[0]}: server: xdp-force-copy "
        "has no effect in this program"]


def test_term_to_all_processes_is_a_clean_stop(nsd):
    """A service manager sends it to the whole group. Main is held up, so that
    the others have ended before it hears of anything."""
    server = nsd(zones={"a.test": zone_text()}, options={"server-count": 2})
    roles = server.roles()
    main = roles.pop("main")
    os.kill(main, signal.SIGSTOP)
    wait_for("main to be stopped", lambda: process_state(main) == "T")
    known = len(server.read_log())
    for pid in roles.values():
        os.kill(pid, signal.SIGTERM)
    for name, pid in roles.items():
        wait_for(f"the end of {name}",
                 lambda p=pid: process_state(p) == "Z")
    os.kill(main, signal.SIGTERM)
    os.kill(main, signal.SIGCONT)
    assert server.process.wait(harness.DEADLINE) == 0
    assert lines_about(server, "", known) == [
        "warning: signal received, shutting down..."]
