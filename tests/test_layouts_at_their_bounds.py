"""Fields of headers, and places in files, at the last value that fits and the first that doesn't.

What is expected is counted here in bytes, never taken from the reader.
"""

from __future__ import annotations

import struct
from collections import Counter
from dataclasses import replace
from unittest import mock

import pytest
from elf_writer import (
    BASE,
    DT_NEEDED,
    DT_STRSZ,
    DT_STRTAB,
    ET_EXEC,
    STRTAB,
    Part,
    elf,
    offsets,
    tags,
)
from fatbin_writer import KINDS, EntrySpec, concatenated, entry, hollow, region
from hypothesis import given
from hypothesis import strategies as st
from package_writer import Raw, deflate, pax, raw_zip, tar_header, tar_of, zip_of
from samples import FOLDER
from test_hosts_windows import image
from test_limits_at_their_bounds import rpm_of
from test_reading_at_its_bounds import FATBIN, PTX, _records, ar_of

import ltocompat
from ltocompat.files import byteview
from ltocompat.files.archives import spool
from ltocompat.files.archives.image_packages import folders_searched
from ltocompat.files.archives.promised import broken_promise
from ltocompat.files.archives.spool import MemberCache, Spool, holds_alone
from ltocompat.files.byteview import ByteView, FileSource, NamesOfTable
from ltocompat.files.fatbin import StoredModule
from ltocompat.files.fatbin.region import _has_family
from ltocompat.files.fatbin.walk import FatbinWalk, _Accounting
from ltocompat.files.first_bytes import (
    checksum_holds,
    holds_no_code,
    lost_pe_header,
    names_image,
    packing_of,
)
from ltocompat.files.images.cubin import _records as attributes_of
from ltocompat.files.images.cubin import first_value
from ltocompat.files.objects import read_host
from ltocompat.files.objects.coff import read_sections
from ltocompat.files.objects.elf_host import read_elf
from ltocompat.files.objects.pe import read_pe
from ltocompat.model.arch import ArchForm
from ltocompat.model.errors import LimitExceeded
from ltocompat.model.image import Module, Skipped
from ltocompat.model.limits import Budget
from ltocompat.model.location import Location
from ltocompat.scan import describe
from ltocompat.scan.variants import named_variants
from ltocompat.scan.walk import ScanSettings, stored_in_file

SPEC = EntrySpec(KINDS["ptx"], PTX, compression="zstd", options="-lineinfo")
PLACES = {
    "header": (4, "<I"),
    "payload": (8, "<Q"),
    "compressed": (16, "<I"),
    "options": (20, "<I"),
}


def told(data: bytes) -> list[str]:
    """Reasons why something is not read, and problems of images."""
    found = list[str]()
    for record in _records(data):
        if isinstance(record, Skipped):
            found.append(record.reason)
        if isinstance(record, Module):
            found += (problem for image in record.images for problem in image.problems)
    return found


def changed(field: str, value: int) -> bytes:
    """A region of one entry with another value in its header."""
    data = bytearray(region([entry(SPEC)]))
    at, form = PLACES[field]
    struct.pack_into(form, data, 16 + at, value)
    return bytes(data)


def test_an_entry_fits_into_its_region() -> None:
    data = region([entry(SPEC)])
    value = {
        field: struct.unpack_from(form, data, 16 + at)[0] for field, (at, form) in PLACES.items()
    }
    assert value["header"] + value["payload"] == len(data) - 16
    for field, fits, reason in (
        ("payload", value["payload"], "behind the end of its region"),
        ("compressed", value["payload"], "compressed bytes exceed a payload of"),
        ("header", value["header"], "behind the end of its region"),
        ("options", value["header"] - 8, "outside of its header"),
    ):
        found = [any(reason in each for each in told(changed(field, fits + off))) for off in (0, 1)]
        assert found == [False, True], field
    for size in (63, 64):
        assert any("is below 64" in each for each in told(changed("header", size))) == (size < 64)
    assert told(data) == []


@pytest.mark.parametrize("less", [0, 1])
def test_an_entry_may_be_its_header_alone(less: int) -> None:
    data = region([entry(EntrySpec(0x300, b""))])
    assert len(data) == 16 + 64
    found = told(data[: len(data) - less])
    assert any("too few for an entry header" in each for each in found) == (less > 0)
    modules = [each for each in _records(data) if isinstance(each, Module)]
    assert [len(each.images) for each in modules] == [1]


@pytest.mark.parametrize(
    ("options", "read"),
    [
        ("-lineinfo", "-lineinfo"),
        (" -g", "-g"),
        ("\x1f-g", None),
        (" ", None),
        ("x" * 500, "x" * 500),
    ],
)
def test_options_of_a_compiler_are_text(options: str, read: str | None) -> None:
    """Binary code in their place begins with a byte that no text has."""
    data = region([entry(EntrySpec(KINDS["ptx"], PTX, options=options))])
    (module,) = (each for each in _records(data) if isinstance(each, Module))
    assert [image.options for image in module.images] == [read]


