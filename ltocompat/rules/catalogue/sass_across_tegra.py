"""SASS-02: SASS of discrete GPUs and of integrated ones (Tegra) is not interchangeable."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.facts import gpus
from ltocompat.model.image import ImageKind
from ltocompat.model.signature import ImageSignature
from ltocompat.model.target import Gpu
from ltocompat.model.verdict import Route, Verdict
from ltocompat.rules import image_helpers
from ltocompat.rules.constraints import Always
from ltocompat.rules.rule import Component, Requirement, Rule, Subject
from ltocompat.rules.selection import runs, same_arch

_AMPERE = 8


def excludes(image: ImageSignature, gpu: Gpu, route: Route) -> str | None:
    """Where only this keeps SASS of the same major from a GPU."""
    del route
    arch = image.arch
    if image.kind is not ImageKind.SASS or arch is None or arch.suffix:
        return None
    mine, number = same_arch(arch.number), same_arch(gpu.arch.number)
    if mine // 10 != number // 10 or mine > number or runs(arch, number):
        return None
    return f"is for {_sort(mine)} GPUs, and sm_{number} is {_article(number)} one"


def requirements(subject: Subject) -> Iterator[Requirement]:
    """One for SASS of 8.x that crosses to or from a Tegra, which works without a promise."""
    for image in image_helpers.loaded(subject, ImageKind.SASS):
        its = subject.gpu.arch.number
        if image.arch is None or image.arch.number == its:
            continue
        if any(_tegra(number) and number // 10 == _AMPERE for number in (image.arch.number, its)):
            yield Requirement(
                Component.NONE,
                Always(Verdict.UNDOCUMENTED),
                RULE.id,
                f"SASS {image.arch} on {image_helpers.real(subject.gpu)}",
                "binary compatibility between discrete and integrated GPUs is not promised",
                f"add SASS for {image_helpers.real(subject.gpu)} itself",
                "architecture of the image",
            )


def _tegra(number: int) -> bool:
    row = gpus.sm(number)
    return row is not None and row.tegra


def _sort(number: int) -> str:
    return "integrated" if _tegra(number) else "discrete"


def _article(number: int) -> str:
    return "an integrated" if _tegra(number) else "a discrete"


RULE = Rule(
    id="SASS-02",
    title="SASS between discrete and integrated GPUs",
    statement="Integrated GPUs (Tegra: Jetson, DRIVE) have compute capabilities of their own: 5.3, "
    "6.2, 7.2, 8.7, 8.8. Up to 7.2 their SASS doesn't go with that of discrete GPUs of the same "
    "major, either way. Within 8.x it does where it was tried, but NVIDIA doesn't promise it.",
    condition="One of the SASS and the GPU is for an integrated GPU, and the numbers differ.",
    evidence="The architecture in the fatbin entry, or the header of the cubin.",
    verdict="not picked up to 7.2; undocumented for 8.x",
    messages=("no kernel image is available for execution on the device",),
    remedy="Add SASS for exactly the compute capability of the Jetson (-gencode "
    "arch=compute_87,code=sm_87 for Orin).",
    source="CUDA programming guide, binary compatibility; measured: links across 5.0/5.3, 6.0/6.2, "
    "7.0/7.2/7.5 and 8.0/8.6/8.7/8.8/8.9; cupy pull request 6875",
    requirements=requirements,
    excludes=excludes,
)
