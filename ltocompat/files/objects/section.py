"""The two values that every host format is told in: a named stretch of the file, and text in it."""

from __future__ import annotations

from typing import NamedTuple

from ltocompat.files.byteview import ByteView
from ltocompat.model.image import PRELINKED_SECTIONS

# Names under which fatbin regions are kept; COFF and ELF have the full ones, PE images cut them to
# 8 characters.
FATBIN_SECTIONS = PRELINKED_SECTIONS | {".nv_fatbin", ".nv_fatb"}
WRAPPER_SECTIONS = frozenset({".nvFatBinSegment", ".nvFatBinSegmentAlt", ".nvFatBi"})

# Most names are short: one small read serves, and a longer one is read again.
_FIRST_PEEK = 256


class Section(NamedTuple):
    """One stretch of the file with a name.

    Attributes:
        name: as the section table gives it (PE: after the long-name table).
        offset: first byte in the file.
        size: bytes in the file, clipped to its end.
        address: where it is loaded; 0 in objects, based on the preferred image base in PE.
    """

    name: str
    offset: int
    size: int
    address: int

    @property
    def end(self) -> int:
        """The offset behind the last byte."""
        return self.offset + self.size

    @property
    def fatbin(self) -> bool:
        """Whether CUDA's compilers keep fatbin regions under this name."""
        return self.name in FATBIN_SECTIONS

    @property
    def wrapper(self) -> bool:
        """Whether CUDA's compilers keep the wrappers of fatbin regions under this name."""
        return self.name in WRAPPER_SECTIONS

    @property
    def prelinked(self) -> bool:
        """Whether the regions here are those of relocatable objects, kept for linking at load."""
        return self.name in PRELINKED_SECTIONS


def short_text(view: ByteView, offset: int, limit: int) -> str:
    """The NUL-terminated string at ``offset``, of at most ``limit`` bytes, cheap for short ones."""
    head = view.peek(offset, min(limit, _FIRST_PEEK))
    if len(head) == _FIRST_PEEK and b"\0" not in head:
        return view.text(offset, limit)
    return head.split(b"\0", 1)[0].decode("utf-8", "replace")
