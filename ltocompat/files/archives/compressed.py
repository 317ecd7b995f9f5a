"""Compressed files: tar archives (.tar.gz, .tar.bz2, .tar.xz, .tar.zst) and single files."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from ltocompat.files.archives import tar
from ltocompat.files.archives.member import Member
from ltocompat.files.archives.spool import Spool
from ltocompat.files.archives.tar import BLOCK, is_header
from ltocompat.files.archives.unpacking import (
    GZIP_MAGIC,
    XZ_MAGIC,
    ZSTD_SKIPPABLE,
    Input,
    Packing,
    Stream,
    unpacked,
)
from ltocompat.files.byteview import ByteView
from ltocompat.files.codec import ZSTD_MAGIC
from ltocompat.files.images.cubin_header import parse_header
from ltocompat.model.errors import LimitExceeded, Malformed
from ltocompat.model.image import Skipped
from ltocompat.model.limits import Budget
from ltocompat.model.place import Place

# A stream begins with a block (the digits of pi) or is empty (the root of pi).
_BZIP2 = re.compile(rb"BZh[1-9](?:1AY&SY|\x17\x72\x45\x38\x50\x90)")
_SUFFIX = re.compile(r"\.(?:gz|bz2|xz|zst)$", re.IGNORECASE)
_HEAD = 16


class CompressedFormat:
    """One compressed stream, with an archive or a single file inside."""

    def sniff(self, view: ByteView, budget: Budget) -> bool:
        """Whether this is a compressed file; single compressed cubins are images, no containers."""
        packing = _packing(view)
        return packing is not None and not (packing is Packing.ZSTD and _holds_cubin(view, budget))

    def members(
        self, view: ByteView, place: Place, wanted: Place, budget: Budget
    ) -> Iterator[Member | Skipped]:
        """The members of the archive, or the single file, named as the whole without its suffix."""
        source = Input(view)
        stream = Stream(unpacked(source, _packing(view) or Packing.GZIP, budget))
        try:
            if is_header(stream.peek(BLOCK)):
                yield from tar.walk(tar.Unpacked(stream, source), place, wanted, budget)
            else:
                content = Spool().keep(stream.up_to(None), None)
                yield Member(place.member(_name(place)), content, source.position)
        except LimitExceeded:
            raise
        except Malformed as error:
            yield Skipped(place, str(error), view.size)


def _packing(view: ByteView) -> Packing | None:
    head = view.peek(0, _HEAD)
    if head.startswith(GZIP_MAGIC):
        return Packing.GZIP
    if _BZIP2.match(head):
        return Packing.BZIP2
    if head.startswith(XZ_MAGIC):
        return Packing.XZ
    if head.startswith(ZSTD_MAGIC) or ZSTD_SKIPPABLE.match(head):
        return Packing.ZSTD
    return None


def _holds_cubin(view: ByteView, budget: Budget) -> bool:
    """Whether its first frame is an image by itself."""
    try:
        parse_header(next(unpacked(Input(view), Packing.ZSTD, budget), b""))
    except Malformed:
        return False
    return True


def _name(place: Place) -> str:
    name = _SUFFIX.sub("", posixpath.basename(place.innermost.replace("\\", "/")))
    return name if name not in ("", "-") else "content"
