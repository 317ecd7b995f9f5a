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
        """The value of ``require --for`` for this kind of metadata."""
        return {Kind.CONDA: "conda", Kind.IMAGE: "container"}.get(self, "variant")


class Declared(Struct, frozen=True):
    """A declaration about drivers or GPUs in one line of metadata.

    Attributes:
        source: as it is written.
        binding: True if installers use it; else it is for readers.
        cuda: the CUDA release whose drivers are new enough.
        major: the CUDA major, if it names no release.
        gpus: the first GPU of each architecture, as 10 * major + minor.
        kind: with ``gpus``: ``real`` for SASS, ``virtual`` for PTX, empty for either.
        and_newer: True for all GPUs from ``gpus`` on, below ``end`` if given.
        end: the first compute capability that it excludes.
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
        versions: alternative specifiers as in PEP 440 (``>=12.4,<13``; ``""`` for any version);
            several only in conda packages.
        asks: the requested extras of the other package.
        marker: the condition of the line as in PEP 508; empty for always.
        only_limits: True if it limits versions but installs nothing (``run_constrained`` of conda).
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
        version: the version as written; empty if the metadata has no version.
        requires: its dependencies, in order.
        requires_dist: the same lines as written, in order.
        extras: names of its extras.
        classifiers: as written.
        tags: ``py3-none-manylinux_2_28_x86_64``, from its file name or WHEEL.
        tags_inside: for a wheel and an installed package, the tags in WHEEL; None without WHEEL.
        platforms: of a wheel the platforms in its file name (``manylinux_2_28_x86_64``), of an
            installed one the platforms of its tags, of a conda package its subfolder
            (``linux-64``).
        python: version of Python that its tag names, e.g. ``3.11``; None for any.
        files: its files as installed: relative to site-packages, or to the prefix of conda.
        declared: its declarations about drivers and GPUs.
        problems: unreadable parts of the metadata, one sentence each.
        starts_on: for an image, the variables with conditions on drivers, and the conditions.
        searched: for an image, the folders of LD_LIBRARY_PATH.
        sees_gpus: True if an image sets NVIDIA_VISIBLE_DEVICES, which some runtimes need.
        site: for an installed one, the first package folder of its environment.
        only_named: True if it is from a bare list of names and versions.
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
        """Return whether one of its platforms is Windows."""
        return any(platform.startswith("win") for platform in self.platforms)

    def listed(self, path: str) -> str:
        """Return the path of an installed package's file in the package's list of files."""
        site = os.path.dirname(os.path.abspath(self.path))
        return os.path.relpath(os.path.abspath(path), site).replace(os.sep, "/")


class Shipped(Struct, frozen=True, kw_only=True):
    """A package and the facts in its bytes, for the rules of packages.

    Attributes:
        package: the package.
        ask: returns the requirements of its device code; slow, so only called if a rule needs them.
        hosts: its libraries, executables and objects with requirements.
        signatures: its modules, equal ones counted together.
        others: other given packages, such as its dependencies.
        promise: the promises of its project; None for none.
        compat: True if cuda-compat is in an image.
        in_front: a libcuda with a version that the image's loader takes before the host's.
        searched: folders that the loader of an image searches.
        skipped: unreadable places.
        loads: True if its Python modules may load libraries before its own.
        asked: names that the distributions of its environment require, with the required extras.
        budget: the budget for checking it.
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
        """All requirements of its device code."""
        return self.ask()

    @property
    def in_environment(self) -> bool:
        """Return whether it is installed with others, so that its dependencies are known."""
        return in_environment(self.package, self.others)


def in_environment(package: Package, others: Iterable[Package]) -> bool:
    """Return whether a package is installed with others, so that its dependencies are known."""
    return package.kind is Kind.INSTALLED and any(it.kind is Kind.INSTALLED for it in others)


def within_limits(items: Iterable[T], what: str, problems: list[str]) -> Iterator[T]:
    """Yield the readable values; an exceeded limit becomes a problem."""
    try:
        yield from items
    except LimitExceeded as error:
        problems.append(f"{what} too much to read: {error}")


def normalized(name: str) -> str:
    """Return a package's normalized name (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


_DATA = re.compile(r"[^/]+\.data/(?:purelib|platlib)/")


def installed_path(member: str) -> str:
    """Return the path of a wheel's member in site-packages (binary distribution format)."""
    return _DATA.sub("", member, count=1) if _DATA.match(member) else member


# A package in an environment, which is not shipped elsewhere.
Installed: TypeAlias = Shipped

# A container image, in which everything is installed already.
ShippedImage: TypeAlias = Shipped


def system_of(platforms: Collection[str]) -> str:
    """Return the system for these platforms, as targets name it."""
    if platforms and all(platform.startswith("win") for platform in platforms):
        return "windows"
    if platforms and all(platform.endswith(("aarch64", "sbsa")) for platform in platforms):
        return "linux-aarch64"
    return "linux"
