"""Packages: their metadata against what is inside (PKG, and NJL-06)."""

from __future__ import annotations

import os
import posixpath
import re
from collections import Counter
from collections.abc import Iterator
from itertools import combinations

from ltocompat.model.arch import SmArch
from ltocompat.model.image import Host, ImageKind
from ltocompat.model.library_name import library_name
from ltocompat.model.verdict import Level, Verdict
from ltocompat.packages.promise import Promise
from ltocompat.packages.resolving import not_at_hand
from ltocompat.packages.values import Dependency, Kind, Package, Shipped, installed_path
from ltocompat.rules.catalogue.family import Family
from ltocompat.rules.engine.shipped_needs import (
    LIBRARIES,
    TITLES,
    Need,
    Strength,
    admits_right_major,
    major_of,
    need_of,
    siblings,
    ways_of,
)
from ltocompat.rules.linker_imports import short
from ltocompat.rules.rule import Problem

FAMILY = Family("packages")


@FAMILY.of_package("NJL-06", Level.ERROR)
def nvjitlink_allowed_too_old(shipped: Shipped) -> Iterator[Problem]:
    """The metadata of a package admits an nvJitLink that is too old for what is inside."""
    need = need_of("nvjitlink", shipped)
    if need is None or need.possible is None:
        return
    ways = ways_of(need, shipped)
    for (package, _), (admitted, way) in ways.items():
        least = min(admitted.releases, default=None)
        # PKG-04 speaks of dependencies that never are of the right major.
        if least is None or not admits_right_major(package, admitted, need):
            continue
        if least < need.possible:
            verdict = Verdict.UNKNOWN if need.strength is Strength.HANDED_OUT else Verdict.FAIL
            text = f"{need.why}, so that it has to be {need.possible} or newer"
        elif need.sure is None or least < need.sure:
            verdict = Verdict.UNKNOWN
            text = f"{need.doubt}, so that it may have to be {need.sure or 'newer'}"
            text += "" if need.tried else ": a trial tells"
        else:
            continue
        yield Problem(
            "NJL-06",
            verdict,
            f"{package} may be {least}, but {text}",
            need.advice,
            way.line,
            need.open_to_trial,
        )
    for package, admitted, way in siblings(need, ways):
        least = min(admitted.releases, default=need.possible)
        if least < need.possible:
            yield Problem(
                "NJL-06",
                Verdict.FAIL if need.hard else Verdict.UNKNOWN,
                f"{package} may be installed instead, up to {max(admitted.releases)}, but "
                f"{need.why}, so that it has to be {need.possible} or newer",
                need.advice,
                way.line,
                need.open_to_trial,
            )


@FAMILY.of_package("PKG-01", Level.ERROR)
def dependency_missing(shipped: Shipped) -> Iterator[Problem]:
    """A package needs nvJitLink or NVRTC, and its metadata leads to none."""
    for part in LIBRARIES:
        need = need_of(part, shipped)
        if need is not None:
            yield from _missing_library(need, shipped)


def _missing_library(need: Need, shipped: Shipped) -> Iterator[Problem]:
    title = TITLES[need.part]
    ways = ways_of(need, shipped)
    installed = {key: way for key, (_, way) in ways.items() if not way.only_limits}
    if any(extra is None for _, extra in installed):
        return
    if installed:
        extras = ", ".join(dict.fromkeys(str(extra) for _, extra in installed))
        first = next(iter(installed.values()))
        text = f"{need.why}, but {title} comes only with the extra {extras}"
        remedy = f"have users install it with {shipped.package.name}[{extras}], or {need.advice}"
        yield Problem("PKG-01", Verdict.OK, text, remedy, first.line, need.open_to_trial)
        return
    remedy = need.advice
    brought = not_at_hand(shipped.package, shipped.others)
    evidence = f"dependencies of {shipped.package}"
    if not need.hard:
        text = f"{need.why}, and nothing in the metadata brings {title}"
        remedy = f"where it is used, {remedy}"
        yield Problem("PKG-01", Verdict.OK, text, remedy, evidence, need.open_to_trial)
    elif brought:
        more = f" or {len(brought) - 1} more" if len(brought) > 1 else ""
        text = f"{need.why}, and whether {brought[0]}{more} brings {title} is not known here"
        remedy = f"{remedy}, or give them by --with"
        yield Problem("PKG-01", Verdict.UNKNOWN, text, remedy, evidence, need.open_to_trial)
    else:
        text = f"{need.why}, but nothing in the metadata brings {title}"
        yield Problem("PKG-01", Verdict.FAIL, text, remedy, evidence, need.open_to_trial)


