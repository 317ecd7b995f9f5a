"""Sizes of device code, summed over the batches of a walk in memory that does not grow.

Images are counted by the shape of their module, of which a library has a few dozen. Whether a byte
could be saved is not said here, but what has to be read for that is: which images are copies of
others (by hash), and what those that are not Zstandard take when they are compressed as nvcc does.
"""

from __future__ import annotations

import functools
from collections import Counter
from typing import TYPE_CHECKING

from msgspec import Struct, field

from ltocompat.files.byteview import ByteView
from ltocompat.files.fatbin import StoredImage, StoredModule
from ltocompat.files.fatbin.region import padded
from ltocompat.files.images.cubin import Cubin
from ltocompat.model.errors import Malformed
from ltocompat.model.image import (
    PRELINKED_SECTIONS,
    Artifact,
    Compression,
    HostBinary,
    Image,
    ImageKind,
    Module,
    Skipped,
)
from ltocompat.model.limits import MIB
from ltocompat.model.location import Location
from ltocompat.model.signature import ImageSignature, ModuleSignature
from ltocompat.model.weight import ImageTally, KernelTally, Measured, MeasuredLibrary
from ltocompat.scan.walk import Batch

if TYPE_CHECKING:
    import zstandard

# The Zstandard level of ``--compress-mode=default`` and ``balance``, byte for byte (13.0.88).
NVCC_LEVEL = 5

# Unpacked bytes of each kind that are compressed to see, a second or two; then every eighth image.
# Less is no good: images of a library differ, and with 16 MiB the answers on seven wheels moved by
# up to 13 %.
_MOST_COMPRESSED = 128 * MIB
_EVERY = 8
_MOST_HASHES = 500_000
_SMALLEST_COPY = 256  # bytes; nobody moves smaller images elsewhere
_MOST_SHAPES = 20_000
_MOST_LIBRARIES = 10_000
_MOST_PAIRS = 10_000
_MOST_KERNELS = 200_000
_ARCHIVES = (".a", ".lib", ".rlib")


