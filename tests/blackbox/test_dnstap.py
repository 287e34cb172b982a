"""dnstap: a receiver gets the messages that clients sent and got, over each
protocol. Receivers that are absent, or misbehave, hold nobody up."""
import contextlib
import os
import signal
import socket
import ssl
import struct
import subprocess
import time

import dns.flags
import dns.message
import dns.opcode
import dns.rcode
import dns.update
import pytest

import control
from dnstap_receiver import Receiver, message_of
from harness import BUILD, DEADLINE, NSD, wait_for, zone_text
from ports import free_port
from test_proxy import header
from test_taken_over import Taken
from tls_client import Client, context_for

pytestmark = [pytest.mark.plain, pytest.mark.skipif(
    "dnstap" not in subprocess.run([NSD, "-v"], capture_output=True, text=True,
                                   check=True).stderr,
    reason="built without dnstap")]

BOTH = {"log-auth-query-messages": "yes", "log-auth-response-messages": "yes"}


def clause(**more):
    """The clause dnstap: of nsd.conf; "_" stands for "-"."""
    options = {"enable": "yes", **BOTH,
               **{k.replace("_", "-"): v for k, v in more.items()}}
    return "dnstap:\n" + "".join(
        f"\tdnstap-{name}: {v}\n" for name, value in options.items()
        for v in (value if isinstance(value, list) else [value]))


@pytest.fixture
def path(directory):
    """Of the socket of the receiver."""
    return directory / "tap.sock"


@pytest.fixture
def tapped(make_server, path):
    """A server with dnstap, ready to answer; more: of its clause."""
    def start(options=None, extra="", zones=None, program=None, updates=False,
              **more):
        more = {"socket_path": f'"{path}"', **more}
        server = make_server(
            zones=zones or {"example": zone_text()}, options=options,
            extra=extra + clause(**more), updates=updates)
        control.config(server)
        if program:
            server.program = program
        return server.start()
    return start


def over_stream(sock, octets):
    """Sends a message over TCP, and returns the next one."""
    sock.sendall(struct.pack("!H", len(octets)) + octets)
    with sock.makefile("rb") as stream:
        return stream.read(int.from_bytes(stream.read(2), "big"))


