#!/usr/bin/env python3
"""Repeats the measurements of what hashes of NSEC3 cost (NLnet Labs document
2010-002).

    nsec3_study.py [--build DIR] [--tmp DIR] [--out DIR] [--doc DIR]
                   [--servers NAME,...] [--program NAME=PATH] [--names N]
                   [--seconds SEC] [--steps N] [--counts N]
                   [--start-limit SEC] [--parts NAME,...]
                   [--keep RESULTS.JSON] [--short]
    nsec3_study.py --again RESULTS.JSON --doc DIR

The zone qx with --names names `[a-z]{5}v.qx`; queries for `[a-z]{5}i.qx`, with DO
and 4,096 octets of EDNS; signatures of RSA keys of 1024, 2048 and 4096 bits, which
are parts of these names. For NSEC, and for each of the numbers of iterations of the
published tables, the highest rate of which at least 99 % are answered, by bisection
in --steps steps of --seconds each. --counts: so many of the 11 numbers of a table,
evenly. --names: without it 500,000 with keys of 1024 bits and 25,000 with the others,
whose iterations make starts of servers that hash all names take minutes. Part validators: what Unbound and delv make of denials with many iterations,
of zones that ldns-signzone has signed. --keep takes the parts that are not in --parts
from older results.

--out gets the results as JSON, with each run; --doc the page, its charts and the
JSON (nsec3-study.*). --again measures nothing: it writes the page of results that
are there. --short takes about a minute: for sanity, not for figures. It fails if
a server does not answer or answers no denials from zones with NSEC, never because
of a time.

Servers: ours nsd knot bind; newer: another NSD, by --program newer=PATH. PowerDNS is
left out: its files of zones have no signatures of others without a database beside.
One worker on core 0, the client on core 1.
"""
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "lib")]
import nsec3_study_page  # noqa: E402
import nsec3_validators  # noqa: E402
import servers  # noqa: E402
import study  # noqa: E402
import zone_forms  # noqa: E402
from nsec3_study_page import COUNTS  # noqa: E402

PARTS = (*map(str, COUNTS), "validators")
# The published 500,000 where a server that hashes them all still starts soon.
NAMES = {1024: 500000, 2048: 25000, 4096: 25000}
QUERIES = 167000
EDNS_SIZE = 4096
SOCKETS, WINDOW, DRAIN_MS = 16, 4096, 10
SHARE = 0.99
# RSA: the exponent, and its length, before the modulus (RFC 3110).
EXPONENT_OCTETS = 4
RSA_SHA256 = 8
TRIES = 20
# Of so many queries 1 % is more than a server does in 10 ms.
LEAST = 1000
SHORT = {"seconds": 0.3, "steps": 2, "names": 500, "counts": 2,
         "parts": "1024,validators"}