class Weigher(Struct, kw_only=True):
    """Weighs the batches of one path.

    Args:
        kernels: True to also read the size of each kernel, which unpacks every cubin.
    """

    kernels: bool
    measured: Measured = field(default_factory=Measured)
    _first: dict[int, Location] = {}
    _compressed: Counter[tuple[ImageKind, Compression]] = field(default_factory=Counter)
    _left: Counter[tuple[ImageKind, Compression]] = field(default_factory=Counter)
    _shapes: int = 0

    def take(self, batch: Batch) -> None:
        """Add a batch whose bytes can still be read."""
        for stored, module in batch.modules:
            self._module(stored, module)
        for record in batch.records:
            if isinstance(record, HostBinary):
                self._host(record)
            elif isinstance(record, Skipped):
                self.measured.skipped += 1
            elif isinstance(record, Artifact):
                self.measured.files += 1
                self.measured.size += record.size
                self.measured.layers += record.layers

    def _library(self, place: Location) -> MeasuredLibrary:
        place = _library_of(place)
        known = self.measured.libraries.get(place)
        if known is None:
            if len(self.measured.libraries) >= _MOST_LIBRARIES:
                place = Location(place.path)
            known = self.measured.libraries.setdefault(place, MeasuredLibrary(place))
        return known

    def _host(self, host: HostBinary) -> None:
        if host.debug_size or _library_of(host.place) in self.measured.libraries:
            library = self._library(host.place)
            library.machine = library.machine or host.machine
            library.linked |= host.linked
            library.host_debug += host.debug_size

    def _module(self, stored: StoredModule, module: Module) -> None:
        library = self._library(module.place)
        library.modules += 1
        # What decides which of its images are taken.
        shape = ModuleSignature(tuple(map(_image_shape, module.images)), module.registered)
        tallies = library.tallies.get(shape)
        if tallies is None:
            self._shapes += 1
            if self._shapes > _MOST_SHAPES:  # only a hostile file has so many
                shape = ModuleSignature((), None)
            tallies = tuple(ImageTally() for _ in shape.images)
            tallies = library.tallies.setdefault(shape, tallies)
        sizes = 0
        for number, (inner, image) in enumerate(zip(stored.images, module.images, strict=True)):
            if number < len(tallies):
                self._image(library.place, inner, image, tallies[number])
            sizes += image.stored_size or 0
        if stored.size is not None:
            library.overhead += max(stored.size - sizes, 0)

    def _image(
        self, library: Location, stored: StoredImage, image: Image, tally: ImageTally
    ) -> None:
        tally.images += 1
        if image.stored_size is None:
            tally.unsized += 1
            return
        tally.stored += image.stored_size
        first = self._first_with(stored, library)
        if first is None:
            self._pack(stored, image, padded(image.stored_size), tally)
        elif first == library:
            tally.copied_within += image.stored_size
        else:
            tally.copied_between += image.stored_size
            pairs = self.measured.copies
            pair = (first, library)
            if pair in pairs or len(pairs) < _MOST_PAIRS:
                pairs[pair] = pairs.get(pair, 0) + image.stored_size
        if self.kernels and image.kind is ImageKind.SASS:
            self._count_kernels(stored)

    def _first_with(self, stored: StoredImage, library: Location) -> Location | None:
        """The library in which the same bytes were met before; None if they were not."""
        view = stored.payload.stored
        if view.size < _SMALLEST_COPY:
            return None
        number = _hash(view)
        first = self._first.get(number)
        if first is None and len(self._first) < _MOST_HASHES:
            self._first[number] = library
        return first

    def _pack(self, stored: StoredImage, image: Image, before: int, tally: ImageTally) -> None:
        """See what an image takes as Zstandard; one outside of a fatbin has no place to say so."""
        if image.compression is Compression.ZSTD or image.kind_number is None or image.scrambled:
            return
        key = image.kind, image.compression
        if self._compressed[key] >= _MOST_COMPRESSED:
            self._left[key] += 1
            if self._left[key] % _EVERY:
                tally.unmeasured += before
                return
        try:
            data = stored.payload.decode()
        except Malformed:
            return  # which the walk has said
        self._compressed[key] += len(data)
        tally.packable += before
        tally.packed += min(before, padded(len(_compressor().compress(data))))

    def _count_kernels(self, stored: StoredImage) -> None:
        kernels = self.measured.kernels
        try:
            data = ByteView.of(stored.payload.decode())
            sizes = Cubin.parse(data, stored.payload.budget).kernel_sizes()
        except Malformed:
            self.measured.kernels_left_out += 1
            return
        for name, size in sizes:
            known = kernels.get(name)
            if known is None:
                if len(kernels) >= _MOST_KERNELS:
                    self.measured.kernels_left_out += 1
                    continue
                known = kernels[name] = KernelTally()
            known.code += size
            known.count += 1


def _library_of(place: Location) -> Location:
    """The file that a linker or loader is given: of an archive's objects, the archive."""
    if place.path.endswith(_ARCHIVES):
        return Location(place.path)
    for number, name in enumerate(place.members, 1):
        if name.endswith(_ARCHIVES):
            return Location(place.path, place.members[:number])
    return Location(place.path, place.members)


def _image_shape(image: Image) -> ImageSignature:
    return ImageSignature(
        image.kind,
        image.arch,
        relocatable=image.relocatable,
        prelinked=image.section in PRELINKED_SECTIONS,
        compression=image.compression,
    )


def _hash(view: ByteView) -> int:
    """A number that bytes have in common with equal ones alone, in this process.

    Python's own hash has a secret key, so that no file is made to collide, 61 bits are left of it
    here, and it takes a quarter of the time of BLAKE2.
    """
    parts = (hash(view.peek(start, MIB)) for start in range(0, view.size, MIB))
    return hash((view.size, *parts))


@functools.cache
def _compressor() -> zstandard.ZstdCompressor:
    import zstandard

    return zstandard.ZstdCompressor(level=NVCC_LEVEL)
