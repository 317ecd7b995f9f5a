"""Tricks in packages are bounded, reported, and never reach the file system.

Each test says what Python's own zipfile or tarfile does with the same bytes.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import random
import re
import stat
import struct
import subprocess
import sys
import tarfile
import tempfile
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import zstandard
from package_writer import (
    COMPRESSORS,
    ENCRYPTED,
    TAR_END,
    UTF8,
    Raw,
    conda_of,
    deflate,
    pax,
    raw_zip,
    tar_header,
    tar_member,
    tar_of,
    zip_of,
    zstd,
)
from quines import gzip_quine, tar_gz_quine, zip_quine
from reading import records_of
from samples import FOLDER

import ltocompat
from ltocompat import Artifact, Limits, Location, Module, Skipped
from ltocompat.model.image import Record
from ltocompat.model.limits import DEFAULT_LIMITS, MIB

FATBIN = (FOLDER / "fatbin" / "nvfatbin-13.5-default.fatbin").read_bytes()
GOOD = Raw(b"good.fatbin", FATBIN)
GOOD_IN_TAR = tar_member(b"good.fatbin", FATBIN)

Read = Callable[..., "Found"]


class Found:
    """What was found in a package: its modules by name, and its reports."""

    def __init__(self, records: list[Record]) -> None:
        self.modules = [str(r.place).split("::", 1)[-1] for r in records if isinstance(r, Module)]
        self.names = [r.place.members[-1] for r in records if isinstance(r, Module)]
        self.skipped = [r for r in records if isinstance(r, Skipped)]

    @property
    def reasons(self) -> list[str]:
        return [skipped.reason for skipped in self.skipped]

    @property
    def limits(self) -> list[str | None]:
        return [skipped.limit for skipped in self.skipped]


@pytest.fixture
def read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Read]:
    """Inspects and extracts bytes as a file in a folder where afterwards nothing else may lie."""
    home, out = tmp_path / "a" / "b" / "home", tmp_path / "a" / "b" / "out"
    home.mkdir(parents=True)
    out.mkdir()
    monkeypatch.chdir(home)
    monkeypatch.setattr(tempfile, "tempdir", str(home))

    def inspect(data: bytes, limits: Limits = DEFAULT_LIMITS) -> Found:
        path = home / "package"
        path.write_bytes(data)
        records = list(ltocompat.inspect(path, limits=limits))
        list(ltocompat.extract(path, output=out, limits=limits))
        for skipped in (r for r in records if isinstance(r, Skipped)):
            assert len(skipped.reason.splitlines()) == 1
        return Found(records)

    yield inspect
    there = {path.relative_to(tmp_path) for path in tmp_path.rglob("*") if not path.is_dir()}
    base = Path("a", "b")
    assert {path.parent for path in there} <= {base / "home", base / "out"}
    assert os.listdir(home) == ["package"]
    assert not any(path.is_symlink() for path in tmp_path.rglob("*"))


def python_zip(data: bytes) -> zipfile.ZipFile:
    return zipfile.ZipFile(io.BytesIO(data))


def python_tar(data: bytes) -> tarfile.TarFile:
    return tarfile.open(fileobj=io.BytesIO(data))


def unpacked_to(archive: zipfile.ZipFile, name: str, folder: Path) -> str:
    """Where zipfile puts a member, below ``folder``."""
    return os.path.relpath(archive.extract(name, folder / "python"), folder / "python")


# Names


def test_zip_members_of_one_name_are_all_read(read: Read) -> None:
    other = FATBIN + b"\0" * 8
    data = raw_zip(GOOD, Raw(b"good.fatbin", other))
    assert python_zip(data).read("good.fatbin") == other  # zipfile gives the last, says nothing
    found = read(data)
    assert found.names == ["good.fatbin", "good.fatbin,2"]
    assert found.reasons == [
        "an earlier member also has the name 'good.fatbin'; unpacking keeps the last"
    ]


def test_the_name_of_a_second_member_does_not_hide_a_third(read: Read) -> None:
    data = raw_zip(GOOD, Raw(b"good.fatbin,2", FATBIN), GOOD, GOOD, Raw(b"./good.fatbin", FATBIN))
    assert len(python_zip(data).namelist()) == 5
    found = read(data)
    assert len(set(found.modules)) == 5
    assert len(found.reasons) == 3


def test_tar_members_of_one_name_are_all_read(read: Read) -> None:
    data = GOOD_IN_TAR * 2 + TAR_END
    assert python_tar(data).getnames() == ["good.fatbin"] * 2  # tarfile unpacks both, over another
    found = read(data)
    assert found.names == ["good.fatbin", "good.fatbin,2"]
    assert len(found.reasons) == 1


@pytest.mark.parametrize(
    ("name", "python"),
    [
        ("/etc/evil", "etc/evil"),
        ("../../evil", "evil"),
        ("x/../../../evil", "x/evil"),
        ("..\\evil", "..\\evil"),
        ("C:\\evil", "C:\\evil"),
    ],
)
def test_zip_names_that_lead_out_are_read_and_said(
    read: Read, tmp_path_factory: pytest.TempPathFactory, name: str, python: str
) -> None:
    data = raw_zip(Raw(name.encode(), FATBIN))
    folder = tmp_path_factory.mktemp("zipfile")
    # zipfile puts them somewhere else in silence.
    assert unpacked_to(python_zip(data), name, folder) == python
    found = read(data)
    assert found.names == [name]
    assert found.reasons == ["its name leads out of the folder into which it is unpacked"]


@pytest.mark.parametrize("name", ["/etc/evil", "../../evil"])
def test_tar_names_that_lead_out_are_read_and_said(read: Read, name: str) -> None:
    data = tar_member(name.encode(), FATBIN) + TAR_END
    # tarfile writes them outside, or refuses the whole archive where a filter is asked for.
    assert python_tar(data).getnames() == [name]
    found = read(data)
    assert found.names == [name]
    assert found.reasons == ["its name leads out of the folder into which it is unpacked"]


def test_a_nul_in_a_zip_name_is_said(read: Read) -> None:
    data = raw_zip(Raw(b"evil.fatbin\0.txt", FATBIN))
    assert python_zip(data).namelist() == ["evil.fatbin"]  # zipfile ends the name there
    found = read(data)
    assert found.names == ["evil.fatbin\0.txt"]
    assert found.modules == ["evil.fatbin%00.txt@0x0"]
    assert "NUL byte" in found.reasons[0]


def test_names_can_not_break_lines_or_places(read: Read) -> None:
    name = "a\nb::c@0x10.1 \x1b[31m$(x)"
    data = raw_zip(Raw(name.encode(), FATBIN))
    assert python_zip(data).namelist() == [name]  # zipfile hands it out as it is
    found = read(data)
    assert found.names == [name]
    (shown,) = found.modules
    assert shown.isprintable()
    assert Location.parse(f"x::{shown}").members == (name,)


def test_names_that_are_no_utf8_are_kept(read: Read) -> None:
    data = raw_zip(Raw(b"\xff\xfe.fatbin", FATBIN, flags=UTF8), GOOD)
    with pytest.raises(UnicodeDecodeError):  # zipfile can't open the archive at all
        python_zip(data)
    found = read(data)
    assert found.modules == ["%FF%FE.fatbin@0x0", "good.fatbin@0x0"]
    assert found.skipped == []


def test_a_name_without_end_is_cut(read: Read) -> None:
    name = b"x" * 60_000
    data = raw_zip(Raw(name, FATBIN), Raw(name, FATBIN))
    assert len(python_zip(data).namelist()[0]) == 60_000  # extracting fails: File name too long
    found = read(data)
    assert {len(text) for text in found.names} == {103, 105}
    assert "longer than any system accepts" in found.reasons[0]


def test_a_folder_with_content_is_said(read: Read) -> None:
    data = raw_zip(Raw(b"folder/", FATBIN))
    assert python_zip(data).infolist()[0].is_dir()  # zipfile makes a folder and drops the bytes
    found = read(data)
    assert found.names == ["folder/"]
    assert "its name is a folder's name" in found.reasons[0]


# Bytes that are not where or what they should be


def test_zip_members_that_share_a_header_are_read_once(read: Read) -> None:
    size = len(deflate(FATBIN))
    second = Raw(b"good.fatbin", FATBIN, header=0, packed=size)
    data = raw_zip(GOOD, second, second)
    # Older zipfiles give it each time; newer ones refuse: "Overlapped entries".
    assert len(python_zip(data).namelist()) == 3
    found = read(data)
    assert found.names == ["good.fatbin"]
    assert sum("shares the header" in reason for reason in found.reasons) == 2


def test_zip_members_that_overlap_are_not_read(read: Read) -> None:
    """The bomb of 2019: each member runs on over all that follow."""
    inner = Raw(b"inner.fatbin", FATBIN, 0)
    whole = raw_zip(inner)[: 30 + len(inner.name) + len(FATBIN)]
    outer = Raw(b"outer", whole, 0, stored=b"", packed=len(whole))
    data = raw_zip(outer, inner)
    assert python_zip(data).namelist() == ["outer", "inner.fatbin"]
    found = read(data)
    assert found.names == ["inner.fatbin"]
    assert "overlap the next header, at" in found.reasons[0]


@pytest.mark.parametrize("method", [0, 8])
def test_a_wrong_crc_is_said_and_not_read(read: Read, method: int) -> None:
    data = raw_zip(Raw(b"evil.fatbin", FATBIN, method, crc=1), GOOD)
    with pytest.raises(zipfile.BadZipFile, match="Bad CRC-32"):
        python_zip(data).read("evil.fatbin")
    found = read(data)
    assert found.names == ["good.fatbin"]
    assert "the archive says 00000001" in found.reasons[0]


def test_a_size_that_is_too_small_is_said(read: Read) -> None:
    import zlib

    start = FATBIN[:1000]
    member = Raw(b"evil", FATBIN + bytes(MIB), unpacked=1000, crc=zlib.crc32(start))
    data = raw_zip(member)
    assert python_zip(data).read("evil") == start  # zipfile drops the rest in silence
    assert "it says 1000 bytes, but unpacks to more" in " ".join(read(data).reasons)


def test_a_size_that_is_too_large_is_said(read: Read) -> None:
    data = raw_zip(Raw(b"evil", FATBIN, unpacked=1 << 30))
    assert python_zip(data).read("evil") == FATBIN  # zipfile takes it in silence
    found = read(data, Limits(unpacked_ratio=1 << 40))
    assert found.names == ["evil"]
    assert found.reasons == [f"it unpacks to {len(FATBIN)} bytes, but says 1073741824 bytes"]


def test_a_stored_member_of_two_sizes_is_not_read(read: Read) -> None:
    data = raw_zip(Raw(b"evil", FATBIN, 0, unpacked=len(FATBIN) + 1), GOOD)
    assert python_zip(data).read("evil") == FATBIN
    found = read(data)
    assert found.names == ["good.fatbin"]
    assert found.reasons[0].startswith("it is stored, but has sizes")


def test_bytes_behind_deflated_data_are_said(read: Read) -> None:
    data = raw_zip(Raw(b"evil", FATBIN, stored=deflate(FATBIN) + FATBIN))
    assert python_zip(data).read("evil") == FATBIN  # zipfile passes over them in silence
    assert read(data).reasons == [f"{len(FATBIN)} bytes after its compressed data are not read"]


@pytest.mark.parametrize("method", [8, 12, 14, 93])
def test_compressed_data_that_is_none_is_not_read(read: Read, method: int) -> None:
    data = raw_zip(Raw(b"evil", FATBIN, method, stored=b"\xff\x07" + FATBIN), GOOD)
    with pytest.raises(Exception):  # noqa: B017, PT011 - zlib.error, OSError, LZMAError, NotImplementedError
        python_zip(data).read("evil")
    found = read(data)
    assert found.names == ["good.fatbin"]
    assert len(found.reasons) == 1


def test_deflated_data_that_ends_early_is_not_read(read: Read) -> None:
    data = raw_zip(Raw(b"evil", FATBIN, stored=deflate(FATBIN)[:-20]), GOOD)
    with pytest.raises((EOFError, zipfile.BadZipFile)):
        python_zip(data).read("evil")
    found = read(data)
    assert found.names == ["good.fatbin"]
    assert "ends early" in found.reasons[0]


def test_two_names_of_one_member_are_said(read: Read) -> None:
    data = raw_zip(Raw(b"good.fatbin", FATBIN, local_name=b"evil.fatbin"))
    with pytest.raises(zipfile.BadZipFile, match="differ"):
        python_zip(data).read("good.fatbin")
    found = read(data)
    assert found.names == ["good.fatbin"]
    assert found.reasons == [
        "its local header names it 'evil.fatbin'; the directory's name is used"
    ]


def test_two_methods_of_one_member_are_said(read: Read) -> None:
    data = raw_zip(Raw(b"good.fatbin", FATBIN, local_method=0))
    assert python_zip(data).read("good.fatbin") == FATBIN  # zipfile follows the directory
    found = read(data)
    assert found.names == ["good.fatbin"]
    assert found.reasons == ["its local header says method 0; the directory says 8 and counts"]


def test_a_size_that_stands_before_a_descriptor_is_no_contradiction(read: Read) -> None:
    made = io.BytesIO()
    info = zipfile.ZipInfo("good.fatbin")
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(info, FATBIN)
    data = bytearray(made.getvalue())
    central = data.rindex(b"PK\1\2")
    data[6] |= 8  # a descriptor follows
    data[central + 8] |= 8
    data[14:22] = bytes(8)  # CRC and packed size; the unpacked one stays, as macOS writes it
    assert python_zip(bytes(data)).read("good.fatbin") == FATBIN
    found = read(bytes(data))
    assert (found.names, found.reasons) == (["good.fatbin"], [])


def test_a_member_that_the_directory_leaves_out_is_said(read: Read) -> None:
    data = raw_zip(GOOD, Raw(b"hidden", FATBIN, local_only=True))
    assert python_zip(data).namelist() == ["good.fatbin"]  # only readers of streams see it
    found = read(data)
    assert found.names == ["good.fatbin"]
    assert "bytes of the archive belong to no member" in found.reasons[0]
    assert found.skipped[0].place.offset is not None


@pytest.mark.parametrize("where", ["front", "behind"])
def test_garbage_around_a_zip_is_said(read: Read, where: str) -> None:
    garbage = b"garbage" * 100
    data = raw_zip(GOOD)
    data = garbage + data if where == "front" else data + garbage
    assert python_zip(data).read("good.fatbin") == FATBIN  # zipfile passes over it in silence
    found = read(data)
    assert found.names == ["good.fatbin"]
    assert found.reasons == ["700 bytes of the archive belong to no member"]


def test_a_zip_without_its_end_is_said(read: Read) -> None:
    data = raw_zip(GOOD)[:-30]
    with pytest.raises(zipfile.BadZipFile):
        python_zip(data)
    found = read(data)
    assert found.names == []
    assert "is the archive complete?" in found.reasons[0]


def test_a_directory_outside_of_the_file_is_said(read: Read) -> None:
    data = raw_zip(GOOD, end=lambda e: [*e[:4], e[4] + (1 << 30), *e[5:]])
    with pytest.raises((zipfile.BadZipFile, ValueError)):
        python_zip(data)
    assert "does not fit before its end record" in read(data).reasons[0]


def test_a_directory_of_garbage_is_said(read: Read) -> None:
    data = raw_zip(GOOD).replace(b"PK\1\2", b"PK\1\3")
    with pytest.raises(zipfile.BadZipFile):
        python_zip(data)
    assert "no directory record" in read(data).reasons[0]


def test_a_wrong_number_of_members_is_said(read: Read) -> None:
    data = raw_zip(GOOD, end=lambda e: [0, 0, 7, 7, *e[4:]])
    assert python_zip(data).namelist() == ["good.fatbin"]  # zipfile never looks at the number
    found = read(data)
    assert found.names == ["good.fatbin"]
    assert found.reasons == ["its end record says 7 members, not 1"]


def test_an_end_of_64_bits_that_disagrees_is_said(
    read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Newer zipfiles refuse a record of another size than it says, or one that lies elsewhere."""
    monkeypatch.setattr(zipfile, "ZIP_FILECOUNT_LIMIT", 0)  # from which on there are 64 bits
    sound = zip_of(("good.fatbin", FATBIN))
    end, locator = sound.index(b"PK\6\6"), sound.index(b"PK\6\7")
    for whole in (sound, b"#!/bin/sh\n" + sound):
        assert not [reason for reason in read(whole).reasons if "64-bit" in reason]
        assert read(whole).names == ["good.fatbin"]
    for at in (end + 4, locator + 8, end + 40, end + 48):
        data = sound[:at] + bytes([sound[at] ^ 1]) + sound[at + 1 :]
        assert any("64-bit end record" in reason for reason in read(data).reasons), at


