#!/usr/bin/env python3
"""What becomes of questions when there are more than rrl-ratelimit: answered,
cut short (TC) or dropped, for each rate, of our server and Debian's NSD. Prints
a table.

usage: NSD_BUILD=build/rel tests/bench/limits.py [-s SECONDS] [-l LIMIT]

Each server has a question a moment for a name that there is not, over UDP from
one address. The first two seconds of each rate are not counted: both servers
take their time to see how much it is.
"""
import argparse
import pathlib
import select
import socket
import sys
import tempfile
import time

# The servers of peers, not those beside this file.
for folder in "lib", "peers":
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]
                           / folder))
import servers  # noqa: E402

ZONE = "@ 3600 IN SOA ns host 1 7200 3600 1209600 300\n@ 3600 IN NS ns\n" \
       "ns 3600 IN A 192.0.2.53\n"
RATES = [0.5, 0.9, 1.1, 2, 10]  # of the limit
SLIPS = [0, 1, 2]
WARM_SEC = 2
# The first label is another one each time.
QUESTION = b"\0\0\0\0\0\1\0\0\0\0\0\0\10%08d\7example\4test\0\0\1\0\1"


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
    zone = pathlib.Path(directory) / "zone"
    zone.write_text(ZONE)
    server = server_class({"example.test": zone})
    server.more = ["server:", f"\trrl-ratelimit: {arguments.limit}",
                   f"\trrl-slip: {slip}"]
    server.start()
    try:
        for rate in RATES:
            offered = rate * arguments.limit
            sent, whole, cut = ask(server.port, offered, arguments.seconds)
            print(f"| {server.name} | {slip} | {offered:.0f} | "
                  f"{100 * whole / sent:.0f} % | {100 * cut / sent:.0f} % | "
                  f"{100 * max(0, sent - whole - cut) / sent:.0f} % |",
                  flush=True)
            time.sleep(4)
    finally:
        server.stop()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-s", "--seconds", type=float, default=5)
    parser.add_argument("-l", "--limit", type=int, default=200)
    arguments = parser.parse_args()
    print("| server | slip | questions a second | answered | cut short | "
          "dropped |\n|---|---:|---:|---:|---:|---:|", flush=True)
    with tempfile.TemporaryDirectory() as directory:
        for server_class in servers.Ours, servers.Nsd:
            for slip in SLIPS:
                measure(server_class, directory, slip, arguments)


main()
