"""Check artifacts against deploy targets: a verdict for each target and GPU, and why."""

from __future__ import annotations

import functools
import os
import shlex
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import chain
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ltocompat.commands.advice import advising_trials, advising_users, told_trials
from ltocompat.commands.deployment_target import DeploymentTarget, TargetLike
from ltocompat.commands.environment_files import files_of, lock_notes, of_environment
from ltocompat.commands.kernel_names import with_kernel_names
from ltocompat.commands.options import CheckOptions, OnError, answers, public
from ltocompat.commands.package_problems import Packages
from ltocompat.commands.read_artifacts import (
    ScanOptions,
    Summaries,
    has_something_to_judge,
    summaries,
)
from ltocompat.commands.variants_of_files import EvaluatedFile, InstalledVariants
from ltocompat.files.archives.spool import MemberCache
from ltocompat.model.artifact_summary import together_as_one
from ltocompat.model.errors import Missing, UsageError
from ltocompat.model.failure import Failure, Note
from ltocompat.model.target import ANY_TARGET, THIS_MACHINE, Target
from ltocompat.model.trial_answer import AUTO
from ltocompat.model.verdict import Loss, Result, Route
from ltocompat.packages.reading import owner
from ltocompat.rules.engine.engine import Engine
from ltocompat.scan.sources import Source, opened_sources

if TYPE_CHECKING:
    from ltocompat.commands.this_machine import ThisMachine
    from ltocompat.commands.trials import Trials


Paths = Source | Sequence[Source]
Targets = TargetLike | Sequence[TargetLike]


@public(CheckOptions, "paths", "targets", without=("platform", "allow_empty"))
def check(options: CheckOptions, *, on_error: OnError | None = None) -> Iterator[Result]:
    """Check every file at these paths for every target and each of its GPUs.

    Args:
        paths: one or several files, folders, packages, places in files (``libx.a::m.o``), ``-``
            (standard input), bytes, or open binary files. Inputs that are bytes are listed as
            ``input-0``, ``input-1``, by their position. Without paths: all packages with device
            code in an environment of this machine.
        targets: one or several targets: ``Target`` objects, or texts that ``--deploy-target``
            accepts. Without targets: this machine.
        python: the interpreter whose environment is checked; None: the interpreter of the active
            environment, or else the running interpreter. On every target, the packages are checked
            together with the libraries that these packages install.
        route: the route to check for modules with two routes: ``load`` or ``link``. None: both
            are checked.
        together: check the contents of all paths as if they were linked together.
        beside: packages that will be installed together with the given packages.
        trial_link: try the nvJitLinks of the targets. ``auto`` tries only installed nvJitLinks, and
            only for unknown verdicts.
        trial_load: load the modules on this machine's GPUs, if this machine is a target.
        install_linkers: install the missing linkers.
        cache: use cached answers of trial links, and cache new ones.
        floors: also find the minimum versions that a package needs, and compare the package's
            metadata with these versions. If False, only the code is checked, which takes a tenth of
            the time.
        limits: upper limits on sizes, counts and time for reading one file.
        progress: called while files are read.
        on_error: called with the error of each path that fails; reading then goes on with the next
            path. None: raise the first error.

    Yields:
        The problems of this machine come first, if it is a target. The results of each file follow
        as soon as ltocompat has read the file. They are sorted by target, then by GPU, then by
        route. If a target is not this machine, the problems of a package's metadata that depend on
        no target come last.

    Raises:
        UnreadableInput: a path can't be opened.
        UsageError: a target or a location is invalid.
        Missing: a trial needs an nvJitLink, a driver or a GPU that is missing. Or no target is
            named, and this machine has no driver and no GPU.
    """
    for record in answers(run(options), on_error):
        if isinstance(record, Result):
            yield record


