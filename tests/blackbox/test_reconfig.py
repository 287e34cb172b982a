"""nsd.conf read anew while the server runs: SIGHUP with reload-config."""

import contextlib
import os
import signal
import socket

import pytest

import dns.exception
import dns.message
import dns.query
import dns.tsigkeyring

import harness
from harness import Load, wait_for, zone_text

SECRETS = ["K2tf3TRjvQkVCmJF3/Z9vA==", "AAECAwQFBgcICQoLDA0ODw=="]
KEY = "key:\n\tname: k\n\talgorithm: sha256\n\tsecret: {}\n"
ACL = "zone:\n\tname: acl\n\tzonefile: acl.zone\n\tprovide-xfr: {}\n"


@pytest.fixture
def server(make_server):
    server = make_server(
        zones={"example": zone_text(1), "b.test": zone_text(1)},
        options={"server-count": 2, "reload-config": "yes",
                 "identity": '"one"'})
    return server.start()


def reconfig(server, done="reconfig: done"):
    known = len(server.read_log())
    server.write_config()
    server.signal(signal.SIGHUP)
    server.wait_log(done, known)
    return server.read_log()[known:]


def test_what_is_new_in_nsd_conf_is_in_effect(server):
    workers = {server.role("server 1"), server.role("server 2")}
    load = Load(server)
    server.zones["c.test"] = zone_text(5)
    server.write_zone("c.test", zone_text(5))
    del server.zones["b.test"]
    server.options["identity"] = '"two"'
    reconfig(server)
    load.step(0.2)
    assert server.serial("c.test") == 5
    assert server.serial("example") == 1
    assert server.rcode("www.b.test", "A") == "REFUSED"
    assert server.identity() == "two"
    assert workers == {server.role("server 1"), server.role("server 2")}
    # Processes that start later have the configuration, too.
    server.wait_replaced("loader", server.kill("loader"))
    server.wait_replaced("server 1", server.kill("server 1"))
    server.wait_replaced("xfrd", server.kill("xfrd"))
    load.finish()
    assert load.lost == 0
    assert server.serial("c.test") == 5
    assert server.rcode("www.b.test", "A") == "REFUSED"
    for _ in range(8):
        assert server.identity() == "two"


def test_broken_file_changes_nothing(server):
    pids = server.roles()
    server.options["identity"] = '"two"'
    server.extra = "zone:\n\tname: a..b\n\tnonsense: 1\n"
    log = reconfig(server, "nsd.conf failed: ")
    assert "nsd.conf:" in log and "error" in log
    assert server.identity() == "one"
    assert server.roles() == pids
    server.extra = ""
    server.options["identity"] = '"three"'
    reconfig(server)
    assert server.identity() == "three"


def test_link_that_leads_to_another_file_is_followed(server):
    """Deployments and mounted configurations change a link to nsd.conf."""
    server.stop()
    server.config.rename(server.directory / "first.conf")
    server.config.symlink_to("first.conf")
    server.start()
    (server.directory / "second.conf").write_text(
        server.config.read_text().replace('"one"', '"two"'))
    (server.directory / "new").symlink_to("second.conf")
    (server.directory / "new").rename(server.config)
    (server.directory / "first.conf").unlink()
    known = len(server.read_log())
    server.reload()
    server.wait_log("reconfig: done", known)
    assert server.identity() == "two"


@pytest.fixture
def included(make_server):
    """Zones in included files of a relative name."""
    server = make_server(options={"reload-config": "yes",
                                  "identity": '"one"'})
    zones = server.directory / "zones"
    zones.mkdir()
    server.options["zonesdir"] = f'"{zones}"'
    (zones / "z.zone").write_text(zone_text(1))
    (server.directory / "conf.d").mkdir()
    (server.directory / "conf.d/a.conf").write_text(
        "zone:\n\tname: a.test\n\tzonefile: z.zone\n")
    server.extra = 'include: "conf.d/*.conf"\n'
    server.write_config()
    server.launcher = ["env", "-C", str(server.directory)]
    return server.start()


def test_relative_names_count_from_where_it_was_started(included):
    (included.directory / "conf.d/b.conf").write_text(
        "zone:\n\tname: b.test\n\tzonefile: z.zone\n")
    reconfig(included)
    assert included.serial("a.test") == included.serial("b.test") == 1


def test_folder_that_cannot_be_looked_into_ends_no_zone(included):
    folder = included.directory / "conf.d"
    folder.rename(included.directory / "away")
    folder.symlink_to("conf.d")
    included.options["identity"] = '"two"'
    log = reconfig(included, "reconfig: refused, nothing has changed")
    assert "cannot open include file 'conf.d/*.conf': Too many levels" in log
    assert included.serial("a.test") == 1
    assert included.identity() == "one"