def test_an_archive_on_several_disks_is_said(read: Read) -> None:
    data = raw_zip(GOOD, end=lambda e: [2, 2, *e[2:]])
    assert python_zip(data).namelist() == ["good.fatbin"]  # zipfile never looks
    assert "one of several disks" in read(data).reasons[0]


def test_an_empty_zip_is_nothing_special(read: Read) -> None:
    data = raw_zip()
    assert python_zip(data).namelist() == []
    assert read(data).skipped == []


def test_an_encrypted_member_is_said(read: Read) -> None:
    data = raw_zip(Raw(b"secret", FATBIN, flags=ENCRYPTED), GOOD)
    with pytest.raises(RuntimeError, match="encrypted"):
        python_zip(data).read("secret")
    found = read(data)
    assert found.names == ["good.fatbin"]
    assert found.reasons == ["it is encrypted"]


def test_an_unknown_method_is_said(read: Read) -> None:
    data = raw_zip(Raw(b"strange", FATBIN, 97), GOOD)
    with pytest.raises(NotImplementedError):
        python_zip(data).read("strange")
    found = read(data)
    assert found.names == ["good.fatbin"]
    assert found.reasons == ["its compression method 97 is not supported"]


# Links and other things that are no files


def test_a_link_in_a_zip_that_leads_out_is_said(read: Read) -> None:
    data = raw_zip(Raw(b"evil", b"../../etc/passwd", mode=stat.S_IFLNK | 0o777), GOOD)
    assert python_zip(data).read("evil") == b"../../etc/passwd"  # a plain file to zipfile
    found = read(data)
    assert found.names == ["good.fatbin"]
    assert found.reasons == ["it is a link that leads out of the package, to '../../etc/passwd'"]


