"""Each of ``Limits`` allows exactly as much as it says, in every format that it bounds."""

from __future__ import annotations

import gzip
import io
import itertools
import lzma
import struct
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

import pytest
from container_images_made import docker_archive, layer_of
from elf_writer import linked
from fatbin_writer import KINDS, EntrySpec, concatenated, entry, region
from package_writer import tar_member, tar_of, zip_of
from packages_made import _cpio, rpm
from samples import FOLDER
from test_reading_at_its_bounds import FATBIN, SECTION, ar_of

from ltocompat.files.byteview import ByteView
from ltocompat.files.fatbin import StoredModule
from ltocompat.files.fatbin.walk import FatbinWalk
from ltocompat.model.image import Skipped
from ltocompat.model.limits import DEFAULT_LIMITS, MIB, Budget, Limits
from ltocompat.model.location import Location
from ltocompat.scan import describe
from ltocompat.scan.walk import ScanSettings, files, records_of_view

CUBIN = (FOLDER / "cubin" / "nvcc-13.0-sm_80.cubin").read_bytes()
SASS = EntrySpec(KINDS["sass"], CUBIN)
THREE = [(name, FATBIN) for name in "abc"]
ZEROS = bytes(17 * MIB)
TAR_END = bytes(1024)


def coff(sections: int, symbols: int = 0) -> bytes:
    table = 20 + 40 * sections
    head = struct.pack("<HHIIIHH", 0x8664, sections, 0, table if symbols else 0, symbols, 0, 0)
    return head + SECTION * sections + bytes(18 * symbols) + struct.pack("<I", 4) * bool(symbols)


def nested(*kinds: Callable[..., bytes]) -> bytes:
    data = FATBIN
    for kind in kinds:
        data = kind(("inner", data))
    return data


def rpm_of(*members: tuple[str, bytes, int], behind: bytes = b"") -> bytes:
    """An RPM package with files and links."""
    with tempfile.TemporaryDirectory() as folder:
        data = rpm(Path(folder), {}, ["libc"]).read_bytes()
    cpio = b"".join(map(_cpio, *zip(*members, strict=True))) + _cpio("TRAILER!!!", b"")
    return data[: data.index(b"\xfd7zXZ")] + lzma.compress(cpio + behind)