def test_what_waits_for_a_restart_is_said(server):
    pids = server.roles()
    server.options["server-count"] = 3
    log = reconfig(server,
                   "server-count has changed: that waits for a restart")
    assert server.serial("example") == 1
    assert server.roles() == pids
    assert "reconfig: done" not in log


def test_nothing_new_leaves_all_as_it_is(server):
    pids = server.roles()
    server.reload()
    assert server.roles() == pids


def transfers(server, secret=None):
    """Whether the zone is given to us."""
    ring = secret and dns.tsigkeyring.from_text({"k": secret})
    try:
        messages = list(dns.query.xfr(
            server.address, "acl", port=server.port, keyring=ring,
            keyname="k" if ring else None, relativize=False,
            keyalgorithm="hmac-sha256", timeout=30))
        return len(messages) > 0
    except (dns.exception.DNSException, EOFError):
        return False


def test_lists_and_keys_of_zones_follow(make_server):
    server = make_server(zones={"example": zone_text(1)},
                         options={"server-count": 2, "reload-config": "yes"},
                         extra=ACL.format("192.0.2.1 NOKEY"))
    server.zone_file("acl").write_text(zone_text(1))
    server.start()
    workers = {server.role("server 1"), server.role("server 2")}
    assert not transfers(server)
    server.extra = ACL.format("127.0.0.1 NOKEY")
    reconfig(server)
    assert transfers(server)
    assert workers == {server.role("server 1"), server.role("server 2")}
    # A key that was not there: workers have their secrets from main.
    load = Load(server)
    for secret in SECRETS:
        server.extra = KEY.format(secret) + ACL.format("127.0.0.1 k")
        reconfig(server)
        wait_for("the key", lambda s=secret: transfers(server, s))
    load.step(0.2)
    load.finish()
    assert load.lost == 0
    assert not transfers(server)
    wait_for("other workers", lambda: not transfers(server, SECRETS[0]))
    assert transfers(server, SECRETS[1])


@pytest.mark.parametrize("role", ["xfrd", "loader", "server 1"])
def test_process_dies_meanwhile(server, role):
    for i in range(3):
        server.options["identity"] = f'"of {i}"'
        known = len(server.read_log())
        server.write_config()
        server.signal(signal.SIGHUP)
        pid = server.kill(role)
        server.wait_log("reconfig: done", known)
        server.wait_replaced(role, pid)
        assert server.identity() == f"of {i}"
        assert server.serial("example") == 1


def identity_of_other(server):
    """The identity that another worker, which is not held, answers."""
    while True:
        with contextlib.suppress(dns.exception.Timeout):
            return server.identity(timeout=0.5)


def test_stop_meanwhile(server):
    """While main waits for a worker: nobody comes in place of those that it
    would replace, since all are to end."""
    server.options["replace-hung"] = "no"
    reconfig(server)
    worker = server.role("server 1")
    os.kill(worker, signal.SIGSTOP)
    server.options["identity"] = '"two"'
    known = len(server.read_log())
    server.write_config()
    server.signal(signal.SIGHUP)
    server.wait_log("2 zones: 0 read, 0 failed", known)
    wait_for("main's word to workers", lambda: identity_of_other(server)
             == "two")
    server.signal(signal.SIGTERM)
    wait_for("the end of the others",
             lambda: set(server.roles()) == {"main", "server 1"})
    os.kill(worker, signal.SIGCONT)
    assert server.process.wait(harness.DEADLINE) == 0


def queries_on_a_connection(server):
    """How many are answered before it is closed; at most four are asked."""
    query = dns.message.make_query("example", "SOA")
    with socket.create_connection((server.address, server.port)) as client:
        client.settimeout(30)
        for i in range(4):
            try:
                dns.query.send_tcp(client, query)
                dns.query.receive_tcp(client)
            except (EOFError, OSError):
                return i
    return 4


def test_limits_of_connections_follow_and_connections_stay(server):
    query = dns.message.make_query("example", "SOA")
    with socket.create_connection((server.address, server.port)) as client:
        client.settimeout(30)
        for i in range(3):
            dns.query.send_tcp(client, query)
            assert dns.query.receive_tcp(client)[0].answer
            server.options["identity"] = f'"of {i}"'
            reconfig(server)
    assert queries_on_a_connection(server) == 4
    server.options["tcp-query-count"] = 2
    reconfig(server)
    wait_for("the limit", lambda: queries_on_a_connection(server) == 2)
