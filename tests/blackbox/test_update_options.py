"""Options of dynamic updates while the server runs: nsd.conf changes, keys
change, and zones come and go with patterns that take updates."""
import base64
import concurrent.futures
import itertools
import json
import threading
import time
import urllib.request

import dns.edns
import dns.flags
import dns.message
import dns.query
import dns.rcode
import dns.tsig
import dns.tsigkeyring
import dns.update
import pytest

import control
from harness import DEADLINE, wait_for, zone_text
from ports import free_port

SECRETS = {name: base64.b64encode(name.encode() * 8).decode()
           for name in ("one", "two", "host.zone")}
RING = dns.tsigkeyring.from_text(SECRETS)
FIRST = "\tupdate-policy: one * A TXT\n"


def key_clauses(*names):
    return "".join(f"key:\n\tname: {name}\n\talgorithm: hmac-sha256\n"
                   f"\tsecret: {SECRETS[name]}\n" for name in names)


KEYS = key_clauses(*SECRETS)


class Server:
    """A server with the zone `zone`, whose options a test changes."""

    def __init__(self, make_server, options="", more="", **server_options):
        self.nsd = make_server(zones={"plain": zone_text(1)},
                               options={"verbosity": 1, **server_options})
        self.nsd.zone_file("zone").write_text(zone_text(1))
        self.write(options, more)
        self.nsd.start()

    def write(self, options, more="", keys=KEYS):
        self.nsd.extra = ""
        control.config(self.nsd)
        self.nsd.extra += (keys + "zone:\n\tname: zone\n"
                           "\tzonefile: zone.zone\n" + options + more)
        self.nsd.write_config()

    def reconfig(self, options, more="", keys=KEYS):
        self.write(options, more, keys)
        code, text = control.ask(self.nsd, "reconfig")
        assert code == 0, text

    def ask(self, *words):
        return control.ask(self.nsd, *words)

    def send(self, name="new", rdtype="A", key="one", zone="zone", ring=RING,
             change=None):
        """The reply to a request that adds a record."""
        update = dns.update.UpdateMessage(
            zone, keyring=ring if key else None, keyname=key)
        update.use_edns(0)
        data = {"A": "192.0.2.9", "TXT": "text", "AAAA": "2001:db8::9",
                "NS": "ns.example.", "MX": "1 mail.example."}
        if change is not None:
            change(update)
        else:
            update.add(name, 60, rdtype, data[rdtype])
        return dns.query.tcp(update, self.nsd.address, port=self.nsd.port,
                             timeout=DEADLINE)

    def rcode(self, *args, **more):
        return dns.rcode.to_text(self.send(*args, **more).rcode())


@pytest.fixture
def make(make_server):
    return lambda *args, **more: Server(make_server, *args, **more)


def ede(reply):
    return [(int(o.code), o.text) for o in reply.options
            if isinstance(o, dns.edns.EDEOption)]


# ---- reconfig ---------------------------------------------------------------


def test_zone_begins_and_ceases_to_take_updates(make):
    server = make()
    reply = server.send(key=None)
    assert reply.rcode() == dns.rcode.NOTIMP and not reply.zone
    server.reconfig(FIRST)
    assert server.rcode() == "NOERROR"
    assert server.nsd.answer("new.zone", "A") == ["192.0.2.9"]
    server.reconfig("")
    assert server.rcode(key=None) == "NOTIMP"
    assert server.nsd.answer("new.zone", "A") == ["192.0.2.9"]
    server.reconfig("\tallow-update: 127.0.0.0/8 NOKEY\n")
    assert server.rcode("newer", key=None) == "NOERROR"
    assert server.nsd.answer("new.zone", "A") == ["192.0.2.9"]
    assert server.nsd.answer("newer.zone", "A") == ["192.0.2.9"]


