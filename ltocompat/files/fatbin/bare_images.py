"""Images without a fatbin around them: cubins, LTO-IR, and Zstandard frames that hold a cubin.

Compilers carry the same first bytes as constants, so that anything less than a whole, plausible
image raises ``Malformed``; the caller knows whether that is worth a word.
"""

from __future__ import annotations

from ltocompat.files.byteview import ByteView
from ltocompat.files.codec import Payload, zstd_frame
from ltocompat.files.fatbin import StoredImage
from ltocompat.files.images import cubin, ltoir
from ltocompat.model.image import Compression, ImageKind
from ltocompat.model.limits import Budget
from ltocompat.model.place import Place


def cubin_image(view: ByteView, place: Place, section: str | None, budget: Budget) -> StoredImage:
    """The cubin at the start of ``view``, which may go on behind it."""
    size = cubin.Cubin.parse(view, budget.limits).extent
    payload = Payload(view.sub(0, size), Compression.NONE, None, budget)
    return _image(place, section, ImageKind.SASS, payload)


def ltoir_image(
    view: ByteView, place: Place, section: str | None, budget: Budget, size: int | None
) -> StoredImage:
    """The LTO-IR at the start of ``view``.

    Its header has no length, so ``size`` comes from outside (the file's, or that of the symbol
    around it); None where nothing tells.
    """
    ltoir.parse(view.peek(0, ltoir.HEAD_SIZE))
    stored = view.sub(0, view.size if size is None else size)
    return damaged_ltoir_image(stored, place, section, budget)._replace(stored_size=size)


def damaged_ltoir_image(
    view: ByteView, place: Place, section: str | None, budget: Budget
) -> StoredImage:
    """A file that begins as LTO-IR does, whatever its header says: only a linker can tell."""
    payload = Payload(view, Compression.NONE, None, budget)
    return _image(place, section, ImageKind.LTOIR, payload)


def zstd_cubin_image(
    view: ByteView, place: Place, section: str | None, budget: Budget
) -> StoredImage:
    """The Zstandard frame at the start of ``view`` that holds a cubin (libcublasLt has some)."""
    stored_size, size = zstd_frame(view, 0)
    stored = view.sub(0, stored_size)
    first = Payload(stored, Compression.ZSTD, None, budget).prefix()
    first.grow(cubin.HEAD_SIZE)
    cubin.parse_header(first.data)
    return _image(place, section, ImageKind.SASS, Payload(stored, Compression.ZSTD, size, budget))


def _image(place: Place, section: str | None, kind: ImageKind, payload: Payload) -> StoredImage:
    return StoredImage(
        place=place,
        section=section,
        kind=kind,
        payload=payload,
        stored_size=payload.stored.size,
        compression=payload.compression,
    )
