"""reconfig with each single option changed: what the table of options promises
is what happens."""

import pathlib
import re

import pytest

import dns.edns
import dns.flags
import dns.rcode

import control
from harness import zone_text
from ports import free_port

TABLE = pathlib.Path(__file__).resolve().parents[2] / "src/conf/option.c"
ROW = re.compile(r'^\t([A-Z]+(?:_NOW)?)\("([^"]+)", (\w+), (\w+)(.*)\)$',
                 re.M)
CLAUSES = {"SERVER": "server", "SERVER_NOW": "server", "DNSTAP": "dnstap",
           "CONTROL": "remote-control", "VERIFY": "verify", "VERIFY_NOW": "verify",
           "PATTERN": "pattern", "PATTERN_NOW": "pattern"}
# Values that are no default, by type.
VALUES = {"U32": "7", "I32": "7", "U64": "7", "STRING": '"some-text"',
          "NUMBERS": "0", "NUMBER_EACH": "5399", "SERVER_CPU": "0", "NETBLOCK": "20 8",
          "INTERFACE": "127.0.0.1", "LISTEN": "127.0.0.1",
          "NSID": "ascii_x", "ACL_SPEC": "127.0.0.1",
          "ACL": "127.0.0.1 NOKEY", "ACL_PROVIDE": "127.0.0.1 NOKEY",
          "ACL_NOTIFY": "127.0.0.1 NOKEY", "ACL_ADDRESS": "127.0.0.1",
          "STRINGS": '"/bin/true"', "RRL": "error", "EXPIRE": "7",
          "COOKIE": "000102030405060708090a0b0c0d0e0f", "INHERIT": "no",
          "DOMAIN": '"agent.example"', "TEXT_EACH": "q", "SUFFIX": '"example"',
          "CATALOG": "consumer", "EMPTY": "delete",
          "ACL_UPDATE": "127.0.0.1 NOKEY", "SERIAL": "unixtime",
          "UNCHECKED": "no-check", "DNSSEC": "yes",
          "LOG_FORMAT": '"json qname"'}
# Options whose value depends on others, or without which no client could ask.
SPECIAL = {
    "server-N-cpu-affinity": None,  # server-1-...: wants cpu-affinity
    "debug-mode": None,  # a flag says so
    "ip4-only": None, "ip6-only": None,  # of do-ip6, do-ip4
    "do-ip4": None, "chroot": None, "zonesdir": None,
    "ip-address": '"127.0.0.2"',
    "interface": '"127.0.0.2"',
    "control-enable": None,
    "control-interface": None,  # the first one decides about TLS
    "cookie-staging-secret": None,  # wants cookie-secret
    "tls-auth-xfr-only": None,  # stands behind tls-auth-port
    "request-xfr": None,  # makes the zone another kind: test_primaries
    "include-pattern": None, "name": None,
    "catalog-producer-zone": None,  # wants a producer
    "zone-directory": None,  # has no zonefile beside it
    "allow-notify": None,  # wants request-xfr
    "update-forward": None,  # the same
    "update-policy": None,  # wants a key: test_update_options
    "xfrd-cpu-affinity": None,  # wants cpu-affinity: test_reconfig_listeners
    "identity": '"two"', "version": '"three"',
    "username": '"nobody"', "database": '"some.db"',
    "server-count": "3", "tcp-timeout": "60",
    "zonefile": '"no-file"',  # a log file may have the name some-text
    "rrl-slip": "3", "xfrd-tcp-max": "7",
}


def rows():
    """Clause, name, what becomes of it, and a value."""
    for macro, name, _, kind, rest in ROW.findall(TABLE.read_text()):
        if macro not in CLAUSES or kind in ("IGNORED", "ONLY", "INCLUDE",
                                            "NAME"):
            continue
        if name in SPECIAL:
            value = SPECIAL[name]
        elif kind == "BOOL":
            value = "no" if rest.startswith(', "yes"') else "yes"
        else:
            value = VALUES[kind]
        if value is not None:
            effect = ("none" if "NOEFF" in rest
                      else "waits" if macro in ("SERVER", "VERIFY") else "at once")
            yield CLAUSES[macro], name, effect, value


ROWS = list(rows())


