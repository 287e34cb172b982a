"""Clients over TCP and TLS that take too much of the processor's time."""

import os
import socket
import struct
import threading
import time

import dns.message
import pytest

import control
from certificates import Authority
from harness import DEADLINE, is_sanitized, wait_for, zone_text
from ports import free_port
from test_proxy import header
from tls_client import context_for

pytestmark = pytest.mark.plain

ATTACKER, OTHER = "127.0.0.1", "127.0.0.2"
WWW = ["192.0.2.1"]
# Of a second: so little that any flood is above it, so much that a few
# questions on a slow machine are not.
LIMIT_USEC = 40000
BLOCK = (r"info: tcp-cpu-limit block target 127\.0\.0\.1/32 "
         r"client 127\.0\.0\.1$")


def request(name="x.example", rdtype="A"):
    wire = dns.message.make_query(name, rdtype, want_dnssec=True).to_wire()
    return struct.pack("!H", len(wire)) + wire


class Attackers:
    """Threads that do the same again and again. That a connection breaks is
    counted."""

    def __init__(self, act, count=2):
        self.act, self.broken, self.done = act, 0, 0
        self.over = threading.Event()
        self.threads = [threading.Thread(target=self.run)
                        for _ in range(count)]

    def run(self):
        while not self.over.is_set():
            try:
                self.act(self.over)
                self.done += 1
            except (OSError, EOFError):
                self.broken += 1

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        for thread in self.threads:
            thread.join()


def connect(port, source=ATTACKER, timeout=DEADLINE):
    return socket.create_connection(("127.0.0.1", port), timeout=timeout,
                                    source_address=(source, 0))


def pipeline(port, first=b""):
    """Sends many questions at once, and takes what comes."""
    octets = request() * 1000

    def act(over):
        with connect(port, timeout=0.2) as client:
            client.sendall(first)
            client.setblocking(False)
            while not over.is_set():
                try:
                    client.send(octets)
                except BlockingIOError:
                    pass
                client.settimeout(0.05)
                try:
                    if not client.recv(1 << 20):
                        raise EOFError
                except TimeoutError:
                    pass
                client.setblocking(False)
    return act


def handshakes(port):
    """Begins TLS anew all the time."""
    context = context_for()

    def act(_over):
        with connect(port, timeout=0.2) as plain:
            context.wrap_socket(plain).close()
    return act


def ask_tcp(port, source, first=b"", tls=None):
    """The addresses of www.example; EOFError: the connection was closed."""
    with connect(port, source) as plain:
        client = tls.wrap_socket(plain) if tls else plain
        client.sendall(first + request("www.example"))
        stream = client.makefile("rb")
        head = stream.read(2)
        if len(head) < 2:
            raise EOFError
        reply = dns.message.from_wire(stream.read(struct.unpack("!H", head)[0]))
        return [str(rr) for rrset in reply.answer for rr in rrset]


def is_refused(port, source=ATTACKER, first=b""):
    try:
        return ask_tcp(port, source, first) == []
    except (OSError, EOFError):
        return True


