"""A package and what it depends on, as its metadata says; nothing here looks at device code."""

from __future__ import annotations

import enum
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct, field

from ltocompat.model.arch import Release
from ltocompat.model.errors import LimitExceeded
from ltocompat.model.generic import T
from ltocompat.model.limits import Budget
from ltocompat.model.location import Location

if TYPE_CHECKING:
    from ltocompat.model.image import HostBinary, Skipped
    from ltocompat.model.policy import Promise
    from ltocompat.model.requirement import Required
    from ltocompat.model.signature import ModuleSignature

SHOWN = 120  # characters of a line of metadata


class Kind(enum.StrEnum):
    """A kind of package."""

    WHEEL = "wheel"
    CONDA = "conda"
    INSTALLED = "installed"
    IMAGE = "container image"
    DEBIAN = "debian"
    RPM = "rpm"

    @property
    def metadata(self) -> str:
        """The name that ``require --for`` gives its metadata on drivers and GPUs."""
        return {Kind.CONDA: "conda", Kind.IMAGE: "container"}.get(self, "variant")


class Declared(Struct, frozen=True):
    """A declaration on drivers or GPUs in one line of metadata.

    Attributes:
        source: as it is written.
        binding: installers go by it; else it is for readers.
        cuda: drivers of this CUDA release are new enough.
        major: it is for this major of CUDA, and names no release of it.
        gpus: each GPU that begins an architecture it is for, as 10 * major + minor.
        kind: with ``gpus``: ``real`` for SASS, ``virtual`` for PTX, empty for either.
        and_newer: it is for all GPUs from those of ``gpus`` on, below ``end`` where that is given.
        end: the first compute capability that it is not for.
    """

    source: str
    binding: bool
    cuda: Release | None = None
    major: int | None = None
    gpus: tuple[int, ...] = ()
    kind: str = ""
    and_newer: bool = False
    end: int | None = None


class Dependency(Struct, frozen=True):
    """One line about another package.

    Attributes:
        name: its normalized name, ``nvidia-nvjitlink-cu12``.
        versions: alternative specifiers as PEP 440 writes them (``>=12.4,<13``; ``""`` for any
            version), of which one has to hold; several only in conda packages.
        asks: extras of the other package that are asked for.
        marker: when the line counts, as PEP 508 writes it; empty for always.
        only_limits: it says which versions may be installed beside, but installs none
            (``run_constrained`` of conda).
        line: as it is written, with its key: ``Requires-Dist: nvidia-nvjitlink``.
    """

    name: str
    versions: tuple[str, ...]
    line: str
    asks: frozenset[str] = frozenset()
    marker: str = ""
    only_limits: bool = False


class Package(Struct, frozen=True, kw_only=True):
    """The metadata of a package.

    Attributes:
        kind: wheel, conda package, installed distribution, container image, Debian or RPM package.
        path: the file, or the folder of the metadata of an installed distribution.
        name: normalized.
        version: the version as written; empty if there is none.
        requires: what it depends on, in order.
        requires_dist: the same as its metadata write it, in order.
        extras: names of its extras.
        classifiers: as written.
        tags: ``py3-none-manylinux_2_28_x86_64``, as its file name or WHEEL has them.
        tags_inside: of a wheel and an installed package, as WHEEL has them; None without WHEEL.
        platforms: of a wheel the platforms in its file name (``manylinux_2_28_x86_64``), of an
            installed one those of its tags, of a conda package its subfolder (``linux-64``).
        python: version of Python that its tag names, e.g. ``3.11``; None for any.
        files: its files as installed: relative to site-packages, or to the prefix of conda.
        declared: what it says of the drivers and GPUs that it is for.
        problems: what could not be read of the metadata, one sentence each.
        starts_on: of an image the variables that say which drivers it starts on, and how.
        searched: of an image the folders of LD_LIBRARY_PATH.
        sees_gpus: an image sets NVIDIA_VISIBLE_DEVICES, as some runtimes need it to.
        site: of an installed one the folder of packages that its environment begins with.
        only_named: it stands in a list of names and versions, which tells nothing else of it.
    """

    kind: Kind
    path: str
    name: str
    version: str = ""
    requires: tuple[Dependency, ...] = ()
    requires_dist: tuple[str, ...] = ()
    extras: tuple[str, ...] = ()
    classifiers: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    tags_inside: tuple[str, ...] | None = None
    platforms: tuple[str, ...] = ()
    python: str | None = None
    files: tuple[str, ...] = ()
    declared: tuple[Declared, ...] = ()
    problems: tuple[str, ...] = ()
    starts_on: tuple[tuple[str, str], ...] = ()
    searched: tuple[str, ...] = ()
    sees_gpus: bool = False
    site: str = ""
    only_named: bool = False

    def __str__(self) -> str:
        return f"{self.name} {self.version}" if self.version else self.name

    @property
    def on_windows(self) -> bool:
        """Return whether its platforms have one of Windows."""
        return any(platform.startswith("win") for platform in self.platforms)

    def listed(self, path: str) -> str:
        """A file of an installed package as its own list of files has it."""
        site = os.path.dirname(os.path.abspath(self.path))
        return os.path.relpath(os.path.abspath(path), site).replace(os.sep, "/")


