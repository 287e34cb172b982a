"""Versions that are judged and refused: what is told of them, how the primary is
asked again, and what `accept` does."""
import json
import os
import re
import signal
import time
import urllib.request

import dns.query
import dns.rcode
import dns.rrset
import dns.update
import pytest

import control
from harness import wait_for, zone_text
from test_forced import kill_all
from ports import free_port
from scripted_primary import ScriptedPrimary, records, reply, soa
from test_zonemd import digest_of, spoilt

ZONE = "judged.test"
TIMERS = "1 1 3600 300"
WRONG = "its ZONEMD digest is of another content"


class Primary(ScriptedPrimary):
    """Gives a version, of which a digest may be wrong; and since which one
    it has the differences."""

    def __init__(self, serial=1, texts=(), timers=TIMERS):
        self.timers = timers
        self.times = []  # of whole transfers
        self.before = None
        self.set(serial, texts)
        super().__init__(self.say)

    def set(self, serial, texts=(), wrong=False):
        apex = ZONE + "."
        rrsets = [soa(apex, serial, self.timers),
                  dns.rrset.from_text(apex, 300, "IN", "NS", f"ns.{apex}"),
                  *records(apex, "ns A 192.0.2.1", *texts)]
        digest = digest_of(apex, rrsets)
        if wrong:
            digest = spoilt("ZONEMD " + digest).removeprefix("ZONEMD ")
        self.now = [*rrsets, dns.rrset.from_text(apex, 300, "IN", "ZONEMD",
                                                 digest)]

    def keep(self):
        """From here on there are differences from this version."""
        self.before = self.now

    def say(self, apex, rdtype, query):
        new, old = self.now, self.before
        if rdtype == "SOA":
            return [reply(query, new[0])]
        if rdtype == "IXFR" and old is not None and \
                query.authority[0][0].serial == old[0][0].serial:
            return [reply(query, new[0], old[0],
                          *(r for r in old[1:] if r not in new),
                          new[0].copy(),
                          *(r for r in new[1:] if r not in old),
                          new[0].copy())]
        self.times.append(time.monotonic())
        return [reply(query, *new, new[0].copy())]


def judged(*primaries, options="\tzonemd-verify: yes\n"):
    return (f"zone:\n\tname: {ZONE}\n\tzonefile: {ZONE}.zone\n"
            "\tallow-notify: 127.0.0.1 NOKEY\n"
            + "".join(f"\trequest-xfr: 127.0.0.1@{p.port} NOKEY\n"
                      for p in primaries) + options)


def make(make_server, *primaries, judge="\tzonemd-verify: yes\n", **options):
    server = make_server(
        zones={"example": zone_text()}, extra=judged(*primaries,
                                                     options=judge),
        options={"verbosity": 2, "server-count": 1, "zonefiles-write": 0,
                 "xfrdfile": "xfrd.state", **options})
    return control.config(server)


def status(server):
    return json.loads(control.ask(server, "-j", "zonestatus", ZONE)[1])[0]


def wait_refused(server, serial):
    wait_for("a refusal", lambda: status(server).get("refused", {}).get(
        "serial") == serial)
    return status(server)["refused"]


# ---- what is told ------------------------------------------------------------

def metrics_of(port):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as page:
        return page.read().decode()


