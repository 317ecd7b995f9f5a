"""A pasted text as programs wrote it: without what terminals, loggers and web pages did to it."""

from __future__ import annotations

import html
import itertools
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

_ANSI = re.compile(r"\x1b(?:\[[0-?]{0,40}[ -/]{0,4}[@-~]|\][^\x07\x1b]{0,200}(?:\x07|\x1b\\))")
_TAG = re.compile(
    r"</?(?:a|b|br|code|details|div|em|i|li|ol|p|pre|samp|span|strong|summary|td|th|tr|ul)"
    r"(?: [^<>]{0,200})?/?>"
)
# Typographic quotation marks, and full-width punctuation.
_STRAIGHT = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u2032", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u2033", '"'),
        "\xa0": " ",
        **{chr(wide): chr(wide - 0xFEE0) for wide in range(0xFF01, 0xFF5F)},
    }
)
_ESCAPED = re.compile(r"\\(?:([nrt])|u([0-9a-fA-F]{4})|(['\"/\\]))")
_BLANKS = {"n": "\n", "r": "\n", "t": " "}
# A path of Windows has a backslash before other letters, too.
_JSON = re.compile(r"(?!.*[^\\]\\[^\"'/\\bfnrtux])(?:\s{0,20}[\[{\"]|.{0,4000}\\\")")
_MARKDOWN = re.compile(r"\\([_*`>#~|-])")
# Markdown escapes all of these characters; Windows paths have others after a backslash, too.
_UNESCAPED = re.compile(r"(?<!\\)[_*`]")
_BULLET = re.compile(r"(?:[-*] )?\*\*(?=\S)|(?<=\S)\*\*(?=\s|$)")
# Quote marks and edges of a box around a line; a line that is nothing but edges is none.
_LEFT_EDGE = re.compile(r"\s{0,20}(?:>\s?){1,8}|\s{0,4}[|│┃║] ?")
_EDGES = "|│┃║"
_RULE = re.compile(r"[-+=_~*#|─-╿ \t]{4,}")
# What loggers write before a message: a time, and words in brackets, levels and names around it.
_DATE = r"(?:[0-9]{4}[-/][0-9]{2}[-/][0-9]{2}[T ])?(?:[0-9]{2}[-/][0-9]{2} )?"
_DAY = rf"{_DATE}(?:[A-Z][a-z]{{2}} [ 0-9][0-9] )?"
_TIME = rf"{_DAY}[0-9][0-9]:[0-9][0-9]:[0-9][0-9][.,0-9]{{0,10}}(?:Z|[+-][0-9][0-9]:?[0-9][0-9])?"
_LOGGED = re.compile(
    rf"\A(?=.{{0,86}}:[0-9][0-9]:)(?=.{{0,60}}{_TIME})"
    rf"(?:\[[^\[\]]{{1,60}}\]:?|\([\w=.:# -]{{1,60}}\)|{_TIME}"
    r"|(?:DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL|FATAL)\b(?! [0-9]{1,3}(?: in |:))"
    r"|[\w.-]{1,40}(?= ?\|)|[\w.-]{1,40} [\w./-]{1,40}\[[0-9]{1,9}\]:|std(?:err|out) [FP]\b"
    r"|[|:-]|\s){1,12}"
)
_NEAR = 100  # letters; no fixed string of a message has more
# Terminals and boxes are at least this wide: a shorter line was not wrapped.
_NARROWEST = 40


class _Piece(Struct, frozen=True):
    """A part of a line.

    Attributes:
        text: without what surrounds it; blanks at its ends stand.
        line: the number of its line in the paste.
        width: the width of that line inside of its box, in characters.
    """

    text: str
    line: int
    width: int