class Shipped(Struct, frozen=True, kw_only=True):
    """A package together with what was found in its bytes; what rules of packages look at.

    Attributes:
        package: the package.
        ask: finds what its device code asks for, which takes long: only where a rule wants it.
        hosts: its libraries, executables and objects that need something.
        signatures: its modules, equal ones counted together.
        others: packages given beside it, such as those that it depends on.
        promise: what its project promises; None if nothing is promised.
        compat: cuda-compat is in an image.
        in_front: a libcuda with a version that the loader of an image takes before the host's.
        searched: folders that the loader of an image searches.
        skipped: what can't be read.
        loads: its Python modules may load libraries before its own are loaded.
        asked: names that the distributions of its environment ask for, with the wanted extras.
        budget: what judging it may cost.
    """

    package: Package
    ask: Callable[[], Required]
    hosts: tuple[HostBinary, ...] = ()
    signatures: tuple[tuple[ModuleSignature, int], ...] = ()
    others: tuple[Package, ...] = ()
    promise: Promise | None = None
    compat: bool = False
    in_front: Location | None = None
    searched: tuple[str, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    loads: bool = False
    asked: Mapping[str, frozenset[str]] = {}
    budget: Budget = field(default_factory=Budget)

    @property
    def required(self) -> Required:
        """Everything that its device code asks for."""
        return self.ask()

    @property
    def in_environment(self) -> bool:
        """Return whether it is installed beside others, so that its dependencies are known."""
        return in_environment(self.package, self.others)


def in_environment(package: Package, others: Iterable[Package]) -> bool:
    """Return whether a package is installed beside others, so that its dependencies are known."""
    return package.kind is Kind.INSTALLED and any(it.kind is Kind.INSTALLED for it in others)


def within_limits(items: Iterable[T], what: str, problems: list[str]) -> Iterator[T]:
    """Yield what can be read of something; a limit that ends it becomes a problem."""
    try:
        yield from items
    except LimitExceeded as error:
        problems.append(f"{what} too much to read: {error}")


def normalized(name: str) -> str:
    """A package's name as it is compared (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


_DATA = re.compile(r"[^/]+\.data/(?:purelib|platlib)/")


def installed_path(member: str) -> str:
    """Return the path of a wheel's member in site-packages (binary distribution format)."""
    return _DATA.sub("", member, count=1) if _DATA.match(member) else member


Installed: TypeAlias = Shipped
"""The same in an environment, whose packages are not on their way elsewhere."""

ShippedImage: TypeAlias = Shipped
"""The same of a container image, in which everything is installed already."""


def system_of(platforms: Collection[str]) -> str:
    """The system of a package that is for these platforms, as targets name it."""
    if platforms and all(platform.startswith("win") for platform in platforms):
        return "windows"
    if platforms and all(platform.endswith(("aarch64", "sbsa")) for platform in platforms):
        return "linux-aarch64"
    return "linux"