def test_changed_policy_is_that_of_the_next_request(make):
    server = make(FIRST)
    assert server.rcode(rdtype="TXT") == "NOERROR"
    server.reconfig("\tupdate-policy: one * A\n")
    reply = server.send(rdtype="TXT")
    assert reply.rcode() == dns.rcode.REFUSED
    assert ede(reply)[0][0] == dns.edns.EDECode.PROHIBITED
    assert "new.zone" in ede(reply)[0][1] and "TXT" in ede(reply)[0][1]
    assert server.rcode() == "NOERROR"
    # Another key, then none that may.
    server.reconfig("\tupdate-policy: two *\n")
    assert server.rcode() == "REFUSED"
    assert server.rcode(key="two") == "NOERROR"
    server.reconfig("\tupdate-policy: two *\n"
                    "\tallow-update: 127.0.0.1 BLOCKED\n")
    assert server.rcode(key="two") == "REFUSED"
    server.reconfig("\tallow-update: 127.0.0.1 one\n")
    assert server.rcode(rdtype="MX") == "NOERROR"
    assert server.rcode(key="two") == "REFUSED"
    assert server.rcode(key=None) == "REFUSED"


def test_key_that_has_gone_from_nsd_conf(make):
    server = make(FIRST)
    assert server.rcode() == "NOERROR"
    server.reconfig("\tupdate-policy: two *\n", keys=key_clauses("two"))
    with pytest.raises(dns.tsig.PeerBadKey):
        server.send()
    assert server.rcode(key="two") == "NOERROR"
    server.reconfig(FIRST)
    assert server.rcode() == "NOERROR"


def test_broken_nsd_conf_changes_nothing(make):
    server = make(FIRST, **{"reload-config": "yes"})
    for line in ("\tupdate-policy: none *\n", "\tupdate-policy: one a.*.b\n",
                 "\tupdate-policy: one * FOO\n", "\tcatalog: producer\n",
                 "\trequest-xfr: 127.0.0.1 NOKEY\n"):
        server.write(FIRST + line)
        known = len(server.nsd.read_log())
        server.nsd.reload()
        server.nsd.wait_log("reconfig: refused, nothing has changed", known)
        assert server.rcode() == "NOERROR"
        assert server.rcode(rdtype="MX") == "REFUSED"


def test_requests_while_nsd_conf_changes(make):
    """Changes that were accepted are served, and no others."""
    server = make(FIRST)
    outcomes, done = {}, threading.Event()

    def ask():
        for number in itertools.count():
            if done.is_set():
                break
            outcomes[f"n{number}"] = server.rcode(f"n{number}")

    with concurrent.futures.ThreadPoolExecutor() as pool:
        asked = pool.submit(ask)
        for options in itertools.islice(itertools.cycle(
                ["", FIRST, "\tupdate-policy: two *\n", FIRST]), 16):
            known = len(outcomes)
            wait_for("requests", lambda seen=known:
                     asked.done() or len(outcomes) >= seen + 3)
            server.reconfig(options)
        done.set()
        asked.result(DEADLINE)
    # SERVFAIL: the zone ceased to take updates amid a request.
    assert {"NOERROR", "NOTIMP", "REFUSED"} \
        == set(outcomes.values()) - {"SERVFAIL"}

    def check():
        for name, outcome in outcomes.items():
            assert server.nsd.rcode(f"{name}.zone", "A") == (
                "NOERROR" if outcome == "NOERROR" else "NXDOMAIN"), name

    check()
    server.nsd.stop()
    server.nsd.start()
    check()


# ---- keys while the server runs ---------------------------------------------


@pytest.mark.parametrize("options", [
    FIRST, "\tallow-update: 127.0.0.1 one\n"])
def test_key_in_use_stays_and_its_secret_may_change(make, options):
    server = make(options)
    code, text = server.ask("del_tsig", "one")
    assert code == 1 and "one is in use" in text, text
    assert server.ask("del_tsig", "two") == (0, "ok\n")
    new = base64.b64encode(b"another secret").decode()
    assert server.ask("update_tsig", "one", new) == (0, "ok\n")
    with pytest.raises(dns.tsig.PeerBadSignature):
        server.send()
    assert server.rcode(ring=dns.tsigkeyring.from_text({"one": new})) \
        == "NOERROR"
    # The key is in no option any more.
    server.reconfig("\tupdate-policy: host.zone self\n",
                    keys=key_clauses("one", "host.zone"))
    assert server.ask("del_tsig", "one") == (0, "ok\n")
    with pytest.raises(dns.tsig.PeerBadKey):
        server.send()


