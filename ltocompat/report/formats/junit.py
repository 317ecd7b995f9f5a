"""Verdicts as JUnit XML: a suite an artifact, a test case a target, GPU and route.

A case fails where a finding is an error, and is an error where its verdict is unknown: both are red
in every CI system. The rest of what was found stands in the output of its case.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape as escape_xml
from xml.sax.saxutils import quoteattr

from ltocompat.model.verdict import Finding, Level, Result, Verdict
from ltocompat.report import Failure, Writable
from ltocompat.report.cells import cell_of
from ltocompat.report.sorted_records import SortedRecords
from ltocompat.report.text import safe_text


def write(answer: SortedRecords, stream: Writable) -> None:
    """Write one document; a failure is a separate suite."""
    artifacts = answer.artifacts
    stream.write('<?xml version="1.0" encoding="utf-8"?>\n<testsuites name="ltocompat">\n')
    for failure in answer.failures:
        stream.write(_failure_suite(failure))
    for path, artifact in artifacts.items():
        cases = [_case(path, result) for result in artifact.results]
        tags = [*map(_tag, artifact.results)]
        stream.write(_suite(path, cases, (tags.count("failure"), tags.count("error"), 0)))
    for path in sorted(answer.empty - artifacts.keys()):
        case = f"{_opening(path, 'device code')}<skipped>there is no device code</skipped>"
        stream.write(_suite(path, [f"{case}</testcase>\n"], (0, 0, 1)))
    stream.write("</testsuites>\n")


def _suite(path: str, cases: Sequence[str], counts: tuple[int, int, int]) -> str:
    failures, errors, skipped = counts
    return (
        f'<testsuite name={_attribute(path)} tests="{len(cases)}" failures="{failures}" '
        f'errors="{errors}" skipped="{skipped}" time="0">\n{"".join(cases)}</testsuite>\n'
    )


def _failure_suite(failure: Failure) -> str:
    message = _attribute(failure.message)
    case = f'{_opening(failure.kind, "read")}<error type="{failure.kind}" message={message}/>'
    return _suite(failure.kind, [f"{case}</testcase>\n"], (0, 1, 0))


def _tag(result: Result) -> str:
    """Return JUnit's element for a result; empty for one that passes."""
    loud = {finding.level for finding in result.findings}
    if Level.ERROR in loud or (result.verdict is Verdict.FAIL and not loud):
        return "failure"
    undecided = result.verdict is Verdict.UNKNOWN and (Level.WARNING in loud or not loud)
    return "error" if undecided else ""


def _case(path: str, result: Result) -> str:
    cell = cell_of(result)
    name = " ".join(part for part in (cell.target, cell.gpu, cell.route) if part)
    return f"{_opening(path, name)}{''.join(_content(result))}</testcase>\n"


def _content(result: Result) -> Iterator[str]:
    tag = _tag(result)
    findings = sorted(result.findings, key=lambda finding: list(Level).index(finding.level))
    if tag:
        first = findings[0] if findings else None
        title = f"{first.rule}: {first.message}" if first else f"the verdict is {result.verdict}"
        rule = first.rule if first else str(result.verdict)
        lines = "\n".join(map(_line, findings))
        about = f"type={_attribute(rule)} message={_attribute(title)}"
        yield f"<{tag} {about}>{escape_xml(lines)}</{tag}>"
    elif findings:
        lines = "\n".join([f"verdict: {result.verdict}", *map(_line, findings)])
        yield f"<system-out>{escape_xml(lines)}</system-out>"


def _line(finding: Finding) -> str:
    where = f" (at {finding.example.shown})" if finding.example else ""
    found = f"{finding.message}{where}"
    text = f"{found.removesuffix('.')}; remedy: {finding.remedy}" if finding.remedy else found
    verdict = "" if finding.verdict is Verdict.OK else f"{finding.verdict} "
    return safe_text(f"{finding.level}: {verdict}{finding.rule}: {text}")


def _opening(path: str, name: str) -> str:
    return f'<testcase classname={_attribute(path)} name={_attribute(name)} time="0">'


def _attribute(text: str) -> str:
    return quoteattr(safe_text(text))
