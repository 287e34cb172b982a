"""Versions with a fault, and who refuses them: the table of doc/judging.md. Zones
are signed by ldns, BIND and Knot, damaged, and offered by NSD to secondaries that
verify: ours and Knot; and four programs look at the files."""
import collections
import pathlib
import re
import subprocess
import time

import dns.message
import dns.query
import pytest

import conftest
import judged_zones
import primaries
import secondaries
import servers
from servers import started

pytestmark = pytest.mark.lasts(60)

PAGE = pathlib.Path(__file__).parents[2] / "doc" / "judging.md"
PATIENCE = 120
TOOLS = ("ldns", "bind", "knot")
OURS, KNOT = "ours", "knot"
COLUMNS = (OURS, "nsd-checkzone", KNOT, "dnssec-verify", "ldns-verify-zone")
WHOLE = "whole"


# ---- secondaries

class Verifying:
    """A secondary of all zones. digests: those whose ZONEMD counts."""

    def __init__(self, upstream, digests):
        super().__init__(upstream)
        self.digests = digests

    def start(self):
        """Without a wait for each of its zones: some are never served."""
        zones, command = self.zones, self.command()
        self.zones = {}
        self.command = lambda: command
        try:
            return super().start()
        finally:
            self.zones = zones

    def is_served(self, zone):
        query = dns.message.make_query(zone, "SOA")
        try:
            reply = dns.query.udp(query, "127.0.0.1", timeout=1,
                                  port=self.port)
        except (OSError, dns.exception.DNSException):
            return False
        return reply.rcode() == 0 and bool(reply.answer)

    def verdicts(self):
        """{zone: True if it was refused}, once all are known."""
        found = {}
        deadline = time.monotonic() + PATIENCE
        while len(found) < len(self.zones):
            assert time.monotonic() < deadline, (
                self.name, set(self.zones) - set(found), self.said()[-3000:])
            said = self.said()
            for zone in set(self.zones) - set(found):
                if self.is_served(zone):
                    found[zone] = False
                elif re.search(self.refusal.format(re.escape(
                        zone.rstrip("."))), said):
                    found[zone] = True
            time.sleep(0.1)
        return found


class Ours(Verifying, secondaries.Nsd, servers.Ours):
    name = "ours"
    refusal = r"zone {}\.: serial 7 is not served"

    def command(self):
        return servers.Ours.command(self)

    def said(self):
        path = self.dir / "log"
        return path.read_text() if path.exists() else ""


class Knot(Verifying, secondaries.Knot):
    refusal = r"\[{}\.\] (DNSSEC, validation|ZONEMD|zone event|refresh).*failed"

    def said(self):
        return (self.dir / "output").read_text(errors="replace")

    def command(self):
        command = super().command()
        conf = self.dir / "knot.conf"
        text = conf.read_text().replace(
            "    semantic-checks: off",
            "    dnssec-validation: on\n    semantic-checks: off")
        for zone in self.digests:
            text = text.replace(
                f'  - domain: "{zone}"\n',
                f'  - domain: "{zone}"\n    zonemd-verify: on\n')
        conf.write_text(text)
        return command


def ours_of(primary, digests):
    server = Ours(primary, digests)
    server.zones = dict(primary.zones)
    zones, server.zones = server.zones, {}
    server.more = []
    for zone in zones:
        server.more += [
            "zone:", f"\tname: {zone}", f'\tzonefile: "{zone}zone"',
            f"\trequest-xfr: AXFR 127.0.0.1@{primary.port} NOKEY",
            "\tdnssec-verify: yes"]
        if zone in digests:
            server.more.append("\tzonemd-verify: yes")
    command = server.command()
    server.command = lambda: command
    server.zones = zones
    return server


# ---- programs that look at files

