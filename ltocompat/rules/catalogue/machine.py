"""Machines: what is installed, and whether it fits together (ENV)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import product

from ltocompat.facts import horizon, rows
from ltocompat.facts.coherence import PartPair
from ltocompat.facts.drivers import branch_end, branch_of, driver_branches
from ltocompat.facts.toolkits import cuda_ptx, ptx_cuda
from ltocompat.model.arch import Release
from ltocompat.model.environment import Environment, InstalledPackage
from ltocompat.model.errors import UsageError
from ltocompat.model.library_name import PATHFINDER
from ltocompat.model.requirement import LAST_WITH_SUFFIX
from ltocompat.model.verdict import Verdict
from ltocompat.rules import driver_release, makers, picked
from ltocompat.rules.picked import Found
from ltocompat.rules.rule import Problem, rule
from ltocompat.targets.versions.container import ContainerHost

_REQUIRE_VARIABLE = re.compile(r"NVIDIA_REQUIRE_\w+")
# NVML names brands of older GPUs only; of the others their names tell that they are no GeForce.
_BRAND = re.compile(r"(?:NVIDIA )?(Tesla|Quadro|GeForce|TITAN|GRID|NVS)\b", re.IGNORECASE)


@rule("ENV-01")
def container_requires(environment: Environment) -> Iterator[Problem]:
    """NVIDIA_REQUIRE_CUDA of an image names the drivers that it accepts."""
    from ltocompat.targets.versions.container import DISABLE, TRUE, satisfied

    host = _container_host(environment)
    for name, text in environment.variables:
        if not _REQUIRE_VARIABLE.fullmatch(name) or not text.strip():
            continue
        try:
            met = satisfied(text, host)
        except ValueError as error:
            yield _unmet(name, text, Verdict.UNKNOWN, f"can't be read at {str(error)!r}")
            continue
        if met is None:
            yield _unmet(name, text, Verdict.OK, "depends on the host's driver and GPUs")
        elif not met:
            verdict, end = Verdict.FAIL, ": the container doesn't start"
            if environment.variable(DISABLE) in TRUE:
                verdict, end = Verdict.UNKNOWN, f", but {DISABLE} turns the check off"
            yield _unmet(name, text, verdict, f"is not met{_by_host(host)}{end}")


def _unmet(name: str, text: str, verdict: Verdict, what: str) -> Problem:
    first = text.split(maxsplit=1)[0]
    more = "" if first == text.strip() else " or one of its alternatives"
    return Problem(
        verdict,
        f"the image requires {first}{more} ({name}), which {what}",
        evidence=f"environment variable {name}={text}",
    )


def _by_host(host: ContainerHost) -> str:
    known = [f"driver {host.driver}"] if host.driver else []
    known += [f"CUDA {host.cuda}"] if host.cuda else []
    return f" by {' of '.join(known)}" if known else ""


def _container_host(environment: Environment) -> ContainerHost:
    """The values that the container toolkit compares: the host's own driver, not cuda-compat."""
    from ltocompat.targets.versions.container import ContainerHost

    driver = environment.kernel_driver
    cuda = driver_release.of_kernel(environment)
    archs = {f"{gpu.arch.major}.{gpu.arch.minor}" for gpu in environment.gpus if gpu.arch}
    brands = [_BRAND.match(gpu.name) for gpu in environment.gpus]
    known = bool(brands) and all(brands)
    return ContainerHost(
        str(cuda) if cuda else None,
        str(driver.version) if driver else None,
        tuple(sorted(archs)),
        tuple(sorted({match[1].lower() for match in brands if match})) if known else (),
    )


@rule("ENV-02")
def driver_of_two_releases(environment: Environment) -> Iterator[Problem]:
    """nvidia-smi names the CUDA release of libcuda, not of the kernel driver."""
    kernel, user = environment.kernel_driver, environment.user_driver
    beneath = driver_release.of_kernel(environment)
    # The driver of WSL2 is that of Windows, whose branches the table doesn't name.
    if kernel is None or user is None or user.stub or environment.wsl2 or environment.jetson:
        return
    if beneath is None or user.cuda is None or beneath == user.cuda:
        return
    yield Problem(
        Verdict.OK,
        f"the kernel driver {kernel.version} is from CUDA {beneath}, but libcuda is from "
        f"{user.cuda} ({user.cuda_source}): nvidia-smi shows both in one line",
        evidence=f"{kernel.source}; {user.path}",
    )


# Packages with the toolkit's version; libraries such as cuBLAS have numbers of their own.
_TOOLKIT_PACKAGE = re.compile(
    r"(?:nvidia-)?(?:cuda-(?:nvrtc|nvcc|version|toolkit)|nvjitlink)(?:-cu\d{1,9})?"
)


