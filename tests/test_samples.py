"""Every bundled sample says what its maker knows of it."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path

import pytest
import samples
from every_case import every
from samples import Sample

import ltocompat
from ltocompat import Image, Module, Record, Role, Skipped
from ltocompat.facts import ltoir
from ltocompat.model.arch import version_numbers

# Linked images whose bytes can't name every tool: a compiler leaves its mark only with its kernels
# (the 12.4 half of this one has none), and a link with LTO compiles anew with the linker's tools.
MARKS_LOST = {"cubin/nvjitlink-13.5-of-12.4+13.0-sm_80.cubin": {"12.4"}}

WRITERS = [set(map(str, releases)) for releases in ltoir.writers("container").values()]


@functools.cache
def inspected(path: Path) -> tuple[Record, ...]:
    return tuple(ltocompat.inspect(path))


def images_of(sample: Sample) -> list[Image]:
    found = [i for r in inspected(sample.path) if isinstance(r, Module) for i in r.images]
    return sorted(found, key=lambda i: (i.place.members, i.place.offset or 0, i.place.entry))


def releases(image: Image) -> set[str]:
    return {str(release) for maker in image.made_by for release in maker.releases}


good = every("sample", samples.GOOD)


@every("sample", samples.ALL)
def test_manifest_describes_these_very_bytes(sample: Sample) -> None:
    assert hashlib.sha256(sample.path.read_bytes()).hexdigest() == sample.row["sha256"]


@good
def test_nothing_in_a_good_sample_is_skipped_or_contradicts_itself(sample: Sample) -> None:
    assert [r for r in inspected(sample.path) if isinstance(r, Skipped)] == []
    assert [i.problems for i in images_of(sample) if i.problems] == []


@good
def test_images_are_those_that_were_put_in(sample: Sample) -> None:
    found = images_of(sample)
    assert [str(i.kind) for i in found] == [row["kind"] for row in sample.images]
    for image, row in zip(found, sample.images, strict=True):
        assert str(image.compression) == row["compression"]
        assert image.scrambled == row.get("scrambled", False)
        assert image.needs.ptx_isa == row.get("ptx_isa")
        assert image.debug in (None, row.get("debug", image.debug))
        if image.kind == "sass":
            assert image.relocatable == row["relocatable"]


@good
def test_architectures_are_those_that_were_asked_for(sample: Sample) -> None:
    for image, row in zip(images_of(sample), sample.images, strict=True):
        if image.kind in ("sass", "ptx"):
            assert str(image.arch) == row["arch"]
        elif image.kind == "ltoir":
            assert str(image.arch) == _visible_arch(image, row["arch"], "linked_by" in row)


def _visible_arch(image: Image, text: str, linked: bool) -> str:
    """Raw LTO-IR bears no mark of a family, and linked LTO-IR none of any suffix."""
    if image.kind_number is not None:
        return text
    return text.rstrip("af") if linked else text.removesuffix("f")


@good
def test_who_made_it_is_who_made_it(sample: Sample) -> None:
    for image, row in zip(images_of(sample), sample.images, strict=True):
        compilers, linkers = set(row["made_by"]), set(row.get("linked_by", []))
        found = releases(image)
        if image.kind in ("ptx", "tileir") and image.kind_number is not None:
            assert image.made_by == ()  # the comment that names the compiler is cut out in fatbins
        elif image.kind == "ltoir" and image.scrambled:
            assert (linkers or compilers) <= found
            assert found in WRITERS  # no more than share its container
        elif image.kind == "ltoir" and linkers:
            assert found == linkers
            assert [maker.role for maker in image.made_by] == [Role.LINKER]
        else:
            lost = MARKS_LOST.get(sample.name, set())
            assert compilers - lost <= found <= compilers | linkers


def test_raw_ltoir_names_exactly_its_release() -> None:
    raw = [s for s in samples.GOOD if s.name.startswith("ltoir/nvrtc-")]
    assert len(raw) >= 16
    for sample in raw:
        (image,) = images_of(sample)
        (maker,) = image.made_by
        assert maker.version == ".".join(str(sample.row["version"]).split(".")[:2])


def test_each_field_of_a_raw_header_is_read_from_its_own_release_on() -> None:
    raw = [s for s in samples.GOOD if s.name.startswith("ltoir/nvrtc-")]
    for sample in raw:
        (image,) = images_of(sample)
        own = image.made_by[0].releases[0]
        assert image.ltoir is not None
        for field in ("container", "debug", "llvm"):
            version = getattr(image.ltoir, field)
            reader = ltoir.reader(field, version)
            assert version_numbers(version) in ltoir.writers(field)
            assert reader is not None
            assert reader <= own


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("cubin/nvlink-13.5-of-12.4-sm_80.cubin", ["12.4", "nvlink 13.5.37"]),
        ("cubin/nvlink-13.0-of-12.0+13.0-sm_80.cubin", ["12.0", "ptxas 13.0.88", "nvlink 13.0.88"]),
        ("cubin/nvjitlink-12.9-of-12.4-sm_80.cubin", ["12.4", "linker 12.9"]),
        ("cubin/nvrtc-11.8-sm_80.cubin", ["11.8"]),
        ("cubin/nvrtc-13.5-sm_90a.cubin", ["ptxas 13.5.37"]),
    ],
)
def test_mixed_cubins_name_compilers_then_linker(name: str, expected: list[str]) -> None:
    (sample,) = [s for s in samples.GOOD if s.name == name]
    (image,) = images_of(sample)
    assert [str(maker) for maker in image.made_by] == expected


def test_a_cubin_remembers_the_virtual_architecture_it_came_from() -> None:
    for version in ("12.4", "13.5"):
        name = f"cubin/ptxas-{version}-sm_90-of-compute_75.cubin"
        (sample,) = [s for s in samples.GOOD if s.name == name]
        (image,) = images_of(sample)
        assert image.cubin is not None
        assert (str(image.arch), str(image.cubin.virtual_arch)) == ("sm_90", "compute_75")


@every("sample", samples.BROKEN)
def test_a_broken_file_is_reported_and_never_raises(sample: Sample) -> None:
    list(ltocompat.inspect(sample.path, kernels=True, hashes=True))


# What a small edit leaves readable is read; these edits change nothing that a reader rests on.
HARMLESS = {
    "broken/empty.bin",  # no bytes, no device code
    "broken/entry-kind-0x20.fatbin",  # an unknown kind is shown with its number
    "broken/entry-identifier-outside.fatbin",
    "broken/entry-options-outside.fatbin",
    "broken/both-compressions.fatbin",
    "broken/concat-total-lies.fatbin",
    "broken/concat-nested.fatbin",
    "broken/cubin-note-lies.cubin",
    "broken/naked-zstd-size-lies.o",  # a frame whose first bytes don't decode is not a cubin
}


@every("sample", samples.BROKEN)
def test_what_can_not_be_read_is_said(sample: Sample) -> None:
    skipped = [r for r in inspected(sample.path) if isinstance(r, Skipped)]
    assert bool(skipped) == (sample.name not in HARMLESS)
    assert all(s.reason and "\n" not in s.reason for s in skipped)
