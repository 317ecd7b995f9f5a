"""Inputs without end, or of which the time grows with their square: one row for each reader."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import sqlite3
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

from container_images_made import oci_layout
from fatbin_writer import KINDS, EntrySpec, entry
from msgspec.structs import replace
from package_writer import CENTRAL, tar_of, zip_of, zstd
from packages_made import debian, metadata, rpm, wheel
from samples import FOLDER
from verdict_values import required

from ltocompat.commands.explain import explain
from ltocompat.commands.policy.reading import read_policy
from ltocompat.files.archives.archive import self_contained
from ltocompat.files.archives.container_image import images_in
from ltocompat.files.archives.image_packages import packages_listed
from ltocompat.files.archives.image_path import image_paths, image_view, view_of
from ltocompat.files.archives.image_root import write_root
from ltocompat.files.archives.promised import broken_promise
from ltocompat.files.byteview import ByteView, MemorySource, NamesOfTable
from ltocompat.files.codec import Payload
from ltocompat.files.images import cubin, cubin_symbols, ptx, ptx_symbols
from ltocompat.files.images.cubin import Cubin, first_value
from ltocompat.files.objects.elf_host import ElfHost, read_elf
from ltocompat.files.objects.pe import read_pe
from ltocompat.model.image import Compression, CudaLibrary, HostBinary
from ltocompat.model.limits import MIB, Budget, Limits
from ltocompat.model.location import Location
from ltocompat.packages.conda import installed_files
from ltocompat.packages.python_packages import may_load_libraries
from ltocompat.packages.reading import package_in, package_of, packages_at, packages_beside
from ltocompat.packages.resolving import dependencies_always, extras_asked, not_at_hand
from ltocompat.packages.values import Dependency, Kind, Package, Shipped
from ltocompat.packages.zip_members import zip_members
from ltocompat.rules.engine.judge_package import problems
from ltocompat.scan.describe import ReadOptions
from ltocompat.scan.device_symbols import of_ptx
from ltocompat.scan.second_pass import kernel_names
from ltocompat.scan.walk import ScanSettings, files, records_of_view, take
from ltocompat.targets.building import ValueOrigin, build
from ltocompat.targets.inventory.reading import described_targets
from ltocompat.targets.linkers import Machine, Tool
from ltocompat.targets.linkers.identify import banners, identify
from ltocompat.targets.machine.probe import probe
from ltocompat.targets.reading import targets_of_file

Reading = Callable[[Limits], object]
Attack = Callable[[Path], Reading]
"""Makes an endless input, in a folder of its own, and gives what reads it within limits."""

ENDLESS: dict[str, Attack] = {}


def attack(function: Attack) -> Attack:
    """Into the table, under the name that the function has."""
    ENDLESS[function.__name__] = function
    return function


class Repeated:
    """A file that begins with some bytes, goes on with others again and again, and has an end."""

    def __init__(self, start: bytes, unit: bytes, end: bytes = b"", size: int = 1 << 44) -> None:
        self._start, self._end, self.size = start, end, size
        self._unit = unit * max(1, (2 * MIB) // len(unit))
        self._length = len(unit)

    def pread(self, size: int, offset: int) -> bytes:
        if offset < len(self._start):
            return self._start[offset : offset + size]
        tail = self.size - len(self._end)
        if offset >= tail:
            return self._end[offset - tail : offset - tail + size]
        at = (offset - len(self._start)) % self._length
        return self._unit[at : at + min(size, len(self._unit) - at, tail - offset)]


def view(start: bytes, unit: bytes, end: bytes = b"", size: int = 1 << 44) -> ByteView:
    return ByteView(Repeated(start, unit, end, size))


def inspected(data: ByteView, **limited: int) -> Reading:
    """All records of a file, as far as the limits let them be read."""

    def read(limits: Limits) -> object:
        settings = ScanSettings(ReadOptions(kernels=True), replace(limits, **limited), jobs=1)
        return list(records_of_view(data, Location("libx-cu12.so"), settings))

    return read


# Archives


@attack
def ar_of_name_tables(_: Path) -> Reading:
    header = b"//".ljust(48) + b"0".ljust(10) + b"`\n"
    return inspected(view(b"!<arch>\n", header))


@attack
def tar_of_zeros_behind_its_end(_: Path) -> Reading:
    return inspected(view(tar_of(("x", b"y")), bytes(MIB)))


@attack
def tar_of_long_headers(_: Path) -> Reading:
    block = tar_of(("a/" * 120 + "b", b""))[:1536]
    return inspected(view(block, block), members=1 << 40)


@attack
def image_of_members_without_end(_: Path) -> Reading:
    block = tar_of(("manifest.json", b"[]"))[:1024]
    return inspected(view(block, block), members=1 << 40)


@attack
def image_of_layers_without_end(_: Path) -> Reading:
    layer = gzip.compress(tar_of(*((f"a/{n}", b"") for n in range(5_000))))
    image = ByteView.of(oci_layout([layer] * 40))
    return inspected(image, members=1 << 40, entries=1 << 40)


@attack
def metadata_of_an_image_without_end(_: Path) -> Reading:
    block = tar_of(("manifest.json", b"[]"))[:1024]
    return lambda limits: package_in(view(block, block), "x.tar", replace(limits, members=1 << 40))


@attack
def root_of_an_image_without_end(folder: Path) -> Reading:
    layer = gzip.compress(tar_of(*((f"usr/lib/lib{n}.so", b"") for n in range(5_000))))
    path, root = folder / "x.tar", folder / "root"
    path.write_bytes(oci_layout([layer] * 8))
    root.mkdir()

    def read(limits: Limits) -> object:
        (place,), budget = image_paths(Location(str(path)), limits), Budget(limits)
        (image,) = images_in(view_of(str(path), limits), place, budget)
        assert image_view(f"{path}:{image.name}", limits)
        return [*write_root(image, place, str(root), budget)]

    return read


@attack
def rpm_of_requirements_without_end(folder: Path) -> Reading:
    path = rpm(folder, {}, ["libc.so.6"] * 500_000)
    return lambda limits: package_of(str(path), limits)


@attack
def database_of_rpm_without_end(folder: Path) -> Reading:
    names = b"a\0" * 1_000_000
    entries = struct.pack(">12I", 1116, 4, 0, MIB // 4, 1117, 8, 0, MIB // 4, 1118, 8, 0, 1_000_000)
    header = struct.pack(">II", 3, len(names)) + entries + names
    with sqlite3.connect(folder / "x") as made:
        made.execute("CREATE TABLE Packages(hnum INTEGER, blob BLOB)")
        made.executemany("INSERT INTO Packages VALUES(1, ?)", [[header]] * 64)
    made.close()
    stored = view_of(str(folder / "x"), Limits())
    path, kept = "var/lib/rpm/rpmdb.sqlite", NamesOfTable(1 << 60)
    return lambda limits: [*packages_listed(path, stored, Budget(limits), kept)]


@attack
def archive_of_rpm_without_end(folder: Path) -> Reading:
    return inspected(view(rpm(folder, {}, []).read_bytes(), lzma.compress(b"")))


@attack
def deb_of_dependencies_without_end(folder: Path) -> Reading:
    path = debian(folder, {}, "a, " * 2_000_000 + "a")
    return lambda limits: package_of(str(path), limits)


@attack
def modules_of_a_wheel_without_end(folder: Path) -> Reading:
    path = wheel(folder, {f"x/{n}.py": b"import os\n" * 100_000 for n in range(64)}, [])
    package = package_of(str(path), Limits())
    assert package is not None
    return lambda limits: may_load_libraries(package, Budget(limits))


@attack
def zip_with_a_gap_without_end(_: Path) -> Reading:
    data = zip_of(("x", b"y"), method=zipfile.ZIP_STORED)
    directory = data.index(b"PK\1\2")
    size = 1 << 40
    start = size - (len(data) - directory)
    end = bytearray(data[directory:])
    place = end.index(b"PK\5\6")
    wide = struct.pack("<4sQHHIIQQQQ", b"PK\6\6", 44, 45, 45, 0, 0, 1, 1, place, start)
    wide += struct.pack("<4sIQI", b"PK\6\7", 0, start + place, 1)
    end[place + 16 : place + 20] = b"\xff" * 4
    whole = bytes(end[:place]) + wide + bytes(end[place:])
    return inspected(view(data[:directory], bytes(MIB), whole, size + len(wide)))


@attack
def prefix_of_conda_packages_without_end(folder: Path) -> Reading:
    first = folder / "0.json"
    first.write_text(json.dumps({"name": "x", "files": [f"lib/{n}" for n in range(100_000)]}))
    for number in range(1, 100):
        (folder / f"{number}.json").hardlink_to(first)
    return lambda limits: installed_files(str(folder), 0, limits)


@attack
def zip_of_deep_folders(_: Path) -> Reading:
    return inspected(ByteView.of(zip_of(*(("a/" * (9000 + n), b"") for n in range(300)))))


@attack
def gzip_with_zeros_behind(_: Path) -> Reading:
    return inspected(view(gzip.compress(b"x"), bytes(MIB)))


@attack
def gzip_of_empty_members(_: Path) -> Reading:
    return inspected(view(gzip.compress(b"x"), gzip.compress(b"")))


@attack
def name_of_a_tar_over_empty_members(_: Path) -> Reading:
    data = view(gzip.compress(b"x"), gzip.compress(b""))
    return lambda limits: broken_promise("x.tar.gz", data, Budget(limits), typed=True)


@attack
def bzip2_of_empty_streams(_: Path) -> Reading:
    return inspected(view(bz2.compress(b"x"), bz2.compress(b"")))


@attack
def xz_of_empty_streams(_: Path) -> Reading:
    return inspected(view(lzma.compress(b"x"), lzma.compress(b"")))


@attack
def zstd_of_empty_blocks(_: Path) -> Reading:
    head = zstd(b"x")
    frame = head[:4] + b"\0\x58"  # a window, no size, no checksum
    return inspected(view(frame, b"\0\0\0"))


@attack
def zip_of_lzma(folder: Path) -> Reading:
    path = folder / "x.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("x.fatbin", bytes(8 * MIB))
    return lambda limits: list(take(Location(str(path)), ScanSettings(limits=limits, jobs=1)))


@attack
def folder_of_empty_folders(folder: Path) -> Reading:
    for number in range(2000):
        (folder / f"{number}").mkdir()
    return lambda limits: list(
        files(Location(str(folder)), ScanSettings(limits=replace(limits, members=500)))
    )


@attack
def record_of_blank_lines(folder: Path) -> Reading:
    info = folder / "x-1.dist-info"
    info.mkdir()
    (info / "RECORD").write_bytes(b"\n" * (16 * MIB - 1))
    (info / "METADATA").write_bytes(b"Name: x\nVersion: 1\n")
    return lambda limits: package_of(str(info), limits)


@attack
def record_of_blank_lines_in_a_folder(folder: Path) -> Reading:
    record_of_blank_lines(folder)
    place = Location(str(folder / "x-1.dist-info"))
    return lambda limits: list(files(place, ScanSettings(limits=limits, allow_empty=True)))


@attack
def record_of_site_packages(folder: Path) -> Reading:
    site = folder / "site-packages"
    info = site / "x-1.dist-info"
    info.mkdir(parents=True)
    (info / "RECORD").write_bytes(b"a,\n" * (4 * MIB))
    (site / "y.so").write_bytes(b"")
    return lambda limits: package_of(str(site / "y.so"), limits)


@attack
def zip_of_a_long_directory(_: Path) -> Reading:
    name = b"n" * 60_000
    row = CENTRAL.pack(b"PK\1\2", 20, 20, 0, 0, 0, 33, 0, 0, 0, len(name), 0, 0, 0, 0, 0, 0)
    rows = (row + name) * 2_000
    end = struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, 2_000, 2_000, len(rows), 0, 0)
    return lambda limits: zip_members(ByteView.of(rows + end), Budget(limits))


# Fatbins and images


@attack
def zeros_without_end(_: Path) -> Reading:
    return inspected(view(bytes(8), bytes(MIB)))


@attack
def fatbin_of_endless_entries(_: Path) -> Reading:
    ptx_entry = entry(EntrySpec(KINDS["ptx"], b".version 8.4\n.target sm_80\n"))
    start = struct.pack("<IHHQ", 0xBA55ED50, 1, 16, 1 << 43)
    return inspected(view(start, ptx_entry), entries=1 << 40)


@attack
def magics_of_all_images(_: Path) -> Reading:
    frames = b"\x28\xb5\x2f\xfd\0\x58" + b"\0\0\0" * 20 + b"\x50\xed\x55\xba\1\0\x10\0"
    return inspected(view(bytes(8), frames))


def _cubin(sections: int, symbols: bytes, strings: bytes) -> bytes:
    """Sections that all are one symbol table, and share one table of strings."""
    sound = (FOLDER / "cubin").glob("*.cubin")
    head = bytearray(next(iter(sorted(sound))).read_bytes()[:64])
    table = 64 + len(symbols) + len(strings)
    head[0x28:0x30] = struct.pack("<Q", table)
    head[0x3A:0x40] = struct.pack("<HHH", 64, sections, 1)
    rows = [bytes(64)]
    rows += [struct.pack("<IIQQQQIIQQ", 1, 3, 0, 0, 64 + len(symbols), len(strings), 0, 0, 0, 0)]
    row = struct.pack("<IIQQQQIIQQ", 1, 2, 0, 0, 64, len(symbols), 1, 0, 0, 24)
    rows += [row] * (sections - 2)
    return bytes(head) + symbols + strings + b"".join(rows)


@attack
def cubin_of_shared_names(_: Path) -> Reading:
    data = _cubin(60_000, b"", b"\0" + b"n" * (8 * MIB))
    return lambda limits: Cubin.parse(ByteView.of(data), Budget(limits))


@attack
def cubin_of_shared_symbols(_: Path) -> Reading:
    symbol = struct.pack("<IBBHQQ", 1, 0x12, 0x10, 0, 0, 0)
    data = _cubin(60_000, symbol * 100_000, b"\0kernel\0")
    return lambda limits: Cubin.parse(ByteView.of(data), Budget(limits)).kernels()


@attack
def cubin_whose_first_kernel_is_in_no_table(_: Path) -> Reading:
    symbol = struct.pack("<IBBHQQ", 1, 0x12, 0, 0, 0, 0)
    data = ByteView.of(_cubin(60_000, symbol * 100_000, b"\0function\0"))
    return lambda limits: cubin.kernel_names(data, Budget(limits), first=True)


@attack
def cubin_of_shared_functions(_: Path) -> Reading:
    symbol = struct.pack("<IBBHQQ", 1, 0x12, 0, 0, 0, 0)
    data = ByteView.of(_cubin(60_000, symbol * 100_000, b"\0function\0"))
    return lambda limits: cubin.kernels_only_return(data, Budget(limits))


@attack
def cubin_of_shared_kernels(_: Path) -> Reading:
    symbol = struct.pack("<IBBHQQ", 1, 0x12, 0x10, 0, 0, 0)
    data = ByteView.of(_cubin(60_000, symbol * 100_000, b"\0kernel\0"))
    return lambda limits: cubin.kernel_names(data, Budget(limits))


@attack
def cubin_of_shared_calls(_: Path) -> Reading:
    symbol = struct.pack("<IBBHQQ", 1, 0x12, 0x10, 0, 0, 0)
    data = ByteView.of(_cubin(10, symbol * 2_000_000, b"\0kernel\0"))
    return lambda limits: cubin_symbols.read(Cubin.parse(data, Budget(limits)))


@attack
def notes_that_lie_upon_each_other(_: Path) -> Reading:
    data = _cubin(60_000, bytes(4 * MIB), b"\0.note.nv.tkinfo\0")
    return lambda limits: Cubin.parse(ByteView.of(data), Budget(limits)).notes()


@attack
def image_of_nothing_but_zeros(_: Path) -> Reading:
    stored = zstd(bytes(900 * MIB))

    def read(limits: Limits) -> object:
        budget = Budget(replace(limits, image_ratio=1 << 20))
        return Payload(ByteView.of(stored), Compression.ZSTD, 900 * MIB, budget).decode()

    return read


def _ptx_attack(text: bytes, read: Callable[[bytes, Budget], object]) -> Attack:
    return lambda _: lambda limits: read(b".version 8.4\n.target sm_80\n" + text, Budget(limits))


_PTX = (
    ("comments", ptx.without_comments, b"//\n" * (5 * MIB)),
    ("comments", of_ptx, b"//\n" * (5 * MIB)),
    ("braces", ptx_symbols.read, b".func f {" + b"}{" * (7 * MIB)),
    ("blanks in a head", ptx_symbols.read, b".func " + b" " * (15 * MIB) + b";"),
    ("kernels without bodies", ptx.only_empty_kernels, b".entry a " * MIB + b"{}"),
    ("kernels", ptx.kernels, b".entry a\n" * MIB),
    ("attributes", ptx_symbols.read, b".func .attribute(" + b"(a)" * (5 * MIB) + b" f;"),
    ("aliases", ptx_symbols.read, b".alias a,b;" * MIB),
    ("variables", ptx_symbols.read, b".visible .global a" + b",b" * (7 * MIB)),
    ("names", of_ptx, b".func f();.entry k{" + b"a b " * (MIB // 2) + b"}"),
    ("functions", ptx_symbols.read, b".func f();\n" * MIB),
    ("brackets in a head", ptx_symbols.read, b".func (" * MIB + b";"),
    ("newlines", ptx_symbols.read, b"\n" * (15 * MIB)),
    ("more than can be read", ptx.kernels, bytes(200 * MIB)),
)
ENDLESS |= {f"ptx of {name}, {read.__name__}": _ptx_attack(text, read) for name, read, text in _PTX}


@attack
def kernels_of_ptx_files(folder: Path) -> Reading:
    path = folder / "x.ptx"
    path.write_bytes(b".version 8.4\n.target sm_80\n" + b".entry a\n" * MIB)
    return lambda limits: kernel_names({Location(str(path)): False}, ScanSettings(limits=limits))


# Objects


def _elf(kind: int, headers: bytes, segments: bytes = b"", rest: bytes = b"") -> bytes:
    """An ELF file of x86-64 with these tables behind its header, and string table 1."""
    count, many = len(headers) // 64, len(headers) // 64 >= 0xFF00
    head = b"\x7fELF\2\1\1".ljust(16, b"\0")
    place = 64 + len(segments)
    number = 0 if many else count
    head += struct.pack(
        "<HHIQQQIHHHHHH",
        kind,
        62,
        1,
        0,
        64 if segments else 0,
        place if headers else 0,
        0,
        64,
        56,
        min(len(segments) // 56, 0xFFFE),
        64,
        number,
        1,
    )
    return head + segments + headers + rest


def _section(
    kind: int, *, name: int = 1, offset: int = 0, size: int = 0, link: int = 0, info: int = 0
) -> bytes:
    return struct.pack("<IIQQQQIIQQ", name, kind, 2, 0, offset, size, link, info, 0, 24)


def _host(data: bytes) -> Reading:
    return inspected(ByteView.of(data))


def _elf_of(count: int, kind: int, rest: bytes, *, link: int = 0, info: int = 0) -> bytes:
    at = 64 + 64 * (count + 2)
    first = _section(0, size=count + 2) + _section(3, offset=at, size=len(rest))
    row = _section(kind, offset=at, size=len(rest), link=link, info=info)
    return _elf(1, first + row * count, rest=rest)


@attack
def elf_of_long_section_names(_: Path) -> Reading:
    return _host(_elf_of(100_000, 1, b"\0" + b"n" * (2 * MIB)))


def _elf_host(data: bytes, ask: Callable[[ElfHost], object]) -> Reading:
    def read(limits: Limits) -> object:
        found = read_elf(ByteView.of(data), Budget(limits))
        assert found is not None
        return ask(found)

    return read


_SYMBOL = struct.pack("<IBBHQQ", 1, 0x11, 0, 1, 0, 0)
_NAMES = b"\0nvJitLink\0__fatbinwrap_\0"


@attack
def elf_of_many_symbol_tables(_: Path) -> Reading:
    data = _elf_of(200, 2, _SYMBOL * 300_000 + _NAMES * 100, link=1)
    return _elf_host(data, lambda host: host.symbols())


@attack
def elf_of_many_data_symbols(_: Path) -> Reading:
    data = _elf_of(200, 2, _SYMBOL * 300_000 + _NAMES, link=1)
    return _elf_host(data, lambda host: [host.prelinked_count(n << 32) for n in range(1000)])


@attack
def elf_of_many_relocations(_: Path) -> Reading:
    rows = struct.pack("<QQq", 8, 1, 0) * 100_000
    data = _elf_of(200, 4, rows, link=1, info=2)
    return _elf_host(
        data, lambda host: host.pointers(range(64 + 64 * 202, 64 + 64 * 202 + 8_000, 8))
    )


@attack
def elf_of_long_exports(_: Path) -> Reading:
    strings = b"n" * (300 << 10) + b"\0"
    symbols = _SYMBOL * 19_000
    at = 64 + 2 * 56 + 16 * 4
    tags = [(5, at), (10, len(strings)), (6, at + len(strings))]
    data = _linked(
        [*tags, (4, at + len(strings) + len(symbols))], strings + symbols + b"\1\0\0\0\xff\xff\0\0"
    )
    return _elf_host(data, lambda host: host.exports())


def _linked(tags: list[tuple[int, int]], strings: bytes) -> bytes:
    dynamic = b"".join(struct.pack("<QQ", *tag) for tag in tags)
    start = 64 + 2 * 56
    size = start + len(dynamic) + len(strings)
    load = struct.pack("<IIQQQQQQ", 1, 4, 0, 0, 0, size, size, 8)
    table = struct.pack("<IIQQQQQQ", 2, 4, start, start, start, len(dynamic), len(dynamic), 8)
    return _elf(3, b"", load + table, dynamic + strings)


@attack
def elf_of_needed_names(_: Path) -> Reading:
    strings = b"libcublas.so.12".ljust(64 << 10, b"x") * 2 + b"\0"
    tags = [(1, number) for number in range(3_000)]
    at = 64 + 2 * 56 + 16 * (len(tags) + 3)
    tags += [(5, at), (10, len(strings)), (29, 3)]
    return _host(_linked(tags, strings))


@attack
def elf_of_many_segments(_: Path) -> Reading:
    segment = struct.pack("<IIQQQQQQ", 1, 6, 0, 0, 0, 4 * MIB, 4 * MIB, 8)
    wrappers = struct.pack("<II8x8x", 0x466243B1, 2) * 100_000
    return _host(_elf(3, b"", segment * 3_000, wrappers))


@attack
def linker_of_many_sections(_: Path) -> Reading:
    data = ByteView.of(_elf_of(500_000, 1, b"\0a\0"))
    return lambda limits: identify(data, Budget(limits), (), Tool.NVJITLINK)


@attack
def linker_of_many_banners(_: Path) -> Reading:
    data = view(b"", b"Cuda compilation tools, release 13.0, V13.0.88\0")
    return lambda limits: banners(data, Budget(limits), [(0, data.size)])


@attack
def cubin_of_many_records(_: Path) -> Reading:
    records = b"\3\1\0\0" * (8 * MIB)
    return lambda limits: first_value(records, 0x2F, Budget(limits))


@attack
def elf_read_by_itself(_: Path) -> Reading:
    return lambda limits: read_elf(ByteView.of(_elf_of(500_000, 1, b"\0a\0")), Budget(limits))


def _coff(sections: int, symbols: int, row: bytes, symbol: bytes, strings: bytes) -> bytes:
    class_id = bytes.fromhex("c7a1bad1eebaa94baf20faf66aa4dcb8")
    table = 56 + 40 * sections
    head = struct.pack(
        "<HHHHI16sIIIIIII", 0, 0xFFFF, 2, 0x8664, 0, class_id, 0, 0, 0, 0, sections, table, symbols
    )
    return head + row * sections + symbol * symbols + struct.pack("<I", len(strings) + 4) + strings


@attack
def coff_of_long_names(_: Path) -> Reading:
    row = struct.pack("<8sIIIIIIHHI", b"/4", 0, 0, 8, 56, 0, 0, 0, 0, 0x40)
    symbol = struct.pack("<4xIIiHBB", 4, 0, 0, 0, 2, 0)
    data = _coff(200_000, 500_000, row, symbol, b"n" * (2 * MIB))
    return _host(data)


@attack
def pe_of_many_imports(_: Path) -> Reading:
    sections, size = 60_000, 4 * MIB
    optional = struct.pack("<H22xQ", 0x20B, 0) + bytes(76) + struct.pack("<I", 16)
    optional += struct.pack("<IIII", 0x1000, 8, 0x1000, 8) + struct.pack("<II", 0, 0) * 14
    head = b"MZ".ljust(0x3C, b"\0") + struct.pack("<I", 0x40) + b"PE\0\0"
    head += struct.pack("<HHIIIHH", 0x8664, sections, 0, 0, 0, len(optional), 0x2000) + optional
    row = struct.pack("<8sIIIIIIHHI", b".x", 1, 1, 0, 0, 0, 0, 0, 0, 0x40)
    start = len(head) + 40 * sections
    last = struct.pack("<8sIIIIIIHHI", b".data", size, 0x1000, size, start, 0, 0, 0, 0, 0x40)
    body = struct.pack("<I", 0x1004) * (size // 4)
    data = head + row * (sections - 1) + last + body

    def read(limits: Limits) -> object:
        found = read_pe(ByteView.of(data), Budget(limits))
        assert found is not None
        return found.needed(), found.symbols(), found.exports()

    return read


# Packages and their rules


@attack
def metadata_of_extras_times_requirements(folder: Path) -> Reading:
    extras = [f"e{number}" for number in range(9_000)]
    lines = [f'nvidia-nvjitlink-cu12>={n}; extra != "a"' for n in range(9_000)]
    path = folder / "x-1.0-py3-none-any.whl"
    head = metadata("x", "1.0", lines, extras)
    path.write_bytes(zip_of(("x-1.0.dist-info/METADATA", head)))
    return _read_and_judged(path)


@attack
def metadata_of_long_lines(folder: Path) -> Reading:
    versions = ",".join(f">={number}" for number in range(20_000))
    path = folder / "x-1.0-py3-none-any.whl"
    lines = [f"nvidia-cublas-cu12{versions}"] * 10 + ["x" * 60_000 + "[" + "a," * 30_000 + "a]"] * 5
    path.write_bytes(zip_of(("x-1.0.dist-info/METADATA", metadata("x", "1.0", lines))))
    return _read_and_judged(path)


@attack
def packages_that_depend_on_each_other(_: Path) -> Reading:
    names = [f"p{number}" for number in range(30)]
    requires = tuple(Dependency(name, ("",), f"Requires-Dist: {name}") for name in names)
    kind = Kind.WHEEL
    first, *others = (Package(kind=kind, path=n, name=n, requires=requires) for n in names)
    return lambda limits: _judged(first, limits, tuple(others))


@attack
def conda_of_alternatives(folder: Path) -> Reading:
    path = folder / "x-1.0-0.conda"
    depends = ["libnvjitlink " + "|".join(f">={n}" for n in range(2_000))] * 40
    index = json.dumps({"name": "x", "version": "1", "depends": depends}).encode()
    paths = b'{"paths": [' + b"{}," * (6 * MIB) + b"{}]}"
    info = zstd(tar_of(("info/index.json", index), ("info/paths.json", paths)))
    path.write_bytes(zip_of(("info-x.tar.zst", info), method=zipfile.ZIP_STORED))
    return _read_and_judged(path)


def _judged(
    package: Package,
    limits: Limits,
    others: tuple[Package, ...] = (),
    hosts: tuple[HostBinary, ...] = (),
) -> object:
    budget = Budget(limits)
    asked = required(nvjitlink=None)
    return problems(
        Shipped(package=package, ask=lambda: asked, others=others, hosts=hosts, budget=budget)
    )


def _read_and_judged(path: Path) -> Reading:
    def read(limits: Limits) -> object:
        each = replace(limits, seconds=limits.seconds / 2)
        package = package_of(str(path), each)
        return None if package is None else _judged(package, each)

    return read


@attack
def libraries_that_need_libraries(_: Path) -> Reading:
    files = tuple(f"libcublas.so.{number}" for number in range(300))
    lines = [
        Dependency("nvidia-cublas-cu12", (f">={n}",), f"Requires-Dist: {n}") for n in range(5_000)
    ]
    package = Package(kind=Kind.WHEEL, path="x", name="x", requires=tuple(lines))
    needed = tuple(CudaLibrary("libcublas", "needed", file, None, "DT_NEEDED") for file in files)
    hosts = tuple(
        HostBinary(
            place=Location("x", (f"{n}.so",)),
            format="ELF",
            machine="x86-64",
            type="shared library",
            libraries=needed,
            needed=files,
            runpath=("$ORIGIN/x",) * 50,
        )
        for n in range(20)
    )
    return lambda limits: _judged(package, limits, hosts=hosts)


@attack
def libraries_that_nothing_brings(_: Path) -> Reading:
    marker = " or ".join(f"python_version < '{n}'" for n in range(100))
    requires = tuple(
        Dependency(
            f"cuda-{n}", ("",), f"Requires-Dist: cuda-{n}", marker=f"{marker} or '{n}' == ''"
        )
        for n in range(5_000)
    )
    package = Package(kind=Kind.WHEEL, path="x", name="x", requires=requires)
    library = CudaLibrary("libnvJitLink", "needed", "libnvJitLink.so.12", None, "DT_NEEDED")
    host = HostBinary(
        place=Location("x", ("y.so",)),
        format="ELF",
        machine="x86-64",
        type="shared library",
        libraries=(library,),
        needed=("libnvJitLink.so.12",),
    )

    def read(limits: Limits) -> object:
        each = replace(limits, seconds=limits.seconds / 2)
        return not_at_hand(package, (), Budget(each)) and [_judged(package, each, hosts=(host,))]

    return read


# Targets


def _target(folder: Path, name: str, content: bytes) -> Reading:
    (folder / name).write_bytes(content)
    keys = {"lock": name, "gpu": "h100"}
    return lambda limits: build("x", keys, ValueOrigin("given", str(folder), Budget(limits)))


@attack
def toml_of_endless_keys(folder: Path) -> Reading:
    return _target(folder, "pylock.toml", b"a." * 200_000 + b"a = 1\n")


@attack
def toml_without_end(folder: Path) -> Reading:
    return _target(folder, "uv.lock", b"[[package]]\nname = 'x'\n" * 600_000)


@attack
def pylock_of_extras_times_packages(folder: Path) -> Reading:
    extras = ", ".join(f'"e{n}"' for n in range(2_000))
    packages = (
        "[[packages]]\nname = 'nvidia-nvjitlink'\nversion = '13.0'\nmarker = \"'a' in extras\"\n"
    )
    text = f'lock-version = "1.0"\nextras = [{extras}]\n{packages * 3_000}'
    return _target(folder, "pylock.toml", text.encode())


@attack
def uv_lock_of_edges_times_packages(folder: Path) -> Reading:
    package = "[[package]]\nname = 'a'\nversion = '{}'\n"
    root = "[[package]]\nname = 'r'\nsource = {virtual = '.'}\ndependencies = ["
    text = "version = 1\n" + root + "{name = 'a'}," * 3_000 + "]\n"
    text += "".join(package.format(n) for n in range(3_000))
    return _target(folder, "uv.lock", text.encode())


@attack
def poetry_lock_of_markers(folder: Path) -> Reading:
    marker = " or ".join(f"python_version < '{n}'" for n in range(300))
    package = f'[[package]]\nname = "nvidia-nvjitlink"\nversion = "13.0"\nmarkers = "{marker}"\n'
    text = package * 25 + '[metadata]\nlock-version = "2.1"\n'
    return _target(folder, "poetry.lock", text.encode())


@attack
def yaml_of_merged_keys(folder: Path) -> Reading:
    text = "a: &a {" + ", ".join(f"k{n}: v" for n in range(9)) + "}\n"
    for number, name in enumerate("bcdefghij"):
        before = "abcdefghij"[number]
        text += f"{name}: &{name} {{<<: [{', '.join([f'*{before}'] * 9)}]}}\n"
    return _target(folder, "conda-lock.yml", text.encode())


@attack
def yaml_of_a_number_of_base_60(folder: Path) -> Reading:
    return _target(folder, "conda-lock.yml", b"package: " + b"1:1:" * 90_000 + b"1\n")


@attack
def yaml_without_end(folder: Path) -> Reading:
    return _target(folder, "pixi.lock", b"- {a: b}\n" * MIB)


@attack
def yaml_of_brackets(folder: Path) -> Reading:
    return _target(folder, "pixi.lock", b"[" * 400_000)


@attack
def requirements_without_end(folder: Path) -> Reading:
    return _target(folder, "requirements.txt", b"a==1.0 ; python_version<'3'\n" * 500_000)


@attack
def requirements_of_versions(folder: Path) -> Reading:
    lines = (f"nvidia-nvjitlink-cu12>=12.{number}\n" for number in range(30_000))
    return _target(folder, "requirements.txt", "".join(lines).encode())


@attack
def report_of_pip_of_endless_packages(folder: Path) -> Reading:
    install = [
        {"metadata": {"name": f"a{number}", "version": "1", "requires_dist": ["b>=1"] * 20}}
        for number in range(20_000)
    ]
    path = folder / "report.json"
    path.write_text(json.dumps({"version": "1", "install": install}))
    return lambda limits: packages_beside([path], limits)


@attack
def environment_of_endless_distributions(folder: Path) -> Reading:
    text = metadata("a", "1", ["b>=1; python_version > '3'"] * 2_000)
    for number in range(300):
        (folder / f"a{number}-1.dist-info").mkdir()
        (folder / f"a{number}-1.dist-info" / "METADATA").write_bytes(text)

    return lambda limits: packages_at(str(folder), limits)


@attack
def dependencies_of_endless_requirements(_: Path) -> Reading:
    marker = "python_version > '3'"
    requires = tuple(
        Dependency(f"b{number}", (">=1",), f"Requires-Dist: b{number}", marker=marker)
        for number in range(100_000)
    )
    package = Package(kind=Kind.WHEEL, path="a-1.whl", name="a", version="1", requires=requires)
    return lambda limits: list(dependencies_always(package, Budget(limits)))


@attack
def extras_that_ask_for_one_another(_: Path) -> Reading:
    requires = tuple(
        Dependency("a", ("",), "a", marker=f"extra == 'e{n}'", asks=frozenset({f"e{n + 1}"}))
        for n in range(5_000)
    )
    start = (Dependency("a", ("",), "a", asks=frozenset({"e0"})),)
    package = Package(kind=Kind.INSTALLED, path="a", name="a", version="1", requires=requires)
    there = {"a": package, "b": replace(package, name="b", requires=start)}
    return lambda limits: extras_asked(there, Budget(limits))


@attack
def thin_archive_of_endless_members(folder: Path) -> Reading:
    member = b"x.o/".ljust(48) + b"9".ljust(10) + b"`\n"
    data = b"!<thin>\n" + member * 200_000
    place = Location(str(folder / "x.a"))
    return lambda limits: self_contained(ByteView(MemorySource(data)), place, Budget(limits))


def _described(folder: Path, content: bytes) -> Reading:
    (folder / "machines").write_bytes(content)
    origin = ValueOrigin("given", str(folder))
    path = str(folder / "machines")
    return lambda limits: described_targets(path, {}, replace(origin, budget=Budget(limits)))


@attack
def nodes_without_end(folder: Path) -> Reading:
    node = (
        '{"kind": "Node", "metadata": {"name": "n", "labels": {"nvidia.com/gpu.product": "T4"}}},'
    )
    return _described(folder, b'{"items": [\n' + node.encode() * 100_000 + b"\n{}]}")


@attack
def nodes_in_yaml_without_end(folder: Path) -> Reading:
    return _described(folder, b"apiVersion: v1\nkind: Node\na:\n" + b"- {a: b}\n" * MIB)


@attack
def rows_of_nvidia_smi_without_end(folder: Path) -> Reading:
    row = b"|  0  NVIDIA" + b" a" * 500 + b"  On | 00000000:00:1E.0 Off |\n"
    return _described(folder, b"NVIDIA-SMI 1 Driver Version: 1\n" + row * 12_000)


@attack
def values_of_a_report_without_end(folder: Path) -> Reading:
    return _described(folder, b"<nvidia_smi_log>\n" + b"<a>" * 2_000_000 + b" " * 4_000_000)


@attack
def fields_of_slurm_without_end(folder: Path) -> Reading:
    return _described(folder, b"NodeName=a Gres=" + b"gpu:a,gpu:" * 900_000)


@attack
def stages_of_a_dockerfile_without_end(folder: Path) -> Reading:
    text = "FROM a AS s0\n" + "".join(f"FROM s{n} AS s{n + 1}\n" for n in range(300_000))
    return _described(folder, text.encode() + b"RUN pip install " + b"a=b " * MIB)


@attack
def requirements_of_one_line(folder: Path) -> Reading:
    return _target(folder, "requirements.txt", b"a>=1" + b",>=1" * 400_000)


@attack
def targets_times_locks(folder: Path) -> Reading:
    (folder / "uv.lock").write_bytes(b"version = 1\npackage = []\n" + b"#\n" * 200_000)
    text = "".join(f"[targets.t{number}]\nlock = 'uv.lock'\n" for number in range(500))
    (folder / "x.toml").write_text(text)
    path = str(folder / "x.toml")
    return lambda limits: targets_of_file(path, path, None, Budget(limits))


@attack
def target_of_endless_pieces(folder: Path) -> Reading:
    (folder / "x.toml").write_bytes(b"[targets]\nx = 'driver>=1" + b",<1" * 100_000 + b"'\n")
    path = str(folder / "x.toml")
    return lambda limits: targets_of_file(path, path, None, Budget(limits))


@attack
def policy_of_long_names(folder: Path) -> Reading:
    names = "".join(map(chr, range(0x4E00, 0x4E00 + 9_000)))
    text = f'[targets."{names}"]\ndriver = "550"\n[audit]\ntargets = ["{names[::-1]}"]\n'
    (folder / "ltocompat.toml").write_text(text, encoding="utf-8")
    return lambda _: read_policy(str(folder / "ltocompat.toml"))


@attack
def policy_of_a_huge_number(folder: Path) -> Reading:
    (folder / "ltocompat.toml").write_text(f"[targets.x]\ndriver = 0x{'f' * 9_000}\n")
    return lambda _: read_policy(str(folder / "ltocompat.toml"))


@attack
def explanation_of_blanks(_: Path) -> Reading:
    text = "nvlink error   : " * 100_000 + " " * 2_000_000 + "error 222 " * 100_000
    return lambda _: explain(text)


@attack
def machine_of_includes(folder: Path) -> Reading:
    etc = folder / "etc" / "ld.so.conf.d"
    etc.mkdir(parents=True)
    (folder / "etc" / "ld.so.conf").write_text("include ld.so.conf.d/*\n")
    for number in range(12):
        (etc / f"{number}.conf").write_text("include *\n/usr/lib\n")
    return lambda limits: probe(Machine(str(folder)), limits)


@attack
def machine_of_a_huge_cache(folder: Path) -> Reading:
    (folder / "etc").mkdir()
    head = struct.pack("<20sIIB3xI12x", b"glibc-ld.so.cache1.1", 100_000, 0, 2, 0)
    rows = struct.pack("<iIIIQ", 0x303, 48, 48, 0, 0) * 100_000
    (folder / "etc" / "ld.so.cache").write_bytes(head + rows)
    return lambda limits: probe(Machine(str(folder)), limits)
