"""Machines and wheels made up for tests: small files where real ones hold a whole nvJitLink."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable
from pathlib import Path

from elf_writer import (
    AARCH64,
    BASE,
    DT_SONAME,
    DT_STRSZ,
    DT_STRTAB,
    STRTAB,
    X86_64,
    Part,
    elf,
    offsets,
    symbol,
    tags,
)

__all__ = ["AARCH64", "X86_64", "banner", "library", "program", "put", "wheel"]

DYNSYM = 11
IN_WHEEL = {
    "12": "nvidia/nvjitlink/lib/libnvJitLink.so.12",
    "13": "nvidia/cu13/lib/libnvJitLink.so.13",
}


def banner(version: str) -> bytes:
    """The text that every real library holds."""
    minor = version.rpartition(".")[0]
    return f"Cuda compilation tools, release {minor}, V{version}".encode() + b"\0"


def library(
    *versions: str,
    minors: Iterable[str] = (),
    soname: str = "libnvJitLink.so.12",
    machine: int = X86_64,
) -> bytes:
    """A shared library with these banners, that exports ``__nvJitLinkCreate_12_4`` of minors."""
    names = [f"__nvJitLinkCreate_{minor.replace('.', '_')}".encode() for minor in minors]
    strings = b"\0" + b"\0".join([soname.encode(), *names]) + b"\0"
    symbols = bytes(24) + b"".join(symbol(strings.index(name), 0x12, 1, BASE) for name in names)
    parts = [
        Part(".rodata", b"some text\0" + b"".join(map(banner, versions))),
        Part(".dynstr", strings, STRTAB),
        Part(".dynsym", symbols, DYNSYM, link=2),
        Part(".dynamic", bytes(16 * 4), 6),
    ]
    at = BASE + offsets(parts)[".dynstr"]
    parts[3].data = tags({DT_SONAME: 1, DT_STRTAB: at, DT_STRSZ: len(strings)})
    return elf(parts, machine=machine, dynamic=".dynamic")


def program(version: str, title: str = "Cuda linker", *, machine: int = X86_64) -> bytes:
    """A program with the banner and the title that every real nvlink holds."""
    text = f"some text\0{title}\0".encode() + banner(version)
    return elf([Part(".rodata", text)], machine=machine)


def put(root: Path, path: str, data: bytes | str) -> Path:
    """Write a file of a made-up machine."""
    file = root / path.lstrip("/")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data if isinstance(data, bytes) else data.encode())
    return file


def wheel(data: bytes, name: str = IN_WHEEL["12"]) -> bytes:
    """A wheel whose one library holds ``data``; it names a file outside of it too."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("../evil.txt", "outside")
        archive.writestr("nvidia/nvjitlink/include/nvJitLink.h", "a header")
        archive.writestr(name, data)
    return buffer.getvalue()
