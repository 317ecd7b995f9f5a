"""Audit artifacts: the verdicts of ``check`` on a project's targets, and what it promises."""

from __future__ import annotations

import functools
import glob
import itertools
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field
from msgspec.structs import replace

from ltocompat.commands.advice import told_trials
from ltocompat.commands.check import resolve_targets
from ltocompat.commands.kernel_names import with_kernel_names
from ltocompat.commands.options import AuditOptions, OnError, StrPath, answers, named, public
from ltocompat.commands.package_problems import Packages, on_any_target, result_of
from ltocompat.commands.policy.baseline import Baseline, read_baseline, write_baseline
from ltocompat.commands.policy.fingerprint import path_in_project
from ltocompat.commands.policy.gate import Audited, Standing, audited
from ltocompat.commands.policy.problems import policy_problems, should_hold_code
from ltocompat.commands.policy.provided import without_provided
from ltocompat.commands.policy.reading import listed_archs, nearest_policy, read_policy
from ltocompat.commands.policy.values import Policy, PolicyException
from ltocompat.commands.policy.variants import with_named_variants
from ltocompat.commands.read_artifacts import ScanOptions, Summaries, summaries
from ltocompat.commands.trials import Trials
from ltocompat.files.archives.spool import MemberCache
from ltocompat.model.artifact_summary import ArtifactSummary
from ltocompat.model.errors import UsageError
from ltocompat.model.failure import Failure, Note
from ltocompat.model.location import Location
from ltocompat.model.requirement import Required
from ltocompat.model.target import ANY_TARGET, THIS_MACHINE, Target
from ltocompat.model.trial_answer import AUTO
from ltocompat.model.verdict import Outcome, Result, Route, Verdict, outcome, worst
from ltocompat.model.words import count
from ltocompat.packages.reading import package_of
from ltocompat.packages.values import Package
from ltocompat.rules.builtin_rules import TARGET_LEAVES_OPEN
from ltocompat.rules.engine.collect_requirements import required
from ltocompat.rules.engine.engine import Engine
from ltocompat.rules.engine.judge_artifact import ArtifactJudge, results
from ltocompat.rules.rule import Problem
from ltocompat.scan.summary_cache import SummaryCache
from ltocompat.trial.try_links import LinkTrial

if TYPE_CHECKING:
    from ltocompat.commands.survey.releases import Releases


# Options of the command line alone: in Python a policy says the same.
_TYPED = (
    *("trial_link", "trial_load", "allow_empty", "fail_on", "platform"),
    *("write_baseline", "dataset", "outputs"),
)


_Said = Audited | Required | Failure | Note  # of one file


class AuditScope(Struct, frozen=True):
    """The policy and baseline of an audit; the first of its records.

    Attributes:
        policy: the policy, with the options of this run.
        baseline: the known findings.
    """

    policy: Policy
    baseline: Baseline


@public(AuditOptions, "paths", "policy", without=_TYPED)
def audit(
    options: AuditOptions, *, on_error: OnError | None = None
) -> Iterator[Audited | Required]:
    """Check every file at these paths against a policy.

    Args:
        paths: one or several files, folders, packages or locations.
        policy: a ``Policy`` or its file. None: the nearest ``ltocompat.toml`` or
            ``pyproject.toml``. Without a policy, only the rules that need no target apply.
        targets: the targets on which the project's releases must run; they replace the policy's
            targets.
        require_archs: architectures for which every artifact must have code; they replace the
            policy's list. They are written as for ``TORCH_CUDA_ARCH_LIST``, CMake or nvcc.
        max_bytes: the size of the largest file that may be released; it replaces the policy's
            limit.
        max_member_bytes: the size limit for an unpacked file inside a wheel; it replaces the
            policy's limit.
        baseline: known findings, which do not make the audit fail.
        beside: packages that will be installed together with the given packages.
        install_linkers: install the nvJitLinks that trial links need, if they are missing.
        cache: use cached answers of trial links, and cache new ones.
        limits: upper limits on sizes, counts and time for reading one file.
        progress: called while files are read.
        on_error: called with the error of each path that fails; reading then goes on with the next
            path. None: raise the first error.

    Yields:
        For each file, its requirements come first, as ``require`` gives them. Its verdicts follow,
        sorted by target, GPU and route; if there are no targets, there are no verdicts. Problems
        that a file has on every target come last.

    Raises:
        UnreadableInput: a path can't be opened.
        UsageError: no path is named, the policy has a mistake, or a location is invalid.
        Missing: a trial needs an nvJitLink, a driver or a GPU that is missing.
    """
    scope = _scope(options)
    found: Iterator[Audited | Required]
    found = answers(_audited(options, named(options.paths), scope), on_error)
    yield from found


