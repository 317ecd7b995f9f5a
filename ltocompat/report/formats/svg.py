"""Grids of ``matrix`` as one SVG picture, which is legible in black and white too.

Neighbouring cells that say the same are one block. Colour is never all: every block has the shape
of its verdict, the word too where there is room, and what works is dark where what fails is light.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter

from msgspec import Struct

from ltocompat.facts.gpus import sm
from ltocompat.model.matrix import ARTIFACT, Matrix
from ltocompat.model.target import Target
from ltocompat.model.verdict import Verdict
from ltocompat.model.words import count
from ltocompat.report.cells import labels
from ltocompat.report.document import MEANINGS
from ltocompat.report.formats.html.page import environment
from ltocompat.report.matrix_cells import row_runs, subject
from ltocompat.report.text import clip_middle, escape

_WIDTH = 800
_MARGIN = 24
_WIDEST = 56  # of a cell
_LETTER = 7.0  # mean width of a letter of 12 px
_SMALL = 6.2  # of 11 px
_LONGEST = 50  # characters of a row's name
_GAP = 10  # between the names of rows and the cells


def picture(matrices: Sequence[Matrix]) -> str:
    """Return an SVG document of the matrices, one below the other, with a legend."""
    names = [_name(matrix, run) for matrix in matrices for run in row_runs(matrix)]
    longest = max((len(name) for name in names), default=0)
    left = _MARGIN + max(longest * _LETTER, 13 * _SMALL) + _GAP
    wide = max((len(matrix.columns) for matrix in matrices), default=1)
    paths = [None, *(matrix.path for matrix in matrices)]
    used = {result.verdict for matrix in matrices for row in matrix.cells for result in row}
    template = environment().get_template("matrix.svg")
    return template.render(
        width=_WIDTH,
        margin=_MARGIN,
        letter=_LETTER,
        small=_SMALL,
        gap=_GAP,
        left=left,
        cell=min((_WIDTH - _MARGIN - left) / wide, _WIDEST),
        title=_title(matrices),
        description=_description(matrices),
        grids=[_grid(matrix, paths[n] != matrix.path) for n, matrix in enumerate(matrices)],
        legend=[verdict for verdict in Verdict if verdict in used],
        meanings=MEANINGS,
        looks=_LOOKS,
    )


def _grid(matrix: Matrix, titled: bool) -> dict[str, object]:  # noqa: FBT001 - a value
    """What is drawn of a matrix; neighbouring rows that are equal share one."""
    runs = row_runs(matrix)
    named = labels(matrix.columns)
    by_artifact = matrix.what == ARTIFACT
    generations = groupby(enumerate(map(_generation, matrix.columns)), key=itemgetter(1))
    verdicts = [[cell.verdict for cell in matrix.cells[run.start]] for run in runs]
    return {
        "title": clip_middle(escape(matrix.path), 76) if titled else "",
        "subject": subject(matrix),
        "what": matrix.what if by_artifact else f"{matrix.what}, sm",
        "heads": [(name, [index for index, _ in group]) for name, group in generations],
        "columns": [name.removeprefix("sm_") for name in named.values()],
        "rows": [_name(matrix, run) for run in runs],
        "blocks": [(block, _tooltip(matrix, runs, block)) for block in merged(verdicts)],
        "targets": [
            _target(label, result.target)
            for result, label in zip(matrix.cells[0], named.values(), strict=True)
            if by_artifact
        ],
    }


def _target(label: str, target: Target) -> str:
    words = [label, count(len(target.nodes), "node") if target.nodes else "", escape(target.name)]
    return clip_middle("  ".join(filter(None, words)), 110)


def _tooltip(matrix: Matrix, runs: Sequence[range], block: _Block) -> str:
    down = block.rows
    names = _name(matrix, range(runs[down.start].start, runs[down.stop - 1].stop))
    columns = [matrix.columns[block.columns.start], matrix.columns[block.columns.stop - 1]]
    across = " \u2013 ".join(dict.fromkeys(columns))
    found = (
        finding.rule
        for run in runs[down.start : down.stop]
        for index in block.columns
        for finding in matrix.cells[run.start][index].findings
        if finding.verdict is block.verdict
    )
    why = f" ({', '.join(rules)})" if (rules := list(dict.fromkeys(found))) else ""
    return f"{matrix.what} {names}, {across}: {block.verdict}{why}"


def _name(matrix: Matrix, run: range) -> str:
    ends = (matrix.rows[run.start], matrix.rows[run.stop - 1])
    first, last = (clip_middle(escape(name), _LONGEST) for name in ends)
    return first if len(run) == 1 else f"{first} \u2013 {last}"


def _generation(column: str) -> str:
    if not column.startswith("sm_"):
        return "deploy target"
    number = column.removeprefix("sm_").rstrip("af")
    row = sm(int(number)) if number.isdecimal() else None
    return row.name if row else "next"


def _title(matrices: Sequence[Matrix]) -> str:
    paths = list(dict.fromkeys(matrix.path for matrix in matrices))
    what = escape(paths[0]) if len(paths) == 1 else count(len(paths), "artifact")
    return f"Where the device code of {what} links and loads"


def _description(matrices: Sequence[Matrix]) -> str:
    """For those who can't see the picture: how many cells of each matrix say what."""
    words = []
    for matrix in matrices:
        cells = [result.verdict for row in matrix.cells for result in row]
        parts = [f"{cells.count(verdict)} {verdict}" for verdict in Verdict if verdict in cells]
        words.append(f"{escape(matrix.path)}, {subject(matrix)}: {', '.join(parts)}.")
    return " ".join(words)


# Of each verdict the ground, the edge and the ink.
_LOOKS = {
    Verdict.OK: ("#1a7f37", "#1a7f37", "#ffffff"),
    Verdict.JIT: ("#8cc4ff", "#4a90d9", "#0a3069"),
    Verdict.UNDOCUMENTED: ("#ffd866", "#c99700", "#4d3800"),
    Verdict.UNKNOWN: ("#eceef1", "#8b949e", "#24292f"),
    Verdict.FAIL: ("#fff1ef", "#e5a59d", "#a40e26"),
}


class _Block(Struct, frozen=True):
    """Cells of one verdict that form a rectangle.

    Attributes:
        verdict: their verdict.
        rows: the rows that it spans.
        columns: its columns.
    """

    verdict: Verdict
    rows: range
    columns: range


def merged(cells: Sequence[Sequence[Verdict]]) -> Iterator[_Block]:
    """Yield rectangles of equal cells that cover a matrix, each as wide and high as possible."""
    free = [[True] * len(row) for row in cells]
    for top, row in enumerate(cells):
        for left, verdict in enumerate(row):
            if not free[top][left]:
                continue
            right = left
            while right < len(row) and free[top][right] and row[right] is verdict:
                right += 1
            bottom = top + 1
            while bottom < len(cells) and all(
                free[bottom][index] and cells[bottom][index] is verdict
                for index in range(left, right)
            ):
                bottom += 1
            for taken in free[top:bottom]:
                taken[left:right] = [False] * (right - left)
            yield _Block(verdict, range(top, bottom), range(left, right))