@pytest.mark.parametrize("kind", [b"1", b"2"], ids=["hard", "symbolic"])
def test_links_in_a_tar_that_lead_out_are_said(read: Read, kind: bytes) -> None:
    link = tar_header(b"x/evil", 0, kind, b"../../../package")
    data = link + tar_member(b"x/evil/y", FATBIN) + GOOD_IN_TAR + TAR_END
    # tarfile makes the link, then writes through it, unless a filter is asked for.
    assert python_tar(data).getnames() == ["x/evil", "x/evil/y", "good.fatbin"]
    found = read(data)
    assert found.names == ["x/evil/y", "good.fatbin"]
    assert "leads out of the package, to '../../../package'" in found.reasons[0]


def test_a_link_to_nothing_is_said(read: Read) -> None:
    data = tar_header(b"x/evil", 0, b"1", b"x/nothing") + GOOD_IN_TAR + TAR_END
    archive = python_tar(data)
    with pytest.raises(KeyError):
        archive.extractfile("x/evil")
    found = read(data)
    assert found.names == ["good.fatbin"]
    assert found.reasons == ["it is a link to 'x/nothing', which is not in the package"]


@pytest.mark.parametrize("kind", [b"3", b"4", b"6"])
def test_devices_and_pipes_are_said(read: Read, kind: bytes) -> None:
    data = tar_header(b"evil", 0, kind) + GOOD_IN_TAR + TAR_END
    assert python_tar(data).getnames() == ["evil", "good.fatbin"]  # tarfile would make them
    found = read(data)
    assert found.names == ["good.fatbin"]
    assert len(found.reasons) == 1


