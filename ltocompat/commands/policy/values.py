"""A policy as values."""

from __future__ import annotations

import datetime as dt
import re
from fnmatch import fnmatchcase

from ltocompat.commands.policy.extent import ExtentPart, FindingExtent, gpu_key
from ltocompat.commands.policy.fingerprint import key_of
from ltocompat.commands.policy.mangled_names import source_name
from ltocompat.model.policy import ANY, ExceptionBounds, PolicyDemands
from ltocompat.model.target import Target
from ltocompat.model.verdict import Finding, Result
from ltocompat.model.words import truncate_list

_MOST_NAMED = 3  # kernels that an ignore is not about


class PolicyException(ExceptionBounds, frozen=True, kw_only=True):
    """Findings that do not make the audit fail, either until a given day or without an end.

    Attributes:
        expires: the last day of the exception; None if it has no end date.
    """

    expires: dt.date | None = None

    @property
    def by_kernel(self) -> bool:
        """Return whether the exception applies only to kernels with certain names."""
        return self.kernel != ANY

    @property
    def extent(self) -> FindingExtent:
        """The limits of the exception: the worst verdict, the modules and the highest versions."""
        return tuple(ExtentPart(self.verdict, self.modules, asked) for asked in self.asks)

    @property
    def narrowness(self) -> tuple[tuple[bool, int], ...]:
        """A sort key from path, subject, kernels and target; a narrower exception sorts last."""
        of_gpus = (self.gpus is not None, -len(self.gpus or ()))
        patterns = (self.path, self.about, self.kernel, self.target)
        return (*map(_literal, patterns), of_gpus, (self.route is not None, 0))

    @property
    def why(self) -> str:
        """The reason why the findings do not make the audit fail, as one phrase."""
        until = "allowed" if self.expires is None else f"ignored until {self.expires}"
        return f"{until} ({self.reason})"

    def concerns(self, result: Result, finding: Finding) -> bool:
        """Return whether the exception matches a finding, apart from its kernels and limits."""
        if finding.rule != self.rule or not fnmatchcase(result.target.name, self.target):
            return False
        gpus = {gpu_key(result.gpu), str(result.gpu and result.gpu.arch)}
        if self.gpus is not None and gpus.isdisjoint(self.gpus):
            return False
        key = key_of(result, finding)
        if self.route not in (None, key.route) or not fnmatchcase(key.subject, self.about):
            return False
        members = finding.example.members if finding.example else ()
        paths = [path.replace("\\", "/") for path in (result.path, *members)]
        names = [*paths, *(path.rsplit("/", 1)[-1] for path in paths)]
        return any(fnmatchcase(name, self.path) for name in (*names, key.place))

    def beyond_kernels(self, finding: Finding) -> str:
        """Return a clause that names kernels that the exception doesn't cover; empty if none."""
        if not self.by_kernel:
            return ""
        others = [name for name in finding.kernels if not _is_kernel(name, self.kernel)]
        if others:
            return f"there is {truncate_list(others, _MOST_NAMED)}"
        unread = "the kernels of some of its modules are unknown"
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


class Policy(PolicyDemands, frozen=True, kw_only=True):
    """The policy of a project for its releases.

    Attributes:
        targets: the targets on which the project's releases must run; if empty, only the rules that
            need no target apply.
        prefix: the beginning of the names of the policy's tables: ``tool.ltocompat.`` in
            pyproject.toml.
        trial_auto: True if installed nvJitLinks are tried for unknown verdicts.
        here: the machine on which modules are loaded; None if no modules are loaded.
        exceptions: the exceptions, with or without an end date.
    """

    targets: tuple[Target, ...]
    prefix: str = ""
    trial_auto: bool = False
    here: Target | None = None
    exceptions: tuple[PolicyException, ...] = ()

    @property
    def names_gpus(self) -> bool:
        """Return whether the policy names targets, GPUs or architectures."""
        return bool(self.targets or self.require_gpus or self.require_archs)

    @property
    def given(self) -> bool:
        """Return whether a policy is given, by a file or by options."""
        return bool(self.source or self.options)

    def origin(self, key: str) -> str:
        """Return the source of a value: an option (``--require-archs``), or a key and its file."""
        return f"--{key}" if key in self.options else f"{key} in {self.source}"

    @property
    def every_target(self) -> tuple[Target, ...]:
        """All targets of the policy; also this machine, if modules are loaded on it."""
        return self.targets if self.here is None else (*self.targets, self.here)

    @property
    def table(self) -> str:
        """The header of the table with the policy's keys: ``[tool.ltocompat.audit]``."""
        return f"[{self.prefix}audit]"


# Without a policy, packages are compared with their own metadata.
NO_POLICY = Policy(source="", targets=())
