"""The releases behind an image, as rules need them."""

from __future__ import annotations

from ltocompat.model.arch import Release
from ltocompat.model.errors import UsageError
from ltocompat.model.image import ImageKind, Role
from ltocompat.model.signature import ImageSignature

_NEWER_THAN = "newer than "


def ltoir_releases(image: ImageSignature) -> tuple[Release, ...]:
    """The releases that can have made LTO-IR, oldest first; empty outside of the tables."""
    return image.made_by[0].releases if image.made_by else ()


def beyond(image: ImageSignature) -> Release | None:
    """The newest release of our tables, where LTO-IR is newer than that."""
    version = image.made_by[0].version if image.made_by else None
    if version is None or not version.startswith(_NEWER_THAN):
        return None
    try:
        return Release.parse(version.removeprefix(_NEWER_THAN))
    except UsageError:
        return None


def writer(image: ImageSignature) -> Release | None:
    """The newest release whose tool wrote a cubin; None when nothing tells."""
    return max((release for maker in image.made_by for release in maker.releases), default=None)


def evidence(image: ImageSignature) -> str:
    """The bytes that say who made an image."""
    return "; ".join(dict.fromkeys(maker.evidence for maker in image.made_by)) or "nothing"


def said(image: ImageSignature) -> str:
    """An image and its maker, as the start of a sentence: ``LTO-IR made by 12.9``."""
    kind = "LTO-IR" if image.kind is ImageKind.LTOIR else str(image.kind).upper()
    if not image.made_by:
        return kind
    maker = image.made_by[-1]
    verb = "linked" if maker.role is Role.LINKER else "made"
    if maker.version is not None and not maker.version[0].isdigit():
        return f"{kind} {verb} by a compiler {maker.version}"
    return f"{kind} {verb} by {maker.version or one_of(maker.releases)}"


def one_of(releases: tuple[Release, ...]) -> str:
    """``13.3, 13.4 or 13.5``."""
    if not releases:
        return "an unknown release"
    *most, last = map(str, releases)
    return f"{', '.join(most)} or {last}" if most else last


def major_range(release: Release) -> str:
    """The versions that NVIDIA promises to link code of a release: ``>=12.4,<13``."""
    return f">={release},<{release.major + 1}"
