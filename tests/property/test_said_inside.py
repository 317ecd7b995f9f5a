"""What is said of a damaged package is said of it inside of another, too (law 12)."""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Callable

import pytest
from container_images_made import archive, oci_layout
from hypothesis import example, given
from hypothesis import strategies as st
from package_writer import TAR_END, Raw, raw_zip, tar_member, tar_of, zip_of
from reading import records_of
from samples import FOLDER

from ltocompat import Module, Skipped

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
