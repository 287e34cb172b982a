"""Carriage returns without a newline in zone files, beside NSD and BIND
(doc/decisions/0133)."""
import os
import pathlib
import shutil
import subprocess

import dns.zone
import pytest

OURS = pathlib.Path(os.environ.get("NSD_BUILD", "build")).resolve() \
    / "nsd-checkzone"
ZONE = b"$TTL 60\n@ SOA ns h 1 2 3 4 5\n@ NS ns\nns A 192.0.2.1\n"
PEERS = {
    "nsd": ["/usr/sbin/nsd-checkzone", "-p", "example"],
    "bind": ["named-checkzone", "-i", "none", "-o", "-", "example"],
}


@pytest.mark.parametrize("text", [
    b"a A 192.0.2.2\rb A 192.0.2.3\n",
    b"a TXT b\rc TXT d\n",
    b"a A 192.0.2.2\r A 192.0.2.3\n",
    b"a A 192.0.2.2\r\r\n\rb A 192.0.2.3\r\n",
    b"a TXT (\rb\rc )\rd TXT e\n",
    b'a TXT "b\rc"\rd TXT e\n',
    b"; a\rb TXT c\nd TXT e ; f\rg TXT h\ni TXT j\r",
    b"a A 192.0.2.2\rb A 192.0.2.3\rc A 192.0.2.4\r",
])
@pytest.mark.parametrize("peer", PEERS)
def test_they_end_the_lines_that_they_end_there(peer, text, tmp_path):
    command = PEERS[peer]
    assert shutil.which(command[0]), f"{command[0]} is not installed"
    (tmp_path / "zone").write_bytes(ZONE + text)

    def read(command):
        done = subprocess.run([*command, tmp_path / "zone"], timeout=60,
                              stdout=subprocess.PIPE, text=True, check=True)
        lines = [line for line in done.stdout.splitlines(keepends=True)
                 if not line.startswith(("zone ", "OK"))]
        return dns.zone.from_text("".join(lines), "example.")

    assert read([OURS, "-p", "example"]) == read(command)
