"""Metrics over HTTP (doc/surface.md section 5): what they say, and what a client
may do to the server by way of them."""

import http.client
import re
import socket
import stat
import time

import pytest
from prometheus_client.parser import text_string_to_metric_families

import control
from harness import wait_for, zone_text
from ports import free_port

pytestmark = pytest.mark.plain

NAMES = {
    "nsd_queries": "counter",
    "nsd_queries_by_type": "counter",
    "nsd_queries_by_class": "counter",
    "nsd_queries_by_opcode": "counter",
    "nsd_queries_by_rcode": "counter",
    "nsd_queries_by_transport": "counter",
    "nsd_queries_with_edns": "counter",
    "nsd_queries_with_edns_failed": "counter",
    "nsd_connections": "counter",
    "nsd_xfr_requests_served": "counter",
    "nsd_queries_dropped": "counter",
    "nsd_queries_rx_failed": "counter",
    "nsd_answers_tx_failed": "counter",
    "nsd_answers_without_aa": "counter",
    "nsd_answers_truncated": "counter",
    "nsd_updates_received": "counter",
    "nsd_updates_by_rcode": "counter",
    "nsd_queries_lost": "counter",
    "nsd_time_up_seconds": "counter",
    "nsd_time_elapsed_seconds": "unknown",
    "nsd_size_db_on_disk_bytes": "gauge",
    "nsd_size_db_in_mem_bytes": "gauge",
    "nsd_size_xfrd_in_mem_bytes": "gauge",
    "nsd_size_config_on_disk_bytes": "gauge",
    "nsd_size_config_in_mem_bytes": "gauge",
    "nsd_zones_primary": "gauge",
    "nsd_zones_secondary": "gauge",
    "nsd_answer_seconds": "histogram",
    "nsd_zones_in_trouble": "gauge",
    "nsd_zones_refused": "gauge",
    "nsd_refusals": "counter",
    "nsd_zones_oldest_refresh_seconds": "gauge",
    "nsd_trouble": "gauge",
    "nsd_process_deaths": "counter",
}


class Metrics:
    """A server with metrics."""

    def __init__(self, nsd, extra="", **options):
        self.port = free_port()
        self.server = nsd(
            zones={"a.test": zone_text(1), "b.test": zone_text(1)},
            options={"metrics-enable": "yes",
                     "metrics-interface": "127.0.0.1",
                     "metrics-port": self.port, **options},
            extra=extra)

    def ask(self, method="GET", path="/metrics"):
        connection = http.client.HTTPConnection("127.0.0.1", self.port,
                                                timeout=60)
        connection.request(method, path)
        reply = connection.getresponse()
        body = reply.read().decode()
        connection.close()
        return reply, body

    def read(self):
        """{family: {labels: value}}"""
        reply, body = self.ask()
        assert reply.status == 200
        assert reply.getheader("Content-Type") == "text/plain; version=0.0.4"
        found = {}
        for family in text_string_to_metric_families(body):
            found[family.name] = {
                tuple(sorted(s.labels.items())): s.value
                for s in family.samples}
        return found

    def connect(self):
        sock = socket.create_connection(("127.0.0.1", self.port), timeout=60)
        return sock


@pytest.fixture
def metrics(nsd):
    return lambda **options: Metrics(nsd, **options)


def test_families_and_types_are_those_of_nsd_and_some_more(metrics):
    _, body = metrics().ask()
    families = {f.name: f.type for f in text_string_to_metric_families(body)}
    assert families == NAMES
    for name in NAMES:
        assert re.search(rf"^# HELP {name}(_total)? \S", body, re.M), name


def test_values_are_what_was_asked(metrics):
    m = metrics(**{"server-count": 2})
    server = m.server
    before = m.read()
    for _ in range(5):
        server.query("www.a.test", "A")
    server.query("absent.a.test", "AAAA")
    server.query("www.a.test", "A", tcp=True)
    after = m.read()

    def grown(family, *labels):
        return after[family][labels] - before[family].get(labels, 0)
    assert sum(after["nsd_queries"].values()) \
        - sum(before["nsd_queries"].values()) == 7
    assert set(after["nsd_queries"]) == {(("server", "0"),),
                                         (("server", "1"),)}
    assert grown("nsd_queries_by_type", ("type", "A")) == 6
    assert grown("nsd_queries_by_type", ("type", "AAAA")) == 1
    assert grown("nsd_queries_by_class", ("class", "IN")) == 7
    assert grown("nsd_queries_by_opcode", ("opcode", "QUERY")) == 7
    assert grown("nsd_queries_by_rcode", ("rcode", "NXDOMAIN")) == 1
    assert grown("nsd_queries_by_transport", ("transport", "udp")) == 6
    assert grown("nsd_connections", ("transport", "tcp")) == 1
    assert after["nsd_zones_primary"][()] == 2
    assert after["nsd_zones_secondary"][()] == 0
    up = after["nsd_time_up_seconds"][()] - before["nsd_time_up_seconds"][()]
    assert 0 < up < 600
    # The loader tells both within a second.
    for family in ("nsd_size_db_in_mem_bytes", "nsd_size_config_in_mem_bytes"):
        wait_for(family, lambda f=family: m.read()[f][()] > 0)


