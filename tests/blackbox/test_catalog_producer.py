"""Catalog zones that this server produces (RFC 9432): their form, their
members, and what becomes of them when processes die."""
import contextlib
import errno
import os
import random
import signal
import socket
import threading
import time

import dns.message
import dns.name
import dns.query
import dns.rdatatype
import dns.xfr
import dns.zone
import pytest

import control
import signed
from catalogs import source
from harness import BUILD, DEADLINE, wait_for, zone_text
from scripted_primary import ScriptedPrimary, reply, soa, whole
from test_disk_fails import FLUSHES, MAKES, WRITES, Disk, kill_all

CATALOG = "cat.example."
ORIGIN = dns.name.from_text(CATALOG)
ZONES = dns.name.from_text("zones", ORIGIN)

PATTERNS = (
    'pattern:\n\tname: member\n\tzonefile: "%s.zone"\n'
    '\tcatalog-producer-zone: cat.example\n'
    'pattern:\n\tname: other\n\tzonefile: "%s.zone"\n'
    '\tcatalog-producer-zone: cat.example\n'
    'pattern:\n\tname: plain\n\tzonefile: "%s.zone"\n')
PRODUCER = ('zone:\n\tname: cat.example\n\tcatalog: producer\n'
            '\tprovide-xfr: 127.0.0.1 NOKEY\n')


def member(name, pattern="member"):
    return f"zone:\n\tname: {name}\n\tinclude-pattern: {pattern}\n"


class Catalog:
    """A version of a catalog, whose form is checked."""

    def __init__(self, zone):
        self.zone = zone
        self.members = {}  # name: label, group
        soa = zone.get_rdataset("@", "SOA")[0]
        self.serial = soa.serial
        self.check()

    def check(self):
        """RFC 9432 section 4."""
        zone = self.zone
        apex = zone.find_node("@")
        assert {r.rdtype for r in apex} == {dns.rdatatype.SOA,
                                            dns.rdatatype.NS}
        # Section 4.1.
        assert [str(r) for r in apex.get_rdataset(
            zone.rdclass, dns.rdatatype.NS)] == ["invalid."]
        # Section 4.2.1.
        assert [r.strings for r in zone.get_rdataset("version", "TXT")] == [
            (b"2",)]
        groups = {}
        for name, node in zone.nodes.items():
            labels = [label.decode() for label in name.labels]
            if labels in ([], ["version"]):
                continue
            assert labels[-1] == "zones", labels
            if len(labels) == 2:
                # Section 4.1: one PTR for each member node.
                assert [r.rdtype for r in node] == [dns.rdatatype.PTR]
                assert len(node.rdatasets[0]) == 1
                target = str(node.rdatasets[0][0].target)
                assert target not in self.members
                self.members[target] = [labels[0], None]
            else:
                # Section 4.3.2.
                assert len(labels) == 3 and labels[0] == "group"
                assert [r.rdtype for r in node] == [dns.rdatatype.TXT]
                assert len(node.rdatasets[0]) == 1
                groups[labels[1]] = b"".join(
                    node.rdatasets[0][0].strings).decode()
        for entry in self.members.values():
            entry[1] = groups.pop(entry[0], None)
        assert groups == {}


def transfer(server, zone=None, serial=None):
    """The zone by AXFR, or the given one after an IXFR."""
    zone = zone or dns.zone.Zone(ORIGIN)
    query, _ = dns.xfr.make_query(zone, serial=serial)
    dns.query.inbound_xfr("127.0.0.1", zone, query, port=server.port,
                          timeout=DEADLINE)
    return zone


def differences(server, zone, serial):
    """The records of an IXFR, which is not the whole zone."""
    query, _ = dns.xfr.make_query(zone, serial=serial)
    answer = dns.query.tcp(query, "127.0.0.1", port=server.port,
                           timeout=DEADLINE, one_rr_per_rrset=True).answer
    assert [r.rdtype for r in answer[:2]] == [dns.rdatatype.SOA] * 2
    return answer


def catalog(server):
    return Catalog(transfer(server))


def groups_of(server):
    return {name: group for name, (_, group)
            in catalog(server).members.items()}


def labels_of(server):
    return {name: label for name, (label, _)
            in catalog(server).members.items()}


