"""Python packages: wheels, and installed distributions (PEP 376, 427, 627)."""

from __future__ import annotations

import functools
import glob
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from itertools import chain
from typing import TypeAlias

from msgspec.structs import replace

from ltocompat.files.archives.folder import (
    CONDA_META,
    DIST_INFO,
    MOST_RECORD,
    names_in_record,
    sites_of,
)
from ltocompat.files.byteview import ByteView
from ltocompat.files.regular import OpenedFile, open_regular, read_regular
from ltocompat.model.errors import LimitExceeded, LtocompatError
from ltocompat.model.limits import MIB, Budget, Limits
from ltocompat.packages.declared import of_variant
from ltocompat.packages.members import member_of, python_modules, zip_names
from ltocompat.packages.metadata import MOST_BYTES, python_and_platforms, read_metadata, read_tags
from ltocompat.packages.resolving import extras_asked
from ltocompat.packages.values import Kind, Package, installed_path, normalized, within_limits

# Distributions, and the names that they require, with the required extras.
_Around: TypeAlias = "tuple[tuple[Package, ...], Mapping[str, frozenset[str]]]"
_VARIANT = "variant.json"
_LIBRARY = re.compile(rb'^"?([^,\n]+(?:\.so[.0-9]*|\.dll))"?,', re.MULTILINE)
# Calls that load a library or name its folder, and imports of packages that load those of CUDA.
_LOADS = re.compile(
    rb"\b(?:CDLL|PyDLL|WinDLL|LoadLibrary|dlopen|add_dll_directory|RTLD_GLOBAL|load_\w*librar\w*"
    rb"|load_nvidia_dynamic_lib)\b"
    rb"|^[ \t]*(?:from|import)[ \t]+(?:cuda|nvidia|cupy|cuquantum|custatevec|jax|nvmath|numba"
    rb"|tensorflow|tensorrt|torch)",
    re.MULTILINE,
)
_EGG_INFO = ".egg-info"
_PYTHON = re.compile(r"/python(3\.[0-9]{1,3})/[a-z]+-packages$")
_HOME = re.compile(r"^home *= *(.+?)/[^/]+ *$", re.MULTILINE)
_DEEPEST = 32  # folders between a file and the metadata of its package
_METADATA = re.compile(r"([^/]+)\.dist-info/METADATA")
# Behind name and version there may be a build tag, which begins with a digit (PEP 427), and at the
# end the label of a variant (PEP 825).
_FILE_NAME = re.compile(
    r"[^-]+-[^-]+(?:-[0-9][^-]*)?-([^-]+-[^-]+-[^-]+)(?:-([0-9a-z_.]{1,16}))?\.whl", re.IGNORECASE
)


def read_wheel(view: ByteView, path: str, budget: Budget) -> Package | None:
    """Return the wheel; None if the file is not one."""
    names = zip_names(view, budget)
    if names is None:
        return None
    folders = [match[1] for match in map(_METADATA.fullmatch, names) if match]
    if not folders and not path.lower().endswith(".whl"):
        return None
    problems: list[str] = []
    if len(folders) != 1:
        problems.append(f"the wheel has {len(folders)} files *.dist-info/METADATA instead of one")
    stem = folders[0] if folders else ""
    named = _FILE_NAME.fullmatch(os.path.basename(path))
    files = tuple(installed_path(name) for name in names if not name.endswith("/"))

    def content(name: str) -> bytes:
        found = member_of(view, path, f"{stem}.dist-info/{name}", budget)
        return b"" if found is None else found.peek(0, MOST_BYTES)

    package = _package(content, stem, budget, problems, named)
    return replace(package, kind=Kind.WHEEL, path=path, files=files)


