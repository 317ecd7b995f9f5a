"""Packages: names, tags and RUNPATHs compared with the contents (PKG-05 to 08, 13, 14)."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import combinations

from msgspec.structs import replace

from ltocompat.facts import drivers, gpus
from ltocompat.model.cuda_tag import major_of_tag
from ltocompat.model.image import HostBinary, Producer
from ltocompat.model.library_name import PATHFINDER, library_major, library_name
from ltocompat.model.mend import Mend
from ltocompat.model.target import DriverVersion
from ltocompat.model.verdict import Verdict
from ltocompat.model.words import truncate_list
from ltocompat.packages.resolving import ways_to
from ltocompat.packages.values import Kind, Package, Shipped, installed_path
from ltocompat.packages.wheel_name import single_tags
from ltocompat.rules import floors
from ltocompat.rules.linker_imports import files_of, short
from ltocompat.rules.needed_compilers import LIBRARIES, Strength, needed_compiler, ways_of
from ltocompat.rules.needed_libraries import NeededLibrary, folders, needed_libraries
from ltocompat.rules.rule import OF_DRIVERS, Problem, rule
from ltocompat.targets.versions.packages import suffix_major

# cupy-cuda13x, jax-cuda12-plugin, libcuvs-cu13; torch 2.9.1+cu130.
_MAJOR_IN_NAME = re.compile(r"(?:^|-)(?:cu|cuda)-?([0-9]{2,3})x?(?:-|$)")
_MAJOR_IN_VERSION = re.compile(r"\+(?:cu|cuda)\.?([0-9]{2,3})(?:\.|$)")
# Libraries whose file names carry the major of CUDA, rather than one of their own.
_NAMED_BY_CUDA = ("libcudart", "libnvrtc", "libnvJitLink")


@rule("PKG-05")
def name_of_another_major(shipped: Shipped) -> Iterator[Problem]:
    """-cu12 or -cu13 in a package's name contradicts the libraries or the compilers inside."""
    major, text = _major_in_name(shipped.package)
    if major is None:
        return
    for how, verdict in (("needed", Verdict.FAIL), ("opened", Verdict.UNKNOWN)):
        for name in _NAMED_BY_CUDA:
            found = {
                file: host
                for host in shipped.hosts
                if host.linked
                for file in files_of(host, name, how)
                # What the loader brings is there first: a name to open is then a last resort.
                if how == "needed"
                or major not in map(library_major, files_of(host, name, "needed"))
            }
            majors = {library_major(file) for file in found} - {None}
            # Programs open several majors, one after the other, until one is there.
            if majors and major not in majors:
                file, host = next((f, h) for f, h in found.items() if library_major(f) in majors)
                does = "needs" if how == "needed" else "opens"
                yield Problem(
                    verdict,
                    f"{shipped.package.name} is called {text}, but "
                    f"{short(host.place.innermost)} {does} {file}",
                    f"call it {_renamed(shipped.package, library_major(file))}, or build it with "
                    f"CUDA {major}",
                    str(host.place),
                    subject=name,
                    asked=tuple(f"{name} {each}" for each in sorted(filter(None, majors))),
                )
                break
    yield from _newer_makers(shipped, major, text)


def _newer_makers(shipped: Shipped, major: int, text: str) -> Iterator[Problem]:
    newer: Counter[Producer] = Counter()
    total = sum(count for _, count in shipped.signatures)
    for signature, count in shipped.signatures:
        makers = (maker for image in signature.images for maker in image.made_by)
        late = [maker for maker in makers if maker.releases and maker.releases[0].major > major]
        if late:
            newer[late[0]] += count
    if not newer:
        return
    newest = max(maker.releases[0].major for maker in newer)
    yield Problem(
        Verdict.UNKNOWN,
        f"{shipped.package.name} is called {text}, but {sum(newer.values())} of {total} modules "
        f"were made by newer tools, such as {newer.most_common(1)[0][0]}",
        remedy=f"build them with CUDA {major}, or call it {_renamed(shipped.package, newest)}",
        module_count=sum(newer.values()),
        subject="makers",
    )


def _major_in_name(package: Package) -> tuple[int | None, str]:
    """The major in its name or version, and the letters that say so."""
    match = _MAJOR_IN_NAME.search(package.name) or _MAJOR_IN_VERSION.search(package.version)
    return (major_of_tag(match[1]), match[0].strip("-+.")) if match else (None, "")