def is_served(server):
    return server.rcode(CATALOG, "SOA") == "NOERROR"


def wait_members(server, **members):
    """Waits until the catalog has these members and no others; a name with its
    pattern, "_" for a dot."""
    wanted = {name.replace("_", ".") + ".": pattern
              for name, pattern in members.items()}

    def has_them():
        return is_served(server) and groups_of(server) == wanted

    wait_for(f"members {wanted}", has_them)


@pytest.fixture
def server(make_server):
    made = make_server(zones={"example": zone_text()},
                       extra=PATTERNS + PRODUCER + member("a.test"),
                       options={"server-count": 2})
    for name in "abcde":
        made.zone_file(f"{name}.test").write_text(zone_text(3))
    return control.config(made).start()


# ---- form -------------------------------------------------------------------

def test_first_version(server):
    wait_for("the catalog", lambda: is_served(server))
    wait_members(server, a_test="member")
    now = time.time()
    assert now - 600 < catalog(server).serial < now + 600


def test_members_come_and_go(server):
    for name in "b.test", "c.test":
        assert control.ask(server, "addzone", name, "member") == (0, "ok\n")
    assert control.ask(server, "addzone", "d.test", "plain") == (0, "ok\n")
    wait_members(server, a_test="member", b_test="member", c_test="member")
    assert control.ask(server, "changezone", "b.test", "other") == (0, "ok\n")
    wait_members(server, a_test="member", b_test="other", c_test="member")
    assert control.ask(server, "changezone", "c.test", "plain") == (0, "ok\n")
    wait_members(server, a_test="member", b_test="other")
    assert "\nadd c.test plain\n" in (
        server.directory / "zone.list").read_text()
    assert control.ask(server, "changezone", "d.test", "other") == (0, "ok\n")
    assert control.ask(server, "delzone", "b.test") == (0, "ok\n")
    wait_members(server, a_test="member", d_test="other")
    server.stop()
    server.start()
    wait_members(server, a_test="member", d_test="other")
    assert server.rcode("c.test", "SOA") == "NOERROR"


def test_root_is_a_member(server):
    wait_members(server, a_test="member")
    server.zone_file("shared").write_text(zone_text(3))
    assert control.ask(server, "addzone", ".", "member")[0] in (0, 1)
    wait_for("the root", lambda: "." in catalog(server).members)
    control.ask(server, "delzone", ".")
    wait_members(server, a_test="member")


def test_ids_are_those_of_the_zone_list(server):
    """RFC 9432 section 5.4: a zone that has gone and comes again has another
    label."""
    control.ask(server, "addzone", "b.test", "member")
    wait_members(server, a_test="member", b_test="member")
    label = labels_of(server)["b.test."]
    line = f"cat b.test member {label}\n"
    assert line in (server.directory / "zone.list").read_text()
    control.ask(server, "changezone", "b.test", "other")
    wait_members(server, a_test="member", b_test="other")
    assert labels_of(server)["b.test."] == label
    control.ask(server, "delzone", "b.test")
    control.ask(server, "addzone", "b.test", "member")
    wait_for("another label",
             lambda: labels_of(server).get("b.test.") not in (label, None))


def test_ids_stay_over_a_restart(server):
    control.ask(server, "addzone", "b.test", "member")
    wait_members(server, a_test="member", b_test="member")
    labels, serial = labels_of(server), catalog(server).serial
    server.stop()
    server.start()
    wait_for("the catalog", lambda: is_served(server))
    assert labels_of(server) == labels
    assert catalog(server).serial == serial


def test_zone_list_of_nsd(make_server):
    """Labels of NSD 4's list are kept; a line without one has a label that is
    always the same."""
    server = make_server(zones={"example": zone_text()},
                         extra=PATTERNS + PRODUCER)
    for name in "bc":
        server.zone_file(f"{name}.test").write_text(zone_text(3))
    (server.directory / "zone.list").write_text(
        "# NSD zone list\n# name pattern\n"
        "cat b.test member fcd21976\nadd c.test other\n")
    control.config(server).start()
    wait_members(server, b_test="member", c_test="other")
    labels = labels_of(server)
    assert labels["b.test."] == "fcd21976"
    server.stop()
    server.start()
    wait_members(server, b_test="member", c_test="other")
    assert labels_of(server) == labels


