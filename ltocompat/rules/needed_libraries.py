"""The libraries of CUDA that a Python package's own libraries need, and what brings them."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from ltocompat.facts import rows
from ltocompat.facts.libraries import (
    LibraryPackage,
    conda_libraries,
    family,
    folders_of,
    is_of_unpublished_toolkit,
    packages_with,
    rows_of,
)
from ltocompat.facts.toolkits import TorchWheel
from ltocompat.model.generic import grouped
from ltocompat.model.image import HostBinary
from ltocompat.model.library_name import library_name
from ltocompat.model.limits import Budget
from ltocompat.model.requirement import LAST_WITH_SUFFIX
from ltocompat.packages.resolving import Lead, dependencies_always, leads
from ltocompat.packages.values import Kind, Shipped
from ltocompat.rules.linker_imports import short
from ltocompat.targets.versions.packages import suffix_major

if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet
    from packaging.version import Version

_COMPILERS = ("libnvJitLink", "libnvrtc", "libnvrtc-builtins")
# A smaller cuDNN under the same file names, and copies of libraries that others have.
_OF_JIT = re.compile(r"-jit-|cufftmp")
_STEM = re.compile(r"(?:64)?_[\d._]+\.dll|\.so[\d.]*", re.IGNORECASE)


class NeededLibrary(Struct, frozen=True):
    """A CUDA library that loaders search outside of the package.

    Attributes:
        file: the needed file name: ``libcublas.so.12``.
        hosts: the libraries and programs that need it.
        packages: NVIDIA's packages that install it, by name and major version.
        leads: the dependency chains to a package that installs it.
        leads_to_others: the chains that only lead to other versions of these packages, or to
            packages for another CUDA major, whose files have other names.
        to_install: the missing packages of an environment that the metadata requires:
            ``nvidia-cublas>=13,<14``; empty for nothing.
    """

    file: str
    hosts: tuple[HostBinary, ...]
    packages: tuple[LibraryPackage, ...]
    leads: tuple[Lead, ...]
    leads_to_others: tuple[Lead, ...]
    to_install: str

    @property
    def always(self) -> bool:
        """Return whether it is installed without any extra."""
        return any(lead.extra is None for lead in self.leads)

    @property
    def first(self) -> str:
        """The name of the first file that needs it."""
        return short(self.hosts[0].place.innermost)

    @property
    def why(self) -> str:
        """The start of a sentence about it: ``libx.so needs libcublas.so.12``."""
        return f"{self.first} needs {self.file}"

    @property
    def stem(self) -> str:
        """Its name without a version: ``libcublas``."""
        return stem_of(self.file)


def stem_of(file: str) -> str:
    """Return the name of a library without a version: ``libcublas``."""
    return _STEM.sub("", file)


def needed_libraries(shipped: Shipped, *, compilers: bool = False) -> tuple[NeededLibrary, ...]:
    """Return the libraries that a package's libraries need and the package doesn't contain.

    Args:
        shipped: the package.
        compilers: True to include nvJitLink and NVRTC, for whose release there are other rules.
    """
    return _looked_for(
        shipped,
        (
            (file, host)
            for host in shipped.hosts
            for file in dict.fromkeys(host.needed if host.linked else ())
            if compilers or not _is_of_compiler(file)
        ),
    )


def opened_libraries(shipped: Shipped) -> tuple[NeededLibrary, ...]:
    """Return the libraries that they open by a name in their data, without nvJitLink and NVRTC."""
    return _looked_for(
        shipped,
        {
            (library.file, host): None
            for host in shipped.hosts
            for library in (host.libraries if host.linked else ())
            if library.how == "opened" and library.file and not _is_of_compiler(library.file)
        },
    )


def _is_of_compiler(file: str) -> bool:
    """Return whether a file is of nvJitLink or NVRTC, of a release that packages bring."""
    return library_name(file) in _COMPILERS and not is_of_unpublished_toolkit(file)


def _looked_for(
    shipped: Shipped, by_name: Iterable[tuple[str, HostBinary]]
) -> tuple[NeededLibrary, ...]:
    conda = shipped.package.kind is Kind.CONDA
    own = {posixpath.basename(file).lower() for file in shipped.package.files}
    own |= {host.soname.lower() for host in shipped.hosts if host.soname}
    pairs = shipped.budget.timed(by_name)
    by_file = grouped((file, host) for file, host in pairs if file.lower() not in own)
    wanted = {
        file: found
        for file in shipped.budget.timed(by_file)
        if (found := _packages_with(file, conda=conda)) or is_of_unpublished_toolkit(file)
    }
    every_lead = leads(shipped.package, shipped.others, shipped.budget) if wanted else ()
    absent_too = wanted and shipped.in_environment
    asked_for = leads(shipped.package, (), shipped.budget) if absent_too else ()
    needed = list[NeededLibrary]()
    for file, packages in shipped.budget.timed(wanted.items(), slow=True):
        kin = {family(package.name) for package in packages}
        timed = shipped.budget.timed(every_lead, slow=True)
        leading = [lead for lead in timed if family(lead.package) in kin]
        right = tuple(lead for lead in leading if _brings(lead, file))
        others = tuple(lead for lead in leading if lead not in right)
        named = {lead.package for lead in asked_for if _brings(lead, file)}
        lacking = next((_requirement(row) for row in packages if row.name in named), "")
        hosts = tuple(by_file[file])
        needed.append(NeededLibrary(file, hosts, packages, right, others, lacking))
    return tuple(needed)


def _packages_with(file: str, *, conda: bool) -> tuple[LibraryPackage, ...]:
    """The packages of NVIDIA's that bring a file; for conda those that conda-forge has, too."""
    found = packages_with(file)
    names = conda_libraries().values() if conda and found else ()
    return tuple(row for row in found if not conda or family(row.name) in names)


