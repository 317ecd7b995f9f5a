"""Check artifacts against deploy targets: a verdict for each target and GPU, and why."""

from __future__ import annotations

import functools
import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ltocompat.commands.deployment_target import DeploymentTarget, PlainTarget
from ltocompat.commands.failures import OnError, answers, with_failures
from ltocompat.commands.name_kernels import with_kernel_names
from ltocompat.commands.options import CheckOptions, options_of
from ltocompat.commands.read_artifacts import ScanOptions, summaries
from ltocompat.commands.trial_advice import advising_trials, ended_trials
from ltocompat.files.archives.spool import MemberCache
from ltocompat.model.artifact_summary import ArtifactSummary, together_as_one
from ltocompat.model.errors import Missing, UsageError
from ltocompat.model.failure import Failure, Note, Progress, reporter
from ltocompat.model.limits import DEFAULT_LIMITS, Limits
from ltocompat.model.target import THIS_MACHINE, Target
from ltocompat.model.verdict import Result, Route
from ltocompat.scan.sources import OpenSources, Source, opened_sources
from ltocompat.scan.walk import ScanSettings

if TYPE_CHECKING:
    from ltocompat.commands.package_problems import Packages
    from ltocompat.commands.this_machine import ThisMachine
    from ltocompat.commands.variants_of_files import JudgedFile
    from ltocompat.targets.machine.python_environment import Installation
    from ltocompat.trial.module_trial import Tries
    from ltocompat.trial.trial_run import TrialRun
    from ltocompat.trial.try_links import OneLinkTrial
    from ltocompat.trial.try_loads import LoadTrial

Paths = Source | Sequence[Source]
Targets = Target | DeploymentTarget | str | Sequence[Target | DeploymentTarget | str]


def check(
    paths: Paths = (),
    targets: Targets = (),
    *,
    python: str | None = None,
    route: Route | str | None = None,
    together: bool = False,
    beside: Sequence[str | os.PathLike[str]] = (),
    trial_link: bool = False,
    trial_load: bool = False,
    install_linkers: bool = False,
    cache: bool = True,
    floors: bool = True,
    limits: Limits = DEFAULT_LIMITS,
    progress: Callable[[Progress], None] | None = None,
    on_error: OnError | None = None,
) -> Iterator[Result]:
    """Judge every file at these paths, for every target and each of its GPUs.

    Args:
        paths: one or several files, folders, packages, places, ``-`` for standard input, bytes or
            open binary files (bytes are called ``input-0``, ``input-1`` by their position); none:
            the packages with device code in an environment of this machine.
        targets: one or several values, or spellings as ``--deploy-target`` takes them; none: this
            machine.
        python: the interpreter whose environment that is; None: the active one, else this one. Its
            packages are judged on described targets, too, with the libraries that they bring.
        route: ``load`` or ``link``, for modules that can go both ways; None judges both.
        together: judge what all paths hold as one link.
        beside: packages that are installed with those at the paths.
        trial_link: ask the nvJitLinks that the targets name.
        trial_load: ask this machine's driver, on its GPUs, where this machine is a target.
        install_linkers: install those that are not at hand.
        cache: keep the answers of trial links, and use those that are kept.
        floors: also find the least versions that a package needs, and hold its metadata against
            them; False: judge its code alone, which takes a tenth of the time.
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
        Missing: an nvJitLink, a driver or a GPU that is to be asked is not at hand; or no target is
            named, and this machine has neither driver nor GPU.
    """
    options = options_of(CheckOptions, locals())
    for record in answers(run(options), on_error):
        if isinstance(record, Result):
            yield record


def as_sequence(targets: Targets) -> tuple[Target | DeploymentTarget | str, ...]:
    """Targets as the public functions take them, one or several."""
    return (
        tuple(targets)
        if isinstance(targets, Sequence) and not isinstance(targets, str)
        else (targets,)
    )


def run(options: CheckOptions) -> Iterator[Target | Result | Failure | Note]:
    """The targets, then the results of ``check``; a path that can't be read is a ``Failure``.

    Raises:
        UsageError: at once, where a target or the route has no meaning.
        Missing: at once, where no target is named and this machine has no driver.
    """
    of_environment = not options.paths or options.python is not None
    targets = resolve_targets(options.targets, options.python, of_environment=of_environment)
    if options.paths and not options.targets:
        _need_a_driver(targets[0].target)
    route = None if options.route is None else Route(options.route)
    return _judged(options, targets, route)


