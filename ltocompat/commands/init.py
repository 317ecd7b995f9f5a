"""Write the policy that packages pass today; next to one that is there, say what moved."""

from __future__ import annotations

import datetime as dt
import functools
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from ltocompat.commands.audit import matching_files, results_of
from ltocompat.commands.failures import with_failures
from ltocompat.commands.package_problems import Packages
from ltocompat.commands.policy.baseline import Baseline
from ltocompat.commands.policy.gate import Audited, Standing, audited
from ltocompat.commands.policy.reading import read_policy
from ltocompat.commands.policy.values import NO_POLICY, Policy
from ltocompat.commands.read_artifacts import ScanOptions, summaries
from ltocompat.facts import drivers
from ltocompat.model.arch import Release
from ltocompat.model.artifact_summary import ArtifactSummary
from ltocompat.model.errors import LtocompatError, UsageError
from ltocompat.model.failure import Failure, Progress, reporter
from ltocompat.model.limits import DEFAULT_LIMITS, Limits
from ltocompat.model.requirement import Required
from ltocompat.model.target import DriverVersion
from ltocompat.model.verdict import Verdict
from ltocompat.packages.reading import package_of
from ltocompat.rules.engine.collect_requirements import required
from ltocompat.scan.walk import ScanSettings
from ltocompat.targets.own_tables import OWN, own_tables

_NAME = "oldest"
_DAYS = 90  # that what is wrong today is ignored for


@dataclass(frozen=True, slots=True)
class InitOptions:
    """For what a policy is written, and where.

    Attributes:
        paths: packages, files, folders or patterns; none: ``dist/*``.
        output: the file; where it is there, it is compared and not replaced.
        limits, progress: as the arguments of ``audit``.
    """

    paths: tuple[str | os.PathLike[str], ...] = ()
    output: str = OWN
    limits: Limits = DEFAULT_LIMITS
    progress: Callable[[Progress], None] | None = None


@dataclass(frozen=True, slots=True)
class PolicyDraft:
    """A policy that packages pass.

    Attributes:
        path: the file that it is for.
        text: the policy.
        written: it was written; else the file was there.
        moved: what differs from the file that was there, a line each.
        ignored: rules whose findings it ignores for a while.
    """

    path: str
    text: str
    written: bool
    moved: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Target:
    """The target of a draft: the oldest place that all packages work on."""

    driver: str
    nvjitlink: str = ""
    system: str = ""
    gpus: tuple[str, ...] = ()
    trial: bool = False
    no_code: bool = False
    ignores: tuple[tuple[str, str], ...] = field(default=())

    def text(self, today: dt.date) -> str:
        """The policy as TOML."""
        gpus = json.dumps(list(self.gpus))
        lines = [
            "# What releases are held to by ltocompat audit; docs/policy.md has every key.",
            f"[targets.{_NAME}]",
            *([f'os = "{self.system}"'] if self.system else []),
            f'driver = "{self.driver}"',
            *([f'nvjitlink = "{self.nvjitlink}"'] if self.nvjitlink else []),
            *([f"gpu = {gpus}"] if self.gpus else []),
            "",
            "[audit]",
            *([f"require-gpus = {gpus}"] if self.gpus else []),
            *(["trial-link = true"] if self.trial else []),
            *(['no-device-code = "pass"'] if self.no_code else []),
        ]
        expires = today + dt.timedelta(days=_DAYS)
        for rule, message in self.ignores:
            lines += [
                "",
                "[[audit.ignore]]",
                f'rule = "{rule}"',
                f"reason = {json.dumps(f'there when the policy was written: {message}')}",
                f"expires = {expires}",
            ]
        if not self.ignores:
            lines += [
                "",
                "# [[audit.ignore]]  # what may stay for a while",
                '# rule = "PTX-06"',
                '# path = "libx*.so"',
                '# reason = "why, and until what is done"',
                f"# expires = {expires}",
            ]
        return "\n".join(lines) + "\n"


def run(options: InitOptions) -> Iterator[PolicyDraft | Failure]:
    """The draft; a path that can't be read is a ``Failure`` before it.

    Raises:
        UsageError: there is nothing to read, or the file that is there has no policy.
    """
    files = matching_files(options.paths, NO_POLICY)
    settings = ScanSettings(limits=options.limits, progress=reporter(options.progress))
    scan = ScanOptions(settings, for_require=True, apart=True)
    found: list[ArtifactSummary] = []
    for summary in with_failures(functools.partial(summaries, files, scan)):
        if isinstance(summary, Failure):
            yield summary
        else:
            found.append(summary)
    if found:
        yield _draft(found, Packages(files, (), options.limits), options.output)


