"""Images that are alike, counted together: a package has up to millions, and dozens of kinds."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from ltocompat.model.arch import Release, SmArch
from ltocompat.model.image import Compression, ImageKind, Module, Producer
from ltocompat.model.location import Location
from ltocompat.model.projection import From, project

_MOST = 20_000  # only a hostile file has so many


class ImageTraits(Struct, frozen=True, cache_hash=True):
    """Traits that images share which are counted together.

    Attributes:
        file: the innermost file.
        kind, arch, made_by, compression, scrambled, relocatable, debug: as those of ``Image``.
        ptx_isa: PTX ISA version of PTX.
        registered: as that of ``Module``.
    """

    file: Location
    kind: ImageKind
    arch: SmArch | None
    made_by: tuple[Producer, ...] = ()
    ptx_isa: Annotated[str | None, From("needs.ptx_isa")] = None
    compression: Compression = Compression.NONE
    scrambled: bool = False
    relocatable: bool | None = None
    debug: bool | None = None
    registered: bool | None = None

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
    example: Location
    images: int = 0
    stored: int = 0
    size: int = 0


class ImageGroups:
    """Counts the images of modules as they pass."""

    def __init__(self) -> None:
        self._groups: dict[ImageTraits, ImageGroup] = {}

    def take(self, module: Module) -> None:
        """Count the images of a module."""
        file = Location(module.place.path, module.place.members)
        for image in module.images:
            traits = project(ImageTraits, image, file=file, registered=module.registered)
            group = self._groups.get(traits)
            if group is None:
                if len(self._groups) >= _MOST:  # all others of a kind and architecture together
                    traits = ImageTraits(Location(file.path), image.kind, image.arch)
                group = self._groups.setdefault(traits, ImageGroup(traits, image.place))
            group.images += 1
            group.stored += image.stored_size or 0
            group.size += image.size or 0

    def found(self) -> tuple[ImageGroup, ...]:
        """The groups, in the order that they were met."""
        return tuple(self._groups.values())
