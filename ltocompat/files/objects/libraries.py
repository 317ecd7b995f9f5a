"""CUDA libraries that a host file needs, opens by name, or has a copy of inside.

A copy is told by a whole string that only the library's own code has, each checked in real files:

* libcudart: the format ``/cudart.shm.%x.%x.%llx`` of its shared memory (libcudart.so of 12.9 and
  13.5, and inside cuBLAS, cuSPARSE 12.3.1, cuVS). Of its version it tells the major, by messages
  that came with 12 and with 13 (libcudart of the 16 minors 11.7 to 13.5, Linux; copies inside 130
  libraries of wheels for CUDA 9 to 13, Linux on both processors and Windows). On Windows there is
  no such memory, and the messages tell the copy. On Linux others have them, too: libcudadevrt.a,
  and whatever explains errors. driver_types.h and cuda.h have them inside longer sentences.
* libnvJitLink: ``NVJITLINK_TRACE_MESSAGES``, an environment variable (12.4.127 and 13.5.37; no
  caller has it, unlike the names of the error codes). Its functions prove nothing: a program that
  opens the library at run time may define every one of them (jax-cuda13-plugin, aarch64).
* libnvrtc: ``nvrtc: error: failed to load builtins`` (12.4.127 and 13.0.88).

The version of the two compilers is their banner "Cuda compilation tools, release 12.4, V12.4.127".
Cubins made by 12.8 or newer and PTX carry the banner of *their* maker too, so it counts only as a
whole string that no tool's name stands before (formats.md 3.2), and only if all banners agree.
"""

from __future__ import annotations

import functools
import re
import struct
from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec import Struct, field

from ltocompat.files.byteview import ByteView
from ltocompat.files.codec import ZSTD_MAGIC
from ltocompat.files.elf_layout import EM_AARCH64, EM_X86_64, ET_REL, HEADER, MAGIC, SHT_STRTAB
from ltocompat.files.first_bytes import CODE_MAGICS
from ltocompat.files.first_bytes import PTX_TEXT as PTX
from ltocompat.files.objects.ptx_texts import PtxTexts
from ltocompat.files.objects.structure import (
    FATBIN_SECTIONS,
    SYMBOL_PREFIXES,
    WINDOW,
    WRAPPER_SECTIONS,
    ObjectReader,
    windows,
)
from ltocompat.model.image import CudaLibrary, PtxText
from ltocompat.model.library_name import library_name
from ltocompat.model.limits import MIB

if TYPE_CHECKING:
    from ahocorasick_rs import BytesAhoCorasick

_RUNTIME_MARKS = {
    b"is using CUDA Dynamic Parallelism, but the current": "12",
    b'Duplicate entry kernels named "%s" detected': "13",
}
_SHARED_MEMORY = b"/cudart.shm."
_STATIC_MARKS = {
    _SHARED_MEMORY: "libcudart",
    **dict.fromkeys(_RUNTIME_MARKS, "libcudart"),
    b"NVJITLINK_TRACE_MESSAGES": "libnvJitLink",
    b"nvrtc: error: failed to load builtins": "libnvrtc",
}
_COMPILERS = ("libnvJitLink", "libnvrtc")
BANNER = b"Cuda compilation tools, release "
_BANNER_TEXT = re.compile(
    rb"Cuda compilation tools, release \d{1,9}\.\d{1,9}, V(\d{1,9}\.\d{1,9}\.\d{1,9})\0"
)
# In a cubin's tkinfo note the name of its tool stands right before the banner.
_TOOLS = (b"ptxas\0", b"nvlink\0", b"finalizer\0", b"nvasm_internal\0", b"tileiras\0")
_LINUX_STARTS = (b"libcu", b"libnv", b"libnpp", b"libnccl", b"libmathdx")
_WINDOWS_STARTS = tuple(
    b"nvcuda cudart nvrtc nvvm nvJitLink nvfatbin cublas cudnn cudss cufft cupti curand cusolver "
    b"cusparse cutensor npp nvcomp nvjpeg nvtiff".split()
)
# The major comes behind it when the program runs: "libnvJitLink.so.", "libnvJitLink.so.{}".
_PUT_TOGETHER = re.compile(r"(?<=\.so)\.(?:\{\}|%[dis])?$")
_PLAIN = "object"
_HEADER = struct.Struct(f"<16s{HEADER[64]}")
_SECTION = struct.Struct("<II16xQQ24x")  # name, type, offset and size
_IDENTS = tuple(MAGIC + b"\2\1\1" + abi for abi in (b"\0", b"\3"))  # 64 bits, of System V or GNU
_SECTIONS = (name.encode() for name in FATBIN_SECTIONS | WRAPPER_SECTIONS)
_CODE = (*CODE_MAGICS[2:], ZSTD_MAGIC, MAGIC, *_SECTIONS)  # of regions and LTO-IR
# Longer than every string that is looked for, with what stands before and behind it.
_AROUND = 128


