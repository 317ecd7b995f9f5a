"""A survey's answers on made wheels, whose contents are known, and the page that shows them."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path

import pytest
from packages_made import CUBIN_12_4, wheel
from surveys_made import example, survey

from ltocompat.commands.survey.answer_values import Answer, Bars, Grid, SurveyReport
from ltocompat.commands.survey.options import ReportOptions
from ltocompat.commands.survey.report import run
from ltocompat.model.errors import UnreadableInput
from ltocompat.report.formats.html.survey import write
from ltocompat.report.verbs.survey import write_report as write_text


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> SurveyReport:
    (found,) = run(ReportOptions(str(example(tmp_path_factory.mktemp("survey")))))
    return found


@pytest.fixture(scope="module")
def page(report: SurveyReport) -> str:
    stream = StringIO()
    write(report, stream)
    return stream.getvalue()


def answer(report: SurveyReport, name: str) -> Answer:
    return next(each for each in report.answers if each.name == name)


def projects(found: Answer, column: str, value: str) -> set[tuple[object, object]]:
    """Project and version of the rows that have a value."""
    place = found.table.columns.index(column)
    return {(row[0], row[1]) for row in found.table.rows if str(row[place]) == value}


def test_packages_are_told_apart_by_what_they_ship(report: SurveyReport) -> None:
    ptx = answer(report, "ptx")
    # Cubins alone; a PTX file alone; a fatbin of both; LTO-IR alone.
    sass = {("only-sass", "1.0"), ("only-sass", "2.0"), ("arm", "1.0"), ("windows", "1.0")}
    assert projects(ptx, "ships", "SASS without PTX") == sass
    assert projects(ptx, "ships", "PTX without SASS") == {("only-ptx", "1.0")}
    assert projects(ptx, "ships", "SASS and PTX") == {("hopper", "1.0")}
    assert projects(ptx, "ships", "LTO-IR alone") == {("linked", "1.0"), ("linked", "2.0")}


def test_sentences_count_the_newest_package_of_a_project_once(report: SurveyReport) -> None:
    # Of eight packages with device code, two have a newer one beside them.
    assert (
        answer(report, "ptx")
        .claims[0]
        .text.startswith("3 of 6 packages (50%) have SASS and no PTX")
    )


def test_a_sentence_leads_to_the_rows_that_it_counts(report: SurveyReport) -> None:
    sentences = {
        (found.name, place): {(found.table.rows[row][0], found.table.rows[row][1]) for row in rows}
        for found in report.answers
        for place, rows in enumerate(claim.rows for claim in found.claims)
    }
    newest = {("only-sass", "2.0"), ("arm", "1.0"), ("windows", "1.0")}
    assert sentences["ptx", 0] == newest
    assert sentences["ptx", 1] == {("only-ptx", "1.0")}
    assert sentences["metadata", 0] == {("linked", "2.0")}
    assert sentences["compression", 1] == set(), "a share of bytes counts no rows"


def test_releases_for_other_distributions_of_linux_are_of_one_platform(tmp_path: Path) -> None:
    for version, tag in (("1.0", "manylinux2014_x86_64"), ("2.0", "manylinux_2_28_x86_64")):
        path = tmp_path / "packages"
        path.mkdir(exist_ok=True)
        wheel(path, {"k/x.cubin": CUBIN_12_4}, name="x", version=version, tag=f"py3-none-{tag}")
    survey(path, tmp_path / "survey")
    (found,) = run(ReportOptions(str(tmp_path / "survey")))
    assert answer(found, "ptx").claims[0].text.startswith("1 of 1 packages")


def test_debug_sections_of_host_code_are_no_device_code(report: SurveyReport) -> None:
    weight = answer(report, "weight")
    saved, share = weight.table.columns.index("could be saved"), weight.table.columns.index("%")
    assert all(row[share] <= 100 for row in weight.table.rows)  # type: ignore[operator]
    assert all(row[saved] <= row[saved - 1] for row in weight.table.rows)  # type: ignore[operator]


def test_a_pin_that_admits_too_old_a_linker_is_named(report: SurveyReport) -> None:
    # LTO-IR of 13.5 beside nvidia-nvjitlink>=13.0.
    assert ("linked", "2.0") in projects(answer(report, "metadata"), "rule", "NJL-06")


def test_ptx_of_13_5_fails_on_the_drivers_before_it(report: SurveyReport) -> None:
    loads = answer(report, "loads")
    branches = {row[3] for row in loads.table.rows if row[0] == "only-ptx"}
    assert branches == {"535", "550", "570", "580", "595", "615"}
    assert isinstance(loads.chart, Grid)
    assert loads.chart.rows == tuple(f"driver {n}" for n in (535, 550, 570, 580, 595, 615))


def test_drivers_of_windows_are_of_the_branch_that_they_come_from(report: SurveyReport) -> None:
    branches = {row[3] for row in answer(report, "loads").table.rows if row[0] == "windows"}
    assert branches <= {"535", "550", "570", "580", "595", "615"}


def test_bytes_are_those_of_the_images(report: SurveyReport) -> None:
    chart = answer(report, "compression").chart
    assert isinstance(chart, Bars)
    assert {bar.label for bar in chart.bars} == {"none", "zstd"}


def test_what_could_not_be_read_is_told(report: SurveyReport) -> None:
    assert [row[0] for row in answer(report, "coverage").table.rows] == [
        "broken-1.0-py3-none-any.whl"
    ]


def test_the_answers_read_well_on_a_terminal(report: SurveyReport) -> None:
    stream = StringIO()
    write_text([report], stream)
    assert max(map(len, stream.getvalue().splitlines())) <= 80
    assert all(each.question in stream.getvalue() for each in report.answers)


def test_a_folder_without_a_survey_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UnreadableInput, match="holds no survey; write one with"):
        list(run(ReportOptions(str(tmp_path))))


class Outline(HTMLParser):
    """Addresses, IDs and open elements of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.ids: list[str] = []
        self.inline: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.addresses += [values[name] or "" for name in ("src", "href") if name in values]
        self.ids += [values["id"] or ""] if "id" in values else []
        self.inline += [tag for name in values if name == "style" or name.startswith("on")]


def test_the_page_needs_nothing_else(page: str) -> None:
    outline = Outline()
    outline.feed(page)
    inside = [address for address in outline.addresses if address.startswith("#")]
    outside = set(outline.addresses) - set(inside)
    assert {address.removeprefix("#") for address in inside} <= set(outline.ids)
    assert all("/rules/" in address for address in outside), "only rules have pages elsewhere"
    assert len(set(outline.ids)) == len(outline.ids)
    assert outline.inline == [], "the page's own policy would forbid these"


def test_the_page_allows_its_own_script_and_no_other(page: str) -> None:
    for name in ("style", "script"):
        (text,) = re.findall(f"<{name}>(.*?)</{name}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}'" in page


def test_each_failing_row_has_the_line_that_asks_again(report: SurveyReport, page: str) -> None:
    for row in answer(report, "loads").table.rows:
        assert str(row[-1]).startswith("ltocompat check ")
    assert page.count("ltocompat check ") == len(answer(report, "loads").table.rows)