def cpu_seconds(server):
    with open(f"/proc/{server.role('server 1')}/stat",
              encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.fixture
def start(make_server):
    def run(extra="", **options):
        server = make_server(
            zones={"example": zone_text()}, extra=extra,
            options={"rrl-ipv4-prefix-length": 32, "reload-config": "yes",
                     "verbosity": 1, "tcp-count": 50,
                     **{name.replace("_", "-"): value
                        for name, value in options.items()}})
        return control.config(server).start()
    return run


def test_pipelined_questions(start):
    """A client that asks all the time is limited, and others are served."""
    server = start(tcp_cpu_limit=LIMIT_USEC)
    assert ask_tcp(server.port, ATTACKER) == WWW
    with Attackers(pipeline(server.port)):
        server.wait_log(BLOCK)
        used, begin = cpu_seconds(server), time.monotonic()
        wait_for("a connection that is closed",
                 lambda: is_refused(server.port))
        for _ in range(20):
            assert ask_tcp(server.port, OTHER) == WWW
        # UDP has nothing to do with it.
        assert server.answer("www.example", "A") == WWW
        while time.monotonic() < begin + 2:
            assert ask_tcp(server.port, OTHER) == WWW
            time.sleep(0.1)
        used, passed = cpu_seconds(server) - used, time.monotonic() - begin
        # The other has some, too, and what is not charged: connections that
        # are refused, which sanitizers make dear.
        times = 8 if is_sanitized() else 3
        assert used < passed * LIMIT_USEC / 1e6 * times + 0.1
    assert "target 127.0.0.2" not in server.read_log()
    statistics = control.ask(server, "stats_noreset")[1]
    assert "num.rxerr=0\n" not in statistics
    # A connection that is refused is no query.
    assert "num.dropped=0\n" in statistics
    wait_for("an answer for who has stopped",
             lambda: not is_refused(server.port))
    # The end is told with the next thing that is done.
    wait_for("the word of it", lambda: is_refused(server.port)
             or "tcp-cpu-limit unblock target 127.0.0.1/32"
             in server.read_log())


def test_handshakes(make_server, directory):
    key, cert = Authority(directory / "certificates").sign("ns.example")
    port = free_port()
    server = make_server(zones={"example": zone_text()}, options={
        "ip-address": ["127.0.0.1", f"127.0.0.1@{port}"], "tls-port": port,
        "tls-service-key": f'"{key}"', "tls-service-pem": f'"{cert}"',
        "rrl-ipv4-prefix-length": 32, "tcp-cpu-limit": LIMIT_USEC}).start()
    context = context_for()
    assert ask_tcp(port, ATTACKER, tls=context) == WWW
    with Attackers(handshakes(port), count=4) as attackers:
        server.wait_log(BLOCK)
        wait_for("a handshake that fails", lambda: attackers.broken > 0)
        for _ in range(3):
            assert ask_tcp(port, OTHER, tls=context) == WWW
            assert ask_tcp(server.port, OTHER) == WWW


def ask_much(server):
    """Asks on one connection, and is answered, until that has taken more time
    than the limit allows at once."""
    octets = request() * 1000
    end = cpu_seconds(server) + 4 * LIMIT_USEC / 1e6
    with connect(server.port) as client:
        stream = client.makefile("rb")
        deadline = time.monotonic() + DEADLINE
        while cpu_seconds(server) < end:
            assert time.monotonic() < deadline
            client.sendall(octets)
            for _ in range(1000):
                size = struct.unpack("!H", stream.read(2))[0]
                assert len(stream.read(size)) == size


def test_off_by_default_and_whitelist_and_reconfig(start):
    server = start()
    ask_much(server)
    control.apply(server, tcp_cpu_limit=LIMIT_USEC,
                  tcp_cpu_whitelist=["192.0.2.0/24", "127.0.0.0-127.0.0.1"])
    with Attackers(pipeline(server.port), count=1):
        for _ in range(5):
            assert ask_tcp(server.port, ATTACKER) == WWW
    ask_much(server)
    assert "tcp-cpu-limit" not in server.read_log()
    # A client that stays while the limit begins and ends is served in the end.
    with connect(server.port) as stays:
        del server.options["tcp-cpu-whitelist"]
        control.apply(server)
        with Attackers(pipeline(server.port), count=1):
            server.wait_log(BLOCK)
            wait_for("a connection that is closed",
                     lambda: is_refused(server.port))
            stays.sendall(request())
            control.apply(server, tcp_cpu_limit=0)
            assert stays.recv(1)
            assert ask_tcp(server.port, ATTACKER) == WWW
    ask_much(server)


def test_clients_behind_a_proxy(start):
    """The client that the proxy names is limited, not the proxy."""
    port = free_port()
    server = start(tcp_cpu_limit=LIMIT_USEC, proxy_protocol_port=port,
                   ip_address=["127.0.0.1", f"127.0.0.1@{port}"])
    with Attackers(pipeline(port, header("192.0.2.7", protocol=1))):
        server.wait_log(r"tcp-cpu-limit block target 192\.0\.2\.7/32 "
                        r"client 192\.0\.2\.7$")
        wait_for("a connection that is closed", lambda: is_refused(
            port, first=header("192.0.2.7", protocol=1)))
        for _ in range(10):
            assert ask_tcp(port, ATTACKER,
                           header("192.0.2.8", protocol=1)) == WWW
            assert ask_tcp(server.port, ATTACKER) == WWW
    assert "target 127.0.0.1" not in server.read_log()


def test_a_held_connection_times_out(start):
    """A connection that is held back times out."""
    server = start(tcp_cpu_limit=1, tcp_timeout=2)
    octets = request() * 1000
    with connect(server.port) as client:
        client.sendall(octets)
        server.wait_log(BLOCK)
        client.settimeout(DEADLINE)
        try:
            while client.recv(1 << 20):
                pass
        except ConnectionResetError:
            pass
