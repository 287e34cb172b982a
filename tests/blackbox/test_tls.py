"""DNS over TLS (RFC 7858): certificates, versions, tickets, and clients that
mean no good (fault 38). Who may have what: test_tls_access.py."""
import os
import pathlib
import random
import re
import resource
import signal
import socket
import ssl
import struct
import subprocess

import dns.edns
import dns.message
import dns.query
import dns.rcode
import dns.tsigkeyring
import pytest

import control
from away import while_away
from certificates import Authority
from harness import (DEADLINE, LATE, open_files, wait_for,
                     zone_text)
from ports import free_port
from tls_client import Client, context_for

pytestmark = pytest.mark.plain

WWW = ["192.0.2.1"]
SECRET = "c2VjcmV0IG9mIHRoaXJ0eS10d28gb2N0ZXRzISEhISE="


# ---- what clients get


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2,
                                     ssl.TLSVersion.TLSv1_3])
def test_answers(start_tls, authority, version):
    server = start_tls()
    with Client(server.tls_port, context_for(authority,
                                             version=version)) as client:
        assert client.address() == WWW
        assert client.sock.selected_alpn_protocol() == "dot"
        # The next is on the same connection.
        assert client.address() == WWW


def test_old_versions_are_refused(start_tls):
    server = start_tls()
    context = context_for(version=ssl.TLSVersion.TLSv1_1)
    context.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.raises((ssl.SSLError, OSError)):
        Client(server.tls_port, context)


def test_alpn(start_tls):
    """RFC 7301 section 3.2: a client that names protocols must name ours."""
    server = start_tls()
    with Client(server.tls_port, context_for(alpn=())) as client:
        assert client.address() == WWW
    with Client(server.tls_port, context_for(alpn=("x", "dot"))) as client:
        assert client.address() == WWW
    with pytest.raises(ssl.SSLError):
        Client(server.tls_port, context_for(alpn=("h2", "dotty")))


def test_wrong_name_and_authority_are_seen_by_the_client(start_tls, authority,
                                                         directory):
    server = start_tls()
    with pytest.raises(ssl.SSLCertVerificationError):
        Client(server.tls_port, context_for(authority), name="other.example")
    other = Authority(directory / "other")
    with pytest.raises(ssl.SSLCertVerificationError):
        Client(server.tls_port, context_for(other))


def test_many_requests_at_once(start_tls, authority):
    server = start_tls()
    requests = [dns.message.make_query("www.example", "A")
                for _ in range(500)]
    with Client(server.tls_port, context_for(authority)) as client:
        client.send(*requests)
        for request in requests:
            reply = client.receive()
            assert reply.id == request.id and reply.answer


def padded(request):
    request.use_edns(options=[dns.edns.GenericOption(12, b"\0" * 20)])
    return request


def test_padding(start_tls, authority):
    """RFC 8467 section 4.1: blocks of 468, for those who pad."""
    server = start_tls(more="\tprovide-xfr: 127.0.0.1 NOKEY\n"
                       "\tprovide-xfr: 127.0.0.1 key\nkey:\n\tname: key\n"
                       f"\tsecret: {SECRET}\n")
    with Client(server.tls_port, context_for(authority)) as client:
        for name, rdtype in (("www.example", "A"), ("no.example", "A"),
                             ("example", "SOA"), ("elsewhere", "A")):
            client.send(padded(dns.message.make_query(name, rdtype)))
            size = struct.unpack("!H", client.read_exactly(2))[0]
            assert size == 468
            reply = dns.message.from_wire(client.read_exactly(size))
            assert [o.otype for o in reply.options][-1] == 12
        client.send(dns.message.make_query("www.example", "A", use_edns=0))
        assert not client.receive().options
        # A transfer has the option in each message, signed or not.
        for keyring in None, dns.tsigkeyring.from_text({"key": SECRET}):
            request = padded(dns.message.make_query("example", "AXFR"))
            if keyring:
                request.use_tsig(keyring)
            client.send(request)
            size = struct.unpack("!H", client.read_exactly(2))[0]
            assert size % 468 == 0
            reply = dns.message.from_wire(
                client.read_exactly(size), keyring=keyring,
                request_mac=request.mac, one_rr_per_rrset=False)
            assert reply.had_tsig == bool(keyring)
            assert len(reply.answer) > 2
            assert [o.otype for o in reply.options] == [12]
    plain = dns.query.tcp(padded(dns.message.make_query("www.example", "A")),
                          "127.0.0.1", LATE, server.port)
    assert plain.answer and not plain.options


