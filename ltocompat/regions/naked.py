"""Images without a fatbin around them: cubins, LTO-IR, and Zstandard frames that hold a cubin.

Each function looks at a hit and answers with the stored image, or None: compilers carry the same
bytes as constants, so that anything less than a whole, plausible image is not believed.
"""

from __future__ import annotations

from dataclasses import replace

from ltocompat.byteview import ByteView
from ltocompat.codec import Payload, zstd_frame
from ltocompat.errors import Malformed
from ltocompat.images import cubin, ltoir
from ltocompat.limits import Budget
from ltocompat.model import Compression, ImageKind
from ltocompat.place import Place
from ltocompat.regions import StoredImage


def cubin_image(
    view: ByteView, place: Place, section: str | None, budget: Budget
) -> StoredImage | None:
    """The cubin at the start of ``view``, which may go on behind it."""
    try:
        size = cubin.Cubin.parse(view, budget.limits).extent
        stored = view.sub(0, size)
    except Malformed:
        return None
    payload = Payload(stored, Compression.NONE, None, budget)
    return _image(place, section, ImageKind.SASS, payload)


def ltoir_image(
    view: ByteView, place: Place, section: str | None, budget: Budget, size: int | None
) -> StoredImage | None:
    """The LTO-IR at the start of ``view``; its header has no length, so ``size`` comes from outside
    (the file's, or that of the symbol around it)."""
    try:
        ltoir.parse(view.peek(0, ltoir.HEAD_SIZE))
        stored = view.sub(0, view.size if size is None else size)
    except Malformed:
        return None
    image = _image(place, section, ImageKind.LTOIR, Payload(stored, Compression.NONE, None, budget))
    return replace(image, stored_size=size)


def zstd_cubin_image(
    view: ByteView, place: Place, section: str | None, budget: Budget
) -> StoredImage | None:
    """The Zstandard frame at the start of ``view`` if a cubin is in it (as libcublasLt keeps some)."""
    try:
        stored_size, size = zstd_frame(view, 0)
        payload = Payload(view.sub(0, stored_size), Compression.ZSTD, size, budget)
        prefix = payload.prefix()
        prefix.grow(cubin.HEAD_SIZE)
        cubin.parse_header(prefix.data)
    except Malformed:
        return None
    return _image(place, section, ImageKind.SASS, payload)


def _image(place: Place, section: str | None, kind: ImageKind, payload: Payload) -> StoredImage:
    return StoredImage(
        place=place,
        section=section,
        kind=kind,
        payload=payload,
        stored_size=payload.stored.size,
        compression=payload.compression,
    )
