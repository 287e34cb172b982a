"""The site of the documents: no link is broken, nothing comes from elsewhere,
and its search knows options and commands."""
import json
import re

import links


def test_a_broken_link_is_found(tmp_path):
    """Links, anchors, and what would be fetched."""
    (tmp_path / "a.html").write_text(
        '<p id="here"><a href="#here">1</a><a href="b.html#there">2</a>'
        '<a href="https://example.org/">3</a><img src="data:,x">')
    (tmp_path / "b.html").write_text(
        '<p id="there"><a href="a.html#there">1</a><a href="c.html">2</a>'
        '<a href="id:">3</a>'
        '<script src="https://example.org/x.js"></script>'
        '<a href="/c.html">4</a>')
    (tmp_path / "a.css").write_text(
        "@import url(/b.css); @import 'c.css'; a { b: url( \"d.png\" ); "
        "c: url(data:image/svg+xml;x); d: url('https://example.org/e.png'); "
        "e: url(a.html) }")
    assert list(links.faults(tmp_path)) == [
        ("b.html", "a.html#there", "leads to no anchor"),
        ("b.html", "c.html", "leads to no file"),
        ("b.html", "id:", "leads to no place"),
        ("b.html", "https://example.org/x.js", "is fetched from elsewhere"),
        ("b.html", "/c.html", "leads out of the site"),
        ("a.css", "/b.css", "leads out of the site"),
        ("a.css", "c.css", "leads to no file"),
        ("a.css", "d.png", "leads to no file"),
        ("a.css", "https://example.org/e.png", "is fetched from elsewhere")]


def test_no_link_is_broken(site):
    assert not list(links.faults(site))
    pages = len(list(site.rglob("*.html")))
    assert pages > 100


def test_groups_are_in_the_bar(site):
    text = (site / "index.html").read_text()
    groups = re.findall(r'<span class="caption-text">([^<]*)</span>', text)
    assert groups == ["Use", "Operate", "Understand", "Develop"]


def test_search_knows_options_and_commands(site):
    """Words of manual pages, which are made by another program."""
    text = (site / "searchindex.js").read_text()
    index = json.loads(re.search(r"Search\.setIndex\((.*)\)", text, re.S)[1])
    for word, page in (("ratelimit", "doc/nsd.conf.5"),
                       ("addzon", "doc/nsd-control.8"),
                       ("catalog", "doc/tutorials/customers")):
        found = [index[kind].get(word, []) for kind in ("terms", "titleterms")]
        pages = [at for each in found for at in
                 (each if isinstance(each, list) else [each])]
        assert page in [index["docnames"][at] for at in pages], word
