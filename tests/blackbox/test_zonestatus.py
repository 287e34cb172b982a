"""The status of a secondary zone in zonestatus is what the log has said."""
import json
import re
import signal
import time

import dns.edns
import dns.query
import dns.rcode
import dns.rrset
import dns.tsigkeyring
import dns.update
import pytest

import control
from harness import DEADLINE, wait_for, zone_text
from scripted_primary import ScriptedPrimary, reply, soa, whole

SECRET = "c2VjcmV0IG9mIGEga2V5"
KEYS = dns.tsigkeyring.from_text({"k.": SECRET})
KEY = ('key:\n\tname: "k"\n\talgorithm: hmac-sha256\n'
       f'\tsecret: "{SECRET}"\n')


def start(make_server, *primaries, way="", more=""):
    """primaries: (primary, key). way: "AXFR ": whole zones only."""
    server = make_server(zones={"example": zone_text()}, extra=KEY + (
        "zone:\n\tname: sec.test\n\tzonefile: sec.test.zone\n"
        "\tmin-retry-time: 1\n\tmax-retry-time: 1\n\tmax-refresh-time: 1\n")
        + "".join(f"\trequest-xfr: {way}127.0.0.1@{primary.port} {key}\n"
                  for primary, key in primaries) + more)
    server.options["verbosity"] = 2
    return control.config(server).start()


def last_error(server):
    """Of the text, and of JSON; None: there is none."""
    text = control.ask(server, "zonestatus", "sec.test")[1]
    found = re.search(r'\n\t\tlast-error: "(.*), \d+ sec ago"\n', text)
    status, = json.loads(control.ask(server, "-j", "zonestatus",
                                     "sec.test")[1])
    return found and found[1], status.get("last_error")


def logged(server):
    """The failures of the zone: (primary, key, reason)."""
    return [(re.search(r" from ([^ :]+)", line)[1],
             (re.search(r" with key ([^ :]+)", line) or ["", ""])[1],
             line.rpartition(": ")[2])
            for line in server.read_log().splitlines()
            if "error: xfrd: zone sec.test" in line]


def foreign(query, apex):
    message = whole(query, apex, 7)
    message.answer.insert(1, soa("else.", 7))
    return message


def unsigned(query, apex):
    query.keyring = query.tsig = None
    return whole(query, apex, 7)


def refused(query, _):
    message = reply(query)
    message.set_rcode(dns.rcode.REFUSED)
    return message


def prohibited(query, apex):
    message = refused(query, apex)
    message.use_edns(options=[dns.edns.EDEOption(
        dns.edns.EDECode.PROHIBITED)])
    return message


FOREIGN = (foreign, "there is an SOA of another zone", "malformed answer")
REFUSED = (refused, "it answers REFUSED", "it answers with an error")
PROHIBITED = (prohibited, r"it answers REFUSED, EDE 18 \(Prohibited\)",
              "it answers with an error")
UNSIGNED = (unsigned, "the message is not signed", "TSIG is wrong")


@pytest.mark.parametrize("key, make, reason, outcome", (
    ("NOKEY", *FOREIGN), ("k", *FOREIGN), ("NOKEY", *REFUSED),
    ("k", *REFUSED), ("NOKEY", *PROHIBITED), ("k", *UNSIGNED)))
def test_last_error_is_that_of_the_log(make_server, key, make, reason,
                                       outcome):
    def answer(apex, rdtype, query):
        if rdtype == "SOA":
            return [reply(query, soa(apex, 7))]
        return [make(query, apex)]

    began = int(time.time())
    with ScriptedPrimary(answer, keyring=KEYS) as primary:
        server = start(make_server, (primary, key))
        server.wait_log(f"error: xfrd: zone sec.test.* from .*: {reason}")
        address = f"127.0.0.1@{primary.port}"
        wait_for("the status", lambda: last_error(server)[0])
        text, error = last_error(server)
        address_told, key_told, told = logged(server)[-1]
        assert address_told == address
        assert text == (f"{told} from {address}"
                        + (f" with key {key_told}" if key_told else ""))
        assert error["text"] == told and re.fullmatch(reason, told)
        assert error["reason"] == outcome
        assert error["primary"] == address
        assert error["key"] == (key_told or None) == {"k": "k"}.get(key)
        assert error["tls_auth"] is None
        assert began <= error["time"] <= time.time()
        assert error["ago_sec"] <= time.time() - began
        # Other commands about the zone say the same.
        assert control.ask(server, "transfer", "sec.test") == (
            1, f"error zone sec.test: {text}\n")
        assert f"trouble: zone sec.test has no data: {text}\n" \
            in control.ask(server, "status")[1]
        # The log has the line once.
        assert len(logged(server)) == 1


