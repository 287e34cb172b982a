"""The next loader has what the one before had: main keeps no zones for it
(doc/decisions/0162)."""
import base64
import re
import signal

import pytest

import dns.exception
import dns.query
import dns.tsigkeyring

import control
from harness import read_proc, wait_for, zone_text
from test_loader_dies import wait_for_one_store

SECRETS = {name: base64.b64encode(name.encode() * 20).decode()
           for name in ("k", "n")}
BASE = (f"key:\n\tname: k\n\talgorithm: sha256\n\tsecret: {SECRETS['k']}\n"
        'pattern:\n\tname: p\n\tzonefile: "%s.zone"\n'
        "\tprovide-xfr: 127.0.0.1 k\n"
        'pattern:\n\tname: q\n\tzonefile: "%s.other"\n'
        "\tprovide-xfr: 127.0.0.1 k\n"
        "zone:\n\tname: own.test\n\tzonefile: own.test.zone\n"
        "\tprovide-xfr: 127.0.0.1 k\n")
NAMES = "own.test", "a.test", "b.test", "c.test"
CHANGES = 1000


@pytest.fixture
def server(make_server):
    made = make_server(zones={"example": zone_text()}, options={
        "server-count": 2, "zonelistfile": '"zone.list"', "verbosity": 1})
    for name in NAMES:
        made.zone_file(name).write_text(zone_text(3))
        (made.directory / f"{name}.other").write_text(zone_text(7))
    configure(made)
    return made.start()


def configure(server, more=""):
    server.extra = ""
    control.config(server)
    server.extra = BASE + more + server.extra
    server.write_config()


def ask(server, *words):
    assert control.ask(server, *words) == (0, "ok\n"), words


def kill_loader(server):
    server.wait_replaced("loader", server.kill("loader"))


def fill_another_store(server):
    """Has another store filled, whose loader has nothing but files."""
    loader = server.role("loader")
    for role in "server 1", "server 2":
        known = len(server.read_log())
        pid = server.kill(role, signal.SIGSEGV)
        server.wait_log(rf"{role} \(pid {pid}\) was killed by signal 11",
                        known)
        server.wait_replaced(role, pid)
    server.wait_log("another zone store is filled")
    server.wait_replaced("loader", loader)
    # The new store is served once its loader has been through all zones, and
    # the old one until then.
    server.wait_log("zone example read with success", count=2)
    wait_for_one_store(server)
    server.wait_serving()


def restart(server):
    server.stop()
    server.start()


def key_of(server, zone):
    """The key that a transfer of the zone takes."""
    taken = []
    for name, secret in SECRETS.items():
        try:
            list(dns.query.xfr(
                server.address, zone, port=server.port,
                keyring=dns.tsigkeyring.from_text({name: secret}),
                keyname=name, relativize=False,
                keyalgorithm="hmac-sha256", timeout=30))
            taken.append(name)
        except (dns.exception.DNSException, EOFError):
            pass
    assert len(taken) == 1, (zone, taken)
    return taken[0]


def state(server, name):
    """The zone's serial, and the pattern that xfrd tells; None: the zone is
    not configured."""
    code, text = control.ask(server, "zonestatus", name)
    if code != 0:
        assert server.rcode(name, "SOA") == "REFUSED"
        return None
    return (server.serial(name),
            (re.findall(r"pattern: (\S+)", text) or [None])[0])


def expect(server, states):
    for name, expected in states.items():
        wait_for(f"{name} {expected}", lambda n=name, e=expected:
                 state(server, n) == e)


AFTERWARDS = {"example": (1, None), "own.test": (3, None),
              "a.test": (3, "p"), "b.test": None, "c.test": (7, "q")}


@pytest.mark.parametrize("then", [kill_loader, fill_another_store, restart])
def test_zones_that_came_went_and_changed(server, then):
    for name in NAMES[1:]:
        ask(server, "addzone", name, "p")
    kill_loader(server)
    expect(server, {name: (3, "p") for name in NAMES[1:]})
    ask(server, "delzone", "b.test")
    ask(server, "changezone", "c.test", "q")
    expect(server, AFTERWARDS)
    for _ in range(2 if then == kill_loader else 1):
        then(server)
        expect(server, AFTERWARDS)
    # The loader knows which zones are of the list.
    assert control.ask(server, "delzone", "own.test")[0] == 1
    assert control.ask(server, "addzone", "a.test", "p") == (
        0, "zone a.test already exists\nok\n")
    ask(server, "addzone", "b.test", "q")
    ask(server, "delzone", "c.test")
    # Another store is not filled again so soon.
    (kill_loader if then == fill_another_store else then)(server)
    expect(server, {**AFTERWARDS, "b.test": (7, "q"), "c.test": None})


@pytest.mark.parametrize("then", [kill_loader, fill_another_store])
def test_keys_that_zones_were_given(server, then):
    """Keys that zones were given survive, also of zones that have lost theirs
    since."""
    for name in NAMES[1:]:
        ask(server, "addzone", name, "p")
    ask(server, "add_tsig", "n", SECRETS["n"])
    for name in NAMES:
        ask(server, "assoc_tsig", name, "n")
    then(server)
    assert [key_of(server, name) for name in NAMES] == ["n"] * 4
    # By another pattern, and by another life.
    ask(server, "changezone", "b.test", "q")
    ask(server, "delzone", "c.test")
    ask(server, "addzone", "c.test", "p")
    assert [key_of(server, name) for name in NAMES] == ["n", "n", "k", "k"]
    kill_loader(server)
    assert [key_of(server, name) for name in NAMES] == ["n", "n", "k", "k"]
    code, text = control.ask(server, "del_tsig", "n")
    assert code == 1 and re.match("zone (own|a).test uses key n\n", text)
    ask(server, "assoc_tsig", "own.test", "k")
    ask(server, "delzone", "a.test")
    kill_loader(server)
    ask(server, "del_tsig", "n")
    kill_loader(server)
    assert [key_of(server, name) for name in ("own.test", "b.test")] \
        == ["k", "k"]
    assert control.ask(server, "assoc_tsig", "b.test", "n") == (
        1, "error: key: n does not exist\n")
    assert "cannot keep" not in server.read_log()


def test_another_configuration(server):
    """A configuration with zones that move from the list to nsd.conf, and
    back."""
    for name in "a.test", "b.test":
        ask(server, "addzone", name, "p")
    configure(server, "zone:\n\tname: a.test\n\tzonefile: a.test.other\n"
              "zone:\n\tname: c.test\n\tinclude-pattern: q\n")
    control.apply(server)
    expected = {"own.test": (3, None), "a.test": (7, None),
                "b.test": (3, "p"), "c.test": (7, None)}
    expect(server, expected)
    kill_loader(server)
    expect(server, expected)
    # An unchanged configuration has no differences, whichever process has the
    # zones.
    code, text = control.ask(server, "reconfig")
    assert code == 0 and "no changes detected" in text, text
    # A pattern that a zone of the list needs.
    broken = BASE.replace("name: p\n", "name: r\n")
    server.extra = server.extra.replace(BASE, broken)
    server.write_config()
    code, text = control.ask(server, "reconfig")
    assert code == 1 and "pattern does not exist for zone b.test pattern p" \
        in text, text
    kill_loader(server)
    expect(server, expected)


def test_loaders_die_while_zones_come(server):
    """Zones that were answered as added are there."""
    names = [f"n{i}.test" for i in range(CHANGES)]
    for name in names:
        server.zone_file(name).write_text(zone_text(5))
    client = control.begin(server, "addzones",
                           text="".join(f"{name} p\n" for name in names))
    for _ in range(3):
        kill_loader(server)
    said, _ = client.communicate(timeout=120)
    added = re.findall(r"added: (\S+)", said)
    assert len(added) == len(set(added)) and set(added) <= set(names)
    assert f"added {len(added)} zones" in said
    for name in names:
        wait_for(name, lambda n=name: server.rcode(n, "SOA")
                 == ("NOERROR" if n in added else "REFUSED"))
    listed = (server.directory / "zone.list").read_text()
    assert set(re.findall(r"^add (\S+) p$", listed, re.M)) == set(added)
    assert len(added) == CHANGES
    kill_loader(server)
    for name in names[::50]:
        assert server.serial(name) == 5


@pytest.mark.plain_only
def test_main_has_no_memory_of_zones(make_server):
    """At a start, and after a reconfig."""
    def has_kib(server):
        status = read_proc(server.main_pid, "status")
        return int(re.search(r"RssAnon:\s+(\d+)", status)[1])

    def more(count):
        return ('pattern:\n\tname: many\n\tzonefile: "%s.zone"\n' + "".join(
            f"zone:\n\tname: z{i}.test\n\tinclude-pattern: many\n"
            for i in range(count)))

    servers = [make_server(zones={"example": zone_text()}) for _ in range(2)]
    for server, count in zip(servers, (1, 40000)):
        configure(server, more(count))
        server.zone_file("own.test").write_text(zone_text(3))
        server.start()
        configure(server, more(count + 1))
        control.apply(server)
        server.memory = has_kib(server)
    few, many = servers
    # Each zone would have some 100 octets.
    assert many.memory - few.memory < 2000
