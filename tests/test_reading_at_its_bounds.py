"""Readers of files at the last value that holds and the first that doesn't; law by law."""

from __future__ import annotations

import errno
import fcntl
import gzip
import io
import itertools
import lzma
import os
import posixpath
import random
import struct
import sys
import tarfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest import mock

import lz4.block
import pytest
import zstandard
from container_images_made import docker_archive, layer_of
from elf_writer import Part, elf, tags
from fatbin_writer import KINDS, EntrySpec, entry, region
from hypothesis import given
from hypothesis import strategies as st
from package_writer import Raw, raw_zip, tar_of, zip_of
from samples import FOLDER
from test_hosts_windows import image

import ltocompat
from ltocompat.files import codec, output
from ltocompat.files.archives import folder
from ltocompat.files.archives.container_image import images_in
from ltocompat.files.archives.layout_folder import is_layout
from ltocompat.files.archives.member import Names
from ltocompat.files.byteview import ByteView
from ltocompat.files.codec import Payload
from ltocompat.files.images import cubin_symbols, ptx
from ltocompat.files.images.cubin import Cubin
from ltocompat.files.images.cubin_notes import Notes
from ltocompat.files.objects import read_host
from ltocompat.files.objects.coff import read_coff
from ltocompat.files.objects.elf_symbols import SymbolTable
from ltocompat.files.objects.pe import read_pe
from ltocompat.files.output import created, replaced
from ltocompat.model.errors import LimitExceeded, Malformed
from ltocompat.model.image import (
    Artifact,
    Compression,
    CudaLibrary,
    HostBinary,
    Module,
    PtxFlaw,
    Skipped,
)
from ltocompat.model.limits import WORK, Budget, Limits
from ltocompat.model.location import Location
from ltocompat.scan import second_pass, summarize, walk, workers
from ltocompat.scan.parallel import path_of_text
from ltocompat.scan.summarize import SummaryBuilder
from ltocompat.scan.walk import ScanSettings, records_of_view, stored_in_file

FATBIN = (FOLDER / "fatbin" / "nvcc-13.0-balance.fatbin").read_bytes()
CODE = b"".join(path.read_bytes() for path in sorted((FOLDER / "ltoir").iterdir()))
PTX = (FOLDER / "ptx" / "nvrtc-12.4-compute_80.ptx").read_bytes()


# Progress


def ar_of(*members: tuple[str, bytes]) -> bytes:
    """An archive of objects, its members at even offsets; long names as BSD has them."""
    data = b"!<arch>\n"
    for name, body in members:
        long = name.encode() if len(name) > 15 else b""
        head = f"#1/{len(long)}" if long else f"{name}/"
        data += f"{head:<48}{len(long + body):<10}`\n".encode() + long + body
        data += b"\n" * (len(data) % 2)
    return data


def reached(data: bytes) -> list[int]:
    """The offsets that are told while a file is read."""
    told = list[tuple[str, int, int]]()
    settings = ScanSettings(progress=lambda *words: told.append(words), jobs=1)
    list(records_of_view(ByteView.of(data), Location("x"), settings))
    assert {(path, total) for path, _, total in told} <= {("x", len(data))}
    return [done for _, done, _ in told]


def test_progress_tells_where_in_the_file_it_is() -> None:
    """Of a container, where the current member lies, however deep it is nested; never backwards."""
    size = len(FATBIN)
    assert reached(FATBIN * 3) == [0, size, 2 * size]
    three = [("a", FATBIN), ("b", FATBIN * 2), ("c", FATBIN)]
    nested = [("a", FATBIN), ("b", tar_of(*three)), ("c", FATBIN)]
    packed = [("a", FATBIN), ("b", gzip.compress(tar_of(*three))), ("c", FATBIN)]
    for archive in (
        *(zip_of(*members, method=method) for members in (nested, packed) for method in (0, 8)),
        *(tar_of(*three), ar_of(*three), tar_of(*packed), gzip.compress(tar_of(*three))),
    ):
        found = reached(archive)
        assert found == sorted(found)
        assert 0 < found[0] < found[-1] <= len(archive)
        assert len({*found}) > 1


