"""What a trial link changes: it may lower a verdict and settle an unknown one, never more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ltocompat.arch import Release
from ltocompat.model import ImageKind
from ltocompat.traits import Shape, Traits

TOO_NEW = "ltoir too new"


@dataclass(frozen=True, slots=True)
class Tried:
    """What a linker did with a module, alone, for a GPU.

    Attributes:
        linker: exact version of the library.
        outcome: ``accepted`` (only added), ``linked``, ``refused``, ``crashed`` or ``timed out``.
        cause: short name of the reason of a refusal, as logs are read; None when it is not known.
        said: the reason in one sentence.
    """

    linker: str
    outcome: str
    cause: str | None = None
    said: str = ""

    @property
    def worked(self) -> bool:
        """The linker took it."""
        return self.outcome in ("accepted", "linked")

    @property
    def refused_for_age(self) -> bool:
        """The linker refused it as newer than itself."""
        return self.outcome == "refused" and self.cause == TOO_NEW


Trials = Mapping[tuple[Release, str], Tried]
"""By the release of the linker and the target of the link (``sm_90``)."""


def narrowed(shape: Shape, linker: Release, tried: Tried) -> Shape:
    """The module with the releases of its LTO-IR that the linker's answer leaves."""
    if not tried.worked and not tried.refused_for_age:
        return shape
    images = tuple(_narrow(image, linker, tried) for image in shape.images)
    return shape if images == shape.images else replace(shape, images=images)


def _narrow(image: Traits, linker: Release, tried: Tried) -> Traits:
    if image.kind is not ImageKind.LTOIR or len(image.made_by) != 1:
        return image
    (maker,) = image.made_by
    older = tuple(one for one in maker.releases if one <= linker)
    newer = tuple(one for one in maker.releases if one > linker)
    if not older or not newer:
        return image
    left = older if tried.worked else newer
    said = "accepted" if tried.worked else "refused"
    version = str(left[0]) if len(left) == 1 else None
    evidence = f"{maker.evidence}, {said} by {linker}"
    return image._replace(
        made_by=(replace(maker, version=version, releases=left, evidence=evidence),)
    )
