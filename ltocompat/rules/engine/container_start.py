"""Verdicts on files that don't start on a target at all: container images, other platforms."""

from __future__ import annotations

import functools
import posixpath
import re
from collections.abc import Callable, Iterator
from contextlib import suppress

from msgspec.structs import replace

from ltocompat.facts.drivers import branch_cuda, earlier_cuda
from ltocompat.facts.gpus import may_be_consumer
from ltocompat.model.artifact_summary import ArtifactSummary
from ltocompat.model.location import Location
from ltocompat.model.target import ANY_DRIVER, DriverVersion, System, VersionSet
from ltocompat.model.verdict import WHOLE_ARTIFACT, Finding, Level, Result, Verdict
from ltocompat.rules.builtin_rules import CONTAINER_REFUSED, OTHER_PLATFORM, OWN_DRIVER
from ltocompat.rules.constraints import driver_cuda
from ltocompat.rules.engine.findings import finding_by_engine
from ltocompat.rules.services import capability
from ltocompat.targets.versions.container import ContainerHost, least_admitted, satisfied
from ltocompat.targets.versions.drivers import driver_version_in_name

_BRAND = re.compile(r"brand=([a-z]+)", re.IGNORECASE)
# Brands of NVML that images since CUDA 12.6 leave out: cuda-compat isn't for such GPUs.
_CONSUMER = frozenset(("geforce", "geforcertx", "titan", "titanrtx"))
_MACHINES = {"linux/amd64": "x86_64", "linux/arm64": "aarch64"}
_NAMES = {machine: name for name, machine in _MACHINES.items()}
_Drivers = VersionSet[DriverVersion]
_ANY, _NO_BRAND = "unknown", "none"
"""A GPU whose brand NVML doesn't name, which images name that mean all others; no brand."""


def starting(result: Result, summary: ArtifactSummary) -> Result:
    """Return the verdict on the code of an artifact, with reasons why it doesn't start there.

    These are its platform, and the conditions on drivers (variables NVIDIA_REQUIRE_*) and own parts
    of a driver of a container image.
    """
    judges: list[Callable[[Result, ArtifactSummary], Finding | None]] = [
        *(functools.partial(_condition, name, text) for name, text in summary.starts_on),
        *(_platform, _other_platform, _own_driver, _driver_in_front),
    ]
    for judge in judges:
        finding = judge(result, summary)
        if finding is not None:
            verdict = max(result.verdict, finding.verdict)
            result = replace(result, verdict=verdict, findings=(finding, *result.findings))
    return result


def _condition(name: str, text: str, result: Result, summary: ArtifactSummary) -> Finding | None:
    """``fail`` where the container toolkit refuses to start the image."""
    driver = result.target.driver
    if driver is None or (met := _met(result, driver, text)):
        return None
    known = f"driver {driver.text}" if driver.text != ANY_DRIVER else "an unknown driver"
    asks = f"on {known}: {name} requires {text.split(' ', 1)[0]}"
    message = f"the container doesn't start {asks}"
    if met is None:
        named = sorted({*_BRAND.findall(text)} - {_ANY})
        brands = " or ".join(each for each in named if _met(result, driver, text, each))
        brand = f", or a GPU of brand {brands} (see Product Brand in nvidia-smi -q)"
        message = f"it is unknown whether the container starts {asks}{brand if brands else ''}"
    least = None
    with suppress(ValueError):  # it can't be read
        least = least_admitted([condition for _, condition in summary.starts_on])
    older = least is not None and max(driver.values) < least
    other = "name the exact driver and GPU" if met is None and least else "use another image"
    update = f"update the driver to {least} or newer" if older else other
    runs = result.verdict <= Verdict.JIT and not result.not_judged
    hidden = ", or set NVIDIA_DISABLE_REQUIRE=1, since the code would run there"
    return _finding(
        CONTAINER_REFUSED,
        Verdict.UNKNOWN if met is None else Verdict.FAIL,
        message,
        evidence=f"environment variable {name}={text[:200]}{'...' * (len(text) > 200)}",
        remedy=f"{update}{hidden if runs else ''}",
    )


def _met(result: Result, driver: _Drivers, text: str, brand: str = "") -> bool | None:
    """Return whether a condition holds with each driver that has to work; None: not known.

    With a brand, the GPU is of that brand.
    """
    gpu = result.gpu
    archs = () if gpu is None else (capability(gpu.arch.number),)
    named = {brand.lower() for brand in _BRAND.findall(text)}
    brands = (named if _ANY in named else {*named, _NO_BRAND}) - _CONSUMER
    if gpu is None or may_be_consumer(gpu):
        brands = (brands if gpu is None or gpu.data_center is None else set()) | _CONSUMER
    brands = {brand} if brand else brands
    try:
        rows = [
            {satisfied(text, host) for brand in brands for host in _hosts(version, archs, brand)}
            for version in driver.values
        ]
    except ValueError:
        return None
    every = [row.pop() if len(row) == 1 else None for row in rows]
    if driver.every and False in every:
        return False
    return every[0] if len(set(every)) == 1 else None


def _hosts(driver: DriverVersion, archs: tuple[str, ...], brand: str) -> Iterator[ContainerHost]:
    cuda = driver_cuda(driver)
    for release in (str(cuda),) if cuda else earlier_cuda(driver):
        yield ContainerHost(release, ".".join(map(str, driver.numbers)), archs, (brand,))


