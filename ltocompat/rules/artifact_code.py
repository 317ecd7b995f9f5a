"""The device code of an artifact as a whole, as rules on what is missing from it look at it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ltocompat.model.arch import SmArch
from ltocompat.model.artifact_summary import ArtifactSummary, ModuleGroup
from ltocompat.model.image import KERNEL_KINDS, ImageKind
from ltocompat.model.signature import ImageSignature, ModuleSignature
from ltocompat.rules import makers
from ltocompat.rules.constraints import FIRST_NVJITLINK


def with_kernels(summary: ArtifactSummary) -> list[ModuleGroup]:
    """Return the modules that may have kernels: no launch needs others."""
    signatures = ((group, group.signature) for group in summary.groups)
    return [group for group, each in signatures if each.guarded or not without_kernels(each.images)]


def without_kernels(images: Iterable[ImageSignature]) -> bool:
    """Return whether the kernels of all SASS and PTX were counted, and none found."""
    counted = [image.has_kernels for image in images if image.kind in KERNEL_KINDS]
    return bool(counted) and all(flag is False for flag in counted)


def loaded_groups(summary: ArtifactSummary) -> list[ModuleGroup]:
    """Return the modules that programs load, without bare images that the user named."""
    return [
        group
        for group in with_kernels(summary)
        if group.signature.registered is not False
        and not group.signature.needs_device_link
        and not group.named
    ]


def counted(groups: Sequence[ModuleGroup]) -> dict[str, Any]:
    """Return fields of a finding or problem: the number of affected modules, and the first."""
    return {"module_count": sum(group.count for group in groups), "example": groups[0].example}


def archs(signatures: Iterable[ModuleSignature], kind: ImageKind) -> set[SmArch]:
    """Return the architectures for which modules have images of a kind."""
    return {
        image.arch
        for signature in signatures
        for image in signature.images
        if image.kind is kind and image.arch is not None
    }


def kinds(groups: Iterable[ModuleGroup]) -> Iterator[ImageKind]:
    """The kinds of their images."""
    return (image.kind for group in groups for image in group.signature.images)


def listed_archs(several: Iterable[SmArch]) -> str:
    """``sm_80, sm_90a``, in their order."""
    return ", ".join(map(str, sorted(several)))


def linked_by_driver(summary: ArtifactSummary) -> bool:
    """Return whether all its LTO-IR is of CUDA 11, and its libraries need only the driver.

    Then cuLinkAddData of the driver links it (cuda.h: CU_JIT_INPUT_NVVM), whatever is installed.
    """
    hosts = [host for host in summary.hosts if host.linked]
    asked = {library.name for host in hosts for library in host.libraries}
    calls_linker = any(host.nvjitlink_imports for host in hosts) or "libnvJitLink" in asked
    if calls_linker or "libcuda" not in asked:
        return False
    made = [
        makers.ltoir_releases(image)
        for group in summary.groups
        for image in group.signature.images
        if image.kind is ImageKind.LTOIR
    ]
    return bool(made) and all(releases and releases[-1] < FIRST_NVJITLINK for releases in made)
