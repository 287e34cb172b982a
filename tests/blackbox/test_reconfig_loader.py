"""nsd-control reconfig: the loader stays, and goes on with another
configuration (doc/decisions/0159)."""
import contextlib
import os
import signal

import pytest

import dns.exception
import dns.query
import dns.tsigkeyring

import control
from harness import Held, read_proc, wait_for, zone_text

SECRET = "K2tf3TRjvQkVCmJF3/Z9vA=="
KEY = ('key:\n\tname: "k"\n\talgorithm: hmac-sha256\n'
       f'\tsecret: "{SECRET}"\n')
PATTERN = 'pattern:\n\tname: "{}"\n\tzonefile: "%s.zone"\n'


def zone(name, *lines, file=None):
    return (f"zone:\n\tname: {name}\n\tzonefile: {file or name}.zone\n"
            + "".join(f"\t{line}\n" for line in lines))


def ruled(name, pattern):
    return f'zone:\n\tname: {name}\n\tinclude-pattern: "{pattern}"\n'


@pytest.fixture
def server(make_server):
    """A server with a pattern "p" for zones added at run time."""
    made = control.config(make_server(
        zones={"example": zone_text()},
        options={"verbosity": 2, "identity": '"one"',
                 "replace-hung": "no", "zonelistfile": '"zone.list"'}))
    made.base = made.extra + PATTERN.format("p")
    return made


def configure(server, *clauses):
    server.extra = server.base + "".join(clauses)
    server.write_config()


def reconfig(server, *clauses, **options):
    server.extra = server.base + "".join(clauses)
    control.apply(server, **options)


@contextlib.contextmanager
def staying(server, role="loader"):
    """The process is the same afterwards."""
    pid = server.role(role)
    yield pid
    assert server.role(role) == pid


def file_of(server, name, serial=1):
    server.zone_file(name).write_text(zone_text(serial))


def transfers(server, name, with_key=False):
    """Whether the zone is given to us."""
    ring = dns.tsigkeyring.from_text({"k": SECRET}) if with_key else None
    try:
        return len(list(dns.query.xfr(
            server.address, name, port=server.port, keyring=ring,
            keyname="k" if ring else None, relativize=False,
            keyalgorithm="hmac-sha256", timeout=30))) > 0
    except (dns.exception.DNSException, EOFError):
        return False


# ---- each change by itself ----------------------------------------------------

def test_zone_comes(server):
    configure(server)
    server.start()
    file_of(server, "new.test", 5)
    with staying(server):
        reconfig(server, zone("new.test"))
        assert server.serial("new.test") == 5
        assert server.serial("example") == 1


def test_zone_goes_and_returns(server):
    file_of(server, "b.test", 3)
    configure(server, zone("b.test"))
    server.start()
    with staying(server):
        reconfig(server)
        assert server.rcode("b.test", "SOA") == "REFUSED"
        file_of(server, "b.test", 7)
        reconfig(server, zone("b.test"))
        assert server.serial("b.test") == 7
        assert server.serial("example") == 1


def test_key_and_acl_come_and_go(server):
    file_of(server, "b.test")
    configure(server, zone("b.test"))
    server.start()
    with staying(server):
        assert not transfers(server, "b.test")
        reconfig(server, KEY, zone("b.test", "provide-xfr: 127.0.0.1 k"))
        assert transfers(server, "b.test", with_key=True)
        assert not transfers(server, "b.test")
        reconfig(server, zone("b.test", "provide-xfr: 127.0.0.1 NOKEY"))
        assert transfers(server, "b.test")
        reconfig(server, zone("b.test"))
        assert not transfers(server, "b.test")


def test_pattern_changes(server):
    """Zones of nsd.conf and of the zone list have it."""
    for name in "b.test", "c.test":
        file_of(server, name)
    configure(server, ruled("b.test", "p"))
    server.start()
    assert control.ask(server, "addzone", "c.test", "p") == (0, "ok\n")
    with staying(server):
        server.base += "\tprovide-xfr: 127.0.0.1 NOKEY\n"
        reconfig(server, ruled("b.test", "p"))
        assert transfers(server, "b.test") and transfers(server, "c.test")
        assert not transfers(server, "example")


def test_option_of_answers_changes(server):
    configure(server)
    server.start()
    with staying(server):
        reconfig(server, identity='"two"')
        assert server.identity() == "two"
    # The one that comes next has it, too.
    server.wait_replaced("loader", server.kill("loader"))
    assert server.identity() == "two"


