"""Every linker that can be reached on a machine, and the one that fits a wish."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterator

from msgspec.structs import replace

from ltocompat.model.errors import LtocompatError, Malformed, Missing, UsageError, restated
from ltocompat.model.generic import grouped
from ltocompat.model.image import Skipped
from ltocompat.model.limits import Budget
from ltocompat.model.linker import Linker, Tool
from ltocompat.model.location import Location, folders_around
from ltocompat.model.words import json_object
from ltocompat.targets.linkers.cache import Cache
from ltocompat.targets.linkers.identify import identify
from ltocompat.targets.linkers.machine import Machine
from ltocompat.targets.linkers.places import places
from ltocompat.targets.linkers.version_request import choose, is_version, matches

_VERSION = re.compile(r"\A[0-9]{1,9}\.[0-9]{1,9}\.[0-9]{1,9}\Z")
_METADATA_VERSION = re.compile(r"^Version: *([0-9]{1,9}\.[0-9]{1,9}\.[0-9]{1,9})", re.MULTILINE)
_DEEPEST = 6  # folders between a library and the root of what installed it


def _claims(machine: Machine, path: str) -> Iterator[tuple[str, str]]:
    """The versions that packages around the nvJitLink at ``path`` give it, with their evidence."""
    recorded = recorded_versions(machine, path, "nvidia_nvjitlink*")
    yield from ((version, "dist-info") for version in recorded)
    for folder, inside in _around(path):
        yield from ((version, "conda-meta") for version in _of_conda(machine, folder, inside))
        yield from ((version, "version.json") for version in _of_toolkit(machine, folder))


def _around(path: str) -> Iterator[tuple[str, str]]:
    """The folders around a file, innermost first, and the path of the file inside each."""
    for folder in folders_around(os.path.dirname(path))[:_DEEPEST]:
        yield folder, os.path.relpath(path, folder).replace(os.sep, "/")


def recorded_versions(machine: Machine, path: str, *wheels: str) -> Iterator[str]:
    """Yield the version of each wheel with one of these names whose RECORD has a file."""
    for folder, inside in _around(path):
        for info in machine.files(folder, *(f"{wheel}.dist-info" for wheel in wheels)):
            record = machine.text(os.path.join(info, "RECORD")) or ""
            if any(line.startswith(f"{inside},") for line in record.splitlines()):
                metadata = machine.text(os.path.join(info, "METADATA")) or ""
                yield from _METADATA_VERSION.findall(metadata)[:1]


def _of_conda(machine: Machine, folder: str, inside: str) -> Iterator[str]:
    for path in machine.files(os.path.join(folder, "conda-meta"), "libnvjitlink*.json"):
        match json_object(machine.text(path)):
            case {"files": list(files), "version": str(version)} if inside in files:
                yield from _VERSION.findall(version)


def _of_toolkit(machine: Machine, folder: str) -> Iterator[str]:
    path = os.path.join(folder, "version.json")
    match json_object(machine.text(path)).get("libnvjitlink"):
        case {"version": str(version)}:
            yield from _VERSION.findall(version)


_MACHINES = {"amd64": "x86-64", "x86_64": "x86-64", "arm64": "AArch64", "aarch64": "AArch64"}


def search(machine: Machine, tool: Tool = Tool.NVJITLINK) -> Iterator[Linker | Skipped]:
    """Yield every file that looks like this linker, once, by path; others with a reason.

    The trial cache is left out, since programs don't find linkers there.
    """
    ways = grouped((machine.real(path), via) for path, via in places(machine, tool))
    ours = machine.real(Cache.of(machine.environ, tool).folder)
    for path, found in sorted(ways.items()):
        if path.startswith(os.path.join(ours, "")):
            continue
        if os.path.basename(os.path.dirname(path)) == "stubs":
            yield Skipped(Location(path), "it is a stub: it has names for host links, but no code")
            continue
        try:
            yield read_linker(machine, path, ", ".join(dict.fromkeys(found)), tool)
        except LtocompatError as error:
            yield Skipped(Location(path), str(error))


def find(machine: Machine, tool: Tool = Tool.NVJITLINK) -> tuple[Linker, ...]:
    """Return every reachable copy, oldest first, which is not a loader's order."""
    found = [record for record in search(machine, tool) if isinstance(record, Linker)]
    return tuple(sorted(found, key=lambda linker: (linker.numbers, linker.path)))


def resolve(wanted: str, *, cache: Cache | None = None, tool: Tool = Tool.NVJITLINK) -> Linker:
    """Return the linker to run here: from the trial cache, else any copy on the machine.

    Args:
        wanted: ``12`` or ``12.4`` (the newest available release of it), ``12.4.127``, or a path.
        cache: the cache of trial copies; None for the user's own.
        tool: the kind of linker.

    Raises:
        Missing: there is none; the text names the command that installs it.
        UsageError: the path is not such a linker.
    """
    ours = cache or Cache.of(tool=tool)
    if not is_version(wanted):
        return _at(wanted, ours)
    here = _MACHINES.get(platform.machine().lower())
    for candidates in (ours.installed, lambda: find(Machine.here(), tool)):
        fitting = [
            candidate
            for candidate in candidates()
            if candidate.machine == here and matches(wanted, candidate.version)
        ]
        if fitting:
            return max(fitting, key=lambda linker: linker.numbers)
    try:
        choose(wanted, allow_unknown=False, tool=tool)
    except LtocompatError as error:  # what is refused is no advice
        raise Missing(f"{tool.label} {wanted} is not installed, and {error}") from error
    raise Missing(
        f"{tool.label} {wanted} is not installed; get it with: ltocompat linkers install "
        f"{tool}={wanted}"
    )


def _at(path: str, cache: Cache) -> Linker:
    real = os.path.realpath(path)
    for linker in cache.installed():
        if linker.path == real:
            return linker
    if not os.path.exists(real):
        version = f"a version of {cache.tool.label}, such as 12.4,"
        raise Missing(f"{path!r} is neither {version} nor an existing file")
    advice = "; give a version or path"
    with restated(UsageError, f"{path!r} is not a usable linker", Malformed, advice=advice):
        return read_linker(Machine(), real, "path", cache.tool)


def read_linker(machine: Machine, path: str, via: str, tool: Tool = Tool.NVJITLINK) -> Linker:
    """Return the copy in one file, identified by its bytes.

    Args:
        machine: its machine.
        path: the file itself, after all symbolic links are followed.
        via: how it was found.
        tool: the expected kind of linker.

    Raises:
        Malformed: it is not that linker, or its version is unknown.
        UnreadableInput: it can't be opened.
    """
    with machine.viewed(path) as view:
        linker = identify(view, machine.budget or Budget(), _claims(machine, path), tool)
    return replace(linker, path=path, found_via=via)
