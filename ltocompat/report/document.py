"""Blocks of a report, before a format gives them a shape: headings, tables, listings, items.

A verb turns its records into blocks, a format turns blocks into text; so a new verb or a new
format is one new file. Every string may come from a hostile file: formats escape all of them.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Sequence
from itertools import compress
from typing import Self

from msgspec import Struct

from ltocompat.model.verdict import Level, Verdict

MEANINGS = {
    Verdict.OK: "documented to work",
    Verdict.JIT: "works, the driver compiles PTX at load",
    Verdict.UNDOCUMENTED: "works in tests, but NVIDIA doesn't promise it",
    Verdict.UNKNOWN: "a fact is missing (check names it)",
    Verdict.FAIL: "will not link or load",
}

# Drawn around the origin, in pictures of matrices too. Colour is never all.
SHAPES: dict[str, str] = {
    "ok": "M-5 .5l3.4 3.5L5-4",
    "jit": "M-3-5H3M1-5v7.2a2.8 2.8 0 0 1-5.4 0",
    "undocumented": "M-6 1.5c2-4.5 4-4.5 6-1.5s4 3 6-1.5",
    "unknown": "M-3-2.6a3 3 0 1 1 4.4 2.7Q0 .9 0 2.3M0 5.6v.1",
    "fail": "M-4-4l8 8M4-4l-8 8",
    "error": "M-4-4l8 8M4-4l-8 8",
    "warning": "M0-5v6.4M0 5v.1",
    "note": "M0-1.4V5M0-5v.1",
}


class Style(enum.Enum):
    """The meanings of colours, each with a terminal's code; no answer depends on colour alone.

    The values are Select Graphic Rendition (ECMA-48): 1 bold, 2 faint, 31 to 36 colours that every
    theme has.
    """

    OK = "32"
    JIT = "36"
    UNDOCUMENTED = "33"
    UNKNOWN = "1;35"
    FAIL = "1;31"
    NOTE = "1;36"
    STRONG = "1"
    FAINT = "2"


def style_of(verdict: Verdict, level: Level = Level.WARNING) -> Style:
    """Return the style of a verdict; a note always has the style of notes."""
    return Style.NOTE if level is Level.NOTE else Style[verdict.name]


class Code(str):
    """A place, a path or a name, which formats may set off from words."""

    __slots__ = ()


class Styled(str):
    """Words with a colour on terminals.

    Attributes:
        style: the meaning of the colour.
    """

    __slots__ = ("style",)
    style: Style

    def __new__(cls, text: str, style: Style) -> Self:
        """``text`` in a style."""
        styled = super().__new__(cls, text)
        styled.style = style
        return styled


class Column(Struct, frozen=True):
    """One column.

    Attributes:
        name: its heading.
        right: True to align numbers to the right.
        width: its terminal columns in a listing; in a table, the narrowest wrapping, or 0 to never
            wrap it.
        optional: True to leave it out on terminals narrower than 100 columns.
        place: True if its words are paths and places, which are never broken.
    """

    name: str
    right: bool = False
    width: int = 0
    optional: bool = False
    place: bool = False


class Row(Struct, frozen=True):
    """A row of a listing, and the pairs of a label and a text below it."""

    cells: tuple[str, ...]
    below: tuple[tuple[str, str], ...] = ()


def separated(parts: Iterable[str], separator: str = ", ") -> tuple[str, ...]:
    """Return parts with a separator between them."""
    return tuple(part for own in parts for part in (separator, own))[1:]


class Heading(Struct, frozen=True):
    """The first line about an artifact."""

    parts: tuple[str, ...]


class Paragraph(Struct, frozen=True):
    """A separate line.

    Attributes:
        parts: its words.
        indent: columns before each continuation line on a terminal.
    """

    parts: tuple[str, ...]
    indent: int = 2


class Table(Struct, frozen=True):
    """A table with few rows, all known."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]


def table_of(
    columns: Sequence[Column], rows: Iterable[Sequence[str]], shown: Sequence[bool]
) -> Table:
    """Return a table with only the columns that ``shown`` selects."""
    cells = (tuple(compress(row, shown)) for row in rows)
    return Table(tuple(compress(columns, shown)), tuple(cells))


class Listing(Struct, frozen=True):
    """Any number of rows, printed one by one; they must be used up before the next block.

    Attributes:
        columns: the columns.
        rows: the rows.
        notes: True if a row may have notes below it.
    """

    columns: tuple[Column, ...]
    rows: Iterator[Row]
    notes: bool = True


class Items(Struct, frozen=True):
    """A title and lines below it.

    Attributes:
        title: the common part of the lines.
        lines: the parts of each line.
        more: a text about lines that were left out, else None.
    """

    title: str
    lines: tuple[tuple[str, ...], ...]
    more: str | None = None


def first_lines(title: str, lines: Sequence[tuple[str, ...]], most: int) -> Items:
    """Return up to ``most`` lines, with the number of lines that were left out."""
    return Items(title, tuple(lines[:most]), left_out(len(lines) - most))


def left_out(number: int) -> str | None:
    """Return the text after the first lines; None if there are no others."""
    return f"and {number:,} more; --format json lists all" if number > 0 else None


class Diagnostic(Struct, frozen=True):
    """A finding in three lines: the problem, the places, and the fix.

    Attributes:
        word: the verdict, or ``note``.
        style: the style of the word.
        rule: ID of the rule.
        headline: the problem, with the values.
        where: groups of parts that belong together: a place, the number of modules, the targets.
        fix: the fix; empty if there is nothing to do.
        reasons: further requested facts: pairs of a label and a text.
    """

    word: str
    style: Style
    rule: str
    headline: str
    where: tuple[tuple[str, ...], ...]
    fix: str = ""
    reasons: tuple[tuple[str, str], ...] = ()


class Entry(Struct, frozen=True):
    """One line of a list that is printed line by line."""

    parts: tuple[str, ...]


Block = Heading | Paragraph | Table | Listing | Items | Entry | Diagnostic
