"""Words and numbers as every report writes them, safe to print whatever a file contains."""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Iterable, Sequence

from ltocompat.model.arch import ArchForm, SmArch
from ltocompat.model.generic import T
from ltocompat.model.image import Image, ImageKind, Needs, Producer

_UNITS = ("KiB", "MiB", "GiB", "TiB")
_LONGEST = 2_000
LONGEST_NAME = 160  # of a kernel, columns
MOST_ARCHS = 200  # that are counted apart
LONG_ROOT = 16  # characters of a folder that is worth to be told once
# A command, with its words that are quoted or have a sign: options, paths, numbers, FILE.
_COMMAND = re.compile(
    r"\b(?:ltocompat|pip) [a-z]+(?: install)?(?: (?:'[^']+'|\S*(?:[-</.=:\d]|[A-Z]{2})\S*))+"
)
_PASTED = re.compile(r"[-/<=:_\d][^\s)`]*$")  # the end of a command, an option or a place
_CLAUSE_END = re.compile(r"(?<!Requires-Dist)(?<!epends): |; |\. |, (?:or|so|which|and) ")

# The first character of what CI systems obey. GitHub's runner passes over blanks before ``::``, and
# takes what follows up to a blank for a command: ``Environment :: GPU`` is none, however it is cut.
_OBEYED = re.compile(r"#(?=#)|(?:^|(?<=\s)):(?=:\S)")


class Few(dict[T, None]):
    """Distinct values in their order, up to a bound, so that no file can fill memory.

    Attributes:
        more: True if further distinct values were left out.
    """

    __slots__ = ("_limit", "more")

    def __init__(self, limit: int) -> None:
        super().__init__()
        self._limit = limit
        self.more = False

    def add(self, *values: T) -> None:
        """Keep new values, as long as there is room."""
        for value in values:
            if value in self or len(self) < self._limit:
                self[value] = None
            else:
                self.more = True


class Firsts(list[T]):
    """The first values, up to a bound.

    Attributes:
        left_out: number of further values.
    """

    def __init__(self, limit: int) -> None:
        super().__init__()
        self._limit = limit
        self.left_out = 0

    def add(self, value: T) -> None:
        """Keep a value, as long as there is room."""
        if len(self) < self._limit:
            self.append(value)
        else:
            self.left_out += 1


def escape(text: str, also: str = "") -> str:
    r"""Escape characters that a terminal would obey or hide, as ``\x1b`` or ``\u202e``.

    That covers control characters, bidirectional marks, line breaks and lone surrogates (bytes that
    are not UTF-8), each character of ``also``, and texts that CI systems obey in any output:
    ``##[``, ``##vso[`` and the like, and ``::word`` at the begin of a line or at a possible break.
    """
    if "##" in text or "::" in text:
        text = _OBEYED.sub(lambda found: _code_of(found[0]), text)
    if text.isprintable() and not (also and any(char in text for char in also)):
        return text
    return "".join(
        char if char.isprintable() and char not in also else _code_of(char) for char in text
    )


def _code_of(char: str) -> str:
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that Python smuggled through (surrogateescape)
        return f"\\x{code - 0xDC00:02x}"
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def clip(text: str, width: int) -> str:
    """Truncate ``text`` to ``width`` columns, with two dots at the end."""
    return text if len(text) <= width else text[: max(width - 2, 0)] + ".."


def in_whole_words(text: str, width: int, first: str = "", following: str = "") -> list[str]:
    """Return lines with their indents; a word or command longer than a line is not broken."""
    wrapper = textwrap.TextWrapper(width, first, following, break_long_words=False)
    wrapper.break_on_hyphens = False
    text = _COMMAND.sub(lambda command: command[0].replace(" ", "\0"), text)
    return [line.replace("\0", " ") for line in wrapper.wrap(text)]


def clip_middle(text: str, width: int) -> str:
    """Leave out the middle of a place."""
    if len(text) <= width:
        return text
    tail = (width - 2) * 2 // 3
    return text[: width - 2 - tail] + ".." + text[len(text) - tail :]


