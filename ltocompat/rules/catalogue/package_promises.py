"""Packages: what projects and metadata promise (PKG-09 to 12, 15, 16, 19, 22 and 23)."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ltocompat.facts import drivers, gpus
from ltocompat.facts.libraries import library_packages
from ltocompat.model.image import ImageKind
from ltocompat.model.requirement import NEXT
from ltocompat.model.target import DriverVersion
from ltocompat.model.verdict import Verdict
from ltocompat.model.words import truncate_list
from ltocompat.packages.resolving import dependencies_always
from ltocompat.packages.values import Kind
from ltocompat.rules import artifact_code
from ltocompat.rules.builtin_rules import PROMISES_NOT_JUDGED
from ltocompat.rules.needed_compilers import needed_compiler
from ltocompat.rules.rule import Problem, rule
from ltocompat.rules.services import as_loaded, capability, is_served, least_cuda, least_driver
from ltocompat.targets.versions.drivers import driver_version_in_name

if TYPE_CHECKING:
    from ltocompat.model.image import HostBinary
    from ltocompat.model.policy import Promise
    from ltocompat.model.requirement import GpuSupport, Required
    from ltocompat.packages.values import (
        Declared,
        Dependency,
        Installed,
        Package,
        Shipped,
        ShippedImage,
    )

_OF_CUDA = ("nvidia-", "cuda-", "cupy", "libnv", "libcu")


@rule("PKG-09")
def promise_of_architectures(shipped: Shipped | ShippedImage) -> Iterator[Problem]:
    """A package doesn't have all architectures that its project promises."""
    promise = shipped.promise
    if promise is None:
        return
    for kind, promised in ((ImageKind.SASS, promise.sass), (ImageKind.PTX, promise.ptx)):
        there = artifact_code.archs(dict(shipped.signatures), kind)
        missing = [arch for arch in promised if arch not in there]
        if not missing:
            continue
        title = str(kind).upper()
        has = ", ".join(map(str, sorted(there)))
        yield Problem(
            Verdict.FAIL,
            f"{title} for {', '.join(map(str, missing))} is promised, but {shipped.package} has "
            + (f"{title} only for {has}" if there else f"no {title}"),
            "compile for these architectures, or write "
            f"{kind} = {json.dumps([str(arch) for arch in promised if arch in there])}",
            f"{kind} in {promise.source}",
            subject=title,
            asked=tuple(map(str, missing)),
        )


@rule("PKG-10")
def promise_of_versions(shipped: Shipped | ShippedImage) -> Iterator[Problem]:
    """A package needs a newer driver or nvJitLink than its project promises."""
    if (promise := shipped.promise) is not None:
        says, where = f"the project promises driver {promise.driver}", f"driver in {promise.source}"
        yield from driver_problems(shipped.required, promise.driver, says, "driver", where)
        yield from _promised_nvjitlink(shipped, promise)


def driver_problems(
    required: Required, least: DriverVersion | None, says: str, key: str, where: str
) -> Iterator[Problem]:
    """Compare the drivers that code needs with the oldest one that a project promises.

    Args:
        required: the needs of the code.
        least: the promised driver; None for no promise.
        says: the promise in words.
        key: its key in the policy.
        where: the place of that key.
    """
    if least is None:
        return
    ptx, floor = required.driver_ptx, required.driver_sass or required.driver_ptx
    what = "SASS" if required.driver_sass else "PTX"
    if floor is not None and floor > least:
        yield Problem(
            Verdict.FAIL,
            f"{says}, but the {what} needs driver {floor}",
            f'build with an older toolkit, or write {key} = "{floor}"',
            where,
            subject="driver",
            asked=(f"driver {floor}",),
        )
    if what == "SASS" and ptx is not None and ptx > least and ptx != floor:
        yield Problem(
            Verdict.OK,
            f"{says}, but GPUs with only PTX need driver {ptx}",
            "compile SASS for these GPUs, or PTX with an older toolkit",
            where,
            subject="driver of PTX",
            asked=(f"driver {ptx}",),
        )
    elif required.ptx_beyond:
        alone = Verdict.FAIL if least.branch <= drivers.driver_branches()[-1] else Verdict.UNKNOWN
        yield Problem(
            Verdict.OK if required.driver_sass else alone,
            f"{says}, but some PTX is newer than every known driver",
            "compile PTX with an older toolkit",
            where,
        )


