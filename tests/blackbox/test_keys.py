"""TSIG keys that change while the server runs: once `ok` is said, every process
has them, and none is replaced for it."""

import base64
import concurrent.futures
import socket

import pytest

import dns.exception
import dns.flags
import dns.message
import dns.query
import dns.rcode
import dns.tsig
import dns.tsigkeyring

import control
from harness import DEADLINE, Load, wait_for, zone_text

SECRETS = [base64.b64encode(bytes([n]) * 20).decode() for n in range(12)]
KEY = "key:\n\tname: {}\n\talgorithm: sha256\n\tsecret: {}\n"
ZONE = "zone:\n\tname: {0}\n\tzonefile: {0}.zone\n\tprovide-xfr: {1}\n"
PATTERN = ("pattern:\n\tname: p\n\tzonefile: %s.zone\n"
           "\tprovide-xfr: 127.0.0.1 k\n")
WORKERS = 4
ASKS = 40


@pytest.fixture
def server(make_server):
    server = make_server(
        zones={"example": zone_text(1)},
        options={"server-count": WORKERS, "reuseport": "yes"})
    for name in "one", "two":
        server.zone_file(name).write_text(zone_text(1))
    server.keys = {"k": SECRETS[0]}
    write(server)
    return server.start()


def write(server, more=""):
    server.extra = ""
    control.config(server)
    server.extra = (
        "".join(KEY.format(*key) for key in server.keys.items())
        + ZONE.format("one", "127.0.0.1 k") + PATTERN
        + "zone:\n\tname: two\n\tinclude-pattern: p\n"
        + more + server.extra)
    server.write_config()


def ring(name, secret):
    return dns.tsigkeyring.from_text({name: secret})


def rcode(server, name, secret, algorithm="hmac-sha256"):
    """The RCODE of a signed query from a port of its own; an error of the TSIG
    comes first."""
    query = dns.message.make_query("example", "SOA")
    query.use_tsig(ring(name, secret), name, algorithm=algorithm)
    try:
        reply = dns.query.udp(query, server.address, port=server.port,
                              timeout=30)
    except dns.tsig.PeerBadSignature:
        return "BADSIG"
    except dns.tsig.PeerBadKey:
        return "BADKEY"
    return dns.rcode.to_text(reply.rcode())


def rcodes(server, *key):
    """The RCODEs of many signed queries at once."""
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(rcode, server, *key) for _ in range(ASKS)]
        return {one.result() for one in asked}


def queries(server):
    """The number of queries of each worker."""
    text = control.ask(server, "stats_more")[1]
    return {line.split("=")[0]: int(line.split("=")[1])
            for line in text.splitlines()
            if line.startswith("server") and ".udp=" in line}


def transfers(server, zone, name, secret):
    try:
        return len(list(dns.query.xfr(
            server.address, zone, port=server.port,
            keyring=ring(name, secret), keyname=name, relativize=False,
            keyalgorithm="hmac-sha256", timeout=30))) > 0
    except (dns.exception.DNSException, EOFError):
        return False


def by_verb(server, secret):
    assert control.ask(server, "update_tsig", "k", secret) == (0, "ok\n")


def by_reconfig(server, secret):
    server.keys["k"] = secret
    write(server)
    code, text = control.ask(server, "reconfig")
    assert code == 0 and text.endswith("changes applied\nok\n"), text


def workers(server):
    return {f"server {n}": server.role(f"server {n}")
            for n in range(1, WORKERS + 1)}


@pytest.mark.parametrize("change", [by_verb, by_reconfig])
def test_ok_is_said_when_every_worker_has_the_key(server, change):
    pids, before = workers(server), queries(server)
    load = Load(server)
    query = dns.message.make_query("example", "SOA")
    with socket.create_connection((server.address, server.port)) as client:
        client.settimeout(30)
        for old, new in zip(SECRETS, SECRETS[1:6]):
            assert rcodes(server, "k", old) == {"NOERROR"}
            change(server, new)
            assert rcodes(server, "k", new) == {"NOERROR"}
            assert rcodes(server, "k", old) == {"BADSIG"}
            dns.query.send_tcp(client, query)
            assert dns.query.receive_tcp(client)[0].answer
    load.step(0.1)
    load.finish()
    assert load.lost == 0
    assert workers(server) == pids
    after = queries(server)
    # Every one of them was asked.
    assert all(after[name] > before[name] + 10 for name in after), after


