"""Registration: which fatbin regions a CUDA wrapper points at, so that the CUDA runtime loads them.

A wrapper (``__fatBinC_Wrapper_t`` of CUDA's fatbinary_section.h) is: u32 magic 0x466243B1, u32
version, a pointer to the region, and a pointer that version 1 leaves null. Version 2 is what
``nvcc -dlink`` writes for the linked region: there it points at ``__cudaPrelinkedFatbins``, an
array of pointers to the regions of the relocatable objects, from which the driver links again where
the linked region has no image for the GPU.

That array is **not in the file**. It lies in .bss and is filled before main(): each object calls
``__cudaRegisterLinkedBinary_<id>()`` with its own version-1 wrapper (``__fatbinwrap_<id>``), and
CUDA's crt/link.stub stores the pointer of that wrapper; the last call registers the version-2
wrapper. So every prelinked region
has a wrapper of its own, which is never registered by itself; ``prelinked`` finds out which belong
to which version-2 wrapper.

Measured with nvcc 13.0.88 on two objects, readelf -x .nvFatBinSegment -r.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ltocompat.files.byteview import ByteView
from ltocompat.files.objects.prelinked import LINKED, Wrapper, prelinked_regions
from ltocompat.files.objects.structure import ObjectReader
from ltocompat.files.objects.windows import occurrences
from ltocompat.model.limits import Budget

WRAPPER_MAGIC = b"\xb1\x43\x62\x46"
REGION_MAGIC = b"\x50\xed\x55\xba"
_HEAD = struct.Struct("<II")


@dataclass(frozen=True, slots=True)
class Registration:
    """What the wrappers of a file say.

    Attributes:
        known: the wrappers could be read, or the file certainly has none.
        prelinked: file offset of a version-2 wrapper's region -> file offsets of the prelinked
            ``__nv_relfatbin`` regions that belong to it.
        regions: file offsets of all regions that a wrapper points at.
        complete: every wrapper could be followed.
    """

    known: bool
    prelinked: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    regions: frozenset[int] = frozenset()
    complete: bool = True

    def registered(self, region_offset: int) -> bool | None:
        """Whether a wrapper points at the region at this file offset; None when not known."""
        if not self.known:
            return None
        if region_offset in self.regions:
            return True
        return False if self.complete else None


def read_registration(view: ByteView, budget: Budget, host: ObjectReader) -> Registration:
    """Follow every wrapper of a host file."""
    if not host.pointers_readable:
        return Registration(known=False)
    named = [(s.offset, s.size) for s in host.sections if s.wrapper]
    spans = named or host.wrapper_search_spans()
    found = list(_candidates(view, budget, host, spans))
    wrappers, lost = _follow(host, found)
    if not named:
        # Anywhere else the magic can be a constant; only a pointer to a region proves a wrapper.
        wrappers = [w for w in wrappers if _is_region(view, w.region)]
        lost = 0
    if lost:
        host.problems.append(
            f"{lost} of {len(found)} fatbin wrappers cannot be followed: their pointers have no "
            "relocation that is known here"
        )
    return Registration(
        known=bool(wrappers) or not lost,
        prelinked=prelinked_regions(view, host, wrappers),
        regions=frozenset(w.region for w in wrappers if w.region is not None),
        complete=not lost,
    )


def _candidates(
    view: ByteView, budget: Budget, host: ObjectReader, spans: list[tuple[int, int]]
) -> Iterator[tuple[int, int]]:
    """(offset, version) of what starts like a wrapper, at the alignment of a pointer."""
    size = 8 + 2 * host.pointer_size
    for start, length in spans:
        for offset in occurrences(view, budget, start, length, WRAPPER_MAGIC):
            aligned = (offset - start) % host.pointer_size == 0
            if aligned and offset + size <= min(start + length, view.size):
                version = view.unpack(_HEAD, offset)[1]
                if version in (1, LINKED):
                    yield offset, version


def _follow(host: ObjectReader, found: list[tuple[int, int]]) -> tuple[list[Wrapper], int]:
    """The wrappers whose pointers could be resolved, and the number of the others."""
    width = host.pointer_size
    slots = {offset + 8 for offset, _ in found}
    slots |= {offset + 8 + width for offset, version in found if version == LINKED}
    pointers = host.pointers(slots)
    wrappers = []
    for offset, version in found:
        if offset + 8 in pointers:
            target = pointers[offset + 8]
            region = host.offset_of(target) if target else None
            array = pointers.get(offset + 8 + width) if version == LINKED else None
            wrappers.append(Wrapper(offset, version, region, array))
    return wrappers, len(found) - len(wrappers)


def _is_region(view: ByteView, offset: int | None) -> bool:
    return offset is not None and view.peek(offset, 4) == REGION_MAGIC
