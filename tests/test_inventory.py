"""Files, folders, archives, standard input and places, as a user names them."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from samples import FOLDER

import ltocompat
from ltocompat import (
    Artifact,
    Image,
    Limits,
    Module,
    Record,
    Skipped,
    UnreadableInput,
)

SAXPY = FOLDER / "fatbin" / "nvfatbin-13.5-default.fatbin"
ARCHIVE = FOLDER / "objects" / "libaxpy.a"


def images(*paths: str | Path) -> list[Image]:
    return [i for r in ltocompat.inspect(*paths) if isinstance(r, Module) for i in r.images]


def test_links_inside_a_folder_are_not_read_twice(tmp_path: Path) -> None:
    shutil.copy(SAXPY, tmp_path / "libx.so.13")
    (tmp_path / "libx.so").symlink_to("libx.so.13")
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "elsewhere").symlink_to(SAXPY)
    found = [r.path for r in ltocompat.inspect(tmp_path) if isinstance(r, Artifact)]
    assert [Path(path).name for path in found] == ["elsewhere", "libx.so.13"]


def test_what_is_no_file_in_a_folder_is_said(tmp_path: Path) -> None:
    (tmp_path / "broken").symlink_to("nowhere")
    os.mkfifo(tmp_path / "pipe")
    found = [r for r in ltocompat.inspect(tmp_path) if isinstance(r, Skipped)]
    assert [Path(s.place.path).name for s in found] == ["broken", "pipe"]


def test_a_folder_that_can_not_be_listed_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(SAXPY, tmp_path / "a.fatbin")
    monkeypatch.chdir(tmp_path)
    for _ in range(25):  # no system takes a path as long
        os.mkdir("d" * 200)
        os.chdir("d" * 200)
    records = list(ltocompat.inspect(tmp_path))
    assert [r.images for r in records if isinstance(r, Artifact)] == [2]
    (skipped,) = [r for r in records if isinstance(r, Skipped)]
    assert skipped.reason == f"it can't be read: {os.strerror(errno.ENAMETOOLONG)}"


def test_a_thin_archive_brings_no_more_than_a_packed_one_may(tmp_path: Path) -> None:
    for name in ("a.o", "b.o"):
        shutil.copy(SAXPY, tmp_path / name)
    (tmp_path / "huge.o").touch()
    os.truncate(tmp_path / "huge.o", 1 << 40)
    members = ("a.o", "huge.o", "b.o")
    header = "{:48}{:<10}`\n".format
    thin = "!<thin>\n" + "".join(header(f"{name}/", 1) for name in members)
    (tmp_path / "libx.a").write_text(thin)
    records = list(ltocompat.inspect(tmp_path / "libx.a"))
    assert [r.place.members for r in records if isinstance(r, Module)] == [("a.o",), ("b.o",)]
    (skipped,) = [r for r in records if isinstance(r, Skipped)]
    assert (skipped.place.members, skipped.limit) == (("huge.o",), "unpacked_bytes")
    twice = Limits(unpacked_bytes=2 * SAXPY.stat().st_size - 1)
    limits = [
        r.limit
        for r in ltocompat.inspect(tmp_path / "libx.a", limits=twice)
        if isinstance(r, Skipped)
    ]
    assert limits == ["unpacked_bytes"] * 2


@pytest.mark.parametrize(("limits", "members"), [(Limits(members=2), 2), (Limits(members=1), 1)])
def test_an_archive_has_as_many_members_as_the_limit_says(
    tmp_path: Path, limits: Limits, members: int
) -> None:
    records = _in_archive(tmp_path, ("a.o", "b.o"), limits)
    assert len([r for r in records if isinstance(r, Module)]) == members
    assert [r.limit for r in records if isinstance(r, Skipped)] == ["members"] * (2 - members)


@pytest.mark.parametrize(("length", "read"), [(63, True), (64, True), (65, False)])
def test_a_members_name_is_as_long_as_the_limit_says(
    tmp_path: Path, length: int, read: bool
) -> None:
    """In the form of BSD: the name stands before the member's bytes and counts as such."""
    name = "a" * length
    records = _in_archive(tmp_path, (name,), Limits(text_bytes=64))
    assert [r.place.members for r in records if isinstance(r, Module)] == [(name,)] * read
    told = [r.reason for r in records if isinstance(r, Skipped)]
    assert [reason.partition(": ")[2] for reason in told] == [
        f"a member's name has {length} bytes, which is over Limits.text_bytes"
    ] * (not read)


