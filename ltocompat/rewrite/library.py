"""Rewrite the fatbin regions of one file where they lie: no address in it changes.

Every registered region stands on its own: a wrapper points at its header, and nothing points
inside. Entries that stay move together, the size in the header becomes theirs, and what is left up
to the old end becomes zeros, which are holes of the new file. Measured on libcusparse 12.9: it is
opened as before, and cuobjdump lists exactly what stays.
"""

from __future__ import annotations

import functools
import hashlib
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import BinaryIO

from msgspec import Struct, field
from msgspec.structs import replace

from ltocompat.files.byteview import ByteView, FileSource, chunks, digest_of
from ltocompat.files.fatbin import StoredImage, StoredModule
from ltocompat.files.fatbin.region import (
    REGION_HEADER,
    FatbinEntry,
    Region,
    packed_header,
    padded,
    region_header,
)
from ltocompat.files.objects import read_host
from ltocompat.files.objects.pe import checksum
from ltocompat.model.errors import LtocompatError, Malformed
from ltocompat.model.image import PRELINKED_SECTIONS, Compression, Module, Skipped
from ltocompat.model.limits import MIB, Budget
from ltocompat.model.location import Location
from ltocompat.model.signature import module_signature
from ltocompat.model.slimmed import CodeTally, RemovalReason
from ltocompat.rewrite.kept_images import Kept, is_loaded, reasons, served
from ltocompat.scan.walk import Batch

_PACKED_KINDS = (1, 2)  # PTX and SASS; LTO-IR is scrambled once it is packed


class Packing(Struct, frozen=True):
    """The options for compressing code again.

    Attributes:
        level: the level of Zstandard, 1 to 19; NVIDIA's ``size`` is 19, its ``balance`` 5.
        all: True to also compress LZ4 and uncompressed code, which older drivers read (rule FB-01).
    """

    level: int
    all: bool = False


# A Zstandard frame; the size and the SHA-256 of its unpacked bytes.
_Frame = tuple[bytes, int, bytes]


def _frame(data: bytes, level: int) -> _Frame:
    import zstandard

    packed = zstandard.ZstdCompressor(level=level).compress(data)
    return packed, len(data), hashlib.sha256(data).digest()


class Packer:
    """Compresses code on all cores."""

    def __init__(self, packing: Packing) -> None:
        self._packing = packing
        self._pool = ThreadPoolExecutor(os.cpu_count())

    def packs(self, image: StoredImage) -> bool:
        """Return whether an image is compressed again."""
        fits = self._packing.all or image.entry.compression is Compression.ZSTD
        return fits and image.entry.kind_number in _PACKED_KINDS

    def frame(self, image: StoredImage) -> Future[_Frame]:
        """Return the new frame of an image."""
        return self._pool.submit(_frame, image.payload.decode(), self._packing.level)

    def sampled(self, image: StoredImage) -> int:
        """Compress the beginning of an image; return the bytes for all cores in that time."""
        data = image.payload.decode()[:MIB]
        _frame(data, self._packing.level)
        return len(data) * (os.cpu_count() or 1)

    def close(self) -> None:
        """Cancel all pending compression."""
        self._pool.shutdown(cancel_futures=True)


class _Rewritten(Struct):
    """A region that gets another content.

    Attributes:
        view: its old bytes, and where they lie.
        parts: entries that stay, and their images where they are packed anew.
        frames: those of these images, from when they are begun until they are written.
        digests: SHA-256 of each of them, once written: of header and payload as they lie in the
            file, or, packed anew, of what it unpacks to.
    """

    view: ByteView
    parts: list[tuple[FatbinEntry, StoredImage | None]]
    frames: deque[Future[_Frame]] = field(default_factory=deque)
    digests: list[tuple[bool, bytes]] = field(default_factory=list)

    @property
    def end(self) -> int:
        """Offset of its end in the file."""
        return self.view.start + self.view.size

    @property
    def decoded(self) -> int:
        """Its bytes to compress."""
        return sum(_decoded(image) for _, image in self.parts if image)


def _decoded(image: StoredImage) -> int:
    return image.payload.declared or image.payload.stored.size