def look(zone, path):
    """{program: True if it refuses the file}. ldns-verify-zone 1.8.3 comes to
    no end now and then, with some zones that have ZONEMD: that is no
    verdict."""
    commands = {
        "nsd-checkzone": [servers.build_dir() / "nsd-checkzone", "-D", zone,
                          path],
        "dnssec-verify": ["dnssec-verify", "-x", "-o", zone, path],
        "ldns-verify-zone": ["ldns-verify-zone", path],
    }
    found = {}
    for program, command in commands.items():
        try:
            found[program] = subprocess.run(
                command, timeout=30 if "ldns" in program else 120,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL, check=False).returncode != 0
        except subprocess.TimeoutExpired:
            assert program == "ldns-verify-zone"
    return found


# ---- the table

def rows():
    """{text of a fault: {column: cell}}"""
    text = PAGE.read_text()
    part = text[text.index("\n| fault |"):]
    found = {}
    for line in part.strip().splitlines()[2:]:
        if not line.startswith("|"):
            break
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        found[cells[0]] = dict(zip(COLUMNS, cells[1:]))
    return found


def is_as_written(cell, refused, tool, denial):
    """A cell is `refused`, `taken`, or `refused of` ways of denial, some of them
    behind the name of a signer."""
    if " of " in cell:
        ways = cell.partition(" of ")[2].split(", ")
        return refused is (denial in ways or f"{tool} {denial}" in ways)
    return refused is {"refused": True, "taken": False}[cell]


def judge(tool, denial, folder):
    """{name of the fault: {column: True if it is refused}}"""
    files, digests, faults, found = {}, [], {}, {}
    cases = [(WHOLE, None), (f"{WHOLE}_digest", None),
             *judged_zones.FAULTS.items()]
    for name, fault in cases:
        zone = f"{name.replace('_', '-')}.{denial}.{tool}.test."
        has_digest = fault.has_digest if fault else name != WHOLE
        made = judged_zones.make(tool, denial, zone, folder, has_digest)
        if fault:
            fault.damage(made)
        files[zone] = folder / f"{zone}zone"
        made.write(files[zone])
        faults[zone] = name
        digests += [zone] if has_digest else []
        found[name] = look(zone, files[zone])
    primary = primaries.Nsd(files)
    with started(primary):
        ours, knot = ours_of(primary, digests), Knot(primary, digests)
        with started(ours), started(knot):
            for server in (ours, knot):
                for zone, refused in server.verdicts().items():
                    found[faults[zone]][server.name] = refused
    return found


def report(found):
    """A line for each fault, to see what has become of it."""
    return "\n".join(
        name + ": " + ", ".join(f"{column} {cells.get(column)}"
                                for column in COLUMNS)
        for name, cells in found.items())


@pytest.mark.parametrize("denial", judged_zones.DENIALS)
@pytest.mark.parametrize("tool", TOOLS)
def test_faults_are_judged_as_the_page_says(tmp_path, tool, denial):
    found = judge(tool, denial, tmp_path)
    print(report(found))
    for name in (WHOLE, f"{WHOLE}_digest"):
        refused = {column for column, bad in found.pop(name).items() if bad}
        assert not refused, name
    table, wrong = rows(), []
    for name, cells in found.items():
        row = table[judged_zones.FAULTS[name].text]
        wrong += [(name, column, row[column], refused)
                  for column, refused in cells.items()
                  if not is_as_written(row[column], refused, tool, denial)]
    assert not wrong


def test_page_has_a_row_for_each_fault():
    texts = collections.Counter(
        fault.text for fault in judged_zones.FAULTS.values())
    assert set(texts) == set(rows()) and max(texts.values()) == 1
    # Zones that a validator believes all the same.
    taken = {text for text, row in rows().items() if row[OURS] != "refused"}
    assert taken == {judged_zones.FAULTS[name].text for name in (
        "algorithm_too_early", "key_broken", "ttl_above", "ttl_below")}


# ---- zones without a fault