def test_reason_is_told(make_server):
    port = free_port()
    with Primary() as primary:
        server = make(make_server, primary, **{
            "metrics-enable": "yes", "metrics-interface": "127.0.0.1",
            "metrics-port": port})
        server.start()
        server.wait_serial(ZONE, 1)
        assert "refused" not in status(server)
        assert "zone.refused" not in control.ask(server, "stats_noreset")[1]
        primary.set(2, wrong=True)
        refused = wait_refused(server, 2)
        assert refused["by"] == "zonemd-verify" and refused["text"] == WRONG
        wait_for("other tries", lambda: wait_refused(server, 2)["times"] > 3)
        assert re.search(rf'^\t\trefused: "serial 2, by zonemd-verify: {WRONG}, '
                         r'since \d+ sec, \d+ times"$', control.ask(
                             server, "zonestatus", ZONE)[1], re.M)
        assert "zone.refused=1\n" in control.ask(server, "stats_noreset")[1]
        assert re.search(f"^trouble: zone {ZONE} cannot be refreshed: serial 2 "
                         f"is refused by zonemd-verify: {WRONG}$",
                         control.ask(server, "status")[1], re.M)
        page = metrics_of(port)
        assert "\nnsd_zones_refused 1\n" in page
        assert int(re.search(r"^nsd_refusals_total (\d+)$", page, re.M)[1]) > 3
        # Once, though it was tried often.
        said = f"zone {ZONE}: serial 2 is not served: {WRONG}"
        assert server.read_log().count(said) == 1
        # The served version goes on.
        assert server.serial(ZONE) == 1
        code, text = control.ask(server, "transfer", ZONE)
        assert code == 1 and f"serial 2 is refused by zonemd-verify: {WRONG}" \
            in text
        # Another one that is refused is told of by itself.
        primary.set(3, wrong=True)
        assert wait_refused(server, 3)["times"] >= 1
        server.wait_log("serial 3 is not served")
        primary.set(4)
        server.wait_serial(ZONE, 4)
        wait_for("the end", lambda: "refused" not in status(server))
        assert "\nnsd_zones_refused 0\n" in metrics_of(port)


def test_refusal_ends_when_the_primary_goes_back(make_server):
    with Primary() as primary:
        server = make(make_server, primary)
        server.start()
        server.wait_serial(ZONE, 1)
        primary.set(2, wrong=True)
        wait_refused(server, 2)
        primary.set(1)
        wait_for("the end", lambda: "refused" not in status(server))
        assert server.serial(ZONE) == 1


# ---- asked again -------------------------------------------------------------

@pytest.mark.lasts(20)
def test_pauses_grow(make_server):
    """Retries after 1, 2, 4 and 8 seconds, and no sooner."""
    with Primary(timers="30 1 3600 300") as primary:
        server = make(make_server, primary)
        server.start()
        server.wait_serial(ZONE, 1)
        primary.set(2, wrong=True)
        primary.times.clear()
        assert control.ask(server, "transfer", ZONE)[0] == 1
        wait_for("five tries", lambda: len(primary.times) >= 5, 120)
        gaps = [b - a for a, b in zip(primary.times, primary.times[1:])]
        # A busy machine makes pauses longer, never shorter.
        for gap, least in zip(gaps, (0.9, 1.8, 3.6, 7.2)):
            assert gap > least - 0.2, gaps


def test_next_primary_is_asked(make_server):
    with Primary() as bad, Primary() as good:
        server = make(make_server, bad, good)
        server.start()
        server.wait_serial(ZONE, 1)
        bad.set(3, wrong=True)
        good.set(2)
        server.wait_serial(ZONE, 2)
        # The first one is still at fault.
        wait_refused(server, 3)
        assert server.serial(ZONE) == 2


def test_served_version_goes_on_to_its_expiry(make_server):
    with Primary(timers="1 1 6 300") as primary:
        server = make(make_server, primary)
        server.start()
        server.wait_serial(ZONE, 1)
        primary.set(2, wrong=True)
        wait_refused(server, 2)
        wait_for("its expiry", lambda: server.rcode(ZONE, "SOA") == "SERVFAIL")
        assert "refused" in status(server)
        primary.set(3)
        server.wait_serial(ZONE, 3)


# ---- accept ------------------------------------------------------------------

def test_accept_serves_the_refused_version_once(make_server):
    with Primary() as primary:
        server = make(make_server, primary)
        server.start()
        server.wait_serial(ZONE, 1)
        nothing = (1, "error nothing of the zone is refused\n")
        assert control.ask(server, "accept", ZONE) == nothing
        assert control.ask(server, "accept", "example") == nothing
        assert control.ask(server, "accept", "no.test")[0] == 1
        assert control.ask(server, "accept")[0] == 1
        primary.set(2, wrong=True)
        wait_refused(server, 2)
        assert control.ask(server, "accept", ZONE) == (0, "ok\n")
        assert server.serial(ZONE) == 2
        assert "refused" not in status(server)
        server.wait_log(rf"zone {ZONE}: uid \d+ accepts what is refused")
        server.wait_log(f"zone {ZONE}: serial 2 is served as an operator has "
                        "accepted it; zonemd-verify had refused serial 2")
        assert control.ask(server, "accept", ZONE) == nothing
        primary.set(3, wrong=True)
        wait_refused(server, 3)
        assert server.serial(ZONE) == 2