def test_producer_that_is_added(make_server):
    """And deleted, and added again."""
    made = make_server(
        zones={"example": zone_text()},
        extra="pattern:\n\tname: producer\n"
        "\tcatalog: producer\n\tprovide-xfr: 127.0.0.1 NOKEY\n")
    server = control.config(made).start()
    for _ in range(2):
        assert control.ask(server, "addzone", CATALOG, "producer")[0] == 0
        wait_for("the catalog", lambda: is_served(server))
        assert catalog(server).members == {}
        assert control.ask(server, "delzone", CATALOG)[0] == 0
        wait_for("its end", lambda: not is_served(server))
    assert "no version could be made" not in server.read_log()


# ---- transfers --------------------------------------------------------------

def test_one_version_by_ixfr(server):
    wait_members(server, a_test="member")
    zone = transfer(server)
    before = Catalog(zone)
    assert control.ask(server, "addzones", text="".join(
        f"{name}.test member\n" for name in "bcd"))[0] == 0
    wait_members(server, a_test="member", b_test="member", c_test="member",
                 d_test="member")
    assert len(differences(server, zone, before.serial)) < 20
    transfer(server, zone, before.serial)
    after = Catalog(zone)
    assert after.members == catalog(server).members
    assert after.serial == catalog(server).serial


def test_notify(make_server):
    told = []
    target = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    target.bind(("127.0.0.1", 0))

    def hear():
        while True:
            octets, client = target.recvfrom(65535)
            if not octets:
                return
            query = dns.message.from_wire(octets)
            if query.question[0].name == ORIGIN:
                told.append(query.answer[0][0].serial)
            target.sendto(dns.message.make_response(query).to_wire(), client)

    thread = threading.Thread(target=hear, daemon=True)
    thread.start()
    port = target.getsockname()[1]
    server = control.config(make_server(
        zones={"example": zone_text()}, extra=PATTERNS + PRODUCER
        + f"\tnotify: 127.0.0.1@{port} NOKEY\n")).start()
    server.zone_file("b.test").write_text(zone_text(3))
    wait_for("the first version", lambda: told)
    control.ask(server, "addzone", "b.test", "member")
    wait_members(server, b_test="member")
    wait_for("NOTIFY", lambda: told[-1] == catalog(server).serial)
    assert told == sorted(told)
    target.sendto(b"", target.getsockname())
    thread.join()
    target.close()


# ---- reconfig ---------------------------------------------------------------

def reconfigure(server, text):
    """Replaces all zones and patterns by those of the text."""
    at = server.extra.index("remote-control:")
    server.extra = text + server.extra[at:]
    server.write_config()
    code, said = control.ask(server, "reconfig")
    assert code == 0, said


def test_reconfig_brings_and_removes_members(server):
    control.ask(server, "addzone", "b.test", "member")
    wait_members(server, a_test="member", b_test="member")
    assert count_of(server) == 2
    reconfigure(server, PATTERNS + PRODUCER + member("c.test"))
    wait_members(server, b_test="member", c_test="member")
    wait_for("the count", lambda: count_of(server) == 2)
    reconfigure(server, PATTERNS.replace(
        "\tcatalog-producer-zone: cat.example\n", "", 1) + PRODUCER)
    wait_members(server)
    wait_for("the count", lambda: count_of(server) == 0)


def test_reconfig_brings_and_removes_a_catalog(server):
    plain = PATTERNS.replace("\tcatalog-producer-zone: cat.example\n", "")
    wait_members(server, a_test="member")
    reconfigure(server, plain)
    assert not is_served(server)
    reconfigure(server, PATTERNS + PRODUCER + member("b.test"))
    wait_members(server, b_test="member")


