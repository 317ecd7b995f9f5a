"""A policy that is written for packages: its values, its text, and how it differs from another."""

from __future__ import annotations

import datetime as dt
import glob
import json
import os
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ltocompat.commands.policy.baseline import by_key
from ltocompat.commands.policy.extent import ANY_GPU, FindingExtent, extent_of, gpu_key
from ltocompat.commands.policy.fingerprint import FindingKey
from ltocompat.commands.policy.gate import HELD_UP, Audited
from ltocompat.commands.policy.reading import read_policy
from ltocompat.commands.policy.values import Policy
from ltocompat.files.output import scratch_folder, writing
from ltocompat.model.arch import Release
from ltocompat.model.generic import grouped
from ltocompat.model.target import ANY_TARGET, DriverVersion, Target
from ltocompat.model.verdict import Finding, Verdict
from ltocompat.targets.text_file import OWN
from ltocompat.targets.writing import toml_value

_NAME = "oldest"
_WITH = "  # with this driver"
_NEWER = f"{_WITH} or a newer one"
_NONE_PASSES = "no known driver and GPU pass: the exceptions below are for this target"
# Days for which today's findings are ignored.
DAYS = 90


class IgnoredFinding(Struct, frozen=True, order=True):
    """Findings with one key and one extent, which a draft ignores for a while.

    Attributes:
        rule: ID of their rule.
        path: pattern of their place.
        about: pattern of their subject.
        route: how their modules get onto a GPU; empty if they have one way only.
        target: name of the deploy target.
        gpus: the GPUs, as extents name them.
        extent: their extent.
        message, remedy: the texts of the first ``Finding``.
    """

    rule: str
    path: str
    about: str
    route: str
    target: str
    gpus: tuple[str, ...]
    extent: FindingExtent
    message: str
    remedy: str

    @property
    def verdict(self) -> Verdict:
        """The worst."""
        return max(part.verdict for part in self.extent)

    def lines(self, expires: dt.date) -> Iterator[str]:
        """Yield the tables that ignore only these, one for each verdict and number of modules."""
        reason = f"already present when the policy was written: {self.message}"
        gpus = [] if self.gpus == (ANY_GPU,) else list(self.gpus)
        # One exception can't be for code that needs a version and for code that needs none.
        alike = grouped(
            ((part.verdict, part.modules, part.asked != ""), part.asked) for part in self.extent
        )
        for (verdict, modules, asks), asked in alike.items():
            yield ""
            yield "[[audit.ignore]]"
            yield f'rule = "{self.rule}"'
            yield f"path = {toml_value(self.path)}"
            yield f"about = {toml_value(self.about)}"
            yield f"route = {toml_value(self.route)}"
            yield f"target = {toml_value(self.target)}"
            if gpus or self.target != ANY_TARGET.name:
                yield f"gpu = {toml_value(gpus)}"
            yield f'verdict = "{max(verdict, Verdict.JIT)}"'
            yield f"modules = {modules}"
            yield f"asks = {toml_value(asked if asks else [])}"
            yield f"reason = {toml_value(reason)}"
            yield f"expires = {expires}"


def ignored_findings(results: Iterable[Audited]) -> tuple[IgnoredFinding, ...]:
    """Return the findings that count in results or are unknown, as a draft ignores them."""
    gpus: dict[tuple[FindingKey, str, FindingExtent], dict[str, None]] = {}
    first: dict[tuple[FindingKey, str, FindingExtent], Finding] = {}
    for audited in results:
        checked = audited.checked
        found = (finding for finding, _ in audited.having(*HELD_UP))
        for key, findings in by_key(checked, found).items():
            entry = (key, checked.target.name, extent_of(findings))
            first.setdefault(entry, findings[0])
            gpus.setdefault(entry, {})[gpu_key(checked.gpu)] = None
    return tuple(
        sorted(
            IgnoredFinding(
                rule=key.rule,
                path=glob.escape(key.place),
                about=glob.escape(key.subject),
                route=key.route,
                target=target,
                gpus=tuple(gpus[key, target, extent]),
                extent=extent,
                message=finding.message,
                remedy=finding.remedy,
            )
            for (key, target, extent), finding in first.items()
        )
    )


