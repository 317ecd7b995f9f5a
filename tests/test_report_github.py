"""GitHub: commands that nothing in a file can break out of, and a summary with the rest."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable
from pathlib import Path

import pytest
import verdict_values as values
from verdict_values import H100, PROD, finding, result

from ltocompat.model.errors import UsageError
from ltocompat.model.location import Location
from ltocompat.model.verdict import Result, Verdict
from ltocompat.report import Failure, Options
from ltocompat.report.formats import github
from ltocompat.report.sorted_records import FindingRecord
from ltocompat.report.verbs.check import REPORT

CASES: dict[str, list[FindingRecord]] = {
    "one target": [*values.one_target()],
    "many targets": [*values.many_targets()],
    "many artifacts": [*values.many_artifacts()],
    "hostile": [*values.hostile_results()],
    "nothing": [],
}

# As the runner reads a line: a name, properties with their escapes, then the message.
COMMAND = re.compile(r"::(?P<name>error|warning|notice) (?P<properties>[^:]*)::(?P<data>.*)")


def read(line: str) -> tuple[str, dict[str, str], str]:
    """A command as the runner understands it."""
    found = COMMAND.fullmatch(line)
    assert found, line
    pairs = (pair.split("=", 1) for pair in found["properties"].split(","))
    properties = {name: unescaped(value, ":,") for name, value in pairs}
    return found["name"], properties, unescaped(found["data"])


def unescaped(text: str, also: str = "") -> str:
    for char in "\r\n" + also:
        text = text.replace(f"%{ord(char):02X}", char)
    return text.replace("%25", "%")


def lines_of(records: Iterable[FindingRecord]) -> list[str]:
    """All lines but the tally."""
    *lines, tally = github.commands(records)
    assert tally.startswith("ltocompat: ")
    return lines


def many(number: int) -> list[FindingRecord]:
    """An artifact with this number of errors and one warning."""
    found = [finding(Verdict.FAIL, f"wrong thing {n}", n) for n in range(number)]
    return [
        PROD,
        result(Verdict.FAIL, PROD, H100, findings=(*found, finding(Verdict.UNKNOWN))),
    ]


def test_an_annotation_says_what_is_wrong_where_and_what_to_do() -> None:
    (line,) = lines_of([PROD, result(Verdict.FAIL, PROD, H100)])
    assert read(line) == (
        "error",
        {"file": "lib/libx.so", "title": "PTX-01: PTX newer than the driver"},
        (
            "the driver refuses it with error 222\n"
            "On: prod (h100)\n"
            "At: lib/libx.so@0x1f40.3 (the first of 3 modules)\n"
            "Remedy: ship SASS for sm_90"
        ),
    )


def test_percent_comma_colon_and_line_breaks_are_escaped() -> None:
    # The toolkit's own rules: %25 %0D %0A in messages; %3A and %2C in properties too.
    problem = finding(Verdict.FAIL, "100%: a, b", rule="X,1:2%", example=None, remedy="", count=0)
    (line,) = lines_of([PROD, result(Verdict.FAIL, PROD, path="a,b:c%.so", findings=(problem,))])
    assert line == "::error file=a%2Cb%3Ac%25.so,title=X%2C1%3A2%25::100%25: a, b%0AOn: prod"


def test_a_long_fix_is_written_whole_behind_a_long_message() -> None:
    long, fix = " ".join(["words"] * 300), " ".join(["steps"] * 300)
    problem = finding(Verdict.FAIL, long, remedy=fix)
    (line,) = lines_of([PROD, result(Verdict.FAIL, PROD, H100, findings=(problem,))])
    _, _, message = read(line)
    assert message.startswith(f"{long}\n")
    assert message.endswith(f"\nRemedy: {fix}")


def test_more_than_ten_of_a_level_are_left_to_the_summary() -> None:
    lines = lines_of(many(13))
    names = [read(line)[0] for line in lines]
    assert (names.count("error"), names.count("warning")) == (10, 1)
    *_, tally = github.commands(many(13))
    said = "ltocompat: 13 errors, 1 warning; 3 without an annotation are in the step summary"
    assert tally == said
    text = github.summary(REPORT, many(13), Options())
    assert "### 3 findings without an annotation" in text
    told = text[text.index("without an annotation") :]
    assert all(f"error PTX-01: wrong thing {n} on `prod (h100)` at" in told for n in range(3))
    assert "wrong thing 3" not in told  # those with the most modules are annotated


def test_what_could_not_be_read_is_an_error_and_counts_as_one() -> None:
    lines = lines_of([Failure("unreadable", "it is gone"), *many(10)])
    assert read(lines[0]) == ("error", {"title": "ltocompat: unreadable"}, "it is gone")
    assert sum(line.startswith("::error") for line in lines) == 10


@pytest.mark.parametrize("case", CASES)
def test_every_line_is_one_command_whatever_names_hold(case: str) -> None:
    for line in lines_of(CASES[case]):
        _, properties, message = read(line)
        assert set(properties) <= {"file", "title"}
        assert not set(line) & set("\x1b\r\n\u202e\udcff")
        assert not set(message) & set("\x1b\r\u202e\udcff")


def test_the_summary_is_appended_to_the_file_that_github_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "summary.md"
    path.write_text("what an earlier command said\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(path))
    stream = io.StringIO()
    github.write(REPORT, values.many_targets(), stream, Options())
    text = path.read_text("utf-8")
    assert text.startswith("what an earlier command said\n## ltocompat\n")
    assert "error 222" in text
    assert stream.getvalue().startswith("::error ")


def test_a_summary_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    path = str(tmp_path / "missing" / "summary.md")
    with pytest.raises(UsageError, match=r"can't be written to .*No such file"):
        github.append_summary("text", {"GITHUB_STEP_SUMMARY": path})


def test_a_summary_fits_in_what_github_takes() -> None:
    results: list[FindingRecord] = [PROD, *_long_names(1_500)]
    text = github.summary(REPORT, results, Options())
    assert len(text.encode()) <= 1024 * 1024
    assert text.endswith("GitHub accepts 1 MiB. --format json lists all.\n")
    assert text.count("\n| ") > 1_000


def _long_names(number: int) -> Iterable[Result]:
    for n in range(number):
        place = Location(f"{'x' * 700}{n}.so")
        problem = finding(Verdict.FAIL, f"wrong {n}", example=place)
        yield result(Verdict.FAIL, PROD, H100, path=place.path, findings=(problem,))
