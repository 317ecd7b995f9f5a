"""The HTML page in a real browser: opened from a file, clicked, filtered, by keyboard, in print."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import chromium
import pytest
import verdict_values as values
from chromium import Browser
from verdict_values import H100, L4, PROD, finding, result

from ltocompat.model.verdict import Verdict
from ltocompat.report import Options, writer
from ltocompat.report.sorted_records import FindingRecord
from ltocompat.report.verbs.check import REPORT

pytestmark = [
    pytest.mark.wild,
    pytest.mark.skipif(chromium.found() is None, reason="there is no Chromium on this machine"),
]

SHOWN = "[...document.querySelectorAll('.finding')].filter((one) => one.checkVisibility()).length"
COUNT = "document.getElementById('shown').value"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("profile")) as one:
        yield one


def many() -> list[FindingRecord]:
    """A thousand findings of five rules."""
    records: list[FindingRecord] = [PROD]
    for n in range(25):
        for gpu in (H100, L4):
            found = tuple(
                finding(Verdict(k % 5), f"thing {n}.{k} on {gpu} <b>&amp;") for k in range(20)
            )
            records.append(result(Verdict.FAIL, PROD, gpu, path=f"lib{n}.so", findings=found))
    return records


PAGES: dict[str, list[FindingRecord]] = {
    "few": [*values.many_targets(), values.required()],
    "many": many(),
    "artifacts": [*values.many_artifacts()],
    "hostile": [*values.hostile_results()],
    "nothing": [],
}


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    made = {}
    for name, records in PAGES.items():
        made[name] = folder / f"{name}.html"
        with made[name].open("w", encoding="utf-8") as file:
            writer("html")(REPORT, records, file, Options())
    return made


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1200])
@pytest.mark.parametrize("name", PAGES)
def test_a_page_loads_from_its_file_alone_and_fits_in_any_window(
    browser: Browser, pages: dict[str, Path], name: str, width: int, scheme: str
) -> None:
    browser.look(width, scheme)
    browser.open(pages[name])
    browser.settle()
    assert browser.noise == []  # no error, nothing refused by the policy, no request
    assert browser.run("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize(("scheme", "dark"), [("light", False), ("dark", True)])
def test_a_page_is_light_or_dark_as_the_system_is(
    browser: Browser, pages: dict[str, Path], scheme: str, dark: bool
) -> None:
    browser.look(1200, scheme)
    browser.open(pages["few"])
    colour = browser.run("getComputedStyle(document.body).backgroundColor.match(/\\d+/g)")
    assert (sum(map(int, colour)) < 3 * 128) is dark


def test_a_verdict_leads_to_its_reasons(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["few"])
    assert browser.run("document.getElementById('why-1').open") is False
    browser.run("document.querySelector('.matrix td a').click()")
    browser.settle()
    assert browser.run("document.getElementById('why-1').open") is True
    assert browser.run("document.activeElement.closest('details').id") == "why-1"


def test_a_link_into_a_folded_rule_unfolds_it(browser: Browser, pages: dict[str, Path]) -> None:
    browser.look(1200, "light")
    browser.open(pages["many"], "#finding-7")
    browser.settle()
    assert browser.run("document.getElementById('finding-7').open") is True
    top = browser.run("document.getElementById('finding-7').getBoundingClientRect().top")
    assert 0 <= top < 900


def test_the_filter_leaves_what_has_every_word_and_a_level(
    browser: Browser, pages: dict[str, Path]
) -> None:
    browser.open(pages["many"])
    assert browser.run(COUNT) == "1,000 findings"
    browser.run("document.querySelector('#filter [type=search]').focus()")
    browser.type("ptx-01 LIB7.so")
    assert browser.run(COUNT) == "8 of 1,000 findings"
    assert browser.run(SHOWN) == 8  # their rule was unfolded
    browser.run("document.querySelector('#filter [value=error]').click()")
    assert browser.run(COUNT) == "0 of 1,000 findings"
    assert browser.run(SHOWN) == 0


def test_a_link_to_what_is_filtered_out_shows_it(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["few"])
    browser.run("document.querySelector('#filter [value=error]').click()")
    assert browser.run("document.getElementById('finding-0').hidden") is True
    browser.run("location.hash = 'finding-0'")
    browser.settle()
    assert browser.run("document.getElementById('finding-0').checkVisibility()") is True


def test_everything_can_be_unfolded_and_folded(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["many"])
    unfolded = "document.querySelectorAll('.finding[open]').length"
    browser.run("document.getElementById('unfold').click()")
    assert browser.run(unfolded) == 1_000
    browser.run("document.getElementById('fold').click()")
    assert browser.run(unfolded) == 0


def test_a_thousand_findings_are_filtered_at_once(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["many"])
    took = browser.run(
        "(() => { const form = document.getElementById('filter'); const start = performance.now();"
        "form.elements.text.value = 'thing 3'; form.dispatchEvent(new Event('input'));"
        "return performance.now() - start; })()"
    )
    assert took < 500  # milliseconds; 30 on a slow machine


def test_the_keyboard_reaches_a_finding_and_unfolds_it(
    browser: Browser, pages: dict[str, Path]
) -> None:
    browser.open(pages["few"])
    browser.press("Tab", 9)
    assert browser.run("document.activeElement.className") == "skip"
    for _ in range(60):
        browser.press("Tab", 9)
        if browser.run("document.activeElement.parentElement.id") == "finding-0":
            break
    assert browser.run("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    browser.press("Enter", 13, "\r")
    assert browser.run("document.getElementById('finding-0').open") is True


def test_print_unfolds_what_is_shown(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["few"])
    folded = "document.querySelectorAll('details:not([open])').length"
    before = browser.run(folded)
    browser.run("dispatchEvent(new Event('beforeprint'))")
    assert browser.run(folded) == 0
    browser.run("dispatchEvent(new Event('afterprint'))")
    assert browser.run(folded) == before > 0


def test_without_a_script_everything_can_be_read(browser: Browser, pages: dict[str, Path]) -> None:
    browser.ask("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(pages["few"])
        assert browser.run("document.getElementById('filter').checkVisibility()") is False
        assert browser.run(SHOWN) == 3
        assert browser.run("document.querySelectorAll('summary').length") > 3
    finally:
        browser.ask("Emulation.setScriptExecutionDisabled", value=False)


def test_a_screen_reader_is_told_what_eyes_see(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["few"])
    nodes = browser.ask("Accessibility.getFullAXTree")["nodes"]
    valueses = [
        (node["role"]["value"], node.get("name", {}).get("value", ""))
        for node in nodes
        if not node["ignored"]
    ]
    assert {"banner", "navigation", "main", "contentinfo", "search"} <= {
        role for role, _ in valueses
    }
    assert ("region", "Verdicts") in valueses
    assert ("columnheader", "h100") in valueses
    assert ("rowheader", "libx.so") in valueses
    assert ("link", "jit 1,617 of 2,638") in valueses
    assert ("searchbox", "Filter") in valueses
    assert ("checkbox", "error 1") in valueses


def test_names_of_files_run_nothing(browser: Browser, tmp_path: Path) -> None:
    evil = "<script>window.evil = 1</script><img src=x onerror='window.evil = 1'>\"' onload=evil"
    bad = finding(Verdict.FAIL, evil, rule=evil, remedy=evil, evidence=evil, source=evil)
    path = tmp_path / "evil.html"
    with path.open("w", encoding="utf-8") as file:
        one = result(Verdict.FAIL, PROD, H100, path=evil, findings=(bad,), why=(evil,))
        writer("html")(REPORT, [PROD, one], file, Options())
    browser.open(path)
    browser.settle()
    assert browser.noise == []
    assert browser.run("window.evil") is None
    assert evil in browser.run("document.getElementById('finding-0').textContent")
