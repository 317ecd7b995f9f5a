"""From a stored image to what is said of it: its entry header, its own bytes, and its makers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from ltocompat.files.codec import Prefix
from ltocompat.files.fatbin import StoredImage, StoredModule
from ltocompat.files.images import ltoir, ptx, tileir
from ltocompat.files.images.cubin import Cubin, early_api_versions
from ltocompat.files.images.cubin_header import HEAD_SIZE, CubinHeader, parse_header
from ltocompat.files.images.cubin_notes import NO_NOTES, Notes
from ltocompat.model.arch import ArchForm, SmArch
from ltocompat.model.errors import LimitExceeded, Malformed
from ltocompat.model.image import (
    Compression,
    CubinFacts,
    Image,
    ImageKind,
    LtoIrVersions,
    Module,
    Needs,
    Role,
    Skipped,
)
from ltocompat.scan.device_symbols import undefined_in_ptx
from ltocompat.scan.makers import cubin_makers, ltoir_makers, ptx_makers, tool_role

# The marks of a cubin lie behind its names and symbols, of which every section has some: these
# sizes reach them in nine of ten large cubins of libcublasLt 13.10, and decode 1.4 times as much as
# there was need to.
_MARKS_FIRST = 8 << 10
_MARKS_PER_SECTION = 512
# Once that fails, a frame as small as this is decoded whole: one call, and no growing copy.
_SMALL_FRAME = 64 << 10
# The section that notes the architectures in most cubins: none in generation 1, in generation 2 the
# sixth, or the fifth where there is no code. Others are read whole, to see whether it is.
_USUAL_NOTES = (0, 5, 6)
_PTX_COMMENT_LIMIT = 1 << 20
# CUDA 13.0 renamed sm_101 to sm_110; LTO-IR keeps the old number inside.
_SM_110 = {101, 110}


class Detail(NamedTuple):
    """What to read beyond the headers; each needs all bytes of an image."""

    kernels: bool = False
    hashes: bool = False


def describe_module(module: StoredModule, detail: Detail) -> tuple[Module, list[Skipped]]:
    """The module with all its images, and those among them whose bytes can't be read."""
    images: list[Image] = []
    skipped: list[Skipped] = []
    for stored in module.images:
        image, unread = describe(stored, detail)
        images.append(image)
        if unread is not None:
            skipped.append(unread)
    return Module(module.place, module.section, module.registered, tuple(images)), skipped


def describe(stored: StoredImage, detail: Detail) -> tuple[Image, Skipped | None]:
    """All that is said of one image.

    Bytes that can't be read leave what the entry header says, and a ``Skipped`` with the reason.
    """
    unread = None
    try:
        facts = _READERS[stored.kind](stored, detail)
        if detail.hashes:
            import hashlib

            facts["sha256"] = hashlib.sha256(image_bytes(stored)).hexdigest()
    except Malformed as error:
        limit = error.limit if isinstance(error, LimitExceeded) else None
        facts = {"problems": (str(error),)}
        unread = Skipped(stored.place, str(error), stored.stored_size, limit)
    table: dict[str, Any] = {
        "arch": stored.arch,
        "size": stored.payload.declared,
        "relocatable": stored.relocatable,
        "debug": stored.debug,
    }
    facts["problems"] = (*stored.problems, *facts.get("problems", ()))
    image = Image(
        place=stored.place,
        kind=stored.kind,
        kind_number=stored.kind_number,
        section=stored.section,
        compression=stored.compression,
        scrambled=stored.scrambled,
        stored_size=stored.stored_size,
        host_os=stored.host_os,
        options=stored.options,
        lacks_options=stored.lacks_options,
        identifier=stored.identifier,
        **(table | facts),
    )
    return image, unread


def image_bytes(stored: StoredImage) -> bytes:
    """The bytes of an image as a file of its own: decoded, and without the padding of its entry.

    Raises:
        Malformed: they can't be decoded.
    """
    if stored.scrambled:
        return stored.payload.stored.all()
    data = stored.payload.decode()
    if stored.kind is ImageKind.PTX:
        return data.rstrip(b"\0")
    if stored.kind is ImageKind.SASS:
        return data[: _parse_cubin(stored, data).extent]
    return data