def test_a_member_counts_half_when_it_is_unpacked() -> None:
    """A wheel may have one large library: its progress is neither 0 nor 100 % most of the time."""
    noise = random.Random(0).randbytes(4 << 20)  # noqa: S311 - which nothing compresses
    data = zip_of(("a", b""), ("b", FATBIN + noise + FATBIN))
    found = reached(data)
    unpacked = [offset for offset in found if offset <= len(data) // 2]
    assert len(unpacked) > 8
    assert max(after - before for before, after in pairwise(unpacked)) < len(data) // 8
    assert found[-1] == pytest.approx(len(data), rel=0.01)


def test_what_cannot_be_read_is_no_progress() -> None:
    broken = Raw(b"broken", FATBIN, method=0, crc=0)
    sound = Raw(b"sound", FATBIN, method=0)
    data = raw_zip(broken, sound, broken)
    assert 0 < min(reached(data)) <= max(reached(data)) < data.rindex(b"PK\3\4")
    assert not reached(raw_zip(broken))


# Names in a package


PARTS = st.lists(st.sampled_from(["a", "b", "..", "."]), min_size=1, max_size=3).map("/".join)


@given(
    st.lists(st.tuples(st.sampled_from(["file", "folder"]), PARTS), max_size=6),
    st.lists(st.tuples(PARTS, PARTS), max_size=4),
)
def test_a_link_is_broken_that_leads_to_no_member_and_to_no_folder_of_one(
    members: list[tuple[str, str]], links: list[tuple[str, str]]
) -> None:
    names, place = Names(Location("x"), Limits()), Location("y")
    there = set[str]()
    for kind, name in members:
        path = posixpath.normpath(name)
        there |= {path, *itertools.accumulate(path.split("/"), posixpath.join)}
        if kind == "folder":
            list(names.folder(name))
        else:
            names.take(name)
    expected = list[str]()
    for name, target in links:
        there.add(posixpath.normpath(name))
        there |= {*itertools.accumulate(posixpath.normpath(name).split("/"), posixpath.join)}
        told = [*names.link(name, target, place, hard=True)]
        if posixpath.normpath(target).startswith(".."):
            assert "leads out of the package" in told[-1].reason
        else:
            expected.append(target)
    found = [skipped.reason.split("'")[1] for skipped in names.broken_links()]
    assert found == [target for target in expected if posixpath.normpath(target) not in there]


def test_as_many_links_and_folders_are_kept_as_there_may_be_members() -> None:
    for folders, links in itertools.product(range(4), repeat=2):
        names = Names(Location("x"), Limits(members=2))
        for number in range(folders):
            list(names.folder(f"folder{number}"))
        for number in range(links):
            list(names.link(f"link{number}", f"gone{number}", Location("y"), hard=True))
        broken = [skipped.place.innermost for skipped in names.broken_links()]
        assert broken == ([f"link{n}" for n in range(min(links, 2))] if folders < 2 else [])


@pytest.mark.parametrize("length", [4096, 4097])
def test_the_longest_name_has_4096_characters(length: int) -> None:
    names = Names(Location("x"), Limits())
    place, problems = names.take("n" * length)
    assert (len(place.innermost), len(problems)) == ((4096, 0) if length == 4096 else (103, 1))


# Symbols of ELF files


SYMBOLS = st.lists(
    st.tuples(st.integers(0, 40), *[st.integers(0, 3)] * 2, *[st.integers(0, 40)] * 3), max_size=12
)


@given(st.sampled_from([32, 64]), SYMBOLS, st.integers(0, 41))
def test_symbols_are_those_that_the_table_has(
    bits: int, rows: list[tuple[int, ...]], wanted: int
) -> None:
    """Sizes, names and values are often equal here, and only the value is looked for."""
    front = b"front"
    table = b"".join(
        struct.pack("<IBBHQQ", name, bind << 4 | kind, 0, section, value, size)
        if bits == 64
        else struct.pack("<IIIBBH", name, value, size, bind << 4 | kind, 0, section)
        for name, bind, kind, section, value, size in rows
    )
    view = ByteView.of(front + table)
    symbols = SymbolTable(view, Budget(), bits, len(front), len(table), 0, len(front))
    found = [symbols.at(index) for index in range(-1, len(rows) + 1)]
    assert (found[0], found[-1]) == (None, None)
    fields = [
        (each.name, each.binding, each.type, each.section, each.value, each.size)
        for each in filter(None, found)
    ]
    assert fields == rows
    of_data = [symbol for symbol in found if symbol and (symbol.type, symbol.value) == (1, wanted)]
    assert list(symbols.data_at(wanted)) == of_data
    assert list(symbols.data_at(wanted + (1 << bits))) == []


# Windows objects


SECTION = struct.pack("<8sIIIIIIHHI", b".text", 0, 0, 0, 0, 0, 0, 0, 0, 0x60000020)


@pytest.mark.parametrize("count", [0, 1, 3])
@pytest.mark.parametrize("symbols", [0, 1, 2])
@pytest.mark.parametrize("off", [-1, 0, 1])
def test_an_object_of_windows_ends_behind_its_symbols_at_least(
    count: int, symbols: int, off: int
) -> None:
    """It has sections, then symbols, and nothing more in the file has to follow them."""
    table = 20 + 40 * count
    start = table if symbols else 0
    head = struct.pack("<HHIIIHH", 0x8664, count, 0, start, symbols, 0, 0)
    data = head + SECTION * count + bytes(18 * symbols)
    data = data[:off] if off < 0 else data + bytes(off)
    found = read_coff(ByteView.of(data), Budget())
    assert (found is not None) == (count > 0 and off >= 0)
    overlapping = struct.pack("<HHIIIHH", 0x8664, count, 0, table - 1, symbols, 0, 0)
    assert read_coff(ByteView.of(overlapping + data[20:]), Budget()) is None
    without_place = struct.pack("<HHIIIHH", 0x8664, count, 0, 0, 1, 0, 0)
    assert read_coff(ByteView.of(without_place + data[20:]), Budget()) is None


# Compressed images


@given(
    st.binary(min_size=3, max_size=300),
    st.integers(-2, 2),
    st.lists(st.integers(1, 400), min_size=1),
)
def test_a_frame_that_is_not_as_long_as_its_entry_says_is_never_complete(
    data: bytes, off: int, steps: list[int]
) -> None:
    """However it is read: at once, or piece by piece."""
    declared = len(data) + off
    frame = zstandard.ZstdCompressor(write_content_size=False).compress(data)
    prefix = Payload(ByteView.of(frame), Compression.ZSTD, declared, Budget()).prefix()
    with mock.patch.object(codec, "DECODED_AS_WHOLE", 0):
        try:
            for step in sorted(steps):
                prefix.grow(step)
                assert prefix.data[:step] == data[:step]
        except Malformed:
            assert declared != len(data)
        else:
            whole = len(prefix.data) == declared == len(data)
            assert prefix.complete <= whole
            assert whole or max(steps) < declared


@pytest.mark.parametrize(
    "data", [b"", b"x", bytes(200_000), CODE], ids=["empty", "one", "zeros", "code"]
)
@pytest.mark.parametrize("sized", [True, False])
@pytest.mark.parametrize("checksum", [True, False])
def test_a_frame_ends_where_its_last_block_and_its_sum_do(
    data: bytes, *, sized: bool, checksum: bool
) -> None:
    writer = zstandard.ZstdCompressor(write_content_size=sized, write_checksum=checksum)
    frame = writer.compress(data)
    for behind in (b"", b"x"):
        view = ByteView.of(b"front" + frame + behind)
        assert codec.zstd_frame(view, 5, Budget()) == (len(frame), len(data) if sized else None)
    for cut in (1, 4, len(frame) - 3):
        with pytest.raises(Malformed, match=r"past the end|no Zstandard frame header"):
            codec.zstd_frame(ByteView.of(b"front" + frame[:-cut]), 5, Budget())


@pytest.mark.parametrize(("block", "end"), [(128 << 10, True), ((128 << 10) + 1, False)])
@pytest.mark.parametrize("kind", [0, 1, 2, 3])
def test_blocks_have_128_kib_at_most_and_one_of_three_types(
    block: int, kind: int, *, end: bool
) -> None:
    """Source: RFC 8878, 3.1.1.2; the third type is reserved. One byte repeated is stored once."""
    head = b"\x28\xb5\x2f\xfd\0\x58" + (block << 3 | kind << 1 | 1).to_bytes(3, "little")
    body = bytes(1 if kind == 1 else block)
    if end and kind < 3:
        found = codec.zstd_frame(ByteView.of(head + body + b"x"), 0, Budget())
        assert found == (len(head + body), None)
    else:
        with pytest.raises(Malformed, match="wrong type or size"):
            codec.zstd_frame(ByteView.of(head + body), 0, Budget())


@pytest.mark.parametrize("over", [-1, 0, 1])
def test_an_image_that_does_not_say_its_size_is_held_to_the_limit(over: int) -> None:
    """What is longer is not cut without a word."""
    data = bytes(1000 + over)
    frame = zstandard.ZstdCompressor(write_content_size=False).compress(data)
    budget = Budget(Limits(image_bytes=1000))
    payload = Payload(ByteView.of(frame), Compression.ZSTD, None, budget)
    if over > 0:
        with pytest.raises(LimitExceeded, match="an image of 1001 bytes is over the limit of 1000"):
            payload.decode()
    else:
        assert payload.decode() == data


@pytest.mark.parametrize(
    ("compression", "packed"),
    [
        (Compression.LZ4, lz4.block.compress(PTX, store_size=False)),
        (Compression.ZSTD, zstandard.ZstdCompressor().compress(PTX)),
    ],
)
def test_what_was_decoded_a_moment_ago_is_not_decoded_again(
    compression: Compression, packed: bytes
) -> None:
    payload = Payload(ByteView.of(packed), compression, len(PTX), Budget())
    for times in (1, 2):
        before = WORK.decoded
        assert payload.decode() == payload.decode() == PTX
        assert (WORK.decoded - before, payload.budget.decoded) == (len(PTX), 2 * times * len(PTX))
        payload.budget.recent.forget()


# PTX that stands alone is read to its end


@pytest.mark.parametrize(
    ("behind", "flaws", "told"),
    [
        (b"", (), False),
        (b".visible .entry more()\n{", (PtxFlaw.CUT,), False),
        (b"/* open", (PtxFlaw.OPEN_COMMENT,), False),
        (PTX, (), True),
    ],
)
def test_a_text_is_read_to_its_end_however_long_it_is(
    tmp_path: Path, behind: bytes, flaws: tuple[PtxFlaw, ...], *, told: bool
) -> None:
    path = tmp_path / "x.ptx"
    path.write_bytes(PTX + b"// comment\n" * 1000 + behind)
    (module,) = (r for r in ltocompat.inspect(path) if isinstance(r, ltocompat.Module))
    assert set(flaws) == set(module.images[0].flaws) - {PtxFlaw.LATE_DIRECTIVE}
    assert any("several PTX texts" in problem for problem in module.images[0].problems) is told


# Folders


def test_a_folder_is_a_layout_that_has_an_index_or_blobs(tmp_path: Path) -> None:
    """Source: OCI Image Format Specification, image-layout; no other folder is one artifact."""
    for number, parts in enumerate(itertools.product((False, True), repeat=3)):
        top = tmp_path / str(number)
        (top / "blobs" / "sha256" if parts[2] else top).mkdir(parents=True)
        for name, there in zip(("oci-layout", "index.json"), parts, strict=False):
            if there:
                (top / name).write_text("{}")
        assert is_layout(str(top)) == (parts[0] and (parts[1] or parts[2]))


@pytest.mark.parametrize("over", [-1, 0, 1])
def test_a_record_is_read_to_its_last_whole_line_within_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, over: int
) -> None:
    info = tmp_path / "x-1.dist-info"
    info.mkdir()
    names = ["a.so", "b.so", "c.so"]
    for name in names:
        (tmp_path / name).touch()
    record = "".join(f"{name},,\n" for name in names)
    (info / "RECORD").write_text(record)
    monkeypatch.setattr(folder, "MOST_RECORD", len(record) - over)
    found = list(folder.files_of_distribution(str(info), Limits()) or ())
    paths = [str(tmp_path / name) for name in names]
    told = [each.reason for each in found if isinstance(each, Skipped)]
    assert [each for each in found if isinstance(each, str)] == paths[: 2 if over > 0 else 3]
    assert told == [f"RECORD has more than {len(record) - 1} bytes; the rest of it is not read"] * (
        over > 0
    )


