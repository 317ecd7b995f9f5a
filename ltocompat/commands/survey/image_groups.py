"""Equal images of a package, counted as they pass: a package has up to millions of images."""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter

from msgspec import Struct

from ltocompat.commands.survey.rows import RowMaker
from ltocompat.commands.survey.tables import ImageRow
from ltocompat.model.errors import LimitExceeded
from ltocompat.model.image import Image, ImageKind, Module
from ltocompat.model.location import Location

_MOST_GROUPS = 20_000  # only a hostile file has so many


class ImageGroup(Struct):
    """Equal images of one file; a package has up to millions of images of dozens of kinds.

    Attributes:
        file: the innermost file.
        first: the first of these images.
        registered: ``registered`` of their modules.
        images: number of images.
        stored: bytes of the images in the file.
        size: decoded bytes, as far as known.
    """

    file: Location
    first: Image
    registered: bool | None
    images: int = 0
    stored: int = 0
    size: int = 0

    def row(self, make: RowMaker) -> ImageRow:
        """Return the row of these images."""
        releases = next((maker.releases for maker in self.first.made_by if maker.releases), ())
        return make.make(
            ImageRow,
            self.first,
            file=str(self.file),
            example=str(self.first.place),
            registered=self.registered,
            releases=tuple(map(str, releases)),
            images=self.images,
            stored=self.stored,
            size=self.size,
        )


_TRAITS = attrgetter(
    *("kind", "arch", "made_by", "needs.ptx_isa"),
    *("compression", "scrambled", "relocatable", "debug"),
)


class ImageGroups:
    """A counter of the images of modules.

    Attributes:
        found: the groups by the properties that their images share, in the order of reading.
    """

    def __init__(self) -> None:
        self.found: dict[object, ImageGroup] = {}

    def take(self, module: Module) -> None:
        """Count the images of a module.

        Raises:
            LimitExceeded: there are more kinds than in any real package.
        """
        file = Location(module.place.path, module.place.members)
        for image in module.images:
            key = (file, module.registered, *_TRAITS(image))
            group = self.found.setdefault(key, ImageGroup(file, image, module.registered))
            if len(self.found) > _MOST_GROUPS:
                reason = f"it has over {_MOST_GROUPS} kinds of images, more than any real package"
                raise LimitExceeded("kinds-of-images", reason)
            group.images += 1
            group.stored += image.stored_size or 0
            group.size += image.size or 0

    def columns(self) -> dict[str, object]:
        """Return the distribution's columns about its images."""
        groups = self.found.values()
        return {
            "files": len({group.file for group in groups}),
            "images": sum(group.images for group in groups),
            "sass": _archs(groups, ImageKind.SASS),
            "ptx": _archs(groups, ImageKind.PTX),
            "ltoir": _archs(groups, ImageKind.LTOIR),
        }


def _archs(groups: Iterable[ImageGroup], kind: ImageKind) -> tuple[str, ...]:
    images = (group.first for group in groups)
    archs = {image.arch for image in images if image.kind is kind and image.arch is not None}
    return tuple(map(str, sorted(archs)))
