"""Weights add up to the bytes in the file, and what is called dead nobody misses."""

from __future__ import annotations

from fatbin_writer import EntrySpec, concatenated, entry, region
from generated_artifacts import mixed_modules
from hypothesis import given
from hypothesis import strategies as st
from samples import FOLDER

import ltocompat
from ltocompat.commands.weigh import weight_of
from ltocompat.facts import gpus
from ltocompat.files.byteview import ByteView
from ltocompat.model.image import ImageKind
from ltocompat.model.place import Place
from ltocompat.model.signature import ModuleSignature
from ltocompat.model.weight import ImageTally, Measured, MeasuredLibrary, Weight
from ltocompat.rules.selection import pick_for_driver
from ltocompat.rules.weight_advice import dead
from ltocompat.scan import walk
from ltocompat.scan.weigh import Weigher

ARM_ALONE = {32, 53, 62, 72, 87, 88, 101, 110, 121}
"""Tegra by NVIDIA's documents (Jetson, DRIVE), and GB10."""

SPECS = st.builds(
    EntrySpec,
    kind=st.sampled_from([1, 2, 0x40, 0x80, 0x300]),
    payload=st.binary(max_size=600),
    sm=st.integers(1, 130),
    suffix=st.sampled_from(["", "a", "f"]),
    compression=st.sampled_from(["none", "lz4", "zstd"]),
    identifier=st.text("abc", max_size=40),
)


def weight(data: bytes) -> Weight:
    weigher = Weigher(kernels=False)
    for batch in walk.batches_of_view(ByteView.of(data), Place("x"), walk.ScanSettings()):
        weigher.take(batch)
    return weight_of("x", weigher.measured)


@st.composite
def regions(draw: st.DrawFn) -> bytes:
    specs = draw(st.lists(SPECS, max_size=4))
    entries = [entry(spec) for spec in specs]
    together = draw(st.booleans())
    if specs and together:
        entries.append(concatenated([spec for spec in specs if spec.compression == "none"]))
    return region(entries)


@given(st.lists(regions(), min_size=1, max_size=3))
def test_a_file_of_fatbins_weighs_what_it_is_long(written: list[bytes]) -> None:
    data = b"".join(written)
    found = weight(data)
    assert found.stored == len(data)
    assert sum(row.stored for row in found.archs) + found.overhead == found.stored
    assert sum(library.stored for library in found.libraries) == found.stored
    assert 0 <= found.saved <= found.stored


def test_every_sample_adds_up() -> None:
    for folder in ("cubin", "fatbin", "fatbin-ltoir", "objects", "ptx"):
        for path in sorted((FOLDER / folder).iterdir()):
            (found,) = ltocompat.weigh(path)
            assert sum(row.stored for row in found.archs) + found.overhead == found.stored, path
            assert sum(library.stored for library in found.libraries) == found.stored, path
            device = sum(library.saved for library in found.libraries)
            host = sum(library.host_debug for library in found.libraries)
            assert found.saved == device + host, path
            thin = "thin" in path.name  # its members are files of their own
            assert device <= found.stored <= (found.stored if thin else path.stat().st_size), path


@given(mixed_modules(), st.booleans())
def test_nobody_misses_what_is_dead(module: ModuleSignature, x86: bool) -> None:
    loaded = all(
        image.relocatable is not True and image.kind in (ImageKind.SASS, ImageKind.PTX)
        for image in module.images
    )
    wastes = dead(module, "x86-64" if x86 else "AArch64", linked=True)
    kept = tuple(i for i, waste in zip(module.images, wastes, strict=True) if waste is None)
    rest = ModuleSignature(kept, module.registered, module.needs_device_link)
    for number in [sm.number for sm in gpus.sms()] + [131, 199]:
        if loaded and not (x86 and number in ARM_ALONE):
            before = pick_for_driver(module, number).images
            assert pick_for_driver(rest, number).images == before, number


@given(st.lists(mixed_modules(), min_size=1, max_size=4), st.data())
def test_no_byte_is_saved_twice(modules: list[ModuleSignature], data: st.DataObject) -> None:
    library = MeasuredLibrary(Place("x"), machine="x86-64", linked=True)
    numbers = st.integers(0, 10_000)
    for module in modules:
        tallies = []
        for _ in module.images:
            within, between, packable = (data.draw(numbers) for _ in range(3))
            packed = data.draw(st.integers(0, packable))
            stored = within + between + packable
            tallies.append(ImageTally(1, stored, 0, within, between, packable, packed))
        library.tallies[module] = tuple(tallies)
    found = weight_of("x", Measured({library.place: library}))
    assert found.saved <= found.stored