def test_keys_come_and_go(server):
    pids = workers(server)
    assert rcodes(server, "n", SECRETS[1]) == {"BADKEY"}
    assert control.ask(server, "add_tsig", "n", SECRETS[1]) == (0, "ok\n")
    assert rcodes(server, "n", SECRETS[1]) == {"NOERROR"}
    assert rcodes(server, "n", SECRETS[2]) == {"BADSIG"}
    assert control.ask(server, "add_tsig", "m", SECRETS[3],
                       "hmac-sha512") == (0, "ok\n")
    assert rcodes(server, "m", SECRETS[3], "hmac-sha512") == {"NOERROR"}
    line = 'key: name: "{}" secret: "{}" algorithm: {}\n'
    assert control.ask(server, "print_tsig") == (0, "".join([
        line.format("k", SECRETS[0], "hmac-sha256"),
        line.format("m", SECRETS[3], "hmac-sha512"),
        line.format("n", SECRETS[1], "hmac-sha256")]))
    # Processes that start later have the keys, too.
    for role in "loader", "xfrd", "server 1":
        server.wait_replaced(role, server.kill(role))
    assert rcodes(server, "n", SECRETS[1]) == {"NOERROR"}
    assert control.ask(server, "del_tsig", "n") == (0, "ok\n")
    assert rcodes(server, "n", SECRETS[1]) == {"BADKEY"}
    assert control.ask(server, "print_tsig", "n") == (
        1, "error: no such key with name: n\n")
    del pids["server 1"]
    assert pids.items() <= workers(server).items()
    # nsd.conf is what counts at a reconfig.
    server.keys["j"] = SECRETS[4]
    write(server)
    assert control.ask(server, "reconfig")[0] == 0
    assert rcodes(server, "m", SECRETS[3], "hmac-sha512") == {"BADKEY"}
    assert rcodes(server, "j", SECRETS[4]) == {"NOERROR"}


def test_zone_gets_another_key(server):
    assert control.ask(server, "addzone", "three", "p")[0] == 0
    server.zone_file("three").write_text(zone_text(1))
    assert control.ask(server, "reload", "three") == (0, "ok\n")
    control.ask(server, "add_tsig", "n", SECRETS[1])
    for zone in "one", "two", "three":
        assert transfers(server, zone, "k", SECRETS[0])
    for zone in "one", "three":
        assert control.ask(server, "assoc_tsig", zone, "n") == (0, "ok\n")
        assert transfers(server, zone, "n", SECRETS[1])
        assert not transfers(server, zone, "k", SECRETS[0])
    # Zone two has the same pattern.
    assert transfers(server, "two", "k", SECRETS[0])
    assert control.ask(server, "del_tsig", "n") == (
        1, "zone one uses key n\n"
        "error: key: n is in use and cannot be deleted\n")
    server.wait_replaced("loader", server.kill("loader"))
    server.wait_replaced("xfrd", server.kill("xfrd"))
    assert transfers(server, "three", "n", SECRETS[1])
    for zone in "one", "three":
        assert control.ask(server, "assoc_tsig", zone, "k") == (0, "ok\n")
    assert control.ask(server, "del_tsig", "n") == (0, "ok\n")
    assert transfers(server, "three", "k", SECRETS[0])


def test_key_that_comes_back_is_that_of_its_patterns(server):
    """A zone that came while the key was away has it, too."""
    server.keys["n"] = SECRETS[1]
    write(server, "pattern:\n\tname: q\n\tzonefile: %s.zone\n"
          "\tprovide-xfr: 127.0.0.1 n\n")
    assert control.ask(server, "reconfig")[0] == 0
    for zone in "three", "four":
        server.zone_file(zone).write_text(zone_text(1))
    assert control.ask(server, "del_tsig", "n") == (0, "ok\n")
    assert control.ask(server, "addzone", "three", "q")[0] == 0
    assert not transfers(server, "three", "n", SECRETS[1])
    assert control.ask(server, "add_tsig", "n", SECRETS[2]) == (0, "ok\n")
    assert control.ask(server, "addzone", "four", "q")[0] == 0
    for zone in "three", "four":
        assert transfers(server, zone, "n", SECRETS[2]), zone
    assert control.ask(server, "del_tsig", "n") == (
        1, "zone three uses key n\n"
        "error: key: n is in use and cannot be deleted\n")