def test_times_of_answers_are_a_histogram(metrics):
    m = metrics(**{"server-count": 2})
    for tcp in False, True, True:
        m.server.query("www.a.test", "A", tcp=tcp)
    # Answers over TCP are counted after they were sent.
    wait_for("all to be counted", lambda: 'nsd_answer_seconds_count'
             '{transport="tcp"} 2' in m.ask()[1])
    _, body = m.ask()
    family = next(f for f in text_string_to_metric_families(body)
                  if f.name == "nsd_answer_seconds")
    for transport in "udp", "tcp":
        found = [s for s in family.samples
                 if s.labels["transport"] == transport]
        buckets = [s.value for s in found if s.name.endswith("_bucket")]
        bounds = [float(s.labels["le"]) for s in found if "le" in s.labels]
        values = {s.name.rsplit("_", 1)[1]: s.value for s in found
                  if "le" not in s.labels}
        assert buckets == sorted(buckets) and bounds == sorted(bounds)
        assert bounds[0] == 1e-6 and bounds[-1] == float("inf")
        assert values["count"] == buckets[-1]
        assert values["count"] >= 1 + (transport == "tcp")
        assert 0 < values["sum"] < 60


def test_groups_are_labels(nsd):
    m = Metrics(nsd, extra="zone:\n name: c.test\n zonefile: a.test.zone\n"
                ' zonestats: "%s"\nzone:\n name: d.test\n'
                ' zonefile: a.test.zone\n zonestats: "two words"\n')
    for _ in range(3):
        m.server.query("www.c.test", "A")
    m.server.query("nothing.d.test", "MX")
    found = m.read()
    assert found["nsd_zonestats_queries"][(("zone", "c.test"),)] == 3
    assert found["nsd_zonestats_queries_by_type"][
        (("type", "A"), ("zone", "c.test"))] == 3
    assert found["nsd_zonestats_queries_by_transport"][
        (("transport", "udp"), ("zone", "c.test"))] == 3
    assert found["nsd_zonestats_queries_by_rcode"][
        (("rcode", "NXDOMAIN"), ("zone", "two words"))] == 1


def test_other_methods_and_paths_are_refused(metrics):
    m = metrics()
    for method in ("POST", "HEAD", "PUT", "DELETE", "OPTIONS", "BREW"):
        reply, _ = m.ask(method)
        assert reply.status == 405, method
        assert reply.getheader("Allow") == "GET"
    for path in ("/", "/metrics/", "/metric", "/metricss", "/METRICS", "*",
                 "/%6detrics", "//metrics"):
        assert m.ask("GET", path)[0].status == 404, path
    assert m.ask("GET", "/metrics?x=y")[0].status == 200
    assert m.ask("GET", "http://any.test:1/metrics")[0].status == 200


def test_path_and_defaults(nsd):
    port = free_port()
    server = nsd(zones={"a.test": zone_text(1)},
                 options={"metrics-enable": "yes", "metrics-port": port,
                          "metrics-path": '"/other"'})
    assert server.answer("www.a.test", "A")
    for host in ("127.0.0.1", "::1"):
        connection = http.client.HTTPConnection(host, port, timeout=60)
        connection.request("GET", "/other")
        assert connection.getresponse().status == 200, host
        connection.close()


def talk(m, octets):
    """The answer, until the server closes."""
    got = b""
    with m.connect() as sock:
        sock.sendall(octets)
        while True:
            try:
                more = sock.recv(65536)
            except ConnectionResetError:
                break
            if not more:
                break
            got += more
    return got