def test_zone_has_another_file(server):
    file_of(server, "b.test", 1)
    file_of(server, "other.test", 9)
    configure(server, zone("b.test"))
    server.start()
    with staying(server):
        reconfig(server, zone("b.test", file="other.test"))
        assert server.serial("b.test") == 9
        # The served version stays if the next file cannot be read.
        server.extra = server.base + zone("b.test", file="none.test")
        assert control.reconfig(server)[1].endswith(
            "zone b.test: zonefile none.test.zone does not exist\n"
            "reconfig completed: changes applied\n"
            "error 1 zone cannot be read\n")
        assert server.serial("b.test") == 9


def test_zone_of_the_list_comes_into_nsd_conf_and_leaves_it(server):
    for name in "x.test", "y.test":
        file_of(server, name)
    configure(server)
    server.start()
    with staying(server):
        for name in "x.test", "y.test":
            assert control.ask(server, "addzone", name, "p") == (0, "ok\n")
        reconfig(server, zone("x.test"))
        assert server.serial("x.test") == server.serial("y.test") == 1
        reconfig(server, KEY)
        assert server.rcode("x.test", "SOA") == "REFUSED"
        assert server.serial("y.test") == 1
        assert control.ask(server, "delzone", "y.test") == (0, "ok\n")
        assert server.rcode("y.test", "SOA") == "REFUSED"


def test_many_zones_go_and_come(server):
    """Places of those that have gone are used again."""
    sets = [[f"{letter}{i}.test" for i in range(1500)] for letter in "ab"]
    for name in sets[0][::100] + sets[1][::100]:
        file_of(server, name, int(name[1:-5]) + 1)
    configure(server, *(zone(name) for name in sets[0]))
    server.start()
    with staying(server):
        for here, gone in (1, 0), (0, 1), (1, 0):
            server.extra = server.base + "".join(
                zone(name) for name in sets[here])
            # The answer names zones without a file.
            control.reconfig(server)
            for name in sets[here][::100]:
                assert server.serial(name) == int(name[1:-5]) + 1
            assert server.rcode(sets[here][1], "SOA") == "SERVFAIL"
            for name in sets[gone][::300]:
                assert server.rcode(name, "SOA") == "REFUSED"
            assert server.serial("example") == 1


def test_changed_file_is_read_with_another_pattern(server):
    """Also when the last pass has looked for missing zones alone: that of a
    reconfig, and the first one of a loader that follows another."""
    server.base += PATTERN.format("q")
    configure(server)
    server.start()
    file_of(server, "z.test")
    assert control.ask(server, "addzone", "z.test", "p") == (0, "ok\n")
    server.options["identity"] = '"two"'
    reconfig(server)
    file_of(server, "z.test", 2)
    assert control.ask(server, "changezone", "z.test", "q") == (0, "ok\n")
    assert server.serial("z.test") == 2
    known = len(server.read_log())
    os.kill(server.role("loader"), signal.SIGKILL)
    server.wait_log(r"2 zones: 0 read", known)
    file_of(server, "z.test", 3)
    assert control.ask(server, "changezone", "z.test", "p") == (0, "ok\n")
    assert server.serial("z.test") == 3
    # Threads read a file that is large, if only by what it says of itself.
    server.zone_file("z.test").write_text(
        zone_text(4) + 99 * (";" + 99_999 * "-" + "\n"))
    assert control.ask(server, "--no-wait", "changezone", "z.test",
                       "q") == (0, "ok\n")
    server.wait_serial("z.test", 4)


# ---- while it is at work ------------------------------------------------------

@contextlib.contextmanager
def reading(server, name, serial):
    """The loader is in the middle of a zone file until the end; nothing more
    of it is read before."""
    more = Held(server.directory / "more.inc")
    server.zone_file(name).write_text(zone_text(serial)
                                      + "$INCLUDE more.inc\n")
    server.signal(signal.SIGHUP)
    with more.opened():
        yield more


