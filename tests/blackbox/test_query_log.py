"""The query log: its fields are what the client saw, whatever file it has, and
nobody waits for it."""

import contextlib
import datetime
import json
import os
import socket
import stat

import pytest

import dns.edns
import dns.message
import dns.query
import dns.rcode
import dns.update

import control
from harness import wait_for, zone_text
from proc import open_files

FIELDS = ("time epoch client port local localport protocol id opcode zone"
          " qname qtype qclass flags edns do cookie querysize rcode"
          " answerflags answers size ede latency")
LIMIT = 60  # seconds for an answer


class Log:
    """A server with a query log."""

    def __init__(self, make_server, form="json " + FIELDS, path=None,
                 extra="", **options):
        self.server = make_server(
            zones={"example": zone_text(), "sub.example": zone_text()},
            options={"query-log-format": f'"{form}"', **options},
            extra="server:\n\tip-address: ::1\n")
        self.path = path or self.server.directory / "queries.log"
        self.server.options["query-log"] = f'"{self.path}"'
        self.server.extra += extra
        (self.server.directory / "moved.zone").write_text(zone_text())
        control.config(self.server)
        self.server.start()

    def text(self):
        return self.path.read_text() if self.path.exists() else ""

    def lines(self, count, path=None):
        """Waits for so many lines, or more; each is whole, and none is about a
        query of the harness."""
        def look():
            text = path.read_text() if path else self.text()
            found = [line for line in text.splitlines()
                     if "id.server" not in line]
            return found if text.endswith("\n") and len(found) >= count \
                else None
        return wait_for(f"{count} lines", look)

    def find(self, name):
        """The line about a name, as an object."""
        def look():
            for line in self.text().splitlines():
                if f'"{name}."' in line and line.endswith("}"):
                    return json.loads(line)
            return None
        return wait_for(f"the line of {name}", look)

    def ask(self, name, rdtype="A", where="127.0.0.1", tcp=False, **more):
        """The query and the octets of its answer."""
        message = dns.message.make_query(name, rdtype, **more)
        family = socket.AF_INET6 if ":" in where else socket.AF_INET
        with socket.socket(family, socket.SOCK_STREAM if tcp
                           else socket.SOCK_DGRAM) as sock:
            sock.settimeout(LIMIT)
            sock.connect((where, self.server.port))
            octets = message.to_wire()
            if not tcp:
                sock.send(octets)
                return message, sock.recv(65536)
            sock.sendall(len(octets).to_bytes(2, "big") + octets)
            stream = sock.makefile("rb")
            return message, stream.read(int.from_bytes(stream.read(2), "big"))


@pytest.mark.parametrize("tcp", [False, True], ids=["udp", "tcp"])
@pytest.mark.parametrize("where", ["127.0.0.1", "::1"])
def test_fields_are_what_the_client_saw(make_server, where, tcp):
    log = Log(make_server)
    server = log.server
    before = datetime.datetime.now(datetime.timezone.utc)
    query, answer = log.ask(
        "wWw.example", where=where, tcp=tcp, use_edns=0, payload=1400,
        want_dnssec=True, options=[dns.edns.GenericOption(10, b"12345678")])
    row = log.find("wWw.example")
    after = datetime.datetime.now(datetime.timezone.utc)
    at = datetime.datetime.fromisoformat(row["time"].replace("Z", "+00:00"))
    assert before <= at <= after
    assert abs(at.timestamp() - row["epoch"]) < 0.001
    port = row.pop("port")
    assert 0 < port < 65536
    assert 0 <= row["latency"] < 1e6 * LIMIT
    for name in "time", "epoch", "latency":
        del row[name]
    assert row == {
        "client": where, "local": where, "localport": server.port,
        "protocol": "tcp" if tcp else "udp", "id": query.id,
        "opcode": "QUERY", "zone": "example.", "qname": "wWw.example.",
        "qtype": "A", "qclass": "IN", "flags": "rd", "edns": 1400,
        "do": True, "cookie": "client", "querysize": len(query.to_wire()),
        "rcode": "NOERROR", "answerflags": "aa,rd",
        "answers": answer[7], "size": len(answer),
        "ede": None}


def test_words_have_dashes_where_there_is_nothing(make_server):
    log = Log(make_server, "qname zone qtype edns do rcode ede")
    log.ask("nope.example", "MX")
    log.ask("elsewhere.test", use_edns=0, payload=1232)
    log.ask("a b\\010.example", "TXT")
    assert log.lines(3) == [
        "nope.example. example. MX - no NXDOMAIN -",
        "elsewhere.test. - A 1232 no REFUSED 20",
        "a\\032b\\010.example. example. TXT - no NXDOMAIN -"]


