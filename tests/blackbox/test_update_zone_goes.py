"""Zones that take updates of clients, and go, or get other options: no update
that was answered is lost (doc/decisions/0178)."""
import errno
import itertools
import json
import pathlib
import re
import signal
import subprocess
import threading

import dns.query
import dns.rcode
import dns.update
import dns.zone
import pytest

import control
from harness import BUILD, DEADLINE, wait_for, zone_text
from test_disk_fails import WRITES, Disk, kill_all

OPTIONS = ("\tzonefile: %s.zone\n\tallow-update: 127.0.0.1 NOKEY\n"
           "\tprovide-xfr: 127.0.0.1 NOKEY\n")
PATTERNS = (f"pattern:\n\tname: updated\n{OPTIONS}"
            "pattern:\n\tname: plain\n\tzonefile: %s.zone\n")
ZONE = "zone:\n\tname: z0\n" + OPTIONS


def make(make_server, extra="", **options):
    server = make_server(zones={"b.test": zone_text(1)},
                         extra=PATTERNS + extra, options={
                             "server-count": 1, "verbosity": 1,
                             "replace-hung": "no", **options})
    for number in range(3):
        server.zone_file(f"z{number}").write_text(zone_text(1))
    return control.config(server)


@pytest.fixture(name="server")
def server_fixture(make_server):
    server = make(make_server).start()
    assert ask(server, "addzone", "z0", "updated") == (0, "ok\n")
    return server


def ask(server, *words):
    return control.ask(server, *words)


def send(server, name, zone="z0"):
    update = dns.update.UpdateMessage(zone)
    update.add(name, 60, "A", "192.0.2.9")
    return dns.query.udp(update, server.address, port=server.port,
                         timeout=DEADLINE).rcode()


def waiting(server, zone="z0"):
    code, text = ask(server, "-j", "zonestatus", zone)
    assert code == 0, text
    return json.loads(text)[0]["updates_waiting"]


def names_of(server, zone="z0"):
    """The names in the file that clients have added."""
    parsed = dns.zone.from_file(str(server.zone_file(zone)), zone,
                                check_origin=False)
    return {name.to_text() for name in parsed if str(name).startswith("u")}


class Flood:
    """Clients that send updates until they are told to end, or the zone takes
    none any more."""

    def __init__(self, server):
        self.server, self.done, self.codes = server, set(), set()
        self.is_over = False
        self.threads = [threading.Thread(target=self.run, args=(n,))
                        for n in range(4)]
        for thread in self.threads:
            thread.start()
        wait_for("some updates", lambda: len(self.done) > 20)

    def run(self, number):
        for count in itertools.count():
            name = f"u{number}x{count}"
            code = send(self.server, name)
            self.codes.add(code)
            if code == dns.rcode.NOERROR:
                self.done.add(name)
            if code != dns.rcode.NOERROR or self.is_over:
                return

    def wait_more(self):
        known = len(self.done)
        wait_for("more updates", lambda: len(self.done) > known + 20)

    def end(self):
        self.is_over = True
        for thread in self.threads:
            thread.join()
        return self.done


def test_delzone_writes_the_file_first(server):
    assert send(server, "u") == dns.rcode.NOERROR
    assert names_of(server) == set()
    assert ask(server, "delzone", "z0") == (0, "ok\n")
    assert names_of(server) == {"u"}
    assert ask(server, "addzone", "z0", "updated") == (0, "ok\n")
    assert server.serial("z0") == 2
    assert server.answer("u.z0", "A") == ["192.0.2.9"]
    assert send(server, "u2") == dns.rcode.NOERROR
    assert server.serial("z0") == 3


def test_delzone_amid_updates(server):
    flood = Flood(server)
    assert ask(server, "delzone", "z0") == (0, "ok\n")
    assert flood.end() == names_of(server)
    assert flood.codes == {dns.rcode.NOERROR, dns.rcode.NOTAUTH}


def test_changes_of_a_zone_wait_for_its_delzone(server):
    """An addzone behind it, but not that of another zone."""
    assert send(server, "u") == dns.rcode.NOERROR
    server.kill("loader", signal.SIGSTOP)
    client = threading.Thread(target=send, args=(server, "u2"))
    client.start()
    wait_for("the update", lambda: waiting(server) == 1)
    delzone = control.begin(server, "delzone", "z0")
    with pytest.raises(subprocess.TimeoutExpired):
        delzone.communicate(timeout=0.5)
    addzone = control.begin(server, "addzone", "z0", "updated")
    with pytest.raises(subprocess.TimeoutExpired):
        addzone.communicate(timeout=0.5)
    server.kill("loader", signal.SIGCONT)
    assert delzone.communicate(timeout=DEADLINE)[0] == "ok\n"
    assert addzone.communicate(timeout=DEADLINE)[0] == "ok\n"
    client.join()
    assert names_of(server) == {"u", "u2"}
    assert server.serial("z0") == 3


