"""Requirements of artifacts on the places where they go: the inverse of a check."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from ltocompat.commands.environment_files import with_files
from ltocompat.commands.floor_setters import Library, libraries_of, surveyed, with_releases
from ltocompat.commands.options import OnError, RequireOptions, answers, public
from ltocompat.commands.read_artifacts import summaries_of
from ltocompat.commands.trials import Trials
from ltocompat.files.regular import read_regular
from ltocompat.model.artifact_summary import ArtifactSummary, together_as_one
from ltocompat.model.errors import LtocompatError, UsageError
from ltocompat.model.failure import Failure, Note
from ltocompat.model.limits import DEFAULT_LIMITS, Limits
from ltocompat.model.requirement import FloorSetter, Required
from ltocompat.model.target import System
from ltocompat.packages.reading import package_of, packages_at
from ltocompat.rules.engine.collect_requirements import required
from ltocompat.scan.sources import Source, opened_sources


@public(RequireOptions, "*paths", without=("platform", "why", "survey"))
def require(options: RequireOptions, *, on_error: OnError | None = None) -> Iterator[Required]:
    """Show which drivers, GPUs and nvJitLinks each file at these paths needs.

    Args:
        paths: files, folders, places in files (``libx.a::m.o``), ``-`` (standard input), bytes, or
            open binary files.
        python: the environment that is read if no paths are given; the interpreter or the folder of
            the environment.
        trial_link: try one nvJitLink after another until one accepts the scrambled LTO-IR; this
            shows which release made it.
        install_linkers: install the nvJitLinks that trial links need, if they are missing.
        limits: upper limits on sizes, counts and time for reading one file.
        progress: called while files are read.
        together: show what one link of all contents together requires.
        on_error: called with the error of each path that fails; reading then goes on with the next
            path. None: raise the first error.

    Raises:
        UnreadableInput: a path can't be opened.
        UsageError: a given path or place does not exist.
        Missing: a trial link needs an nvJitLink that is not installed.
    """
    return (record for record in answers(run(options), on_error) if isinstance(record, Required))


def needs(source: Source, *, limits: Limits = DEFAULT_LIMITS) -> Required:
    """Return the minimum drivers for the SASS and PTX of a source, and the minimum nvJitLink.

    ``nvjitlink.at_least`` is the minimum that links all code. ``services`` has the minimum versions
    for each GPU. A call checks every version; the whole call takes about 50 ms.

    Args:
        source: bytes, an open binary file, or a path.
        limits: upper limits on sizes, counts and time for reading it.

    Raises:
        UnreadableInput: it can't be opened.
        UsageError: the source does not exist, or is a folder with several files.
    """
    found = list(require(source, limits=limits))
    if len(found) != 1:
        raise UsageError(f"{source!r} has {len(found)} files; for several files, call require()")
    return found[0]


def _of_lock(path: str, options: RequireOptions) -> Sequence[Library | Note]:
    """The code of what a lock pins, as a survey has it; nothing of another file."""
    if options.survey is None or not options.why:
        return ()
    try:
        system = _system(options, (read_regular(path, options.limits.tables_bytes).decode(),))
        pinned = packages_at(path, options.limits, system)
    except (LtocompatError, OSError, ValueError):
        return ()
    found = surveyed(pinned, options.survey, system)
    if len(found) == len(pinned):
        return found
    told = f"the survey has {len(found)} of its {len(pinned)} releases"
    return (*found, Note(f"{path} is a lock file, which has no code; {told}"))


_ARM = re.compile(r"aarch64|(?<![a-z])arm64", re.IGNORECASE)
_X86 = re.compile(r"x86.64|amd64|\blinux-64", re.IGNORECASE)


def _system(options: RequireOptions, *told: Iterable[str]) -> System:
    """Where releases have to run: Linux on the processor that is named first; else on x86-64.

    Args:
        options: whose ``--platform`` comes before all.
        told: texts that may name processors, such as the platforms of a package.
    """
    for texts in ((options.platform or "",), *told):
        named = [pattern for pattern in (_ARM, _X86) if any(map(pattern.search, texts))]
        if named:
            return System(machine="x86_64" if _X86 in named else "aarch64")
    return System()


def run(options: RequireOptions) -> Iterator[Required | FloorSetter | Failure | Note]:
    """Yield the requirements, then the code that sets them; an unreadable path is a ``Failure``.

    Raises:
        Missing: a trial link needs an nvJitLink that is not installed.
    """
    options, named, notes = with_files(options, locks=not (options.why and options.survey))
    yield from notes
    with Trials(options) as trials, opened_sources(options.paths, options.limits) as sources:
        narrower = trials.narrower() if options.trial_link else None
        parts: list[ArtifactSummary] = []
        libraries: list[Library] = []
        locked: list[Library] = []
        apart = options.why and not options.together
        how = {"single_link": options.together, "apart": apart, "named": named}
        for summary in summaries_of(options, sources, narrower=narrower, **how):
            if isinstance(summary, Failure):
                yield summary
            elif options.together:
                parts.append(summary)
            else:
                package = package_of(summary.path, options.limits, sources.get(summary.path))
                needs = required(summary, package=package, limits=options.limits, starts=True)
                yield needs
                if not (needs.modules or package):
                    pinned = _of_lock(summary.path, options)
                    yield from (each for each in pinned if isinstance(each, Note))
                    locked += (each for each in pinned if isinstance(each, Library))
                elif apart:
                    platforms = package.platforms if package else ()
                    system = _system(options, platforms, (h.machine for h in summary.hosts))
                    libraries += libraries_of(summary, needs, package, system)
        if parts:
            yield required(together_as_one(parts))
        # Of a single one with code all is said.
        if len(libraries) > 1 or locked:
            yield from with_releases([*libraries, *locked], options.survey)
