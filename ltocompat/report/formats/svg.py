"""Grids of ``matrix`` as one SVG picture, which is legible in black and white too.

Neighbouring cells that say the same are one block. Colour is never all: every block has the shape
of its verdict, the word too where there is room, and what works is dark where what fails is light.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.resources import files
from itertools import groupby
from string import Template
from xml.sax.saxutils import escape as escape_xml

from msgspec import Struct

from ltocompat.facts.gpus import sm
from ltocompat.model.matrix import ARTIFACT, Matrix
from ltocompat.model.verdict import Verdict
from ltocompat.model.words import count
from ltocompat.report.cells import labels
from ltocompat.report.document import MEANINGS, SHAPES
from ltocompat.report.matrix_cells import row_runs, subject
from ltocompat.report.text import clip_middle, escape

_WIDTH = 800
_MARGIN = 24
_WIDEST = 56  # of a cell
_HEIGHT = 21  # of a cell
_LETTER = 7.0  # mean width of a letter of 12 px
_SMALL = 6.2  # of 11 px
_LONGEST = 50  # characters of a row's name
_GAP = 10  # between the names of rows and the cells
_SHORT = 58  # the least width of a block that holds its word
_BOLD = 9.0  # width of a bold letter of 12 px, in wide fonts too


def picture(matrices: Sequence[Matrix]) -> str:
    """An SVG document of these matrices, one beneath the other, with a legend."""
    drawing = _Drawing(matrices)
    last = None
    for matrix in matrices:
        drawing.matrix(matrix, titled=matrix.path != last)
        last = matrix.path
    used = {result.verdict for matrix in matrices for row in matrix.cells for result in row}
    drawing.legend([verdict for verdict in Verdict if verdict in used])
    return drawing.document(_title(matrices), _description(matrices))


class _Drawing:
    """Draws from the top down; neighbouring rows that are equal share one.

    Args:
        matrices: all that is to be drawn; their cells are equally wide.
    """

    def __init__(self, matrices: Sequence[Matrix]) -> None:
        names = [_name(matrix, run) for matrix in matrices for run in row_runs(matrix)]
        longest = max((len(name) for name in names), default=0)
        self._labels = max(longest * _LETTER, 13 * _SMALL) + _GAP
        wide = max((len(matrix.columns) for matrix in matrices), default=1)
        self._cell = min((_WIDTH - 2 * _MARGIN - self._labels) / wide, _WIDEST)
        self._parts: list[str] = []
        self._y = float(_MARGIN)

    def matrix(self, matrix: Matrix, *, titled: bool) -> None:
        """Draw a matrix, with the name of its artifact where that is new."""
        if titled:
            self._y += 13
            self._text(_MARGIN, "t", clip_middle(escape(matrix.path), 76))
            self._y += 8
        self._y += 14
        self._text(_MARGIN, "s", subject(matrix))
        self._y += 25
        self._heads(matrix)
        rows = row_runs(matrix)
        for number, run in enumerate(rows):
            top = self._y + number * _HEIGHT
            self._text(self._left(0) - _GAP, "a", _name(matrix, run), "end", top + _HEIGHT - 6)
        for block in merged([[cell.verdict for cell in matrix.cells[run.start]] for run in rows]):
            self._block(matrix, rows, block)
        self._y += len(rows) * _HEIGHT + 20
        named = labels(matrix.columns) if matrix.what == ARTIFACT else {}
        for result, label in zip(matrix.cells[0], named.values(), strict=False):
            nodes = len(result.target.nodes)
            words = [label, count(nodes, "node") if nodes else "", escape(result.target.name)]
            self._text(_MARGIN, "s", clip_middle("  ".join(filter(None, words)), 110))
            self._y += 18

    def _heads(self, matrix: Matrix) -> None:
        """The generations above the numbers of the architectures."""
        named = [(_generation(name), index) for index, name in enumerate(matrix.columns)]
        for generation, group in groupby(named, key=lambda pair: pair[0]):
            indices = [index for _, index in group]
            left, right = self._left(indices[0]), self._left(indices[-1] + 1) - 2
            if len(generation) * _SMALL <= right - left:
                self._text((left + right) / 2, "g", generation, "middle")
            else:
                self._text(left, "g", generation)
            self._parts.append(
                f'<path d="M{left:.1f} {self._y + 5:.1f}H{right:.1f}" stroke="#afb8c1"/>'
            )
        self._y += 20
        what = matrix.what if matrix.what == ARTIFACT else f"{matrix.what}, sm"
        self._text(self._left(0) - _GAP, "g", what, "end")
        for index, name in enumerate(labels(matrix.columns).values()):
            center = self._left(index) + self._cell / 2 - 1
            self._text(center, "a", escape(name.removeprefix("sm_")), "middle")
        self._y += 7

    def _block(self, matrix: Matrix, rows: Sequence[range], block: _Block) -> None:
        down = block.rows
        names = _name(matrix, range(rows[down.start].start, rows[down.stop - 1].stop))
        columns = [matrix.columns[block.columns.start], matrix.columns[block.columns.stop - 1]]
        across = " \u2013 ".join(dict.fromkeys(columns))
        found = (
            finding.rule
            for run in rows[down.start : down.stop]
            for index in block.columns
            for finding in matrix.cells[run.start][index].findings
            if finding.verdict is block.verdict
        )
        why = f" ({', '.join(rules)})" if (rules := list(dict.fromkeys(found))) else ""
        text = f"{matrix.what} {names}, {across}: {block.verdict}{why}"
        self._parts.append(
            _swatch(
                block.verdict,
                self._left(block.columns.start),
                self._y + down.start * _HEIGHT,
                len(block.columns) * self._cell - 2,
                len(down) * _HEIGHT - 2,
                text,
            )
        )

    def legend(self, verdicts: Sequence[Verdict]) -> None:
        """The verdicts that were drawn, in lines as long as the picture is wide."""
        x = float(_MARGIN)
        for verdict in verdicts:
            text = f"{verdict}: {MEANINGS[verdict]}"
            taken = 28 + 8 + len(text) * _LETTER + 16
            if x + taken > _WIDTH and x > _MARGIN:
                x = _MARGIN
                self._y += _HEIGHT + 7
            self._parts.append(_swatch(verdict, x, self._y, 28, _HEIGHT - 2))
            self._text(x + 36, "a", text, y=self._y + 14)
            x += taken
        self._y += _HEIGHT

    def document(self, title: str, description: str) -> str:
        """All of it."""
        height = round(self._y + _MARGIN)
        # The style has classes for the title, the subtitle, axes, generations and words.
        return Template((files(__package__) / "matrix.svg").read_text("utf-8")).substitute(
            width=_WIDTH,
            height=height,
            inner_width=_WIDTH - 1,
            inner_height=height - 1,
            title=escape_xml(title),
            description=escape_xml(description),
            parts="".join(f"{part}\n" for part in self._parts),
        )

    def _left(self, index: int) -> float:
        return _MARGIN + self._labels + index * self._cell

    def _text(
        self, x: float, style: str, text: str, anchor: str = "start", y: float | None = None
    ) -> None:
        where = f'x="{x:.1f}" y="{self._y if y is None else y:.1f}"'
        aligned = "" if anchor == "start" else f' text-anchor="{anchor}"'
        self._parts.append(f'<text class="{style}" {where}{aligned}>{escape_xml(text)}</text>')


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
    """Rectangles of equal cells that cover a matrix, each as wide and then as high as it can be."""
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


def _swatch(  # noqa: PLR0917 - a verdict and a rectangle
    verdict: Verdict, x: float, y: float, wide: float, high: float, tooltip: str = ""
) -> str:
    """A block with its shape, and its word where there is room."""
    (ground, edge, ink), shape = _LOOKS[verdict], SHAPES[str(verdict)]
    size = f'width="{wide:.1f}" height="{high:.1f}" rx="3"'
    hatch = f'<rect {size} fill="url(#lc-hatch)"/>' if verdict is Verdict.UNKNOWN else ""
    word = ""
    center = wide / 2
    taken = 20 + len(str(verdict)) * _BOLD
    if wide >= max(_SHORT, taken):
        center = (wide - taken) / 2 + 7
        word = (
            f'<text class="w" x="{center + 12:.1f}" y="{high / 2 + 4:.1f}" '
            f'style="fill:{ink}">{verdict}</text>'
        )
    title = f"<title>{escape_xml(tooltip)}</title>" if tooltip else ""
    return (
        f'<g transform="translate({x:.1f} {y:.1f})">{title}'
        f'<rect {size} fill="{ground}" stroke="{edge}"/>{hatch}'
        f'<path transform="translate({center:.1f} {high / 2:.1f})" d="{shape}" fill="none" '
        f'stroke="{ink}" stroke-width="2.2" stroke-linecap="round" stroke-linejoin="round"/>'
        f"{word}</g>"
    )
