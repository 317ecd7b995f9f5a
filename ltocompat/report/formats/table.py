"""Blocks as plain text for a terminal, or for a pipe, where nothing is wrapped or cut."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

from tabulate import tabulate

from ltocompat.report import Options, Report, Writable
from ltocompat.report.document import (
    Block,
    Column,
    Entry,
    Heading,
    Items,
    Listing,
    Paragraph,
    Row,
    Table,
)
from ltocompat.report.text import clip, clip_middle, escape

_NARROW = 100
_NARROWEST = 40
_GAP = 2  # blanks between columns
_LONGEST = 400  # characters of one wrapped cell
_LEAST = 14  # columns that are left to a place, however narrow the terminal


def write(report: Report[Any], records: Iterable[Any], stream: Writable, options: Options) -> None:
    """Write the blocks of ``records``; a blank line stands before whatever begins anew."""
    last: Block | None = None
    for block in report.blocks(records, options):
        if last is not None and _begins_anew(block, last):
            stream.write("\n")
        _write_block(block, stream, options.width)
        last = block


def _begins_anew(block: Block, last: Block) -> bool:
    if isinstance(block, Table):
        return isinstance(last, Table)
    return isinstance(block, Heading) or (
        isinstance(block, Paragraph) and not isinstance(last, Listing | Paragraph | Entry)
    )


def _write_block(block: Block, stream: Writable, width: int | None) -> None:
    match block:
        case Heading(parts) | Paragraph(parts) | Entry(parts):
            stream.write(_filled(_line(parts), width, ""))
        case Table(columns, rows):
            stream.write(_table(columns, rows, width))
        case Listing(columns, listed):
            _write_listing(columns, listed, stream, width)
        case Items(title, lines, more):
            stream.write(f"{title}:\n")
            for parts in lines:
                stream.write(_filled(_line(parts), width, "  "))
            if more:
                stream.write(f"  {more}\n")


def _line(parts: Iterable[str]) -> str:
    return "".join(escape(str(part)) for part in parts)


def _filled(line: str, width: int | None, indent: str) -> str:
    """A line of words, broken between words only, so that a place can still be copied."""
    if width is None:
        return f"{indent}{line}\n"
    return (
        textwrap.fill(
            line,
            max(width, _NARROWEST),
            initial_indent=indent,
            subsequent_indent=f"{indent}  ",
            break_long_words=False,
            break_on_hyphens=False,
        )
        + "\n"
    )


def _table(columns: Sequence[Column], rows: Iterable[Sequence[str]], width: int | None) -> str:
    shown = _shown(columns, width)
    columns = [columns[index] for index in shown]
    cells = [[escape(row[index]) for index in shown] for row in rows]
    heads = [escape(column.name) for column in columns]
    if width is not None:
        cells = [[clip(cell, _LONGEST) for cell in row] for row in cells]
    widths = _fit(columns, [heads, *cells], width)
    rules = ["-" * size for size in widths]
    text = tabulate(
        # The head is a row like the others: tabulate would make its columns wider than asked.
        [
            [_wrap(*pair) for pair in zip(row, widths, strict=True)]
            for row in (heads, rules, *cells)
        ],
        tablefmt="plain",
        disable_numparse=True,  # a version such as 13.0 is no number
        colalign=["right" if column.right else "left" for column in columns],
    )
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def _shown(columns: Sequence[Column], width: int | None) -> list[int]:
    """Which columns there is room for."""
    wide = width is None or width >= _NARROW
    return [index for index, column in enumerate(columns) if wide or not column.optional]


def _fit(columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int | None) -> list[int]:
    """Widths that fit the terminal: the widest column that may be wrapped gives way first."""
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    if width is None:
        return widths
    room = width - _GAP * (len(columns) - 1)
    while sum(widths) > room:
        flexible = [
            index
            for index, column in enumerate(columns)
            if column.width and widths[index] > column.width
        ]
        if not flexible:
            break
        widths[max(flexible, key=lambda index: widths[index])] -= 1
    return widths


def _wrap(text: str, width: int) -> str:
    return "\n".join(textwrap.wrap(text, width, break_on_hyphens=False)) if text else text


def _write_listing(
    columns: Sequence[Column], rows: Iterable[Row], stream: Writable, width: int | None
) -> None:
    shown = _shown(columns, width)
    chosen = [columns[index] for index in shown]
    widths = _listing_widths(chosen, width)
    stream.write(_listed([column.name for column in chosen], chosen, widths, width))
    stream.write(_listed(["-" * size for size in widths], chosen, widths, width))
    for row in rows:
        cells = [escape(row.cells[index]) for index in shown]
        stream.write(_listed(cells, chosen, widths, width))
        for label, text in row.below:
            stream.write(f"    {label} {escape(text)}\n")


def _listing_widths(columns: Sequence[Column], width: int | None) -> list[int]:
    """Chosen before the first row is known: each its own, the last the rest of the line."""
    taken = sum(column.width + _GAP for column in columns)
    rest = _LEAST if width is None else max(width - taken, _LEAST)
    return [column.width or rest for column in columns]


def _listed(
    cells: Iterable[str], columns: Sequence[Column], widths: Sequence[int], width: int | None
) -> str:
    words = []
    for cell, column, size in zip(cells, columns, widths, strict=True):
        text = cell
        if width is not None:
            text = clip_middle(cell, size) if column.middle else clip(cell, size)
        words.append(text.rjust(size) if column.right else text.ljust(size))
    return (" " * _GAP).join(words).rstrip() + "\n"
