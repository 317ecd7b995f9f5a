"""Charts as drawings in the page: bars and grids of shares; words say what colours do."""

from __future__ import annotations

from collections.abc import Iterable

from ltocompat.commands.survey.answer_values import Bar, Bars, Grid
from ltocompat.report.formats.html.elements import escaped, scrolling, table
from ltocompat.report.text import binary_size

_LABEL, _WIDTH, _ROOM = 148, 460, 92  # left of the bars, the longest bar, for its number
_STEP, _HEIGHT = 26, 18
_PARTS = 6  # colours that differ enough
_SHADES = 10


def bars(chart: Bars) -> str:
    """Draw a horizontal bar chart; read aloud, each bar is its label and its numbers."""
    most = max((sum(bar.parts) for bar in chart.bars), default=0) or 1
    lines = [_bar(chart, bar, number, most) for number, bar in enumerate(chart.bars)]
    height = _STEP * len(chart.bars)
    width = _LABEL + _WIDTH + _ROOM
    return (
        f'<figure class="chart"><figcaption>{escaped(chart.title)}</figcaption>{_key(chart)}'
        f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
        f'aria-label="{escaped(_aloud(chart))}">{"".join(lines)}</svg></figure>'
    )


def _bar(chart: Bars, bar: Bar, number: int, most: int) -> str:
    top = number * _STEP
    middle = top + _HEIGHT - 4
    parts = [f'<text class="label" x="{_LABEL - 8}" y="{middle}">{escaped(bar.label)}</text>']
    left = float(_LABEL)
    for index, value in enumerate(bar.parts):
        wide = _WIDTH * value / most
        if value:
            parts.append(
                f'<rect class="part-{index % _PARTS}" x="{left:.1f}" y="{top}" '
                f'width="{max(wide, 1):.1f}" height="{_HEIGHT}"/>'
            )
        left += wide
    parts.append(f'<text x="{left + 6:.1f}" y="{middle}">{_number(chart, sum(bar.parts))}</text>')
    return "".join(parts)


def _key(chart: Bars) -> str:
    if len(chart.parts) < 2:
        return ""
    items = "".join(
        f'<li><svg class="swatch" viewBox="0 0 10 10" aria-hidden="true">'
        f'<rect class="part-{index % _PARTS}" width="10" height="10"/></svg>{escaped(part)}</li>'
        for index, part in enumerate(chart.parts)
    )
    return f'<ul class="key">{items}</ul>'


def _aloud(chart: Bars) -> str:
    return "; ".join(f"{bar.label}: {', '.join(_spoken(chart, bar))}" for bar in chart.bars)


def _spoken(chart: Bars, bar: Bar) -> Iterable[str]:
    for name, value in zip(chart.parts, bar.parts, strict=True):
        if value:
            yield f"{_number(chart, value)} {'' if chart.of_bytes else name}".strip()


def _number(chart: Bars, value: int) -> str:
    return binary_size(value) if chart.of_bytes else f"{value:,}"


def grid(chart: Grid) -> str:
    """A table whose cells are darker the greater the share."""
    head = "".join(f'<th scope="col">{escaped(name)}</th>' for name in chart.columns)
    lines = "".join(
        f'<tr><th scope="row">{escaped(name)}</th>{"".join(map(_cell, cells))}</tr>'
        for name, cells in zip(chart.rows, chart.cells, strict=True)
    )
    drawn = table("coverage grid", f"<tr><td></td>{head}</tr>", lines)
    return (
        f'<figure class="chart"><figcaption>{escaped(chart.title)}</figcaption>'
        f"{scrolling(chart.title, drawn)}</figure>"
    )


def _cell(cell: tuple[int, int] | None) -> str:
    if cell is None:
        return '<td class="none">-</td>'
    some, every = cell
    shade = -(-_SHADES * some // every)
    return f'<td class="fill by-fail fill-{shade}">{some:,}<small> of {every:,}</small></td>'