def test_secondary_becomes_a_producer(make_server):
    """The records of the secondary zone go, and the catalog does not
    expire."""
    def answer(_apex, rdtype, query):
        if rdtype == "SOA":
            return [reply(query, soa(CATALOG, 7, "1 1 3 300"))]
        return [whole(query, CATALOG, 7, "www A 192.0.2.1",
                      timers="1 1 3 300")]

    with ScriptedPrimary(answer) as primary:
        server = control.config(make_server(
            zones={"example": zone_text()},
            extra=f"zone:\n\tname: cat.example\n\trequest-xfr: AXFR"
            f" 127.0.0.1@{primary.port} NOKEY\n")).start()
        server.wait_serial(CATALOG, 7)
    reconfigure(server, PATTERNS + PRODUCER + member("a.test"))
    # The primary's version is served until the first of ours is made.
    wait_for("a catalog", lambda: server.serial(CATALOG) != 7)
    wait_members(server, a_test="member")
    # Longer than the zone would have had left.
    for _ in range(16):
        time.sleep(0.25)
        assert is_served(server)


def wait_idle(server):
    """Waits until all was compared, and the versions of that are made."""
    def is_idle():
        found = source(server, "cat.example")
        return found is not None and found["state"] == "idle"

    wait_for("the catalog to be made", is_idle)


def zone_of_file(make_server, text):
    """A server whose zone of the catalog's name comes from a file."""
    server = make_server(zones={"example": zone_text()},
                         extra="zone:\n\tname: cat.example\n"
                         "\tzonefile: cat.zone\n")
    (server.directory / "cat.zone").write_text(text)
    control.config(server).start()
    wait_for("the zone of the file", lambda: server.serial(CATALOG) == 1)
    return server


@pytest.mark.parametrize("denial", [None, signed.Nsec3()],
                         ids=["NSEC", "NSEC3"])
def test_signed_zone_becomes_a_producer(make_server, denial):
    """Signatures and the chain go with all else."""
    server = zone_of_file(make_server, signed.Zone(
        CATALOG, "www A 192.0.2.1\na.zones PTR a.test.", denial).text())
    reconfigure(server, PATTERNS + PRODUCER + member("a.test"))
    wait_idle(server)
    assert groups_of(server) == {"a.test.": "member"}


@pytest.mark.parametrize("names", [100, 1])
def test_zone_of_large_records_becomes_a_producer(make_server, names):
    """Records of many names, or of one, are more than a version has room
    for."""
    strings = 234 * f' "{255 * "x"}"'
    server = zone_of_file(make_server, zone_text() + "".join(
        f'n{i % names} IN TXT "{i}"{strings}\n' for i in range(100)))
    reconfigure(server, PATTERNS + PRODUCER + member("a.test"))
    wait_idle(server)
    assert groups_of(server) == {"a.test.": "member"}
    assert "no version could be made" not in server.read_log()


def test_zone_file(make_server):
    """A catalog with a zone file is written there; what an operator writes into
    it does not last."""
    server = control.config(make_server(
        zones={"example": zone_text()}, extra=PATTERNS + PRODUCER
        + "\tzonefile: cat.zone\n" + member("a.test"))).start()
    wait_members(server, a_test="member")
    assert control.ask(server, "write", "cat.example")[0] == 0
    file = server.directory / "cat.zone"
    text = file.read_text()
    assert "PTR\ta.test." in text
    serial = catalog(server).serial
    file.write_text(text.replace(str(serial), str(serial + 1000)).replace(
        "PTR\ta.test.", "PTR\tb.test.") + "x.cat.example. 0 IN A 192.0.2.1\n")
    assert control.ask(server, "reload", "cat.example")[0] == 0
    wait_for("a newer version",
             lambda: server.serial(CATALOG) > serial + 1000)
    wait_members(server, a_test="member")


# ---- deaths -----------------------------------------------------------------

@pytest.mark.parametrize("role", ["xfrd", "loader"])
def test_death(server, role):
    control.ask(server, "addzone", "b.test", "member")
    wait_members(server, a_test="member", b_test="member")
    labels, serial = labels_of(server), catalog(server).serial
    server.wait_replaced(role, server.kill(role))
    control.ask(server, "addzone", "c.test", "member")
    wait_members(server, a_test="member", b_test="member", c_test="member")
    after = labels_of(server)
    assert {name: after[name] for name in labels} == labels
    assert catalog(server).serial > serial


