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
from ltocompat.commands.policy.problems import policy_flaws, should_hold_code
from ltocompat.commands.policy.reading import nearest_policy, read_policy
from ltocompat.commands.policy.values import Policy
from ltocompat.commands.read_artifacts import Reading, studies
from ltocompat.model.artifact_summary import Study
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
from ltocompat.scan.summary_cache import Key, StudyCache
from ltocompat.scan.walk import Settings
from ltocompat.targets.nvjitlink import obtain
from ltocompat.trial.narrow_makers import Narrower
from ltocompat.trial.trials import TrialCache, Trier

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
    if any(one.name == ANY_TARGET.name for one in policy.targets):
        raise UsageError(f"{policy.source}: a target is called {ANY_TARGET.name!r}; rename it")
    files = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    packages = Packages(files, beside, limits)
    settings = Settings(limits=limits, progress=reporter(progress))
    reading = Reading(settings, policy.targets, for_require=True, apart=True)
    with ExitStack() as stack:
        if policy.trial_links and not policy.targets:
            # Nobody's linkers are named: those are asked that tell who made the LTO-IR.
            ask = functools.partial(obtain, install_missing=install_missing)
            narrow = stack.enter_context(Narrower(ask)).narrow
            found = studies(files, replace(reading, narrow=narrow), on_error)
        elif policy.trial_links:
            trier = Trier(
                policy.targets,
                install_missing=install_missing,
                cache=TrialCache.of() if cache else None,
                only=policy.trial_releases or None,
            )
            tried = _Tried(reading, stack.enter_context(trier), StudyCache.of() if cache else None)
            found = tried.studies(files, on_error)
        else:
            found = studies(files, reading, on_error)
        for study in found:
            asked = required(study)
            yield asked
            for one in _results(study, asked, policy, packages):
                yield audited(one, policy, baseline)


def _results(study: Study, asked: Required, policy: Policy, packages: Packages) -> Iterator[Result]:
    package = package_of(study.path)
    promise = policy.promise if should_hold_code(policy, study, package) else None
    flaws = packages.flaws(study, asked, promise)
    flaws = (*policy_flaws(policy, study, asked, package), *flaws)
    if not policy.targets:
        yield on_any_target(study, flaws)
        return
    for target in policy.targets:
        yield from results(study, target)
    if flaws:
        yield result_of(study.path, flaws)


class _Tried:
    """Studies with trial links, each file by itself: what is known of it depends on no other.

    Args:
        reading: how files are read.
        trier: asks the nvJitLinks.
        kept: studies of files that have not changed; None to read all of them.
    """

    def __init__(self, reading: Reading, trier: Trier, kept: StudyCache | None) -> None:
        self._reading = replace(reading, tries=trier.for_file)
        self._trier = trier
        self._kept = kept
        self._how = repr((reading.targets, reading.settings.limits))

    def studies(
        self, paths: Sequence[str | os.PathLike[str]], on_error: OnError | None
    ) -> Iterator[Study]:
        for path in (os.fspath(one) for one in paths):
            how = f"{self._how} {self._trier.identity()}"
            key = self._kept.key(path, how) if self._kept is not None else None
            found = self._kept.get(key) if self._kept is not None and key is not None else None
            if found is not None:
                yield from found
            else:
                yield from self._read(path, key, on_error)

    def _read(self, path: str, key: Key | None, on_error: OnError | None) -> Iterator[Study]:
        errors: list[LtocompatError] = []
        found: list[Study] = []
        for study in studies([path], self._reading, errors.append):
            yield study
            if key is not None:
                found.append(study)
        for error in errors:
            if on_error is None:
                raise error
            on_error(error)
        if self._kept is not None and key is not None and not errors:
            self._kept.keep(key, found)
