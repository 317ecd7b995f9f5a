"""The ELF header of cubins: what it says, and whether any of NVIDIA's tools writes such a one.

Facts: 45,000 cubins of real libraries, and what ptxas, NVRTC, nvlink and nvJitLink 11.8 .. 13.5 do.
A changed byte of most fields makes some nvJitLink refuse the cubin, drop its kernels or crash.
"""

from __future__ import annotations

import struct

from msgspec import Struct

from ltocompat.files.elf_layout import EM_CUDA, ET_EXEC, ET_REL, HEADER, MAGIC, OS_ABI, ElfHeader
from ltocompat.model.arch import SmArch, shared_arch
from ltocompat.model.errors import Malformed

NEEDLE = MAGIC + b"\x02\x01\x01"
HEAD_SIZE = 64

_HEADER = struct.Struct(f"<16s{HEADER[64]}")
_SECTION_HEADER = 64
_PROGRAM_HEADER = 56
_ABI_VERSION = 8
_IDENT_PADDING = slice(9, 16)

_ABI_OF_FIRST = 7
_GENERATION = {_ABI_OF_FIRST: 1, 8: 2}
_OS_ABI_OF = {1: 0x33, 2: 0x41}
# Compilers and linkers write the section headers last, and their names into section 1. An assembler
# that made some cubins of libcublasLt and libcupti writes them first.
_NAMES_OF_COMPILERS = 1
NAMES_OF_ASSEMBLER = 2
# A fatbin pads what it holds to eight bytes.
_ALIGNMENT = 8

# Generation 1: real SM, 0x500 (64 bits, unified textures), 0x800 for `a`, virtual SM, 0.
_FLAGS_1 = 0x500
_FLAG_1_ACCELERATED = 0x800
# ptxas 8.0, 9.0 and 9.1 set it in all code for Pascal, 9.2 and newer in none: tensorflow-gpu 1.4.0
# and 1.8.0; cuDNN and NCCL in cupy-cuda90 7.8.0, cupy-cuda91 7.8.0 and cupy-cuda92 8.6.0.
_MARKED_BEFORE = {60: 92, 61: 92, 62: 92, 90: 130}
# NVIDIA's assembler names a virtual SM above the real one in 11 cubins of cuBLAS 12.1.3.1 (sm_50),
# in one of cuDNN 9.1.0.70 and in one of cuDNN 9.13.0.50 (sm_70).
_HIGHEST_VIRTUAL_OF_ASSEMBLER = {50: 60, 70: 72}
# Compilers from 13.0 on write generation 2. The assembler wrote 130 in two cubins of that cuDNN.
_TOOLKITS_1, _TOOLKITS_OF_ASSEMBLER = range(50, 130), range(50, 131)
# Generation 2: 2 or 4, 8 for `a` (by 12.8 and 12.9), real SM, 0, section that notes it.
_FLAG_2_BELOW_SM_100 = 0x4  # the assembler writes it for all
_FLAG_2_FROM_SM_100 = 0x2
_FLAG_2_ACCELERATED = 0x8
_SM_90, _SM_100 = 90, 100


class _Fields(ElfHeader):
    """The header, field by field, and what they mean in a cubin."""

    __slots__ = ()

    @property
    def generation(self) -> int:
        return _GENERATION.get(self.ident[_ABI_VERSION], 0)

    @property
    def real(self) -> int:
        first = self.ident[_ABI_VERSION] == _ABI_OF_FIRST
        return self.flags & 0xFF if first else self.flags >> 8 & 0xFF

    @property
    def virtual(self) -> int:
        return self.flags >> 16 & 0xFF

    @property
    def toolkit(self) -> int | None:
        """The toolkit in e_version of generation 1, if a tool writes it."""
        by_assembler = self.shstrndx == NAMES_OF_ASSEMBLER
        known = _TOOLKITS_OF_ASSEMBLER if by_assembler else _TOOLKITS_1
        return self.version if self.generation == 1 and self.version in known else None

    @property
    def accelerated(self) -> bool:
        bit = _FLAG_1_ACCELERATED if self.generation == 1 else _FLAG_2_ACCELERATED
        # The assembler sets it for older GPUs, too, which have no such code: cuBLAS 10.2 and 12.1.
        return self.real >= _SM_90 and bool(self.flags & bit)

    @property
    def sections_end(self) -> int:
        return self.shoff + self.shentsize * self.shnum

    @property
    def tables_end(self) -> int:
        """End of the last table: sections, or the program headers after them."""
        end = self.sections_end if self.shnum else 0
        programs_end = self.phoff + self.phentsize * self.phnum if self.phnum else 0
        return max(HEAD_SIZE, end, programs_end)


