"""The stored images of a large region, read again when they are looked at."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from msgspec.structs import replace

from ltocompat.files.byteview import ByteView
from ltocompat.files.fatbin import StoredImage
from ltocompat.files.fatbin.region import FatbinEntry, entry_at, stored_images
from ltocompat.model.image_table import MANY, appended
from ltocompat.model.late_lines import MadeWhenRead
from ltocompat.model.limits import Budget
from ltocompat.model.location import Location


class StoredImageTable(MadeWhenRead[StoredImage]):
    """The images of the added entries, as long as their file can be read.

    Only the first ones are kept; others by their offset, since a region may have a million, of 600
    bytes each. Images of a concatenated entry are kept, since each needs all of it to be decoded.

    Args:
        view: bytes from the start of the region.
        place: the place of the region.
        section: name of the host section around it.
        budget: the budget of the file.

    Attributes:
        problem: a problem of all of them in one sentence, else None.
    """

    def __init__(
        self, view: ByteView, place: Location, section: str | None, budget: Budget
    ) -> None:
        self._view = view
        self._place = place
        self._section = section
        self._budget = budget
        self._kept: dict[int, StoredImage] = {}
        self._offsets = array("i")  # of their entries in the region
        self._entries = array("I")  # the numbers of these
        self.problem: str | None = None

    def add(self, number: int, entry: FatbinEntry) -> None:
        """Add the images of one more entry.

        Raises:
            Malformed: they can't be recognised.
        """
        place = self._place.at(self._place.offset or 0, number)
        for image in stored_images(self._view, entry, place, self._section, self._budget):
            count = len(self._entries)
            if count < MANY or len(image.entry.place.entry) > 1:
                self._kept[count] = image
            self._offsets = appended(self._offsets, entry.offset)
            self._entries.append(number)

    def few_as_tuple(self) -> Sequence[StoredImage]:
        """The images; as a tuple if all of them are kept."""
        if len(self._offsets) > len(self._kept):
            return self
        return tuple(self._kept.values() if self.problem is None else self)

    def __len__(self) -> int:
        return len(self._offsets)

    def member(self, number: int) -> StoredImage:
        """Return the image of this number.

        Raises:
            IndexError: there are fewer.
        """
        image = self._kept.get(number)
        if image is None:
            entry = entry_at(self._view, self._offsets[number])
            place = self._place.at(self._place.offset or 0, self._entries[number])
            (image,) = stored_images(self._view, entry, place, self._section, self._budget)
        if self.problem is None:
            return image
        told = replace(image.entry, problems=(self.problem, *image.entry.problems))
        return replace(image, entry=told)
