"""NVIDIA_REQUIRE_CUDA of a container image -> the drivers of all hosts that it admits."""

from __future__ import annotations

import re

from ltocompat.facts import drivers
from ltocompat.model.errors import UsageError
from ltocompat.model.target import DriverVersion, Quantifier, VersionSet
from ltocompat.targets.machine.container_conditions import ContainerHost, satisfied

_EXAMPLE = "container=cuda>=12.4"
_NUMBERED = r"(?:cuda|driver|arch)(?:!=|<=|>=|=|<|>)[0-9]{1,9}(?:\.[0-9]{1,9}){0,3}"
_CONDITION = rf"(?:{_NUMBERED}|brand!?=[a-z]+)"
_REQUIREMENT = re.compile(rf"{_CONDITION}(?:[ ,]{_CONDITION})*", re.ASCII | re.IGNORECASE)


def read_container(text: str, source: str) -> VersionSet[DriverVersion]:
    """The oldest driver of each branch with which an image starts, whatever the host's GPUs are.

    Args:
        text: the value of NVIDIA_REQUIRE_CUDA, or of NVIDIA_REQUIRE_DRIVER.
        source: who says so.

    Raises:
        UsageError: it can't be read, or admits no driver that is known.
    """
    if _REQUIREMENT.fullmatch(text.strip()) is None:
        raise UsageError(
            f"container={text} can't be read; write {_EXAMPLE}, as NVIDIA_REQUIRE_CUDA has it"
        )
    firsts = (_first_admitted(text.strip(), branch) for branch in drivers.driver_branches())
    found = [first for first in firsts if first is not None]
    if not found:
        raise UsageError(f"container={text} admits no driver that is known; write {_EXAMPLE}")
    return VersionSet(text, tuple(found), quantifier=Quantifier.ALL, source=source)


def _first_admitted(text: str, branch: int) -> DriverVersion | None:
    cuda = str(drivers.branch_cuda(branch))
    # A condition on brands and architectures admits hosts that have them.
    versions = {drivers.first_production(branch), *drivers.driver_releases(branch)}
    return next(
        (
            version
            for version in sorted(versions)
            if satisfied(text, ContainerHost(cuda=cuda, driver=str(version))) is not False
        ),
        None,
    )
