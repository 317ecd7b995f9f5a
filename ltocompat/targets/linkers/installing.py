"""Installing one linker for trials: download, check, keep what it runs with and nothing else."""

from __future__ import annotations

import hashlib
import os
import re
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO

from ltocompat.model.errors import LtocompatError, Malformed, Missing
from ltocompat.model.limits import GIB, MIB
from ltocompat.targets.linkers.cache import Cache, InstallOrigin
from ltocompat.targets.linkers.fetching import fetch
from ltocompat.targets.linkers.identify import identify
from ltocompat.targets.linkers.linker import Linker, Tool
from ltocompat.targets.linkers.version_request import ALL, VersionRequest, choose, matches

Fetch = Callable[[str, str], None]
"""Puts the wheel of a requirement into a folder, packed or unpacked."""

# The one file of a package that is kept, by the package's name without its suffix.
_KEPT = {
    "nvidia-nvjitlink": re.compile(r"libnvJitLink\.so\.\d{1,9}|nvJitLink_\d{1,9}_\d{1,9}\.dll"),
    "nvidia-cuda-nvcc": re.compile(r"nvlink"),
    "nvidia-nvvm": re.compile(r"libnvvm\.so\.\d{1,9}"),
}
# What zipfile raises for a broken file; RuntimeError where it claims to be encrypted.
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, ValueError, RuntimeError)
_LARGEST = GIB  # bytes of one file; ten times the largest one known


def install(
    wanted: str,
    *,
    cache: Cache | None = None,
    allow_unknown: bool = False,
    tool: Tool = Tool.NVJITLINK,
) -> tuple[Linker, ...]:
    """Install ``12.4`` (its newest known patch level), ``12.4.127``, or ``all``, for trials.

    Args:
        wanted: the version.
        cache: where to; None for the user's own.
        allow_unknown: install a version too that our tables have no sum of.
        tool: of which linker.

    Raises:
        UsageError: it is no version, or one that our tables don't know.
        Missing: it can't be downloaded, or NVIDIA publishes none.
        LtocompatError: what came is not what it should be, or the cache can't be written.
    """
    chosen = choose(wanted, allow_unknown=allow_unknown, tool=tool)
    where = cache or Cache.of(tool=tool)
    return tuple(install_one(version_request, where) for version_request in chosen)


def remove(wanted: str, *, cache: Cache | None = None) -> tuple[Linker, ...]:
    """Remove what ``install`` brought: ``12.4`` (every patch level), ``12.4.127``, or ``all``.

    Raises:
        Missing: none of them is installed for trials.
        LtocompatError: it can't be removed.
    """
    where = cache or Cache.of()
    found = [
        linker for linker in where.installed() if wanted == ALL or matches(wanted, linker.version)
    ]
    if not found:
        raise Missing(
            f"no {where.tool.label} {wanted!r} is installed for trials; see: ltocompat linkers list"
        )
    for linker in found:
        where.remove(linker)
    return tuple(found)


def present(wanted: VersionRequest, cache: Cache) -> Linker | None:
    """The newest that is installed already and is what is wanted."""
    fitting = [linker for linker in cache.installed() if wanted.is_met_by(linker.version)]
    return fitting[-1] if fitting else None


def install_one(wanted: VersionRequest, cache: Cache, fetch_wheel: Fetch = fetch) -> Linker:
    """Install one version, unless it is there; whatever goes wrong, nothing stays behind.

    Raises:
        Missing: it can't be downloaded.
        LtocompatError: what came is not what it should be, or the cache can't be written.
    """
    already = present(wanted, cache)
    if already is not None:
        return already
    with cache.part() as part:
        kept = os.path.join(part, "kept")
        os.mkdir(kept)
        files = []
        for number, requirement in enumerate(wanted.requirements):
            arrived = os.path.join(part, f"arrived-{number}")
            try:
                os.mkdir(arrived)
                fetch_wheel(requirement, arrived)
                files.append(_unpack(wanted, number, arrived, kept))
            except (OSError, *_BROKEN) as error:
                reason = getattr(error, "strerror", None) or error
                raise LtocompatError(
                    f"the wheel of {requirement} can't be unpacked: {reason}; try again"
                ) from error
        return cache.keep(kept, _origin(wanted, files, kept))


