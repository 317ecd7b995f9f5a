"""`ltocompat/env/v1`."""

from __future__ import annotations

from typing import Annotated

from ltocompat.model import environment
from ltocompat.model.linker import Linker
from ltocompat.model.projection import From
from ltocompat.model.records_v1.base import Document, Failure, Record, VerdictWord, published
from ltocompat.model.records_v1.verdict import Target
from ltocompat.model.version import rule_url


@published(environment.KernelDriver)
class KernelDriver(Record):
    """The driver in the kernel."""


@published(environment.CompatNote)
class CompatNote(Record):
    """The compatibility note in a libcuda."""


@published(environment.Sibling)
class Sibling(Record):
    """A library that libcuda opens to compile code."""


@published(environment.UserDriver)
class UserDriver(Record):
    """A libcuda.so.1."""


@published(environment.CompatFolder)
class CompatFolder(Record):
    """A copy of cuda-compat."""


@published(environment.LocalGpu)
class LocalGpu(Record):
    """A GPU of the machine."""

    arch: str | None


@published(Linker, "tool")
class NvJitLink(Record):
    """A copy of nvJitLink."""


@published(environment.Compiler)
class Compiler(Record):
    """A copy of NVRTC or libNVVM."""


@published(environment.LibraryPick)
class LibraryPick(Record):
    """The file that one loading method finds for a library."""


@published(environment.Toolkit)
class Toolkit(Record):
    """An installed CUDA toolkit."""


@published(environment.InstalledPackage)
class InstalledPackage(Record):
    """A package that contains or uses CUDA."""


@published(environment.Conda)
class Conda(Record):
    """The active conda environment."""


@published(environment.Jetson)
class Jetson(Record):
    """The board of an integrated GPU."""


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
