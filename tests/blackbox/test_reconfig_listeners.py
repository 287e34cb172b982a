"""reconfig with other sockets of operators: metrics, and the control channel
with its key."""
import contextlib
import http.client
import os
import pathlib
import signal
import socket
import ssl

import pytest

import dns.message
import dns.query

import control
import control_keys
import harness
from control_keys import client_context, talk
from harness import DEADLINE, wait_for, zone_text
from ports import free_port

REFUSED = "error reconfig refused: nothing has changed\n"


@contextlib.contextmanager
def untouched(server):
    """Workers stay, and so does a client's connection."""
    query = dns.message.make_query("www.example", "A")
    workers = server.role("server 1"), server.role("server 2")
    with socket.create_connection((server.address, server.port)) as client:
        client.settimeout(DEADLINE)

        def ask():
            dns.query.send_tcp(client, query)
            assert dns.query.receive_tcp(client)[0].answer
        ask()
        yield
        ask()
    assert workers == (server.role("server 1"), server.role("server 2"))


@pytest.fixture
def made(make_server):
    return make_server(zones={"example": zone_text()},
                       options={"server-count": 2, "replace-hung": "no"})


@pytest.fixture
def server(made):
    return control.config(made).start()


def reconfig_unseen(server, **changed):
    """Past the tool, which would not take such a nsd.conf either."""
    control.change(server, **changed)
    text = control.say(server, b"NSDCT1  reconfig\n")
    return not text.endswith("ok\n"), text


def is_done(said):
    return said[0] == 0 and said[1].endswith(control.APPLIED)


def page(port, path="/metrics", address="127.0.0.1"):
    """The status; None: nobody is there."""
    client = http.client.HTTPConnection(address, port, timeout=DEADLINE)
    try:
        client.request("GET", path)
        return client.getresponse().status
    except OSError:
        return None
    finally:
        client.close()


def status_of(port, wanted, path="/metrics", address="127.0.0.1"):
    """The xfrd that was there goes on for a moment."""
    wait_for(f"{wanted} of {address}@{port}",
             lambda: page(port, path, address) == wanted)


def test_metrics_come_move_and_go(server):
    first, second = free_port(), free_port()
    with untouched(server):
        control.apply(server, metrics_enable="yes",
                      metrics_interface="127.0.0.1",
                      metrics_port=first)
        status_of(first, 200)
        control.apply(server, metrics_port=second)
        status_of(second, 200)
        status_of(first, None)
        # One address stays, another comes.
        control.apply(server, metrics_interface=["127.0.0.1", "127.0.0.2"])
        status_of(second, 200, address="127.0.0.2")
        status_of(second, 200)
        control.apply(server, metrics_path="/other")
        status_of(second, 200, "/other")
        status_of(second, 404)
        control.apply(server, metrics_enable="no")
        status_of(second, None)
        status_of(second, None, address="127.0.0.2")


@pytest.mark.parametrize("changed, why", [
    ({"metrics_port": "TAKEN"}, r"can't bind tcp socket 127.0.0.1@"),
    ({"metrics_interface": "192.0.2.1"}, "can't bind tcp socket 192.0.2.1@"),
    ({"metrics_interface": "nosuch0"}, "metrics-interface: 'nosuch0' is "
     "neither an address nor a network interface"),
    ({"metrics_interface": '"/nosuch/socket"'}, "metrics-interface: can't bind"
     " socket /nosuch/socket: No such file or directory"),
    ({"metrics_port": "70000"}, "nsd.conf:"),
])
def test_metrics_that_cannot_be_had(server, changed, why):
    port = free_port()
    control.apply(server, metrics_enable="yes", identity='"one"',
                  metrics_interface="127.0.0.1", metrics_port=port)
    status_of(port, 200)
    roles = server.roles()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        changed = {name: taken.getsockname()[1] if value == "TAKEN" else value
                   for name, value in changed.items()}
        code, text = reconfig_unseen(server, identity='"two"', **changed)
    assert code == 1 and why in text and text.endswith(REFUSED), text
    assert page(port) == 200
    assert server.identity() == "one"
    assert roles == server.roles()


def test_metrics_do_not_take_the_path_of_the_control_channel(server, directory):
    """The path is open already, and would be shared."""
    control.apply(server, metrics_enable="yes",
                  metrics_interface=f'"{directory}/metrics.sock"')
    code, text = reconfig_unseen(server,
                                 metrics_interface=f'"{server.control}"')
    assert code == 1 and text.endswith(
        "error: metrics-interface: control-interface has the same address or"
        " path\n" + REFUSED), text
    assert control.ask(server, "status")[0] == 0