def _in_archive(folder: Path, names: tuple[str, ...], limits: Limits) -> list[Record]:
    member = SAXPY.read_bytes().ljust(-(-SAXPY.stat().st_size // 8) * 8, b"\0")
    archive = b"!<arch>\n"
    for name in names:
        size = len(name) + len(member)
        archive += f"{f'#1/{len(name)}':48}{size:<10}`\n{name}".encode() + member
        archive += b"\n" * (size % 2)
    (folder / "libx.a").write_bytes(archive)
    return list(ltocompat.inspect(folder / "libx.a", limits=limits))


def test_a_folder_of_too_many_files_ends(tmp_path: Path) -> None:
    for number in range(5):
        (tmp_path / str(number)).touch()
    records = list(ltocompat.inspect(tmp_path, limits=Limits(members=3)))
    assert [r.limit for r in records if isinstance(r, Skipped)] == ["members"]


@pytest.mark.parametrize("path", ["nowhere", "nowhere@0x40", os.devnull])
def test_what_can_not_be_opened_is_one_sentence(path: str) -> None:
    with pytest.raises(UnreadableInput, match=r"can't be opened|is not a regular file"):
        list(ltocompat.inspect(path))


def test_standard_input_is_spooled() -> None:
    code = "import ltocompat as l; print(*[r.images for r in l.inspect('-') if hasattr(r, 'path')])"
    run = [sys.executable, "-c", code]
    done = subprocess.run(run, input=SAXPY.read_bytes(), capture_output=True, check=True)
    assert done.stdout.split() == [b"2"]


def test_a_pipe_is_spooled_too(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(SAXPY.read_bytes()))
    writer.start()
    assert len(images(pipe)) == 2
    writer.join()


def test_an_empty_place_is_an_error() -> None:
    with pytest.raises(ltocompat.UsageError, match="there is nothing at"):
        images(f"{ARCHIVE}::nowhere.o")


def test_progress_reaches_its_callback() -> None:
    seen: list[ltocompat.Progress] = []
    list(ltocompat.inspect(ARCHIVE, progress=seen.append))
    assert seen
    assert {progress.total for progress in seen} == {ARCHIVE.stat().st_size}
    assert seen[0].done == 0


def test_a_file_that_shrinks_while_it_is_read_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "shrinking"
    path.write_bytes(SAXPY.read_bytes() * 500)
    records = ltocompat.inspect(path)
    next(records)
    os.truncate(path, 100)
    with pytest.raises(UnreadableInput, match="became shorter"):
        list(records)


def test_the_filter_leaves_out_what_does_not_match() -> None:
    where = ltocompat.ImageFilter.parse(kinds=["ptx"], archs=["80"])
    found = [
        i
        for r in ltocompat.inspect(ARCHIVE, where=where)
        if isinstance(r, Module)
        for i in r.images
    ]
    assert [(str(i.kind), str(i.arch)) for i in found] == [("ptx", "compute_80")] * 2


def test_a_scrambled_image_is_cut_out_as_the_fatbin_it_was(tmp_path: Path) -> None:
    sample = FOLDER / "fatbin-ltoir" / "nvfatbin-13.5-of-13.5-lto_80.fatbin"
    (extracted,) = ltocompat.extract(sample, output=tmp_path)
    assert isinstance(extracted, ltocompat.Extracted)
    assert (extracted.what, extracted.note is None) == ("fatbin", False)
    assert Path(extracted.path).read_bytes() == sample.read_bytes()
