"""Findings as one HTML page that needs nothing else."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator

from ltocompat.model.target import ANY_TARGET
from ltocompat.model.verdict import Verdict
from ltocompat.model.words import count
from ltocompat.report import Failure, Writable
from ltocompat.report.cells import CellNames, cell_of
from ltocompat.report.findings import (
    GroupedFinding,
    SortedRecords,
    finding_key,
    grouped_findings,
)
from ltocompat.report.formats.html.coverage import coverage_section
from ltocompat.report.formats.html.elements import Section, badge, escaped
from ltocompat.report.formats.html.findings import findings_section
from ltocompat.report.formats.html.page import Page
from ltocompat.report.formats.html.verdicts import targets_section, verdict_sections


def write(answer: SortedRecords, stream: Writable) -> None:
    """Write the page, which folds what would be too much.

    With what artifacts require, it shows all architectures, else those of the targets' GPUs.
    """
    found = grouped_findings(answer.results, lambda *_: ())
    page = Page(
        title=_title(answer),
        tab=_document_title(answer),
        lede=_lede(answer, found),
        sections=tuple(_sections(answer, found)),
        styles=("page.css",),
        scripts=("page.js",),
    )
    stream.write(page.text())


def _sections(answer: SortedRecords, found: list[GroupedFinding]) -> Iterator[Section]:
    """The sections that have something to say."""
    every = list(dict.fromkeys(cell_of(result) for result in answer.results))
    cells = CellNames(every, answer.names)
    ids = {finding_key(group.finding): f"finding-{number}" for number, group in enumerate(found)}
    if answer.failures:
        yield _errors(answer.failures)
    if answer.targets:
        yield targets_section(answer)
    if answer.results:
        matrix, why = verdict_sections(answer, ids)
        yield from (matrix, *coverage_section(answer), findings_section(found, cells), why)


def _errors(failures: Iterable[Failure]) -> Section:
    lines = "".join(
        f"<li><b>{escaped(failure.kind)}</b>: {escaped(failure.message)}</li>"
        for failure in failures
    )
    return Section("errors", "Errors", [f'<ul class="errors">{lines}</ul>'])


def _title(answer: SortedRecords) -> str:
    paths = list(dict.fromkeys(result.path for result in answer.results))
    if not paths:
        return "Nothing was judged"
    name = escaped(paths[0].rsplit("/", 1)[-1])
    what = name if len(paths) == 1 else count(len(paths), "artifact")
    on = count(len(answer.targets), "deploy target") if answer.targets else ANY_TARGET.name
    return f"{what} on {on}"


def _document_title(answer: SortedRecords) -> str:
    """Return the title of a tab or a bookmark: project and version, and the page's date."""
    projects = dict.fromkeys(_project(result.path) for result in answer.results)
    what = escaped(next(iter(projects))) if len(projects) == 1 else _title(answer)
    return f"{what}, {dt.datetime.now(dt.UTC).date()}: ltocompat"


def _project(path: str) -> str:
    """``libx 1.0`` of a wheel or conda package; of any other file its name."""
    name = path.rsplit("/", 1)[-1]
    if name.endswith(".whl") and name.count("-") >= 4:
        return " ".join(name.split("-")[:2])
    if name.endswith((".conda", ".tar.bz2")) and name.count("-") >= 2:
        return " ".join(name.rsplit("-", 2)[:2])
    return name


def _lede(answer: SortedRecords, found: list[GroupedFinding]) -> str:
    """The answer in one line: how many artifacts fare how, and how much was found."""
    worst: dict[str, Verdict] = {}
    for result in answer.results:
        worst[result.path] = max(worst.get(result.path, Verdict.OK), result.verdict)
    fates = list(worst.values())
    parts = [
        badge(verdict, f"<small>{count(fates.count(verdict), 'artifact')}</small>")
        for verdict in reversed(Verdict)
        if verdict in fates
    ]
    if answer.results:
        parts.append(f"<span>{count(len(found), 'finding') if found else 'no findings'}</span>")
    if answer.empty:
        parts.append(f"<span>{count(len(answer.empty), 'file')} without device code</span>")
    if answer.failures:
        parts.append(f"<span>{count(len(answer.failures), 'error')}</span>")
    return f'<p class="lede">{" ".join(parts)}</p>'
