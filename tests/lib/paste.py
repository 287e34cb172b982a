"""Commands of a page of the documents, run as a reader would paste them."""
import os
import pathlib
import re
import signal
import subprocess
import tempfile

from ports import free_port

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["NSD_BUILD"])
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.M | re.S)
# A variable by which processes are known that pages have started.
MARK = "NSD_PASTED_IN"
PORT = re.compile(r"\b5[38]\d\d\b")


def blocks_of(name):
    """The blocks of commands of doc/NAME."""
    return BLOCK.findall((SOURCE / "doc" / name).read_text())


def paste(name, folder, limit=300, **variables):
    """Runs all blocks of commands of doc/NAME in folder, in one shell, with
    ports that are free; gives the output of each block. limit: seconds."""
    ports = {}
    script = "\nprintf '\\0'\n".join(blocks_of(name))
    script = PORT.sub(lambda found: ports.setdefault(
        found[0], str(free_port())), script)
    # Servers that stay have this file open, and would hold a pipe up.
    with tempfile.TemporaryFile() as file:
        try:
            end = "code", subprocess.run(
                ["bash", "-euo", "pipefail", "-c", script], cwd=folder,
                stdin=subprocess.DEVNULL, stdout=file,
                stderr=subprocess.STDOUT, timeout=limit, check=False,
                env={**os.environ, **variables, MARK: str(folder.resolve()),
                     "PATH": f"{BUILD}:{os.environ['PATH']}:/usr/sbin:/sbin"}
            ).returncode
        except subprocess.TimeoutExpired:
            end = "no end in seconds", limit
        file.seek(0)
        said = file.read().decode().split("\0")
    assert end == ("code", 0), f"block {len(said)} of {name}, {end}: {said[-1]}"
    return said


def is_of(pid, folder):
    """Whether a process works below folder, or was started there."""
    entry = pathlib.Path("/proc") / pid
    try:
        return (entry / "cwd").readlink().is_relative_to(folder) or \
            f"{MARK}={folder}".encode() in \
            (entry / "environ").read_bytes().split(b"\0")
    except OSError:
        return False


def end_all(folder):
    """Ends the processes that commands pasted in folder have left."""
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        if is_of(entry.name, folder.resolve()):
            try:
                os.kill(int(entry.name), signal.SIGKILL)
            except OSError:
                pass
