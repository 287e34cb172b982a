"""The lints' knowledge of the tree: which layer may use which, and what each
source file defines and uses. Read from the text alone, so that no build is
needed."""
import dataclasses
import pathlib
import re
import sys

# Layers, and those below that each may include and call (doc/architecture.md).
BELOW = {
    "base": [],
    "dns": ["base"],
    "zonefile": ["base", "dns"],
    "journal": ["base", "dns"],
    "conf": ["base", "dns"],
    "ipc": ["base", "dns"],
    "net": ["base"],
    "guard": ["base"],
    "tap": ["base", "dns"],
    "tls": ["base"],
    "xfr": ["base", "dns"],
    "store": ["base"],
    "settings": ["base", "store"],
    "names": ["base", "dns", "store"],
    "zone": ["base", "dns", "store", "settings", "names"],
    "catalog": ["base", "dns", "store", "names", "zone"],
    "dynupdate": ["base", "dns", "xfr", "store", "names", "zone"],
    "audit": ["base", "dns", "store", "names", "zone"],
    "zonedb": ["base", "dns", "zonefile", "store", "settings", "names", "zone"],
    "compile": ["base", "dns", "store", "names", "zone", "zonedb"],
    "update": ["base", "dns", "store", "names", "zone", "zonedb", "compile"],
    "query": ["base", "dns", "guard", "store", "settings", "names", "zone"],
    "ctl": ["base", "dns", "conf", "ipc", "net", "tls", "store", "settings",
            "names", "zone"],
    "process": ["base", "dns", "conf", "ipc", "net", "guard", "tap", "tls",
             "store", "settings", "names", "zone", "query", "ctl"],
    "loader": ["base", "dns", "zonefile", "journal", "conf", "ipc", "xfr",
               "store", "settings", "names", "zone", "zonedb", "compile",
               "audit", "update", "process"],
    "xfrd": ["base", "dns", "zonefile", "journal", "conf", "ipc", "net", "guard",
             "tap", "tls", "store", "settings", "names",
             "zone", "catalog", "dynupdate", "zonedb", "compile", "update",
             "loader", "query", "xfr", "ctl", "process"],
    "worker": ["base", "dns", "conf", "ipc", "net", "guard", "tap", "tls",
               "store", "settings", "query", "process"],
    "writer": ["base", "dns", "conf", "ipc", "store", "settings", "names", "zone",
               "loader", "process"],
    "verifier": ["base", "dns", "zonefile", "conf", "ipc", "store", "settings",
                 "names", "zone", "process"],
    "collector": ["base", "dns", "conf", "ipc", "tap", "tls", "process"],
    "main": ["base", "dns", "zonefile", "journal", "conf", "ipc", "net", "guard",
             "tap", "tls", "store", "settings", "names", "zone", "catalog", "dynupdate",
             "zonedb", "compile", "update", "query", "loader", "xfr", "ctl", "process", "xfrd",
             "worker", "writer", "collector", "verifier"],
    # Programs of several files, in tools/.
    "checkzone": ["base", "dns", "zonefile", "store", "names", "zone", "zonedb",
                  "compile", "audit", "update", "loader"],
}

KEYWORDS = {"return", "else", "goto", "case", "do", "sizeof", "if", "while",
            "for", "switch", "typeof", "__typeof__", "_Alignof"}
TAGS = {"struct", "union", "enum"}
TOKEN = re.compile(r"[A-Za-z_]\w*|\.\.\.|->|##|[^\s\w]|\d[\w.]*")
STRIP = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\""
                   r"|'(?:\\.|[^'\\\n])*'", re.S)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.M)
DEFINE = re.compile(r"[ \t]*#\s*define\s+(\w+)(\(([^)]*)\))?(.*)", re.S)


# Exceptions, a line each, with their reason.
EXCUSED = pathlib.Path("tests/lint/excused")
LINE = re.compile(r"(ring|reach|unused) ([^:]+): (.+)")