class DraftTarget(Struct, frozen=True):
    """The oldest target on which all packages work.

    Attributes:
        driver: the minimum driver; without device code there is no target.
        nvjitlink: the minimum nvJitLink; None if nothing is linked.
        system: the operating system, if it is not Linux on x86-64.
        gpus: architectures that all packages serve with this driver.
        served: architectures that all packages serve with this driver or a newer one.
        trial: True if nvJitLinks are tried.
        no_code: True if there is no device code.
        variants: patterns of files of which a package opens one.
        ignored: today's findings.
    """

    driver: DriverVersion
    nvjitlink: Release | None = None
    system: str = "linux"
    gpus: tuple[str, ...] = ()
    served: tuple[str, ...] = ()
    trial: bool = False
    no_code: bool = False
    variants: tuple[str, ...] = ()
    ignored: tuple[IgnoredFinding, ...] = ()

    def text(self, today: dt.date) -> str:
        """The policy as TOML."""
        expires = today + dt.timedelta(days=DAYS)
        # Windows has drivers with other numbers, so its branch is named.
        driver = f"R{self.driver.branch}" if self.system == "windows" else self.driver
        required, newer = self.served or self.gpus, len(self.served) > len(self.gpus)
        failing = any(
            each.target == _NAME and each.verdict >= Verdict.UNKNOWN for each in self.ignored
        )
        target = [
            *([f"# {_NONE_PASSES}"] if failing else []),
            f"[targets.{_NAME}]",
            *([f'os = "{self.system}"'] if self.system != "linux" else []),
            f'driver = "{driver}"',
            *([f'nvjitlink = "{self.nvjitlink}"'] if self.nvjitlink else []),
            *([f"gpu = {json.dumps(self.gpus)}{_WITH * (not failing)}"] if self.gpus else []),
            "",
        ]
        lines = [
            "# Checked by ltocompat audit. To list all keys: ltocompat schema policy",
            *(["# No device code was found: nothing to restrict."] if self.no_code else target),
            "[audit]",
            *([f"require-gpus = {json.dumps(required)}{_NEWER * newer}"] if required else []),
            *(["trial-link = true"] if self.trial else []),
            *(['no-device-code = "pass"'] if self.no_code else []),
            *([f"variants = {json.dumps(self.variants)}"] if self.variants else []),
        ]
        for finding in self.ignored:
            lines += finding.lines(expires)
        return "\n".join([*lines, "", *([] if self.ignored else _example(expires))])

    def policy(self, today: dt.date, path: str) -> Policy:
        """Return the policy of the text, as if it stood in the file ``path``.

        Raises:
            LtocompatError: there is no room for temporary files.
        """
        with writing("a temporary folder"), scratch_folder() as folder:
            written = os.path.join(folder, OWN)
            with open(written, "w", encoding="utf-8") as file:
                file.write(self.text(today))
            return replace(read_policy(written, today), source=path)


def _example(expires: dt.date) -> Sequence[str]:
    return (
        "# [[audit.ignore]]  # an exception: the finding does not count until this date",
        '# rule = "PTX-06"',
        '# path = "libx*.so"',
        '# reason = "why it does no harm"',
        f"# expires = {expires}",
        "",
    )


def moved(policy: Policy, draft: DraftTarget, today: dt.date) -> Iterator[str]:
    """Yield the differences between an existing policy and a draft, one line each."""
    there = next((t for t in policy.targets if t.name == _NAME), next(iter(policy.targets), None))
    if draft.no_code:
        yield "there is no device code"
    elif there is not None:
        drafted = draft.policy(today, policy.source)
        (now,) = drafted.targets
        yield from _difference("os", str(there.system), str(now.system))
        yield from _version("driver", there, now)
        yield from _version("nvjitlink", there, now)
        yield from _gpus_moved(policy, there, drafted, draft.driver)
    there_too = {(each.rule, each.verdict) for each in policy.exceptions}
    yield from dict.fromkeys(
        f"{found.rule}: {found.message}"
        for found in draft.ignored
        if not any(r == found.rule and v >= found.verdict for r, v in there_too)
    )


def _version(key: str, there: Target, now: Target) -> Iterator[str]:
    """Yield the difference, if the oldest version changed."""
    before, after = getattr(there, key), getattr(now, key)
    if (before and before.values[0]) != (after and after.values[0]):
        yield from _difference(key, before.text if before else "", after.text if after else "")


def _difference(key: str, before: str, after: str) -> Iterator[str]:
    if before != after:
        yield f"{key}: {before or 'none'} -> {after or 'none'}"


def _gpus_moved(
    policy: Policy, there: Target, drafted: Policy, driver: DriverVersion
) -> Iterator[str]:
    """By architecture: a policy may name its GPUs as people do."""
    (now,), on = drafted.targets, {gpu.arch.number: gpu.name for gpu in there.gpus}
    before = on | {gpu.arch.number: gpu.name for gpu in policy.require_gpus}
    works = {gpu.arch.number for gpu in now.gpus}
    after = {gpu.arch.number: gpu.name for gpu in drafted.require_gpus}
    if lost := [name for number, name in before.items() if number not in after]:
        yield f"GPUs: no longer {', '.join(lost)}"
    if failing := [name for number, name in on.items() if number in after and number not in works]:
        yield f"GPUs: not with driver {driver}: {', '.join(failing)}"
    if new := [name for number, name in after.items() if number not in before]:
        yield f"GPUs: now also {', '.join(new)}"
