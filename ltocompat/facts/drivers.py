"""NVIDIA drivers: their CUDA releases and branches, the bases of cuda-compat, their errors."""

from __future__ import annotations

import functools
import itertools
import posixpath
import re
from dataclasses import replace
from fnmatch import fnmatchcase
from operator import itemgetter

from msgspec import Struct

from ltocompat.facts import rows, table
from ltocompat.model.arch import Release, version_numbers
from ltocompat.model.generic import grouped
from ltocompat.model.target import DriverVersion


class ToolkitDriver(Struct, frozen=True, tag="drivers.toolkit"):
    """The driver of one patch release of the toolkit.

    Attributes:
        cuda: minor release of the toolkit, 12.4.
        update: ``GA``, ``U1`` ...; with the patch level if it is not the first (``GA(11.0.2)``).
        linux: the Linux driver, ``550.54.14``; a branch (``615``) if the driver isn't bundled; None
            if unknown.
        windows: the Windows driver; None if it isn't bundled or unknown.
    """

    cuda: Release
    update: str
    linux: str | None
    windows: str | None


class MajorFloor(Struct, frozen=True, tag="drivers.major"):
    """The oldest driver that runs the output of every toolkit of a CUDA major.

    Attributes:
        major: 12.
        branch: the driver branch, 525, from today's guide.
    """

    major: int
    branch: int


class DriverBranch(Struct, frozen=True, tag="drivers.branch"):
    """A driver branch and the CUDA release of its drivers.

    Attributes:
        branch: 550.
        cuda: 12.4.
        kind: ``LTS``, ``Production`` or ``New Feature``; None if NVIDIA's list lacks it.
        eol: the month of its last update, ``2026-06``; likewise.
    """

    branch: int
    cuda: Release
    kind: str | None = None
    eol: str | None = None


class CompatPackage(Struct, frozen=True, tag="compat.package"):
    """A cuda-compat package, and the branches of kernel drivers that NVIDIA names for it.

    Attributes:
        package: its CUDA release, 12.8.
        usable: branches on which it is supported.
        native: its own branch, on which it isn't needed.
        none: branches on which it is not supported.
    """

    package: Release
    usable: tuple[int, ...]
    native: tuple[int, ...]
    none: tuple[int, ...]


def stock_driver(cuda: Release, system: str) -> DriverVersion | None:
    """Return the driver of the first release of a CUDA minor.

    Args:
        cuda: 12.4.
        system: ``linux`` or ``windows`` (WSL 2 has the driver of its Windows).

    Returns:
        The driver (only its branch for 13.4 on Linux); None if unknown (13.5, Windows from 13.0 on,
        releases outside the table).
    """
    first = (row for row in rows(ToolkitDriver) if row.cuda == cuda and row.update.startswith("GA"))
    text = next(({"linux": row.linux, "windows": row.windows}.get(system) for row in first), None)
    return DriverVersion(version_numbers(text)) if text else None


@functools.cache
def windows_driver(linux: str) -> str:
    """Return the Windows driver of the same toolkit or floor as a Linux driver, else its branch."""
    found = [*table("drivers")["toolkit"], *table("drivers")["major"]]
    known = {row.get("linux"): row["windows"] for row in found if "windows" in row}
    return known.get(linux) or f"R{linux.partition('.')[0]}"


def branch_end(branch: int) -> DriverBranch | None:
    """Return the row of a branch whose kind and end NVIDIA names; None for any other."""
    return next((row for row in rows(DriverBranch) if row.branch == branch and row.eol), None)


@functools.cache
def _branches() -> dict[int, Release]:
    return {row.branch: row.cuda for row in rows(DriverBranch)}


def driver_branches() -> tuple[int, ...]:
    """Every driver branch whose CUDA release is known, oldest first: 450 .. 615."""
    return tuple(sorted(_branches()))


def before_tables() -> DriverVersion:
    """A driver older than the tables; rules treat all such drivers alike."""
    return DriverVersion((min(each.branch for each in earlier_drivers().values()) - 1,))


def beyond_tables() -> DriverVersion:
    """The first driver newer than the tables."""
    return DriverVersion((driver_branches()[-1] + _BRANCH_STEP,))


