"""Blocks as plain text for a terminal, or for a pipe, where lines are wrapped at 200 columns."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, zip_longest
from operator import itemgetter
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
    Style,
    Styled,
    Table,
)
from ltocompat.report.streams import PIPED
from ltocompat.report.text import clip, clip_place, escape, in_whole_words

_NARROWEST = 40

_NARROW = 100
_GAP = 2  # blanks between columns
_LONGEST = 400  # characters of one wrapped cell
_ARROW = "  --> "
_UNBROKEN = 1_000_000
_APART = "   "  # between what tells where a finding is
_LONGEST_RULE = 80
_Part = tuple[str, Style | None]
_NOTHING: _Part = ("", None)
_LEAST = 14  # columns that are left to a place, however narrow the terminal
_LEAST_OF_ALL = 4  # columns of a cell whose words are broken
_PUNCTUATION = 2  # columns that may follow a place


def write(report: Report[Any], records: Iterable[Any], stream: Writable, options: Options) -> None:
    """Write the blocks of ``records``, with a blank line before each new group."""
    last: Block | None = None
    for block in report.blocks(records, options):
        if last is not None and _begins_anew(block, last):
            stream.write("\n")
        _write_block(block, stream, options)
        last = block


def _begins_anew(block: Block, last: Block) -> bool:
    if isinstance(block, Table):
        return isinstance(last, Table | Items)
    if isinstance(block, Diagnostic):
        return not isinstance(last, Diagnostic)
    return isinstance(block, Heading) or (
        isinstance(block, Paragraph)
        and not isinstance(last, Listing | Paragraph | Entry | Diagnostic)
    )


def _write_block(block: Block, stream: Writable, options: Options) -> None:
    match block:
        case Heading(parts):
            strong = [Styled(part, Style.STRONG) if type(part) is Code else part for part in parts]
            stream.write(_filled(strong, options, following="  "))
        case Paragraph(parts, indent):
            stream.write(_filled(parts, options, following=" " * indent))
        case Entry(parts):
            stream.write(_filled(parts, options, following="  "))
        case Table(columns, rows):
            stream.write(_table(columns, rows, options))
        case Listing():
            _write_listing(block, stream, options)
        case Items():
            _write_items(block, stream, options)
        case Diagnostic():
            _write_diagnostic(block, stream, options)


def _write_items(items: Items, stream: Writable, options: Options) -> None:
    stream.write(_filled((f"{items.title}:",), options, following="  "))
    for parts in items.lines:
        stream.write(_filled(parts, options, "  ", "    "))
    if items.more:
        stream.write(_filled((items.more,), options, "  ", "    "))


def _write_diagnostic(found: Diagnostic, stream: Writable, options: Options) -> None:
    """As compilers do: ``fail[PTX-01] what``, ``  --> where``, ``  fix: how``."""
    opening = Styled(f"{found.word}[{found.rule}]", found.style)
    stream.write(_filled((opening, " ", found.headline), options, following="  "))
    indent = f"  {_painted('-->', Style.FAINT if options.color else None)} "
    for line in _in_lines(found.where, _width(options)):
        text = _filled(line, options, " " * len(_ARROW), " " * len(_ARROW))
        stream.write(indent + text[len(_ARROW) :])
        indent = " " * len(_ARROW)
    for label, text in (*found.reasons, ("fix", found.fix)):
        if text:
            parts = (Styled(f"{label}:", Style.STRONG), f" {text}")
            stream.write(_filled(parts, options, "  ", "       "))


def _fitted(part: str, room: int) -> str:
    """A place without the folders that a line has no room for; other words and names whole."""
    is_place = "/" in part and "://" not in part and " " not in part
    return clip_place(part, max(room, len(part.rpartition("/")[2]))) if is_place else str(part)


def _width(options: Options) -> int:
    """Columns of all but listings, whose rows are one line each; lines to paste are unbroken."""
    return _UNBROKEN if options.paste_for else options.width or PIPED


def _in_lines(groups: Iterable[tuple[str, ...]], width: int) -> Iterator[tuple[str, ...]]:
    """The groups side by side, as many as fit in a line."""
    line: tuple[str, ...] = ()
    for group in groups:
        longer = (*line, _APART, *group) if line else group
        if line and len(_ARROW) + len("".join(longer)) > width:
            yield line
            longer = group
        line = longer
    if line:
        yield line


def _table(columns: Sequence[Column], rows: Iterable[Sequence[str]], options: Options) -> str:
    width = _width(options)
    shown = _shown(columns, width)
    columns = [columns[index] for index in shown]
    chosen = [[row[index] for index in shown] for row in rows]
    cells = [[clip(escape(cell), _LONGEST) for cell in row] for row in chosen]
    heads = [escape(column.name) for column in columns]
    widths = _fit(columns, [heads, *cells], width)
    # Nothing stands behind the last column, which may be as long as all of PATH.
    rules = ["-" * size for size in (*widths[:-1], min(widths[-1], _LONGEST_RULE))]
    styles: list[list[Style | None]] = [[None] * len(shown)] * 2  # of the head and the rule
    styles += [[_style(cell, options) for cell in row] for row in chosen]
    lines = (
        _aligned(line, columns, widths)
        for row, painting in zip((heads, rules, *cells), styles, strict=True)
        for line in zip_longest(*map(_wrapped, row, widths, columns, painting), fillvalue=_NOTHING)
    )
    return "".join(lines)


def _wrapped(text: str, width: int, column: Column, style: Style | None) -> list[_Part]:
    """The lines of a cell."""
    if column.place:
        # Each folder of LD_LIBRARY_PATH counts, and each condition of NVIDIA_REQUIRE_CUDA, so that
        # such words are broken instead.
        text = re.sub(
            r"(?<!\S)(?!\S*(?::/|[<>=]))\S+", lambda word: clip_place(word[0], width), text
        )
        text = re.sub(r",(?=\w+[<>=])", ",\0 ", text)
    lines = textwrap.wrap(text.rstrip(), max(width, 1), break_on_hyphens=False)
    # A long word that is broken may begin its next line with what CI systems obey.
    return [(escape(re.sub("\0 ?", "", line)), style) for line in lines] or [_NOTHING]


def _aligned(cells: Iterable[_Part], columns: Sequence[Column], widths: Sequence[int]) -> str:
    """One line of a table."""
    words = []
    for (text, style), column, size in zip(cells, columns, widths, strict=True):
        blanks, shown = " " * (size - len(text)), _painted(text, style)
        words.append(blanks + shown if column.right else shown + blanks)
    return (" " * _GAP).join(words).rstrip() + "\n"


def _shown(columns: Sequence[Column], width: int) -> list[int]:
    """Which columns there is room for."""
    wide = width >= _NARROW
    return [index for index, column in enumerate(columns) if wide or not column.optional]


def _fit(columns: Sequence[Column], rows: Iterable[Sequence[str]], width: int) -> list[int]:
    """Widths that fit the terminal: the widest column that may give way does so first.

    Columns that may be wrapped give way first, then heads and all others down to their longest
    word, and places, which are then clipped; at last words are broken.
    """
    cells = [*zip(*rows, strict=True)]
    widths = [max(map(len, column)) for column in cells]
    words = [max(len(word) for cell in column for word in [*cell.split(), ""]) for column in cells]
    each = [*zip(columns, widths, words, strict=True)]
    room = width - _GAP * (len(columns) - 1)
    for leasts in (
        [max(min(c.width, size) or size, word) for c, size, word in each],
        words,
        [min(word, _LEAST) if c.place else word for c, word in zip(columns, words, strict=True)],
        [_LEAST_OF_ALL] * len(columns),
    ):
        while sum(widths) > room:
            flexible = [index for index, least in enumerate(leasts) if widths[index] > least]
            if not flexible:
                break
            widths[max(flexible, key=lambda index: widths[index])] -= 1
    return widths


def _style(cell: str, options: Options) -> Style | None:
    return cell.style if options.color and isinstance(cell, Styled) else None


def _write_listing(listing: Listing, stream: Writable, options: Options) -> None:
    columns, width = listing.columns, _width(options)
    shown = _shown(columns, width)
    chosen = [columns[index] for index in shown]
    widths = _listing_widths(chosen, width)
    stream.write(_listed([column.name for column in chosen], chosen, widths, options))
    end = max(_LEAST, len(chosen[-1].name)) if chosen[-1].place else widths[-1]
    rules = ["-" * size for size in (*widths[:-1], min(end, widths[-1]))]
    stream.write(_listed(rules, chosen, widths, options))
    for row in listing.rows:
        stream.write(_listed([row.cells[index] for index in shown], chosen, widths, options))
        for label, text in row.below:
            stream.write(_below(f"{label} {escape(text)}", width))


def _listing_widths(columns: Sequence[Column], width: int) -> list[int]:
    """Chosen before the first row is known: each its own, the last the rest of the line."""
    sizes = ["x" * (column.width or max(_LEAST, len(column.name))) for column in columns]
    widths = _fit([Column("", width=1)] * len(columns), [sizes], width)
    rest = width - sum(size + _GAP for size in widths[:-1])
    return [*widths[:-1], widths[-1] if columns[-1].width else rest]


def _listed(
    cells: Sequence[str], columns: Sequence[Column], widths: Sequence[int], options: Options
) -> str:
    """One row; a place that does not fit behind the other cells has a line of its own."""
    parts, below = list[list[_Part]](), ""
    for cell, column, size in zip(cells, columns, widths, strict=True):
        text = escape(cell)
        if column.place and len(text) > size:
            text, below = "", _below(text, _width(options))
        parts.append(_wrapped(text, size, column, _style(cell, options)))
    lines = zip_longest(*parts, fillvalue=_NOTHING)
    return "".join(_aligned(line, columns, widths) for line in lines) + below


def _below(text: str, width: int) -> str:
    """What stands beneath a row, whole: a word that is longer than the line is broken."""
    lines = "\n      ".join(textwrap.wrap(text, width - 6, break_on_hyphens=False))
    return f"    {lines}\n"


def _filled(parts: Iterable[str], options: Options, first: str = "", following: str = "") -> str:
    """A paragraph, broken between words; within one only where it is longer than a line.

    Args:
        parts: its words; those with a style are coloured.
        options: columns of the terminal, and whether styles are shown.
        first: what the first line begins with.
        following: what the others begin with.
    """
    width = _width(options)
    room = max(width - len(following) - _PUNCTUATION, _NARROWEST)
    texts = [
        (escape(_fitted(part, room)), part.style if isinstance(part, Styled) else None)
        for part in parts
    ]
    line = "".join(text for text, _ in texts)
    lines = _broken(line, width, first, following)
    if options.color:
        lines = list(_coloured(lines, line, texts))
    indents = [first] + [following] * (len(lines) - 1)
    return "".join(
        f"{indent}{text}".rstrip() + "\n" for indent, text in zip(indents, lines, strict=True)
    )


def _painted(text: str, style: Style | None) -> str:
    """``text`` in the colour of a style."""
    return text if style is None or not text else f"\x1b[{style.value}m{text}\x1b[0m"


def _broken(line: str, width: int, first: str, following: str) -> list[str]:
    width = max(width, _NARROWEST)
    # Blanks in place of the indents, whose own colours have no width.
    indented = in_whole_words(line, width, " " * len(first), " " * len(following))
    # A member's place, or a symbol, that is longer than a line goes on in the next one. Addresses
    # and paths are whole, since they stand in commands to paste.
    piece = rf".{{1,{width - max(len(first), len(following))}}}"
    pieces = re.compile(rf"{piece}$|{piece}(?:(?<=::)|(?<=/))|{piece}")
    lines: list[str] = []
    for number, wrapped in enumerate(indented or [""]):
        text = wrapped[len(following if number else first) :]
        too_long = len(wrapped) > width and " " not in text and re.search("::|_Z", text)
        lines += pieces.findall(text) if too_long else [text]
    return lines


def _coloured(
    lines: Iterable[str], whole: str, texts: Iterable[tuple[str, Style | None]]
) -> Iterator[str]:
    """The lines, each of which stands in the whole, with the colours of the parts."""
    styles = [style for text, style in texts for _ in text]
    position = 0
    for line in lines:
        position = whole.index(line, position)
        letters = zip(line, styles[position : position + len(line)], strict=True)
        runs = groupby(letters, key=itemgetter(1))
        yield "".join(_painted("".join(letter for letter, _ in run), style) for style, run in runs)
        position += len(line)