def test_a_link_that_says_a_size_is_said(read: Read) -> None:
    data = tar_header(b"evil", 512, b"2", b"good.fatbin") + GOOD_IN_TAR + TAR_END
    assert python_tar(data).getnames() == ["evil", "good.fatbin"]  # tarfile too expects no data
    found = read(data)
    assert found.names == ["good.fatbin"]
    assert "says that it has 512 bytes" in found.reasons[0]


def test_a_type_that_nobody_knows_is_a_file(read: Read) -> None:
    data = tar_member(b"good.fatbin", FATBIN, b"Z") + TAR_END
    file = python_tar(data).extractfile("good.fatbin")
    assert file is not None
    assert file.read() == FATBIN  # as POSIX says
    assert read(data).names == ["good.fatbin"]


def test_sparse_files_are_said(read: Read) -> None:
    header = bytearray(tar_header(b"evil", 512, b"S"))
    header[257:265] = b"ustar  \0"
    header[386:398], header[398:410] = b"%011o\0" % 0, b"%011o\0" % 512
    header[483:495] = b"%011o\0" % (4 << 30)
    header[482] = 1  # another block with a list of zeros follows
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    old = bytes(header) + bytes(1024)
    new = pax([("GNU.sparse.major", "1"), ("GNU.sparse.minor", "0"), ("GNU.sparse.name", "new")])
    new += pax([]) + tar_member(b"x", b"0\n".ljust(512, b"\0"))
    data = old + new + GOOD_IN_TAR + TAR_END
    assert python_tar(old + TAR_END).getmember("evil").size == 4 << 30  # tarfile would write 4 GiB
    found = read(data)
    assert found.names == ["good.fatbin"]
    assert [skipped.place.members for skipped in found.skipped] == [("evil",), ("new",)]


