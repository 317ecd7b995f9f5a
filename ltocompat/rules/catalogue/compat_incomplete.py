"""CMP-05: cuda-compat is libcuda together with what it opens to compile."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.model.verdict import Verdict
from ltocompat.rules.rule import Problem, Rule
from ltocompat.targets.machine.environment import Environment, UserDriver


def of_machine(environment: Environment) -> Iterator[Problem]:
    """One for each copy of which something is missing, or of another version."""
    copies = [(folder.driver, folder.in_front) for folder in environment.compat_folders]
    front = environment.user_driver
    if front and front.is_compat and all(copy.real != front.real for copy, _ in copies):
        copies.append((front, True))
    for copy, in_use in copies:
        wrong = [*_missing(copy), *_others(copy)]
        if wrong:
            yield Problem(
                RULE.id,
                Verdict.UNKNOWN if in_use else Verdict.OK,
                f"the cuda-compat libcuda {copy.path} {' and '.join(wrong)}: what the driver has "
                "to compile (PTX, LTO-IR) fails with error 221",
                "install the whole package of cuda-compat instead of copying libcuda",
                copy.real,
            )


def _missing(copy: UserDriver) -> Iterator[str]:
    if copy.missing:
        yield f"has no {' and no '.join(copy.missing)} beside it"


def _others(copy: UserDriver) -> Iterator[str]:
    for sibling in copy.siblings:
        if sibling.path and sibling.version and copy.version and sibling.version != copy.version:
            yield f"has {sibling.name} {sibling.version} beside it, and is {copy.version} itself"


RULE = Rule(
    id="CMP-05",
    title="Incomplete cuda-compat",
    statement="libcuda opens libnvidia-ptxjitcompiler for PTX and libnvidia-nvvm for LTO-IR, from "
    "13.4 on also libnvidia-gpucomp and libnvidia-tileiras, each of its own version. A folder "
    "into which only libcuda was copied runs SASS and nothing else.",
    condition="Beside a cuda-compat libcuda one of them is missing, or is of another version.",
    evidence="Files of the folder and the versions in their names.",
    verdict="unknown where it is in front: PTX fails, SASS runs; else ok, with a note",
    messages=(
        "PTX JIT compiler library not found",
        "CUDA_ERROR_JIT_COMPILER_NOT_FOUND",
    ),
    remedy="Install the whole package (cuda-compat-13-0 and so on).",
    source="CUDA Compatibility guide, forward compatibility, r615 edition, table of files",
    of_machine=of_machine,
)
