"""PTX-08: where the driver may not or can't compile PTX, only SASS runs."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.model.verdict import Verdict
from ltocompat.rules.rule import Problem, Rule
from ltocompat.targets.machine.environment import Environment

VARIABLE = "CUDA_DISABLE_PTX_JIT"
COMPILER = "libnvidia-ptxjitcompiler"


def of_machine(environment: Environment) -> Iterator[Problem]:
    """One for the variable, one for a driver without its compiler."""
    value = environment.variable(VARIABLE)
    if value not in (None, "", "0"):
        yield Problem(
            RULE.id,
            Verdict.UNKNOWN,
            f"{VARIABLE}={value} forbids the driver to compile PTX: what is not SASS for the GPU "
            "fails with error 223",
            f"unset {VARIABLE}, unless it is to prove that no PTX is needed",
            f"environment variable {VARIABLE}",
        )
    driver = environment.user_driver
    if driver and not driver.is_compat and not driver.stub and COMPILER in driver.missing:
        yield Problem(
            RULE.id,
            Verdict.UNKNOWN,
            f"{driver.path} has no {COMPILER} beside it: PTX fails with error 221",
            "install the whole driver (in containers: NVIDIA_DRIVER_CAPABILITIES with compute)",
            driver.real,
        )


RULE = Rule(
    id="PTX-08",
    title="PTX compiler of the driver disabled or missing",
    statement="The driver compiles PTX with libnvidia-ptxjitcompiler, which it opens when it needs "
    "it. Without it PTX fails with error 221, and with CUDA_DISABLE_PTX_JIT=1 with error 223; SASS "
    "runs in both cases.",
    condition="The variable is set, or the library is not beside the libcuda that is loaded.",
    evidence="The environment; the folder of libcuda.",
    verdict="unknown: PTX fails, SASS runs",
    messages=(
        "PTX JIT compiler library not found",
        "CUDA_ERROR_JIT_COMPILER_NOT_FOUND",
        "PTX JIT compilation was disabled",
        "CUDA_ERROR_JIT_COMPILATION_DISABLED",
    ),
    remedy="Unset the variable, install the whole driver, or ship SASS for every GPU.",
    source="cuda.h; CUDA Compatibility guide, files of a driver",
    of_machine=of_machine,
)
