"""A policy that is written for packages: its values, its text, and how it differs from another."""

from __future__ import annotations

import datetime as dt
import json
import os
import tempfile
from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ltocompat.commands.policy.reading import read_policy
from ltocompat.commands.policy.values import Policy
from ltocompat.model.arch import Release
from ltocompat.model.target import DriverVersion, Target
from ltocompat.model.verdict import Verdict
from ltocompat.targets.text_file import OWN

_NAME = "oldest"
DAYS = 90
"""How long what is wrong today is ignored."""


class IgnoredFinding(Struct, frozen=True, order=True):
    """A finding that a draft ignores for a while: the first of its rule.

    Attributes:
        rule, verdict, message, remedy: as those of ``Finding``.
    """

    rule: str
    verdict: Verdict
    message: str
    remedy: str


class DraftTarget(Struct, frozen=True):
    """The oldest place that all packages work on.

    Attributes:
        driver: the least driver.
        nvjitlink: the least nvJitLink; None where nothing is linked.
        system: the operating system, where it is not Linux on x86-64.
        gpus: architectures that all of them serve.
        trial: nvJitLinks are asked.
        no_code: there is no device code.
        variants: patterns of the files of which their loaders open one.
        ignored: what is wrong today.
    """

    driver: DriverVersion
    nvjitlink: Release | None = None
    system: str = ""
    gpus: tuple[str, ...] = ()
    trial: bool = False
    no_code: bool = False
    variants: tuple[str, ...] = ()
    ignored: tuple[IgnoredFinding, ...] = ()

    def text(self, today: dt.date) -> str:
        """The policy as TOML."""
        gpus = json.dumps(list(self.gpus))
        expires = today + dt.timedelta(days=DAYS)
        lines = [
            "# What releases are held to by ltocompat audit; docs/policy.md has every key.",
            *(["# There is no device code, which runs anywhere."] if self.no_code else []),
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
            *([f"variants = {json.dumps(list(self.variants))}"] if self.variants else []),
        ]
        for finding in self.ignored:
            reason = json.dumps(f"there when the policy was written: {finding.message}")
            lines += [
                "",
                "[[audit.ignore]]",
                f'rule = "{finding.rule}"',
                f"reason = {reason}",
                f"expires = {expires}",
            ]
        return "\n".join([*lines, "", *([] if self.ignored else _example(expires))])

    def policy(self, today: dt.date, path: str) -> Policy:
        """What the text means, as if it stood in the file ``path``."""
        with tempfile.TemporaryDirectory() as folder:
            written = os.path.join(folder, OWN)
            with open(written, "w", encoding="utf-8") as file:
                file.write(self.text(today))
            return replace(read_policy(written, today), source=path)


def _example(expires: dt.date) -> Sequence[str]:
    return (
        "# [[audit.ignore]]  # what may stay for a while",
        '# rule = "PTX-06"',
        '# path = "libx*.so"',
        '# reason = "why, and until what is done"',
        f"# expires = {expires}",
        "",
    )


def moved(policy: Policy, draft: DraftTarget, today: dt.date) -> Iterator[str]:
    """What a policy that is there says otherwise than a draft, a line each."""
    there = next((t for t in policy.targets if t.name == _NAME), policy.targets[0])
    (now,) = draft.policy(today, policy.source).targets
    yield from _difference("os", str(there.system), str(now.system))
    if draft.no_code:
        yield "there is no device code"
    else:
        yield from _version("driver", there, now)
    yield from _version("nvjitlink", there, now)
    yield from _gpus_moved(policy, there, now)
    ignored = {ignore.rule for ignore in policy.ignores}
    yield from (f"{f.rule}: {f.message}" for f in draft.ignored if f.rule not in ignored)


def _version(key: str, there: Target, now: Target) -> Iterator[str]:
    """Whether the oldest version that is meant is the same."""
    before, after = getattr(there, key), getattr(now, key)
    if (before and before.values[0]) != (after and after.values[0]):
        yield from _difference(key, before.text if before else "", after.text if after else "")


def _difference(key: str, before: str, after: str) -> Iterator[str]:
    if before != after:
        yield f"{key}: {before or 'none'} -> {after or 'none'}"


def _gpus_moved(policy: Policy, there: Target, now: Target) -> Iterator[str]:
    """By architecture: a policy may name its GPUs as people do."""
    before = {gpu.arch.number: gpu.name for gpu in (*there.gpus, *policy.require_gpus)}
    after = {gpu.arch.number: gpu.name for gpu in now.gpus}
    if lost := [name for number, name in before.items() if number not in after]:
        yield f"GPUs: no longer {', '.join(lost)}"
    if new := [name for number, name in after.items() if number not in before]:
        yield f"GPUs: now also {', '.join(new)}"
