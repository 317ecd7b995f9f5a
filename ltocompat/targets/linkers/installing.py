"""Installing one nvJitLink for trials: download, check, keep the library and nothing else."""

from __future__ import annotations

import hashlib
import os
import re
import zipfile
import zlib
from collections.abc import Callable
from typing import IO

from ltocompat.model.errors import LtocompatError, Malformed, Missing
from ltocompat.model.limits import GIB, MIB
from ltocompat.targets.linkers.cache import Cache, InstallOrigin
from ltocompat.targets.linkers.fetching import fetch
from ltocompat.targets.linkers.identify import identify
from ltocompat.targets.linkers.linker import Linker
from ltocompat.targets.linkers.version_request import ALL, VersionRequest, choose, matches

Fetch = Callable[[str, str], None]
"""Puts the wheel of a requirement into a folder, packed or unpacked."""

_LIBRARY = re.compile(r"(libnvJitLink\.so\.\d+|nvJitLink_\d+_\d+\.dll)")
# What zipfile raises for a broken file; RuntimeError where it claims to be encrypted.
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, ValueError, RuntimeError)
_LARGEST = GIB  # bytes of a library; ten times the largest one known


def install(
    wanted: str, *, cache: Cache | None = None, allow_unknown: bool = False
) -> tuple[Linker, ...]:
    """Install ``12.4`` (its newest known patch level), ``12.4.127``, or ``all``, for trials.

    Args:
        wanted: the version.
        cache: where to; None for the user's own.
        allow_unknown: install a version too that our tables have no sum of.

    Raises:
        UsageError: it is no version, or one that our tables don't know.
        Missing: it can't be downloaded.
        LtocompatError: what came is not what it should be, or the cache can't be written.
    """
    chosen = choose(wanted, allow_unknown=allow_unknown)
    return tuple(install_one(version_request, cache or Cache.of()) for version_request in chosen)


def remove(wanted: str, *, cache: Cache | None = None) -> tuple[Linker, ...]:
    """Remove what ``install`` brought: ``12.4`` (every patch level), ``12.4.127``, or ``all``.

    Raises:
        Missing: none of them is installed for trials.
        LtocompatError: it can't be removed.
    """
    where = cache or Cache.of()
    found = [
        each_linker
        for each_linker in where.installed()
        if wanted == ALL or matches(wanted, each_linker.version)
    ]
    if not found:
        raise Missing(
            f"no nvJitLink {wanted!r} is installed for trials; see: ltocompat nvjitlink list"
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
        arrived, kept = os.path.join(part, "arrived"), os.path.join(part, "kept")
        try:
            os.mkdir(arrived)
            os.mkdir(kept)
            fetch_wheel(wanted.requirement, arrived)
            origin = _unpack(wanted, arrived, kept)
        except (OSError, *_BROKEN) as error:
            record = getattr(error, "strerror", None) or error
            raise LtocompatError(
                f"the wheel of {wanted.requirement} can't be unpacked: {record}; try again"
            ) from error
        return cache.keep(kept, origin)


def _unpack(wanted: VersionRequest, arrived: str, kept: str) -> InstallOrigin:
    """Move the library from what was fetched into the folder ``kept``, and check both."""
    wheels = [name for name in os.listdir(arrived) if name.endswith(".whl")]
    if len(wheels) == 1:
        path = os.path.join(arrived, wheels[0])
        if wanted.wheel:
            with open(path, "rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            _check(wanted, "the wheel", digest, wanted.wheel.wheel_sha256)
        name, size, digest = _from_wheel(path, kept)
    else:
        name, size, digest = _from_files(wanted, arrived, kept)
    if wanted.wheel:
        _check(wanted, f"{name} in the wheel", digest, wanted.wheel.library_sha256)
    try:
        identity = identify(os.path.join(kept, name))
    except Malformed as error:
        raise LtocompatError(f"{wanted.requirement} is of no use: {error}; report it") from error
    if not wanted.is_met_by(identity.version):
        raise LtocompatError(
            f"{wanted.requirement} holds nvJitLink {identity.version}; report it to the package "
            "index that it came from"
        )
    evidence = "SHA-256 of the release" if wanted.wheel else identity.evidence
    what = wheels[0] if wheels else wanted.requirement
    return InstallOrigin(identity.version, name, size, digest, what, evidence, identity.machine)


def _from_wheel(path: str, kept: str) -> tuple[str, int, str]:
    """Name, size and sum of the library, streamed out of the wheel; nothing else is unpacked."""
    with zipfile.ZipFile(path) as archive:
        members = [
            m for m in archive.infolist() if _LIBRARY.fullmatch(os.path.basename(m.filename))
        ]
        if len(members) != 1:
            raise LtocompatError(f"{os.path.basename(path)} holds {len(members)} nvJitLinks, not 1")
        name = os.path.basename(members[0].filename)
        with archive.open(members[0]) as source, open(os.path.join(kept, name), "xb") as target:
            return name, *_copied(source, target)


def _from_files(wanted: VersionRequest, arrived: str, kept: str) -> tuple[str, int, str]:
    """The same, where the wheel was unpacked by the tool that fetched it."""
    found = [
        os.path.join(folder, name)
        for folder, _, names in os.walk(arrived)
        for name in names
        if _LIBRARY.fullmatch(name)
    ]
    if len(found) != 1:
        raise LtocompatError(f"{wanted.requirement} holds {len(found)} nvJitLinks, not 1")
    name = os.path.basename(found[0])
    with open(found[0], "rb") as source, open(os.path.join(kept, name), "xb") as target:
        return name, *_copied(source, target)


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


def _check(wanted: VersionRequest, what: str, found: str, expected: str) -> None:
    if found != expected:
        raise LtocompatError(
            f"{what} of {wanted.requirement} has the SHA-256 {found}, not the {expected} of the "
            "release; nothing of it was kept; check the index or mirror that it came from"
        )