def _judged(
    options: CheckOptions, targets: Sequence[DeploymentTarget], route: Route | None
) -> Iterator[Target | Result | Failure | Note]:
    # Imported here: what asks for nothing but usage reads no package.
    from ltocompat.commands.package_problems import Packages
    from ltocompat.commands.variants_of_files import with_variants
    from ltocompat.trial.trial_run import TrialRun

    installation = _installation(targets)
    paths: Sequence[Source] = options.paths
    if not paths:
        paths, others = _installed_files(installation)
        kinds = "images of tests, NVIDIA's device runtime"
        left_out = f"; left out: {others:,} that nobody runs ({kinds})" if others else ""
        yield Note(f"checking the packages of {installation}{left_out}")
    yield from (target.target for target in targets)
    # Here it is known what a package got, whatever its metadata admit.
    shipped = bool(options.beside) or any(target.installation is None for target in targets)
    with ExitStack() as stack:
        sources = stack.enter_context(opened_sources(paths, options.limits))
        packages = Packages(sources.texts, options.beside, options.limits, sources)
        trial_run = TrialRun.of(options.limits, options.progress)
        one_link = _one_link_trial(options, targets, trial_run)
        tries = _tries(stack, options, targets, one_link, trial_run)
        kept = MemberCache(sources)
        found = _summaries(sources, options, targets, tries, kept)
        if options.together:
            found = _together(found, one_link)
        yield from filter(None, (target.own_result() for target in targets))
        held = packages if shipped and options.floors else None
        files_judged = _files_judged(found, options, targets, route, held)
        for file in with_variants(files_judged, options.limits):
            yield from file.notes
            for verdict in with_kernel_names(file.results, options.limits, kept=kept):
                if isinstance(verdict, Failure):
                    yield verdict
                    continue
                advised = verdict if options.trial_link else advising_trials(verdict)
                yield replace(advised, distribution=file.package)


def _files_judged(
    found: Iterable[ArtifactSummary | Failure],
    options: CheckOptions,
    targets: Sequence[DeploymentTarget],
    route: Route | None,
    packages: Packages | None,
) -> Iterator[JudgedFile]:
    """The verdicts on each file; with what is wrong with packages, where ``packages`` is given."""
    from ltocompat.commands.package_problems import result_of
    from ltocompat.commands.variants_of_files import JudgedFile
    from ltocompat.packages.reading import owner

    for summary in found:
        if isinstance(summary, Failure):
            yield JudgedFile("", "", (summary,))
            continue
        # Only of an environment is it asked whose each file is: a path says so itself.
        package = "" if options.paths else str(owner(summary.path) or "")
        verdicts = [result for target in targets for result in target.results(summary, route)]
        if packages is not None and not options.together:
            problems = packages.problems(summary, packages.package_of(summary.path))
            verdicts += [result_of(summary.path, problems)] if problems else []
        yield JudgedFile(summary.path, package, verdicts, tuple(ended_trials(summary)))


def _summaries(
    sources: OpenSources,
    options: CheckOptions,
    targets: Sequence[DeploymentTarget],
    tries: Tries | None,
    kept: MemberCache,
) -> Iterable[ArtifactSummary | Failure]:
    """What lies in each of the sources."""
    settings = ScanSettings(
        limits=options.limits,
        progress=reporter(options.progress),
        kept=kept,
        allow_empty=options.allow_empty,
        sources=sources,
        jobs=1 if sources.all_in_memory else None,
    )
    plain = tuple(target.target for target in targets)
    scan = ScanOptions(settings, plain, tries, named=bool(options.paths), one_link=options.together)
    return with_failures(functools.partial(summaries, sources.texts, scan))


def _together(
    found: Iterable[ArtifactSummary | Failure], one_link: OneLinkTrial | None
) -> Iterator[ArtifactSummary | Failure]:
    """All files as one link, which is tried where none of them is missing."""
    parts: list[ArtifactSummary] = []
    whole = True
    for summary in found:
        if isinstance(summary, Failure):
            whole = False
            yield summary
        else:
            parts.append(summary)
    yield together_as_one(parts, one_link.answers() if one_link and whole else None)


