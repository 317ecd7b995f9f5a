"""The images of a region with thousands are those of the same entries in small regions."""

from __future__ import annotations

import pickle
import tracemalloc
from collections.abc import Iterator

import pytest
from fatbin_writer import KINDS, EntrySpec, concatenated, entry, region
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from reading import modules_of, records_of, skipped_of

from ltocompat.files.byteview import ByteView
from ltocompat.model.image import Image, ImageKind, Module
from ltocompat.model.image_table import MANY, ImageTable, gathered
from ltocompat.model.location import Location
from ltocompat.scan.walk import ScanSettings, records_of_view

PTX = b".version 8.%d\n.target sm_80\n.visible .entry k%d()\n{\n\tret;\n}\n"
COUNT = MANY + 70
SMALL = 50


@st.composite
def entries(draw: st.DrawFn) -> bytes:
    version, kernel = draw(st.integers(0, 5)), draw(st.integers(0, 5))
    spec = EntrySpec(
        draw(st.sampled_from([KINDS["ptx"], 0x40, 0x300])),
        PTX % (version, kernel),
        sm=draw(st.sampled_from([80, 90])),
        suffix=draw(st.sampled_from(["", "a"])),
        compression=draw(st.sampled_from(["none", "lz4", "zstd"])),
        debug=draw(st.booleans()),
        identifier=draw(st.sampled_from(["", "a.cu", "b.cu"])),
    )
    if draw(st.booleans()):
        return entry(spec)
    inner = _uncompressed(spec)
    return concatenated([inner] * draw(st.integers(1, 3)))


def _uncompressed(spec: EntrySpec) -> EntrySpec:
    return EntrySpec(spec.kind, spec.payload, spec.sm, identifier=spec.identifier)


@settings(max_examples=40)  # each reads a thousand images twice
@given(st.lists(entries(), min_size=1, max_size=6), st.booleans())
def test_a_large_region_reads_as_its_entries_do_in_small_ones(
    palette: list[bytes], damaged: bool
) -> None:
    written = [palette[number * number % len(palette)] for number in range(COUNT)]
    tail = [b"\x01" * 64] if damaged else []  # what is no entry: all of its region is in doubt
    (large,) = modules_of(region(written + tail))
    parts = [written[at : at + SMALL] for at in range(0, COUNT, SMALL)]
    small = modules_of(b"".join(region(part + tail) for part in parts))
    assert isinstance(large.images, ImageTable)
    expected = list(_in_one_region(small))
    assert [_without_sentence(image) for image in large.images] == expected
    assert all(bool(image.problems) >= damaged for image in large.images)


def _in_one_region(modules: list[Module]) -> Iterator[Image]:
    """Their images, at the places that they have when all entries lie in the region at 0."""
    for number, module in enumerate(modules):
        for image in module.images:
            first, *rest = image.place.entry
            place = Location("input", (), 0, (number * SMALL + first, *rest))
            yield _without_sentence(replace(image, place=place))


def _without_sentence(image: Image) -> Image:
    """Sentences about a damaged region name an entry by its number."""
    return replace(image, problems=tuple(text.split(":")[0] for text in image.problems))


SIZES = st.none() | st.integers(0, 1 << 40)
ENTRIES = st.lists(st.integers(0, 1 << 30), max_size=2).map(tuple)
IMAGES = st.builds(
    Image,
    st.sampled_from(ImageKind),
    st.none(),
    st.builds(Location, st.sampled_from(["a", "b"]), st.just(()), st.integers(0, 99), ENTRIES),
    st.sampled_from([None, ".nv_fatbin"]),
    stored_size=SIZES,
    size=SIZES,
)


@given(st.lists(IMAGES), st.data())
def test_a_table_is_the_sequence_of_its_images(images: list[Image], data: st.DataObject) -> None:
    table = ImageTable(images)
    assert list(table) == images
    assert table == tuple(images)
    assert hash(table) == hash(tuple(images))
    assert pickle.loads(pickle.dumps(table)) == table  # noqa: S301 - as workers send it
    start, stop = (data.draw(st.integers(-9, 9)) for _ in range(2))
    assert list(table[start:stop]) == images[start:stop]
    assert [table[n] for n in range(-len(images), len(images))] == images * 2
    other = [*images[1:], *images[:1]]
    assert (table == ImageTable(other)) == (images == other)


def test_few_images_are_a_tuple_and_many_a_table() -> None:
    image = Image(ImageKind.PTX, None, Location("x"), stored_size=1, size=1)
    assert gathered([image] * 3) == (image, image, image)
    assert isinstance(gathered([image] * MANY), ImageTable)


def test_an_unreadable_entry_of_a_large_region_is_skipped_alone() -> None:
    good = entry(EntrySpec(KINDS["ptx"], PTX % (4, 0)))
    broken = bytearray(concatenated([EntrySpec(KINDS["ptx"], PTX % (4, 0))]))
    frame = broken.index(b"\x28\xb5\x2f\xfd")
    broken[frame : frame + 4] = b"none"
    data = region([*[good] * MANY, bytes(broken), good])
    (skipped,) = skipped_of(data)
    (module,) = modules_of(data)
    assert str(skipped.place) == f"input@0x0.{MANY}"
    assert [image.place.entry for image in module.images[-2:]] == [(MANY - 1,), (MANY + 1,)]
    assert records_of(data)[0] == module


@pytest.mark.slow
def test_an_image_of_a_large_region_costs_less_than_a_hundred_bytes() -> None:
    few, many = (_peak(count) for count in (2_000, 5_000))
    assert (many - few) / 3_000 < 100


def _peak(count: int) -> int:
    data = ByteView.of(region([entry(EntrySpec(KINDS["ptx"], PTX % (4, 0)))] * count))
    tracemalloc.start()
    for _ in records_of_view(data, Location("x"), ScanSettings(jobs=1)):
        pass
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak
