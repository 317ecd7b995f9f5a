"""Write the policy that packages pass today; next to one that is there, say what moved."""

from __future__ import annotations

import datetime as dt
import os
import shlex
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ltocompat.commands.audit import matching_files, policy_summaries, results_of
from ltocompat.commands.options import AuditOptions, InitOptions, StrPath
from ltocompat.commands.package_problems import Packages
from ltocompat.commands.policy.baseline import Baseline
from ltocompat.commands.policy.draft import (
    DAYS,
    DraftTarget,
    IgnoredFinding,
    ignored_findings,
    moved,
)
from ltocompat.commands.policy.gate import HELD_UP, Audited, audited
from ltocompat.commands.policy.reading import find_policy, read_policy
from ltocompat.commands.policy.values import NO_POLICY, Policy
from ltocompat.commands.trials import Trials
from ltocompat.facts import drivers
from ltocompat.facts.gpus import arm_only
from ltocompat.files.output import write_named
from ltocompat.model.artifact_summary import ArtifactSummary
from ltocompat.model.errors import UnreadableInput, UsageError
from ltocompat.model.failure import Failure, Note
from ltocompat.model.location import Location
from ltocompat.model.requirement import NEXT, Required
from ltocompat.model.target import DriverVersion
from ltocompat.model.verdict import Verdict
from ltocompat.packages.reading import package_of
from ltocompat.packages.values import system_of
from ltocompat.rules.engine.collect_requirements import required
from ltocompat.rules.services import promised
from ltocompat.targets.text_file import OWN

# An artifact, and the answer of ``require`` about it, which takes long.
_Known = tuple[ArtifactSummary, Required]


class PolicyDraft(Struct, frozen=True):
    """A policy that packages pass.

    Attributes:
        path: the file of the policy.
        audit: the command that checks these packages against it.
        text: the policy.
        written: True if it was written; False if the file existed.
        moved: differences from the existing file, one line each.
        ignored: findings that it ignores.
        expires: the last day on which it ignores them.
        missing: the reason why a trial link that may settle some of them was not made; else empty.
    """

    path: str
    audit: str
    text: str
    written: bool
    moved: tuple[str, ...]
    ignored: tuple[IgnoredFinding, ...]
    expires: dt.date
    missing: str = ""


def run(options: InitOptions) -> Iterator[PolicyDraft | Failure | Note]:
    """Yield the draft; if a path can't be read, a ``Failure`` and no draft.

    Raises:
        UsageError: there is nothing to read, the existing policy has a mistake, or the output is
            standard output.
    """
    if options.output == "-":
        raise UsageError("--output '-' is not a file; name a file, as in --output ltocompat.toml")
    nearest = find_policy() or OWN
    path = options.output or nearest
    there = read_policy(path) if os.path.exists(path) else None
    drafting = _Drafting(options, matching_files(options.paths, there or NO_POLICY), path)
    found = drafting.summaries(NO_POLICY)
    read = [summary for summary in found if isinstance(summary, ArtifactSummary)]
    if len(read) < len(found) or not read:
        yield from (failure for failure in found if isinstance(failure, Failure))
        if not found:
            raise UsageError("there is no package to write a policy for; build or name a package")
        return
    known = [_known(summary) for summary in read]
    if len({need.nvjitlink.ceiling for _, need in known if need.nvjitlink}) > 1:
        several = "the packages need nvJitLinks of several majors, and a target has only one"
        yield Note(f"{several}; for a policy of each: ltocompat init PACKAGE -o NEW.toml")
    target = drafting.target(known)
    config = () if path == nearest else ("--config", path)
    text = target.text(drafting.today)
    if there is None:
        write_named(path, text.encode())
    yield PolicyDraft(
        path=path,
        audit=shlex.join(["ltocompat", "audit", *config, *map(str, options.paths)]),
        text=text,
        written=there is None,
        moved=tuple(moved(there, target, drafting.today)) if there else (),
        ignored=target.ignored,
        expires=drafting.today + dt.timedelta(days=DAYS),
        missing=drafting.missing,
    )