def test_another_reason_of_one_kind_is_told(make_server):
    """Two different malformed answers are two reasons."""
    made = [foreign]

    def answer(apex, rdtype, query):
        if rdtype == "SOA":
            return [reply(query, soa(apex, 7))]
        return [made[0](query, apex)]

    def without_soa(query, apex):
        message = whole(query, apex, 7)
        del message.answer[0]
        return message

    with ScriptedPrimary(answer) as primary:
        server = start(make_server, (primary, "NOKEY"))
        server.wait_log(": there is an SOA of another zone")
        made[0] = without_soa
        server.wait_log(": the zone's SOA is missing")
        wait_for("the status", lambda: last_error(server)[0].startswith(
            "the zone's SOA is missing from "))


def test_last_error_names_the_primary_that_failed(make_server):
    def bad(apex, rdtype, query):
        if rdtype == "SOA":
            return [reply(query, soa(apex, 7))]
        return [foreign(query, apex)]

    def good(apex, rdtype, query):
        if rdtype == "SOA":
            return [reply(query, soa(apex, 7))]
        return [whole(query, apex, 7)]

    with ScriptedPrimary(good) as other, \
            ScriptedPrimary(bad, keyring=KEYS) as primary:
        server = start(make_server, (primary, "k"), (other, "NOKEY"))
        server.wait_serial("sec.test", 7)
        text, error = last_error(server)
        assert text == ("there is an SOA of another zone from "
                        f"127.0.0.1@{primary.port} with key k")
        assert error["key"] == "k"


def test_differences_that_do_not_fit_are_an_error(make_server):
    serial = [1]

    def answer(apex, rdtype, query):
        if rdtype == "SOA":
            return [reply(query, soa(apex, serial[0]))]
        if rdtype == "AXFR" or serial[0] == 1:
            return [whole(query, apex, 1)]
        gone = dns.rrset.from_text(f"gone.{apex}", 300, "IN", "A",
                                   "192.0.2.1")
        return [reply(query, soa(apex, 2), soa(apex, 1), gone, soa(apex, 2),
                      soa(apex, 2))]

    with ScriptedPrimary(answer, keyring=KEYS) as primary:
        server = start(make_server, (primary, "k"))
        server.wait_serial("sec.test", 1)
        assert last_error(server) == (None, None)
        serial[0] = 2
        server.wait_log(r"zone sec.test bad transfer 2 from \S+ with key k"
                        ": the differences do not fit")
        wait_for("the status", lambda: last_error(server)[0])
        assert last_error(server)[1]["key"] == "k"


# ---- zone files and memory


def status_of(server, name="sec.test"):
    return json.loads(control.ask(server, "-j", "zonestatus", name)[1])[0]


def line(server, word, name="sec.test"):
    text = control.ask(server, "zonestatus", name)[1]
    found = re.search(rf"\n\t\t{word}: (.*)\n", text)
    return found and found[1]


