"""The rules of the catalogue: a module a family, whose table of prose is in ``prose``.

Rules are looked up by what they look at, so that a family is imported when something is judged that
it can speak of.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from ltocompat.model.image import HostBinary, ImageKind
from ltocompat.model.target import Gpu
from ltocompat.model.verdict import Route
from ltocompat.rules.rule import Requirement, Rule, Subject

# The families that have rules which look at a type of things.
_LOOK_AT = {
    "Subject": "driver ptx sass ltoir fatbin cuda_compat device_link image",
    "ImageSignature": "ptx sass ltoir fatbin device_link",
    "Link": "ltoir device_link",
    "Gpu": "driver",
    "HostBinary": "driver ptx nvjitlink_loading device_link",
    "Environment": "driver ptx ltoir cuda_compat nvjitlink_loading device_link machine",
    "Library": "nvjitlink_loading",
    "ArtifactSummary": "ptx sass ltoir image",
    "Shipped": "package_dependencies package_contents package_promises image",
    "Installed": "package_dependencies package_promises",
    "ShippedImage": "package_promises",
}

# Families whose rules judge loaded code only if it has an image of one of these kinds.
_SPEAK_OF = {
    "ptx": {ImageKind.PTX, ImageKind.SASS},  # of SASS without PTX, too
    "sass": {ImageKind.SASS},
    "ltoir": {ImageKind.LTOIR},
    "device_link": {ImageKind.LTOIR},
}


@functools.cache
def _rules_of(family: str) -> tuple[Rule, ...]:
    """The rules of a family, in the order in which they stand in its module."""
    module = import_module(f"{__name__}.{family}")
    return tuple(found for found in vars(module).values() if isinstance(found, Rule))


@functools.cache
def rules_about(what: str, kinds: frozenset[ImageKind] | None = None) -> tuple[Rule, ...]:
    """Return the rules for a type of objects, in the order of the catalogue.

    Args:
        what: the type, by its name: ``HostBinary``.
        kinds: the kinds of images in loaded code; None: any code, or none.
    """
    names = [
        name
        for name in _LOOK_AT[what].split()
        if kinds is None or name not in _SPEAK_OF or kinds & _SPEAK_OF[name]
    ]
    return tuple(rule for name in names for rule in _rules_of(name) if what in rule.looks_at)


def found_about(
    what: str, looked_at: object, kinds: frozenset[ImageKind] | None = None
) -> Iterator[Any]:
    """Yield the requirements or problems from the rules for a type of objects."""
    for rule in rules_about(what, kinds):
        for found in rule.function(looked_at):
            yield found.by(rule.id)


def requirements_of(subject: Subject) -> tuple[Requirement, ...]:
    """Collect the requirements of a module on its route, each once."""
    kinds = None if subject.route is Route.LINK else subject.signature.kinds
    of_gpu = requirements_of_gpu(subject.gpu) if subject.picked else ()
    return tuple(dict.fromkeys((*found_about("Subject", subject, kinds), *of_gpu)))


def requirements_of_gpu(gpu: Gpu) -> tuple[Requirement, ...]:
    """Collect the requirements of everything that runs on a GPU."""
    return tuple(found_about("Gpu", gpu))


def requirements_of_host(host: HostBinary) -> tuple[Requirement, ...]:
    """Collect the requirements of a host file."""
    return tuple(found_about("HostBinary", host))