# Branches have multiples of five; numbers between are later Windows drivers of a branch.
_BRANCH_STEP = 5


def branch_of(driver: DriverVersion) -> int:
    """Return the branch of a driver: 550 for 550.54.15, and for 551.61, a Windows driver."""
    base = driver.branch - driver.branch % _BRANCH_STEP
    return base if base in _branches() else driver.branch


def branch_cuda(branch: int) -> Release | None:
    """The CUDA release that cuDriverGetVersion() returns in drivers of this branch: 12.4 of 550."""
    return _branches().get(branch)


def earlier_cuda(driver: DriverVersion) -> tuple[str, str]:
    """The lowest and the highest CUDA release of a driver older than every branch."""
    sure = [cuda for cuda, least in earlier_drivers().items() if least.numbers <= driver.numbers]
    possible = [cuda for cuda, least in earlier_drivers().items() if least.branch <= driver.branch]
    return (sure or ["1.0"])[-1], (possible or ["6.5"])[-1]


@functools.cache
def earlier_drivers() -> dict[str, DriverVersion]:
    """Return the oldest driver of each CUDA release whose drivers are older than every branch."""
    rows = table("drivers")["earlier"]
    return {row["cuda"]: DriverVersion(version_numbers(row["linux"])) for row in rows}


def earlier_driver(cuda: Release) -> DriverVersion | None:
    """Return the oldest driver of a CUDA release from before every branch; None if unknown."""
    return earlier_drivers().get(str(cuda))


def cuda_branch(cuda: Release) -> int | None:
    """The driver branch of a CUDA release: 550 of 12.4; 565 of 12.7, which had no toolkit."""
    return next((branch for branch, release in _branches().items() if release == cuda), None)


def first_branch_from(cuda: Release) -> int | None:
    """The first known branch whose drivers are of a CUDA release or a newer one."""
    return next((branch for branch in driver_branches() if _branches()[branch] >= cuda), None)


@functools.cache
def _releases() -> dict[int, tuple[DriverVersion, ...]]:
    texts = {row.linux for row in rows(ToolkitDriver) if row.linux and "." in row.linux}
    texts |= {row["version"] for row in table("drivers")["release"]}
    numbers = sorted(tuple(map(int, text.split("."))) for text in texts)
    branches = itertools.groupby(numbers, key=itemgetter(0))
    return {branch: tuple(map(DriverVersion, versions)) for branch, versions in branches}


@functools.cache
def production_drivers() -> tuple[DriverVersion, ...]:
    """The first driver of every branch, oldest first."""
    return tuple(map(first_production, driver_branches()))


def driver_releases(branch: int) -> tuple[DriverVersion, ...]:
    """Return the known Linux drivers of a branch, oldest first; many more exist."""
    return _releases().get(branch, ())


@functools.cache
def _of_jetsons() -> dict[tuple[int, ...], DriverVersion]:
    known = ((row["version"], Release.parse(row["cuda"])) for row in table("drivers")["jetson"])
    stock = ((text, stock_driver(cuda, "linux")) for text, cuda in known)
    return {version_numbers(text): replace(like, text=text) for text, like in stock if like}


def driver_of(numbers: tuple[int, ...]) -> DriverVersion:
    """Return the driver of a number; a Jetson's counts as the stock driver of its CUDA release.

    NVIDIA numbers Jetson drivers separately: 540.4.0 is of CUDA 12.6, and 580.00 of CUDA 13.0.
    """
    return _of_jetsons().get(numbers) or DriverVersion(numbers)


def first_production(branch: int) -> DriverVersion:
    """Return the oldest known Linux driver of a branch; the bare branch if none is known."""
    return next(iter(driver_releases(branch)), DriverVersion((branch,)))


def major_floor(major: int) -> MajorFloor | None:
    """Return the oldest driver with minor version compatibility of a CUDA major, if known."""
    return next((floor for floor in rows(MajorFloor) if floor.major == major), None)


_USES = ("usable", "native", "none")


