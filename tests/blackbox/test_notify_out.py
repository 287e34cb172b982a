"""NOTIFYs to secondaries: to whom, of which versions, and when."""
import collections
import signal
import socket
import threading

import dns.message
import dns.opcode
import dns.rcode
import pytest

import control
from harness import DEADLINE, wait_for, zone_text

pytestmark = pytest.mark.plain

NAMES = [f"z{i}.test" for i in range(10)]


class Target:
    """A secondary that acknowledges each NOTIFY, or refuses it, or is
    silent."""

    def __init__(self):
        self.told = collections.Counter()  # (zone, serial)
        self.rcode = dns.rcode.NOERROR     # None: is silent
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while True:
            octets, client = self.socket.recvfrom(65535)
            if not octets:
                return
            query = dns.message.from_wire(octets)
            assert query.opcode() == dns.opcode.NOTIFY
            self.told[str(query.question[0].name)[:-1],
                      query.answer[0][0].serial] += 1
            if self.rcode is None:
                continue
            answer = dns.message.make_response(query)
            answer.set_rcode(self.rcode)
            self.socket.sendto(answer.to_wire(), client)

    def wait(self, name, serial, times=1):
        wait_for(f"NOTIFY of {name} {serial}",
                 lambda: self.told[name, serial] >= times)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.sendto(b"", ("127.0.0.1", self.port))
        self.thread.join()
        self.socket.close()


@pytest.fixture
def target():
    with Target() as made:
        yield made


@pytest.fixture
def other():
    with Target() as made:
        yield made


def configure(server, names, *targets):
    server.extra = server.always + (
        "pattern:\n\tname: p\n\tzonefile: \"%s.zone\"\n") + "".join(
        f"\tnotify: 127.0.0.1@{target.port} NOKEY\n" for target in targets
        ) + "".join(f"zone:\n\tname: {name}\n\tinclude-pattern: p\n"
                    for name in names)
    for name in names:
        if not server.zone_file(name).exists():
            server.zone_file(name).write_text(zone_text(1))
    server.write_config()


def reconfig(server, names, *targets):
    """Runs reconfig; the same xfrd knows the zones when it returns."""
    xfrd = server.role("xfrd")
    configure(server, names, *targets)
    assert control.ask(server, "reconfig")[0] == 0
    assert server.role("xfrd") == xfrd


@pytest.fixture
def server(make_server, target):
    made = make_server(zones={"example": zone_text()})
    control.config(made)
    made.always = made.extra
    configure(made, NAMES, target)
    made.start()
    for name in NAMES:
        target.wait(name, 1)
    return made


def test_targets_of_a_zone_that_is_added_are_told(server, target):
    server.zone_file("new.test").write_text(zone_text(7))
    assert control.ask(server, "addzone", "new.test", "p") == (0, "ok\n")
    target.wait("new.test", 7)


def test_reconfig_tells_what_was_not_told(server, target):
    """Targets that have acknowledged what there was are not told again."""
    names = list(NAMES)
    for i in range(5):
        names.append(f"new{i}.test")
        reconfig(server, names, target)
        target.wait(names[-1], 1)
    server.zone_file("z3.test").write_text(zone_text(2))
    assert control.ask(server, "--no-wait", "reload", "z3.test")[0] == 0
    names.append("last.test")
    reconfig(server, names, target)
    target.wait("last.test", 1)
    target.wait("z3.test", 2)
    assert {told for told, times in target.told.items() if times > 1
            } <= {("z3.test", 2)}


def test_reconfig_tells_targets_that_have_refused(server, target):
    target.rcode = dns.rcode.REFUSED
    server.zone_file("z3.test").write_text(zone_text(2))
    assert control.ask(server, "reload", "z3.test") == (0, "ok\n")
    target.wait("z3.test", 2)
    target.rcode = dns.rcode.NOERROR
    reconfig(server, [*NAMES, "new.test"], target)
    target.wait("new.test", 1)
    target.wait("z3.test", 2, 2)
    assert {told: times for told, times in target.told.items() if times != 1
            } == {("z3.test", 2): 2}


def test_reconfig_tells_other_targets(server, target, other):
    reconfig(server, NAMES, other)
    for name in NAMES:
        other.wait(name, 1)


@pytest.mark.parametrize("how", ("crash", "start"))
def test_all_are_told_by_one_who_knows_nothing(server, target, how):
    if how == "crash":
        # State that one xfrd has left to the next is not for a third.
        reconfig(server, [*NAMES, "new.test"], target)
        target.wait("new.test", 1)
        server.wait_replaced("xfrd", server.kill("xfrd", signal.SIGKILL))
    else:
        assert server.stop() == 0
        server.start()
    for name in NAMES:
        target.wait(name, 1, 2)


def test_a_silent_target_holds_up_no_target_of_another_pattern(
        make_server, target, other):
    """The patterns' options differ in their targets only."""
    other.rcode = None
    names = [f"{kind}{i}.test" for kind in "ab" for i in range(1000)]
    server = control.config(make_server(zones={"example": zone_text()}))
    server.extra += "".join(
        f"pattern:\n\tname: {kind}\n\tzonefile: all.zone\n"
        f"\tnotify: 127.0.0.1@{to.port} NOKEY\n"
        for kind, to in (("a", target), ("b", other))) + "".join(
            f"zone:\n\tname: {name}\n\tinclude-pattern: {name[0]}\n"
            for name in names)
    server.write_zone("all", zone_text(1))
    server.write_config()
    server.start()
    # Behind silent ones they would take more than that.
    wait_for("all of the others", lambda: len(target.told) == 1000, DEADLINE)
    # The zone that is asked for is told first.
    assert control.ask(server, "notify", "b500.test") == (0, "ok\n")
    wait_for("the zone", lambda: ("b500.test", 1) in other.told, 30)
