"""DRV-05: the open kernel module runs Turing and newer GPUs."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.facts.floors import floor
from ltocompat.model.verdict import Verdict
from ltocompat.rules.rule import Problem, Rule
from ltocompat.targets.machine.environment import Environment


def of_machine(environment: Environment) -> Iterator[Problem]:
    """One for each kind of GPU that is too old."""
    driver = environment.kernel_driver
    if driver is None or not driver.open or environment.jetson is not None:
        return
    least = int(floor("open-kernel-module-sm").value)
    for gpu in dict.fromkeys(environment.gpus):
        if gpu.arch is not None and gpu.arch.number < least:
            yield Problem(
                RULE.id,
                Verdict.FAIL,
                f"the kernel driver {driver.version} is made from the open modules, which don't "
                f"run {gpu.name} (compute capability {gpu.arch.major}.{gpu.arch.minor})",
                "install the proprietary kernel module of the same driver, up to branch 580",
                driver.source,
            )


RULE = Rule(
    id="DRV-05",
    title="GPU before Turing with the open kernel module",
    statement="NVIDIA's open kernel module needs the GPU System Processor, which GPUs have from "
    "Turing (7.5) on. It doesn't drive older ones.",
    condition="The kernel module is the open one, and a GPU is older than 7.5.",
    evidence="/proc/driver/nvidia/version says Open Kernel Module; the compute capability.",
    verdict="fail",
    messages=(
        "is not supported by open nvidia.ko because it does not include the required GPU",
        "it does not include the required GPU System Processor (GSP)",
        "not supported by open nvidia.ko",
    ),
    remedy="Install the proprietary kernel module (up to branch 580, the last one for these GPUs).",
    source="NVIDIA/open-gpu-kernel-modules, README; truenas-nvidia-drivers issue 20",
    of_machine=of_machine,
)