@pytest.mark.lasts(10)
def test_accept_takes_a_newer_version(make_server):
    """Of that the check counts which has refused no longer, and others do."""
    with Primary(texts=[f"n{i} A 192.0.2.1" for i in range(10)]) as primary:
        server = make(make_server, primary,
                      judge="\tzonemd-verify: yes\n\txfr-max-change: 50\n")
        server.start()
        server.wait_serial(ZONE, 1)
        primary.set(2)
        assert wait_refused(server, 2)["by"] == "xfr-max-change"
        # The next try comes after 8 s: not before the command.
        wait_for("other tries", lambda: wait_refused(server, 2)["times"] > 3)
        primary.set(3, wrong=True)
        code, text = control.ask(server, "accept", ZONE)
        assert code == 1 and "serial 3 is refused by zonemd-verify" in text
        assert server.serial(ZONE) == 1
        # The acceptance is used up.
        primary.set(4)
        assert wait_refused(server, 4)["by"] == "xfr-max-change"
        primary.set(5)
        assert control.ask(server, "accept", ZONE) == (0, "ok\n")
        assert server.serial(ZONE) == 5


def test_accept_that_comes_too_late(make_server):
    with Primary(timers="30 30 3600 300") as primary:
        server = make(make_server, primary)
        server.start()
        server.wait_serial(ZONE, 1)
        primary.set(2, wrong=True)
        assert control.ask(server, "transfer", ZONE)[0] == 1
        wait_refused(server, 2)
        primary.set(1)
        code, text = control.ask(server, "accept", ZONE)
        assert code == 1
        assert "the primaries do not have serial 2 any more" in text
        primary.set(2, wrong=True)
        assert control.ask(server, "transfer", ZONE)[0] == 1
        assert server.serial(ZONE) == 1


@pytest.mark.parametrize("diffs", (False, True), ids=("whole", "diffs"))
@pytest.mark.parametrize("end", ("stop", "kill"))
def test_accepted_version_outlasts_a_restart(make_server, end, diffs):
    """A start does not judge the version again."""
    with Primary() as primary:
        server = make(make_server, primary)
        server.start()
        server.wait_serial(ZONE, 1)
        if diffs:
            primary.keep()
        primary.set(2, texts=["new A 192.0.2.7"], wrong=True)
        wait_refused(server, 2)
        assert control.ask(server, "accept", ZONE) == (0, "ok\n")
        assert server.serial(ZONE) == 2
        finish(server, end)
        primary.__exit__()
        server.start()
        server.wait_serial(ZONE, 2)
        assert server.answer(f"new.{ZONE}", "A") == ["192.0.2.7"]
        log = server.read_log().rpartition("starting")[2]
        assert "in the journal" not in log and "be applied" not in log


# ---- a restart ---------------------------------------------------------------

def finish(server, end):
    if end == "stop":
        server.stop()
    else:
        kill_all(server)


MANY = [f"n{i} A 192.0.2.1" for i in range(10)]
LESS = "10 of 12 records would go, over 50 %; the first of them is n0.judged.test. A"


# A start would not notice such a fault by itself, as it does a wrong digest.
@pytest.mark.parametrize("diffs", (False, True), ids=("whole", "diffs"))
@pytest.mark.parametrize("end", ("stop", "kill"))
def test_refused_version_is_not_served_after_a_restart(make_server, end,
                                                       diffs):
    with Primary(texts=MANY) as primary:
        server = make(make_server, primary, judge="\txfr-max-change: 50\n")
        server.start()
        server.wait_serial(ZONE, 1)
        if diffs:
            primary.keep()
        primary.set(2)
        server.wait_log(f"serial 2 is not served: {LESS}")
        finish(server, end)
        primary.__exit__()
        server.start()
        server.wait_serial(ZONE, 1)
        assert server.answer(f"n1.{ZONE}", "A") == ["192.0.2.1"]


