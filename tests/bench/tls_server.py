"""A server with DNS over TLS and a small zone, for tools that ask it."""
import pathlib
import socket
import ssl
import struct
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "lib")]
from ports import free_port  # noqa: E402

BATCH = 100
CONF = """server:
\tip-address: 127.0.0.1@{plain}
\tip-address: 127.0.0.1@{tls}
\ttls-port: {tls}
\ttls-service-key: "{key}"
\ttls-service-pem: "{cert}"
\tserver-count: 1
\tusername: ""
\tchroot: ""
\tzonesdir: "{dir}"
\tlogfile: "{dir}/log"
\tpidfile: "{dir}/pid"
\txfrdfile: "{dir}/xfrd.state"
\tzonelistfile: "{dir}/zone.list"
\txfrdir: "{dir}"
\tdatabase: ""
\ttcp-count: {conns}
\trrl-ratelimit: 0
remote-control:
\tcontrol-enable: no
zone:
\tname: example
\tzonefile: example.zone
"""
ZONE = "$TTL 60\n@ SOA ns host 1 7200 3600 86400 60\n@ NS ns\nns A 192.0.2.1\n"


def query(number):
    name = b"\2ns\7example\0" + struct.pack(">HH", 1, 1)
    message = struct.pack(">HHHHHH", number & 0xffff, 0, 1, 0, 0, 0) + name
    return struct.pack(">H", len(message)) + message


def read_answers(sock, count):
    """The answers are all of one size."""
    octets = b""
    while len(octets) < 2 or len(octets) < count * (2 + struct.unpack(
            ">H", octets[:2])[0]):
        more = sock.recv(65536)
        if not more:
            raise EOFError
        octets += more


def children(pid):
    found = [pid]
    for path in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        for child in path.read_text().split():
            found += children(int(child))
    return found


class Server:
    conf = CONF

    def __init__(self, program, directory, files, conns):
        directory.mkdir()
        self.plain, self.tls = free_port(), free_port()
        key, cert = files
        (directory / "example.zone").write_text(ZONE)
        conf = directory / "nsd.conf"
        conf.write_text(self.conf.format(
            plain=self.plain, tls=self.tls, key=key, cert=cert, dir=directory,
            conns=conns))
        self.process = subprocess.Popen(
            [program, "-d", "-c", str(conf)], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self.context.check_hostname = False
        self.context.verify_mode = ssl.CERT_NONE
        self.context.minimum_version = ssl.TLSVersion.TLSv1_3
        end = time.monotonic() + 60
        while True:
            try:
                with self.connect() as sock:
                    sock.sendall(query(0))
                    read_answers(sock, 1)
                return
            except (OSError, EOFError):
                if time.monotonic() > end:
                    raise
                time.sleep(0.05)

    def stop(self):
        self.process.terminate()
        self.process.wait()

    def connect(self, session=None, tls=True):
        plain = socket.create_connection(
            ("127.0.0.1", self.tls if tls else self.plain), timeout=60)
        if not tls:
            return plain
        return self.context.wrap_socket(plain, session=session)