def _system_of(result: Result) -> System | None:
    """The system that a target names, or that its GPU tells: Arm cores and Linux."""
    target, gpu = result.target, result.gpu
    named = target.system if "os" in dict(target.sources) else None
    if gpu is not None and gpu.arm and (named is None or named.name == "linux"):
        return System(machine="aarch64")
    return named


def _platform(result: Result, summary: ArtifactSummary) -> Finding | None:
    """``fail`` where an image is for another processor than the target names.

    Of an archive of several platforms, a machine pulls that of its own: only a note tells the rest.
    """
    platform, system = summary.platform.replace("_", "/"), _system_of(result)
    machine = _MACHINES.get(platform, "")
    if not machine or system is None or machine == system.machine:
        return None
    message = f"the image is for {platform}, and the target is {system.machine}: none of "
    message += "the image's programs starts (exec format error)"
    return _finding(
        CONTAINER_REFUSED,
        Verdict.OK if result.path.endswith(f":{platform}") else Verdict.FAIL,
        message,
        evidence=f"platform {summary.platform}",
        remedy=f"pull or build the image with --platform {_NAMES[system.machine]}",
    )


def _other_platform(result: Result, summary: ArtifactSummary) -> Finding | None:
    """``fail`` where all libraries and programs are for another platform than the target names.

    Of a release, an installer picks the package for its platform: a warning tells of the others.
    """
    system, hosts = _system_of(result), [host for host in summary.hosts if host.linked]
    if system is None:
        return None
    processor = {"x86_64": "x86-64", "aarch64": "AArch64"}.get(system.machine, system.machine)
    found = {(host.format, host.machine) for host in hosts}
    right = ("PE" if system.name == "windows" else "ELF", processor) in found
    if not found or right or summary.platform:
        return None
    kinds = " and ".join(f"{machine} ({form})" for form, machine in sorted(found))
    other = summary.of_release and any(host.place.members for host in hosts)
    after = "only its device code was checked" if other else "no loader there accepts it"
    cores = f" ({result.gpu} has Arm cores)" if result.gpu and result.gpu.arm else ""
    message = f"it is built for {kinds}, but the target is {system.name} on {processor}{cores}: "
    message += after
    level = Level.WARNING if other else Level.ERROR
    return _finding(OTHER_PLATFORM, Verdict.OK if other else Verdict.FAIL, message, level=level)


def _own_driver(result: Result, summary: ArtifactSummary) -> Finding | None:
    """``unknown`` where a libcuda of the image is newer than the host's beside it.

    ldconfig leads libcuda.so.1 to the newer one of a folder; newer container tools set the link to
    the host's themselves. In WSL 2, where the host's is called libcuda.so.1, libnvidia-container
    creates that file (mode 0555) and follows no link of the image. Source: libnvidia-container
    issue 266, src/utils.c (file_create); nvidia-container-toolkit pull request 326, issue 289.
    """
    if summary.own_driver is None:
        return None
    version = driver_version_in_name(posixpath.basename(summary.own_driver.innermost))
    driver, system = result.target.driver, result.target.system.name
    newer = version is not None and driver is not None and min(driver.values) < version
    if system == "wsl2":
        message = f"the image links libcuda.so.1 to its libcuda {version}: in WSL 2 the container "
        message += "doesn't start (file creation failed: ... file exists), unless the container "
        return _of_libcuda(f"{message}tools use CDI", summary.own_driver)
    if system == "linux" and newer and driver is not None:
        message = f"the image's libcuda {version} is newer than driver {driver.text}: the loader "
        message += "may use it instead of the host's (error 803, or 804)"
        return _of_libcuda(message, summary.own_driver)
    return None


def _driver_in_front(result: Result, summary: ArtifactSummary) -> Finding | None:
    """``unknown`` where a libcuda of the image is in front of an unknown driver.

    It lies in a folder of LD_LIBRARY_PATH or ld.so.conf. On a known driver, the rules for
    cuda-compat judge it, whatever package it is of, if the tables have its branch.
    """
    if summary.in_front is None:
        return None
    folder, _, name = summary.in_front.innermost.rpartition("/")
    version, driver = driver_version_in_name(name), result.target.driver
    judged = version is not None and branch_cuda(version.branch) is not None
    if driver is not None and (judged or set(driver.values) == {version}):
        return None
    message = (
        f"the loader finds the image's {name} before the host's. If the host has another driver "
        "that is as new or newer, every CUDA call fails with error 803. If the driver is older and "
        "the GPU is a GeForce, every call fails with error 804"
    )
    remedy = f"remove {folder} from LD_LIBRARY_PATH and ld.so.conf.d"
    fix = f"{remedy}, or name the driver in the target" if driver is None else remedy
    return _of_libcuda(message, summary.in_front, remedy=fix)


def _of_libcuda(message: str, place: Location, **told: object) -> Finding:
    told |= {"subject": "libcuda", "example": place}
    return _finding(OWN_DRIVER, Verdict.UNKNOWN, message, **told)


def _finding(rule_id: str, verdict: Verdict, message: str, **told: object) -> Finding:
    """A finding whose message is its headline; about the whole artifact, unless told otherwise."""
    whole = {"headline": message, "subject": WHOLE_ARTIFACT, "about_loading": True}
    return finding_by_engine(rule_id, verdict, message, **{**whole, **told})
