"""All device code of one file, in file order: regions, naked images, and what can't be read."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from ltocompat.files import codec
from ltocompat.files.byteview import ByteView, is_zero, occurrences
from ltocompat.files.codec import ZSTD_MAGIC, Payload, zstd_frame
from ltocompat.files.fatbin import StoredImage, StoredModule, region
from ltocompat.files.fatbin.region import NEEDLE, REGION_HEADER, Region
from ltocompat.files.fatbin.stored_table import StoredImageTable
from ltocompat.files.first_bytes import FATBIN_MAGIC
from ltocompat.files.images import cubin, ltoir
from ltocompat.files.images.cubin_header import HEAD_SIZE, parse_header
from ltocompat.files.images.cubin_header import NEEDLE as CUBIN_NEEDLE
from ltocompat.model.errors import LimitExceeded, Malformed
from ltocompat.model.image import Compression, Image, ImageKind, Skipped
from ltocompat.model.limits import Budget
from ltocompat.model.location import Location

if TYPE_CHECKING:
    from ltocompat.files.objects.host_file import ObjectFile


def _zstd_cubin(view: ByteView, budget: Budget) -> Payload:
    """The Zstandard frame at the start of ``view`` that holds a cubin (libcublasLt has some)."""
    stored_size, size = zstd_frame(view, 0, budget)
    stored = view.sub(0, stored_size)
    parse_header(Payload(stored, Compression.ZSTD, None, budget).prefix(HEAD_SIZE).data)
    return Payload(stored, Compression.ZSTD, size, budget)


def bare_image(
    place: Location, section: str | None, kind: ImageKind, payload: Payload
) -> StoredImage:
    """Return an image outside of regions, which no header describes."""
    image = Image(
        kind,
        None,
        place,
        section,
        stored_size=payload.stored.size,
        size=payload.declared,
        compression=payload.compression,
    )
    return StoredImage(image, payload)


class _Accounting:
    """An account of the covered parts of the fatbin sections; cover in file order.

    A file that begins like a region and has no host around it counts as one such section.
    """

    def __init__(self, view: ByteView, host: ObjectFile | None, budget: Budget) -> None:
        self._view = view
        self._budget = budget
        if host is not None:
            sections = [(s.offset, s.offset + s.size) for s in host.sections if s.fatbin]
        elif view.peek(0, len(FATBIN_MAGIC)) == FATBIN_MAGIC:
            sections = [(0, view.size)]
        else:
            sections = []
        self._sections = sections
        self.covered: list[tuple[int, int]] = []

    def cover(self, start: int, end: int) -> None:
        """Book the bytes from ``start`` to ``end`` (file offsets)."""
        if self.covered and start <= self.covered[-1][1]:
            start, end = self.covered[-1][0], max(end, self.covered[-1][1])
            self.covered.pop()
        self.covered.append((start, end))

    def leaves_out(self, offset: int) -> bool:
        """Return whether an offset lies outside of fatbin sections and is not covered."""
        before = bisect_right(self.covered, offset, key=itemgetter(0))
        spans = (*self._sections, *self.covered[max(before - 1, 0) : before])
        return not any(start <= offset < end for start, end in spans)

    def gaps(self) -> Iterator[tuple[int, int]]:
        """Yield offset and size of every range of a fatbin section not covered and not padding.

        Zeros are padding after contents; a section that has only zeros but room for a region is
        damaged.
        """
        for begin, end in self._sections:
            at = begin
            for first, last in self._budget.timed((*self.covered, (end, end))):
                size = min(first, end) - at  # 0 and less where it follows at once
                empty = size == end - begin >= REGION_HEADER.size
                if empty or not is_zero(self._view, at, at + size, self._budget):
                    yield at, size
                at = max(at, last)


_NEEDLES = (region.NEEDLE, CUBIN_NEEDLE, ltoir.MAGIC, codec.ZSTD_MAGIC)

# Small enough that it stays in the processor's cache while it is searched for each needle.
_WINDOW = 256 << 10
_OVERLAP = max(map(len, _NEEDLES)) - 1
# Images follow each other with at most this much padding (compilers align arrays to 32 bytes).
_PADDING = 64


class _Hit(Struct, frozen=True):
    """A needle and the offset where it was found."""

    offset: int
    needle: bytes


class _Scanner(Struct):
    """Hits in file order; the caller moves on past what it understood with ``skip_to``.

    Attributes:
        position: everything in front of this offset was looked at or skipped.
    """

    _view: ByteView
    _budget: Budget
    position: int = 0
    _window_end: int = 0
    _hits: deque[_Hit] = field(default_factory=deque)

    def skip_to(self, offset: int) -> None:
        """Continue at ``offset``, never backwards."""
        self.position = max(self.position, offset)

    def until(self, stop: int) -> Iterator[_Hit]:
        """Yield hits before ``stop``."""
        while (hit := self._adjacent() or self._next(stop)) is not None:
            if hit.offset >= stop:
                self._hits.appendleft(hit)
                return
            self.position = hit.offset + 1
            yield hit

    def _adjacent(self) -> _Hit | None:
        """Find the next region behind mere padding, without a scan."""
        head = self._view.peek(self.position, _PADDING + _OVERLAP + 1)
        found = head.lstrip(b"\0")
        for needle in _NEEDLES:
            if found.startswith(needle):
                return _Hit(self.position + len(head) - len(found), needle)
        return None

    def _next(self, stop: int) -> _Hit | None:
        """The next hit by a scan, which goes no further than to the window that ``stop`` is in."""
        while True:
            while self._hits:
                hit = self._hits.popleft()
                if hit.offset >= self.position:
                    return hit
            start = max(self.position, self._window_end)
            if start >= stop:
                return None
            self._scan(start)

    def _scan(self, start: int) -> None:
        self._budget.check_time()
        window = self._view.peek(start, _WINDOW + _OVERLAP)
        self._window_end = start + _WINDOW
        found = [(at, needle) for needle in _NEEDLES for at in occurrences(needle, window)]
        self._hits.extend(_Hit(start + at, needle) for at, needle in sorted(found) if at < _WINDOW)


class _Reading(Struct, frozen=True):
    """The result of reading one region.

    Attributes:
        walked: end of the entries that were understood (file offset); the scan goes on there.
        accounted: end of what was understood or reported (file offset).
        images: the images found.
        unread: what was not.
        without_entries: not even the first entry makes sense.
    """

    walked: int
    accounted: int
    images: Sequence[StoredImage]
    unread: list[Skipped]
    without_entries: bool = False


class FatbinWalk:
    """One walk through one file.

    Args:
        view: the whole file.
        place: its place.
        host: the host file around the device code; None for a file that is device code itself.
        budget: the budget of the file.

    Attributes:
        first: offset of the first finding; None before that.
    """

    def __init__(
        self, view: ByteView, place: Location, host: ObjectFile | None, budget: Budget
    ) -> None:
        self._view = view
        self._place = place
        self._host = host
        self._budget = budget
        self.first: int | None = None
        self._scanner = _Scanner(view, budget)
        self._accounting = _Accounting(view, host, budget)
        self._prelinked = host.registration().prelinked if host else {}
        self._claimed = {offset for offsets in self._prelinked.values() for offset in offsets}

    @property
    def position(self) -> int:
        """Offset that the walk has reached, bytes."""
        return self._scanner.position

    @property
    def covered(self) -> list[tuple[int, int]]:
        """Covered ranges, from offset to offset."""
        return self._accounting.covered

    def __iter__(self) -> Iterator[StoredModule | Skipped]:
        try:
            yield from self.until(self._view.size)
        except LimitExceeded as error:
            yield self.rest(error)
        else:
            yield from self.gaps()

    def until(self, stop: int) -> Iterator[StoredModule | Skipped]:
        """Yield modules that begin before ``stop``, from the current position on.

        Raises:
            LimitExceeded: the time for this file is used up.
        """
        for hit in self._scanner.until(stop):
            if self.first is None:
                self.first = hit.offset
            self._budget.check_time()
            yield from self._region(hit.offset) if hit.needle == NEEDLE else self._image(hit)

    def resume(self, position: int, covered: Iterable[tuple[int, int]]) -> None:
        """Leave out the bytes up to ``position`` that another walk has read."""
        self._scanner.skip_to(position)
        for start, end in covered:
            self._accounting.cover(start, end)

    def rest(self, error: LimitExceeded) -> Skipped:
        """Report the rest of the file as skipped after a limit was exceeded."""
        left = self._view.size - self.position
        return Skipped(self._place, f"the rest is not read: {error}", left, error.limit)

    def gaps(self) -> Iterator[Skipped]:
        """Yield bytes of fatbin sections that belong to nothing, after everything was read."""
        for offset, size in self._accounting.gaps():
            reason = f"{size} bytes of a fatbin section belong to no region"
            yield Skipped(self._place.at(offset), reason, size)
        for offset in sorted(self._host.registration().regions if self._host else ()):
            if self._accounting.leaves_out(offset):
                reason = "a fatbin wrapper points here, where no region can be read"
                yield Skipped(self._place.at(offset), reason)

    def _image(self, hit: _Hit) -> Sequence[StoredModule | Skipped]:
        whole = hit.offset == 0 and self._host is None
        try:
            image = self._naked(hit, whole=whole)
        except LimitExceeded:
            raise
        except Malformed as error:
            if whole and hit.needle == ltoir.MAGIC:
                # It begins as LTO-IR does, whatever its header says: only a linker can tell.
                payload = Payload(self._view, Compression.NONE, None, self._budget)
                image = bare_image(self._place, None, ImageKind.LTOIR, payload)
                return (StoredModule(self._place, None, None, (image,)),)
            if whole and hit.needle != ZSTD_MAGIC:
                return (Skipped(self._place, str(error), self._view.size),)
            return ()
        end = hit.offset + (image.entry.stored_size or ltoir.HEAD_SIZE)
        self._scanner.skip_to(end)
        self._accounting.cover(hit.offset, end)
        registration = self._host.registration() if self._host else None
        registered = False if registration and registration.known else None
        return (StoredModule(image.entry.place, image.entry.section, registered, (image,)),)

    def _naked(self, hit: _Hit, *, whole: bool) -> StoredImage:
        view = self._view.sub(hit.offset, self._view.size - hit.offset)
        place = self._place if whole else self._place.at(hit.offset)
        section = self._section(hit.offset)
        if hit.needle == ZSTD_MAGIC:
            return bare_image(place, section, ImageKind.SASS, _zstd_cubin(view, self._budget))
        if hit.needle == CUBIN_NEEDLE:
            end = cubin.Cubin.parse(view, self._budget).extent
            payload = Payload(view.sub(0, end), Compression.NONE, None, self._budget)
            image = bare_image(place, section, ImageKind.SASS, payload)
            if not whole or end == view.size:
                return image
            problem = (
                f"{view.size - end} bytes follow the cubin in its file; the table of its sections "
                "may be truncated"
            )
            return replace(image, entry=replace(image.entry, problems=(problem,)))
        ltoir.parse(view.peek(0, ltoir.HEAD_SIZE))
        # The header has no length: that of the file tells, or that of the symbol around it.
        size = self._host.symbol_size(hit.offset) if self._host else None
        size = self._view.size if whole else size
        stored = view.sub(0, view.size if size is None else size)
        payload = Payload(stored, Compression.NONE, None, self._budget)
        image = bare_image(place, section, ImageKind.LTOIR, payload)
        return replace(image, entry=replace(image.entry, stored_size=size))

    def _region(self, offset: int) -> Sequence[StoredModule | Skipped]:
        section = self._section(offset)
        read = self._read_region(offset, section)
        if read.without_entries and self._among_instructions(offset):
            return ()
        self._scanner.skip_to(read.walked)
        # nvFatbin writes empty regions to files, and no library is known to have one.
        if read.images or read.unread or self._host is None:
            self._accounting.cover(offset, read.accounted)
        if offset in self._claimed:
            return read.unread
        images = [read.images]
        size = read.walked - offset
        for part in self._prelinked.get(offset, ()):
            # Unread bytes there are reported when the walk gets there.
            prelinked = self._read_region(part, self._section(part))
            images.append(prelinked.images)
            size += prelinked.walked - part
        if read.unread and not any(images):
            return read.unread
        registered = self._host.registration().registered(offset) if self._host else None
        whole = self._view.sub(offset, read.accounted - offset)
        place = self._place.at(offset)
        all_images = images[0] if len(images) == 1 else tuple(chain.from_iterable(images))
        return (StoredModule(place, section, registered, all_images, whole, size), *read.unread)

    def _read_region(self, offset: int, section: str | None) -> _Reading:
        unread: list[Skipped] = []
        try:
            view = self._view.sub(offset, self._view.size - offset)
            region = Region(view, self._budget)
        except Malformed as error:
            left = max(self._view.size - offset, 0)
            unread = [Skipped(self._place.at(offset), str(error), left, error.limit)]
            return _Reading(offset, offset + left, (), unread, without_entries=True)
        images = StoredImageTable(view, self._place.at(offset), section, self._budget)
        for number, entry in enumerate(region):
            try:
                images.add(number, entry)
            except Malformed as error:
                at = self._place.at(offset, number)
                unread.append(Skipped(at, str(error), entry.end - entry.offset, error.limit))
        accounted = region.walked
        if region.broken is not None:
            place = self._place.at(offset)
            accounted = max(region.walked, min(region.size, view.size))
            unread.append(Skipped(place, region.broken, accounted - region.walked, region.limit))
            if region.limit is None:  # readers take all of a region, or none of it
                images.problem = f"its region is damaged: {region.broken}"
        without_entries = region.walked <= REGION_HEADER.size and region.limit is None
        walked, known = offset + region.walked, offset + accounted
        return _Reading(walked, known, images.few_as_tuple(), unread, without_entries)

    def _among_instructions(self, offset: int) -> bool:
        """Return whether a seeming region is a constant in code that writes or compares magics.

        A region among them is one that a wrapper points at.
        """
        section = self._host.section_at(offset) if self._host else None
        if self._host is None or section is None or not section.executable:
            return False
        return not self._host.registration().registered(offset)

    def _section(self, offset: int) -> str | None:
        section = self._host.section_at(offset) if self._host else None
        return section.name if section else None