def _renamed(package: Package, major: int | None) -> str:
    match = _MAJOR_IN_NAME.search(package.name)
    if match is None or major is None:
        return f"one of CUDA {major}"
    return f"{package.name[: match.start(1)]}{major}{package.name[match.end(1) :]}"


_TAGS_BY_MACHINE = {
    ("ELF", "x86-64"): ("linux_x86_64", "linux-64"),
    ("ELF", "AArch64"): ("linux_aarch64", "linux-aarch64"),
    ("PE", "x86-64"): ("win_amd64", "win-64"),
    ("PE", "AArch64"): ("win_arm64", "win-arm64"),
}
ANY_PLATFORM = ("any", "noarch")


@rule("PKG-06")
def tag_of_another_machine(shipped: Shipped) -> Iterator[Problem]:
    """A package's tags promise another machine than its libraries are for, or disagree."""
    yield from _tags_disagree(shipped.package)
    platforms = shipped.package.platforms
    promised = {machine for platform in platforms if (machine := _machine_of_tag(platform))}
    anywhere = bool(set(platforms) & set(ANY_PLATFORM))
    if not promised and not anywhere:
        return
    hosts = [host for host in shipped.hosts if host.linked and host.format in ("ELF", "PE")]
    other = [host for host in hosts if (host.format, host.machine) not in promised]
    if not other:
        return
    kinds = Counter((host.format, host.machine) for host in other)
    kind = kinds.most_common(1)[0][0]
    first = next(host for host in other if (host.format, host.machine) == kind)
    right = _right_platform(kind, shipped.package)
    found = ", ".join(f"{machine} ({form})" for form, machine in sorted(kinds))
    whole, alone = len(other) == len(hosts), len(kinds) == 1
    # With files for several machines of one system its own code chooses, as pip does of launchers.
    chooses = anywhere and len({form for form, _ in kinds}) < len(kinds)
    tagged = f"tag it {right or f'one of {kind[1]}'}"
    cure = tagged if alone else "build a package for each machine"
    tags = [f"{tag.rpartition('-')[0]}-{right}" for tag in shipped.package.tags if right]
    # Installers went by the name of the wheel, which may have been right (PEP 427).
    wrong = Verdict.UNDOCUMENTED if shipped.package.kind is Kind.INSTALLED else Verdict.FAIL
    many = "library or program is" if len(hosts) == 1 else "libraries and programs are"
    yield Problem(
        wrong if whole and not chooses else Verdict.OK,
        f"its tag says {'.'.join(platforms)}, but {len(other)} of {len(hosts)} {many} for {found}",
        cure if whole else "leave out the files for other machines, unless the package needs them",
        str(first.place),
        subject="platform tag",
        asked=tuple(f"{machine} ({form})" for form, machine in sorted(kinds)),
        mend=Mend(tag=tags[0]) if whole and alone and len(tags) == 1 else None,
    )


def _right_platform(kind: tuple[str, str], package: Package) -> str:
    """The platform of a machine; where the system stays, with its promise on the C library."""
    plain, conda = _TAGS_BY_MACHINE.get(kind, ("", ""))
    systems = map(_OF_SYSTEM.match, package.platforms if kind[0] == "ELF" else ())
    same = [f"{system[0]}{plain.partition('_')[2]}" for system in systems if system]
    return conda if package.kind is Kind.CONDA else ".".join(same) or plain


_OF_SYSTEM = re.compile(r"(?:many|musl)?linux[0-9_]*_(?=[a-z])", re.IGNORECASE)


def _tags_disagree(package: Package) -> Iterator[Problem]:
    """Tell tags of WHEEL that are none, or name other Pythons, ABIs or machines than the file."""
    inside = package.tags_inside
    if inside is None:
        return
    broken = [tag for tag in inside if tag.count("-") != 2 or not all(tag.split("-"))]
    if broken or not inside:
        text = f"WHEEL has the tag {broken[0]!r:.60}" if broken else "WHEEL has no tag"
    elif (names := _single_tags(package.tags)) != (found := _single_tags(inside)):
        others = sorted(found ^ names)
        text = f"WHEEL and the file name differ in {truncate_list(list(map('-'.join, others)), 2)}"
    else:
        return
    yield Problem(
        Verdict.UNDOCUMENTED,
        f"{text}: installers use the file name, and pip check uses WHEEL",
        subject="tags in WHEEL",
        mend=Mend(tag=package.tags[0]) if len(package.tags) == 1 else None,
    )


