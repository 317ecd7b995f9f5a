"""The site in a real browser, opened from files: its search."""

from __future__ import annotations

import json
import shutil
import subprocess
import tarfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

import chromium
import pytest
from chromium import Browser
from site_build import build

pytestmark = [
    pytest.mark.wild,
    pytest.mark.skipif(chromium.found() is None, reason="there is no Chromium on this machine"),
]

DATA = Path(__file__).parents[1] / "data"
LINKS = "[...document.querySelectorAll('#results a')].map((link) => link.getAttribute('href'))"
MOST_MISSED = 1


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("site"))


def searched(browser: Browser, page: Path, field: str, text: str) -> list[str]:
    """Where the results lead, of a text typed into a field of a page."""
    browser.open(page)
    browser.run(f"document.querySelector({field!r}).focus()")
    browser.type(text)
    browser.press("Enter", 13, "\r")
    browser.until(f"location.hash && document.querySelector('#found') && {LINKS}.length")
    links: list[str] = browser.run(LINKS)
    return links


def test_messages_of_issue_trackers_lead_to_the_page_of_their_rule(
    browser: Browser, site: Path
) -> None:
    rows = tomllib.loads((DATA / "site_searches.toml").read_text("utf-8"))["search"]
    assert len(rows) == 20
    missed = {}
    for row in rows:
        first = searched(browser, site / "search.html", "#search-text", row["text"])[:3]
        right = {f"rules/{rule_id.lower()}.html" for rule_id in row["rules"]}
        if not right.intersection(first):
            missed[row["text"]] = first
    assert len(missed) <= MOST_MISSED, missed


def test_the_small_field_of_every_page_searches_too(browser: Browser, site: Path) -> None:
    page = site / "rules" / "ptx-01.html"
    assert searched(browser, page, ".sidebar-search", "njl-02")[0] == "rules/njl-02.html"
    assert searched(browser, page, ".sidebar-search", "cibuildwheel")[0].startswith("ci.html")
    assert browser.noise == []


def test_a_search_for_nothing_known_says_so(browser: Browser, site: Path) -> None:
    browser.open(site / "search.html", "#q=zzzzqqqq")
    assert browser.run("document.getElementById('found').textContent").startswith("No page")


AXE = "axe-core@4.14.1"
VIOLATIONS = """axe.run().then((result) => result.violations.map(
  (violation) => [violation.id, violation.nodes.map((node) => node.target.join(" "))]))"""


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The checker of accessibility, as its authors publish it."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("there is no npm on this machine")
    folder = tmp_path_factory.mktemp("axe")
    done = subprocess.run(
        [npm, "pack", "--json", AXE], cwd=folder, check=True, capture_output=True, text=True
    )
    (packed,) = json.loads(done.stdout)
    with tarfile.open(folder / packed["filename"]) as archive:
        script = archive.extractfile("package/axe.min.js")
        assert script is not None
        return script.read().decode("utf-8")


def pages(site: Path) -> list[Path]:
    """Every page, of the pages of rules a few: they are made alike."""
    few = {"index", "njl-01", "env-08", "lto-13", "ptx-06"}
    found = sorted(site.rglob("*.html"))
    return [page for page in found if page.parent.name != "rules" or page.stem in few]


@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (400, "dark")])
def test_axe_finds_nothing_and_no_page_is_wider_than_its_window(
    browser: Browser, site: Path, axe: str, width: int, scheme: str
) -> None:
    browser.look(width, scheme)
    found = {}
    for page in pages(site):
        browser.open(page, "#q=error+222" if page.stem == "search" else "")
        browser.settle()
        name = str(page.relative_to(site))
        assert browser.noise == [], name  # before axe looks for styles
        browser.run(f"{axe};0")
        violations = browser.run(VIOLATIONS)
        if violations:
            found[name] = violations
        assert browser.run("document.documentElement.scrollWidth") <= width, name
    assert not found, found


def test_a_page_is_used_by_keyboard(browser: Browser, site: Path) -> None:
    browser.look(1200, "light")
    browser.open(site / "compatibility.html")
    browser.press("Tab", 9)
    assert browser.run("document.activeElement.className").startswith("skip-to-content")
    browser.press("Enter", 13, "\r")
    browser.until("location.hash === '#furo-main-content'")
    reached = []
    for _ in range(12):
        browser.press("Tab", 9)
        reached.append(browser.run("document.activeElement.getAttribute('aria-label')"))
    assert "LTO-IR and nvJitLink" in reached


def test_the_tables_need_no_script(browser: Browser, site: Path) -> None:
    browser.look(400, "light")
    browser.ask("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(site / "compatibility.html")
        assert browser.run("document.querySelectorAll('.grid').length") == 4
        assert browser.run("getComputedStyle(document.querySelector('.grid th')).position") == (
            "sticky"
        )
    finally:
        browser.ask("Emulation.setScriptExecutionDisabled", value=False)
