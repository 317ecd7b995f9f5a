"""Check artifacts against deploy targets: a verdict for each target and GPU, and why."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from ltocompat.commands.read_artifacts import ScanOptions, summaries
from ltocompat.model.artifact_summary import together_as_one
from ltocompat.model.errors import UsageError
from ltocompat.model.limits import DEFAULT_LIMITS, Limits
from ltocompat.model.target import THIS_MACHINE, Target
from ltocompat.model.verdict import Result, Route
from ltocompat.rules.engine.judge_artifact import results
from ltocompat.scan.parallel import OnError
from ltocompat.scan.progress import Progress, reporter
from ltocompat.scan.walk import ScanSettings

if TYPE_CHECKING:
    from ltocompat.commands.this_machine import ThisMachine
    from ltocompat.trial.module_trial import Tries
    from ltocompat.trial.try_loads import LoadTrial

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def check(
    paths: Paths = (),
    targets: Sequence[Target | ThisMachine | str] = (),
    *,
    python: str | None = None,
    route: Route | str | None = None,
    together: bool = False,
    beside: Sequence[str | os.PathLike[str]] = (),
    trial_link: bool = False,
    trial_load: bool = False,
    install_missing: bool = False,
    cache: bool = True,
    limits: Limits = DEFAULT_LIMITS,
    progress: Callable[[Progress], None] | None = None,
    on_error: OnError | None = None,
) -> Iterator[Result]:
    """Judge every file at these paths, for every target and each of its GPUs.

    Args:
        paths: one or several files, folders, packages, places, or ``-`` for standard input; none:
            the packages with device code in an environment of this machine.
        targets: values, or spellings as ``--deploy-target`` takes them; none: this machine.
        python: the interpreter whose environment that is; None: the active one, else this one.
        route: ``load`` or ``link``, for modules that can go both ways; None judges both.
        together: judge what all paths hold as one link.
        beside: packages that are installed with those at the paths.
        trial_link: ask the nvJitLinks that the targets name.
        trial_load: ask this machine's driver, on its GPUs, where this machine is a target.
        install_missing: install those that are not at hand.
        cache: keep the answers of trial links, and use those that are kept.
        limits: what reading one file may cost.
        progress: called as files are read.
        on_error: gets what goes wrong with one of the paths, while the others go on; None: the
            error is raised.

    Yields:
        What is wrong with this machine, where it is a target; then the results of a file as soon as
        it is read: by target, then by GPU, then by route; last, where it is a package on its way to
        another machine, what is wrong with its metadata on any target.

    Raises:
        UnreadableInput: a path can't be opened.
        UsageError: a target or a place has no meaning.
        Missing: an nvJitLink, a driver or a GPU that is to be asked is not at hand.
    """
    goals = resolve_targets(targets, python)
    plain = [goal if isinstance(goal, Target) else goal.target for goal in goals]
    wanted = None if route is None else Route(route)
    records = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    named = bool(records)
    files = records or list(_installed(goals))
    settings = ScanSettings(limits=limits, progress=reporter(progress))
    from ltocompat.commands.package_problems import Packages, result_of

    packages = Packages(files, beside, limits)
    # Here it is known what a package got, whatever its metadata admit.
    shipped = bool(beside) or any(isinstance(goal, Target) for goal in goals)
    with ExitStack() as stack:
        tries: list[Tries] = []
        if trial_link:
            from ltocompat.trial.answer_cache import TrialCache
            from ltocompat.trial.try_links import LinkTrial

            kept = TrialCache.of() if cache else None
            linkers = LinkTrial(plain, install_missing=install_missing, cache=kept)
            tries.append(stack.enter_context(linkers).for_file)
        if trial_load:
            tries.append(stack.enter_context(_load_trial(goals)).for_file)
        reading = ScanOptions(settings, tuple(plain), _all_of(tries), named=named)
        found = summaries(files, reading, on_error)
        if together:
            found = iter([together_as_one(list(found))])
        yield from (goal.own_result() for goal in goals if not isinstance(goal, Target))
        for summary in found:
            for goal in goals:
                if isinstance(goal, Target):
                    yield from results(summary, goal, wanted)
                else:
                    yield from goal.results(summary, wanted)
            problems = packages.problems(summary) if shipped and not together else ()
            if problems:
                yield result_of(summary.path, problems)


def resolve_targets(
    targets: Sequence[Target | ThisMachine | str], python: str | None = None
) -> tuple[Target | ThisMachine, ...]:
    """Targets as values; ``this machine``, or none at all, is this machine.

    Raises:
        UsageError: one of them has no meaning.
    """
    found: list[Target | ThisMachine] = []
    for target in targets or (THIS_MACHINE,):
        if not isinstance(target, str):
            found.append(target)
        elif target == THIS_MACHINE:
            from ltocompat.commands.this_machine import ThisMachine

            found.append(ThisMachine.now(python))
        else:
            from ltocompat.targets import parse

            found += parse([target])
    return tuple(found)


def _all_of(tries: Sequence[Tries]) -> Tries | None:
    if not tries:
        return None
    from ltocompat.trial.trials import all_of

    return all_of(tries)


def _installed(goals: Sequence[Target | ThisMachine]) -> Iterator[str]:
    """The binary files of the environment that was chosen.

    Raises:
        UsageError: no target is this machine.
    """
    here = next((goal for goal in goals if not isinstance(goal, Target)), None)
    if here is None:
        raise UsageError("there is nothing to check; name a file, a folder or a package")
    yield from here.files()


def _load_trial(goals: Sequence[Target | ThisMachine]) -> LoadTrial:
    """Asks this machine's driver.

    Raises:
        UsageError: no target is this machine.
    """
    here = next((goal for goal in goals if not isinstance(goal, Target)), None)
    if here is None:
        raise UsageError("a trial load needs this machine as a target; leave out --deploy-target")
    from ltocompat.trial.try_loads import LoadTrial

    return LoadTrial(here.target.name)
