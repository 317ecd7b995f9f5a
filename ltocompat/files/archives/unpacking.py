"""Decompression as streams of bounded chunks, within the limits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import IO, TYPE_CHECKING, TypeAlias, cast

from msgspec import Struct

from ltocompat.files.codec import READ, ZSTD_MAGIC, Input, zstd_frame
from ltocompat.files.first_bytes import BZIP2_MAGIC, GZIP_MAGIC, XZ_MAGIC, ZSTD_SKIPPABLE, Packing
from ltocompat.model.errors import LimitExceeded, Malformed
from ltocompat.model.limits import WORK, Budget

if TYPE_CHECKING:
    from bz2 import BZ2Decompressor
    from lzma import LZMADecompressor

    from isal.igzip_lib import IgzipDecompressor

    _Decoder: TypeAlias = "IgzipDecompressor | BZ2Decompressor | LZMADecompressor"

# Larger ones come as fresh pages from the system each time.
_STEP = 256 << 10


def _streams(
    source: Input, budget: Budget, make: Callable[[], _Decoder], magic: bytes | None
) -> Iterator[bytes]:
    """Streams that follow each other where they begin with ``magic``, with zeros between them."""
    data = source.read()
    while True:
        decoder = make()
        while not decoder.eof:
            # A decoder that held back input may give nothing, and ask for more only then.
            asks = not data and decoder.needs_input
            if asks:
                data = source.read()
            chunk = decoder.decompress(data, _STEP)
            if asks and not (chunk or data or decoder.eof):
                raise Malformed("the compressed data ends early")
            data = b""
            yield chunk
        source.position -= len(decoder.unused_data)
        if magic is None or not _skip_zeros(source, budget):
            return
        if source.view.peek(source.position, len(magic)) != magic:
            raise Malformed(f"{source.left} bytes follow the compressed data and belong to nothing")
        data = source.read()


def _skip_zeros(source: Input, budget: Budget) -> bool:
    """Move on to the next byte that is not zero; return whether there is one."""
    while data := source.read():
        budget.check_time()
        left = data.lstrip(b"\0")
        if left:
            source.position -= len(left)
            return True
    return False


def _decoded(
    source: Input,
    budget: Budget,
    make: Callable[[], _Decoder],
    magic: bytes | None,
    what: str,
    *errors: type[Exception],
) -> Iterator[bytes]:
    """Decode streams; the errors that the library raises are sentences about the data."""
    try:
        yield from _streams(source, budget, make, magic)
    except errors as error:
        if "Memory usage" in str(error):
            budget.check_window(budget.limits.window_bytes + 1)
        raise Malformed(f"the {what} data can't be decompressed: {error}") from error


def _deflate(source: Input, budget: Budget, magic: bytes | None) -> Iterator[bytes]:
    """Deflate, alone or with gzip's head and sums around it, by ISA-L."""
    from isal import igzip_lib as igzip

    kind = igzip.DECOMP_GZIP if magic else igzip.DECOMP_DEFLATE
    make = partial(igzip.IgzipDecompressor, kind)
    # Its annotations call the class of errors an instance.
    return _decoded(source, budget, make, magic, "deflated", cast("type[Exception]", igzip.error))


def _bzip2(source: Input, budget: Budget) -> Iterator[bytes]:
    import bz2

    return _decoded(source, budget, bz2.BZ2Decompressor, BZIP2_MAGIC, "bzip2", OSError)


def _xz(source: Input, budget: Budget) -> Iterator[bytes]:
    import lzma

    make = partial(lzma.LZMADecompressor, lzma.FORMAT_AUTO, budget.limits.window_bytes)
    return _decoded(source, budget, make, XZ_MAGIC, "LZMA", lzma.LZMAError, ValueError)


def _zip_lzma(source: Input, budget: Budget) -> Iterator[bytes]:
    """LZMA in a zip: versions, size of the properties, properties (APPNOTE 5.8.8), raw data."""
    import lzma

    head = source.read(9)
    if len(head) < 9 or head[2:4] != b"\5\0" or head[4] >= 9 * 5 * 5:
        raise Malformed("its LZMA properties are invalid")
    properties, dictionary = head[4], int.from_bytes(head[5:9], "little")
    budget.check_window(dictionary)
    table = {
        "id": lzma.FILTER_LZMA1,
        "lc": properties % 9,
        "lp": properties // 9 % 5,
        "pb": properties // 45,
        "dict_size": max(dictionary, 4096),
    }
    make = partial(lzma.LZMADecompressor, lzma.FORMAT_RAW, filters=[table])
    return _decoded(source, budget, make, None, "LZMA", lzma.LZMAError, ValueError)


