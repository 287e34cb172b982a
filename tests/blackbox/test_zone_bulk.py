"""Many zones that come at once are listed before they are fetched."""
import socket
import threading

import control
from harness import zone_text

COUNT = 16384


class Refuser:
    """A primary that counts who asks, and refuses."""

    def __init__(self):
        self.sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
        self.sock.bind(("127.0.0.1", 0))
        self.port = self.sock.getsockname()[1]
        self.count = 0
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            query, asker = self.sock.recvfrom(512)
            if query == b"end":
                return
            self.count += 1
            self.sock.sendto(query[:2] + b"\x80\x05" + query[4:], asker)

    def stop(self):
        self.sock.sendto(b"end", ("127.0.0.1", self.port))


def test_many_zones_are_listed_before_they_are_fetched(make_server):
    primary = Refuser()
    made = make_server(zones={"example": zone_text()}, extra=(
        "pattern:\n\tname: p\n\tallow-axfr-fallback: no\n"
        f"\trequest-xfr: 127.0.0.1@{primary.port} NOKEY\n"))
    server = control.config(made).start()
    code, text = control.ask(server, "addzones", text="".join(
        f"z{n}.bulk p\n" for n in range(COUNT)))
    asked = primary.count
    primary.stop()
    assert code == 0 and f"added {COUNT} zones" in text
    assert asked < COUNT // 10
