"""The groups of the site (groups.toml): whose table of contents has which page.
tools/site and tests/lint/documents use it."""
import pathlib
import tomllib

FIRST = "README.md"
GROUPS = "doc/site/groups.toml"


def all_pages(top):
    """The names of all pages, from the top of the tree."""
    found = [*top.glob("*.md"), *top.glob("doc/**/*.md"),
             *(path for path in top.glob("doc/*.[58]*")
               if ".so " not in path.read_text()[:4])]
    return sorted(str(path.relative_to(top)) for path in found)


def read_groups(top):
    """All groups: a name and pages in order."""
    return tomllib.loads((top / GROUPS).read_text())["group"]


def listed_pages(groups):
    return [name for group in groups for name in group["pages"]]


def owner(name, listed):
    """The listed page that a page belongs to, or None."""
    folder = pathlib.PurePath(name).parent
    for page in (f"{folder}/README.md", f"{folder}.md"):
        if page in listed and page != name:
            return page
    return None


def faults(top):
    """(file, what is wrong): pages that are in no group, and places of groups
    that no page or another place has."""
    listed, pages = listed_pages(read_groups(top)), all_pages(top)
    for name in pages:
        if name not in (FIRST, *listed) and not owner(name, listed):
            yield name, f"is in no group of {GROUPS}"
    for name in sorted(set(listed)):
        if name not in pages:
            yield GROUPS, f"lists {name}, which is not there"
        if listed.count(name) > 1:
            yield GROUPS, f"lists {name} twice"
