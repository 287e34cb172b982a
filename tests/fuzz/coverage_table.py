"""The table of tests/fuzz/coverage, out of what llvm-cov has exported.

usage: coverage_table.py LINES REST LAYER...

tests/fuzz/unreached has lines of "WHAT<blanks>REASON". WHAT is a file, a file
and a function ("src/a/b.c:open_it"), or an expression between slashes that is
searched for in the text of a line, or of the one before: it is for what one
reason holds everywhere."""

import os
import re
import sys

NAMED = "tests/fuzz/unreached"
REST_MAX = 3.0  # percent of a layer


class Source:
    """The lines of a file that have code, and whether they were run."""

    def __init__(self, path):
        self.path = path
        self.counts = {}
        self.functions = {}
        with open(path) as text:
            self.text = [""] + text.read().split("\n")

    def function_of(self, line):
        before = [at for at in self.functions if at <= line]
        return self.functions[max(before)] if before else ""

    def unreached(self):
        return [line for line, count in sorted(self.counts.items())
                if count == 0]


def read_export(path, layers):
    sources, source = {}, None
    for line in open(path):
        kind, _, rest = line.strip().partition(":")
        if kind == "SF":
            found = re.search(r"/(src/(\w+)/[^/]+\.[chly])$", rest)
            source = None
            # Files made by bison and flex are not in the tree.
            if (found and found.group(2) in layers
                    and os.path.exists(found.group(1))):
                name = found.group(1)
                source = sources.setdefault(name, Source(name))
        elif source and kind == "FN":
            at, name = rest.split(",", 1)
            source.functions[int(at)] = name.rpartition(":")[2]
        elif source and kind == "DA":
            at, count = map(int, rest.split(",")[:2])
            source.counts[at] = max(count, source.counts.get(at, 0))
    return sources


class Named:
    def __init__(self, line):
        if line.startswith("/"):
            what, self.reason = line[1:].split("/ ", 1)
            self.path, self.function = None, None
            self.search = re.compile(what).search
            self.what = "/%s/" % what
        else:
            self.what, self.reason = line.split(None, 1)
            self.path, _, self.function = self.what.partition(":")
        self.lines = 0

    def has(self, source, line):
        if self.path is None:
            return bool(self.search(source.text[line])
                        or self.search(source.text[line - 1]))
        return (self.path == source.path
                and self.function in ("", source.function_of(line)))


def read_named():
    with open(NAMED) as text:
        return [Named(line) for line in text.read().split("\n")
                if line and not line.startswith("#")]


def main():
    export, rest_path, *layers = sys.argv[1:]
    sources, named = read_export(export, layers), read_named()
    failed = False
    print("%-10s %6s %8s %6s %5s" % ("layer", "lines", "reached", "named",
                                     "rest"))
    with open(rest_path, "w") as rest:
        for layer in layers:
            lines = reached = excused = 0
            for path, source in sorted(sources.items()):
                if not path.startswith("src/%s/" % layer):
                    continue
                lines += len(source.counts)
                unreached = source.unreached()
                reached += len(source.counts) - len(unreached)
                for at in unreached:
                    who = next((n for n in named if n.has(source, at)), None)
                    if who:
                        who.lines += 1
                        excused += 1
                    else:
                        print("%s:%d: %s: %s" % (
                            path, at, source.function_of(at),
                            source.text[at].strip()), file=rest)
            left = lines - reached - excused
            percent = 100 * left / max(lines, 1)
            print("%-10s %6d %7.1f%% %6d %4d %4.1f%%" % (
                layer, lines, 100 * reached / max(lines, 1), excused, left,
                percent))
            if percent > REST_MAX:
                failed = True
                print("%s: more than %g %% is neither reached nor named" % (
                    layer, REST_MAX))
    for entry in named:
        if entry.lines == 0 and not entry.reason.startswith(
                "needs a processor"):
            failed = True
            print("%s: %s has nothing that is unreached" % (NAMED,
                                                            entry.what))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
