"""Registration: the fatbin regions that a CUDA wrapper points at, which the CUDA runtime loads.

A wrapper (``__fatBinC_Wrapper_t`` of CUDA's fatbinary_section.h) is: u32 magic 0x466243B1, u32
version, a pointer to the region, and a pointer that version 1 leaves null. Version 2 is what
``nvcc -dlink`` writes for the linked region: there it points at ``__cudaPrelinkedFatbins``, an
array of pointers to the regions of the relocatable objects, from which the driver links again where
the linked region has no image for the GPU.

That array is **not in the file**. It lies in .bss and is filled before main(): each object calls
``__cudaRegisterLinkedBinary_<id>()`` with its own version-1 wrapper (``__fatbinwrap_<id>``), and
CUDA's crt/link.stub stores the pointer of that wrapper; the last call registers the version-2
wrapper. So every prelinked region has a wrapper of its own, which is never registered by itself.
Measured with nvcc 13.0.88 on two objects, readelf -x .nvFatBinSegment -r.

Which of them belong to which version-2 wrapper is told by what CUDA's crt/link.stub leaves in
``__nv_module_id``: each object has its "<id>" there, and each device link one "def <id>" for every
object that it linked. The host linker lays all sections out in the same order, so

* the n-th "<id>" belongs to the n-th wrapper of a region in ``__nv_relfatbin``; objects that wait
  for no device link, and have their region in ``.nv_fatbin``, leave "__NV_MODULE_ID" there instead;
* each run of "def <id>" belongs to one version-2 wrapper, in order, when there are as many runs as
  wrappers; where two device links lie side by side, the sizes of their arrays (symbols, unless
  stripped) say where to part them.

One version-2 wrapper alone has all of them. Where these counts don't fit together the answer is
empty: nothing is guessed. Measured with nvcc 13.0.88, two device links of two objects each, in
every link order, against the symbols ``__fatbinwrap<id>`` (nm).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from itertools import accumulate, groupby

from msgspec import Struct, field

from ltocompat.files.byteview import ByteView
from ltocompat.files.first_bytes import FATBIN_MAGIC
from ltocompat.files.objects.structure import WRAPPER_SECTIONS, ObjectReader, occurrences
from ltocompat.model.limits import MIB

LINKED = 2
_MODULE_ID_SECTIONS = frozenset({"__nv_module_id", "__nv_mod"})
_MODULE_ID_BYTES = 8 * MIB
_DEFINITION = b"def "
_NO_ID = b"__NV_MODULE_ID"


class _Wrapper(Struct, frozen=True):
    """One wrapper in the file.

    Attributes:
        version: 1, or 2 for the result of a device link.
        region: file offset of its region, None if the region lies outside of this file.
        null: its pointer is null.
        array: address of its array of prelinked regions, None in version 1.
    """

    version: int
    region: int | None
    null: bool
    array: int | None


def _prelinked_regions(host: ObjectReader, wrappers: list[_Wrapper]) -> dict[int, tuple[int, ...]]:
    """Offset of each linked region -> offsets of the prelinked regions that belong to it."""
    linked = [w for w in wrappers if w.version == LINKED and w.region is not None]
    spans = [(s.offset, s.end) for s in host.sections if s.prelinked]
    regions = [
        w.region
        for w in host.budget.timed(wrappers, slow=True)
        if w.version != LINKED
        and w.region is not None
        and any(start <= w.region < end for start, end in spans)
    ]
    if len(linked) > 1:
        return _by_module_ids(host, linked, regions)
    return {w.region: tuple(dict.fromkeys(regions)) for w in linked if w.region is not None}


def _by_module_ids(
    host: ObjectReader, linked: list[_Wrapper], regions: list[int]
) -> dict[int, tuple[int, ...]]:
    """Several device links in one file: told apart by the module ids; empty if they disagree."""
    texts = _module_ids(host)
    ids = [text for text in texts if not text.startswith(_DEFINITION)]
    if len(ids) != len(regions) or len(set(ids)) != len(ids):
        return {}
    region_of = dict(zip(ids, regions, strict=True))
    groups = _groups(host, linked, texts)
    found: dict[int, tuple[int, ...]] = {}
    for wrapper, group in zip(linked, groups, strict=False):
        members = [region_of.get(text.removeprefix(_DEFINITION)) for text in group]
        if wrapper.region is None or None in members:
            return {}
        found[wrapper.region] = tuple(member for member in members if member is not None)
    return found


def _module_ids(host: ObjectReader) -> list[bytes]:
    """The strings of __nv_module_id, in the order of the file."""
    texts: list[bytes] = []
    for section in host.sections:
        if section.name in _MODULE_ID_SECTIONS:
            data = host.view.read(section.offset, min(section.size, _MODULE_ID_BYTES))
            texts.extend(text for text in data.split(b"\0") if text not in (b"", _NO_ID))
    return texts


def _groups(host: ObjectReader, linked: list[_Wrapper], texts: list[bytes]) -> list[list[bytes]]:
    """The "def <id>" of each version-2 wrapper; empty when they can't be told apart."""
    runs = [
        list(run)
        for defines, run in groupby(texts, key=lambda text: text.startswith(_DEFINITION))
        if defines
    ]
    if len(runs) == len(linked):
        return runs
    definitions = [text for run in runs for text in run]
    counts = [
        None if w.array is None else host.prelinked_count(w.array)
        for w in host.budget.timed(linked, slow=True)
    ]
    sizes = [count for count in counts if count is not None]
    if len(sizes) != len(linked) or sum(sizes) != len(definitions):
        return []
    ends = accumulate(sizes)
    return [definitions[end - size : end] for end, size in zip(ends, sizes, strict=True)]