@FAMILY.of_package("PKG-02", Level.WARNING)
def dependency_without_upper_major(shipped: Shipped) -> Iterator[Problem]:
    """A dependency on nvJitLink or NVRTC admits a major whose library has another name."""
    for part in LIBRARIES:
        need = need_of(part, shipped)
        if need is None:
            continue
        most = need.majors[-1]
        ways = ways_of(need, shipped)
        found = [
            (package, admitted, way)
            for (package, _), (admitted, way) in ways.items()
            # PKG-04 speaks of the others.
            if admits_right_major(package, admitted, need)
        ]
        for package, admitted, way in (*found, *siblings(need, ways)):
            newer = [release.major for release in admitted.releases if release.major > most]
            if newer or admitted.later_major:
                yield Problem(
                    "PKG-02",
                    Verdict.UNDOCUMENTED,
                    f"{package} admits major {min(newer, default=most + 1)}, but the "
                    f"{TITLES[part]} that is asked for is the file of major {most}",
                    need.advice,
                    way.line,
                    need.open_to_trial,
                )


@FAMILY.of_package("PKG-03", Level.WARNING)
def dependency_pinned(shipped: Shipped) -> Iterator[Problem]:
    """A dependency on nvJitLink is pinned, so that nothing newer can be beside it."""
    need = need_of("nvjitlink", shipped)
    if need is None:
        return
    for (package, _), (admitted, way) in ways_of(need, shipped).items():
        if admitted.pinned:
            yield Problem(
                "PKG-03",
                Verdict.UNDOCUMENTED,
                f"{package} is pinned to {admitted.pinned}, so that a package that needs a newer "
                "nvJitLink can't be installed beside it",
                need.advice,
                way.line,
                need.open_to_trial,
            )


@FAMILY.of_package("PKG-04", Level.ERROR)
def dependency_of_another_major(shipped: Shipped) -> Iterator[Problem]:
    """The metadata name an nvJitLink or NVRTC of another major than the libraries ask for."""
    for part in LIBRARIES:
        need = need_of(part, shipped)
        if need is None:
            continue
        ways = ways_of(need, shipped)
        right = [
            key for key, (allowed, _) in ways.items() if admits_right_major(key[0], allowed, need)
        ]
        if right:
            continue
        majors = " or ".join(map(str, need.majors))
        for (package, _), (_, way) in ways.items():
            yield Problem(
                "PKG-04",
                Verdict.FAIL if need.hard else Verdict.UNKNOWN,
                f"{need.why}, but {package} here is never {TITLES[part]} of major {majors}",
                need.advice,
                way.line,
                need.open_to_trial,
            )


# cupy-cuda13x, jax-cuda12-plugin, libcuvs-cu13; torch 2.9.1+cu130.
_MAJOR_IN_NAME = re.compile(r"(?:^|-)(?:cu|cuda)-?(\d\d)x?(?:-|$)")
_MAJOR_IN_VERSION = re.compile(r"\+(?:cu|cuda)\.?(\d\d)\d?(?:\.|$)")
# Libraries whose file names carry the major of CUDA, rather than one of their own.
_NAMED_BY_CUDA = ("libcudart", "libnvrtc", "libnvJitLink")


