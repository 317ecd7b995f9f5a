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
from report_values import HOSTILE
from verdict_values import EDGE, H100, PROD, finding, result

from ltocompat.model.verdict import Extent, Level, Verdict
from ltocompat.report import Failure, Options, writer
from ltocompat.report.findings import FindingRecord
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


def text_of(name: str, records: Iterable[FindingRecord]) -> str:
    stream = io.StringIO()
    write_in: Any = writer(name)
    write_in(REPORT, records, stream, Options())
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


@pytest.mark.parametrize("name", FORMATS)
def test_every_finding_names_its_artifact(name: str) -> None:
    """Also one about an artifact as a whole, which has no place in it."""
    bare = finding(Verdict.FAIL, rule="PKG-01", example=None)
    records: list[FindingRecord] = [
        PROD,
        *(result(Verdict.FAIL, PROD, H100, path=f"dist/{n}.whl", findings=(bare,)) for n in "ab"),
    ]
    text = text_of(name, records)
    assert text.count("dist/a.whl") >= 1
    assert text.count("dist/b.whl") >= 1


def test_a_row_of_csv_has_a_cell_for_each_head_and_is_no_formula() -> None:
    odd = result(Verdict.FAIL, PROD, H100, path='=cmd|x,"y"')
    head, *rows = csv.reader(io.StringIO(text_of("csv", [PROD, odd, Failure("unreadable", "x")])))
    assert head == [*HEAD]
    assert all(len(row) == len(HEAD) for row in rows)
    assert [row[HEAD.index("rule")] for row in rows] == ["unreadable", "PTX-01"]
    assert rows[1][0] == '\'=cmd|x,"y"'


def test_a_finding_says_of_how_many_judged_modules_it_is() -> None:
    found = result(Verdict.FAIL, PROD, H100, extent=Extent(3, 1617))
    everywhere = result(Verdict.FAIL, PROD, H100, extent=Extent(3, 3))
    assert f"{found.findings[0].message} (3 of 1,617 modules)" in text_of("concise", [PROD, found])
    assert "modules)" not in text_of("concise", [PROD, everywhere])
    _, row = csv.reader(io.StringIO(text_of("csv", [PROD, found])))
    assert (row[HEAD.index("modules")], row[HEAD.index("judged")]) == ("3", "1617")


def test_a_line_of_json_is_a_finding_or_an_error() -> None:
    lines = text_of("jsonl", [PROD, result(Verdict.FAIL, PROD, H100), Failure("missing", "x")])
    error, found = map(json.loads, lines.splitlines())
    assert error == {"error": {"kind": "missing", "message": "x"}}
    assert (found["rule"], found["artifact"], found["gpus"]) == ("PTX-01", "lib/libx.so", ["h100"])


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


@pytest.mark.parametrize(
    ("verdict", "tag"),
    [
        (Verdict.OK, None),
        (Verdict.JIT, None),
        (Verdict.UNDOCUMENTED, None),
        (Verdict.UNKNOWN, "error"),
        (Verdict.FAIL, "failure"),
    ],
)
def test_a_case_fails_with_its_verdict(verdict: Verdict, tag: str | None) -> None:
    found = (finding(verdict),)
    ((case,),) = suites([EDGE, result(verdict, EDGE, H100, findings=found)])
    assert {child.tag for child in case} - {"system-out"} == ({tag} if tag else set())


def test_what_a_baseline_knows_is_no_failure() -> None:
    known = finding(Verdict.FAIL, level=Level.NOTE)
    ((case,),) = suites([PROD, result(Verdict.FAIL, PROD, H100, findings=(known,))])
    assert [child.tag for child in case] == ["system-out"]
