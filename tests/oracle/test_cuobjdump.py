"""What cuobjdump 13.5 says of the samples, we say too; what it can't see is listed here."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import cuobjdump
import pytest
import samples
from every_case import every
from samples import Sample

import ltocompat
from ltocompat import Extracted, Image, ImageKind, Module

# Blind spots of cuobjdump 13.5, each tried: it says "does not contain device code" or stops.
BLIND = {
    "ltoir/": "raw LTO-IR",
    "ptx/": "PTX text",
    "fatbin/nvfatbin-13.5-empty": "a region without entries",
    "objects/libaxpy-bsd.a": "BSD archives",
    "objects/bin2c.o": "fatbins outside of .nv_fatbin and __nv_relfatbin",
    "objects/naked.o": "images without a fatbin",
    "objects/constants.o": "no device code at all",
    "objects/libsaxpy-no-section-headers.so": "files without section headers",
    "objects/saxpy.obj": "COFF objects",
    "objects/saxpy.lib": "COFF archives",
    "objects/saxpy.dll": "PE libraries",
}
# It calls cubins of these compilers invalid (sm_90 and sm_90a code of 12.0, 12.1, 12.2).
INVALID = ("cubin/nvrtc-12.0-sm_90",)
# A bare cubin is listed without a heading.
BARE = ("cubin/",)


def seen(sample: Sample) -> bool:
    return not sample.name.startswith((*BLIND, *INVALID))


listable = [s for s in samples.GOOD if seen(s) and not s.name.startswith(BARE)]
# It reads the members of a thin archive from where it writes to.
THIN = "objects/libaxpy-thin.a"
extractable = [s for s in samples.GOOD if seen(s) and s.name != THIN]


def images(sample: Sample) -> Iterator[Image]:
    for record in ltocompat.inspect(sample.path):
        if isinstance(record, Module):
            yield from record.images


def ours(sample: Sample) -> Counter[tuple[str, str]]:
    """Kinds and architectures as entry headers say them, which is what it lists."""
    archs = ((image.kind, image.entry_arch or image.arch) for image in images(sample))
    return Counter(
        (str(kind), f"{arch.number}{arch.suffix}" if arch else "") for kind, arch in archs
    )


@every("sample", listable)
def test_it_lists_the_same_images(sample: Sample) -> None:
    assert ours(sample) == cuobjdump.listed(sample.path)


@every("sample", [sample for sample in listable if sample.name != THIN])
def test_it_names_cubins_as_they_name_themselves(sample: Sample) -> None:
    """What it extracts bears the name of the cubin, not of its entry; f stands in entries alone."""
    listing = cuobjdump.run("-all", "-lelf", sample.path).stdout
    named = re.findall(r"\.(sm_[0-9]+a?)f?\.cubin", listing)
    found = (image.arch for image in images(sample) if image.kind is ImageKind.SASS)
    assert Counter(named) == Counter(str(arch).removesuffix("f") for arch in found)


@pytest.mark.parametrize("what", ["-xelf", "-xptx"])
@every("sample", extractable)
def test_it_extracts_the_same_bytes(sample: Sample, what: str, tmp_path: Path) -> None:
    kind = ImageKind.SASS if what == "-xelf" else ImageKind.PTX
    folder = tmp_path / sample.path.name
    theirs = cuobjdump.extracted(sample.path, what, folder / "theirs")
    written = ltocompat.extract(
        sample.path,
        output=folder / "ours",
        where=ltocompat.ImageFilter(kinds=frozenset({kind})),
    )
    files = [Path(record.path) for record in written if isinstance(record, Extracted)]
    assert sorted(file.read_bytes() for file in files) == theirs


@every("name", BLIND)
def test_its_blind_spots_are_still_blind(name: str) -> None:
    """When one of these fails, the oracle has learnt to see: move it to the tests above."""
    sample = next(s for s in samples.GOOD if s.name.startswith(name))
    assert cuobjdump.listed(sample.path) == Counter()


def test_it_still_refuses_some_valid_cubins() -> None:
    for sample in samples.GOOD:
        if sample.name.startswith(INVALID):
            assert cuobjdump.run(sample.path).returncode != 0