class Watch:
    """Transfers the catalog all the time: each version has the form, and none
    is older than one before it."""

    def __init__(self, server):
        self.server = server
        self.fault = None
        self.over = threading.Event()
        self.versions = set()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        last = 0
        try:
            while not self.over.wait(0.01):
                try:
                    found = catalog(self.server)
                except (OSError, EOFError, dns.exception.DNSException):
                    continue  # between two servers
                assert found.serial >= last
                last = found.serial
                self.versions.add(last)
        except AssertionError as fault:
            self.fault = fault

    def finish(self):
        self.over.set()
        self.thread.join()
        if self.fault:
            raise self.fault


def count_of(server):
    """The count of members that zonestatus prints."""
    text = control.ask(server, "zonestatus", "cat.example")[1]
    return int(text.partition("# members: ")[2].partition(")")[0])


def listed(server):
    """The members by the zone list."""
    lines = (server.directory / "zone.list").read_text().splitlines()
    words = [line.split() for line in lines]
    return {w[1] + ".": w[3] for w in words if w and w[0] == "cat"}


@pytest.mark.parametrize("role", ["xfrd", "loader", "all"])
def test_deaths_amid_changes(server, role):
    """The catalog ends with what the zone list has, whoever dies, at whatever
    instant."""
    rng = random.Random(f"{os.environ.get('NSD_SEED', 1)} {role}")
    wait_members(server, a_test="member")
    watch = Watch(server)
    for _ in range(4):
        names = [f"n{rng.randrange(60)}.test" for _ in range(20)]
        verb = rng.choice(["addzones", "addzones", "delzones"])
        client = control.begin(server, verb, text="".join(
            f"{name} member\n" if verb == "addzones" else f"{name}\n"
            for name in names))
        time.sleep(rng.uniform(0, 0.02))
        if role == "all":
            kill_all(server)
            server.start()
        else:
            server.wait_replaced(role, server.kill(role))
        client.communicate(timeout=DEADLINE)
    assert control.ask(server, "addzone", "last.test", "member")[0] == 0

    def is_as_listed():
        labels = labels_of(server)
        del labels["a.test."]
        return labels == listed(server)

    wait_for("the members of the zone list", is_as_listed)
    wait_for("the last one", lambda: "last.test." in labels_of(server))
    wait_for("the count",
             lambda: count_of(server) == len(labels_of(server)))
    watch.finish()
    assert len(watch.versions) > 1


def journal_octets(server):
    return sum(path.stat().st_size for path in (
        server.directory / "xfrd.state.journal").iterdir())


def test_cost_of_a_member_does_not_grow(make_server):
    """A member costs as many octets of the journal beside many others as beside
    a few."""
    server = control.config(make_server(
        zones={"example": zone_text()}, extra=PATTERNS + PRODUCER)).start()
    wait_members(server)
    costs = []
    for step, many in enumerate((1, 3000)):
        control.ask(server, "addzones", text="".join(
            f"n{step}x{i}.test member\n" for i in range(many)))
        wait_for("all", lambda: count_of(server) in (many, many + 2))
        known = journal_octets(server)
        control.ask(server, "addzone", f"one{step}.test", "member")
        wait_for("one more", lambda: count_of(server) in (many + 1, many + 3))
        costs.append(journal_octets(server) - known)
    assert 0 < costs[1] < costs[0] * 2, costs


def test_journal_does_not_grow_without_an_end(make_server):
    """The catalog has no zone file: from time to time the journal gets it
    whole, and forgets what has led there."""
    made = make_server(zones={"example": zone_text()},
                       extra=PATTERNS + PRODUCER + member("a.test"),
                       options={"verbosity": 2})
    server = control.config(made).start()
    wait_members(server, a_test="member")
    names = [f"n{i}.test" for i in range(1000)]
    known = 0
    while "it is written there whole" not in server.read_log():
        for verb, rest in ("addzones", " member"), ("delzones", ""):
            known += 1
            assert known < 40
            control.ask(server, verb, text="".join(
                f"{name}{rest}\n" for name in names))
    control.ask(server, "addzone", "b.test", "member")
    wait_members(server, a_test="member", b_test="member")
    kill_all(server)
    server.start()
    wait_for("the catalog", lambda: is_served(server))
    wait_members(server, a_test="member", b_test="member")
    applied = server.read_log().rpartition("cat.example: from serial ")[2]
    first, last = (int(word.strip()) for word in applied.partition(
        " by the journal")[0].split(" to "))
    # Not all that there ever was.
    assert last - first < 20