def test_table_is_read():
    """The table's options are all tried, but for a few."""
    text = TABLE.read_text()
    names = {name for macro, name, _, kind, _ in ROW.findall(text)
             if macro in CLAUSES}
    tried = {name for _, name, _, _ in ROWS}
    assert len(tried) > 120
    assert names - tried <= set(SPECIAL) | {"difffile", "use-systemd"}
    effects = [effect for _, _, effect, _ in ROWS]
    assert effects.count("none") >= 5
    assert all(effects.count(one) >= 20 for one in ("waits", "at once"))


# An RRset that fits no reply over UDP of the default size.
LARGE = "".join(f"large IN TXT {i:0200}\n" for i in range(10))


@pytest.fixture
def server(make_server):
    server = make_server(
        zones={"example": zone_text(1) + LARGE},
        options={"server-count": 2, "metrics-port": free_port()})
    server.zone_file("of.p").write_text(zone_text(1))
    write(server, None, None, None)
    return server.start()


def write(server, clause, name, value):
    line = f"\t{name}: {value}\n"
    server.extra = ""
    control.config(server)
    first, own = server.extra.split("\n", 1)
    if clause == "remote-control":
        own = line + own
    text = ("pattern:\n\tname: p\n\tzonefile: \"of.p.zone\"\n"
            + (line if clause == "pattern" else "")
            + "zone:\n\tname: of.p\n\tinclude-pattern: p\n")
    if clause not in (None, "pattern", "remote-control"):
        text += f"{clause}:\n{line}"
    server.extra = text + first + "\n" + own
    server.write_config()


def look(server):
    """Whether something was applied, and the lines that say what."""
    code, text = control.ask(server, "reconfig")
    if "zonefile no-file does not exist" in text:
        # Of a zone that is served: the option is taken, and that is said.
        assert code == 1 and text.endswith("\nreconfig completed: changes"
                                           " applied\nerror 1 zone cannot be"
                                           " read\n"), text
    else:
        assert code == 0 and text.endswith("\nok\n"), text
    lines = text.splitlines()
    if "reconfig completed: changes applied" in lines:
        return True, lines
    assert "no changes" in text, text
    return False, lines


WAITS = ": that waits for a restart"


def reconfig(server):
    """Whether something was applied, and lines about what waits."""
    applied, lines = look(server)
    return applied, [line for line in lines if line.endswith(WAITS)]


def place_of(server, clause, name):
    """The place of an option as in messages; the last line of several."""
    found, now = "", None
    for number, line in enumerate(
            server.config.read_text().splitlines(), 1):
        if not line.startswith("\t"):
            now = line.rstrip(":")
        elif now == clause and line.split(":")[0].strip() == name:
            found = f"{server.config}:{number}: "
    return found


def told_of(server, clause, name, effect):
    """The messages that a change of an option should bring."""
    place = place_of(server, clause, name)
    vain = []
    if effect == "none" and place:
        of = "pattern p" if clause == "pattern" else clause
        vain = [f"{place}warning: {of}: {name} has no effect in this program"]
    if clause == "pattern":
        return vain + ["patterns: 1 new, gone or changed",
                       "zones: 0 new, 0 gone, 1 changed"]
    if effect == "none":
        return vain
    # An option with two names is reported by the first.
    first = "ip-address" if name == "interface" else name
    return [f"{place}{clause}: {first} has changed"
            + WAITS * (effect == "waits")]


def told(lines):
    return [line for line in lines if re.search(
        f"has changed(?:{WAITS})?$|^(?:patterns|zones): |: warning: ", line)]


def try_option(server, clause, name, effect, value):
    """Changes an option; returns how the result differs from the table, or
    None."""
    write(server, clause, name, value)
    said, lines = look(server)
    wanted = told_of(server, clause, name, effect)
    counts = clause == "pattern" or effect == "at once"
    write(server, None, None, None)
    back, back_lines = look(server)
    served = [server.serial(zone) for zone in ("example", "of.p")]
    # A waiting option has its old value again: nothing has changed.
    back_wanted = told_of(server, clause, name, effect) if counts else []
    if (said, back) == (counts, counts) and served == [1, 1] \
            and told(lines) == wanted and told(back_lines) == back_wanted:
        return None
    return clause, name, wanted, lines, back_wanted, back_lines, served


