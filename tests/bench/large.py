#!/usr/bin/env python3
"""Measures this server with a zone as large as the largest but one, and with as
many zones as the largest hosters have.

    large.py [--build DIR] [--tmp DIR] [--out DIR] [--doc DIR]
             [--parts NAME,...] [--scale F] [--size N] [--zones N]
             [--beside N] [--servers NAME,...] [--program NAME=PATH]
             [--keep RESULTS.JSON] [--short]
    large.py --again RESULTS.JSON --doc DIR

Parts, of a zone of --size delegations (20,000,000): zone (a start from its file;
the file replaced by one in which one of a hundred names differs, and by one of
other names; a stop), ixfr (a secondary that takes differences of 100,000 and of
2,000,000 delegations, is started again with them in the journal, and writes its
file), axfr (a secondary without data), tools (nsd-checkzone, nsd-mem). Of --beside
delegations (1,000,000): beside (start, differences of 100,000 and a whole zone,
with the other servers). Of --zones zones (1,000,000): many (start, all asked for
at once, one added, one removed, all transferred by command, stop).

--scale multiplies all these numbers; --short: by a thousandth, which takes a
minute. Time, CPU time, the most memory of each process (PSS; mapped files apart),
and 3,000 queries a second meanwhile. The zones lie in --tmp, which takes 320
octets of disk a delegation and four times that, and are removed. A part that has
no room, on the disk or in memory, is left out, and said so. Both cores are the
server's; clients and primaries share the second one. --keep takes the parts that
are not in --parts from older results.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "lib")]
import large_many  # noqa: E402
import large_page  # noqa: E402
import servers  # noqa: E402
import study  # noqa: E402
from large_watch import (  # noqa: E402
    Clients, FilePrimary, Memory, available, octets_below, replace,
    wait_serial, watched)
from study import StudyError  # noqa: E402
from update_changes import SECONDARIES, SERIAL  # noqa: E402
from update_watch import ZONE, store_line  # noqa: E402

PARTS = ("zone", "ixfr", "axfr", "tools", "beside", "many")
SHORT = {"scale": 0.001}
RATE = 3000
LIMIT_SEC = 3600
PROBE = (ZONE, 6)
# Of a delegation: octets of text, of memory of one version and of two.
TEXT_OCTETS, ONE_OCTETS, TWO_OCTETS = 290, 190, 380
SMALL, GREAT = 100000, 2000000
FULL_SIZE = 20000000
# Of unsigned delegations with servers elsewhere there are 68 in 100.
FREE = 0.66


class Study(large_many.Many, study.Study):
    NAME = "large"
    MAY_FAIL = PARTS

    def __init__(self, args, work):
        super().__init__(args, work, size=args.size, zones=args.zones,
                         beside=args.beside, scale=args.scale, rate=RATE)
        self.made = {}

    # ---- zones

    def needs(self, what, octets, disk):
        """Raises OSError if there is no room."""
        if available() < octets:
            raise OSError(f"{what} takes {octets >> 20:,} MiB of memory, there"
                          f" are {available() >> 20:,}")
        room = shutil.disk_usage(self.work).free
        if room < disk:
            raise OSError(f"{what} takes {disk >> 20:,} MiB of disk, there are"
                          f" {room >> 20:,}")

    def zone_of(self, size, seed=1):
        """A folder with a zone, and its queries."""
        folder = f"{self.work}/tld-{size}-{seed}"
        if folder not in self.made:
            self.needs("a zone's text", 60 * size, TEXT_OCTETS * size)
            os.makedirs(folder)
            begin = time.monotonic()
            subprocess.run([self.program("gen_zone"), "tld", str(size),
                            str(seed), folder], check=True)
            self.say(f"made {folder} in {time.monotonic() - begin:.0f} s")
            self.made[folder] = True
        return folder

    def drop(self, folder):
        shutil.rmtree(folder, ignore_errors=True)
        self.made.pop(folder, None)

    def edited(self, source, name, script):
        path = f"{self.work}/{name}"
        with open(path, "wb") as f:
            subprocess.run(["sed", script, source], check=True, stdout=f)
        return path

    def changes(self, folder, serial, count, every, but):
        path = f"{self.work}/changes"
        with open(path, "wb") as f:
            subprocess.run([self.program("gen_changes"), folder + "/tld.zone",
                            str(serial), str(count), str(every), str(but)],
                           check=True, stdout=f)
        return path

    def conf_of(self, kind, port=None, database=False):
        """A configuration with the zone in a file of the server's folder;
        port: of a primary."""
        def make(work, own, workers, zones):
            path = f"{work}/own.zone"
            if zones.zones:
                os.link(zones.zones[ZONE], path)
            if not port:
                held = servers.ZoneSet(zones.name, {ZONE: path})
                name, text = servers.CONFS[kind](work, own, workers, held)
            else:
                none = servers.ZoneSet(zones.name)
                name, text = servers.CONFS[kind](work, own, workers, none)
                text = SECONDARIES[kind](text, path, port)
            if kind == "nsd" or kind == "ours":
                text = text.replace(
                    "control-enable: no", "control-enable: yes\n"
                    f'\tcontrol-interface: "{work}/control"', 1)
                text = text.replace("server:\n", "server:\n\tverbosity: 1\n",
                                    1)
            if database:
                text = text.replace('database: ""', f'database: "{work}/db"')
            return name, text
        return make

    def begin(self, kind, row, folder, port=None, **more):
        """Starts a server, and fills a row of its start."""
        held = {ZONE: folder + "/tld.zone"} if folder else None
        zones = servers.ZoneSet("tld", held, probe=PROBE)
        conf = self.conf_of(study.conf_kind(kind), port, **more)
        server = servers.Server(
            "nsd" if kind == "newer" else kind, self.programs[kind], zones,
            f"{self.work}/{kind}", "0,1", 1, conf=conf)
        try:
            with watched(row, server):
                if not server.wait(LIMIT_SEC):
                    raise StudyError(f"{kind} does not serve the zone")
            row["sec"] = server.start_sec
            row["cpu_sec"] = server.start_cpu_sec()
            self.settle(server)
            row["memory"]["rest"] = dict(Memory(server).look())
            if kind == "ours":
                row["store"] = store_line(server)
        except BaseException:
            self.show_log(server)
            server.stop()
            raise
        return server

    def show_log(self, server):
        for name in ("nsd.log", "output"):
            path = pathlib.Path(server.work, name)
            if path.exists():
                self.say(path.read_text(errors="replace")[-3000:])

    def clients(self, server, folder):
        return lambda: Clients(self.program("load"), server,
                               folder + "/tld.mix", RATE)

    def control(self, server, *words):
        done = subprocess.run(
            [os.path.join(self.args.build, "nsd-control"), "-c",
             f"{server.work}/nsd.conf", *words], text=True, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode:
            raise StudyError(f"{' '.join(words)}: {done.stdout[:500]}")
        return done.stdout

    def end(self, part, server):
        """Stops it as an operator does, and says how long that took."""
        begin = time.monotonic()
        server.process.terminate()
        server.process.wait(LIMIT_SEC)
        self.note(part, "ours", step="stop", sec=time.monotonic() - begin,
                  disk=octets_below(server.work, ("own.zone",)))
        self.count_lines(part, server)

    def count_lines(self, part, server):
        with open(f"{server.work}/nsd.log", errors="replace") as f:
            lines = f.readlines()
        errors = [line.strip() for line in lines if "error:" in line]
        self.note(part, "ours", step="log", lines=len(lines),
                  errors=errors[:5])

    # ---- the parts

    def part_zone(self):
        size = self.args.size
        self.needs("the zone replaced", TWO_OCTETS * size,
                   3 * TEXT_OCTETS * size)
        folder = self.zone_of(size)
        text = os.path.getsize(folder + "/tld.zone")
        row = {}
        server = self.begin("ours", row, folder)
        try:
            self.note("zone", "ours", step="start", text=text, **row)
            near = self.edited(
                folder + "/tld.zone", "near.zone",
                f"1s/{SERIAL}/{SERIAL + 1}/;/^ba[^\\t]*\\t86400\\tIN\\tNS\\t/"
                "s/\\tns1\\./\\tns7./")
            self.replaced(server, folder, "near", near, SERIAL + 1)
            os.unlink(near)
            other = self.zone_of(size, 2)
            far = self.edited(other + "/tld.zone", "far.zone",
                              f"1s/{SERIAL}/{SERIAL + 2}/")
            self.drop(other)
            self.replaced(server, folder, "far", far, SERIAL + 2)
            os.unlink(far)
            self.end("zone", server)
        finally:
            server.stop()

    def replaced(self, server, folder, step, path, serial):
        replace(path, f"{server.work}/own.zone")
        row = {}
        with watched(row, server, self.clients(server, folder)):
            said = self.control(server, "reload", ZONE)
            if not wait_serial(server.port, serial, LIMIT_SEC):
                self.show_log(server)
                raise StudyError(f"{step}: not served; reload said {said}")
        self.settle(server)
        row["memory"]["rest"] = dict(Memory(server).look())
        self.note("zone", "ours", step=step, store=store_line(server), **row)

    def steps(self, size):
        """(count, every, but) of two differences."""
        small = max(1, round(SMALL * size / FULL_SIZE))
        great = round(GREAT * size / FULL_SIZE)
        every = int(size * FREE / small)
        return [("small", small, every, 0),
                ("great", great, max(2, int(size * FREE / great)), every)]

    def part_ixfr(self):
        size = self.args.size
        self.needs("differences", TWO_OCTETS * size, 3 * TEXT_OCTETS * size)
        folder = self.zone_of(size)
        source = FilePrimary(SERIAL)
        server = None
        try:
            row = {}
            server = self.begin("ours", row, folder, source.port)
            self.note("ixfr", "ours", step="start", **row)
            for step in self.steps(size):
                self.take("ixfr", "ours", server, source, folder, step)
            self.started_again(server, source.serial)
            self.written(server, folder)
            self.end("ixfr", server)
        finally:
            if server:
                server.stop()
            source.stop()

    def take(self, part, kind, server, source, folder, step):
        name, count, every, but = step
        path = self.changes(folder, source.serial, count, every, but)
        source.give(path)
        row = {"octets": os.path.getsize(path), "count": count}
        before = octets_below(server.work, ("own.zone",))
        done = False
        with watched(row, server, self.clients(server, folder)):
            source.notify(server.port)
            done = wait_serial(server.port, source.serial, LIMIT_SEC // 6
                               if kind == "ours" else LIMIT_SEC,
                               lambda: source.notify(server.port))
        if not done:
            self.show_log(server)
            raise OSError(f"{kind}: {count:,} changes are not taken")
        self.settle(server)
        row["memory"]["rest"] = dict(Memory(server).look())
        row["journal"] = octets_below(
            server.work, ("own.zone",)) - before
        if kind == "ours":
            row["store"] = store_line(server)
        self.note(part, kind, step=name, **row)
        os.unlink(path)

    def started_again(self, server, serial):
        """With the differences in the journal, and not in the file."""
        begin = time.monotonic()
        server.process.terminate()
        server.process.wait(LIMIT_SEC)
        stopped = time.monotonic() - begin
        row = {"stop_sec": stopped}
        server.process = subprocess.Popen(
            ["taskset", "-c", "0,1", self.programs["ours"], "-d", "-c",
             f"{server.work}/nsd.conf"], stdin=subprocess.DEVNULL,
            stdout=server.out, stderr=server.out, start_new_session=True)
        server.begin = time.monotonic()
        with watched(row, server):
            if not wait_serial(server.port, serial, LIMIT_SEC):
                self.show_log(server)
                raise StudyError("the journal's serial is not served")
        self.settle(server)
        self.note("ixfr", "ours", step="again", **row)

    def written(self, server, folder):
        path = f"{server.work}/own.zone"
        before = os.stat(path).st_ino
        row = {}
        with watched(row, server, self.clients(server, folder)):
            self.control(server, "write", ZONE)
            end = time.monotonic() + LIMIT_SEC
            while os.stat(path).st_ino == before:
                if time.monotonic() > end:
                    raise StudyError("the file is not written")
                time.sleep(0.1)
        self.note("ixfr", "ours", step="write",
                  octets=os.path.getsize(path), **row)

    def part_axfr(self):
        size = self.args.size
        self.needs("two servers", 2 * ONE_OCTETS * size + 2 * TEXT_OCTETS
                   * size // 10, 2 * TEXT_OCTETS * size)
        folder = self.zone_of(size)
        first = self.begin_primary(folder)
        second = None
        try:
            row = {}
            second = self.begin("ours", row, None, first.port)
            self.note("axfr", "ours", step="start", **row, disk=octets_below(
                second.work, ("own.zone",)))
            self.end("axfr", second)
        finally:
            if second:
                second.stop()
            first.stop()

    def begin_primary(self, folder):
        made = self.conf_of("nsd")

        def conf(work, port, workers, zones):
            name, text = made(work, port, workers, zones)
            return name, text.replace(
                "zone:\n", "zone:\n\tprovide-xfr: 127.0.0.1 NOKEY\n", 1)
        zones = servers.ZoneSet("tld", {ZONE: folder + "/tld.zone"},
                                probe=PROBE)
        return self.start("ours", zones, cpus="1", conf=conf,
                          limit_sec=LIMIT_SEC)

    def part_tools(self):
        size = self.args.size
        self.needs("nsd-mem", TWO_OCTETS * size, TEXT_OCTETS * size)
        path = self.zone_of(size) + "/tld.zone"
        for tool in ("nsd-checkzone", "nsd-mem"):
            begin = time.monotonic()
            done = subprocess.run(
                ["/usr/bin/env", "time", "-f", "%U %S %M",
                 os.path.join(self.args.build, tool), ZONE, path], text=True,
                check=False, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            if done.returncode:
                raise StudyError(f"{tool}: {done.stderr[-500:]}")
            user, system, kib = done.stderr.split()[-3:]
            self.note("tools", "ours", step=tool, cpu_sec=float(user)
                      + float(system), most=int(kib) << 10,
                      sec=time.monotonic() - begin,
                      said=done.stdout.splitlines()[-20:])

    def part_beside(self):
        size = self.args.beside
        self.drop(f"{self.work}/tld-{self.args.size}-1")
        folder = self.zone_of(size)
        for kind in self.programs:
            try:
                self.beside_one(kind, size, folder)
            except (OSError, StudyError) as error:
                self.failed("beside", f"{kind}: {error}")
        self.drop(folder)

    def beside_one(self, kind, size, folder):
        source = FilePrimary(SERIAL)
        server = None
        try:
            row = {}
            server = self.begin(kind, row, folder, source.port)
            self.note("beside", kind, step="start", **row)
            # As large a part of the zone as in the part ixfr.
            for step in self.steps(size):
                self.take("beside", kind, server, source, folder, step)
        finally:
            if server:
                server.stop()
            source.stop()

    def failed(self, part, error):
        super().failed(part, error)
        self.result.setdefault("left_out", []).append(f"{part}: {error}")


def main():
    parser = study.parser_of(__doc__, PARTS, "ours,newer,nsd,knot,bind")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--size", type=int, default=FULL_SIZE)
    parser.add_argument("--beside", type=int, default=1000000)
    parser.add_argument("--zones", type=int, default=1000000)
    args = study.parse(parser, PARTS, SHORT)
    if args.scale != 1:
        for name in ("size", "beside", "zones"):
            setattr(args, name, max(1000, round(getattr(args, name)
                                                * args.scale)))
    study.run(args, Study, large_page)


if __name__ == "__main__":
    main()