def ask(server, message, tcp=False, address="127.0.0.1", source=None):
    """The octets of the reply, and the client's port."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    kind = socket.SOCK_STREAM if tcp else socket.SOCK_DGRAM
    with socket.socket(family, kind) as sock:
        sock.settimeout(DEADLINE)
        sock.bind((source or ("::1" if ":" in address else "127.0.0.1"), 0))
        sock.connect((address, server.port))
        if tcp:
            octets = over_stream(sock, message.to_wire())
        else:
            sock.send(message.to_wire())
            octets = sock.recv(65535)
        return octets, sock.getsockname()[1]


def query(name="www.example", rdtype="A", **more):
    return dns.message.make_query(name, rdtype, **more)


def check_pair(frames, message, reply, source, protocol, server_port,
               client="127.0.0.1", address="127.0.0.1", begin=0,
               zone="example"):
    """A frame of the query, and one of the response."""
    first, second = frames
    assert (first["type"], second["type"]) == ("AUTH_QUERY", "AUTH_RESPONSE")
    for frame in frames:
        assert frame["protocol"] == protocol
        assert frame["family"] == ("INET6" if ":" in client else "INET")
        assert frame["query_address"] == client
        assert frame["query_port"] == source
        assert frame["response_address"] == address
        assert frame["response_port"] == server_port
        wire = dns.name.from_text(zone).to_wire() if zone else None
        assert frame.get("query_zone") == wire
        assert begin <= first["query_time"] <= time.time()
    assert first["query_message"] == message.to_wire()
    assert "response_message" not in first and "response_time" not in first
    assert second["response_message"] == reply
    assert "query_message" not in second
    assert second["query_time"] == first["query_time"]
    assert first["query_time"] <= second["response_time"] <= time.time()


# ---- what is sent


@pytest.mark.parametrize("tcp", [False, True], ids=["udp", "tcp"])
@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_fields(tapped, path, address, tcp):
    with Receiver(path) as receiver:
        server = tapped(options={"ip-address": ["127.0.0.1", "::1"]})
        receiver.wait_connected()
        begin = time.time()
        for name, zone in (("www.example", "example"),
                           ("no.WWW.eXaMpLe", "example"),
                           ("elsewhere.test", None)):
            message = query(name)
            reply, source = ask(server, message, tcp, address)
            check_pair(receiver.wait_about(message.id), message, reply, source,
                       "TCP" if tcp else "UDP", server.port, address, address,
                       begin, zone)


@pytest.mark.parametrize("address", ["0.0.0.0", "::0"])
@pytest.mark.parametrize("tcp", [False, True], ids=["udp", "tcp"])
def test_local_address_of_a_wildcard(tapped, path, address, tcp):
    asked = "127.0.0.2" if address == "0.0.0.0" else "::1"
    client = "127.0.0.1" if address == "0.0.0.0" else "::1"
    with Receiver(path) as receiver:
        server = tapped(options={"ip-address": [
            *(["127.0.0.1"] if client == "::1" else []), address]})
        receiver.wait_connected()
        message = query()
        reply, source = ask(server, message, tcp, asked, client)
        check_pair(receiver.wait_about(message.id), message, reply, source,
                   "TCP" if tcp else "UDP", server.port, client, asked)


def test_fields_over_tls(start_tls, authority, path):
    with Receiver(path) as receiver:
        server = start_tls(more=clause(socket_path=f'"{path}"'))
        receiver.wait_connected()
        message = query()
        with Client(server.tls_port, context_for(authority)) as client:
            source = client.sock.getsockname()[1]
            client.send(message)
            size = struct.unpack("!H", client.read_exactly(2))[0]
            reply = client.read_exactly(size)
        check_pair(receiver.wait_about(message.id), message, reply, source,
                   "DOT", server.tls_port)


@pytest.mark.parametrize("tcp", [False, True], ids=["udp", "tcp"])
@pytest.mark.parametrize("client", ["192.0.2.7", "2001:db8::7"])
def test_client_and_server_of_a_proxy(tapped, path, client, tcp):
    """The client, and the address that it asked, as the proxy names them."""
    port = free_port()
    with Receiver(path) as receiver:
        server = tapped(options={
            "ip-address": ["127.0.0.1", f"127.0.0.1@{port}"],
            "proxy-protocol-port": port})
        receiver.wait_connected()
        message = query()
        head = header(client, 4321)
        if tcp:
            with socket.create_connection(("127.0.0.1", port),
                                          DEADLINE) as sock:
                sock.sendall(head)
                reply = over_stream(sock, message.to_wire())
        else:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
                sock.settimeout(DEADLINE)
                sock.sendto(head + message.to_wire(), ("127.0.0.1", port))
                reply = sock.recv(65535)
        check_pair(receiver.wait_about(message.id), message, reply, 4321,
                   "TCP" if tcp else "UDP", 53, client, client)


def test_a_transfer_has_its_query_and_first_message(tapped, path):
    zone = zone_text() + "".join(f"a{i}\tTXT {'x' * 200}\n"
                                 for i in range(1000))
    with Receiver(path) as receiver:
        server = tapped(zones={"example": zone + "\n"},
                        extra="\tprovide-xfr: 127.0.0.1 NOKEY\n")
        receiver.wait_connected()
        message = query("example", "AXFR")
        wire = message.to_wire()
        with socket.create_connection(("127.0.0.1", server.port),
                                      DEADLINE) as sock:
            sock.sendall(struct.pack("!H", len(wire)) + wire)
            with sock.makefile("rb") as stream:
                first = stream.read(int.from_bytes(stream.read(2), "big"))
                second = stream.read(int.from_bytes(stream.read(2), "big"))
            assert len(first) > 10000 and second
            source = sock.getsockname()[1]
        frames = receiver.wait_about(message.id)
        check_pair(frames, message, first, source, "TCP", server.port)
        # No other message of the transfer follows.
        after = query()
        ask(server, after)
        receiver.wait_about(after.id)
        assert len(receiver.about(message.id)) == 2


@pytest.mark.parametrize("wanted", [True, False])
def test_updates_and_notifies_are_kinds_of_their_own(tapped, path, wanted):
    yes = "yes" if wanted else "no"
    with Receiver(path) as receiver:
        server = tapped(
            extra="\tallow-update: 127.0.0.1 NOKEY\n"
            "\tallow-notify: 127.0.0.1 NOKEY\n",
            log_update_messages=yes, log_notify_messages=yes)
        receiver.wait_connected()
        update = dns.update.Update("example")
        update.add("new", 300, "A", "192.0.2.77")
        reply, _ = ask(server, update)
        assert dns.message.from_wire(reply).rcode() == dns.rcode.NOERROR
        notify = query("example", "SOA")
        notify.set_opcode(dns.opcode.NOTIFY)
        notify.flags &= ~dns.flags.RD
        answer, _ = ask(server, notify)
        last = query()
        ask(server, last)
        receiver.wait_about(last.id)
        if not wanted:
            assert not receiver.about(update.id)
            assert not receiver.about(notify.id)
            return
        first, second = receiver.wait_about(update.id)
        assert first["type"] == "UPDATE_QUERY"
        assert second["type"] == "UPDATE_RESPONSE"
        assert first["query_message"] == update.to_wire()
        assert second["response_message"] == reply
        for frame in first, second:
            assert frame["query_zone"] == b"\7example\0"
            assert frame["response_address"] == "127.0.0.1"
        assert second["response_time"] > first["query_time"]
        # There is no type for NOTIFY: the messages have their opcode.
        first, second = receiver.wait_about(notify.id)
        assert (first["type"], second["type"]) == ("AUTH_QUERY",
                                                   "AUTH_RESPONSE")
        assert first["query_message"] == notify.to_wire()
        assert second["response_message"] == answer


@pytest.mark.parametrize("wanted", ["query", "response"])
def test_one_kind_alone(tapped, path, wanted):
    unwanted = "response" if wanted == "query" else "query"
    with Receiver(path) as receiver:
        server = tapped(**{f"log_auth_{unwanted}_messages": "no"})
        receiver.wait_connected()
        frames = []
        for _ in range(3):
            message = query()
            ask(server, message)
            frames += receiver.wait_about(message.id, 1)
        assert {f["type"] for f in receiver.frames} == {
            f"AUTH_{wanted.upper()}"}
        assert all(f["query_zone"] == b"\7example\0" for f in frames)


def test_identity_and_version(tapped, path):
    with Receiver(path) as receiver:
        server = tapped(send_identity="yes", send_version="yes",
                        identity="here", version="now")
        receiver.wait_connected()
        server.answer("www.example", "A")
        frame = receiver.wait_frames(1)[0]
        assert frame["identity"] == b"here" and frame["version"] == b"now"
        text = server.config.read_text()
        server.config.write_text("".join(
            line for line in text.splitlines(True)
            if "dnstap-identity" not in line and "dnstap-version" not in line))
        assert control.ask(server, "reconfig")[0] == 0
        receiver.wait_connected(2)
        message = query()
        ask(server, message)
        frame = receiver.wait_about(message.id)[0]
        assert frame["identity"] == socket.gethostname().encode()
        assert frame["version"].startswith(b"NSD ")


def test_malformed_queries_and_queries_without_a_reply(tapped, path):
    with Receiver(path) as receiver:
        server = tapped()
        receiver.wait_connected()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            for octets in b"", b"x", b"\xab\xcd\x80" + 9 * b"\0", b"\1\2" * 30:
                sock.sendto(octets, ("127.0.0.1", server.port))
        last = query()
        ask(server, last)
        receiver.wait_about(last.id)
        sent = [f.get("query_message") for f in receiver.frames
                if f["type"] == "AUTH_QUERY"]
        begin = sent.index(b"")
        assert sent[begin:begin + 4] == [
            b"", b"x", b"\xab\xcd\x80" + 9 * b"\0", b"\1\2" * 30]
        # Replies are not replied to.
        assert not [f for f in receiver.frames if f["type"] == "AUTH_RESPONSE"
                    and f["response_message"].startswith(b"\xab\xcd")]


def test_zones_are_chosen(tapped, path):
    with Receiver(path) as receiver:
        server = tapped(zones={"example": zone_text(), "a.test": zone_text(),
                               "b.test": zone_text()})
        receiver.wait_connected()
        text = server.config.read_text()
        server.config.write_text(text + "dnstap:\n\tdnstap-zones: A.test.\n"
                                 "\tdnstap-zones: example\n")
        assert control.ask(server, "reconfig")[0] == 0
        receiver.wait_connected(2)
        seen = []
        for name in "www.a.test", "www.b.test", "www.example", "elsewhere":
            message = query(name)
            ask(server, message)
            seen.append(message.id)
        receiver.wait_about(seen[2])
        assert [len(receiver.about(i)) for i in seen] == [2, 0, 2, 0]


def test_workers_write_no_records_of_other_zones(tapped, path):
    """A ring that nobody reads is full after some thousand queries. Those of
    other zones take no room in it."""
    large = zone_text() + "".join(
        f'large\tTXT "{letter * 200}"\n' for letter in "abcde")
    with Receiver(path) as receiver:
        server = tapped(zones={"a.test": large, "b.test": large},
                        options={"replace-hung": "no"},
                        extra="dnstap:\n\tdnstap-zones: A.test.\n")
        receiver.wait_connected()
        collector = server.kill("collector", signal.SIGSTOP)
        flood(server, 6000, query("large.b.test", "TXT", use_edns=0,
                                  payload=4096))
        message = query("www.a.test")
        ask(server, message)
        os.kill(collector, signal.SIGCONT)
        receiver.wait_about(message.id)
        assert lost(server) == 0


def test_a_sample_has_queries_with_their_responses(tapped, path):
    count, rate = 4000, 10
    with Receiver(path) as receiver:
        server = tapped(sample=rate)
        receiver.wait_connected()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.settimeout(DEADLINE)
            for _ in range(count // 50):
                for _ in range(50):
                    message = query()
                    sock.sendto(message.to_wire(), ("127.0.0.1", server.port))
                for _ in range(50):
                    sock.recv(65535)
        control.ask(server, "status")
        wait_for("frames", lambda: len(receiver.frames)
                 > 2 * count / rate * 0.7)
        pairs = list(zip(receiver.frames[::2], receiver.frames[1::2]))
        for first, second in pairs:
            assert first["type"] == "AUTH_QUERY"
            assert second["type"] == "AUTH_RESPONSE"
            assert message_of(first).id == message_of(second).id
        assert len(pairs) < count / rate * 1.4


# ---- receivers


def test_programs_of_others_read_it(tapped, path, directory):
    out = directory / "out.fstrm"
    capture = subprocess.Popen(["fstrm_capture", "-t",
                                "protobuf:dnstap.Dnstap", "-u", str(path),
                                "-w", str(out)])
    try:
        wait_for("its socket", path.exists)
        server = tapped()
        server.wait_log("dnstap: connected to")
        reply, source = ask(server, query())
        # Records that were taken are sent before the end.
        server.stop()
    finally:
        capture.terminate()
        capture.wait(DEADLINE)
    text = subprocess.run(["dnstap-read", str(out)], check=True,
                          capture_output=True, text=True,
                          timeout=DEADLINE).stdout
    first, second = text.splitlines()[-2:]
    assert (f"AQ 127.0.0.1:{source} -> 127.0.0.1:{server.port} UDP "
            in first)
    assert (f"AR 127.0.0.1:{source} <- 127.0.0.1:{server.port} UDP "
            f"{len(reply)}b www.example/IN/A" in second)


def lost(server):
    code, text = control.ask(server, "stats_noreset")
    assert code == 0
    return int(text.split("dnstap.dropped=")[1].split()[0])


def test_receiver_that_comes_later(tapped, path):
    server = tapped()  # messages of the time before come, too
    server.wait_log("could not open dnstap-socket-path: .*tap.sock, ")
    assert "dnstap has no receiver" in control.ask(server, "status")[1]
    messages = [query() for _ in range(3)]
    for message in messages:
        ask(server, message)
    with Receiver(path) as receiver:
        for message in messages:
            receiver.wait_about(message.id)
        assert "no receiver" not in control.ask(server, "status")[1]
    # The receiver goes, and comes back.
    server.wait_log("dnstap: the connection to .* has ended")
    with Receiver(path) as receiver:
        receiver.wait_connected()
        message = query()
        ask(server, message)
        receiver.wait_about(message.id)
    assert server.read_log().count("could not open dnstap-socket-path") <= 3


def flood(server, count, message=None):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(DEADLINE)
        wire = (message or query("txt.example", "TXT")).to_wire()
        for _ in range(count // 50):
            for _ in range(50):
                sock.sendto(wire, ("127.0.0.1", server.port))
            for _ in range(50):
                sock.recv(65535)


def test_receiver_that_stalls(tapped, path):
    """Queries are answered, messages are lost and counted, and the end is as
    soon as ever."""
    with Receiver(path, stalls=True) as receiver:
        server = tapped()
        receiver.wait_connected()

        def is_full():
            flood(server, 5000)
            return lost(server) > 0
        wait_for("lost messages", is_full)
        server.wait_log(r"dnstap: \d+ messages were lost")
        assert server.answer("www.example", "A") == ["192.0.2.1"]
        assert control.ask(server, "reconfig")[0] == 0
        begin = time.monotonic()
        server.stop()
        assert time.monotonic() - begin < 20


@pytest.mark.lasts(12)
def test_receiver_that_accepts_no_connection(tapped, path):
    """The log says so, whether there is room for connections that wait, or
    none."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen(0)
        server = tapped()
        server.wait_log("could not open dnstap-socket-path: .*tap.sock, "
                        "the receiver does not answer")
        # As many as may wait, which does not block.
        with contextlib.ExitStack() as stack:
            for _ in range(3):
                client = stack.enter_context(socket.socket(socket.AF_UNIX))
                client.setblocking(False)
                with contextlib.suppress(BlockingIOError):
                    client.connect(str(path))
            known = len(server.read_log())
            server.config.write_text(server.config.read_text()
                                     + 'dnstap:\n\tdnstap-identity: "x"\n')
            assert control.ask(server, "reconfig")[0] == 0
            server.wait_log("could not open dnstap-socket-path: .*tap.sock, "
                            "the receiver accepts no connection", known)


