"""Artifacts against every nvJitLink, every driver branch and every architecture."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack

from ltocompat import facts
from ltocompat.commands.read_artifacts import Reading, studies
from ltocompat.facts import drivers, gpus
from ltocompat.model.arch import ArchForm, Release, SmArch
from ltocompat.model.artifact_summary import Study
from ltocompat.model.limits import DEFAULT_LIMITS, Limits
from ltocompat.model.matrix import Grid
from ltocompat.model.target import DriverVersion, Gpu, Known, Target
from ltocompat.model.verdict import Route
from ltocompat.rules.engine.judge_artifact import results
from ltocompat.rules.engine.judge_module import ways
from ltocompat.scan.parallel import OnError
from ltocompat.scan.progress import Progress, reporter
from ltocompat.scan.walk import Settings

_SOURCE = "matrix"
# Minor-version compatibility of every major that is still used begins here.
_OLDEST_BRANCH = 525
_OLDEST_TOOLKIT = Release(12, 0)


def matrix(
    *paths: str | os.PathLike[str],
    trial_link: bool = False,
    install_missing: bool = False,
    limits: Limits = DEFAULT_LIMITS,
    progress: Callable[[Progress], None] | None = None,
    on_error: OnError | None = None,
) -> Iterator[Grid]:
    """Lay out verdicts in grids: what is linked by nvJitLink, what is loaded by driver branch.

    Args:
        paths: files, folders, places, or ``-`` for standard input.
        trial_link: ask every nvJitLink.
        install_missing: install those that are not at hand.
        limits: what reading one file may cost.
        progress: called as files are read.
        on_error: gets what goes wrong with one of the paths; None: it is raised.

    Raises:
        UnreadableInput: a path can't be opened.
        UsageError: nothing lies at a place.
        Missing: an nvJitLink is not at hand.
    """
    settings = Settings(limits=limits, progress=reporter(progress))
    linkers = _linker_targets()
    with ExitStack() as stack:
        tries = None
        if trial_link:
            from ltocompat.trial.try_links import Trier

            tries = stack.enter_context(Trier(linkers, install_missing=install_missing)).for_file
        for study in studies(paths, Reading(settings, tries=tries), on_error):
            if _goes(study, Route.LINK):
                yield _grid(study, "nvJitLink", linkers, Route.LINK, tried=trial_link)
            if _goes(study, Route.LOAD):
                yield _grid(study, "driver", _driver_targets(), Route.LOAD, tried=False)


def _goes(study: Study, route: Route) -> bool:
    return any(route in ways(group.shape) for group in study.groups)


def _grid(study: Study, what: str, targets: Sequence[Target], route: Route, *, tried: bool) -> Grid:
    only = [group for group in study.groups if route in ways(group.shape)]
    part = Study(study.path, only, study.skipped, study.skipped_count, study.options)
    cells = tuple(tuple(results(part, target, route)) for target in targets)
    columns = tuple(map(str, targets[0].gpus))
    return Grid(study.path, what, tuple(t.name for t in targets), columns, cells, tried)


def _gpus() -> tuple[Gpu, ...]:
    """Every architecture that a toolkit since 12.0 targets, and the one after all of them."""
    used = (s for s in gpus.sms() if s.last_toolkit is None or s.last_toolkit >= _OLDEST_TOOLKIT)
    numbers = [(row.number, row.tegra) for row in used]
    numbers.append((10 * (gpus.newest_sm() // 10 + 1), False))
    archs = [(SmArch(number, "", ArchForm.REAL), tegra) for number, tegra in numbers]
    return tuple(Gpu(str(arch), arch, None, tegra) for arch, tegra in archs)


def _linker_targets() -> list[Target]:
    return [
        Target(
            name=str(minor),
            nvjitlink=Known(str(minor), (minor,), every=True, source=_SOURCE),
            gpus=_gpus(),
        )
        for minor in facts.nvjitlink_minors()
    ]


def _driver_targets() -> list[Target]:
    return [
        Target(
            name=str(branch),
            driver=Known(str(branch), _versions(branch), every=False, source=_SOURCE),
            gpus=_gpus(),
        )
        for branch in drivers.driver_branches()
        if branch >= _OLDEST_BRANCH
    ]


def _versions(branch: int) -> tuple[DriverVersion, ...]:
    return (drivers.first_production(branch),)
