"""The releases behind an image, as rules need them."""

from __future__ import annotations

from ltocompat.facts import ltoir, toolkits
from ltocompat.model.arch import Release
from ltocompat.model.image import ImageKind, Role
from ltocompat.model.signature import ImageSignature
from ltocompat.rules.constraints import FIRST_NVJITLINK

# Below sm_100 only CUDA 13 writes cubins of the second generation; from there on 12.8 and 12.9 do.
_WRITTEN_BY_12 = 100


def ltoir_releases(image: ImageSignature) -> tuple[Release, ...]:
    """Return the possible releases of LTO-IR, oldest first; empty outside of the tables."""
    return image.made_by[0].releases if image.made_by else ()


def above(image: ImageSignature) -> Release | None:
    """Return the newest release older than LTO-IR, if no known release can have made it."""
    if image.ltoir is None or ltoir_releases(image):
        return None
    below, above = ltoir.around(image.ltoir)
    return below[-1] if below != above and below else None


def newest_maker(image: ImageSignature) -> Release | None:
    """Return our newest release, if both it and a later one may have made LTO-IR.

    Releases often keep the container of the one before, and scrambled LTO-IR shows only that.
    """
    by_container = image.ltoir is not None and image.ltoir.nvvm_ir is None
    newest = ltoir.releases()[-1]
    return newest if by_container and newest in ltoir_releases(image) else None


def writer(image: ImageSignature) -> Release | None:
    """Return the newest release whose tool wrote a cubin; None if unknown."""
    return max((release for maker in image.made_by for release in maker.releases), default=None)


def major(image: ImageSignature) -> int:
    """Return the oldest CUDA major whose drivers may load SASS or PTX; 0 if unknown."""
    release = toolkits.ptx_cuda(image.isa or "") if image.kind is ImageKind.PTX else writer(image)
    return release.major if release else 0


def only_cuda_13_writes(image: ImageSignature) -> bool:
    """Return whether a cubin has the form (ELF ABI 8) that CUDA 12 never wrote for it."""
    new = image.generation is not None and image.generation > 1
    return new and image.arch is not None and image.arch.number < _WRITTEN_BY_12


def evidence(image: ImageSignature) -> str:
    """Return the bytes that show the producer of an image."""
    return "; ".join(dict.fromkeys(maker.evidence for maker in image.made_by)) or "nothing"


def describe(image: ImageSignature) -> str:
    """Return an image and its maker, as the start of a sentence: ``LTO-IR made by 12.9``."""
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


def nvjitlink_for(release: Release) -> str:
    """Return the package that surely links code of a release: ``nvidia-nvjitlink>=13.3,<14``.

    The packages of CUDA 12 have a suffix, packages of later majors don't.
    """
    suffix = "-cu12" if release.major <= FIRST_NVJITLINK.major else ""
    return f"nvidia-nvjitlink{suffix}>={release},<{release.major + 1}"