# ---- zones that come and go -------------------------------------------------

PATTERNS = """pattern:
	name: open
	zonefile: "%s.zone"
	update-policy: one * A
pattern:
	name: shut
	zonefile: "%s.zone"
pattern:
	name: wide
	zonefile: "%s.zone"
	allow-update: 127.0.0.1 two
"""


def test_added_zone_takes_updates_by_its_pattern(make):
    server = make("", PATTERNS)
    server.nsd.zone_file("added").write_text(zone_text(1))
    # A pattern takes updates, so the server knows of them; no zone does.
    assert server.rcode() == "NOTIMP"
    assert ede(server.send(zone="added"))[0][0] == 20
    assert server.ask("addzone", "added", "open") == (0, "ok\n")
    assert server.rcode(zone="added") == "NOERROR"
    assert server.rcode(zone="added", rdtype="MX") == "REFUSED"
    assert server.ask("changezone", "added", "wide") == (0, "ok\n")
    assert server.rcode(zone="added") == "REFUSED"
    assert server.rcode("more", zone="added", key="two") == "NOERROR"
    assert server.ask("changezone", "added", "shut") == (0, "ok\n")
    assert server.rcode(zone="added") == "NOTIMP"
    assert server.nsd.answer("more.added", "A") == ["192.0.2.9"]
    assert server.ask("changezone", "added", "open") == (0, "ok\n")
    assert server.rcode("last", zone="added") == "NOERROR"
    for name in "new", "more", "last":
        assert server.nsd.answer(f"{name}.added", "A") == ["192.0.2.9"]
    assert server.ask("delzone", "added") == (0, "ok\n")
    assert server.rcode(zone="added") == "NOTAUTH"


def test_pattern_that_changes_counts_for_zones_added_with_it(make):
    server = make("", PATTERNS)
    server.nsd.zone_file("added").write_text(zone_text(1))
    assert server.ask("addzone", "added", "open") == (0, "ok\n")
    assert server.rcode(zone="added", rdtype="MX") == "REFUSED"
    server.reconfig("", PATTERNS.replace("one * A\n", "one *\n"))
    assert server.rcode(zone="added", rdtype="MX") == "NOERROR"
    server.reconfig("", PATTERNS.replace("\tupdate-policy: one * A\n", ""))
    assert server.rcode(zone="added") == "NOTIMP"


def test_zone_of_a_folder_takes_updates(make, tmp_path):
    """The server writes the file of such a zone, which is no change from
    outside."""
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in "added", "other":
        (folder / f"{name}.zone").write_text(zone_text(1))
    server = make("", f"pattern:\n\tname: folder\n\tzone-directory: {folder}\n"
                  "\tupdate-policy: one * A\n")
    wait_for("the zone", lambda: server.nsd.rcode("added", "SOA") == "NOERROR")
    for name in "a", "b", "c":
        assert server.rcode(name, zone="added") == "NOERROR"
        assert server.ask("write", "added") == (0, "ok\n")
        assert f"\n{name}\t60\t" in (folder / "added.zone").read_text()
        assert server.nsd.answer(f"{name}.added", "A") == ["192.0.2.9"]
    assert server.nsd.serial("added") == 4
    assert "error" not in server.nsd.read_log()
    # A file that goes takes its zone with it.
    (folder / "added.zone").unlink()
    wait_for("its end", lambda: server.rcode(zone="added") == "NOTAUTH")


# ---- update-policy ----------------------------------------------------------

POLICIES = """	update-policy: host.zone self A
	update-policy: one _acme-challenge.* TXT
	update-policy: one *.below.zone
	update-policy: one exact.zone A AAAA
	update-policy: two * ANY
"""
ROWS = [
    # key, owner, type, whether it is allowed
    ("host.zone", "host", "A", True), ("host.zone", "HOST", "A", True),
    ("host.zone", "host", "TXT", False), ("host.zone", "host2", "A", False),
    ("host.zone", "a.host", "A", False),
    ("one", "_acme-challenge", "TXT", True),
    ("one", "_Acme-Challenge.www.a", "TXT", True),
    ("one", "_acme-challenge.www", "A", False),
    ("one", "a._acme-challenge", "TXT", False),
    ("one", "a.below", "TXT", True), ("one", "b.a.below", "AAAA", True),
    ("one", "below", "TXT", False), ("one", "a.below", "NS", False),
    ("one", "exact", "AAAA", True), ("one", "exact", "TXT", False),
    ("one", "a.exact", "A", False), ("one", "@", "TXT", False),
    ("two", "sub", "NS", True), ("two", "@", "MX", True),
]


