"""Blocks as GitHub Markdown, for pull requests.

Whatever is not plain words stands in a code span, where nothing is markup, nobody is mentioned and
nothing becomes a link.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from ltocompat.report import Options, Report, Writable
from ltocompat.report.document import (
    Block,
    Code,
    Column,
    Diagnostic,
    Entry,
    Heading,
    Items,
    Listing,
    Paragraph,
    Table,
)
from ltocompat.report.text import escape

# No markup, no mention, no issue number, no address: single underscores inside words are no markup.
_PLAIN = re.compile(r"(?:[A-Za-z0-9 ,;:(){}/+=%·-]|(?<=\w)[_.'](?=\w)|(?<!^)>(?==)|,<\d|\. )*\.?")
_OPENINGS: dict[type, str] = {Heading: "### ", Paragraph: "", Entry: "- "}
_ADDRESS = re.compile(r"://|www\.|[A-Za-z]\.[A-Za-z]")


def write(report: Report[Any], records: Iterable[Any], stream: Writable, options: Options) -> None:
    """Write the blocks of ``records`` with blank lines between them."""
    last: Block | None = None
    for block in report.blocks(records, options):
        together = isinstance(block, Entry | Diagnostic) and type(block) is type(last)
        if last is not None and not together:
            stream.write("\n")
        _write_block(block, stream)
        last = block


def _write_block(block: Block, stream: Writable) -> None:
    match block:
        case Heading(parts) | Paragraph(parts) | Entry(parts):
            stream.write(f"{_OPENINGS[type(block)]}{_line(parts)}\n")
        case Table(columns, rows):
            _write_head(columns, stream)
            for cells in rows:
                _write_row(cells, stream)
        case Listing(columns, listed, notes):
            _write_head([*columns, *([Column("notes")] if notes else [])], stream)
            for row in listed:
                below = "<br>".join(f"{label} {_code(text)}" for label, text in row.below)
                _write_row([*row.cells, *([_Done(below)] if notes else [])], stream)
        case Items():
            _write_items(block, stream)
        case Diagnostic():
            _write_diagnostic(block, stream)


def _write_items(items: Items, stream: Writable) -> None:
    stream.write(f"{items.title.capitalize()}:\n\n")
    for parts in items.lines:
        stream.write(f"- {_line(parts)}\n")
    if items.more:
        stream.write(f"- {items.more}\n")


def _write_diagnostic(found: Diagnostic, stream: Writable) -> None:
    """An item of a list, with an item beneath for each of the lines that say more."""
    stream.write(f"- **{found.word}** {_span(found.rule)}: {_span(found.headline)}\n")
    if found.where:
        stream.write(f"  - at {', '.join(map(_line, found.where))}\n")
    for label, text in (*found.reasons, ("fix", found.fix)):
        if text:
            stream.write(f"  - {label}: {_span(text)}\n")


def _write_head(columns: Sequence[Column], stream: Writable) -> None:
    stream.write(f"| {' | '.join(_span(column.name) for column in columns)} |\n")
    stream.write(f"| {' | '.join('---:' if column.right else '---' for column in columns)} |\n")


class _Done(str):
    """A cell that is Markdown already."""

    __slots__ = ()


def _write_row(cells: Iterable[str], stream: Writable) -> None:
    stream.write(f"| {' | '.join(map(_span, cells))} |\n")


def _line(parts: Iterable[str]) -> str:
    # Two spans that touch would be read as one with a longer fence.
    return "".join(_span(part) for part in parts).replace("``", "` `")


def _span(text: str) -> str:
    if isinstance(text, _Done):
        return text
    marked = [] if isinstance(text, Code) else re.split(r"`(\w[\w =.-]*)`", text)
    if len(marked) > 1:
        return _line(Code(part) if n % 2 else part for n, part in enumerate(marked))
    plain = not isinstance(text, Code) and _PLAIN.fullmatch(text) and not _ADDRESS.search(text)
    return text if plain else _code(text)


def _code(text: str) -> str:
    # A backtick would end the span and a pipe the cell, and neither can be escaped inside.
    return f"`{escape(text, also='`|')}`" if text else ""
