"""Tables of facts as TOML files, each row with its source; read on first use, never at import."""

from __future__ import annotations

import functools
import os
import pkgutil
import re
import tomllib
from collections.abc import Iterable
from typing import Annotated, Any

from msgspec import Struct

from ltocompat.model.arch import Release
from ltocompat.model.projection import From, S, from_rows
from ltocompat.model.version import FACTS_VARIABLE


@functools.cache
def table(name: str) -> dict[str, Any]:
    """Return arrays of rows by name: of the document at ``LTOCOMPAT_FACTS``, else our own.

    Raises:
        UsageError: that document can't be used.
    """
    path = os.environ.get(FACTS_VARIABLE)
    if not path:
        return own_table(name)
    # Imported here: most runs use the tables that come with the program.
    from ltocompat.facts.exchange import read_tables

    return read_tables(path)[name]


def own_table(name: str) -> dict[str, Any]:
    """Return the arrays of rows by name in ``name.toml`` next to this module."""
    # importlib.resources would take as long to import as a table to read.
    return tomllib.loads((pkgutil.get_data(__name__, f"{name}.toml") or b"").decode("utf-8"))


def table_names() -> list[str]:
    """The names of all tables."""
    # Imported here: most runs need a few tables, whose names they know.
    from importlib.resources import files

    names = sorted(path.name for path in files(__name__).iterdir())
    return [name.removesuffix(".toml") for name in names if name.endswith(".toml")]


def rows(kind: type[S], where: str = "") -> tuple[S, ...]:
    """The rows of an array, each as a struct, in the order of their table.

    Args:
        kind: the struct.
        where: the table and the array, ``drivers.branch``; empty: the tag of the struct.
    """
    return _rows(kind, where or str(kind.__struct_config__.tag))


@functools.cache
def _rows(kind: type[Struct], where: str) -> tuple[Any, ...]:
    name, array = where.split(".")
    return from_rows(kind, table(name)[array])


class LinkerWheel(Struct, frozen=True):
    """A published wheel with nvJitLink, or one of the two wheels with nvlink.

    Attributes:
        release: minor release of the linker, 12.4.
        version: 12.4.127.
        package: name of the package.
        platform: ``linux-x86_64``, ``linux-aarch64`` or ``win-amd64``.
        size: bytes of the wheel.
        wheel_sha256: SHA-256 of the wheel.
        member: path of the linker's file in the wheel.
        member_size: its bytes.
        member_sha256: SHA-256 of that file.
    """

    release: Annotated[Release, From("cuda")]
    version: str
    package: str
    platform: str
    size: int
    wheel_sha256: str
    member: str
    member_size: int
    member_sha256: str


def linker_wheels(tool: str) -> tuple[LinkerWheel, ...]:
    """Return every known wheel of ``nvjitlink`` or ``nvlink``, by platform, oldest first."""
    return rows(LinkerWheel, f"{tool}.release")


@functools.cache
def nvjitlink_minors() -> tuple[Release, ...]:
    """The minor releases of nvJitLink that were published, oldest first."""
    return tuple(sorted({wheel.release for wheel in linker_wheels("nvjitlink")}))


@functools.cache
def nvjitlink_result_name(code: int, release: Release) -> str | None:
    """Return the name of a result code in nvJitLink of this release; None if no header names it.

    A number needs the release: 12.6 renumbered the codes after 8.
    """
    for row in table("nvjitlink_results")["result"]:
        last = Release.parse(row["last"]) if "last" in row else release
        if row["code"] == code and Release.parse(row["first"]) <= release <= last:
            return str(row["name"])
    return None


@functools.cache
def floor(name: str) -> str:
    """Return the floor with a name such as ``zstd-driver``.

    Returns:
        A release, a driver version, a branch or an architecture's number.

    Raises:
        KeyError: no row has the name, which is a mistake in the calling code.
    """
    floors: dict[str, str] = {row["name"]: row["value"] for row in table("floors")["floor"]}
    return floors[name]


@functools.cache
def _provided() -> tuple[frozenset[str], tuple[str, ...]]:
    tables = table("device_functions")
    names = frozenset(name for row in tables["provided"] for name in row["names"])
    return names, tuple(row["prefix"] for row in tables["provided_prefix"])


def is_provided(name: str) -> bool:
    """Return whether a device function exists without a definition, like ``vprintf``."""
    names, prefixes = _provided()
    return name in names or name.startswith(prefixes)


# Files of packages that their users do not run: they decide nothing of what is judged.
# Names of the folders that Python's packages are installed to.
SITES = ("site-packages", "dist-packages")
_TESTS = frozenset({"test", "tests"})
# NVIDIA's, for links that others make: the runtime on Linux and Windows (CUDA 12.0 to 13.5), and
# NCCL's device functions (nvidia-nccl-cu12 2.32.3). libnccl.so.2 itself does not name that file.
_DEVICE_LIBRARIES = frozenset({"libcudadevrt.a", "cudadevrt.lib", "libnccl_device.ltoir"})


def among_tests(folders: Iterable[str]) -> bool:
    """Return whether one of these folders has a package's own tests, by its name."""
    return not _TESTS.isdisjoint(folders)


# Of a driver and of cuda-compat (installed components in the driver's README; libraries of others
# may begin with libnvidia- too); Debian's libcuda 535.261.03 and 550.163.01 have 217 modules.
# auditwheel puts a hash into the name of a copy: libcuda-f27223c5.so.580.95.05 (gwatch-cu128).
_OF_DRIVER = re.compile(
    r"lib(?:cuda|cudadebugger|nvcuvid|nvoptix|nvidia-(?:compiler|encode|fatbinaryloader|gpucomp|ngx"
    r"|nvvm|opencl|opticalflow|ptxjitcompiler|rtcore))(?:-[0-9a-f]{8})?\.so\.[0-9][0-9.]*"
)


def is_of_driver(soname: str) -> bool:
    """Return whether a library with this name in its own table is part of a driver."""
    return _OF_DRIVER.fullmatch(soname) is not None


def is_device_library(name: str) -> bool:
    """Return whether NVIDIA gives this name to a file that is only for device links by others."""
    return name.lower() in _DEVICE_LIBRARIES
