"""Headers of tar archives: ustar, pax and GNU, with their long names.

A header is a block of 512 bytes: name 100, mode 8, owner 8, group 8, size 12, time 12, checksum 8,
type 1, link target 100, magic 8, ..., at 345 a prefix of the name 155. Source: POSIX pax(1), and
the description of tar formats in the manual of GNU tar.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from ltocompat.model.errors import Malformed

BLOCK = 512

_USTAR = b"ustar\x00"
_SPARSE = "GNU.sparse"
_USED = (b"path", b"size", b"linkpath", b"GNU.sparse.name")
_RECORD = re.compile(rb"(\d{1,20}) ")


class TarHeader(NamedTuple):
    """What one header says.

    Attributes:
        name: as stored; other encodings are kept as surrogates.
        size: bytes of data that follow.
        type: one character, ``0`` for a file.
        target: of a link.
        sparse: zeros were left out of the data, so that it is no plain copy of the file.
        more: blocks that list more such zeros lie in front of the data (GNU).
    """

    name: str
    size: int
    type: str
    target: str
    sparse: bool = False
    more: bool = False

    def changed(self, records: Mapping[str, str]) -> TarHeader:
        """The same with what extended headers say.

        Raises:
            Malformed: a size in them is no number.
        """
        size = self.size
        if "size" in records:
            if not (records["size"].isascii() and records["size"].isdecimal()):
                raise Malformed(f"a pax header says that the size is {records['size'][:40]!r}")
            size = int(records["size"][:20])
        return TarHeader(
            records.get("GNU.sparse.name", records.get("path", self.name)),
            size,
            self.type,
            records.get("linkpath", self.target),
            self.sparse or _SPARSE in records,
            self.more,
        )


def is_header(block: bytes) -> bool:
    """Whether a block can begin an archive: it is marked as ustar, or its checksum is right."""
    return len(block) == BLOCK and (block[257:262] == b"ustar" or _checksum_holds(block))


def parse(block: bytes) -> TarHeader:
    """Read one header.

    Raises:
        Malformed: its checksum is wrong, or a number is none.
    """
    if not _checksum_holds(block):
        raise Malformed("the checksum of a member header is wrong")
    name = _text(block[:100])
    if block[257:263] == _USTAR and block[345]:
        name = f"{_text(block[345:500])}/{name}"
    size = _number(block[124:136])
    if size < 0:
        raise Malformed(f"a member says that its size is {size}")
    kind = chr(block[156]) if block[156] else "0"
    # Before POSIX a folder was a file whose name ends so.
    if kind == "0" and name.endswith("/"):
        kind = "5"
    sparse = kind == "S"
    return TarHeader(name, size, kind, _text(block[157:257]), sparse, sparse and block[482] != 0)


def is_continued(block: bytes) -> bool:
    """Whether another block with a list of zeros follows this one (GNU)."""
    return len(block) == BLOCK and block[504] != 0


def pax_records(data: bytes) -> dict[str, str]:
    """Those records ``length key=value`` of an extended header that matter here.

    Raises:
        Malformed: their lengths don't add up.
    """
    records = {}
    position = 0
    while position < len(data) and data[position]:
        key, value, position = _pax_record(data, position)
        if key in _USED:
            records[_decode(key)] = _decode(value)
        elif key.startswith(_SPARSE.encode()):
            records[_SPARSE] = ""
    return records


def _pax_record(data: bytes, position: int) -> tuple[bytes, bytes, int]:
    """Key and value of the record at ``position``, and where the next one begins.

    A length counts the whole record, from its own digits to the newline at the end. One that
    covers less is refused: after a length of 0 the same record would be read again for ever.
    """
    found = _RECORD.match(data, position)
    end = position + int(found[1]) if found else 0
    record = data[found.end() : end] if found and end <= len(data) else b""
    key, equals, value = record.partition(b"=")
    if not (key and equals and value.endswith(b"\n")):
        start = data[position : position + 40]
        raise Malformed(f"a pax header is broken at byte {position}, in the record {start!r}")
    return key, value[:-1], end


def long_name(data: bytes) -> str:
    """The name in a GNU long name header."""
    return _text(data)


def _checksum_holds(block: bytes) -> bool:
    """The sum of its bytes, with blanks for this field; old writers add signed bytes."""
    field = block[148:156].strip(b" \0")
    if not field or not field.isdigit() or b"8" in field or b"9" in field:
        return False
    blank = block[:148] + b" " * 8 + block[156:]
    total = sum(blank)
    signed = total - 256 * sum(byte > 127 for byte in blank)
    return int(field, 8) in (total, signed)


def _number(field: bytes) -> int:
    """Octal digits, or where the first bit is set a big-endian number (GNU)."""
    if field[0] in (0x80, 0xFF):
        number = int.from_bytes(field[1:], "big")
        return number - (1 << 8 * (len(field) - 1)) if field[0] == 0xFF else number
    digits = field.split(b"\0", 1)[0].strip()
    if not re.fullmatch(rb"[0-7]*", digits):
        raise Malformed(f"a number of a member header is {digits!r}")
    return int(digits or b"0", 8)


def _text(field: bytes) -> str:
    return _decode(field.split(b"\0", 1)[0])


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
