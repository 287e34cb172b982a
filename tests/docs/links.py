"""Links of a site of HTML pages and styles: those that lead nowhere, and whatever
a browser would fetch from elsewhere."""
import functools
import html.parser
import pathlib
import re
import urllib.parse

# Elements and attributes that a browser fetches without being asked.
FETCHED = {("img", "src"), ("script", "src"), ("link", "href"),
           ("iframe", "src"), ("source", "src"), ("video", "src")}

# Places that a style fetches from.
OF_STYLE = re.compile(r"""(?:@import\s+(?:url\()?|url\()\s*
                          (?:"([^"]*)"|'([^']*)'|([^\s"');]*))""", re.X)


class Page(html.parser.HTMLParser):
    """The anchors of a page, and its links as (element, attribute, URL)."""

    def __init__(self, path):
        super().__init__()
        self.anchors, self.links = {"", "top"}, []
        self.feed(path.read_text())

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name == "id" or (tag == "a" and name == "name"):
                self.anchors.add(value)
            if name in ("href", "src"):
                self.links.append((tag, name, value or ""))


@functools.cache
def page_of(path):
    return Page(path)


def fault_of(path, tag, name, link):
    """The fault of a link of a page, or None."""
    url = urllib.parse.urlsplit(link)
    if url.scheme not in ("", "http", "https", "mailto", "data"):
        return "leads to no place"
    if url.scheme or url.netloc:
        if (tag, name) in FETCHED and url.scheme != "data":
            return "is fetched from elsewhere"
        return None
    target = path
    if url.path.startswith("/"):
        return "leads out of the site"
    if url.path:
        target = (path.parent / urllib.parse.unquote(url.path)).resolve()
    if not target.is_file():
        return "leads to no file"
    anchor = urllib.parse.unquote(url.fragment)
    if target.suffix == ".html" and anchor not in page_of(target).anchors:
        return "leads to no anchor"
    return None


def faults(top):
    """(page, link, what is wrong) of all pages and styles below top."""
    for path in sorted(pathlib.Path(top).resolve().rglob("*.html")):
        for tag, name, link in page_of(path).links:
            fault = fault_of(path, tag, name, link)
            if fault:
                yield path.name, link, fault
    for path in sorted(pathlib.Path(top).resolve().rglob("*.css")):
        for link in filter(None, map("".join, OF_STYLE.findall(
                path.read_text()))):
            # A style is fetched, as the source of a picture is.
            fault = fault_of(path, "img", "src", link)
            if fault:
                yield path.name, link, fault