def _promised_nvjitlink(shipped: Shipped, promise: Promise) -> Iterator[Problem]:
    least, need = promise.nvjitlink, needed_compiler("nvjitlink", shipped)
    if least is None or need is None or need.possible is None:
        return
    sure = need.sure
    if least >= need.possible and sure is not None and least >= sure:
        return
    fails = least < need.possible
    known = f"{need.possible}" if need.exact else f"{need.possible} or newer"
    yield Problem(
        Verdict.FAIL if fails else Verdict.UNKNOWN,
        f"the project promises nvJitLink {least}, but {need.why}: {known} is needed"
        + ("" if fails or need.tried else "; only a trial link can confirm this"),
        f'write nvjitlink = "{sure or need.possible}"',
        f"nvjitlink in {promise.source}",
        need.open_to_trial,
        subject="nvJitLink",
        asked=(f"nvJitLink {sure or need.possible}",),
    )


_MOST_PROBLEMS = 10


@rule("PKG-11")
def metadata_unread(shipped: Shipped | ShippedImage) -> Iterator[Problem]:
    """Unreadable metadata leave the package's promises unchecked."""
    for package in (shipped.package, *shipped.others):
        for problem in package.problems[:_MOST_PROBLEMS]:
            yield not_judged(package, problem)


def not_judged(package: Package, problem: str) -> Problem:
    """Return the finding that a problem leaves the promises of a package unchecked."""
    return Problem(
        Verdict.UNKNOWN,
        f"{problem}, so its promises are not checked",
        evidence=package.path,
        headline=problem,
    ).by(PROMISES_NOT_JUDGED)


@rule("PKG-12")
def given_dependency_refused(shipped: Shipped) -> Iterator[Problem]:
    """A package that is given with another one is not admitted by the other's metadata."""
    given = {other.name: other for other in shipped.others}
    for package in (shipped.package, *shipped.others):
        for require in shipped.budget.timed(package.requires):
            other = given.get(require.name)
            if other is not None and not require.marker and not _admits(require, other):
                yield Problem(
                    Verdict.FAIL,
                    f"{package} requires {require.name} {' or '.join(require.versions)}, "
                    f"but {other} will be installed with it",
                    evidence=require.line,
                )


@rule("PKG-12")
def installed_dependency_refused(shipped: Installed) -> Iterator[Problem]:
    """Packages that a package's metadata requires are missing or have other versions."""
    package, asked = shipped.package, shipped.asked
    there = {other.name: other for other in (*shipped.others, package)}
    always = dependencies_always(package, shipped.budget, asked.get(package.name, ()))
    # Nothing tells whether a user asked for an extra: only what nobody else asks for is told.
    only = library_packages().keys() & there.keys() - asked.keys()
    every = dependencies_always(package, shipped.budget, package.extras)
    of_extras = (require for require in every if require.name in only)
    for require in {(it.name, it.versions): it for it in (*always, *of_extras)}.values():
        other = there.get(require.name)
        if other is not None and _admits(require, other):
            continue
        of_cuda = require.name in library_packages() or require.name.startswith(_OF_CUDA)
        wanted = f"{require.name} {' or '.join(require.versions)}".strip()
        extra = " in an extra" if require.name in only else ""
        yield Problem(
            Verdict.UNDOCUMENTED if of_cuda and not extra else Verdict.OK,
            f"{package} requires {wanted}{extra}, but {other or 'none'} is installed",
            f"install {wanted}, or another {package.name}",
            require.line,
            subject=require.name,
        )


def _admits(dependency: Dependency, other: Package) -> bool:
    """Return whether a version is admitted; one that can't be read counts, since it may be."""
    from packaging.specifiers import SpecifierSet
    from packaging.version import Version

    try:
        version = Version(other.version)
    except ValueError:  # also of more digits than Python makes a number of
        return True
    return any(
        SpecifierSet(text).contains(version, prereleases=True) for text in dependency.versions
    )


@rule("PKG-16")
def admitted_driver_refused(shipped: Shipped | ShippedImage) -> Iterator[Problem]:
    """A package's metadata admits drivers that its code does not load on."""
    package, promise = shipped.package, shipped.promise
    promised = promise is not None and promise.driver is not None  # which PKG-10 holds against it
    if promised or package.on_windows:  # whose drivers have other numbers
        return
    for declared in package.declared:
        branch = None if declared.cuda is None else drivers.cuda_branch(declared.cuda)
        floor = None if branch is None else _floor(shipped.required)
        if branch is None or floor is None or floor <= drivers.first_production(branch):
            continue
        possible = _floor(shipped.required, possible=True)
        certain = possible is not None and possible > drivers.first_production(branch)
        if not certain and not declared.binding:  # it only informs readers
            continue
        bound = Verdict.FAIL if certain else Verdict.UNKNOWN
        verdict = bound if declared.binding else Verdict.UNDOCUMENTED
        cuda = least_cuda(shipped.required, shipped.required.services)
        line = f"{cuda} instead of {declared.cuda}"
        if package.kind is Kind.IMAGE:  # whose line may admit older branches brand by brand
            line = f"NVIDIA_REQUIRE_CUDA=cuda>={cuda} alone"
        instead = "" if cuda is None else f"write {line}, or "
        but = "; on data centre GPUs, its cuda-compat may be enough" if shipped.compat else ""
        yield Problem(
            Verdict.OK if but else verdict,
            f"the metadata allows CUDA {declared.cuda} drivers "
            f"({drivers.first_production(branch)}), but {package.name} "
            f"{'needs' if certain else 'may need'} driver {floor}{but}",
            f"{instead}compile the code with an older toolkit",
            declared.source,
            asked=(f"driver {floor}",),
        )


