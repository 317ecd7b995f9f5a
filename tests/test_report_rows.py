"""Formats with a row, a line, an object or a test case for each finding."""
# ruff: noqa: ANN401 - JSON holds anything

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import verdict_values as values
from msgspec.structs import replace
from report_values import HOSTILE
from verdict_values import H100, PROD, finding, result

from ltocompat.model.verdict import Level, Verdict
from ltocompat.report import Failure, Options, writer
from ltocompat.report.sorted_records import FindingRecord
from ltocompat.report.verbs.check import REPORT

CASES: dict[str, list[FindingRecord]] = {
    "one target": [*values.one_target()],
    "many targets": [*values.many_targets()],
    "many artifacts": [*values.many_artifacts()],
    "hostile": [*values.hostile_results()],
    "errors": [PROD, Failure("unreadable", HOSTILE)],
    "nothing": [],
}
HEAD = REPORT.columns
FORMATS = ("concise", "csv", "jsonl", "gitlab", "junit")


def text_of(name: str, records: Iterable[FindingRecord], *, notes: bool | None = None) -> str:
    stream = io.StringIO()
    write_in: Any = writer(name)
    write_in(REPORT, records, stream, Options(notes=notes))
    return stream.getvalue()


def issues(records: Iterable[FindingRecord]) -> Any:
    return json.loads(text_of("gitlab", records))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", FORMATS)
def test_nothing_that_a_terminal_would_obey_gets_through(name: str, case: str) -> None:
    text = text_of(name, CASES[case])
    text.encode("utf-8")
    assert {char for char in text if not char.isprintable()} <= {"\n"}


@pytest.mark.parametrize("name", FORMATS)
def test_every_failure_is_told(name: str) -> None:
    text = text_of(name, [PROD, Failure("unreadable", "'x' can't be opened")])
    assert "can't be opened" in text


def test_a_line_of_concise_has_the_place_the_rule_the_target_and_the_headline() -> None:
    headline = "PTX 9.2 needs driver >= 595 (CUDA 13.2); the target has 580.95.05"
    why = "the driver refuses it with error 222 (compiled with an unsupported toolchain)"
    found = replace(finding(Verdict.FAIL), headline=headline, message=f"{headline}: {why}")
    text = text_of("concise", [PROD, result(Verdict.FAIL, PROD, H100, findings=(found,))])
    assert text.splitlines() == [
        f"lib/libx.so@0x1f40.3: error: fail PTX-01 on prod (h100): {headline} (error 222)",
        "1 error, 0 warnings, 0 notes",
    ]


@pytest.mark.parametrize(
    ("notes", "shown", "hint"), [(None, 0, ""), (False, 0, " (--notes)"), (True, 1, "")]
)
def test_concise_only_counts_notes_that_are_not_asked_for(
    notes: bool | None, shown: int, hint: str
) -> None:
    found = finding(Verdict.OK)
    assert found.level is Level.NOTE
    records: list[FindingRecord] = [PROD, result(Verdict.OK, PROD, H100, findings=(found,))]
    *lines, last = text_of("concise", records, notes=notes).splitlines()
    assert (len(lines), last) == (shown, f"0 errors, 0 warnings, 1 note{hint}")


def test_a_row_of_csv_has_a_cell_for_each_head_and_is_no_formula() -> None:
    odd = result(Verdict.FAIL, PROD, H100, path='=cmd|x,"y"')
    head, *rows = csv.reader(io.StringIO(text_of("csv", [PROD, odd, Failure("unreadable", "x")])))
    assert head == [*HEAD]
    assert all(len(row) == len(HEAD) for row in rows)
    assert [row[HEAD.index("rule")] for row in rows] == ["unreadable", "PTX-01"]
    assert rows[1][0] == '\'=cmd|x,"y"'


@pytest.mark.parametrize("case", CASES)
def test_an_issue_of_gitlab_has_what_its_documentation_asks(case: str) -> None:
    """description, check_name, a unique fingerprint, a severity, a path and the line there."""
    found = issues(CASES[case])
    prints = [issue["fingerprint"] for issue in found]
    assert len(set(prints)) == len(prints)
    for issue in found:
        assert set(issue) == {"description", "check_name", "fingerprint", "severity", "location"}
        assert issue["severity"] in {"info", "minor", "major", "critical", "blocker"}
        assert re.fullmatch("[0-9a-f]{32}", issue["fingerprint"])
        assert issue["location"]["lines"] == {"begin": 1}
        assert not issue["location"]["path"].startswith("./")


def suites(records: Iterable[FindingRecord]) -> ET.Element:
    return ET.fromstring(text_of("junit", records))  # noqa: S314 - written just now


# junit-4.xsd of Jenkins' dtkit: attributes that must and may be there, and children in their order.
JUNIT_4: dict[str, tuple[set[str], set[str], tuple[str, ...]]] = {
    "testsuites": (
        set(),
        {"name", "time", "tests", "failures", "disabled", "errors"},
        ("testsuite",),
    ),
    "testsuite": (
        {"name", "tests"},
        {
            "failures",
            "errors",
            "time",
            "disabled",
            "skipped",
            "timestamp",
            "hostname",
            "id",
            "package",
        },
        ("properties", "testcase", "system-out", "system-err"),
    ),
    "testcase": (
        {"name"},
        {"assertions", "time", "classname", "status"},
        ("skipped", "error", "failure", "system-out", "system-err"),
    ),
    "error": (set(), {"type", "message"}, ()),
    "failure": (set(), {"type", "message"}, ()),
    "skipped": (set(), set(), ()),
    "system-out": (set(), set(), ()),
}


@pytest.mark.parametrize("case", CASES)
def test_a_suite_is_in_the_schema_of_junit(case: str) -> None:
    for element in suites(CASES[case]).iter():
        needed, known, children = JUNIT_4[element.tag]
        assert needed <= element.attrib.keys() <= needed | known
        places = [children.index(child.tag) for child in element]
        assert places == sorted(places)


@pytest.mark.parametrize("case", CASES)
def test_the_counts_of_a_suite_are_those_of_its_cases(case: str) -> None:
    root = suites(CASES[case])
    assert root.tag == "testsuites"
    for suite in root:
        cases = suite.findall("testcase")
        assert int(suite.attrib["tests"]) == len(cases) > 0
        for tag, word in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
            assert int(suite.attrib[word]) == sum(each.find(tag) is not None for each in cases)
