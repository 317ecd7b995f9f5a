"""Compile options stored with LTO-IR, and where images of one link differ in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from ltocompat.model.generic import grouped
from ltocompat.model.location import Location


class Disagreement(Struct, frozen=True):
    """A compile option that differs between the LTO-IR images of one link.

    nvJitLink links such images without a message (measured with 64 pairs of options and 15
    versions).

    Attributes:
        option: e.g. ``-ftz``.
        values: each value, with the places of the images that have the value. None means that the
            option was not given.
    """

    option: str
    values: tuple[tuple[str | None, tuple[Location, ...]], ...]


def disagreements(images: Iterable[tuple[str | None, Location]]) -> Iterator[Disagreement]:
    """Yield the options in which images differ, as far as options are stored with them.

    Args:
        images: the options of each image (None if none are stored with it), and its place.
    """
    rows = [(parsed(options), place) for options, place in images if options is not None]
    for name in dict.fromkeys(name for options, _ in rows for name in options):
        places = grouped((options.get(name), place) for options, place in rows)
        if len(places) > 1:
            yield Disagreement(name, tuple((v, tuple(found)) for v, found in places.items()))


def parsed(options: str | None) -> dict[str, str]:
    """Return names and values of ``-ftz=0 -maxreg 64 -generate-line-info`` (empty: no value)."""
    found: dict[str, str] = {}
    name = ""
    for word in (options or "").split():
        if word.startswith("-"):
            name, _, value = word.partition("=")
            found[name] = value
        elif name:
            found[name] = f"{found[name]} {word}".strip()
    return found
