"""LTO-01: LTO-IR needs a linker whose minor release is no older than its compiler's."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.model.arch import Release
from ltocompat.model.image import ImageKind
from ltocompat.model.verdict import Route
from ltocompat.rules import makers
from ltocompat.rules.constraints import FIRST_NVJITLINK, LinkerNotOlderThan
from ltocompat.rules.rule import Component, Requirement, Rule, Subject


def requirements(subject: Subject) -> Iterator[Requirement]:
    """One for each LTO-IR image that is linked."""
    if subject.route is not Route.LINK:
        return
    for image in subject.picked:
        if image.kind is not ImageKind.LTOIR:
            continue
        releases = makers.ltoir_releases(image)
        yield Requirement(
            Component.LINKER,
            LinkerNotOlderThan(releases, makers.beyond(image)),
            RULE.id,
            makers.said(image),
            "the linker refuses LTO-IR that is newer than itself",
            f"{_raised(releases)}, or compile the LTO-IR with the target's toolkit"
            f"{_other_way(releases, subject.linker)}",
            makers.evidence(image),
            "its bytes leave these releases open, and a trial link decides (--trial-link)",
        )


def _other_way(releases: tuple[Release, ...], linker: Release | None) -> str:
    """What links across majors, where LTO-IR can't."""
    if linker is None or not releases or linker.major >= releases[-1].major:
        return ""
    return ", or ship PTX or relocatable SASS beside it, which link across majors"


def _raised(releases: tuple[Release, ...]) -> str:
    """The package to require, as far as the releases of the compiler are known."""
    if not releases:
        return "ask the linker with --trial-link"
    newest = releases[-1]
    # NVIDIA's packages of CUDA 12 carry a suffix, those of later majors none.
    suffix = "-cu12" if newest.major <= FIRST_NVJITLINK.major else ""
    perhaps = "" if len(releases) == 1 else f" (a trial may show that {releases[0]} is enough)"
    return f"require nvidia-nvjitlink{suffix}{makers.major_range(newest)}{perhaps}"


RULE = Rule(
    id="LTO-01",
    title="LTO-IR newer than the linker",
    statement="A linker takes LTO-IR only when its own minor release is not older than that of the "
    "compiler. The patch level makes no difference.",
    condition="The linker's minor release is older than that of the compiler. Where the bytes "
    "leave several releases and the linker lies among them, the verdict is unknown: a trial link "
    "decides.",
    evidence="The NVVM IR version in the header of LTO-IR names one release. The payload of a "
    "compressed fatbin entry is scrambled: then the container version leaves a set of releases.",
    verdict="fail; unknown where the set of releases straddles the linker",
    messages=(
        "may need newer version of nvJitLink library",
        "in nvvmAddNVVMContainerToProgram",
        "ERROR 4: nvvmAddNVVMContainerToProgram",
        "NVVM_ERROR_INVALID_INPUT (4) in nvvmAddNVVMContainerToProgram",
        "NVJITLINK_ERROR_OUTDATED_LIBRARY",
        "Dynamically loaded libnvJitLink.so.12 is too old",
        "libnvJitLink.so.12 is too old; it is version 12.2, need at least version 12.9",
        "we currently do not have any introspection capability to check the LTO IR version",
    ),
    remedy="Require an nvJitLink of at least the compiler's minor release and of its major "
    "(nvidia-nvjitlink>=13.3,<14), or compile the LTO-IR with the oldest toolkit that it must link "
    "with.",
    source="nvJitLink guide, section 5; measured: no exception in 4,800 links of 16 compilers with "
    "32 nvJitLinks",
    requirements=requirements,
)
