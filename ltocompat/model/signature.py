"""Signatures of images and modules, on which verdicts rest: equal modules are judged once.

A library has thousands of modules and a few dozen signatures; a signature is what is left of a
module when places, sizes and names are taken away.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from ltocompat.model.arch import Release, SmArch
from ltocompat.model.image import (
    PRELINKED_SECTIONS,
    Compression,
    Image,
    ImageKind,
    LtoIrVersions,
    Module,
    Producer,
    PtxFlaw,
)
from ltocompat.model.image_table import MANY
from ltocompat.model.symbols import DeviceSymbols


class ImageSignature(Struct, frozen=True):
    """One image without its place, size and names.

    Attributes:
        kind: LTO-IR, PTX, SASS, Tile IR or unknown.
        arch: its architecture; None if unknown.
        made_by: its makers, oldest first.
        isa: PTX ISA version of PTX, e.g. ``8.4``.
        ltoir: versions of LTO-IR.
        generation: generation of a cubin, 1 or 2.
        relocatable: True if the image must be device-linked before it can be loaded; None if
            unknown.
        prelinked: the number of the image's object, from 1, among the device-linked objects of the
            module. Zero if the image lies in no section for such objects.
        compression: how it is stored.
        scrambled: True for LTO-IR whose payload only nvJitLink reads.
        concatenated: True if its entry has several images.
        in_fatbin: True if it has an entry header; False for a bare image.
        debug: True if the image has device debug information; None if unknown.
        has_kernels: None if not requested or unreadable; False if each kernel only returns.
        empty_kernels: True if the image has kernels and each kernel only returns.
        symbols: the image's undefined symbols; in a link of several files, also its definitions.
            None if not requested or unreadable.
        options: compiler options stored with LTO-IR; None if none are.
        lacks_options: True for PTX or LTO-IR whose entry has no place for options.
        lists_family: True for SASS whose entry lists other architectures of the family. None if the
            entry has no place for them.
        entry_arch: the architecture in its entry header, if it differs from ``arch``; else None.
        flaws: faults of the PTX text, if it is in a file of its own or has debug information.
        problem: a contradiction in its bytes, or why they can't be read; else None.
    """

    kind: ImageKind
    arch: SmArch | None
    made_by: tuple[Producer, ...] = ()
    isa: str | None = None
    ltoir: LtoIrVersions | None = None
    generation: int | None = None
    relocatable: bool | None = None
    prelinked: int = 0
    compression: Compression = Compression.NONE
    scrambled: bool = False
    concatenated: bool = False
    in_fatbin: bool = True
    debug: bool | None = None
    has_kernels: bool | None = None
    empty_kernels: bool = False
    symbols: DeviceSymbols | None = None
    options: str | None = None
    lacks_options: bool = False
    lists_family: bool | None = None
    entry_arch: SmArch | None = None
    problem: str | None = None
    flaws: tuple[PtxFlaw, ...] = ()

    @property
    def picked_by(self) -> SmArch | None:
        """The architecture by which drivers and linkers pick it, from its entry header."""
        return self.entry_arch or self.arch

    def __str__(self) -> str:
        names = {ImageKind.LTOIR: "LTO-IR", ImageKind.PTX: "PTX", ImageKind.SASS: "SASS"}
        kind = names.get(self.kind, str(self.kind))
        arch = "" if self.arch is None else f" {self.arch}"
        return f"{kind} {self.isa}{arch}" if self.isa else f"{kind}{arch}"


class ModuleSignature(Struct, frozen=True, cache_hash=True):
    """A module without its place; its hash is computed only once.

    Attributes:
        images: its images, in file order.
        registered: True if the CUDA runtime loads it; None if unknown.
        needs_device_link: True if it lies in a relocatable object that was not device-linked yet.
        behind_first: True if it lies there after the first region, where no linker looks.
        shipped_major: the major of the nvJitLink with which NVIDIA ships the CUDA library that
            contains it.
        guarded: True if some images have kernels that contain code, but other images have no
            kernels, or only kernels that return at once.
        uneven: True if the module's images may have different kernels.
    """

    images: tuple[ImageSignature, ...]
    registered: bool | None
    needs_device_link: bool = False
    behind_first: bool = False
    shipped_major: int | None = None
    guarded: bool = False
    uneven: bool = False

    @property
    def kinds(self) -> frozenset[ImageKind]:
        """The kinds of its images."""
        return frozenset(image.kind for image in self.images)


def module_signature(module: Module) -> ModuleSignature:
    """Return the signature of a module."""
    linked = (image.place.offset for image in module.images if image.section in PRELINKED_SECTIONS)
    parts = {offset: number for number, offset in enumerate(dict.fromkeys(linked), 1)}
    found = (image_signature(i, parts.get(i.place.offset, 0)) for i in module.images)
    if len(module.images) >= MANY:  # of which most are alike
        known: dict[ImageSignature, ImageSignature] = {}
        found = (known.setdefault(image, image) for image in found)
    return ModuleSignature(
        tuple(found), module.registered, guarded=module.guarded, uneven=module.uneven
    )


def image_signature(image: Image, prelinked: int) -> ImageSignature:
    """Return the signature of an image.

    Args:
        image: the image.
        prelinked: as in ``ImageSignature``.
    """
    kernels = None if image.kernels is None else bool(image.kernels)
    cubin = image.cubin
    return ImageSignature(
        image.kind,
        image.arch,
        image.made_by,
        image.needs.ptx_isa,
        image.ltoir,
        None if cubin is None else cubin.generation,
        image.relocatable,
        prelinked,
        image.compression,
        image.scrambled,
        len(image.place.entry) > 1,
        image.kind_number is not None,
        image.debug,
        False if image.empty_kernels else kernels,
        image.empty_kernels,
        image.symbols,
        image.options if image.kind is ImageKind.LTOIR else None,
        image.lacks_options,
        image.lists_family,
        image.entry_arch,
        image.problems[0] if image.problems else None,
        image.flaws,
    )


def made_by_some(
    signature: ModuleSignature, possible: Callable[[Release], bool], why: str
) -> ModuleSignature:
    """Return a module with only those possible producers of its LTO-IR that a fact admits.

    Args:
        signature: the module.
        possible: returns the remaining releases; if none remain, nothing changes.
        why: the fact, as the end of the producer's evidence.
    """
    images = tuple(_made_by_some(image, possible, why) for image in signature.images)
    return signature if images == signature.images else replace(signature, images=images)


def _made_by_some(
    image: ImageSignature, possible: Callable[[Release], bool], why: str
) -> ImageSignature:
    if image.kind is not ImageKind.LTOIR or len(image.made_by) != 1:
        return image
    (maker,) = image.made_by
    left = tuple(filter(possible, maker.releases))
    if left in ((), maker.releases):
        return image
    version = str(left[0]) if len(left) == 1 else None
    evidence = f"{maker.evidence}{why}"
    made_by = replace(maker, version=version, releases=left, evidence=evidence)
    return replace(image, made_by=(made_by,))


class KernelsToCount(Struct, frozen=True):
    """Numbers of a signature's images whose kernels affect verdicts.

    Attributes:
        picked: images that count one by one, since a driver picks them.
        any_of: images that count together: the module is not for some GPU, which is harmless if
            none of them has kernels.
    """

    picked: tuple[int, ...] = ()
    any_of: tuple[int, ...] = ()
