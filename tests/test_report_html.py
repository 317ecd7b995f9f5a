"""The HTML page: well-formed, closed to the outside, and made for every reader."""

from __future__ import annotations

import base64
import functools
import hashlib
import io
import re
from collections.abc import Iterable
from itertools import pairwise

import pytest
import verdict_values as values
from html_pages import Page
from report_values import HOSTILE
from verdict_values import H100, L4, PROD, finding, result

from ltocompat.model.verdict import Coverage, Verdict
from ltocompat.model.version import SITE_URL, rule_url
from ltocompat.report import Failure, Options, writer
from ltocompat.report.sorted_records import FindingRecord
from ltocompat.report.verbs.check import REPORT
from ltocompat.rules.prose import rules


def page_of(records: Iterable[FindingRecord]) -> Page:
    stream = io.StringIO()
    writer("html")(REPORT, records, stream, Options())
    return Page(stream.getvalue())


def thousand() -> list[FindingRecord]:
    """A thousand findings on 25 artifacts."""
    records: list[FindingRecord] = [PROD]
    for n in range(25):
        found = tuple(finding(Verdict(k % 5), f"thing {n}.{k}") for k in range(40))
        records.append(result(Verdict.FAIL, PROD, H100, path=f"{n}.so", findings=found))
    return records


CASES: dict[str, list[FindingRecord]] = {
    "one target": [*values.one_target()],
    "many targets": [*values.many_targets()],
    "many artifacts": [*values.many_artifacts()],
    "hostile": [*values.hostile_results()],
    "what they require": [PROD, values.required(), result(Verdict.FAIL, PROD, H100)],
    "errors": [PROD, Failure("unreadable", HOSTILE)],
    "thousand findings": thousand(),
    "nothing": [],
}


@functools.cache
def page_of_case(name: str) -> Page:
    return page_of(CASES[name])


@pytest.fixture(params=CASES, scope="module")
def page(request: pytest.FixtureRequest) -> Page:
    return page_of_case(request.param)


def test_every_link_leads_somewhere_in_the_page_or_to_that_of_a_rule(page: Page) -> None:
    pages = {rule_url(rule.id) for rule in rules()}
    for element in page.root.all():
        if "href" in element.attributes:
            link = element.attributes["href"]
            assert link.removeprefix("#") in page.ids or link in pages


def test_nothing_comes_from_outside(page: Page) -> None:
    assert not [element.tag for element in page.root.all() if "src" in element.attributes]
    assert not list(page.root.all("link"))
    assert not re.search(r"https?:|@import|url\(", page.source.replace(f'href="{SITE_URL}', ""))


def test_a_policy_allows_only_the_one_style_and_the_one_script(page: Page) -> None:
    (policy,) = (
        each_element.attributes["content"]
        for each_element in page.root.all("meta")
        if "http-equiv" in each_element.attributes
    )
    assert policy.startswith("default-src 'none';")
    for tag in ("style", "script"):
        (element,) = page.root.all(tag)
        digest = hashlib.sha256("".join(element.pieces).encode()).digest()
        assert f"{tag}-src 'sha256-{base64.b64encode(digest).decode()}'" in policy


def test_nothing_has_a_style_or_a_handler_of_its_own(page: Page) -> None:
    for element in page.root.all():
        assert not [name for name in element.attributes if name == "style" or name.startswith("on")]


def test_what_files_hold_stays_text(page: Page) -> None:
    assert not set(page.source) & set("\x1b\r\u202e\udcff")
    assert {element.tag for element in page.root.all()}.isdisjoint(
        {"iframe", "img", "object", "base"}
    )


def test_readers_find_landmarks_and_headings_in_order(page: Page) -> None:
    (root,) = page.root.all("html")
    assert root.attributes["lang"] == "en"
    for tag in ("header", "nav", "main", "footer", "h1", "title"):
        assert len(list(page.root.all(tag))) == 1
    for element in page.root.all("section"):
        assert page.get(element.attributes["aria-labelledby"]).tag == "h2"
    levels = [
        int(each_element.tag[1])
        for each_element in page.root.all()
        if re.fullmatch("h[1-6]", each_element.tag)
    ]
    assert all(below <= above + 1 for above, below in pairwise(levels))