def test_receiver_that_closes_within_a_frame(tapped, path):
    with Receiver(path, cuts=250) as receiver:
        server = tapped()
        receiver.wait_connected()
        for _ in range(5):
            ask(server, query())
        server.wait_log("dnstap: the connection to .* has ended")
        receiver.cuts = None
        receiver.wait_connected(2)
        message = query()
        ask(server, message)
        receiver.wait_about(message.id)


def test_receiver_that_refuses_dnstap(tapped, path):
    with Receiver(path, refuses=True) as receiver:
        server = tapped()
        server.wait_log("refuses dnstap")
        assert server.answer("www.example", "A") == ["192.0.2.1"]
        receiver.refuses = False
        receiver.wait_connected()
        message = query()
        ask(server, message)
        receiver.wait_about(message.id)


def test_over_tcp(tapped):
    port = free_port()
    with Receiver(port) as receiver:
        server = tapped(ip=f"127.0.0.1@{port}", tls="no")
        receiver.wait_connected()
        message = query()
        reply, source = ask(server, message)
        check_pair(receiver.wait_about(message.id), message, reply, source,
                   "UDP", server.port)


def receiver_context(authority, domain, mutual=False):
    key, cert = authority.sign(domain)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    if mutual:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(authority.cert)
    return context


@pytest.mark.parametrize("mutual", [False, True])
def test_over_tls(tapped, authority, mutual):
    port = free_port()
    own = {}
    if mutual:
        key, cert = authority.sign("collector.example")
        own = {"tls_client_key_file": f'"{key}"',
               "tls_client_cert_file": f'"{cert}"'}
    context = receiver_context(authority, "tap.example", mutual)
    with Receiver(port, context) as receiver:
        server = tapped(ip=f"127.0.0.1@{port}",
                        tls_server_name="tap.example",
                        tls_cert_bundle=f'"{authority.cert}"', **own)
        receiver.wait_connected()
        message = query()
        reply, source = ask(server, message)
        check_pair(receiver.wait_about(message.id), message, reply, source,
                   "UDP", server.port)