@FAMILY.of_package("PKG-05", Level.ERROR)
def name_of_another_major(shipped: Shipped) -> Iterator[Problem]:
    """-cu12 or -cu13 in a package's name contradicts the libraries or the compilers inside."""
    major, text = _major_in_name(shipped.package)
    if major is None:
        return
    for how, verdict in (("needed", Verdict.FAIL), ("opened", Verdict.UNKNOWN)):
        for name in _NAMED_BY_CUDA:
            found = {
                library.file: host
                for host in shipped.hosts
                for library in host.libraries
                if host.linked and library.name == name and library.how == how and library.file
            }
            majors = {major_of(file) for file in found} - {None}
            # Programs open several majors, one after the other, until one is there.
            if majors and major not in majors:
                file, host = next((f, h) for f, h in found.items() if major_of(f) in majors)
                path = host.place.members[-1] if host.place.members else host.place.path
                does = "needs" if how == "needed" else "opens"
                yield Problem(
                    "PKG-05",
                    verdict,
                    f"{shipped.package.name} is called {text}, but {short(path)} {does} {file}",
                    f"call it {_renamed(shipped.package, major_of(file))}, or build it with CUDA "
                    f"{major}",
                    str(host.place),
                )
                break
    yield from _newer_makers(shipped, major, text)


def _newer_makers(shipped: Shipped, major: int, text: str) -> Iterator[Problem]:
    newer: Counter[str] = Counter()
    total = 0
    for signature, count in shipped.signatures:
        total += count
        makers = (maker for image in signature.images for maker in image.made_by)
        late = [maker for maker in makers if maker.releases and maker.releases[0].major > major]
        if late:
            newer[str(late[0])] += count
    if not newer:
        return
    maker_name, _ = newer.most_common(1)[0]
    yield Problem(
        "PKG-05",
        Verdict.UNKNOWN,
        f"{shipped.package.name} is called {text}, but {sum(newer.values())} of {total} modules "
        f"were made by newer tools, such as {maker_name}",
        f"build them with CUDA {major}, or call it {_renamed(shipped.package, major + 1)}",
        "makers of the images",
    )


def _major_in_name(package: Package) -> tuple[int | None, str]:
    """The major in its name or version, and the letters that say so."""
    match = _MAJOR_IN_NAME.search(package.name) or _MAJOR_IN_VERSION.search(package.version)
    return (int(match[1]), match[0].strip("-+.")) if match else (None, "")


def _renamed(package: Package, major: int | None) -> str:
    match = _MAJOR_IN_NAME.search(package.name)
    if match is None or major is None:
        return f"one of CUDA {major}"
    return f"{package.name[: match.start(1)]}{major}{package.name[match.end(1) :]}"


_MACHINE_BY_TAG = {
    "x86_64": ("ELF", "x86-64"),
    "aarch64": ("ELF", "AArch64"),
    "amd64": ("PE", "x86-64"),
    "win_arm64": ("PE", "AArch64"),
    "linux-64": ("ELF", "x86-64"),
    "win-64": ("PE", "x86-64"),
    "win-arm64": ("PE", "AArch64"),
}
_TAGS_BY_MACHINE = {
    ("ELF", "x86-64"): ("manylinux_2_28_x86_64", "linux-64"),
    ("ELF", "AArch64"): ("manylinux_2_28_aarch64", "linux-aarch64"),
    ("PE", "x86-64"): ("win_amd64", "win-64"),
    ("PE", "AArch64"): ("win_arm64", "win-arm64"),
}
_ANY_PLATFORM = ("any", "noarch")


