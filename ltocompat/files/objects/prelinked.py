"""Which regions of relocatable objects belong to which linked region (a version-2 wrapper's).

The array that a version-2 wrapper points at is empty in the file (see ``wrappers``), but what
CUDA's crt/link.stub leaves in ``__nv_module_id`` tells: each object has its "<id>" there, and each
device link one "def <id>" for every object that it linked. The host linker lays all sections out in
the same order, so

* the n-th "<id>" belongs to the n-th wrapper of a region in ``__nv_relfatbin``;
* each run of "def <id>" belongs to one version-2 wrapper, in order, when there are as many runs as
  wrappers; where two device links lie side by side, the sizes of their arrays (symbols, unless
  stripped) say where to part them.

One version-2 wrapper alone has all of them. Where these counts don't fit together the answer is
empty: nothing is guessed. Measured with nvcc 13.0.88, two device links of two objects each, in
every link order, against the symbols ``__fatbinwrap<id>`` (nm).
"""

from __future__ import annotations

from itertools import groupby
from typing import NamedTuple

from ltocompat.files.byteview import ByteView
from ltocompat.files.objects.structure import ObjectReader
from ltocompat.model.limits import MIB

LINKED = 2
_MODULE_ID_SECTIONS = frozenset({"__nv_module_id", "__nv_mod"})
_MODULE_ID_BYTES = 8 * MIB
_DEFINITION = b"def "


class Wrapper(NamedTuple):
    """One wrapper in the file.

    Attributes:
        offset: of its first byte.
        version: 1, or 2 for the result of a device link.
        region: file offset of its region, None where the region lies outside of this file.
        array: address of its array of prelinked regions, None in version 1.
    """

    offset: int
    version: int
    region: int | None
    array: int | None


def prelinked_regions(
    view: ByteView, host: ObjectReader, wrappers: list[Wrapper]
) -> dict[int, tuple[int, ...]]:
    """Offset of each linked region -> offsets of the prelinked regions that belong to it."""
    linked = [w for w in wrappers if w.version == LINKED and w.region is not None]
    spans = [(s.offset, s.end) for s in host.sections if s.prelinked]
    regions = [
        w.region
        for w in wrappers
        if w.version != LINKED
        and w.region is not None
        and any(start <= w.region < end for start, end in spans)
    ]
    if len(linked) > 1:
        return _by_module_ids(view, host, linked, regions)
    return {w.region: tuple(regions) for w in linked if w.region is not None}


def _by_module_ids(
    view: ByteView, host: ObjectReader, linked: list[Wrapper], regions: list[int]
) -> dict[int, tuple[int, ...]]:
    """Several device links in one file: told apart by the module ids; empty where they disagree."""
    texts = _module_ids(view, host)
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


def _module_ids(view: ByteView, host: ObjectReader) -> list[bytes]:
    """The strings of __nv_module_id, in the order of the file."""
    texts: list[bytes] = []
    for section in host.sections:
        if section.name in _MODULE_ID_SECTIONS:
            data = view.read(section.offset, min(section.size, _MODULE_ID_BYTES))
            texts.extend(text for text in data.split(b"\0") if text)
    return texts


def _groups(host: ObjectReader, linked: list[Wrapper], texts: list[bytes]) -> list[list[bytes]]:
    """The "def <id>" of each version-2 wrapper; empty when they can't be told apart."""
    runs = [
        list(run)
        for defines, run in groupby(texts, key=lambda text: text.startswith(_DEFINITION))
        if defines
    ]
    if len(runs) == len(linked):
        return runs
    definitions = [text for run in runs for text in run]
    counts = [None if w.array is None else host.prelinked_count(w.array) for w in linked]
    sizes = [count for count in counts if count is not None]
    if len(sizes) != len(linked) or sum(sizes) != len(definitions):
        return []
    ends = [sum(sizes[: index + 1]) for index in range(len(sizes))]
    return [definitions[end - size : end] for end, size in zip(ends, sizes, strict=True)]
