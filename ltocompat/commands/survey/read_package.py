"""One package, read in this process alone, and asked all that a survey asks."""

from __future__ import annotations

import os
from collections.abc import Sequence

from msgspec import Struct

from ltocompat.commands import inspect, weigh
from ltocompat.commands.package_problems import Packages, result_of
from ltocompat.commands.read_artifacts import ScanOptions, summaries
from ltocompat.commands.survey.default_targets import default_targets
from ltocompat.commands.survey.image_groups import ImageGroup, ImageGroups
from ltocompat.model.artifact_summary import ArtifactSummary
from ltocompat.model.failure import Failure
from ltocompat.model.image import Module
from ltocompat.model.limits import DEFAULT_LIMITS, Limits
from ltocompat.model.requirement import Required
from ltocompat.model.verdict import Result
from ltocompat.model.weight import Weight
from ltocompat.packages.reading import package_of
from ltocompat.packages.values import Package
from ltocompat.rules.engine.collect_requirements import required
from ltocompat.rules.engine.judge_artifact import results
from ltocompat.scan.walk import ScanSettings
from ltocompat.targets import parse


class PackageAnswers(Struct, frozen=True):
    """What one package holds and needs, and the verdicts on it.

    Attributes:
        path: its file.
        package: what its metadata say; None where it is no package.
        summary: what is left of its device code.
        groups: its images, those that are alike counted together.
        required: what it needs wherever it goes.
        results: the verdicts, target by target; last, what is wrong with it on any target.
        weight: what its device code weighs.
    """

    path: str
    package: Package | None
    summary: ArtifactSummary
    groups: tuple[ImageGroup, ...]
    required: Required
    results: tuple[Result, ...]
    weight: Weight


def read_package(
    path: str, targets: Sequence[str], limits: Limits = DEFAULT_LIMITS
) -> PackageAnswers:
    """Read a package and ask all that a survey asks; no other process is started.

    Args:
        path: its file.
        targets: spellings of deploy targets; none: those of its platforms.
        limits: what reading it may cost.

    Raises:
        UnreadableInput: it can't be opened.
        UsageError: a target has no meaning.
    """
    package = package_of(path, limits)
    goals = parse(targets or default_targets(package.platforms if package else ()))
    settings = ScanSettings(limits=limits, jobs=1)
    scan = ScanOptions(settings, tuple(goals), for_require=True, apart=True)
    (summary,) = summaries([path], scan)
    requirement = required(summary)
    found = [result for target in goals for result in results(summary, target, why=False)]
    problems = Packages([path], (), limits).problems(summary, package, requirement)
    if problems:
        found.append(result_of(path, problems))
    return PackageAnswers(
        path,
        package,
        summary,
        _groups(path, limits),
        requirement,
        tuple(found),
        _weight(path, limits),
    )


def _groups(path: str, limits: Limits) -> tuple[ImageGroup, ...]:
    groups = ImageGroups()
    for record in inspect.run(inspect.InspectOptions((path,), limits=limits, jobs=1)):
        if isinstance(record, Module):
            groups.take(record)
    return groups.found()


def _weight(path: str, limits: Limits) -> Weight:
    (weight,) = weigh.run(weigh.WeighOptions((os.fspath(path),), limits=limits, jobs=1))
    if isinstance(weight, Failure):
        raise weight.error or RuntimeError(weight.message)
    return weight
