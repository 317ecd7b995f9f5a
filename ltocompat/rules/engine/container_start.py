"""Verdicts on a container image, where its own conditions keep it from starting on a driver."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from msgspec.structs import replace

from ltocompat.facts.drivers import branch_cuda, earlier_cuda
from ltocompat.facts.gpus import may_be_consumer
from ltocompat.model.location import Location
from ltocompat.model.target import DriverVersion
from ltocompat.model.verdict import WHOLE_ARTIFACT, Finding, Result, Verdict
from ltocompat.rules.builtin_rules import CONTAINER_REFUSED, OWN_DRIVER
from ltocompat.rules.constraints import driver_cuda
from ltocompat.rules.engine.findings import finding_by_engine
from ltocompat.rules.services import capability
from ltocompat.targets.versions.container import ContainerHost, least_admitted, satisfied
from ltocompat.targets.versions.drivers import driver_version_in_name

_BRAND = re.compile(r"brand=([a-z]+)", re.IGNORECASE)
_CONSUMER = frozenset(("geforce", "geforcertx", "titan", "titanrtx"))
"""Brands of NVML that images since CUDA 12.6 leave out: cuda-compat isn't for such GPUs."""
_MACHINES = {"linux_amd64": "x86_64", "linux_arm64": "aarch64"}
_NAMES = {machine: name.replace("_", "/") for name, machine in _MACHINES.items()}
_ANY, _NO_BRAND = "unknown", "none"
"""A GPU whose brand NVML doesn't name, which images name that mean all others; no brand."""


def starting(results: Iterable[Result], conditions: Sequence[tuple[str, str]]) -> Iterator[Result]:
    """The verdicts, ``fail`` where the container toolkit refuses to start the image.

    Args:
        results: on the code of an image.
        conditions: its variables NVIDIA_REQUIRE_*, each with its condition.
    """
    for result in results:
        found = result
        for name, text in conditions if result.target.driver else ():
            met = _met(result, text)
            if met is not True:
                found = _refused(found, name, text, conditions, met)
        yield found


def _met(result: Result, text: str) -> bool | None:
    """Return whether a condition holds with each driver that has to work; None: not known."""
    driver, gpu = result.target.driver, result.gpu
    archs = () if gpu is None else (capability(gpu.arch.number),)
    named = {brand.lower() for brand in _BRAND.findall(text)}
    brands = (named if _ANY in named else {*named, _NO_BRAND}) - _CONSUMER
    if gpu is None or may_be_consumer(gpu):
        brands = (brands if gpu is None or gpu.data_center is None else set()) | _CONSUMER
    try:
        rows = [
            {satisfied(text, host) for brand in brands for host in _hosts(version, archs, brand)}
            for version in (driver.values if driver else ())
        ]
    except ValueError:
        return None
    every = [row.pop() if len(row) == 1 else None for row in rows]
    if driver is not None and driver.every and False in every:
        return False
    return every[0] if len(set(every)) == 1 else None


def _hosts(driver: DriverVersion, archs: tuple[str, ...], brand: str) -> Iterator[ContainerHost]:
    cuda = driver_cuda(driver)
    for release in (str(cuda),) if cuda else earlier_cuda(driver):
        yield ContainerHost(release, str(driver), archs, (brand,))


def _refused(
    result: Result,
    name: str,
    text: str,
    conditions: Sequence[tuple[str, str]],
    met: bool | None,  # noqa: FBT001 - as _met gives it
) -> Result:
    driver = result.target.driver.text if result.target.driver else ""
    asks = f"on driver {driver}: {name} requires {text.split(' ', 1)[0]}"
    message = f"the container doesn't start {asks}"
    if met is None:
        brand = ", or GPUs of some brand" if _BRAND.search(text) else ""
        message = f"it is not known whether the container starts {asks}{brand}"
    least = None
    with suppress(ValueError):  # it can't be read
        least = least_admitted([condition for _, condition in conditions])
    older = least and result.target.driver and max(result.target.driver.values) < least
    update = f"update the driver to {least} or newer" if older else "take another image"
    runs = result.verdict <= Verdict.JIT and not result.not_judged
    hidden = "; the code would run there: docker run -e NVIDIA_DISABLE_REQUIRE=1"
    finding = finding_by_engine(
        CONTAINER_REFUSED,
        Verdict.UNKNOWN if met is None else Verdict.FAIL,
        message,
        evidence=f"environment variable {name}={text[:200]}",
        headline=message,
        subject=WHOLE_ARTIFACT,
        remedy=f"{update}{hidden if runs else ''}",
    )
    return _with_finding(result, finding)


