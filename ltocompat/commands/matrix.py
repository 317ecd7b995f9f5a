"""Artifacts by nvJitLinks, driver branches and architectures, or by deploy targets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import asdict

from ltocompat import facts
from ltocompat.commands import check
from ltocompat.commands.advice import advising_trials
from ltocompat.commands.environment_files import with_files
from ltocompat.commands.options import CheckOptions, MatrixOptions, OnError, answers, public
from ltocompat.commands.read_artifacts import summaries_of
from ltocompat.commands.this_machine import MACHINE
from ltocompat.commands.trials import Trials
from ltocompat.facts import drivers
from ltocompat.facts.gpus import gpus_in_use
from ltocompat.model.artifact_summary import ArtifactSummary
from ltocompat.model.errors import UnreadableInput
from ltocompat.model.failure import Failure, Note
from ltocompat.model.matrix import ARTIFACT, Matrix
from ltocompat.model.target import ANY_TARGET, Target, exactly
from ltocompat.model.verdict import Loss, Result, Route
from ltocompat.model.words import count
from ltocompat.rules.engine.engine import Engine
from ltocompat.rules.engine.judge_artifact import ArtifactJudge
from ltocompat.rules.engine.routes import routes
from ltocompat.scan.sources import opened_sources

_SOURCE = "matrix"
# Minor-version compatibility of every major that is still used begins here.
_OLDEST_BRANCH = 525


@public(MatrixOptions, "*paths")
def matrix(options: MatrixOptions, *, on_error: OnError | None = None) -> Iterator[Matrix]:
    """Check against every nvJitLink, every driver branch and every architecture.

    Args:
        paths: files, folders, places in files (``libx.a::m.o``), ``-`` (standard input), bytes, or
            open binary files.
        python: the environment that is read if no paths are given; the interpreter or the folder of
            the environment.
        targets: show one matrix instead, with a row for each artifact and a column for each of
            these deploy targets.
        trial_link: try every nvJitLink.
        install_linkers: install the missing linkers.
        limits: upper limits on sizes, counts and time for reading one file.
        progress: called while files are read.
        on_error: called with the error of each path that fails; reading then goes on with the next
            path. None: raise the first error.

    Raises:
        UnreadableInput: a path can't be opened.
        UsageError: a given path or place does not exist.
        Missing: a trial link needs an nvJitLink that is not installed.
    """
    return (each for each in answers(run(options), on_error) if isinstance(each, Matrix))


def run(options: MatrixOptions) -> Iterator[Target | Result | Matrix | Failure | Note]:
    """Yield the matrices; an unreadable path is a ``Failure`` among them.

    For deploy targets, yield the records of ``check``, then one matrix.

    Raises:
        Missing: a trial link needs an nvJitLink that is not installed.
    """
    if options.targets:
        yield from _by_target(check.run(CheckOptions(**asdict(options))))
        return
    options, named, notes = with_files(options)
    yield from notes
    linkers, engine = linker_targets(), Engine()
    with Trials(options) as trials, opened_sources(options.paths, options.limits) as sources:
        if options.trial_link:
            trials.ask_linkers(linkers)
        for summary in summaries_of(options, sources, tries=trials.tries, named=named):
            if isinstance(summary, Failure):
                yield summary
                continue
            yield from matrices(summary, linkers, engine, tried=options.trial_link)
            if summary.skipped:
                first, others = summary.skipped[0], summary.skipped_count - 1
                more = f", and {others:,} more" if others else ""
                text = f"{first.place} can't be read: {first.reason}{more}"
                yield Failure.of(UnreadableInput(text))


def matrices(
    summary: ArtifactSummary, linkers: Sequence[Target], engine: Engine, *, tried: bool = False
) -> Iterator[Matrix]:
    """Yield the matrices of one artifact.

    Args:
        summary: the artifact.
        linkers: the result of ``linker_targets``.
        engine: the engine with its cache.
        tried: True if these linkers were tried.
    """
    artifact = ArtifactJudge(summary, engine)
    ways = {way for group in summary.groups for way in routes(group.signature)}
    for what, route, targets in (
        ("nvJitLink", Route.LINK, linkers),
        ("driver", Route.LOAD, _driver_targets()),
    ):
        if route in ways:
            asked = tried and route is Route.LINK
            # What `check` says on each target: its line of this route, or its only one.
            rows = (artifact.results(target, line=route) for target in targets)
            cells = tuple(tuple(row if asked else map(advising_trials, row)) for row in rows)
            columns = tuple(map(str, targets[0].gpus))
            names = tuple(target.name for target in targets)
            yield Matrix(summary.path, what, names, columns, asked, cells)


def _by_target(
    records: Iterable[Target | Result | Failure | Note | Loss],
) -> Iterator[Target | Result | Matrix | Failure | Note]:
    """The records of ``check``, then a matrix of them: in each cell the worst result.

    What a package or a machine has wrong, whatever else there is, holds in each of its cells.
    """
    targets: list[str] = []
    found: dict[str, list[Result]] = {MACHINE: []}
    for record in records:
        if isinstance(record, Loss):
            continue
        yield record
        if isinstance(record, Target):
            targets.append(record.name)
        elif isinstance(record, Result) and not record.without_device_code:
            found.setdefault(record.path, []).append(record)
    machine = found.pop(MACHINE)
    rows = [
        (path, tuple(_worst([*results, *machine], (name, ANY_TARGET.name)) for name in targets))
        for path, results in found.items()
    ]
    if rows:
        rows.sort(key=lambda row: max(result.counted for result in row[1]), reverse=True)
        names, cells = zip(*rows, strict=True)
        yield Matrix(
            count(len(rows), ARTIFACT), ARTIFACT, names, tuple(targets), tried=False, cells=cells
        )


def _worst(results: Iterable[Result], names: Sequence[str]) -> Result:
    """The worst of the results on targets of these names."""
    asked = (result for result in results if result.target.name in names)
    return max(asked, key=lambda result: result.counted)


def linker_targets() -> list[Target]:
    """Return a target for every nvJitLink, with every architecture."""
    return [
        Target(name=str(minor), nvjitlink=exactly(minor, _SOURCE), gpus=gpus_in_use())
        for minor in facts.nvjitlink_minors()
    ]


def _driver_targets() -> list[Target]:
    return [
        Target(
            name=str(branch),
            driver=exactly(drivers.first_production(branch), _SOURCE, str(branch)),
            gpus=gpus_in_use(),
        )
        for branch in drivers.driver_branches()
        if branch >= _OLDEST_BRANCH
    ]