class Study(nsec3_validators.Parts, study.Study):
    NAME = "nsec3"
    # Of programs that are not there.
    MAY_FAIL = ("validators",)

    def __init__(self, args, work):
        super().__init__(args, work, validators={}, **{
            str(bits): {"names": args.names or NAMES[bits], **{
                name: getattr(args, name) for name in (
                    "seconds", "steps", "counts")}} for bits in COUNTS})

    # ---- zones

    def zone_of(self, bits, iterations):
        """The zone with so many iterations; None: with NSEC."""
        folder = os.path.join(self.work, f"{bits}-{iterations}")
        os.mkdir(folder)
        octets = bits // 8
        subprocess.run(
            [self.program("gen_zone"), "-a", str(RSA_SHA256), "-s",
             str(octets), "-k", str(octets + EXPONENT_OCTETS), "qx",
             str(self.result["parameters"][str(bits)]["names"]), "1",
             folder, str(iterations or 0)],
            check=True)
        path = f"{folder}/qx.zone"
        if iterations is None:
            zone_forms.signed_with_nsec(path, f"{path}.NSEC")
            path = f"{path}.NSEC"
        with open(f"{folder}/qx.nx", encoding="ascii") as f:
            queries = f.readlines()[:QUERIES]
        with open(f"{folder}/queries", "w", encoding="ascii") as f:
            f.writelines(queries)
        zones = servers.ZoneSet(f"qx-{bits}-{iterations}", {"qx": path},
                                probe=("qx.", 6))
        zones.folder = folder
        return zones

    # ---- running

    def part_1024(self):
        self.rates(1024)

    def part_2048(self):
        self.rates(2048)

    def part_4096(self):
        self.rates(4096)

    def rates(self, bits):
        counts = [None, *chosen(COUNTS[bits], self.args.counts)]
        for turn, iterations in enumerate(counts):
            zones = self.zone_of(bits, iterations)
            for kind in self.rotated(turn):
                self.measure(kind, zones, bits, iterations)
            subprocess.run(["rm", "-r", zones.folder], check=True)

    def measure(self, kind, zones, bits, iterations):
        row = {"iterations": iterations}
        try:
            server = self.start(kind, zones, conf=conf_of(
                study.conf_kind(kind)), limit_sec=self.args.start_limit)
        except study.StudyError as error:
            if iterations is None:
                raise
            self.note(str(bits), kind, **row, refused=str(error))
            return
        try:
            self.settle(server)
            row |= self.denials(server, zones)
            if row["denials"] < SHARE:
                if iterations is None:
                    raise study.StudyError(f"{kind} denies nothing")
                self.note(str(bits), kind, **row, refused="no denials")
                return
            row |= self.bisect(server, zones, row["closed"])
            self.note(str(bits), kind, **row)
        finally:
            server.stop()

    def load(self, server, zones, seconds, *options):
        """The counts; nothing waits for the server before, nor behind."""
        done = subprocess.run(
            ["taskset", "-c", "1", self.program("load"), "-d", "-E",
             str(EDNS_SIZE), "-t", str(seconds), "-D", str(DRAIN_MS),
             *map(str, options), "udp", str(server.port),
             f"{zones.folder}/queries"],
            check=True, stdout=subprocess.PIPE, text=True,
            timeout=seconds + 60)
        self.rest(server)
        if server.process.poll() is not None:
            raise study.StudyError(f"{server.kind} has ended")
        return json.loads(done.stdout)

    def denials(self, server, zones):
        """The answers, and the rate at which they come one after another."""
        for number in range(TRIES):
            got = self.load(server, zones, self.args.seconds * (1 + number),
                            "-w", 128)
            if got["answered"]:
                return {"closed": got["answered"] / got["seconds"],
                        "denials": got["nxdomain"] / got["answered"],
                        "truncated": got["truncated"] / got["answered"],
                        "octets": got["octets"] / got["answered"]}
        raise study.StudyError(f"{server.kind} answers nothing")

    def bisect(self, server, zones, closed):
        """The highest rate that is answered, between two bounds."""
        low, high = 0, 1.25 * closed
        at, tries, limited = closed, [], False
        for _ in range(self.args.steps):
            passed, offered = self.is_answered(server, zones, at)
            tries.append((offered, passed))
            if passed:
                low = max(low, offered)
            else:
                high, limited = min(high, at), False
            if passed and offered < SHARE * at:
                # The client can offer no more.
                high, limited = min(high, at), True
            at = (max(low, high / 2) + high) / 2
        return {"rate": low or None, "tries": tries, "limited": limited}

    def is_answered(self, server, zones, rate):
        """Whether 99 % are, and what was offered; asked twice, since the
        machine may stand still. Few queries a second are asked for longer."""
        seconds = max(self.args.seconds, min(1, LEAST / rate))
        for _ in range(2):
            got = self.load(server, zones, seconds, "-r", round(rate), "-w",
                            WINDOW, "-c", SOCKETS)
            if got["answered"] >= SHARE * got["sent"]:
                break
        return (got["answered"] >= SHARE * got["sent"],
                got["sent"] / seconds)


def conf_of(kind):
    """A configuration whose answers may have EDNS_SIZE octets over UDP."""
    old, new = {
        "nsd": ("server:\n", f"server:\n\tipv4-edns-size: {EDNS_SIZE}\n"),
        "knot": ("server:\n", f"server:\n    udp-max-payload: {EDNS_SIZE}\n"),
        "bind": ("options {\n", f"options {{\n\tmax-udp-size {EDNS_SIZE};\n"),
    }[kind]

    def make(*args):
        name, text = servers.CONFS[kind](*args)
        return name, text.replace(old, new, 1)
    return make


def chosen(counts, number):
    """A number of the counts, evenly; the first and the last are among them."""
    if number >= len(counts) or number < 2:
        return counts[:max(1, number)]
    return [counts[round(at * (len(counts) - 1) / (number - 1))]
            for at in range(number)]


def parse_args():
    parser = study.parser_of(__doc__, PARTS, "ours,newer,nsd,knot,bind")
    parser.add_argument("--names", type=int)
    parser.add_argument("--seconds", type=float, default=0.4)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--counts", type=int, default=11)
    parser.add_argument("--start-limit", type=float, default=600)
    parser.add_argument("--reps", help="for all studies; there is one run")
    return study.parse(parser, PARTS, SHORT)


if __name__ == "__main__":
    study.run(parse_args(), Study, nsec3_study_page)
