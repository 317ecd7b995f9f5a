"""The page of a survey in a real browser: read, sorted and filtered, by mouse and by keyboard."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import chromium
import pytest
from chromium import Browser
from surveys_made import example

from ltocompat.commands.survey.options import ReportOptions
from ltocompat.commands.survey.report import run
from ltocompat.report.formats.html.survey import write

pytestmark = [
    pytest.mark.wild,
    pytest.mark.skipif(chromium.found() is None, reason="there is no Chromium on this machine"),
]

Use = Callable[[Browser, str], None]

ROWS = "[...document.querySelectorAll('#ptx-rows tbody tr')].filter((row) => !row.hidden)"
NAMES = f"{ROWS}.map((row) => row.cells[0].textContent + ' ' + row.cells[1].textContent)"
SHOWN = "document.querySelector('#ptx-rows output').value"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("profile")) as opened:
        opened.look(1200, "light")
        yield opened


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("survey")
    (report,) = run(ReportOptions(str(example(folder))))
    path = folder / "page.html"
    with path.open("w", encoding="utf-8") as file:
        write(report, file)
    return path


def click(browser: Browser, selector: str) -> None:
    """Press the mouse on the middle of an element, and let it go."""
    place: Any = browser.run(
        f"(() => {{ const box = (document.querySelector('{selector}').scrollIntoView("
        f"{{block: 'center'}}), document.querySelector('{selector}')).getBoundingClientRect();"
        "return [box.x + box.width / 2, box.y + box.height / 2]; })()"
    )
    for kind in ("mousePressed", "mouseReleased"):
        about = {"x": place[0], "y": place[1], "button": "left", "clickCount": 1}
        browser.ask("Input.dispatchMouseEvent", type=kind, **about)
    browser.settle()


def press_enter_on(browser: Browser, selector: str) -> None:
    browser.run(f"document.querySelector('{selector}').focus()")
    browser.press("Enter", 13, "\r")
    browser.settle()


@pytest.mark.parametrize(("scheme", "dark"), [("light", False), ("dark", True)])
@pytest.mark.parametrize("width", [400, 1200])
def test_the_page_fits_and_is_light_or_dark(
    browser: Browser, page: Path, width: int, scheme: str, dark: bool
) -> None:
    browser.look(width, scheme)
    browser.open(page)
    browser.run("document.querySelectorAll('details').forEach((card) => { card.open = true; })")
    browser.settle()
    assert browser.noise == []  # no error, nothing refused by the policy, no request
    assert browser.run("document.documentElement.scrollWidth") <= width
    colour = browser.run("getComputedStyle(document.body).backgroundColor.match(/\\d+/g)")
    assert (sum(map(int, colour)) < 3 * 128) is dark
    browser.look(1200, "light")


@pytest.mark.parametrize("use", [click, press_enter_on])
def test_rows_are_sorted_by_a_head_and_back(browser: Browser, page: Path, use: Use) -> None:
    browser.open(page)
    use(browser, "#ptx-rows summary")
    head = "#ptx-rows th:nth-child(2) button"
    versions = f"{ROWS}.map((row) => row.cells[1].textContent)"
    use(browser, head)
    found = browser.run(versions)
    assert found == sorted(found)
    use(browser, head)
    assert browser.run(versions) == sorted(found, reverse=True)
    sort = "document.querySelector('#ptx-rows th:nth-child(2)').getAttribute('aria-sort')"
    assert browser.run(sort) == "descending"


def test_rows_are_filtered_by_words(browser: Browser, page: Path) -> None:
    browser.open(page)
    click(browser, "#ptx-rows summary")
    click(browser, "#ptx-rows input")
    browser.type("linked 2.0")
    assert browser.run(NAMES) == ["linked 2.0"]
    assert browser.run(SHOWN) == "1 of 8"
    click(browser, "#ptx-rows .words button")
    assert len(browser.run(NAMES)) == 8


@pytest.mark.parametrize("use", [click, press_enter_on])
def test_a_sentence_leads_to_its_rows_and_to_the_command_of_each(
    browser: Browser, page: Path, use: Use
) -> None:
    browser.open(page)
    use(browser, "#ptx .claims a")
    assert browser.run("document.querySelector('#ptx-rows').open") is True
    # 3 of 6 packages have SASS and no PTX.
    assert set(browser.run(NAMES)) == {"arm 1.0", "only-sass 2.0", "windows 1.0"}
    assert browser.run(SHOWN) == "3 of 8"
    assert browser.run("document.activeElement.tagName") == "SUMMARY"
    commands = browser.run(f"{ROWS}.map((row) => row.querySelector('code').textContent)")
    assert all(line.startswith("ltocompat inspect ") for line in commands)


def test_a_sentence_counts_the_same_rows_however_they_are_sorted(
    browser: Browser, page: Path
) -> None:
    browser.open(page)
    click(browser, "#ptx-rows summary")
    click(browser, "#ptx-rows th:nth-child(3) button")
    click(browser, "#ptx .claims a")
    assert set(browser.run(NAMES)) == {"arm 1.0", "only-sass 2.0", "windows 1.0"}


def test_without_a_script_every_row_is_there(browser: Browser, page: Path) -> None:
    browser.ask("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(page)
        assert browser.run("document.querySelectorAll('#ptx-rows tbody tr').length") == 8
        assert browser.run("document.querySelectorAll('button').length") == 0
    finally:
        browser.ask("Emulation.setScriptExecutionDisabled", value=False)