def _with_finding(result: Result, finding: Finding) -> Result:
    verdict = max(result.verdict, finding.verdict)
    return replace(result, verdict=verdict, findings=(finding, *result.findings))


def on_its_platform(results: Iterable[Result], platform: str) -> Iterator[Result]:
    """The verdicts, ``fail`` where an image is for another processor than the target names.

    Of an archive of several platforms, a machine pulls that of its own: only a note tells the rest.

    Args:
        results: on the code of an image.
        platform: of the image, ``linux_arm64``.
    """
    machine = _MACHINES.get(platform, "")
    for result in results:
        target = result.target
        if not machine or machine == target.system.machine or "os" not in dict(target.sources):
            yield result
            continue
        message = f"the image is for {platform.replace('_', '/')}, and the target is "
        message += f"{target.system.machine}: no program of it starts (exec format error)"
        remedy = f"build or pull it for {_NAMES[target.system.machine]} (docker pull --platform)"
        told = {"headline": message, "evidence": f"platform {platform}", "remedy": remedy}
        told["subject"] = WHOLE_ARTIFACT
        several = result.path.endswith(":" + platform.replace("_", "/"))
        verdict = Verdict.OK if several else Verdict.FAIL
        yield _with_finding(result, finding_by_engine(CONTAINER_REFUSED, verdict, message, **told))


def beside_own_driver(results: Iterable[Result], inside: Location) -> Iterator[Result]:
    """The verdicts, ``unknown`` where a libcuda of the image is newer than the host's beside it.

    ldconfig leads libcuda.so.1 to the newer one of a folder; newer container tools set the link to
    the host's themselves. In WSL 2, where the host's is called libcuda.so.1, libnvidia-container
    creates that file (mode 0555) and follows no link of the image. Source: libnvidia-container
    issue 266, src/utils.c (file_create); nvidia-container-toolkit pull request 326, issue 289.

    Args:
        results: on the code of an image.
        inside: the libcuda, with its version in its name.
    """
    version = driver_version_in_name(posixpath.basename(inside.innermost))
    for result in results:
        driver, system = result.target.driver, result.target.system.name
        newer = version is not None and driver is not None and min(driver.values) < version
        if system == "wsl2":
            message = f"the image links libcuda.so.1 to its libcuda {version}: in WSL 2 the "
            message += "container doesn't start (file creation failed: ... file exists), unless "
            yield _with_own_driver(result, f"{message}the container tools use CDI", inside)
        elif system == "linux" and newer and driver is not None:
            message = f"the image's libcuda {version} is newer than driver {driver.text}: the "
            message += "loader may use it instead of the host's (error 803, or 804)"
            yield _with_own_driver(result, message, inside)
        else:
            yield result


def before_drivers(results: Iterable[Result], inside: Location) -> Iterator[Result]:
    """The verdicts, ``unknown`` where a libcuda of the image is in front of an unknown driver.

    On a known one, the rules for cuda-compat judge it, whatever package it is of, if the tables
    have its branch.

    Args:
        results: on the code of an image.
        inside: the libcuda, in a folder of LD_LIBRARY_PATH or ld.so.conf.
    """
    folder, _, name = inside.innermost.rpartition("/")
    message = (
        f"the loader finds the image's {name} before the host's: every CUDA call fails if "
        "the host has another driver that is as new or newer (error 803), or an older driver and a "
        "GeForce (error 804)"
    )
    remedy = f"remove {folder} from LD_LIBRARY_PATH and ld.so.conf.d"
    version = driver_version_in_name(name)
    judged = version is not None and branch_cuda(version.branch) is not None
    for result in results:
        driver = result.target.driver
        if driver is None or not (judged or set(driver.values) == {version}):
            fix = f"{remedy}, or name the driver" if driver is None else remedy
            yield _with_own_driver(result, message, inside, fix)
        else:
            yield result


def _with_own_driver(
    result: Result, message: str, inside: Location, remedy: str | None = None
) -> Result:
    told = {"headline": message, "subject": "libcuda", "example": inside}
    told |= {"remedy": remedy} if remedy else {}
    return _with_finding(result, finding_by_engine(OWN_DRIVER, Verdict.UNKNOWN, message, **told))
