"""Why a link failed, where the log leaves it open: what the bytes of the inputs say decides."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ltocompat.model.arch import SmArch
from ltocompat.model.image import Image, ImageKind
from ltocompat.model.trial_answer import TOO_NEW
from ltocompat.rules.link_selection import LINKED, fits_alone
from ltocompat.rules.linker_traits import traits_of
from ltocompat.targets.linkers import Linker
from ltocompat.trial.logs import Reason

# Causes by ``logs.explain`` whose text names several possibilities.
_VAGUE = ("bad input", "bad ltoir", "ltoir unreadable")


def sharpened(reason: Reason, images: Iterable[Image], linker: Linker, target: SmArch) -> Reason:
    """Return the reason with the only possibility for these images; unchanged if it is exact.

    Args:
        reason: the reason from the log.
        images: the images in the refused input; if the log names none, in all inputs.
        linker: the linker that refused it.
        target: the target of the link.
    """
    if reason.cause not in _VAGUE:
        return _with_release(reason, images, linker)
    looked_at = tuple(images)
    for image in looked_at:
        if image.problems:
            return Reason("damaged", f"{_name(image)} is damaged: {image.problems[0]}")
        made = " and ".join(map(str, image.made_by))
        if _newer(image, linker, all):
            return Reason("newer", f"{_name(image)} was made by {made}, newer than this {linker}")
        if _newer(image, linker, any):
            return Reason(
                reason.cause,
                f"{_name(image)} was made by one of {made}; either "
                f"that compiler is newer than this {linker}, or the image is damaged",
            )
    for image in looked_at:
        if _for_another(image, target, linker):
            sentence = f"{_name(image)} is for a different architecture than the link's {target}"
            return Reason("other architecture", sentence)
    sentence = (
        f"{linker} can't use this input: its headers show no newer version and no other "
        "architecture, so the input is damaged"
    )
    return Reason("damaged", sentence) if looked_at else reason


def _with_release(reason: Reason, images: Iterable[Image], linker: Linker) -> Reason:
    """Name the release that made LTO-IR that is too new for the linker, if the bytes show it."""
    newer = [each for each in images if reason.cause == TOO_NEW and _newer(each, linker, all)]
    made = [f"{_name(each)} was made by {each.made_by[0]}" for each in newer[:1]]
    return Reason(TOO_NEW, f"{made[0]}, newer than this {linker}") if made else reason


def _name(image: Image) -> str:
    kind = "LTO-IR" if image.kind is ImageKind.LTOIR else str(image.kind).upper()
    return f"the {kind} for {image.arch}" if image.arch else f"the {kind}"


def _newer(image: Image, linker: Linker, how_many: Callable[[Iterable[bool]], bool]) -> bool:
    """Return whether the releases that can have made it, all or any, are newer than the linker."""
    return any(
        maker.releases and how_many(release > linker.release for release in maker.releases)
        for maker in image.made_by
    )


def _for_another(image: Image, target: SmArch, linker: Linker) -> bool:
    if image.arch is None or image.kind not in LINKED:
        return False
    return not fits_alone(image.kind, image.arch, target, traits_of(linker.release))