def _single_tags(tags: Iterable[str]) -> set[tuple[str, ...]]:
    """Python, ABI and machine of each tag; which C library a system has is no difference."""
    singles = (single.split("-") for tag in tags for single in single_tags(tag.lower()))
    return {(*tag[:-1], _OF_SYSTEM.sub("linux_", tag[-1])) for tag in singles}


def _machine_of_tag(platform: str) -> tuple[str, str] | None:
    for machine, (plain, conda) in _TAGS_BY_MACHINE.items():
        if platform.endswith((plain.removeprefix("linux_"), conda)):
            return machine
    return None


# Of conda's two, one has links to the other (conda-forge, recipe of libnvjitlink).
_FOLDERS_OF_CONDA = re.compile(r"(?:targets/[^/]+/)?lib")
_ORIGIN = re.compile(r"\$(?:ORIGIN|\{ORIGIN\})/*")


@rule("PKG-07")
def runpath_misses_dependency(shipped: Shipped) -> Iterator[Problem]:
    """A library doesn't search the folder into which a dependency installs a CUDA library."""
    if shipped.package.kind is Kind.CONDA:
        yield from _runpath_misses_conda(shipped)
    if shipped.package.kind in (Kind.CONDA, Kind.DEBIAN, Kind.RPM):  # whose folders ld.so.cache has
        return
    # NVIDIA's loader of libraries, or a module of its own.
    pathfinder = any(require.name == PATHFINDER for require in shipped.package.requires)
    loader = pathfinder or shipped.loads
    found: dict[str, list[tuple[HostBinary, NeededLibrary]]] = {}
    for library in needed_libraries(shipped, compilers=True):
        wanted = folders(library, shipped.budget)
        for host in shipped.budget.timed(library.hosts if wanted else (), slow=True):
            searched = _searched(host, shipped.package)
            if host.format == "ELF" and not searched & wanted:
                if _neighbour_brings(host, library, searched, shipped):
                    continue
                folder = min(wanted, key=lambda path: (not path.startswith("nvidia/"), path))
                found.setdefault(folder, []).append((host, library))
    for folder, lacking in found.items():  # one RUNPATH leads to all that is there
        host, library = lacking[0]
        verdict = Verdict.OK if loader or not library.always else Verdict.UNKNOWN
        problem = _runpath_problem(host, library.file, folder, shipped.package, verdict)
        ways = {
            (each.place.innermost, way)
            for each, _ in lacking
            if (way := _way_to(folder, _folder_of(each, shipped.package)))
        }
        yield replace(problem, mend=Mend(looked_into=tuple(sorted(ways))))
    # The loader asks RPATHs (not RUNPATHs) of what loads NVRTC, too, and torch has those.
    first = loader or any(other.name == "torch" for other in shipped.others)
    yield from _builtins_unfound(shipped, Verdict.OK if first else Verdict.UNKNOWN)


def _builtins_unfound(shipped: Shipped, verdict: Verdict) -> Iterator[Problem]:
    """NVRTC opens a library by its name, for which the loader asks NVRTC's own RUNPATH."""
    paths = [_installed_at(host, shipped.package) for host in shipped.hosts]
    builtins = {posixpath.dirname(path): path for path in paths if "/libnvrtc-builtins.so" in path}
    for host, path in zip(shipped.hosts, paths, strict=True):
        here, name = posixpath.split(path)
        searched = _searched(host, shipped.package)
        if name.startswith("libnvrtc.so") and here in builtins and here not in searched:
            opened = posixpath.basename(builtins[here])
            problem = _runpath_problem(host, opened, here, shipped.package, verdict)
            yield replace(problem, mend=Mend(looked_into=((host.place.innermost, "$ORIGIN"),)))


def _neighbour_brings(
    host: HostBinary, library: NeededLibrary, searched: set[str], shipped: Shipped
) -> bool:
    """Return whether a library of the package is loaded before this one, and brings the wanted one.

    A plugin without a RUNPATH to the library that it extends is loaded after it. Where it finds
    that library itself, the loader asks the plugin's RUNPATH for all that the plugin needs first.
    """
    for other in shipped.budget.timed(library.hosts, slow=True):
        path = _installed_at(other, shipped.package)
        here = posixpath.dirname(path)
        names = {posixpath.basename(path), other.soname}
        leads = _searched(other, shipped.package) & folders(library, shipped.budget)
        if leads and names & set(host.needed) and here not in searched:
            return True
    return False


