"""Contents of transfers: whole zones and differences that xfrd hands to the
loader, and zones that expire."""

import os
import signal
import time

import pytest

from harness import Clock, wait_for, zone_text

SOA = "@ 3600 SOA ns host {} 7200 3600 1209600 300"
BODY = "\nadd @ 3600 NS ns\nadd ns 60 A 192.0.2.53\n"


def secondary(name):
    """A secondary zone whose primary does not answer."""
    return (f"zone:\n\tname: {name}\n\tzonefile: {name}.zone\n"
            "\trequest-xfr: 127.0.0.1@1 NOKEY\n")


def whole(name, serial, more=""):
    return (f"whole {name}.\nadd " + SOA.format(serial) + BODY + more)


def diffs(name, *versions):
    """Versions: from, to, lines of removals, lines of additions."""
    return f"diffs {name}.\n" + "\n".join(
        "\n".join(["remove " + SOA.format(old), *removed,
                   "add " + SOA.format(new), *added])
        for old, new, removed, added in versions)


@pytest.fixture
def server(nsd):
    server = nsd(zones={"b.test": zone_text(1)},
                 extra=secondary("example") + secondary("other"),
                 options={"server-count": 2, "verbosity": 5,
                          "replace-hung": "no"}, updates=True)
    # Of a zone that it finds loaded, xfrd says by itself when it expires.
    server.wait_log("request full zone transfer .AXFR. for example ")
    return server


def test_whole_zone_comes_to_life(server):
    assert server.rcode("www.example", "A") == "SERVFAIL"
    assert server.update(whole("example", 5, "add www 60 A 192.0.2.1")) \
        == ("ok", 4, 0)
    assert server.answer("www.example", "A") == ["192.0.2.1"]
    assert server.serial("example") == 5
    server.wait_log("zone example serial 0 is updated to 5")
    assert server.update(whole("example", 6, "add new 60 TXT x"))[0] == "ok"
    assert server.rcode("www.example", "A") == "NXDOMAIN"
    assert server.answer("new.example", "TXT") == ['"x"']
    assert server.rcode("www.other", "A") == "SERVFAIL"


def test_octets_may_begin_anywhere_in_the_file(server):
    head, _, rest = whole("example", 5).partition("\n")
    assert server.update(f"{head}\noffset 12345678\n{rest}") == ("ok", 3, 0)
    assert server.serial("example") == 5
    head, _, rest = diffs("example", (5, 6, [], ["add a 60 TXT y"])
                          ).partition("\n")
    assert server.update(f"{head}\noffset 70000\n{rest}") == ("ok", 2, 1)
    assert server.serial("example") == 6


@pytest.mark.parametrize("text", [
    "whole example.\n",
    "whole example.\nremove " + SOA.format(1) + BODY,
    "whole example.\nadd " + SOA.format(1),  # no NS is only a warning
    "whole example.\nadd @ 60 NS ns",
    whole("example", 3, "add " + SOA.format(4)),
    whole("example", 3, "add www.b.test. 60 A 192.0.2.1"),
    whole("example", 3, "octets 01"),
    whole("b.test", 3),
    "whole no.test.\nadd " + SOA.format(1) + BODY])
def test_wrong_whole_zone_changes_nothing(server, text):
    loader = server.role("loader")
    assert server.update(whole("example", 2)) == ("ok", 3, 0)
    outcome, _, _ = server.update(text)
    if text.endswith(SOA.format(1)):
        assert outcome == "ok"
    elif "b.test." in text.split("\n")[0]:
        assert outcome == "not allowed"  # a primary zone
    else:
        assert outcome in ("malformed wire data", "zone rules broken",
                           "not found")
        assert server.serial("example") == 2
    assert server.role("loader") == loader
    assert server.update(whole("example", 9))[0] == "ok"


def test_differences_are_applied_as_one(server):
    assert server.update(whole("example", 1, "add a 60 A 192.0.2.1"))[0] \
        == "ok"
    chain = [(1, 2, ["remove a 60 A 192.0.2.1"], ["add a 60 A 192.0.2.2"]),
             (2, 3, [], ["add b 60 A 192.0.2.3"])]
    assert server.update(diffs("example", *chain)) == ("ok", 3, 2)
    assert server.serial("example") == 3
    # Done already, and the rest of a chain that is longer.
    assert server.update(diffs("example", *chain)) == ("ok", 0, 0)
    chain.append((3, 4, ["remove b 60 A 192.0.2.3"], []))
    assert server.update(diffs("example", *chain)) == ("ok", 1, 2)
    assert server.answer("a.example", "A") == ["192.0.2.2"]
    assert server.rcode("b.example", "A") == "NXDOMAIN"