@FAMILY.of_package("PKG-06", Level.ERROR)
def tag_of_another_machine(shipped: Shipped) -> Iterator[Problem]:
    """The platform tag of a package promises another machine than its libraries are for."""
    platforms = shipped.package.platforms
    promised = {machine for platform in platforms if (machine := _machine_of_tag(platform))}
    anywhere = bool(set(platforms) & set(_ANY_PLATFORM))
    if not promised and not anywhere:
        return
    hosts = [host for host in shipped.hosts if host.linked and host.format in ("ELF", "PE")]
    other = [host for host in hosts if (host.format, host.machine) not in promised]
    if not other:
        return
    kinds = Counter((host.format, host.machine) for host in other)
    kind = kinds.most_common(1)[0][0]
    first = next(host for host in other if (host.format, host.machine) == kind)
    named = _TAGS_BY_MACHINE.get(kind)
    right = named[shipped.package.kind is Kind.CONDA] if named else f"one of {kind[1]}"
    whole = len(other) == len(hosts)
    yield Problem(
        "PKG-06",
        Verdict.FAIL if whole else Verdict.OK,
        f"its tag says {'.'.join(platforms)}, but {_count(other, hosts)} for {kind[1]} ({kind[0]})",
        f"tag it {right}" if whole else "leave out what does not run there, if nothing reads it",
        str(first.place),
    )


def _count(other: list[Host], hosts: list[Host]) -> str:
    many = "library or program is" if len(hosts) == 1 else "libraries and programs are"
    return f"{len(other)} of {len(hosts)} {many}"


def _machine_of_tag(platform: str) -> tuple[str, str] | None:
    for ending, machine in _MACHINE_BY_TAG.items():
        if platform.endswith(ending):
            return machine
    return None


# Folders of the wheels of 12.x, relative to site-packages; those of 13.x share one.
_FOLDERS_OF_12 = {"nvjitlink": "nvidia/nvjitlink/lib", "nvrtc": "nvidia/cuda_nvrtc/lib"}
_FOLDER_OF_13 = "nvidia/cu13/lib"
# Of conda's two, one has links to the other (conda-forge, recipe of libnvjitlink).
_FOLDER_OF_CONDA = "lib"
_TARGETS_OF_CONDA = re.compile(r"targets/[^/]+/lib")
_PATHFINDER_PACKAGE = "cuda-pathfinder"
_ORIGIN = ("$ORIGIN", "${ORIGIN}")


@FAMILY.of_package("PKG-07", Level.WARNING)
def runpath_misses_dependency(shipped: Shipped) -> Iterator[Problem]:
    """A library doesn't look where the dependency that brings nvJitLink or NVRTC puts it."""
    for part, library in LIBRARIES.items():
        need = need_of(part, shipped)
        ways = () if need is None else ways_of(need, shipped)
        if need is None or need.strength is not Strength.LOADED or not ways:
            continue
        always = any(extra is None for _, extra in ways)
        verdict = Verdict.UNKNOWN if always and not _has_pathfinder(shipped) else Verdict.OK
        for host in shipped.hosts:
            files = [o.file for o in host.libraries if o.name == library and o.how == "needed"]
            folder = _brought_to(part, shipped.package, files[0]) if files and files[0] else None
            if host.format != "ELF" or folder is None:
                continue
            here = posixpath.dirname(_installed_at(host, shipped.package))
            if not _is_reached(folder, [_resolved_runpath(text, here) for text in host.runpath]):
                yield _runpath_problem(host, files[0] or "", folder, here, verdict)
                break


def _has_pathfinder(shipped: Shipped) -> bool:
    """Whether it depends on NVIDIA's loader of libraries."""
    return any(require.name == _PATHFINDER_PACKAGE for require in shipped.package.requires)


def _runpath_problem(host: Host, file: str, folder: str, here: str, verdict: Verdict) -> Problem:
    shown = ":".join(host.runpath) or "no RUNPATH"
    name = posixpath.basename(_path_in_package(host))
    wanted = posixpath.join("$ORIGIN", posixpath.relpath(folder, here or "."))
    return Problem(
        "PKG-07",
        verdict,
        f"{name} needs {file}, which the dependency puts into {folder}, but its RUNPATH does not "
        "lead there: unless something loads it first, it is found by chance",
        f"link with -Wl,-rpath,'{wanted}'",
        shown,
    )


