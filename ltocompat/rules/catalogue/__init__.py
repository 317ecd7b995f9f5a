"""The rules of the catalogue: a module a family, whose table of prose is in ``prose``."""

from __future__ import annotations

import functools

from ltocompat.model.image import Host
from ltocompat.rules.catalogue import (
    cuda_compat,
    device_link,
    driver,
    fatbin,
    image,
    ltoir,
    machine,
    nvjitlink_loading,
    package_contents,
    package_dependencies,
    package_promises,
    policy,
    ptx,
    sass,
)
from ltocompat.rules.rule import Requirement, Rule, Subject, nothing

__all__ = ["FAMILIES", "RULES", "requirements_of", "requirements_of_host", "rule"]

FAMILIES = (
    driver.FAMILY,
    ptx.FAMILY,
    sass.FAMILY,
    ltoir.FAMILY,
    fatbin.FAMILY,
    cuda_compat.FAMILY,
    nvjitlink_loading.FAMILY,
    device_link.FAMILY,
    machine.FAMILY,
    package_dependencies.FAMILY,
    package_contents.FAMILY,
    package_promises.FAMILY,
    policy.FAMILY,
    image.FAMILY,
)
"""All families, in the order of the catalogue."""

RULES: tuple[Rule, ...] = tuple(rule for family in FAMILIES for rule in family.rules)
"""All rules, in the order of the catalogue."""

_OF_MODULES = tuple(rule for rule in RULES if rule.requirements is not nothing)
_BY_ID = {rule.id: rule for rule in RULES}


def rule(rule_id: str) -> Rule:
    """The rule of this ID.

    Raises:
        KeyError: the catalogue has none, which is a mistake in the calling code.
    """
    return _BY_ID[rule_id]


@functools.lru_cache(maxsize=4096)  # the same for every target that has the GPU
def requirements_of(subject: Subject) -> tuple[Requirement, ...]:
    """What all rules find in a module on its way, each once."""
    found = (requirement for rule_ in _OF_MODULES for requirement in rule_.requirements(subject))
    return tuple(dict.fromkeys(found))


@functools.lru_cache(maxsize=256)  # the same for every target
def requirements_of_host(host: Host) -> tuple[Requirement, ...]:
    """What all rules find in a host file."""
    rules = (rule_.of_host for rule_ in RULES if rule_.of_host is not None)
    return tuple(requirement for of_host in rules for requirement in of_host(host))