@dataclass(frozen=True, slots=True)
class _File:
    """A file that is kept: its name, bytes and SHA-256, and the wheel that it came out of."""

    name: str
    size: int
    sha256: str
    wheel: str


def _unpack(wanted: VersionRequest, number: int, arrived: str, kept: str) -> _File:
    """Move the file of package ``number`` from what was fetched into ``kept``, and check both."""
    requirement = wanted.requirements[number]
    known = wanted.wheels[number] if wanted.wheels else None
    pattern = _KEPT[wanted.packages[number].partition("-cu1")[0]]
    wheels = [name for name in os.listdir(arrived) if name.endswith(".whl")]
    if len(wheels) == 1:
        path = os.path.join(arrived, wheels[0])
        if known:
            with open(path, "rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            _check(requirement, "the wheel", digest, known.wheel_sha256)
        name, size, digest = _from_wheel(path, pattern, kept)
    else:
        name, size, digest = _from_files(requirement, pattern, arrived, kept)
    if known:
        _check(requirement, f"{name} in the wheel", digest, known.member_sha256)
    return _File(name, size, digest, wheels[0] if wheels else requirement)


def _origin(wanted: VersionRequest, files: list[_File], kept: str) -> InstallOrigin:
    """What is known of the files in ``kept``, the linker itself being the first."""
    requirement, (file, *others) = wanted.requirements[0], files
    path = os.path.join(kept, file.name)
    try:
        identity = identify(path, tool=wanted.tool)
    except Malformed as error:
        raise LtocompatError(f"{requirement} is of no use: {error}; report it") from error
    if not wanted.is_met_by(identity.version):
        raise LtocompatError(
            f"{requirement} holds {wanted.tool.label} {identity.version}; report it to the package "
            "index that it came from"
        )
    if wanted.tool is Tool.NVLINK:
        os.chmod(path, 0o755)  # noqa: S103 - a program that anyone may run
    evidence = "SHA-256 of the release" if wanted.wheels else identity.evidence
    return InstallOrigin(
        identity.version,
        file.name,
        file.size,
        file.sha256,
        file.wheel,
        evidence,
        identity.machine,
        {other.name: other.size for other in others},
    )


def _from_wheel(path: str, pattern: re.Pattern[str], kept: str) -> tuple[str, int, str]:
    """Name, size and sum of the file, streamed out of the wheel; nothing else is unpacked."""
    with zipfile.ZipFile(path) as archive:
        members = [m for m in archive.infolist() if pattern.fullmatch(os.path.basename(m.filename))]
        if len(members) != 1:
            raise _not_one(os.path.basename(path), len(members), pattern)
        name = os.path.basename(members[0].filename)
        with archive.open(members[0]) as source, open(os.path.join(kept, name), "xb") as target:
            return name, *_copied(source, target)


def _from_files(
    requirement: str, pattern: re.Pattern[str], arrived: str, kept: str
) -> tuple[str, int, str]:
    """The same, where the wheel was unpacked by the tool that fetched it."""
    found = [
        os.path.join(folder, name)
        for folder, _, names in os.walk(arrived)
        for name in names
        if pattern.fullmatch(name)
    ]
    if len(found) != 1:
        raise _not_one(requirement, len(found), pattern)
    name = os.path.basename(found[0])
    with open(found[0], "rb") as source, open(os.path.join(kept, name), "xb") as target:
        return name, *_copied(source, target)


def _not_one(what: str, count: int, pattern: re.Pattern[str]) -> LtocompatError:
    return LtocompatError(
        f"{what} holds {count} files like {pattern.pattern}, not 1; report it to the package index "
        "that it came from"
    )


def _copied(source: IO[bytes], target: IO[bytes]) -> tuple[int, str]:
    digest, size = hashlib.sha256(), 0
    while piece := source.read(MIB):
        size += len(piece)
        if size > _LARGEST:
            raise LtocompatError(
                f"{target.name!r} is over the limit of {_LARGEST} bytes; report it"
            )
        digest.update(piece)
        target.write(piece)
    return size, digest.hexdigest()


def _check(requirement: str, what: str, found: str, expected: str) -> None:
    if found != expected:
        raise LtocompatError(
            f"{what} of {requirement} has the SHA-256 {found}, not the {expected} of the "
            "release; nothing of it was kept; check the index or mirror that it came from"
        )
