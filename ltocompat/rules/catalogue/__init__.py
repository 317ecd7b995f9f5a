"""The rules of the catalogue: a module a family, whose table of prose is in ``prose``.

Rules are looked up by what they look at, so that a family is imported when something is judged that
it can speak of.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from ltocompat.model.image import HostBinary, ImageKind
from ltocompat.model.verdict import Route
from ltocompat.rules.prose import FAMILIES as _NAMES
from ltocompat.rules.rule import Requirement, Rule, Subject

if TYPE_CHECKING:
    from ltocompat.rules.catalogue.family import Family

    FAMILIES: tuple[Family, ...]
    """All families, in the order of the catalogue."""

    RULES: tuple[Rule, ...]
    """All rules, in the order of the catalogue."""

__all__ = [
    "FAMILIES",
    "RULES",
    "found_about",
    "requirements_of",
    "requirements_of_host",
    "rules_about",
]

_LOOK_AT = {
    "requirements": "driver ptx sass ltoir fatbin cuda_compat device_link image",
    "excludes": "ptx sass ltoir fatbin device_link",
    "of_link": "ltoir device_link",
    "of_host": "nvjitlink_loading device_link",
    "of_machine": "driver ptx ltoir cuda_compat nvjitlink_loading device_link machine",
    "of_library": "nvjitlink_loading",
    "of_artifact": "ptx sass ltoir image",
    "of_package": "package_dependencies package_contents package_promises image",
    "of_installed": "package_dependencies package_promises",
}
"""The families that have rules which look at a kind of thing: a decorator of ``Family``."""

_SPEAK_OF = {
    "ptx": {ImageKind.PTX, ImageKind.SASS},  # of SASS without PTX, too
    "sass": {ImageKind.SASS},
    "ltoir": {ImageKind.LTOIR},
    "device_link": {ImageKind.LTOIR},
}
"""Families that say nothing of what is loaded unless an image of such a kind is there."""


def _family(name: str) -> Family:
    found: Family = import_module(f"{__name__}.{name}").FAMILY
    return found


@functools.cache
def __getattr__(name: str) -> tuple[Family, ...] | tuple[Rule, ...]:
    if name == "FAMILIES":
        return tuple(map(_family, _NAMES))
    if name == "RULES":
        return tuple(rule for family in map(_family, _NAMES) for rule in family.rules)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@functools.cache
def rules_about(what: str, kinds: frozenset[ImageKind] | None = None) -> tuple[Rule, ...]:
    """The rules that look at a kind of thing, in the order of the catalogue.

    Args:
        what: the decorator of ``Family`` by which their functions were added: ``of_host``.
        kinds: of code that is loaded: the kinds of its images; None: any code, or none.
    """
    names = [
        name
        for name in _LOOK_AT[what].split()
        if kinds is None or name not in _SPEAK_OF or kinds & _SPEAK_OF[name]
    ]
    return tuple(rule for name in names for rule in _family(name).rules if what in rule.functions)


def found_about(
    what: str, looked_at: object, kinds: frozenset[ImageKind] | None = None
) -> Iterator[Any]:
    """Yield the requirements or problems that the rules find which look at a kind of thing."""
    for rule in rules_about(what, kinds):
        yield from rule.ask(what, looked_at)


@functools.lru_cache(maxsize=4096)  # the same for every target that has the GPU
def requirements_of(subject: Subject) -> tuple[Requirement, ...]:
    """Collect the requirements of a module on its way, each once."""
    kinds = frozenset(image.kind for image in subject.signature.images)
    found: dict[Requirement, None] = {}
    for rule in rules_about("requirements", None if subject.route is Route.LINK else kinds):
        for each in rule.functions["requirements"](subject):
            found[replace(each, rule=rule.id)] = None
    return tuple(found)


@functools.lru_cache(maxsize=256)  # the same for every target
def requirements_of_host(host: HostBinary) -> tuple[Requirement, ...]:
    """Collect the requirements of a host file."""
    return tuple(found_about("of_host", host))