def test_options_may_stand_in_front_of_what_leads_to_them() -> None:
    data = bytearray(entry(EntrySpec(KINDS["ptx"], PTX, options="-lineinfo")))
    place, size = struct.unpack_from("<I", data, 20)[0], struct.unpack_from("<I", data, 4)[0]
    text = struct.unpack_from("<II", data, place)
    data[size - 8 : size] = struct.pack("<II", place, text[1])
    data[place : place + text[1]] = b"-lineinfo"
    struct.pack_into("<I", data, 20, size - 8)
    (module,) = (each for each in _records(region([bytes(data)])) if isinstance(each, Module))
    assert [image.options for image in module.images] == ["-lineinfo"]


def test_an_attribute_of_the_family_is_whole() -> None:
    """Behind a byte, each has a format, its number, and a value or the size of what follows."""
    family, other = struct.pack("<BBH", 2, 0x0B, 1), struct.pack("<BBH", 2, 0x0C, 1)
    sized = struct.pack("<BBH", 4, 1, 4) + family
    for blob, found in (
        (b"\0" + family, True),
        (b"\0" + family[:3], False),
        (b"\0" + other + family, True),
        (b"\0" + sized, False),
        (b"\0" + sized + family, True),
        (b"\0", False),
    ):
        assert _has_family(blob, 103) == found, blob


@pytest.mark.parametrize("size", range(40))
def test_a_region_is_as_long_as_its_header_says(size: int) -> None:
    """Of fewer bytes than a header nothing is left; behind the last entry nothing may follow."""
    data = region([entry(SPEC)])
    cut = data[: len(data) - size]
    assert (told(cut) == []) == (size == 0)
    longer = region([entry(SPEC), bytes(size)])
    assert (told(longer) == []) == (size == 0)


@pytest.mark.parametrize("number", [1, 2, 3])
@pytest.mark.parametrize("compression", ["lz4", "zstd"])
def test_concatenated_images_are_all_of_their_bytes(number: int, compression: str) -> None:
    plain = EntrySpec(KINDS["ptx"], PTX)
    data = region([concatenated([plain] * number, compression)])
    (module,) = (record for record in _records(data) if isinstance(record, Module))
    assert (len(module.images), told(data)) == (number, [])
    (at,) = struct.unpack_from("<I", data, 16 + 20)
    assert data[16 + at : 16 + at + 4] == struct.pack("<I", number)
    for other in (number - 1, number + 1):
        assert told(data[: 16 + at] + struct.pack("<I", other) + data[16 + at + 4 :]) != []


SPANS = st.lists(st.integers(0, 60), max_size=10, unique=True).map(
    lambda cuts: list(zip(sorted(cuts)[::2], sorted(cuts)[1::2], strict=False))
)


@given(
    SPANS,
    SPANS,
    st.binary(min_size=60, max_size=60).map(lambda b: bytes(x & 1 & x >> 1 for x in b)),
)
def test_what_nothing_accounts_for_is_told_but_for_padding(
    sections: list[tuple[int, int]], covered: list[tuple[int, int]], data: bytes
) -> None:
    accounting = _Accounting(ByteView.of(data), None, Budget())
    accounting._sections = sections  # noqa: SLF001 - as of a host with these
    for span in covered:
        accounting.cover(*span)
    inside = {at for start, end in covered for at in range(start, end)}
    expected = list[tuple[int, int]]()
    for start, end in sections:
        free = [at for at in range(start, end) if at not in inside]
        for first in (at for at in free if at - 1 not in free):
            last = next(at for at in range(first, end + 1) if at not in free)
            whole = last - first == end - start >= 16
            if any(data[first:last]) or whole:
                expected.append((first, last - first))
    assert list(accounting.gaps()) == expected
    seen = inside | {at for start, end in sections for at in range(start, end)}
    assert [at for at in range(62) if not accounting.leaves_out(at)] == sorted(seen)


# What is unpacked, and kept


@given(st.lists(st.one_of(st.binary(max_size=9), st.integers(0, 5)), max_size=20))
def test_what_is_unpacked_stays_as_it_was_while_it_is_looked_at(steps: list[bytes | int]) -> None:
    """Whatever is kept beside it, and let go of before."""
    here = Spool()
    kept = list[tuple[bytes, ByteView]]()
    with mock.patch.object(spool, "IN_MEMORY", 4):
        for step in steps:
            if isinstance(step, bytes):
                view = here.keep(iter([step[:3], step[3:]]), len(step))
                assert holds_alone(view) == (len(step) > 4)
                kept.append((step, view))
            elif step < len(kept):
                del kept[step]
            assert all(view.all() == data for data, view in kept)


def test_a_file_or_a_part_of_a_member_is_not_held_alone() -> None:
    with open(__file__, "rb") as file:
        assert not holds_alone(ByteView(FileSource(file.fileno())))
    with mock.patch.object(spool, "IN_MEMORY", 4):
        view = Spool().keep(iter([b"123456"]), 6)
    assert holds_alone(view)
    assert not holds_alone(view.sub(0, 5))


