"""The images of a module in few bytes each: a region may have a million of them."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from itertools import chain, islice

from msgspec.structs import replace

from ltocompat.model.image import Image
from ltocompat.model.late_lines import MadeWhenRead

# From this number of images on, a module keeps them as a table; real modules have a few dozen.
MANY = 1024

_UNKNOWN = -1


def gathered(images: Iterable[Image]) -> Sequence[Image]:
    """The images of a module, in order: a tuple, or a table if there are many."""
    rest = iter(images)
    first = tuple(islice(rest, MANY))
    return first if len(first) < MANY else ImageTable(chain(first, rest))


class ImageTable(MadeWhenRead[Image]):
    """Images that are built when they are read.

    Images that differ only in entry and sizes share the rest, so each takes 16 bytes.
    """

    __slots__ = ("_alike", "_entries", "_known", "_numbers", "_sizes", "_stored_sizes")

    def __init__(self, images: Iterable[Image] = ()) -> None:
        self._numbers = array("I")  # of what each shares with others
        self._entries = array("i")  # of the region
        self._stored_sizes = array("i")
        self._sizes = array("i")
        self._known: dict[Image, int] = {}
        self._alike: list[Image] = []
        for image in images:
            self.append(image)

    def append(self, image: Image) -> None:
        """Add an image, as to a list."""
        entry = image.place.entry
        place = replace(image.place, entry=entry[1:])
        alike = replace(image, place=place, stored_size=None, size=None)
        number = self._known.setdefault(alike, len(self._alike))
        if number == len(self._alike):
            self._alike.append(alike)
        self._numbers.append(number)
        self._entries.append(entry[0] if entry else _UNKNOWN)
        self._stored_sizes = appended(self._stored_sizes, _or_unknown(image.stored_size))
        self._sizes = appended(self._sizes, _or_unknown(image.size))

    def __len__(self) -> int:
        return len(self._numbers)

    def part(self, members: Iterable[Image]) -> Sequence[Image]:
        """Keep many images as a table again."""
        return gathered(members)

    def __eq__(self, other: object) -> bool:
        """Return whether the other one has equal images, too, in whatever it keeps them."""
        if not isinstance(other, Sequence) or len(self) != len(other):
            return NotImplemented
        return all(mine == of_other for mine, of_other in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def member(self, number: int) -> Image:
        """The image of this number."""
        alike = self._alike[self._numbers[number]]
        place, entry = alike.place, self._entries[number]
        if entry != _UNKNOWN:
            place = replace(place, entry=(entry, *place.entry))
        stored, size = self._stored_sizes[number], self._sizes[number]
        return replace(
            alike,
            place=place,
            stored_size=None if stored == _UNKNOWN else stored,
            size=None if size == _UNKNOWN else size,
        )


def _or_unknown(size: int | None) -> int:
    return _UNKNOWN if size is None else size


def appended(column: array[int], value: int) -> array[int]:
    """Return a column with one more value; all values get 8 bytes once one needs them."""
    try:
        column.append(value)
    except OverflowError:
        column = array("q", column)
        column.append(value)
    return column