def test_octets_one_by_one(start_tls, authority):
    """A request with a TLS record for each octet."""
    server = start_tls()
    wire = dns.message.make_query("www.example", "A").to_wire()
    with Client(server.tls_port, context_for(authority)) as client:
        for octet in struct.pack("!H", len(wire)) + wire:
            client.sock.sendall(bytes([octet]))
        assert client.receive().answer


def has_read(port, client):
    """True once the server has read all that the kernel has for it of a
    client."""
    own, theirs = f":{port:04X}", f":{client.getsockname()[1]:04X}"
    for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[1].endswith(own) and fields[2].endswith(theirs):
            return fields[4].endswith(":00000000")
    return False


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2,
                                     ssl.TLSVersion.TLSv1_3])
def test_large_requests_in_large_records(start_tls, authority, version):
    """Octets in TLS's buffer are read though the socket has no more."""
    server = start_tls()
    context = context_for(authority, version=version)
    for first in 4000, 5000, 17000:
        for size in 9000, 12000, 20000, 40000, 60000:
            request = dns.message.make_query("www.example", "A", options=[
                dns.edns.GenericOption(12, b"\0" * size)])
            wire = request.to_wire(max_size=65535)
            octets = struct.pack("!H", len(wire)) + wire
            with Client(server.tls_port, context) as client:
                client.sock.sendall(octets[:first])
                wait_for("the first part to be read", lambda: has_read(
                    server.tls_port, client.sock))
                client.sock.sendall(octets[first:])
                assert client.receive().answer


def big_zone(count):
    return zone_text() + "".join(f"h{n} IN TXT \"{'x' * 200}\"\n"
                                 for n in range(count))


def test_transfer_to_a_client_that_reads_late(start_tls, authority):
    """More than the sockets hold: what is left waits, in the same order."""
    server = start_tls(zones={"example": big_zone(40000)},
                       more="\tprovide-xfr: 127.0.0.1 NOKEY\n")
    with Client(server.tls_port, context_for(authority)) as client:
        client.send(dns.message.make_query("example", "AXFR"),
                    dns.message.make_query("www.example", "A"))
        # Another is answered meanwhile.
        with Client(server.tls_port, context_for(authority)) as other:
            assert other.address() == WWW
        texts = soas = 0
        while soas < 2:
            for rrset in client.receive().answer:
                texts += rrset.rdtype == 16 and len(rrset)
                soas += rrset.rdtype == 6 and len(rrset)
        assert texts == 40001
        assert client.receive().answer


def test_requests_to_udp_are_not_answered_there(start_tls):
    """RFC 7858 section 3.1."""
    server = start_tls()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.connect(("127.0.0.1", server.tls_port))
        client.send(dns.message.make_query("www.example", "A").to_wire())
        with pytest.raises(ConnectionRefusedError):
            client.recv(512)


def heap_kib(server):
    """The worker's private pages, in KiB."""
    status = pathlib.Path(f"/proc/{server.role('server 1')}/status")
    return int(re.search(r"RssAnon:\s+(\d+)", status.read_text())[1])


@pytest.mark.plain_only  # sanitizers keep what is freed
def test_memory_of_connections_comes_back(start_tls, authority):
    server = start_tls(**{"tcp-count": 1000})
    context = context_for(authority, version=ssl.TLSVersion.TLSv1_3)
    clients = [Client(server.tls_port, context)]
    assert clients[0].address() == WWW
    before = heap_kib(server)
    for _ in range(500):
        clients.append(Client(server.tls_port, context))
        assert clients[-1].address() == WWW
    most = heap_kib(server)
    assert most - before > 4000
    for client in clients[1:]:
        client.sock.close()
    wait_for("the memory", lambda:
             heap_kib(server) - before < (most - before) / 4)
    assert clients[0].address() == WWW
    clients[0].sock.close()


# ---- sessions