class _Strings(Struct):
    """Strings of the data sections, each with where it is first."""

    opened: dict[str, int] = field(default_factory=dict)
    tails: dict[str, int] = field(default_factory=dict)
    marks: dict[bytes, str] = field(default_factory=dict)
    banners: dict[str, int] = field(default_factory=dict)
    ptx: PtxTexts = field(default_factory=PtxTexts)


def libraries_of(host: ObjectReader) -> tuple[tuple[CudaLibrary, ...], tuple[PtxText, ...]]:
    """Return the CUDA libraries of a host file: needed, opened, copied in; not the file itself.

    Also return PTX text in its data, as passed to OptiX and others; each version and target once.
    """
    own = library_name(host.own_name) if host.own_name else None
    needed = [
        CudaLibrary(name, "needed", row.file, None, row.evidence)
        for row in host.needed()
        if (name := library_name(row.file))
    ]
    words = {library.file for library in needed}
    strings = _scan(host)
    evidence = {file: f"end of a string at {at:#x}" for file, at in strings.tails.items()}
    evidence |= {file: f'string "{file}" at {at:#x}' for file, at in strings.opened.items()}
    opened = [
        CudaLibrary(name, "opened", file, None, text)
        for file, text in sorted(evidence.items())
        if file not in words and (name := library_name(file)) and name != own
    ]
    if host.format == "ELF" and _SHARED_MEMORY not in strings.marks:
        strings.marks = {m: text for m, text in strings.marks.items() if m not in _RUNTIME_MARKS}
    return (*needed, *opened, *_static(own, strings)), strings.ptx.sorted()


def _static(own: str | None, strings: _Strings) -> Iterable[CudaLibrary]:
    """The copies inside, with a version where all banners agree."""
    newest = {name: mark for mark, name in _STATIC_MARKS.items() if mark in strings.marks}
    for name, mark in newest.items():
        if name == own:
            continue
        evidence, version = strings.marks[mark], _RUNTIME_MARKS.get(mark)
        if name in _COMPILERS and len(strings.banners) == 1:
            (version, offset), *_ = strings.banners.items()
            evidence += f', compiler banner "V{version}" at {offset:#x}'
        yield CudaLibrary(name, "static", None, version, evidence)


@functools.cache
def _search(file_format: str) -> BytesAhoCorasick:
    """The search for all that is looked at closely; making it costs more than most objects do."""
    # Imported here: --help needs no string search.
    from ahocorasick_rs import BytesAhoCorasick, MatchKind

    # Windows programs keep names in UTF-16, too.
    wide = tuple(start.decode("ascii").encode("utf-16-le") for start in _WINDOWS_STARTS)
    starts = _LINUX_STARTS if file_format == "ELF" else (*_WINDOWS_STARTS, *wide)
    if file_format == _PLAIN:
        starts = (*_LINUX_STARTS, *_CODE, *SYMBOL_PREFIXES)
    # Leftmost matching is what lets the library use its vectorised search: 5 GB/s instead of 0.5.
    return BytesAhoCorasick(
        [*starts, *_STATIC_MARKS, BANNER, PTX], matchkind=MatchKind.LeftmostLongest
    )


