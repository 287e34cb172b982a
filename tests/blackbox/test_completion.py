"""Completion of shells for nsd-control: what bash and zsh make of words that
are begun, beside a server that runs."""
import os
import pathlib
import pty
import re
import select
import subprocess
import time

import pytest

import control
from forked import forked
from harness import DEADLINE, zone_text

TOP = pathlib.Path(__file__).resolve().parents[2]
VERBS = TOP / "include/ctl/verbs.h"

BASH = """
source "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_nsd_control
printf '%s\\n' "${COMPREPLY[@]}"
"""

# Ctrl-T writes down what the line has come to. No other key begins with it: zsh
# would wait for the rest of that.
ZSH = """
PS1='ready> '
unsetopt zle_bracketed_paste prompt_cr prompt_sp
fpath=({folder} $fpath)
autoload -Uz compinit
compinit -u -D
capture() {{ print -r -- "$BUFFER" > {out}.new; mv {out}.new {out}; }}
zle -N capture
bindkey '^T' capture
setopt no_beep no_always_last_prompt
unsetopt auto_list auto_menu
"""


@pytest.fixture
def server(make_server):
    made = make_server(zones={"one.test": zone_text(), "two.test": zone_text(),
                              "other.test": zone_text()})
    made.extra = "pattern:\n\tname: p\n\tzonefile: one.test.zone\n"
    return control.config(made).start()


def verbs():
    found = re.findall(r'^\tX\(\w+, "(\w+)"', VERBS.read_text(), re.M)
    assert len(found) > 30
    return found


def complete_in_bash(server, *words):
    """The completions of the last word."""
    result = subprocess.run(
        ["bash", "-c", BASH, "bash",
         str(TOP / "tools/bash-completion/nsd-control"),
         *control.command(server)[:3], *words],
        capture_output=True, text=True, timeout=DEADLINE, check=True)
    return result.stdout.split()


class Zsh:
    """A shell at a terminal."""

    def __init__(self, directory):
        self.out = directory / "line"
        self.pid, self.fd = forked(self.become, pty.fork)
        self.seen = ""

    @staticmethod
    def become():
        os.environ["TERM"] = "dumb"
        os.environ["PATH"] = f"{control.BUILD}:{os.environ['PATH']}"
        os.execvp("zsh", ["zsh", "-f", "-i"])

    def prepare(self):
        self.type(ZSH.format(folder=TOP / "tools/zsh-completion",
                             out=self.out).replace("\n", "\r"))
        self.type("print so''far\r")
        self.wait(lambda: "sofar" in self.seen)

    def type(self, text):
        os.write(self.fd, text.encode())

    def wait(self, done):
        end = time.monotonic() + DEADLINE
        while not done():
            assert time.monotonic() < end, self.seen
            if select.select([self.fd], [], [], 0.05)[0]:
                self.seen += self.read()

    def read(self):
        try:
            return os.read(self.fd, 65536).decode(errors="replace")
        except OSError as error:
            raise AssertionError(f"zsh has ended: {self.seen}") from error

    def complete(self, line):
        """The line after a tab."""
        self.out.unlink(missing_ok=True)
        self.type(f"{line}\t\x14")
        self.wait(self.out.exists)
        self.type("\x15")
        return self.out.read_text().rstrip("\n")

    def close(self):
        os.close(self.fd)
        os.kill(self.pid, 9)
        os.waitpid(self.pid, 0)


@pytest.fixture
def zsh(directory):
    shell = Zsh(directory)
    try:
        shell.prepare()
        yield shell
    finally:
        shell.close()


def test_bash_knows_the_verbs_and_the_zones(server):
    found = complete_in_bash(server, "")
    assert set(verbs()) <= set(found)
    assert complete_in_bash(server, "addz") == ["addzone", "addzones"]
    assert sorted(complete_in_bash(server, "reload", "")) == [
        "one.test", "other.test", "two.test"]
    assert complete_in_bash(server, "zonestatus", "t") == ["two.test"]
    # A zone that is new, and what is no zone.
    assert complete_in_bash(server, "verbosity", "") == []
    assert complete_in_bash(server, "reload", "one.test", "") == []


@pytest.mark.parametrize("name", [
    "$(touch${IFS}MARK).test", "`touch${IFS}MARK`.test", "a;touch.test",
    "*.test", "~root.test", "a\\046b.test", "{a,b}.test", "$HOME.test"])
def test_bash_runs_nothing_of_what_a_zone_is_called(server, name):
    mark = server.directory / "mark"
    name = name.replace("MARK", str(mark))
    assert control.ask(server, "addzone", name, "p") == (0, "ok\n")
    # The shell expands the completed word to the name.
    for begin in "", name[0]:
        found = [word for word in complete_in_bash(server, "reload", begin)
                 if not word.endswith(("one.test", "two.test", "other.test"))]
        assert len(found) == 1, found
        made = subprocess.run(["bash", "-c", f"printf %s {found[0]}"],
                              capture_output=True, text=True, check=True)
        assert made.stdout == name
    assert not mark.exists()


def test_zsh_knows_the_verbs_and_the_zones(server, zsh):
    for verb in verbs():
        longer = [v for v in verbs() if v.startswith(verb) and v != verb]
        if not longer:
            assert zsh.complete(f"nsd-control {verb[:-1]}").split()[1] \
                .startswith(verb[:-1])
            assert zsh.complete(f"nsd-control {verb}").rstrip() \
                == f"nsd-control {verb}"
    begin = f"nsd-control -c {server.config} "
    assert zsh.complete("nsd-control act") \
        == "nsd-control activate_cookie_secret "
    assert zsh.complete("nsd-control printc") == "nsd-control printc"
    assert zsh.complete(f"{begin}zonestatus tw") \
        == f"{begin}zonestatus two.test "
    assert zsh.complete(f"{begin}reload o") == f"{begin}reload o"
    assert zsh.complete(f"{begin}verbosity tw") == f"{begin}verbosity tw"
