"""Bytes of device code that could be saved, and how: advice, never a fault.

Dead are images that nothing takes. What the driver takes of a module for a GPU is said by
``selection``, as for every verdict; asked are all GPUs that the tables know, and for PTX those to
come. Of code that still has to be linked it is not known what will be made of it: there an image is
dead only where no GPU that its CPU can have beside it could use it.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct, field

from ltocompat.facts import gpus
from ltocompat.model.arch import SmArch
from ltocompat.model.image import KERNEL_KINDS, Compression, ImageKind
from ltocompat.model.location import Location
from ltocompat.model.signature import ImageSignature, ModuleSignature
from ltocompat.model.weight import ImageTally, Measured, MeasuredLibrary, Saving, Waste
from ltocompat.model.words import count, truncate_list
from ltocompat.rules import floors
from ltocompat.rules.prose import rows
from ltocompat.rules.selection import compiles, pick_for_driver, runs, serving

# A number above all that there will be: PTX is there for GPUs that nobody knows yet.
GPU_TO_COME = 1990

OTHER_CPUS = frozenset({"x86-64", "x86", "i386"})
_MOST_ARCHS = 8

# Images that pack alike.
_Stored = tuple[ImageKind, Compression]


class _Found(Struct):
    """Bytes found under one reason, added up."""

    saved: int = 0
    images: int = 0
    estimated: bool = False
    archs: set[SmArch] = field(default_factory=set)
    machines: set[str] = field(default_factory=set)


def savings(measured: Measured) -> tuple[tuple[Saving, ...], Mapping[Location, int]]:
    """Return savings, the largest first, and the bytes that they save of each library's code.

    Every byte is counted once, under the first reason that holds.
    """
    found: dict[Waste, _Found] = {}
    by_library: Counter[Location] = Counter()
    # The CPU of all libraries that say one is that of objects in archives, which say none.
    machines = {library.machine for library in measured.libraries.values() if library.machine}
    machine = machines.pop() if len(machines) == 1 else None
    ratios = _ratios(measured.libraries.values())
    for library in measured.libraries.values():
        for waste, part in _of_library(library, library.machine or machine, ratios):
            _add(found.setdefault(waste, _Found()), part)
            if waste is not Waste.HOST_DEBUG:
                by_library[library.place] += part.saved
    advice = (
        Saving(waste, part.saved, part.images, part.estimated, *_texts(waste, part, measured))
        for waste, part in found.items()
        if part.saved > 0
    )
    return tuple(sorted(advice, key=lambda saving: (-saving.saved, saving.waste))), by_library


def _ratios(libraries: Iterable[MeasuredLibrary]) -> dict[_Stored, float]:
    """The ratio of Zstandard, by what was compressed to see."""
    before: Counter[_Stored] = Counter()
    after: Counter[_Stored] = Counter()
    for library in libraries:
        for shape, tallies in library.tallies.items():
            for image, tally in zip(shape.images, tallies, strict=True):
                before[image.kind, image.compression] += tally.packable
                after[image.kind, image.compression] += tally.packed
    return {key: after[key] / size for key, size in before.items() if size}


def _of_library(
    library: MeasuredLibrary, machine: str | None, ratios: Mapping[_Stored, float]
) -> Iterator[tuple[Waste, _Found]]:
    if library.host_debug:
        yield Waste.HOST_DEBUG, _Found(library.host_debug)
    for shape, tallies in library.tallies.items():
        wastes = dead(shape, machine, linked=library.linked)
        for image, waste, tally in zip(shape.images, wastes, tallies, strict=True):
            archs = {image.arch} if image.arch else set[SmArch]()
            machines = {machine} if machine else set[str]()
            for reason, saved, number in _of_images(waste, tally):
                yield reason, _Found(saved, number, archs=archs, machines=machines)
            if waste is None:
                ratio = ratios.get((image.kind, image.compression), 1.0)
                rest = int(tally.unmeasured * (1 - ratio))
                saved = tally.packable - tally.packed + rest
                yield Waste.COMPRESSION, _Found(saved, tally.images, estimated=rest > 0)


def _of_images(waste: Waste | None, tally: ImageTally) -> Iterator[tuple[Waste, int, int]]:
    """Copies first, whatever else they are; then the rest, where it is dead."""
    if tally.copied_between:
        yield Waste.COPY_IN_ANOTHER_LIBRARY, tally.copied_between, 0
    if tally.copied_within:
        yield Waste.COPY_IN_THE_LIBRARY, tally.copied_within, 0
    if waste is not None:
        yield waste, tally.stored - tally.copied_within - tally.copied_between, tally.images


def _add(total: _Found, part: _Found) -> None:
    total.saved += part.saved
    total.images += part.images
    total.estimated |= part.estimated
    total.archs |= part.archs
    total.machines |= part.machines


def dead(module: ModuleSignature, machine: str | None, *, linked: bool) -> tuple[Waste | None, ...]:
    """The reason why each image of a module is dead; None if it is not.

    Args:
        module: the module.
        machine: the CPU that its library is for; None if unknown.
        linked: True if its library is a linked file.
    """
    return tuple(
        _waste(image, module, arm=machine not in OTHER_CPUS, linked=linked)
        for image in module.images
    )


def _waste(
    image: ImageSignature, module: ModuleSignature, *, arm: bool, linked: bool
) -> Waste | None:
    if image.arch is None or image.kind not in (*KERNEL_KINDS, ImageKind.LTOIR):
        return None
    if image.prelinked:
        return Waste.PRELINKED if linked and _linked_everywhere(image.arch, image, module) else None
    loaded = loaded_as_it_is(module)
    if loaded:
        takers = [n for n in known_numbers() if image in serving(module, n)]
    else:
        fits = runs if image.kind is ImageKind.SASS else compiles
        takers = [number for number in known_numbers() if fits(image.arch, number)]
    if not takers:
        return Waste.NEVER_TAKEN if loaded else None
    return None if arm or not all(map(gpus.arm_only, takers)) else Waste.OTHER_CPU


def _linked_everywhere(arch: SmArch, image: ImageSignature, module: ModuleSignature) -> bool:
    """Return whether each GPU of a prelinked image takes what was linked from it.

    PTX stays: drivers link it again, for GPUs that came later.
    """
    gpus_of_it = [number for number in known_numbers() if runs(arch, number)]
    picks = (pick_for_driver(module, number).images for number in gpus_of_it)
    return image.kind is ImageKind.SASS and all(
        images and not any(picked.prelinked for picked in images) for images in picks
    )


def loaded_as_it_is(shape: ModuleSignature) -> bool:
    """Return whether a driver loads the module, so that no code in it waits for a link."""
    return all(
        image.prelinked or (image.kind in KERNEL_KINDS and image.relocatable is not True)
        for image in shape.images
    )


@functools.cache
def known_numbers() -> tuple[int, ...]:
    """Return every known GPU, and for PTX also future ones."""
    return (*(sm.number for sm in gpus.sms() if sm.number != gpus.RENAMED), GPU_TO_COME)


def _texts(waste: Waste, found: _Found, measured: Measured) -> tuple[str, str]:
    """The sentence on a saving, and its remedy."""
    values = {
        "archs": _archs(found.archs),
        "images": count(found.images, "image"),
        "leave_out": _leave_out(found.archs),
        "it": "it" if len(found.archs) == 1 else "them",
        "cpus": ", ".join(sorted(found.machines)),
        "most_copied": _most_copied(measured),
        "most_debug": _short(
            max(measured.libraries.values(), key=lambda library: library.host_debug).place
        ),
        "driver": floors.driver("zstd-driver"),
    }
    told = next(row for row in rows("waste") if row.head == waste).values()
    return told["what"].format(**values), told["fix"].format(**values)


def _leave_out(archs: Iterable[SmArch]) -> str:
    """The remedy for architectures of Arm machines, and for images hidden from all others."""
    arm = {arch for arch in archs if gpus.arm_only(arch.number)}
    hidden = _archs(set(archs) - arm)
    whole = [f"leave {_archs(arm)} out of -gencode"] if arm else []
    where = "in files whose other images serve all other GPUs"
    return "; ".join([*whole, *([f"leave {hidden} out of -gencode {where}"] if hidden else [])])


def _archs(archs: Iterable[SmArch]) -> str:
    """``sm_87, sm_110``; of very many the first."""
    return truncate_list([str(arch) for arch in sorted(archs)], _MOST_ARCHS)


def _most_copied(measured: Measured) -> str:
    """The two libraries that share the most."""
    if not measured.copies:
        return ""
    (first, again), _ = max(measured.copies.items(), key=lambda item: (item[1], str(item[0])))
    return f": most of them in {_short(again)} and {_short(first)}"


def _short(library: Location) -> str:
    return "::".join(library.members) or library.path