@pytest.mark.parametrize("members", [2, 3])
def test_as_many_files_of_a_record_are_read_as_the_limit_says(tmp_path: Path, members: int) -> None:
    info = tmp_path / "x-1.dist-info"
    info.mkdir()
    (info / "RECORD").write_text("a\n\nb\nc\n")
    for name in "abc":
        (tmp_path / name).touch()
    found = list(folder.files_of_distribution(str(info), Limits(members=members)) or ())
    told = [each.reason for each in found if isinstance(each, Skipped)]
    assert len(found) - len(told) == members
    assert told == ["RECORD lists more than 2 files; the rest is not read"][: 3 - members]


# Files that are written


def test_a_file_is_closed_before_it_gets_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows renames no open file, and has none without a name; some disks have no links."""

    def no_links(*_: object) -> None:
        raise OSError(errno.EPERM, "no links")

    monkeypatch.setattr(output, "_NAMELESS", 0)
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(os, "link", no_links)

    def replace(old: str, new: str) -> None:
        assert old not in {os.readlink(f"/proc/self/fd/{fd}") for fd in _descriptors()}
        os.rename(old, new)

    monkeypatch.setattr(os, "replace", replace)
    path = tmp_path / "x"
    with created(str(path)) as file:
        file.write(b"first")
    with replaced(str(path)) as text:
        text.write("second")
    assert path.read_bytes() == b"second"
    assert [each.name for each in tmp_path.iterdir()] == ["x"]


def _descriptors() -> Iterator[str]:
    for name in os.listdir("/proc/self/fd"):
        if os.path.lexists(f"/proc/self/fd/{name}"):
            yield name


def test_a_new_file_is_linked_to_its_name_where_a_disk_has_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that it never takes the place of one that came meanwhile."""
    monkeypatch.setattr(output, "_NAMELESS", 0)
    monkeypatch.setattr(os, "replace", None)
    with created(str(tmp_path / "x")) as file:
        file.write(b"text")
    assert [(each.name, each.read_bytes()) for each in tmp_path.iterdir()] == [("x", b"text")]


