"""Check artifacts against deploy targets: a verdict for each target and GPU, and why."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack

from ltocompat.api.progress import Progress, reporter
from ltocompat.api.studies import studies
from ltocompat.errors import UsageError
from ltocompat.inventory import Settings
from ltocompat.limits import DEFAULT_LIMITS, Limits
from ltocompat.studying import Student
from ltocompat.target import Target
from ltocompat.verdict import Result, Route
from ltocompat.verdicts.artifacts import results
from ltocompat.verdicts.kernels import worth_counting
from ltocompat.verdicts.studies import together_as_one


def check(
    *paths: str | os.PathLike[str],
    targets: Sequence[Target | str],
    route: Route | str | None = None,
    together: bool = False,
    trial_link: bool = False,
    install_missing: bool = False,
    limits: Limits = DEFAULT_LIMITS,
    progress: Callable[[Progress], None] | None = None,
) -> Iterator[Result]:
    """Judge every file at these paths, for every target and each of its GPUs.

    Args:
        paths: files, folders, places, or ``-`` for standard input.
        targets: values, or spellings as ``--deploy-target`` takes them.
        route: ``load`` or ``link``, for modules that can go both ways; None judges both.
        together: judge what all paths hold as one link.
        trial_link: ask the nvJitLinks that the targets name.
        install_missing: install those that are not at hand.
        limits: what reading one file may cost.
        progress: called as files are read.

    Yields:
        The results of a file as soon as it is read: by target, then by GPU, then by route.

    Raises:
        UnreadableInput: a path can't be opened.
        UsageError: a target or a place has no meaning.
        Missing: an nvJitLink that is to be asked is not at hand.
    """
    goals = as_targets(targets)
    wanted = None if route is None else Route(route)
    settings = Settings(limits=limits, progress=reporter(progress))
    with ExitStack() as stack:
        tries = None
        if trial_link:
            from ltocompat.trying import Trier

            tries = stack.enter_context(Trier(goals, install_missing=install_missing)).try_links
        student = Student(lambda shape: worth_counting(shape, goals), tries)
        found = studies(student, paths, settings)
        if together:
            found = iter([together_as_one(list(found))])
        for study in found:
            for target in goals:
                yield from results(study, target, wanted)


def as_targets(targets: Sequence[Target | str]) -> tuple[Target, ...]:
    """Targets as values.

    Raises:
        UsageError: one of them has no meaning, or there is none.
    """
    found: list[Target] = []
    for one in targets:
        if isinstance(one, Target):
            found.append(one)
        else:
            from ltocompat.targets import parse

            found += parse([one])
    if not found:
        raise UsageError(
            "there is no deploy target; name one, e.g. driver=550.54.15,nvjitlink=12.4,gpu=h100"
        )
    return tuple(found)
