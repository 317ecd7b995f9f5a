"""LTO-10: cuda.core and numba-cuda mind the majors of driver and nvJitLink."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.model.verdict import Verdict
from ltocompat.rules import driver_release, floors, picked
from ltocompat.rules.rule import Problem, Rule
from ltocompat.targets.machine.environment import Environment

_CLIENTS = ("cuda-core", "numba-cuda")


def of_machine(environment: Environment) -> Iterator[Problem]:
    """One where such a package is installed."""
    driver = driver_release.of_user(environment)
    linker = picked.first(environment, "nvJitLink", picked.PATHFINDER)
    clients = sorted(
        {f"{wheel.name} {wheel.version}" for wheel in environment.wheels if wheel.name in _CLIENTS}
    )
    if driver is None or linker is None or not clients or driver.major == linker.release.major:
        return
    floor = floors.major(linker.release.major)
    newer = linker.release.major > driver.major and floor is not None
    yield Problem(
        RULE.id,
        Verdict.UNKNOWN,
        f"{' and '.join(clients)} with nvJitLink {linker.version} and a driver of CUDA {driver}: "
        "depending on its version it links LTO-IR, refuses it, or gives it to the driver's "
        "linker, which doesn't know it" + (f" (the result needs driver {floor})" if newer else ""),
        f"install the nvJitLink of the driver's major, {driver.major}",
        linker.path,
    )


RULE = Rule(
    id="LTO-10",
    title="Driver and nvJitLink of different majors under cuda.core or numba-cuda",
    statement="cuda.core compares the majors of the driver and of nvJitLink. One of its versions "
    "fell back to the driver's linker, which takes no LTO-IR; later ones raise an error for "
    "LTO-IR, and link everything else with the driver.",
    condition="cuda-core or numba-cuda is installed, and the nvJitLink that cuda-pathfinder finds "
    "is of another major than the driver.",
    evidence="Installed packages; the search of cuda-pathfinder; the CUDA release of libcuda.",
    verdict="unknown: it depends on the version of the package",
    messages=("Unknown code_type associated with ObjectCode: ltoir",),
    remedy="Install the nvJitLink of the driver's major.",
    source="cuda.core, _linker.pyx; cuda-python issue 2351 and pull request 2320",
    of_machine=of_machine,
)