def _runpath_misses_conda(shipped: Shipped) -> Iterator[Problem]:
    for part, library in LIBRARIES.items():
        need = needed_compiler(part, shipped)
        if need is None or need.strength is not Strength.LOADED or not ways_of(part, shipped):
            continue
        for host in shipped.hosts:
            files = files_of(host, library, "needed")
            if host.format != "ELF" or not files:
                continue
            if not any(map(_FOLDERS_OF_CONDA.fullmatch, _searched(host, shipped.package))):
                yield _runpath_problem(host, files[0], "lib", shipped.package, Verdict.UNKNOWN)
                break


def _runpath_problem(
    host: HostBinary, file: str, folder: str, package: Package, verdict: Verdict
) -> Problem:
    way = _way_to(folder, _folder_of(host, package))
    name = posixpath.basename(host.place.innermost)
    return Problem(
        verdict,
        f"{name} needs {file}, which is installed into {folder}; the RUNPATH of {name} doesn't "
        f"point to this folder, so the loader finds {file} only by another search path",
        f"link with a RUNPATH that points to {folder} in site-packages"
        if way is None
        else f"link with -Wl,-rpath,'{way}'",
        ":".join(host.runpath) or "no RUNPATH",
        headline=f"{name} needs {file}, and its RUNPATH does not point to {folder}",
    )


def _way_to(folder: str, here: str) -> str | None:
    """The element of RUNPATH for a folder; None if the way depends on the installation."""
    if here.startswith(("/", "..")) or ".data/" in f"{here}/":  # a program in bin
        return None
    way = posixpath.relpath(folder, here or ".")
    return "$ORIGIN" if way == "." else f"$ORIGIN/{way}"


def _installed_at(host: HostBinary, package: Package) -> str:
    """The path of a library once it is installed: relative to site-packages, or to the prefix."""
    path = host.place.innermost
    return installed_path(path) if host.place.members else package.listed(path)


def _folder_of(host: HostBinary, package: Package) -> str:
    return posixpath.dirname(_installed_at(host, package))


def _searched(host: HostBinary, package: Package) -> set[str]:
    """The folders of a library's RUNPATH, as those of ``_installed_at``."""
    here = _folder_of(host, package)
    return {
        posixpath.normpath(posixpath.join(here, text[origin.end() :])) if origin else text
        for text, origin in ((text, _ORIGIN.match(text)) for text in host.runpath)
    }


# What stands in front of these is a folder of the system, or of a toolkit that is installed there.
_OF_SYSTEMS = re.compile(r"/(?:(?:usr|lib|lib64|etc)(?:/|$)|opt/(?!conda|python|_internal|rh/))")
# conda writes the prefix into these when it installs, and only then.
_PLACEHOLDER_OF_CONDA = re.compile(r"placehold", re.IGNORECASE)
_TOKENS = ("$ORIGIN", "${ORIGIN}", "$LIB", "${LIB}", "$PLATFORM", "${PLATFORM}")
_ANYBODYS = re.compile(r"/(?:tmp|var/tmp|dev/shm)(?:/|$)")


@rule("PKG-14")
def runpath_of_build_machine(shipped: Shipped) -> Iterator[Problem]:
    """RUNPATH names the current folder, or one of the machine that built the package."""
    for kind, (wrong, verdict) in _WRONG_FOLDERS.items():
        found = [
            (host, folder)
            for host in shipped.budget.timed(shipped.hosts, slow=True)
            if host.linked
            for folder in host.runpath
            if _kind_of_folder(folder, shipped.package) == kind
        ]
        if not found:
            continue
        host, folder = found[0]
        count = len({host.place for host, _ in found})
        more = f" (and {count - 1} more)" if count > 1 else ""
        name = posixpath.basename(host.place.innermost)
        kept = [text for text in host.runpath if not _kind_of_folder(text, shipped.package)]
        fix = f"--set-rpath {shlex.quote(':'.join(kept))}" if kept else "--remove-rpath"
        yield Problem(
            verdict,
            f"RUNPATH of {name}{more} has {wrong.format(folder=folder)}",
            f"link without this folder, or run patchelf {fix} {shlex.quote(name)}",
            ":".join(host.runpath),
            subject=f"RUNPATH: {kind}",
            asked=tuple(dict.fromkeys(h.place.innermost for h, _ in found)),
            mend=Mend(not_looked_into=tuple((h.place.innermost, text) for h, text in found)),
        )