def test_delzones(server):
    for number in 1, 2:
        assert ask(server, "addzone", f"z{number}", "updated")[0] == 0
    for number in range(3):
        assert send(server, f"u{number}", f"z{number}") == 0
    assert control.ask(server, "delzones", text="z0\nz1\nz2\n")[0] == 0
    for number in range(3):
        assert names_of(server, f"z{number}") == {f"u{number}"}


def failing(make_server, directory, extra="", **options):
    disk = Disk(directory / "failing")
    server = make(make_server, extra, sandbox="no", **options)
    server.program = BUILD / "tests/lib/nsd_failing"
    server.environment["NSD_FAILING"] = str(directory / "failing")
    return disk, server.start()


def test_delzone_on_a_full_disk(make_server, directory):
    """The zone stays, with its updates, and says why."""
    disk, server = failing(make_server, directory)
    assert ask(server, "addzone", "z0", "updated") == (0, "ok\n")
    assert send(server, "u") == dns.rcode.NOERROR
    disk.fail(errno.ENOSPC, "z0.zone", WRITES)
    for words in ("delzone", "z0"), ("changezone", "z0", "plain"):
        assert ask(server, *words) == (
            1, "error zone z0: it has updates that its file lacks, which"
            " cannot be written: No space left on device\n")
    assert send(server, "u2") == dns.rcode.NOERROR
    assert server.serial("z0") == 3
    disk.mend()
    assert ask(server, "delzone", "z0") == (0, "ok\n")
    assert names_of(server) == {"u", "u2"}


def test_changezone_writes_the_file_first(server):
    flood = Flood(server)
    assert ask(server, "changezone", "z0", "plain") == (0, "ok\n")
    assert flood.end() == names_of(server)
    assert dns.rcode.NOERROR in flood.codes
    # A worker may know of the other pattern, or xfrd alone.
    assert flood.codes - {dns.rcode.NOERROR} <= {dns.rcode.REFUSED,
                                                 dns.rcode.NOTIMP}
    assert server.serial("z0") == 1 + len(flood.done)


def drop_zone(server):
    server.extra = server.extra.replace(ZONE, "")
    server.write_config()


def test_reconfig_writes_files_first(make_server):
    server = make(make_server, ZONE).start()
    flood = Flood(server)
    drop_zone(server)
    control.apply(server)
    assert flood.end() == names_of(server)
    assert flood.codes == {dns.rcode.NOERROR, dns.rcode.NOTAUTH}


def test_signal_writes_files_first(make_server):
    server = make(make_server, ZONE, **{"reload-config": "yes"}).start()
    flood = Flood(server)
    drop_zone(server)
    server.signal(signal.SIGHUP)
    server.wait_log("reconfig: done")
    assert flood.end() == names_of(server)
    assert flood.codes == {dns.rcode.NOERROR, dns.rcode.NOTAUTH}


def test_signal_holds_no_updates(make_server):
    """Whether it changes something, is refused, or changes nothing."""
    server = make(make_server, ZONE, **{"reload-config": "yes"}).start()
    flood = Flood(server)
    server.options["identity"] = '"two"'
    server.write_config()
    server.signal(signal.SIGHUP)
    wait_for("the identity", lambda: server.identity() == "two")
    flood.wait_more()
    server.config.write_text("nonsense:\n")
    server.signal(signal.SIGHUP)
    server.wait_log("reconfig: refused")
    flood.wait_more()
    server.options["identity"] = '"three"'
    server.write_config()
    server.signal(signal.SIGHUP)
    wait_for("the identity", lambda: server.identity() == "three")
    for _ in range(3):
        server.signal(signal.SIGHUP)
        flood.wait_more()
    flood.end()
    assert flood.codes == {dns.rcode.NOERROR}
    assert server.serial("z0") == 1 + len(flood.done)


def test_signal_on_a_full_disk(make_server, directory):
    disk, server = failing(make_server, directory, ZONE,
                           **{"reload-config": "yes"})
    assert send(server, "u") == dns.rcode.NOERROR
    disk.fail(errno.ENOSPC, "z0.zone", WRITES)
    drop_zone(server)
    server.signal(signal.SIGHUP)
    server.wait_log("zone z0 has updates that its file lacks")
    server.wait_log("reconfig: done")
    assert server.rcode("z0", "SOA") == "REFUSED"


def test_signal_while_xfrd_dies(make_server):
    """nsd.conf is read all the same."""
    server = make(make_server, ZONE, **{"reload-config": "yes"}).start()
    assert send(server, "u") == dns.rcode.NOERROR
    server.kill("xfrd", signal.SIGSTOP)
    server.options["identity"] = '"two"'
    server.write_config()
    server.signal(signal.SIGHUP)
    server.wait_log("SIGHUP received")
    server.kill("xfrd")
    wait_for("the identity", lambda: server.identity() == "two")
    wait_for("an update", lambda: send(server, "u2") == dns.rcode.NOERROR)


@pytest.mark.parametrize("is_first", [True, False])
def test_signal_is_followed_by_the_next_xfrd(make_server, is_first):
    """Nor does an update go with the xfrd that was to write it."""
    server = make(make_server, ZONE, **{"reload-config": "yes"}).start()
    assert send(server, "u") == dns.rcode.NOERROR
    if is_first:
        server.kill("xfrd", signal.SIGSTOP)
    else:
        server.kill("xfrd")
    drop_zone(server)
    server.signal(signal.SIGHUP)
    server.wait_log("SIGHUP received")
    if is_first:
        server.kill("xfrd")
    server.wait_log("reconfig: done")
    assert names_of(server) == {"u"}


