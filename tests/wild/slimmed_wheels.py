"""Holds a slimmed wheel against the one it was made of, without a line of ltocompat.

Regions are found and walked by their headers alone, and what cuobjdump lists and extracts is held
against that; a GPU's pick is NVIDIA's rule of compatibility (CUDA C++ Programming Guide, "Binary
Compatibility" and "PTX Compatibility") on the numbers in the entries.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import re
import struct
import subprocess
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import cuobjdump

_MAGIC = struct.pack("<I", 0xBA55ED50)
_PTX, _SASS = 1, 2
_CHECKSUM = 88  # of a PE file, from its header on
EXTRACTED = 60 << 20
"""Bytes: images of larger libraries are not extracted, but listed."""


class Entry(NamedTuple):
    """One entry of a region: its kind, its architecture, and a digest of all its bytes."""

    kind: int
    arch: int
    digest: bytes


@dataclass
class Region:
    """A region, and where it lies."""

    start: int
    end: int
    entries: list[Entry]


def regions(data: bytes, sections: Sequence[tuple[int, int]]) -> list[Region]:
    """The regions in these sections, by their magic number and the sizes in their headers."""
    found = []
    for first, last in sections:
        at = first
        while (at := data.find(_MAGIC, at, last)) >= 0:
            version, header, size = struct.unpack_from("<HHQ", data, at + 4)
            if (at - first) % 8 or (version, header) != (1, 16) or at + 16 + size > last:
                at += 4
                continue
            end = at + header + size
            found.append(Region(at, end, list(_entries(data, at + header, end))))
            at = end
    return found


def _entries(data: bytes, at: int, end: int) -> Iterator[Entry]:
    while at < end:
        kind, _, header, size = struct.unpack_from("<HHIQ", data, at)
        (arch,) = struct.unpack_from("<I", data, at + 28)
        yield Entry(kind, arch, hashlib.sha256(data[at : at + header + size]).digest())
        at += header + size


def sections(data: bytes) -> list[tuple[int, int]]:
    """Where the sections of a library lie that have device code to be loaded, or to be linked."""
    if data[:8] == b"!<arch>\n":
        return list(_sections_of_members(data))
    if data[:4] == b"\x7fELF":
        (table,) = struct.unpack_from("<Q", data, 0x28)
        size, count, names = struct.unpack_from("<HHH", data, 0x3A)
        rows = [struct.unpack_from("<IIQQQQ", data, table + size * n) for n in range(count)]
        texts = rows[names][4]
        spans = {
            data[texts + row[0] : data.index(b"\0", texts + row[0])]: (row[4], row[4] + row[5])
            for row in rows
        }
        waiting = [b"__nv_relfatbin"] if data[16] == 1 else []  # of an object, for a link
        return [spans[name] for name in (b".nv_fatbin", *waiting) if name in spans]
    if data[:2] == b"MZ":
        (at,) = struct.unpack_from("<I", data, 0x3C)
        (count,) = struct.unpack_from("<H", data, at + 6)
        (optional,) = struct.unpack_from("<H", data, at + 20)
        table = at + 24 + optional
        rows = [struct.unpack_from("<8sIIII", data, table + 40 * n) for n in range(count)]
        return [(row[4], row[4] + row[3]) for row in rows if row[0] == b".nv_fatb"]
    return []


def _sections_of_members(archive: bytes) -> Iterator[tuple[int, int]]:
    at = 8
    while at + 60 <= len(archive):
        size = int(archive[at + 48 : at + 58])
        member = archive[at + 60 : at + 60 + size]
        yield from ((at + 60 + start, at + 60 + end) for start, end in sections(member))
        at += 60 + size + size % 2


def picked(entries: Sequence[Entry], gpus: Sequence[int]) -> set[tuple[int, int]]:
    """Kinds and architectures of what these GPUs, and those to come, take of a region."""
    found = set()
    sass = {entry.arch for entry in entries if entry.kind == _SASS}
    ptx = {entry.arch for entry in entries if entry.kind == _PTX}
    for gpu in gpus:
        runs = [arch for arch in sass if arch // 10 == gpu // 10 and arch <= gpu]
        compiles = [arch for arch in ptx if arch <= gpu]
        if runs:
            found.add((_SASS, max(runs)))
        elif compiles:
            found.add((_PTX, max(compiles)))
    if ptx:
        found.add((_PTX, max(ptx)))
    return found


@dataclass
class Counts:
    """What was compared, added up."""

    regions: int = 0
    images: int = 0
    gone: int = 0
    listed: int = 0
    extracted: int = 0
    unlisted: int = 0


def compare(old: Path, new: Path, gpus: Sequence[int], counts: Counts) -> None:
    """Hold one library against what it was; an AssertionError says what differs."""
    before, after = old.read_bytes(), new.read_bytes()
    assert len(before) == len(after)
    where = sections(before)
    assert where == sections(after)
    was, now = regions(before, where), regions(after, where)
    assert [region.start for region in was] == [region.start for region in now]
    gone, kept = Counter[tuple[int, int]](), Counter[tuple[int, int]]()
    at = 0
    for one, other in zip(was, now, strict=True):
        assert before[at : one.start] == after[at : one.start], hex(at)
        assert not after[other.end : one.end].strip(b"\0"), hex(other.end)
        at = one.end
        left = iter(one.entries)
        assert all(entry in left for entry in other.entries), hex(one.start)
        kinds = {entry[:2] for entry in other.entries}
        assert picked(one.entries, gpus) <= kinds, hex(one.start)
        assert other.entries or not one.entries, hex(one.start)
        gone += Counter(entry[:2] for entry in one.entries)
        left_over = Counter(entry[:2] for entry in other.entries)
        gone, kept = gone - left_over, kept + left_over
        counts.regions += 1
        counts.images += len(other.entries)
    counts.gone += gone.total()
    rest = _without_checksum(before)[at:], _without_checksum(after)[at:]
    assert rest[0] == rest[1], hex(at)
    if was:
        _compare_with_cuobjdump(old, new, gone, kept, counts)


def _without_checksum(data: bytes) -> bytes:
    if data[:2] != b"MZ":
        return data
    (at,) = struct.unpack_from("<I", data, 0x3C)
    return data[: at + _CHECKSUM] + bytes(4) + data[at + _CHECKSUM + 4 :]


def _compare_with_cuobjdump(
    old: Path,
    new: Path,
    gone: Counter[tuple[int, int]],
    kept: Counter[tuple[int, int]],
    counts: Counts,
) -> None:
    """Hold what NVIDIA's reader lists and extracts against what the headers say.

    cuobjdump 13 reads no library with SASS that CUDA 11 dropped: then the new one stands alone.
    """
    was, now = listed(old), listed(new)
    if now is None:
        counts.unlisted += kept.total()
        return
    counts.listed += now.total()
    if was is None:
        assert _numbers(now) == kept, (now, kept)
        return
    assert not now - was
    assert _numbers(was - now) == gone, (was - now, gone)
    if old.stat().st_size <= EXTRACTED and gone:
        one, other = extracted(old), extracted(new)
        assert not other - one
        assert (one - other).total() == gone.total()
        counts.extracted += other.total()


def _numbers(images: Counter[tuple[str, str]]) -> Counter[tuple[int, int]]:
    found = Counter[tuple[int, int]]()
    for (kind, arch), number in images.items():
        found[_PTX if kind == "ptx" else _SASS, int(re.sub(r"\D", "", arch))] += number
    return found


def _readable(path: Path) -> Path:
    """The library; of one that cuobjdump does not read (for Windows, some ELF), the section."""
    if cuobjdump.run("-lelf", path).returncode == 0:
        return path
    data = path.read_bytes()
    raw, out = (path.with_name(f"{path.name}.{end}") for end in ("section", "o"))
    raw.write_bytes(b"".join(data[start:end] for start, end in sections(data)))
    made = ["objcopy", "-Ibinary", "-Oelf64-x86-64", "--rename-section", ".data=.nv_fatbin"]
    subprocess.run([*made, str(raw), str(out)], check=True)
    return out


def listed(path: Path) -> Counter[tuple[str, str]] | None:
    """Kinds and architectures of what cuobjdump lists; None where it reads nothing."""
    done = [cuobjdump.run(option, _readable(path)) for option in ("-lelf", "-lptx")]
    if any(each.returncode for each in done):
        return None
    return Counter(
        (kind, arch)
        for each in done
        for arch, kind in re.findall(r"\.sm_(\w+)\.(cubin|ptx)$", each.stdout, re.MULTILINE)
    )


def extracted(path: Path) -> Counter[bytes]:
    """Digests of what cuobjdump extracts, unpacked."""
    folder = path.with_name(f"{path.name}.images")
    folder.mkdir()
    for option in ("-xelf", "-xptx"):
        cuobjdump.run(option, "all", _readable(path).absolute(), cwd=folder)
    found = Counter(hashlib.sha256(image.read_bytes()).digest() for image in folder.iterdir())
    for image in folder.iterdir():
        image.unlink()
    return found


def not_in_record(wheel: Path) -> set[str]:
    """Hold RECORD against every file of a wheel; the files that it lacks, or has wrong sums of."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith(".dist-info/RECORD"))
        rows = list(csv.reader(io.StringIO(archive.read(name).decode())))
        left = {n for n in archive.namelist() if not n.endswith("/")}
        for path, digest, size in rows:
            name = path.replace("\\", "/")  # as catboost has it
            data = archive.read(name)
            found = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            if not digest or (digest.rstrip("="), size) == (f"sha256={found}", str(len(data))):
                left.remove(name)
        return left


