"""reconfig with other UNIX sockets of operators: the files at their paths."""
import socket

import pytest

import control
from harness import DEADLINE, zone_text
from ports import free_port

REFUSED = "error reconfig refused: nothing has changed\n"


@pytest.fixture
def server(make_server):
    return control.config(make_server(zones={"example": zone_text()})).start()


def refuse(server, **changed):
    """Past the tool, which would not take such a nsd.conf either."""
    control.change(server, **changed)
    text = control.say(server, b"NSDCT1  reconfig\n")
    assert text.endswith(REFUSED), text
    return text


@pytest.mark.parametrize("fault", ["metrics", "control", "key"])
def test_refused_reconfig_leaves_no_path(server, directory, fault):
    """The fault is met when sockets are open already: in another socket of the
    same channel, in one of the other channel, or in its key."""
    made = [directory / "metrics.sock", directory / "control-too.sock"]
    metrics = [f'"{made[0]}"'] + ["192.0.2.1"] * (fault == "metrics")
    first = f"\tcontrol-interface: {server.control}\n"
    assert first in server.extra
    server.extra += f"\tcontrol-interface: {made[1]}\n"
    if fault == "control":
        server.extra += "\tcontrol-interface: 192.0.2.1\n"
    if fault == "key":
        server.extra = server.extra.replace(first, (
            f"\tcontrol-interface: 127.0.0.1@{free_port()}\n"
            f"\tserver-key-file: {directory}/nosuch.key\n{first}"))
    text = refuse(server, metrics_enable="yes", metrics_interface=metrics)
    assert ("nosuch.key" if fault == "key" else "192.0.2.1@") in text
    assert not any(path.exists() for path in made)
    assert control.say(server, b"NSDCT1  status\n").startswith("version: ")


def test_refused_reconfig_leaves_paths_in_use(server, directory):
    """The sockets of the running configuration stay where they are."""
    path = directory / "metrics.sock"
    control.apply(server, metrics_enable="yes", metrics_interface=f'"{path}"')
    before = path.stat().st_ino
    refuse(server, metrics_interface=[f'"{path}"', "192.0.2.1"])
    assert path.stat().st_ino == before
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))


@pytest.mark.parametrize("listens", [True, False])
def test_path_that_another_process_took(server, directory, listens):
    """Another's socket is not taken for ours. As long as its process listens,
    the reconfig is refused; ours is made anew after that."""
    path = directory / "metrics.sock"
    control.apply(server, metrics_enable="yes", metrics_interface=f'"{path}"')
    path.unlink()
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(path))
        if listens:
            other.listen()
            taken = path.stat().st_ino
            text = refuse(server, metrics_path="/other")
            assert (f"metrics-interface: can't bind socket {path}:"
                    " Address already in use\n") in text
            assert path.stat().st_ino == taken
    control.apply(server, metrics_path="/other")
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(DEADLINE)
        client.connect(str(path))
        client.sendall(b"GET /other HTTP/1.0\r\n\r\n")
        assert client.recv(20).startswith(b"HTTP/1")


@pytest.mark.parametrize("kind", [socket.SOCK_DGRAM, socket.SOCK_SEQPACKET])
def test_path_of_another_kind_of_socket(server, directory, kind):
    """A socket of datagrams, like that of syslog, is in use, too: its file
    stays, at a reconfig and at a start."""
    path = directory / "other.sock"
    with socket.socket(socket.AF_UNIX, kind) as other, \
            socket.socket(socket.AF_UNIX, kind) as client:
        other.bind(str(path))
        if kind == socket.SOCK_SEQPACKET:
            other.listen()
        taken = path.stat().st_ino
        text = refuse(server, metrics_enable="yes",
                      metrics_interface=f'"{path}"')
        assert (f"metrics-interface: can't bind socket {path}:"
                " Address already in use\n") in text
        assert path.stat().st_ino == taken
        server.stop()
        assert server.run("-d").returncode == 1
        assert path.stat().st_ino == taken
        client.connect(str(path))


def set_paths(server, first, *more):
    """Applies a nsd.conf with these sockets of the control channel."""
    server.extra = server.extra[:server.extra.index(first)] + first + "".join(
        f"\tcontrol-interface: {path}\n" for path in more)
    assert control.reconfig(server)[0] == 0


def test_file_of_a_socket_that_was_closed(server, directory):
    """The file of a socket that is open no more is not that of another one. A
    link stands for a new file that has got the number of the old one."""
    first = f"\tcontrol-interface: {server.control}\n"
    one, two, three = (directory / f"{name}.sock" for name in ("a", "b", "c"))
    set_paths(server, first, one, two)
    set_paths(server, first, two)
    two.unlink()
    two.hardlink_to(one)
    set_paths(server, first, two, three)
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(two))


def test_interfaces_that_are_there_twice(make_server, directory):
    """One socket for both, at a start and at a reconfig, as in NSD for paths.
    """
    path, port = directory / "metrics.sock", free_port()
    metrics = [f'"{path}"', f"127.0.0.1@{port}", f'"{path}"', "127.0.0.1"]
    server = control.config(
        make_server(options={"metrics-enable": "yes", "metrics-port": port,
                             "metrics-interface": metrics}),
        f"control-interface: {directory}/control.sock").start()
    for text in (f"control-interface {server.control}",
                 "metrics-interface 127.0.0.1", f"metrics-interface {path}"):
        assert f"warning: {text} is there more than once" in server.read_log()
    control.apply(server, metrics_interface=metrics + [f'"{path}.too"'] * 2)
    server.extra += f"\tcontrol-interface: {directory}/too.sock\n" * 2
    control.apply(server)
    for address in (path, f"{path}.too", f"{directory}/too.sock"):
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(address))