def _draft(found: Sequence[ArtifactSummary], packages: Packages, output: str) -> PolicyDraft:
    today = dt.datetime.now(dt.UTC).date()
    target = _passed(_first_target(found), found, packages, today)
    text = target.text(today)
    ignored = tuple(rule for rule, _ in target.ignores)
    if os.path.exists(output):
        moved = tuple(_moved(output, target))
        return PolicyDraft(output, text, written=False, moved=moved, ignored=ignored)
    try:
        with open(output, "x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except OSError as error:
        raise LtocompatError(f"{output!r} can't be written ({error.strerror})") from error
    return PolicyDraft(output, text, written=True, ignored=ignored)


def _first_target(found: Sequence[ArtifactSummary]) -> _Target:
    """What all of them need at least, by what ``require`` says; GPUs that all of them serve."""
    needs = [required(summary) for summary in found if summary.modules]
    system = _system(found)
    if not needs:
        branch = drivers.driver_branches()[-1]
        return _Target(str(branch), system=system, no_code=True)
    floors = [floor for need in needs if (floor := _driver(need)) is not None]
    linkers = [need.nvjitlink for need in needs if need.nvjitlink is not None]
    sure: Release | None = max((each.sure or each.possible for each in linkers), default=None)
    served = [
        {f"sm_{service.number}" for service in need.services if _served(service.how, service.name)}
        for need in needs
    ]
    return _Target(
        driver=str(max(floors, default=drivers.first_production(drivers.driver_branches()[-1]))),
        nvjitlink=str(sure) if sure else "",
        system=system,
        gpus=tuple(sorted(set.intersection(*served), key=lambda name: int(name[3:]))),
        trial=any(not linker.exact and linker.sure is None for linker in linkers),
    )


def _served(how: str, name: str) -> bool:
    return how != "none" and name != "next"


def _driver(need: Required) -> DriverVersion | None:
    floors = [service.driver for service in need.services if service.driver is not None]
    return need.driver_sass or need.driver_ptx or min(floors, default=None)


def _system(found: Sequence[ArtifactSummary]) -> str:
    """The operating system of the packages, where it is not Linux on x86-64."""
    packages = (package_of(summary.path) for summary in found)
    platforms = " ".join(p for package in packages if package for p in package.platforms)
    if "win" in platforms and "linux" not in platforms:
        return "windows"
    return "linux-aarch64" if "aarch64" in platforms and "x86_64" not in platforms else ""


def _passed(
    target: _Target, found: Sequence[ArtifactSummary], packages: Packages, today: dt.date
) -> _Target:
    """The target with the GPUs that pass there, the driver on which most do, and the ignores."""
    best = target
    if target.gpus:
        first = int(target.driver.split(".")[0])
        later = [str(branch) for branch in drivers.driver_branches() if branch > first]
        candidates = [replace(target, driver=driver) for driver in (target.driver, *later)]
        narrowed = (_narrowed(candidate, found, packages, today) for candidate in candidates)
        best = next((candidate for candidate in narrowed if candidate.gpus), target)
    bad = {
        (finding.rule, finding.message)
        for result in _audits(best, found, packages, today)
        for finding, _ in result.having(Standing.COUNTS, Standing.UNDECIDED)
    }
    first_of = dict(sorted(bad, reverse=True))
    return replace(best, ignores=tuple(sorted(first_of.items())))


def _narrowed(
    target: _Target, found: Sequence[ArtifactSummary], packages: Packages, today: dt.date
) -> _Target:
    """The target without the GPUs on which something fails, or nobody knows."""
    failing = {
        result.checked.gpu.name
        for result in _audits(replace(target, ignores=()), found, packages, today)
        if result.checked.gpu is not None and result.checked.verdict >= Verdict.UNKNOWN
    }
    return replace(target, gpus=tuple(gpu for gpu in target.gpus if gpu not in failing))


def _audits(
    target: _Target, found: Sequence[ArtifactSummary], packages: Packages, today: dt.date
) -> Iterator[Audited]:
    """What an audit makes of them, by the very text that is written."""
    policy = _policy(target.text(today), today)
    for summary in found:
        for result in results_of(summary, policy, packages):
            yield audited(result, policy, Baseline())


def _policy(text: str, today: dt.date) -> Policy:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, OWN)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return read_policy(path, today)


def _moved(path: str, target: _Target) -> Iterator[str]:
    """What a policy that is there says otherwise."""
    tables = own_tables(path).tables or {}
    targets = tables.get("targets", {})
    if not targets:
        raise UsageError(f"{path} has no policy; name another file with --output")
    there = targets.get(_NAME) or next(iter(targets.values()))
    audit = tables.get("audit", {})
    yield from _value_moved("driver", there.get("driver"), target.driver)
    yield from _value_moved("nvjitlink", there.get("nvjitlink"), target.nvjitlink or None)
    before, now = audit.get("require-gpus", there.get("gpu", [])), target.gpus
    before = [before] if isinstance(before, str) else before
    if lost := [gpu for gpu in before if gpu not in now]:
        yield f"GPUs: no longer {', '.join(lost)}"
    if new := [gpu for gpu in now if gpu not in before]:
        yield f"GPUs: now also {', '.join(new)}"
    ignored = {ignore.get("rule") for ignore in audit.get("ignore", [])}
    yield from (f"{rule}: {text}" for rule, text in target.ignores if rule not in ignored)


def _value_moved(key: str, before: object, now: str | None) -> Iterator[str]:
    if (str(before) if before is not None else None) != now:
        yield f"{key}: {before or 'none'} -> {now or 'none'}"