def nsupdate(server, path):
    subprocess.run(["nsupdate", "-v"], check=True, timeout=DEADLINE,
                   text=True, input=f"server {server.address} {server.port}\n"
                   + path.read_text())


@pytest.mark.parametrize("back", ["reconfig", "start", "addzone"])
def test_zone_that_a_start_does_not_know(make_server, back):
    """A part of nsd.conf was missing. What was sent is not lost, and is not put
    into a zone of the same name that may be another."""
    server = make(make_server, ZONE).start()
    assert send(server, "u0") == dns.rcode.NOERROR
    assert ask(server, "write") == (0, "ok\n")
    update = dns.update.UpdateMessage("z0")
    update.delete("u0")
    # With whole names, more than is read from the journal at once.
    deep = ".".join(["deep" * 12] * 4)
    for number in range(250):
        update.add(f"u{number}.{deep}", 60, "TXT",
                   f'"{number}\\;" "{"x" * 150}"')
    assert dns.query.tcp(update, server.address, port=server.port,
                         timeout=DEADLINE).rcode() == dns.rcode.NOERROR
    kill_all(server)
    server.start()
    assert send(server, "u2") == dns.rcode.NOERROR
    kill_all(server)
    whole = server.config.read_text()
    drop_zone(server)
    server.start()
    server.wait_log("zone z0 is not in the configuration any more, but clients"
                    " have sent updates that its file may lack: they are in ")
    path = pathlib.Path(re.search(r"they are in (.*), for nsupdate",
                                  server.read_log())[1])
    if back == "addzone":
        assert ask(server, "addzone", "z0", "updated") == (0, "ok\n")
    elif back == "reconfig":
        server.config.write_text(whole)
        assert ask(server, "reconfig")[0] == 0
    else:
        assert server.stop() == 0
        server.config.write_text(whole)
        server.start()
    assert server.answer("u0.z0", "A") == ["192.0.2.9"]
    assert server.rcode("u2.z0", "A") == "NXDOMAIN"
    assert send(server, "u3") == dns.rcode.NOERROR
    nsupdate(server, path)
    assert ask(server, "write") == (0, "ok\n")
    assert names_of(server) == {"u2", "u3", *(f"u{number}.{deep}"
                                              for number in range(250))}
    assert server.answer(f"u7.{deep}.z0", "TXT", tcp=True) == [
        f'"7;" "{"x" * 150}"']


def test_updates_that_no_file_can_have_stay(make_server):
    server = make(make_server, ZONE).start()
    assert send(server, "u") == dns.rcode.NOERROR
    kill_all(server)
    whole = server.config.read_text()
    drop_zone(server)
    folder = server.directory / "xfrd.state.journal"
    folder.chmod(0o755)
    place = folder / "z0.1.updates"
    place.mkdir()
    server.start()
    server.wait_log("the journal keeps them, as .* cannot be written")
    assert server.stop() == 0
    server.config.write_text(whole)
    server.start()
    assert server.answer("u.z0", "A") == ["192.0.2.9"]


def test_reconfigs_at_once(make_server):
    """Saves of all zones take turns, and each has an end."""
    server = make(make_server, ZONE, **{"reload-config": "yes"}).start()
    for number in 1, 2:
        assert ask(server, "addzone", f"z{number}", "updated")[0] == 0
    for number in range(3):
        assert send(server, f"u{number}", f"z{number}") == dns.rcode.NOERROR
    begun = [control.begin(server, "reconfig") for _ in range(4)]
    server.signal(signal.SIGHUP)
    for client in begun:
        client.communicate(timeout=120)
    wait_for("an update", lambda: send(server, "u3") == dns.rcode.NOERROR)


def test_reconfig_holds_no_updates(make_server):
    """Clients of zones that stay see no failure, whatever it comes to."""
    server = make(make_server, ZONE).start()
    flood = Flood(server)
    for count in 2, 1, 1:
        server.options["server-count"] = count
        server.write_config()
        code, text = ask(server, "reconfig")
        assert code == 0, text
    server.config.write_text("nonsense:\n")
    assert ask(server, "reconfig")[0] == 1
    server.write_config()
    flood.end()
    assert flood.codes == {dns.rcode.NOERROR}
    assert server.serial("z0") == 1 + len(flood.done)


def test_reconfig_on_a_full_disk(make_server, directory):
    disk, server = failing(make_server, directory, ZONE)
    assert send(server, "u") == dns.rcode.NOERROR
    disk.fail(errno.ENOSPC, "z0.zone", WRITES)
    drop_zone(server)
    code, text = ask(server, "reconfig")
    assert code == 0
    assert "warning zone z0 has updates that its file lacks, which cannot be" \
        " written: No space left on device\n" in text
    server.wait_log("zone z0 has updates that its file lacks")
