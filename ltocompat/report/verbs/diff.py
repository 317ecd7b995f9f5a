"""The answer of ``diff`` as blocks: both sides, what moved, and what is forbidden of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from ltocompat.commands.comparison.requirement_changes import linker_text
from ltocompat.model.arch import SmArch
from ltocompat.model.diff import KINDS, Change, Diff, DiffSummary, Said
from ltocompat.model.projection import project
from ltocompat.model.target import ANY_TARGET
from ltocompat.model.verdict import Coverage, Finding, Level, Result, Verdict
from ltocompat.model.words import count, function_name, truncate_list
from ltocompat.report import Failure, FindingReport, Options, answers
from ltocompat.report.cells import CellNames
from ltocompat.report.diagnostics import FindingTally
from ltocompat.report.document import (
    Block,
    Code,
    Column,
    Heading,
    Items,
    Paragraph,
    Table,
    left_out,
)
from ltocompat.report.grouped_findings import grouped_findings
from ltocompat.report.sorted_records import FindingRecord
from ltocompat.report.text import LONGEST_NAME, binary_size, fold_archs, truncate

_MOST_ROWS = 200
_MOST_WORDS = 6
_MOST_SYMBOLS = 2
_MOST_NAMES = 5

_SIDES = (Column(""), Column("old", width=16), Column("new", width=16))
_CHANGES = (
    Column("change", width=12),
    Column("of", width=8),
    Column("old", width=14),
    Column("new", width=14),
    Column("in", width=14),
)
_BYTES = ("size", "stored")
_ARCHS = ("arch-lost", "arch-gained")
_KERNELS = ("kernels-lost", "kernels-gained")


def blocks(records: Iterable[Diff | Failure], options: Options) -> Iterator[Block]:
    """Yield both releases side by side, every change, forbidden changes, and unknown parts."""
    diffs = [*answers(records)]
    for diff in diffs:
        yield from _diff(diff, options)
    if not diffs:
        yield Paragraph(("nothing was compared",))


def _diff(diff: Diff, options: Options) -> Iterator[Block]:
    breaking = ", ".join(dict.fromkeys(each.breaking for each in diff.changes if each.breaking))
    changes = f"{count(len(diff.changes), 'change')} (breaking: {breaking or 'none'})"
    text = changes if diff.changes else "nothing changed"
    if not any(side.modules or side.skipped or not side.complete for side in (diff.old, diff.new)):
        text += ", and neither has device code"
    if diff.forbidden:
        text += f", {len(diff.broken):,} forbidden"
    yield Heading((Code(diff.old.path), " to ", Code(diff.new.path), f": {text}"))
    yield Table(_SIDES, tuple(_sides(diff.old, diff.new)))
    if diff.changes:
        yield Table(_CHANGES, tuple(_row(change) for change in diff.changes[:_MOST_ROWS]))
    if more := left_out(len(diff.changes) - _MOST_ROWS):
        yield Paragraph((more,))
    yield from _names(diff.changes)
    if diff.broken:
        tally = FindingTally(options)
        yield from tally.blocks(grouped_findings([_result(diff)]), CellNames())
        yield from tally.closing()
    if diff.unknown:
        yield Items("not known", tuple((truncate(line),) for line in diff.unknown))


def _sides(old: DiffSummary, new: DiffSummary) -> Iterator[tuple[str, ...]]:
    sides = (old, new)
    if old.metadata or new.metadata:
        yield ("package", *(_package(side) for side in sides))
    yield ("size", *("unknown" if s.size is None else binary_size(s.size) for s in sides))
    yield ("files", *(f"{side.files:,}" for side in sides))
    yield ("modules", *(f"{side.modules:,}" for side in sides))
    yield ("images", *(f"{side.images:,} ({binary_size(side.stored)})" for side in sides))
    if old.kernels is not None:
        yield ("kernels compared", *(f"{side.kernels or 0:,}" for side in sides))
    yield ("nvJitLink from", *(", ".join(linker_text(side) or "-") for side in sides))
    if old.imports or new.imports:
        yield ("nvJitLink for imports", *(str(side.imports or "-") for side in sides))
    yield ("driver for SASS", *(str(side.driver_sass or "-") for side in sides))
    beyond = "newer than every known one"
    yield ("driver for PTX", *(beyond if s.ptx_beyond else str(s.driver_ptx or "-") for s in sides))


def _package(side: DiffSummary) -> str:
    metadata = side.metadata
    return f"{metadata.name} {metadata.version}" if metadata else "-"


def _row(change: Change) -> tuple[str, ...]:
    return (
        KINDS[change.kind],
        change.about or "-",
        *_cells(change),
        Code(change.subject) if change.subject else "-",
    )


def _cells(change: Change) -> tuple[str, str]:
    if change.kind in _KERNELS:
        number = f"{change.count:,}"
        return ("-", number) if change.old is None else (number, "-")
    cells = _cell(change, change.old), _cell(change, change.new)
    if change.kind in _BYTES and cells[0] == cells[1] != "-":  # they differ by some bytes
        return f"{change.old:,} B", f"{change.new:,} B"
    return cells


def _cell(change: Change, cell: Said) -> str:
    if cell is None or cell == ():
        return "-"
    if isinstance(cell, int):
        return binary_size(cell) if change.kind in _BYTES else f"{cell:,}"
    if change.kind in _ARCHS:
        return fold_archs(map(SmArch.parse, cell))
    most = _MOST_SYMBOLS if change.kind == "imports" else _MOST_WORDS
    return truncate_list([truncate(word) for word in cell], most)


def _names(changes: Iterable[Change]) -> Iterator[Items]:
    """Some kernels, instances together; once for kinds of images that lost or gained the same."""
    alike: dict[tuple[str, str, tuple[tuple[str, int], ...]], list[Change]] = {}
    for change in changes:
        record = change.old if change.new is None else change.new
        if change.kind in _KERNELS and isinstance(record, tuple):
            names = Counter(function_name(name, LONGEST_NAME) for name in record if name)
            shown = tuple(names.items())[:_MOST_NAMES]
            alike.setdefault((change.kind, change.subject, shown), []).append(change)
    for (kind, subject, shown), several in alike.items():
        of = ", ".join(f"{change.about} {change.count:,}" for change in several)
        inside = (" in ", Code(subject)) if subject else ()
        lines = ((Code(name), f" ({same:,})" if same > 1 else "", *inside) for name, same in shown)
        rest = max(change.count for change in several) - sum(same for _, same in shown)
        yield Items(f"{KINDS[kind]} ({of})", tuple(lines), left_out(rest))


def _moved(change: Change) -> str:
    """``architectures lost (sass): sm_70``, ``GPU served (sm_50): sass to none``."""
    old, new = ("none" if cell == "-" else cell for cell in _cells(change))
    about, kind = f" ({change.about})" if change.about else "", KINDS[change.kind]
    values = {"lost": old, "gained": new}.get(kind.rsplit(" ", 1)[-1], f"{old} to {new}")
    return f"{kind}{about}: {values}"


def _document(records: Iterable[Diff | Failure], _: Options) -> Iterator[str]:
    # Imported here: a table needs no JSON.
    from ltocompat.model.records_v1 import diff as v1
    from ltocompat.report.formats.jsonstream import Rows, error_document

    rows = Rows(v1.Diff, "changes")
    for diff in rows.answers(records):
        old, new = project(v1.Side, diff.old), project(v1.Side, diff.new)
        for change in diff.changes:
            value = project(v1.Change, change, forbidden=change.breaking in diff.forbidden)
            yield from rows.row(value, old=old, new=new)
        summary = v1.Summary(len(diff.changes), len(diff.broken), errors=rows.errors)
        whole = v1.Diff(old, new, (), diff.unknown, diff.forbidden, summary)
        yield from rows.end(whole, empty=True, old=old, new=new)
        return
    yield error_document(rows.failures or [Failure("internal", "nothing was compared")])


def finding_records(records: Iterable[Diff | Failure]) -> Iterator[FindingRecord]:
    """Turn forbidden changes into findings on the newer release."""
    for record in records:
        if isinstance(record, Failure):
            yield record
        elif record.broken:
            yield _result(record)


def _result(diff: Diff) -> Result:
    """Return the verdict on the newer release, with its forbidden changes as findings."""
    found = tuple(map(_finding, diff.broken))
    return Result(diff.new.path, ANY_TARGET, None, None, Verdict.FAIL, Coverage(0), (), found, ())


def _finding(change: Change) -> Finding:
    subject = f" in {change.subject}" if change.subject else ""
    return Finding(
        rule=str(change.breaking),
        verdict=Verdict.FAIL,
        level=Level.ERROR,
        message=f"{_moved(change)}{subject}",
        remedy=f"undo this change, or leave out --forbid {change.breaking}",
        evidence="both releases",
        source="--forbid",
        example=change.places[-1] if change.places else None,
    )


REPORT: FindingReport[Diff] = FindingReport(blocks, _document, finding_records)