def test_what_is_wrong_changes_nothing(server):
    for words, text in (
            (["update_tsig", "n", SECRETS[1]],
             "error: no such key with name: n"),
            (["update_tsig", "k", "%%"],
             "error: the secret: %% is not in b64 format"),
            (["update_tsig", "k", "A" * 4000], "error: the secret is too"),
            (["add_tsig", "k", SECRETS[1]], "error: key k already exists"),
            (["add_tsig", "n", SECRETS[1], "sha3"],
             "error: unknown algorithm: sha3"),
            (["add_tsig", "a..b", SECRETS[1]],
             "error: could not parse key name: a..b"),
            (["assoc_tsig", "one", "n"], "error: key: n does not exist"),
            (["assoc_tsig", "four", "k"], "error zone four not configured"),
            (["del_tsig"], "error: missing argument (keyname)"),
            (["update_tsig"], "error: missing argument (keyname)"),
            (["add_tsig", "n"], "error")):
        code, said = control.ask(server, *words)
        assert code == 1 and said.startswith(text), (words, said)
    assert control.ask(server, "del_tsig", "n") == (
        0, "key n does not exist, nothing to be deleted\nok\n")
    code, said = control.ask(server, "del_tsig", "k")
    assert said.endswith("error: key: k is in use and cannot be deleted\n")
    assert code == 1
    assert rcodes(server, "k", SECRETS[0]) == {"NOERROR"}


def test_secrets_are_not_logged(server):
    assert control.ask(server, "verbosity", 2)[0] == 0
    by_verb(server, SECRETS[1])
    assert control.ask(server, "add_tsig", "n", SECRETS[2])[0] == 0
    log = server.read_log()
    assert "control cmd:  update_tsig\n" in log
    assert SECRETS[1] not in log and SECRETS[2] not in log


@pytest.mark.lasts(35)
@pytest.mark.parametrize("role", ["loader", "xfrd", "server 1"])
def test_process_dies_meanwhile(server, role):
    """An error, or ok; if it is ok, it is so."""
    secret = SECRETS[0]
    for i in range(6):
        new = SECRETS[1 + i]
        client = control.begin(server, "update_tsig", "k", new)
        pid = server.kill(role)
        text = client.communicate(timeout=60)[0]
        server.wait_replaced(role, pid)
        if client.returncode == 0:
            assert text == "ok\n"
            secret = new
        else:
            wait_for("an answer", lambda: control.ask(
                server, "print_tsig", "k")[0] == 0)
            if new in control.ask(server, "print_tsig", "k")[1]:
                secret = new
        wait_for("the key", lambda s=secret: rcodes(
            server, "k", s) == {"NOERROR"})
        by_verb(server, SECRETS[8 + i % 2])
        secret = SECRETS[8 + i % 2]
        assert rcodes(server, "k", secret) == {"NOERROR"}


def test_reply_to_long_names_is_as_long_as_its_request(make_server):
    """Replies are as long as requests also without EDNS: a TSIG beside a
    question of such length takes more than 512 octets, which the client has
    just sent."""
    name = ".".join(["k" * 63] * 3 + ["k" * 61]) + "."
    server = make_server(zones={"example": zone_text()}, extra=(
        f"key:\n\tname: {name}\n\talgorithm: hmac-sha512\n"
        f'\tsecret: "{SECRETS[0]}"\n')).start()
    long = ".".join(["q" * 63] * 3)
    for qname, code in ((f"{long}.{'q' * 52}.example.", "NXDOMAIN"),
                        (f"{long}.{'q' * 60}.", "REFUSED")):
        query = dns.message.make_query(qname, "A")
        query.use_tsig(ring(name, SECRETS[0]), algorithm=dns.tsig.HMAC_SHA512)
        size = len(query.to_wire())
        assert size > 512
        reply = dns.query.udp(query, server.address, port=server.port,
                              timeout=DEADLINE)
        assert dns.rcode.to_text(reply.rcode()) == code and reply.had_tsig
        assert bool(reply.flags & dns.flags.TC) == (code == "NXDOMAIN")
        assert len(reply.to_wire()) <= size