@dataclasses.dataclass
class Item:
    """A function, variable or macro: what it is called and what it names."""
    name: str
    kind: str
    line: int
    static: bool = False
    uses: set = dataclasses.field(default_factory=set)
    tokens: list = dataclasses.field(default_factory=list)
    params: list = None


@dataclasses.dataclass
class Source:
    """A file: its items by name, the macros it defines, the tags of structs,
    unions and enums with their lines, and the names of functions declared."""
    path: pathlib.Path
    name: str
    layer: str
    items: dict
    macros: dict
    tags: dict
    declared: set


def top_of(argv):
    """The tree to look at: the first argument, else the one we lie in."""
    names = [arg for arg in argv[1:] if not arg.startswith("-")]
    return (pathlib.Path(names[0]).resolve() if names
            else pathlib.Path(__file__).resolve().parents[2])


def finish(broken):
    sys.exit(1 if broken else 0)


def excused(top):
    """{kind: sets of names} of all lines."""
    found = {"ring": set(), "reach": set(), "unused": set()}
    path = top / EXCUSED
    for line in path.read_text().splitlines() if path.exists() else []:
        row = LINE.fullmatch(line)
        if row:
            found[row[1]].add(frozenset(row[2].split()))
        elif not line.startswith("#"):
            sys.exit(f"{EXCUSED}: not KIND NAMES: REASON: {line}")
    return found


def stale(kind, names):
    return f"no such {kind} any more, take it out of {EXCUSED}: " + ", ".join(
        sorted(names))


def blank(found):
    """The replacement of a comment, string or directive: its line ends."""
    text = found[0]
    return (" " if text[0] == "/" else "0") + "\n" * text.count("\n")


def tokens_of(text, line=1):
    """(token, line) of each."""
    at = 0
    for found in TOKEN.finditer(text):
        line += text.count("\n", at, found.start())
        at = found.start()
        yield found[0], line


def macros_of(text):
    macros = {}
    for directive in DIRECTIVE.finditer(text):
        found = DEFINE.match(directive[0].replace("\\\n", "\n"))
        if not found:
            continue
        params = None
        if found[2]:
            params = [p.strip() for p in found[3].split(",")]
        body = list(tokens_of(found[4]))
        line = text.count("\n", 0, directive.start()) + 1
        old = macros.get(found[1])
        macros[found[1]] = Item(found[1], "macro", line, False,
                                names_in(body) | (old.uses if old else set()),
                                body, params)
    return macros


def names_in(tokens):
    """Identifiers that may be functions or variables of a file: no members,
    no tags."""
    names, before = set(), ""
    for token, _ in tokens:
        if (token[0].isalpha() or token[0] == "_") and \
                before not in TAGS and before not in (".", "->"):
            names.add(token)
        before = token
    return names


def locals_in(tokens):
    """Parameters and variables of a function: an identifier behind a type or
    an asterisk, and before what ends a declarator."""
    names = set()
    words = [token for token, _ in tokens]
    for before, word, after in zip(words, words[1:], words[2:]):
        if after in (";", ",", "=", ")", "[") and (
                before == "*" or re.match(r"[A-Za-z_]", before)
                and before not in KEYWORDS | TAGS) and word.isidentifier():
            names.add(word)
    return names


def statements(tokens):
    """The items at the margin: (head, body) of each, both lists of tokens."""
    item, depth, head = [], 0, None
    for token in tokens:
        item.append(token)
        if token[0] in "([{":
            if token[0] == "{" and depth == 0 and head is None:
                head = len(item) - 1
            depth += 1
        elif token[0] in ")]}":
            depth -= 1
            if depth == 0 and token[0] == "}" and is_function(item[:head]):
                yield item[:head], item[head:]
                item, head = [], None
        elif token[0] == ";" and depth == 0:
            yield item, None
            item, head = [], None


def groups(head):
    """(index of the name, name) before each pair of parentheses."""
    depth = 0
    for at, (token, _) in enumerate(head):
        if token == "(":
            if depth == 0 and at > 0 and head[at - 1][0].isidentifier():
                yield at - 1, head[at - 1][0]
            depth += 1
        elif token == ")":
            depth -= 1