_WRONG_FOLDERS = {
    "current": (
        "{folder!r}, so the loader searches the current folder of each program",
        Verdict.UNDOCUMENTED,
    ),
    "anybody": (
        "{folder}, where anybody may put libraries that the loader then finds",
        Verdict.UNDOCUMENTED,
    ),
    "build": ("{folder}, a folder of the build machine", Verdict.OK),
}


def _kind_of_folder(folder: str, package: Package) -> str | None:
    """The fault of an element of RUNPATH: a key of ``_WRONG_FOLDERS``, or None."""
    if folder.startswith(_TOKENS) or _OF_SYSTEMS.match(folder):
        return None
    if package.kind is Kind.CONDA and _PLACEHOLDER_OF_CONDA.search(folder):
        return None
    if not folder.startswith("/"):
        return "current"
    return "anybody" if _ANYBODYS.match(folder) else "build"


@rule("PKG-08")
def nvjitlink_shipped_twice(shipped: Shipped) -> Iterator[Problem]:
    """Two packages install the same libnvJitLink."""
    for package, other in combinations((shipped.package, *shipped.others), 2):
        files, others = _nvjitlink_copies(package), _nvjitlink_copies(other)
        for name in sorted(files.keys() & others.keys()):
            same = files[name] == others[name]
            what = "overwrite each other's" if same else "both contain"
            yield Problem(
                Verdict.UNKNOWN,
                f"{package} and {other} {what} {name}: a process gets the copy that is "
                f"{'installed last' if same else 'loaded first'}",
                evidence=f"{files[name]}; {others[name]}",
            )


_LOADED = re.compile(r"\.(?:so(?:\.[0-9]+)*|pyd|dll|cubin|fatbin|ptx|ltoir)$")


@rule("PKG-17")
def library_written_twice(shipped: Shipped) -> Iterator[Problem]:
    """Two packages that are installed together put a library at one path."""
    for package, other in combinations((shipped.package, *shipped.others), 2):
        if package.name == other.name:
            continue
        there = frozenset(other.files)
        # PKG-08 speaks of nvJitLink.
        same = [
            file
            for file in shipped.budget.timed(package.files)
            if file in there
            and _LOADED.search(file)
            and library_name(posixpath.basename(file)) != LIBRARIES["nvjitlink"]
        ]
        if same:
            yield Problem(
                Verdict.UNKNOWN,
                f"{package} and {other} both install {truncate_list(same, 2)}: the package "
                "that is installed last overwrites the other",
                evidence=same[0],
                subject=f"files of {other.name}",
            )


_BUILTINS = "libnvrtc-builtins"

# auditwheel and delvewheel put digits of a hash into the names of what they copy.
_OF_DRIVER = re.compile(
    r"libcuda(?:-[0-9a-f]{8,})?\.so(?:\.[0-9.]+)?|nvcuda(?:-[0-9a-f]{8,})?\.dll"
)


@rule("PKG-20")
def library_of_driver_inside(shipped: Shipped) -> Iterator[Problem]:
    """A wheel contains the driver's own library, which has to be the machine's."""
    files = shipped.package.files if shipped.package.kind is Kind.WHEEL else ()
    for file in shipped.budget.timed(files):
        folder, name = posixpath.split(file)
        if not _OF_DRIVER.fullmatch(name.lower()) or posixpath.basename(folder) == "stubs":
            continue
        users = [short(host.place.innermost) for host in shipped.hosts if name in host.needed]
        needed = f", and {users[0]} needs that copy" if users else ""
        yield Problem(
            Verdict.OK if not users else Verdict.FAIL if "-" in name else Verdict.UNKNOWN,
            f"{file} is a copy of the build machine's driver library{needed}: the copy works only "
            "with a kernel driver of its own version",
            evidence=file,
            subject="library of the driver",
        )


