"""ENV-08: the driver's own libcuda has to be of the kernel driver's version."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.model.verdict import Verdict
from ltocompat.rules import driver_release
from ltocompat.rules.rule import Problem, Rule
from ltocompat.targets.machine.environment import Environment


def of_machine(environment: Environment) -> Iterator[Problem]:
    """One where they differ, and cuda-compat isn't why."""
    kernel, user = environment.kernel_driver, environment.user_driver
    if kernel is None or user is None or user.stub or user.version in (None, kernel.version):
        return
    # Windows' and Tegra's libcuda carry other numbers; packages of cuda-compat have their rules.
    if environment.wsl2 or environment.jetson or driver_release.of_compat_package(user):
        return
    older = user.version is not None and user.version < kernel.version
    yield Problem(
        RULE.id,
        Verdict.FAIL if older else Verdict.UNKNOWN,
        f"libcuda is {user.version} and the kernel driver {kernel.version}: "
        + (
            "every CUDA program fails with error 803"
            if older
            else "error 803, unless NVIDIA allows the pair as it does for cuda-compat"
        ),
        "restart the machine or reload the kernel module after a driver update; in containers let "
        "the container toolkit bring libcuda",
        f"{user.real}; {kernel.source}",
    )


RULE = Rule(
    id="ENV-08",
    title="libcuda and kernel driver of different versions",
    statement="libcuda and the kernel module of a driver belong together. After an update without "
    "a restart, or with a libcuda that was copied into an image, CUDA fails with error 803, and "
    "NVML with a version mismatch.",
    condition="The libcuda that is loaded has another version than the kernel driver, and lies in "
    "no folder of cuda-compat.",
    evidence="The version in the name of libcuda's file; the kernel driver's version.",
    verdict="fail for an older libcuda; unknown for a newer one",
    messages=(
        "Error 803: system has unsupported display driver / cuda driver combination",
        "system has unsupported display driver / cuda driver combination",
        "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
        "cudaErrorSystemDriverMismatch",
        "Failed to initialize NVML: Driver/library version mismatch",
    ),
    remedy="Restart after a driver update; leave libcuda to the driver and the container toolkit.",
    source="cuda.h; measured: libcuda 580.95.05 over kernel driver 580.159.04 gives 803",
    of_machine=of_machine,
)