class CubinHeader(Struct, frozen=True):
    """The ELF header of a cubin.

    Attributes:
        generation: 1 or 2, see ``cubin``; 0 for an ABI version that is neither.
        arch: the real architecture; its suffix may be incomplete (see ``Cubin.arch``).
        virtual: number of the virtual architecture (generation 1), else None.
        toolkit: 10 * major + minor of the tool that made the file (generation 1), else None.
        relocatable: ``ET_REL``: needs a device link.
        section_table: its offset, the bytes of a header in it, and their number.
        names_index: number of the section with the names of sections.
        note_index: number of the section that notes the architectures (generation 2), at most 255;
            0 in generation 1.
        extent: size in bytes up to the end of the section and program header tables.
        problem: why it differs from every writer's header; else None.
    """

    generation: int
    arch: SmArch
    virtual: int | None
    toolkit: int | None
    relocatable: bool
    section_table: tuple[int, int, int]
    names_index: int
    note_index: int
    extent: int
    problem: str | None = None


def parse_header(head: bytes, size: int | None = None) -> CubinHeader:
    """Read the ELF header (64 bytes).

    Args:
        head: the first bytes of a cubin.
        size: bytes of the whole cubin, including padding; None if unknown.

    Raises:
        Malformed: these are not bytes of a cubin.
    """
    if len(head) < _HEADER.size or not head.startswith(NEEDLE):
        raise Malformed("a cubin does not begin with a 64-bit little-endian ELF header")
    fields = tuple.__new__(_Fields, _HEADER.unpack_from(head))
    if fields.machine != EM_CUDA:
        raise Malformed(
            f"an ELF file for machine {fields.machine} is not a cubin: cubins are for {EM_CUDA}"
        )
    if fields.type not in (ET_REL, ET_EXEC):
        raise Malformed(
            f"a cubin is relocatable or executable; this one is of ELF type {fields.type}"
        )
    first = fields.generation == 1
    problem = _identity(fields)
    if problem is None and not (_regular_flags_1 if first else _regular_flags_2)(fields):
        problem = f"e_flags of the cubin, {fields.flags:#x}, are not what a compiler writes for "
        problem += f"sm_{fields.real}"
    return CubinHeader(
        fields.generation,
        shared_arch(fields.real, "a" if fields.accelerated else ""),
        fields.virtual or None if first else None,
        fields.toolkit,
        fields.type == ET_REL,
        (fields.shoff, fields.shentsize, fields.shnum),
        fields.shstrndx,
        0 if first else fields.flags >> 24,
        fields.tables_end,
        problem or _tables(fields) or _end(fields, size),
    )


# Each gives a sentence about fields that no tool writes so: linkers and drivers differ on those.


def _end(fields: _Fields, size: int | None) -> str | None:
    if size is None or fields.shstrndx != _NAMES_OF_COMPILERS:
        return None
    end = fields.tables_end
    if not 0 <= size - end < _ALIGNMENT:
        return (
            f"the cubin's ELF header says that its tables end at byte {end}, but the cubin ends "
            f"at byte {size}"
        )
    return None


