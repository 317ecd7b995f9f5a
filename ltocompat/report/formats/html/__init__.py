"""Findings as one HTML page that needs nothing else."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterator

from ltocompat.model.generic import grouped
from ltocompat.model.target import ANY_TARGET
from ltocompat.model.verdict import MOST_KERNELS, Verdict
from ltocompat.model.words import count
from ltocompat.report import Writable
from ltocompat.report.cells import CellNames, cell_of
from ltocompat.report.document import MEANINGS
from ltocompat.report.formats.html.coverage import pictures
from ltocompat.report.formats.html.page import Section, rendered
from ltocompat.report.formats.html.verdicts import described_target, matrix
from ltocompat.report.grouped_findings import LEVELS, finding_key, grouped_findings
from ltocompat.report.sorted_records import SortedRecords
from ltocompat.rules.prose import prose_of


def write(answer: SortedRecords, stream: Writable) -> None:
    """Write the page, which folds long parts.

    If requirements are known, it shows all architectures, else the architectures of the targets'
    GPUs.
    """
    found = grouped_findings(answer.results, lambda *_: ())
    names, drawn = answer.names, list(pictures(answer))
    levels = Counter(group.finding.level for group in found)
    page = rendered(
        list(_sections(answer, covered=bool(drawn))),
        ("page.css",),
        "page.js",
        **matrix(answer, names),
        title=_title(answer),
        tab=_document_title(answer),
        lede="lede.html",
        answer=answer,
        names=names,
        found=found,
        fates=_fates(answer),
        counts=list(_counts(answer, len(found))),
        pictures=drawn,
        any_target=ANY_TARGET.name,
        verdicts=Verdict,
        meanings=MEANINGS,
        ids={finding_key(group.finding): f"finding-{n}" for n, group in enumerate(found)},
        distinct=lambda findings: {finding_key(finding): finding for finding in findings},
        levels={level: levels[level] for level in LEVELS if levels[level]},
        by_rule=grouped((group.finding.rule, (n, group)) for n, group in enumerate(found)),
        cells=CellNames(list(dict.fromkeys(map(cell_of, answer.results))), names),
        most_kernels=MOST_KERNELS,
        prose_of=prose_of,
        facts_of=described_target,
    )
    stream.write(page)


def _sections(answer: SortedRecords, *, covered: bool) -> Iterator[Section]:
    """The sections that have something to say."""
    if answer.failures:
        yield Section("errors", "Errors", "errors.html")
    if answer.targets:
        yield Section("targets", "Deploy targets", "targets.html")
    if answer.results:
        yield Section("verdicts", "Verdicts", "verdicts.html")
    if covered:
        yield Section("coverage", "Coverage", "coverage.html")
    if answer.results:
        yield Section("findings", "Findings", "findings.html")
        yield Section("why", "Why", "why.html")


def _title(answer: SortedRecords) -> str:
    paths = list(dict.fromkeys(result.path for result in answer.results))
    if not paths:
        return "Nothing was checked or forbidden"
    what = paths[0].rsplit("/", 1)[-1] if len(paths) == 1 else count(len(paths), "artifact")
    on = count(len(answer.targets), "deploy target") if answer.targets else ANY_TARGET.name
    return f"{what} on {on}"


def _document_title(answer: SortedRecords) -> str:
    """Return the title of a tab or a bookmark: project and version, and the page's date."""
    projects = dict.fromkeys(_project(result.path) for result in answer.results)
    what = next(iter(projects)) if len(projects) == 1 else _title(answer)
    return f"{what}, {dt.datetime.now(dt.UTC).date()}: ltocompat"


def _project(path: str) -> str:
    """``libx 1.0`` of a wheel or conda package; of any other file its name."""
    name = path.rsplit("/", 1)[-1]
    if name.endswith(".whl") and name.count("-") >= 4:
        return " ".join(name.split("-")[:2])
    if name.endswith((".conda", ".tar.bz2")) and name.count("-") >= 2:
        return " ".join(name.rsplit("-", 2)[:2])
    return name


def _fates(answer: SortedRecords) -> dict[Verdict, int]:
    """How many artifacts fare how, the worst first."""
    verdicts = grouped((result.path, result.verdict) for result in answer.results)
    fates = [max(Verdict.OK, *of_file) for of_file in verdicts.values()]
    return {verdict: fates.count(verdict) for verdict in reversed(Verdict) if verdict in fates}


def _counts(answer: SortedRecords, findings: int) -> Iterator[str]:
    """How much was found, and what could not be judged."""
    if answer.results:
        yield count(findings, "finding") if findings else "no findings"
    if answer.empty:
        yield f"{count(len(answer.empty), 'file')} without device code"
    if answer.failures:
        yield count(len(answer.failures), "error")