def listens(server, role, port):
    """Whether a process has a listening socket with that port."""
    return any(sock.family == socket.AF_INET
               and sock.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
               and sock.getsockname()[1] == port
               for sock in harness.sockets_of(server.role(role)))


def test_the_old_socket_is_nobodys(server):
    first, second = free_port(), free_port()
    for port in first, second:
        control.apply(server, metrics_enable="yes",
                      metrics_interface="127.0.0.1",
                      metrics_port=port)
        status_of(port, 200)
    status_of(first, None)
    assert listens(server, "main", second) and listens(server, "xfrd", second)
    for role in server.roles():
        assert not listens(server, role, first), role
    for role in "loader", "server 1", "server 2":
        assert not listens(server, role, second), role
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", first))
        other.listen()


def hup(server, done="reconfig: done"):
    known = len(server.read_log())
    server.write_config()
    server.signal(signal.SIGHUP)
    server.wait_log(done, known)


def test_a_signal_is_refused_in_the_log(made, directory):
    """A refusal by signal is in the log, with its reason, once."""
    port = free_port()
    made.options.update({"metrics-enable": "yes", "reload-config": "yes",
                         "metrics-interface": "127.0.0.1",
                         "metrics-port": port})
    server = control.config(made).start()
    roles = server.roles()
    refused = "error: reconfig: refused, nothing has changed"
    for name, value, why in (
            ("metrics-interface", "192.0.2.1",
             "can't bind tcp socket 192.0.2.1@"),
            ("nonsense", "yes", "nsd.conf:")):
        server.options[name] = value
        known = len(server.read_log())
        hup(server, refused)
        log = server.read_log()[known:]
        assert log.count("192.0.2.1@") == (name != "nonsense")
        assert why in log
        server.options["metrics-interface"] = "127.0.0.1"
    assert page(port) == 200 and roles == server.roles()


def test_taken_back_before_xfrd_looks(made):
    """The address of a socket stays in use until xfrd has heard of the new
    one."""
    first, second = free_port(), free_port()
    made.options.update({
        "metrics-enable": "yes", "metrics-interface": "127.0.0.1",
        "metrics-port": first, "reload-config": "yes"})
    server = control.config(made).start()
    xfrd = server.role("xfrd")
    for port in second, first, second, first:
        server.options["metrics-port"] = port
        hup(server, "reconfig: 1 options")
    # The answer comes when xfrd has followed the last one.
    assert control.ask(server, "reconfig")[0] == 0
    server.options["metrics-port"] = second
    os.kill(xfrd, signal.SIGSTOP)
    hup(server, "reconfig: 1 options")
    server.options["metrics-port"] = first
    hup(server, f"can't bind tcp socket 127.0.0.1@{first}")
    os.kill(xfrd, signal.SIGCONT)
    server.wait_log("reconfig: done")
    status_of(second, 200)
    status_of(first, None)
    hup(server)
    status_of(first, 200)
    status_of(second, None)
    assert server.role("xfrd") == xfrd


@pytest.mark.lasts(11)
def test_xfrd_that_stands_still_is_told_of(made):
    """The others go on with what is new; so does xfrd, later."""
    made.options["reload-config"] = "yes"
    server = control.config(made).start()
    xfrd = server.role("xfrd")
    server.options.update({"identity": '"two"', "zonefiles-write": 77})
    os.kill(xfrd, signal.SIGSTOP)
    known = len(server.read_log())
    hup(server)
    assert ("error changes applied, but not in all processes yet:"
            " xfrd does not answer\n") in server.read_log()[known:]
    assert server.identity() == "two"
    os.kill(xfrd, signal.SIGCONT)
    assert control.ask(server, "status")[0] == 0
    assert server.role("xfrd") == xfrd


