"""Audit artifacts: the verdicts of ``check`` on a project's targets, and what it promises."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack

from ltocompat.api.checking import Paths
from ltocompat.api.packaging import ANY_TARGET, Packages, result_of
from ltocompat.api.progress import Progress, reporter
from ltocompat.api.side_by_side import OnError
from ltocompat.api.studies import Reading, studies
from ltocompat.errors import UsageError
from ltocompat.inventory import Settings
from ltocompat.limits import DEFAULT_LIMITS, Limits
from ltocompat.packages.reading import package_of
from ltocompat.policy.baseline import Baseline
from ltocompat.policy.flaws import policy_flaws, should_hold_code
from ltocompat.policy.gate import Audited, audited
from ltocompat.policy.reading import find_policy, read_policy
from ltocompat.policy.values import Policy
from ltocompat.required import Required
from ltocompat.trying import TrialCache, Trier
from ltocompat.verdict import Result
from ltocompat.verdicts.artifacts import results
from ltocompat.verdicts.asking import required
from ltocompat.verdicts.studies import Study

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
            ``pyproject.toml``.
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
        route; last, where there is something, what is wrong with it on any target.

    Raises:
        UnreadableInput: a path can't be opened.
        UsageError: there is no policy, or a mistake in it; a place has no meaning.
        Missing: an nvJitLink that is to be asked is not at hand.
    """
    if not isinstance(policy, Policy):
        policy = read_policy(os.fspath(policy) if policy is not None else find_policy())
    if any(one.name == ANY_TARGET.name for one in policy.targets):
        raise UsageError(f"{policy.source}: a target is called {ANY_TARGET.name!r}; rename it")
    files = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    packages = Packages(files, beside, limits)
    settings = Settings(limits=limits, progress=reporter(progress))
    with ExitStack() as stack:
        tries = None
        if policy.trial_links:
            trier = Trier(
                policy.targets,
                install_missing=install_missing,
                cache=TrialCache.of() if cache else None,
                only=policy.trial_releases or None,
            )
            tries = stack.enter_context(trier).try_links
        reading = Reading(settings, policy.targets, tries, for_require=True, apart=True)
        for study in studies(files, reading, on_error):
            asked = required(study)
            yield asked
            for one in _results(study, asked, policy, packages):
                yield audited(one, policy, baseline)


def _results(study: Study, asked: Required, policy: Policy, packages: Packages) -> Iterator[Result]:
    for target in policy.targets:
        yield from results(study, target)
    holds = should_hold_code(study, package_of(study.path))
    flaws = packages.flaws(study, asked, policy.promise if holds else None)
    own = tuple(policy_flaws(policy, study, asked)) if holds else ()
    if flaws or own:
        yield result_of(study.path, (*own, *flaws))