def resolve_targets(
    spellings: Sequence[Target | DeploymentTarget | str],
    python: str | None = None,
    *,
    of_environment: bool = False,
) -> tuple[DeploymentTarget, ...]:
    """Deploy targets as they can be judged; ``this machine``, or none at all, is this machine.

    Args:
        spellings: values, or as ``--deploy-target`` takes them.
        python: the interpreter whose environment is meant; None: the active one.
        of_environment: its packages go to described targets, with the libraries that they bring.

    Raises:
        UsageError: one of them has no meaning.
    """
    machine = functools.cache(functools.partial(_this_machine, python))
    found: list[DeploymentTarget] = []
    for spelling in spellings or (THIS_MACHINE,):
        if isinstance(spelling, Target):
            found += _described([spelling], machine if of_environment else None)
        elif not isinstance(spelling, str):
            found.append(spelling)
        elif spelling == THIS_MACHINE:
            found.append(machine())
        else:
            from ltocompat.targets import parse

            found += _described(parse([spelling]), machine if of_environment else None)
    return tuple(found)


def _need_a_driver(here: Target) -> None:
    """Nobody named a target, so that this machine is meant, of which most should be known.

    Raises:
        Missing: it has no driver and no GPU.
    """
    if here.driver is not None or here.gpus:
        return
    from ltocompat.targets.reading import names_of_project

    _, names = names_of_project(".")
    example = shlex.quote(names[0]) if names else "cuda=12.4,gpu=h100"
    raise Missing(
        "there is no NVIDIA driver on this machine to judge for; say where the code goes, as in "
        f"--deploy-target {example} (or --deploy-target alone, for what is here)"
    )


def _this_machine(python: str | None) -> ThisMachine:
    from ltocompat.commands.this_machine import ThisMachine

    return ThisMachine.now(python)


def _described(
    targets: Sequence[Target], machine: Callable[[], ThisMachine] | None
) -> list[DeploymentTarget]:
    """Targets that were described, with the packages of a machine where some are meant."""
    if machine is None:
        return list(map(PlainTarget, targets))
    from ltocompat.commands.this_machine import PackagesElsewhere

    return [PackagesElsewhere.of(machine(), target) for target in targets]


def _one_link_trial(
    options: CheckOptions, targets: Sequence[DeploymentTarget], trial_run: TrialRun
) -> OneLinkTrial | None:
    """Asks linkers about all files at once."""
    if not (options.together and options.trial_link):
        return None
    from ltocompat.trial.try_links import OneLinkTrial

    plain = [target.target for target in targets]
    return OneLinkTrial(plain, install_missing=options.install_linkers, trial_run=trial_run)


def _tries(
    stack: ExitStack,
    options: CheckOptions,
    targets: Sequence[DeploymentTarget],
    one_link: OneLinkTrial | None,
    trial_run: TrialRun,
) -> Tries | None:
    """The linkers and drivers that are asked; their processes end with ``stack``."""
    tries: list[Tries] = []
    if one_link is not None:
        tries.append(one_link.for_file)
    elif options.trial_link:
        from ltocompat.trial.cached_linker import TrialCache
        from ltocompat.trial.try_links import LinkTrial

        linkers = LinkTrial(
            [target.target for target in targets],
            install_missing=options.install_linkers,
            cache=TrialCache.of() if options.cache else None,
            trial_run=trial_run,
        )
        tries.append(stack.enter_context(linkers).for_file)
    if options.trial_load:
        tries.append(stack.enter_context(_load_trial(targets, trial_run)).for_file)
    if not tries:
        return None
    from ltocompat.trial.module_trial import all_of

    return all_of(tries)


def _installation(targets: Sequence[DeploymentTarget]) -> Installation | None:
    """The packages of the machine that was looked at, where one is a target."""
    return next((target.installation for target in targets if target.installation), None)


def _installed_files(installation: Installation | None) -> tuple[tuple[str, ...], int]:
    """The files there that can hold device code, and how many more nobody runs.

    Raises:
        UsageError: neither is a target this machine, nor is an environment named.
    """
    if installation is None:
        raise UsageError(
            "there is nothing to check; name a file, a folder or a package, or with --python an "
            "environment"
        )
    from ltocompat.targets.machine.python_environment import binary_files, decides_nothing

    files = list(binary_files(installation))
    kept = tuple(file for file in files if not decides_nothing(file, installation))
    return kept, len(files) - len(kept)


def _load_trial(targets: Sequence[DeploymentTarget], trial_run: TrialRun) -> LoadTrial:
    """Asks this machine's driver.

    Raises:
        UsageError: no target is this machine.
    """
    machine = next((target for target in targets if target.here), None)
    if machine is None:
        raise UsageError("a trial load needs this machine as a target; leave out --deploy-target")
    from ltocompat.trial.try_loads import LoadTrial

    return LoadTrial(machine.target.name, trial_run)