def is_function(head):
    return function_name(head) is not None and \
        not any(token == "=" for token, _ in flat(head))


def function_name(head):
    name = None
    for at, word in groups(head):
        if word not in ("__attribute__", "_Alignas", "_Static_assert") and \
                at > 0:
            name = head[at]
    return name


def flat(tokens):
    """The tokens outside of all brackets."""
    depth = 0
    for token in tokens:
        if token[0] in ")]}":
            depth -= 1
        if depth == 0:
            yield token
        if token[0] in "([{":
            depth += 1


def pointers(item):
    """The name of a pointer to functions: type (*name[])(...)."""
    words = [token for token, _ in item]
    for at, word in enumerate(words[:-3]):
        if word == "(" and words[at + 1] == "*":
            at += 2
            while words[at] in ("const", "volatile", "*"):
                at += 1
            if words[at].isidentifier():
                yield item[at]
            return
        if word in "({;=":
            return


def variables(item):
    """The tokens that are the names of the variables of a declaration."""
    outer = list(flat(item))
    words = [token for token, _ in outer]
    if not words or words[0] in ("typedef", "_Static_assert") or \
            "extern" in words:
        return
    if "(" in words and "=" not in words[:words.index("(")]:
        yield from pointers(item)
        return
    if "=" in words:
        words = words[:words.index("=")] + [";"]
    for at in range(1, len(words)):
        name_at = at - 1
        while name_at > 0 and words[name_at] in "[]":
            name_at -= 1
        if words[at] in (";", ",") and name_at > 0 and \
                words[name_at].isidentifier() and \
                words[name_at - 1] not in TAGS:
            yield outer[name_at]
        if words[at] == ";":
            return


def tags_of(tokens):
    words = list(tokens)
    for (before, _), (word, line), (after, _) in zip(words, words[1:],
                                                     words[2:]):
        if before in TAGS and word.isidentifier() and after == "{":
            yield word, line


def c_items(text, line, statics):
    """(items, tags, declared) of C text without comments and directives."""
    items, tags, declared = {}, {}, set()
    tokens = list(tokens_of(text, line))
    tags.update(tags_of(tokens))
    for head, body in statements(tokens):
        words = {token for token, _ in flat(head)}
        static = bool(words & statics)
        if body is not None:
            name, at = function_name(head)
            items[name] = Item(name, "function", at, static,
                               names_in(head + body) - locals_in(head + body),
                               head + body)
            continue
        if "(" in words and function_name(head) is not None:
            declared.add(function_name(head)[0])
        for name, at in variables(head):
            items[name] = Item(name, "variable", at, static,
                               names_in(head) - {name}, head)
    return items, tags, declared


def grammar_text(text):
    """The C of a .l or .y, with its rules as one function; all other lines are
    empty."""
    prefix = re.search(r"%define\s+api\.prefix\s*\{(\w+)\}", text)
    parts = re.split(r"(?m)^%%.*$", text)
    parts += [""] * (3 - len(parts))
    found = re.findall(r"(?ms)^%\{\n(.*?)^%\}|^%code[^{\n]*\{\n(.*?)^\}\s*"
                       r"(?=^%|\Z)", parts[0])
    rules = re.sub(r"[^\w\s,;>.-]", " ", STRIP.sub(blank, parts[1]))
    flex = re.search(r"%option.*\bprefix=\"(\w+)\"", text)
    if flex:
        parts[2] = re.sub(r"\byy((?:re)?alloc|free)\b", flex[1] + r"\1",
                          parts[2])
    head, call = "static int rules", ""
    if prefix:  # bison's function, which calls the lexer's
        head, call = f"int {prefix[1]}parse", f"{prefix[1]}lex();"
    return ("\n".join(a or b for a, b in found) + "\n" + parts[2] + "\n"
            + head + "(void) {\n" + rules + call + "\n}\n")


