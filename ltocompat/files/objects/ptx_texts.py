"""PTX that lies as text inside of other bytes: data of libraries, sources, JSON, pickles, HDF5.

OptiX, a driver or nobody is given it. Nothing is decoded: a pickle and a file of HDF5 are bytes.
"""

from __future__ import annotations

import re

from msgspec import Struct, field
from msgspec.structs import replace

from ltocompat.files.byteview import ByteView
from ltocompat.files.first_bytes import PTX_TEXT
from ltocompat.files.objects.structure import occurrences
from ltocompat.model.image import PtxText
from ltocompat.model.limits import MIB, Budget

# Sources and JSON write the ends of lines as they have them, or as \n.
_END = rb"(?:[\r\n]|\\[nr])"
_GAP = rb"(?:\s|\\[nrt]|//[^\r\n\\]{0,200}" + _END + rb"){1,64}"
_TEXT = re.compile(
    rb"\.version\s{1,8}(\d{1,2}\.\d{1,2})" + _GAP + rb"\.target\s{1,8}(sm_\d{2,3}[af]?)"
)
_ENTRY = re.compile(rb"\x01\x00\x01\x01(.{4})", re.DOTALL)  # of PTX, with the size of its head
_MOST_HEAD = 1024  # bytes of a PTX text, up to its target; of an entry's head
_MOST_PAIRS = 20  # of a version and a target
_MOST_BYTES = 256 * MIB  # of a file that is no device code


class PtxTexts(Struct):
    """PTX texts of one file by version and target."""

    found: dict[tuple[str, str], PtxText] = field(default_factory=dict)

    def note(self, view: ByteView, at: int, end: int) -> None:
        """Add the beginning of a PTX text, unless it is a format string or lies in a fatbin."""
        ptx = _TEXT.match(view.peek(at, _MOST_HEAD))
        if ptx and at + ptx.end() <= end and not _begins_payload(view, at):
            key = ptx[1].decode(), ptx[2].decode()
            first = self.found.get(key, PtxText(*key, at, 0))
            if first.number or len(self.found) < _MOST_PAIRS:
                self.found[key] = replace(first, number=first.number + 1)

    def sorted(self) -> tuple[PtxText, ...]:
        """Return the texts by version and target."""
        return tuple(text for _, text in sorted(self.found.items()))


def _begins_payload(view: ByteView, at: int) -> bool:
    """Return whether a text begins an image of a fatbin, as it is or behind a token of LZ4."""
    head = view.read(max(0, at - _MOST_HEAD), min(at, _MOST_HEAD))
    ends = (e.start() + int.from_bytes(e[1], "little") for e in _ENTRY.finditer(head))
    return any(len(head) - 16 <= end <= len(head) for end in ends)


def ptx_texts(view: ByteView, budget: Budget) -> tuple[PtxText, ...]:
    """Return the PTX in a file that is neither device code nor a library.

    Raises:
        LimitExceeded: the time is used up.
    """
    texts = PtxTexts()
    for at in occurrences(view, budget, 0, _MOST_BYTES, PTX_TEXT):
        texts.note(view, at, view.size)
    return texts.sorted()