def test_zone_in_reading_is_read_once(server):
    file_of(server, "b.test")
    file_of(server, "new.test", 5)
    configure(server, zone("b.test"))
    server.start()
    known = len(server.read_log())
    with staying(server):
        with reading(server, "b.test", 2) as more:
            server.options["identity"] = '"two"'
            configure(server, KEY, zone("new.test"),
                      zone("b.test", "provide-xfr: 127.0.0.1 NOKEY"))
            client = control.begin(server, "reconfig")
            # Options that threads do not read are in effect at once.
            wait_for("the identity", lambda: server.identity() == "two")
            wait_for("the list", lambda: transfers(server, "b.test"))
            assert server.serial("b.test") == 1
            more.write("more A 192.0.2.7\n")
        text = client.communicate(timeout=120)[0]
        assert client.returncode == 0 and text.endswith(control.APPLIED)
        wait_for("it", lambda: server.serial("b.test") == 2)
        assert server.answer("more.b.test", "A") == ["192.0.2.7"]
        assert server.serial("new.test") == 5
        assert transfers(server, "b.test")
        # The zone follows later reconfigs.
        reconfig(server, zone("b.test"))
        assert not transfers(server, "b.test")
    assert server.read_log()[known:].count(
        "zone b.test serial 1 is updated to 2") == 1


def test_first_pass_goes_on(server):
    """The first pass goes on, also for a zone that has other options
    meanwhile, and beside one that is removed. New zones are read after it."""
    for name in "b.test", "gone.test":
        file_of(server, name)
    file_of(server, "new.test", 5)
    more = Held(server.directory / "more.inc")
    server.zone_file("b.test").write_text(zone_text(2)
                                          + "$INCLUDE more.inc\n")
    configure(server, zone("b.test"), zone("gone.test"))
    server.start(ready=False)
    with staying(server):
        with more.opened():
            # After a second it serves what is read by then.
            server.wait_serial("gone.test", 1)
            server.options["identity"] = '"two"'
            configure(server, KEY, zone("new.test"),
                      zone("b.test", "provide-xfr: 127.0.0.1 NOKEY"))
            client = control.begin(server, "reconfig")
            wait_for("the identity", lambda: server.identity() == "two")
            wait_for("its end",
                     lambda: server.rcode("gone.test", "SOA") == "REFUSED")
            assert server.rcode("b.test", "SOA") == "SERVFAIL"
            assert control.ask(server, "addzone", "p.test", "p") == (0, "ok\n")
            more.write("more A 192.0.2.7\n")
        text = client.communicate(timeout=120)[0]
        assert client.returncode == 0 and text.endswith(control.APPLIED)
        assert server.serial("new.test") == 5
        assert server.answer("more.b.test", "A") == ["192.0.2.7"]
        assert transfers(server, "b.test")
    log = server.read_log()
    assert log.count("zone b.test read with success") == 1


def test_zone_in_reading_goes(server):
    file_of(server, "b.test")
    configure(server, zone("b.test"))
    server.start()
    with staying(server):
        with reading(server, "b.test", 2):
            server.options["identity"] = '"two"'
            configure(server)
            client = control.begin(server, "reconfig")
            wait_for("the identity", lambda: server.identity() == "two")
        assert client.communicate(timeout=120)[0].endswith(control.APPLIED)
        wait_for("its end",
                 lambda: server.rcode("b.test", "SOA") == "REFUSED")
        # A zone of this name that comes later is not of that reading.
        file_of(server, "b.test", 8)
        reconfig(server, zone("b.test"))
        assert server.serial("b.test") == 8


def test_zone_in_reading_goes_and_returns(server):
    """Before anybody could follow the first time. A second verb would wait for
    the first; a signal does not."""
    file_of(server, "b.test")
    file_of(server, "other.test", 9)
    server.options["reload-config"] = "yes"
    configure(server, zone("b.test"))
    server.start()
    with staying(server):
        with reading(server, "b.test", 2):
            server.options["identity"] = '"two"'
            configure(server)
            client = control.begin(server, "reconfig")
            wait_for("the identity", lambda: server.identity() == "two")
            server.options["identity"] = '"three"'
            configure(server, zone("b.test", file="other.test"))
            server.signal(signal.SIGHUP)
            wait_for("the identity", lambda: server.identity() == "three")
        assert client.communicate(timeout=120)[0].splitlines()[-1] == (
            "error a later reconfig has taken its place")
        server.wait_serial("b.test", 9)


