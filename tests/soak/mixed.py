#!/usr/bin/env python3
"""Honest clients are answered while others attack in all ways at once.

usage: tests/soak/mixed.py --build DIR [--seconds N] [--seed N] [--flood N]
                           [--rate N] [--doc FILE] [--keep DIR]

The server, its clients and the attackers each have a name space of networks of
their own, which ends with this program: so addresses can be forged. Clients of
each kind (mixed_clients.py) ask --rate times a second, first alone, then beside
all attackers (mixed_attackers.py), who forge --flood datagrams a second. No
answer may be wrong; none may be lost, after three tries of two seconds, but those
to clients without a cookie whose network is forged: rate limits hold these back,
as they should. At the end processes and descriptors are as before the attack, and
memory is as after a tenth of it: from the first attack on, a process keeps what as
many connections as it may have took. Needs root. --doc writes the page of doc/performance.
"""
import argparse
import contextlib
import ctypes
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
for folder in "blackbox", "lib", "bench":
    sys.path.insert(0, str(HERE.parent / folder))
import footprint  # noqa: E402
import machine  # noqa: E402
import mixed_attackers  # noqa: E402
import mixed_clients  # noqa: E402
import report  # noqa: E402
from certificates import Authority  # noqa: E402

PYTHON = "/usr/bin/python3"  # the one with Debian's dnspython
CLONE_NEWNET = 0x40000000
ADDRESS = "10.0.0.1"
CLIENTS, ENEMIES = "10.1.0.0/16", "10.2.0.0/16"
WORKERS = 2
CPU_LIMIT = 100000  # a tenth of a processor for each network, over TCP and TLS
FIRST_PART, ALONE_LEAST, WARM_LEAST = 10, 3, 8  # of the time, or seconds
# Of a process's own memory, beside half of what it was: a worker gives back what
# connections took once 256 have gone, so it may have that of the last ones.
GROWTH_KIB = 10240
LINES_SEC = 20      # of the log
FORGED = "udp, network forged"  # may lose answers
CLOSED_SEC = 60     # until the last connection of an attacker is gone
PAGE = """# A mixed attack

Made by `tests/soak/mixed.py`; nobody edits it. {machine}. {others}

Clients of each kind ask {rate} times a second, {alone:.0f} seconds alone, {warm:.0f}
and then {seconds:.0f} beside the attackers, on the same two processors; both are in networks
of their own, so that addresses can be forged. A client tries three times, for two
seconds each. *Again*: answered at the second or third try. *Forged*: attackers send
from the addresses of its network, so that rate limits hold it back. Over TCP and TLS
each network has a tenth of a processor (`tcp-cpu-limit`).

{clients}
What the attackers did meanwhile:

{attacks}
What the server held before, after the first {warm:.0f} seconds of attack and at the
end, its processes being the same:

{held}"""


def run(*command):
    subprocess.run(list(map(str, command)), check=True)


def zone_text():
    lines = ["$TTL 60", "@ SOA ns host 1 7200 3600 1209600 60", "@ NS ns",
             f"ns A {ADDRESS}", "big TXT " + " ".join(['"' + "x" * 250 + '"']
                                                      * 200)]
    for number in range(mixed_clients.NAMES):
        lines += [f"h{number} A {address}"
                  for address in mixed_clients.address_of(number)]
    return "\n".join(lines) + "\n"


class Network:
    """A name space beside ours, with a wire to it; all addresses of a prefix
    are at its end."""

    def __init__(self, wire, prefix, default=False):
        # The process ends with ours, however that ends.
        self.holder = subprocess.Popen(["unshare", "-n", "cat"],
                                       stdin=subprocess.PIPE)
        ours = os.readlink("/proc/self/ns/net")
        harness.wait_for("a name space", lambda: os.readlink(
            f"/proc/{self.holder.pid}/ns/net") != ours)
        self.enter = ["nsenter", "-t", str(self.holder.pid), "-n"]
        run("ip", "link", "add", wire, "type", "veth", "peer", "name", "eth0",
            "netns", self.holder.pid)
        run("ip", "link", "set", wire, "up")
        for command in (["link", "set", "lo", "up"],
                        ["link", "set", "eth0", "up"],
                        ["route", "add", "local", prefix, "dev", "lo"],
                        ["route", "add", ADDRESS, "dev", "eth0"]):
            run(*self.enter, "ip", *command)
        gateway = prefix.replace("0.0/16", "255.254")
        run("ip", "route", "add", "default" if default else prefix, "via",
            gateway, "dev", wire, "onlink")
        harness.wait_for("the wire", lambda: subprocess.run(
            [*self.enter, PYTHON, "-c", PROBE, gateway, ADDRESS],
            check=False).returncode == 0)

    def start(self, program, *arguments):
        return subprocess.Popen(
            [*self.enter, PYTHON, HERE / program, *arguments],
            stdout=subprocess.PIPE, text=True)

    def end(self):
        self.holder.communicate()


