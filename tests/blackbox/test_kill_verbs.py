"""Each verb of nsd-control while a process is killed: a lost answer is an
error, ok is true, and the next command works."""

import contextlib
import os
import pathlib
import re
import signal
import time
import zlib

import pytest

import control
from harness import is_alive, wait_for, zone_text
from scripted_primary import ScriptedPrimary, reply, soa, whole

TABLE = pathlib.Path(__file__).resolve().parents[2] / "include/ctl/verbs.h"
FIRST, SECOND = "0123456789abcdef" * 2, "fedcba9876543210" * 2
OLD, NEW = "K2tf3TRjvQkVCmJF3/Z9vA==", "AAECAwQFBgcICQoLDA0ODw=="
CONF = """\
dnstap:
	dnstap-log-auth-query-messages: yes
key:
	name: k
	secret: {old}
pattern:
	name: p
	zonefile: "%s.zone"
	provide-xfr: 127.0.0.1 k
pattern:
	name: q
	zonefile: "%s.zone"
	allow-query: 192.0.2.1 NOKEY
zone:
	name: away
	zonefile: away.zone
	request-xfr: 127.0.0.1@{port} NOKEY
zone:
	name: told
	zonefile: told.zone
	notify: 127.0.0.1@{port} NOKEY
zone:
	name: taken
	zonefile: taken.zone
	allow-update: 127.0.0.1 k
"""
# For verbs that do something with a zone that has come from a primary.
FED = """\
zone:
	name: fed
	zonefile: fed.zone
	request-xfr: AXFR 127.0.0.1@{port} NOKEY
"""


class Primary(ScriptedPrimary):
    """The primary of fed, which can get another record with the same
    serial."""

    def __init__(self):
        self.text = "old"
        super().__init__(self.say)

    def say(self, apex, rdtype, query):
        if rdtype == "SOA":
            return [reply(query, soa(apex, 5, "3600 3600 86400 300"))]
        return [whole(query, apex, 5, f"v TXT {self.text}",
                      timers="3600 3600 86400 300")]


def pattern(server, zone):
    """The pattern of an added zone; "" for a zone of nsd.conf; None: there is
    none."""
    for line in control.ask(server, "listzones")[1].splitlines():
        name, _, of = line.partition("\t")
        if name == zone:
            return of
    return None


def secret(server, key):
    return re.findall('secret: "(.*)" ',
                      control.ask(server, "print_tsig", key)[1])


def prepare_reload(server):
    server.write_zone("example", zone_text(2))


def prepare_fed(server):
    server.wait_serial("fed", 5)
    server.primary.text = "new"


def has_written(server):
    path = server.directory / "fed.zone"
    return path.exists() and "update to serial 5 at" in path.read_text()


def prepare_progress(server):
    """An operator is adding zones."""
    server.adding = control.connect(server), server.role("xfrd")
    server.adding[0].sendall(b"NSDCT1 addzones\n")
    wait_for("that", lambda: tells_progress(server))


def tells_progress(server):
    """True while progress shows the command, which ends with its xfrd."""
    return server.role("xfrd") != server.adding[1] or control.ask(
        server, "progress")[1] == "addzones: begun\n"


def is_frozen(server):
    return "frozen: yes" in control.ask(server, "zonestatus", "taken")[1]


def prepare_frozen(server):
    assert control.ask(server, "freeze", "taken") == (0, "ok\n")


def prepare_reconfig(server):
    server.options["identity"] = '"two"'
    server.write_config()


def add(*zones):
    def prepare(server):
        for zone in zones:
            assert control.ask(server, "addzone", zone, "p")[0] == 0
    return prepare


def add_key(server):
    assert control.ask(server, "add_tsig", "n", NEW)[0] == 0


def cookie_secrets(server):
    """The active one, then the one that is staged."""
    return re.findall("^(?:active |staging): ([0-9a-f]{32})$", control.ask(
        server, "print_cookie_secrets")[1], re.M)


def add_cookie_secrets(server):
    for text in FIRST, SECOND:
        assert control.ask(server, "add_cookie_secret", text)[0] == 0


def nothing(_):
    return True


