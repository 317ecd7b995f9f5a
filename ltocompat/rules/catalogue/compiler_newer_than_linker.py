"""ENV-05: LTO-IR of this machine's own compiler is too new for its own linker."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.model.verdict import Verdict
from ltocompat.rules import picked
from ltocompat.rules.constraints import FIRST_NVJITLINK
from ltocompat.rules.picked import Found
from ltocompat.rules.rule import Problem, Rule
from ltocompat.targets.machine.environment import Environment

_COMPILERS = {"nvrtc": "NVRTC", "nvvm": "libNVVM"}


def of_machine(environment: Environment) -> Iterator[Problem]:
    """One for each compiler that is newer than the linker which is found the same way."""
    textses = set()
    for way in picked.WAYS:
        for library, name in _COMPILERS.items():
            for compiler, linker in _pairs(environment, library, way):
                pair = (name, compiler.path, linker.path)
                if compiler.release > linker.release and pair not in textses:
                    textses.add(pair)
                    yield _flaw(name, compiler, linker)


def _pairs(environment: Environment, library: str, way: str) -> Iterator[tuple[Found, Found]]:
    """By cuda-pathfinder the first of each; by soname those of one major."""
    compilers = picked.every(environment, library, way)
    linkers = picked.every(environment, "nvJitLink", way)
    if way == picked.PATHFINDER:
        yield from zip(compilers[:1], linkers[:1], strict=False)
        return
    for compiler in compilers:
        for linker in linkers:
            if compiler.release.major == linker.release.major:
                yield compiler, linker


def _flaw(name: str, compiler: Found, linker: Found) -> Problem:
    major = compiler.release.major
    # NVIDIA's packages of CUDA 12 carry a suffix, those of later majors none.
    suffix = "-cu12" if major <= FIRST_NVJITLINK.major else ""
    return Problem(
        RULE.id,
        Verdict.UNKNOWN,
        f"{name} {compiler.version} is newer than nvJitLink {linker.version}, by {linker.by}: "
        "nvJitLink refuses the LTO-IR that it makes",
        f"install nvidia-nvjitlink{suffix}>={compiler.release},<{major + 1}, or the older {name}",
        f"{compiler.path}; {linker.path}",
    )


RULE = Rule(
    id="ENV-05",
    title="NVRTC or libNVVM newer than nvJitLink",
    statement="LTO-IR that a machine compiles while programs run (numba-cuda, cuda.core, cuDF, "
    "cuFFT callbacks) is of its own NVRTC or libNVVM, and LTO-01 holds for it: nvJitLink must not "
    "be older. Package managers allow the pair, since nvJitLink's packages aren't tied to the "
    "compiler's.",
    condition="What a way of loading finds for NVRTC or libNVVM is of a newer minor release than "
    "what it finds for nvJitLink.",
    evidence="What cuda-pathfinder and dlopen by soname find; the versions of those files.",
    verdict="unknown: LTO-IR fails, PTX and SASS don't",
    messages=(
        "may need newer version of nvJitLink library",
        "in nvvmAddNVVMContainerToProgram",
        "ERROR 4: nvvmAddNVVMContainerToProgram",
        "NVVM_ERROR_INVALID_INPUT (4) in nvvmAddNVVMContainerToProgram",
    ),
    remedy="Require an nvJitLink that is no older than the compilers.",
    source="numba issue 10353; numba-cuda pull request 809; measured: LTO-01",
    of_machine=of_machine,
)