@rule("PKG-19")
def drivers_of_image(image: ShippedImage) -> Iterator[Problem]:
    """A container image has no condition on drivers, or refuses some that load its code."""
    floor, cuda = _floor(image.required), least_cuda(image.required, image.required.services)
    if floor is None or cuda is None or image.package.problems or image.package.on_windows:
        return
    if not image.package.sees_gpus:
        yield Problem(
            Verdict.OK,
            f"{image.package.name} gets no GPU and no driver from enroot (Slurm's pyxis), nor from "
            "Docker's nvidia runtime without --gpus",
            "write ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility",
            "no NVIDIA_VISIBLE_DEVICES",
            subject="GPUs",
        )
    line = f"NVIDIA_REQUIRE_CUDA=cuda>={cuda}"
    if not image.package.declared:
        yield Problem(
            Verdict.OK,
            f"{image.package.name} starts on any driver, but its code runs with driver "
            f"{floor} and newer",
            remedy=f"write ENV {line}, without NVIDIA_DISABLE_REQUIRE",
            subject="drivers",
        )
    for declared in image.package.declared:
        # In front of older drivers its own cuda-compat would keep CUDA from starting on GeForce.
        if declared.cuda is not None and declared.cuda > cuda and not image.compat:
            yield Problem(
                Verdict.OK,
                f"{image.package.name} refuses drivers before CUDA {declared.cuda}, but its code "
                f"runs with driver {floor} and newer",
                f"write {line}, unless another part of the image needs more",
                declared.source,
                subject="drivers",
            )


_LIBCUDA = re.compile(r"libcuda\.so(?:\.1|\.[0-9]{3}\.[0-9.]+)?", re.ASCII)  # Tegra's is .1.1
# Where loaders look by themselves, too.
_LOCAL = ("/usr/local/lib", "/usr/local/lib64")


@rule("PKG-23")
def driver_in_image(image: ShippedImage) -> Iterator[Problem]:
    """The loader finds a libcuda of the image where it should find the host's.

    The engine reports a libcuda with a driver's version in front of the host's. Installers make
    links of all other names: under these a file is a copy.
    """
    for host in image.hosts:
        if host.place == image.in_front:
            continue
        folder, _, name = host.place.innermost.rpartition("/")
        looks = drivers.is_driver_folder(folder) or folder in (*_LOCAL, *image.searched)
        if not looks or not _LIBCUDA.fullmatch(name):
            continue
        verdict, what, remedy = Verdict.OK, "the libcuda of a driver", ""
        error = "803 on a host with another driver (804 with an older driver and a GeForce)"
        if driver_version_in_name(name) is None:
            verdict, what = Verdict.UNKNOWN, "a copy of a driver's libcuda"
            if not host.needed:
                what, error = "a stub of libcuda where its loader searches", "34"
                remedy = f"remove it from the image, or {folder} from LD_LIBRARY_PATH and "
                remedy += "ld.so.conf.d; only linkers need a stub (-L)"
        message = f"{image.package.name} has {what}. If the loader finds it before the host's "
        message += f"libcuda, every CUDA call fails with error {error}"
        yield Problem(verdict, message, remedy, example=host.place, subject=what)
    for reason in image.skipped:
        folder, _, name = reason.place.innermost.rpartition("/")
        if name == "libcuda.so" and reason.size == 0 and drivers.is_driver_folder(folder):
            yield Problem(
                Verdict.UNKNOWN,
                f"{image.package.name} has an empty libcuda.so, which docker commit left in place "
                "of a mounted file: programs can't load the host's libcuda (file too short)",
                f"remove the empty files with rm {folder}/libcuda.so* {folder}/libnvidia-ml.so*",
                example=reason.place,
                subject="empty libcuda",
            )


