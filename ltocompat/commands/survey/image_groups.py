"""Images that are alike, counted together: a package has up to millions, and dozens of kinds."""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct

from ltocompat.model.arch import Release, SmArch
from ltocompat.model.image import Compression, Image, ImageKind, Maker, Module
from ltocompat.model.place import Place

_MOST = 20_000  # only a hostile file has so many


class ImageTraits(NamedTuple):
    """What images have to share to be counted together.

    Attributes:
        file: the innermost file.
        kind, arch, made_by, compression, scrambled, relocatable, debug: as those of ``Image``.
        ptx_isa: PTX ISA version of PTX.
        registered: as that of ``Module``.
    """

    file: Place
    kind: ImageKind
    arch: SmArch | None
    made_by: tuple[Maker, ...]
    ptx_isa: str | None
    compression: Compression
    scrambled: bool
    relocatable: bool | None
    debug: bool | None
    registered: bool | None

    @property
    def releases(self) -> tuple[Release, ...]:
        """The CUDA releases of which one compiled them; empty where nothing tells."""
        return next((maker.releases for maker in self.made_by if maker.releases), ())


class ImageGroup(Struct):
    """Images that are alike.

    Attributes:
        traits: what they share.
        example: the place of the first.
        images: how many.
        stored: bytes that they take in the file.
        size: bytes once decoded, of those whose size is known.
    """

    traits: ImageTraits
    example: Place
    images: int = 0
    stored: int = 0
    size: int = 0


class ImageGroups:
    """Counts the images of modules as they pass."""

    def __init__(self) -> None:
        self._groups: dict[ImageTraits, ImageGroup] = {}

    def take(self, module: Module) -> None:
        """Count the images of a module."""
        file = Place(module.place.path, module.place.members)
        for image in module.images:
            traits = _traits(file, module, image)
            group = self._groups.get(traits)
            if group is None:
                if len(self._groups) >= _MOST:  # all others of a kind and architecture together
                    traits = ImageTraits(Place(file.path), image.kind, image.arch, *_UNKNOWN)
                group = self._groups.setdefault(traits, ImageGroup(traits, image.place))
            group.images += 1
            group.stored += image.stored_size or 0
            group.size += image.size or 0

    def found(self) -> tuple[ImageGroup, ...]:
        """The groups, in the order that they were met."""
        return tuple(self._groups.values())


_UNKNOWN: tuple[tuple[Maker, ...], None, Compression, bool, None, None, None] = (
    (),
    None,
    Compression.NONE,
    False,
    None,
    None,
    None,
)


def _traits(file: Place, module: Module, image: Image) -> ImageTraits:
    return ImageTraits(
        file,
        image.kind,
        image.arch,
        image.made_by,
        image.needs.ptx_isa,
        image.compression,
        image.scrambled,
        image.relocatable,
        image.debug,
        module.registered,
    )
