"""The site in a real browser, opened from files: its search."""

from __future__ import annotations

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
    browser.until(f"location.search && document.querySelector('#found') && {LINKS}.length")
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
    assert searched(browser, page, ".sidebar-search", "cibuildwheel")[0] == "ci.html"
    assert browser.noise == []


def test_a_search_for_nothing_known_says_so(browser: Browser, site: Path) -> None:
    browser.open(site / "search.html", "?q=zzzzqqqq")
    assert browser.run("document.getElementById('found').textContent").startswith("Nothing")