@pytest.mark.parametrize("part", range(4))
def test_each_option_does_what_the_table_says(server, part):
    workers = [server.role("server 1"), server.role("server 2")]
    wrong = [try_option(server, *row) for row in ROWS[part::4]]
    assert [one for one in wrong if one is not None] == []
    assert workers == [server.role("server 1"), server.role("server 2")]


def chaos(server, name):
    reply = server.query(name, "TXT", rdclass="CH")
    return (reply.answer[0][0].strings[0].decode() if reply.answer
            else dns.rcode.to_text(reply.rcode()))


def nsid(server):
    reply = server.query("example", "SOA", edns=0,
                         options=[dns.edns.GenericOption(dns.edns.NSID, b"")])
    return [option.to_wire() for option in reply.options
            if option.otype == dns.edns.NSID]


def is_truncated(server):
    reply = server.query("large.example", "TXT", edns=0, payload=4000)
    return bool(reply.flags & dns.flags.TC)


@pytest.mark.parametrize("clause, name, value, look, wanted", [
    ("server", "ipv4-edns-size", "4000", is_truncated, False),
    ("server", "version", '"three"',
     lambda s: chaos(s, "version.server"), "three"),
    ("server", "hide-version", "yes",
     lambda s: chaos(s, "version.server"), "REFUSED"),
    ("server", "hide-identity", "yes",
     lambda s: chaos(s, "id.server"), "REFUSED"),
    ("server", "nsid", "ascii_x", nsid, [b"x"]),
    ("server", "refuse-any", "yes", lambda s: bool(
        s.query("example", "ANY").flags & dns.flags.TC), True),
    ("server", "minimal-responses", "yes", lambda s: len(
        s.query("www.example", "A").authority), 0),
    ("pattern", "allow-query", "192.0.2.1 NOKEY",
     lambda s: s.rcode("of.p", "SOA"), "REFUSED"),
    ("pattern", "zonefile", '"other.zone"', lambda s: s.serial("of.p"), 7),
])
def test_what_is_applied_is_in_effect(server, clause, name, value, look,
                                      wanted):
    (server.directory / "other.zone").write_text(zone_text(7))
    before = look(server)
    assert before != wanted
    write(server, clause, name, value)
    assert reconfig(server) == (True, [])
    assert [look(server) for _ in range(8)] == [wanted] * 8
    write(server, None, None, None)
    assert reconfig(server) == (True, [])
    assert [look(server) for _ in range(8)] == [before] * 8


def test_replies_over_ipv6_have_other_room(make_server):
    server = make_server(zones={"example": zone_text(1) + LARGE},
                         options={"server-count": 2}, address="::1")
    write(server, None, None, None)
    server.start()
    workers = [server.role("server 1"), server.role("server 2")]
    for value, truncated in (("4000", False), ("512", True), ("3000", False)):
        write(server, "server", "ipv6-edns-size", value)
        assert reconfig(server) == (True, [])
        assert [is_truncated(server) for _ in range(8)] == [truncated] * 8
    # A later worker has the same size.
    server.wait_replaced("server 1", server.kill("server 1"))
    assert [is_truncated(server) for _ in range(8)] == [False] * 8
    assert workers[1] == server.role("server 2")


def is_transferred(server):
    """True if the zone can be transferred over TCP without TLS."""
    answer = server.query("of.p", "AXFR", tcp=True)
    return answer.rcode() == dns.rcode.NOERROR and len(answer.answer) > 0


def test_transfers_for_certificates_alone(make_server):
    """tls-auth-xfr-only stands behind tls-auth-port, which is of the
    start."""
    server = make_server(
        zones={"example": zone_text(1)},
        options={"server-count": 2, "tls-auth-port": free_port()})
    server.zone_file("of.p").write_text(zone_text(1))
    acl = "127.0.0.1 NOKEY"
    write(server, "pattern", "provide-xfr", acl)
    server.start()
    assert is_transferred(server)
    for only in (True, False):
        server.options.pop("tls-auth-xfr-only", None)
        if only:
            server.options["tls-auth-xfr-only"] = "yes"
        write(server, "pattern", "provide-xfr", acl)
        assert reconfig(server) == (True, [])
        assert [is_transferred(server) for _ in range(8)] == [not only] * 8
