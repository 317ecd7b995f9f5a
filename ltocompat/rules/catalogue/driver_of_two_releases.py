"""ENV-02: nvidia-smi names the CUDA release of libcuda, not that of the kernel driver."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.model.verdict import Verdict
from ltocompat.rules import driver_release
from ltocompat.rules.rule import Problem, Rule
from ltocompat.targets.machine.environment import Environment


def of_machine(environment: Environment) -> Iterator[Problem]:
    """One where both are known and differ."""
    kernel, user = environment.kernel_driver, environment.user_driver
    beneath = driver_release.of_kernel(environment)
    # The driver of WSL2 is that of Windows, whose branches the table doesn't name.
    if kernel is None or user is None or user.stub or environment.wsl2 or environment.jetson:
        return
    if beneath is None or user.cuda is None or beneath == user.cuda:
        return
    yield Problem(
        RULE.id,
        Verdict.OK,
        f"kernel driver {kernel.version} is of CUDA {beneath}, and libcuda of {user.cuda} "
        f"({user.cuda_source}): nvidia-smi shows both in one line",
        "go by the driver version where GPUs and error 803 are concerned, and by CUDA where PTX is",
        f"{kernel.source}; {user.path}",
    )


RULE = Rule(
    id="ENV-02",
    title="libcuda of another CUDA release than the kernel driver",
    statement="With cuda-compat in front nvidia-smi shows the kernel's driver version beside the "
    "CUDA version of cuda-compat. The first decides which GPUs work and whether the pair is "
    "allowed, the second which PTX is read.",
    condition="The CUDA release of the libcuda that is loaded is not that of the kernel driver's "
    "branch.",
    evidence="The kernel driver's version, and cuDriverGetVersion or the note of libcuda.",
    verdict="ok, with a note",
    messages=(),
    remedy="Nothing by itself; CMP-01 to CMP-03 say whether the pair works.",
    source="table of driver branches; faster-whisper issue 653",
    of_machine=of_machine,
)
