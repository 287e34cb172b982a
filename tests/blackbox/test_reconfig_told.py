"""The answer to reconfig: options that have changed, with their lines, and
those that wait for a restart."""

import re
import signal

import pytest

import control
from harness import zone_text

SECRET = "000102030405060708090a0b0c0d0e0f"
WAITS = ": that waits for a restart"
# Of options that have effect at once and of others, more than are listed.
MANY = {
    "hide-version": "yes", "hide-identity": "yes", "drop-updates": "yes",
    "tcp-reject-overflow": "yes", "version": '"v"', "nsid": "ascii_x",
    "tcp-count": 99, "tcp-query-count": 7, "tcp-timeout": 60,
    "ipv4-edns-size": 1000, "ipv6-edns-size": 1000, "round-robin": "yes",
    "minimal-responses": "yes", "confine-to-zone": "yes",
    "refuse-any": "yes", "rrl-ratelimit": 100, "rrl-slip": 3,
    "answer-cookie": "yes", "zonefiles-write": 60, "xfrd-tcp-max": 7}
MANY_WAIT = {
    "server-count": 3, "reuseport": "yes", "tls-port": 8530,
    "ip-freebind": "yes", "username": '"nobody"', "pidfile": '"other.pid"',
    "zonelistfile": '"other.list"', "xfrdfile": '"other.state"',
    "proxy-protocol-port": 5355, "database": '"other.db"', "sandbox": "no",
    "tls-auth-port": 8531, "worker-username": '"nobody"', "do-ip6": "no",
    "ip-transparent": "yes"}


@pytest.fixture
def server(make_server):
    server = make_server(zones={"example": zone_text(1),
                                "gone.test": zone_text(1)},
                         options={"server-count": 2, "reload-config": "yes"})
    return control.config(server).start()


def reconfig(server):
    code, text = control.reconfig(server)
    lines = text.splitlines()
    assert lines[0].startswith("reconfig start, read ")
    return code, lines[1:]


def test_all_that_changes_is_told_in_order(server):
    server.write_zone("new.test", zone_text(1))
    del server.zones["gone.test"]
    server.options.update({"identity": '"two"', "port": 5399,
                           "cookie-secret": SECRET})
    server.extra += ("key:\n\tname: k\n\tsecret: K2tf3TRjvQkVCmJF3/Z9vA==\n"
                     "pattern:\n\tname: p\n\tzonefile: x\n")
    server.write_config()
    place = server.place
    code, lines = reconfig(server)
    assert (code, lines) == (0, [
        f"{place('port')}server: port has changed{WAITS}",
        f"{place('identity')}server: identity has changed",
        f"{place('cookie-secret')}server: cookie-secret has changed",
        "the secrets of cookies are others",
        "keys: 1 new, gone or changed",
        "patterns: 1 new, gone or changed",
        "zones: 1 new, 1 gone, 0 changed",
        "reconfig completed: changes applied", "ok"])
    # A removed option has no line.
    del server.options["cookie-secret"]
    assert reconfig(server) == (0, [
        f"{place('port')}server: port has changed{WAITS}",
        "server: cookie-secret has changed",
        "the secrets of cookies are others",
        "reconfig completed: changes applied", "ok"])


def keys(*secrets):
    return "".join(f"key:\n\tname: k{n}\n\tsecret: {secret}\n"
                   for n, secret in enumerate(secrets))


def logged(server, known):
    """How many options and keys, by the log."""
    return re.findall(r"reconfig: (\d+) options, (\d+) keys",
                      server.read_log()[known:])


def test_each_key_and_each_option_is_counted_once(server):
    old, new = "K2tf3TRjvQkVCmJF3/Z9vA==", "AAECAwQFBgcICQoLDA0ODw=="
    extra = server.extra
    for secrets, count in (([old], 1), ([new, old], 2),
                           ([old, old, new], 2), ([new, new, new], 2),
                           ([new], 2), ([], 1)):
        known = len(server.read_log())
        server.extra = extra + keys(*secrets)
        assert f"keys: {count} new, gone or changed" in reconfig(server)[1]
        assert logged(server, known) == [("0", f"{count}")]
    for secret in SECRET, SECRET[::-1]:
        known = len(server.read_log())
        server.options.update({"identity": f'"{secret}"',
                               "cookie-secret": secret})
        assert "the secrets of cookies are others" in reconfig(server)[1]
        assert logged(server, known) == [("2", "0")]


def test_option_of_a_file_that_is_included_has_that_place(server):
    more = server.directory / "more.conf"
    more.write_text("# one\nserver:\n\n\tidentity: two\n")
    server.extra += f"include: {more}\n"
    assert reconfig(server) == (0, [
        f"{more}:4: server: identity has changed",
        "reconfig completed: changes applied", "ok"])


def count(lines, waits):
    """How many options are told of one kind, and of the rest of them."""
    end = WAITS if waits else ""
    listed = [line for line in lines
              if re.search(rf": server: \S+ has changed{end}$", line)]
    more = [int(found[1]) for line in lines
            if (found := re.match(r"(\d+) more options? ha(?:s|ve) changed"
                                  rf"{end}$", line))]
    assert len(more) <= 1
    return len(listed), sum(more)


