"""Zones with two primaries, of which the first one is there and says nothing:
how long until ours serves them."""
import socket
import time

import dns.message
import dns.query
import pytest

import primaries
from ports import free_port
from test_secondary import Secondary, change, equal, plain

pytestmark = pytest.mark.lasts(20)

# A request that says nothing is waited for 30 seconds, two if there is another
# primary; the rest is what a busy machine may take.
SOON = 20
ZONES = 300


class Mute:
    """Takes datagrams and connections, and never answers."""

    def __init__(self):
        self.port = free_port()
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(("127.0.0.1", self.port))
        self.tcp = socket.socket()
        self.tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.tcp.bind(("127.0.0.1", self.port))
        self.tcp.listen(128)

    def close(self):
        self.udp.close()
        self.tcp.close()


class WithMute(Secondary):
    """Asks a mute primary first. Each zone has a clause of its own."""

    def __init__(self, upstream, mute, options):
        super().__init__(upstream)
        self.mute, self.options_more = mute, options

    def command(self):
        command = super().command()
        conf = self.dir / "nsd.conf"
        conf.write_text(conf.read_text().replace(
            "\trequest-xfr:", "".join(f"\t{o}\n" for o in self.options_more)
            + f"\trequest-xfr: 127.0.0.1@{self.mute.port} NOKEY\n"
            "\trequest-xfr:"))
        return command


def few(zone, serial):
    return (f"$ORIGIN {zone}\n$TTL 300\n@ IN SOA ns h {serial} 3600 900 86400"
            " 300\n@ IN NS ns\nns IN A 192.0.2.1\n")


@pytest.mark.parametrize("options", ([], ["multi-primary-check: yes"]),
                         ids=("one-by-one", "all"))
@pytest.mark.parametrize("kind", primaries.ALL)
def test_fresh_zones_are_served_soon(tmp_path, kind, options):
    zones = {}
    for i in range(ZONES):
        zones[f"z{i}.test."] = tmp_path / f"z{i}.zone"
        zones[f"z{i}.test."].write_text(few(f"z{i}.test.", 1))
    primary, mute = kind(zones), Mute()
    secondary = WithMute(primary, mute, options)
    try:
        primary.start()
        begin = time.monotonic()
        secondary.start()
        for zone in zones:
            secondary.wait_serial(zone, 1)
        took = time.monotonic() - begin
        print(f"{ZONES} zones served after {took:.1f} s")
        assert took < SOON
    finally:
        secondary.stop()
        primary.stop()
        mute.close()


@pytest.mark.parametrize("options", ([], ["multi-primary-check: yes"]),
                         ids=("one-by-one", "all"))
def test_changes_come_past_a_mute_primary(tmp_path, options):
    zone, path = "past.test.", tmp_path / "past.zone"
    path.write_text(plain(zone, 1))
    primary, mute = primaries.Nsd({zone: path}), Mute()
    secondary = WithMute(primary, mute, options)
    try:
        primary.start()
        secondary.start()
        secondary.wait_serial(zone, 1)
        path.write_text(change(path.read_text(), zone, 1, 2))
        begin = time.monotonic()
        time.sleep(1.1)  # the file's time differs
        primary.reread()
        secondary.wait_serial(zone, 2)
        assert time.monotonic() - begin < SOON
        equal(secondary, zone, path)
    finally:
        secondary.stop()
        primary.stop()
        mute.close()


def test_newest_of_two_is_taken(tmp_path):
    """multi-primary-check: the first primary is right, the second newer."""
    zone, old, new = "two.test.", tmp_path / "old", tmp_path / "new"
    old.write_text(few(zone, 1))
    new.write_text(few(zone, 5))
    first, second = primaries.Bind({zone: old}), primaries.Knot({zone: new})
    secondary = WithMute(second, first, ["multi-primary-check: yes"])
    try:
        first.start()
        second.start()
        secondary.start()
        secondary.wait_serial(zone, 5)
        query = dns.message.make_query(zone, "SOA")
        for port, serial in ((first.port, 1), (second.port, 5)):
            reply = dns.query.udp(query, "127.0.0.1", port=port)
            assert reply.answer[0][0].serial == serial
        # The secondary got serial 5 first, and never had serial 1.
        log = (secondary.dir / "log").read_text()
        assert "serial 1" not in log, log
    finally:
        secondary.stop()
        second.stop()
        first.stop()