def test_wrong_requests_end_the_connection(metrics):
    m = metrics()
    for octets, status in (
            (b"GET /metrics\r\n\r\n", b"400"),
            (b"GET /metrics HTTP/2.0\r\n\r\n", b"400"),
            (b"GET  /metrics HTTP/1.1\r\n\r\n", b"400"),
            (b"\0\0\0\0\n\n", b"400"),
            (b" \n\n", b"400"),
            (b"GET /metrics HTTP/1.1 x\r\n\r\n", b"400"),
            (b"GET " + b"/" * 9000 + b" HTTP/1.1\r\n\r\n", b"431"),
            (b"GET /metrics HTTP/1.1\r\n" + b"a: b\r\n" * 2000, b"431"),
            (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\n\n", b"400")):
        assert talk(m, octets).startswith(b"HTTP/1.1 " + status), octets[:40]
    assert talk(m, b"\r\nGET /metrics HTTP/1.0\n\n").endswith(b"\n")
    assert m.ask()[0].status == 200


def test_pieces_of_a_request_are_one(metrics):
    m = metrics()
    with m.connect() as sock:
        for octet in b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n":
            sock.sendall(bytes([octet]))
            time.sleep(0.001)
        assert sock.recv(15) == b"HTTP/1.1 200 OK"


def test_idle_clients_make_room(metrics):
    """Clients that send nothing, and clients that read nothing."""
    m = metrics()
    pid = m.server.role("xfrd")
    idle = [m.connect() for _ in range(200)]
    for sock in idle[100:]:
        sock.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
    assert m.ask()[0].status == 200
    assert m.server.role("xfrd") == pid
    for sock in idle:
        sock.close()


def test_metrics_survive_xfrd(metrics):
    m = metrics()
    for _ in range(9):
        m.server.query("www.a.test", "MX")
    pid = m.server.kill("xfrd")
    m.server.wait_replaced("xfrd", pid)

    def look():
        try:
            return m.read()
        except (OSError, http.client.HTTPException):
            return None
    found = wait_for("metrics of another xfrd", look)
    assert found["nsd_queries_by_type"][(("type", "MX"),)] == 9


def test_without_its_socket_the_server_does_not_start(nsd, make_server):
    port = free_port()
    with socket.create_server(("127.0.0.1", port)):
        server = make_server(
            zones={"a.test": zone_text(1)},
            options={"metrics-enable": "yes", "metrics-port": port,
                     "metrics-interface": "127.0.0.1"})
        result = server.run("-d")
    assert result.returncode == 1
    assert f"127.0.0.1@{port}" in server.read_log() + result.stderr


# ---- a UNIX socket ---------------------------------------------------------------

def ask_at(path):
    """Asks for the page at a UNIX socket: the whole reply."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(60)
        client.connect(str(path))
        client.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
        parts = list(iter(lambda: client.recv(65536), b""))
    return b"".join(parts).decode()


def test_page_is_at_a_path(nsd, directory):
    path = directory / "metrics.sock"
    # A former server has left its socket.
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
    server = nsd(options={"metrics-enable": "yes",
                          "metrics-interface": f'"{path}"'})
    assert stat.S_IMODE(path.lstat().st_mode) == 0o660
    assert ask_at(path).startswith("HTTP/1.")
    assert "\nnsd_zones_primary" in ask_at(path)
    # The next xfrd inherits the socket.
    server.kill("xfrd")
    assert "\nnsd_zones_primary" in ask_at(path)


def test_file_at_the_path_stays(make_server, directory):
    path = directory / "metrics.sock"
    path.write_text("not a socket")
    server = make_server(options={"metrics-enable": "yes",
                                  "metrics-interface": f'"{path}"'})
    assert server.run().returncode == 1
    assert (f"error: metrics-interface: can't bind socket {path}: File exists"
            in server.read_log())
    assert path.read_text() == "not a socket"


@pytest.mark.parametrize("flags", [["-d"], []])
@pytest.mark.parametrize("fault", ["nosuch.sock/x", "key"])
def test_start_that_fails_leaves_no_path(make_server, directory, flags, fault):
    """The control channel fails, after sockets of both were made."""
    paths = [directory / "metrics.sock", directory / "control.sock"]
    server = make_server(options={"metrics-enable": "yes",
                                  "metrics-interface": f'"{paths[0]}"'})
    lines = [f"control-interface: {directory}/{fault}"]
    if fault == "key":
        lines = [f"control-interface: {paths[1]}",
                 f"server-key-file: {directory}/nosuch.key"]
    control.config(server, *lines, interface=(
        f"127.0.0.1@{free_port()}" if fault == "key" else paths[1]))
    assert server.run(*flags).returncode == 1
    assert "could not set up the control channel" in server.read_log()
    assert not any(path.exists() for path in paths)