def _zstd(source: Input, budget: Budget) -> Iterator[bytes]:
    """Frame by frame: the decoder takes the end of the data for the end of a frame."""
    while source.left:
        start = source.position
        head = source.view.peek(start, 8)
        if ZSTD_SKIPPABLE.match(head):
            size, broken = 8 + int.from_bytes(head[4:], "little"), None
            if size > source.left:
                raise Malformed(f"a skippable Zstandard frame of {size} bytes is truncated")
        elif head.startswith(ZSTD_MAGIC):
            size, broken = _zstd_size(source, budget)
            yield from _zstd_frame(source, size, budget)
        else:
            raise Malformed(f"{source.left} bytes follow the compressed data and belong to nothing")
        if broken is not None:
            raise broken
        source.position = start + size
        yield b""


def _zstd_size(source: Input, budget: Budget) -> tuple[int, Malformed | None]:
    """Stored size of the frame at hand, and why it is not whole."""
    try:
        return zstd_frame(source.view, source.position, budget)[0], None
    except LimitExceeded:
        raise
    except Malformed as error:
        return source.left, error


def _zstd_frame(source: Input, size: int, budget: Budget) -> Iterator[bytes]:
    import zstandard

    start = source.position
    frame = Input(source.view.sub(start, size))
    decompressor = zstandard.ZstdDecompressor(max_window_size=budget.limits.window_bytes)
    # Its annotation asks for a whole file; it calls read() alone.
    reader = decompressor.stream_reader(cast("IO[bytes]", frame), read_size=READ)
    try:
        while chunk := reader.read(_STEP):
            source.position = start + frame.position
            yield chunk
    except zstandard.ZstdError as error:
        if "too much memory" in str(error):
            budget.check_window(budget.limits.window_bytes + 1)
        raise Malformed(f"the Zstandard data can't be decompressed: {error}") from error


_DECODERS: dict[Packing, Callable[[Input, Budget], Iterator[bytes]]] = {
    Packing.DEFLATE: partial(_deflate, magic=None),
    Packing.GZIP: partial(_deflate, magic=GZIP_MAGIC),
    Packing.BZIP2: _bzip2,
    Packing.XZ: _xz,
    Packing.ZIP_LZMA: _zip_lzma,
    Packing.ZSTD: _zstd,
}


def unpacked(source: Input, packing: Packing, budget: Budget) -> Iterator[bytes]:
    """Yield the decompressed bytes in non-empty chunks of at most 256 KiB.

    Raises:
        Malformed: they don't decompress; chunks before that were given already.
        LimitExceeded: they are more than the limits allow.
    """
    total = 0
    for chunk in _DECODERS[packing](source, budget):
        budget.check_time()
        total += len(chunk)
        budget.check_unpacked(source.position, total)
        budget.check_room(len(chunk))
        budget.unpacked += len(chunk)
        WORK.unpacked += len(chunk)
        budget.unpacking(source.view.source, source.view.start + source.position)
        if chunk:
            yield chunk


def inflated(data: bytes, size: int, budget: Budget) -> bytes | None:
    """A small deflate stream that unpacks to ``size`` bytes; None: read it as any other.

    Raises:
        LimitExceeded: they are more than the limits allow.
    """
    from isal import igzip_lib as igzip

    decoder = igzip.IgzipDecompressor(igzip.DECOMP_DEFLATE)
    try:
        # One byte more, so that a stream of just this size comes to its end.
        found = decoder.decompress(data, size + 1)
    except cast("type[Exception]", igzip.error):
        return None
    if len(found) != size or not decoder.eof or decoder.unused_data:
        return None
    budget.unpacked += size
    WORK.unpacked += size
    return found


class Stream(Struct):
    """Unpacked bytes, read from the front in pieces of any size."""

    _chunks: Iterator[bytes]
    _chunk: bytes = b""
    _at: int = 0

    def peek(self, size: int) -> bytes:
        """Return the next ``size`` bytes, fewer at the end, without consuming them."""
        if len(self._chunk) - self._at < size:
            parts = [self._chunk[self._at :]]
            have = len(parts[0])
            while have < size and (chunk := next(self._chunks, b"")):
                parts.append(chunk)
                have += len(chunk)
            self._chunk, self._at = b"".join(parts), 0
        return self._chunk[self._at : self._at + size]

    def read(self, size: int) -> bytes:
        """The next ``size`` bytes, fewer at the end."""
        data = self._chunk[self._at : self._at + size]
        if len(data) < size:
            data = self.peek(size)
        self._at += len(data)
        return data

    def take(self, size: int) -> Iterator[bytes]:
        """Yield the next ``size`` bytes in chunks.

        Raises:
            Malformed: the stream ends before.

        """
        left = size
        for chunk in self.up_to(size):
            left -= len(chunk)
            yield chunk
        if left:
            raise Malformed(f"the last {left} of its {size} bytes are missing")

    def up_to(self, size: int | None) -> Iterator[bytes]:
        """Yield the next ``size`` bytes in chunks; all remaining ones if fewer, or for None."""
        left = size
        while left is None or left > 0:
            if self._at == len(self._chunk):
                self._chunk, self._at = next(self._chunks, b""), 0
            if not self._chunk:
                return
            end = len(self._chunk) if left is None else min(len(self._chunk), self._at + left)
            part = self._chunk[self._at : end]
            self._at = end
            left = None if left is None else left - len(part)
            yield part
