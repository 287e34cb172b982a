"""dnstap amid many queries, with receivers of all sorts: each query has its
answer, and each message was sent or is counted as lost."""
import contextlib
import socket

import pytest

import control
from dnstap_receiver import Receiver, octets_of
from harness import DEADLINE, wait_for
from ports import free_port
from test_dnstap import (ask, flood, over_stream, path, query,  # noqa: F401
                         receiver_context, tapped)

pytestmark = pytest.mark.plain

QUERIES = 15000
# The arguments of a receiver; None: there is none.
HOW = {"reads": {}, "stalls": {"stalls": True}, "cuts": {"cuts": 100000},
       "refuses": {"refuses": True}, "absent": None}


def figures(server):
    """Messages that were sent, and lost."""
    rows = dict(line.split("=") for line in control.ask(
        server, "stats_noreset")[1].splitlines())
    return int(rows["dnstap.sent"]), int(rows["dnstap.dropped"])


def check_pairs(frames):
    """Each query has its response behind it, or both were lost."""
    pairs = list(zip(frames[::2], frames[1::2], strict=True))
    assert {(a["type"], b["type"]) for a, b in pairs} == {
        ("AUTH_QUERY", "AUTH_RESPONSE")}
    for first, second in pairs:
        assert octets_of(first)[:2] == octets_of(second)[:2]


def send_long_queries(server, count=20):
    """Queries that are far longer than their responses, so that these are what
    there would be no room for."""
    with socket.create_connection(("127.0.0.1", server.port),
                                  DEADLINE) as sock:
        for _ in range(count):
            assert over_stream(sock, query().to_wire() + bytes(60000))


def check_flood(server):
    before = figures(server)
    flood(server, QUERIES)
    assert server.answer("www.example", "A") == ["192.0.2.1"]
    return before


def is_heard(server, receiver):
    """True if a query and its response come to the receiver soon. What waited
    for the receiver may still fill the collector's room."""
    message = query()
    ask(server, message)
    with contextlib.suppress(AssertionError):
        return wait_for("its frames", lambda: len(receiver.about(
            message.id)) >= 2, 1)
    return False


@pytest.mark.parametrize("how", HOW)
def test_receiver(tapped, path, how):  # noqa: F811
    if HOW[how] is None:
        server = tapped()
        check_flood(server)
        server.wait_log("could not open dnstap-socket-path")
        return
    with Receiver(path, **HOW[how]) as receiver:
        server = tapped()
        if how != "refuses":
            receiver.wait_connected()
        before = check_flood(server)
        if how == "stalls":
            wait_for("lost messages", lambda: send_long_queries(server)
                     or figures(server)[1] > 0)
        if how == "reads":
            # A worker may be faster than the collector: then some are lost.
            wait_for("all messages", lambda: sum(figures(server))
                     - sum(before) >= 2 * QUERIES)
        # The receiver is as it should be from now on.
        receiver.stalls = receiver.refuses = False
        receiver.cuts = None
        sent = figures(server)[0]

        def look():
            flood(server, 50)
            return figures(server)[0] > sent
        wait_for("a receiver that is back", look)
        if how == "stalls":
            wait_for("a pair", lambda: is_heard(server, receiver))
            check_pairs(list(receiver.frames))


def test_receiver_with_another_certificate(tapped, authority,  # noqa: F811
                                           directory):
    from certificates import Authority
    port = free_port()
    context = receiver_context(Authority(directory / "other", "other"),
                               "tap.example", False)
    with Receiver(port, context) as receiver:
        server = tapped(ip=f"127.0.0.1@{port}",
                        tls_server_name="tap.example",
                        tls_cert_bundle=f'"{authority.cert}"')
        check_flood(server)
        server.wait_log(r"could not connect to dnstap-ip|"
                        r"dnstap: the connection to .* has ended")
        assert not receiver.frames
