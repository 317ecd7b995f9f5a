"""ENV-04: the libcuda of a toolkit is there to be linked with, not to be run."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.model.verdict import Verdict
from ltocompat.rules.rule import Problem, Rule
from ltocompat.targets.machine.environment import Environment


def of_machine(environment: Environment) -> Iterator[Problem]:
    """One where it is what the loader finds."""
    driver = environment.user_driver
    if driver is not None and driver.stub:
        yield Problem(
            RULE.id,
            Verdict.FAIL,
            f"the loader finds {driver.path} by {driver.found_by}, which is a stub: every CUDA "
            "program fails with error 34",
            "take the folder stubs out of LD_LIBRARY_PATH and ld.so.conf.d; it is for -L of the "
            "linker only",
            driver.real,
        )


RULE = Rule(
    id="ENV-04",
    title="Stub of libcuda in front",
    statement="Toolkits bring a libcuda without code, in lib64/stubs, to link programs where no "
    "driver is. When the loader finds it before the driver's, every call answers with error 34.",
    condition="The libcuda.so.1 that the loader finds is a stub.",
    evidence="The search of the loader; a folder called stubs, or a small file without a driver's "
    "version in its name.",
    verdict="fail (error 34)",
    messages=(
        "CUDA_ERROR_STUB_LIBRARY",
        "cudaErrorStubLibrary",
        "CUDA driver is a stub library",
    ),
    remedy="Take the folder out of the loader's way; use it with -L only.",
    source="cuda.h; numba issue 9732",
    of_machine=of_machine,
)