class LibraryRewriter:
    """Rewrites one file that is read in batches, and compares the result with it.

    Args:
        view: the file.
        file: an empty file for the new one.
        kept: the images to keep.
        packer: compresses kept images; None: they keep their compression.
        tally: gets the changes.
        progress: called with the bytes that are compressed, and all bytes to compress.
        members: names of archive members that lead to the file.
    """

    def __init__(
        self,
        view: ByteView,
        file: BinaryIO,
        kept: Kept,
        packer: Packer | None,
        tally: CodeTally,
        *,
        progress: Callable[[int, int], None] = lambda *_: None,
        members: tuple[str, ...] = (),
    ) -> None:
        self.tally, self._members = tally, members
        self._view, self._file = view, file
        self._packer, self._progress = packer, progress
        self._position = self._end = 0
        self._regions: list[_Rewritten] = []
        self._skipped = 0
        host = read_host(view, Budget())
        machine = self.machine = None if host is None else host.machine
        self._linked = host is not None and host.type in ("shared library", "executable")
        why = functools.partial(reasons, kept=kept, machine=machine, linked=self._linked)
        self._why, self._served = functools.cache(why), functools.cache(served)
        self._signed = host is not None and host.signed
        self._checksum_at = None if host is None else host.checksum_at

    def written(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """Yield the batches of the file, and write the new file at the same time."""
        for batch in batches:
            self.take(batch)
            yield batch
        self._write_regions()
        self._copy_to(self._view.size)
        self._file.truncate(self._view.size)
        self._file.flush()
        if self._checksum_at is not None and self._regions:
            number = checksum(ByteView(FileSource(self._file.fileno())), self._checksum_at)
            self._file.seek(self._checksum_at)
            self._file.write(number.to_bytes(4, "little"))
            self._file.flush()

    @property
    def changed(self) -> bool:
        """Return whether a region was rewritten."""
        return bool(self._regions)

    def take(self, batch: Batch) -> None:
        """Plan the changes of a batch, and tally them."""
        for stored, module in batch.modules:
            self._take(stored, module)
        for record in batch.records:
            if isinstance(record, Skipped):
                self._skipped += 1
                self._leave("it can't be read; inspect says why", record.size or 0, record.place)

    def _take(self, stored: StoredModule, module: Module) -> None:
        size = stored.size or sum(image.stored_size or 0 for image in module.images)
        self.tally.stored += size
        why_not = self._untouchable(stored)
        entries = [] if why_not else _entries(stored)
        if entries is None:
            why_not = "a part of the region can't be read, or contradicts itself"
        if why_not:
            self._leave(why_not, size, module.place)
        elif entries and stored.region is not None:
            self._rewrite(stored, module, entries, stored.region)

    def _leave(self, why: str, size: int, place: Location) -> None:
        place = replace(place, members=(*self._members, *place.members))
        modules, total, first = self.tally.left.get(why, (0, 0, place))
        self.tally.left[why] = (modules + 1, total + size, first)

    def _untouchable(self, stored: StoredModule) -> str | None:
        """The reason why a module stays as it is; None if it need not."""
        region = stored.region
        prelinked = stored.section in PRELINKED_SECTIONS
        if self._signed:
            return "the file is signed, and a change would invalidate the signature"
        if region is None:
            return "it is not a fatbin region, and it is unknown which code reads it"
        if region.source is not self._view.source or region.start < self._end:
            return "it is in a separate file, or shares bytes with another region"
        # Behind the region that a device link wrote, its wrapper names those of the objects.
        behind = any(image.entry.place.offset != stored.place.offset for image in stored.images)
        if behind or (prelinked and self._linked):
            return (
                "a device link wrote or used it, and drivers may link it again; to make it "
                "smaller, compile it for fewer architectures"
            )
        unread = not stored.registered and not prelinked
        return "no fatbin wrapper points to it, so its reader is unknown" if unread else None

    def _rewrite(
        self, stored: StoredModule, module: Module, entries: Sequence[FatbinEntry], view: ByteView
    ) -> None:
        signature = module_signature(module)
        numbers = [image.entry.place.entry[0] for image in stored.images]
        gone = _gone(list(zip(numbers, self._why(signature), strict=True)), entries)
        images = dict(zip(numbers, stored.images, strict=True))
        packer = self._packer
        parts = [
            (entry, images[number] if packer and packer.packs(images[number]) else None)
            for number, entry in enumerate(entries)
            if number not in gone
        ]
        if not gone and not any(part for _, part in parts):
            return
        for number, reason in gone.items():
            self.tally.sizes[reason] += entries[number].end - entries[number].offset
        for number, image in zip(numbers, stored.images, strict=True):
            if number in gone:
                self.tally.images[gone[number]] += 1
            else:
                self.tally.kept += 1
                self.tally.zstd += image.entry.compression is Compression.ZSTD
        if is_loaded(signature, linked=self._linked):
            losses = self._served(signature, tuple(map(gone.get, numbers)))
            for number, (nothing, compiled) in losses.items():
                before = self.tally.gpus.get(number, (0, 0))
                self.tally.gpus[number] = (before[0] + nothing, before[1] + compiled)
        self._regions.append(_Rewritten(view, parts))
        self._end = self._regions[-1].end

    def _write_regions(self) -> None:
        """Write all regions in their order, while what stands behind them is packed."""
        total = sum(region.decoded for region in self._regions)
        packed = [image for region in self._regions for _, image in region.parts if image]
        waiting = iter(self._regions)
        pending = done = told = 0
        if self._packer and total > _SHORT:  # its progress tells from the start how long it takes
            self._progress(0, total)
            told = min(self._packer.sampled(max(packed, key=_decoded)), total)
        for region in self._regions:
            while pending < _MOST_PENDING and (begun := next(waiting, None)):
                images = [image for _, image in begun.parts if image]
                begun.frames.extend(map(self._packer.frame, images) if self._packer else ())
                pending += begun.decoded
            self._progress(max(done, told), total)
            self._write(region)
            pending, done = pending - region.decoded, done + region.decoded
        self._progress(done, total)

    def _write(self, region: _Rewritten) -> None:
        """Write a region, and learn the digests that it has to have."""
        self._copy_to(region.view.start)
        self._file.seek(region.view.start + REGION_HEADER.size)
        region.digests.extend(self._write_part(region, *part) for part in region.parts)
        end = self._file.tell()
        self._file.seek(region.view.start)
        self._file.write(region_header(end - region.view.start))
        self._position = region.end
        self.tally.zeros += region.end - end

    def _write_part(
        self, region: _Rewritten, entry: FatbinEntry, image: StoredImage | None
    ) -> tuple[bool, bytes]:
        if image is not None:
            frame, size, digest = region.frames.popleft().result()
            saved = entry.fields.payload_size - padded(len(frame))
            if saved > 0:
                header = region.view.read(entry.offset, entry.fields.header_size)
                self._file.write(packed_header(header, len(frame), size))
                self._file.write(frame.ljust(padded(len(frame)), b"\0"))
                self.tally.sizes[RemovalReason.PACKED] += saved
                self.tally.images[RemovalReason.PACKED] += 1
                self.tally.more_zstd += image.entry.compression is not Compression.ZSTD
                return True, digest
        self._file.writelines(chunks(region.view, entry.offset, entry.end))
        return False, digest_of(chunks(region.view, entry.offset, entry.end))

    def _copy_to(self, offset: int) -> None:
        self._file.seek(self._position)
        self._file.writelines(chunks(self._view, self._position, offset))

    def proved(self, new: ByteView, batches: Iterable[Batch]) -> Iterator[Batch]:
        """Yield the batches of the new file after a check that all kept images are unchanged.

        Raises:
            LtocompatError: something differs, which is a bug of this tool.
        """
        expected = {region.view.start: region for region in self._regions}
        skipped = 0
        for batch in batches:
            skipped += sum(isinstance(record, Skipped) for record in batch.records)
            for stored, _ in batch.modules:
                start = -1 if stored.region is None else stored.region.start
                if start in expected:
                    _compare(stored, expected.pop(start))
            yield batch
        if expected or skipped > self._skipped:
            raise _differs(f"{len(expected)} regions are missing in it")
        self._compare_rest(new)

    def _compare_rest(self, new: ByteView) -> None:
        position = 0
        spans = [(region.view.start, region.end) for region in self._regions]
        if self._checksum_at is not None:
            spans.append((self._checksum_at, self._checksum_at + 4))
        for start, end in [*sorted(spans), (self._view.size, self._view.size)]:
            both = chunks(self._view, position, start), chunks(new, position, start)
            if any(old != found for old, found in zip(*both, strict=True)):
                raise _differs(f"bytes after {position:#x} have changed")
            position = end


def _gone(
    why: Sequence[tuple[int, RemovalReason | None]], entries: Sequence[FatbinEntry]
) -> dict[int, RemovalReason]:
    """Numbers of the entries that go, all images of which do; a region keeps its smallest one."""
    going = {number: reason for number, reason in why if reason is not None}
    staying = {number for number, reason in why if reason is None}
    staying = staying or {min(going, key=lambda n: entries[n].end - entries[n].offset)}
    return {number: reason for number, reason in going.items() if number not in staying}


_MOST_PENDING = 256 * MIB  # of unpacked code that is packed at the same time
_SHORT = 8 * MIB  # is packed in seconds


def _entries(stored: StoredModule) -> list[FatbinEntry] | None:
    """The entries of a region; None if one is not read, or something contradicts itself."""
    own = [image for image in stored.images if image.entry.place.offset == stored.place.offset]
    if stored.region is None or any(image.entry.problems for image in own):
        return None
    budget = own[0].payload.budget if own else Budget()
    try:
        region = Region(stored.region, budget)
        entries = list(region)
    except Malformed:
        return None
    numbers = {image.entry.place.entry[0] for image in own}
    whole = region.broken is None and region.size == stored.region.size
    return entries if whole and numbers == set(range(len(entries))) else None


def _compare(stored: StoredModule, region: _Rewritten) -> None:
    entries, view = _entries(stored), stored.region
    if entries is None or view is None or len(entries) != len(region.digests):
        raise _differs(f"the region at {region.view.start:#x} reads differently")
    payloads = {image.entry.place.entry[0]: image.payload for image in stored.images[::-1]}
    for number, (unpacked, expected) in enumerate(region.digests):
        entry, decode = entries[number], payloads[number].decode
        data = [decode()] if unpacked else chunks(view, entry.offset, entry.end)
        if digest_of(data) != expected:
            raise _differs(f"image {number} at {region.view.start:#x} has changed")


def _differs(what: str) -> LtocompatError:
    return LtocompatError(
        f"the new file is wrong and was not kept: {what}; this is a bug of "
        "ltocompat, please report it"
    )