def test_those_who_are_there_stay(made):
    """A page in hand is served, and commands go on where they came."""
    first, second = free_port(), free_port()
    made.options.update({
        "metrics-enable": "yes", "metrics-interface": "127.0.0.1",
        "metrics-port": first})
    made.extra = "pattern:\n\tname: p\n"
    server = control.config(made).start()
    xfrd, old = server.role("xfrd"), pathlib.Path(server.control)
    new = server.directory / "other.sock"
    with socket.create_connection(("127.0.0.1", first)) as page_in_hand, \
            socket.socket(socket.AF_UNIX) as lines:
        page_in_hand.settimeout(harness.DEADLINE)
        page_in_hand.sendall(b"GET /metrics HTTP/1.1\r\nHost: a\r\n")
        lines.settimeout(harness.DEADLINE)
        lines.connect(str(old))
        lines.sendall(b"NSDCT1  addzones\na.test p\n")
        assert lines.recv(100).startswith(b"added: a.test")
        server.extra = server.extra.replace(str(old), str(new))
        server.options["metrics-port"] = second
        server.write_config()
        assert is_done(control.ask(server, "-s", old, "reconfig"))
        server.control = str(new)
        status_of(first, None)
        status_of(second, 200)
        assert control.ask(server, "status")[0] == 0
        page_in_hand.sendall(b"\r\n")
        assert control.read_all(page_in_hand).startswith("HTTP/1.1 200 OK\r\n")
        lines.sendall(b"b.test p\n\x04\n")
        assert "added: b.test" in control.read_all(lines)
    assert server.role("xfrd") == xfrd
    assert control.ask(server, "zonestatus", "b.test")[0] == 0


@pytest.mark.parametrize("role", ["xfrd", "loader"])
def test_one_dies_meanwhile(made, role):
    """The next process has the new sockets."""
    first, second = free_port(), free_port()
    made.options.update({
        "metrics-enable": "yes", "metrics-interface": "127.0.0.1",
        "metrics-port": first, "reload-config": "yes"})
    server = control.config(made).start()
    for port, other in (second, first), (first, second), (second, first):
        known = len(server.read_log())
        server.options["metrics-port"] = port
        server.write_config()
        server.signal(signal.SIGHUP)
        pid = server.kill(role)
        server.wait_log("reconfig: done", known)
        server.wait_replaced(role, pid)
        status_of(port, 200)
        status_of(other, None)


def test_control_channel_comes(made):
    """A control channel is added, and zones can then be added: another xfrd is
    let into the folder of their list."""
    made.options["reload-config"] = "yes"
    made.extra = "pattern:\n\tname: p\n"
    made.write_config()
    server = made.start()
    control.config(server)
    hup(server)
    wait_for("an answer", lambda: control.ask(server, "status")[0] == 0)
    assert control.ask(server, "addzone", "a.test", "p") == (0, "ok\n")
    xfrd = server.role("xfrd")
    control.apply(server, identity='"two"')
    assert server.role("xfrd") == xfrd


def test_control_socket_moves(server):
    old = pathlib.Path(server.control)
    new = server.directory / "other.sock"
    with untouched(server):
        text = server.extra
        server.extra = text.replace(str(old), str(new))
        # The tool looks for its server where nsd.conf says.
        server.write_config()
        assert is_done(control.ask(server, "-s", old, "reconfig"))
        server.control = str(new)
        wait_for("an answer", lambda: control.ask(server, "status")[0] == 0)
        with pytest.raises(OSError):
            socket.socket(socket.AF_UNIX).connect(str(old))
        # And back, where the old one lies yet; two at once.
        server.extra = text + f"\tcontrol-interface: {new}\n"
        server.write_config()
        with control.connect(server) as client:
            client.sendall(b"NSDCT1  reconfig\n")
            assert is_done((0, control.read_all(client)))
        for path in old, new:
            server.control = str(path)
            assert wait_for("an answer", lambda: control.say(
                server, b"NSDCT1  status\n")).startswith("version: ")


def test_control_is_turned_off_and_on(made):
    made.options["reload-config"] = "yes"
    server = control.config(made).start()
    text = server.extra
    server.extra = text.replace("control-enable: yes", "control-enable: no")
    server.write_config()
    with control.connect(server) as client:
        client.sendall(b"NSDCT1  reconfig\n")
        assert is_done((0, control.read_all(client)))

    def is_off():
        try:
            control.connect(server).close()
        except ConnectionRefusedError:
            return True
        return False
    wait_for("no channel", is_off)
    server.extra = text
    hup(server)
    wait_for("the channel", lambda: control.ask(server, "status")[0] == 0)


@pytest.mark.parametrize("interface, why", [
    ("{}/nosuch/x", "can't bind socket {}/nosuch/x: No such file or"
     " directory"),
    ("192.0.2.1", "can't bind tcp socket 192.0.2.1@"),
    ("nosuch0", "'nosuch0' is neither an address nor a network interface"),
    ("{}/nsd.conf", "can't bind socket {}/nsd.conf: File exists"),
])
def test_control_that_cannot_be_had(server, interface, why):
    interface, why = (text.format(server.directory)
                      for text in (interface, why))
    roles = server.roles()
    server.extra += f"\tcontrol-interface: {interface}\n"
    server.write_config()
    code, text = control.ask(server, "reconfig")
    assert code == 1 and why in text and text.endswith(REFUSED), text
    assert control.ask(server, "status")[0] == 0
    assert roles == server.roles()


