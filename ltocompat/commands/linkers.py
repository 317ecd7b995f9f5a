"""List the linkers at hand; install and remove those that trials run with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain

from msgspec import Struct

from ltocompat.commands.options import InstallOptions, RemoveOptions, with_failures
from ltocompat.model.failure import Failure, Progress, reporter
from ltocompat.model.image import Skipped
from ltocompat.targets.linkers import Cache, Linker, Machine, Tool
from ltocompat.targets.linkers import remove as drop
from ltocompat.targets.linkers.installing import install_one, present
from ltocompat.targets.linkers.searching import search
from ltocompat.targets.linkers.version_request import VersionRequest, choose, split


class ListOptions(Struct, frozen=True):
    """Options of ``linkers list``: none."""


class Plan(Struct, frozen=True):
    """The plan of an installation.

    Attributes:
        wanted: one entry per version, including installed ones.
        size: bytes to download, as far as the tables have the version.
    """

    wanted: tuple[VersionRequest, ...]
    size: int


class InstallChange(Struct, frozen=True):
    """One requested linker for trials, and the action on it.

    Attributes:
        action: ``installed``, ``kept`` (it was there already) or ``removed``.
        linker: the linker.
        size: bytes of its files.
    """

    action: str
    linker: Linker
    size: int


def run_list(_: ListOptions) -> Iterator[Linker | Skipped]:
    """Yield every linker on this machine, by tool, oldest first, then the linkers for trials.

    A file with such a name that is no linker or can't be read comes last as ``Skipped``.
    """
    skipped: list[Skipped] = []
    for tool in Tool:
        found = list(search(Machine.here(), tool))
        linkers = [record for record in found if isinstance(record, Linker)]
        yield from sorted(linkers, key=lambda linker: (linker.numbers, linker.path))
        yield from Cache.of(tool=tool).installed()
        skipped += (record for record in found if isinstance(record, Skipped))
    yield from skipped


def plan_linkers(wanted: Iterable[str], *, allow_unknown: bool = False) -> Plan:
    """Plan to install linkers (``nvjitlink=12.4``, ``nvlink=all``) without doing it.

    Raises:
        UsageError: a word is not a linker with a version, or not in our tables.
        Missing: NVIDIA doesn't publish it, or not for this platform.
    """
    chosen: dict[VersionRequest, None] = {}
    for text in wanted:
        tool, version = split(text)
        chosen.update(dict.fromkeys(choose(version, allow_unknown=allow_unknown, tool=tool)))
    missing = (wanted for wanted in chosen if present(wanted, Cache.of(tool=wanted.tool)) is None)
    return Plan(tuple(chosen), sum(request.size for request in missing))


def install_linkers(
    plan: Plan, *, progress: Callable[[Progress], None] | None = None
) -> Iterator[InstallChange]:
    """Carry out a plan, one version after the other.

    Raises:
        Missing: one can't be downloaded; the ones before it stay.
        LtocompatError: the download is not the expected file, or the cache can't be written.
    """
    for wanted in plan.wanted:
        cache = Cache.of(tool=wanted.tool)
        if already := present(wanted, cache):
            yield InstallChange("kept", already, cache.size_of(already))
            continue
        linker = install_one(wanted, cache, report=reporter(progress))
        yield InstallChange("installed", linker, cache.size_of(linker))


def remove_linkers(wanted: str) -> Iterator[InstallChange]:
    """Remove a linker that was installed for trials: ``nvjitlink=12.4`` or ``nvlink=all``.

    Raises:
        UsageError: it names no linker.
        Missing: it is not installed for trials.
        LtocompatError: it can't be removed.
    """
    tool, version = split(wanted)
    cache = Cache.of(tool=tool)
    sizes = {linker: cache.size_of(linker) for linker in cache.installed()}
    for linker in drop(version, cache):
        yield InstallChange("removed", linker, sizes[linker])


def run_install(options: InstallOptions) -> Iterator[Plan | InstallChange]:
    """Yield the plan, then the action on each version.

    Raises:
        UsageError: before any installation: a word is not a linker with a version, or not in our
            tables.
        Missing: it isn't published for this platform, or can't be downloaded.
        LtocompatError: the download is not the expected file, or the cache can't be written.
    """
    plan = plan_linkers(options.wanted, allow_unknown=options.allow_unknown)
    return chain([plan], install_linkers(plan, progress=options.progress))


def run_remove(options: RemoveOptions) -> Iterator[InstallChange | Failure]:
    """Yield the versions that were removed; one that could not be removed is a ``Failure``."""
    return with_failures(map(remove_linkers, options.wanted))
