"""Fatbin entries: their compression and form, and what can read them (FB)."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.facts import gpus
from ltocompat.model.image import Compression, ImageKind
from ltocompat.model.signature import ImageSignature
from ltocompat.model.target import Gpu
from ltocompat.model.verdict import Route, Verdict
from ltocompat.rules import floors, image_helpers
from ltocompat.rules.constraints import (
    FIRST_NVJITLINK,
    FixedVerdict,
    LinkerThatPicks,
    at_least,
    driver_sure_from,
)
from ltocompat.rules.image_helpers import per_image
from ltocompat.rules.rule import Requirement, Subject, rule
from ltocompat.rules.selection import runs


@per_image("FB-01", Route.LOAD)
def zstd_needs_driver(image: ImageSignature, _: Subject) -> Iterator[Requirement]:
    """Drivers before CUDA 12.4 can't unpack fatbin entries with Zstandard."""
    # A frame that lies bare in data or a member is unpacked by the library's own code.
    if image.in_fatbin and image.compression is Compression.ZSTD:
        yield Requirement(
            at_least(floors.driver("zstd-driver")),
            f"{str(image.kind).upper()} compressed with Zstandard",
        )


@per_image("FB-02", Route.LINK)
def compressed_needs_linker(image: ImageSignature, _: Subject) -> Iterator[Requirement]:
    """Linkers before 12.4 can't read code that newer tools compressed."""
    floor = _unpacking_floor(image)
    if floor is None:
        return
    yield Requirement(
        at_least(floors.linker(floor)),
        "LTO-IR compressed by newer tools" if image.scrambled else "a Zstandard entry",
    )


def _unpacking_floor(image: ImageSignature) -> str | None:
    if not image.in_fatbin:
        return None
    if image.compression is Compression.ZSTD:
        return "zstd-linker"
    return "new-lto-entry-linker" if image.scrambled else None


@per_image("FB-03", Route.LOAD)
def concatenated_needs_driver(image: ImageSignature, _: Subject) -> Iterator[Requirement]:
    """Below CUDA 13.4, it is unknown whether drivers read concatenated fatbin entries."""
    if image.concatenated:
        yield Requirement(
            driver_sure_from(floors.linker("concat-nvcc"), floors.linker("concat-unseen")),
            "a concatenated fatbin entry",
        )


@per_image("FB-04", Route.LINK)
def entry_without_options(image: ImageSignature, _: Subject) -> Iterator[Requirement]:
    """Linkers read the options of PTX and LTO-IR, and crash if the entry has no room for any."""
    if image.lacks_options:
        yield Requirement(
            FixedVerdict(Verdict.FAIL), f"{image} in an entry without an options offset"
        )


@per_image("FB-05", Route.LINK, ImageKind.SASS)
def sass_that_the_linker_copies(image: ImageSignature, subject: Subject) -> Iterator[Requirement]:
    """The first nvJitLink reads copied or unpacked SASS after freeing it."""
    unpacked = image.in_fatbin and image.compression is Compression.LZ4
    if subject.offline or not (unpacked or subject.signature.needs_device_link):
        return
    yield Requirement(
        at_least(floors.linker("copied-sass-linker"), open_below=True, nondeterministic=True),
        "SASS compressed with LZ4" if unpacked else "SASS in an object",
        evidence="flag 0x2000 of the fatbin entry" if unpacked else "section of the object",
    )


@rule("FB-06")
def passed_over_by_linker(subject: Subject) -> Iterator[Requirement]:
    """A linker uses no image of a module for a target, unlike other linkers."""
    if not subject.found_by:
        return
    for image in subject.picked:
        row = None if image.arch is None else gpus.sm(image.arch.number)
        # What came after the linker is refused for that: its compiler is newer, too.
        virtual = image.kind is not ImageKind.SASS
        since = row.first_toolkit if row is not None and virtual else FIRST_NVJITLINK
        yield Requirement(
            LinkerThatPicks(subject.found_by, since, of_gpu=True),
            f"{image} for {subject.gpu.arch}",
            remedy=f"compile for {image_helpers.real(subject.gpu)} itself, or use a linker "
            "release that accepts this code",
        )


@rule("FB-06", ImageKind.SASS)
def passed_over_by_every_linker(image: ImageSignature, gpu: Gpu, route: Route) -> str | None:
    """Linkers take SASS for fewer targets than the GPUs that run it, and fewer from a fatbin."""
    arch = image.arch
    if route is not Route.LINK or arch is None:
        return None
    # Of suffix a SASS-03 speaks, and of f for targets below it SASS-04.
    above = arch.suffix == "f" and arch.number > gpu.arch.number
    others = arch.suffix == "a" or above or not runs(arch, gpu.arch.number)
    if others or image_helpers.links(image, gpu):
        return None
    return f"is ignored by linkers for {gpu.arch}"
