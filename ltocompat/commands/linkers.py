"""List the nvJitLinks at hand; install and remove those that trials run with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from ltocompat.model.errors import LtocompatError
from ltocompat.model.failure import Failure
from ltocompat.model.image import Skipped
from ltocompat.scan.progress import Progress
from ltocompat.targets.linkers import Cache, Linker, Machine
from ltocompat.targets.linkers import remove as drop
from ltocompat.targets.linkers.installing import install_one, present
from ltocompat.targets.linkers.searching import search
from ltocompat.targets.linkers.version_request import VersionRequest, choose


@dataclass(frozen=True, slots=True)
class ListOptions:
    """Where to look for nvJitLinks; the attributes are the arguments of ``list_nvjitlinks``."""

    machine: Machine | None = None
    cache: Cache | None = None


@dataclass(frozen=True, slots=True)
class InstallOptions:
    """What to install.

    Attributes:
        versions: ``12.4``, ``12.4.127`` or ``all``.
        allow_unknown: also versions that no sum is known to check by.
        progress: called before each download.
    """

    versions: tuple[str, ...]
    allow_unknown: bool = False
    progress: Callable[[Progress], None] | None = None


@dataclass(frozen=True, slots=True)
class RemoveOptions:
    """What to remove: ``12.4``, ``12.4.127`` or ``all``."""

    versions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """What an installation will do.

    Attributes:
        wanted: one version each, those that are there already too.
        downloads: how many must be downloaded.
        size: bytes to download; of versions that are not in our tables nothing is known.
    """

    wanted: tuple[VersionRequest, ...]
    downloads: int
    size: int


@dataclass(frozen=True, slots=True)
class InstallChange:
    """One nvJitLink for trials that was asked for, and what became of it.

    Attributes:
        action: ``installed``, ``kept`` (it was there already) or ``removed``.
        linker: the library.
        size: bytes of its file.
    """

    action: str
    linker: Linker
    size: int


def list_nvjitlinks(
    *, machine: Machine | None = None, cache: Cache | None = None
) -> Iterator[Linker | Skipped]:
    """Every nvJitLink that this machine reaches, oldest first, then those for trials.

    A file that is called so and can't be read, or is none, comes as ``Skipped`` in the end.
    """
    found = list(search(machine or Machine.here()))
    linkers = [record for record in found if isinstance(record, Linker)]
    yield from sorted(linkers, key=lambda linker: (linker.numbers, linker.path))
    yield from (cache or Cache.of()).installed()
    yield from (skipped for skipped in found if isinstance(skipped, Skipped))


def plan_nvjitlinks(
    wanted: Iterable[str], *, allow_unknown: bool = False, cache: Cache | None = None
) -> Plan:
    """What installing these (``12.4``, ``12.4.127``, ``all``) takes; nothing is done yet.

    Raises:
        UsageError: one is no version, or not in our tables.
        Missing: there is no nvJitLink for this platform.
    """
    chosen: dict[VersionRequest, None] = {}
    for text in wanted:
        chosen.update(dict.fromkeys(choose(text, allow_unknown=allow_unknown)))
    missing = [request for request in chosen if present(request, cache or Cache.of()) is None]
    size = sum(request.wheel.size for request in missing if request.wheel)
    return Plan(tuple(chosen), len(missing), size)


def install_nvjitlinks(
    plan: Plan,
    *,
    cache: Cache | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Iterator[InstallChange]:
    """Carry out a plan, one version after the other.

    Raises:
        Missing: one can't be downloaded; what came before it stays.
        LtocompatError: what came is not what it should be, or the cache can't be written.
    """
    where = cache or Cache.of()
    done = 0
    for wanted in plan.wanted:
        already = present(wanted, where)
        if already is not None:
            yield InstallChange("kept", already, where.size_of(already))
            continue
        if progress is not None:
            progress(Progress(f"nvJitLink {wanted.asked}", done, plan.size))
        linker = install_one(wanted, where)
        done += wanted.wheel.size if wanted.wheel else 0
        yield InstallChange("installed", linker, where.size_of(linker))


def remove_nvjitlinks(wanted: str, *, cache: Cache | None = None) -> Iterator[InstallChange]:
    """Remove an nvJitLink that was installed for trials: ``12.4``, ``12.4.127`` or ``all``.

    Raises:
        Missing: it is not installed for trials.
        LtocompatError: it can't be removed.
    """
    where = cache or Cache.of()
    sizes = {linker: where.size_of(linker) for linker in where.installed()}
    for linker in drop(wanted, cache=where):
        yield InstallChange("removed", linker, sizes[linker])


def run_list(options: ListOptions) -> Iterator[Linker | Skipped]:
    """What ``list_nvjitlinks`` finds."""
    return list_nvjitlinks(machine=options.machine, cache=options.cache)


def run_install(options: InstallOptions) -> Iterator[Plan | InstallChange]:
    """The plan, then what becomes of each version.

    Raises:
        UsageError: one is no version, or not in our tables; before anything is done.
        Missing: there is none for this platform, or one can't be downloaded.
        LtocompatError: what came is not what it should be, or the cache can't be written.
    """
    plan = plan_nvjitlinks(options.versions, allow_unknown=options.allow_unknown)
    return chain([plan], install_nvjitlinks(plan, progress=options.progress))


def run_remove(options: RemoveOptions) -> Iterator[InstallChange | Failure]:
    """What was removed; a version that could not be is a ``Failure`` among it."""
    for version in options.versions:
        try:
            yield from remove_nvjitlinks(version)
        except LtocompatError as error:
            yield Failure.of(error)
