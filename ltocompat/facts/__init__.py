"""Tables of facts as TOML files, each row with its source; read on first use, never at import."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from ltocompat.facts.tables import table
from ltocompat.model.arch import Release


@dataclass(frozen=True, slots=True)
class NvJitLinkWheel:
    """One wheel of nvJitLink, as published.

    Attributes:
        release: minor release of the library, 12.4.
        version: 12.4.127.
        package: name of the package.
        platform: ``linux-x86_64``, ``linux-aarch64`` or ``win-amd64``.
        size: bytes of the wheel.
        wheel_sha256: of the wheel.
        library: the library's path in the wheel.
        library_size: its bytes.
        library_sha256: of the library.
    """

    release: Release
    version: str
    package: str
    platform: str
    size: int
    wheel_sha256: str
    library: str
    library_size: int
    library_sha256: str


@functools.cache
def ltoir_containers() -> dict[str, tuple[Release, ...]]:
    """LTO-IR container version -> the CUDA releases that write it, oldest first."""
    found: dict[str, list[Release]] = {}
    for row in table("ltoir")["release"]:
        found.setdefault(row["container"], []).append(Release.parse(row["cuda"]))
    return {container: tuple(sorted(releases)) for container, releases in found.items()}


@functools.cache
def ltoir_releases() -> dict[str, Release]:
    """NVVM IR version of an LTO-IR image -> the one CUDA release that writes it."""
    return {row["nvvm_ir"]: Release.parse(row["cuda"]) for row in table("ltoir")["release"]}


@functools.cache
def nvjitlink_wheels() -> tuple[NvJitLinkWheel, ...]:
    """Every wheel of nvJitLink that is known, by platform, oldest first."""
    kept = NvJitLinkWheel.__slots__[1:]
    return tuple(
        NvJitLinkWheel(Release.parse(row["cuda"]), *(row[name] for name in kept))
        for row in table("nvjitlink")["release"]
    )


@functools.cache
def nvjitlink_minors() -> tuple[Release, ...]:
    """The minor releases of nvJitLink that were published, oldest first."""
    return tuple(sorted({wheel.release for wheel in nvjitlink_wheels()}))


@functools.cache
def nvjitlink_result_name(code: int, release: Release) -> str | None:
    """The name of a result code in nvJitLink of this release; None where no header names it.

    A number means nothing without the release: 12.6 renumbered what follows 8.
    """
    for row in table("nvjitlink_results")["result"]:
        last = Release.parse(row["last"]) if "last" in row else release
        if row["code"] == code and Release.parse(row["first"]) <= release <= last:
            return str(row["name"])
    return None
