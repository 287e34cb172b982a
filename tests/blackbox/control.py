"""A client of the control channel: the program nsd-control, and octets."""
import contextlib
import socket
import subprocess

from harness import BUILD, DEADLINE

PROGRAM = BUILD / "nsd-control"


def config(server, *lines, interface=None):
    """Adds remote-control: to a server that has not started; by default with
    a UNIX socket in its folder."""
    interface = interface or server.directory / "control.sock"
    server.extra += "\n".join([
        "remote-control:", "\tcontrol-enable: yes",
        f"\tcontrol-interface: {interface}",
        *(f"\t{line}" for line in lines)]) + "\n"
    server.write_config()
    server.control = str(interface)
    return server


def command(server, *words, program=PROGRAM):
    return [str(program), "-c", str(server.config), *map(str, words)]


def ask(server, *words, text=None, program=PROGRAM):
    """The exit code and what it printed."""
    result = subprocess.run(command(server, *words, program=program),
                            input=text if text is not None else "",
                            capture_output=True, text=True,
                            timeout=DEADLINE, check=False)
    return result.returncode, result.stdout


def begin(server, *words, text=None):
    """The program, while it waits for its answer."""
    client = subprocess.Popen(
        command(server, *words), text=True,
        stdin=subprocess.DEVNULL if text is None else subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if text is not None:
        client.stdin.write(text)
        client.stdin.close()
        client.stdin = None
    return client


def change(server, **options):
    """nsd.conf has other options of server: from now on. "_" stands for "-",
    and None takes one away."""
    for name, value in options.items():
        server.options[name.replace("_", "-")] = value
    server.write_config()


def reconfig(server, **options):
    """Changes options and runs reconfig; returns what ask returns."""
    change(server, **options)
    return ask(server, "reconfig")


APPLIED = "reconfig completed: changes applied\nok\n"


def apply(server, **options):
    """Runs reconfig, which must change something; returns the answer."""
    code, text = reconfig(server, **options)
    assert code == 0 and text.endswith(APPLIED), text
    return text


def connect(server):
    """Connects to the UNIX socket."""
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(DEADLINE)
    client.connect(server.control)
    return client


def read_all(client):
    text = b""
    with contextlib.suppress(ConnectionResetError):
        while octets := client.recv(65536):
            text += octets
    return text.decode()


def say(server, octets):
    """The answer to octets; the connection is not shut for writing."""
    with connect(server) as client:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            client.sendall(octets)
        return read_all(client)
