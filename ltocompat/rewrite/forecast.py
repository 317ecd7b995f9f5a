"""Foretell what ``slim`` takes out: it is planned as ``slim`` plans it, and never written."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import BinaryIO

from msgspec.structs import replace

from ltocompat.files.byteview import ByteView
from ltocompat.files.output import scratch_folder
from ltocompat.model.errors import LtocompatError
from ltocompat.model.location import Location
from ltocompat.model.slimmed import CodeTally
from ltocompat.rewrite.kept_images import Kept
from ltocompat.rewrite.library import LibraryRewriter
from ltocompat.rewrite.package import written, written_in_place
from ltocompat.scan.walk import ScanSettings, batches_of_view


def foretold(path: str, kept: Kept, settings: ScanSettings) -> int | None:
    """Return the bytes that ``slim`` removes from a path; None if ``slim`` refuses it.

    Args:
        path: a file, package or folder.
        kept: the images to keep.
        settings: settings for reading it.
    """
    tally, settings = CodeTally(), replace(settings, progress=None)  # which told of one reading

    def planned(view: ByteView, place: Location, file: BinaryIO) -> bool:
        rewriter = LibraryRewriter(view, file, kept, None, tally)
        for batch in batches_of_view(view, Location(place.path), settings):
            rewriter.take(batch)
        return False

    with suppress(LtocompatError), scratch_folder() as scratch:
        copy = os.path.join(scratch, os.path.basename(path))
        in_place = written_in_place(path, copy, planned)
        with in_place if os.path.isdir(path) else written(path, copy, planned, None, settings):
            return tally.sizes.total()
    return None
