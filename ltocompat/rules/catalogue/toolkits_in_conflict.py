"""ENV-03: CUDA_HOME, PATH, conda and wheels each lead to a toolkit."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ltocompat.model.arch import Release
from ltocompat.model.errors import UsageError
from ltocompat.model.verdict import Verdict
from ltocompat.rules.rule import Problem, Rule
from ltocompat.targets.machine.environment import Environment, InstalledPackage

_VARIABLES = ("CUDA_HOME", "CUDA_PATH", "PATH")
# Packages with the toolkit's version; libraries such as cuBLAS have numbers of their own.
_OF_TOOLKIT = re.compile(
    r"(?:nvidia-)?(?:cuda-(?:nvrtc|nvcc|version|toolkit)|nvjitlink)(?:-cu\d+)?"
)


def of_machine(environment: Environment) -> Iterator[Problem]:
    """One where what was chosen by hand differs from the others."""
    chosen = {
        f"{way} {toolkit.root}": Release.parse(toolkit.version)
        for toolkit in environment.toolkits
        for way in toolkit.reached
        if toolkit.version and way in _VARIABLES
    }
    brought = {
        **_packages("wheel", environment.wheels),
        **_packages("conda", environment.conda.packages if environment.conda else ()),
    }
    releases = set(chosen.values())
    others = set(brought.values())
    if not releases or (len(releases) == 1 and (not others or releases <= others)):
        return
    majors = {release.major for release in releases}
    apart = len(majors) > 1 or (bool(others) and not majors <= {other.major for other in others})
    text = ", ".join(f"{name}: {release}" for name, release in {**chosen, **brought}.items())
    yield Problem(
        RULE.id,
        Verdict.UNKNOWN if apart else Verdict.OK,
        f"several toolkits may be mixed ({text}); what compiles may not be what links and runs",
        "point CUDA_HOME, CUDA_PATH and PATH at one toolkit, that of the packages",
        "; ".join(chosen),
    )


def _packages(kind: str, packages: tuple[InstalledPackage, ...]) -> dict[str, Release]:
    found = {}
    for package in packages:
        if not _OF_TOOLKIT.fullmatch(package.name):
            continue
        try:
            found[f"{kind} {package.name}"] = Release.parse(package.version)
        except UsageError:
            continue
    return found


RULE = Rule(
    id="ENV-03",
    title="Toolkits in conflict",
    statement="Builds take nvcc from PATH or CUDA_HOME; cuda-pathfinder and the loader take "
    "libraries from wheels and conda first; CuPy, Numba and others read CUDA_PATH or CUDA_HOME. "
    "Where these lead to different releases, a newer compiler may meet an older linker or driver.",
    condition="CUDA_HOME, CUDA_PATH and the nvcc in PATH are of several releases, or of none that "
    "wheels and conda packages have.",
    evidence="Versions of toolkits and packages.",
    verdict="ok, with a note; unknown across majors",
    messages=(),
    remedy="Point CUDA_HOME, CUDA_PATH and PATH at one toolkit, or unset them.",
    source="cuda-pathfinder 1.9.0; pylops pull request 753",
    of_machine=of_machine,
)
