"""`ltocompat/env/v1`."""

from __future__ import annotations

from typing import Annotated

from ltocompat.model import environment
from ltocompat.model.environment import (
    CompatFolder,
    CompatNote,
    Compiler,
    Conda,
    InstalledPackage,
    Jetson,
    KernelDriver,
    LibraryPick,
    Sibling,
    Toolkit,
    UserDriver,
)
from ltocompat.model.linker import Linker
from ltocompat.model.projection import From
from ltocompat.model.records_v1.base import (
    Document,
    Failure,
    Record,
    VerdictWord,
    published,
    published_unchanged,
)
from ltocompat.model.records_v1.verdict import Target
from ltocompat.model.version import rule_url

published_unchanged(KernelDriver, CompatNote, Sibling, UserDriver, CompatFolder, Compiler)
published_unchanged(LibraryPick, Toolkit, InstalledPackage, Conda, Jetson)


@published(environment.LocalGpu)
class LocalGpu(Record):
    """A GPU of the machine."""

    arch: str | None


@published(Linker, "tool")
class NvJitLink(Record):
    """A copy of nvJitLink."""


@published(environment.Environment)
class Environment(Record):
    """The driver, GPUs and libraries on the machine."""

    system: str
    nvjitlinks: tuple[NvJitLink, ...]


class Problem(Record):
    """A problem of the machine.

    Attributes:
        url: The page of the rule.
    """

    rule: str
    verdict: VerdictWord
    message: str
    remedy: str
    evidence: str
    url: Annotated[str, From("rule", rule_url)]


class Env(Document, tag="ltocompat/env/v1"):
    """A machine, the deploy target for it, and its problems.

    Attributes:
        sandbox: The mechanisms that confine trials on this machine: Landlock, seccomp; null if
            the answer is about another machine.
    """

    environment: Environment
    target: Target
    findings: Annotated[tuple[Problem, ...], From("problems")]
    errors: tuple[Failure, ...]
    sandbox: tuple[str, ...] | None