@pytest.mark.parametrize("diffs", (False, True), ids=("whole", "diffs"))
def test_version_that_was_not_judged_is_judged_after_a_restart(make_server,
                                                               diffs):
    """The loader hangs while it has it in hand, and all are killed: it is in
    the journal by then."""
    with Primary(texts=MANY) as primary:
        server = make(make_server, primary, judge="\txfr-max-change: 50\n",
                      **{"replace-hung": "no"})
        server.start()
        server.wait_serial(ZONE, 1)
        journal = next(server.directory.glob("**/*.journal"))

        def records():
            return b"".join(f.read_bytes() for f in journal.glob("*.seg")
                            ).count(b"Jrec")

        # The note that the first version was judged is there.
        wait_for("a note", lambda: records() == 2)
        if diffs:
            primary.keep()
        os.kill(server.role("loader"), signal.SIGSTOP)
        primary.set(2)
        wait_for("the journal", lambda: records() == 3)
        kill_all(server)
        assert "serial 2" not in server.read_log()
        server.start()
        server.wait_serial(ZONE, 1)
        server.wait_log(f"zone {ZONE}: serial 2 is not served: {LESS}")
        assert server.answer(f"n1.{ZONE}", "A") == ["192.0.2.1"]
        assert wait_refused(server, 2)["by"] == "xfr-max-change"


@pytest.mark.parametrize("diffs", (False, True), ids=("whole", "diffs"))
def test_judged_version_is_served_at_a_start(make_server, diffs):
    """A start does not judge the version again: the note is on the disk."""
    with Primary(texts=MANY) as primary:
        server = make(make_server, primary, judge="\txfr-max-change: 50\n")
        server.start()
        server.wait_serial(ZONE, 1)
        if diffs:
            primary.keep()
        primary.set(2, texts=MANY[:7])
        server.wait_serial(ZONE, 2)
        kill_all(server)
        primary.__exit__()
        server.start()
        server.wait_serial(ZONE, 2)
        # By the loader, before xfrd could bring it.
        assert "committed" not in server.read_log().rpartition("starting")[2]


# ---- xfr-max-change ----------------------------------------------------------

def test_change_is_of_the_records_that_operators_make(make_server):
    with Primary(texts=MANY) as primary:
        server = make(make_server, primary, judge="\txfr-max-change: 50\n")
        server.start()
        server.wait_serial(ZONE, 1)
        # 12 records count: six may go.
        primary.set(2, texts=MANY[:4])
        server.wait_serial(ZONE, 2)
        # Of the six that are left now, four are more than half.
        primary.keep()
        primary.set(3, texts=["a TXT x", "b TXT x", "c TXT x"])
        assert wait_refused(server, 3)["text"].startswith(
            "4 of 6 records would go, over 50 %")
        primary.set(4, texts=[*MANY[:1], "a TXT x", "b TXT x", "c TXT x"])
        server.wait_serial(ZONE, 4)


def test_first_version_is_not_compared(make_server):
    with Primary(texts=MANY) as primary:
        server = make(make_server, primary, judge="\txfr-max-change: 1\n")
        server.start()
        server.wait_serial(ZONE, 1)


def test_forced_transfer_is_judged(make_server):
    with Primary(serial=5, texts=MANY) as primary:
        server = make(make_server, primary, judge="\txfr-max-change: 50\n")
        server.start()
        server.wait_serial(ZONE, 5)
        primary.set(3)
        code, text = control.ask(server, "force_transfer", ZONE)
        assert code == 1 and f"serial 3 is refused by xfr-max-change: {LESS}" \
            in text
        assert server.serial(ZONE) == 5
        assert control.ask(server, "accept", ZONE) == (0, "ok\n")
        assert server.serial(ZONE) == 3


# ---- zones from files --------------------------------------------------------

def file_text(serial, wrong=False, text="x"):
    apex = "example."
    rrsets = [soa(apex, serial),
              dns.rrset.from_text(apex, 300, "IN", "NS", f"ns.{apex}"),
              *records(apex, "ns A 192.0.2.1", f"t TXT {text}")]
    digest = digest_of(apex, rrsets)
    if wrong:
        digest = spoilt("ZONEMD " + digest).removeprefix("ZONEMD ")
    return "\n".join([*(r.to_text() for r in rrsets),
                      f"{apex} 300 IN ZONEMD {digest}", ""])


