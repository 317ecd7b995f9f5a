"""Archives that hold themselves: unpacked they are the same bytes again, without end.

The construction is Russ Cox's ("Zip Files All The Way Down", 2010): a text of Deflate blocks that
prints itself, with a head and a tail around it. A stored block prints what follows it, a block of
matches repeats what was printed last; each takes five bytes, so that either can print the other.
The CRC-32 of the whole stands in it, too: it is linear, so that it can be solved for.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from functools import partial

from package_writer import tar_header

_OP = 5  # bytes of a block without what follows it
_END = b"\1\0\0\xff\xff"  # the last block, which prints nothing
_FULL = 258 - _OP  # bytes of an end that one match repeats, with the head of a block before it
_EMPTY = "010" + 7 * "0"  # a block of matches without any
# Blocks of matches by the bytes that they repeat: a length, 5 bits of a distance, and more of them,
# lowest first (RFC 1951, 3.2.5 and 3.2.6).
_MATCHES = {
    18: 2 * ("0000111" + "01000" + "100"),  # 9 and 9
    20: 2 * ("0001000" + "01000" + "110"),  # 10 and 10
    258: "11000101" + "10000" + "1000000",
}

Ends = Callable[[int, int, int], tuple[bytes, bytes]]
"""The CRC-32 of what is printed, the size of the file, the number of the try -> head and tail."""


def gzip_quine() -> bytes:
    """A gzip stream of itself."""

    def ends(crc: int, size: int, number: int) -> tuple[bytes, bytes]:
        return _gzip_head(b"", number), _END + struct.pack("<II", crc, size)

    return _quine(ends, lambda whole: whole)


def zip_quine() -> bytes:
    """A zip with itself as its one member."""
    name = b"r/r.zip"
    filling = _FULL - 30 - len(name) - 4
    extra = struct.pack("<HH", 0xCAFE, filling) + bytes(filling)
    comment = bytes(_FULL - _OP - 46 - len(name) - 22)

    def ends(crc: int, size: int, number: int) -> tuple[bytes, bytes]:
        row = 46 + len(name)
        packed = max(0, size - _FULL - row - 22 - len(comment))
        start = max(0, size - row - 22 - len(comment))
        fields = struct.pack("<HHHHHIIIH", 20, 0, 8, number, 0x21, crc, packed, size, len(name))
        head = b"PK\3\4" + fields + struct.pack("<H", len(extra)) + name + extra
        central = b"PK\1\2\x14\0" + fields + bytes(16) + name
        end = struct.pack("<4s4xHHIIH", b"PK\5\6", 1, 1, row, start, len(comment))
        return head, _END + central + end + comment

    return _quine(ends, lambda whole: whole)


def tar_gz_quine() -> bytes:
    """A gzip stream of a tar with itself as its one member."""

    def behind(size: int) -> int:
        return -size % 512 + 1024

    def ends(crc: int, size: int, number: int) -> tuple[bytes, bytes]:
        packer = zlib.compressobj(9, zlib.DEFLATED, -15)
        header = packer.compress(tar_header(b"r.tar.gz", size)) + packer.flush(zlib.Z_SYNC_FLUSH)
        end = struct.pack("<II", crc, 512 + size + behind(size))
        stored = (_print(count) + bytes(count) for count in range(_FULL))
        tails = (text + _deflated(bytes(behind(size) - len(text) + _OP)) + end for text in stored)
        return _gzip_head(header, number), next(tail for tail in tails if len(tail) == _FULL)

    def tar(whole: bytes) -> bytes:
        return tar_header(b"r.tar.gz", len(whole)) + whole + bytes(behind(len(whole)))

    return _quine(ends, tar)


def _gzip_head(begin: bytes, number: int) -> bytes:
    """With a name as long as it takes, and the beginning of the stream."""
    head = struct.pack("<4sI2x", b"\x1f\x8b\x08\x08", number)
    return (head + b"r").ljust(_FULL - len(begin) - 1, b"r") + b"\0" + begin


def _deflated(data: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()


def _quine(ends: Ends, printed: Callable[[bytes], bytes]) -> bytes:
    """The first try of which the sum can be solved for."""
    size = before = 0
    while size != before or not size:
        before, size = size, len(_around(*ends(0, size, 0)))

    def crc_of(number: int, crc: int) -> int:
        return zlib.crc32(printed(_around(*ends(crc, size, number))))

    for number in range(100):
        crc = _fixed(partial(crc_of, number))
        if crc is not None:
            return _around(*ends(crc, size, number))
    raise ValueError("no quine in 100 tries")


def _around(head: bytes, tail: bytes) -> bytes:
    """The text that prints itself with its ends; each line prints what its comment says."""
    print_head, print_tail = _print(len(head) + _OP), _print(len(tail) + _OP)
    repeat_head, repeat_tail = _repeat(len(head) + _OP), _repeat(len(tail) + _OP)
    one, none, four, again = _print(_OP), _print(0), _print(4 * _OP), _repeat(4 * _OP)
    return b"".join(
        (
            head,
            *(print_head, head, print_head),  # head print_head
            repeat_head,  # head print_head
            *(one, repeat_head),  # repeat_head
            *(one, one),  # one
            *(four, repeat_head, one, one, four),  # repeat_head one one four
            again,  # repeat_head one one four
            *(four, again, four, again, four),  # again four again four
            again,  # again four again four
            *(four, again, none, none, print_tail),  # again none none print_tail
            again,  # again none none print_tail
            *(none, none),
            *(print_tail, repeat_tail, tail),  # repeat_tail tail
            repeat_tail,  # repeat_tail tail
            tail,
        )
    )


def _print(size: int) -> bytes:
    """The head of a stored block (RFC 1951, 3.2.4)."""
    return struct.pack("<BHH", 0, size, size ^ 0xFFFF)


def _repeat(size: int) -> bytes:
    """A block that repeats so many bytes of before, in 40 bits."""
    bits = ("010" + _MATCHES[size] + 7 * "0").ljust(8 * _OP, "0")
    bits = bits if len(_MATCHES[size]) == 30 else bits[:30] + _EMPTY
    return int(bits[::-1], 2).to_bytes(_OP, "little")


def _fixed(crc_of: Callable[[int], int]) -> int | None:
    """The value that comes out where it is put in, of an affine function on 32 bits; None: none."""
    nothing = crc_of(0)
    # Column n: what bit n of the value changes, beside itself.
    columns = [crc_of(1 << bit) ^ nothing ^ 1 << bit for bit in range(32)]
    rows = [
        sum((column >> row & 1) << bit for bit, column in enumerate(columns))
        | (nothing >> row & 1) << 32
        for row in range(32)
    ]
    for bit in range(32):
        pivot = next((n for n in range(bit, 32) if rows[n] >> bit & 1), None)
        if pivot is None:
            return None
        rows[bit], rows[pivot] = rows[pivot], rows[bit]
        rows = [
            row ^ rows[bit] if n != bit and row >> bit & 1 else row for n, row in enumerate(rows)
        ]
    return sum((row >> 32) << bit for bit, row in enumerate(rows))
