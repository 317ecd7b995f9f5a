"""Findings as annotations of GitHub Actions, and all of the answer as the step's summary.

Workflow commands are lines such as ``::error file=x.whl,title=PTX-01::message``; their escapes are
those of the toolkit that GitHub gives to actions. GitHub shows ten annotations of a level for a
step and takes a summary of up to 1 MiB.
"""

from __future__ import annotations

import io
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from ltocompat.model.errors import UsageError
from ltocompat.model.generic import grouped
from ltocompat.model.location import Location
from ltocompat.model.verdict import Level
from ltocompat.model.words import count
from ltocompat.report import Failure, FindingReport, Options, Report, Writable
from ltocompat.report.cells import CellNames
from ltocompat.report.document import Block, Code, Heading, Paragraph, first_lines
from ltocompat.report.formats import markdown
from ltocompat.report.grouped_findings import LEVELS, GroupedFinding, grouped_findings
from ltocompat.report.sorted_records import FindingRecord, SortedRecords, sort_records
from ltocompat.report.text import alternatives, escape, safe_text, truncate
from ltocompat.rules.prose import title_of

# The environment variable that names the file of the summary.
SUMMARY = "GITHUB_STEP_SUMMARY"

# Annotations of one level that GitHub shows for a step.
MOST = 10

_LARGEST = 1024 * 1024  # bytes of a summary that GitHub takes
_MOST_LISTED = 2_000  # findings in a summary
_MOST_LINES = 20  # of an annotation, of which GitHub takes 64 KB
_COMMANDS = {Level.ERROR: "error", Level.WARNING: "warning", Level.NOTE: "notice"}


def write(
    report: FindingReport[Any], records: Iterable[Any], stream: Writable, options: Options
) -> None:
    """Write annotations, and append the summary to the file that GitHub names.

    Args:
        report: turns records into findings, and into the blocks of the summary.
        records: the answer of a verb.
        stream: the output of the step, for the annotations.
        options: the reader's options.

    Raises:
        UsageError: the file of the summary can't be written.
    """
    taken = tuple(records)
    for line in commands(report.finding_records(taken)):
        stream.write(line + "\n")
    append_summary(summary(report, taken, options), os.environ)


def commands(records: Iterable[FindingRecord]) -> Iterator[str]:
    """Yield the workflow commands, the most severe first, then a line with their number."""
    failures, shown, left = _split(sort_records(records))
    for failure in failures[:MOST]:
        yield _command("error", "", f"ltocompat: {failure.kind}", failure.message)
    for group in shown:
        finding = group.finding
        (path,) = group.modules
        title = f"{finding.rule}: {title_of(finding.rule)}".removesuffix(": ")
        yield _command(_COMMANDS[finding.level], path, title, "\n".join(_lines(group)))
    levels = Counter(group.finding.level for group in (*shown, *left))
    text = ", ".join(count(levels[level], str(level)) for level in LEVELS if levels[level])
    more = f"; {len(left):,} without an annotation are in the step summary" if left else ""
    yield f"ltocompat: {text or 'no findings'}{more}"


def summary(report: FindingReport[Any], records: Iterable[Any], options: Options) -> str:
    """Return the answer as Markdown, with the findings that were not annotated."""
    taken = tuple(records)
    failures, _, left = _split(report.sorted_records(taken))

    def blocks(_: Iterable[Any], __: Options) -> Iterator[Block]:
        yield from report.blocks(taken, options)
        for failure in failures:
            yield Paragraph((f"{failure.kind}: ", Code(truncate(failure.message))))
        if left:
            yield Heading((f"{count(len(left), 'finding')} without an annotation",))
            yield first_lines("findings", [*map(_item, left)], _MOST_LISTED)

    stream = io.StringIO()
    stream.write("## ltocompat\n\n")
    markdown.write(Report(blocks, report.document), (), stream, options)
    return _fitting(stream.getvalue())


def append_summary(text: str, environ: Mapping[str, str]) -> None:
    """Append to the file that the environment names, if any.

    Raises:
        UsageError: the file can't be written.
    """
    if not (path := environ.get(SUMMARY)):
        return
    try:
        with open(path, "a", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
            file.write(text)
    except OSError as error:
        raise UsageError(
            f"the step summary can't be written to {path!r} ({error.strerror}); "
            f"unset {SUMMARY}, or set it to a writable file"
        ) from error


def _split(
    answer: SortedRecords,
) -> tuple[list[Failure], list[GroupedFinding], list[GroupedFinding]]:
    """The failures, the findings that are annotated, and those that GitHub would drop."""
    used = Counter({Level.ERROR: len(answer.failures)})  # which are errors, too
    shown: list[GroupedFinding] = []
    left: list[GroupedFinding] = []
    for group in grouped_findings(answer.results, lambda result, _: result.path):
        used[group.finding.level] += 1
        (shown if used[group.finding.level] <= MOST else left).append(group)
    return answer.failures, shown, left


def _command(name: str, path: str, title: str, message: str) -> str:
    place = f"file={_property(path)}," if path else ""
    return f"::{name} {place}title={_property(title)}::{_data(message)}"


def _data(text: str) -> str:
    """A message: its lines are kept, all else that a terminal would obey is shown."""
    safe = "\n".join(safe_text(line) for line in text.split("\n")[:_MOST_LINES])
    return safe.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(escape(text)).replace(":", "%3A").replace(",", "%2C")


def _lines(group: GroupedFinding) -> Iterator[str]:
    """The lines of a message."""
    yield escape(group.finding.message)
    yield escape(f"On: {_cells(group)}")
    if where := _where(group):
        yield escape(f"At: {where}")
    for remedy in group.fixes:
        yield escape(f"Remedy: {remedy}")


def _item(group: GroupedFinding) -> tuple[str, ...]:
    finding = group.finding
    (path,) = group.modules
    remedy = (". Remedy: ", truncate(alternatives(group.fixes))) if group.fixes else ()
    place = Code(truncate((finding.example or Location(path)).shown))
    opening = f"{finding.level} {finding.rule}: "
    return (opening, truncate(finding.message), " on ", Code(_cells(group)), " at ", place, *remedy)


def _cells(group: GroupedFinding) -> str:
    """``prod (h100, l4), edge``: the targets by name, and the GPUs that each names."""
    words = []
    for name, inner in grouped((cell.target, cell) for cell in group.cells).items():
        gpus = CellNames([*inner, replace(inner[0], gpu="another")], {name: name}).words(inner)
        words.append(f"{name} ({gpus})" if gpus else name)
    return ", ".join(words)


def _where(group: GroupedFinding) -> str:
    modules = count(group.module_count, "module") if group.module_count else ""
    place = group.finding.example
    if place is None:
        return modules
    return f"{place.shown} (the first of {modules})" if group.module_count > 1 else place.shown


def _fitting(text: str) -> str:
    """As many lines as GitHub takes."""
    raw = text.encode("utf-8", "backslashreplace")
    if len(raw) < _LARGEST:
        return text
    end = "\nThe rest is left out: GitHub accepts 1 MiB. --format json lists all.\n"
    kept = raw[: _LARGEST - len(end) - 1].decode("utf-8", "ignore")
    return kept.rpartition("\n")[0] + "\n" + end
