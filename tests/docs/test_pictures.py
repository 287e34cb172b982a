"""The site in a browser, on a phone, a tablet, a laptop and a desk, light and
dark: no page is wider than its window, says that something is missing, or has
text that can hardly be read; charts keep a size at which their letters can be
read; and the search finds.

NSD_PICTURES names a folder for pictures of some pages, to be looked at."""
import os
import pathlib
import re

import pytest
from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

WIDTHS = 400, 800, 1280, 1400
HEIGHT = 1000
PATIENCE = 120
PICTURES = ("index", "doc/features", "doc/tutorials/tld", "doc/nsd.conf.5",
            "doc/performance", "doc/performance/overview", "doc/catalogs",
            "doc/surface", "doc/architecture", "doc/decisions/README")
TOO_WIDE = """
const root = document.documentElement;
return root.scrollWidth > window.innerWidth
    ? Array.from(document.querySelectorAll("article *"))
        .filter(e => e.getBoundingClientRect().right > window.innerWidth + 1)
        .map(e => e.tagName + ": " + e.textContent.slice(0, 60)).slice(0, 3)
        .concat(["width " + root.scrollWidth])
    : [];
"""
SMALL_CHARTS = """
return Array.from(document.querySelectorAll("article img"))
    .filter(e => e.clientWidth < 500 || e.naturalWidth === 0)
    .map(e => e.src);
"""
# Letters and what is behind them: WCAG 2.1 section 1.4.3, which wants 4.5, or 3
# of large ones.
PALE = """
const rgba = text => {
    const found = text.match(/[\\d.]+/g).map(Number);
    return found.length < 4 ? [...found, 1] : found;
};
const over = (front, back) =>
    [0, 1, 2].map(i => front[i] * front[3] + back[i] * (1 - front[3]));
const light = color => color.map(c => c / 255)
    .map(c => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
const known = new Map([[null, [255, 255, 255]]]);
const behind = e => {
    if (!known.has(e))
        known.set(e, over(rgba(getComputedStyle(e).backgroundColor),
                          behind(e.parentElement)));
    return known.get(e);
};
const pale = new Map();
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
    const text = walker.currentNode.textContent.trim();
    const e = walker.currentNode.parentElement;
    if (text === "" || !e.checkVisibility() || e.closest("script, style"))
        continue;
    const style = getComputedStyle(e), back = behind(e);
    const [high, low] = [light(back), light(over(rgba(style.color), back))]
        .sort((a, b) => b - a);
    const large = parseFloat(style.fontSize) >= 24;
    const ratio = (high + 0.05) / (low + 0.05);
    if (ratio < (large ? 3 : 4.5))
        pale.set(style.color + " on " + back.map(Math.round), text.slice(0, 40));
}
return Array.from(pale, ([colors, text]) => colors + ": " + text);
"""
# Texts of a chart that lie on each other, or not within it.
CROWDED = """
const boxes = Array.from(document.querySelectorAll("text"))
    .map(e => [e.textContent, e.getBoundingClientRect()]);
const frame = document.documentElement.getBoundingClientRect();
const faults = [];
boxes.forEach(([text, a], at) => {
    if (a.left < frame.left || a.right > frame.right || a.top < frame.top
            || a.bottom > frame.bottom)
        faults.push(text + ": outside");
    for (const [other, b] of boxes.slice(at + 1))
        if (a.left < b.right && b.left < a.right && a.top + 2 < b.bottom
                && b.top + 2 < a.bottom)
            faults.push(text + ": on " + other);
});
return faults;
"""
SMALLEST_LETTER = 9     # pixels


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    options.set_capability("goog:loggingPrefs", {"browser": "SEVERE"})
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu",
                 "--disable-dev-shm-usage", "--allow-file-access-from-files",
                 f"--user-data-dir={tmp_path_factory.mktemp('browser')}"):
        options.add_argument(flag)
    driver = webdriver.Chrome(options=options,
                              service=Service("/usr/bin/chromedriver"))
    driver.set_page_load_timeout(PATIENCE)
    yield driver
    driver.quit()


def set_width(browser, width):
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
        "width": width, "height": HEIGHT, "deviceScaleFactor": 1,
        "mobile": False})


def set_scheme(browser, scheme):
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
        {"name": "prefers-color-scheme", "value": scheme}]})


def take_picture(browser, name, kind):
    folder = os.environ.get("NSD_PICTURES")
    if folder and name in PICTURES:
        path = pathlib.Path(folder) / f"{name.replace('/', '-')}-{kind}.png"
        browser.save_screenshot(str(path))


def faults_of_page(browser, name):
    """(width or scheme, fault) of the page that is shown."""
    for width in WIDTHS:
        set_width(browser, width)
        for script in TOO_WIDE, SMALL_CHARTS:
            for fault in browser.execute_script(script):
                yield width, fault
        take_picture(browser, name, width)
    for scheme in ("dark", "light") if name in PICTURES else ():
        set_scheme(browser, scheme)
        for fault in browser.execute_script(PALE):
            yield scheme, fault
        take_picture(browser, name, scheme)
    for entry in browser.get_log("browser"):
        yield "console", entry["message"]