def test_transfer_and_update_have_one_line_each(make_server):
    """The line of a transfer tells of its first message; that of an UPDATE
    comes with its reply."""
    log = Log(make_server, "opcode qname qtype rcode",
              extra="zone:\n\tname: moved\n\tzonefile: moved.zone\n"
              "\tprovide-xfr: 127.0.0.1 NOKEY\n"
              "\tallow-update: 127.0.0.1 NOKEY\n")
    records = list(dns.query.xfr("127.0.0.1", "moved", port=log.server.port,
                                 relativize=False, timeout=LIMIT))
    assert records
    update = dns.update.Update("moved")
    update.add("new", 300, "A", "192.0.2.9")
    reply = dns.query.udp(update, "127.0.0.1", port=log.server.port,
                          timeout=LIMIT)
    assert reply.rcode() == dns.rcode.NOERROR
    log.ask("last.example")
    assert log.lines(3) == ["QUERY moved. AXFR NOERROR",
                            "UPDATE moved. SOA NOERROR",
                            "QUERY last.example. A NXDOMAIN"]


def test_log_reopen_rotates(make_server):
    log = Log(make_server, "qname")
    log.ask("one.example")
    assert log.lines(1) == ["one.example."]
    old = log.path.with_suffix(".old")
    log.path.rename(old)
    assert control.ask(log.server, "log_reopen") == (0, "ok\n")
    log.ask("two.example")
    assert log.lines(1) == ["two.example."]
    assert log.lines(1, old) == ["one.example."]
    # A file that cannot be opened: the log goes on where it is.
    log.path.rename(old)
    log.path.mkdir()
    code, text = control.ask(log.server, "log_reopen")
    assert (code, text) == (1, "error cannot open the log file:"
                               " Is a directory\n")
    log.ask("three.example")
    assert log.lines(2, old) == ["two.example.", "three.example."]


def test_full_disk_drops_lines_and_answers_go_on(make_server):
    log = Log(make_server, "qname", path="/dev/full")
    for _ in range(10):
        log.ask("www.example")
    log.server.wait_log(
        r"query log: \d+ lines were lost: No space left on device")
    assert log.server.answer("www.example", "A") == ["192.0.2.1"]
    wait_for("the trouble", lambda: trouble_of(log, "No space left on device"))
    # Another open says nothing of the disk.
    assert control.ask(log.server, "log_reopen") == (0, "ok\n")
    assert trouble_of(log, "No space left on device")
    # Nor does one of the next collector.
    log.server.wait_replaced("collector", log.server.kill("collector"))
    wait_for("its open file", lambda: "/dev/full" in open_files(
        log.server.role("collector")).values())
    assert trouble_of(log, "No space left on device")
    # The log goes; dnstap stays, so there are records.
    with log.server.config.open("a") as file:
        file.write("dnstap:\n\tdnstap-enable: yes\n"
                   "\tdnstap-log-auth-query-messages: yes\n"
                   f'\tdnstap-socket-path: "{log.server.directory}/none"\n'
                   'server:\n\tquery-log: ""\n')
    assert control.ask(log.server, "reconfig")[0] == 0
    assert not trouble_of(log, "No space left on device")


def trouble_of(log, reason):
    """Whether status says that the log cannot be written."""
    line = f"trouble: the query log cannot be written: {reason}\n"
    return line in control.ask(log.server, "status")[1]


def test_fifo_without_a_reader(make_server, tmp_path):
    """A FIFO cannot be opened until somebody reads it."""
    path = tmp_path / "fifo"
    os.mkfifo(path)
    log = Log(make_server, "qname", path=path)
    log.server.wait_log("query log: cannot open .*fifo.*: "
                        "No such device or address")
    assert trouble_of(log, "No such device or address")
    assert log.server.answer("www.example", "A") == ["192.0.2.1"]
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb",
              buffering=0) as reader:
        def look():
            log.ask("www.example")
            return reader.read(100)
        assert b"www.example.\n" in wait_for("a line", look)
        assert not trouble_of(log, "No such device or address")
    # The reader goes.
    for _ in range(3):
        log.ask("www.example")
    assert log.server.answer("www.example", "A") == ["192.0.2.1"]
    assert stat.S_ISFIFO(path.stat().st_mode)


def test_status_knows_of_a_reader_without_a_query(make_server, tmp_path):
    """Trouble stays over log_reopen, and goes when the reader of a FIFO reads
    again, or another one comes; no query needs to show that."""
    path = tmp_path / "fifo"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    log = Log(make_server, "qname", path=path)
    wait_for("lines", lambda: log.ask("www.example")
             and drain(reader).endswith(b"www.example.\n"))
    filler = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    with contextlib.suppress(BlockingIOError):
        while os.write(filler, b"\n" * 4096):
            pass
    with contextlib.suppress(BlockingIOError):
        while os.write(filler, b"\n"):
            pass
    log.ask("www.example")
    wait_for("trouble", lambda: trouble_of(log, "its reader does not keep up"))
    assert control.ask(log.server, "log_reopen") == (0, "ok\n")
    assert trouble_of(log, "its reader does not keep up")
    drain(reader)
    wait_for("no trouble", lambda: not has_trouble(log))
    os.close(filler)
    os.close(reader)
    log.ask("www.example")
    wait_for("trouble", lambda: trouble_of(log, "its reader has gone"))
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    wait_for("no trouble", lambda: not has_trouble(log))
    os.close(reader)


