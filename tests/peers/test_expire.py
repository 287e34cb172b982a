"""How long zones of the real BIND, Knot and NSD, and of ours, live here, if the
SOA says nothing that would do (doc/decisions/0141)."""
import time

import pytest

import primaries
from servers import started
from test_secondary import Secondary

pytestmark = pytest.mark.lasts(10)


@pytest.mark.parametrize("timers", ("1 1 0 300", "0 0 0 0"))
@pytest.mark.parametrize("kind", primaries.ALL)
def test_zone_whose_expire_is_0_is_served(tmp_path, kind, timers):
    zone, path = "zero.test.", tmp_path / "zero.zone"
    path.write_text(f"$ORIGIN {zone}\n$TTL 300\n@ IN SOA ns h 1 {timers}\n"
                    "@ IN NS ns\nns IN A 192.0.2.1\n")
    primary = kind({zone: path})
    secondary = Secondary(primary)
    with started(primary), started(secondary):
        secondary.wait_serial(zone, 1)
        end = time.monotonic() + 4
        while time.monotonic() < end:
            assert secondary.serial(zone) == 1
            time.sleep(0.1)
        assert "has expired" not in (secondary.dir / "log").read_text()