def run(options: AuditOptions) -> Iterable[AuditScope | _Said]:
    """Yield the scope of the audit, then the records of ``audit``, with a ``Failure`` for an error.

    Raises:
        UsageError: at once, if the policy or the baseline has a mistake, there is nothing to audit,
            or a report would replace an input.
    """
    scope = _scope(options)
    found = _audited(options, _files(options, scope.policy), scope)
    if options.dataset is not None:
        # Imported here: without a survey nobody needs DuckDB.
        from ltocompat.commands.survey.releases import Releases

        found = _with_releases(found, Releases(options.dataset), options.dataset)
    if options.write_baseline is None:
        return itertools.chain([scope], found)
    return _with_new_baseline(list(found), scope, options.write_baseline)


def _scope(options: AuditOptions) -> AuditScope:
    baseline = options.baseline
    if isinstance(baseline, str):
        baseline = read_baseline(baseline)
    policy = _with_machine(_overridden(_policy(options.policy), options))
    return AuditScope(policy, baseline or Baseline())


def _with_releases(records: Iterable[_Said], releases: Releases, folder: str) -> Iterator[_Said]:
    """Name the newest release in a survey that runs where one fails, once for a target and GPU."""
    told = set()
    for record in records:
        yield record
        if not isinstance(record, Audited) or record.result.verdict is not Verdict.FAIL:
            continue
        result = record.result
        name, driver, gpu = result.distribution.partition(" ")[0], result.target.driver, result.gpu
        asked, system = (name, result.target.name, gpu), result.target.system
        left_out = asked in told or system.name == "windows"
        if not name or driver is None or gpu is None or left_out:
            continue
        told.add(asked)
        below = (*min(each.numbers for each in driver.values), 0)  # that driver is enough
        archs = [f"sm_{gpu.arch.number}"]
        release = releases.newest(name, "driver", archs, below, system)
        where = f"{result.target.name} ({gpu.name})"
        found = f"{release} is the newest" if release else "there is no"
        yield Note(f"{found} release of {name} in {folder!r} whose code runs on {where}")


def _policy(policy: Policy | StrPath | None) -> Policy:
    """The policy that is given, in the file that is named, or in the nearest that has one.

    Raises:
        UsageError: the file that is named has none, or there is a mistake in it.
    """
    if not isinstance(policy, Policy):
        policy = nearest_policy() if policy is None else read_policy(os.fspath(policy))
    if any(target.name == ANY_TARGET.name for target in policy.targets):
        raise UsageError(f"{policy.source}: a target is called {ANY_TARGET.name!r}; rename it")
    return policy


def _overridden(policy: Policy, options: AuditOptions) -> Policy:
    """The policy of this run: options beat its keys.

    Raises:
        UsageError: a target or an architecture has no meaning.
    """
    by_options: dict[str, Any] = {}
    if options.targets:
        named = {target.name: target for target in policy.targets}
        given = [named.get(str(word), word) for word in options.targets]
        by_options["targets"] = tuple(found.target for found in resolve_targets(given))
    if options.require_archs:
        by_options["require_archs"] = listed_archs(options.require_archs)
    for name in ("max_bytes", "max_member_bytes"):
        if (most := getattr(options, name)) is not None:
            by_options[name] = most
    keys = tuple(name.replace("_", "-") for name in by_options)
    policy = replace(policy, **by_options, options=keys)
    if options.fail_on is not None:
        policy = replace(policy, fail_on=options.fail_on)
    if options.trial_link:  # as ``trial-link = true``: all the linkers that the targets name
        auto = options.trial_link == AUTO
        policy = replace(policy, trial_links=not auto, trial_auto=auto, trial_releases=())
    if options.trial_load:
        policy = replace(policy, trial_load=True)
    return replace(policy, allow_empty=True) if options.allow_empty else policy


def _with_machine(policy: Policy) -> Policy:
    """The policy with this machine as one more target, where its driver is to be asked.

    Which linkers lie here says nothing of where releases go.

    Raises:
        UsageError: a target of the policy has its name.
    """
    if not policy.trial_load:
        return policy
    # Imported here: most audits look at no machine.
    from ltocompat.commands.this_machine import ThisMachine

    if any(target.name == THIS_MACHINE for target in policy.targets):
        raise UsageError(f"{policy.source}: a target is called {THIS_MACHINE!r}; rename it")
    target = ThisMachine.now(None).target
    return replace(policy, here=replace(target, nvjitlink=None, nvrtc=None, nvlink=None))