@pytest.fixture
def growing():
    """A primary with differences from each serial to the next. Yields it and a
    list of one serial."""
    serial = [1]

    def differences(apex, first):
        for n in range(first, serial[0]):
            yield from (soa(apex, n), soa(apex, n + 1), dns.rrset.from_text(
                f"n{n}.{apex}", 300, "IN", "A", "192.0.2.1"))

    def answer(apex, rdtype, query):
        if rdtype == "SOA":
            return [reply(query, soa(apex, serial[0]))]
        if rdtype == "AXFR" or not query.authority:
            return [whole(query, apex, serial[0], *(
                f"n{n} A 192.0.2.1" for n in range(1, serial[0])))]
        first = query.authority[0][0].serial
        return [reply(query, soa(apex, serial[0]),
                      *differences(apex, first), soa(apex, serial[0]))]

    with ScriptedPrimary(answer) as primary:
        yield primary, serial


def test_last_write_and_what_the_file_holds(make_server, growing):
    primary, serial = growing
    server = start(make_server, (primary, "NOKEY"),
                   more="server:\n\tzonefiles-write: 0\n")
    server.wait_serial("sec.test", 1)
    assert line(server, "file-serial") is None
    assert {"file_serial", "last_write"}.isdisjoint(status_of(server))
    began = int(time.time())
    assert control.ask(server, "write", "sec.test") == (0, "ok\n")
    assert line(server, "file-serial") == "1"
    status = status_of(server)
    assert status["file_serial"] == 1
    assert began <= status["last_write"].pop("time") <= time.time()
    assert status["last_write"] == {"result": "ok", "to": "file", "serial": 1}
    # A reconfig does not forget it.
    written, old = status_of(server)["last_write"], server.role("xfrd")
    server.zones["b.test"] = zone_text()
    server.zone_file("b.test").write_text(zone_text())
    server.write_config()
    assert control.ask(server, "reconfig")[0] == 0
    assert server.role("xfrd") == old
    assert status_of(server)["last_write"] == written
    # The file does not have later versions.
    for serial[0] in (2, 3):
        server.wait_serial("sec.test", serial[0])
        assert status_of(server)["file_serial"] == 1
    # The next xfrd knows it, too, even after a crash.
    server.wait_replaced("xfrd", server.kill("xfrd", signal.SIGKILL))
    wait_for("the serial", lambda: line(server, "file-serial") == "1")
    assert "last_write" not in status_of(server)
    assert control.ask(server, "write", "sec.test") == (0, "ok\n")
    assert status_of(server)["file_serial"] == 3


@pytest.mark.parametrize("way", ("", "AXFR "))
def test_write_that_failed_leaves_what_the_file_holds(make_server, growing,
                                                      way):
    primary, serial = growing
    server = start(make_server, (primary, "NOKEY"), way=way,
                   more="server:\n\tzonefiles-write: 0\n")
    server.wait_serial("sec.test", 1)
    assert control.ask(server, "write", "sec.test") == (0, "ok\n")
    serial[0] = 2
    server.wait_serial("sec.test", 2)
    # In the place of its new file.
    (server.directory / "sec.test.zone~").mkdir()
    assert control.ask(server, "write", "sec.test")[0] == 1
    status = status_of(server)
    assert status["file_serial"] == 1
    assert status["last_write"]["result"] == "failed"
    assert status["last_write"]["text"] in line(server, "last-write")
    (server.directory / "sec.test.zone~").rmdir()
    assert control.ask(server, "write", "sec.test") == (0, "ok\n")
    assert status_of(server)["file_serial"] == 2