def test_what_a_killed_run_left_beside_a_file_goes_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "x"
    left, young, held, foreign = (
        tmp_path / name
        for name in ("x.0123abcd.part", "x.0123abce.part", "x.0123abcf.part", "x.0123abcg.part")
    )
    for each in (left, young, held, foreign):
        each.touch()
        os.utime(each, (0, 0 if each is not young else 1 << 33))
    with held.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with output.folder_beside(str(path)) as folder:
            assert {*tmp_path.iterdir()} == {young, held, foreign, Path(folder)}
    assert {*tmp_path.iterdir()} == {young, held, foreign}


# What zips pack with LZMA


@pytest.mark.parametrize("lc", [0, 4])
@pytest.mark.parametrize(("lp", "pb"), [(0, 0), (0, 4), (4, 0)])
def test_the_properties_of_lzma_are_those_that_its_writer_chose(lc: int, lp: int, pb: int) -> None:
    """Source: APPNOTE 5.8.8; a byte of (pb * 5 + lp) * 9 + lc, which is less than 225."""
    lc = min(lc, 4 - lp)
    filters = [{"id": lzma.FILTER_LZMA1, "lc": lc, "lp": lp, "pb": pb, "dict_size": 1 << 16}]
    raw = lzma.compress(FATBIN, lzma.FORMAT_RAW, filters=filters)
    head = struct.pack("<HHBI", 9, 5, (pb * 5 + lp) * 9 + lc, 1 << 16)
    records = _records(raw_zip(Raw(b"x", FATBIN, method=14, stored=head + raw)))
    assert [type(record) for record in records] == [Module, Artifact]
    for broken in (head[:4] + b"\xe1" + head[5:], head[:2] + b"\4" + head[3:]):
        (skipped, *_) = _records(raw_zip(Raw(b"x", FATBIN, method=14, stored=broken + raw)))
        assert "its LZMA properties are invalid" in skipped.reason
    for size in (8, 9):
        (skipped, *_) = _records(raw_zip(Raw(b"x", FATBIN, method=14, stored=head[:size])))
        assert ("its LZMA properties" in skipped.reason) == (size < 9)


