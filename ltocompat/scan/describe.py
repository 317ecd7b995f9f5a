"""Descriptions of stored images: by entry header, by their own bytes, and their makers."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

from msgspec import Struct
from msgspec.structs import replace

from ltocompat.files.byteview import ByteView
from ltocompat.files.codec import DECODED_AS_WHOLE, Prefix
from ltocompat.files.fatbin import StoredImage, StoredModule
from ltocompat.files.images import ltoir, ptx
from ltocompat.files.images.cubin import (
    Cubin,
    early_api_versions,
    kernel_names,
    kernel_set,
    kernels_only_return,
)
from ltocompat.files.images.cubin_header import (
    HEAD_SIZE,
    NAMES_OF_ASSEMBLER,
    CubinHeader,
    parse_header,
)
from ltocompat.files.images.cubin_notes import NO_NOTES, Notes
from ltocompat.model.arch import ArchForm, SmArch
from ltocompat.model.errors import Malformed
from ltocompat.model.image import (
    CubinFacts,
    Image,
    ImageKind,
    LtoIrVersions,
    Module,
    Needs,
    Role,
    Skipped,
)
from ltocompat.model.image_table import MANY, ImageTable
from ltocompat.model.limits import DEFAULT_LIMITS
from ltocompat.model.location import Location
from ltocompat.model.watchdog import watched
from ltocompat.scan.makers import cubin_makers, ltoir_makers, ptx_makers, tool_role

# The marks of a cubin lie behind its names and symbols, of which every section has some: these
# sizes reach them in half of the cubins of libcublasLt 13.10; the others are decoded step by step.
_MARKS_FIRST = 8 << 10
_MARKS_PER_SECTION = 256
_MARKS_STEP = 16 << 10
# The section that notes the architectures in most cubins: none in generation 1, in generation 2 the
# sixth, or the fifth where there is no code. Others are read whole, to see whether it is.
_USUAL_NOTES = (0, 5, 6)
# CUDA 13.0 renamed sm_101 to sm_110; LTO-IR keeps the old number inside.
_SM_110 = {101, 110}


class ReadOptions(Struct, frozen=True):
    """Options for reading beyond the headers; each needs all bytes of an image.

    Attributes:
        kernels: the names of all kernels.
        hashes: the SHA-256 of the decoded bytes.
        any_kernel: only the first kernel of PTX, which is enough for a verdict.
    """

    kernels: bool = False
    hashes: bool = False
    any_kernel: bool = False


def describe_module(module: StoredModule, detail: ReadOptions) -> tuple[Module, list[Skipped]]:
    """Return the module with all its images, and a ``Skipped`` for each unreadable image.

    Once the time is used up, the remaining images are described by their entry headers, with one
    ``Skipped`` for all of them.
    """
    skipped: list[Skipped] = []
    rest, count = iter(module.images), len(module.images)
    images: list[Image] | ImageTable = [] if count < MANY else ImageTable()
    for number, stored in enumerate(rest):
        with watched(stored.payload.budget):
            image, unread = describe(stored, detail)
        images.append(image)
        if unread is not None and unread.limit == "seconds" and number + 1 < count:
            size = stored.entry.stored_size or 0
            for stored_too in rest:
                size += stored_too.entry.stored_size or 0
                images.append(_with_problems(stored_too.entry, unread.reason))
            reason = f"{count - number} of its {count} images are not read: {unread.reason}"
            unread = Skipped(module.place, reason, size, unread.limit)
        if unread is not None:
            skipped.append(unread)
    found = tuple(images) if isinstance(images, list) else images
    compared = found if isinstance(found, tuple) else ()  # no compiler writes so many
    sets = {each.kernel_set for each in compared if each.kind is ImageKind.SASS}
    sass, ptx_archs = (
        {each.arch and each.arch.number for each in compared if each.kind is kind}
        for kind in (ImageKind.SASS, ImageKind.PTX)
    )
    uneven = count > 1 and (len(sets) > 1 or not ptx_archs <= sass)
    return Module(module.place, module.section, module.registered, found, uneven=uneven), skipped


class HeaderReader(Struct, frozen=True):
    """Describes modules by their headers, and by further bytes if ``detail`` requires it."""

    detail: ReadOptions

    def describe(self, stored: StoredModule) -> tuple[Module, Sequence[Skipped]]:
        """Return a module, and its unreadable images."""
        return describe_module(stored, self.detail)

    def finish(self, described: Module) -> Module:
        """Return the module, which does not depend on earlier ones."""
        return described


def describe(stored: StoredImage, detail: ReadOptions) -> tuple[Image, Skipped | None]:
    """Return the description of one image.

    For unreadable bytes, return the facts of the entry header, and a ``Skipped`` with the reason.
    """
    try:
        stored.payload.budget.check_time()
        image = _READERS[stored.entry.kind](stored, detail)
        if detail.hashes:
            import hashlib

            image = replace(image, sha256=hashlib.sha256(image_bytes(stored)).hexdigest())
    except Malformed as error:
        unread = Skipped(stored.entry.place, str(error), stored.entry.stored_size, error.limit)
        return _with_problems(stored.entry, str(error)), unread
    return image, None


def _with_problems(image: Image, *problems: str) -> Image:
    return replace(image, problems=(*image.problems, *problems)) if problems else image


def image_bytes(stored: StoredImage) -> bytes:
    """Return the bytes of an image as a separate file: decoded, without the padding of its entry.

    Raises:
        Malformed: they can't be decoded.
    """
    if stored.entry.scrambled:
        return stored.payload.stored.all()
    data = stored.payload.decode()
    if stored.entry.kind is ImageKind.PTX:
        return data.rstrip(b"\0")
    if stored.entry.kind is ImageKind.SASS:
        view = stored.payload.stored.of(data)
        return data[: Cubin.parse(view, stored.payload.budget, stored.payload.size).extent]
    return data


def whole_cubin(stored: StoredImage) -> Cubin:
    """Return a cubin with all its bytes.

    Raises:
        Malformed: they can't be decoded, or are not a cubin.
    """
    return Cubin.parse(_bytes_of(stored), stored.payload.budget, stored.payload.size)


def sass_kernels(stored: StoredImage, *, first: bool = False) -> tuple[str, ...] | None:
    """Read the names of a cubin's kernels and nothing else of it; None if they can't be read.

    Args:
        stored: the cubin.
        first: True if the first name is enough.
    """
    with suppress(Malformed):
        view, size = _bytes_of(stored), stored.payload.size
        return kernel_names(view, stored.payload.budget, size, first=first)
    return None


# nvcc 13.0 writes 128 to 512 bytes for kernels that only return, by architecture (sm_75 to sm_121).
_ONLY_RETURNS = 512
_HOLLOW = 1.5  # times as large; in vLLM and DeepSpeed 1.8 and more


def does_more_than_return(stored: StoredImage) -> bool:
    """Return whether PTX or SASS surely has a kernel that does more than return."""
    with suppress(Malformed):
        if stored.entry.kind is ImageKind.SASS:
            return any(size > _ONLY_RETURNS for _, size in whole_cubin(stored).kernel_sizes())
        named, empty = ptx.first_kernel(image_bytes(stored), stored.payload.budget)
        return named is not None and not empty
    return False


def hollow_cubins(images: Sequence[StoredImage], numbers: Iterable[int]) -> list[int]:
    """Find the cubins of a module whose kernels only return, next to a larger cubin.

    A cubin about as large as the largest surely has code, so it is not decoded.

    Args:
        images: all images of the module.
        numbers: the numbers of the cubins in question.
    """
    cubins = [n for n in numbers if images[n].entry.kind is ImageKind.SASS]
    if not cubins or len(images) >= MANY:  # no compiler writes so many
        return []
    largest = max(each.payload.size for each in images if each.entry.kind is ImageKind.SASS)
    return [n for n in cubins if images[n].payload.size * _HOLLOW < largest and _hollow(images[n])]


def _hollow(stored: StoredImage) -> bool:
    with suppress(Malformed):
        view, size = _bytes_of(stored), stored.payload.size
        return kernels_only_return(view, stored.payload.budget, size)
    return False


def _bytes_of(stored: StoredImage) -> ByteView:
    payload = stored.payload
    return payload.stored.of(payload.decode()) if payload.packed else payload.stored


_ANYWHERE = Location("")
_REPEATED = 2 << 10
_MOST_REMEMBERED = 2048
_known: dict[tuple[bytes, Image, ReadOptions], Image] = {}


def _sass(stored: StoredImage, detail: ReadOptions) -> Image:
    """Read a cubin; a small one as equal ones were read, at what that took of the limits.

    Linkers repeat small cubins hundreds of times: of those of libcublasLt 13.1, one in four
    differs. Larger ones hardly repeat, and comparing their bytes takes longer.
    """
    payload = stored.payload
    limited = payload.budget.limits is not DEFAULT_LIMITS
    decoded = payload.declared
    large = payload.stored.size > _REPEATED or decoded is None or decoded > DECODED_AS_WHOLE
    if large or limited or not payload.packed:
        return _read_sass(stored, detail)
    entry = replace(stored.entry, place=_ANYWHERE, stored_size=None)
    key = payload.stored.all(), entry, detail
    image = _known.get(key)
    if image is not None:
        payload.budget.spend(stored.payload.size)  # what reading it took
    else:
        if len(_known) >= _MOST_REMEMBERED:
            _known.clear()
        image = _known[key] = _read_sass(stored, detail)
    return replace(image, place=stored.entry.place, stored_size=stored.entry.stored_size)


def _read_sass(stored: StoredImage, detail: ReadOptions) -> Image:
    payload = stored.payload
    packed = payload.packed
    prefix = payload.prefix(HEAD_SIZE)
    header = parse_header(prefix.data, stored.payload.size)
    if packed and not detail.kernels and header.note_index in _USUAL_NOTES:
        early = _early_marks(prefix, header)
        if early is not None:
            arch = _suffixed(header.arch, early.notes)
            found = _cubin(stored, header, early, arch, header.problem)
            return replace(found, kernel_set=kernel_set(prefix.data))
    if packed:
        prefix.grow(payload.budget.limits.image_bytes)
    view = payload.stored.of(prefix.data) if packed else payload.stored
    whole = Cubin.parse(view, payload.budget, stored.payload.size)
    marks = _Marks(whole.notes(), whole.api_versions())
    own = whole.header.arch
    arch = replace(own, suffix="a") if whole.accelerated() else _suffixed(own, marks.notes)
    image, at = _cubin(stored, header, marks, arch, whole.problem), header.names_index
    return replace(
        image,
        size=whole.extent if image.size is None else image.size,
        debug=whole.debug if image.debug is None else image.debug,
        kernels=whole.kernels() if detail.kernels else None,
        kernel_set=kernel_set(b"".join(map(whole.bytes_of, whole.sections[at : at + 1]))),
    )


class _Marks(Struct, frozen=True):
    """Marks of compilers and linkers in a cubin, besides its header."""

    notes: Notes
    api_versions: frozenset[int]


def _early_marks(prefix: Prefix, header: CubinHeader) -> _Marks | None:
    """The marks of a packed cubin, decoding no further than to them; None if they are elsewhere.

    They lie behind the names and symbols, which grow with the number of sections, and in front of
    the code, which is the most of it.
    """
    if header.names_index == NAMES_OF_ASSEMBLER:
        # NVIDIA's assembler writes its notes last, into 6 MB that pack into 50 KB.
        prefix.grow(prefix.expected or 0)
    size = _MARKS_FIRST + _MARKS_PER_SECTION * header.section_table[2]
    while True:
        prefix.grow(size)
        marks = _marks_in(prefix.data, header)
        if marks is not None or prefix.complete:
            return marks
        size = len(prefix.data) + max(len(prefix.data) // 4, _MARKS_STEP)


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


def _suffixed(arch: SmArch, notes: Notes) -> SmArch:
    suffix = arch.suffix or notes.suffix()
    return arch if suffix == arch.suffix else replace(arch, suffix=suffix)


def _cubin(
    stored: StoredImage, header: CubinHeader, marks: _Marks, arch: SmArch, problem: str | None
) -> Image:
    notes = marks.notes
    makers = cubin_makers(
        notes.tools, notes.toolkit, marks.api_versions, header_toolkit=header.toolkit
    )
    number = header.virtual if header.generation == 1 else notes.virtual
    entry_arch = stored.entry.arch
    problems = [] if problem is None else [problem]
    if header.arch.suffix and notes.toolkit is not None:
        problems.append("its e_flags have suffix a, which compilers from 13.0 on never write")
    if entry_arch and entry_arch.number != header.arch.number:
        problems.append(f"its entry says {entry_arch}, but the cubin inside is for {header.arch}")
    own = entry_arch
    if entry_arch and arch.suffix == "a":  # nvcc --enable-tile says it in no entry header
        own = replace(entry_arch, suffix="a")
    image = replace(
        stored.entry,
        arch=own or arch,
        relocatable=header.relocatable,
        made_by=makers,
        cubin=_shared_cubin_facts(header.generation, number),
        entry_arch=None if own == entry_arch else entry_arch,
    )
    return _with_problems(image, *problems)


@functools.lru_cache(maxsize=1024)
def _shared_cubin_facts(generation: int, virtual: int | None) -> CubinFacts:
    return CubinFacts(generation, SmArch(virtual, "", ArchForm.VIRTUAL) if virtual else None)


_SEVERAL_TEXTS = "it is several PTX texts in a row, and no compiler accepts a second .version"


def _ptx(stored: StoredImage, detail: ReadOptions) -> Image:
    counts_kernels = detail.kernels or detail.any_kernel
    whole = stored.payload.budget.limits.image_bytes
    prefix = stored.payload.prefix(whole if counts_kernels else ptx.HEAD_SIZE)
    try:
        text = ptx.parse(prefix.data[: ptx.HEAD_SIZE])
    except Malformed:
        prefix.grow(ptx.COMMENT_LIMIT)
        text = ptx.parse(prefix.data[: ptx.COMMENT_LIMIT])
    compile_only = "--compile-only" in (stored.entry.options or "").split()
    image = replace(
        _without_entry(stored, text.arch),
        relocatable=True if compile_only else stored.entry.relocatable,
        debug=text.debug if stored.entry.debug is None else stored.entry.debug,
        made_by=ptx_makers(text),
        needs=Needs(ptx_isa=text.isa),
    )
    problems = _contradictions(_version(stored), stored.entry.arch, "PTX ISA", text.isa, text.arch)
    # It stands alone, and nobody but a user wrote it, or needs sections, which a compiler may add.
    if stored.entry.kind_number is None or text.debug:
        prefix.grow(whole)
        image = replace(image, flaws=ptx.flaws(prefix.data, text, stored.payload.budget))
        if ptx.is_several(prefix.data, stored.payload.budget):
            problems += (_SEVERAL_TEXTS,)
    elif text.address_size != "64":
        problems += (f"a PTX text has {text.address_size}-bit addresses",)
    image = _with_problems(image, *problems)
    if not counts_kernels:
        return image
    from ltocompat.scan.device_symbols import undefined_in_ptx  # late: most runs read no symbols

    budget = stored.payload.budget
    first, empty = ptx.first_kernel(prefix.data, budget)
    kernels = () if first is None else (first,)
    return replace(
        image,
        kernels=ptx.kernels(prefix.data, budget) if detail.kernels else kernels,
        empty_kernels=empty,
        symbols=undefined_in_ptx(prefix.data, budget),
    )


def _ltoir(stored: StoredImage, _: ReadOptions) -> Image:
    # nothing further of LTO-IR can be read
    if stored.entry.scrambled:
        versions = LtoIrVersions(_version(stored) or "unknown")
        return replace(stored.entry, ltoir=versions, made_by=ltoir_makers(versions))
    header = ltoir.parse(stored.payload.prefix(ltoir.HEAD_SIZE).data)
    versions = header.versions
    image = replace(
        _without_entry(stored, header.arch),
        ltoir=versions,
        made_by=ltoir_makers(versions, linked=header.linked, keyless=header.keyless),
    )
    told = (_version(stored), stored.entry.arch, "container", versions.container, header.arch)
    return _with_problems(image, *_contradictions(*told))


def _tileir(stored: StoredImage, _: ReadOptions) -> Image:
    from ltocompat.files.images import tileir

    # the names of its kernels are not laid out in a known way
    needs = Needs(tile_ir=tileir.parse(stored.payload.prefix(tileir.HEAD_SIZE).data))
    return replace(_without_entry(stored, None), needs=needs)


def _version(stored: StoredImage) -> str | None:
    return "{}.{}".format(*stored.version) if stored.version else None


def _without_entry(stored: StoredImage, arch: SmArch | None) -> Image:
    """Read the facts of the entry header; architecture and size also where there is none."""
    return replace(stored.entry, arch=stored.entry.arch or arch, size=_size(stored))


def _size(stored: StoredImage) -> int | None:
    """Bytes of the decoded image, None if nothing tells."""
    payload = stored.payload
    if payload.declared is None and stored.entry.stored_size is not None:
        return payload.stored.size
    return payload.declared


@functools.lru_cache(maxsize=1024)
def _contradictions(
    text: str | None, stored_arch: SmArch | None, what: str, version: str, arch: SmArch | None
) -> tuple[str, ...]:
    """Sentences about an entry header that says something else than the image."""
    found = []
    if text is not None and text != version:
        found.append(f"its entry says {what} {text}, but the image inside {version}")
    numbers = {known.number for known in (stored_arch, arch) if known is not None}
    if len(numbers) > 1 and numbers != _SM_110:
        found.append(f"its entry says {stored_arch}, but the image inside is for {arch}")
    return tuple(found)


_READERS: dict[ImageKind, Callable[[StoredImage, ReadOptions], Image]] = {
    ImageKind.SASS: _sass,
    ImageKind.PTX: _ptx,
    ImageKind.LTOIR: _ltoir,
    ImageKind.TILEIR: _tileir,
    ImageKind.UNKNOWN: lambda stored, _: _without_entry(stored, None),
}