LONG_AGO, LATER = "-365d", "+30d"
# Keys of dnssec-keygen: what is said of each, beside its algorithm.
ROLLOVERS = {
    # RFC 6781 section 4.1.1.1: before the rollover, and after it
    "zsk-published": ([], ["-P", "now", "-A", LATER], ["-f", "KSK"]),
    "zsk-retired": (["-P", LONG_AGO, "-A", LONG_AGO, "-I", "-1d", "-D",
                     LATER], [], ["-f", "KSK"]),
    # Section 4.1.1.2, and 4.1.2
    "zsk-twice": ([], [], ["-f", "KSK"]),
    "ksk-twice": ([], ["-f", "KSK"], ["-f", "KSK"]),
    # RFC 5011 section 2.1
    "ksk-revoked": ([], ["-f", "KSK", "-P", LONG_AGO, "-A", LONG_AGO, "-R",
                         "-1d"], ["-f", "KSK"]),
    # Section 4.1.4: both algorithms sign all
    "algorithm": ([], ["-f", "KSK"], ["-a", "RSASHA256", "-b", "2048"],
                  ["-a", "RSASHA256", "-b", "2048", "-f", "KSK"]),
    # RFC 6781 section 3.1: one key for all
    "one-key": (["-f", "KSK"],),
}


def run_in(folder, *command):
    subprocess.run([str(word) for word in command], cwd=folder, check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def sign_amid_rollover(name, rollover, options, folder):
    """Signs with BIND's tools, by the times of the keys."""
    folder.mkdir()
    (folder / "plain").write_text(judged_zones.PLAIN)
    for key in ROLLOVERS[rollover]:
        kind = [] if "-a" in key else ["-a", "ECDSAP256SHA256"]
        run_in(folder, "dnssec-keygen", "-q", *kind, *key, name)
    run_in(folder, "dnssec-signzone", "-q", "-S", *(
        ["-z"] if rollover == "one-key" else []), *options, "-o", name, "-f",
        "signed", "plain")
    return folder / "signed"


def sign_with_one_key(name, tool, folder):
    """ldns signs all with a KSK if there is no other key; Knot if told so."""
    folder.mkdir()
    (folder / "plain").write_text(judged_zones.PLAIN)
    if tool == "ldns":
        key = subprocess.run(
            ["ldns-keygen", "-k", "-a", "ED25519", name], cwd=folder,
            check=True, capture_output=True, text=True).stdout.strip()
        run_in(folder, "ldns-signzone", "-n", "-z", "1:1", "-o", name, "-f",
               "signed", "plain", key)
        return folder / "signed"
    (folder / "out").mkdir()
    (folder / "kasp").mkdir()
    (folder / "knot.conf").write_text(f"""\
server:
    rundir: "{folder}"
database:
    storage: "{folder}/kasp"
policy:
  - id: policy
    algorithm: ED25519
    single-type-signing: on
    nsec3: on
zone:
  - domain: "{name}"
    file: "{folder}/plain"
    dnssec-policy: policy
    zonemd-generate: zonemd-sha512
""")
    run_in(folder, "kzonesign", "-c", "knot.conf", "-o", folder / "out", name)
    return next((folder / "out").iterdir())


def sign_all(folder):
    """({zone: path}, those that have ZONEMD)"""
    zones = {f"{name}.": path
             for name, path in conftest.signed_zones(folder).items()}
    for rollover in ROLLOVERS:
        for denial, options in (("nsec", []), ("nsec3", ["-3", "-"])):
            name = f"{rollover}.{denial}.test."
            zones[name] = sign_amid_rollover(name, rollover, options,
                                             folder / name)
    digests = []
    for tool in ("ldns", "knot"):
        name = f"one-key.{tool}.test."
        zones[name] = sign_with_one_key(name, tool, folder / name)
        digests.append(name)
    return zones, digests


def test_zones_without_a_fault_are_served(tmp_path):
    """All signers; NSEC, NSEC3, opt-out; RSA, ECDSA, EdDSA; one key and two;
    amid rollovers."""
    zones, digests = sign_all(tmp_path)
    for name, path in zones.items():
        found = subprocess.run(
            [servers.build_dir() / "nsd-checkzone", "-D", name, path],
            capture_output=True, text=True)
        assert found.returncode == 0, (name, found.stderr)
    primary = primaries.Nsd(zones)
    with started(primary):
        ours = ours_of(primary, digests)
        with started(ours):
            refused = [zone for zone, bad in ours.verdicts().items() if bad]
            assert not refused, ours.said()[-3000:]
