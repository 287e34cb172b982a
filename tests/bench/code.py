#!/usr/bin/env -S python3 -B
"""code.py - figures of the source, for doc/design.md.

usage: tests/bench/code.py [TREE...]        (this tree)

Prints a row for each figure, with a column for each tree."""
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parents[2]
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
STRING = r'"(?:\\.|[^"\\])*"|' r"'(?:\\.|[^'\\])*'"
TOKEN = re.compile(rf"{STRING}|\w[\w.]*|[-+*/%&|^=!<>]?=|"
                   r"->|\+\+|--|<<=?|>>=?|&&|\|\||\S")


def sources(tree, *folders):
    return [path for folder in folders
            for path in sorted((tree / folder).rglob("*"))
            if path.suffix in (".c", ".h", ".l", ".y")]


def text_of(paths):
    return "".join(path.read_text(encoding="utf-8") for path in paths)


def lines(text):
    return text.count("\n")


def code_lines(text):
    """Lines that hold more than a comment."""
    bare = COMMENT.sub(lambda m: "\n" * m[0].count("\n"), text)
    return sum(1 for line in bare.split("\n") if line.strip())


def tokens(text):
    return len(TOKEN.findall(COMMENT.sub(" ", text)))


def messages(tree):
    table = (tree / "include/ipc/message.h").read_text(encoding="utf-8")
    return len(re.findall(r"^\s*X\([A-Z]", table, re.M))


def outcomes(tree):
    found = re.search(r"enum load_outcome \{(.*?)\}",
                      text_of(sources(tree, "include/load",
                                      "include/loader")), re.S)
    return len(re.findall(r"\bLOAD_\w+", COMMENT.sub(" ", found[1])))


def longest_step(tree):
    """Files that the longest step of the reading order names: a walk, if it
    has any."""
    order = (tree / "doc/reading-order.md").read_text(encoding="utf-8")
    steps = re.split(r"^## ", order, flags=re.M)
    walks = [step for step in steps if re.search(r"^\d+\. `", step, re.M)]
    return max(len(set(re.findall(r"`(?:[\w/]+/)?([\w*-]+\.[chly])`", step)))
               for step in walks or steps)


def asserts(paths):
    """Asserts per 1,000 lines."""
    text = text_of(paths)
    found = re.findall(r"\b(?:assert|ASSERT_HOT|assert_zone)\(", text)
    return f"{1000 * len(found) / lines(text):.1f}"


def processes(tree):
    """The files of main, of the loader and of xfrd."""
    # All four lay in one folder before.
    proc = sources(tree, "src/proc")
    loader = [path for path in proc if path.name.startswith("loader")]
    others = [path for path in proc
              if path.name.startswith(("worker", "writer"))]
    main = [path for path in proc if path not in loader + others]
    return (main + sources(tree, "src/main"),
            loader + sources(tree, "src/load", "src/loader"),
            sources(tree, "src/xfrd"))


def mentions(tree, word, *folders):
    return len(re.findall(rf"\b{word}\b", COMMENT.sub(
        " ", text_of(sources(tree, *folders)))))


def figures(tree):
    server = text_of(sources(tree, "src", "include"))
    main, loader, xfrd = processes(tree)
    return {
        "lines of `src` and `include`": f"{lines(server):,}",
        "of these, code": f"{code_lines(server):,}",
        "C tokens, with `tools`": f"""{tokens(text_of(sources(
            tree, 'src', 'include', 'tools'))):,}""",
        "messages between processes": messages(tree),
        "outcomes of a load": outcomes(tree),
        "files of the longest step of the reading order": longest_step(tree),
        "asserts for 1,000 lines: main": asserts(main),
        "asserts for 1,000 lines: loader": asserts(loader),
        "asserts for 1,000 lines: xfrd": asserts(xfrd),
        "`struct conf_zone` in `src/xfrd`": mentions(
            tree, "struct conf_zone", "src/xfrd"),
    }


def main():
    trees = [pathlib.Path(name) for name in sys.argv[1:]] or [HERE]
    columns = [figures(tree) for tree in trees]
    for row in columns[0]:
        print(f"| {row} | " + " | ".join(str(one[row]) for one in columns)
              + " |")


if __name__ == "__main__":
    main()