def test_many_options_leave_room_for_what_is_worse(server):
    server.options.update({**MANY, **MANY_WAIT})
    (server.directory / "bad.test.zone").write_text("nonsense\n")
    server.zones["bad.test"] = None
    code, lines = reconfig(server)
    assert code == 1
    assert lines[-2:] == ["reconfig completed: changes applied",
                          "error 1 zone cannot be read"]
    assert any(line.startswith("bad.test.zone:1: ") for line in lines)
    for waits, options in ((True, MANY_WAIT), (False, MANY)):
        listed, more = count(lines, waits)
        assert listed + more == len(options)
    assert count(lines, True)[0] > 3 and count(lines, False)[1] > 3
    told = [line for line in control.ask(server, "status")[1].splitlines()
            if line.endswith(WAITS)]
    assert len(told) == count(lines, True)[0] + (count(lines, True)[1] > 0)


def test_log_tells_all_of_them(server):
    server.options.update({**MANY, **MANY_WAIT})
    server.write_config()
    known = len(server.read_log())
    server.signal(signal.SIGHUP)
    server.wait_log("reconfig: done", known)
    log = server.read_log()[known:]
    for options, end in ((MANY, ""), (MANY_WAIT, WAITS)):
        for option in options:
            assert (f"{server.place(option)}server: {option} has changed"
                    f"{end}\n") in log
    assert "more option" not in log


def line_of(server, text):
    """The place of the last line of nsd.conf that has it."""
    numbers = [number for number, line in enumerate(
        server.config.read_text().splitlines(), 1) if text in line]
    return f"{server.config}:{numbers[-1]}: "


def ranges(*numbers):
    """Patterns, each with a range that ends before it starts."""
    return "".join(f"pattern:\n\tname: w{n}\n\tzonefile: x\n"
                   f"\tallow-query: 192.0.2.{n}-192.0.2.1 NOKEY\n"
                   for n in numbers)


def test_warnings_of_nsd_conf_are_told(server):
    server.extra += ranges(9)
    server.write_config()
    known = len(server.read_log())
    said = ("address range '192.0.2.9-192.0.2.1' matches nothing: it ends"
            " before it starts")
    place = line_of(server, "192.0.2.9-")
    assert reconfig(server) == (0, [
        f"{place}warning: {said}", "patterns: 1 new, gone or changed",
        "reconfig completed: changes applied", "ok"])
    assert f"warning: {place}{said}\n" in server.read_log()[known:]
    # The option is still there, and is no change.
    assert reconfig(server) == (0, [
        f"{place}warning: {said}",
        "reconfig completed: no changes detected", "ok"])
    known = len(server.read_log())
    server.signal(signal.SIGHUP)
    server.wait_log(f"warning: {place}{said}\n", known)


def test_many_warnings_leave_room_for_errors(server):
    server.extra += ranges(*range(2, 90)) + "server:\n\ttcp-count: many\n"
    known = len(server.read_log())
    server.write_config()
    # nsd-control would not get that far.
    lines = control.say(server, b"NSDCT1 reconfig\n").splitlines()[1:]
    assert lines[-3:] == [
        f"{server.place('tcp-count')}error: expected a number for tcp-count,"
        " got 'many'",
        f"read {server.config} failed: 1 errors in configuration file",
        "error reconfig refused: nothing has changed"]
    assert "matches nothing" in lines[0]
    assert server.read_log()[known:].count("matches nothing") == 88


NO_EFFECT = " has no effect in this program"


def test_options_without_effect_do_not_wait(server):
    extra = server.extra
    server.extra += "server:\n\txdp-force-copy: yes\n"
    server.options["xfrd-reload-timeout"] = 7
    server.write_config()
    options = "xfrd-reload-timeout", "xdp-force-copy"
    told = [f"{line_of(server, option)}warning: server: {option}{NO_EFFECT}"
            for option in options]
    known = len(server.read_log())
    assert reconfig(server) == (0, [
        *told, "reconfig completed: no changes detected", "ok"])
    for option in options:
        assert (f"warning: {line_of(server, option)}server: {option}"
                f"{NO_EFFECT}\n") in server.read_log()[known:]
    assert "trouble:" not in control.ask(server, "status")[1]
    # The server runs with them once it takes something else, and from then on
    # they are not new.
    server.options["identity"] = '"two"'
    server.write_config()
    place = server.place("identity")
    told = [re.sub(r"(?<=:)\d+(?=: warning: server: xdp)", lambda n:
                   str(int(n[0]) + 1), one) for one in told]
    assert reconfig(server) == (0, [
        *told, f"{place}server: identity has changed",
        "reconfig completed: changes applied", "ok"])
    assert reconfig(server) == (0, [
        "reconfig completed: no changes detected", "ok"])
    # Going back to what has no effect either has nothing to say.
    server.extra = extra
    del server.options["xfrd-reload-timeout"]
    server.write_config()
    assert reconfig(server) == (0, [
        "reconfig completed: no changes detected", "ok"])
