"""A secondary zone that is made a primary before its zone file has what is
served: that stays served, is written, and is what the next start has."""
import dns.zone
import pytest

import control
from harness import Held, wait_for, zone_text
from test_roles import Primary, WAYS, Zone, of


def serial_of(path):
    if not path.exists():
        return None
    return dns.zone.from_file(str(path), "z.test").get_soa().serial


def without_file(zone, primary):
    assert not zone.server.zone_file("z.test").exists()


def behind_file(zone, primary):
    assert control.ask(zone.server, "write", "z.test") == (0, "ok\n")
    primary.serial = 6
    zone.server.wait_serial("z.test", 6)


def read_from_file(zone, primary):
    """The served version was read from the file, and has changed since."""
    zone.server.stop()
    zone.server.start()
    behind_file(zone, primary)


@pytest.fixture(params=(without_file, behind_file, read_from_file),
                ids=lambda param: param.__name__)
def start(request, make_server):
    def begin(primary, way, **options):
        zone = Zone(make_server, way, of(primary), "", **options)
        zone.server.wait_serial("z.test", 5)
        request.param(zone, primary)
        assert serial_of(zone.server.zone_file("z.test")) != primary.serial
        return zone
    return begin


@pytest.mark.parametrize("way", WAYS[:2])
def test_zone_that_is_promoted_stays_and_is_written(start, way):
    with Primary(expire=3600) as primary:
        zone = start(primary, way)
        path, serial = zone.server.zone_file("z.test"), primary.serial
        zone.change(write=False)
        assert zone.server.serial("z.test") == serial
        wait_for("its file", lambda: serial_of(path) == serial)
        assert control.ask(zone.server, "reload", "z.test")[0] == 0
        assert zone.server.serial("z.test") == serial
        zone.server.stop()
        zone.server.start()
        assert zone.server.serial("z.test") == serial
        assert "state: primary" in zone.status()


@pytest.mark.parametrize("way", WAYS)
def test_zone_that_was_not_written_is_served_from_the_journal(start, way):
    with Primary(expire=3600) as primary:
        zone = start(primary, way, **{"zonefiles-write": 0})
        path, serial = zone.server.zone_file("z.test"), primary.serial
        zone.change(write=False)
        for _ in range(2):
            assert zone.server.serial("z.test") == serial
            assert "state: primary" in zone.status()
            assert serial_of(path) != serial
            zone.server.stop()
            zone.server.start()


@pytest.mark.parametrize("way", WAYS[:2])
@pytest.mark.parametrize("serial", (9, 6))
def test_newer_file_is_read_by_a_promoted_zone(make_server, way, serial):
    """An operator who promotes a zone puts a newer file there."""
    with Primary(serial=6, expire=3600) as primary:
        zone = Zone(make_server, way, of(primary), "")
        zone.server.wait_serial("z.test", 6)
        text = zone_text(serial) + "own TXT mine\n"
        path = zone.server.zone_file("z.test")
        path.write_text(text)
        zone.change(write=False)
        assert zone.server.serial("z.test") == serial
        assert zone.server.rcode("own.z.test", "TXT") == "NOERROR"
        zone.server.stop()
        zone.server.start()
        assert zone.server.rcode("own.z.test", "TXT") == "NOERROR"
        if serial != 6:
            assert path.read_text() == text


@pytest.mark.parametrize("amid", (False, True), ids=("alone", "amid reload"))
def test_file_that_is_still_to_be_read_is_not_written_over(make_server, amid):
    """An unread file may be newer than what is served."""
    with Primary(serial=6, expire=3600) as primary:
        zone = Zone(make_server, "reconfig", of(primary),
                    "\tnotify: 127.0.0.1@9 NOKEY\n",
                    **{"zonefiles-write": 0, "verbosity": 2})
        server = zone.server
        server.wait_serial("z.test", 6)
        held = [Held(server.directory / f"{n}.inc") for n in range(2)]
        path = server.zone_file("z.test")
        text = zone_text(9) + "$INCLUDE 1.inc\n"
        path.write_text(text)
        server.extra = server.extra.replace("include-pattern: before",
                                            "include-pattern: after")
        server.write_config()
        if amid:
            server.write_zone("example", zone_text(2) + "$INCLUDE 0.inc\n")
            reload = control.begin(server, "reload", "example")
            with held[0].opened():
                client = control.begin(server, "reconfig")
                server.wait_log("reconfig: 0 options")
                wait_for("its part", lambda: control.ask(
                    server, "write", "z.test")[0] == 0
                    and "state: primary" in zone.status())
            assert reload.communicate(timeout=60)[0] == "ok\n"
        else:
            client = control.begin(server, "reconfig")
        with held[1].opened():
            for what in ["z.test"], []:
                assert control.ask(server, "write", *what) == (0, "ok\n")
        assert client.communicate(timeout=60)[0].endswith(control.APPLIED)
        assert server.serial("z.test") == 9
        assert path.read_text() == text