def install(python: Path, wheel: Path, options: Sequence[str]) -> None:
    """Install a wheel by pip, whatever system it is for."""
    pip = [str(python), "-m", "pip", "install", "-q", "--no-deps", "--no-compile"]
    subprocess.run([*pip, *options, str(wheel)], check=True)


def needed(path: Path, folder: Path) -> tuple[str, ...]:
    """What ldd says of a library, without addresses and the folder that its wheel lies in."""
    done = subprocess.run(["/usr/bin/ldd", str(path)], capture_output=True, text=True, check=False)
    text = (done.stdout + done.stderr).replace(str(folder), "")
    return tuple(sorted(re.sub(r" \(0x[0-9a-f]+\)", "", line) for line in text.splitlines()))


def run(python: Path, code: str, folder: Path) -> tuple[int, str]:
    """The exit status of a line of Python, and what it printed."""
    command = [str(python), "-c", code]
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder)}
    done = subprocess.run(
        command, env=environment, cwd=folder, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout


def unpacked(wheel: Path, folder: Path) -> list[Path]:
    """The files of a wheel that may have device code."""
    with zipfile.ZipFile(wheel) as archive:
        names = [n for n in archive.namelist() if re.search(r"\.(a|so|pyd|dll)(\.[\d.]+)?$", n)]
        archive.extractall(folder, names)
    return [folder / name for name in names]