def test_a_session_is_resumed_by_any_worker(start_tls, authority):
    server = start_tls(**{"server-count": 3})
    context = context_for(authority, version=ssl.TLSVersion.TLSv1_3)
    with Client(server.tls_port, context) as client:
        assert client.address() == WWW
        assert not client.sock.session_reused
        session = client.sock.session
    for _ in range(12):
        with Client(server.tls_port, context, session=session) as client:
            assert client.address() == WWW
            assert client.sock.session_reused
            session = client.sock.session


def test_no_session_of_1_2_is_resumed(start_tls, authority):
    server = start_tls()
    context = context_for(authority, version=ssl.TLSVersion.TLSv1_2)
    with Client(server.tls_port, context) as client:
        assert client.address() == WWW
        session = client.sock.session
    with Client(server.tls_port, context, session=session) as client:
        assert client.address() == WWW
        assert not client.sock.session_reused


def test_sockets_of_a_worker_that_is_down_speak_tls(start_tls, authority):
    """Another worker serves the clients meanwhile, with the same tickets."""
    server = start_tls(mutual=True, **{"server-count": 2})
    context = context_for(authority)
    mine = context_for(authority, client=authority.sign("client.example"))
    session = None

    def look(known):
        nonlocal session
        server.wait_log("server 2 answers for server 1 meanwhile", known)
        for _ in range(3):
            with Client(server.tls_port, context, session=session) as client:
                assert client.address() == WWW
                assert session is None or client.sock.session_reused
                session = client.sock.session
            with Client(server.auth_port, mine) as client:
                assert client.address() == WWW
            with pytest.raises((ssl.SSLError, EOFError, OSError)):
                with Client(server.auth_port, context) as client:
                    client.address()

    def check(known):
        if "was killed" not in server.read_log()[:known]:
            return
        try:
            look(known)
        except (OSError, EOFError):
            # The worker is back, and the old one's connections are cut.
            if "server 1" not in server.roles():
                raise
    while_away(server, "server 1", check)


# ---- certificates


@pytest.mark.parametrize("told", [True, False])
def test_certificates_are_replaced(start_tls, authority, told):
    """Connections that are there stay. Without a signal, they are found."""
    server = start_tls(**{"server-count": 2})
    pids = server.roles()
    with Client(server.tls_port, context_for(authority)) as old:
        assert old.address() == WWW
        before = old.serial()
        authority.sign("ns.example")
        if told:
            server.signal(signal.SIGHUP)
        server.wait_log("certificates of TLS have been read anew")

        def shown():
            with Client(server.tls_port, context_for(authority)) as client:
                assert client.address() == WWW
                return client.serial()
        wait_for("both workers", lambda: before not in
                 {shown() for _ in range(8)})
        assert old.address() == WWW
    assert server.roles()["server 1"] == pids["server 1"]
    assert server.roles()["server 2"] == pids["server 2"]


def test_bad_certificates_replace_nothing(start_tls, authority, directory):
    server = start_tls()
    cert = authority.directory / "ns.example.pem"
    text = cert.read_text()
    cert.write_text("no certificate\n")
    server.signal(signal.SIGHUP)
    server.wait_log("error: tls-service-pem is no certificate that can be "
                    "used")
    server.wait_log("going on with the certificates from before")
    with Client(server.tls_port, context_for(authority)) as client:
        assert client.address() == WWW
    # A worker that comes now has them, too.
    server.kill("server 1")
    server.wait_serving()
    with Client(server.tls_port, context_for(authority)) as client:
        assert client.address() == WWW
    cert.write_text(text)


@pytest.mark.lasts(15)
def test_certificates_are_tried_again(start_tls, authority):
    """A passing failure, such as a lack of descriptors, must not keep old
    certificates in use until they expire. The files are not touched again."""
    server = start_tls()
    main = server.role("main")
    soft, hard = resource.prlimit(main, resource.RLIMIT_NOFILE)
    before = shown_by(server, authority)
    resource.prlimit(main, resource.RLIMIT_NOFILE, (3, hard))
    authority.sign("ns.example")
    server.wait_log("tls-service-key: cannot read .*: Too many open files")
    server.wait_log("going on with the certificates from before")
    assert shown_by(server, authority) == before
    resource.prlimit(main, resource.RLIMIT_NOFILE, (soft, hard))
    server.wait_log("certificates of TLS have been read anew")
    wait_for("the worker", lambda: shown_by(server, authority) != before)


