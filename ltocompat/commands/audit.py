"""Audit artifacts: the verdicts of ``check`` on a project's targets, and what it promises."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace

from ltocompat.commands.check import Paths
from ltocompat.commands.package_problems import Packages, on_any_target, result_of
from ltocompat.commands.policy.baseline import Baseline
from ltocompat.commands.policy.gate import Audited, audited
from ltocompat.commands.policy.problems import policy_problems, should_hold_code
from ltocompat.commands.policy.reading import nearest_policy, read_policy
from ltocompat.commands.policy.values import Policy
from ltocompat.commands.read_artifacts import ScanOptions, summaries
from ltocompat.model.artifact_summary import ArtifactSummary
from ltocompat.model.errors import LtocompatError, UsageError
from ltocompat.model.limits import DEFAULT_LIMITS, Limits
from ltocompat.model.requirement import Required
from ltocompat.model.target import ANY_TARGET
from ltocompat.model.verdict import Result
from ltocompat.packages.reading import package_of
from ltocompat.rules.engine.collect_requirements import required
from ltocompat.rules.engine.judge_artifact import results
from ltocompat.scan.parallel import OnError
from ltocompat.scan.progress import Progress, reporter
from ltocompat.scan.summary_cache import Key, SummaryCache
from ltocompat.scan.walk import ScanSettings
from ltocompat.targets.nvjitlink import obtain
from ltocompat.trial.narrow_makers import MakerNarrower
from ltocompat.trial.trials import LinkTrial, TrialCache

_NO_BASELINE = Baseline()


def audit(
    paths: Paths,
    policy: Policy | str | os.PathLike[str] | None = None,
    *,
    baseline: Baseline = _NO_BASELINE,
    beside: Sequence[str | os.PathLike[str]] = (),
    install_missing: bool = False,
    cache: bool = True,
    limits: Limits = DEFAULT_LIMITS,
    progress: Callable[[Progress], None] | None = None,
    on_error: OnError | None = None,
) -> Iterator[Audited | Required]:
    """Hold every file at these paths against a policy.

    Args:
        paths: one or several files, folders, packages or places.
        policy: a value, or the file that has it; None: the nearest ``ltocompat.toml`` or
            ``pyproject.toml``; where there is none, only what holds on any target is judged.
        baseline: findings that are known and do not count.
        beside: packages that are installed with them.
        install_missing: install nvJitLinks that are to be asked and are not at hand.
        cache: keep the answers of trial links, and use those that are kept.
        limits: what reading one file may cost.
        progress: called as files are read.
        on_error: gets what goes wrong with one of the paths, while the others go on; None: the
            error is raised.

    Yields:
        Of every file what it asks for, as ``require`` says it; then its verdicts by target, GPU and
        route; last, where there is something, what is wrong with it on any target. Without targets
        that is all, for every file.

    Raises:
        UnreadableInput: a path can't be opened.
        UsageError: there is a mistake in the policy; a place has no meaning.
        Missing: an nvJitLink that is to be asked is not at hand.
    """
    if not isinstance(policy, Policy):
        policy = nearest_policy() if policy is None else read_policy(os.fspath(policy))
    if any(target.name == ANY_TARGET.name for target in policy.targets):
        raise UsageError(f"{policy.source}: a target is called {ANY_TARGET.name!r}; rename it")
    files = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    packages = Packages(files, beside, limits)
    settings = ScanSettings(limits=limits, progress=reporter(progress))
    reading = ScanOptions(settings, policy.targets, for_require=True, apart=True)
    with ExitStack() as stack:
        if policy.trial_links and not policy.targets:
            # Nobody's linkers are named: those are asked that tell who made the LTO-IR.
            ask = functools.partial(obtain, install_missing=install_missing)
            narrow = stack.enter_context(MakerNarrower(ask)).narrow
            found = summaries(files, replace(reading, narrow=narrow), on_error)
        elif policy.trial_links:
            link_trial = LinkTrial(
                policy.targets,
                install_missing=install_missing,
                cache=TrialCache.of() if cache else None,
                only=policy.trial_releases or None,
            )
            tried = _TriedSummaries(
                reading, stack.enter_context(link_trial), SummaryCache.of() if cache else None
            )
            found = tried.summaries(files, on_error)
        else:
            found = summaries(files, reading, on_error)
        for summary in found:
            asked = required(summary)
            yield asked
            for result in _results(summary, asked, policy, packages):
                yield audited(result, policy, baseline)


def _results(
    summary: ArtifactSummary, asked: Required, policy: Policy, packages: Packages
) -> Iterator[Result]:
    package = package_of(summary.path)
    promise = policy.promise if should_hold_code(policy, summary, package) else None
    problems = packages.problems(summary, asked, promise)
    problems = (*policy_problems(policy, summary, asked, package), *problems)
    if not policy.targets:
        yield on_any_target(summary, problems)
        return
    for target in policy.targets:
        yield from results(summary, target)
    if problems:
        yield result_of(summary.path, problems)


class _TriedSummaries:
    """Studies with trial links, each file by itself: what is known of it depends on no other.

    Args:
        reading: how files are read.
        link_trial: asks the nvJitLinks.
        kept: summaries of files that have not changed; None to read all of them.
    """

    def __init__(
        self, reading: ScanOptions, link_trial: LinkTrial, kept: SummaryCache | None
    ) -> None:
        self._reading = replace(reading, tries=link_trial.for_file)
        self._trier = link_trial
        self._kept = kept
        self._how = repr((reading.targets, reading.settings.limits))

    def summaries(
        self, paths: Sequence[str | os.PathLike[str]], on_error: OnError | None
    ) -> Iterator[ArtifactSummary]:
        for path in (os.fspath(record) for record in paths):
            how = f"{self._how} {self._trier.identity()}"
            key = self._kept.key(path, how) if self._kept is not None else None
            found = self._kept.get(key) if self._kept is not None and key is not None else None
            if found is not None:
                yield from found
            else:
                yield from self._read(path, key, on_error)

    def _read(
        self, path: str, key: Key | None, on_error: OnError | None
    ) -> Iterator[ArtifactSummary]:
        errors: list[LtocompatError] = []
        found: list[ArtifactSummary] = []
        for summary in summaries([path], self._reading, errors.append):
            yield summary
            if key is not None:
                found.append(summary)
        for error in errors:
            if on_error is None:
                raise error
            on_error(error)
        if self._kept is not None and key is not None and not errors:
            self._kept.keep(key, found)