class _Drafting:
    """Finds the policy that packages pass: by ``audit`` itself, of the very text that is written.

    Args:
        options: for what, and where.
        files: the packages.
        path: the file of the policy.

    Attributes:
        today: the day on which it is written.
        missing: why a trial link was not made; empty if none was needed.
    """

    def __init__(self, options: InitOptions, files: Sequence[StrPath], path: str) -> None:
        self._options = options
        self._files = files
        self._path = path
        self._packages = Packages(files, (), options.limits)
        self.today = dt.datetime.now(dt.UTC).date()
        self.missing = ""

    def summaries(self, policy: Policy) -> list[ArtifactSummary | Failure]:
        """Return summaries of the files, with the trial links of a policy."""
        options = AuditOptions(
            install_linkers=self._options.install_linkers,
            limits=self._options.limits,
            progress=self._options.progress,
        )
        with Trials(options) as trials:
            return [
                _whole(record) if isinstance(record, ArtifactSummary) else record
                for record in policy_summaries(trials, options, self._files, policy)
            ]

    def target(self, found: Sequence[_Known]) -> DraftTarget:
        """Return the target that they pass, by a trial link if that leaves no more to ignore."""
        static = self._passed(_first_target(found), found)
        if not self._trial_decides(static, found):
            return static
        known = self._tried(replace(NO_POLICY, trial_links=True))
        first = replace(_first_target(known), trial=True)
        # An audit asks the nvJitLink of its target, and not who made the LTO-IR.
        known = known and self._tried(first.policy(self.today, self._path))
        if not known:
            return static
        proved = self._passed(first, known)
        return proved if len(proved.ignored) <= len(static.ignored) else static

    def _tried(self, policy: Policy) -> list[_Known]:
        """The files with the trial links of a policy; none if one of these was not made."""
        tried = self.summaries(policy)
        missing = [record for record in tried if isinstance(record, Failure)]
        self.missing = missing[0].message if missing else ""
        read = [record for record in tried if isinstance(record, ArtifactSummary)]
        return [] if missing else list(map(_known, read))

    def _trial_decides(self, target: DraftTarget, found: Iterable[_Known]) -> bool:
        rules = {finding.rule for finding in target.ignored}
        return any(
            finding.decided_by_trial and finding.rule in rules
            for result in self._audits(target, found)
            for finding in result.checked.findings
        )

    def _passed(self, target: DraftTarget, found: Sequence[_Known]) -> DraftTarget:
        """The target with the GPUs that pass there, and ignores of what is wrong all the same."""
        best = self._on_some_driver(target, found)
        return replace(best, ignored=ignored_findings(self._audits(best, found)))

    def _on_some_driver(self, target: DraftTarget, found: Sequence[_Known]) -> DraftTarget:
        """The target with the first driver on which some GPU passes."""
        if not target.gpus:
            return target
        branches = map(drivers.first_production, drivers.driver_branches())
        newer = {max(target.driver, driver) for driver in branches}
        candidates = (replace(target, driver=driver) for driver in sorted({target.driver, *newer}))
        narrowed = (self._narrowed(candidate, found) for candidate in candidates)
        some = next((candidate for candidate in narrowed if candidate.gpus), None)
        return some or self._least_wrong(target, found)

    def _narrowed(self, target: DraftTarget, found: Sequence[_Known]) -> DraftTarget:
        """The target without the GPUs on which something fails, or nobody knows."""
        failing = {
            result.checked.gpu.name
            for result in self._audits(target, found)
            if result.checked.gpu is not None and result.checked.verdict >= Verdict.UNKNOWN
        }
        return replace(target, gpus=tuple(gpu for gpu in target.gpus if gpu not in failing))

    def _least_wrong(self, target: DraftTarget, found: Sequence[_Known]) -> DraftTarget:
        """The target with the GPUs on which the fewest rules fail, where some do on each."""
        rules: dict[str, set[str]] = {gpu: set() for gpu in target.gpus}
        for result in self._audits(target, found):
            if result.checked.gpu is not None:
                wrong = result.having(*HELD_UP)
                rules[result.checked.gpu.name] |= {finding.rule for finding, _ in wrong}
        least = min(map(len, rules.values()))
        return replace(target, gpus=tuple(gpu for gpu in target.gpus if len(rules[gpu]) == least))

    def _audits(self, target: DraftTarget, found: Iterable[_Known]) -> Iterator[Audited]:
        """The results of an audit of them, by the very text that is written."""
        policy = target.policy(self.today, self._path)
        for summary, need in found:
            package = package_of(summary.path, self._options.limits)
            found_now = [*results_of(summary, package, policy, self._packages, need)]
            yield from audited(found_now, policy, Baseline())


def _known(summary: ArtifactSummary) -> _Known:
    return summary, required(summary)


def _whole(summary: ArtifactSummary) -> ArtifactSummary | Failure:
    """An artifact of which nothing could be read is not a package without device code."""
    for skipped in summary.skipped:
        if skipped.place == Location(summary.path):
            reason = f"no policy is written for {summary.path}: {skipped.reason}"
            return Failure.of(UnreadableInput(reason))
    return summary


def _first_target(found: Sequence[_Known]) -> DraftTarget:
    """The least that all of them need, as ``require`` says it; GPUs that all of them serve."""
    needs = [need for summary, need in found if summary.modules]
    packages = (package_of(summary.path) for summary, _ in found)
    system = system_of([p for package in packages if package for p in package.platforms])
    newest = drivers.first_production(drivers.driver_branches()[-1])
    if not needs:
        return DraftTarget(newest, no_code=True)
    of_arm = "aarch64" in system
    served = [
        {
            f"sm_{service.number}"
            for service in promised(need.services)
            if service.how != "none"
            and service.name != NEXT
            and (of_arm or not arm_only(service.number))
        }
        for need in needs
    ]
    common = tuple(sorted(set.intersection(*served), key=lambda name: int(name[3:])))
    beyond = {f"sm_{s.number}" for need in needs for s in need.services if s.driver is None}
    # That which surely does for all of them, or else may do.
    linkers = [need.nvjitlink for _, need in found if need.nvjitlink is not None]
    return DraftTarget(
        driver=max((floor for need in needs if (floor := _driver(need))), default=newest),
        nvjitlink=max((linker.at_least for linker in linkers), default=None),
        system=system,
        gpus=common,
        served=tuple(gpu for gpu in common if gpu not in beyond),
        variants=_variants(found),
    )


def _variants(found: Sequence[_Known]) -> tuple[str, ...]:
    """Patterns of all variants that are found, as the policy names them.

    None if some have no pattern (folders of one library in several majors): a policy that names the
    others would leave these out, and one that names none has all of them found again.
    """
    every = [variant for summary, _ in found for variant in summary.variants]
    if not all(variant.pattern for variant in every):
        return ()
    return tuple(dict.fromkeys(pattern for variant in every for pattern in variant.pattern))


def _driver(need: Required) -> DriverVersion | None:
    floors = [service.driver for service in need.services if service.driver is not None]
    return need.driver_sass or need.driver_ptx or min(floors, default=None)