# ---- the key of the control channel


@pytest.fixture
def keys(directory):
    return control_keys.make(directory / "keys")


@pytest.fixture
def secure(made, keys):
    return control_keys.start(made, keys)


def is_served(server, keys):
    try:
        return talk(server, client_context(keys)).startswith("version: ")
    except (OSError, ssl.SSLError):
        return False


def test_another_key_of_the_channel(secure, keys, directory):
    other = control_keys.make(directory / "other")
    with untouched(secure):
        # The same files with other contents.
        moved = keys.rename(directory / "moved")
        other.rename(keys)
        said = talk(secure, client_context(moved), b"NSDCT1  reconfig\n")
        assert is_done((0, said)), said
        wait_for("the other key", lambda: is_served(secure, keys))
        assert not is_served(secure, moved)
        # Other files.
        secure.extra = secure.extra.replace(f"{keys}/", f"{moved}/")
        secure.write_config()
        said = talk(secure, client_context(keys), b"NSDCT1  reconfig\n")
        assert is_done((0, said)), said
        wait_for("the first key", lambda: is_served(secure, moved))
        assert not is_served(secure, keys)
        code, text = control.ask(secure, "reconfig")
        assert code == 0 and "no changes detected" in text


@pytest.mark.parametrize("before", ["off", "path"])
def test_tls_comes_to_the_channel(made, keys, before):
    """An xfrd without TLS, confined, says how its keys are."""
    made.options["reload-config"] = "yes"
    if before == "path":
        control.config(made)
    made.write_config()
    made.start()
    made.extra = ""
    made.control_port = free_port()
    bad = keys / "bad"
    bad.write_text("nothing\n")
    control.config(made, f"control-port: {made.control_port}",
                   *control_keys.options(keys), interface="127.0.0.1")
    good = made.extra
    made.extra = good.replace(f"{keys}/nsd_server.key", str(bad))
    xfrd = made.role("xfrd")
    hup(made, "reconfig: refused, nothing has changed")
    assert "error: server-key-file is no key" in made.read_log()
    assert made.role("xfrd") == xfrd
    made.extra = good
    hup(made)
    wait_for("the channel", lambda: is_served(made, keys))


@pytest.mark.parametrize("what", ["absent", "garbage", "of another"])
def test_bad_key_of_the_channel(secure, keys, directory, what):
    bad = directory / "bad.key"
    if what == "garbage":
        bad.write_text("-----BEGIN PRIVATE KEY-----\nAAAA\n")
    elif what == "of another":
        bad.write_text((keys / "nsd_control.key").read_text())
    roles = secure.roles()
    text = secure.extra
    secure.extra = text.replace(f"{keys}/nsd_server.key", str(bad))
    secure.write_config()
    code, said = control.ask(secure, "reconfig")
    assert code == 1 and "error: server-key-file" in said, said
    assert said.endswith(REFUSED)
    assert roles == secure.roles() and is_served(secure, keys)
    # The key in use stays where its file can no longer be read.
    secure.extra = text
    secure.options["identity"] = '"two"'
    secure.write_config()
    (keys / "nsd_server.key").rename(directory / "away")
    said = control.ask(secure, "reconfig")
    assert is_done(said) and ("warning: the key and the certificate of the "
                              "control channel stay as they are: "
                              "server-key-file: cannot read") in said[1]
    wait_for("the next xfrd", lambda: is_served(secure, keys))


@pytest.mark.skipif(os.geteuid() != 0, reason="another user needs root")
def test_key_of_root_that_stays_is_no_trouble(made, keys, directory):
    """A key that root alone can read, as in Debian, was read at the start. Its
    change is logged."""
    for folder in directory, keys:
        folder.chmod(0o777)
    made.options["username"] = "nobody"
    server = control_keys.start(made, keys)
    key = keys / "nsd_server.key"
    assert key.stat().st_mode & 0o077 == 0
    assert "stay as they are" not in control.ask(server, "reconfig")[1]
    key.write_bytes(key.read_bytes())
    code, said = control.ask(server, "reconfig")
    assert code == 0 and (
        "warning: the key and the certificate of the control channel stay as "
        f"they are: server-key-file: cannot read {key}: Permission denied"
        ) in said