def read(top, path, statics):
    text = path.read_text()
    if path.suffix in (".l", ".y"):
        text = grammar_text(text)
    text = STRIP.sub(blank, text)
    macros = macros_of(text)
    own = statics | {name for name, macro in macros.items()
                     if "static" in macro.uses and macro.params is None}
    items, tags, declared = c_items(DIRECTIVE.sub(
        lambda found: "\n" * found[0].count("\n"), text), 1, own)
    return Source(path, str(path.relative_to(top)), path.parent.name, items,
                  macros, tags, declared)


def sources(top):
    """Every file of include/, src/ and the folders of tools/, by its name."""
    paths = [path for kind in ("include", "src", "tools")
             for path in sorted((top / kind).glob("*/*.[chly]"))]
    found = {}
    for path in paths:
        source = read(top, path, {"static"})
        found[source.name] = source
    return found


class Graph:
    """A graph of uses. A node is (file, name); an item of a header, or a
    macro, belongs to the file that uses it."""

    def __init__(self, files):
        self.files = files
        self.exported = {}
        self.shared = {}
        self.macros = {}
        for source in files.values():
            header = source.name.endswith(".h")
            for item in source.items.values():
                table = self.shared if header else self.exported
                if item.static == header:
                    table.setdefault(item.name, []).append(
                        (source.name, item))
            if header:
                for macro in source.macros.values():
                    self.macros.setdefault(macro.name, []).append(macro)

    def expand(self, source, item):
        """The names that an item uses, macros expanded."""
        names, todo, seen = set(), [item], set()
        while todo:
            each = todo.pop()
            for name in each.uses:
                macros = [source.macros[name]] if name in source.macros \
                    else self.macros.get(name, [])
                for macro in macros:
                    if macro.params:
                        names |= pasted(macro, each.tokens)
                    if id(macro) not in seen:
                        seen.add(id(macro))
                        todo.append(macro)
                if not macros:
                    names.add(name)
        return names

    def resolve(self, source, name):
        """The (file, item) that a name in a file may mean: several, where one
        of several files is built."""
        if name in source.items:
            return [(source.name, source.items[name])]
        return self.shared.get(name) or self.exported.get(name) or []

    def uses(self, file, item):
        """The (file, item) that an item uses."""
        source = self.files[file]
        for name in sorted(self.expand(source, item)):
            for found in self.resolve(source, name):
                if found[1] is not item:
                    yield found

    def edges(self, file):
        """{other file: names} of a .c, headers seen through."""
        out, seen = {}, set()
        todo = [(file, item) for item in self.files[file].items.values()]
        while todo:
            for other, used in self.uses(*todo.pop()):
                if other == file or (other, used.name) in seen:
                    continue
                if other.endswith(".h"):
                    seen.add((other, used.name))
                    todo.append((other, used))
                else:
                    out.setdefault(other, set()).add(used.name)
        return out


def pasted(macro, tokens):
    """The names that the calls of a macro in these tokens put together."""
    words = [token for token, _ in tokens]
    body = [token for token, _ in macro.tokens]
    if "##" not in body:
        return set()
    names = set()
    for at, word in enumerate(words):
        if word != macro.name or words[at + 1:at + 2] != ["("]:
            continue
        call = dict(zip(macro.params, arguments(words[at + 2:])))
        joined = re.sub(r"\s*##\s*", "", " ".join(
            call.get(token, token) for token in body))
        names |= set(re.findall(r"[A-Za-z_]\w*", joined))
    return names


def arguments(words):
    depth, out = 0, [""]
    for word in words:
        if word == "," and depth == 0:
            out.append("")
            continue
        if word in ("(", "[", "{"):
            depth += 1
        elif word in (")", "]", "}"):
            depth -= 1
            if depth < 0:
                break
        out[-1] += word
    return out


def rings(nodes, edges):
    """The sets of nodes that reach each other (Tarjan), larger than one."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in edges.get(node, ()):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            ring = [stack.pop()]
            while ring[-1] != node:
                ring.append(stack.pop())
            if len(ring) > 1:
                found.append(sorted(ring))

    for each in nodes:
        if each not in index:
            visit(each)
    return sorted(found)