@pytest.mark.parametrize("removed, added", [
    (["remove no 60 A 192.0.2.1"], []),
    (["remove a 60 A 192.0.2.9"], []),
    (["remove a 60 TXT x"], []),
    ([], ["add a 60 A 192.0.2.1"]),
    ([], ["add a 61 A 192.0.2.1"]),
    ([], ["add c 60 A 192.0.2.1", "add c 60 A 192.0.2.1"]),
    (["remove a 60 A 192.0.2.1", "remove a 60 A 192.0.2.1"], []),
    (["remove no 60 A 192.0.2.1"], ["add no 60 A 192.0.2.1"])])
def test_differences_that_do_not_fit_change_nothing(server, removed, added):
    assert server.update(whole("example", 1, "add a 60 A 192.0.2.1"))[0] \
        == "ok"
    first = (1, 2, [], ["add x 60 TXT y"])
    assert server.update(diffs("example", first, (2, 3, removed, added)))[0] \
        == "the differences do not fit"
    assert server.serial("example") == 1
    assert server.rcode("x.example", "TXT") == "NXDOMAIN"
    assert server.answer("a.example", "A") == ["192.0.2.1"]
    assert server.update(diffs("example", (7, 8, [], [])))[0] \
        == "the differences do not fit"
    assert server.update(diffs("example", first, (2, 3, [
        "remove a 60 A 192.0.2.1"], ["add a 61 A 192.0.2.1"])))[0] == "ok"
    assert server.serial("example") == 3


@pytest.mark.parametrize("text", [
    "add x 60 TXT y",
    "add " + SOA.format(2),
    "remove " + SOA.format(1),
    "remove " + SOA.format(1) + "\nremove " + SOA.format(1),
    "remove " + SOA.format(1) + "\nadd " + SOA.format(2)
    + "\nremove ns 60 A 192.0.2.53",
    "remove " + SOA.format(1) + "\nadd ns2 60 A 192.0.2.1\nadd "
    + SOA.format(2),
    "remove " + SOA.format(1) + "\nadd " + SOA.format(2) + "\nremove "
    + SOA.format(3) + "\nadd " + SOA.format(4)])
def test_what_is_no_differences_is_refused(server, text):
    assert server.update(whole("example", 1))[0] == "ok"
    assert server.update(f"diffs example.\n{text}")[0] \
        == "malformed wire data"
    assert server.serial("example") == 1


def test_differences_without_a_zone_do_not_fit(server):
    assert server.update(diffs("example", (1, 2, [], [])))[0] \
        == "the differences do not fit"


# ---- expiry


def expire(server, name, left):
    server.process.stdin.write(f"expire {name}. {left}\n".encode())
    line = server.process.stdout.readline().decode()
    assert line == "expire no error\n", line


def test_zone_expires_and_comes_back(server):
    assert server.update(whole("example", 1))[0] == "ok"
    expire(server, "example", 0)
    wait_for("the end", lambda: server.rcode("example", "SOA") == "SERVFAIL")
    reply = server.query("example", "SOA", edns=0)
    assert [(option.code, option.text) for option in reply.options
            if option.otype == 15] == [(24, "Zone has expired")]
    assert server.rcode("b.test", "SOA") == "NOERROR"
    expire(server, "example", "never")
    wait_for("an answer", lambda: server.serial("example") == 1)
    expire(server, "example", 0)
    wait_for("the end", lambda: server.rcode("example", "SOA") == "SERVFAIL")
    assert server.update(diffs("example", (1, 2, [], [])))[0] == "ok"
    assert server.serial("example") == 2
    expire(server, "example", 0)
    wait_for("the end", lambda: server.rcode("example", "SOA") == "SERVFAIL")
    assert server.update(whole("example", 3))[0] == "ok"
    assert server.serial("example") == 3


def test_zone_expires_with_nobody_there_but_workers(server):
    assert server.update(whole("example", 1))[0] == "ok"
    begun = time.monotonic()
    expire(server, "example", 2500)
    assert (server.serial("example") == 1
            or time.monotonic() - begun > 2.5)
    pids = [server.role(name) for name in ("xfrd", "loader")]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    clock = Clock()
    wait_for("the end", lambda: clock.tick() and server.rcode(
        "example", "SOA") == "SERVFAIL")
    assert clock.now < 5
    for pid in pids:
        os.kill(pid, signal.SIGCONT)
    expire(server, "example", 100000)
    wait_for("an answer", lambda: server.serial("example") == 1)


