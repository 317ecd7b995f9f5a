"""`ltocompat/env/v1`."""

from __future__ import annotations

from typing import Annotated

from ltocompat.model.projection import From
from ltocompat.model.records_v1.base import Document, Failure, Record
from ltocompat.model.records_v1.verdict import Target, VerdictWord
from ltocompat.model.version import rule_url


class KernelDriver(Record):
    """The driver in the kernel."""

    version: str
    open: bool | None
    source: str


class CompatNote(Record):
    """The compatibility note in a libcuda."""

    format: int | None
    cuda: str | None
    drivers: tuple[int, ...]
    devices: tuple[int, ...]


class Sibling(Record):
    """A library that libcuda opens to compile."""

    name: str
    path: str | None
    version: str | None


class UserDriver(Record):
    """A libcuda.so.1."""

    path: str
    real: str
    found_by: str
    version: str | None
    cuda: str | None
    cuda_source: str | None
    compat: tuple[str, ...]
    note: CompatNote | None
    stub: bool
    siblings: tuple[Sibling, ...]


class CompatFolder(Record):
    """A copy of cuda-compat."""

    driver: UserDriver
    listed_by: tuple[str, ...]
    in_front: bool


class LocalGpu(Record):
    """A GPU of the machine."""

    name: str
    arch: str | None
    source: str


class NvJitLink(Record):
    """A copy of nvJitLink."""

    release: str
    version: str
    path: str
    found_via: str
    evidence: str
    for_trials: bool
    machine: str


class Compiler(Record):
    """A copy of NVRTC or libNVVM."""

    library: str
    path: str
    found_via: str
    version: str | None
    evidence: str | None
    builtins: tuple[str, ...]


class LibraryPick(Record):
    """Which copy of a library one way of loading gets."""

    library: str
    way: str
    asked: str
    path: str | None
    real: str | None
    found_by: str
    version: str | None


class Toolkit(Record):
    """An installed CUDA toolkit."""

    root: str
    reached: tuple[str, ...]
    version: str | None
    evidence: str | None
    nvcc: bool
    nvlink: bool


class InstalledPackage(Record):
    """A package that brings or drives CUDA."""

    name: str
    version: str
    folder: str


class Conda(Record):
    """The active conda environment."""

    prefix: str
    packages: tuple[InstalledPackage, ...]


class Jetson(Record):
    """The board of an integrated GPU."""

    release: str | None
    model: str | None


class Environment(Record):
    """The driver, GPUs and libraries that device code meets on the machine."""

    system: str
    kernel_driver: KernelDriver | None
    user_driver: UserDriver | None
    compat_folders: tuple[CompatFolder, ...]
    gpus: tuple[LocalGpu, ...]
    nvjitlinks: tuple[NvJitLink, ...]
    compilers: tuple[Compiler, ...]
    picks: tuple[LibraryPick, ...]
    toolkits: tuple[Toolkit, ...]
    wheels: tuple[InstalledPackage, ...]
    conda: Conda | None
    wsl2: bool
    jetson: Jetson | None
    container: str | None
    variables: tuple[tuple[str, str], ...]
    python: str | None
    problems: tuple[str, ...]


class Problem(Record):
    """Something that is wrong there.

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
    """A machine as device code meets it, the deploy target that it is, and what is wrong.

    Attributes:
        sandbox: What confines trials on this machine: Landlock, seccomp; null elsewhere.
    """

    environment: Environment
    target: Target
    findings: Annotated[tuple[Problem, ...], From("problems")]
    errors: tuple[Failure, ...]
    sandbox: tuple[str, ...] | None