def zeros_deflated() -> tuple[bytes, int]:
    """A zip of zeros, and how many of them each stored byte stands for, rounded up."""
    data = zip_of(("zeros", ZEROS))
    (member,) = zipfile.ZipFile(io.BytesIO(data)).infolist()
    return data, -(-member.file_size // member.compress_size)


def rows() -> Iterator[tuple[str, str, bytes, int]]:
    """Name of a limit, of what it bounds, a file, and how much of it there is."""
    yield "members", "zip", zip_of(*THREE), 3
    yield "members", "tar", tar_of(*THREE), 3
    yield "members", "gzipped tar", gzip.compress(tar_of(*THREE)), 3
    yield "members", "ar", ar_of(*THREE), 3
    for first, second, third in itertools.product((zip_of, tar_of, ar_of), repeat=3):
        name = f"{first.__name__} {second.__name__} {third.__name__}"
        yield "depth", name, nested(first, second, third), 3
    yield "entries", "region", region([entry(SASS)] * 3), 3
    yield "entries", "concatenated", region([concatenated([SASS] * 3)]), 3
    yield "sections", "ELF", linked(), struct.unpack_from("<H", linked(), 60)[0]
    yield "sections", "COFF", coff(3), 3
    yield "symbols", "COFF", coff(1, 3), 3
    yield "names_bytes", "COFF", coff(3), 3 * len(".text")
    yield "image_bytes", "stored", region([entry(SASS)]), len(CUBIN)
    for compression in ("lz4", "zstd"):
        packed = EntrySpec(KINDS["sass"], CUBIN, compression=compression)
        yield "image_bytes", compression, region([entry(packed)]), len(CUBIN)
        yield "total_bytes", compression, region([entry(packed)] * 2), 2 * len(CUBIN)
    ptx = b".version 8.4\n.target sm_80\n".ljust(MIB + 1)
    packed = EntrySpec(KINDS["ptx"], ptx, compression="zstd")
    (size,) = struct.unpack_from("<I", entry(packed), 16)
    yield "image_ratio", "zstd", region([entry(packed)]), -(-len(ptx) // size)
    yield "unpacked_bytes", "zip", zip_of(*THREE), 3 * len(FATBIN)
    yield "unpacked_bytes", "gzipped tar", gzip.compress(tar_of(*THREE)), len(tar_of(*THREE))
    yield "unpacked_ratio", "zip", *zeros_deflated()
    for kind in (b"x", b"g", b"L", b"K"):
        header, file = (
            tar_member(b"long", b"9 path=b\n".ljust(1000, b"\0"), kind),
            tar_member(b"a", FATBIN),
        )
        yield "text_bytes", f"tar {kind.decode()}", header + file + TAR_END, 1000
    yield "skipped", "images", region([entry(EntrySpec(KINDS["sass"], b"x" * 64))]) * 3, 3
    data = rpm_of(("./a", FATBIN, 0o100644), ("./b", FATBIN, 0o100644))
    entries, size = struct.unpack_from(">II", data, 96 + 16 + 8)
    yield "members", "rpm", data, 2
    yield "tables_bytes", "rpm", data, 16 * entries + size
    yield "text_bytes", "name in an rpm", data, len("TRAILER!!!") + 1
    yield "text_bytes", "link in an rpm", rpm_of(("./a", b"./".ljust(50, b"a"), 0o120777)), 50
    tar = tar_of(("zeros", ZEROS))
    yield (
        "unpacked_ratio",
        "gzipped tar",
        gzip.compress(tar),
        -(-len(tar) // len(gzip.compress(tar))),
    )
    image = docker_archive([layer_of({"a.fatbin": FATBIN}), layer_of({"b.fatbin": FATBIN})])
    yield "entries", "layers", image, 2


@pytest.mark.parametrize(
    ("limit", "data", "size"),
    [pytest.param(limit, data, size, id=f"{limit} {name}") for limit, name, data, size in rows()],
)
def test_a_limit_is_the_most_that_is_read(limit: str, data: bytes, size: int) -> None:
    """What is within it is read as with a higher one; one less, and that is said."""
    assert read(data, **{limit: size}) == read(data, **{limit: 1000 * size})
    records = read(data, **{limit: size - 1})
    assert limit in {record.limit for record in records if isinstance(record, Skipped)}


@pytest.mark.parametrize("compression", ["lz4", "zstd"])
@pytest.mark.parametrize("left", range(0, 3 * len(CUBIN) + 2, len(CUBIN) // 2))
def test_a_limit_does_not_depend_on_what_was_read_before(compression: str, left: int) -> None:
    """A cubin that is remembered takes as much of the limits as one that is read."""
    packed = EntrySpec(KINDS["sass"], CUBIN, compression=compression)
    data = region([entry(packed)] * 3)
    remembered: dict[object, object] = {}
    with mock.patch.object(describe, "_known", remembered):
        fresh = problems_with(data, left)
        problems_with(data, 3 * len(CUBIN))
        assert remembered  # or there is nothing to compare
        assert problems_with(data, left) == fresh
    assert [bool(each) for each in fresh] == [n * len(CUBIN) > left for n in (1, 2, 3)]


def problems_with(data: bytes, left: int) -> list[tuple[str, ...]]:
    """What is told of each image of a file of which so many bytes more may be decoded."""
    budget = Budget(decoded=DEFAULT_LIMITS.total_bytes - left)
    (stored,) = FatbinWalk(ByteView.of(data), Location("x"), None, budget)
    assert isinstance(stored, StoredModule)
    module, _ = describe.describe_module(stored, describe.ReadOptions())
    return [image.problems for image in module.images]


def read(data: bytes, **limits: int) -> list[object]:
    settings = ScanSettings(limits=Limits(**limits), jobs=1)
    return list(records_of_view(ByteView.of(data), Location("x"), settings))


@pytest.mark.parametrize("members", [3, 4])
def test_a_folder_has_files_and_folders_within_the_limit(tmp_path: Path, members: int) -> None:
    (tmp_path / "inner").mkdir()
    for name in ("a", "inner/b", "inner/c"):
        (tmp_path / name).touch()
    found = list(files(Location(str(tmp_path)), ScanSettings(limits=Limits(members=members))))
    told = [each.limit for each in found if isinstance(each, Skipped)]
    assert (len(found), told) == ((3, []) if members == 4 else (3, ["members"]))
