"""Layouts and numbers of ELF, of host files and cubins alike (the gABI; elf.h for GNU's numbers).

They are read by hand: pyelftools took four fifths of the time of each object, and
has no bounds for hostile ones. The tests use it to check what is read here.
"""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import NamedTuple

from msgspec import Struct

from ltocompat.files.byteview import NamesOfTable
from ltocompat.model.limits import Budget

MAGIC = b"\x7fELF"
OS_ABI = 7  # offset in e_ident
EM_386, EM_PPC64, EM_ARM, EM_X86_64, EM_AARCH64, EM_CUDA, EM_RISCV = 3, 21, 40, 62, 183, 190, 243
# The OS ABIs of cubins; ARM uses the second one, too.
CUDA_ABIS = (0x33, 0x41)
ET_REL, ET_EXEC, ET_DYN = 1, 2, 3

SHT_NULL, SHT_PROGBITS, SHT_SYMTAB, SHT_STRTAB, SHT_RELA = range(5)
SHT_DYNAMIC, SHT_NOTE, SHT_NOBITS, SHT_REL, SHT_DYNSYM = 6, 7, 8, 9, 11
SHF_ALLOC, SHF_EXECINSTR = 2, 4
SHN_UNDEF, SHN_LORESERVE, SHN_COMMON, SHN_XINDEX = 0, 0xFF00, 0xFFF2, 0xFFFF
EV_CURRENT = 1
PT_LOAD, PT_DYNAMIC, PT_INTERP = 1, 2, 3
PF_X, PF_W = 1, 2
STB_LOCAL, STB_GLOBAL, STB_WEAK = 0, 1, 2
STT_OBJECT, STT_FUNC = 1, 2
DF_1_PIE = 0x08000000
# VER_NDX_LOCAL and VER_NDX_GLOBAL, as a little-endian file has them.
WITHOUT_VERSION = (b"\0\0", b"\1\0")


class Tag(IntEnum):
    """Tags of the dynamic section."""

    NULL = 0
    NEEDED = 1
    PLTRELSZ = 2
    HASH = 4
    STRTAB = 5
    SYMTAB = 6
    RELA = 7
    RELASZ = 8
    STRSZ = 10
    SONAME = 14
    RPATH = 15
    REL = 17
    RELSZ = 18
    JMPREL = 23
    RUNPATH = 29
    RELRSZ = 35
    RELR = 36
    VERSYM = 0x6FFFFFF0
    FLAGS_1 = 0x6FFFFFFB
    VERNEED = 0x6FFFFFFE
    VERNEEDNUM = 0x6FFFFFFF


class ElfHeader(NamedTuple):
    """The file header, with the field names of the gABI."""

    ident: bytes
    type: int
    machine: int
    version: int
    entry: int
    phoff: int
    shoff: int
    flags: int
    ehsize: int
    phentsize: int
    phnum: int
    shentsize: int
    shnum: int
    shstrndx: int


# By the bits of a file. The header without e_ident; of sections sh_name, sh_type, sh_flags,
# sh_addr, sh_offset, sh_size, sh_link, sh_info, sh_addralign, sh_entsize.
HEADER = {32: "HHIIIIIHHHHHH", 64: "HHIQQQIHHHHHH"}
SECTION = {32: "10I", 64: "IIQQQQIIQQ"}
SEGMENT = {32: "8I", 64: "IIQQQQQQ"}
DYNAMIC = {32: "II", 64: "QQ"}
SYMBOL_64 = struct.Struct("<IBBHQQ")
SYMBOL_32 = struct.Struct("<IIIBBH")


class SectionHeader(Struct, frozen=True):
    """One section header, as stored.

    Attributes:
        kind: sh_type.
        link: number of a section that it uses; for symbols, the section with their names.
        info: for relocations, the number of the section that they change.
    """

    name: str
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int


class NameTable:
    """The bytes of a string table, with names by offset."""

    def __init__(self, strings: bytes, budget: Budget) -> None:
        self._strings = strings
        self._longest = budget.limits.text_bytes
        self._kept = NamesOfTable(budget.limits.names_bytes)

    def at(self, offset: int) -> str:
        """Return the name at an offset.

        Raises:
            LimitExceeded: the names so far are too long together.
        """
        end = self._strings.find(b"\0", offset, offset + self._longest)
        name = self._strings[offset : end if end >= 0 else offset + self._longest]
        return self._kept.keep(name).decode("utf-8", "replace")