def test_accept_of_a_file(make_server):
    server = control.config(make_server(
        extra="zone:\n\tname: example\n\tzonefile: example.zone\n"
        "\tzonemd-verify: yes\n", options={"server-count": 1}))
    server.zone_file("example").write_text(file_text(1))
    server.start()
    server.wait_serial("example", 1)
    server.zone_file("example").write_text(file_text(2, wrong=True))
    code, text = control.ask(server, "reload", "example")
    assert code == 1 and WRONG in text
    assert server.serial("example") == 1
    assert control.ask(server, "accept", "example") == (0, "ok\n")
    assert server.serial("example") == 2
    server.wait_log("zone example: its file is read and not judged")
    assert control.ask(server, "accept", "example") == (
        1, "error nothing of the zone is refused\n")
    # Once.
    server.zone_file("example").write_text(file_text(3, wrong=True, text="y"))
    assert control.ask(server, "reload", "example")[0] == 1
    assert server.serial("example") == 2


# ---- verifiers ---------------------------------------------------------------

def test_accept_of_what_a_verifier_refuses(make_server):
    with Primary() as primary:
        server = make(make_server, primary, judge="")
        server.extra += ("verify:\n\tenable: yes\n\tport: "
                         f"{free_port()}\n\tverify-zones: no\n")
        server.extra = server.extra.replace(
            f"\tzonefile: {ZONE}.zone\n",
            f"\tzonefile: {ZONE}.zone\n\tverify-zone: yes\n"
            "\tverifier: /bin/false\n")
        server.write_config()
        server.start()
        refused = wait_refused(server, 1)
        assert refused["by"] == "verifier"
        assert refused["text"] == "the verifier has ended with status 1"
        wait_for("other tries", lambda: wait_refused(server, 1)["times"] > 1)
        assert server.read_log().count("serial 1 is not served") == 1
        # The verifier may be at it again.
        assert control.ask(server, "accept", ZONE) in (
            (0, "ok\n"), (0, "ok, once its verifier has judged the version"
                          " that it has\n"))
        server.wait_serial(ZONE, 1)
        kill_all(server)
        server.start()
        server.wait_serial(ZONE, 1)


WAITS = """#!/bin/sh
echo >>{folder}/begun
while test -e {folder}/hold; do sleep 0.05; done
"""


def test_commands_wait_for_no_verifier(make_server, tmp_path):
    """More of them than the control channel takes at once."""
    program, hold = tmp_path / "waits", tmp_path / "hold"
    program.write_text(WAITS.format(folder=tmp_path))
    program.chmod(0o755)
    with Primary(timers="300 300 3600 300") as primary:
        server = make(make_server, primary,
                      judge=f"\tverify-zone: yes\n\tverifier: {program}\n")
        server.extra += ("verify:\n\tenable: yes\n\tport: "
                         f"{free_port()}\n\tverify-zones: no\n")
        server.write_config()
        server.start()
        server.wait_serial(ZONE, 1)
        hold.touch()
        primary.set(2)
        waits = "ok, its new version waits for its verifier\n"
        for _ in range(70):
            assert control.ask(server, "transfer", ZONE) == (0, waits)
        assert control.ask(server, "force_transfer", ZONE) == (0, waits)
        assert control.ask(server, "transfer") == (
            0, "ok, 1 zones, of which 1 wait for their verifier\n")
        assert control.ask(server, "reload", "example") == (0, "ok\n")
        assert server.serial(ZONE) == 1
        hold.unlink()
        server.wait_serial(ZONE, 2)
        # The forced transfer was still to come.
        wait_for("the end of it", lambda: status(server)["transfer"] is None)
        assert control.ask(server, "transfer", ZONE) == (0, "ok\n")


