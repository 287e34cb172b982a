"""Options of sockets by a reconfig: main sets them anew on those that it has,
while workers serve them."""

import os
import pathlib
import socket
import struct

import pytest

import dns.message
import dns.query

import control
from harness import sockets_of, zone_text

pytestmark = pytest.mark.plain

SO_SNDBUFFORCE = 32


@pytest.fixture
def server(make_server):
    server = make_server(zones={"example": zone_text(1)},
                         options={"server-count": 2})
    return control.config(server).start()


def of_workers(server, kind, look):
    """The results of look for each socket of both workers."""
    return {look(sock) for name in ("server 1", "server 2")
            for sock in sockets_of(server.role(name))
            if sock.family == socket.AF_INET and sock.type == kind}


def buffer(which):
    """The size of a buffer as requested: the kernel reports twice that."""
    return lambda sock: sock.getsockopt(socket.SOL_SOCKET, which) // 2


def backlog(sock):
    """tcpi_sacked of a socket that listens."""
    info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
    return struct.unpack_from("I", info, 28)[0] if info[0] == 10 else None


def connect(server):
    client = socket.create_connection((server.address, server.port))
    client.settimeout(30)
    return client


def asks(client):
    dns.query.send_tcp(client, dns.message.make_query("example", "SOA"))
    return bool(dns.query.receive_tcp(client)[0].answer)


def segment(client):
    return client.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG)


def test_buffers_have_other_sizes(server):
    sizes = {"send_buffer_size": socket.SO_SNDBUF,
             "receive_buffer_size": socket.SO_RCVBUF}
    before = {which: of_workers(server, socket.SOCK_DGRAM, buffer(which))
              for which in sizes.values()}
    for option, which in sizes.items():
        control.apply(server, **{option: 100000})
        assert of_workers(server, socket.SOCK_DGRAM, buffer(which)) == {
            100000}
        others = {other: of_workers(server, socket.SOCK_DGRAM, buffer(other))
                  for other in sizes.values() if other != which}
        assert all(before[other] == size for other, size in others.items())
        control.apply(server, **{option: None})
        assert of_workers(server, socket.SOCK_DGRAM,
                          buffer(which)) == before[which]
        assert server.serial("example") == 1


def test_segments_of_new_connections_are_smaller(server):
    with connect(server) as old:
        assert asks(old)
        assert segment(old) > 600
        control.apply(server, tcp_mss=500)
        assert asks(old)
        for _ in range(8):  # with both workers
            with connect(server) as client:
                assert asks(client)
                assert 450 < segment(client) <= 500  # with its options
        # Sockets of a later worker, too.
        server.wait_replaced("server 1", server.kill("server 1"))
        for _ in range(8):
            with connect(server) as client:
                assert asks(client)
                assert 450 < segment(client) <= 500  # with its options
        control.apply(server, tcp_mss=0)
        with connect(server) as client:
            assert asks(client)
            assert segment(client) > 600


def test_what_the_system_refuses_is_said(server):
    known = len(server.read_log())
    control.apply(server, tcp_mss=1)
    server.wait_log("cannot set tcp-mss: Invalid argument", known)
    with connect(server) as client:
        assert asks(client)


def test_backlog_is_another_one(server):
    def look():
        return of_workers(server, socket.SOCK_STREAM, backlog) - {None}

    before = look()
    with connect(server) as old:
        assert asks(old)
        for value in (7, 3):
            control.apply(server, tcp_listen_queue=value)
            assert look() == {value}
        control.apply(server, tcp_listen_queue=-1)
        assert look() == before
        assert asks(old)


def may_force():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        try:
            sock.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 100000)
        except OSError:
            return False
    return True


def maximum():
    """The largest size of either buffer without privileges."""
    return max(int(pathlib.Path(f"/proc/sys/net/core/{which}mem_max")
                   .read_text()) for which in "rw")


@pytest.mark.skipif(os.geteuid() != 0 or not may_force()
                    or maximum() > 2**28, reason="large buffers need root")
def test_buffers_that_take_root_wait_for_a_restart(make_server):
    large = 2 * maximum()
    server = make_server(
        zones={"example": zone_text(1)},
        options={"server-count": 2, "username": "nobody",
                 "send-buffer-size": large, "receive-buffer-size": large})
    for path in (server.directory, *server.directory.iterdir()):
        os.chown(path, 65534, 65534)
    control.config(server).start()

    def sizes(which):
        return of_workers(server, socket.SOCK_DGRAM, buffer(which))

    assert sizes(socket.SO_SNDBUF) == sizes(socket.SO_RCVBUF) == {large}
    for identity in ('"one"', '"two"'):
        text = control.apply(server, send_buffer_size=large + 1,
                             identity=identity)
        assert ("server: send-buffer-size has changed: that waits for a"
                " restart\n") in text
        assert "changes applied" in text
        assert sizes(socket.SO_SNDBUF) == {large}
    assert "send-buffer-size" in control.ask(server, "status")[1]
    text = control.apply(server, send_buffer_size=100000)
    assert "restart" not in text
    assert sizes(socket.SO_SNDBUF) == {100000}
    # An unchanged size stays, with any privileges.
    assert sizes(socket.SO_RCVBUF) == {large}