@pytest.mark.parametrize("fault", ["name", "authority", "own", "plain"])
def test_tls_that_does_not_come_about(tapped, authority, directory, fault):
    """A receiver that is not the right one gets nothing."""
    from certificates import Authority
    port = free_port()
    other = Authority(directory / "other", "other")
    context = None if fault == "plain" else receiver_context(
        other if fault == "authority" else authority,
        "else.example" if fault == "name" else "tap.example",
        fault == "own")
    with Receiver(port, context) as receiver:
        server = tapped(ip=f"127.0.0.1@{port}",
                        tls_server_name="tap.example",
                        tls_cert_bundle=f'"{authority.cert}"')
        server.wait_log(r"could not connect to dnstap-ip|"
                        r"dnstap: the connection to .* has ended")
        assert server.answer("www.example", "A") == ["192.0.2.1"]
        assert not receiver.frames
        server.stop()


# ---- processes


def test_collector_that_is_killed(tapped, path):
    """The next collector goes on where that was."""
    with Receiver(path) as receiver:
        server = tapped()
        receiver.wait_connected()
        old = server.kill("collector")
        message = query()
        ask(server, message)
        server.wait_log(r"collector \(pid \d+\) was killed by signal 9,"
                        " replacing it")
        receiver.wait_about(message.id)
        assert server.roles()["collector"] != old


