"""Parsers of the output of nsd-control, one for each kind of monitor that
operators have. They know NSD 4 alone, and must find here what they found
there."""
import re

STATES = {"primary", "master", "ok", "expired", "refreshing", "old-serial",
          "future-serial"}


def fields(text):
    """{field: value}, as an agent takes it that wants every line to be
    `name=number`; `serverN.name` is a field of that server."""
    found = {}
    for line in text.splitlines():
        name, sign, value = line.partition("=")
        assert sign and re.fullmatch(r"[\w.:-]+", name), line
        assert name not in found, line
        found[name] = float(value)
    return found


def graph(text, prefix):
    """{label: count}, as a plugin takes it that draws one line for each name
    with this prefix."""
    return {name.lower(): int(count) for name, count in re.findall(
        rf"^{re.escape(prefix)}\.(\w+)=(\d+)$", text, re.M)}


def zones(text):
    """{zone: {key: value}} of zonestatus, as a script takes it that looks for
    a tab, a key and a colon."""
    found, zone = {}, None
    for line in text.splitlines():
        if line.startswith("zone:\t"):
            zone = found.setdefault(line[len("zone:\t"):], {})
            continue
        row = re.fullmatch(r"\t([a-z-]+): (.*)", line)
        if row:
            zone[row[1]] = row[2]
        else:
            # Lines that a monitor of NSD 4 does not know.
            assert line.startswith("\t\t") or ": " in line, line
    for zone, rows in found.items():
        assert rows["state"] in STATES, (zone, rows)
        if rows["state"] not in ("primary", "master"):
            assert re.fullmatch(r'"\d+ since [^"]+"|none',
                                rows["served-serial"]), (zone, rows)
    return found


def serials(text):
    """{secondary zone: serial that is served}."""
    return {zone: int(rows["served-serial"].split()[0].strip('"'))
            for zone, rows in zones(text).items()
            if rows.get("served-serial", "none") != "none"}