# Tar headers


def test_a_pax_size_beyond_the_file_is_said(read: Read) -> None:
    data = GOOD_IN_TAR + pax([("size", str(1 << 60))]) + tar_member(b"evil", FATBIN) + TAR_END
    with pytest.raises(tarfile.ReadError):
        python_tar(data).getnames()
    found = read(data)
    assert found.names == ["good.fatbin"]
    assert found.reasons[0].startswith(f"its header says {1 << 60} bytes, but")


def test_a_pax_size_that_is_no_number_is_said(read: Read) -> None:
    data = GOOD_IN_TAR + pax([("size", "-1")]) + tar_member(b"evil", FATBIN) + TAR_END
    found = read(data)  # tarfile steps back and reads the same header again, until it gives up
    assert found.names == ["good.fatbin"]
    assert "a size that is not a number: '-1'" in found.reasons[0]


def test_a_pax_path_replaces_the_name(read: Read) -> None:
    data = pax([("path", "../../evil")]) + GOOD_IN_TAR + TAR_END
    assert python_tar(data).getnames() == ["../../evil"]
    found = read(data)
    assert found.names == ["../../evil"]
    assert found.reasons == ["its name leads out of the folder into which it is unpacked"]


def test_folders_that_lead_out_are_said(read: Read) -> None:
    data = tar_header(b"../../evil/", 0, b"5") + GOOD_IN_TAR + TAR_END
    assert python_tar(data).getnames() == ["../../evil", "good.fatbin"]  # tarfile would make it
    assert read(data).reasons == ["its name leads out of the folder into which it is unpacked"]
    data = raw_zip(Raw(b"../../evil/", b"", 0), GOOD)
    assert python_zip(data).namelist() == ["../../evil/", "good.fatbin"]
    assert read(data).reasons == ["its name leads out of the folder into which it is unpacked"]


def test_a_pax_header_without_end_is_not_read(read: Read) -> None:
    data = pax([("comment", "x" * (8 * MIB))]) + GOOD_IN_TAR + TAR_END
    assert "comment" in python_tar(data).getmembers()[0].pax_headers  # tarfile reads it at once
    found = read(data)
    assert found.names == ["good.fatbin"]
    assert found.limits == ["text_bytes"]


