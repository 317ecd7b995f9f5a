"""CMP-07: cuda-compat is for Linux."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.rules.constraints_compat import CompatOnLinux
from ltocompat.rules.rule import Component, Requirement, Rule, Subject


def requirements(subject: Subject) -> Iterator[Requirement]:
    """One where something is picked."""
    if subject.picked:
        yield Requirement(
            Component.COMPAT,
            CompatOnLinux(),
            RULE.id,
            "cuda-compat",
            "forward compatibility exists on Linux only; in WSL 2, libcuda belongs to the driver "
            "of Windows",
            "leave cuda-compat out of the target and update the driver of Windows instead",
            "operating system of the target",
        )


RULE = Rule(
    id="CMP-07",
    title="cuda-compat on Windows or in WSL 2",
    statement="cuda-compat exists for Linux only. In WSL 2, libcuda comes with the driver of "
    "Windows, and no package can stand in front of it.",
    condition="The target is Windows or WSL 2 and names cuda-compat.",
    evidence="The operating system of the target.",
    verdict="fail: not applicable",
    messages=(),
    remedy="Leave cuda-compat out, and update the driver of Windows instead.",
    source="CUDA Compatibility guide, forward compatibility, r615 edition; CUDA on WSL guide",
    requirements=requirements,
)