def test_each_form_of_a_line(make):
    server = make(POLICIES)
    for key, owner, rdtype, allowed in ROWS:
        assert server.rcode(owner, rdtype, key) == (
            "NOERROR" if allowed else "REFUSED"), (key, owner, rdtype)


def test_removing_is_judged_as_adding_is(make):
    server = make(POLICIES)
    assert server.rcode("all.below", "TXT") == "NOERROR"
    # RRset, record, and all of a name.
    for change, rcode in [
            (lambda u: u.delete("exact", "A"), "NOERROR"),
            (lambda u: u.delete("exact", "TXT"), "REFUSED"),
            (lambda u: u.delete("exact", "TXT", "x"), "REFUSED"),
            (lambda u: u.delete("exact"), "REFUSED"),
            (lambda u: u.delete("all.below"), "NOERROR"),
            (lambda u: u.delete("all"), "REFUSED")]:
        assert server.rcode(change=change) == rcode
    assert server.nsd.query("all.below.zone", "TXT").rcode() \
        == dns.rcode.NXDOMAIN


def test_request_is_allowed_as_a_whole(make):
    server = make(POLICIES)

    def change(update):
        update.add("x.below", 60, "TXT", "text")
        update.add("other", 60, "TXT", "text")

    assert server.rcode(change=change) == "REFUSED"
    assert server.nsd.query("x.below.zone", "TXT").rcode() \
        == dns.rcode.NXDOMAIN


# ---- serial-policy ----------------------------------------------------------


def test_serials_by_policy(make):
    server = make(FIRST)
    assert server.rcode("a") == "NOERROR"
    assert server.nsd.serial("zone") == 2
    before = int(time.time())
    day = time.strftime("%Y%m%d", time.gmtime())
    server.reconfig(FIRST + "\tserial-policy: unixtime\n")
    assert server.rcode("b") == "NOERROR"
    first = server.nsd.serial("zone")
    assert before <= first <= time.time()
    for name in "cdef":
        assert server.rcode(name) == "NOERROR"
    assert server.nsd.serial("zone") >= first + 4
    server.reconfig(FIRST + "\tserial-policy: dateserial\n")
    assert server.rcode("g") == "NOERROR"
    days = {day, time.strftime("%Y%m%d", time.gmtime())}
    assert str(server.nsd.serial("zone")) in {one + "00" for one in days}
    assert server.rcode("h") == "NOERROR"
    assert str(server.nsd.serial("zone")) in {
        one + end for one in days for end in ("00", "01")}


# ---- counters ---------------------------------------------------------------


def test_updates_are_counted(make):
    port = free_port()
    server = make(FIRST, **{"metrics-enable": "yes", "metrics-port": port,
                            "metrics-interface": "127.0.0.1"})
    _, text = server.ask("stats_noreset")
    assert "num.update" not in text
    for name in "abc":
        assert server.rcode(name) == "NOERROR"
    assert server.rcode(rdtype="MX") == "REFUSED"

    def counted():
        _, text = server.ask("stats_noreset")
        return {line for line in text.splitlines() if "update" in line.lower()}

    wait_for("the counters", lambda: counted() == {
        "num.opcode.UPDATE=4", "num.update.received=4",
        "num.update.NOERROR=3", "num.update.REFUSED=1"})
    _, text = server.ask("-j", "stats_noreset")
    assert json.loads(text)["num.update.received"] == 4
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics",
                                timeout=DEADLINE) as answer:
        metrics = answer.read().decode()
    assert "\nnsd_updates_received_total 4\n" in metrics
    assert '\nnsd_updates_by_rcode_total{rcode="NOERROR"} 3\n' in metrics
    server.ask("stats")
    _, text = server.ask("stats_noreset")
    assert "num.update" not in text
