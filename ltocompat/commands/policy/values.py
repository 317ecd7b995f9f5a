"""A policy as values."""

from __future__ import annotations

import datetime as dt
from fnmatch import fnmatchcase

from msgspec import Struct

from ltocompat.commands.policy.mangled_names import source_name
from ltocompat.model.arch import Release, SmArch
from ltocompat.model.target import DriverVersion, Gpu, Target
from ltocompat.model.verdict import Finding, Verdict
from ltocompat.model.words import first_of
from ltocompat.packages.promise import Promise

_ANY = "*"
_MOST_NAMED = 3  # kernels that an ignore is not about


class Ignore(Struct, frozen=True, kw_only=True):
    """Findings that do not count for a while.

    Attributes:
        rule: ID of their rule.
        reason: why, for those who read it later.
        expires: the last day on which it holds.
        path: pattern (``*``, ``?``, ``[ab]``) of the artifact or of a file in it: of its whole
            path or its name.
        target: pattern of the name of the deploy target.
        kernel: pattern of the names of kernels, mangled or in source: all kernels of all modules
            of a finding have to match.
        key: where it stands in its file: ``audit.ignore[0]``.
    """

    rule: str
    reason: str
    expires: dt.date
    path: str = "*"
    target: str = "*"
    kernel: str = _ANY
    key: str = ""

    @property
    def by_kernel(self) -> bool:
        """Whether it is limited to some kernels."""
        return self.kernel != _ANY

    def covers(self, path: str, target: str, finding: Finding) -> bool:
        """Whether it is about a finding on an artifact, and about all of it."""
        if not self.concerns(path, target, finding):
            return False
        return not self.by_kernel or (finding.all_kernels and not self._others(finding))

    def beyond(self, finding: Finding) -> str:
        """What of a finding it is not about, as a clause."""
        others = self._others(finding)
        if not others:
            return "some of its modules show no kernels, or not all of them"
        return f"there is {first_of(others, _MOST_NAMED)}"

    def _others(self, finding: Finding) -> list[str]:
        """Kernels that it is not about, as far as they are known."""
        return [name for name in finding.kernels if not _is_kernel(name, self.kernel)]

    def concerns(self, path: str, target: str, finding: Finding) -> bool:
        """Whether it is about a finding on an artifact, whatever its kernels."""
        if finding.rule != self.rule or not fnmatchcase(target, self.target):
            return False
        members = finding.example.members if finding.example else ()
        names = [name.replace("\\", "/") for name in (path, *members)]
        return any(
            fnmatchcase(name, self.path) or fnmatchcase(name.rsplit("/", 1)[-1], self.path)
            for name in names
        )

    def __str__(self) -> str:
        where = "" if self.path == "*" else f" in {self.path}"
        on = "" if self.target == "*" else f" on {self.target}"
        kernels = f" for kernels {self.kernel}" if self.by_kernel else ""
        return f"{self.key} ({self.rule}{where}{on}{kernels})"


def _is_kernel(name: str, pattern: str) -> bool:
    return any(fnmatchcase(text, pattern) for text in (name, source_name(name)) if text)


class Policy(Struct, frozen=True, kw_only=True):
    """What a project holds its releases to.

    Attributes:
        source: the file that says so; empty for no policy.
        prefix: what stands before the names of its tables there.
        targets: where its releases go; none: only what holds on any target is judged.
        promise: what it promises of its packages; None for nothing.
        require_gpus: GPUs that every artifact must serve.
        require_archs: architectures that every artifact must hold code for: ``sm_90`` (SASS),
            ``compute_90`` (PTX), ``lto_90`` (LTO-IR).
        least_driver: the driver that every artifact must keep loading on; None for any.
        fail_on: the best verdict that counts.
        trial_links: nvJitLinks are asked.
        trial_releases: only these of those that the targets name; empty for all of them.
        trial_load: the driver of the machine that audits is asked.
        here: that machine, on which loading is judged then; None where it is not asked.
        ignores: what does not count.
        allow_empty: what has no device code passes, and so does no file at all.
        variants: patterns of files of a package of which its loader opens one; None: those that
            are found.
        provided_by: patterns of library files that a dependency brings, by its normalized name.
    """

    source: str
    targets: tuple[Target, ...]
    prefix: str = ""
    promise: Promise | None = None
    require_gpus: tuple[Gpu, ...] = ()
    require_archs: tuple[SmArch, ...] = ()
    least_driver: DriverVersion | None = None
    fail_on: Verdict = Verdict.FAIL
    trial_links: bool = False
    trial_releases: tuple[Release, ...] = ()
    trial_load: bool = False
    here: Target | None = None
    ignores: tuple[Ignore, ...] = ()
    allow_empty: bool = False
    variants: tuple[str, ...] | None = None
    provided_by: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def given(self) -> bool:
        """A project says what its releases are held to."""
        return bool(self.source)

    @property
    def every_target(self) -> tuple[Target, ...]:
        """Where its releases go, and the machine that is asked."""
        return self.targets if self.here is None else (*self.targets, self.here)

    @property
    def table(self) -> str:
        """The header of the table for its keys: ``[tool.ltocompat.audit]``."""
        return f"[{self.prefix}audit]"


NO_POLICY = Policy(source="", targets=())
"""Where a project says nothing, packages are held to what their own metadata promise."""