_MAGIC = 0x466243B1
_HEAD = struct.Struct("<II")


class Registration(Struct, frozen=True):
    """The fatbin regions that the wrappers of a file register.

    Attributes:
        known: True if the wrappers could be read, or the file surely has none.
        prelinked: file offset of a version-2 wrapper's region -> file offsets of the prelinked
            ``__nv_relfatbin`` regions that belong to it.
        regions: file offsets of all regions to which a wrapper points.
        complete: True if every wrapper could be followed.
    """

    known: bool
    prelinked: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    regions: frozenset[int] = frozenset()
    complete: bool = True

    def registered(self, region_offset: int) -> bool | None:
        """Return whether a wrapper points to the region at this offset; None if unknown."""
        if not self.known:
            return None
        if region_offset in self.regions:
            return True
        return False if self.complete else None


def read_registration(host: ObjectReader) -> Registration:
    """Follow every wrapper of a host file."""
    if not host.pointers_readable:
        return Registration(known=False)
    named = [(s.offset, s.size) for s in host.sections if s.name in WRAPPER_SECTIONS]
    found = list(_candidates(host, named or host.wrapper_search_spans()))
    wrappers, lost = _follow(host, found)
    astray = sum(not _is_region(host.view, wrapper.region) for wrapper in wrappers)
    if astray and _every_region_has_one(host, wrappers):
        # A linker leaves null where it drops a region that nothing uses (libtorch_cuda 1.12.1).
        astray -= sum(wrapper.null for wrapper in wrappers)
    if not named:
        # Anywhere else the magic can be a constant; only a pointer to a region proves a wrapper.
        wrappers = [w for w in wrappers if _is_region(host.view, w.region)]
        lost = 0 if host.sections else lost
    if astray:
        host.problems.append(f"{astray} of {len(found)} fatbin wrappers point to no region")
    if lost:
        host.problems.append(
            f"{lost} of {len(found)} fatbin wrappers cannot be followed: their pointers have no "
            "relocation of a known type"
        )
    return Registration(
        known=bool(wrappers) or not lost,
        prelinked=_prelinked_regions(host, wrappers),
        regions=frozenset(w.region for w in wrappers if w.region is not None),
        complete=not lost,
    )


def _candidates(host: ObjectReader, spans: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """(offset, version) of what starts like a wrapper, at the alignment of a pointer."""
    size = 8 + 2 * host.pointer_size
    for start, length in spans:
        found = sorted(
            (offset, version)
            for version in (1, LINKED)
            for offset in occurrences(
                host.view, host.budget, start, length, _HEAD.pack(_MAGIC, version)
            )
        )
        for offset, version in found:
            aligned = (offset - start) % host.pointer_size == 0
            if aligned and offset + size <= min(start + length, host.view.size):
                yield offset, version


def _follow(host: ObjectReader, found: list[tuple[int, int]]) -> tuple[list[_Wrapper], int]:
    """The wrappers whose pointers could be resolved, and the number of the others."""
    width = host.pointer_size
    slots = {offset + 8 for offset, _ in found}
    slots |= {offset + 8 + width for offset, version in found if version == LINKED}
    pointers = host.pointers(slots)
    wrappers = []
    for offset, version in host.budget.timed(found, slow=True):
        if offset + 8 in pointers:
            target = pointers[offset + 8]
            region = host.offset_of(target) if target else None
            array = pointers.get(offset + 8 + width) if version == LINKED else None
            wrappers.append(_Wrapper(version, region, not target, array))
    return wrappers, len(found) - len(wrappers)


def _every_region_has_one(host: ObjectReader, wrappers: list[_Wrapper]) -> bool:
    """Return whether a wrapper points at each region of the fatbin sections, if there are some."""
    spans = ((s.offset, s.size) for s in host.sections if s.fatbin)
    regions = {o for at in spans for o in occurrences(host.view, host.budget, *at, FATBIN_MAGIC)}
    return set() < regions <= {wrapper.region for wrapper in wrappers}


def _is_region(view: ByteView, offset: int | None) -> bool:
    return offset is not None and view.peek(offset, 4) == FATBIN_MAGIC