def _identity(fields: _Fields) -> str | None:
    abi, os_abi = fields.ident[_ABI_VERSION], fields.ident[OS_ABI]
    generation = fields.generation
    if not generation:
        return f"ELF ABI version {abi} is not one that NVIDIA's compilers write in cubins (7 and 8)"
    if os_abi != _OS_ABI_OF[generation]:
        expected = _OS_ABI_OF[generation]
        return f"a cubin of ELF ABI version {abi} has OS ABI {os_abi:#x}, not {expected:#x}"
    if any(fields.ident[_IDENT_PADDING]):
        return "bytes 9 to 15 of the cubin's ELF header are not zero, unlike in other cubins"
    if generation == 1 and fields.toolkit is None:
        return (
            f"e_version of the cubin is {fields.version}; with ELF ABI version 7, it is "
            "the toolkit's version, at most 129 (12.9)"
        )
    if generation == 2 and fields.version != 1:
        return f"e_version of the cubin is {fields.version}; with ELF ABI version 8, it is 1"
    return None


# What nvJitLink 12.5.82 and 12.6.85 link of cubins by 13.0 to 13.5 names no virtual architecture;
# driver 580.159.04 loads it on an H200 (measured). 12.8 and 12.9 write one.
_LINKED_WITHOUT_VIRTUAL = (125, 126)


def _regular_flags_1(fields: _Fields) -> bool:
    by_assembler = fields.shstrndx == NAMES_OF_ASSEMBLER
    real = fields.real
    flags = fields.virtual << 16 | _FLAGS_1 | real
    accelerated = by_assembler or fields.version < _MARKED_BEFORE.get(real, 0)
    options = {flags, flags | _FLAG_1_ACCELERATED} if accelerated else {flags}
    highest = _HIGHEST_VIRTUAL_OF_ASSEMBLER.get(real, real) if by_assembler else real
    if not fields.virtual and fields.type == ET_EXEC and fields.version in _LINKED_WITHOUT_VIRTUAL:
        return fields.flags in options
    return fields.flags in options and 0 < fields.virtual <= highest


def _regular_flags_2(fields: _Fields) -> bool:
    by_assembler = fields.shstrndx == NAMES_OF_ASSEMBLER
    real = fields.real
    low = _FLAG_2_BELOW_SM_100 if by_assembler or real < _SM_100 else _FLAG_2_FROM_SM_100
    if real >= _SM_100:
        low |= fields.flags & _FLAG_2_ACCELERATED
    note = fields.flags >> 24
    return fields.flags & 0xFF == low and not fields.virtual and 0 < note < fields.shnum


def _tables(fields: _Fields) -> str | None:
    """Check the places of the section headers and program headers; few cubins lack the latter."""
    if fields.entry:
        return f"the cubin has the entry address {fields.entry:#x}, but no cubin has one"
    program_header = (_PROGRAM_HEADER,) if fields.phnum else (0, _PROGRAM_HEADER)
    sizes = (fields.ehsize, fields.shentsize)
    if sizes != (HEAD_SIZE, _SECTION_HEADER) or fields.phentsize not in program_header:
        return (
            f"the cubin's headers have {fields.ehsize}, {fields.shentsize} and "
            f"{fields.phentsize} bytes (file, section, program), unlike the headers of 64-bit ELF"
        )
    names = (_NAMES_OF_COMPILERS, NAMES_OF_ASSEMBLER)
    if fields.shstrndx not in names or fields.shstrndx >= fields.shnum:
        return (
            f"the cubin has its section names in section {fields.shstrndx} of {fields.shnum}; "
            "every other cubin has them in the first or second section"
        )
    if fields.shstrndx == NAMES_OF_ASSEMBLER and fields.shoff != HEAD_SIZE:
        return (
            f"the section headers of the cubin begin at byte {fields.shoff}; in a cubin with its "
            "names in the second section, they follow the ELF header"
        )
    expected = fields.sections_end if fields.phnum else 0
    if fields.phoff != expected or (fields.phnum and fields.type == ET_REL):
        return (
            f"the cubin has {fields.phnum} program headers at byte {fields.phoff}; executable "
            "cubins have them right after their section headers, at byte "
            f"{fields.sections_end}, and relocatable ones have none"
        )
    return None
