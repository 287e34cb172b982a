#!/usr/bin/env -S python3 -B
"""The tables of doc/messages.md: what our tools and those of NSD say about the
faulty files in tests/messages/.

usage: NSD_BUILD=DIR messages.py [--write]

Prints the tables as they should be, or writes them into the document. Without
NSD's tools their column stays as it is in the document.
"""
import os
import pathlib
import re
import socket
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
DOCUMENT = TOP / "doc/messages.md"
FILES = TOP / "tests/messages"
VERSION = "4.6.1"  # of NSD, in Debian 12
HEAD = ["| file | what is wrong | NSD | ours |", "|---|---|---|---|"]
LOG = re.compile(r"^\[[^]]*\] nsd(?:-checkzone|-checkconf)?\[\d+\]: ")
# The last line of each tool, which counts what it has said.
COUNT = re.compile(r"read FILE failed: \d+ errors|FILE: \d+ semantic errors"
                   r"|zone \S+ file FILE has \d+ errors")
COMMENT = re.compile(r"^(?:#|;) ?(.*)")  # the first line of a file


class Section:
    """One table: the heading above it, a folder, and how a tool is called."""

    def __init__(self, heading, folder, program, arguments=()):
        self.heading = heading
        self.folder = FILES / folder
        self.program = program
        self.arguments = arguments

    def files(self):
        """The faulty files. What they include is in folders below."""
        return sorted(path for path in self.folder.iterdir()
                      if path.is_file())

    def ours(self):
        return pathlib.Path(os.environ.get("NSD_BUILD",
                                           "build")).resolve() / self.program

    def theirs(self):
        """NSD's program; None if it is not here, or another version."""
        path = pathlib.Path("/usr/sbin") / self.program
        if not path.exists():
            return None
        usage = subprocess.run([path, "-h"], capture_output=True, text=True,
                               check=False)
        said = usage.stdout + usage.stderr
        return path if f"Version {VERSION}" in said else None

    def run(self, program, path, *more):
        """The lines that a program says about a file, and its exit code."""
        done = subprocess.run([program, *self.arguments, path.name, *more],
                              cwd=self.folder, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, timeout=60,
                              stderr=subprocess.STDOUT, check=False,
                              env={**os.environ, "LC_ALL": "C"})
        return done.stdout.decode("latin-1").splitlines(), done.returncode

    def says(self, program, path):
        """The same as a cell of the table."""
        lines, status = self.run(program, path)
        lines = [LOG.sub("", line).replace(path.name, "FILE")
                 for line in lines]
        return "<br>".join([*(code(line) for line in lines
                              if not COUNT.match(line)),
                            f"exit {status}"])

    def rows(self):
        """{file: [what is wrong, theirs, ours]} as the document has it."""
        text = DOCUMENT.read_text()
        begin = text.index(f"\n## {self.heading}\n")
        end = text.find("\n## ", begin + 1)
        found = {}
        for line in text[begin:None if end == -1 else end].splitlines():
            cells = re.split(r" (?<!\\)\| ", line.strip("| "))
            if line.startswith("| `") and len(cells) == 4:
                found[cells[0].strip("`")] = cells[1:]
        return found

    def row(self, path, before=None):
        """The row of a file: what is wrong, theirs, ours. before: what the
        document has."""
        theirs = self.theirs()
        return [what_is_wrong(path),
                self.says(theirs, path) if theirs
                else before[1] if before else "",
                self.says(self.ours(), path)]

    def table(self):
        before = self.rows()
        return HEAD + [
            "| " + " | ".join([f"`{path.name}`",
                               *self.row(path, before.get(path.name))]) + " |"
            for path in self.files()]


class Starts(Section):
    """Starts of the server, with a port that is in use."""

    def run(self, program, path, *more):
        with socket.socket(type=socket.SOCK_DGRAM) as other:
            other.bind(("127.0.0.1", 0))
            port = other.getsockname()[1]
            lines, status = super().run(program, path, "-p", str(port), *more)
        return [line.replace(f"@{port}", "@PORT") for line in lines
                if ": notice: " not in line], status


SECTIONS = [
    Section("nsd.conf", "conf", "nsd-checkconf"),
    Section("Zone files", "zones", "nsd-checkzone", ["example"]),
    Starts("Starts that fail", "starts", "nsd", ["-d", "-c"]),
]


def code(line):
    """A line as it is, for a cell of a table."""
    line = line.replace("|", r"\|")
    mark = "``" if "`" in line else "`"
    edge = " " if "`" in line else ""
    return mark + edge + line + edge + mark


def what_is_wrong(path):
    with path.open(encoding="latin-1") as file:
        found = COMMENT.match(file.readline())
    assert found, f"{path}: its first line does not say what is wrong"
    return found[1].strip().replace("|", r"\|")


def document():
    """The document with its tables as they should be."""
    text = DOCUMENT.read_text()
    for section in SECTIONS:
        begin = text.index(HEAD[0], text.index(f"\n## {section.heading}\n"))
        rest = text[begin:].splitlines()
        length = next((i for i, line in enumerate(rest)
                       if not line.startswith("|")), len(rest))
        text = text[:begin] + "\n".join(
            section.table() + rest[length:]) + "\n"
    return text


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        DOCUMENT.write_text(document())
    elif len(sys.argv) > 1:
        sys.exit(__doc__)
    else:
        print("\n\n".join("\n".join(s.table()) for s in SECTIONS))