def _brings(lead: Lead, file: str) -> bool:
    """Return whether an admitted version brings a file; versions that nobody has read may."""
    rows = admitted(lead, file)
    if rows:
        return any(folders_of(row, file) for row in rows)
    return any(package.name == lead.package for package in packages_with(file))


def admitted(lead: Lead, file: str) -> tuple[LibraryPackage, ...]:
    """Return the majors of a package that a dependency chain admits, on the system of a file."""
    from packaging.specifiers import SpecifierSet

    windows = file.lower().endswith(".dll")
    specifiers = [SpecifierSet(text) for text in lead.versions or ("",)]
    return tuple(
        row
        for row in rows_of(lead.package)
        if any(platform.startswith("win") == windows for platform in row.platforms)
        and any(_admits(specifier, row) for specifier in specifiers)
    )


def folders(library: NeededLibrary, budget: Budget) -> frozenset[str]:
    """Return the folders into which pip may put a library, relative to site-packages."""
    leading = budget.timed(library.leads, slow=True)
    rows = [row for lead in leading for row in admitted(lead, library.file)]
    return frozenset(folder for row in rows for folder in folders_of(row, library.file))


def other_majors(lead: Lead, file: str) -> list[int]:
    """Return other majors that a chain admits, published or not, whose file has another name.

    Packages without a suffix such as -cu12 change their file names with the CUDA major.
    """
    from packaging.specifiers import SpecifierSet

    found = admitted(lead, file)
    right = {row.major for row in found if folders_of(row, file)}
    majors = [row.major for row in found if row.major not in right]
    later = max((row.major for row in rows_of(lead.package)), default=0) + 1
    open_ = later > 1 and any(SpecifierSet(t).contains(f"{later}.0") for t in lead.versions)
    return [*majors, later] if open_ and suffix_major(lead.package) is None else majors


def _admits(specifier: SpecifierSet, row: LibraryPackage) -> bool:
    """Return whether it admits any version of the row's major.

    Not all versions are in the table: those that the specifier itself names may be published, too,
    and what comes right behind them.
    """
    from packaging.version import Version

    named = list(named_versions(specifier))
    tried = [Version(row.first), Version(row.last)]
    tried += [each for version in named for each in (version, Version(f"{version.base_version}.1"))]
    return any(version.major == row.major and version in specifier for version in tried)


def newest_torch(shipped: Shipped) -> TorchWheel | None:
    """Return the versions up to the newest known torch that a package admits; None if unknown.

    pip installs this torch if nothing else requires torch, and none is given.
    """
    from packaging.specifiers import SpecifierSet
    from packaging.version import Version

    lines = dependencies_always(shipped.package, shipped.budget)
    asked = [each.versions for each in lines if each.name == "torch"]
    asked += [(f"=={other.version}",) for other in shipped.others if other.name == "torch"]
    sets = [[SpecifierSet(text) for text in texts] for texts in asked]
    for row in reversed(rows(TorchWheel) if sets else ()):
        first, last = Version(row.first), Version(row.last)
        named = {v for texts in sets for each in texts for v in named_versions(each)}
        known = {first, last, *(v for v in named if first <= v <= last and v.local is None)}
        if right := [v for v in known if all(any(v in each for each in texts) for texts in sets)]:
            return replace(row, last=str(max(right)))
    return None


def named_versions(specifier: SpecifierSet) -> Iterator[Version]:
    """Yield the versions in a specifier; ``===`` accepts any text, even invalid versions."""
    from packaging.version import InvalidVersion, Version

    for each in specifier:
        with suppress(InvalidVersion):
            yield Version(each.version.removesuffix(".*"))


def to_require(library: NeededLibrary, majors: frozenset[int]) -> tuple[str, ...]:
    """Return the requirements, one of which installs a library: ``nvidia-cudnn-cu12>=9,<10``.

    Args:
        library: the library.
        majors: the CUDA majors of the package, as far as known; if none is known, return the
            requirements for every major.
    """
    rows = [row for row in library.packages if not _OF_JIT.search(row.name)] or library.packages
    right = [row for row in rows if cuda_major(row.name) in majors] or rows
    return tuple(dict.fromkeys(map(_requirement, right)))


def cuda_major(package: str) -> int:
    """Return the CUDA major of an NVIDIA package."""
    return suffix_major(package) or LAST_WITH_SUFFIX + 1


def to_depend_on(library: NeededLibrary) -> str:
    """Return the conda line for a library: ``libcublas >=12,<13``."""
    row = library.packages[0]
    name = next(conda for conda, pypi in conda_libraries().items() if pypi == family(row.name))
    return f"{name} {_range(row)}"


def _requirement(row: LibraryPackage) -> str:
    return f"{row.name}{_range(row)}"


def _range(row: LibraryPackage) -> str:
    return f">={row.major},<{row.major + 1}" if row.major else "<1"
