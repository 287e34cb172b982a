#!/usr/bin/env python3
"""Measures how long it takes to verify the signatures of a zone, beside others.

    verify.py [--build DIR] [--size N] [--reps N] [--changes N] [--zone DIR]
              [--only files,servers,changes] [--programs NAME,...] [--doc FILE]

A TLD of --size delegations, 28 % of them signed, is signed by dnssec-signzone
with ECDSA P-256 and NSEC3 with opt-out. Parts: files (nsd-checkzone -D,
kzonecheck, dnssec-verify and ldns-verify-zone look at the file), servers (knotd
starts with dnssec-validation, and without: the difference counts), changes
(the loader of a secondary with dnssec-verify gets versions in each of which
five DS RRsets are others: the first has it verify the whole zone; then --changes of
them, with and without). All processors. Medians of --reps runs, in turns. CPU
time is that of all threads. --zone keeps the zone and the results in a folder,
so that parts, and programs of files, can be measured one by one; the page is
made of all that is there. --doc writes the page of doc/performance.
"""
import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
# Before those of this folder: it has servers of its own.
sys.path[:0] = [str(HERE.parent / name)
                for name in ("peers", "blackbox", "lib")]
import machine  # noqa: E402

ZONE = "bench."
LIMIT_SEC = 3600
PER_CHANGE = 5  # DS RRsets: ten records
TYPES = ("RRSIG", "NSEC3", "NSEC3PARAM", "DNSKEY")
PROGRAMS = {
    "nsd-checkzone -D": ["{build}/nsd-checkzone", "-D", ZONE, "{file}"],
    "kzonecheck -d on": ["kzonecheck", "-d", "on", "-o", ZONE, "{file}"],
    "dnssec-verify": ["dnssec-verify", "-o", ZONE, "{file}"],
    "ldns-verify-zone": ["ldns-verify-zone", "{file}"],
}
PAGE = """# Verifying signatures

Made by `tests/bench/verify.py`; nobody edits it. {machine}. {others}
Load before each measurement: {loads}.

A TLD of {size:,} delegations, 28 % of them signed: {signatures:,} signatures of ECDSA P-256,
by `dnssec-signzone`; NSEC3 with opt-out. Where other programs take the cores
meanwhile, CPU time is the figure to trust: of the programs that look at a file,
nsd-checkzone alone uses more than one core.

{tables}"""


def log(*words):
    print(*words, file=sys.stderr, flush=True)


def run(command, **more):
    return subprocess.run([str(word) for word in command], check=True,
                          stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, **more)


# ---- the zone

class Signed:
    """A signed zone in a folder, with its keys."""

    def __init__(self, args, folder):
        self.folder = folder
        self.file = folder / "signed"
        if not self.file.exists():
            self.sign(args, folder)
        self.signatures = sum(rrtype == "RRSIG"
                              for _, _, rrtype, _ in self.records())

    def sign(self, args, folder):
        run([args.build / "tests/bench/gen_zone", "tld", args.size, 1,
             folder])
        with open(folder / "tld.zone") as file, \
                open(folder / "plain", "w") as plain:
            plain.writelines(line for line in file
                             if line.split("\t", 4)[3] not in TYPES)
        for path in folder.glob("tld.*"):
            path.unlink()
        for kind in ([], ["-f", "KSK"]):
            run(["dnssec-keygen", "-q", "-a", "ECDSAP256SHA256", *kind,
                 ZONE], cwd=folder)
        run(["dnssec-signzone", "-q", "-S", "-P", "-3", "-", "-H", 0, "-A",
             "-O", "full", "-o", ZONE, "-f", self.file, folder / "plain"],
            cwd=folder)
        (folder / "plain").unlink()

    def records(self):
        """(owner, TTL, type, RDATA) of each."""
        with open(self.file) as file:
            for line in file:
                if not line.startswith(";"):
                    owner, ttl, _, rrtype, rdata = line.split(None, 4)
                    yield owner, ttl, rrtype, rdata

    def rrsets(self, names, kind):
        """{name: ([RDATA], [RDATA of signatures], TTL)}"""
        found = {name: ([], [], 0) for name in names}
        for owner, ttl, rrtype, rdata in self.records():
            if owner not in found:
                continue
            records, sigs, _ = found[owner]
            words = rdata.split()
            if rrtype == kind == "DS":
                words[3:] = ["".join(words[3:])]
            if rrtype == kind:
                records.append(" ".join(words))
                found[owner] = (records, sigs, int(ttl))
            elif rrtype == "RRSIG" and words[0] == kind:
                sigs.append(" ".join([*words[:8], "".join(words[8:])]))
        return found

    def secure_names(self, count):
        names = []
        for owner, _, rrtype, _ in self.records():
            if rrtype == "DS" and owner not in names[-1:]:
                names.append(owner)
            if len(names) == count:
                break
        return names


