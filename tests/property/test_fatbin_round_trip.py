"""Whatever a fatbin writer can write, the reader reads back, and every byte is accounted for."""

from __future__ import annotations

import dataclasses
import io
import struct
import zipfile

from fatbin_writer import KINDS, EntrySpec, concatenated, entry, region
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace
from reading import images_of, modules_of, records_of, skipped_of
from samples import FOLDER

from ltocompat.model.image import Image, ImageKind, Module
from ltocompat.model.limits import Limits

NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40)
OPTIONS = st.text("abcdefghijklmnopqrstuvwxyz-=0123456789 ", max_size=60)
PTX = st.binary(max_size=600).map(
    lambda tail: b".version 8.4\n.target sm_80\n.entry " + tail.rstrip(b"\0")
)


@st.composite
def specs(draw: st.DrawFn) -> EntrySpec:
    kind = draw(st.sampled_from([1, 0x40, 0x04, 0x20, 0x300]))
    return EntrySpec(
        kind=kind,
        payload=draw(PTX) + b"\0",
        sm=draw(st.integers(1, 500)),
        suffix=draw(st.sampled_from(["", "a", "f"])),
        compression=draw(st.sampled_from(["none", "lz4", "zstd"])),
        debug=draw(st.booleans()),
        host=draw(st.sampled_from(["linux", "mac", "windows", None])),
        identifier=draw(NAMES),
        options=draw(OPTIONS),
    )


def agrees(image: Image, spec: EntrySpec) -> None:
    assert image.kind_number == spec.kind
    assert image.arch is not None
    assert (image.arch.number, image.arch.suffix) == (spec.sm, spec.suffix)
    assert image.debug == spec.debug
    assert image.host_os == spec.host
    assert image.identifier == (spec.identifier or None)
    assert image.options == ((spec.options or "").strip() or None)
    if spec.kind in (1, 0x40):
        assert image.kind is ImageKind.PTX
        assert image.needs.ptx_isa == "8.4"


@given(st.lists(st.lists(specs(), max_size=4), max_size=3))
def test_regions_read_back_as_written(regions: list[list[EntrySpec]]) -> None:
    data = b"".join(region([entry(spec) for spec in each_region]) for each_region in regions)
    modules = modules_of(data)
    assert len(modules) == len(regions)
    for module, entry_specs in zip(modules, regions, strict=True):
        for image, spec in zip(module.images, entry_specs, strict=True):
            agrees(image, spec)
            assert str(image.compression) == spec.compression
    assert skipped_of(data) == []


CUBINS = [
    (FOLDER / "cubin" / f"nvrtc-{name}.cubin").read_bytes()
    for name in ("11.8-sm_80", "12.9-sm_90a", "13.5-sm_100f", "13.5-sm_80-rdc")
]
CUBIN_SPECS = st.builds(
    EntrySpec,
    kind=st.just(KINDS["sass"]),
    payload=st.sampled_from(CUBINS),
    sm=st.sampled_from([0, 80, 90]),
    suffix=st.sampled_from(["", "a"]),
    compression=st.sampled_from(["none", "lz4", "zstd"]),
    debug=st.booleans(),
    host=st.just("linux"),
    identifier=st.just(""),
    options=st.just(""),
    scrambled=st.just(False),
    version=st.just((8, 4)),
)


@given(st.lists(CUBIN_SPECS, min_size=2, max_size=5))
@example([EntrySpec(KINDS["sass"], CUBINS[0], sm=sm, compression="zstd") for sm in (80, 90)])
def test_a_cubin_is_described_as_if_no_other_had_its_bytes(cubins: list[EntrySpec]) -> None:
    for image, spec in zip(images_of(region(list(map(entry, cubins)))), cubins, strict=True):
        # With limits of its own nothing is remembered.
        alone = records_of(region([entry(spec)]), limits=Limits())[0]
        assert isinstance(alone, Module)
        assert image == replace(alone.images[0], place=image.place)


@given(st.lists(specs(), min_size=1, max_size=4), st.sampled_from(["none", "lz4", "zstd"]))
def test_concatenated_entries_read_back(inner: list[EntrySpec], compression: str) -> None:
    plain = EntrySpec(KINDS["ptx"], b".version 8.4\n.target sm_80\n")
    data = region([entry(plain), concatenated(inner, compression)])
    first, *images = images_of(data)
    assert first.place.entry == (0,)
    assert [image.place.entry for image in images] == [(1, k) for k in range(len(inner))]
    for image, spec in zip(images, inner, strict=True):
        agrees(image, dataclasses.replace(spec, compression=compression))
        assert str(image.compression) == compression
        assert image.size == len(spec.payload)


def test_a_fatbin_whose_payload_ends_as_a_zip_does_is_a_fatbin() -> None:
    text = b".version 8.4\n.target sm_80\n".ljust(34)  # the record ends with the file
    directory_end = b"PK\x05\x06".ljust(22, b"\0")
    (image,) = images_of(region([entry(EntrySpec(KINDS["ptx"], text + directory_end))]))
    assert image.kind is ImageKind.PTX


PROGRAM = (FOLDER / "objects" / "nvcc-13.5-rdc-sass+ptx").read_bytes()
HEADS = (
    b"",
    PROGRAM,
    CUBINS[0],
    region([entry(EntrySpec(KINDS["sass"], CUBINS[0]))]),
)


def kinds(data: bytes) -> list[ImageKind]:
    return [image.kind for image in images_of(data)]


def zip_with(members: int) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for number in range(members):
            archive.writestr(f"{number}.txt", b"text")
    return packed.getvalue()


@given(st.sampled_from(HEADS), st.integers(0, 2), st.integers(0, 40))
def test_code_in_front_of_a_zip_is_not_lost_to_it(head: bytes, members: int, moved: int) -> None:
    """Whether the zip is the end of a payload, or its directory points into the code."""
    text = b".version 8.4\n.target sm_80\n"
    kept = region([entry(EntrySpec(KINDS["ptx"], text + b" " * moved + zip_with(members)))])
    plain = region([entry(EntrySpec(KINDS["ptx"], text))])
    assert kinds(head + kept) == kinds(head + plain)
    into = bytearray(head + zip_with(2))
    directory, end = into.index(b"PK\1\2", len(head)), into.rindex(b"PK\5\6")
    struct.pack_into("<I", into, directory + 42, moved)
    struct.pack_into("<I", into, end + 16, directory)
    assert kinds(bytes(into)) == kinds(head)


@given(st.lists(specs(), min_size=1, max_size=3), st.binary(min_size=1, max_size=100))
def test_bytes_behind_the_last_region_are_skipped_with_a_reason(
    entry_specs: list[EntrySpec], junk: bytes
) -> None:
    data = region([entry(spec) for spec in entry_specs])
    skipped = skipped_of(data + junk)
    assert bool(skipped) == bool(junk.strip(b"\0"))
    assert all(s.size == len(junk) for s in skipped)


@given(st.binary(max_size=2000))
def test_any_bytes_end_in_records(data: bytes) -> None:
    modules_of(data)
    modules_of(b"\x50\xed\x55\xba\x01\x00\x10\x00" + data)
    modules_of(b"!<arch>\n" + data)
    modules_of(b"\x7fELF\x02\x01\x01" + data)