def test_worker_that_is_killed(tapped, path):
    with Receiver(path) as receiver:
        server = tapped()
        receiver.wait_connected()
        for _ in range(4):
            message = query()
            ask(server, message)
            receiver.wait_about(message.id)
            old = server.kill("server 1")
            server.wait_replaced("server 1", old)
            server.wait_answer()


def test_worker_that_writes_garbage_into_its_ring(tapped, path):
    """The records of this worker are lost, and no others."""
    with Receiver(path) as receiver:
        server = tapped(options={"server-count": 2}, updates=True,
                        program=BUILD / "tests/lib/nsd_taken")
        receiver.wait_connected()
        collector = server.role("collector")
        taken = Taken(server)
        for size in 8, 24, 4096, 200000:
            # The kernel writes random octets there.
            for _ in range(3):
                assert taken.call("server-1", f"getrandom @ring {size} 0")[
                    0] > 0
                ask(server, query())

        def comes():
            message = query()
            ask(server, message)
            time.sleep(0.01)
            return len(receiver.about(message.id)) == 2
        wait_for("records of the other worker", comes)
        server.wait_replaced("server 1", server.kill("server 1"))
        server.wait_serving()
        for _ in range(50):
            message = query()
            ask(server, message)
            receiver.wait_about(message.id)
        assert server.role("collector") == collector