@rule("ENV-07")
def nvrtc_without_its_builtins(shipped: Shipped) -> Iterator[Problem]:
    """A package brings an NVRTC with the builtins of another one, or with renamed ones."""
    every = (file for package in (shipped.package, *shipped.others) for file in package.files)
    beside = sorted(posixpath.basename(file) for file in every if "nvrtc-builtins" in file)
    # NVRTC also takes builtins of its own minor that are loaded with it, whatever their file is
    # called (measured: cumm-cu126 0.8.2). A link may be left out of what a package lists.
    needed = (file for host in shipped.hosts for file in host.needed if file in beside)
    there = "\n".join((*beside, *(re.sub("-[0-9a-f]{8,}", "", file) for file in needed)))
    for host in shipped.hosts if beside else ():
        name = posixpath.basename(host.place.innermost)
        lacking = [file for file in files_of(host, _BUILTINS, "opened") if file not in there]
        if lacking and library_name(name) == LIBRARIES["nvrtc"]:
            yield Problem(
                Verdict.FAIL,
                f"{name} opens {lacking[0]}, but the package has {beside[0]}: NVRTC compiles "
                "nothing",
                "copy both files from one release, and keep their names (auditwheel --exclude)",
                host.place.innermost,
                subject=name,
            )


def _nvjitlink_copies(package: Package) -> dict[str, str]:
    """Its copies of nvJitLink by the names that a loader knows them by."""
    found: dict[str, str] = {}
    for file in package.files:
        name = posixpath.basename(file)
        if not name.endswith(".a") and library_name(name) == LIBRARIES["nvjitlink"]:
            found.setdefault(name, file)
    return found


@rule("PKG-13")
def newer_driver_than_major(shipped: Shipped) -> Iterator[Problem]:
    """The SASS of a package needs a newer driver than its CUDA major."""
    package, promise = shipped.package, shipped.promise
    major, text = _declared_major(shipped)
    least = None if major is None else floors.major(major)
    if least is None or any(name_of_another_major.function(shipped)):
        return
    promised = promise is not None and promise.driver is not None  # which PKG-10 holds against it
    declared = any(each.binding and each.cuda for each in package.declared)  # which PKG-16 does
    if promised or declared or package.on_windows:  # whose drivers have other numbers
        return
    for (driver, rules), archs in _driver_floors(shipped, least).items():
        yield Problem(
            Verdict.UNDOCUMENTED,
            f"{package.name} needs driver {driver} on {', '.join(archs)} ({', '.join(rules)}), but "
            f"the package is for CUDA {major} ({text}), and CUDA {major} drivers begin at {least}",
            remedy=f'promise this driver: driver = "{driver}" under [tool.ltocompat.promise]. Or '
            f"build for older drivers; to see how: ltocompat explain {rules[0]}",
            subject="SASS",
            asked=tuple(f"{arch} driver {driver}" for arch in archs),
        )


def _declared_major(shipped: Shipped) -> tuple[int | None, str]:
    """The one major of CUDA that a package is for, and what says so; None if none is."""
    package = shipped.package
    major, text = _major_in_name(package)
    if major is not None:
        return major, text
    lines: dict[int, str] = {}
    for part in LIBRARIES:
        for way in ways_to(part, shipped.package, shipped.others, shipped.budget):
            if way.extra is None:
                lines |= {release.major: way.line for release in way.allowed.releases}
    for require in package.requires:
        of_suffix = suffix_major(require.name)
        if of_suffix is not None and not require.marker:
            lines[of_suffix] = require.line
    if not lines:
        lines = {each.major: each.source for each in package.declared if each.major is not None}
    return next(iter(lines.items())) if len(lines) == 1 else (None, "")


def _driver_floors(
    shipped: Shipped, least: DriverVersion
) -> dict[tuple[DriverVersion, tuple[str, ...]], list[str]]:
    """GPUs whose SASS needs newer drivers than ``least``, by driver and the rules that say so.

    GPUs that are newer than that driver themselves are left out, and those of Jetson, whose
    drivers are others. That PTX needs the driver of its own toolkit is what CUDA documents, and
    PTX as text may need it, which leaves older drivers possible.
    """
    rules = {asked.rule for asked in shipped.required.asked if asked.component in OF_DRIVERS}
    found: dict[tuple[DriverVersion, tuple[str, ...]], list[str]] = {}
    for service in shipped.required.services:
        gpu = gpus.sm(service.number)
        known = [route for route in service.routes if route.driver]
        if service.how != "sass" or not known or gpu is None or gpu.tegra:
            continue
        driver, possible = known[0].driver, known[0].possible_driver
        first = drivers.first_production(gpu.first_branch) if gpu.first_branch else least
        if driver and possible and possible > max(least, first):
            set_by = tuple(rule for rule in known[0].set_by if rule in rules)
            found.setdefault((driver, set_by), []).append(f"sm_{service.number}")
    return found
