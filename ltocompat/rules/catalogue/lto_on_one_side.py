"""BLD-05: link-time optimisation takes -dlto at the compilation and at the device link."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.model.image import ImageKind, Role
from ltocompat.model.signature import ImageSignature
from ltocompat.rules import image_helpers
from ltocompat.rules.constraints import Remark
from ltocompat.rules.rule import Component, Requirement, Rule, Subject

_REMEDY = "give -dlto to every compilation and to the device link"


def requirements(subject: Subject) -> Iterator[Requirement]:
    """One for LTO-IR that waits for a device link, or that a device link left aside."""
    if subject.signature.needs_device_link:
        for _ in image_helpers.linked(subject, ImageKind.LTOIR):
            yield _remark("LTO-IR in an object", _waiting(subject))
            return
    waiting = (each_image for each_image in subject.signature.images if each_image.prelinked)
    if any(one.kind is ImageKind.LTOIR for one in waiting):
        for image in image_helpers.loaded(subject, ImageKind.SASS):
            if _linked_as_sass(image):
                yield _remark(
                    "SASS that nvlink linked",
                    "its objects have LTO-IR, of which the device link used none or only a part",
                )
                return


def _linked_as_sass(image: ImageSignature) -> bool:
    """The linker signs what it links out of SASS; what comes out of LTO-IR, ptxas alone signs."""
    return any(maker.role is Role.LINKER for maker in image.made_by)


def _waiting(subject: Subject) -> str:
    if any(image.kind is ImageKind.SASS for image in subject.signature.images):
        return "a device link without -dlto takes the SASS beside it, and says nothing"
    return "a device link without -dlto says: nvlink fatal : LTO objects found, use -dlto"


def _remark(subject: str, consequence: str) -> Requirement:
    return Requirement(
        Component.NONE, Remark(), RULE.id, subject, consequence, _REMEDY, "kinds of the images"
    )


RULE = Rule(
    id="BLD-05",
    title="-dlto on one side only",
    statement="Objects with LTO-IR need -dlto at the device link, too: with LTO-IR alone nvlink "
    "stops without it; with SASS beside the LTO-IR it links the SASS and says nothing. The "
    "finished file still shows it: what nvlink makes of SASS carries its note, and what becomes "
    "of LTO-IR only that of ptxas.",
    condition="An object with LTO-IR waits for its device link; or the objects of a finished file "
    "have LTO-IR, and its SASS was linked by nvlink.",
    evidence="Kinds of the images, and the tkinfo note of the linked SASS.",
    verdict="ok, with a note",
    messages=(
        "nvlink fatal : LTO objects found, use -dlto",
        "nvlink warning : Ignoring -dlto option because no LTO objects found",
        "nvlink info : requested LTO but 'x.o' not built for LTO so doing partial LTO",
    ),
    remedy="Give -dlto to every compilation (with an explicit list of architectures, not "
    "all-major or native) and to the device link.",
    source="measured: objects of nvcc 13.0.88 with LTO-IR, SASS and both, linked with and without "
    "-dlto; AMReX issue 5631",
    requirements=requirements,
)