def run(options: CheckOptions) -> Iterator[Target | Result | Failure | Note | Loss]:
    """Yield the targets, then the results of ``check``; an unreadable path is a ``Failure``.

    For an environment or a container image, the last records name the packages that fail on each
    target.

    Raises:
        UsageError: at once, if a target or the route is invalid.
        Missing: at once, if no target is named and this machine has no driver.
    """
    options = of_environment(options)
    packages = not options.paths or options.python is not None
    targets = resolve_targets(options.targets, options.python, of_environment=packages)
    if options.paths and not options.targets:
        _need_a_driver(targets[0].target, trial_load=options.trial_load)
    route = None if options.route is None else Route(options.route)
    results = _results(options, targets, route)
    if options.paths:
        return results
    from ltocompat.commands.losses import with_losses

    return with_losses(results)


def _results(
    options: CheckOptions, targets: Sequence[DeploymentTarget], route: Route | None
) -> Iterator[Target | Result | Failure | Note | Loss]:
    """The targets, then the results file by file; variants of installed packages come last."""
    installation = next((target.installation for target in targets if target.installation), None)
    paths: Sequence[Source] = options.paths
    if not paths:
        paths, note = files_of(installation)
        yield note
    yield from lock_notes(options.paths, options.limits)
    plain = tuple(target.target for target in targets)
    yield from plain
    # On this machine the installed libraries are known: what metadata would admit doesn't matter.
    shipped = bool(options.beside) or any(target.installation is None for target in targets)
    judges_packages = options.floors and not options.together
    variants = InstalledVariants(options.limits)
    with ExitStack() as stack:
        sources = stack.enter_context(opened_sources(paths, options.limits))
        packages = Packages(sources.texts, options.beside, options.limits, sources)
        kept = MemberCache(sources)
        trials = _trials(stack, options, targets)
        settings = replace(
            options.settings,
            kept=kept,
            allow_empty=options.allow_empty,
            sources=sources,
            jobs=1 if sources.all_in_memory else None,
        )
        named, together = bool(options.paths), options.together
        tries = None if trials is None else trials.tries
        scan = ScanOptions(
            settings, plain, tries, named=named, for_require=judges_packages, single_link=together
        )
        found = _summaries(trials, options, scan, sources.texts, route)
        yield from filter(None, (target.own_result() for target in targets))
        for summary in found:
            if isinstance(summary, Failure):
                yield summary
                continue
            package = owner(summary.path)
            asked = targets if named or has_something_to_judge(summary) else ()
            judged = (target.results(summary, route) for target in asked)
            results = [*chain.from_iterable(judged)]
            if judges_packages:
                there = frozenset.intersection(*(target.brought(summary) for target in targets))
                results += packages.results(summary, shipped=shipped, brought=there)
            # The files of an environment are shown by package; a path names its package itself.
            name = "" if installation is None else str(package or "")
            notes, of_image = tuple(told_trials(summary)), bool(summary.origins)
            file = EvaluatedFile(summary.path, name, results, notes, of_image)
            if not variants.hold(file, package):
                yield from _with_names_and_advice(file, options, kept)
        for file in variants.files():
            yield from _with_names_and_advice(file, options, kept)
        if judges_packages:
            yield from packages.installed_results(installation.folders if installation else ())


def _with_names_and_advice(
    file: EvaluatedFile, options: CheckOptions, kept: MemberCache
) -> Iterator[Result | Failure | Note | Loss]:
    """The results of a file, with the names of kernels, its package, and advice.

    Last, the packages of a container image that fail.
    """
    yield from file.notes
    for result in with_kernel_names(file.results, options.limits, kept=kept):
        if isinstance(result, Failure):
            yield result
        else:
            advised = result if options.trial_link else advising_trials(result)
            of_users = file.of_image or not options.paths
            advised = advising_users(advised) if of_users else advised
            yield replace(advised, distribution=file.package)
    if file.of_image:
        from ltocompat.commands.losses import losses

        # What its metadata promises on other machines is no loss on a target.
        told = (each for each in file.results if isinstance(each, Result))
        yield from losses(each for each in told if each.target != ANY_TARGET)


