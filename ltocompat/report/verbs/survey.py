"""The answers of ``survey``: what a run did in lines, and sentences or a page of a dataset."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Iterable, Iterator

from ltocompat.commands.survey.answer_values import SurveyReport
from ltocompat.commands.survey.run import Tally
from ltocompat.model.verdict import Verdict
from ltocompat.model.words import count
from ltocompat.report import Failure, Writable, answers
from ltocompat.report.text import binary_size, escape

_WIDTH = 80


def write(records: Iterable[Tally | Failure], stream: Writable) -> None:
    """Write the tally of a run."""
    for record in answers(records):
        stream.write("".join(f"{line}\n" for line in _lines(record)))


def _lines(tally: Tally) -> Iterator[str]:
    total = sum(tally.statuses.values())
    statuses = ", ".join(f"{name}: {number:,}" for name, number in sorted(tally.statuses.items()))
    there = f"; {tally.known:,} were there already" if tally.known else ""
    yield f"{count(total, 'package')} surveyed{f' ({statuses})' if total else ''}{there}"
    if tally.unlisted:
        yield f"{count(tally.unlisted, 'project')} could not be listed; the table errors says why"
    if tally.worst:
        numbers = ((tally.worst[str(verdict)], verdict) for verdict in reversed(Verdict))
        worst = ", ".join(f"{number:,} {verdict}" for number, verdict in numbers if number)
        yield f"packages by their worst verdict: {worst}"
    if tally.fetched:
        yield f"fetched {binary_size(tally.fetched)} of {binary_size(tally.size)}"
    folder = escape(shlex.quote(tally.folder))
    yield f"dataset: {folder} (report: ltocompat survey report {folder} -o survey.html)"


def write_report(records: Iterable[SurveyReport | Failure], stream: Writable) -> None:
    """Write the sentences."""
    for record in answers(records):
        stream.write(f"{count(record.packages, 'package')} in {escape(record.folder)}\n")
        for answer in record.answers:
            stream.write(f"\n{answer.question}\n")
            for claim in answer.claims:
                lines = textwrap.wrap(escape(claim.text), _WIDTH - 2, break_on_hyphens=False)
                stream.write("".join(f"  {line}\n" for line in lines))
        stream.write("\nnames, rows and charts: ltocompat survey report FOLDER -o survey.html\n")