def test_catalog_that_a_start_does_not_know(server):
    """No client has sent what is in it: nothing is kept of it."""
    wait_members(server, a_test="member")
    control.ask(server, "addzone", "b.test", "member")
    wait_members(server, a_test="member", b_test="member")
    kill_all(server)
    server.extra = PATTERNS.replace("\tcatalog-producer-zone: cat.example\n",
                                    "")
    server.write_config()
    server.start()
    server.wait_log("the journal forgets 1 zones")
    assert "clients have sent" not in server.read_log()


def start_failing(make_server, directory):
    """A server on a disk that can be made to fail."""
    disk = Disk(directory / "failing")
    server = control.config(make_server(
        zones={"example": zone_text()}, extra=PATTERNS + PRODUCER
        + member("a.test"), options={"sandbox": "no", "replace-hung": "no"}))
    for name in "bc":
        server.zone_file(f"{name}.test").write_text(zone_text(3))
    server.program = BUILD / "tests/lib/nsd_failing"
    server.environment["NSD_FAILING"] = str(directory / "failing")
    server.start()
    wait_members(server, a_test="member")
    return disk, server


FAILED = ("xfrd: catalog producer zone cat.example: no version could be made: ")


def test_death_before_the_version(make_server, directory):
    """Zones have come and gone, and xfrd dies before the version of that is in
    the journal."""
    disk, server = start_failing(make_server, directory)
    control.ask(server, "addzone", "b.test", "member")
    wait_members(server, a_test="member", b_test="member")
    disk.fail(errno.EIO, "xfrd.state.journal", WRITES)
    assert control.ask(server, "delzone", "b.test") == (0, "ok\n")
    assert control.ask(server, "addzone", "c.test", "other") == (0, "ok\n")
    server.wait_log(FAILED)
    disk.wait_again()
    old = server.kill("xfrd", signal.SIGSTOP)
    disk.mend()
    assert set(labels_of(server)) == {"a.test.", "b.test."}
    os.kill(old, signal.SIGKILL)
    server.wait_replaced("xfrd", old)
    wait_members(server, a_test="member", c_test="other")


def test_death_before_the_version_is_served(make_server, directory):
    """The version is in the journal, and the loader has not taken it yet."""
    disk, server = start_failing(make_server, directory)
    disk.fail(errno.EIO, "xfrd.state.journal", WRITES)
    assert control.ask(server, "addzone", "b.test", "member") == (0, "ok\n")
    server.wait_log(FAILED)
    loader = server.kill("loader", signal.SIGSTOP)
    known = journal_octets(server)
    disk.mend()
    wait_for("an entry", lambda: journal_octets(server) > known)
    old = server.kill("xfrd")
    with contextlib.suppress(ProcessLookupError):
        os.kill(loader, signal.SIGCONT)  # or main has killed it
    server.wait_replaced("xfrd", old)
    wait_members(server, a_test="member", b_test="member")
    serial, label = catalog(server).serial, labels_of(server)["b.test."]
    kill_all(server)
    server.start()
    wait_members(server, a_test="member", b_test="member")
    assert catalog(server).serial == serial
    assert labels_of(server)["b.test."] == label


@pytest.mark.parametrize("error, calls", [
    (errno.EIO, WRITES), (errno.EIO, FLUSHES), (errno.ENOSPC, MAKES | WRITES)],
    ids=["write", "flush", "full"])
def test_disk_that_fails(make_server, directory, error, calls):
    """No version is served that is not durable; it comes once it can be
    written."""
    disk, server = start_failing(make_server, directory)
    serial = catalog(server).serial
    disk.fail(error, "xfrd.state.journal", calls)
    assert control.ask(server, "addzone", "b.test", "member") == (0, "ok\n")
    server.wait_log(FAILED)
    assert server.serial("b.test") == 3
    assert catalog(server).serial == serial
    disk.wait_again()
    disk.mend()
    wait_members(server, a_test="member", b_test="member")
    kill_all(server)
    server.start()
    wait_members(server, a_test="member", b_test="member")