def _files(options: AuditOptions, policy: Policy) -> tuple[StrPath, ...]:
    """The files to audit.

    Raises:
        UsageError: nothing was named, nothing was built, and that may not be; or a report would
            replace it.
    """
    otherwise = ", or accept an empty folder with --allow-empty"
    files = matching_files(options.paths, policy, otherwise, allow_empty=options.allow_empty)
    audited_files = {os.path.realpath(file) for file in files}
    for output in options.outputs:
        if os.path.realpath(output) in audited_files:
            raise UsageError(f"a report would replace {output}; name another file")
    return files


def matching_files(
    paths: Sequence[StrPath], policy: Policy, otherwise: str = "", *, allow_empty: bool = False
) -> tuple[StrPath, ...]:
    """Return the files at paths and patterns; without any, the packages built next to the policy.

    Args:
        paths: the inputs, as the user named them.
        policy: the policy, in whose folder to look.
        otherwise: another remedy if there are none.
        allow_empty: True if no file is required, whatever the policy says about device code.

    Raises:
        UsageError: there are no files, but some are required.
    """
    built = os.path.join(glob.escape(os.path.dirname(policy.source)), "dist", "*")
    files: list[StrPath] = []
    for path in paths or (built,):
        found = _matching(path)
        if not found and not allow_empty:
            raise UsageError(f"{path} has no file; build a package or name one{otherwise}")
        files += found
    return tuple(files)


def _matching(path: StrPath) -> Sequence[StrPath]:
    """The files that a pattern means; whatever is there by that very name is meant."""
    text = os.fspath(path)
    if not any(char in text for char in "*?[") or os.path.lexists(Location.parse(text).path):
        return (path,)
    return sorted(glob.glob(text, recursive=True))


def _with_new_baseline(
    records: Sequence[_Said], scope: AuditScope, path: str
) -> list[AuditScope | _Said]:
    """Write what was found as a baseline; from then on all that it has is known."""
    results = [record for record in records if isinstance(record, Audited)]
    number = write_baseline(path, [result.not_excepted() for result in results])
    scope = replace(scope, baseline=read_baseline(path))
    again = functools.partial(audited, policy=scope.policy, baseline=scope.baseline)
    rebased = [
        again([record.checked])[0] if isinstance(record, Audited) else record for record in records
    ]
    note = Note(f"{count(number, 'finding')} written to {path}")
    failures_first = sorted([note, *rebased], key=lambda record: not isinstance(record, Failure))
    return [scope, *failures_first]


def _audited(options: AuditOptions, files: Sequence[StrPath], scope: AuditScope) -> Iterator[_Said]:
    policy = scope.policy
    packages = Packages(files, options.beside, options.limits)
    with Trials(options) as trials:
        kept = MemberCache()
        for summary in policy_summaries(trials, options, files, policy, kept):
            if isinstance(summary, Failure):
                yield summary
                continue
            yield from told_trials(summary)
            package = package_of(summary.path, options.limits)
            known = with_named_variants(summary, policy.variants)
            known = without_provided(known, policy, package)
            requirement = required(known)
            yield requirement
            found = list(results_of(known, package, policy, packages, requirement))
            named = with_kernel_names(found, options.limits, policy.exceptions, kept)
            yield from audited(named, policy, scope.baseline)


def policy_summaries(
    trials: Trials,
    options: AuditOptions,
    files: Sequence[StrPath],
    policy: Policy,
    members: MemberCache | None = None,
) -> Summaries:
    """Yield summaries of the files, with the trials of the policy.

    ``members`` keeps unpacked members for a second reading.
    """
    settings = replace(options.settings, kept=members, allow_empty=options.allow_empty)
    linkers = narrower = None
    if policy.trial_links and policy.targets:
        linkers = trials.ask_linkers(policy.targets, policy.trial_releases or None)
    elif policy.trial_links:
        # Nobody's linkers are named: those are asked that tell who made the LTO-IR.
        narrower = trials.narrower()
    if policy.here is not None:
        trials.ask_driver(policy.here)
    targets = policy.every_target or None
    reading = ScanOptions(settings, targets, trials.tries, narrower, for_require=True, apart=True)
    if policy.trial_auto:
        return trials.settled(summaries(files, reading), policy.targets, reading, None)
    if linkers is None or policy.here is not None or not options.cache:
        return summaries(files, reading)
    return _kept_summaries(files, reading, linkers, SummaryCache.of())