@pytest.mark.parametrize("least", [5, 6, 7])
@pytest.mark.parametrize("most", [5, 6, 11, 12])
def test_members_are_kept_of_a_size_that_is_worth_it_and_not_too_many(
    least: int, most: int
) -> None:
    cache, here = MemberCache(), Spool()
    place = Location("x", ("a.tar", "b"))
    with (
        mock.patch.object(spool, "IN_MEMORY", 4),
        mock.patch.object(spool, "_LEAST_KEPT", least),
        mock.patch.object(spool, "_MOST_KEPT", most),
    ):
        views = [here.keep(iter([b"123456"]), 6) for _ in "ab"]
        cache.keep(Location("x", ("a.tar",)), views[0])
        cache.keep(place, views[1])
        number = 0 if least > 6 else min(2, most // 6)
        expected = [None, (Location("x", ("a.tar",)), views[0]), (place, views[1])][number]
        assert cache.around(Location("x", ("a.tar", "b", "c"), 7)) == expected
        assert cache.around(Location("x")) is cache.around(Location("y", ("a.tar",))) is None
        cache.keep(Location("y", ("c",)), views[0])
        assert cache.around(place) is None


# Archives


@pytest.mark.parametrize("off", [-1, 0, 1])
def test_a_member_of_an_archive_ends_with_it_at_most(off: int) -> None:
    data = bytearray(ar_of(("a.o", FATBIN)))
    data[8 + 48 : 8 + 58] = f"{len(FATBIN) + off}".ljust(10).encode()
    assert any("the member says" in reason for reason in told(bytes(data))) == (off > 0)


def _ar_with_names(name: str, table: bytes) -> bytes:
    head = f"{'//':<48}{len(table):<10}`\n".encode() + table + b"\n" * (len(table) % 2)
    return b"!<arch>\n" + head + f"{name:<48}{len(FATBIN):<10}`\n".encode() + FATBIN


@pytest.mark.parametrize(
    ("name", "member"),
    [("/0", "long.fatbin"), ("/13", "b"), ("/14", ""), ("/15", None), ("a/", "a"), ("b", "b")],
)
def test_a_long_name_is_where_its_number_says(name: str, member: str | None) -> None:
    """Of System V: ended by a slash and a line feed, in a table of 15 bytes."""
    data = _ar_with_names(name, b"long.fatbin/\nb/")
    modules = [r.place.innermost for r in _records(data) if isinstance(r, Module)]
    assert modules == ([] if member is None else [member])
    assert any("but the names end at 15" in reason for reason in told(data)) == (member is None)


@pytest.mark.parametrize("length", [0, 4, 1472, 1473])
def test_a_name_of_bsd_is_the_first_bytes_of_its_member(length: int) -> None:
    assert len(FATBIN) == 1472
    body = b"name".ljust(length, b"\0")[:length] + FATBIN[: len(FATBIN) - length]
    data = b"!<arch>\n" + f"#1/{length}".ljust(48).encode() + b"1472".ljust(10) + b"`\n" + body
    broken = any("begins with a name of" in reason for reason in told(data))
    assert broken == (length > 1472)


@pytest.mark.parametrize("gap", [64, 65])
@pytest.mark.parametrize("fill", [b"\0", b"x"])
@pytest.mark.parametrize("behind", [True, False])
def test_as_much_lies_between_members_as_aligns_them(
    gap: int, fill: bytes, *, behind: bool
) -> None:
    """A member that no directory has is such bytes, of which 31 are its header."""
    member = Raw(b"a", FATBIN, method=0)
    other = Raw(b"b", fill * (gap - 31), method=0, local_only=True)
    data = raw_zip(member) + fill * gap if behind else raw_zip(member, other)
    found = any("belong to no member" in reason for reason in told(data))
    assert found == (gap > 64 and not (behind and fill == b"\0"))


@pytest.mark.parametrize("off", [-1, 0, 1])
@pytest.mark.parametrize("number", [0, 1, 3, 4, 5])
def test_the_end_of_a_zip_says_what_is_in_front_of_it(number: int, off: int) -> None:
    """Numbers of two disks, of members, bytes of the directory, and where that begins."""

    def end(fields: list[int]) -> list[int]:
        fields[number] = max(0, fields[number] + off)
        return fields

    data = raw_zip(Raw(b"a", FATBIN, method=0), end=end)
    assert (told(data) == []) == (off == 0 or (number < 2 and off < 0))


@pytest.mark.parametrize("comment", [0, 1, 0xFFFF])
def test_a_comment_of_a_zip_has_65535_bytes_at_most(comment: int) -> None:
    data = (
        raw_zip(Raw(b"a", FATBIN, method=0), end=lambda fields: [*fields[:-1], comment])
        + b"c" * comment
    )
    assert told(data) == []
    assert any(isinstance(record, Module) for record in _records(data))
    assert told(data + b"c" * (65 if comment < 0xFFFF else 1)) != []


@pytest.mark.parametrize("off", [-1, 0, 1])
@pytest.mark.parametrize("method", [0, 8])
def test_a_member_of_a_zip_is_as_long_as_it_says(off: int, method: int) -> None:
    data = raw_zip(Raw(b"a", FATBIN, method=method, unpacked=len(FATBIN) + off))
    assert (told(data) == []) == (off == 0)
    stored = deflate(FATBIN) if method else FATBIN
    packed = raw_zip(Raw(b"a", FATBIN, method=method, packed=len(stored) + off))
    assert (told(packed) == []) == (off == 0)


# ELF


@pytest.mark.parametrize("less", [0, 1, 64, 65])
def test_a_table_of_sections_that_is_cut_is_told(less: int) -> None:
    """It lies last."""
    data = elf([Part(".text", b"x" * 16), Part(".data", b"y" * 16)])
    host = read_host(ByteView.of(data[: len(data) - less]), Budget())
    assert host is not None
    assert bool(host.problems) == (less > 0)


@pytest.mark.parametrize("size", [16, 17])
def test_a_section_ends_with_its_file_at_most(size: int) -> None:
    """Its bytes lie last here, behind the table."""
    data = bytearray(elf([Part(".data", b"y" * 16)]))
    (table,) = struct.unpack_from("<Q", data, 40)
    struct.pack_into("<QQ", data, table + 64 + 24, len(data), size)
    host = read_host(ByteView.of(bytes(data) + b"z" * 16), Budget())
    assert host is not None
    assert [s.size for s in host.sections if s.name == ".data"] == [16]
    assert any("reaches outside" in problem for problem in host.problems) == (size > 16)


@pytest.mark.parametrize(
    ("traits", "size", "lost"),
    [(0x40, 16, True), (0x40, 0, False), (0x80, 16, False), (0x20, 16, False)],
)
def test_a_section_of_data_has_its_bytes_in_the_file(traits: int, size: int, lost: bool) -> None:
    """PE Format, section flags: 0x40 is initialized data, 0x80 is zeros, 0x20 is code."""
    row = struct.pack("<8sIIIIIIHHI", b".nv_fat", 0, 0, size, 0, 0, 0, 0, 0, traits)
    problems: list[str] = []
    (found,) = read_sections(ByteView.of(row), Budget(), (0, 1), None, problems)
    assert found.size == 0
    assert problems == ["section '.nv_fat' of 16 bytes isn't in the file"] * lost


# First bytes


@pytest.mark.parametrize("relocations", [0x1C, 0x40])
@pytest.mark.parametrize("leads", ["to PE", "to NE", "to text", "to half of PE", "to 0", "behind"])
@pytest.mark.parametrize("name", ["x.dll", "X.PYD", "x.txt"])
def test_a_library_of_windows_has_its_second_header(
    relocations: int, leads: str, name: str
) -> None:
    """Source: Microsoft, "PE Format", MS-DOS stub; a program for DOS leads nowhere."""
    at = {"to 0": 0, "behind": 1000}.get(leads, 0x40)
    second = {"to PE": b"PE\0\0".ljust(24, b"x"), "to NE": b"NE".ljust(24, b"x")}.get(
        leads, b"text"
    )
    second = b"PE\0\0".ljust(23, b"x") if leads == "to half of PE" else second
    head = struct.pack("<2s22xH34xI", b"MZ", relocations, at) + second
    there = leads in ("to PE", "to NE")
    promised = name.lower()[-4:] in (".dll", ".pyd")
    expected = not there and (promised or (relocations == 0x40 and at > 0))
    assert lost_pe_header(ByteView.of(head), name) == expected
    assert not lost_pe_header(ByteView.of(b"mz" + head[2:]), name)
    assert lost_pe_header(ByteView.of(head[:30]), name) == promised


@given(st.binary(min_size=100, max_size=100), st.booleans(), st.integers(-1, 1))
def test_a_sum_of_a_header_of_tar_is_of_its_bytes_signed_or_not(
    name: bytes, signed: bool, off: int
) -> None:
    block = bytearray(tar_header(name, 0))
    block[148:156] = b" " * 8
    total = sum(byte - 256 * (signed and byte > 127) for byte in block) + off
    block[148:156] = b"%06o\0 " % total if total >= 0 else b"0" * 8
    other = sum(byte - 256 * (byte > 127) for byte in name) + sum(block[100:148]) + sum(block[156:])
    right = {sum(block[:148]) + 256 + sum(block[156:]), other + 256}
    assert checksum_holds(bytes(block)) == (total in right)
    for field in (b"8", b"9", b"x", b" ", b"-1"):
        assert not checksum_holds(bytes(block[:148]) + field.ljust(8) + bytes(block[156:]))


NEEDLES = [b"PK\5\6", b"\x7fELF", b"\xed\x43\x4e\x7f", b"\x28\xb5\x2f\xfd", FATBIN[:8]]
BEGINNINGS = [
    *(b"!<arch>\n", b"BZh", b"\x1f\x8b\x08", b"\xfd7zXZ\0", b"PK\3\4", b"\xed\xab\xee\xdb"),
    *(b"MZ", b"\x7fTileIR\0", b"\x64\x86", b"\x64\xaa", b"\0\0\xff\xff", b"\x5f\x2a\x4d\x18"),
]


@pytest.mark.parametrize("needle", NEEDLES)
def test_what_is_found_anywhere_may_lie_in_any_file(needle: bytes) -> None:
    for front, behind in ((b"", b""), (b"text", b""), (b"text", b"more"), (b"\0" * 600, b"x")):
        assert not holds_no_code(ByteView.of(front + needle + behind))
        cut = front + needle[1:] + b"." + behind
        assert holds_no_code(ByteView.of(cut))


@pytest.mark.parametrize("beginning", BEGINNINGS)
def test_what_begins_a_file_tells_its_kind_there_alone(beginning: bytes) -> None:
    assert not holds_no_code(ByteView.of(beginning + b"text"))
    assert holds_no_code(ByteView.of(b"text" + beginning))


def test_a_text_holds_no_code_unless_it_names_a_version_of_ptx_or_is_large() -> None:
    for text, holds in (
        (b"", False),
        (b"text", False),
        (b".version 8.4", True),
        (b"text .version\t8", True),
        (b".version x", False),
        (b".version", False),
        (tar_header(b"x", 0), True),
        (b"a" * (1 << 20), False),
        (b"a" * ((1 << 20) + 1), True),
    ):
        assert holds_no_code(ByteView.of(text)) == (not holds), text[:20]


@pytest.mark.parametrize(
    ("head", "packing"),
    [
        (b"\x1f\x8b\x08", "GZIP"),
        (b"\x1f\x8b\x07", None),
        (b"BZh91AY&SY", "BZIP2"),
        (b"BZh1\x17\x72\x45\x38\x50\x90", "BZIP2"),
        (b"BZh01AY&SY", None),
        (b"BZh91AY&S", None),
        (b"\xfd7zXZ\0", "XZ"),
        (b"\xfd7zXZ", None),
        (b"\x28\xb5\x2f\xfd", "ZSTD"),
        (b"\x50\x2a\x4d\x18", "ZSTD"),
        (b"\x5f\x2a\x4d\x18", "ZSTD"),
        (b"\x60\x2a\x4d\x18", None),
        (b"", None),
    ],
)
def test_a_stream_is_known_by_its_first_bytes(head: bytes, packing: str | None) -> None:
    found = packing_of(ByteView.of(head))
    assert (found.name if found else None) == packing


@pytest.mark.parametrize("front", [b"", tar_header(b"./", 0, b"5"), pax([("path", "x")], b"g")])
@pytest.mark.parametrize(
    ("name", "is_image"),
    [
        ("manifest.json", True),
        ("./index.json", True),
        ("oci-layout", True),
        ("repositories", True),
        ("blobs/", True),
        ("blobs", True),
        ("0" * 64, True),
        ("0" * 64 + "/layer.tar", True),
        ("0" * 64 + ".json", True),
        ("sha256:" + "f" * 64, True),
        ("0" * 64 + ".tar.gz", True),
        ("base/layer.tar", True),
        ("config.json", True),
        ("package.json", False),
        ("0" * 63, False),
        ("blobs.txt", False),
        ("x/manifest.json", False),
        ("", False),
    ],
)
def test_an_archive_of_an_image_is_known_by_its_first_file(
    front: bytes, name: str, *, is_image: bool
) -> None:
    data = front + tar_header(name.encode(), 0)
    assert names_image(lambda most: data[:most]) == is_image


@pytest.mark.parametrize("blocks", [6, 7])
def test_as_many_headers_come_before_the_first_file_of_an_image(blocks: int) -> None:
    """Of one with its data 8 blocks at most."""
    front = tar_header(b"pax", blocks * 512 - 512 + 1, b"x") + bytes(blocks * 512)
    data = front + tar_header(b"manifest.json", 0)
    assert names_image(lambda most: data[:most])
    larger = (
        tar_header(b"pax", 7 * 512 + 1, b"x") + bytes(8 * 512) + tar_header(b"manifest.json", 0)
    )
    assert not names_image(lambda most: larger[:most])


# What an entry says of its image


CUBIN = (FOLDER / "cubin" / "nvcc-13.0-sm_80.cubin").read_bytes()


@pytest.mark.parametrize("number", [75, 80, 90])
def test_an_entry_for_another_architecture_than_its_cubin_is_told(number: int) -> None:
    for compression in ("none", "zstd"):
        spec = EntrySpec(KINDS["sass"], CUBIN, sm=number, compression=compression)
        found = [each for each in told(region([entry(spec)])) if "is for sm_80" in each]
        assert len(found) == (number != 80)


@pytest.mark.parametrize(
    ("version", "number", "problems"),
    [((8, 4), 80, 0), ((8, 3), 80, 1), ((8, 4), 75, 1), ((7, 4), 90, 2)],
)
def test_an_entry_says_of_a_text_what_that_says_itself(
    version: tuple[int, int], number: int, problems: int
) -> None:
    text = b".version 8.4\n.target sm_80\n.address_size 64\n"
    spec = EntrySpec(KINDS["ptx"], text, sm=number, version=version)
    assert len(told(region([entry(spec)]))) == problems


@pytest.mark.parametrize(
    ("said", "inside", "fine"), [(110, 101, True), (101, 110, True), (100, 101, False)]
)
def test_sm_101_is_called_sm_110_since_cuda_13(said: int, inside: int, *, fine: bool) -> None:
    text = f".version 9.0\n.target sm_{inside}\n".encode()
    spec = EntrySpec(KINDS["ptx"], text, sm=said, version=(9, 0))
    assert (told(region([entry(spec)])) == []) == fine


@pytest.mark.parametrize(("offset", "damaged"), [(1, False), (7, False), (9, True)])
def test_names_of_libraries_lie_in_the_table_of_strings(offset: int, *, damaged: bool) -> None:
    """Of 9 bytes here, of which the last one ends a name; behind them lie others."""
    strings = b"\0liba.so\0"
    parts = [Part(".dynstr", strings + b"text\0", STRTAB), Part(".dynamic", bytes(16 * 4), 6)]
    place = BASE + offsets(parts)[".dynstr"]
    parts[1].data = tags({DT_NEEDED: offset, DT_STRTAB: place, DT_STRSZ: len(strings)})
    host = read_elf(ByteView.of(elf(parts, dynamic=".dynamic")), Budget())
    assert host is not None
    assert ("its dynamic section is damaged" in host.problems) == damaged
    names = [each.file for each in host.needed() if each.file]
    assert names == [strings[offset:-1].decode()] * (not damaged)


def test_a_value_of_a_kernel_may_stand_at_the_end_of_its_section() -> None:
    short, sized = struct.pack("<BBH", 3, 0x2F, 7), struct.pack("<BBHI", 4, 0x37, 4, 129)
    for data, wanted, value in (
        (short, 0x2F, 7),
        (sized + short, 0x2F, 7),
        (short + sized, 0x37, 129),
        (short[:3], 0x2F, None),
        (sized + short[:3], 0x2F, None),
        (sized[:6], 0x37, 129),
    ):
        assert first_value(data, wanted, Budget()) == value
        found = [number for attribute, number, _ in attributes_of(data) if attribute == wanted]
        assert found == [value] * (value is not None)


CUBINS = {path.stem: path.read_bytes() for path in (FOLDER / "cubin").iterdir()}
OF_80, OF_90 = (EntrySpec(KINDS["sass"], CUBINS[f"nvrtc-12.4-sm_{n}"], sm=n) for n in (80, 90))
NO_KERNELS = EntrySpec(KINDS["sass"], CUBINS["nvcc-13.0-sm_80-without-kernels"], sm=86)
TEXT_80, TEXT_90 = (
    EntrySpec(KINDS["ptx"], f".version 8.4\n.target sm_{n}\n".encode(), sm=n) for n in (80, 90)
)


LTO_80 = EntrySpec(
    KINDS["ltoir"], (FOLDER / "ltoir" / "nvrtc-12.4-lto_80.ltoir").read_bytes(), options=None
)
REAL, VIRTUAL, LTO = ArchForm.REAL, ArchForm.VIRTUAL, ArchForm.LTO
FORMS = {
    OF_80: (80, REAL),
    OF_90: (90, REAL),
    TEXT_80: (80, VIRTUAL),
    TEXT_90: (90, VIRTUAL),
    LTO_80: (80, LTO),
}


@given(st.lists(st.lists(st.sampled_from([*FORMS]), min_size=1, max_size=4), max_size=4))
def test_images_are_counted_by_architecture_and_form(modules: list[list[EntrySpec]]) -> None:
    data = b"".join(region([entry(spec) for spec in specs]) for specs in modules)
    counts = Counter(FORMS[spec] for specs in modules for spec in specs)
    found = ltocompat.architectures(data + bytes(64))
    for form, told in ((REAL, found.sass), (VIRTUAL, found.ptx), (LTO, found.ltoir)):
        expected = [(n, count) for (n, of), count in sorted(counts.items()) if of is form]
        assert [(arch.number, count) for arch, count in told.items()] == expected
    assert found.skipped == ()


@given(st.lists(st.sampled_from([*FORMS][:4]), min_size=1, max_size=4, unique=True))
def test_a_file_serves_a_gpu_by_as_many_modules_as_have_code_for_it(
    specs: list[EntrySpec],
) -> None:
    """SASS runs on GPUs of its major from its minor on, PTX on newer ones, too."""
    data = b"".join(region([entry(spec)]) for spec in specs)
    found = ltocompat.serves(data, ["80;86", "90"])
    assert [arch.number for arch in found] == [80, 86, 90]
    for arch, coverage in found.items():
        by_sass = sum(
            form is REAL and n // 10 == arch.major and n <= arch.number
            for n, form in map(FORMS.__getitem__, specs)
        )
        by_ptx = sum(
            form is VIRTUAL and n <= arch.number for n, form in map(FORMS.__getitem__, specs)
        )
        assert (coverage.modules, coverage.sass) == (len(specs), by_sass)
        assert coverage.ptx + coverage.without_kernels >= by_ptx


@pytest.mark.parametrize(
    ("specs", "uneven"),
    [
        ([OF_80], False),
        ([OF_80, OF_90], False),
        ([OF_80, TEXT_80], False),
        ([OF_80, OF_90, TEXT_80], False),
        ([TEXT_90], False),
        ([OF_80, TEXT_90], True),
        ([TEXT_80, TEXT_90], True),
        ([OF_80, NO_KERNELS], True),
    ],
)
def test_a_module_is_uneven_whose_images_may_differ_in_kernels(
    specs: list[EntrySpec], *, uneven: bool
) -> None:
    """PTX for an architecture without SASS, or SASS with other names; of very many nobody asks."""
    for more in (0, 1):
        with mock.patch.object(describe, "MANY", len(specs) + more):
            (module, *_) = _records(region([entry(spec) for spec in specs]))
        assert module.uneven is (uneven and more == 1)


@pytest.mark.parametrize("off", [-1, 0, 0xFFF, 0x1000])
@pytest.mark.parametrize("rva", [0x1000, 0x1001])
def test_sections_of_a_windows_image_fill_it(off: int, rva: int) -> None:
    """They begin at multiples of an alignment, and end less than one before the image does."""
    data = bytearray(image())
    struct.pack_into("<I", data, data.index(b".rdata\0\0") + 8, 0x123)
    end = 0x3000 + 0x123
    optional = 0x80 + 24
    struct.pack_into("<I", data, optional + 32, 0x1000)
    struct.pack_into("<I", data, optional + 56, end + off)
    struct.pack_into("<I", data, data.index(b".nv_fatb") + 12, rva)
    host = read_host(ByteView.of(bytes(data)), Budget())
    assert host is not None
    assert any("but its header says" in each for each in host.problems) == (off in (-1, 0x1000))
    misplaced = any("don't begin at a multiple" in each for each in host.problems)
    assert misplaced == (rva % 0x1000 > 0 and off in (0, 0xFFF))


@pytest.mark.parametrize(
    ("rva", "size", "name"),
    [
        (0x3000, 40, "text"),
        (0, 40, ""),
        (0x3000, 0, ""),
        (0x2FFF, 40, ""),  # behind the bytes of a section, and in front of the next one
        (0x9000, 40, ""),
    ],
)
def test_a_directory_of_a_windows_image_lies_in_a_section(rva: int, size: int, name: str) -> None:
    data = bytearray(image()[:0x800] + bytes(0x200))
    row = data.index(b".rdata\0\0")
    struct.pack_into("<III", data, row + 8, 0x200, 0x3000, 0x200)
    data[0x800 + 0x100 : 0x800 + 0x104] = b"text"
    struct.pack_into("<I", data, 0x800 + 12, 0x3100)
    struct.pack_into("<IIII", data, 0x80 + 24 + 112, rva, size, 0, 0)
    found = read_pe(ByteView.of(bytes(data)), Budget())
    assert found is not None
    assert (found.own_name or "") == name


@pytest.mark.parametrize("last", [0, 1])
def test_a_text_of_a_windows_image_ends_with_its_section_at_most(last: int) -> None:
    data = bytearray(image()[:0x800] + bytes(0x200))
    row = data.index(b".rdata\0\0")
    struct.pack_into("<III", data, row + 8, 0x200, 0x3000, 0x200)
    struct.pack_into("<I", data, 0x800 + 12, 0x3000 + 0x1FF + last)
    data[0x9FF:] = b"x"
    struct.pack_into("<II", data, 0x80 + 24 + 112, 0x3000, 40)
    found = read_pe(ByteView.of(bytes(data)), Budget())
    assert found is not None
    assert found.own_name == ("x" if not last else None)


@pytest.mark.parametrize("many", [2, 3])
@pytest.mark.parametrize(("larger", "found"), [(1.4, []), (1.5, []), (1.6, [0])])
def test_a_cubin_is_hollow_beside_one_that_is_half_as_large_again(
    larger: float, found: list[int], many: int
) -> None:
    """Whose kernels only return; of a module of very many nobody asks."""
    whole = EntrySpec(
        KINDS["sass"], CUBIN.ljust(int(larger * len(CUBIN)), b"\0"), compression="zstd"
    )
    returns = EntrySpec(KINDS["sass"], hollow(CUBIN), sm=75)
    data = region([entry(returns), entry(whole)])
    (module,) = stored_in_file(ByteView.of(data), Location("x"), ScanSettings())
    assert isinstance(module, StoredModule)
    with mock.patch.object(describe, "MANY", many):
        assert describe.hollow_cubins(module.images, [0, 1]) == (found if many > 2 else [])
        assert describe.hollow_cubins(module.images, [1]) == []


@pytest.mark.parametrize("remembered", [1, 2])
@pytest.mark.parametrize("larger", [0, 1])
def test_a_small_cubin_is_read_once_as_long_as_it_is_remembered(
    remembered: int, larger: int
) -> None:
    """A linker repeats it, compressed; others may lie between."""
    specs = [replace(OF_80, compression="zstd", options=text) for text in ("-g", "")] * 2
    (stored,) = struct.unpack_from("<I", entry(specs[0]), PLACES["compressed"][0])
    with (
        mock.patch.object(describe, "_REPEATED", stored - larger),
        mock.patch.object(describe, "_MOST_REMEMBERED", remembered),
        mock.patch.object(describe, "_known", {}),
        mock.patch.object(describe, "_read_sass", wraps=describe._read_sass) as read,  # noqa: SLF001
    ):
        (module, *_) = _records(region([entry(spec) for spec in specs]))
    assert len({image.kernel_set for image in module.images}) == 1
    assert read.call_count == (2 if remembered == 2 and not larger else 4)


@pytest.mark.parametrize("more", range(9))
def test_an_archive_is_a_series_of_blocks(more: int) -> None:
    """Of 4 bytes in an RPM, of 512 in a tar; zeros fill it up."""
    found = told(rpm_of(("./a", FATBIN, 0o100644), behind=bytes(more)))
    assert ("it ends in the middle of a block; is it complete?" in found) == (more % 4 > 0)
    found = told(tar_of(("a", FATBIN)) + bytes(128 * more))
    assert ("it ends in the middle of a block; is it complete?" in found) == (more % 4 > 0)


@pytest.mark.parametrize(
    ("data", "kept"),
    [
        (zip_of(("a", b"b")), True),
        (elf([Part(".text", b"x" * 16)]), True),
        (FATBIN, True),
        (PTX, True),
        (CUBIN, True),
        (b"", False),
        (b"\1\2\3\4", False),
        (b"text", False),
        (elf([Part(".text", b"x" * 16)])[:20], False),
    ],
    ids=["zip", "library", "fatbin", "ptx", "cubin", "nothing", "bytes", "text", "cut library"],
)
def test_device_code_may_lie_in_what_bears_its_name(data: bytes, *, kept: bool) -> None:
    """A whole library or archive serves, too."""
    for name in ("x.cubin", "x.fatbin", "x.ltoir", "X.PTX"):
        broken = broken_promise(name, ByteView.of(data), Budget(), typed=True)
        assert (broken is None) == kept, name


@pytest.mark.parametrize("release", ["12.4", "13.5"])
def test_a_cubin_says_for_which_virtual_architecture_it_was_written(release: str) -> None:
    """In its header, or since CUDA 13 in a note."""
    (module, *_) = _records(CUBINS[f"ptxas-{release}-sm_90-of-compute_75"])
    (image,) = module.images
    assert (str(image.arch), str(image.virtual_arch)) == ("sm_90", "compute_75")


def test_folders_of_the_loader_are_those_of_its_settings() -> None:
    kept = NamesOfTable(100)
    found = folders_searched("etc/ld.so.conf.d/x.conf", ByteView.of(b"/opt/lib\n/usr//x\n"), kept)
    assert (found, kept.kept) == (["/opt/lib", "/usr/x"], len("/opt/lib/usr/x"))
    assert folders_searched("etc/x.conf.bak", ByteView.of(b"/opt/lib\n"), kept) == []


@given(st.lists(st.sampled_from([b"a", b"b", b"ab"]), max_size=12).map(b"".join))
def test_what_stands_across_two_windows_is_found(data: bytes) -> None:
    with mock.patch.object(byteview, "_WINDOW", 4):
        for needle in (b"aab", b"ba", b"a"):  # none lies upon itself
            places = [at for at in range(len(data)) if data.startswith(needle, at)]
            assert byteview.contains(needle, data) == bool(places)
            assert [*byteview.offsets([needle], data)] == places


class Late(Budget):
    """Has time for a number of looks at the clock."""

    left: int = 1 << 30

    def check_time(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise LimitExceeded("seconds", "no time is left")


@pytest.mark.parametrize("read", range(4))
def test_images_for_which_no_time_is_left_are_told_together(read: int) -> None:
    """The last one by its own place."""
    data = region([entry(EntrySpec(KINDS["ptx"], PTX))] * 3)
    clock = Late()
    (stored,) = FatbinWalk(ByteView.of(data), Location("x"), None, clock)
    assert isinstance(stored, StoredModule)
    clock.left = read
    module, skipped = describe.describe_module(stored, describe.ReadOptions())
    assert [bool(image.problems) for image in module.images] == [at >= read for at in range(3)]
    told_of = [(each.place, each.reason) for each in skipped]
    expected = {
        3: [],
        2: [(module.images[2].place, "no time is left")],
    }.get(read, [(module.place, f"{3 - read} of its 3 images are not read: no time is left")])
    assert told_of == expected
    assert sum(each.size or 0 for each in skipped) == sum(
        image.stored_size or 0 for image in module.images[read:]
    )


def test_files_of_one_version_are_no_variants() -> None:
    files = [("x", "libx_cu12.so"), ("x", "libx_cu13.so"), ("x", "liby_cu12.so")]
    assert named_variants(files[:1], ["*"]) == named_variants(files[::2], ["*"]) == ()
    assert [each.version for each in named_variants(files, ["*"])] == ["12", "13"]


def test_an_elf_file_may_be_its_header_alone() -> None:
    head = bytearray(elf([Part(".text", b"x" * 16)], ET_EXEC)[:64])
    head[32:48] = bytes(16)  # where its tables are
    host = read_host(ByteView.of(bytes(head)), Budget())
    assert host is not None
    assert "its header names neither sections nor segments" in host.problems
    assert read_host(ByteView.of(bytes(head[:63])), Budget()) is None


def test_loaders_read_the_dynamic_section_that_the_segment_is() -> None:
    strings = b"\0liba.so\0libb.so\0"
    parts = [
        Part(".dynstr", strings, STRTAB),
        Part(".other", bytes(16 * 4), 6),
        Part(".dynamic", bytes(16 * 4), 6),
    ]
    place = BASE + offsets(parts)[".dynstr"]
    for part, name in zip(parts[1:], (b"libb", b"liba"), strict=True):
        found = {DT_NEEDED: strings.index(name), DT_STRTAB: place, DT_STRSZ: len(strings)}
        part.data = tags(found)
    host = read_elf(ByteView.of(elf(parts, dynamic=".dynamic")), Budget())
    assert host is not None
    assert [each.file for each in host.needed()] == ["liba.so"]