def shown_by(server, authority):
    with Client(server.tls_port, context_for(authority)) as client:
        assert client.address() == WWW
        return client.serial()


def test_reconfig_says_what_came_of_certificates(start_tls, authority):
    """No other setting is taken along with certificates that cannot be used,
    and workers show new ones once it has said so."""
    server = start_tls(ocsp=True, remote=True, **{"server-count": 2})
    workers = server.role("server 1"), server.role("xfrd")
    files = {option: authority.directory / f"ns.example.{end}"
             for option, end in (("tls-service-key", "key"),
                                 ("tls-service-pem", "pem"))}
    files["tls-service-ocsp"] = pathlib.Path(
        server.options["tls-service-ocsp"].strip('"'))
    before = shown_by(server, authority)
    other_key, _ = authority.sign("other.example")
    server.options["identity"] = '"two"'
    server.write_config()
    for option, path in files.items():
        octets = path.read_bytes()
        for bad in (b"", b"nothing\n", other_key.read_bytes()):
            path.unlink()
            path.write_bytes(bad)
            code, text = control.ask(server, "reconfig")
            lines = text.splitlines()
            assert code == 1 and lines[1].startswith(f"error: {option}")
            assert lines[-1] == ("error reconfig refused: nothing has "
                                 "changed")
        path.write_bytes(octets)
    assert shown_by(server, authority) == before
    assert control.ask(server, "reconfig")[1].endswith(
        " has changed\nreconfig completed: changes applied\nok\n")
    authority.sign("ns.example")
    assert control.ask(server, "reconfig") == (
        0, f"reconfig start, read {server.config}\n"
           "the key and the certificates of TLS have been read anew\n"
           "reconfig completed: changes applied\nok\n")
    assert before not in {shown_by(server, authority) for _ in range(8)}
    assert control.ask(server, "reconfig")[1].endswith(
        "no changes detected\nok\n")
    assert workers == (server.role("server 1"), server.role("xfrd"))


def test_reconfig_goes_on_without_what_cannot_be_read(start_tls, authority):
    """A reconfig goes on without a key that it cannot read, such as one of
    root."""
    server = start_tls(remote=True)
    key = authority.directory / "ns.example.key"
    before = shown_by(server, authority)
    key.rename(f"{key}.away")
    server.options["identity"] = '"two"'
    server.write_config()
    warning = ("warning: the key and the certificates of TLS stay as they "
               f"are: tls-service-key: cannot read {key}: No such file or "
               "directory\n")
    xfrd = server.role("xfrd")
    for end in "reconfig completed: changes applied", "no changes detected":
        code, text = control.ask(server, "reconfig")
        assert code == 0 and warning in text
        assert text.endswith(f"{end}\nok\n")
    assert server.role("xfrd") == xfrd
    assert "cannot read" not in control.ask(server, "status")[1]
    assert shown_by(server, authority) == before


def test_worker_that_dies_of_certificates(start_tls, authority):
    """Main goes on with the old ones, and tries again."""
    server = start_tls(**{"server-count": 1, "replace-hung": "no"})
    before = shown_by(server, authority)
    pid = server.role("server 1")
    os.kill(pid, signal.SIGSTOP)
    authority.sign("ns.example")
    server.signal(signal.SIGHUP)
    wait_for("the question", lambda: "pipe:" in " ".join(
        open_files(server.role("main")).values()))
    os.kill(pid, signal.SIGKILL)
    # On a busy machine the time for its verdict may be over by then.
    server.wait_log("keys and certificates could not be tried: "
                    "(who tried them has died|it took too long)")
    server.wait_log("going on with the certificates from before")
    server.wait_log("certificates of TLS have been read anew")
    wait_for("the worker", lambda: shown_by(server, authority) != before)


