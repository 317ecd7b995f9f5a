"""Rewrite the fatbin regions of one file where they lie: no address in it changes.

Every registered region stands on its own: a wrapper points at its header, and nothing points
inside. Entries that stay move together, the size in the header becomes theirs, and what is left up
to the old end becomes zeros, which are holes of the new file. Measured on libcusparse 12.9: it is
opened as before, and cuobjdump lists exactly what stays.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import BinaryIO, NamedTuple, Self

from msgspec import Struct, field

from ltocompat.files.byteview import ByteView, FileSource
from ltocompat.files.fatbin import StoredModule
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
from ltocompat.model.signature import ModuleSignature, module_signature
from ltocompat.model.slimmed import RemovalReason
from ltocompat.rewrite.kept_images import Kept, Reasons, is_loaded, reasons, served
from ltocompat.scan.walk import Batch

_PACKED_KINDS = (1, 2)  # PTX and SASS; LTO-IR is scrambled once it is packed
_MOST_CACHED = 256 * MIB


class Packing(Struct, frozen=True):
    """How code is packed anew.

    Attributes:
        level: of Zstandard, 1 to 19; NVIDIA's ``size`` is 19, its ``balance`` 5.
        all: also what is LZ4 or not packed, which older drivers read (rule FB-01).
    """

    level: int
    all: bool = False


class _Frame(NamedTuple):
    """A Zstandard frame; the size and the SHA-256 of what it unpacks to."""

    data: bytes
    size: int
    digest: bytes


def _frame(data: bytes, level: int) -> _Frame:
    import zstandard

    packed = zstandard.ZstdCompressor(level=level).compress(data)
    return _Frame(packed, len(data), hashlib.sha256(data).digest())


class Packer:
    """Packs code on all cores; equal code once."""

    def __init__(self, packing: Packing) -> None:
        self._packing = packing
        self._pool = ThreadPoolExecutor(os.cpu_count())
        self._known: dict[bytes, Future[_Frame]] = {}
        self._size = 0

    def wants(self, entry: FatbinEntry, compression: Compression) -> bool:
        """Return whether an entry may be packed anew."""
        fits = self._packing.all or compression is Compression.ZSTD
        return fits and entry.fields.kind in _PACKED_KINDS

    def pack(self, data: bytes) -> Future[_Frame]:
        """The frame of an image, as it will be."""
        key = hashlib.sha256(data).digest()
        found = self._known.get(key)
        if found is None:
            found = self._pool.submit(_frame, data, self._packing.level)
            if self._size < _MOST_CACHED:
                self._known[key] = found
                self._size += len(data) // 4
        return found

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(cancel_futures=True)


class _Part(Struct):
    """An entry that stays.

    Attributes:
        entry: as it is.
        compression: how it is packed.
        frame: packed anew, once that is done; None where it is copied as it is.
        decoded: bytes that are packed.
    """

    entry: FatbinEntry
    compression: Compression
    frame: Future[_Frame] | None = None
    decoded: int = 0


class _Rewritten(Struct):
    """A region that gets another content.

    Attributes:
        start: offset in the file.
        size: bytes that it takes there.
        view: its old bytes.
        parts: entries that stay.
        digests: SHA-256 of each of them, once written: of header and payload as they lie in the
            file, or, packed anew, of what it unpacks to.
    """

    start: int
    size: int
    view: ByteView
    parts: list[_Part]
    digests: list[tuple[bool, bytes]] = field(default_factory=list)

    @property
    def ready(self) -> bool:
        """Return whether nothing in it is being packed any more."""
        return all(part.frame is None or part.frame.done() for part in self.parts)

    @property
    def decoded(self) -> int:
        """Bytes that are packed for it."""
        return sum(part.decoded for part in self.parts)


class Tally(Struct):
    """What became of the files of one package, added up.

    Attributes:
        images: that went, by reason.
        sizes: bytes of them, headers and padding included.
        untouched: by reason: modules, bytes, the first place.
        lost: GPU -> modules that have nothing for it, modules that have PTX for it instead of SASS.
        stored: bytes of all device code.
        zeros: bytes that are zeros now.
        kept: images that stay in rewritten regions.
        zstd: how many of these were packed by Zstandard.
        new_zstd: how many are.
    """

    images: Counter[RemovalReason] = field(default_factory=Counter)
    sizes: Counter[RemovalReason] = field(default_factory=Counter)
    untouched: dict[str, tuple[int, int, Location]] = field(default_factory=dict)
    lost: dict[int, tuple[int, int]] = field(default_factory=dict)
    stored: int = 0
    zeros: int = 0
    kept: int = 0
    zstd: int = 0
    new_zstd: int = 0


class LibraryRewriter:
    """Rewrites one file that is read in batches, and holds the result against it.

    Args:
        view: the file.
        file: an empty file, to which the new one is written.
        kept: what stays.
        packer: packs what stays; None: it stays packed as it is.
        tally: gets what becomes of it.
    """

    def __init__(
        self, view: ByteView, file: BinaryIO, kept: Kept, packer: Packer | None, tally: Tally
    ) -> None:
        self.tally = tally
        self._view, self._file = view, file
        self._kept, self._packer = kept, packer
        self._position = self._end = self._pending = 0
        self._regions: list[_Rewritten] = []
        self._waiting: deque[_Rewritten] = deque()
        self._skipped = 0
        self._known: dict[tuple[ModuleSignature, bool], Reasons] = {}
        self._losses: dict[tuple[ModuleSignature, Reasons], dict[int, tuple[bool, bool]]] = {}
        host = read_host(view, Budget())
        self._machine = None if host is None else host.machine
        self._linked = host is not None and host.type in ("shared library", "executable")
        self._signed = host is not None and host.signed
        self._checksum_at = None if host is None else host.checksum_at

    def written(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """Pass the batches of the file on, and write it anew as they come."""
        for batch in batches:
            for stored, module in batch.modules:
                self._take(stored, module)
            self._skipped += sum(isinstance(record, Skipped) for record in batch.records)
            yield batch
        while self._waiting:
            self._write(self._waiting.popleft())
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

    def _take(self, stored: StoredModule, module: Module) -> None:
        self.tally.stored += stored.size or sum(image.stored_size or 0 for image in module.images)
        why_not = self._untouchable(stored, module)
        entries = [] if why_not else _entries(stored)
        if entries is None:
            why_not = "a part of the region can't be read, or contradicts itself"
        if why_not:
            size = stored.size or sum(image.stored_size or 0 for image in module.images)
            modules, total, first = self.tally.untouched.get(why_not, (0, 0, module.place))
            self.tally.untouched[why_not] = (modules + 1, total + size, first)
            return
        self._rewrite(stored, module, entries or [])

    def _untouchable(self, stored: StoredModule, module: Module) -> str | None:
        """The reason why a module stays as it is; None where it need not."""
        region = stored.region
        prelinked = stored.section in PRELINKED_SECTIONS
        checks = (
            (self._signed, "the file is signed, and would not be any more"),
            (region is None, "it is no fatbin region, and its reader is not known"),
            (
                region is not None
                and (region.source is not self._view.source or region.start < self._end),
                "it lies in a file of its own, or shares bytes with another one",
            ),
            (
                (prelinked and self._linked)
                or any(image.place.offset != module.place.offset for image in module.images),
                "a device link has used it, or a part of it",
            ),
            (
                not stored.registered and not prelinked,
                "no wrapper points at it, so that its reader is not known",
            ),
        )
        return next((text for applies, text in checks if applies), None)

    def _rewrite(
        self, stored: StoredModule, module: Module, entries: Sequence[FatbinEntry]
    ) -> None:
        signature = module_signature(module)
        why = self._why(signature, linked=self._linked)
        going = {number: set[RemovalReason | None]() for number in range(len(entries))}
        for image, reason in zip(module.images, why, strict=True):
            going[image.place.entry[0]].add(reason)
        gone = {
            number: reason
            for number, found in going.items()
            for reason in [None if None in found else next(iter(found))]
            if reason is not None
        }
        if len(gone) == len(entries) and gone:  # a region keeps its smallest image
            smallest = min(gone, key=lambda n: entries[n].end - entries[n].offset)
            del gone[smallest]
        parts = [self._part(entries[n], stored, n) for n in going if n not in gone]
        packing = any(part.frame for part in parts)
        if not gone and not packing:
            return
        self._count(module, gone, entries)
        if is_loaded(signature, linked=self._linked):
            self._lose(signature, gone, module)
        region = stored.region
        if region is not None:
            rewritten = _Rewritten(region.start, region.size, region, parts)
            self._regions.append(rewritten)
            self._waiting.append(rewritten)
            self._end = region.start + region.size
            self._pending += rewritten.decoded
        while self._waiting and (self._waiting[0].ready or self._pending > _MOST_PENDING):
            self._write(self._waiting.popleft())

    def _why(self, signature: ModuleSignature, *, linked: bool) -> Reasons:
        key = (signature, linked)
        if key not in self._known:
            self._known[key] = reasons(signature, self._kept, self._machine, linked=linked)
        return self._known[key]

    def _part(self, entry: FatbinEntry, stored: StoredModule, number: int) -> _Part:
        image = next(image for image in stored.images if image.place.entry[0] == number)
        part = _Part(entry, image.compression)
        if self._packer is not None and self._packer.wants(entry, image.compression):
            data = image.payload.decode()
            part.frame, part.decoded = self._packer.pack(data), len(data)
        return part

    def _count(
        self, module: Module, gone: dict[int, RemovalReason], entries: Sequence[FatbinEntry]
    ) -> None:
        for number, reason in gone.items():
            self.tally.sizes[reason] += entries[number].end - entries[number].offset
        for image in module.images:
            if (why := gone.get(image.place.entry[0])) is None:
                self.tally.kept += 1
                self.tally.zstd += image.compression is Compression.ZSTD
                self.tally.new_zstd += image.compression is Compression.ZSTD
            else:
                self.tally.images[why] += 1

    def _lose(
        self, signature: ModuleSignature, gone: dict[int, RemovalReason], module: Module
    ) -> None:
        """Count the GPUs that the module serves worse than before."""
        why = tuple(gone.get(image.place.entry[0]) for image in module.images)
        losses = self._losses.get((signature, why))
        if losses is None:
            losses = self._losses[signature, why] = served(signature, why)
        for number, (nothing, compiled) in losses.items():
            before = self.tally.lost.get(number, (0, 0))
            self.tally.lost[number] = (before[0] + nothing, before[1] + compiled)

    def _write(self, region: _Rewritten) -> None:
        """Write a region, and learn the digests that it has to have."""
        self._copy_to(region.start)
        self._file.seek(region.start + REGION_HEADER.size)
        for part in region.parts:
            region.digests.append(self._write_part(region.view, part))
        end = self._file.tell()
        self._file.seek(region.start)
        self._file.write(region_header(end - region.start))
        self._position = region.start + region.size
        self._pending -= region.decoded
        self.tally.zeros += self._position - end

    def _write_part(self, view: ByteView, part: _Part) -> tuple[bool, bytes]:
        entry, size = part.entry, part.entry.end - part.entry.offset
        if part.frame is not None:
            frame = part.frame.result()
            length = padded(len(frame.data))
            saved = entry.fields.payload_size - length
            if saved > 0:
                header = view.read(entry.offset, entry.fields.header_size)
                self._file.write(packed_header(header, len(frame.data), frame.size))
                self._file.write(frame.data.ljust(length, b"\0"))
                self.tally.sizes[RemovalReason.PACKED] += saved
                self.tally.images[RemovalReason.PACKED] += 1
                self.tally.new_zstd += part.compression is not Compression.ZSTD
                return True, frame.digest
        digest = hashlib.sha256()
        for at in range(entry.offset, entry.offset + size, MIB):
            chunk = view.read(at, min(MIB, entry.offset + size - at))
            digest.update(chunk)
            self._file.write(chunk)
        return False, digest.digest()

    def _copy_to(self, offset: int) -> None:
        self._file.seek(self._position)
        for at in range(self._position, offset, MIB):
            self._file.write(self._view.read(at, min(MIB, offset - at)))
        self._position = max(self._position, offset)

    def proved(self, new: ByteView, batches: Iterable[Batch]) -> Iterator[Batch]:
        """Pass the batches of the new file on, once all that it keeps is what it was.

        Raises:
            LtocompatError: something differs, which is a bug of this tool.
        """
        expected = {region.start: region for region in self._regions}
        skipped = 0
        for batch in batches:
            skipped += sum(isinstance(record, Skipped) for record in batch.records)
            for stored, _ in batch.modules:
                region = expected.get(-1 if stored.region is None else stored.region.start)
                if region is not None:
                    _compare(stored, region)
                    del expected[region.start]
            yield batch
        if expected or skipped > self._skipped:
            raise _differs(f"{len(expected)} regions are not found again")
        self._compare_rest(new)

    def _compare_rest(self, new: ByteView) -> None:
        position = 0
        ends = [(region.start, region.start + region.size) for region in self._regions]
        if self._checksum_at is not None:
            ends.append((self._checksum_at, self._checksum_at + 4))
        for start, end in [*sorted(ends), (self._view.size, self._view.size)]:
            for at in range(position, start, MIB):
                size = min(MIB, start - at)
                if self._view.read(at, size) != new.read(at, size):
                    raise _differs(f"bytes behind {at:#x} are others")
            position = end


_MOST_PENDING = 256 * MIB  # of unpacked code that is packed at the same time


def _entries(stored: StoredModule) -> list[FatbinEntry] | None:
    """The entries of a region; None where one is not read, or something contradicts itself."""
    if stored.region is None or any(image.problems for image in stored.images):
        return None
    budget = stored.images[0].payload.budget if stored.images else Budget()
    try:
        region = Region(stored.region, budget)
        entries = list(region)
    except Malformed:
        return None
    numbers = {image.place.entry[0] for image in stored.images}
    whole = region.broken is None and region.size == stored.region.size
    return entries if whole and numbers == set(range(len(entries))) else None


def _compare(stored: StoredModule, region: _Rewritten) -> None:
    entries = _entries(stored)
    if entries is None or len(entries) != len(region.digests):
        raise _differs(f"the region at {region.start:#x} is read otherwise")
    payloads = {image.place.entry[0]: image.payload for image in stored.images}
    for number, (entry, (unpacked, expected)) in enumerate(
        zip(entries, region.digests, strict=True)
    ):
        if unpacked:
            found = hashlib.sha256(payloads[number].decode()).digest()
        else:
            found = _digest(stored.region, entry)
        if found != expected:
            raise _differs(f"image {number} at {region.start:#x} is another one")


def _digest(view: ByteView | None, entry: FatbinEntry) -> bytes:
    digest = hashlib.sha256()
    for at in range(entry.offset, entry.end, MIB):
        digest.update(b"" if view is None else view.read(at, min(MIB, entry.end - at)))
    return digest.digest()


def _differs(what: str) -> LtocompatError:
    return LtocompatError(
        f"the new file is not what it should be, and is not kept: {what}; this is a bug of "
        "ltocompat, please report it"
    )