def _kept_summaries(
    paths: Sequence[StrPath], reading: ScanOptions, linkers: LinkTrial, cache: SummaryCache | None
) -> Summaries:
    """The summaries of files that have not changed, else of what is read now and kept."""
    how = repr((reading.targets, reading.settings.limits))
    for path in (os.fspath(path) for path in paths):
        key = None if cache is None else cache.key(path, f"{how} {linkers.identity}")
        known = None if cache is None or key is None else cache.get(key)
        if known is not None:
            yield from known
            continue
        found: list[ArtifactSummary | Failure] = []
        for summary in summaries([path], reading):
            yield summary
            found.append(summary)
        read = [summary for summary in found if isinstance(summary, ArtifactSummary)]
        if cache is not None and key is not None and len(read) == len(found):
            cache.keep(key, read)


def results_of(
    summary: ArtifactSummary,
    package: Package | None,
    policy: Policy,
    packages: Packages,
    requirement: Required,
) -> Iterator[Result]:
    """Yield the verdicts on an artifact for a policy; last, its problems on every target.

    Args:
        summary: the artifact.
        package: the package that it is or belongs to; None for none.
        policy: the policy.
        packages: the checks of packages' promises.
        requirement: its requirements.
    """
    project = os.path.dirname(policy.source) or "."
    known_as = path_in_project(summary.path, project) if policy.source else ""
    promise = policy.promise if should_hold_code(policy, summary, package) else None
    problems = packages.problems(packages.shipped(summary, package, lambda: requirement, promise))
    problems = (*policy_problems(policy, summary, requirement, package), *problems)
    for result in _results_of(summary, policy, problems):
        yield replace(result, distribution=str(package or ""), known_as=known_as)


def _results_of(
    summary: ArtifactSummary, policy: Policy, problems: Sequence[Problem]
) -> Iterator[Result]:
    if policy.here is not None:
        yield from _loaded_on(policy.here, summary)
    if not policy.targets:
        yield on_any_target(summary, problems)
        return
    artifact = ArtifactJudge(replace(summary, of_release=True), Engine())
    for target in policy.targets:
        yield from artifact.results(target)
    if problems:
        yield result_of(summary.path, problems, summary.origins)


def _loaded_on(target: Target, summary: ArtifactSummary) -> Iterator[Result]:
    """The verdicts on what is loaded on a machine; its linkers are not asked for."""
    for result in results(summary, target):
        findings = tuple(each for each in result.findings if each.rule != TARGET_LEAVES_OPEN)
        link_only = result.not_judged and result.coverage.served == result.coverage.link
        if result.route is not Route.LINK and not link_only:
            yield replace(result, findings=findings, not_judged=())


class AuditTally(Struct):
    """Return the outcome of an audit: it failed, or could not decide.

    Attributes:
        scope: the policy and baseline of the audit.
        standings: number of findings by standing.
        failures: paths that gave no answer.
    """

    scope: AuditScope
    standings: Counter[Standing] = field(default_factory=Counter)
    _used: set[PolicyException] = set()
    failures: list[Failure] = []
    _worst: Verdict = Verdict.NOT_FOR_GPU

    def take(self, record: AuditScope | Audited | Required | Failure) -> None:
        """Count a record."""
        if isinstance(record, Failure):
            self.failures.append(record)
        elif isinstance(record, Audited):
            self._worst = worst((self._worst, record.counted))
            self.standings.update(assessed.standing for assessed in record.assessed)
            self._used.update(each.exception for each in record.assessed if each.exception)

    @property
    def empty(self) -> bool:
        """Return whether there is no device code, and no unread place that may have some."""
        return self._worst is Verdict.NOT_FOR_GPU and not self.failures

    @property
    def outcome(self) -> Outcome:
        """The answer in one word; unreadable places may have device code."""
        policy = self.scope.policy
        allow_empty = policy.allow_empty or not policy.given
        found = outcome(self._worst, Verdict.FAIL, allow_empty=allow_empty)
        return Outcome.UNDECIDED if self.failures and found is Outcome.PASSED else found

    @property
    def unused(self) -> tuple[PolicyException, ...]:
        """The exceptions of the policy that no finding has needed so far."""
        return tuple(each for each in self.scope.policy.exceptions if each not in self._used)