def test_worker_that_says_nothing_is_asked_last(start_tls, authority):
    """Main asks another one at the next try, and the first one gets the
    certificates once it goes on."""
    server = start_tls(**{"server-count": 2, "replace-hung": "no"})
    before = shown_by(server, authority)
    pid = server.role("server 1")
    os.kill(pid, signal.SIGSTOP)
    authority.sign("ns.example")
    server.signal(signal.SIGHUP)
    server.wait_log("could not be tried: it took too long")
    server.wait_log("certificates of TLS have been read anew")
    os.kill(pid, signal.SIGCONT)
    wait_for("both workers", lambda: before not in {
        shown_by(server, authority) for _ in range(8)})
    assert server.role("server 1") == pid


def stapled(server, authority):
    """The time until which the OCSP response that a client gets is valid."""
    output = subprocess.run(
        ["openssl", "s_client", "-connect", f"127.0.0.1:{server.tls_port}",
         "-status", "-CAfile", str(authority.cert)],
        input=b"", capture_output=True, timeout=DEADLINE, check=False).stdout
    assert b"OCSP Response Status: successful" in output
    return re.search(rb"Next Update: (.*)", output).group(1)


@pytest.mark.lasts(10)
@pytest.mark.parametrize("told", [True, False])
def test_ocsp(start_tls, authority, told):
    """A new response is shown once it is there, even if nothing else is
    new."""
    server = start_tls(ocsp=True, **{"server-count": 2})
    before = stapled(server, authority)
    authority.answer_ocsp("ns.example", days=9)
    if told:
        server.signal(signal.SIGHUP)
    server.wait_log("certificates of TLS have been read anew")
    wait_for("both workers", lambda: before not in
             {stapled(server, authority) for _ in range(8)})


# ---- clients that mean no good


def garbage(generator):
    """Octets that are no TLS, or begin like it."""
    kind = generator.randrange(4)
    if kind == 0:
        return dns.message.make_query("www.example", "A").to_wire()
    if kind == 1:
        return generator.randbytes(generator.randrange(1, 4000))
    length = generator.randrange(1, 600)
    if kind == 2:  # a record of a handshake
        return (b"\x16\x03\x01" + struct.pack("!H", length)
                + generator.randbytes(length))
    return (b"\x16\x03\x01" + struct.pack("!H", length + 4) + b"\x01\x00"
            + struct.pack("!H", length) + b"\x03\x03"
            + generator.randbytes(length))


def test_garbage(start_tls, authority):
    server = start_tls()
    pid = server.role("server 1")
    generator = random.Random(5)
    for _ in range(300):
        with socket.create_connection(("127.0.0.1", server.tls_port),
                                      timeout=DEADLINE) as client:
            try:
                client.sendall(garbage(generator))
                if generator.random() < 0.3:
                    client.shutdown(socket.SHUT_WR)
                    while client.recv(4096):
                        pass
            except OSError:
                continue
    with Client(server.tls_port, context_for(authority)) as client:
        assert client.address() == WWW
    assert server.role("server 1") == pid


def hello(authority, port):
    """The octets that a client begins with, and the first of the reply."""
    context = context_for(authority)
    received, sent = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(received, sent, server_hostname="ns.example")
    with pytest.raises(ssl.SSLWantReadError):
        tls.do_handshake()
    return sent.read()


def test_half_handshakes_make_room(start_tls, authority):
    """All places are taken by those that do not go on: a newcomer gets in."""
    server = start_tls(**{"tcp-count": 10})
    pid = server.role("server 1")
    octets = hello(authority, server.tls_port)
    half = []
    try:
        for number in range(40):
            client = socket.create_connection(
                ("127.0.0.1", server.tls_port), timeout=DEADLINE)
            half.append(client)
            try:
                client.sendall(octets[:number * len(octets) // 20])
            except OSError:
                pass
        with Client(server.tls_port, context_for(authority)) as client:
            assert client.address() == WWW
        assert server.answer("www.example", "A", tcp=True) == WWW
    finally:
        for client in half:
            client.close()
    assert server.role("server 1") == pid


def test_handshake_that_ends_early(start_tls, authority):
    server = start_tls()
    pid = server.role("server 1")
    octets = hello(authority, server.tls_port)
    for _ in range(50):
        client = socket.create_connection(("127.0.0.1", server.tls_port),
                                          timeout=DEADLINE)
        client.sendall(octets)
        if _ % 2:
            client.recv(1)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                              struct.pack("ii", 1, 0))
        client.close()
    with Client(server.tls_port, context_for(authority)) as client:
        assert client.address() == WWW
    assert server.role("server 1") == pid


def test_close_while_the_server_writes(start_tls, authority):
    """CVE-2026-12245: with a reset, or without a word."""
    server = start_tls(zones={"example": big_zone(5000)},
                       more="\tprovide-xfr: 127.0.0.1 NOKEY\n")
    pid = server.role("server 1")
    for number in range(40):
        with Client(server.tls_port, context_for(authority)) as client:
            client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.send(dns.message.make_query("example", "AXFR"))
            client.read_exactly(1 + number * 100)
            if number % 2:
                client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                       struct.pack("ii", 1, 0))
    with Client(server.tls_port, context_for(authority)) as client:
        assert client.address() == WWW
    assert server.role("server 1") == pid


