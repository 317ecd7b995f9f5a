"""What is said of a damaged package is said of it inside of another, too (law 12)."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from container_images_made import archive, oci_layout
from hypothesis import example, given
from hypothesis import strategies as st
from package_writer import TAR_END, Raw, raw_zip, tar_member, tar_of, zip_of
from reading import records_of
from samples import FOLDER

from ltocompat import Module, Skipped, inspect
from ltocompat.files.archives.promised import broken_promise
from ltocompat.files.byteview import ByteView
from ltocompat.model.limits import Budget

FATBIN = (FOLDER / "fatbin" / "nvfatbin-13.5-default.fatbin").read_bytes()
ZIP = raw_zip(Raw(b"a.fatbin", FATBIN), Raw(b"b", FATBIN, local_only=True))
PACKAGES = (
    ZIP,
    zip_of(("a.fatbin", FATBIN), ("b/c", b"text")),
    tar_of(("a.fatbin", FATBIN), ("b", b"text")),
    tar_member(b"a.fatbin", FATBIN) + TAR_END,
    oci_layout([archive({"a.fatbin": FATBIN}), archive({"b": b"text"})]),
)
Pack = Callable[[bytes], bytes]
OUTER: tuple[Pack, ...] = (
    lambda data: tar_of(("p/x", data)),
    lambda data: zip_of(("p/x", data)),
    lambda data: gzip.compress(tar_of(("p/x", data))),
)


def said(data: bytes) -> tuple[Counter[str], int]:
    records = list(records_of(data))
    modules = (each for each in records if isinstance(each, Module))
    reasons = Counter(each.reason for each in records if isinstance(each, Skipped))
    return reasons, sum(len(module.images) for module in modules)


IMAGES = said(FATBIN)[1]


@given(st.sampled_from(PACKAGES), st.sampled_from(OUTER), st.data())
def test_damage_is_told_as_well_inside_of_another_package(
    package: bytes, outer: Pack, data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(package) - 1))
    end = data.draw(st.integers(at, min(len(package), at + 2000)))
    changed = package[:at] + data.draw(st.sampled_from((b"", b"x" * 700))) + package[end:]
    alone = said(changed)
    if changed[:4] == package[:4] or not alone[0]:  # else it is another kind of file
        assert said(outer(changed)) == alone


SAMPLES = {
    "k.cubin": FOLDER / "cubin" / "nvrtc-13.0-sm_90.cubin",
    "k.fatbin": FOLDER / "fatbin" / "nvfatbin-13.5-default.fatbin",
    "libk.so": FOLDER / "objects" / "libaxpy-no-device-link.so",
    "k.dll": FOLDER / "objects" / "saxpy.dll",
    "k.ptx": min(FOLDER.glob("ptx/*.ptx")),
    "k.ltoir": min(FOLDER.glob("ltoir/*.ltoir")),
}
NAMED = {name: path.read_bytes() for name, path in SAMPLES.items()} | {
    "k.tar": PACKAGES[2],
    "k.tar.gz": gzip.compress(PACKAGES[2]),
    "k.whl": PACKAGES[1],
}
LOST = st.sampled_from((b"", bytes(512), b"\xff" * 512, b"<html>", b"version https://git-lfs"))


@given(st.sampled_from(sorted(NAMED)), st.sampled_from((tar_of, zip_of)), LOST, st.integers(0, 600))
def test_a_member_is_held_to_its_name_as_a_file_alone_is(
    name: str, outer: Callable[..., bytes], start: bytes, lost: int
) -> None:
    data = start + NAMED[name][lost:]
    alone = broken_promise(name, ByteView.of(data), Budget(), typed=True)
    # PreTeXt's documents are XML; among test data are texts in place of archives.
    is_text = start[:1] in (b"<", b"v") and name in ("k.ptx", "k.tar", "k.tar.gz", "k.whl")
    if alone is not None and not (is_text and (start[:1] == b"<" or name != "k.ptx")):
        assert said(outer((f"p/{name}", data)))[0][alone] == 1


LAYOUT = oci_layout([archive({"b": b"text"}), archive({"a.fatbin": FATBIN})])


@given(st.data())
def test_a_layout_with_a_damaged_or_missing_document_is_told(data: st.DataObject) -> None:
    """Layers are packed, so that a layout that is mistaken for a plain tar shows fewer images."""
    with tarfile.open(fileobj=io.BytesIO(LAYOUT)) as tar:
        files = {each.name: tar.extractfile(each).read() for each in tar}  # type: ignore[union-attr]
    name = data.draw(st.sampled_from(sorted(n for n in files if files[n].startswith(b"{"))))
    whole, start = files[name], data.draw(st.integers(0, len(files[name]) - 1))
    rest = whole[start + data.draw(st.integers(1, len(whole))) :]
    changed = whole[:start] + data.draw(st.sampled_from((b"", b"\0", b"}", b"[]"))) + rest
    kept = files | {name: changed} if data.draw(st.booleans()) else files
    if kept is files:
        del kept[name]
    reasons, images = said(tar_of(*kept.items()))
    assert reasons or images == IMAGES


@pytest.mark.parametrize("index", [b"", b"{", b"[]", b"{}", None])
def test_a_layout_without_a_readable_index_is_told_as_a_folder_too(
    index: bytes | None, tmp_path: Path
) -> None:
    with tarfile.open(fileobj=io.BytesIO(LAYOUT)) as tar:
        tar.extractall(tmp_path, filter="data")
    (tmp_path / "index.json").unlink()
    if index is not None:
        (tmp_path / "index.json").write_bytes(index)
    reasons = [each.reason for each in inspect(str(tmp_path)) if isinstance(each, Skipped)]
    assert "it names no container image that can be read; fetch the image again" in reasons


@pytest.mark.parametrize("outer", OUTER)
def test_two_archives_in_one_file_are_told_inside_of_another(outer: Pack) -> None:
    for package in (PACKAGES[1] * 2, ZIP, PACKAGES[3] * 2):
        reasons, images = said(outer(package))
        assert (len(reasons), images) == (1, IMAGES)


@given(st.integers(1, 2000))
@example(512)
def test_a_tar_that_lost_bytes_ends_in_no_block(lost: int) -> None:
    """POSIX: an archive is a series of blocks of 512 bytes; without its end, the rest is whole."""
    whole = tar_member(b"a.fatbin", FATBIN) + tar_member(b"b.fatbin", FATBIN) + bytes(10240)
    at = len(tar_member(b"a.fatbin", FATBIN))
    reasons, images = said(whole[:at] + bytes(len(whole) - at - lost))
    assert images == IMAGES
    assert bool(reasons) == bool(lost % 512)
