"""Compressed files: tar archives (.tar.gz, .bz2, .xz, .lzma, .zst) and single files."""

from __future__ import annotations

import posixpath
import re

from ltocompat.files.archives import tar
from ltocompat.files.archives.member import ImageMembers, Member
from ltocompat.files.archives.spool import Spool
from ltocompat.files.archives.unpacking import Stream, unpacked
from ltocompat.files.byteview import ByteView
from ltocompat.files.codec import Input
from ltocompat.files.first_bytes import BLOCK, Packing, is_tar, names_image, packing_of
from ltocompat.files.images.cubin_header import parse_header
from ltocompat.model.errors import LimitExceeded, Malformed
from ltocompat.model.image import Skipped
from ltocompat.model.limits import Budget
from ltocompat.model.location import Location

_SUFFIX = re.compile(r"\.(?:gz|bz2|xz|lzma|zst)$", re.IGNORECASE)


def sniff(view: ByteView, budget: Budget) -> bool:
    """Return whether this is a compressed file; a single compressed cubin is an image."""
    packing = packing_of(view)
    return packing is not None and not (packing is Packing.ZSTD and _holds_cubin(view, budget))


def members(view: ByteView, place: Location, wanted: Location, budget: Budget) -> ImageMembers:
    """Yield the members of the archive, or the single file under the name without suffix."""
    source = Input(view)
    stream = Stream(unpacked(source, packing_of(view) or Packing.GZIP, budget))
    try:
        if names_image(stream.peek):
            from ltocompat.files.archives import container_of

            content = plain_image(view, budget)
            found = container_of(content, budget) or tar
            yield from found.members(content, place, wanted, budget)
        elif is_tar(stream.peek(BLOCK)):
            yield from tar.walk(tar.Unpacked(stream, source), place, wanted, budget)
        else:
            content = Spool().keep(stream.up_to(None), None)
            name = _SUFFIX.sub("", posixpath.basename(place.innermost.replace("\\", "/")))
            name = name if name not in ("", "-") else "content"
            yield Member(place.member(name), content, source.position)
    except LimitExceeded:
        raise
    except Malformed as error:
        yield Skipped(place, str(error), view.size)


def plain_image(view: ByteView, budget: Budget) -> ByteView:
    """Return the archive of an image, unpacked if it was compressed; any other file unchanged.

    Raises:
        Malformed: there is no room for it, or it is truncated.
    """
    packing = packing_of(view)
    stream = None if packing is None else Stream(unpacked(Input(view), packing, budget))
    if stream is None or not names_image(stream.peek):
        return view
    return Spool().keep(stream.up_to(None), None)  # the list of layers may come last


def unpacked_head(view: ByteView, size: int, budget: Budget) -> bytes:
    """Return the first ``size`` unpacked bytes of a compressed stream, fewer at its end.

    Raises:
        Malformed: it ends before, or is not a compressed stream.
    """
    return Stream(unpacked(Input(view), packing_of(view) or Packing.GZIP, budget)).peek(size)


def _holds_cubin(view: ByteView, budget: Budget) -> bool:
    """Return whether its first frame is an image by itself."""
    try:
        parse_header(next(unpacked(Input(view), Packing.ZSTD, budget), b""))
    except Malformed:
        return False
    return True