# Verb: arguments, input, what is done before, what ok means, and the exit code
# when nobody dies.
VERBS = {
    "reload": ("", None, prepare_reload, lambda s: s.serial("example") == 2, 0),
    "write": ("", None, prepare_fed, has_written, 0),
    "freeze": ("taken", None, None, is_frozen, 0),
    "thaw": ("taken", None, prepare_frozen, lambda s: not is_frozen(s), 0),
    "log_reopen": ("", None, None, nothing, 0),
    "dnstap_on": ("", None, None, lambda s: "dnstap: on" in control.ask(
        s, "status")[1], 0),
    "dnstap_off": ("", None, None, lambda s: "dnstap: off" in control.ask(
        s, "status")[1], 0),
    "status": ("", None, None, nothing, 0),
    "notify": ("told", None, None, nothing, 0),
    "transfer": ("away", None, None, nothing, 1),
    "force_transfer": ("fed", None, prepare_fed, lambda s: s.answer(
        "v.fed", "TXT") == ['"new"'], 0),
    "accept": ("away", None, None, nothing, 1),
    "zonestatus": ("", None, None, nothing, 0),
    "listzones": ("", None, None, nothing, 0),
    "catalogs": ("", None, None, nothing, 0),
    "dumpzone": ("example", None, None, nothing, 0),
    "progress": ("", None, prepare_progress, tells_progress, 0),
    "serverpid": ("", None, None, nothing, 0),
    "verbosity": ("3", None, None, lambda s: control.ask(
        s, "verbosity")[1] == "verbosity 3\n", 0),
    "reconfig": ("", None, prepare_reconfig,
                 lambda s: s.identity() == "two", 0),
    "repattern": ("", None, prepare_reconfig,
                  lambda s: s.identity() == "two", 0),
    "addzone": ("x p", None, None, lambda s: pattern(s, "x") == "p"
                and s.serial("x") == 1, 0),
    "delzone": ("x", None, add("x"), lambda s: pattern(s, "x") is None
                and s.rcode("x", "SOA") == "REFUSED", 0),
    "changezone": ("x q", None, add("x"), lambda s: pattern(s, "x") == "q"
                   and s.rcode("x", "SOA") == "REFUSED", 0),
    "addzones": ("", "x p\ny p\n", None,
                 lambda s: [pattern(s, z) for z in "xy"] == ["p", "p"], 0),
    "delzones": ("", "x\ny\n", add("x", "y"),
                 lambda s: [pattern(s, z) for z in "xy"] == [None, None], 0),
    "print_tsig": ("", None, None, nothing, 0),
    "update_tsig": (f"k {NEW}", None, None,
                    lambda s: secret(s, "k") == [NEW], 0),
    "add_tsig": (f"n {NEW}", None, None,
                 lambda s: secret(s, "n") == [NEW], 0),
    "assoc_tsig": ("told n", None, add_key, nothing, 0),
    "del_tsig": ("n", None, add_key, lambda s: secret(s, "n") == [], 0),
    "add_cookie_secret": (FIRST, None, None,
                          lambda s: FIRST in cookie_secrets(s), 0),
    # Done twice, it is as before.
    "activate_cookie_secret": (
        "", None, add_cookie_secrets,
        lambda s: sorted(cookie_secrets(s)) == [FIRST, SECOND], 0),
    "drop_cookie_secret": ("", None, add_cookie_secrets,
                           lambda s: cookie_secrets(s) == [FIRST], 0),
    "print_cookie_secrets": ("", None, add_cookie_secrets,
                             lambda s: cookie_secrets(s) == [FIRST, SECOND],
                             0),
    "stats": ("", None, None, nothing, 0),
    "stats_noreset": ("", None, None, nothing, 0),
    "stats_more": ("", None, None, nothing, 0),
}
# Patterns of whole answers without an error. All others end in ok or a
# warning.
ANSWERS = {
    "catalogs": [r"\A\Z"],  # there are none
    "status": [r"\Aversion: .+\nverbosity: \d\n"],
    # A NOTIFY under way stands before the state.
    "zonestatus": [rf"^zone:\t{zone}\n(?:\tnotify: .+\n)?\tstate: "
                   for zone in ("away", "example", "told")],
    "listzones": [r"\A(?:.+\n){4}\Z"],
    "dumpzone": [r"\A; zone example, serial \d,",
                 r"^; end of zone example, 6 records\n\Z"],
    "progress": [r"\A(?:addzones: begun\n)?\Z"],
    "serverpid": [r"\A\d+\n\Z"],
    "verbosity": [r"\Aok\n\Z"],
    "addzones": [r"^added 2 zones\n\Z"],
    # When asked again both may be gone, or one: each is a change by itself.
    "delzones": [r"^deleted [012] zones\n\Z"],
    "print_tsig": [rf'\Akey: name: "k" secret: "{OLD}" '],
    "print_cookie_secrets": [f"^active ?: {FIRST}$", f"^staging: {SECOND}$"],
    "stats_more": [r"\Astore\.live=", r"^process\.server1\.age=.*\n\Z"],
    "stats": [r"^server1\.queries=", r"^num\.queries=", r"^zone\.slave="],
}
ANSWERS["stats_noreset"] = ANSWERS["stats"]