def _package(
    content: Callable[[str], bytes],
    stem: str,
    budget: Budget,
    problems: list[str],
    named: re.Match[str] | None = None,
) -> Package:
    """The package of which metadata says more than the ``stem`` of their folder's name.

    Args:
        content: gives a file of the metadata by its name, empty if it is missing.
        stem: name and version.
        budget: of it.
        problems: what is wrong with it besides.
        named: the tags in its file's name, and the label of its variant.
    """
    found = read_metadata(content("METADATA"), budget)
    inside = read_tags(content("WHEEL"))
    # Installers go by the file name; one that was renamed still has its tags inside.
    tags, label = ((named[1],), named[2] or "") if named else (inside or (), "")
    python, platforms = python_and_platforms(tags)
    declared = of_variant(content(_VARIANT), label, problems)
    return replace(
        found,
        name=found.name or normalized(stem.partition("-")[0]),
        version=found.version or stem.partition("-")[2],
        tags=tags,
        tags_inside=inside,
        platforms=platforms,
        python=python,
        declared=(*declared, *found.declared),
        problems=(*problems, *found.problems),
    )


def read_installed(folder: str, budget: Budget, site: str = "") -> Package | None:
    """Return the distribution whose metadata lie in a folder; None if there are none.

    Args:
        folder: the folder of the metadata.
        budget: the budget for reading them.
        site: the first package folder of its environment; empty for the parent folder.
    """
    folder = os.path.abspath(folder)
    if not folder.endswith((DIST_INFO, _EGG_INFO)) or sites_of(folder):
        return None
    problems: list[str] = []
    record = names_in_record(_content(folder, "RECORD", MOST_RECORD), budget)
    files = tuple(within_limits(record, "RECORD is", problems))
    return replace(
        _described(folder, site or os.path.dirname(folder), budget, problems), files=files
    )


def _described(info: str, site: str, budget: Budget, problems: list[str]) -> Package:
    """A distribution by its metadata, with the Python of the environment that sees it."""
    stem = os.path.splitext(os.path.basename(info))[0]
    package = _package(functools.partial(_content, info), stem, budget, problems)
    python = _PYTHON.search(site)
    of = python[1] if python else package.python
    return replace(package, kind=Kind.INSTALLED, path=info, python=of, site=site)


def may_load_libraries(package: Package, budget: Budget) -> bool:
    """Return whether readable Python modules of a package may load libraries."""
    names = [name for name in package.files if name.endswith(".py")]
    with suppress(OSError, LtocompatError):
        if package.kind is Kind.WHEEL:
            view = ByteView(OpenedFile(open_regular(package.path)))
            texts = (each.peek(0, MIB) for each in python_modules(view, package.path, budget))
        else:
            site = os.path.dirname(os.path.abspath(package.path))
            texts = (_content(site, name, MIB) for name in budget.timed(names))
        return any(map(_LOADS.search, texts))
    return bool(names)


def distribution_of(path: str, budget: Budget) -> Package | None:
    """Return the distribution whose RECORD lists a file, in any folder; None for others."""
    path = os.path.abspath(path)
    folder, parts = path, list[str]()
    try:
        for _ in range(_DEEPEST):
            folder, name = os.path.split(folder)
            if not name:
                return None
            parts.insert(0, name)
            found = _lister("/".join(parts), folder, budget)
            if found is not None:
                return found
    except LimitExceeded as error:
        problem = f"its package is not known, since the RECORDs of {folder} are too large: {error}"
        return Package(kind=Kind.INSTALLED, path=path, name=parts[-1], problems=(problem,))
    except OSError:  # another program removes packages just now, or they can't be listed
        return None
    return None


def _lister(wanted: str, folder: str, budget: Budget) -> Package | None:
    """The distribution in a folder whose RECORD, or conda-meta, lists a file, named from there."""
    meta = os.path.join(folder, CONDA_META)
    if os.path.isdir(meta):
        from ltocompat.packages.conda import installed_files

        return installed_files(meta, os.stat(meta).st_mtime_ns, budget.limits).get(wanted)
    tops = _by_top(folder, os.stat(folder).st_mtime_ns, budget.limits)
    for info in tops.get(wanted.partition("/")[0], ()):
        times = sorted(entry.stat().st_mtime_ns for entry in os.scandir(info))
        package, files = _installed(info, tuple(times), budget.limits)
        if wanted in files:
            return package
    return None


def installed_in(folder: str, budget: Budget) -> tuple[Package, ...]:
    """Return the distributions that Python sees in a folder, with their dependencies."""
    site = os.path.abspath(folder)
    infos = (info for each in _seen_from(site) for info in _infos_in(each))
    found = (read_installed(info, budget, site) for info in budget.timed(infos))
    return tuple(filter(None, found))


