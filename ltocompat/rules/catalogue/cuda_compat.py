"""cuda-compat: a newer user-mode driver in front of an older kernel driver (CMP)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ltocompat.facts import drivers
from ltocompat.model.verdict import Verdict
from ltocompat.rules.constraints import COMPAT_GPU, COMPAT_LINUX, COMPAT_NEWER, COMPAT_PAIR
from ltocompat.rules.rule import Constraint, Problem, Requirement, Rule, Subject, rule

if TYPE_CHECKING:
    from ltocompat.model.environment import Environment, UserDriver


def _wherever_code_runs(rule_id: str, constraint: Constraint) -> Rule:
    """A rule on the pair of cuda-compat and driver, for whatever is picked for the GPU."""

    def required(subject: Subject) -> Iterable[Requirement]:
        return (Requirement(constraint, "cuda-compat"),) if subject.picked else ()

    return rule(rule_id)(required)


@rule("CMP-01")
def compat_pair_not_provided(subject: Subject) -> Iterator[Requirement]:
    """cuda-compat goes with the kernel drivers that NVIDIA lists for it."""
    if subject.picked:
        packages, bases = tuple(drivers.compat_packages()), map(str, drivers.compat_bases())
        yield Requirement(
            COMPAT_PAIR,
            "cuda-compat",
            "NVIDIA doesn't list this package for this kernel driver (the list has packages "
            f"{packages[0]} to {packages[-1]} for kernel drivers {', '.join(bases)})",
        )


compat_on_supported_gpu = _wherever_code_runs("CMP-02", COMPAT_GPU)
compat_newer_than_kernel = _wherever_code_runs("CMP-03", COMPAT_NEWER)


@rule("CMP-04")
def compat_listed_always(environment: Environment) -> Iterator[Problem]:
    """cuda-compat is in front of every kernel driver."""
    kernel = environment.kernel_driver
    for folder in environment.compat_folders:
        if not folder.listed_by:
            continue
        copy = folder.driver
        driver = f" {copy.version}" if copy.version else ""
        beneath = "any driver of the host" if kernel is None else "the driver, even after an update"
        yield Problem(
            Verdict.UNKNOWN if kernel is None else Verdict.OK,
            f"because of {' and '.join(folder.listed_by)}, the loader finds the libcuda{driver} of "
            f"cuda-compat before {beneath}: if the driver isn't older, CUDA fails with error 803",
            evidence=copy.path,
        )


@rule("CMP-05")
def compat_incomplete(environment: Environment) -> Iterator[Problem]:
    """cuda-compat is libcuda together with the libraries that it opens to compile."""
    copies = [(folder.driver, folder.in_front) for folder in environment.compat_folders]
    front = environment.user_driver
    if front and front.is_compat and all(copy.real != front.real for copy, _ in copies):
        copies.append((front, True))
    for copy, in_use in copies:
        wrong = list(_wrong_siblings(copy))
        if wrong:
            yield Problem(
                Verdict.UNKNOWN if in_use else Verdict.OK,
                f"the cuda-compat libcuda {copy.path} {' and '.join(wrong)}: code that the driver "
                "has to compile (PTX, LTO-IR) fails with error 221",
                evidence=copy.real,
            )


def _wrong_siblings(copy: UserDriver) -> Iterator[str]:
    if copy.missing:
        yield f"has no {' and no '.join(copy.missing)} in its folder"
    for sibling in copy.siblings:
        if sibling.path and sibling.version and copy.version and sibling.version != copy.version:
            yield f"is {copy.version}, but {sibling.name} in its folder is {sibling.version}"


@rule("CMP-06")
def compat_without_graphics(environment: Environment) -> Iterator[Problem]:
    """cuda-compat shares nothing with OpenGL and Vulkan."""
    driver = environment.user_driver
    if driver is not None and driver.is_compat_package:
        yield Problem(
            Verdict.OK,
            f"{driver.path} is cuda-compat, which can't share memory with OpenGL and Vulkan",
            evidence="; ".join(driver.compat),
        )


compat_on_linux = _wherever_code_runs("CMP-07", COMPAT_LINUX)
