"""The answer of ``matrix`` as tables, and as ``ltocompat/matrix/v1``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from ltocompat.model.matrix import Grid
from ltocompat.model.place import Place
from ltocompat.model.target import Target
from ltocompat.model.verdict import Verdict
from ltocompat.report import Failure, Options, Report
from ltocompat.report.document import Block, Code, Column, Heading, Paragraph, Table
from ltocompat.report.formats.jsonstream import (
    Array,
    encode,
    error_document,
    failure_value,
    head,
    tail,
)
from ltocompat.report.verbs.check_json import Tally, result_value, target_value

SCHEMA = "ltocompat/matrix/v1"

WORDS = {
    Verdict.OK: "ok",
    Verdict.JIT: "jit",
    Verdict.UNDOCUMENTED: "undoc.",
    Verdict.UNKNOWN: "unknown",
    Verdict.FAIL: "fail",
}
MEANINGS = {
    Verdict.OK: "documented to work",
    Verdict.JIT: "works, the driver compiles PTX at load",
    Verdict.UNDOCUMENTED: "measured to work, not promised by NVIDIA",
    Verdict.UNKNOWN: "a fact is missing, which check names",
    Verdict.FAIL: "will not link or load",
}
"""What verdicts mean, for legends."""

_PIPED = 120  # columns of a table where no terminal limits it
_GAP = 2


def blocks(records: Iterable[Grid | Failure], options: Options) -> Iterator[Block]:
    """A table for each grid, in which equal neighbours share a row or a column; then the legend."""
    used: set[Verdict] = set()
    for record in records:
        if isinstance(record, Failure):
            continue
        used |= {one.verdict for row in record.cells for one in row}
        yield Heading((Code(Place(record.path)), f": {subject(record)}"))
        yield from _tables(record, options.width)
    if used:
        said = (f"{WORDS[one]}: {MEANINGS[one]}" for one in Verdict if one in used)
        yield Paragraph(("; ".join(said),))
    else:
        yield Paragraph(("no device code was found",))


def subject(grid: Grid) -> str:
    """What a grid shows, in words."""
    what = "linked by each nvJitLink" if grid.what == "nvJitLink" else "loaded by each driver"
    tried = ", tried with each linker" if grid.tried else ""
    return f"{what} for each architecture{tried}"


def runs(number: int, equal: Callable[[int, int], bool]) -> list[range]:
    """Neighbours among ``number`` things that are equal."""
    found: list[range] = []
    for index in range(number):
        if found and equal(found[-1].start, index):
            found[-1] = range(found[-1].start, index + 1)
        else:
            found.append(range(index, index + 1))
    return found


def row_runs(grid: Grid) -> list[range]:
    """Neighbouring rows with equal verdicts."""
    rows = [[one.verdict for one in row] for row in grid.cells]
    return runs(len(rows), lambda one, other: rows[one] == rows[other])


def _tables(grid: Grid, width: int | None) -> Iterator[Table]:
    rows = row_runs(grid)
    words = [[WORDS[one.verdict] for one in grid.cells[run.start]] for run in rows]
    columns = runs(
        len(grid.columns),
        lambda one, other: all(row[one] == row[other] for row in words),
    )
    names = [_span(grid.rows, run) for run in rows]
    heads = [_span(grid.columns, run) for run in columns]
    sizes = [
        max(len(name), *(len(row[run.start]) for row in words))
        for name, run in zip(heads, columns, strict=True)
    ]
    first = max(len(grid.what), *map(len, names))
    for part in _parts(sizes, (width or _PIPED) - first):
        yield Table(
            (Column(grid.what), *(Column(heads[index]) for index in part)),
            tuple(
                (name, *(row[columns[index].start] for index in part))
                for name, row in zip(names, words, strict=True)
            ),
        )


def _span(names: Sequence[str], run: range) -> str:
    """``sm_75 to 90``."""
    first, last = names[run.start], names[run.stop - 1]
    return first if len(run) == 1 else f"{first} to {last.removeprefix('sm_')}"


def _parts(sizes: Sequence[int], room: int) -> Iterator[range]:
    """Columns that fit beside each other."""
    start = used = 0
    for index, size in enumerate(sizes):
        used += size + _GAP
        if used > room and index > start:
            yield range(start, index)
            start, used = index, size + _GAP
    yield range(start, len(sizes))


def document(records: Iterable[Grid | Failure], _: Options) -> Iterator[str]:
    """The pieces of the JSON document: results as they come, then what lays them out."""
    rows = Array()
    tally = Tally()
    failures: list[Failure] = []
    targets: dict[Target, None] = {}
    grids: list[dict[str, object]] = []
    number = 0
    for record in records:
        if isinstance(record, Failure):
            failures.append(record)
            continue
        if not grids:
            yield head(SCHEMA, "results")
        grids.append(_grid_value(record, number))
        for result in (one for row in record.cells for one in row):
            tally.add(result)
            targets.setdefault(result.target)
            yield rows.element(f"  {encode(result_value(result))}")
            number += 1
    if failures and not grids:
        yield error_document(failures)
        return
    if not grids:
        yield head(SCHEMA, "results")
    errors = [failure_value(failure) for failure in failures]
    summary = {"artifacts": len(tally.artifacts), "verdicts": tally.verdicts, "errors": errors}
    yield from tail(targets=[target_value(t) for t in targets], grids=grids, summary=summary)


def _grid_value(grid: Grid, first: int) -> dict[str, object]:
    wide = len(grid.columns)
    return {
        "path": grid.path,
        "what": grid.what,
        "rows": list(grid.rows),
        "columns": list(grid.columns),
        "tried": grid.tried,
        "cells": [
            list(range(first + row * wide, first + (row + 1) * wide))
            for row in range(len(grid.rows))
        ],
    }


REPORT: Report[Grid] = Report(blocks, document)
