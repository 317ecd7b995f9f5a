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
from ltocompat.rules.rule import Requirement, Subject, rule
from ltocompat.rules.selection import runs


@rule("FB-01")
def zstd_needs_driver(subject: Subject) -> Iterator[Requirement]:
    """Drivers before CUDA 12.4 can't unpack fatbin entries with Zstandard."""
    for image in image_helpers.loaded(subject):
        # A frame that lies bare in data or a member is unpacked by the library's own code.
        if image.in_fatbin and image.compression is Compression.ZSTD:
            yield Requirement(
                at_least(floors.driver("zstd-driver")),
                f"{str(image.kind).upper()} compressed with Zstandard",
            )


@rule("FB-02")
def compressed_needs_linker(subject: Subject) -> Iterator[Requirement]:
    """Linkers before 12.4 can't read code that newer tools compressed."""
    for image in image_helpers.linked(subject):
        floor = _unpacking_floor(image)
        if floor is None:
            continue
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


@rule("FB-03")
def concatenated_needs_driver(subject: Subject) -> Iterator[Requirement]:
    """Below CUDA 13.4, it is unknown whether drivers read concatenated fatbin entries."""
    for image in image_helpers.loaded(subject):
        if image.concatenated:
            yield Requirement(
                driver_sure_from(floors.linker("concat-nvcc"), floors.linker("concat-unseen")),
                "a concatenated fatbin entry",
            )


@rule("FB-04")
def entry_without_options(subject: Subject) -> Iterator[Requirement]:
    """Linkers read the options of PTX and LTO-IR, and crash if the entry has no room for any."""
    for image in image_helpers.linked(subject):
        if image.lacks_options:
            yield Requirement(
                FixedVerdict(Verdict.FAIL), f"{image} in an entry without an options offset"
            )


@rule("FB-05")
def sass_that_the_linker_copies(subject: Subject) -> Iterator[Requirement]:
    """The first nvJitLink reads copied or unpacked SASS after freeing it."""
    for image in image_helpers.linked(subject, ImageKind.SASS):
        unpacked = image.in_fatbin and image.compression is Compression.LZ4
        if subject.offline or not (unpacked or subject.signature.needs_device_link):
            continue
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