def cubin_kernels(stored: StoredImage) -> tuple[str, ...] | None:
    """Names of the kernels of a cubin, and nothing else; None where they can't be read."""
    payload = stored.payload
    packed = payload.compression is not Compression.NONE
    try:
        return _parse_cubin(stored, payload.decode() if packed else None).kernels()
    except Malformed:
        return None


def _parse_cubin(stored: StoredImage, data: bytes | None) -> Cubin:
    payload = stored.payload
    view = payload.stored if data is None else payload.stored.of(data)
    return Cubin.parse(view, payload.budget.limits, _cubin_size(stored))


def _cubin_size(stored: StoredImage) -> int:
    payload = stored.payload
    return payload.stored.size if payload.declared is None else payload.declared


def _sass(stored: StoredImage, detail: Detail) -> dict[str, Any]:
    packed = stored.payload.compression is not Compression.NONE
    prefix = stored.payload.prefix()
    prefix.grow(HEAD_SIZE)
    header = parse_header(prefix.data, _cubin_size(stored))
    if packed and not detail.kernels and header.note_index in _USUAL_NOTES:
        early = _early_marks(prefix, header)
        if early is not None:
            arch = _suffixed(header.arch, early.notes)
            return _cubin_facts(stored, header, early, arch, header.problem)
    if packed:
        prefix.grow(stored.payload.budget.limits.image_bytes)
    whole = _parse_cubin(stored, prefix.data if packed else None)
    marks = _Marks(whole.notes(), whole.api_versions())
    facts = _cubin_facts(stored, header, marks, _arch(whole, marks.notes), whole.problem)
    if stored.payload.declared is None:
        facts["size"] = whole.extent
    if stored.debug is None:
        facts["debug"] = whole.debug
    if detail.kernels:
        facts["kernels"] = whole.kernels()
    return facts


class _Marks(NamedTuple):
    """What compilers and linkers left in a cubin, besides its header."""

    notes: Notes
    api_versions: frozenset[int]


def _early_marks(prefix: Prefix, header: CubinHeader) -> _Marks | None:
    """The marks of a packed cubin, decoding no further than to them; None where they are elsewhere.

    They lie behind the names and symbols, which grow with the number of sections, and in front of
    the code, which is the most of it.
    """
    size = _MARKS_FIRST + _MARKS_PER_SECTION * header.section_table[2]
    while True:
        prefix.grow(size)
        marks = _marks_in(prefix.data, header)
        if marks is not None or prefix.complete:
            return marks
        size = 2 * len(prefix.data)
        if prefix.stored <= _SMALL_FRAME:
            # NVIDIA's assembler writes its notes last, into 6 MB that pack into 50 KB.
            size = max(size, prefix.expected or 0)


def _marks_in(data: bytes, header: CubinHeader) -> _Marks | None:
    notes = NO_NOTES if header.generation == 1 else Notes.find(data)
    if notes is None:
        return None
    linked = any(tool_role(note.tool) is Role.LINKER for note in notes.tools)
    if header.generation != 1 and not linked:
        return _Marks(notes, frozenset())
    # Objects of generation 1 leave no note, so that kernels say who compiled them.
    versions = early_api_versions(data)
    return None if versions is None else _Marks(notes, versions)


def _arch(whole: Cubin, notes: Notes) -> SmArch:
    arch = whole.header.arch
    return replace(arch, suffix="a") if whole.accelerated() else _suffixed(arch, notes)


def _suffixed(arch: SmArch, notes: Notes) -> SmArch:
    suffix = arch.suffix or notes.suffix()
    return arch if suffix == arch.suffix else replace(arch, suffix=suffix)


def _cubin_facts(
    stored: StoredImage,
    header: CubinHeader,
    marks: _Marks,
    arch: SmArch,
    problem: str | None,
) -> dict[str, Any]:
    notes = marks.notes
    makers = cubin_makers(
        notes.tools, notes.toolkit, marks.api_versions, header_toolkit=header.toolkit
    )
    number = header.virtual if header.generation == 1 else notes.virtual
    virtual = SmArch(number, "", ArchForm.VIRTUAL) if number else None
    entry_arch = stored.arch
    contradictions = [] if problem is None else [problem]
    if header.generation > 1 and header.arch.suffix and notes.toolkit is not None:
        contradictions.append("e_flags of the cubin say a, as 13.0 and newer compilers never do")
    if entry_arch and entry_arch.number != header.arch.number:
        contradictions.append(
            f"its entry says {entry_arch}, but the cubin inside is for {header.arch}"
        )
    return {
        "arch": entry_arch or arch,
        "made_by": makers,
        "cubin": CubinFacts(header.generation, virtual),
        "relocatable": header.relocatable,
        "problems": tuple(contradictions),
    }


