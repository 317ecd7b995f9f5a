"""Cells of a picture: neighbours that say the same as one block, each verdict with its own shape.

Colour is never all: every block has the shape of its verdict, the word too where there is room,
and what works is dark where what fails is light.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple
from xml.sax.saxutils import escape as escape_xml

from ltocompat.model.verdict import Verdict

STYLE = (
    "text{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif;"
    "fill:#1f2328}"
    ".t{font-size:16px;font-weight:600}"
    ".s{font-size:13px;fill:#59636e}"
    ".a{font-size:12px}"
    ".g{font-size:11px;fill:#59636e}"
    ".w{font-size:12px;font-weight:600}"
)
"""Of the whole picture: title, subtitle, axes, generations, words."""

_SHORT = 58  # the least width of a block that holds its word
_LETTER = 9.0  # width of a bold letter of 12 px, in wide fonts too


class _Look(NamedTuple):
    """How a verdict looks: ground, edge, ink, and a shape around the origin."""

    ground: str
    edge: str
    ink: str
    shape: str


_LOOKS = {
    Verdict.OK: _Look("#1a7f37", "#1a7f37", "#ffffff", "M-5 .5l3.4 3.5L5-4"),
    Verdict.JIT: _Look("#8cc4ff", "#4a90d9", "#0a3069", "M-3-5H3M1-5v7.2a2.8 2.8 0 0 1-5.4 0"),
    Verdict.UNDOCUMENTED: _Look(
        "#ffd866", "#c99700", "#4d3800", "M-6 1.5c2-4.5 4-4.5 6-1.5s4 3 6-1.5"
    ),
    Verdict.UNKNOWN: _Look(
        "#eceef1", "#8b949e", "#24292f", "M-3-2.6a3 3 0 1 1 4.4 2.7Q0 .9 0 2.3M0 5.6v.1"
    ),
    Verdict.FAIL: _Look("#fff1ef", "#e5a59d", "#a40e26", "M-4-4l8 8M4-4l-8 8"),
}


class Block(NamedTuple):
    """Cells of one verdict that form a rectangle.

    Attributes:
        verdict: their verdict.
        rows: the rows that it spans.
        columns: its columns.
    """

    verdict: Verdict
    rows: range
    columns: range


def merged(cells: Sequence[Sequence[Verdict]]) -> Iterator[Block]:
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
            yield Block(verdict, range(top, bottom), range(left, right))


def pattern() -> str:
    """The hatching of what is unknown."""
    return (
        '<pattern id="lc-hatch" width="7" height="7" patternUnits="userSpaceOnUse">'
        '<path d="M-1 1L1-1M0 7L7 0M6 8L8 6" stroke="#c4cad1" stroke-width="1.2"/></pattern>'
    )


def swatch(  # noqa: PLR0917 - a verdict and a rectangle
    verdict: Verdict, x: float, y: float, wide: float, high: float, tooltip: str = ""
) -> str:
    """A block with its shape, and its word where there is room."""
    look = _LOOKS[verdict]
    size = f'width="{wide:.1f}" height="{high:.1f}" rx="3"'
    hatch = f'<rect {size} fill="url(#lc-hatch)"/>' if verdict is Verdict.UNKNOWN else ""
    word = ""
    center = wide / 2
    taken = 20 + len(str(verdict)) * _LETTER
    if wide >= max(_SHORT, taken):
        center = (wide - taken) / 2 + 7
        word = (
            f'<text class="w" x="{center + 12:.1f}" y="{high / 2 + 4:.1f}" '
            f'style="fill:{look.ink}">{verdict}</text>'
        )
    title = f"<title>{escape_xml(tooltip)}</title>" if tooltip else ""
    return (
        f'<g transform="translate({x:.1f} {y:.1f})">{title}'
        f'<rect {size} fill="{look.ground}" stroke="{look.edge}"/>{hatch}'
        f'<path transform="translate({center:.1f} {high / 2:.1f})" d="{look.shape}" fill="none" '
        f'stroke="{look.ink}" stroke-width="2.2" stroke-linecap="round" stroke-linejoin="round"/>'
        f"{word}</g>"
    )
