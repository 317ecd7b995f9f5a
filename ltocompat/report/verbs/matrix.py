"""The answer of ``matrix`` as tables, and as ``ltocompat/matrix/v1``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, count, islice

from ltocompat.commands.options import MatrixOptions
from ltocompat.files.output import replaced, writing
from ltocompat.model.errors import LtocompatError
from ltocompat.model.failure import Note
from ltocompat.model.matrix import ARTIFACT, Matrix
from ltocompat.model.projection import project
from ltocompat.model.target import ANY_TARGET, Target
from ltocompat.model.verdict import Result, Verdict
from ltocompat.report import Failure, FindingReport, ListReport, Options
from ltocompat.report.cell_rows import GAP
from ltocompat.report.cells import labels
from ltocompat.report.document import (
    MEANINGS,
    Block,
    Code,
    Column,
    Heading,
    Paragraph,
    Styled,
    Table,
    style_of,
)
from ltocompat.report.matrix_cells import row_runs, runs, subject
from ltocompat.report.streams import PIPED
from ltocompat.report.text import LONG_ROOT, common_folder, span, truncate
from ltocompat.report.verbs.check import described_targets
from ltocompat.rules.builtin_rules import SPARSE_COVERAGE

Records = Iterable[Target | Result | Matrix | Failure]
WORDS = {verdict: str(verdict) for verdict in Verdict} | {Verdict.UNDOCUMENTED: "undoc."}
_FEW = 100  # of so many modules, one is few


def blocks(records: Records, options: Options) -> Iterator[Block]:
    """Yield a table for each matrix, with equal neighbours combined; then the legend."""
    used: set[Verdict] = set()
    unread = False
    targets: list[Target] = []
    for record in records:
        unread |= isinstance(record, Failure)
        if isinstance(record, Matrix):
            used |= {result.verdict for row in record.cells for result in row}
            yield from _matrix(record, targets, options.width)
        elif isinstance(record, Target) and record != ANY_TARGET:
            targets.append(record)
    if used:
        words = (f"{WORDS[verdict]}: {MEANINGS[verdict]}" for verdict in Verdict if verdict in used)
        yield Paragraph(("; ".join(words),))
    else:
        yield Paragraph(("nothing was read" if unread else "no device code was found",))


def _matrix(matrix: Matrix, targets: Sequence[Target], width: int | None) -> Iterator[Block]:
    several = matrix.what == ARTIFACT
    path = matrix.path if several else Code(matrix.path)
    yield Heading((path, f": {subject(matrix)}"))
    if several:
        yield from described_targets(targets, labels(matrix.columns))
    yield from _tables(matrix, width)
    results = [result for row in matrix.cells for result in row]
    if variants := dict.fromkeys(one.name for result in results for one in result.variants):
        yield Paragraph((f"each cell shows the best of the variants {', '.join(variants)}",))
    if sparse := _sparse_coverage(matrix):
        yield Paragraph((f"some kernels lack code for {sparse}; the cells don't show it (IMG-04)",))
    found = (finding for result in results for finding in result.findings)
    for condition in dict.fromkeys(f"{f.headline} ({f.rule})" for f in found if f.is_condition):
        yield Paragraph((condition,))


def _sparse_coverage(matrix: Matrix) -> str:
    """``sm_52 to 75``: the architectures that hardly anything is for; empty for none."""
    found = [
        any(finding.rule == SPARSE_COVERAGE for row in matrix.cells for finding in row[n].findings)
        for n in range(len(matrix.columns))
    ]
    names = [*labels(matrix.columns).values()]
    sparse = (names[run.start : run.stop] for run in runs(found) if found[run.start])
    return ", ".join(map(span, sparse))


def _word(result: Result) -> Styled:
    """``fail``; ``fail 1/3,346`` where few of the modules decide."""
    extent = result.extent
    few = result.verdict > Verdict.JIT and 0 < extent.modules * _FEW <= extent.judged
    text = WORDS[result.verdict] + (f" {extent.modules:,}/{extent.judged:,}" if few else "")
    return Styled(text, style_of(result.verdict))


def _tables(matrix: Matrix, width: int | None) -> Iterator[Table]:
    every = [[_word(cell) for cell in row] for row in matrix.cells]
    rows = row_runs(matrix) if matrix.what == ARTIFACT else runs(every)
    words = [every[run.start] for run in rows]
    columns = runs([*zip(*words, strict=True)])
    names = [span(matrix.rows[run.start : run.stop]) for run in rows]
    root = common_folder(names, LONG_ROOT) if matrix.what == ARTIFACT else ""
    names = [name.removeprefix(root) for name in names]
    what = f"{matrix.what} in {truncate(root)}" if root else matrix.what
    short = [*labels(matrix.columns).values()]
    heads = [span(short[run.start : run.stop]) for run in columns]
    sizes = [
        max(len(name), *(len(row[run.start]) for row in words))
        for name, run in zip(heads, columns, strict=True)
    ]
    first = max(len(what), *map(len, names))
    room = width or PIPED
    for part in _parts(sizes, max(room - first, room // 2)):
        shown = [heads[index] for index in part]
        cells = ([row[columns[index].start] for index in part] for row in words)
        rows_ = tuple((name, *row) for name, row in zip(names, cells, strict=True))
        place = Column(what, width=len(what), place=matrix.what == ARTIFACT)
        yield Table((place, *(Column(name) for name in shown)), rows_)


def _parts(sizes: Sequence[int], room: int) -> Iterator[range]:
    """Columns that fit beside each other."""
    start = used = 0
    for index, size in enumerate(sizes):
        used += size + GAP
        if used > room and index > start:
            yield range(start, index)
            start, used = index, size + GAP
    yield range(start, len(sizes))


def _document(records: Records, _: Options) -> Iterator[str]:
    """The pieces of the JSON document: results as they come, then what lays them out."""
    # Imported here: a table needs no JSON.
    from ltocompat.model.records_v1 import matrix as v1
    from ltocompat.model.records_v1 import verdict
    from ltocompat.report.formats.jsonstream import Rows
    from ltocompat.report.verbs.check import Tally

    rows = Rows(v1.Matrix, "results")
    tally = Tally()
    targets: dict[Target, None] = {}
    grids: list[v1.Grid] = []
    numbers = count()
    for matrix in rows.answers(records):
        if not isinstance(matrix, Matrix):
            continue
        cells = []
        for row in matrix.cells:
            cells.append(tuple(islice(numbers, len(row))))
            for result in row:
                tally.add(result)
                targets.setdefault(result.target)
                yield from rows.row(project(verdict.Result, result))
        grids.append(project(v1.Grid, matrix, cells=tuple(cells)))
    summary = project(v1.Summary, tally, errors=rows.errors)
    values = tuple(project(verdict.Target, target) for target in targets)
    yield from rows.end(v1.Matrix((), values, tuple(grids), summary))


def run_and_draw(
    options: MatrixOptions, *, svg: str
) -> Iterator[Target | Result | Matrix | Failure | Note]:
    """Yield the records, then draw the matrices into the file ``svg``."""
    from ltocompat.commands import matrix

    matrices: list[Matrix] = []
    for record in matrix.run(options):
        if isinstance(record, Matrix):
            matrices.append(record)
        yield record
    if not matrices:
        return
    from ltocompat.report.formats.svg import picture

    try:
        with replaced(svg) as file, writing(svg):
            file.write(picture(matrices))
    except LtocompatError as error:
        yield Failure.of(error)


def _cells(record: Target | Result | Matrix) -> Iterable[Result]:
    return chain.from_iterable(record.cells) if isinstance(record, Matrix) else ()


REPORT: ListReport[Target | Result | Matrix] = ListReport(
    blocks, _document, Result, _cells, ("what",)
)


class _ByTarget(FindingReport[Target | Result | Matrix], frozen=True):
    columns = REPORT.columns
    rows = REPORT.rows


# The report for deploy targets, which the formats for findings can write, too.
BY_TARGET = _ByTarget(
    blocks, _document, lambda records: (each for each in records if not isinstance(each, Matrix))
)