# A refused connection shows that packets come and go.
PROBE = """
import socket, sys
s = socket.socket()
s.bind((sys.argv[1], 0))
s.settimeout(1)
sys.exit(s.connect_ex((sys.argv[2], 9)) != 111)
"""


class Mixed:
    def __init__(self, args, directory):
        self.args = args
        directory.chmod(0o755)
        authority = Authority(directory / "certificates")
        key, cert = authority.sign("ns.example")
        tls_port, proxy_port = harness.free_port(), harness.free_port()
        self.server = harness.Server(
            directory / "nsd", zones={"example": zone_text()}, options={
                "server-count": WORKERS, "tls-port": tls_port,
                "ip-address": ["127.0.0.1", ADDRESS, f"{ADDRESS}@{tls_port}",
                               f"{ADDRESS}@{proxy_port}"],
                "proxy-protocol-port": proxy_port,
                "allow-proxy": ["10.1.0.0/16", "10.2.0.0/17"],
                "tls-service-key": f'"{key}"', "tls-service-pem": f'"{cert}"',
                "tcp-count": 300, "rrl-ratelimit": 200, "rrl-slip": 2,
                "answer-cookie": "yes", "tcp-cpu-limit": CPU_LIMIT})
        self.setup = {"server": ADDRESS, "port": self.server.port,
                      "tls": tls_port, "proxy": proxy_port,
                      "cert": str(authority.cert), "rate": args.rate,
                      "seed": args.seed, "flood": args.flood}

    def ask(self, seconds, attackers=()):
        """The outcomes of all clients' questions, and the counts of the
        attackers."""
        setup = {**self.setup, "seconds": seconds}
        # Attackers begin before, and end after.
        enemy = json.dumps({**setup, "seconds": seconds + 2})
        running = [self.enemies.start("mixed_attackers.py", kind, enemy)
                   for kind in attackers]
        try:
            if running:
                time.sleep(1)
            asking = self.clients.start("mixed_clients.py", json.dumps(setup))
            running.append(asking)
            done = [process.communicate()[0] for process in running]
        finally:
            for process in running:
                process.kill()
                process.wait()
        for process in running:
            assert process.returncode == 0, process.args
        counts = {}
        for text in done[:-1]:
            counts.update({what: n + counts.get(what, 0)
                           for what, n in json.loads(text).items()})
        return json.loads(done[-1]), counts

    def connections(self):
        found = subprocess.run(
            ["ss", "-tnH", "state", "established", "state", "close-wait",
             "src", ADDRESS], check=True, capture_output=True, text=True)
        return len(found.stdout.splitlines())

    def hold(self):
        """{role: (pid, what it holds)}, once all clients are gone."""
        harness.wait_for("the end of connections", lambda: time.sleep(0.1)
                         or self.connections() == 0, CLOSED_SEC)
        return {role: (pid, footprint.Process(pid))
                for role, pid in self.server.roles().items()}

    def run(self):
        seconds = self.args.seconds
        self.alone = max(seconds / FIRST_PART, ALONE_LEAST)
        self.warm = max(seconds / FIRST_PART, WARM_LEAST)
        run("ip", "link", "set", "lo", "up")
        run("ip", "address", "add", f"{ADDRESS}/32", "dev", "lo")
        with contextlib.ExitStack() as stack:
            self.clients = Network("clients", CLIENTS)
            stack.callback(self.clients.end)
            self.enemies = Network("enemies", ENEMIES, default=True)
            stack.callback(self.enemies.end)
            self.server.start()
            quiet, _ = self.ask(self.alone)
            cold = self.hold()
            self.ask(self.warm, mixed_attackers.KINDS)
            warm = self.hold()
            lines = len(self.server.read_log().splitlines())
            beside, attacks = self.ask(seconds, mixed_attackers.KINDS)
            after = self.hold()
            lines = len(self.server.read_log().splitlines()) - lines
            assert self.server.answer("h1.example", "A")
            wrong = self.judge(quiet, beside, attacks) \
                + self.compare(cold, warm, after)
            attacks["lines in our log"] = lines
            if lines > LINES_SEC * seconds:
                wrong.append(f"{lines} lines in the log")
            if self.server.stop() != 0:
                wrong.append("the server did not end well")
            self.tables(quiet, beside, attacks, (cold, warm, after))
        return wrong

    def judge(self, quiet, beside, attacks):
        wrong = []
        for kind in mixed_clients.KINDS:
            for when, got in ("alone", quiet[kind]), ("beside", beside[kind]):
                for text in got["faults"]:
                    wrong.append(f"{kind}, {when}: a wrong answer: {text}")
                if got["lost"] and (kind != FORGED or when == "alone"):
                    wrong.append(f"{kind}, {when}: {got['lost']} of "
                                 f"{got['asked']} were lost")
                if got["asked"] <= got["lost"]:
                    wrong.append(f"{kind}, {when}: nothing was answered")
        if not attacks:
            wrong.append("nobody attacked")
        return wrong

    @staticmethod
    def compare(cold, warm, after):
        wrong = []
        if not {r: pid for r, (pid, _) in cold.items()} \
                == {r: pid for r, (pid, _) in warm.items()} \
                == {r: pid for r, (pid, _) in after.items()}:
            return [f"processes: {cold}, then {warm}, at the end {after}"]
        for role, (_, now) in after.items():
            was, first = warm[role][1].anon, cold[role][1].descriptors
            if now.anon > was + was // 2 + GROWTH_KIB:
                wrong.append(f"{role}: {was} KiB, then {now.anon}")
            if now.descriptors > first:
                wrong.append(f"{role}: {first} descriptors, then "
                             f"{now.descriptors}")
        return wrong

    def tables(self, quiet, beside, attacks, held):
        rows = [[kind, *(f"{quiet[kind][k]:.1f}" for k in ("p99", "max")),
                 *(beside[kind][k] for k in ("asked", "again", "lost",
                                             "wrong")),
                 *(f"{beside[kind][k]:.1f}" for k in ("p50", "p99", "max"))]
                for kind in mixed_clients.KINDS]
        self.found = {
            "clients": report.table(
                ["kind", "alone: 99 %, ms", "slowest", "beside: asked",
                 "again", "lost", "wrong", "median, ms", "99 %", "slowest"],
                rows),
            "attacks": report.table(["what", "times"],
                                    sorted(attacks.items())),
            "held": report.table(
                ["process", "KiB before", "first", "end",
                 "descriptors before", "first", "end"],
                [[role, *(one[role][1].anon for one in held if role in one),
                  *(one[role][1].descriptors for one in held if role in one)]
                 for role in sorted(held[0])])}
        print("\n".join(self.found.values()), flush=True)