def test_faults_are_found(browser, tmp_path):
    """A word and a chart that do not fit, a pale word, a script that fails."""
    page = tmp_path / "page.html"
    page.write_text(
        "<article><p>" + "w" * 200 + "<img src='none.svg'>"
        "<p style='color: #888'>pale<script>import a from 'b'</script>")
    browser.get(page.as_uri())
    found = list(faults_of_page(browser, PICTURES[0]))
    assert {where for where, _ in found} == {
        *WIDTHS, "dark", "light", "console"}
    assert any(text.startswith("width ") for where, text in found
               if where == 400)
    assert (1400, (tmp_path / "none.svg").as_uri()) in found
    assert ("light", "rgb(136, 136, 136) on 255,255,255: pale") in found
    assert any("import" in text for where, text in found if where == "console")


def test_faults_of_charts_are_found(browser, tmp_path):
    chart = tmp_path / "a.svg"
    chart.write_text(
        '<svg xmlns="http://www.w3.org/2000/svg" width="300" height="300">'
        '<text x="10" y="50">one</text><text x="20" y="52">two</text>'
        '<text x="290" y="100">three</text></svg>')
    browser.get(chart.as_uri())
    assert browser.execute_script(CROWDED) == ["one: on two", "three: outside"]


def test_each_page_can_be_read(site, browser):
    faults = {}
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 100
    for path in pages:
        name = str(path.relative_to(site).with_suffix(""))
        browser.get(path.as_uri())
        found = list(faults_of_page(browser, name))
        if found:
            faults[name] = found
    assert not faults


def test_dark_pages_are_dark(site, browser):
    """For those who ask the system for them; one press makes them light."""
    set_width(browser, 1280)
    set_scheme(browser, "dark")
    browser.get((site / "index.html").as_uri())

    def color():
        return browser.execute_script(
            "return getComputedStyle(document.body).backgroundColor")
    dark = color()
    assert max(map(int, re.findall(r"\d+", dark)[:3])) < 64, dark
    browser.find_element(
        By.CSS_SELECTOR, ".theme-toggle-content button").click()
    assert color() == "rgb(255, 255, 255)"
    browser.execute_script("localStorage.clear()")
    set_scheme(browser, "light")


def test_charts_can_be_read(site, browser):
    """No text on another, and none too small where a page shows the chart."""
    charts = {path.name: path for path in sorted(site.rglob("*.svg"))}
    assert len(charts) > 5
    crowded, small = {}, {}
    for name, path in charts.items():
        browser.get(path.as_uri())
        found = browser.execute_script(CROWDED)
        if found:
            crowded[name] = found
    set_width(browser, min(WIDTHS))
    for path in sorted(site.rglob("*.html")):
        if ".svg" not in path.read_text():
            continue
        browser.get(path.as_uri())
        for name, scale in browser.execute_script(
                "return Array.from(document.querySelectorAll('article img'))"
                ".map(e => [e.src, e.clientWidth / e.naturalWidth])"):
            sizes = re.findall(r'font-size[=:]"?([\d.]+)', charts[
                name.rpartition("/")[2]].read_text())
            letter = min(map(float, sizes)) * scale
            if letter < SMALLEST_LETTER:
                small[name] = letter
    assert not crowded
    assert not small


def search(site, browser, words):
    """Types words into the field of the first page; waits for the end."""
    browser.get((site / "index.html").as_uri())
    field = browser.find_element(By.CSS_SELECTOR, "input[name=q]")
    field.send_keys(words)
    field.submit()
    # The page of before goes while it is read.
    return WebDriverWait(browser, PATIENCE, ignored_exceptions=[
        StaleElementReferenceException]).until(
        lambda b: re.search(r"Search finished, found (\d+) page|did not match",
                            b.find_element(By.TAG_NAME, "body").text))[1]


@pytest.mark.parametrize("words, page", [
    ("rrl-whitelist", "doc/nsd.conf.5"), ("dnssec-verify", "doc/nsd.conf.5"),
    ("IXFR", "doc/secondary"), ("addzone", "doc/nsd-control.8"),
    ("NsdIsDown", "doc/tutorials/monitoring")])
def test_search_finds_without_a_server(site, browser, words, page):
    """A search in the files as they are, as of a downloaded site."""
    set_width(browser, 1400)
    assert int(search(site, browser, words)) > 0
    links = browser.execute_script(
        "return [...document.querySelectorAll('ul.search li a')]"
        ".map(link => link.href)")
    assert any(f"/{page}.html" in link for link in links), links
    assert not list(faults_of_page(browser, "search"))


def test_search_says_that_it_finds_nothing(site, browser):
    set_width(browser, 1400)
    assert search(site, browser, "dnsec-verfiy") is None