def test_a_broken_pax_header_is_said(read: Read) -> None:
    data = tar_member(b"pax", b"99 path=evil\n", b"x") + GOOD_IN_TAR + TAR_END
    found = read(data)  # tarfile ends in "invalid header", or ignores it, by version
    assert found.names == ["good.fatbin"]
    assert "a pax header is broken at byte 0" in found.reasons[0]


def test_a_pax_record_of_a_wrong_length_ends_at_once_in_one_sentence(tmp_path: Path) -> None:
    """Right are ``9 path=x`` and ``10 path=x``, with a newline; every other length is wrong."""
    broken = [b"%d path=x\n" % length for length in (*range(9), 11, 99, 10**19, 10**30)]
    # The length is right, and what it covers is not a record; or it ends within the second one.
    broken += [b"0 \n", b"3 \n", b"8 pathx\n", b"5 =x\n", b"8 path=x9", b"00 path=x\n"]
    broken += [b"12 path=x\n9 path=y\n", b"-9 path=x\n", b" 9 path=x\n"]
    for index, record in enumerate(broken):
        tar = tar_member(b"pax", record, b"x") + GOOD_IN_TAR + TAR_END
        (tmp_path / f"{index:02}.tar").write_bytes(tar)
    right = tar_member(b"pax", b"9 path=x\n10 path=y\n", b"x") + GOOD_IN_TAR + TAR_END
    (tmp_path / "right.tar").write_bytes(right)
    # A child, so that a reader that never ends is a failure and not a test run that never ends.
    command = [sys.executable, "-m", "ltocompat", "inspect", "--format", "json", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, check=False, text=True, timeout=20)
    assert done.returncode == 3  # something could not be read
    *refused, good = json.loads(done.stdout)["artifacts"]
    for index, (record, artifact) in enumerate(zip(broken, refused, strict=True)):
        assert Path(artifact["path"]).name == f"{index:02}.tar"
        (skipped,) = artifact["skipped"]
        assert f"a pax header is broken at byte 0, in the record {record!r}" in skipped["reason"]
        assert artifact["modules"][0]["place"].endswith("::good.fatbin@0x0")
    assert good["skipped"] == []
    assert good["modules"][0]["place"].endswith("::y@0x0")


def test_a_long_name_of_gnu_may_lead_out(read: Read) -> None:
    name = b"../" * 100 + b"evil"
    data = tar_member(b"././@LongLink", name + b"\0", b"L") + GOOD_IN_TAR + TAR_END
    assert python_tar(data).getnames() == [name.decode()]
    found = read(data)
    assert found.names == [name.decode()]
    assert len(found.reasons) == 1


@pytest.mark.parametrize(
    "number", [b"\xff" + b"\xff" * 11, b"\x80" + b"\x7f" * 11, b"99999999999\0"]
)
def test_sizes_that_are_impossible_end_the_archive(read: Read, number: bytes) -> None:
    data = GOOD_IN_TAR + tar_header(b"evil", number) + TAR_END
    found = read(data)  # tarfile: "invalid header", an endless step back, or an overflow
    assert found.names == ["good.fatbin"]
    assert any("can't be read" in reason for reason in found.reasons)


def test_a_broken_header_ends_the_archive(read: Read) -> None:
    evil = bytearray(tar_member(b"evil", b""))
    evil[0] ^= 1
    data = GOOD_IN_TAR + bytes(evil) + GOOD_IN_TAR + TAR_END
    assert python_tar(data).getnames() == ["good.fatbin"]  # tarfile takes it for the end
    found = read(data)
    assert found.names == ["good.fatbin"]
    assert "the checksum of a member header is wrong" in found.reasons[0]


def test_an_archive_behind_the_end_of_an_archive_is_said(read: Read) -> None:
    data = GOOD_IN_TAR + TAR_END + tar_member(b"hidden", FATBIN) + TAR_END
    assert python_tar(data).getnames() == ["good.fatbin"]  # tarfile stops in silence
    found = read(data)
    assert found.names == ["good.fatbin"]
    assert "after the end of the archive are not read" in found.reasons[0]