def arguments():
    p = argparse.ArgumentParser()
    p.add_argument("--build", required=True)
    p.add_argument("--seconds", type=float, default=1800)
    p.add_argument("--seed", type=int, default=time.time_ns() % 1000000007)
    p.add_argument("--flood", type=int, default=2000)
    p.add_argument("--rate", type=float, default=20)
    p.add_argument("--doc")
    p.add_argument("--keep", help="a directory for all its files")
    return p.parse_args()


def main(args):
    print(f"seed {args.seed}", flush=True)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "needs root and name spaces")
    directory = pathlib.Path(tempfile.mkdtemp(prefix="nsd-mixed-",
                                              dir=args.keep))
    others = {}
    watch = machine.Others(others)
    watch.part = "mixed"
    mixed = Mixed(args, directory)
    wrong = []
    try:
        with watch.watched():
            wrong += mixed.run()
    except Exception as error:  # with what was seen until then
        wrong.append(f"{type(error).__name__}: {error}")
    finally:
        wrong += [f"{role} was left"
                  for role in mixed.server.clean_up().values()]
        if wrong:
            print(mixed.server.read_log()[-4000:])
        if not args.keep:
            shutil.rmtree(directory)
    for what in wrong:
        print(f"FAILED: {what}, seed {args.seed}")
    if args.doc and not wrong:
        pathlib.Path(args.doc).write_text(PAGE.format(
            machine=machine.name(), others=machine.others_text(
                others["mixed"]), rate=f"{args.rate:g}",
            seconds=args.seconds, alone=mixed.alone, warm=mixed.warm,
            **mixed.found))
    return 1 if wrong else 0


if __name__ == "__main__":
    ARGS = arguments()
    os.environ["NSD_BUILD"] = ARGS.build
    import harness  # looks for the build when imported
    sys.exit(main(ARGS))