def _brought_to(part: str, package: Package, file: str) -> str | None:
    """Where a dependency puts a file."""
    major = major_of(file)
    if package.kind is Kind.CONDA:
        return _FOLDER_OF_CONDA
    return _FOLDERS_OF_12[part] if major == 12 else _FOLDER_OF_13 if major == 13 else None


def _is_reached(folder: str, searched: list[str]) -> bool:
    conda = folder == _FOLDER_OF_CONDA
    return any(text == folder or (conda and _TARGETS_OF_CONDA.fullmatch(text)) for text in searched)


def _path_in_package(host: Host) -> str:
    return host.place.members[-1] if host.place.members else host.place.path


def _installed_at(host: Host, package: Package) -> str:
    """Where a library is once it is installed: relative to site-packages, or to the prefix."""
    if host.place.members:
        return installed_path(_path_in_package(host))
    site = os.path.dirname(os.path.abspath(package.path))
    return os.path.relpath(os.path.abspath(_path_in_package(host)), site).replace(os.sep, "/")


def _resolved_runpath(entry: str, here: str) -> str:
    for origin in _ORIGIN:
        if entry.startswith(origin):
            rest = entry[len(origin) :].lstrip("/")
            return posixpath.normpath(posixpath.join(here, rest))
    return entry


@FAMILY.of_package("PKG-08", Level.WARNING)
def nvjitlink_shipped_twice(shipped: Shipped) -> Iterator[Problem]:
    """Two packages bring the same libnvJitLink."""
    for package, other in combinations((shipped.package, *shipped.others), 2):
        files, others = _nvjitlink_copies(package), _nvjitlink_copies(other)
        for name in sorted(files.keys() & others.keys()):
            same = files[name] == others[name]
            what = "write over each other's" if same else "both bring"
            yield Problem(
                "PKG-08",
                Verdict.UNKNOWN,
                f"{package} and {other} {what} {name}: which one a process gets depends on what is "
                f"{'installed' if same else 'loaded'} first",
                "let one of them depend on the package that has it, and leave its own copy out",
                f"{files[name]}; {others[name]}",
            )


def _nvjitlink_copies(package: Package) -> dict[str, str]:
    """Its copies of nvJitLink by the names that a loader knows them by."""
    found: dict[str, str] = {}
    for file in package.files:
        name = posixpath.basename(file)
        shared = not name.endswith(".a")
        if shared and library_name(name) == LIBRARIES["nvjitlink"]:
            found.setdefault(name, file)
    return found


_PROMISED_KINDS = ((ImageKind.SASS, "sass"), (ImageKind.PTX, "ptx"))


@FAMILY.of_package("PKG-09", Level.ERROR)
def promise_of_architectures(shipped: Shipped) -> Iterator[Problem]:
    """The architectures that a project promises are not all in its package."""
    promise = shipped.promise
    if promise is None:
        return
    for kind, key in _PROMISED_KINDS:
        promised = promise.sass if kind is ImageKind.SASS else promise.ptx
        there = _architectures(shipped, kind)
        missing = [arch for arch in promised if arch not in there]
        if not missing:
            continue
        title = str(kind).upper()
        has = ", ".join(map(str, sorted(there)))
        yield Problem(
            "PKG-09",
            Verdict.FAIL,
            f"{title} for {', '.join(map(str, missing))} is promised, but {shipped.package} has "
            + (f"{title} only for {has}" if there else f"no {title}"),
            "compile for them, or write "
            f"{key} = {_toml_list([arch for arch in promised if arch in there])}",
            f"{key} in {promise.source}",
        )


def _architectures(shipped: Shipped, kind: ImageKind) -> set[SmArch]:
    return {
        image.arch
        for signature, _ in shipped.signatures
        for image in signature.images
        if image.kind is kind and image.arch is not None
    }


def _toml_list(archs: list[SmArch]) -> str:
    return "[" + ", ".join(f'"{arch}"' for arch in archs) + "]"