def is_plain_object(view: ByteView) -> bool:
    """Return whether this is a small object without device code and without relevant names.

    Most objects of static libraries are such; reading their tables takes longer than inflating
    them. Readers decide about objects with an incomplete or damaged section table.
    """
    head = view.peek(0, _HEADER.size)
    if not head.startswith(_IDENTS) or len(head) < _HEADER.size or view.size > MIB:
        return False
    _, kind, machine, *_, start, _, _, _, _, size, count, names = _HEADER.unpack(head)
    whole = names < count and size == _SECTION.size and start + size * count <= view.size
    if kind != ET_REL or machine not in (EM_X86_64, EM_AARCH64) or not whole:
        return False
    sections = list(_SECTION.iter_unpack(view.read(start, size * count)))
    _, of_names, *where = sections[names]
    texts = view.peek(*where) if of_names == SHT_STRTAB else b""
    named = (kind and texts[at : at + 1].strip(b"\0") for at, kind, *_ in sections[1:])
    printable = texts.isascii() and texts.replace(b"\0", b"").decode().isprintable()
    if not printable or not all(named):
        return False
    data = view.read(len(MAGIC), view.size - len(MAGIC))
    return not _search(_PLAIN).find_matches_as_indexes(data)


def _scan(host: ObjectReader) -> _Strings:
    """One pass over the data sections."""
    search = _search(host.format)
    found = _Strings()
    for offset, size in host.data_spans():
        end = offset + size
        for start, piece in windows(host.view, host.budget, offset, size, overlap=_AROUND):
            for _, first, _ in search.find_matches_as_indexes(piece):
                if first < WINDOW and piece.startswith(PTX, first):
                    if host.sections:
                        found.ptx.note(host.view, start + first, end)
                elif first < WINDOW:
                    _note(host.view, start + first, (offset, end), found)
    return found


def _note(view: ByteView, at: int, span: tuple[int, int], found: _Strings) -> None:
    """Look closely at one hit; what is not a whole string of the right kind is left out."""
    before = max(span[0], at - _AROUND)
    data = view.read(before, min(span[1], at + 2 * _AROUND) - before)
    head, tail = data[: at - before], data[at - before :]
    for mark in filter(tail.startswith, _STATIC_MARKS):
        shown = tail.partition(b"\0")[0].decode("ascii", "replace")[:48]
        if _starts_string(head):
            found.marks.setdefault(mark, f'string "{shown}" at {at:#x}')
        return
    if tail.startswith(BANNER):
        banner = _BANNER_TEXT.match(tail)
        if banner and _starts_string(head) and not head.endswith(_TOOLS):
            found.banners.setdefault(banner[1].decode("ascii"), at)
        return
    wide = tail[1:2] == b"\0"
    text, end, _ = tail.partition(b"\0\0" if wide else b"\0")
    file = _PUT_TOGETHER.sub("", text.replace(b"\0", b"").decode("ascii", "replace"))
    if end and library_name(file):
        _note_file(file, at, head[:-1] if wide else head, found)


def _note_file(file: str, at: int, head: bytes, found: _Strings) -> None:
    """Tell a string of its own from the tail of another, by what stands before it."""
    if _starts_string(head):
        found.opened.setdefault(file, at)
    elif head.endswith(b" "):
        # Linkers let a string be the tail of another: "Failed to load libcuda.so.1".
        found.tails.setdefault(file, at)


def _starts_string(head: bytes) -> bool:
    """Return whether a string can start behind ``head``: behind nothing, or what is not a text."""
    return not head or not 0x20 <= head[-1] < 0x7F