def test_last_write_of_a_primary_in_json(make_server, directory):
    """A zone that clients update has the same keys as a secondary one."""
    server = control.config(make_server(
        extra="zone:\n\tname: upd.test\n\tzonefile: upd.test.zone\n"
        "\tallow-update: 127.0.0.1 NOKEY\n",
        options={"zonefiles-write": 0, "xfrdir": f'"{directory}/copies"'},
        updates=True))
    (directory / "copies").mkdir()
    server.zone_file("upd.test").write_text(zone_text())
    server.start()

    def update(name):
        message = dns.update.UpdateMessage("upd.test")
        message.add(name, 60, "TXT", "x")
        assert dns.query.udp(message, server.address, port=server.port,
                             timeout=DEADLINE).rcode() == dns.rcode.NOERROR

    update("a")
    assert "last_write" not in status_of(server, "upd.test")
    assert control.ask(server, "write", "upd.test") == (0, "ok\n")
    status = status_of(server, "upd.test")
    assert status["last_write"].pop("time") <= time.time()
    assert status["last_write"] == {"result": "ok", "to": "file", "serial": 2}
    assert status["file_serial"] == 2
    update("b")
    # In the place of its new file.
    blocks = server.zone_file("upd.test").with_suffix(".zone~")
    blocks.mkdir()
    assert control.ask(server, "write", "upd.test")[0] == 1
    status = status_of(server, "upd.test")
    assert status["file_serial"] == 2
    assert status["last_write"].pop("time") <= time.time()
    why = status["last_write"].pop("text")
    assert status["last_write"] == {"result": "failed", "to": "xfrdir",
                                    "serial": 3}
    assert why in line(server, "last-write", "upd.test")
    assert json.loads(control.ask(server, "-j", "status")[1])["trouble"] == [
        f"zone upd.test cannot be written: {why}"]


def test_next_xfrd_tells_that_a_zone_cannot_be_written(make_server, growing):
    """The next xfrd tries soon, not when the hour is over."""
    server = start(make_server, (growing[0], "NOKEY"))
    server.wait_serial("sec.test", 1)
    # In the place of its new file.
    (server.directory / "sec.test.zone~").mkdir()
    assert control.ask(server, "write", "sec.test")[0] == 1
    trouble = "trouble: zone sec.test cannot be written: "
    assert trouble in control.ask(server, "status")[1]
    for _ in range(2):
        server.wait_replaced("xfrd", server.kill("xfrd", signal.SIGKILL))
        wait_for("the trouble", lambda: trouble in control.ask(
            server, "status")[1])
    assert status_of(server)["last_write"]["result"] == "failed"
    # The file comes without a request.
    (server.directory / "sec.test.zone~").rmdir()
    server.wait_replaced("xfrd", server.kill("xfrd", signal.SIGKILL))
    wait_for("the file", lambda: status_of(server).get("file_serial") == 1)
    assert trouble not in control.ask(server, "status")[1]


def test_next_xfrd_that_writes_no_files_tells_of_failures(make_server, growing):
    """With zonefiles-write: 0, until an operator asks for all files."""
    server = start(make_server, (growing[0], "NOKEY"),
                   more="server:\n\tzonefiles-write: 0\n")
    server.wait_serial("sec.test", 1)
    (server.directory / "sec.test.zone~").mkdir()
    assert control.ask(server, "write")[0] == 1
    trouble = ("trouble: zone files could not be written before xfrd was"
               " replaced: nsd-control write tries again\n")
    assert trouble not in control.ask(server, "status")[1]
    for _ in range(2):
        server.wait_replaced("xfrd", server.kill("xfrd", signal.SIGKILL))
        assert trouble in control.ask(server, "status")[1]
    assert control.ask(server, "write")[0] == 1
    text = control.ask(server, "status")[1]
    assert "trouble: zone sec.test cannot be written: " in text
    assert trouble not in text
    (server.directory / "sec.test.zone~").rmdir()
    assert control.ask(server, "write") == (0, "ok\n")
    server.wait_replaced("xfrd", server.kill("xfrd", signal.SIGKILL))
    assert "written" not in control.ask(server, "status")[1]


def test_memory_of_a_zone(make_server, growing):
    """The memory of a zone grows with it."""
    primary, serial = growing
    server = start(make_server, (primary, "NOKEY"))
    server.wait_serial("sec.test", 1)
    small = status_of(server)["memory"]
    assert int(line(server, "memory")) == small
    assert 200 < small < 4000
    serial[0] = 401
    server.wait_serial("sec.test", 401)
    assert status_of(server)["memory"] > small + 400 * 16
    # Of all zones, too; others have none.
    both = json.loads(control.ask(server, "-j", "zonestatus")[1])
    assert [zone["zone"] for zone in both if "memory" in zone] == ["sec.test"]
    text = control.ask(server, "zonestatus")[1]
    assert text.count("\t\tmemory: ") == 1
