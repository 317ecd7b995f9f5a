"""The rules of the catalogue: a module a family, whose table of prose is in ``prose``."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from ltocompat.model.image import Host
from ltocompat.rules.catalogue import (
    cuda_compat,
    device_link,
    driver,
    fatbin,
    image,
    ltoir,
    nvjitlink_loading,
    ptx,
    sass,
)
from ltocompat.rules.catalogue.family import Family
from ltocompat.rules.rule import Requirement, Rule, Subject, nothing

if TYPE_CHECKING:
    FAMILIES: tuple[Family, ...]
    """All families, in the order of the catalogue."""

    RULES: tuple[Rule, ...]
    """All rules, in the order of the catalogue."""

__all__ = ["FAMILIES", "OF_CODE", "RULES", "requirements_of", "requirements_of_host", "rule"]

OF_CODE = (
    driver.FAMILY,
    ptx.FAMILY,
    sass.FAMILY,
    ltoir.FAMILY,
    fatbin.FAMILY,
    cuda_compat.FAMILY,
    nvjitlink_loading.FAMILY,
    device_link.FAMILY,
    image.FAMILY,
)
"""The families with rules of modules and of host files: all that a short ``inspect`` imports."""

_OF_CODE_RULES = tuple(rule for family in OF_CODE for rule in family.rules)
_OF_MODULES = tuple(rule for rule in _OF_CODE_RULES if rule.requirements is not nothing)


@functools.cache
def _families() -> tuple[Family, ...]:
    from ltocompat.rules.catalogue import (
        machine,
        package_contents,
        package_dependencies,
        package_promises,
        policy,
    )

    return (
        *OF_CODE[:-1],
        machine.FAMILY,
        package_dependencies.FAMILY,
        package_contents.FAMILY,
        package_promises.FAMILY,
        policy.FAMILY,
        image.FAMILY,
    )


@functools.cache
def _by_id() -> dict[str, Rule]:
    return {rule.id: rule for family in _families() for rule in family.rules}


def __getattr__(name: str) -> tuple[Family, ...] | tuple[Rule, ...]:
    if name == "FAMILIES":
        return _families()
    if name == "RULES":
        return tuple(_by_id().values())
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def rule(rule_id: str) -> Rule:
    """The rule of this ID.

    Raises:
        KeyError: the catalogue has none, which is a mistake in the calling code.
    """
    return _by_id()[rule_id]


@functools.lru_cache(maxsize=4096)  # the same for every target that has the GPU
def requirements_of(subject: Subject) -> tuple[Requirement, ...]:
    """What all rules find in a module on its way, each once."""
    found = (requirement for rule_ in _OF_MODULES for requirement in rule_.requirements(subject))
    return tuple(dict.fromkeys(found))


@functools.lru_cache(maxsize=256)  # the same for every target
def requirements_of_host(host: Host) -> tuple[Requirement, ...]:
    """What all rules find in a host file."""
    rules = (rule_.of_host for rule_ in _OF_CODE_RULES if rule_.of_host is not None)
    return tuple(requirement for of_host in rules for requirement in of_host(host))
