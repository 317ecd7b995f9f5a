"""Lines of parts for a terminal: escaped, wrapped between words, and coloured where it can."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

from ltocompat.report.document import Tone, Toned
from ltocompat.report.text import escape

_NARROWEST = 40

# Select Graphic Rendition (ECMA-48): 1 bold, 2 faint, 31 to 36 colours that every theme has.
_CODES = {
    Tone.OK: "32",
    Tone.JIT: "36",
    Tone.UNDOCUMENTED: "33",
    Tone.UNKNOWN: "1;35",
    Tone.FAIL: "1;31",
    Tone.NOTE: "1;36",
    Tone.STRONG: "1",
    Tone.FAINT: "2",
}


def filled(
    parts: Iterable[str],
    width: int | None,
    first: str = "",
    following: str = "",
    *,
    color: bool = False,
) -> str:
    """A paragraph, broken between words only, so that a place can still be copied.

    Args:
        parts: its words; those with a tone are coloured.
        width: columns; None: it stays one line.
        first: what the first line begins with.
        following: what the others begin with.
        color: whether tones are shown.
    """
    texts = [(escape(str(part)), part.tone if isinstance(part, Toned) else None) for part in parts]
    line = "".join(text for text, _ in texts)
    lines = [line] if width is None else _broken(line, width, first, following)
    if color:
        lines = list(_coloured(lines, line, texts))
    indents = [first] + [following] * (len(lines) - 1)
    return "".join(
        f"{indent}{text}".rstrip() + "\n" for indent, text in zip(indents, lines, strict=True)
    )


def painted(text: str, tone: Tone | None) -> str:
    """``text`` in the colour of a tone."""
    return text if tone is None or not text else f"\x1b[{_CODES[tone]}m{text}\x1b[0m"


def _broken(line: str, width: int, first: str, following: str) -> list[str]:
    wrapper = textwrap.TextWrapper(
        max(width, _NARROWEST),
        # Blanks in place of the indents, whose own colours have no width.
        initial_indent=" " * len(first),
        subsequent_indent=" " * len(following),
        break_long_words=False,
        break_on_hyphens=False,
        drop_whitespace=True,
    )
    wrapped = wrapper.wrap(line) or [""]
    return [text[len(following if number else first) :] for number, text in enumerate(wrapped)]


def _coloured(
    lines: Iterable[str], whole: str, texts: Iterable[tuple[str, Tone | None]]
) -> Iterator[str]:
    """The lines, each of which stands in the whole, with the colours of the parts."""
    tones = [tone for text, tone in texts for _ in text]
    position = 0
    for line in lines:
        position = whole.index(line, position)
        yield "".join(_runs(line, tones[position : position + len(line)]))
        position += len(line)


def _runs(line: str, tones: list[Tone | None]) -> Iterator[str]:
    start = 0
    for end in range(1, len(line) + 1):
        if end == len(line) or tones[end] is not tones[start]:
            yield painted(line[start:end], tones[start])
            start = end
