"""PTX ISA versions, as rules speak of them."""

from __future__ import annotations

from ltocompat.facts import ptx
from ltocompat.model.arch import Release
from ltocompat.model.signature import ImageSignature


def is_newer(isa: str | None) -> bool:
    """Whether an ISA version is above all that are known."""
    number = _number(isa)
    newest = _number(ptx.newest_ptx())
    return number is not None and newest is not None and number > newest


def first_beyond() -> Release:
    """A release that no known driver or linker reaches."""
    newest = newest_release()
    return Release(newest.major, newest.minor + 1)


def newest_release() -> Release:
    """The release of the newest ISA version that is known."""
    return ptx.ptx_cuda(ptx.newest_ptx()) or Release(0, 0)


def said(image: ImageSignature) -> str:
    """PTX by its ISA version, as the start of a sentence: ``PTX 9.2``."""
    return f"PTX {image.isa}" if image.isa else "PTX of an unknown version"


def doubt(image: ImageSignature) -> str:
    """Why an ISA version may not decide, as the end of a sentence."""
    if image.isa is None:
        return "its .version can't be read, which decides whether it compiles"
    if ptx.ptx_cuda(image.isa) is None and not is_newer(image.isa):
        return "there is no such version of PTX"
    return "one of both is newer than the tables"


def evidence(image: ImageSignature) -> str:
    """The bytes that say the ISA version."""
    if image.isa is None:
        return "no .version"
    return "version in the fatbin entry" if image.in_fatbin else f".version {image.isa}"


def _number(isa: str | None) -> tuple[int, ...] | None:
    parts = (isa or "").split(".")
    return tuple(map(int, parts)) if all(part.isdecimal() for part in parts) else None