def drain(fd):
    """Reads all that a FIFO holds."""
    got = b""
    with contextlib.suppress(BlockingIOError):
        while more := os.read(fd, 65536):
            got += more
    return got


def has_trouble(log):
    return "trouble: the query log" in control.ask(log.server, "status")[1]


def test_reconfig_brings_changes_and_ends_it(make_server):
    log = Log(make_server, "qname")
    server = log.server
    log.ask("one.example")
    log.lines(1)
    server.options["query-log-format"] = '"qtype qname"'
    server.write_config()
    assert control.ask(server, "reconfig")[0] == 0
    wait_for("the new format", lambda: log.ask("two.example")
             and "A two.example.\n" in log.text())
    second = log.path.with_name("second.log")
    server.options["query-log"] = f'"{second}"'
    server.write_config()
    assert control.ask(server, "reconfig")[0] == 0
    wait_for("the new file", lambda: log.ask("three.example")
             and second.exists() and "A three.example.\n"
             in second.read_text())
    del server.options["query-log"]
    server.write_config()
    assert control.ask(server, "reconfig")[0] == 0
    wait_for("the collector's end", lambda: "collector"
             not in server.roles())
    size = second.stat().st_size
    log.ask("four.example")
    assert second.stat().st_size == size


def test_dnstap_off_and_on(make_server):
    log = Log(make_server, "qname")
    server = log.server
    log.ask("one.example")
    log.lines(1)
    assert "dnstap: on\n" in control.ask(server, "status")[1]
    assert control.ask(server, "dnstap_off") == (0, "ok\n")
    assert "dnstap: off\n" in control.ask(server, "status")[1]
    assert json.loads(control.ask(server, "-j", "status")[1])[
        "dnstap"] == "off"
    log.ask("two.example")
    # A reconfig of something else leaves it so.
    server.options["identity"] = '"other"'
    server.write_config()
    assert control.ask(server, "reconfig")[0] == 0
    assert server.identity() == "other"
    log.ask("three.example")
    assert control.ask(server, "dnstap_on") == (0, "ok\n")
    assert "dnstap: on\n" in control.ask(server, "status")[1]
    log.ask("four.example")
    # Queries from between have no lines.
    assert log.lines(2) == ["one.example.", "four.example."]
    assert control.ask(server, "dnstap_off") == (0, "ok\n")
    # The word outlives an xfrd; a reconfig of an option of the log ends it.
    server.wait_replaced("xfrd", server.kill("xfrd"))
    wait_for("the next xfrd", lambda: "dnstap: off\n"
             in control.ask(server, "status")[1])
    server.options["query-log-format"] = '"qname qtype"'
    server.write_config()
    assert control.ask(server, "reconfig")[0] == 0
    assert "dnstap: on\n" in control.ask(server, "status")[1]
    wait_for("lines", lambda: log.ask("five.example")
             and "five.example. A\n" in log.text())


def test_dnstap_on_without_anything_to_send(make_server):
    server = make_server(zones={"example": zone_text()})
    control.config(server)
    server.start()
    said = ("error nsd.conf chooses no messages for dnstap, and has no"
            " query-log\n")
    code, text = control.ask(server, "status")
    assert code == 0 and "dnstap:" not in text
    assert control.ask(server, "dnstap_on") == (1, said)
    assert control.ask(server, "dnstap_off") == (0, "ok\n")


def test_one_of_so_many_and_zones(make_server):
    log = Log(make_server, "qname", extra="dnstap:\n"
              "\tdnstap-zones: SUB.example.\n")
    log.ask("www.example")
    log.ask("elsewhere.test")
    log.ask("one.sub.example")
    assert log.lines(1) == ["one.sub.example."]
    log.server.extra = log.server.extra.replace(
        "dnstap-zones: SUB.example.", "dnstap-sample: 4")
    log.server.write_config()
    assert control.ask(log.server, "reconfig")[0] == 0
    for i in range(400):
        log.ask(f"n{i}.example")
    log.server.wait_serving()
    assert control.ask(log.server, "log_reopen") == (0, "ok\n")
    count = wait_for("lines", lambda: log.text().count("\n"))
    assert 20 < count < 250, count


def test_collector_that_is_killed_is_replaced(make_server):
    log = Log(make_server, "qname")
    log.ask("one.example")
    log.lines(1)
    log.server.wait_replaced("collector", log.server.kill("collector"))
    log.ask("two.example")
    assert log.lines(2) == ["one.example.", "two.example."]


def test_start_and_stop_lose_no_line(make_server):
    log = Log(make_server, "qname")
    for i in range(200):
        log.ask(f"n{i}.example")
    log.server.stop()
    assert set(log.text().splitlines()) >= {
        f"n{i}.example." for i in range(200)}
