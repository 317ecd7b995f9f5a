"""ENV-06: PTX of this machine's own compiler is too new for its own driver."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.facts.ptx import cuda_ptx, ptx_cuda
from ltocompat.model.verdict import Verdict
from ltocompat.rules import driver_release, picked
from ltocompat.rules.rule import Problem, Rule
from ltocompat.targets.machine.environment import Environment

# libNVVM writes PTX or LTO-IR; NVRTC also SASS, which an older driver of its major runs.
_COMPILERS = {"nvvm": ("libNVVM", Verdict.UNKNOWN), "nvrtc": ("NVRTC", Verdict.OK)}


def of_machine(environment: Environment) -> Iterator[Problem]:
    """One for each compiler that is found first by one of the ways."""
    driver = driver_release.of_user(environment)
    words = set()
    for way in picked.WAYS if driver else ():
        for library, (name, verdict) in _COMPILERS.items():
            compiler = picked.first(environment, library, way)
            if driver is None or compiler is None or compiler.path in words:
                continue
            isa = cuda_ptx(compiler.release)
            least = ptx_cuda(isa) if isa else None
            if isa is None or least is None or least <= driver:
                continue
            words.add(compiler.path)
            yield Problem(
                RULE.id,
                verdict,
                f"{name} {compiler.version} by {compiler.by} writes PTX {isa}, and the driver of "
                f"CUDA {driver} reads PTX up to {cuda_ptx(driver) or 'an older one'}: error 222 "
                "where it is given to the driver",
                "let NVRTC make SASS (an sm_ architecture) or link the PTX with nvJitLink; or "
                f"install {name} {driver}, or a driver of CUDA {least}",
                compiler.path,
            )


RULE = Rule(
    id="ENV-06",
    title="NVRTC or libNVVM newer than the driver",
    statement="PTX that a machine compiles while programs run is of its own NVRTC or libNVVM, and "
    "PTX-01 holds for it: the driver reads PTX up to its own release.",
    condition="What a way of loading finds for NVRTC or libNVVM writes PTX of a newer CUDA release "
    "than the driver's.",
    evidence="What cuda-pathfinder and dlopen by soname find; the CUDA release of libcuda.",
    verdict="unknown for libNVVM (PTX fails, nvJitLink still links it); ok, with a note, for "
    "NVRTC, which can make SASS",
    messages=(
        "Call to cuLinkAddData results in CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
        "Unsupported .version 8.7; current version is '8.4'",
        "ptxas application ptx input, line 9; fatal : Unsupported .version",
    ),
    remedy="Link with nvJitLink instead of the driver (numba-cuda: the default from 0.30 on), make "
    "SASS with NVRTC, or keep the compiler at the driver's release.",
    source="numba-cuda issues 262, 163, 192; pylops pull request 753",
    of_machine=of_machine,
)
