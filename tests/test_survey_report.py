"""A survey's answers on made wheels, whose contents are known, and the page that shows them."""

from __future__ import annotations

import base64
import hashlib
import re
import shutil
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from packages_made import CUBIN_12_4, wheel
from surveys_made import example, survey

from ltocompat.cli import run as main
from ltocompat.commands.survey import dataset
from ltocompat.commands.survey import report as report_module
from ltocompat.commands.survey.answer_values import Answer, Chart, SurveyReport
from ltocompat.commands.survey.options import ReportOptions
from ltocompat.commands.survey.report import run
from ltocompat.commands.survey.tables import TABLES
from ltocompat.model.errors import UnreadableInput
from ltocompat.report.formats.html.survey import write
from ltocompat.report.verbs.survey import write_report as write_text


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return example(tmp_path_factory.mktemp("survey"))


@pytest.fixture(scope="module")
def report(folder: Path) -> SurveyReport:
    (found,) = run(ReportOptions(str(folder)))
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
    assert loads.chart is not None
    labels = [label for label, _ in loads.chart.rows]
    assert labels == [f"driver {n}" for n in (535, 550, 570, 580, 595, 615)]


def test_drivers_of_windows_are_of_the_branch_that_they_come_from(report: SurveyReport) -> None:
    branches = {row[3] for row in answer(report, "loads").table.rows if row[0] == "windows"}
    assert branches <= {"535", "550", "570", "580", "595", "615"}


def test_bytes_are_those_of_the_images(report: SurveyReport) -> None:
    chart = answer(report, "compression").chart
    assert chart is not None
    assert {label for label, _ in chart.rows} == {"none", "zstd"}


def test_what_could_not_be_read_is_told(report: SurveyReport) -> None:
    assert [row[0] for row in answer(report, "coverage").table.rows] == [
        "broken-1.0-py3-none-any.whl"
    ]


@pytest.mark.slow
def test_packages_of_other_projects_add_to_each_number(
    report: SurveyReport, folder: Path, tmp_path: Path
) -> None:
    # Twice the same packages, in another part and called otherwise.
    twice = tmp_path / "twice"
    shutil.copytree(folder, twice)
    for name in TABLES:
        table = pq.read_table(folder / name)
        for column in ("sha256", "project"):
            if column in table.column_names:
                texts = pc.binary_join_element_wise("other", table[column], "-")
                place = table.column_names.index(column)
                table = table.set_column(place, table.schema.field(column), texts)
        pq.write_table(table, twice / name / "part-000002.parquet")
    (found,) = run(ReportOptions(str(twice)))
    assert found.packages == 2 * report.packages
    for one, two in zip(report.answers, found.answers, strict=True):
        assert len(two.table.rows) == 2 * len(one.table.rows)
        if one.chart is not None and two.chart is not None:
            assert _numbers(two.chart) == {
                label: tuple(2 * part for part in parts)
                for label, parts in _numbers(one.chart).items()
            }
        for old, new in zip(one.claims, two.claims, strict=True):
            assert len(new.rows) == 2 * len(old.rows)


def _numbers(chart: Chart) -> dict[str, tuple[int, ...]]:
    return {label: tuple(cell[0] for cell in cells if cell) for label, cells in chart.rows}


def test_rows_are_cut_and_counted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_module, "MOST_ROWS", 3)
    (found,) = run(ReportOptions(str(folder)))
    ptx = answer(found, "ptx")
    assert (len(ptx.table.rows), ptx.table.left_out) == (3, 5)
    stream = StringIO()
    write(found, stream)
    assert "the first 3 rows of 8; the dataset has all" in stream.getvalue()


def test_a_damaged_dataset_is_one_sentence(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "broken")
    part = next((tmp_path / "broken" / "verdicts").iterdir())
    part.write_bytes(part.read_bytes()[:100])
    with pytest.raises(UnreadableInput, match="can't be read"):
        list(run(ReportOptions(str(tmp_path / "broken"))))


def test_a_report_reads_while_a_run_begins(
    folder: Path, report: SurveyReport, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parts that the run tries again are gone between their listing and their reading."""
    there, gone = dataset._parts, ["failed-000009.parquet"]  # noqa: SLF001 - listed, then read
    monkeypatch.setattr(
        dataset, "_parts", lambda found: [*there(found), *(gone.pop() for _ in gone[:1])]
    )
    (again,) = run(ReportOptions(str(folder)))
    assert [found.claims for found in again.answers] == [old.claims for old in report.answers]
    assert not gone


def test_a_page_stays_as_it_is_where_a_survey_cannot_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    page.write_text("of last month")
    assert main(["survey", "report", str(tmp_path), "-o", str(page)]) == 3
    assert page.read_text() == "of last month"
    assert capsys.readouterr().out == ""


def test_the_answers_read_well_on_a_terminal(report: SurveyReport) -> None:
    stream = StringIO()
    write_text([report], stream)
    assert max(map(len, stream.getvalue().splitlines())) <= 80
    assert all(each.question in stream.getvalue() for each in report.answers)


def test_a_folder_without_a_survey_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UnreadableInput, match="has no survey; write one with"):
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
