"""A policy as values."""

from __future__ import annotations

import datetime as dt
import re
from fnmatch import fnmatchcase

from msgspec import Struct

from ltocompat.commands.policy.extent import ANYTHING, ExtentPart, FindingExtent, gpu_key
from ltocompat.commands.policy.fingerprint import key_of
from ltocompat.commands.policy.mangled_names import source_name
from ltocompat.model.arch import Release, SmArch
from ltocompat.model.target import DriverVersion, Gpu, Target
from ltocompat.model.verdict import Finding, Result, Verdict
from ltocompat.model.words import truncate_list
from ltocompat.packages.promise import Promise

ANY = "*"
"""A pattern of everything."""
_MOST_NAMED = 3  # kernels that an ignore is not about


class PolicyException(Struct, frozen=True, kw_only=True):
    """Findings that do not count: for a while, or for good.

    Attributes:
        rule: ID of their rule.
        reason: why, for those who read it later.
        expires: the last day on which it holds; None: it is allowed for good.
        path: pattern (``*``, ``?``, ``[ab]``) of the artifact or of a file in it: of its whole
            path, its name, or its place without versions: ``libx-cu12::pkg/libx.so``.
        target: pattern of the name of the deploy target.
        kernel: pattern of the names of kernels, mangled or in source: all kernels of all modules
            of a finding have to match.
        about: pattern of the subject of findings.
        route: ``load``, ``link``, or empty where modules have one way only; None for any.
        gpus: the GPUs, as extents name them; None for any.
        verdict: the worst that it forgives.
        modules: the most modules that it forgives; 0: an artifact as a whole; None: any number.
        asks: the newest versions, or the names, that it forgives.
        key: where it stands in its file: ``audit.ignore[0]``.
    """

    rule: str
    reason: str
    expires: dt.date | None = None
    path: str = ANY
    target: str = ANY
    kernel: str = ANY
    about: str = ANY
    route: str | None = None
    gpus: tuple[str, ...] | None = None
    verdict: Verdict = Verdict.FAIL
    modules: int | None = None
    asks: tuple[str, ...] = (ANYTHING,)
    key: str = ""

    @property
    def by_kernel(self) -> bool:
        """Return whether it is limited to some kernels."""
        return self.kernel != ANY

    @property
    def extent(self) -> FindingExtent:
        """The most that it forgives."""
        return tuple(ExtentPart(self.verdict, self.modules, asked) for asked in self.asks)

    @property
    def narrowness(self) -> tuple[tuple[bool, int], ...]:
        """Limits of it, the more the greater: files first, then subjects, then where."""
        of_gpus = (self.gpus is not None, -len(self.gpus or ()))
        patterns = (self.path, self.about, self.kernel, self.target)
        return (*map(_literal, patterns), of_gpus, (self.route is not None, 0))

    @property
    def why(self) -> str:
        """Why findings do not count, as one phrase."""
        until = "allowed" if self.expires is None else f"ignored until {self.expires}"
        return f"{until} ({self.reason})"

    def concerns(self, result: Result, finding: Finding) -> bool:
        """Return whether it is about a finding of a result, whatever its kernels and its extent."""
        if finding.rule != self.rule or not fnmatchcase(result.target.name, self.target):
            return False
        if self.gpus is not None and gpu_key(result.gpu) not in self.gpus:
            return False
        key = key_of(result, finding)
        if self.route not in (None, key.route) or not fnmatchcase(key.subject, self.about):
            return False
        members = finding.example.members if finding.example else ()
        paths = [path.replace("\\", "/") for path in (result.path, *members)]
        names = [*paths, *(path.rsplit("/", 1)[-1] for path in paths)]
        return any(fnmatchcase(name, self.path) for name in (*names, key.place))

    def beyond_kernels(self, finding: Finding) -> str:
        """The part of a finding beyond its kernels, as a clause; empty for none."""
        if not self.by_kernel:
            return ""
        others = [name for name in finding.kernels if not _is_kernel(name, self.kernel)]
        if others:
            return f"there is {truncate_list(others, _MOST_NAMED)}"
        unread = "some of its modules show no kernels, or not all of them"
        return "" if finding.all_kernels else unread

    def __str__(self) -> str:
        where = "" if self.path == ANY else f" in {self.path}"
        on = "" if self.target == ANY else f" on {self.target}"
        gpus = f" ({', '.join(self.gpus)})" if self.gpus else ""
        kernels = f" for kernels {self.kernel}" if self.by_kernel else ""
        return f"{self.key} ({self.rule}{where}{on}{gpus}{kernels})"


_TOKEN = re.compile(r"\[[*?[]\]|\[[^\]]+\]|.", re.DOTALL)
_WILD = re.compile(r"[*?]|\[(?![*?[]\]).+\]", re.DOTALL)


def _literal(pattern: str) -> tuple[bool, int]:
    """How much of a pattern is literal: whether all of it is, and how many characters."""
    tokens = _TOKEN.findall(pattern)
    wild = sum(_WILD.fullmatch(token) is not None for token in tokens)
    return not wild, len(tokens) - wild


def _is_kernel(name: str, pattern: str) -> bool:
    return any(fnmatchcase(text, pattern) for text in (name, source_name(name)) if text)


class Policy(Struct, frozen=True, kw_only=True):
    """The policy of a project for its releases.

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
        trial_auto: nvJitLinks at hand are asked about what is unknown without them.
        trial_releases: only these of those that the targets name; empty for all of them.
        trial_load: the driver of the machine that audits is asked.
        here: that machine, on which loading is judged then; None where it is not asked.
        exceptions: what does not count, for a while or for good.
        allow_empty: what has no device code passes.
        variants: patterns of files of a package of which its loader opens one; None: those that
            are found.
        provided_by: patterns of library files that a dependency brings, by its normalized name.
        max_bytes: the largest file that may be released; None for any size.
        max_member_bytes: the largest file, unpacked, inside of one that is a zip; None for any.
        coverage: the least kernels that a GPU has, in percent of those of the best-served one.
        options: the keys that were given as options of this run instead.
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
    trial_auto: bool = False
    trial_releases: tuple[Release, ...] = ()
    trial_load: bool = False
    here: Target | None = None
    exceptions: tuple[PolicyException, ...] = ()
    allow_empty: bool = False
    variants: tuple[str, ...] | None = None
    provided_by: tuple[tuple[str, tuple[str, ...]], ...] = ()
    max_bytes: int | None = None
    max_member_bytes: int | None = None
    coverage: int | None = None
    options: tuple[str, ...] = ()

    @property
    def names_gpus(self) -> bool:
        """Return whether it says which code has to be there."""
        return bool(self.targets or self.require_gpus or self.require_archs)

    @property
    def given(self) -> bool:
        """Return whether a file or options say what releases are held to."""
        return bool(self.source or self.options)

    def origin(self, key: str) -> str:
        """Return the option or the key of the file that says something: ``--require-archs``."""
        return f"--{key}" if key in self.options else f"{key} in {self.source}"

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
