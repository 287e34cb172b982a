"""nsd-control reconfig: what it answers when it does not end as it was to."""
import contextlib
import os
import signal

import pytest

import control
from harness import wait_for, zone_text

REFUSED = "error reconfig refused: nothing has changed"


@pytest.fixture
def server(make_server):
    made = make_server(zones={"example": zone_text()},
                       options={"identity": '"one"',
                                "reload-config": "yes",
                                "replace-hung": "no"})
    return control.config(made).start()


def change(server, text):
    server.options["identity"] = f'"{text}"'
    server.write_config()


@contextlib.contextmanager
def still(pid):
    """A process stands still."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def test_loaders_die_of_it(server):
    # A large zone takes loaders some time.
    server.write_zone("large.test", zone_text() + "".join(
        f"name-{i} IN TXT \"some octets of text\"\n" for i in range(300_000)))
    change(server, "two")
    with control.begin(server, "reconfig") as client:
        while client.poll() is None:
            # No pause, in which a loader could be done on a busy machine.
            with contextlib.suppress(KeyError, ProcessLookupError):
                os.kill(server.role("loader"), signal.SIGKILL)
        lines = client.communicate(timeout=120)[0].splitlines()
    # Main has it, and goes on with it.
    assert lines[-1] == ("error loaders die of the new configuration, and it"
                         " stays what is to be run with: correct nsd.conf,"
                         " and have it read again")
    wait_for("a loader that lives", lambda: server.identity() == "two")
    change(server, "three")
    # A zone that three of them have died of is set aside, which is told.
    answer = control.ask(server, "reconfig")[1]
    assert answer.endswith(("\nok\n", "zone large.test: see the log\nreconfig"
                            " completed: changes applied\nerror 1 zone cannot"
                            " be read\n"))


def test_it_is_not_waited_for(server):
    change(server, "two")
    with still(server.role("server 1")):
        assert control.ask(server, "--no-wait", "reconfig") == (
            0, f"reconfig start, read {server.config}\n"
               f"{server.place('identity')}server: identity has changed\n"
               "reconfig begun: changes are being applied\nok\n")
    wait_for("it", lambda: server.identity() == "two")
    server.wait_log("reconfig: done")
    wait_for("xfrd", lambda: control.ask(server, "--no-wait", "reconfig") == (
        0, f"reconfig start, read {server.config}\n"
           "reconfig completed: no changes detected\nok\n"))
    server.config.write_text(server.config.read_text() + "\nnonsense: 1\n")
    assert control.say(server, b"NSDCT1 --no-wait reconfig\n").splitlines()[
        -1] == REFUSED


def test_others_do_not_wait_for_those_that_wait_for_it(server):
    change(server, "two")
    with still(server.role("server 1")), contextlib.ExitStack() as clients:
        first = clients.enter_context(control.begin(server, "reconfig"))
        server.wait_log("reconfig: 1 options")
        second = clients.enter_context(control.begin(server, "reconfig"))
        wait_for("both", lambda: control.ask(server, "progress")[1].count(
            "reconfig: ") == 2)
        code, text = control.ask(server, "print_cookie_secrets")
        assert code == 0 and text.startswith("source : ")
        assert first.poll() is None and second.poll() is None
        os.kill(server.role("server 1"), signal.SIGCONT)
        assert first.communicate(timeout=60)[0].endswith("\nok\n")
        second.communicate(timeout=60)


def test_it_waits_for_an_earlier_one(server):
    """`ok` means that all processes have nsd.conf, though main has read it
    before, and nothing is new."""
    change(server, "two")
    worker = server.role("server 1")
    with still(worker):
        server.signal(signal.SIGHUP)
        server.wait_log("reconfig: 1 options")
        with control.begin(server, "reconfig") as waits:
            wait_for("it", lambda: waits.poll() is not None or "reconfig: "
                     in control.ask(server, "progress")[1])
            # Main, which is asked this, too, has had the reconfig by then.
            assert control.ask(server, "print_cookie_secrets")[0] == 0
            assert waits.poll() is None
            os.kill(worker, signal.SIGCONT)
            text = waits.communicate(timeout=60)[0]
    assert text == (f"reconfig start, read {server.config}\n"
                    "reconfig completed: changes applied\nok\n")


def test_it_gives_way_to_a_later_one(server):
    with still(server.role("server 1")):
        change(server, "two")
        with control.begin(server, "reconfig") as waits:
            server.wait_log("reconfig: 1 options")
            change(server, "three")
            server.signal(signal.SIGHUP)
            text = waits.communicate(timeout=120)[0]
    assert text.splitlines()[-1] == (
        "error a later reconfig has taken its place")
    wait_for("the later one", lambda: server.identity() == "three")


def test_end_of_an_earlier_one_is_not_that_of_a_later_one(server):
    """The worker that the earlier one waits for ends while the loader still has
    the later one in hand."""
    worker = server.role("server 1")
    change(server, "two")
    os.kill(worker, signal.SIGSTOP)
    with control.begin(server, "reconfig") as waits:
        server.wait_log("reconfig: 1 options")
        # The loader has answered main about the earlier one by then.
        assert control.ask(server, "reload", "example") == (0, "ok\n")
        with still(server.role("loader")):
            change(server, "three")
            server.signal(signal.SIGHUP)
            text = waits.communicate(timeout=60)[0]
            assert text.splitlines()[-1] == (
                "error a later reconfig has taken its place")
            os.kill(worker, signal.SIGKILL)
            server.wait_replaced("server 1", worker)
            assert "reconfig: done" not in server.read_log()
    server.wait_log("reconfig: done")
    assert server.identity() == "three"
