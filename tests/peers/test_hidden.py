"""Hidden primaries, which give transfers and answer no query (the real BIND), and
primaries that go back to an older serial once our zone has expired."""
import time

import dns.exception
import dns.message
import dns.query
import dns.rcode
import pytest

import primaries
from servers import started
from test_secondary import KEY, Secondary, equal

pytestmark = pytest.mark.lasts(10)

PATIENCE = 60


def version(zone, serial, timers="1 1 86400 300"):
    return (f"$ORIGIN {zone}\n$TTL 300\n@ IN SOA ns h {serial} {timers}\n"
            f"@ IN NS ns\nns IN A 192.0.2.1\nn{serial} IN TXT new\n")


class Hidden(primaries.Bind):
    def command(self):
        command = super().command()
        conf = self.dir / "named.conf"
        conf.write_text(conf.read_text().replace(
            "options {", "options { allow-query { none; };", 1))
        return command

    def _wait_for(self, zone):
        """Waits until the server answers REFUSED."""
        query = dns.message.make_query(zone, "SOA")
        end = time.monotonic() + PATIENCE
        while True:
            try:
                reply = dns.query.udp(query, "127.0.0.1", timeout=0.5,
                                      port=self.port)
                assert reply.rcode() == dns.rcode.REFUSED
                return
            except (OSError, dns.exception.DNSException):
                assert time.monotonic() < end
                time.sleep(0.02)


@pytest.mark.parametrize("key", (None, KEY), ids=("plain", "signed"))
def test_hidden_primary_is_followed(tmp_path, key):
    """A hidden primary is followed also without a NOTIFY: by the SOA's
    refresh."""
    zone, path = "hidden.test.", tmp_path / "hidden.zone"
    path.write_text(version(zone, 4))
    primary = Hidden({zone: path})
    primary.key = key
    secondary = Secondary(primary)
    primary.notified = None
    with started(primary), started(secondary):
        secondary.wait_serial(zone, 4)
        for serial in 5, 6:
            time.sleep(1.1)  # the file's time differs
            path.write_text(version(zone, serial))
            primary.reread()
            secondary.wait_serial(zone, serial)
        equal(secondary, zone, path)


@pytest.mark.parametrize("kind", (Hidden, *primaries.ALL))
def test_expired_zone_goes_back_as_its_primary_does(tmp_path, kind):
    """The primary was lost, and has been made anew from an old copy."""
    zone, path = "back.test.", tmp_path / "back.zone"
    path.write_text(version(zone, 10, "1 1 3 300"))
    first = kind({zone: path})
    secondary = Secondary(first)
    first.start()
    try:
        secondary.start()
        secondary.wait_serial(zone, 10)
        first.end()
        secondary.wait_serial(zone, None)
    except BaseException:
        secondary.stop()
        raise
    finally:
        first.stop()
    path.write_text(version(zone, 5))
    again = kind({zone: path})
    again.port = first.port
    try:
        with started(again):
            secondary.wait_serial(zone, 5)
            equal(secondary, zone, path)
    finally:
        secondary.stop()
