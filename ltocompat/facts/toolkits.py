"""Contents of CUDA toolkits: the PTX ISA, and versions of their packages."""

from __future__ import annotations

import functools
from typing import Annotated

from msgspec import Struct

from ltocompat.facts import rows, table
from ltocompat.model.arch import Release, version_numbers
from ltocompat.model.projection import From


class PtxIsa(Struct, frozen=True, order=True, tag="ptx.isa"):
    """A version of the PTX ISA, and the CUDA release that introduced it."""

    cuda: Release
    isa: Annotated[tuple[int, ...], From(through=version_numbers)]


@functools.cache
def ptx_releases() -> dict[tuple[int, ...], Release]:
    """The versions of the PTX ISA, each with the CUDA release that introduced it, oldest first."""
    return {row.isa: row.cuda for row in sorted(rows(PtxIsa))}


def ptx_cuda(isa: str) -> Release | None:
    """Return the CUDA release that introduced a PTX ISA: 12.4 for 8.4; None if unknown.

    Drivers, nvJitLink, ptxas and nvPTXCompiler read such PTX from this release on.
    """
    known = {".".join(map(str, number)): cuda for number, cuda in ptx_releases().items()}
    return known.get(isa)


def cuda_ptx(cuda: Release) -> str | None:
    """Return the newest PTX ISA that a CUDA release reads: 8.5 for 12.6.

    A release newer than the table reads at least the newest row; None for a release before the
    first.
    """
    known = [isa for isa, release in ptx_releases().items() if release <= cuda]
    return ".".join(map(str, known[-1])) if known else None


@functools.cache
def pytorch_indexes() -> tuple[Release, ...]:
    """The CUDA releases for which PyTorch has an index of builds, oldest first."""
    return tuple(sorted(Release.parse(row["cuda"]) for row in table("pytorch")["index"]))


class TorchWheel(Struct, frozen=True, tag="pytorch.wheel"):
    """Versions of torch on PyPI that depend on libraries of one CUDA major.

    Attributes:
        first: the first version, e.g. ``2.1.0``.
        last: the last one.
        major: the major of CUDA.
    """

    first: str
    last: str
    major: int


class HostCompilers(Struct, frozen=True, tag="host_compilers.release"):
    """The newest host compilers that an nvcc accepts by default.

    Attributes:
        cuda: the release of nvcc.
        gcc: the major version of gcc.
        clang: the major version of clang.
        msvc: the last ``_MSC_VER``: 1939 is Visual Studio 2022 17.9.
    """

    cuda: Release
    gcc: int
    clang: int
    msvc: int


class RemovedName(Struct, frozen=True, tag="removed_api.name"):
    """A name of the CUDA runtime that newer releases removed.

    Attributes:
        name: ``cudaThreadSynchronize``, or a member of ``cudaDeviceProp``.
        last: the last release with the name.
        instead: its replacement.
    """

    name: str
    last: Release
    instead: str


@functools.cache
def removed_names() -> dict[str, RemovedName]:
    """Return every name that a release of the CUDA runtime removed."""
    return {row.name: row for row in rows(RemovedName)}


class OptixRelease(Struct, frozen=True, tag="optix.release"):
    """A release of OptiX and the driver that it needs.

    Attributes:
        optix: 8.0.
        abi: the number with which its headers request it from the driver.
        branch: the first driver branch with it.
    """

    optix: str
    abi: int
    branch: int


class ToolkitPin(Struct, frozen=True, tag="toolkit_pins.pin"):
    """A requirement of one version of the cuda-toolkit package.

    Attributes:
        toolkit: version of cuda-toolkit, e.g. ``13.0.3.0``.
        part: ``nvjitlink``, ``nvrtc``, ``cufft``, ``cusolver`` or ``cusparse``.
        package: name of the required package.
        specifier: the required versions: ``==13.0.88.*`` or ``>=13.0.88,<14``.
        extras: the extras of cuda-toolkit with this requirement.
    """

    toolkit: str
    part: str
    package: str
    specifier: str
    extras: Annotated[frozenset[str], From(through=frozenset)]


@functools.cache
def toolkit_with(package: str, version: str) -> Release | None:
    """Return the CUDA release of a library version: 13.3 for nvidia-cusparse 12.8.2.51.

    None for packages and versions that no cuda-toolkit pins.
    """
    pinned = f"=={version}.*"
    found = (pin for pin in rows(ToolkitPin) if (pin.package, pin.specifier) == (package, pinned))
    return next((Release.parse(pin.toolkit) for pin in found), None)
