"""Weights add up to the bytes in the file, and what is called dead nobody misses."""

from __future__ import annotations

from fatbin_writer import EntrySpec, concatenated, entry, region
from generated_artifacts import mixed_modules
from hypothesis import example, given
from hypothesis import strategies as st
from samples import FOLDER

import ltocompat
from ltocompat.commands.weigh import weight_of
from ltocompat.facts import gpus
from ltocompat.files.byteview import ByteView
from ltocompat.model.arch import SmArch
from ltocompat.model.image import ImageKind
from ltocompat.model.location import Location
from ltocompat.model.signature import ImageSignature, ModuleSignature
from ltocompat.model.weight import ImageTally, Measured, MeasuredLibrary, Weight
from ltocompat.rewrite.kept_images import Kept, is_loaded, reasons
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


TEXTS = [
    "sm_80",
    "sm_87",
    "sm_90",
    "sm_90a",
    "sm_100",
    "sm_100a",
    "sm_100f",
    "sm_103",
    "sm_110",
    "sm_120",
    "sm_120a",
    "sm_121",
]
PTX = ["compute_80", "compute_87", "compute_90", "compute_110a", "compute_120"]


def final(texts: list[str]) -> ModuleSignature:
    """A module that drivers load, of SASS and PTX for these architectures."""
    archs = map(SmArch.parse, texts)
    kinds = {"sm": ImageKind.SASS, "compute": ImageKind.PTX}
    images = [ImageSignature(kinds[arch.form], arch, relocatable=False) for arch in archs]
    return ModuleSignature(tuple(images), registered=True)


MODULES = mixed_modules() | st.lists(
    st.sampled_from(TEXTS + PTX), min_size=1, max_size=6, unique=True
).map(final)
"""As files keep them: those for some of the architectures side by side often hold dead images."""


def weight(data: bytes) -> Weight:
    weigher = Weigher(kernels=False)
    for batch in walk.batches_of_view(ByteView.of(data), Location("x"), walk.ScanSettings()):
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


@given(MODULES, st.booleans())
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


@given(MODULES, st.sampled_from([80, 86, 87, 89, 90, 100, 110, 120]))
@example(final(["sm_87", "compute_87"]), 89)
def test_slim_leaves_a_gpu_what_it_takes_even_if_it_refuses_code_of_orin(
    module: ModuleSignature, number: int
) -> None:
    why = reasons(module, kept=Kept((number,), ptx=False), machine=None, linked=True)
    pairs = zip(module.images, why, strict=True)
    rest = ModuleSignature(tuple(i for i, gone in pairs if gone is None), module.registered)
    for orin in (True, False):
        had, has = (
            ModuleSignature(
                tuple(i for i in each.images if orin or not of_orin(i)), registered=True
            )
            for each in (module, rest)
        )
        before = pick_for_driver(had, number).images
        doubted = any(map(of_orin, pick_for_driver(module, number).images))
        asked = orin or (doubted and not gpus.is_tegra(number))
        if asked and is_loaded(module, linked=True):
            assert pick_for_driver(has, number).images == before


def of_orin(image: ImageSignature) -> bool:
    arch = image.arch
    return image.kind is ImageKind.SASS and arch is not None and gpus.is_tegra(arch.number)


@given(MODULES, st.lists(st.integers(0, 10_000), min_size=4, max_size=4), st.data())
def test_no_byte_is_saved_twice(
    module: ModuleSignature, sizes: list[int], data: st.DataObject
) -> None:
    """One image has all the bytes, so that nothing beside it makes up for a byte too many."""
    library = MeasuredLibrary(Location("x"), machine="x86-64", linked=True)
    within, between, packable, packed = sizes
    heavy = ImageTally(
        1, within + between + packable, 0, within, between, packable, min(packed, packable)
    )
    number = data.draw(st.integers(0, len(module.images) - 1))
    library.tallies[module] = tuple(
        heavy if at == number else ImageTally(1) for at in range(len(module.images))
    )
    found = weight_of("x", Measured({library.place: library}))
    assert found.saved <= found.stored
