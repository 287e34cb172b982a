"""Connections of one network keep those of no other out of the TLS control port
and of that for metrics: those of the network that has most make room."""

import contextlib
import socket
import threading

import pytest

import control
import control_keys
from control_keys import client_context, read_hello
from harness import DEADLINE, zone_text
from ports import free_port

STRANGERS = "127.0.2.1"  # another /24 than the operator's


@pytest.fixture
def keys(directory):
    return control_keys.make(directory / "keys")


@pytest.fixture
def server(make_server, keys):
    return control_keys.start(
        make_server(zones={"example": zone_text()}, options={
            "metrics-enable": "yes", "metrics-interface": "127.0.0.1",
            "metrics-port": free_port()}), keys)


def connect(port, source):
    return socket.create_connection(("127.0.0.1", port), timeout=DEADLINE,
                                    source_address=(source, 0))


def send_begin(sock, octets):
    """Room may have been made by then."""
    with contextlib.suppress(OSError):
        sock.sendall(octets)


class Flood:
    """Strangers that come one after the other, as fast as they are let in, until
    it ends."""

    def __init__(self, port, octets):
        self.port, self.octets, self.ends = port, octets, False
        self.thread = threading.Thread(target=self.run)

    def run(self):
        held = []
        while not self.ends:
            with contextlib.suppress(OSError):
                held.append(connect(self.port, STRANGERS))
                send_begin(held[-1], self.octets)
            if len(held) > 300:
                held.pop(0).close()
        for sock in held:
            sock.close()

    def __enter__(self):
        self.thread.start()

    def __exit__(self, *_):
        self.ends = True
        self.thread.join()


@pytest.mark.parametrize("nets", [1, 40])
@pytest.mark.parametrize("half", [False, True], ids=["silent", "half a hello"])
def test_operator_is_not_sent_away_for_strangers(server, keys, half, nets):
    """The operator's client is kept, also beside strangers of more networks
    than there are places for each."""
    octets = read_hello(client_context(keys))[:100] if half else b""
    with connect(server.control_port, "127.0.0.1") as plain, \
            contextlib.ExitStack() as strangers:
        for i in range(300):
            sock = strangers.enter_context(
                connect(server.control_port, f"127.0.{1 + i % nets}.1"))
            send_begin(sock, octets)
        # The operator's connection came behind them all.
        assert control.ask(server, "status")[0] == 0
        context = client_context(keys)
        with context.wrap_socket(plain, server_hostname="nsd") as client:
            client.sendall(b"NSDCT1  status\n")
            assert control.read_all(client).startswith("version: ")


@pytest.mark.parametrize("half", [False, True], ids=["silent", "half a hello"])
def test_tool_gets_in_amid_a_flood_of_strangers(server, keys, half):
    octets = read_hello(client_context(keys))[:100] if half else b""
    with Flood(server.control_port, octets):
        for _ in range(5):
            assert control.ask(server, "status")[0] == 0


def test_strangers_send_away_no_reader_of_metrics(server):
    port = server.options["metrics-port"]
    request = b"GET /metrics HTTP/1.0\r\n\r\n"
    with connect(port, "127.0.0.1") as reader, \
            contextlib.ExitStack() as strangers:
        for _ in range(100):
            strangers.enter_context(connect(port, STRANGERS))
        with connect(port, STRANGERS) as last:
            last.sendall(request)
            assert control.read_all(last).startswith("HTTP/1.1 200 ")
        reader.sendall(request)
        assert control.read_all(reader).startswith("HTTP/1.1 200 ")
