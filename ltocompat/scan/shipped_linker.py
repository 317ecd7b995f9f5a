"""LTO-IR in NVIDIA's own libraries of CUDA, which come with an nvJitLink that links it.

Of them more is known than of others. One nvcc writes all images of a region, so that the release of
the SASS there is that of the LTO-IR beside it; a version of a package is of one toolkit, which has
no newer LTO-IR; and the nvJitLink that the library asks for takes what is inside, whatever its own
major. Source: ``cuda-toolkit`` on PyPI pins both; the regions of cuSPARSE of CUDA 12.4 to 13.5.
"""

from __future__ import annotations

from msgspec.structs import replace

from ltocompat.facts.libraries import packages_with
from ltocompat.facts.toolkits import toolkit_with
from ltocompat.model.artifact_summary import ModuleGroup
from ltocompat.model.image import HostBinary, ImageKind
from ltocompat.model.library_name import library_major
from ltocompat.model.signature import ModuleSignature, made_by_some


def shipped_major(host: HostBinary) -> int | None:
    """Return the nvJitLink major that an NVIDIA library needs; None for any other file."""
    files = {
        each.file
        for each in host.libraries
        if each.name == "libnvJitLink" and each.file and each.how != "static"
    }
    known = len(files) == 1 and host.soname and packages_with(host.soname)
    return library_major(files.pop()) if known else None


def as_shipped(signature: ModuleSignature, major: int) -> ModuleSignature:
    """Return a module of a library shipped with an nvJitLink of this major."""
    beside = [
        release
        for image in signature.images
        if image.kind is ImageKind.SASS
        for maker in image.made_by
        for release in maker.releases
    ]
    known = made_by_some(signature, lambda release: release in beside, "; the SASS beside it")
    return replace(known, shipped_major=major if ImageKind.LTOIR in signature.kinds else None)


def of_toolkit(groups: list[ModuleGroup], package: str, version: str) -> list[ModuleGroup]:
    """Return modules of a CUDA library, whose LTO-IR is not newer than the library's toolkit.

    Args:
        groups: the modules; modules of other packages stay unchanged.
        package: the name of its package: ``nvidia-cusparse``.
        version: the version of that package.
    """
    if not any(group.signature.shipped_major for group in groups):
        return groups
    toolkit = toolkit_with(package, version)
    if toolkit is None:
        return groups
    why = f"; {package} {version} is from CUDA {toolkit}"
    return [
        replace(g, signature=made_by_some(g.signature, lambda release: release <= toolkit, why))
        for g in groups
    ]