@functools.cache
def compat_packages() -> dict[Release, CompatPackage]:
    """The packages of the table by their releases, oldest first."""
    packages = rows(CompatPackage)
    return {row.package: row for row in sorted(packages, key=lambda row: row.package)}


def compat_use(package: Release, branch: int) -> str | None:
    """The use of a cuda-compat package over a kernel driver.

    Args:
        package: the CUDA release of the package, 12.8.
        branch: the branch of the kernel driver, 535.

    Returns:
        ``usable``; ``native``: the same branch, so that the package isn't needed; ``none``: NVIDIA
        doesn't support the pair; None if the table has no such package or branch.
    """
    row = compat_packages().get(package)
    return next((use for use in _USES if row and branch in getattr(row, use)), None)


@functools.cache
def compat_bases() -> tuple[int, ...]:
    """The driver branches that the table has as kernel drivers, oldest first."""
    known = compat_packages().values()
    return tuple(sorted({branch for row in known for use in _USES for branch in getattr(row, use)}))


@functools.cache
def driver_functions() -> dict[str, Release]:
    """The CUDA release that introduced a driver function, from 10.0 on, by the function's name.

    Versions of a function are separate names, as in libcuda: ``cuCtxCreate_v3``.
    """
    known = table("drivers")["function"]
    return {name: Release.parse(row["cuda"]) for row in known for name in row["names"]}


class CudaError(Struct, frozen=True, tag="errors.error"):
    """One error of the CUDA driver API, of the CUDA runtime, of NVRTC or of NVML.

    Attributes:
        number: 209.
        name: ``CUDA_ERROR_NO_BINARY_FOR_GPU``; of the runtime ``cudaErrorNoKernelImageForDevice``.
        text: the text of cuGetErrorString(), without a full stop.
    """

    number: int
    name: str
    text: str


def cuda_error(number: int) -> CudaError | None:
    """Return the error of a number; None if cuda.h has none (35 is only in the CUDA runtime)."""
    return next((row for row in rows(CudaError) if row.number == number), None)


_SPELLED = re.compile(r"^(?:cuda(?!rt))?_?(?:error)?_?|_", re.IGNORECASE)


def _spelled(name: str) -> str:
    """The part of a name that all spellings share: ``nobinaryforgpu`` of Julia's and Rust's."""
    return _SPELLED.sub("", name).lower()


@functools.cache
def _errors_by_name() -> dict[str, list[CudaError]]:
    tables = ("errors", "runtime_errors", "library_results")
    known = [error for name in tables for error in rows(CudaError, f"{name}.error")]
    of_linker = [
        CudaError(
            row["code"], f"NVJITLINK_ERROR_{row['name']}", row["name"].replace("_", " ").lower()
        )
        for row in table("nvjitlink_results")["result"]
    ]
    return grouped((_spelled(error.name), error) for error in (*known, *of_linker[::-1]))


def errors_called(word: str) -> tuple[CudaError, ...]:
    """Return the CUDA errors with a number, or the errors with a name, also of CUDA's libraries.

    Args:
        word: ``209``; a name in any case and spelling: ``CUDA_ERROR_NO_BINARY_FOR_GPU``,
            ``ERROR_NO_BINARY_FOR_GPU`` (Julia), ``NoBinaryForGpu`` (Rust).

    Returns:
        The driver's error first, then the runtime's.
    """
    if word.isascii() and word.isdecimal():
        known = (*rows(CudaError), *rows(CudaError, "runtime_errors.error"))
        return tuple(error for error in known if error.number == int(word))
    return tuple(_errors_by_name().get(_spelled(word), ()))


def is_driver_folder(folder: str, kind: str = "") -> bool:
    """Return whether installers or container tools put libcuda into a folder.

    Args:
        folder: its path, without a slash at its end.
        kind: only system folders (``system``), or only folders of a driver (``driver``).
    """
    arrays = table("driver_folders")
    found = itertools.chain.from_iterable([arrays[kind]] if kind else arrays.values())
    return any(fnmatchcase(folder, row["folder"]) for row in found)


def in_driver_folders(*paths: str) -> bool:
    """Return whether all these files lie in driver folders."""
    return all(is_driver_folder(posixpath.dirname(path)) for path in paths)