def clip_place(place: str, width: int) -> str:
    """Leave folders, and then the middle, out of a place longer than ``width`` columns."""
    path, mark, inside = place.partition("::")
    while len(path) + len(mark + inside) > width and "/" in path:
        path = path.partition("/")[2]
    return clip_middle(path + mark + inside, width)


def first_clauses(text: str, width: int) -> str:
    """Return the first clauses of a sentence that fit in ``width`` columns, at least one.

    The first clause of our sentences has the problem, or the best fix.
    """
    if len(text) <= width:
        return text
    closed = re.sub(r"\([^()]*\)", lambda group: "_" * len(group[0]), text)
    ends = [match.start() for match in _CLAUSE_END.finditer(closed)]
    fitting = [end for end in ends if end <= width] or ends[:1]
    return text[: fitting[-1]] if fitting else clip(text, 2 * width)


def common_folder(paths: Iterable[str], least: int = 1) -> str:
    """Return the common folder of all paths with a slash at the end; empty if it is shorter."""
    shared = os.path.commonprefix(list(paths))  # noqa: RUF071 - cut at a slash in the next line
    end = shared.rfind("/") + 1
    return shared[:end] if end >= least else ""


def sentence(text: str) -> str:
    """End a sentence with one full stop, unless its last word is one to paste, as of a command.

    Users' texts in policies may already have a full stop.
    """
    return text if text.endswith(".") or _PASTED.search(text) else f"{text}."


def alternatives(fixes: Iterable[str]) -> str:
    """Return several fixes as sentences, of which a command has no full stop behind it."""
    first, *others = [*fixes] or [""]
    for fix in others:
        first += f"; or {fix}" if _PASTED.search(first) else f". Or {fix}"
    return first


def truncate(text: str) -> str:
    """Limit a sentence about a hostile file to a readable length."""
    return clip(text, _LONGEST)


def safe_text(text: str) -> str:
    """Limit any text to a readable length, and make it safe to print."""
    return escape(truncate(text))


def binary_size(size: int) -> str:
    """Bytes in binary units: ``812 B``, ``2.0 KiB``, ``1.2 GiB``."""
    if size < 1024:
        return f"{size} B"
    value = float(size)
    for unit in _UNITS:
        value /= 1024
        if round(value, 1) < 1024:
            return f"{value:.1f} {unit}"
    return f"{value:,.1f} {_UNITS[-1]}"


def stored_size(size: int | None) -> str:
    """Return the bytes of an image in its file; ``unknown`` if nothing records its end."""
    return "unknown" if size is None else binary_size(size)


def fold_archs(archs: Iterable[SmArch]) -> str:
    """Sorted, each form named once: ``sm_80, 86, 90a``."""
    words: list[str] = []
    last: ArchForm | None = None
    for arch in sorted(archs, key=lambda arch: (list(ArchForm).index(arch.form), arch)):
        words.append(str(arch) if arch.form != last else f"{arch.number}{arch.suffix}")
        last = arch.form
    return ", ".join(words)


def span(names: Sequence[str]) -> str:
    """Return neighbours by the first and the last: ``sm_75 to 90``; empty for none."""
    return "".join(names) if len(names) < 2 else f"{names[0]} to {names[-1].removeprefix('sm_')}"


def kind_label(image: Image) -> str:
    """Return the kind; for an unknown kind, with its number in the fatbin entry."""
    if image.kind is ImageKind.UNKNOWN and image.kind_number is not None:
        return f"{image.kind} {image.kind_number:#x}"
    return str(image.kind)


def makers_label(makers: tuple[Producer, ...]) -> str:
    """Return all makers of an image, oldest first; ``unknown`` if there are none."""
    return ", ".join(map(str, makers)) or "unknown"


def evidence_label(makers: tuple[Producer, ...]) -> str:
    """Return the evidence of the makers, each source once."""
    return ", ".join(dict.fromkeys(maker.evidence for maker in makers if maker.evidence))


def needs_label(needs: Needs) -> str:
    """``needs PTX ISA 8.4``; empty if nothing is known."""
    versions = (("PTX ISA", needs.ptx_isa), ("Tile IR", needs.tile_ir))
    words = [f"{name} {version}" for name, version in versions if version]
    return f"needs {', '.join(words)}" if words else ""