@rule("ENV-03")
def toolkits_in_conflict(environment: Environment) -> Iterator[Problem]:
    """CUDA_HOME, PATH, conda and wheels each lead to a toolkit."""
    chosen = {
        f"{way} {toolkit.root}": Release.parse(toolkit.version)
        for toolkit in environment.toolkits
        for way in toolkit.reached
        if toolkit.version and way in ("CUDA_HOME", "CUDA_PATH", "PATH")
    }
    brought = {
        **_toolkit_packages("wheel", environment.wheels),
        **_toolkit_packages("conda", environment.conda.packages if environment.conda else ()),
    }
    releases = set(chosen.values())
    others = set(brought.values())
    if not releases or (len(releases) == 1 and (not others or releases <= others)):
        return
    majors = {release.major for release in releases}
    apart = len(majors) > 1 or (bool(others) and not majors <= {other.major for other in others})
    text = ", ".join(f"{name}: {release}" for name, release in {**chosen, **brought}.items())
    yield Problem(
        Verdict.UNKNOWN if apart else Verdict.OK,
        f"several toolkits may be mixed ({text}); the compiler and the libraries may not match",
        evidence="; ".join(chosen),
        headline=f"several toolkits may be mixed ({text})",
    )


def _toolkit_packages(kind: str, packages: tuple[InstalledPackage, ...]) -> dict[str, Release]:
    found = {}
    for package in packages:
        if _TOOLKIT_PACKAGE.fullmatch(package.name):
            with suppress(UsageError):
                found[f"{kind} {package.name}"] = Release.parse(package.version)
    return found


@rule("ENV-04")
def libcuda_is_a_stub(environment: Environment) -> Iterator[Problem]:
    """The libcuda of a toolkit is only for linking, not for running."""
    driver = environment.user_driver
    if driver is not None and driver.stub:
        yield Problem(
            Verdict.FAIL,
            f"the loader finds the stub {driver.path} via {driver.found_by}: every CUDA program "
            "fails with error 34",
            evidence=driver.real,
        )


_COMPILERS = {"nvrtc": "NVRTC", "nvvm": "libNVVM"}


@rule("ENV-05")
def compiler_newer_than_linker(environment: Environment) -> Iterator[Problem]:
    """LTO-IR of this machine's own compiler is too new for its own linker."""
    seen = set()
    for way, (library, name) in product(picked.WAYS, _COMPILERS.items()):
        for compiler, linker in _pairs(environment, library, way):
            pair = (name, compiler.path, linker.path)
            if compiler.release > linker.release and pair not in seen:
                seen.add(pair)
                yield Problem(
                    Verdict.UNKNOWN,
                    f"{name} {compiler.version} is newer than nvJitLink {linker.version} "
                    f"via {linker.by}: nvJitLink refuses the LTO-IR of this {name}",
                    remedy=f"install {makers.nvjitlink_for(compiler.release)}, or the older {name}",
                    evidence=f"{compiler.path}; {linker.path}",
                )


def _pairs(environment: Environment, library: str, way: str) -> Iterator[tuple[Found, Found]]:
    """By cuda-pathfinder the first of each; by soname those of one major."""
    compilers = picked.every(environment, library, way)
    linkers = picked.every(environment, "nvJitLink", way)
    if way == PATHFINDER:
        return zip(compilers[:1], linkers[:1], strict=False)
    pairs = product(compilers, linkers)
    return (pair for pair in pairs if pair[0].release.major == pair[1].release.major)


# libNVVM writes PTX or LTO-IR; NVRTC also SASS, which an older driver of its major runs.
_PTX_ALONE = {"nvvm": Verdict.UNKNOWN, "nvrtc": Verdict.OK}


@rule("ENV-06")
def compiler_newer_than_driver(environment: Environment) -> Iterator[Problem]:
    """PTX of this machine's own compiler is too new for its own driver."""
    driver = driver_release.of_user(environment)
    seen = set()
    for way in picked.WAYS if driver else ():
        for library, verdict in _PTX_ALONE.items():
            name, compiler = _COMPILERS[library], picked.first(environment, library, way)
            if driver is None or compiler is None or compiler.path in seen:
                continue
            isa = cuda_ptx(compiler.release)
            least = ptx_cuda(isa) if isa else None
            if isa is None or least is None or least <= driver:
                continue
            seen.add(compiler.path)
            yield Problem(
                verdict,
                f"{name} {compiler.version} via {compiler.by} writes PTX {isa}, but the "
                f"CUDA {driver} driver reads PTX up to {cuda_ptx(driver) or 'an older one'}: the "
                "driver refuses such PTX with error 222",
                remedy="let NVRTC make SASS (an sm_ architecture), or link the PTX with nvJitLink. "
                f"Or install {name} {driver}, or a CUDA {least} driver",
                evidence=compiler.path,
                headline=f"{name} {compiler.version} writes PTX {isa}, and the driver reads up to "
                f"{cuda_ptx(driver) or 'an older one'} (error 222)",
            )


# The evidence of an NVRTC whose version was read from its builtins.
_VERSION_BY_BUILTINS = "builtins beside it"