@FAMILY.of_package("PKG-10", Level.ERROR)
def promise_of_versions(shipped: Shipped) -> Iterator[Problem]:
    """A package needs a newer driver or nvJitLink than its project promises."""
    if shipped.promise is not None:
        yield from _promised_driver(shipped, shipped.promise)
        yield from _promised_nvjitlink(shipped, shipped.promise)


def _promised_driver(shipped: Shipped, promise: Promise) -> Iterator[Problem]:
    required, least = shipped.required, promise.driver
    if least is None:
        return
    where = f"driver in {promise.source}"
    floor, what = required.driver_sass, "SASS"
    if floor is None:
        floor, what = required.driver_ptx, "PTX"
    if floor is not None and floor > least:
        yield Problem(
            "PKG-10",
            Verdict.FAIL,
            f"it is promised to load from driver {least} on, but its {what} needs {floor}",
            f'write driver = "{floor}"',
            where,
        )
    ptx = required.driver_ptx
    if what == "SASS" and ptx is not None and ptx > least and ptx != floor:
        yield Problem(
            "PKG-10",
            Verdict.OK,
            f"on GPUs that only its PTX serves, it needs driver {ptx} instead of the promised "
            f"{least}",
            "compile SASS for them, or PTX with an older toolkit",
            where,
        )
    elif required.ptx_beyond:
        yield Problem(
            "PKG-10",
            Verdict.UNKNOWN,
            f"it is promised to load from driver {least} on, but some of its PTX is newer than "
            "every driver that is known",
            "compile PTX with an older toolkit",
            where,
        )


def _promised_nvjitlink(shipped: Shipped, promise: Promise) -> Iterator[Problem]:
    least, need = promise.nvjitlink, need_of("nvjitlink", shipped)
    if least is None or need is None or need.possible is None:
        return
    sure = need.sure
    if least >= need.possible and sure is not None and least >= sure:
        return
    fails = least < need.possible
    known = f"{need.possible}" if need.exact else f"{need.possible} or newer"
    yield Problem(
        "PKG-10",
        Verdict.FAIL if fails else Verdict.UNKNOWN,
        f"it is promised to link from nvJitLink {least} on, but {need.why}: {known} is needed"
        + ("" if fails or need.tried else ", which only a trial link tells"),
        f'write nvjitlink = "{sure or need.possible}"',
        f"nvjitlink in {promise.source}",
        need.open_to_trial,
    )


_MOST_PROBLEMS = 10


@FAMILY.of_package("PKG-11", Level.WARNING)
def metadata_unread(shipped: Shipped) -> Iterator[Problem]:
    """Metadata that can't be read leave the package's promises unjudged."""
    for package in (shipped.package, *shipped.others):
        for problem in package.problems[:_MOST_PROBLEMS]:
            yield Problem(
                "PKG-11",
                Verdict.UNKNOWN,
                f"{problem}, so that what it promises is not judged",
                "mend the metadata and build the package again",
                package.path,
            )


@FAMILY.of_package("PKG-12", Level.ERROR)
def given_dependency_refused(shipped: Shipped) -> Iterator[Problem]:
    """A package that is given beside another is not one that its metadata admit."""
    given = {other.name: other for other in shipped.others}
    for package in (shipped.package, *shipped.others):
        for require in package.requires:
            other = given.get(require.name)
            if other is not None and not require.marker and not _admits(require, other):
                yield Problem(
                    "PKG-12",
                    Verdict.FAIL,
                    f"{package} asks for {require.name} {' or '.join(require.versions)}, "
                    f"but {other} is given beside it",
                    "give the one that installers take, or change the line",
                    require.line,
                )


def _admits(dependency: Dependency, other: Package) -> bool:
    """Whether a version is admitted; one that can't be read counts, since it may be."""
    from packaging.specifiers import SpecifierSet
    from packaging.version import InvalidVersion, Version

    try:
        version = Version(other.version)
    except InvalidVersion:
        return True
    return any(
        SpecifierSet(text).contains(version, prereleases=True) for text in dependency.versions
    )
