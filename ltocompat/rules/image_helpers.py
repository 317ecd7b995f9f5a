"""The images of one kind that go one route, and why code with a suffix is not for a GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ltocompat.model.arch import SmArch
from ltocompat.model.image import ImageKind
from ltocompat.model.signature import ImageSignature, ModuleSignature
from ltocompat.model.target import Gpu
from ltocompat.model.verdict import Route
from ltocompat.model.words import truncate_list
from ltocompat.rules.link_selection import pick_for_linkers_alike
from ltocompat.rules.rule import Requirement, Rule, Subject, rule
from ltocompat.rules.selection import SelectionFailure, family, same_arch


def loaded(subject: Subject, *kinds: ImageKind) -> Iterator[ImageSignature]:
    """Yield the images of these kinds, or all, that the driver loads without a link."""
    return _picked(subject, Route.LOAD, kinds)


def linked(subject: Subject, *kinds: ImageKind) -> Iterator[ImageSignature]:
    """Yield the images of these kinds, or all, that a linker uses."""
    return _picked(subject, Route.LINK, kinds)


def _picked(
    subject: Subject, route: Route, kinds: tuple[ImageKind, ...]
) -> Iterator[ImageSignature]:
    if subject.route is route:
        yield from (image for image in subject.picked if not kinds or image.kind in kinds)


# Yields the requirements of one picked image.
OfImage = Callable[[ImageSignature, Subject], Iterator[Requirement]]


def per_image(rule_id: str, route: Route, *kinds: ImageKind) -> Callable[[OfImage], Rule]:
    """Register a function for a rule, for each image of these kinds, or of all, on a route."""

    def speaking(function: OfImage) -> Rule:
        def required(subject: Subject) -> Iterator[Requirement]:
            for image in _picked(subject, route, kinds):
                yield from function(image, subject)

        return rule(rule_id)(required)

    return speaking


def linker_name(subject: Subject) -> str:
    """``nvJitLink``, or ``nvlink`` of a device link."""
    return "nvlink" if subject.offline else "nvJitLink"


def real(gpu: Gpu) -> str:
    """``sm_90`` of a GPU, whatever its name and the suffix of links for it."""
    return f"sm_{gpu.arch.number}"


_MOST_NAMES = 3


def listed(names: Sequence[str]) -> str:
    """The first of some names: ``f, g, h and 4 more``."""
    return truncate_list(names, _MOST_NAMES)


def links(image: ImageSignature, gpu: Gpu) -> bool:
    """Return whether a linker accepts an image for a GPU if it is alone."""
    alone = ModuleSignature((image,), registered=None)
    return pick_for_linkers_alike(alone, gpu.arch, None).missed is not SelectionFailure.NOT_FOR_GPU


def not_this_arch(image: ImageSignature, gpu: Gpu, route: Route) -> str | None:
    """The reason why code with suffix ``a`` is not for a GPU; None if it is, or lacks it.

    A linker matches it with the whole name of its target, except for LTO-IR outside of fatbins.
    """
    arch = image.arch
    if arch is None or arch.suffix != "a":
        return None
    if route is Route.LINK and (image.in_fatbin or image.kind is not ImageKind.LTOIR):
        return None if links(image, gpu) else f"works only for the link target sm_{arch.number}a"
    if same_arch(arch.number) == same_arch(gpu.arch.number):
        return None
    return f"is for sm_{arch.number} only"


def not_this_family(image: ImageSignature, gpu: Gpu, route: Route) -> str | None:
    """The reason why code with suffix ``f`` is not for a GPU; None if it is, or lacks it."""
    arch = image.arch
    if arch is None or arch.suffix != "f":
        return None
    above = route is Route.LINK and arch.number > gpu.arch.number  # of sm_101, by its old name
    return f"is for {served(arch)} only" if above or not in_family(arch, gpu.arch.number) else None


def in_family(arch: SmArch, number: int) -> bool:
    """Return whether family-specific code of an architecture serves a GPU of this number."""
    lowest, gpu = same_arch(arch.number), same_arch(number)
    return lowest <= gpu and gpu in family(lowest)


def served(arch: SmArch) -> str:
    """``sm_103 and sm_107``: the GPUs that family-specific code of an architecture serves."""
    lowest = same_arch(arch.number)
    *most, last = [f"sm_{number}" for number in sorted(family(lowest)) if number >= lowest]
    return f"{', '.join(most)} and {last}" if most else last