def test_tables_name_their_rows_and_columns(page: Page) -> None:
    for table in page.root.all("table"):
        (caption,) = table.all("caption")
        assert caption.text
        assert all("scope" in element.attributes for element in table.all("th"))
        assert table.around is not None
        assert table.around.attributes["tabindex"] == "0"  # keyboards scroll it
        assert table.around.attributes["aria-label"]


def test_no_meaning_is_in_colour_alone(page: Page) -> None:
    for element in page.root.all("span", "badge"):
        (word,) = (name.removeprefix("is-") for name in element.classes if name.startswith("is-"))
        assert word in element.text
        (signature,) = element.all("use")
        assert signature.attributes["href"] == f"#s-{word}"
    assert all(
        each_element.attributes["aria-hidden"] == "true" for each_element in page.root.all("svg")
    )


def test_form_fields_have_labels(page: Page) -> None:
    for element in page.root.all("input"):
        assert element.around is not None
        assert element.around.tag == "label"
        assert element.around.text


def test_the_hostile_page_says_what_names_hold_without_obeying() -> None:
    page = page_of(values.hostile_results())
    assert r"evil\x1b[31m\x0d\x0a\u202e|`<b>@someone\xff" in page.get("targets").text
    assert [element.text for element in page.root.all("b")] == [
        "A"
    ]  # our own, the letter of the target


def test_cells_with_the_same_reasons_share_them() -> None:
    page = page_of([PROD, *(result(Verdict.FAIL, PROD, gpu) for gpu in (H100, L4))])
    (table,) = page.get("verdicts").all("table")
    assert [element.attributes["href"] for element in table.all("a")] == ["#why-1", "#why-1"]
    assert page.get("why-1").text.startswith("fail on all GPUs")


def test_a_folded_finding_names_its_artifact_and_where_it_holds() -> None:
    page = page_of([PROD, *(result(Verdict.FAIL, PROD, gpu) for gpu in (H100, L4))])
    texts = [element.text for element in page.get("findings").all("small", "in")]
    assert texts == ["libx.so, on all GPUs"]


def test_coverage_shows_every_architecture_where_it_is_known() -> None:
    page = page_of([PROD, values.required(), result(Verdict.FAIL, PROD, H100)])
    (table,) = page.get("coverage").all("table")
    lines = [[element.text for element in row.inside] for row in table.all("tr")]
    assert lines == [
        [
            "",
            "sm_75 Turing",
            "sm_80 to 90 Ampere to Hopper",
            "sm_107 Rubin",
            "sm_110 Blackwell",
            "next",
        ],
        ["SASS", "\u2013none", "1,600", "\u2013none", "\u2013none", "\u2013none"],
        ["PTX", "\u2013none", "17", "\u2013none", "\u2013none", "17"],
        ["LTO-IR and other links", "\u2013none", "\u2013none", "2,000", "\u2013none", "\u2013none"],
        ["minimum driver", "\u2013none", "580.65.06", "615", "\u2013none", "\u2013none"],
    ]


def test_errors_stand_first() -> None:
    page = page_of([PROD, Failure("unreadable", "it is gone"), result(Verdict.OK, PROD)])
    first = next(page.root.all("section"))
    assert first.text == "Errors unreadable: it is gone"


def test_files_without_device_code_are_counted() -> None:
    empty = result(Verdict.UNKNOWN, PROD, path="a.txt", coverage=Coverage(0), findings=(), why=())
    page = page_of([PROD, empty, result(Verdict.OK, PROD, H100)])
    (lede,) = page.root.all("p", "lede")
    assert lede.text == "ok 1 artifact no findings 1 file without device code"


@pytest.mark.parametrize(
    ("path", "project"),
    [
        ("dist/libx_cu13-26.10.0-py3-none-any.whl", "libx_cu13 26.10.0"),
        ("dist/lib-x-1.0-h1_0.conda", "lib-x 1.0"),
        ("lib/libx.so", "libx.so"),
    ],
)
def test_a_tab_shows_project_version_and_the_day(path: str, project: str) -> None:
    stream = io.StringIO()
    writer("html")(REPORT, [PROD, result(Verdict.OK, PROD, H100, path=path)], stream, Options())
    (title,) = re.findall(r"<title>(.*?)</title>", stream.getvalue())
    assert re.fullmatch(rf"{re.escape(project)}, 20\d\d-\d\d-\d\d: ltocompat", title)