def test_refresh_puts_expiry_off(server):
    assert server.update(whole("example", 1))[0] == "ok"
    expire(server, "example", 1500)
    end = time.monotonic() + 3  # longer than its time
    expire(server, "example", 600000)
    # On a slow machine it may have expired in between.
    wait_for("an answer", lambda: server.rcode("example", "SOA") == "NOERROR")
    while time.monotonic() < end:
        assert server.serial("example") == 1
        time.sleep(0.02)


def test_expiry_outlives_a_loader(server):
    assert server.update(whole("example", 1))[0] == "ok"
    expire(server, "example", 0)
    wait_for("the end", lambda: server.rcode("example", "SOA") == "SERVFAIL")
    old, xfrd = server.role("loader"), server.role("xfrd")
    os.kill(xfrd, signal.SIGSTOP)  # xfrd would tell the expiry
    server.kill("loader")
    server.wait_replaced("loader", old)
    server.wait_log("the loader takes over")
    assert server.rcode("example", "SOA") == "SERVFAIL"
    os.kill(xfrd, signal.SIGCONT)


def test_expiry_is_not_put_off_by_the_death_of_xfrd(server):
    assert server.update(whole("example", 1))[0] == "ok"
    expire(server, "example", 3000)
    begun = time.monotonic()
    old = server.role("xfrd")
    server.kill("xfrd")
    server.wait_replaced("xfrd", old)
    wait_for("the end", lambda: server.rcode("example", "SOA") == "SERVFAIL")
    assert time.monotonic() - begun < 30


# ---- beside files


def test_older_file_is_not_read_over_a_transfer(server):
    server.write_zone("example", zone_text(5))
    server.zones.pop("example")
    server.reload()
    server.wait_serial("example", 5)
    assert server.update(whole("example", 8))[0] == "ok"
    server.write_zone("example", zone_text(7))
    server.zones.pop("example")
    server.reload()
    server.wait_log("zone example: its file is older than serial 8")
    assert server.serial("example") == 8
    server.write_zone("example", zone_text(8))
    server.zones.pop("example")
    server.reload()
    wait_for("the file", lambda: server.rcode("www.example", "A")
             == "NOERROR")
    server.write_zone("example", zone_text(9))
    server.zones.pop("example")
    server.reload()
    server.wait_serial("example", 9)


def test_large_older_file_is_not_read_either(server):
    text = "".join(f"h{i} A 192.0.2.{i % 250}\n" for i in range(3000))
    server.write_zone("example", zone_text(5) + text)
    server.zones.pop("example")
    server.reload()
    server.wait_serial("example", 5)
    more = "".join(f"add h{i} 60 A 192.0.2.{i % 250}\n" for i in range(3000))
    assert server.update(whole("example", 8, more))[0] == "ok"
    server.write_zone("example", zone_text(6) + text + "more A 192.0.2.1\n")
    server.zones.pop("example")
    server.reload()
    server.wait_log("zone example: its file is older than serial 8")
    assert server.serial("example") == 8
    assert server.rcode("more.example", "A") == "NXDOMAIN"


# ---- large ones


def large(serial, count):
    return "".join(f"add h{i} 60 A 192.0.2.{(i + serial) % 250}\n"
                   for i in range(count))


def test_others_go_on_while_a_whole_zone_is_built(server):
    server.send_update(whole("example", 1, large(1, 60000)))
    server.send_update(whole("other", 4))
    server.send_update(diffs("example", (1, 2, [], ["add x 60 TXT y"])))
    answers = [server.read_update() for _ in range(3)]
    # The other zone's change need not wait, that of the same zone must.
    assert sorted(answers) == sorted([
        ("ok", 60003, 0), ("ok", 3, 0), ("ok", 2, 1)])
    assert answers[-1] == ("ok", 2, 1)
    assert server.serial("example") == 2
    assert server.serial("other") == 4
    # Compared with what is served, as most of it stays.
    assert server.update(whole("example", 3, large(1, 60000)))[1:] == (1, 2)
    # Built anew: all is different.
    assert server.update(whole("example", 4, large(2, 50000)))[1] == 50003
    assert server.answer("h49999.example", "A") == ["192.0.2.1"]
    assert server.rcode("h50000.example", "A") == "NXDOMAIN"


