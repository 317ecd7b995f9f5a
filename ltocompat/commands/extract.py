"""Write device images as files of their own."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress

from msgspec import Struct

from ltocompat.commands.options import ExtractOptions, answers, named, public, with_failures
from ltocompat.files.fatbin import StoredImage
from ltocompat.files.output import write_new
from ltocompat.model.errors import Malformed, UsageError, restated
from ltocompat.model.failure import Failure
from ltocompat.model.image import Image, Skipped
from ltocompat.model.location import Location, refuse_address
from ltocompat.scan.describe import ReadOptions, describe
from ltocompat.scan.extract_bytes import cut, images_at
from ltocompat.scan.filters import ImageFilter

_UNSAFE = re.compile(r"[^\w.+-]+")


class Extracted(Struct, frozen=True):
    """One file that was written.

    Attributes:
        place: the place of the image in the input file.
        path: the new file.
        what: ``cubin``, ``ptx``, ``ltoir``, ``tileir``, ``fatbin`` or ``bin``.
        note: a note for the user; None if there is none.
    """

    place: Location
    path: str
    what: str
    note: str | None


@public(ExtractOptions, "*places")
def extract(options: ExtractOptions) -> Iterator[Extracted | Skipped]:
    """Write the images at these places into the folder ``output``, which is created if missing.

    Cubins and PTX are decoded before they are written. Scrambled LTO-IR is written as a fatbin
    with one entry; other LTO-IR is written raw. The name of each written file contains
    the name of the input, and the offset and architecture of the image. No file is overwritten, and
    no file is written outside the folder.

    Raises:
        UnreadableInput: a path can't be opened.
        UsageError: the folder can't be written, or a given path or place does not exist.
    """
    return answers(run(options), on_error=None)


def run(options: ExtractOptions) -> Iterator[Extracted | Skipped | Failure]:
    """Yield the files that ``extract`` writes; a place without a file is a ``Failure``."""
    refuse_address(options.output, "output")
    yield from with_failures(_extract_place(text, options) for text in named(options.places))


def _extract_place(text: str, options: ExtractOptions) -> Iterator[Extracted | Skipped]:
    place, directory = Location.parse(text), os.fspath(options.output)
    with restated(UsageError, f"the folder {directory!r} can't be created", OSError, brief=True):
        os.makedirs(directory, exist_ok=True)
    found = False
    for stored in images_at(place, options.settings):
        found = True
        if isinstance(stored, Skipped):
            yield stored
        else:
            yield from _extract_image(stored, directory, options.where)
    place.check_found(found=found)


def _extract_image(
    stored: StoredImage, directory: str, where: ImageFilter | None
) -> Iterator[Extracted | Skipped]:
    image, unread = describe(stored, ReadOptions())
    if where is not None and not where.matches(image):
        return
    try:
        piece = cut(stored)
    except Malformed as error:
        yield unread or Skipped(stored.entry.place, str(error), stored.entry.stored_size)
        return
    path = _write_new(directory, _stem(image), piece.what, piece.data)
    yield Extracted(stored.entry.place, path, piece.what, piece.note)


def _stem(image: Image) -> str:
    """A file name from the place and architecture: ``libx.so@0x40.3.sm_90a``."""
    place = image.place
    name = "-".join([os.path.basename(place.path), *place.members])
    where = "" if place.offset is None else f"@{place.offset:#x}"
    parts = [_UNSAFE.sub("_", name).lstrip(".")[-150:] + where, *map(str, place.entry)]
    return ".".join([*parts, str(image.arch)] if image.arch else parts)


def _write_new(directory: str, stem: str, suffix: str, data: bytes) -> str:
    """Write a file that did not exist before, under the first free name."""
    for number in range(10_000):
        path = os.path.join(directory, f"{stem}{f'-{number}' if number else ''}.{suffix}")
        with suppress(FileExistsError):
            write_new(path, data)
            return path
    raise UsageError(f"{directory!r} has 10,000 files named {stem}; extract into an empty folder")