def installed_around(package: Package) -> _Around:
    """Return the distributions that Python sees next to an installed one, with their libraries."""
    if package.site:
        with suppress(OSError, LimitExceeded):
            sites = _seen_from(package.site)
            return _names_in(tuple((site, os.stat(site).st_mtime_ns) for site in sites))
    return (), {}


def _seen_from(site: str) -> tuple[str, ...]:
    """A folder of packages, and those of the Python whose packages its environment takes over."""
    config = _content(os.path.join(site, "..", "..", ".."), "pyvenv.cfg").decode("utf-8", "replace")
    home = _HOME.search(config)
    if home is None or "include-system-site-packages = true" not in config:
        return (site,)
    python = glob.escape(os.path.basename(os.path.dirname(site)))
    base = glob.escape(home[1])
    # local/lib is Debian's.
    libs = (f"{lib}/{name}" for lib in ("lib", "local/lib") for name in (python, "python3"))
    found = (sorted(glob.glob(f"{base}/{lib}/*-packages")) for lib in libs)
    return (site, *chain.from_iterable(found))


@functools.lru_cache(maxsize=16)  # asked for each of its packages
def _names_in(sites: tuple[tuple[str, int], ...]) -> _Around:
    budget = Budget()
    found: dict[str, Package] = {}
    for site, _ in reversed(sites):
        for info in _infos_in(site):
            package = _described(info, sites[0][0], budget, [])
            # All of RECORD is dear to read for each package of an environment.
            names = _LIBRARY.findall(_content(info, "RECORD", MOST_RECORD))
            files = tuple(name.decode("utf-8", "replace") for name in names)
            found[package.name] = replace(package, files=files)
    # What they depend on is left out: the ways through an environment are without number.
    there = tuple(replace(each, requires=(), requires_dist=()) for each in found.values())
    return there, extras_asked(found, budget)


def _infos_in(site: str) -> list[str]:
    """The metadata of the distributions in a folder, sorted; older ones are .egg-info."""
    names = sorted(name for name in os.listdir(site) if name.endswith((DIST_INFO, _EGG_INFO)))
    return [os.path.join(site, name) for name in names]


@functools.lru_cache(maxsize=64)  # asked for each file of a package
def _installed(
    info: str, _changed: tuple[int, ...], limits: Limits
) -> tuple[Package | None, frozenset[str]]:
    """The distribution of a metadata folder, and all its files."""
    package = read_installed(info, Budget(limits))
    return package, frozenset(package.files if package is not None else ())


@functools.lru_cache(maxsize=64)  # a folder is asked for each of its files
def _by_top(site: str, _changed: int, limits: Limits) -> dict[str, tuple[str, ...]]:
    """First part of a path in site-packages -> the metadata folders of those that have such."""
    budget = Budget(limits)
    found: dict[str, list[str]] = {}
    for info in filter(os.path.isdir, _infos_in(site)):
        files = names_in_record(_content(info, "RECORD", MOST_RECORD), budget)
        for top in {file.partition("/")[0] for file in files}:
            found.setdefault(top, []).append(info)
    return {top: tuple(infos) for top, infos in found.items()}


def _content(folder: str, name: str, most: int = MOST_BYTES) -> bytes:
    if name == "METADATA" and folder.endswith(_EGG_INFO):
        headers = _content(folder, "PKG-INFO") or _content(*os.path.split(folder))
        lines = _content(folder, "requires.txt").decode("utf-8", "replace")
        return "".join(_of_egg(lines)).encode() + headers
    with suppress(OSError):
        return read_regular(os.path.join(folder, name), most)
    return b""


def _of_egg(text: str) -> Iterator[str]:
    """Yield what requires.txt of setuptools asks for; its sections are ``[extra:marker]``."""
    marker = ""
    for line in filter(None, map(str.strip, text.splitlines())):
        if line.startswith("["):
            extra, _, when = line.strip("[]").partition(":")
            marker = " and ".join(
                [f"({when})"] * bool(when) + [f"extra == '{extra}'"] * bool(extra)
            )
        else:
            yield f"Requires-Dist: {line}" + (f" ; {marker}\n" if marker else "\n")
