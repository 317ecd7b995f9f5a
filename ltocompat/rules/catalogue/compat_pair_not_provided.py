"""CMP-01: cuda-compat goes with the kernel drivers that NVIDIA lists for it."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.facts import compat
from ltocompat.rules.constraints_compat import CompatPairProvided
from ltocompat.rules.rule import Component, Requirement, Rule, Subject


def requirements(subject: Subject) -> Iterator[Requirement]:
    """One where something is picked."""
    if subject.picked:
        yield Requirement(
            Component.COMPAT,
            CompatPairProvided(),
            RULE.id,
            "cuda-compat",
            f"the target's pair of package and kernel driver is not among those that NVIDIA "
            f"lists as usable (the list has {_rows()})",
            "take the newest cuda-compat package that the table lists for the kernel driver, or "
            "update the driver",
            "package and kernel driver of the target",
        )


def _rows() -> str:
    packages = compat.compat_packages()
    bases = ", ".join(map(str, compat.compat_bases()))
    return f"packages {packages[0]} to {packages[-1]} over kernel drivers {bases}"


RULE = Rule(
    id="CMP-01",
    title="cuda-compat over a kernel driver that it isn't provided for",
    statement="cuda-compat puts a newer user-mode driver in front of an older kernel driver. "
    "NVIDIA provides a package for long-lived kernel drivers only, and lists the pairs.",
    condition="The pair of package and kernel driver is not listed as usable.",
    evidence="The package and the kernel driver of the target.",
    verdict="fail where the table rules the pair out, unknown where it doesn't have it",
    messages=(
        "system has unsupported display driver / cuda driver combination",
        "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
        "cudaErrorSystemDriverMismatch",
    ),
    remedy="Take the newest package that is listed for the kernel driver, or update the driver.",
    source="CUDA Compatibility guide, forward compatibility, r615 edition",
    requirements=requirements,
)