@pytest.mark.skipif(os.geteuid() != 0, reason="another user needs root")
def test_reconfig_is_silent_of_files_of_root_that_stay(start_tls, authority,
                                                       directory):
    """Files that root alone can read, as in Debian, were read at the start.
    Their change is logged."""
    for folder in directory, authority.directory:
        folder.chmod(0o777)
    sign = authority.sign

    def sign_secretly(name):
        made = sign(name)
        made[0].chmod(0o600)
        return made

    authority.sign = sign_secretly
    server = start_tls(remote=True, username="nobody")
    key = authority.directory / "ns.example.key"
    for name in "one", "two":
        xfrd = server.role("xfrd")
        server.options["identity"] = f'"{name}"'
        server.write_config()
        code, text = control.ask(server, "reconfig")
        assert code == 0 and "stay as they are" not in text, text
        assert server.role("xfrd") == xfrd
        assert control.ask(server, "reconfig")[1].endswith(
            "\nreconfig completed: no changes detected\nok\n")
    server.write_zone("example", zone_text(2))
    server.signal(signal.SIGHUP)
    server.wait_serial("example", 2)
    assert "cannot read" not in server.read_log()
    key.write_bytes(key.read_bytes())
    for _ in range(2):
        code, text = control.ask(server, "reconfig")
        assert code == 0 and (
            "warning: the key and the certificates of TLS stay as they are: "
            f"tls-service-key: cannot read {key}: Permission denied\n") in text
    known = len(server.read_log())
    server.signal(signal.SIGHUP)
    server.wait_log(f"tls-service-key: cannot read {key}: Permission denied",
                    known)


# ---- what else xfrd and the writer are forked with


def test_processor_of_xfrd(made):
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        pytest.fail("this machine has one processor only")
    made.options["cpu-affinity"] = f"{cpus[0]} {cpus[1]}"
    server = control.config(made).start()
    for cpu, wanted in (cpus[1], {cpus[1]}), (None, set(cpus[:2])):
        control.apply(server, xfrd_cpu_affinity=cpu)
        wait_for("xfrd there", lambda w=wanted: os.sched_getaffinity(
            server.role("xfrd")) == w)
    none = cpus[-1] + 1
    code, text = control.reconfig(server, xfrd_cpu_affinity=none)
    assert code == 1
    assert (f"error: cpu {none} specified in xfrd-cpu-affinity is not specified"
            " in cpu-affinity\n") in text
    assert text.endswith(REFUSED)


# ---- without root, and in a chroot


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another")
def test_as_another_user_in_a_chroot(made, directory):
    inside = directory / "in"
    for path in directory, inside:
        path.mkdir(exist_ok=True)
        os.chown(path, 65534, 65534)
    outside = directory.with_name(f"{directory.name}-out")
    made.options.update({"username": "nobody", "chroot": f'"{directory}"'})
    if harness.is_sanitized():
        made.look_for_no_leaks()
    # A socket that was bound before the chroot stays.
    control.config(made, f"control-interface: {outside}")
    try:
        server = made.start()
        text = server.extra
        port = free_port()
        with untouched(server):
            control.apply(server, metrics_enable="yes",
                          metrics_interface="127.0.0.1",
                          metrics_port=port)
            status_of(port, 200)
            wait_for("the channel",
                     lambda: control.ask(server, "status")[0] == 0)
            server.extra = text + f"\tcontrol-interface: {inside}/a\n"
            control.apply(server)
            server.control = str(inside / "a")
            wait_for("the other socket", inside.joinpath("a").exists)
            wait_for("an answer there", lambda: control.say(
                server, b"NSDCT1  status\n").startswith("version: "))
            server.control = str(outside)
            assert control.say(server, b"NSDCT1  status\n")
            # Again, now that main is inside.
            server.extra += f"\tcontrol-interface: {inside}/b\n"
            control.apply(server)
            wait_for("an answer", lambda: control.ask(
                server, "status")[0] == 0)
            roles = server.roles()
            code, said = control.reconfig(server, metrics_port=80)
            assert code == 1 and said.endswith(REFUSED)
            assert "127.0.0.1@80: Permission denied" in said
            server.options["metrics-port"] = port
            server.extra += f"\tcontrol-interface: {outside}-too\n"
            code, said = control.reconfig(server)
            assert code == 1 and said.endswith(REFUSED)
            assert f"{outside}-too: it lies outside of the chroot" in said
            assert roles == server.roles()
            assert page(port) == 200
    finally:
        outside.unlink(missing_ok=True)
