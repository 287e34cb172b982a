"""Troubles that status shows are in the metrics, too."""
import http.client
import os

import dns.rcode
import pytest
from prometheus_client.parser import text_string_to_metric_families

import control
from harness import wait_for, zone_text
from ports import free_port
from scripted_primary import ScriptedPrimary, reply, soa, whole

KINDS = ("not loaded", "served as it was", "expired", "no data",
         "not refreshed", "not written", "not acknowledged")
OTHERS = ("journal", "zone list", "waits for a restart",
          "died of what it had in hand", "catalogs")
NOBODY = 65534


class Primary(ScriptedPrimary):
    """Has a zone, or none; that of expiring.test does not last."""
    is_down = False

    def __init__(self):
        super().__init__(self.say)

    def say(self, apex, rdtype, query):
        timers = "1 1 2 300" if apex.startswith("expiring") \
            else "1 1 86400 300"
        if self.is_down or apex.startswith("empty"):
            message = reply(query)
            message.set_rcode(dns.rcode.SERVFAIL)
            return [message]
        if rdtype == "SOA":
            return [reply(query, soa(apex, 7, timers))]
        return [whole(query, apex, 7, "www A 192.0.2.9", timers=timers)]


@pytest.fixture
def primary():
    with Primary() as made:
        yield made


@pytest.fixture
def start(make_server):
    def make(extra="", **options):
        server = make_server(
            zones={"a.test": zone_text(1), "b.test": zone_text(1)},
            options={"metrics-enable": "yes", "metrics-port": free_port(),
                     "metrics-interface": "127.0.0.1", **options},
            extra=extra)
        control.config(server)
        return server
    return make


def read(server, ask=None):
    """{family: {label: value}} of trouble, without what is 0."""
    connection = http.client.HTTPConnection(
        "127.0.0.1", server.options["metrics-port"], timeout=60)
    connection.request("GET", "/metrics")
    body = connection.getresponse().read().decode()
    connection.close()
    found = {}
    for family in text_string_to_metric_families(body):
        if "trouble" in family.name or family.name == "nsd_process_deaths":
            rows = {next(iter(s.labels.values())): s.value
                    for s in family.samples}
            found[family.name] = {k: v for k, v in rows.items() if v}
            if ask is not None:
                ask[family.name] = tuple(rows)
        elif family.name == "nsd_zones_oldest_refresh_seconds":
            found["oldest"] = family.samples[0].value
    return found


def zones(server):
    return read(server)["nsd_zones_in_trouble"]


def secondary(primary, name, file):
    return (f"zone:\n\tname: {name}\n\tzonefile: {file}\n"
            f"\trequest-xfr: AXFR 127.0.0.1@{primary.port} NOKEY\n"
            "\tmin-retry-time: 1\n\tmax-retry-time: 1\n")


def test_nothing_is_wrong(start):
    server = start()
    server.start()
    labels = {}
    assert read(server, labels) == {
        "nsd_zones_in_trouble": {}, "nsd_trouble": {},
        "nsd_process_deaths": {}, "oldest": 0}
    assert labels == {"nsd_zones_in_trouble": KINDS, "nsd_trouble": OTHERS,
                      "nsd_process_deaths": ("loader", "xfrd", "server")}


def test_primary_zones(start):
    """Of more zones than are looked at in a turn."""
    server = start(extra="".join(
        f"zone:\n\tname: n{n}.test\n\tzonefile: none\n" for n in range(1200)))
    server.start()
    wait_for("all to be counted", lambda: zones(server) == {
        "not loaded": 1200})
    server.zone_file("b.test").write_text("nonsense\n")
    assert control.ask(server, "reload", "b.test")[0] == 1
    wait_for("the file", lambda: zones(server) == {
        "not loaded": 1200, "served as it was": 1})
    server.write_zone("b.test", zone_text(2))
    assert control.ask(server, "reload", "b.test")[0] == 0
    wait_for("none", lambda: zones(server) == {"not loaded": 1200})


def test_secondary_zones(start, primary, directory):
    folder = directory / "closed"
    folder.mkdir()
    directory.chmod(0o777)
    options = {"zonefiles-write": 1}
    if os.geteuid() == 0:
        os.chown(folder, NOBODY, NOBODY)
        options["username"] = "nobody"
    folder.chmod(0o555)
    server = start(**options, extra="".join(
        secondary(primary, name, file) for name, file in (
            ("expiring.test", "expiring.zone"), ("empty.test", "empty.zone"),
            ("fresh.test", "fresh.zone"), ("shut.test", f"{folder}/zone"))))
    server.start()
    for name in "expiring.test", "fresh.test", "shut.test":
        server.wait_serial(name, 7)
    wait_for("two", lambda: zones(server) == {
        "no data": 1, "not written": 1})
    assert read(server)["oldest"] < 60
    primary.is_down = True
    wait_for("all", lambda: zones(server) == {
        "no data": 1, "expired": 1, "not refreshed": 2})
    old = read(server)["oldest"]
    assert old > 0
    wait_for("more age", lambda: read(server)["oldest"] > old)
    # status says the same.
    text = control.ask(server, "status")[1]
    assert text.count("trouble: zone ") == 4
    primary.is_down = False
    wait_for("two again", lambda: zones(server) == {
        "no data": 1, "not written": 1})


def test_what_is_not_of_zones(start):
    server = start()
    server.start()
    for role in "loader", "server 1":
        server.wait_replaced(role, server.kill(role))
    wait_for("the deaths", lambda: read(server)["nsd_process_deaths"] == {
        "loader": 1, "server": 1})
    server.options["server-count"] = 3
    server.write_config()
    assert control.ask(server, "reconfig")[0] == 0
    wait_for("what waits", lambda: read(server)["nsd_trouble"] == {
        "waits for a restart": 1})


def test_client_that_leaves_amid_a_count(start):
    """A client after one that left gets a complete count."""
    server = start(extra="".join(
        f"zone:\n\tname: n{n}.test\n\tzonefile: none\n" for n in range(3000)))
    server.start()
    for _ in range(20):
        connection = http.client.HTTPConnection(
            "127.0.0.1", server.options["metrics-port"], timeout=60)
        connection.request("GET", "/metrics")
        connection.sock.close()
    assert zones(server) == {"not loaded": 3000}


def test_target_of_notify_that_does_not_listen(start):
    port = free_port()
    server = start(extra=(
        "zone:\n\tname: c.test\n\tzonefile: a.test.zone\n"
        f"\tnotify: 127.0.0.1@{port} NOKEY\n\tnotify-retry: 1\n"))
    server.start()
    wait_for("its trouble", lambda: zones(server) == {"not acknowledged": 1})
