"""The loader's cache ``/etc/ld.so.cache``, made by ldconfig from ``/etc/ld.so.conf``.

Layout: glibc's ``sysdeps/generic/dl-cache.h``, the format ``glibc-ld.so.cache1.1`` (since 2.2;
since 2.32 the only one that is written). Integers have the byte order of the machine.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from functools import lru_cache

from msgspec import Struct

from ltocompat.files.byteview import ByteView
from ltocompat.model.errors import Malformed
from ltocompat.model.limits import KIB, MIB
from ltocompat.targets.linkers.machine import LONGEST_PATH, Machine

CACHE = "/etc/ld.so.cache"
CONF = "/etc/ld.so.conf"

_MAGIC = b"glibc-ld.so.cache1.1"
_HEADER = struct.Struct("<20sIIB3xI12x")
_ENTRY = struct.Struct("<iIIIQ")
_EXTENSION_MAGIC = 0xEAA42174
_EXTENSION_ENTRY = struct.Struct("<IIII")
_HWCAP_TAG = 1
# dl-cache.h: this bit says that the low half is an index into the table of hwcaps' names; the ten
# bits from 32 on are an ISA level.
_HWCAP_EXTENSION = 1 << 30
_ISA_LEVELS = (1 << 10) - 1
_MOST_BYTES = 16 * MIB
_MOST_ENTRIES = 100_000
_DEEPEST_INCLUDE = 8

# dl-cache.h, FLAG_*_LIB64 with FLAG_ELF_LIBC6 (3): which processor an entry is for.
FLAGS = {
    "x86": 0x0003,
    "x86-64": 0x0303,
    "PowerPC64": 0x0503,
    "ARM": 0x0903,
    "AArch64": 0x0A03,
    "RISC-V": 0x1003,
}


class CacheEntry(Struct, frozen=True):
    """One library in the cache.

    Attributes:
        name: the soname.
        path: its path.
        flags: processor and C library, see ``FLAGS``.
        hwcaps: name of its ``glibc-hwcaps`` folder; empty for none.
        legacy: True if it lies in a legacy hwcaps folder (glibc < 2.37 only).
    """

    name: str
    path: str
    flags: int
    hwcaps: str = ""
    legacy: bool = False


def cached(machine: Machine) -> tuple[CacheEntry, ...] | None:
    """Return the entries of this machine's cache in order; None if there is no cache.

    Raises:
        Malformed: the cache is damaged, or in the format from before 2000.
    """
    data = machine.read_bytes(CACHE, _MOST_BYTES)
    return None if data is None else parse_cache(data)


def cached_paths(machine: Machine) -> tuple[str, ...]:
    """Return the paths in this machine's cache, each once.

    Raises:
        Malformed: it is not a readable cache.
    """
    return tuple(dict.fromkeys(entry.path for entry in cached(machine) or ()))


@lru_cache(maxsize=1)  # every process that is looked at asks the one cache of its machine
def parse_cache(data: bytes) -> tuple[CacheEntry, ...]:
    """Read the bytes of a cache.

    Raises:
        Malformed: they are not a cache.
    """
    start = data.find(_MAGIC)  # the oldest format may stand in front
    if start < 0:
        raise Malformed(f"{CACHE} is not in the format {_MAGIC.decode()!r}; run ldconfig")
    view = ByteView.of(data[start:])
    _, count, _, order, extension = view.unpack(_HEADER, 0)
    if order not in (0, 2):
        raise Malformed(f"{CACHE} is big-endian (mark {order}), but CUDA is little-endian")
    if count > _MOST_ENTRIES:
        raise Malformed(f"{CACHE} claims {count} entries; run ldconfig")
    hwcaps = _hwcaps(view, extension)
    return tuple(_entry(view, _HEADER.size + index * _ENTRY.size, hwcaps) for index in range(count))


def _entry(view: ByteView, offset: int, hwcaps: tuple[str, ...]) -> CacheEntry:
    flags, name, path, _, hwcap = view.unpack(_ENTRY, offset)
    kind, index = (hwcap >> 32) & ~_ISA_LEVELS, hwcap & 0xFFFFFFFF
    known = kind == _HWCAP_EXTENSION and index < len(hwcaps)
    return CacheEntry(
        name=view.text(name, LONGEST_PATH),
        path=view.text(path, LONGEST_PATH),
        flags=flags,
        hwcaps=hwcaps[index] if known else "",
        legacy=bool(hwcap) and not known,
    )


def _hwcaps(view: ByteView, extension: int) -> tuple[str, ...]:
    """Names of the glibc-hwcaps folders (since 2.33)."""
    if not extension or view.size < extension + 8 or view.u32(extension) != _EXTENSION_MAGIC:
        return ()
    for index in range(min(view.u32(extension + 4), 64)):
        at = extension + 8 + index * _EXTENSION_ENTRY.size
        tag, _, offset, size = view.unpack(_EXTENSION_ENTRY, at)
        if tag == _HWCAP_TAG:
            places = range(offset, offset + min(size, KIB) // 4 * 4, 4)
            return tuple(view.text(view.u32(place), 256) for place in places)
    return ()


def conf_folders(machine: Machine) -> tuple[tuple[str, str], ...]:
    """Return (folder, file that lists it) in the order of ldconfig."""
    return tuple(dict.fromkeys(_listed(machine, CONF, 0, set())))


def _listed(machine: Machine, path: str, depth: int, met: set[str]) -> Iterator[tuple[str, str]]:
    """The folders of a file and of those that it includes; one that was met adds none."""
    if path in met:
        return
    met.add(path)
    for line in (machine.text(path) or "").splitlines():
        words = line.partition("#")[0].split()
        if not words or words[0] == "hwcap":
            continue
        if words[0] != "include":
            # "folder=libc6" was a type, long ago.
            yield words[0].partition("=")[0].rstrip("/") or "/", path
        elif depth < _DEEPEST_INCLUDE:
            for pattern in words[1:]:
                folder, name = os.path.split(os.path.join(os.path.dirname(path), pattern))
                for included in machine.files(folder, name):
                    yield from _listed(machine, included, depth + 1, met)
