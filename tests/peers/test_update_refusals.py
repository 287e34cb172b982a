"""Refusals of UPDATEs: each says why in the log, as the table of doc/update.md has
it, and by an extended error."""
import pathlib
import re
import subprocess
import time

import dns.edns
import dns.message
import dns.rcode
import dns.update
import pytest

import servers
import update_messages
import update_rules
import update_servers

pytestmark = pytest.mark.lasts(5)

PAGE = pathlib.Path(__file__).parents[2] / "doc" / "update.md"
ZONE = "refused.test."
BLOCKED = "blocked.test."
POLICY = "policy.test."
FROZEN = "frozen.test."
GOOD = update_messages.KEYS["good"]
WORDS = {"Z": r"\S+", "A": r"127\.0\.0\.1( key \S+)?", "K": r"\S+",
         "N": r"\d+", "NAME": r"\S+",
         "TYPE": r"\S+", "REASON": ".+", "RCODE": "[A-Z]+", "ELEMENT": ".+"}
ELSEWHERE = ("the disk", "too many at once", "it is not known", "signed zone",
             "takes no updates", "forwarding", "dnssec-verify")
"""Reasons that other tests give."""
PATIENCE = 60


class Ours(update_servers.Ours):
    def __init__(self):
        super().__init__({ZONE: update_rules.ZONE})
        self.control = ["\tcontrol-enable: yes",
                        f"\tcontrol-interface: {self.dir}/control"]

    def command(self):
        command = super().command()
        conf = self.dir / "nsd.conf"
        with open(conf, "a") as f:
            for zone, lines in (
                    (BLOCKED, ("allow-update: 0.0.0.0/0 good.key",
                               "allow-update: 127.0.0.1 BLOCKED")),
                    (POLICY, ("update-policy: good.key x TXT",)),
                    (FROZEN, ("allow-update: 127.0.0.1 good.key",))):
                self.write(f"{zone}zone", update_rules.ZONE)
                f.write(f"zone:\n\tname: {zone}\n"
                        f"\tzonefile: {self.dir}/{zone}zone\n")
                f.writelines(f"\t{line}\n" for line in lines)
        return command


def rows():
    """[(RCODEs, reason, line of the log)] of the page."""
    text = PAGE.read_text()
    part = text[text.index("## Refusals"):text.index("## Clients")]
    found = re.findall(r"^\| ([A-Z, ]+) \| (.+?) \| `(update for .+?)` \|$",
                       part, re.M)
    return [row for row in found
            if not any(word in row[1] for word in ELSEWHERE)]


ROWS = {reason: (rcodes, line) for rcodes, reason, line in rows()}


def signed(zone=ZONE, key=GOOD):
    update = dns.update.UpdateMessage(zone, keyring=key)
    update.use_edns(0)
    return update


def plain(zone=ZONE):
    update = dns.update.UpdateMessage(zone)
    update.use_edns(0)
    update.add("x", 60, "A", "192.0.2.1")
    return update


def adding(zone=ZONE, key=GOOD, owner="x", at=None):
    update = signed(zone, key)
    update.add(owner, 60, "A", "192.0.2.1")
    if at is None:
        return update
    bare = dns.update.UpdateMessage(zone)
    bare.use_edns(0)
    bare.add(owner, 60, "A", "192.0.2.1")
    return update_messages.signed(bare.to_wire(), key, at)[0]


def with_prerequisite(how, *what):
    update = signed()
    getattr(update, how)(*what)
    update.add("x", 60, "A", "192.0.2.1")
    return update


CASES = {
    "the zone is not here": [lambda: adding("elsewhere.example.")],
    "unknown key": [lambda: adding(key=update_messages.KEYS["unknown"])],
    "wrong secret, or changed on its way":
        [lambda: adding(key=update_messages.WRONG)],
    "clocks": [lambda: adding(at=time.time() - 3600),
               lambda: adding(at=time.time() + 3600)],
    "address or key": [plain,
                       lambda: adding(key=update_messages.KEYS["other"])],
    "not signed, and the zone has `update-policy`": [lambda: plain(POLICY)],
    "blocked": [lambda: adding(BLOCKED)],
    "name or type": [lambda: adding(POLICY)],
    "frozen": [lambda: adding(FROZEN)],
    "a prerequisite failed": [
        lambda: with_prerequisite("present", "x"),
        lambda: with_prerequisite("absent", "a"),
        lambda: with_prerequisite("present", "x", "A"),
        lambda: with_prerequisite("absent", "a", "A")],
    "a record that cannot be": [lambda: adding(owner="outside.example.")],
}


@pytest.fixture(scope="module")
def server():
    with servers.started(Ours()) as running:
        frozen = subprocess.run(
            [servers.build_dir() / "nsd-control", "-c",
             running.dir / "nsd.conf", "freeze", FROZEN], check=False,
            capture_output=True, text=True, timeout=PATIENCE)
        assert frozen.returncode == 0, frozen
        yield running


def pattern(line):
    """The page's line as a regular expression."""
    parts = re.split(r"\b([A-Z]+)\b", line)
    return "".join(WORDS.get(part, part) if at % 2 else re.escape(part)
                   for at, part in enumerate(parts))


def ask(server, message):
    """(RCODE, text of the extended error) of the reply."""
    wire = message if isinstance(message, bytes) else message.to_wire()
    # Signatures are not looked at: some requests have none.
    reply = dns.message.from_wire(update_servers.ask(server.port, wire, {}),
                                  continue_on_error=True)
    errors = [option for option in reply.options
              if option.otype == dns.edns.OptionType.EDE]
    assert len(errors) == 1, reply
    return dns.rcode.to_text(reply.rcode()), errors[0].text


def test_all_are_tried():
    assert sorted(ROWS) == sorted(CASES)


@pytest.mark.parametrize("reason", CASES)
def test_line(server, reason):
    """RFC 2136 section 3, RFC 8914."""
    rcodes, line = ROWS[reason]
    for make in CASES[reason]:
        log = server.dir / "log"
        before = len(log.read_text())
        rcode, text = ask(server, make())
        assert rcode in rcodes.split(", ")
        assert text or rcode == "NOTAUTH"
        end = time.monotonic() + PATIENCE
        while not re.search(pattern(line), log.read_text()[before:]):
            assert time.monotonic() < end, (pattern(line),
                                            log.read_text()[before:])
            time.sleep(0.02)