def test_reconfig_switches_it(tapped, path):
    """On, off, and to another receiver: nobody else is replaced."""
    other = path.with_name("other.sock")
    with Receiver(path) as receiver, Receiver(other) as second:
        server = tapped(enable="no")
        pids = server.roles()
        assert "collector" not in pids
        ask(server, query())
        text = server.config.read_text()
        server.config.write_text(text.replace("dnstap-enable: no",
                                              "dnstap-enable: yes"))
        assert control.ask(server, "reconfig")[0] == 0
        receiver.wait_connected()
        message = query()
        ask(server, message)
        receiver.wait_about(message.id)
        assert len(receiver.frames) == 2
        server.config.write_text(server.config.read_text().replace(
            str(path), str(other)))
        assert control.ask(server, "reconfig")[0] == 0
        second.wait_connected()
        wait_for("the end of the first", lambda: receiver.stopped == 1)
        message = query()
        ask(server, message)
        second.wait_about(message.id)
        server.config.write_text(server.config.read_text().replace(
            "dnstap-enable: yes", "dnstap-enable: no"))
        assert control.ask(server, "reconfig")[0] == 0
        wait_for("its end", lambda: "collector" not in server.roles())
        wait_for("the end of the second", lambda: second.stopped == 1)
        ask(server, query())
        assert server.roles() == pids


def test_many_workers_share_a_collector(tapped, path):
    count = 4
    with Receiver(path) as receiver:
        server = tapped(options={"server-count": count})
        receiver.wait_connected()
        sent = [f"n{i}.example." for i in range(200)]
        for name in sent:
            ask(server, query(name))

        def seen():
            names = [message_of(f).question[0].name.to_text()
                     for f in list(receiver.frames)]
            return sorted(name for name in names if name in sent)
        wait_for("all of them", lambda: len(seen()) >= 2 * len(sent))
        assert seen() == sorted(2 * sent)


def test_figures(tapped, path):
    with Receiver(path) as receiver:
        server = tapped()
        receiver.wait_connected()
        for _ in range(5):
            ask(server, query())
        receiver.wait_frames(10)
        wait_for("the count", lambda: "dnstap.sent=12"
                 in (text := control.ask(server, "stats_noreset")[1])
                 or "dnstap.sent=10" in text)
        assert lost(server) == 0
