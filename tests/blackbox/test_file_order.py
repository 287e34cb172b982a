"""Zone files whose records stand in any order: sorted, shuffled, backwards, the
records of an owner far apart. All are the same zone."""

import functools
import random

import pytest

import checkzone
import signed

APEX = "example.org."
CUTS = 200
HOSTS = 900
SEED = 7


@functools.cache
def make_lines(serial, gone=(), more=""):
    """A signed zone; gone: hosts that it has not."""
    rows = [f"cut{i} NS ns{j}.cut{i}\nns{j}.cut{i} A 10.1.{j}.{i}"
            for i in range(CUTS) for j in (1, 2)]
    rows += [f"cut{i} DS 1 13 2 " + f"{i:02x}" * 32
             for i in range(0, CUTS, 2)]
    rows += [f"h{i} A 10.{j}.{i >> 8}.{i & 255}\nh{i} TXT t{j}"
             for i in range(HOSTS) if i not in gone for j in (3, 2)]
    rows += ["*.wild TXT any", "a.b.c.deep TXT x", "C.Deep TXT upper"]
    zone = signed.Zone(APEX, "\n".join(rows) + "\n" + more,
                       signed.Nsec3(), sig_len=16)
    head, soa, *body = [line for line in zone.lines()
                        if not line.startswith("$TTL")]
    assert " SOA ns root 1 " in soa
    return [head, "$TTL 300", soa.replace("root 1 ", f"root {serial} ")], body


def rank(line):
    """Types far apart, and each type in an order of its own."""
    words = line.split()
    return next(i for i, kind in enumerate((
        "TXT", "NS", "A", "DS", "NSEC3", "RRSIG", "DNSKEY", "NSEC3PARAM"))
        if kind in words)


ORDERS = {
    "shuffled": lambda lines: random.Random(SEED).sample(lines, len(lines)),
    "backwards": lambda lines: sorted(lines, reverse=True),
    "apart": lambda lines: sorted(sorted(lines), key=rank),
    "half": lambda lines: sorted(lines[::2]) + random.Random(SEED).sample(
        lines[1::2], len(lines[1::2])),
}


def text(lines, order=sorted):
    head, body = lines
    return "\n".join(head + order(body)) + "\n"


def printed(directory, name, zone):
    path = directory / name
    path.write_text(zone)
    result = checkzone.run("-p", APEX, str(path))
    # Of signatures, which are made up, it warns.
    assert result.returncode == 0 and "error: " not in result.stderr, result
    return result.stdout


@pytest.mark.parametrize("order", ORDERS)
def test_printed_zone_is_the_same_in_any_order(tmp_path, order):
    lines = make_lines(1)
    wanted = printed(tmp_path, "sorted", text(lines))
    assert len(wanted.splitlines()) > 5000
    assert printed(tmp_path, order, text(lines, ORDERS[order])) == wanted


def answers(server):
    names = [f"{word}{i}" for i in range(0, HOSTS, 67)
             for word in ("h", "www.cut", "cut", "no")]
    names += ["@", "x.wild", "wild", "deep", "b.c.deep", "c.deep", "x.deep",
              "new"]
    found = {}
    for name in names:
        for kind in ("A", "TXT", "DS", "NS"):
            full = APEX if name == "@" else f"{name}.{APEX}"
            reply = server.query(full, kind, edns=0, payload=4096,
                                 want_dnssec=True)
            # Records of an RRset may come in turn.
            found[name, kind] = [reply.rcode(), reply.flags] + [
                sorted(f"{rrset.name} {rr.to_text()}" for rr in rrset)
                for section in reply.sections for rrset in section]
    return found


@pytest.mark.lasts(15)
@pytest.mark.parametrize("order", ["shuffled", "apart"])
def test_answers_are_the_same_in_any_order(make_server, order):
    zones = make_lines(1), make_lines(2, gone=(5, 500), more="new TXT here")
    servers = [make_server(name, zones={"example.org": text(zones[0], how)},
                           options={"verbosity": 2})
               for name, how in (("plain", sorted), (order, ORDERS[order]))]
    for server in servers:
        server.start()
    assert answers(servers[0]) == answers(servers[1])
    changes = set()
    for server, how in zip(servers, (sorted, ORDERS[order])):
        server.write_zone("example.org", text(zones[1], how))
        server.reload()
        server.wait_serial("example.org", 2)
        changes |= {line.split("info: ")[1]
                    for line in server.read_log().splitlines()
                    if "records added" in line}
    # Compared with what is served, not built anew.
    assert len(changes) == 1, changes
    assert answers(servers[0]) == answers(servers[1])
    assert servers[1].answer("new.example.org", "TXT") == ['"here"']
    assert servers[1].rcode("h500.example.org", "A") == "NXDOMAIN"
