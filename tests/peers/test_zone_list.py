"""The zone list, and the verbs that write it, beside the real NSD."""
import difflib
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

import dns.exception
import dns.message
import dns.query
import dns.rcode
import pytest

from servers import build_dir

sys.path.append(str(pathlib.Path(__file__).parent.parent / "lib"))
from ports import free_port  # noqa: E402

pytestmark = pytest.mark.lasts(10)

ZONE = ("$ORIGIN {name}.\n@ 3600 SOA ns.{name}. host.{name}. 1 3600 600 "
        "86400 60\n@ 3600 NS ns.example.\n")
NAMES = [f"{c * n}.test" for c in "abcdefgh" for n in (1, 2, 3)]
STEPS = 150
PATIENCE = 120


class Running:
    """One of the two, in a folder of its own."""

    def __init__(self, folder, program, control):
        self.folder = folder
        self.program = program
        self.control = control
        self.port = free_port()
        self.process = None
        folder.mkdir()
        for name in NAMES:
            (folder / f"{name}.zone").write_text(ZONE.format(name=name))
        (folder / "nsd.conf").write_text(f"""\
server:
	ip-address: 127.0.0.1@{self.port}
	username: ""
	zonesdir: "{folder}"
	database: ""
	pidfile: "{folder}/pid"
	logfile: "{folder}/log"
	zonelistfile: "{folder}/zone.list"
	xfrdfile: "{folder}/xfrd.state"
	xfrdir: "{folder}"
remote-control:
	control-enable: yes
	control-interface: "{folder}/control"
pattern:
	name: p
	zonefile: "%s.zone"
pattern:
	name: q
	zonefile: "%s.zone"
pattern:
	name: long-name
	zonefile: "%s.zone"
zone:
	name: fixed
	zonefile: "fixed.zone"
""")

    def start(self):
        self.process = subprocess.Popen(
            [self.program, "-d", "-c", str(self.folder / "nsd.conf")],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True)
        end = time.monotonic() + PATIENCE
        while self.ask("status")[0] != 0:
            assert time.monotonic() < end, "it does not start"
            time.sleep(0.05)

    def stop(self):
        self.process.terminate()
        self.process.wait(PATIENCE)
        self.process = None

    def end(self):
        if self.process is not None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def ask(self, *words, text=""):
        result = subprocess.run(
            [self.control, "-c", str(self.folder / "nsd.conf"), *words],
            input=text, capture_output=True, text=True, timeout=PATIENCE,
            check=False)
        return result.returncode, result.stdout

    def list(self):
        path = self.folder / "zone.list"
        return path.read_text() if path.exists() else ""

    def serves(self, name):
        query = dns.message.make_query(name, "SOA")
        end = time.monotonic() + PATIENCE
        while True:
            try:
                return dns.query.udp(query, "127.0.0.1", port=self.port,
                                     timeout=2).rcode() == dns.rcode.NOERROR
            except (OSError, dns.exception.DNSException):
                assert time.monotonic() < end


@pytest.fixture
def both():
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        pair = (Running(folder / "ours", str(build_dir() / "nsd"),
                        str(build_dir() / "nsd-control")),
                Running(folder / "nsd", "/usr/sbin/nsd", "nsd-control"))
        try:
            yield pair
        finally:
            for one in pair:
                one.end()


def adds(text):
    return sorted(line for line in text.splitlines()
                  if line.startswith("add"))


def wait_same(ours, nsd):
    """Line by line. Ours is written anew a moment later."""
    end = time.monotonic() + PATIENCE
    while True:
        a, b = ours.list(), nsd.list()
        if a == b:
            return
        assert time.monotonic() < end, "\n".join(
            difflib.ndiff(a.splitlines(), b.splitlines()))
        time.sleep(0.05)


def test_lists_and_answers_are_those_of_nsd(both):
    ours, nsd = both
    seed = int(os.environ.get("NSD_SEED", random.randrange(1 << 32)))
    print("seed", seed)
    chance = random.Random(seed)
    for one in both:
        one.start()
    for _ in range(STEPS):
        name = chance.choice([*NAMES, "fixed", "a..b"])
        pattern = chance.choice(["p", "q", "long-name", "absent"])
        words = chance.choice([("addzone", name, pattern),
                               ("addzone", name, pattern),
                               ("delzone", name), ("delzone", name),
                               ("changezone", name, pattern)])
        a, b = ours.ask(*words), nsd.ask(*words)
        # NSD forgets the end of a line.
        assert a == (b[0], b[1].replace("creatingok", "creating\nok")), words
        wait_same(ours, nsd)
    lines = "".join(f"{chance.choice(NAMES)} {chance.choice('pqx')}\n"
                    for _ in range(60))
    assert ours.ask("addzones", text=lines) == nsd.ask("addzones", text=lines)
    assert adds(ours.list()) == adds(nsd.list())
    lines = "".join(f"{chance.choice(NAMES)}\n" for _ in range(20))
    assert ours.ask("delzones", text=lines) == nsd.ask("delzones", text=lines)
    assert adds(ours.list()) == adds(nsd.list())


def test_each_reads_the_list_of_the_other(both):
    ours, nsd = both
    for writer, reader in (ours, nsd), (nsd, ours):
        for name in ("zone.list", "xfrd.state"):
            for one in both:
                (one.folder / name).unlink(missing_ok=True)
        writer.start()
        for name in NAMES[:6]:
            assert writer.ask("addzone", name, "p")[1] == "ok\n"
        for name in NAMES[2:4]:
            assert writer.ask("delzone", name)[1] == "ok\n"
        assert writer.ask("changezone", NAMES[0], "long-name")[1] == "ok\n"
        writer.stop()
        (reader.folder / "zone.list").write_text(writer.list())
        reader.start()
        assert [reader.serves(name) for name in NAMES[:6]] == [
            True, True, False, False, True, True]
        # And goes on with it.
        assert reader.ask("delzone", NAMES[5])[1] == "ok\n"
        assert reader.ask("addzone", NAMES[2], "q")[1] == "ok\n"
        assert adds(reader.list()) == sorted([
            f"add {NAMES[0]} long-name", f"add {NAMES[1]} p",
            f"add {NAMES[2]} q", f"add {NAMES[4]} p"])
        reader.stop()