@pytest.mark.plain_only  # the count is what matters
@pytest.mark.lasts(20)
def test_versions_that_wait_hold_up_no_other_zone(make_server, tmp_path):
    """More than xfrd has on their way to the loader."""
    count = 2010
    program, hold = tmp_path / "waits", tmp_path / "hold"
    program.write_text(WAITS.format(folder=tmp_path))
    program.chmod(0o755)
    hold.touch()
    names = [f"z{i}.test" for i in range(count)]
    primary = make_server("primary", zones={"plain.test": zone_text(1)})
    primary.extra += (
        "pattern:\n\tname: p\n\tprovide-xfr: 127.0.0.1 NOKEY\n"
        "\tzonefile: plain.test.zone\n" + "".join(
            f"zone:\n\tname: {name}\n\tinclude-pattern: p\n"
            for name in (*names, "after.test")))
    control.config(primary).start()
    server = make_server("secondary", zones={"own.test": zone_text(1)})
    server.extra += (
        f"verify:\n\tenable: yes\n\tport: {free_port()}\n"
        "\tverify-zones: no\n\tverifier-feed-zone: no\n"
        f"\tverifier: {program}\npattern:\n\tname: p\n"
        f"\tzonefile: %s\n\trequest-xfr: 127.0.0.1@{primary.port} NOKEY\n"
        + "".join(f"zone:\n\tname: {name}\n\tinclude-pattern: p\n"
                  "\tverify-zone: yes\n" for name in names)
        + "zone:\n\tname: after.test\n\tinclude-pattern: p\n")
    control.config(server).start()
    server.wait_serial("after.test", 1)
    waits = f"ok, {count + 1} zones, of which {count} wait for their verifier\n"
    assert control.ask(server, "transfer") == (0, waits)
    assert control.ask(server, "force_transfer", "after.test") == (0, "ok\n")
    hold.unlink()
    for name in (names[0], names[-1]):
        server.wait_serial(name, 1)


# ---- updates of clients ------------------------------------------------------

def test_refused_update_is_told(make_server):
    """A client that leaves the digest as it was."""
    server = control.config(make_server(
        extra="zone:\n\tname: example\n\tzonefile: example.zone\n"
        "\tzonemd-verify: yes\n\tallow-update: 127.0.0.1 NOKEY\n",
        options={"server-count": 1}))
    server.zone_file("example").write_text(file_text(1))
    server.start()
    server.wait_serial("example", 1)
    update = dns.update.UpdateMessage("example")
    update.add("new", 60, "TXT", "x")
    reply_to = dns.query.tcp(update, "127.0.0.1", port=server.port, timeout=60)
    assert reply_to.rcode() == dns.rcode.REFUSED
    refused = json.loads(control.ask(server, "-j", "zonestatus", "example")[1]
                         )[0]["refused"]
    assert refused["by"] == "zonemd-verify" and refused["serial"] == 2
    # The client was told: no version waits to be accepted.
    assert control.ask(server, "accept", "example") == (
        1, "error what was refused is an update of a client, who may send it"
        " again\n")
    assert "accepts what is refused" not in server.read_log()
    assert "is not served" not in server.read_log()
    update.delete("@", "ZONEMD")
    reply_to = dns.query.tcp(update, "127.0.0.1", port=server.port, timeout=60)
    assert reply_to.rcode() == dns.rcode.NOERROR
    assert "refused" not in json.loads(
        control.ask(server, "-j", "zonestatus", "example")[1])[0]


def test_accept_of_a_file_that_a_verifier_refuses(make_server, tmp_path):
    program = tmp_path / "verifier"
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    server = control.config(make_server(
        extra="zone:\n\tname: example\n\tzonefile: example.zone\n"
        f"\tverify-zone: yes\n\tverifier: {program}\n"
        f"verify:\n\tenable: yes\n\tport: {free_port()}\n",
        options={"server-count": 1}))
    server.zone_file("example").write_text(file_text(1))
    server.start()  # which verifies no file
    server.wait_serial("example", 1)
    server.zone_file("example").write_text(file_text(2))
    control.ask(server, "reload", "example")  # which waits for no verifier
    failed = '"last_read": "failed"'
    wait_for("a refusal", lambda: failed in control.ask(
        server, "-j", "zonestatus", "example")[1].replace('":"', '": "'))
    server.wait_log("the verifier has ended with status 1")
    assert control.ask(server, "accept", "example") == (0, "ok\n")
    assert server.serial("example") == 2
    place = len(server.read_log())
    server.zone_file("example").write_text(file_text(3))
    control.ask(server, "reload", "example")
    server.wait_log("the verifier has ended with status 1", place)
    assert server.serial("example") == 2