@rule("ENV-07")
def nvrtc_builtins_of_another_minor(environment: Environment) -> Iterator[Problem]:
    """NVRTC opens the builtins of exactly its own minor."""
    found = {pick.real for pick in environment.picks}
    for compiler in environment.compilers:
        release = compiler.release
        if compiler.library != "nvrtc" or compiler.path not in found or release is None:
            continue
        if compiler.evidence == _VERSION_BY_BUILTINS or release in compiler.builtins:
            continue
        beside = " and ".join(map(str, compiler.builtins))
        yield Problem(
            Verdict.FAIL if compiler.builtins else Verdict.UNKNOWN,
            f"NVRTC {compiler.version} needs libnvrtc-builtins.so.{release}, but its folder "
            + (f"has {beside}" if beside else "has none")
            + ": NVRTC compiles nothing",
            remedy=f"install libnvrtc and libnvrtc-builtins {release} from one package",
            evidence=compiler.path,
        )


@rule("ENV-08")
def driver_halves_differ(environment: Environment) -> Iterator[Problem]:
    """The driver's own libcuda must have the kernel driver's version."""
    kernel, user = environment.kernel_driver, environment.user_driver
    if user is None or user.stub or user.version is None or user.is_compat_package:
        return
    # Windows' and Tegra's libcuda carry other numbers.
    if environment.wsl2 or environment.jetson or (kernel and user.version == kernel.version):
        return
    if kernel is None:
        if environment.container:
            yield Problem(
                Verdict.UNKNOWN,
                f"the image contains libcuda {user.version} of a driver: this libcuda works only "
                "on hosts with exactly this driver; on other hosts, CUDA fails with error 803",
                remedy="remove the libcuda of the image; the container toolkit mounts the host's",
                evidence=user.real,
            )
        return
    older = user.version < kernel.version
    headline = f"libcuda is {user.version}, but the kernel driver is {kernel.version}"
    yield Problem(
        Verdict.FAIL if older else Verdict.UNKNOWN,
        f"{headline}: every CUDA program fails with error 803"
        if older
        else f"{headline}: if NVIDIA doesn't list this pair for cuda-compat, error 803",
        evidence=f"{user.real}; {kernel.source}",
        headline=headline,
    )


_RUNTIME_WHEEL = re.compile(r"nvidia-cuda-runtime(?:-cu\d{1,9})?")
_RUNTIME_CONDA = re.compile(r"cuda-cudart-dev(?:_linux-\w{1,20})?")
_ROOTS = ("CUDA_PATH", "CUDA_HOME", "/usr/local/cuda")


@rule("ENV-09")
def headers_of_another_toolkit(environment: Environment) -> Iterator[Problem]:
    """NVRTC of a package compiles with the headers of another toolkit."""
    headers = next(_headers(environment), None)
    compiler = picked.first(environment, "nvrtc", PATHFINDER)
    if headers is None or compiler is None:
        return
    where, release = headers
    pair = next(p for p in rows(PartPair) if (p.first, p.second) == ("nvrtc", "headers"))
    verdict = pair.verdict(compiler.release, release)
    if verdict is Verdict.OK:
        return
    suffix = "-cu12" if compiler.release.major == LAST_WITH_SUFFIX else ""
    yield Problem(
        Verdict.OK if verdict is Verdict.UNDOCUMENTED else verdict,
        f"NVRTC {compiler.version} via {compiler.by} uses the headers of CUDA {release} from "
        f"{where}: {pair.breaks}",
        remedy=f"run pip install 'nvidia-cuda-runtime{suffix}=={compiler.release}.*', or install "
        f"NVRTC {release}",
        evidence=f"{compiler.path}; {where}",
        headline=f"NVRTC {compiler.version} uses the headers of CUDA {release}",
    )


@rule("ENV-10")
def driver_branch_has_ended(environment: Environment) -> Iterator[Problem]:
    """NVIDIA doesn't update a driver branch after its end; the tables' date counts."""
    driver = environment.kernel_driver
    row = None if driver is None else branch_end(branch_of(driver.version))
    today = horizon.tables_end().date
    if driver is None or row is None or row.eol is None or row.eol >= today[: len(row.eol)]:
        return
    # Those that end after the day of the tables, the last of them first.
    others = (branch_end(branch) for branch in reversed(driver_branches()))
    longer = [other for other in others if other and other.eol and other.eol > today]
    names = ", ".join(f"R{other.branch} ({other.kind}, to {other.eol})" for other in longer)
    yield Problem(
        Verdict.OK,
        f"driver {driver.version} belongs to R{row.branch} ({row.kind}), which NVIDIA has not "
        f"updated since {row.eol}",
        remedy=f"move to {names}" if names else "move to a branch that NVIDIA supports",
        evidence=driver.source,
        headline=f"R{row.branch} has had no updates since {row.eol}",
    )


def _headers(environment: Environment) -> Iterator[tuple[str, Release]]:
    """Headers of the CUDA runtime in the order in which cuda-pathfinder looks for them."""
    conda = environment.conda.packages if environment.conda else ()
    for name, packages in ((_RUNTIME_WHEEL, environment.wheels), (_RUNTIME_CONDA, conda)):
        for package in packages:
            if name.fullmatch(package.name):
                yield f"{package.name} in {package.folder}", Release.parse(package.version)
    for way, toolkit in product(_ROOTS, environment.toolkits):
        if way in toolkit.reached and toolkit.version:
            yield toolkit.root, Release.parse(toolkit.version)