@pytest.mark.parametrize("suffix", COMPRESSORS)
def test_a_tar_that_is_cut_off_is_said(read: Read, suffix: str) -> None:
    noise = random.Random(1).randbytes(100_000)  # noqa: S311 - not for secrets
    whole = COMPRESSORS[suffix](GOOD_IN_TAR + tar_member(b"noise", noise) + TAR_END)
    data = whole[: -len(noise) // 2]
    if suffix != ".zst":  # which Python 3.11 can't read
        with pytest.raises((tarfile.ReadError, EOFError)):
            python_tar(data).extractfile("noise").read()  # type: ignore[union-attr]
    found = read(data)
    assert found.names in ([], ["good.fatbin"])  # a block of bzip2 comes whole or not at all
    assert found.reasons


@pytest.mark.parametrize("suffix", COMPRESSORS)
def test_garbage_behind_a_tar_is_said(read: Read, suffix: str) -> None:
    data = COMPRESSORS[suffix](GOOD_IN_TAR + TAR_END) + b"garbage"
    if suffix != ".zst":
        assert python_tar(data).getnames() == ["good.fatbin"]  # in silence
    found = read(data)
    assert found.names == ["good.fatbin"]
    assert len(found.reasons) == 1


def test_a_wrong_checksum_of_gzip_is_said(read: Read) -> None:
    noise = random.Random(1).randbytes(MIB)  # noqa: S311 - not for secrets
    data = bytearray(gzip.compress(GOOD_IN_TAR + TAR_END + noise))
    data[-8] ^= 1
    assert python_tar(bytes(data)).getnames() == ["good.fatbin"]  # tarfile stops before it
    found = read(bytes(data))
    assert found.names == ["good.fatbin"]
    assert "Incorrect checksum" in " ".join(found.reasons)


# Bombs

ZEROS = bytes(32 * MIB)
BOMBS: dict[str, Callable[[bytes], bytes]] = {
    "zip": lambda zeros: raw_zip(Raw(b"evil", zeros), GOOD),
    "zip, bzip2": lambda zeros: raw_zip(Raw(b"evil", zeros, 12, stored=bz2.compress(zeros)), GOOD),
    "zip, zstd": lambda zeros: raw_zip(Raw(b"evil", zeros, 93, stored=zstd(zeros)), GOOD),
    "tar.gz": lambda zeros: gzip.compress(in_tar(zeros)),
    "tar.bz2": lambda zeros: bz2.compress(in_tar(zeros)),
    "tar.xz": lambda zeros: lzma.compress(in_tar(zeros)),
    "tar.zst": lambda zeros: zstd(in_tar(zeros)),
    "gz": gzip.compress,
}


def in_tar(data: bytes) -> bytes:
    return tar_header(b"evil", len(data)) + data + TAR_END


QUICK_BOMBS = ("zip", "tar.xz", "gz")


@pytest.mark.parametrize(
    "form",
    [f if f in QUICK_BOMBS else pytest.param(f, marks=pytest.mark.slow) for f in BOMBS],
)
def test_a_bomb_hits_its_ratio(read: Read, form: str) -> None:
    """Python's zipfile and tarfile unpack all of it."""
    data = BOMBS[form](ZEROS)
    tracemalloc.start()
    found = read(data, Limits(unpacked_ratio=500))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert "unpacked_ratio" in found.limits
    assert found.names == (["good.fatbin"] if form.startswith("zip") else [])
    assert peak < 16 * MIB


def test_a_bomb_of_many_members_hits_the_total(read: Read) -> None:
    data = raw_zip(*(Raw(b"%d" % number, bytes(MIB)) for number in range(40)))
    assert sum(zip_info.file_size for zip_info in python_zip(data).infolist()) == 40 * MIB
    found = read(data, Limits(unpacked_bytes=10 * MIB))
    assert found.limits == ["unpacked_bytes"] * 30


def test_a_size_that_is_over_the_limit_is_not_even_begun(read: Read) -> None:
    wide = struct.pack("<2H2Q", 1, 16, 1 << 50, len(deflate(FATBIN)))
    evil = Raw(b"evil", FATBIN, unpacked=0xFFFFFFFF, packed=0xFFFFFFFF, extra=wide)
    data = raw_zip(evil, GOOD)
    assert python_zip(data).infolist()[0].file_size == 1 << 50
    found = read(data)
    assert found.names == ["good.fatbin"]
    assert "unpacked_ratio" in found.limits


def test_a_window_that_takes_all_memory_is_not_allocated(read: Read) -> None:
    parameters = zstandard.ZstdCompressionParameters(window_log=30, enable_ldm=True)
    compressor = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    wide = compressor.compress(GOOD_IN_TAR + TAR_END) + compressor.flush()
    assert zstandard.get_frame_parameters(wide).window_size == 1 << 30
    assert "window_bytes" in read(wide).limits


@pytest.mark.parametrize("form", ["xz", "zip"])
def test_a_dictionary_that_takes_all_memory_is_not_allocated(read: Read, form: str) -> None:
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 16 * MIB}]
    packed = lzma.compress(GOOD_IN_TAR + TAR_END, filters=filters)
    if form == "zip":  # zipfile allocates what the properties say
        head = b"\x09\x14\x05\x00\x5d" + struct.pack("<L", 16 * MIB)
        packed = raw_zip(Raw(b"evil", FATBIN, 14, stored=head + FATBIN))
    assert read(packed, Limits(window_bytes=8 * MIB)).limits == ["window_bytes"]


@pytest.mark.parametrize("quine", [zip_quine, gzip_quine, tar_gz_quine])
def test_an_archive_that_holds_itself_ends(read: Read, quine: Callable[[], bytes]) -> None:
    data = quine()
    whole = python_zip(data).read("r/r.zip") if data.startswith(b"PK") else gzip.decompress(data)
    assert data in whole
    found = read(data)
    assert found.names == []
    assert found.limits == ["depth"]