def _records(data: bytes) -> list[Any]:
    return list(records_of_view(ByteView.of(data), Location("x"), ScanSettings(jobs=1)))


# Windows images


def _with_exports(names: list[bytes], count: int) -> bytes:
    """A DLL whose directory of exports says so many names."""
    data = bytearray(image())
    rva = 0x3000 + len(data) - 0x800
    texts = list(itertools.accumulate((len(name) + 1 for name in names), initial=rva + 40))
    table = texts.pop()
    directory = struct.pack("<12xI8xI4xI4x", rva + 40, count, table)
    data += directory + b"\0".join([*names, b""]) + struct.pack(f"<{len(texts)}I", *texts)
    struct.pack_into("<II", data, 0x80 + 24 + 112, rva, 40)
    row = data.index(b".rdata\0\0")
    size = len(data) - 0x800
    struct.pack_into("<III", data, row + 8, size, 0x3000, size)
    return bytes(data)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_library_exports_as_many_names_as_its_directory_says(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["first.dll", "second", "third"]
    data = ByteView.of(_with_exports([name.encode() for name in names], count))
    found = read_pe(data, Budget())
    assert found is not None
    assert (found.own_name, found.exports()) == ("first.dll", names[:count])
    monkeypatch.setattr("ltocompat.files.objects.pe._MAX_FUNCTIONS", 2)
    assert found.exports() == names[: min(count, 2)]


# ELF


@pytest.mark.parametrize("tag", [0x7FFFFFFF, 0x80000000])
def test_a_tag_of_the_dynamic_section_has_31_bits(tag: int) -> None:
    """Source: gABI, "Dynamic Section", DT_HIPROC."""
    parts = [Part(".text", b"x" * 16), Part(".dynamic", tags({tag: 1}), 6)]
    found = read_host(ByteView.of(elf(parts, dynamic=".dynamic")), Budget())
    assert found is not None
    assert ("its dynamic section is damaged" in found.problems) == (tag > 0x7FFFFFFF)


@pytest.mark.parametrize("over", [0, 1])
def test_relocations_of_a_cubin_are_not_more_than_its_bytes(tmp_path: Path, over: int) -> None:
    list(ltocompat.extract(FOLDER / "objects" / "nvcc-13.0-rdc-axpy.o", output=tmp_path))
    data = bytearray(next(tmp_path.glob("*.cubin")).read_bytes())
    sections = Cubin.parse(ByteView.of(bytes(data)), Budget()).sections
    (table,) = struct.unpack_from("<Q", data, 40)
    sizes = [len(data) // 2 + over, len(data) // 2]
    for number, section in enumerate(sections):
        if section.name in (".rel.text.axpy", ".rela.text.axpy"):
            struct.pack_into("<QQ", data, table + 64 * number + 24, 0, sizes.pop())
    assert (sizes, len(data) % 2) == ([], 0)
    cubin = Cubin.parse(ByteView.of(bytes(data)), Budget())
    if over:
        with pytest.raises(Malformed, match="overlap"):
            cubin_symbols.read(cubin)
    else:
        assert cubin_symbols.read(cubin).undefined_functions == ("_Z5scalef",)


# PTX


def test_a_compiler_names_itself_in_the_comment_in_front() -> None:
    llvm = ptx.parse(b"// Generated by LLVM NVPTX Back-End\n.version 7.0\n.target sm_80\n")
    assert (llvm.generator, llvm.toolkit) == ("LLVM NVPTX Back-End", None)
    nvrtc = ptx.parse(PTX[:4096])
    assert (nvrtc.generator, (nvrtc.toolkit or "")[:5]) == (None, "12.4.")


USUAL = b"//\n.version 8.4\n.target sm_90\n.address_size 64\n\n.visible .entry k() { ret; }\n"


@given(st.integers(0, 200))
def test_a_text_that_ends_in_its_directives_says_nothing_else(cut: int) -> None:
    """Of a part of a longer text: ``sm_9`` is no target where the text goes on with a 0."""
    head = USUAL[:cut].rjust(ptx.HEAD_SIZE, b"\n")
    try:
        found = ptx.parse(head)
    except Malformed:
        return
    assert found == ptx.parse(USUAL)


@pytest.mark.parametrize("compression", ["none", "lz4", "zstd"])
@pytest.mark.parametrize("length", [100, 5000, (1 << 20) - 100, 1 << 20])
def test_a_long_comment_stands_in_front_of_a_text(compression: str, length: int) -> None:
    """As long as a MiB with its directives."""
    comment = b"//".ljust(length - 1, b"x") + b"\n"
    spec = EntrySpec(
        KINDS["ptx"], comment + b".version 8.4\n.target sm_80\n", compression=compression
    )
    (module, *skipped, _) = _records(region([entry(spec)]))
    assert (module.images[0].needs.ptx_isa, skipped == []) == (
        ("8.4", True) if length < 1 << 20 else (None, False)
    )


@pytest.mark.parametrize("length", [100, 4096, 5000, (1 << 20) - 100, 1 << 20])
@pytest.mark.parametrize("begin", [b"//", b"\n\n  /*", b"// .version 1.0\n//", b"\n"])
def test_a_long_comment_stands_in_front_of_a_file(
    tmp_path: Path, begin: bytes, length: int
) -> None:
    end = b"*/\n" if b"*" in begin else b"\n"
    fill = b"x" if b"/" in begin else b" "
    (path := tmp_path / "k.ptx").write_bytes(begin.ljust(length - len(end), fill) + end + USUAL)
    assert isas_of(path) == (["8.4"] if length < 1 << 20 else [])


@pytest.mark.parametrize("before", [b"/*%s*/", b"// .version 1.0 %s\n", b"%s\n"])
def test_the_first_page_of_a_file_may_end_inside_of_the_directive(
    tmp_path: Path, before: bytes
) -> None:
    for length in range(4096 - 16, 4096 + 4):
        (path := tmp_path / f"{length}.ptx").write_bytes(
            before % (b" " * (length - len(before) + 2)) + USUAL
        )
        assert isas_of(path) == ["8.4"], length


def isas_of(path: Path) -> list[str | None]:
    return [
        image.needs.ptx_isa
        for record in ltocompat.inspect(path, on_error=lambda _: None)
        if isinstance(record, ltocompat.Module)
        for image in record.images
    ]


# Folding into summaries


SAMPLES = [*sorted((FOLDER / "objects").iterdir()), *sorted((FOLDER / "fatbin").iterdir())]


def test_every_module_is_counted_once_and_has_its_place() -> None:
    """In whatever else it lies, and however it is folded."""
    data = zip_of(*((f"{path.parent.name}/{path.name}", path.read_bytes()) for path in SAMPLES))
    records = _records(data)
    modules = sorted(str(r.place) for r in records if isinstance(r, ltocompat.Module))
    assert len(modules) > len(SAMPLES)
    for apart, summarised in ((False, None), (True, None), (True, False)):
        builder = SummaryBuilder(apart=apart)
        for record in records:
            builder.take(record)
        found = builder.summary("x", apart=summarised)
        groups = (*found.groups, *found.test_groups, *found.device_libraries, *found.driver_code)
        assert sorted(str(place) for group in groups for place in group.places) == modules
        assert sum(group.count for group in groups) == len(modules)
    for path in SAMPLES:
        builder = SummaryBuilder(apart=False)
        alone = list(records_of_view(ByteView.of(path.read_bytes()), Location("x"), ScanSettings()))
        for record in alone:
            builder.take(record)
        groups = (*(found := builder.summary("x")).groups, *found.device_libraries)
        count = sum(isinstance(record, ltocompat.Module) for record in alone)
        assert sum(group.count for group in groups) == count


def test_the_device_runtime_is_an_object_of_its_library_alone() -> None:
    runtime, other = ("cuda_device_runtime.o", FATBIN), ("other.o", FATBIN)
    data = zip_of(
        ("lib/libcudadevrt.a", ar_of(runtime, other)),
        ("lib/libother.a", ar_of(runtime)),
        ("lib/x.fatbin", FATBIN),
    )
    builder = SummaryBuilder(apart=False)
    for record in _records(data):
        builder.take(record)
    found = builder.summary("x")
    (group,) = found.device_libraries
    assert [place.members for place in group.places] == [("lib/libcudadevrt.a", runtime[0])]
    assert sum(each.count for each in found.groups) == 3


@pytest.mark.parametrize(
    ("soname", "major"), [("libcusparse.so.12", 13), ("libx.so.1", None), (None, None)]
)
def test_modules_of_a_library_of_cuda_come_with_a_linker(
    soname: str | None, major: int | None
) -> None:
    ltoir = (FOLDER / "ltoir" / "nvrtc-12.4-lto_80.ltoir").read_bytes()
    data = region([entry(EntrySpec(KINDS["ltoir"], ltoir, options=None))]) * 2
    builder = SummaryBuilder(apart=False)
    for record in _records(data):
        builder.take(record)
    opened = CudaLibrary("libnvJitLink", "opened", "libnvJitLink.so.13", None, "")
    builder.take(
        HostBinary(
            place=Location("x"),
            format="ELF",
            machine="x86-64",
            type="shared library",
            soname=soname,
            libraries=(opened,),
        )
    )
    (group,) = builder.summary("x").groups
    assert (group.count, group.signature.shipped_major) == (2, major)


@pytest.mark.parametrize("most", [0, 1, 2])
def test_as_many_libraries_of_a_package_are_kept_as_there_may_be(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(summarize, "_MOST_HOSTS", most)
    builder = SummaryBuilder(apart=False)
    plain = elf(
        [Part(".text", b"x" * 16), Part(".dynamic", tags({0x7FFFFFFF: 1}), 6)], dynamic=".dynamic"
    )
    for record in _records(zip_of(("a.so", plain), ("b.so", plain))):
        builder.take(record)
    assert [host.place.innermost for host in builder.summary("x").hosts] == ["a.so", "b.so"][:most]


@pytest.mark.parametrize("most", [1, 2, 3])
def test_as_many_places_are_kept_as_there_may_be_and_all_are_counted(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(summarize, "_MOST_SKIPPED", most)
    monkeypatch.setattr(summarize, "_MOST_PLACES", most)
    builder = SummaryBuilder(apart=False)
    broken = region([entry(EntrySpec(KINDS["sass"], b"x" * 64))])
    for record in _records(FATBIN * 2 + broken * 2):
        builder.take(record)
    found = builder.summary("x")
    (group,) = (each for each in found.groups if each.example.offset == 0)
    assert (group.count, len(group.places)) == (2, min(most, 2))
    assert (found.skipped_count, len(found.skipped)) == (2, min(most, 2))


# Names are read no further than they are asked for


@pytest.mark.parametrize("number", [1, 2, 3])
def test_names_are_read_no_further_than_to_the_last_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    path = tmp_path / "x.fatbin"
    path.write_bytes(FATBIN * 3)
    met = list[object]()

    def noted(
        view: ByteView, file: Location, settings: ScanSettings, top: Location
    ) -> Iterator[object]:
        for each in stored_in_file(view, file, settings, top):
            met.append(each)
            yield each

    monkeypatch.setattr(second_pass, "stored_in_file", noted)
    places = [Location(str(path), (), at * len(FATBIN)) for at in range(number)]
    assert [*second_pass.kernel_names(dict.fromkeys(places[::-1], False), ScanSettings())] == places
    assert len(met) == number


@pytest.mark.parametrize("most", [1, 2, 3])
def test_a_batch_has_no_more_records_than_fit_into_it(
    monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(walk, "_BATCH", most)
    place = Location("x.fatbin")
    found = walk.batches_of_view(ByteView.of(FATBIN * 3), place, ScanSettings())
    assert [len(batch.modules) for batch in found] == [[1, 1, 1, 0], [2, 1], [3, 0]][most - 1]


@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_two_processes_are_enough_to_share_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: int
) -> None:
    asked = list[int]()
    monkeypatch.setattr(workers, "available", lambda _: jobs)
    monkeypatch.setattr(walk, "Slicing", lambda number, _: asked.append(number))
    monkeypatch.setattr(walk, "_SLICED", len(FATBIN))
    path = tmp_path / "x.fatbin"
    for size in (len(FATBIN) - 1, len(FATBIN)):
        path.write_bytes(FATBIN[:size])
        list(walk.take(Location(str(path)), ScanSettings()))
    assert asked == [jobs] * (jobs > 1)


def test_standard_input_is_no_file_to_share() -> None:
    assert [path_of_text(text) for text in ("-", "a.whl", "a.whl::b.so@0x10")] == [
        os.devnull,
        "a.whl",
        "a.whl",
    ]


@pytest.mark.parametrize("off", [-1, 0])
def test_a_manifest_of_an_image_is_read_within_the_limit_of_tables(off: int) -> None:
    data = docker_archive([layer_of({"a.fatbin": FATBIN})])
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        size = archive.getmember("manifest.json").size
    budget = Budget(Limits(tables_bytes=size + off))
    assert len([*images_in(ByteView.of(data), Location("x"), budget)]) == (off == 0)


NOTES = st.lists(
    st.tuples(st.sampled_from([2000, 1000]), st.binary(max_size=12)), min_size=1, max_size=4
)


@given(NOTES, st.integers(0, 40))
def test_notes_end_where_one_is_not_whole(notes: list[tuple[int, bytes]], less: int) -> None:
    data, ends = b"", list[int]()
    for kind, text in notes:
        data += struct.pack("<III12s", 12, len(text), kind, b"NVIDIA Corp") + text
        ends.append(len(data))
        data += bytes(-len(data) % 4)
    data = data[: max(0, len(data) - less)]
    whole = [kind for (kind, _), end in zip(notes, ends, strict=True) if end <= len(data)]
    found = Notes.parse(data)
    assert len(found.tools) == whole.count(2000)
    known = [text for kind, text in notes[: len(whole)] if kind == 1000 and len(text) >= 6]
    assert found.virtual == (struct.unpack_from("<H", known[-1], 2)[0] if known else None)
    assert found.end == (-(-ends[len(whole) - 1] // 4) * 4 if whole else 0)