class Reading:
    """A text in one line with single blanks; its positions lead back to the lines of the paste.

    Attributes:
        flat: the text.
        own: the characters around joined lines, which only this reading has; else the text.
    """

    def __init__(self, parts: Iterable[tuple[str, int]]) -> None:
        pieces = list(parts)
        lengths = (len(text) for text, _ in pieces)
        self._starts = [*itertools.accumulate(lengths, initial=0)][:-1]
        self._lines = [line for _, line in pieces]
        self.flat = flat = "".join(text for text, _ in pieces)
        self._words = [*itertools.accumulate(map(len, flat.replace(" ", " \n").split("\n")))][:-1]
        seams = (start for start in self._starts[1:] if flat[start] != " ")
        around = "\n".join(flat[max(at - _NEAR, 0) : at + _NEAR] for at in seams)
        self.own = min(around or flat, flat, key=len)

    def line_of(self, place: int) -> int:
        """Return the number of the line of a position."""
        return self._lines[bisect_right(self._starts, place) - 1]

    def letters_before(self, place: int) -> int:
        """Return the number of non-blank characters before a position, equal in all readings."""
        return place - bisect_right(self._words, place)


class Paste:
    """A pasted text, with its lines as they are and with wrapped lines joined.

    Attributes:
        readings: the text with a blank for each line break. If some lines fill the width of the
            terminal or box, also the text without a blank after these lines.
    """

    def __init__(self, text: str) -> None:
        self._lines = text.splitlines()
        pieces = list(_pieces(self._lines))
        broken = Reading(_joined(pieces, width=0))
        widest = max((piece.width for piece in pieces), default=0)
        wrapped = Reading(_joined(pieces, widest if widest >= _NARROWEST else 0))
        self.readings = (broken,) if wrapped.flat == broken.flat else (broken, wrapped)

    def line(self, number: int) -> str:
        """Return a line of the paste unchanged, without blanks around it."""
        return self._lines[number].strip()


def plain_lines(text: str) -> Iterator[str]:
    """Yield the lines of a paste without colours, tags, quote marks and box borders."""
    for line in text.splitlines():
        yield from map(_without_edges, _undone(line).split("\n"))


def _pieces(lines: Sequence[str]) -> Iterator[_Piece]:
    """The part of each line that programs wrote."""
    for number, line in enumerate(lines):
        for part in _undone(line).split("\n"):
            inside = _without_edges(part)
            text = _LOGGED.sub("", inside, count=1)
            if text.strip() and not _RULE.fullmatch(text):
                yield _Piece(text, number, len(inside))


def _without_edges(line: str) -> str:
    left = _LEFT_EDGE.match(line)
    start = left.end() if left else 0
    end = len(line.rstrip(" \t"))
    if end > start and line[end - 1] in _EDGES:
        end = len(line[: end - 1].rstrip(" \t"))
    return line[start:end]


def _undone(line: str) -> str:
    """A line without colours, tags, escapes and typographic quotes; it may become several."""
    if "\x1b" in line:
        line = _ANSI.sub("", line)
    if "&" in line or "<" in line:
        line = html.unescape(_TAG.sub(" ", line))
    if not line.isascii():
        line = line.translate(_STRAIGHT)
    if "\\" in line:
        if _JSON.match(line):
            line = _ESCAPED.sub(_unescaped, line)
        elif not _UNESCAPED.search(line):
            line = _MARKDOWN.sub(r"\1", line)
    return _BULLET.sub("", line) if "**" in line else line


def _unescaped(match: re.Match[str]) -> str:
    blank, number, letter = match.groups()
    if blank:
        return _BLANKS[blank]
    return chr(int(number, 16)) if number else letter


def _joined(pieces: Sequence[_Piece], width: int) -> Iterator[tuple[str, int]]:
    """The parts of a text in one line, with the line that each comes from.

    Args:
        pieces: of the text.
        width: a piece that is as wide goes on in the next one without a blank; 0 for none.
    """
    cut = True
    for piece in pieces:
        text = " ".join(piece.text.split())
        blank = "" if cut and not piece.text[0].isspace() else " "
        yield f"{blank}{text}", piece.line
        cut = bool(width) and piece.width >= width
