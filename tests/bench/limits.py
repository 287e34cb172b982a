#!/usr/bin/env python3
"""The share of questions above a rate limit that are answered, cut short (TC)
or dropped, for each rate, of our server, Debian's NSD and Knot (with its
module rrl). Prints a table.

usage: NSD_BUILD=build/rel tests/bench/limits.py [-s SECONDS] [-l LIMIT]
       [--slips N,...] [--doc DIR]

Each server has a question a moment for a name that there is not, over UDP from
one address. The first two seconds of each rate are not counted: all take their
time to see how much it is. --doc writes the page and the chart of
doc/performance.
"""
import argparse
import os
import pathlib
import select
import socket
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
# The servers of peers, not those beside this file.
for folder in str(HERE), str(HERE.parent / "lib"), str(HERE.parent / "peers"):
    sys.path.insert(0, folder)
import machine  # noqa: E402
import report  # noqa: E402
import servers  # noqa: E402

ZONE = "@ 3600 IN SOA ns host 1 7200 3600 1209600 300\n@ 3600 IN NS ns\n" \
       "ns 3600 IN A 192.0.2.53\n"
RATES = [0.5, 0.9, 1.1, 1.5, 2, 5, 10]  # of the limit
WARM_SEC = 2
# A server's counts have expired after so many seconds of rest.
REST_SEC = 4
# The first label is another one each time.
QUESTION = b"\0\0\0\0\0\1\0\0\0\0\0\0\10%08d\7example\4test\0\0\1\0\1"
PAGE = """# Limits of rate

Made by `tests/bench/limits.py`; nobody edits it. {machine}. {others}

What becomes of questions beyond a limit of {limit} a second. One client asks over UDP
for names that there are not, for {warm} seconds and {seconds:g} that count, at each rate.
Ours and NSD have `rrl-ratelimit: {limit}`, Knot {knot} its module `mod-rrl` with
`rate-limit: {limit}`; slip is each one's option of that name.

![answered and cut short](limits.svg)

{table}
NSD and ours count what is asked: who asks for more than the limit has no whole answer
as long as it does. Knot counts what is answered: an attacker gets the limit itself,
whatever it asks, and once some seconds' worth of it. What attacks get and clients lose
by that is in [limits-attack.md](limits-attack.md), what it costs in
[decisions/0118](../decisions/0118-what-a-limit-costs.md).
"""


class Knot(servers.Knot):
    """Knot with the module rrl."""

    def command(self):
        made = super().command()
        conf = pathlib.Path(made[-1])
        conf.write_text(conf.read_text().replace(
            "template:\n  - id: default\n",
            "mod-rrl:\n  - id: default\n"
            f"    rate-limit: {self.limit}\n    slip: {self.slip}\n"
            "template:\n  - id: default\n"
            "    global-module: mod-rrl/default\n"))
        return made


def ask(port, rate, seconds):
    """(sent, answered, cut short) in the time that counts."""
    counts = {"sent": 0, False: 0, True: 0}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        client.connect(("127.0.0.1", port))
        client.setblocking(False)
        begin = time.monotonic()
        number = 0
        while True:
            now = time.monotonic() - begin
            if now > WARM_SEC + seconds:
                break
            while number < now * rate:
                client.send(number.to_bytes(2, "big")
                            + (QUESTION % number)[2:])
                number += 1
                counts["sent"] += now > WARM_SEC
            select.select([client], [], [], 0.002)
            while True:
                try:
                    reply = client.recv(4096)
                except BlockingIOError:
                    break
                counts[bool(reply[2] & 2)] += now > WARM_SEC
    return counts["sent"], counts[False], counts[True]


def measure(server_class, directory, slip, arguments):
    """Rows: offered, and the shares answered, cut short and dropped."""
    zone = pathlib.Path(directory) / "zone"
    zone.write_text(ZONE)
    server = server_class({"example.test": zone})
    server.limit, server.slip = arguments.limit, slip
    server.more = ["server:", f"\trrl-ratelimit: {arguments.limit}",
                   f"\trrl-slip: {slip}"]
    server.start()
    rows = []
    try:
        for rate in RATES:
            offered = rate * arguments.limit
            sent, whole, cut = ask(server.port, offered, arguments.seconds)
            rows.append((offered, 100 * whole / sent, 100 * cut / sent,
                         100 * max(0, sent - whole - cut) / sent))
            print(server.name, slip, "%.0f: %.0f %.0f %.0f" % rows[-1],
                  file=sys.stderr, flush=True)
            time.sleep(REST_SEC)
    finally:
        server.stop()
    return rows


def draw(measured, slip, directory):
    """Draws the chart of one slip: whole answers, and dashed the truncated
    ones."""
    series = {}
    for (name, is_slip), rows in measured.items():
        if is_slip == slip:
            series[name] = [(x, whole) for x, whole, _, _ in rows]
            series[f"{name} TC, slip {slip}"] = [
                (x, cut) for x, _, cut, _ in rows]
    report.line_chart(os.path.join(directory, "limits.svg"),
                      "Answered whole, and cut short (dashed)",
                      "questions a second", "% of what is asked", series,
                      ticks=[x for x, *_ in next(iter(measured.values()))])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-s", "--seconds", type=float, default=5)
    parser.add_argument("-l", "--limit", type=int, default=200)
    parser.add_argument("--slips", default="0,1,2")
    parser.add_argument("--doc")
    arguments = parser.parse_args()
    slips = [int(slip) for slip in arguments.slips.split(",")]
    measured = {}
    others = machine.Others({})
    others.part = "limits"
    with tempfile.TemporaryDirectory() as directory, others.watched():
        for slip in slips:
            for one in servers.Ours, servers.Nsd, Knot:
                measured[one.name, slip] = measure(one, directory, slip,
                                                   arguments)
    table = report.table(
        ["slip", "questions a second", "server", "answered", "cut short",
         "dropped"],
        [[slip, f"{row[0]:.0f}", name, *(f"{share:.0f} %"
                                         for share in row[1:])]
         for slip in slips for i in range(len(RATES))
         for (name, is_slip), rows in measured.items() if is_slip == slip
         for row in [rows[i]]])
    print(table)
    if arguments.doc:
        draw(measured, slips[-1], arguments.doc)
        pathlib.Path(arguments.doc, "limits.md").write_text(PAGE.format(
            machine=machine.name(),
            others=machine.others_text(others.result.get("limits")),
            limit=arguments.limit, warm=WARM_SEC,
            seconds=arguments.seconds, knot=knot_version(), table=table))


def knot_version():
    text = subprocess.run(["/usr/sbin/knotd", "--version"], text=True,
                          stdout=subprocess.PIPE, check=True).stdout
    return text.split()[-1]


if __name__ == "__main__":
    main()
