"""Which drivers no rule can tell apart on the way of an artifact: one of them is judged for all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ltocompat.model.arch import Release
from ltocompat.model.artifact_summary import ArtifactSummary
from ltocompat.model.signature import ModuleSignature
from ltocompat.model.target import DriverVersion, Gpu
from ltocompat.model.verdict import Route, Verdict
from ltocompat.rules.catalogue import requirements_of, requirements_of_host
from ltocompat.rules.rule import (
    Component,
    Constraint,
    Requirement,
    Subject,
    beside_picked,
)
from ltocompat.rules.selection import pick_for_driver, pick_for_linker

_OF_DRIVERS = (Component.DRIVER, Component.KERNEL)

Answers = tuple[tuple[Verdict, bool], ...]
"""What each constraint makes of a driver: the verdict, and whether it is worth a note."""


def constraints_on_drivers(
    summary: ArtifactSummary, gpu: Gpu, linker: Release
) -> tuple[Constraint, ...]:
    """All that rules may ask of a driver for an artifact on a GPU, by any route, each once.

    Args:
        summary: the artifact.
        gpu: the GPU.
        linker: what links it.
    """
    signatures = dict.fromkeys(group.signature for group in summary.groups)
    requirements = [r for signature in signatures for r in _of_module(signature, gpu, linker)]
    requirements += [r for host in summary.hosts for r in requirements_of_host(host)]
    of_drivers = (r.constraint for r in requirements if r.component in _OF_DRIVERS)
    return tuple(dict.fromkeys(of_drivers))


def answers_to(constraints: tuple[Constraint, ...], driver: DriverVersion) -> Answers:
    """What tells drivers apart: those with equal answers get equal verdicts."""
    return tuple((constraint.judge(driver), constraint.noted(driver)) for constraint in constraints)


def _of_module(signature: ModuleSignature, gpu: Gpu, linker: Release) -> Iterator[Requirement]:
    # Old drivers see no concatenated entries, and pick from what is left.
    plain = tuple(image for image in signature.images if not image.concatenated)
    for seen in dict.fromkeys((signature, replace(signature, images=plain))):
        pick = pick_for_driver(seen, gpu.arch.number)
        left = beside_picked(seen, pick.images)
        yield from requirements_of(Subject(left, Route.LOAD, gpu, pick.images, pick.missed))
    for release in (linker, None):  # what a linker is too old to know, the newest says
        pick = pick_for_linker(signature, gpu.arch, release)
        left = beside_picked(signature, pick.images)
        yield from requirements_of(Subject(left, Route.LINK, gpu, pick.images, pick.missed, linker))