def test_tars_of_nothing_but_extended_headers_end(read: Read) -> None:
    data = pax([("path", "x")]) * 1000 + TAR_END
    assert read(data, Limits(members=100)).limits == ["members"]


@pytest.mark.parametrize("form", ["zip", "tar.gz"])
def test_time_for_packages_is_limited(read: Read, form: str) -> None:
    members = [("a.fatbin", FATBIN), ("b.fatbin", FATBIN)]
    data = zip_of(*members) if form == "zip" else gzip.compress(tar_of(*members))
    assert read(data, Limits(seconds=-1.0)).limits == ["seconds"]


def test_an_empty_tar_is_nothing_special(read: Read) -> None:
    assert python_tar(TAR_END).getnames() == []
    assert read(TAR_END).skipped == []
    assert read(gzip.compress(TAR_END)).skipped == []


# Anything

SMALL = {
    "zip": zip_of(("x.py", b"import os\n" * 30), ("a.fatbin", FATBIN)),
    "tar": tar_of(("x" * 150, b"import os\n" * 30), ("a.fatbin", FATBIN)),
    "tar, GNU": tar_of(("x" * 150, b"import os\n" * 30), ("a.fatbin", FATBIN), kind=1),
    "tar.gz": gzip.compress(tar_of(("a.fatbin", FATBIN))),
    "tar.bz2": bz2.compress(tar_of(("a.fatbin", FATBIN))),
    "tar.xz": lzma.compress(tar_of(("a.fatbin", FATBIN))),
    "conda": conda_of(("a.fatbin", FATBIN)),
}
STEPS = pytest.mark.parametrize("step", [6, pytest.param(1, marks=pytest.mark.slow)])
FORMS = pytest.mark.parametrize("form", SMALL)


def end(data: bytes) -> None:
    limits = Limits(unpacked_bytes=64 * MIB, total_bytes=64 * MIB)
    assert isinstance(records_of(data, limits=limits)[-1], Artifact)


@STEPS
@FORMS
def test_a_package_cut_anywhere_ends(form: str, step: int) -> None:
    data = SMALL[form]
    sizes = {*range(0, len(data), max(1, len(data) // 300)), *range(len(data) - 80, len(data))}
    for size in sorted(sizes)[::step]:
        end(data[:size])


@STEPS
@FORMS
def test_mutations_end(form: str, step: int) -> None:
    data = SMALL[form]
    numbers = random.Random(form)  # noqa: S311 - not for secrets
    for _ in range(300 // step):
        copy = bytearray(data)
        for _ in range(numbers.choice((1, 1, 2, 8))):
            # Directories lie at the end, headers at the beginning.
            edge = numbers.choice((0, len(copy) - 600, None))
            at = numbers.randrange(len(copy)) if edge is None else edge + numbers.randrange(600)
            copy[max(at, 0) % len(copy)] = numbers.choice((0, 1, 0x7F, 0xFF, 0x30, 0x37))
        end(bytes(copy))


@pytest.mark.parametrize("name", ["RECORD", "METADATA", "WHEEL", "direct_url.json"])
def test_pipes_among_the_metadata_of_a_package_are_not_waited_for(
    name: str, tmp_path: Path
) -> None:
    info = tmp_path / "x-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: x\nVersion: 1.0\n")
    (info / name).unlink(missing_ok=True)
    os.mkfifo(info / name)
    command = [sys.executable, "-m", "ltocompat", "audit", str(info)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode in (0, 1, 3)
    assert "internal error" not in done.stderr


# Rooms that read what others made; those of their files that open something by themselves, and why.
READING_ROOMS = ("files", "packages", "scan", "targets")
OPENED_ELSEWHERE = {
    "files/output.py": "what this process has just written, and its temporary folders",
    "scan/walk.py": "what is named may be a pipe, which is kept in a file first",
    "packages/requested.py": "a list that is named may be a pipe",
    "targets/linkers/machine.py": "an open descriptor",
    "targets/linkers/installing.py": "what pip wrote into a folder of ours",
    "targets/machine/driver_probe_child.py": "/proc",
    "targets/seal.py": "the user's own secret",
}
READS = re.compile(r'(?<![\w.])open\([^()]*(?:"rb"|encoding=)|os\.open\([^()]*os\.O_RDONLY')
WRITES = re.compile(r'"[wxa]b?"|"[rwa]\+b"')


def test_files_that_others_may_have_made_are_opened_in_one_place() -> None:
    package = Path(ltocompat.__file__).parent
    found = {
        path.relative_to(package).as_posix()
        for room in READING_ROOMS
        for path in (package / room).rglob("*.py")
        for line in path.read_text("utf-8").splitlines()
        if READS.search(line) and not WRITES.search(line)
    }
    assert found == OPENED_ELSEWHERE.keys()
