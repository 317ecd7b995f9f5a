"""CMP-04: cuda-compat on the loader's way for every driver beneath."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.model.verdict import Verdict
from ltocompat.rules.rule import Problem, Rule
from ltocompat.targets.machine.environment import Environment


def of_machine(environment: Environment) -> Iterator[Problem]:
    """One for each folder that a search path lists."""
    kernel = environment.kernel_driver
    for folder in environment.compat_folders:
        if not folder.listed_by:
            continue
        copy = folder.driver
        driver = f" {copy.version}" if copy.version else ""
        beneath = "whatever driver the host has" if kernel is None else "after a driver update, too"
        yield Problem(
            RULE.id,
            Verdict.UNKNOWN if kernel is None else Verdict.OK,
            f"{' and '.join(folder.listed_by)} put{'s' if len(folder.listed_by) == 1 else ''} "
            f"the libcuda{driver} of cuda-compat in front, {beneath}: on one that is as new or "
            "newer every program fails with error 803",
            "let the container toolkit choose (it takes compat only where it is newer), or test "
            "the driver's version at the start",
            copy.path,
        )


RULE = Rule(
    id="CMP-04",
    title="cuda-compat in front of every driver",
    statement="A file of ld.so.conf.d or an LD_LIBRARY_PATH with a compat folder puts its libcuda "
    "in front of any driver. That is right on hosts whose driver is older; on newer ones it fails "
    "with error 803, and on GeForce with 804.",
    condition="A folder with a cuda-compat libcuda is listed in ld.so.conf.d or LD_LIBRARY_PATH.",
    evidence="Files of ld.so.conf.d, LD_LIBRARY_PATH, and what lies in those folders.",
    verdict="unknown in an image, whose host isn't known; ok, with a note, on a machine (CMP-01 to "
    "CMP-03 judge its driver)",
    messages=(
        "Error 803: system has unsupported display driver / cuda driver combination",
        "system has unsupported display driver / cuda driver combination",
    ),
    remedy="Don't list the folder: the NVIDIA container toolkit takes /usr/local/cuda/compat by "
    "itself where it is newer than the host's driver.",
    source="vllm pull requests 33992, 34226; nvidia-container-toolkit pull requests 906, 1082",
    of_machine=of_machine,
)
