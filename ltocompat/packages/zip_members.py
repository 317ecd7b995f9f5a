"""Return whether a zip can hold device code at all, by its list of members."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from itertools import islice

from msgspec import Struct

from ltocompat.files.archives.zip import entries, find_end
from ltocompat.files.byteview import ByteView
from ltocompat.model.errors import Malformed
from ltocompat.model.limits import Budget

# Readers of device code look at libraries, objects, archives, images, and whatever has no
# suffix that says what it is. Of these suffixes it is known that they hold none.
_HARMLESS = frozenset(
    f".{suffix}"
    for line in (
        "bat bib c cc cfg cjs cls cmake conf cpp cs css csv cu cuh cxx diff eot f f03 f90 f95 gif",
        "gitignore go gpl h hh hpp htm html hxx i icns ico in inc inl ini ipynb j2 java jinja",
        "jinja2 jpeg jpg js json jsonl jsx less lark lock m make map md mdx mjs mo otf patch pc",
        "pdf pem php pl png po pot properties proto ps1 pth pxd pxi py pyc pyi pyx qml r rb rs rst",
        "scss sh sql strings svg swg swift tcl template tex tif tiff toml ts tsv tsx ttf txt typed",
        "ui webp woff woff2 xml xsd xsl yaml yml",
    )
    for suffix in line.split()
)
_HARMLESS_NAMES = (
    "authors", "changelog", "changes", "copying", "licence", "license", "metadata", "notice",
    "readme", "record", "requested", "wheel",
)  # fmt: skip
# The bytes of the smallest image, object or non-empty archive.
_SMALLEST = 64


class ZipMember(Struct, frozen=True):
    """A member: its name, and its number of unpacked bytes."""

    name: str
    size: int


def zip_members(view: ByteView, budget: Budget) -> list[ZipMember] | None:
    """Return the members in a zip's directory; None if it can't be read to its end.

    Only the end of the file is read.
    """
    most = budget.limits.members
    with suppress(Malformed):
        listed = budget.timed(entries(view, find_end(view)), slow=True)
        found = [ZipMember(entry.name, entry.unpacked) for entry in islice(listed, most + 1)]
        return found if len(found) <= most else None
    return None


def may_hold_device_code(members: Iterable[ZipMember]) -> bool:
    """Return whether a member may have device code; if so, its bytes have to be read."""
    names = (m.name.rpartition("/")[2].lower() for m in members if m.size >= _SMALLEST)
    parts = map(os.path.splitext, names)
    return not all(
        end in _HARMLESS or (not end and s.startswith(_HARMLESS_NAMES)) for s, end in parts
    )