def _floor(required: Required, *, possible: bool = False) -> DriverVersion | None:
    # Where modules can be loaded, nobody has to link them: metadata may leave out what that asks.
    served = (service for service in required.services if service.driver)
    return least_driver(required, (as_loaded(each, possible=possible) for each in served))


_MOST_GPUS = 4  # of a list


@rule("PKG-15")
def declared_gpu_not_served(shipped: Shipped) -> Iterator[Problem]:
    """A package's metadata admits GPUs for which it has no code."""
    package = shipped.package
    of_gpus = [declared for declared in package.declared if declared.gpus]
    services = shipped.required.services if of_gpus else ()
    if not any(each.how != "none" for each in services):
        return  # a package without device code for any GPU promises none by itself
    for declared in of_gpus:
        missing = [s for s in services if _is_admitted(s, declared) and not is_served(s)]
        if missing:
            least = missing[0].number in declared.gpus
            listed = truncate_list([f"sm_{service.number}" for service in missing], _MOST_GPUS)
            yield Problem(
                Verdict.FAIL if least else Verdict.UNDOCUMENTED,
                f"the metadata allows {listed}, but {package.name} has no code for "
                f"{'it' if len(missing) == 1 else 'them'} (error 209)",
                "compile for these GPUs, or correct the metadata with the lines of: ltocompat "
                f"require --for {package.kind.metadata}",
                declared.source,
                subject="GPUs",
                asked=tuple(f"sm_{service.number}" for service in missing),
            )
        elif declared.kind:
            yield from _other_kind(shipped, declared)


def _is_admitted(service: GpuSupport, declared: Declared) -> bool:
    """Return whether a package is installed for a GPU; Jetson has packages of its own."""
    if service.number in declared.gpus:
        return True
    later = declared.and_newer and service.number > min(declared.gpus, default=0)
    below = declared.end is None or service.number < declared.end
    return later and below and service.name != NEXT and not gpus.is_tegra(service.number)


_WORDS = {"real": ImageKind.SASS, "virtual": ImageKind.PTX}


def _other_kind(shipped: Shipped, declared: Declared) -> Iterator[Problem]:
    """SASS is promised, and the GPU is served otherwise; or PTX is."""
    kind = _WORDS[declared.kind]
    there = {arch.number for arch in artifact_code.archs(dict(shipped.signatures), kind)}
    missing = [number for number in declared.gpus if number not in there]
    if missing:
        number = missing[0]
        yield Problem(
            Verdict.OK,
            f"the metadata declares {str(kind).upper()} for compute capability "
            f"{capability(number)}, but the code of {shipped.package.name} for this GPU "
            "is of another kind",
            evidence=declared.source,
            subject=str(kind).upper(),
            asked=tuple(f"sm_{number}" for number in missing),
        )


# Platforms with a glibc before 2.34, whose libc has all names of librt (PEP 513, 571, 599, 600).
_BEFORE_2_34 = re.compile(r"manylinux(?:_2_(?:[0-9]|[12][0-9]|3[0-3])|1|2010|2014)_")
# Libraries of the system that don't need librt, as programs of Python have them.
_BASE = re.compile(
    r"(?:lib(?:c|m)\.so\.6|lib(?:dl|stdc\+\+|gcc_s|pthread|util|z)\.so\.\d|ld-linux-\S+\.so\.\d)"
)


@rule("PKG-22")
def librt_not_needed(shipped: Shipped) -> Iterator[Problem]:
    """A library imports names of glibc's librt without needing librt."""
    old = [platform for platform in shipped.package.platforms if _BEFORE_2_34.match(platform)]
    for host in shipped.budget.timed(shipped.hosts if old else (), slow=True):
        if host.unversioned and host.linked and _is_without_librt(host, shipped):
            name = posixpath.basename(host.place.innermost)
            yield Problem(
                Verdict.FAIL,
                f"{name} calls {truncate_list(host.unversioned, 2)} of librt.so.1, but nothing "
                f"loads librt for {name}: {old[0]} allows a glibc before 2.34, and with such a "
                f"glibc, {name} fails to load",
                f"link it with -lrt, or run patchelf --add-needed librt.so.1 {name}",
                str(host.place),
                subject=f"librt of {name}",
            )


def _is_without_librt(host: HostBinary, shipped: Shipped) -> bool:
    """Return whether all that it needs is known, through the package, and none of it has librt."""
    inside = {posixpath.basename(each.place.innermost): each for each in shipped.hosts}
    waiting, seen = [host], set[str]()
    while waiting:
        for file in waiting.pop().needed:
            if file not in seen and not _BASE.fullmatch(file):
                if file not in inside:
                    return False
                waiting.append(inside[file])
            seen.add(file)
    return True
