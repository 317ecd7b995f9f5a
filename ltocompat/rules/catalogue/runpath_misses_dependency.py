"""PKG-07: a library doesn't look where the dependency that brings nvJitLink or NVRTC puts it."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterator

from ltocompat.model.image import Host
from ltocompat.model.verdict import Verdict
from ltocompat.packages.values import Kind, Package, Shipped, installed_path
from ltocompat.rules.engine.shipped_needs import LIBRARIES, Strength, major_of, need_of, ways_of
from ltocompat.rules.rule import Problem, Rule

# Folders of the wheels of 12.x, relative to site-packages; those of 13.x share one.
_OF_12 = {"nvjitlink": "nvidia/nvjitlink/lib", "nvrtc": "nvidia/cuda_nvrtc/lib"}
_OF_13 = "nvidia/cu13/lib"
# Of conda's two, one has links to the other (conda-forge, recipe of libnvjitlink).
_OF_CONDA = "lib"
_TARGETS = re.compile(r"targets/[^/]+/lib")
_LOADER = "cuda-pathfinder"
_ORIGIN = ("$ORIGIN", "${ORIGIN}")


def of_package(shipped: Shipped) -> Iterator[Problem]:
    """One for each library of NVIDIA's that some library doesn't find by itself."""
    for part, library in LIBRARIES.items():
        need = need_of(part, shipped)
        ways = () if need is None else ways_of(need, shipped)
        if need is None or need.strength is not Strength.LOADED or not ways:
            continue
        always = any(extra is None for _, extra in ways)
        verdict = Verdict.UNKNOWN if always and not _preloads(shipped) else Verdict.OK
        for host in shipped.hosts:
            files = [o.file for o in host.libraries if o.name == library and o.how == "needed"]
            folder = _folder(part, shipped.package, files[0]) if files and files[0] else None
            if host.format != "ELF" or folder is None:
                continue
            here = posixpath.dirname(_location(host, shipped.package))
            if not _reached(folder, [_resolved(text, here) for text in host.runpath]):
                yield _flaw(host, files[0] or "", folder, here, verdict)
                break


def _preloads(shipped: Shipped) -> bool:
    """Whether it depends on NVIDIA's loader of libraries."""
    return any(require.name == _LOADER for require in shipped.package.requires)


def _flaw(host: Host, file: str, folder: str, here: str, verdict: Verdict) -> Problem:
    shown = ":".join(host.runpath) or "no RUNPATH"
    name = posixpath.basename(_name(host))
    wanted = posixpath.join("$ORIGIN", posixpath.relpath(folder, here or "."))
    return Problem(
        RULE.id,
        verdict,
        f"{name} needs {file}, which the dependency puts into {folder}, but its RUNPATH does not "
        "lead there: unless something loads it first, it is found by chance",
        f"link with -Wl,-rpath,'{wanted}'",
        shown,
    )


def _folder(part: str, package: Package, file: str) -> str | None:
    """Where a dependency puts a file."""
    major = major_of(file)
    if package.kind is Kind.CONDA:
        return _OF_CONDA
    return _OF_12[part] if major == 12 else _OF_13 if major == 13 else None


def _reached(folder: str, searched: list[str]) -> bool:
    conda = folder == _OF_CONDA
    return any(text == folder or (conda and _TARGETS.fullmatch(text)) for text in searched)


def _name(host: Host) -> str:
    return host.place.members[-1] if host.place.members else host.place.path


def _location(host: Host, package: Package) -> str:
    """Where a library is once it is installed: relative to site-packages, or to the prefix."""
    if host.place.members:
        return installed_path(_name(host))
    site = os.path.dirname(os.path.abspath(package.path))
    return os.path.relpath(os.path.abspath(_name(host)), site).replace(os.sep, "/")


def _resolved(entry: str, here: str) -> str:
    for origin in _ORIGIN:
        if entry.startswith(origin):
            rest = entry[len(origin) :].lstrip("/")
            return posixpath.normpath(posixpath.join(here, rest))
    return entry


RULE = Rule(
    id="PKG-07",
    title="RUNPATH that misses the declared dependency",
    statement="Wheels find each other's libraries by RUNPATH, relative to site-packages: "
    "libraries of 12.x lie in nvidia/nvjitlink/lib and nvidia/cuda_nvrtc/lib, those of 13.x in "
    "nvidia/cu13/lib; those of conda in lib. A library that doesn't look there finds the "
    "dependency only where other code has loaded it before, or another copy in a cache.",
    condition="A library needs libnvJitLink or libnvrtc, the metadata lead to the package that "
    "has it, and no folder of RUNPATH is the one that the package puts it into.",
    evidence="DT_RUNPATH or DT_RPATH; the place of the library in the package.",
    verdict="unknown: other code may load it first; ok, with a note, where the package depends on "
    "cuda-pathfinder, which is made for that, or brings the library only with an extra",
    messages=(
        "libnvJitLink.so.12: cannot open shared object file: No such file or directory",
        "libnvrtc.so.12: cannot open shared object file: No such file or directory",
    ),
    remedy="Link with -Wl,-rpath,'$ORIGIN/../../nvidia/cu13/lib', or load it before "
    "(cuda-pathfinder, ctypes).",
    source="ld.so(8); layout of NVIDIA's wheels of 12.x and 13.x",
    of_package=of_package,
)
