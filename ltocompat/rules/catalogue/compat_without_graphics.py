"""CMP-06: cuda-compat shares nothing with OpenGL and Vulkan."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.model.verdict import Verdict
from ltocompat.rules import driver_release
from ltocompat.rules.rule import Problem, Rule
from ltocompat.targets.machine.environment import Environment


def of_machine(environment: Environment) -> Iterator[Problem]:
    """One where cuda-compat is in front."""
    driver = environment.user_driver
    if driver is not None and driver_release.of_compat_package(driver):
        yield Problem(
            RULE.id,
            Verdict.OK,
            f"{driver.path} is cuda-compat, which shares no memory with OpenGL and Vulkan",
            "use the driver's own libcuda for programs that do",
            "; ".join(driver.compat),
        )


RULE = Rule(
    id="CMP-06",
    title="cuda-compat with OpenGL or Vulkan interoperation",
    statement="Under forward compatibility CUDA can't share memory with OpenGL and Vulkan, and "
    "cuMemMap works only where two device attributes say so. Whether a program does that is not "
    "looked for.",
    condition="cuda-compat is in front of the driver.",
    evidence="The libcuda that the loader finds.",
    verdict="ok, with a note",
    messages=(),
    remedy="Update the driver on machines with programs that need it.",
    source="CUDA Compatibility guide, forward compatibility, r615 edition",
    of_machine=of_machine,
)