# ---- programs and servers

def timed(command, **more):
    """(seconds by the clock, CPU seconds, MiB at most) of a program."""
    begun = time.monotonic()
    child = subprocess.Popen([str(word) for word in command],
                             stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL, **more)
    _, status, usage = os.wait4(child.pid, 0)
    if status != 0:
        raise RuntimeError(f"{command}: status {status}")
    return (time.monotonic() - begun, usage.ru_utime + usage.ru_stime,
            usage.ru_maxrss / 1024)


def measure_files(args, zone):
    wanted = [name for name in PROGRAMS
              if not args.programs or name.split()[0] in args.programs]
    samples = {name: [] for name in wanted}
    for _ in range(args.reps):
        for name in wanted:
            samples[name].append(timed(
                [word.format(build=args.build, file=zone.file)
                 for word in PROGRAMS[name]]))
            log(name, *samples[name][-1])
    return {name: [statistics.median(column)
                   for column in zip(*samples[name])] for name in wanted}


def start_knot(zone, folder, validation):
    """(seconds until the zone is served, CPU seconds)"""
    import servers
    lines = ("server:", f'    rundir: "{folder}"', "    listen: 127.0.0.1@{}",
             "    udp-workers: 1", "    tcp-workers: 1",
             f"    background-workers: {os.cpu_count()}",
             "database:", f'    storage: "{folder}"',
             "template:", "  - id: default", "    zonefile-sync: -1",
             "    journal-content: none", "    semantic-checks: off",
             f"    dnssec-validation: {validation}",
             f"    adjust-threads: {os.cpu_count()}",
             "zone:", f'  - domain: "{ZONE}"', f'    file: "{zone.file}"')

    class Knot(servers.Knot):
        def command(self):
            conf = self.write("knot.conf",
                              "\n".join(lines).format(self.port) + "\n")
            return ["/usr/sbin/knotd", "-c", str(conf)]

    servers.START_DEADLINE = LIMIT_SEC
    server = Knot({ZONE: zone.file})
    begun = time.monotonic()
    with servers.started(server):
        took = time.monotonic() - begun
        with open(f"/proc/{server.process.pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        cpu = (int(fields[11]) + int(fields[12])) / machine.TICK
    return took, cpu


def measure_servers(args, zone):
    rows = {}
    for _ in range(args.reps):
        for validation in ("off", "on"):
            rows.setdefault(validation, []).append(
                start_knot(zone, zone.folder, validation))
            log("knotd", validation, *rows[validation][-1])
    return {validation: [statistics.median(column) for column in zip(*found)]
            for validation, found in rows.items()}


# ---- changes

class Versions:
    """Versions of a zone in each of which five DS RRsets are others."""

    def __init__(self, zone, count):
        import judged_zones
        names = zone.secure_names(PER_CHANGE * count)
        self.cuts = zone.rrsets(names, "DS")
        self.names = names
        self.soa = zone.rrsets([ZONE], "SOA")[ZONE]
        self.signer = judged_zones.SignedZone.__new__(judged_zones.SignedZone)
        self.signer.origin = judged_zones.dns.name.from_text(ZONE)
        for path in zone.folder.glob("K*.private"):
            flags = int((path.with_suffix(".key")).read_text().split(
                "DNSKEY")[1].split()[0])
            setattr(self.signer, "ksk" if flags & 1 else "zsk",
                    judged_zones.Key(judged_zones._read_private(
                        path.read_text()), flags))

    def sign(self, owner, kind, ttl, texts):
        z = self.signer
        z.records, z.sigs = {z.key(owner, kind): (ttl, texts)}, {}
        z.sign_one(owner, kind)
        return z.sigs[z.key(owner, kind)]

    @staticmethod
    def lines(verb, owner, kind, rrset):
        texts, sigs, ttl = rrset
        return [f"{verb} {owner} {ttl} {kind} {text}" for text in texts] + [
            f"{verb} {owner} {ttl} RRSIG {text}" for text in sigs]

    def next(self):
        """The differences to the next version, for nsd_update."""
        old, (fields, _, ttl) = self.soa, self.soa
        words = fields[0].split()
        words[2] = str(int(words[2]) + 1)
        text = " ".join(words)
        self.soa = ([text], self.sign(ZONE, "SOA", ttl, [text]), ttl)
        removed = self.lines("remove", ZONE, "SOA", old)
        added = self.lines("add", ZONE, "SOA", self.soa)
        for _ in range(PER_CHANGE):
            name = self.names.pop()
            before = self.cuts[name]
            texts = [before[0][0][:-8] + "0badcafe"]
            after = (texts, self.sign(name, "DS", before[2], texts),
                     before[2])
            removed += self.lines("remove", name, "DS", before)
            added += self.lines("add", name, "DS", after)
        return "\n".join([f"diffs {ZONE}", *removed, *added])


def start_loader(zone, folder, verify):
    import harness
    harness.DEADLINE = LIMIT_SEC
    server = harness.Server(
        folder, zones={"small.test": harness.zone_text(1)}, updates=True,
        extra=f"zone:\n\tname: {ZONE}\n\tzonefile: {zone.file}\n"
              f"\trequest-xfr: 127.0.0.1@1 NOKEY\n\tdnssec-verify: {verify}\n",
        options={"server-count": 1, "verbosity": 3, "replace-hung": "no"})
    server.start()
    return server


def cpu_of(pid):
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / machine.TICK


def change(server, loader, text):
    """(seconds until the answer, CPU seconds of the loader)"""
    cpu, begun = cpu_of(loader), time.monotonic()
    outcome = server.update(text)[0]
    if outcome != "ok":
        raise RuntimeError(f"{outcome}: {server.read_log()[-2000:]}")
    return time.monotonic() - begun, cpu_of(loader) - cpu


def measure_changes(args, zone):
    found = {}
    for verify in ("no", "yes"):
        versions = Versions(zone, args.changes + 1)
        server = start_loader(zone, zone.folder / f"loader-{verify}", verify)
        try:
            loader = server.role("loader")
            first = change(server, loader, versions.next())
            log("first change", verify, *first)
            texts = [versions.next() for _ in range(args.changes)]
            samples = [change(server, loader, text) for text in texts]
        finally:
            server.clean_up()
        found[verify] = {
            "first": first,
            "wall": statistics.median(wall for wall, _ in samples),
            "cpu": sum(cpu for _, cpu in samples) / len(samples)}
        log("changes", verify, found[verify])
    return found


# ---- the page

def files_table(rows):
    lines = ["| a file by | by the clock | CPU | memory |", "|---|--:|--:|--:|"]
    lines += [f"| {name} | {wall:.1f} s | {cpu:.1f} s | {mib:,.0f} MiB |"
              for name, (wall, cpu, mib) in sorted(
                  rows.items(), key=lambda row: row[1][1])]
    return "\n".join(lines) + "\n\nReading the file is part of it.\n"


def changes_table(found):
    no, yes = found["no"], found["yes"]
    return (
        "| a secondary here | `dnssec-verify: no` | `yes` | more |\n"
        "|---|--:|--:|--:|\n"
        f"| the whole zone, by the clock | {no['first'][0]:.2f} s | "
        f"{yes['first'][0]:.2f} s | {yes['first'][0] - no['first'][0]:.2f} s |\n"
        f"| the whole zone, CPU | {no['first'][1]:.2f} s | "
        f"{yes['first'][1]:.2f} s | {yes['first'][1] - no['first'][1]:.2f} s |\n"
        f"| an IXFR that changes ten records, by the clock | "
        f"{1e3 * no['wall']:.2f} ms | {1e3 * yes['wall']:.2f} ms | "
        f"{1e3 * (yes['wall'] - no['wall']):.2f} ms |\n"
        f"| the same, CPU of the loader | {1e3 * no['cpu']:.2f} ms | "
        f"{1e3 * yes['cpu']:.2f} ms | "
        f"{1e3 * (yes['cpu'] - no['cpu']):.2f} ms |\n\n"
        "The whole zone is verified with the first version after a start. By "
        "the clock: until the\nsender has its answer, with the look-up of the "
        "text and the publish.\n")


def servers_table(found):
    off, on = found["off"], found["on"]
    return ("| knotd starts | without | with `dnssec-validation` | more |\n"
            "|---|--:|--:|--:|\n"
            f"| by the clock | {off[0]:.1f} s | {on[0]:.1f} s | "
            f"{on[0] - off[0]:.1f} s |\n"
            f"| CPU | {off[1]:.1f} s | {on[1]:.1f} s | {on[1] - off[1]:.1f} s "
            "|\n")


PARTS = {"files": (measure_files, files_table),
         "changes": (measure_changes, changes_table),
         "servers": (measure_servers, servers_table)}


def measure(args, folder):
    """Measures the parts; returns the page of all that have been."""
    results = folder / "results.json"
    known = json.loads(results.read_text()) if results.exists() \
        else {"parts": {}, "loads": [], "others": {}}
    zone = Signed(args, folder)
    log(f"signed: {zone.signatures} signatures")
    watch = machine.Others(known["others"])
    watch.part = "verify"
    for name in (n for n in PARTS if n in args.only.split(",")):
        known["loads"].append(round(os.getloadavg()[0]))
        with watch.watched():
            known["parts"].setdefault(name, {}).update(
                PARTS[name][0](args, zone))
        results.write_text(json.dumps(known))
    return PAGE.format(
        machine=machine.name(), signatures=zone.signatures, size=args.size,
        loads=", ".join(map(str, known["loads"])),
        others=machine.others_text(known["others"].get("verify")),
        tables="\n".join(PARTS[name][1](known["parts"][name])
                         for name in PARTS if name in known["parts"]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", type=pathlib.Path,
                        default=pathlib.Path("build/bench"))
    parser.add_argument("--size", type=int, default=1000000)
    parser.add_argument("--reps", type=int, default=3)
    parser.add_argument("--changes", type=int, default=200)
    parser.add_argument("--zone", type=pathlib.Path)
    parser.add_argument("--only", default="files,servers,changes")
    parser.add_argument("--programs", type=lambda text: text.split(","))
    parser.add_argument("--doc")
    args = parser.parse_args()
    args.build = args.build.resolve()
    os.environ["NSD_BUILD"] = str(args.build)
    folder = args.zone or pathlib.Path(tempfile.mkdtemp(
        prefix="nsd-bench-", dir="/dev/shm"))
    folder.mkdir(exist_ok=True)
    try:
        page = measure(args, folder.resolve())
    finally:
        if not args.zone:
            shutil.rmtree(folder, ignore_errors=True)
    print(page)
    if args.doc:
        pathlib.Path(args.doc).write_text(page)


if __name__ == "__main__":
    main()