def test_no_early_data(start_tls):
    """RFC 8446 section 8: early data may be a replay, so tickets allow none."""
    server = start_tls()
    client = subprocess.Popen(
        ["stdbuf", "-o0", "openssl", "s_client", "-connect",
         f"127.0.0.1:{server.tls_port}", "-tls1_3"], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        most = next(line for line in client.stdout if "Max Early" in line)
    finally:
        client.kill()
        client.communicate()
    assert most.split()[-1] == "0"


def test_renegotiation_is_refused(start_tls, authority):
    server = start_tls()
    client = subprocess.Popen(
        ["openssl", "s_client", "-connect", f"127.0.0.1:{server.tls_port}",
         "-tls1_2"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT)
    client.stdin.write(b"R\n")
    client.stdin.flush()
    output, _ = client.communicate(timeout=DEADLINE)
    assert b"no renegotiation" in output
    assert server.answer("www.example", "A") == WWW


def test_updates_of_keys_without_end(start_tls, authority):
    """RFC 8446 section 4.6.3: an update costs us more than the client."""
    server = start_tls()
    pid = server.role("server 1")
    client = subprocess.Popen(
        ["openssl", "s_client", "-connect", f"127.0.0.1:{server.tls_port}",
         "-tls1_3"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT)
    try:
        for _ in range(200):
            client.stdin.write(b"K\n")
            client.stdin.flush()
            os.sched_yield()
    except BrokenPipeError:
        pass
    try:
        client.communicate(timeout=DEADLINE)
    finally:
        client.kill()
    assert server.role("server 1") == pid
    with Client(server.tls_port, context_for(authority)) as again:
        assert again.address() == WWW


def test_plain_and_tls_share_the_limit(start_tls, authority):
    server = start_tls(**{"tcp-count": 1, "tcp-reject-overflow": "yes"})
    with Client(server.tls_port, context_for(authority)) as client:
        assert client.address() == WWW
        with socket.create_connection(("127.0.0.1", server.port),
                                      timeout=DEADLINE) as other:
            assert other.recv(1) == b""
        assert client.address() == WWW


def test_proxy_names_its_client_inside_tls(start_tls, authority):
    """PROXYv2 stands at the head of the stream that TLS carries (faults 40)."""
    port = free_port()
    server = start_tls(more="\tallow-query: 192.0.2.0/24 NOKEY\n", **{
        "tls-port": port, "proxy-protocol-port": port,
        "ip-address": ["127.0.0.1", f"127.0.0.1@{port}"]}, ready=False)
    server.wait_log("nsd started")
    head = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c"
    for source, rcode in ("192.0.2.7", dns.rcode.NOERROR), (
            "198.51.100.7", dns.rcode.REFUSED):
        with Client(port, context_for(authority)) as client:
            client.sock.sendall(head + socket.inet_aton(source)
                                + socket.inet_aton("127.0.0.1")
                                + struct.pack("!HH", 4321, 853))
            request = dns.message.make_query("www.example", "A")
            client.send(request)
            assert client.receive().rcode() == rcode
    # Before the handshake, and absent, it ends the connection.
    with socket.create_connection(("127.0.0.1", port), DEADLINE) as plain:
        plain.sendall(head + bytes(12) + b"\x16\x03\x01")
        assert plain.recv(1) == b""
    with Client(port, context_for(authority)) as client:
        client.send(dns.message.make_query("www.example", "A"))
        with pytest.raises((EOFError, OSError)):
            client.receive()