def test_killed_loader_amid_a_whole_zone(server):
    """Asked again, the next one does it; what is served stays meanwhile."""
    assert server.update(whole("example", 1))[0] == "ok"
    server.send_update(whole("example", 2, large(1, 60000)))
    old = server.role("loader")
    for wait in (0.02, 0.05):
        time.sleep(wait)
        server.kill("loader")
        server.wait_replaced("loader", old)
        old = server.role("loader")
        assert server.serial("example") in (1, 2)
    assert server.read_update()[0] == "ok"
    assert server.serial("example") == 2
    assert server.answer("h59999.example", "A")


def test_reload_while_a_whole_zone_is_built(server):
    """The file is looked at behind it, and is older."""
    server.write_zone("example", zone_text(1))
    server.zones.pop("example")
    server.send_update(whole("example", 2, large(1, 200000)))
    server.wait_log("zone example: reading a transfer")
    server.reload()
    assert server.read_update()[0] == "ok"
    server.wait_log("zone example: its file is older than serial 2")
    assert server.serial("example") == 2


def many(serial, count):
    """A difference of so many names, more than the loop applies at once."""
    return (serial, serial + 1, [],
            [f"add v{serial}x{i} 60 A 192.0.2.{i % 250}"
             for i in range(count)])


def test_others_go_on_while_large_differences_are_applied(server):
    assert server.update(whole("example", 1, large(1, 5000)))[0] == "ok"
    assert server.update(whole("other", 1))[0] == "ok"
    server.send_update(diffs("example", *(many(v, 8000) for v in (1, 2, 3))))
    server.send_update(diffs("other", (1, 2, [], ["add x 60 TXT y"])))
    server.send_update(diffs("example", (4, 5, [], ["add x 60 TXT y"])))
    answers = [server.read_update() for _ in range(3)]
    assert sorted(answers) == sorted([
        ("ok", 24001, 1), ("ok", 2, 1), ("ok", 2, 1)])
    assert answers[-1] == ("ok", 2, 1)  # the same zone's change waits
    assert server.serial("example") == 5
    assert server.answer("v3x7999.example", "A") == ["192.0.2.249"]
    # The same once more: nothing is to be done.
    assert server.update(diffs("example", many(4, 8000))) == ("ok", 0, 0)
    # Differences that do not fit, and malformed ones, change nothing.
    text = diffs("example", many(5, 3000), (6, 7, [], many(5, 1)[3]))
    assert server.update(text) == ("the differences do not fit", 0, 0)
    assert server.serial("example") == 5
    assert server.update(diffs("example", many(5, 3000))
                         + "\nremove " + SOA.format(9))[0] \
        == "malformed wire data"
    assert server.serial("example") == 5


def test_few_octets_that_change_much_do_not_hold_the_loop(server):
    """A zone cut above 5000 names, which it hides."""
    names = "".join(f"add h{i}.sub 60 A 192.0.2.1\n" for i in range(5000))
    assert server.update(whole("example", 1, names))[0] == "ok"
    server.send_update(diffs("example", (1, 2, [], ["add sub 60 NS ns"]),
                             (2, 3, ["remove sub 60 NS ns"], [])))
    assert server.read_update() == ("ok", 1, 1)
    assert server.answer("h4999.sub.example", "A") == ["192.0.2.1"]
    server.send_update(diffs("example", (3, 4, [], ["add sub 60 NS ns"])))
    assert server.read_update() == ("ok", 2, 1)
    assert server.answer("h4999.sub.example", "A") == []
    assert server.serial("example") == 4


def test_killed_loader_amid_large_differences(server):
    assert server.update(whole("example", 1, large(1, 5000)))[0] == "ok"
    server.send_update(diffs("example", *(many(v, 5000)
                                          for v in range(1, 9))))
    old = server.role("loader")
    for wait in (0.01, 0.03):
        time.sleep(wait)
        server.kill("loader")
        server.wait_replaced("loader", old)
        old = server.role("loader")
        assert 1 <= server.serial("example") <= 9
    assert server.read_update()[0] == "ok"
    assert server.serial("example") == 9
    assert server.answer("v8x4999.example", "A")


def test_large_changes_of_a_file_are_applied_beside_others(server):
    names = "".join(f"n{i} 60 A 192.0.2.{{}}\n" for i in range(4000))
    for serial, last in ((2, 1), (3, 2)):
        server.write_zone("b.test", zone_text(serial) + names.format(
            *[1] * 2000, *[last] * 2000))
        server.reload()
        server.wait_serial("b.test", serial)
        assert server.answer("n3999.b.test", "A") == [f"192.0.2.{last}"]
    server.wait_log("zone b.test: 2001 records added, 2001 removed")
