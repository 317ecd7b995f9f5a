"""Small files of text, which most members of most packages are: told without asking each format."""

from __future__ import annotations

from ltocompat.files.archives.tar import BLOCK, is_header
from ltocompat.files.byteview import ByteView
from ltocompat.files.fatbin import region
from ltocompat.files.images import ptx

_MOST = 64 << 10
_HEAD = 16
_TEXT = bytes((*b"\t\n\v\f\r", *range(0x20, 0x7F), *range(0x80, 0x100)))
# Formats whose first bytes are text. Of all others they hold control characters, as those of gzip,
# or bytes that no text holds anywhere.
_BEGINNINGS = (b"!<", b"BZh", b"MZ", region.MAGIC)
# UTF-8 has none of them, and whatever is found behind other bytes has one: a region's header zeros,
# the end of a zip 5, ELF and LTO-IR 7F, Zstandard FD.
_NEVER_IN_TEXT = (0x00, 0x05, 0x7F, 0xFD)


def holds_no_code(view: ByteView) -> bool:
    """Whether this is a small text, but for PTX: no container, no host file, no device code.

    What is said of no other file is left to the formats.
    """
    if view.size > _MOST or view.peek(0, _HEAD).translate(None, _TEXT):
        return False
    data = view.all()
    if any(byte in data for byte in _NEVER_IN_TEXT) or data.startswith(_BEGINNINGS):
        return False
    return not (ptx.sniff(data[: ptx.HEAD_SIZE]) or is_header(data[:BLOCK]))
