"""NJL-07: with two majors installed, NVRTC of one may meet nvJitLink of the other."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.model.arch import Release
from ltocompat.model.verdict import Verdict
from ltocompat.rules import picked
from ltocompat.rules.rule import Problem, Rule
from ltocompat.targets.machine.environment import Environment


def of_machine(environment: Environment) -> Iterator[Problem]:
    """One where both majors can be loaded; louder where the first that is found don't match."""
    reached: dict[int, list[str]] = {}
    for pick in environment.picks:
        if pick.version and pick.library in ("nvJitLink", "nvrtc"):
            major = Release.parse(pick.version).major
            reached.setdefault(major, []).append(f"{pick.library} {pick.version}")
    if len(reached) < 2:
        return
    mixed = [pair for way in picked.WAYS if (pair := _mixed(environment, way))]
    there = "; ".join(", ".join(sorted(set(names))) for _, names in sorted(reached.items()))
    text = "" if not mixed else f": {mixed[0]}"
    yield Problem(
        RULE.id,
        Verdict.UNKNOWN if mixed else Verdict.OK,
        f"two majors can be loaded ({there}); code that tries one file name after the other may "
        f"mix them{text}",
        "keep one major in the environment, or open NVRTC and nvJitLink by sonames of one major",
        "what each way of loading finds",
    )


def _mixed(environment: Environment, way: str) -> str | None:
    """The first NVRTC and the first nvJitLink that a way finds, where their majors differ."""
    compiler, linker = (picked.first(environment, name, way) for name in ("nvrtc", "nvJitLink"))
    if compiler is None or linker is None or compiler.release.major == linker.release.major:
        return None
    return f"{way} finds NVRTC {compiler.version} and nvJitLink {linker.version} first"


RULE = Rule(
    id="NJL-07",
    title="Two majors of NVRTC and nvJitLink",
    statement="libnvrtc.so.13 and libnvJitLink.so.12 can be in one process, and then LTO-IR of 13 "
    "meets a linker of 12. That happens to code which opens the first file name of a list that it "
    "finds, for each library by itself.",
    condition="NVRTC or nvJitLink of two majors can be loaded on a machine.",
    evidence="What dlopen by soname and cuda-pathfinder find for each name.",
    verdict="ok, with a note; unknown where the first that one way finds are of different majors",
    messages=(
        "may need newer version of nvJitLink library",
        "in nvvmAddNVVMContainerToProgram",
        "ERROR 4: nvvmAddNVVMContainerToProgram",
        "NVVM_ERROR_INVALID_INPUT (4) in nvvmAddNVVMContainerToProgram",
    ),
    remedy="Keep one major in an environment, or open both libraries by sonames of one major.",
    source="gs-madrona pull request 63; genesis-world issues 2089, 2133, 2814",
    of_machine=of_machine,
)