def test_reload_that_waits_is_not_that_of_the_reconfig(server):
    """A reconfig looks at no file that has merely changed, and what waits for a
    pass waits for one that does."""
    for name in "b.test", "c.test":
        file_of(server, name)
    configure(server, zone("b.test"), zone("c.test"))
    server.start()
    with reading(server, "b.test", 2):
        file_of(server, "c.test", 2)
        assert control.ask(server, "--no-wait", "reload", "c.test")[0] == 0
        server.options["identity"] = '"two"'
        configure(server, zone("b.test"), zone("c.test"))
        client = control.begin(server, "reconfig")
        wait_for("the identity", lambda: server.identity() == "two")
    assert client.communicate(timeout=120)[0].endswith(control.APPLIED)
    server.wait_serial("b.test", 2)
    server.wait_serial("c.test", 2)


def test_zone_that_was_to_go_is_one_of_nsd_conf_by_then(server):
    """delzone waits for the end of the reading."""
    file_of(server, "b.test")
    configure(server)
    server.start()
    assert control.ask(server, "addzone", "b.test", "p") == (0, "ok\n")
    with reading(server, "b.test", 2):
        going = control.begin(server, "delzone", "b.test")
        wait_for("its line", lambda: "del b.test" in (
            server.directory / "zone.list").read_text())
        server.options["identity"] = '"two"'
        configure(server, zone("b.test"))
        client = control.begin(server, "reconfig")
        wait_for("the identity", lambda: server.identity() == "two")
    client.communicate(timeout=120)
    assert going.communicate(timeout=120)[0].startswith("error")
    server.wait_serial("b.test", 2)


# ---- deaths -------------------------------------------------------------------

def test_it_dies_with_the_message_in_hand(server):
    """The next loader has the new configuration from its start."""
    file_of(server, "b.test")
    file_of(server, "new.test", 5)
    configure(server, zone("b.test"))
    server.start()
    loader = server.role("loader")
    os.kill(loader, signal.SIGSTOP)
    server.options["identity"] = '"two"'
    configure(server, KEY, zone("new.test"))
    with control.begin(server, "reconfig") as client:
        server.wait_log("reconfig: 1 options")
        assert server.identity() == "one"
        assert server.role("loader") == loader
        os.kill(loader, signal.SIGKILL)
        text = client.communicate(timeout=120)[0]
    assert client.returncode == 0 and text.endswith(control.APPLIED)
    server.wait_replaced("loader", loader)
    assert server.identity() == "two"
    assert server.serial("new.test") == 5
    assert server.rcode("b.test", "SOA") == "REFUSED"
    # The next loader stays, too.
    with staying(server):
        reconfig(server, zone("b.test"), identity='"three"')
        assert server.identity() == "three"
        assert server.serial("b.test") == 1


def zone_list(server):
    path = server.directory / "zone.list"
    return path.read_text() if path.exists() else ""


def test_zone_that_came_with_a_pattern_that_goes(server):
    """Main knows neither the one nor the other when the loader has both."""
    file_of(server, "x.test")
    server.base += PATTERN.format("q")
    configure(server)
    server.start()
    loader = server.role("loader")
    os.kill(loader, signal.SIGSTOP)
    server.base = server.base.replace(PATTERN.format("q"), "")
    try:
        zones = control.begin(server, "addzone", "x.test", "q")
        wait_for("its line", lambda: "add x.test q" in zone_list(server))
        configure(server)
        client = control.begin(server, "reconfig")
        server.wait_log(r"reconfig: 0 options|refused")
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(loader, signal.SIGCONT)
    came = zones.communicate(timeout=120)[0]
    applied = client.communicate(timeout=120)[0]
    # One of the two has come first, and the other was told so.
    if came == "ok\n":
        assert applied.splitlines()[-1].startswith("error "), applied
        assert server.serial("x.test") == 1
    else:
        assert applied.endswith(control.APPLIED)
        assert server.rcode("x.test", "SOA") == "REFUSED"
        assert "add x.test q" not in zone_list(server)


# ---- beside others ------------------------------------------------------------

def resident(pid):
    return int(read_proc(pid, "statm").split()[1])


@pytest.mark.plain_only
def test_what_was_is_not_kept(server):
    """A configuration of 4,000 zones has 1 MiB, and one is gone with the
    next."""
    zones = "".join(zone(f"z{i}.test", file="none") for i in range(4000))
    configure(server, zones)
    server.start()
    with staying(server) as pid:
        def times(count):
            for i in range(count):
                server.extra = server.base + zones
                control.reconfig(server, identity=f'"of {i}"')
            return resident(pid)
        before = times(15)
        after = times(60)
    assert (after - before) * os.sysconf("SC_PAGE_SIZE") < 20 << 20