def is_whole(verb, said):
    return all(re.search(pattern, said, re.M) for pattern in
               ANSWERS.get(verb, [r"^(?:ok|warning .*)\n\Z"]))


# start asks no server; stop: see below.
ELSEWHERE = {"start", "stop"}


def test_all_verbs_are_here():
    table = re.findall(r'^\tX\([A-Z_]+, "([a-z_]+)"', TABLE.read_text(), re.M)
    assert len(table) > 20
    assert set(table) - ELSEWHERE == set(VERBS)


def is_done_again(code, text):
    """A command that was done before its answer was lost says so."""
    return code == 0 or any(what in text for what in (
        "already exists", "not present", "does not exist", "is not frozen",
        "can not drop the currently active"))


# Processes that are stopped while the role is killed.
HELD = {"xfrd": ["loader", "server 1"], "loader": ["loader"],
        "server 1": ["server 1"]}


@contextlib.contextmanager
def still(server, roles):
    pids = [server.role(role) for role in roles]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    yield
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


@pytest.mark.one_of_each("verb")
@pytest.mark.parametrize("amid", [False, True], ids=["soon", "amid"])
@pytest.mark.parametrize("role", HELD)
@pytest.mark.parametrize("verb", VERBS)
def test_verb(make_server, verb, role, amid):
    """amid: the part of other processes is not done by then."""
    with Primary() as primary:
        run_verb(make_server, primary, verb, role, amid)


def run_verb(make_server, primary, verb, role, amid):
    words, text, prepare, check, code = VERBS[verb]
    server = make_server(zones={"example": zone_text(1)},
                         options={"server-count": 2, "identity": '"one"',
                                  "answer-cookie": "yes"})
    server.options["cookie-secret-file"] = f'"{server.directory}/cookies"'
    server.extra = CONF.format(old=OLD, port=server.port)
    server.primary = primary
    if prepare is prepare_fed:
        server.extra += FED.format(port=primary.port)
    control.config(server)
    for zone in "xy":
        server.zone_file(zone).write_text(zone_text(1))
    for zone in "told", "taken":
        server.zone_file(zone).write_text(zone_text(1))
    server.start()
    if prepare is not None:
        prepare(server)
    chance = zlib.crc32(f"{verb} {role}".encode())
    with still(server, HELD[role] if amid else []):
        client = control.begin(server, verb, *words.split(), text=text)
        time.sleep(0.1 if amid else chance % 12 / 1000)
        pid = server.kill(role)
    said = client.communicate(timeout=60)[0]
    server.wait_replaced(role, pid)
    if client.returncode == 0:
        assert is_whole(verb, said), said
        wait_for("control", lambda: control.ask(server, "status")[0] == 0)
        assert check(server), said
    wait_for("control", lambda: control.ask(server, "status")[0] == 0)
    if verb == "force_transfer":
        wait_for("its zone", lambda: '\tserved-serial: "5 ' in control.ask(
            server, "zonestatus", "fed")[1])
    # The command may have been done all the same; once more does no harm.
    again = control.ask(server, verb, *words.split(), text=text)
    assert again[0] == code or is_done_again(*again), (said, again)
    assert again[0] != 0 or is_whole(verb, again[1]), again
    assert code != 0 or check(server), (said, again)
    assert server.serial("told") == 1
    assert control.ask(server, "reload", "example") == (0, "ok\n")


@pytest.mark.parametrize("role", ["xfrd", "loader", "server 1"])
def test_stop(make_server, role):
    server = control.config(make_server(zones={"example": zone_text(1)}))
    server.start()
    pids = server.roles()
    client = control.begin(server, "stop")
    with contextlib.suppress(ProcessLookupError):
        os.kill(pids[role], signal.SIGKILL)
    said = client.communicate(timeout=60)[0]
    if client.returncode != 0 and said == "":
        # The answer was lost; the command may have been read all the same.
        control.ask(server, "stop")
    wait_for("the end", server.has_ended)
    assert not any(map(is_alive, pids.values()))
