"""One large file, cut into slices that several processes read.

All that a walk knows is its position, so that a slice can be read without what lies before it. It
begins anywhere, at best at a region: where the one before turns out to reach into it, beyond what
was first found there, it is read again.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from msgspec import Struct

from ltocompat.files.byteview import ByteView, FileSource
from ltocompat.files.fatbin import StoredModule
from ltocompat.files.fatbin.region import NEEDLE, REGION_HEADER
from ltocompat.files.fatbin.walk import FatbinWalk
from ltocompat.model.errors import LimitExceeded
from ltocompat.model.generic import T
from ltocompat.model.image import HostBinary, ImageLayer, Module, Skipped
from ltocompat.model.limits import MIB, Budget
from ltocompat.model.location import Location
from ltocompat.scan.workers import Pool

if TYPE_CHECKING:
    from ltocompat.files.objects.host_file import ObjectFile

# Files below this number of bytes are read faster than processes start.
LARGE = 64 * MIB

# More processes aren't faster, since one process joins their results (on 16 cores).
ENOUGH_WORKERS = 12

# Some take much longer than others; with many workers each is shorter, and handing it over counts.
_SLICES, _SLICES_OF_EACH = 16, 8
_STEP = 2 * MIB


# A part of a file that stays as it is: only a ``StoredModule`` is described.
P = TypeVar("P", bound=Module | Skipped | HostBinary | ImageLayer)
# A range, from offset to offset in bytes.
Span = tuple[int, int]


class Describer(Protocol[T]):
    """Makes records of stored modules in two steps; only the second knows the earlier modules."""

    def describe(self, stored: StoredModule) -> tuple[T, Sequence[Skipped]]:
        """A module, and which of its images can't be read."""

    def finish(self, described: T) -> Module:
        """Return the module, once all earlier ones are finished."""


def described(stored: StoredModule | P, describer: Describer[T]) -> Iterator[Module | Skipped | P]:
    """Yield the records of a stored module; pass records on unchanged."""
    if not isinstance(stored, StoredModule):
        yield stored
        return
    module, unread = describer.describe(stored)
    yield describer.finish(module)
    yield from unread


class Slicing(Struct, Generic[T], frozen=True):
    """Options for reading a large file: the number of processes, and the describer of modules."""

    jobs: int
    describer: Describer[T]


_Described = Iterator[Module | Skipped | HostBinary]


def worth_it(view: ByteView, least: int) -> bool:
    """Return whether several processes read a file faster; they need a file with a descriptor."""
    return view.size >= least and isinstance(view.source, FileSource)


class Slice(Struct, Generic[T], frozen=True):
    """The result of reading one slice.

    Attributes:
        records: the described modules, and skipped places.
        first: offset of the first module; None if there is none.
        end: end of the last module, in bytes from the start of the file.
        covered: the ranges that were read, from offset to offset.
        decoded: bytes that images were decoded to.
    """

    records: list[T | Skipped]
    first: int | None
    end: int
    covered: list[tuple[int, int]]
    decoded: int


class SlicedFile(Struct, Generic[T], frozen=True):
    """A file to be read in slices.

    Attributes:
        view: its bytes.
        place: its place.
        host: the host file around the device code.
        budget: its budget.
        describer: describes its modules.
    """

    view: ByteView
    place: Location
    host: ObjectFile | None
    budget: Budget
    describer: Describer[T]

    def spans(self, jobs: int) -> list[Span]:
        """Return the slices for a number of processes."""
        return list(pairwise(self._cuts(_SLICES + jobs * _SLICES_OF_EACH)))

    def by_workers(self, jobs: int, needing: Callable[[], HostBinary | None]) -> _Described:
        """Yield the records that processes find, then the host file, read by one of them."""
        # Once, and not by every worker.
        import ahocorasick_rs  # noqa: F401
        import zstandard  # noqa: F401

        def work(span: Span | None) -> Slice[T] | HostBinary | None:
            return needing() if span is None else self.read(span)

        spans = self.spans(jobs)
        last = len(spans)
        order = [last, *range(last)]  # it takes long, and nothing waits for it but the end
        with Pool(work, [*spans, None], jobs, order, queued=_SLICES) as pool:
            found = iter(pool)
            parts = (part if isinstance(part, Slice) else None for part in islice(found, last))
            yield from self.joined(spans, parts)
            described = next(found)
        described = described if isinstance(described, HostBinary) else needing()
        if described is not None:
            yield described

    def _cuts(self, number: int) -> list[int]:
        """Offsets that part the file into about so many slices, of as many bytes or regions."""
        regions = sorted(self.host.registration().regions) if self.host else []
        size = self.view.size
        step = max(size // number, _STEP)
        found = {0, size, *regions[:: max(len(regions) // number, 1)]}
        edges = [*regions, size]
        for wanted in range(step, size, step):
            behind = bisect(regions, wanted)
            # What is cut off a region is read twice.
            end = self._end_of(regions[behind - 1]) if behind else wanted
            found.add(min(max(wanted, end), edges[behind]))
        return sorted(found)

    def _end_of(self, region: int) -> int:
        """Return the end of a region, by its header."""
        head = self.view.peek(region, REGION_HEADER.size)
        if len(head) < REGION_HEADER.size or not head.startswith(NEEDLE):
            return region
        return region + REGION_HEADER.size + int(REGION_HEADER.unpack(head)[3])

    def read(self, span: Span) -> Slice[T] | None:
        """Return the result of one slice; None if a limit is exceeded."""
        budget = Budget(self.budget.limits, deadline=self.budget.deadline)
        walk = FatbinWalk(self.view, self.place, self.host, budget)
        walk.resume(span[0], ())
        records: list[T | Skipped] = []
        skipped = 0
        with suppress(LimitExceeded):
            for stored in walk.until(span[1]):
                if isinstance(stored, Skipped):
                    unread: Sequence[Skipped] = (stored,)
                else:
                    described, unread = self.describer.describe(stored)
                    records.append(described)
                records += unread
                skipped += len(unread)
                budget.recent.forget()  # nobody looks at it again: its memory takes the next one
                if skipped > budget.limits.skipped:  # a flood, which is folded as it comes
                    return None
            return Slice(records, walk.first, walk.position, walk.covered, budget.decoded)
        return None

    def joined(self, spans: Iterable[Span], slices: Iterable[Slice[T] | None]) -> _Described:
        """Yield the records that one process would find, from slices that were read separately."""
        walk = FatbinWalk(self.view, self.place, self.host, self.budget)
        try:
            for span, part in zip(spans, slices, strict=True):
                if part is not None and self._fits(part, walk.position):
                    self.budget.decoded += part.decoded
                    walk.resume(part.end, part.covered)
                    finish = self.describer.finish
                    for record in part.records:
                        yield record if isinstance(record, Skipped) else finish(record)
                else:
                    for stored in walk.until(span[1]):
                        yield from described(stored, self.describer)
                        self.budget.recent.forget()
        except LimitExceeded as error:
            yield walk.rest(error)
        else:
            yield from walk.gaps()

    def _fits(self, part: Slice[T], position: int) -> bool:
        """Return whether a walk that is at ``position`` finds the same, and within the limits."""
        decoded = self.budget.decoded + part.decoded
        in_front = part.first is None or position <= part.first
        return in_front and decoded <= self.budget.limits.total_bytes