def _summaries(
    trials: Trials | None,
    options: CheckOptions,
    read: ScanOptions,
    texts: Sequence[str],
    route: Route | None,
) -> Summaries:
    """The summary of each file, or one of all as one link, with the answers of linkers."""
    found = summaries(texts, read)
    if trials is not None and options.trial_link == AUTO and not options.together:
        found = trials.settled(found, read.targets or (), read, route)
    if not options.together:
        yield from found
        return
    records = list(found)
    parts = [record for record in records if not isinstance(record, Failure)]
    yield from (record for record in records if isinstance(record, Failure))
    whole = together_as_one(parts)
    # A link is tried only if every file can be read.
    if trials is not None and options.trial_link and len(parts) == len(records):
        answers = trials.answers_on_link(whole, read, texts, route)
        whole = together_as_one(parts, answers) if answers else whole
    yield whole


def resolve_targets(
    spellings: Sequence[TargetLike], python: str | None = None, *, of_environment: bool = False
) -> tuple[DeploymentTarget, ...]:
    """Return deploy targets ready for checks; ``this machine`` or no target is this machine.

    Args:
        spellings: values, or spellings that ``--deploy-target`` accepts.
        python: the interpreter of the environment; None: the active environment.
        of_environment: True if packages of that environment are checked; on described targets, the
            libraries that they install count, too.

    Raises:
        UsageError: one of them is invalid.
    """
    from ltocompat.targets import parse
    from ltocompat.targets.reading import united

    @functools.cache
    def machine() -> ThisMachine:
        from ltocompat.commands.this_machine import ThisMachine

        return ThisMachine.now(python)

    found: list[DeploymentTarget] = []
    fleets: dict[str, int] = {}
    engine = Engine()
    for given in spellings or (THIS_MACHINE,):
        spelling = os.fspath(given) if isinstance(given, os.PathLike) else given
        if spelling == THIS_MACHINE:
            found.append(machine())
        elif not isinstance(spelling, DeploymentTarget):
            for target in [spelling] if isinstance(spelling, Target) else parse([spelling]):
                place = fleets.setdefault(target.name, len(found)) if target.nodes else len(found)
                whole = united(found[place].target, target) if found[place:] else target
                deployed = (
                    machine().packages_on(whole)
                    if of_environment
                    else DeploymentTarget(whole, engine)
                )
                found[place : place + 1] = [deployed]
        else:
            found.append(spelling)
    return tuple(found)


def _need_a_driver(here: Target, *, trial_load: bool = False) -> None:
    """Refuse this machine as the target that nobody named, if too little of it is known.

    Raises:
        Missing: it has no driver and no GPU.
    """
    if here.driver is not None or here.gpus:
        return
    if trial_load:
        raise Missing(
            "--trial-load needs an NVIDIA GPU and its driver; run it on a machine with both, or "
            "name a --deploy-target instead"
        )
    from ltocompat.targets.reading import names_of_project

    _, names = names_of_project(".")
    example = shlex.quote(names[0]) if names else "cuda=12.4,gpu=h100"
    raise Missing(
        "this machine has no NVIDIA driver to check against; name the target, as in "
        f"--deploy-target {example} (the default target is this machine)"
    )


def _trials(
    stack: ExitStack, options: CheckOptions, targets: Sequence[DeploymentTarget]
) -> Trials | None:
    """The linkers and drivers that the options name, asked about each file; None for none.

    Raises:
        UsageError: a driver is to be asked, and no target is this machine.
    """
    if not (options.trial_link or options.trial_load):
        return None
    # Imported here: most commands ask nobody.
    from ltocompat.commands.trials import Trials

    trials = stack.enter_context(Trials(options))
    if options.trial_link is True and not options.together:
        trials.ask_linkers([target.target for target in targets])
    if options.trial_load:
        here = next((target.target for target in targets if target.here), None)
        if here is None:
            raise UsageError(
                "--trial-load tries the driver and the GPUs of this machine; leave out "
                "--deploy-target, or leave out --trial-load"
            )
        trials.ask_driver(here)
    return trials