def _ptx(stored: StoredImage, detail: Detail) -> dict[str, Any]:
    prefix = stored.payload.prefix()
    prefix.grow(ptx.HEAD_SIZE)
    try:
        text = ptx.parse(prefix.data)
    except Malformed:
        prefix.grow(_PTX_COMMENT_LIMIT)
        text = ptx.parse(prefix.data)
    facts: dict[str, Any] = {
        "made_by": ptx_makers(text),
        "needs": Needs(ptx_isa=text.isa),
        "problems": _contradictions(stored, "PTX ISA", text.isa, text.arch),
        **_without_entry(stored, text.arch),
    }
    if stored.debug is None:
        facts["debug"] = text.debug
    if stored.options and "--compile-only" in stored.options.split():
        facts["relocatable"] = True
    if detail.kernels:
        prefix.grow(stored.payload.budget.limits.image_bytes)
        facts["kernels"] = ptx.kernels(prefix.data)
        facts["empty_kernels"] = bool(facts["kernels"]) and ptx.only_empty_kernels(prefix.data)
        facts["symbols"] = undefined_in_ptx(prefix.data)
    return facts


def _ltoir(stored: StoredImage, detail: Detail) -> dict[str, Any]:
    del detail  # nothing further of LTO-IR can be read
    if stored.scrambled:
        versions = LtoIrVersions(_version(stored) or "unknown")
        return {"ltoir": versions, "made_by": ltoir_makers(versions)}
    prefix = stored.payload.prefix()
    prefix.grow(ltoir.HEAD_SIZE)
    header = ltoir.parse(prefix.data)
    versions = header.versions
    return {
        "ltoir": versions,
        "made_by": ltoir_makers(versions, linked=header.linked),
        "problems": _contradictions(stored, "container", versions.container, header.arch),
        **_without_entry(stored, header.arch),
    }


def _tileir(stored: StoredImage, detail: Detail) -> dict[str, Any]:
    del detail  # the names of its kernels are not laid out in a known way
    prefix = stored.payload.prefix()
    prefix.grow(tileir.HEAD_SIZE)
    return {"needs": Needs(tile_ir=tileir.parse(prefix.data)), **_without_entry(stored, None)}


def _unknown(stored: StoredImage, detail: Detail) -> dict[str, Any]:
    del detail
    return _without_entry(stored, None)


def _version(stored: StoredImage) -> str | None:
    return ".".join(map(str, stored.version)) if stored.version else None


def _without_entry(stored: StoredImage, arch: SmArch | None) -> dict[str, Any]:
    """Architecture and size where no entry header says them."""
    size = stored.payload.declared
    if size is None and stored.stored_size is not None:
        size = stored.payload.stored.size
    return {"arch": stored.arch or arch, "size": size}


def _contradictions(
    stored: StoredImage, what: str, version: str, arch: SmArch | None
) -> tuple[str, ...]:
    """Sentences about an entry header that says something else than the image."""
    found = []
    text = _version(stored)
    if text is not None and text != version:
        found.append(f"its entry says {what} {text}, but the image inside {version}")
    numbers = {each.number for each in (stored.arch, arch) if each is not None}
    if len(numbers) > 1 and numbers != _SM_110:
        found.append(f"its entry says {stored.arch}, but the image inside is for {arch}")
    return tuple(found)


_READERS: dict[ImageKind, Callable[[StoredImage, Detail], dict[str, Any]]] = {
    ImageKind.SASS: _sass,
    ImageKind.PTX: _ptx,
    ImageKind.LTOIR: _ltoir,
    ImageKind.TILEIR: _tileir,
    ImageKind.UNKNOWN: _unknown,
}
