"""Lines to paste into the metadata of a package, out of what an artifact requires."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from ltocompat.facts import drivers, gpus, nvjitlink_minors
from ltocompat.model.arch import Release, SmArch
from ltocompat.model.artifact_summary import ArtifactSummary
from ltocompat.model.generic import grouped
from ltocompat.model.image import ImageKind
from ltocompat.model.requirement import NEXT, GpuSupport, LinkerFloor, PasteLine, Required
from ltocompat.model.target import DriverVersion
from ltocompat.model.verdict import Route
from ltocompat.rules import artifact_code
from ltocompat.rules.engine.routes import routes
from ltocompat.rules.rule import Component, VersionT
from ltocompat.rules.services import (
    capability,
    is_served,
    least_cuda,
    least_driver,
    promised,
    served_range,
)


def paste_lines(summary: ArtifactSummary, required: Required) -> Iterator[PasteLine]:
    """Yield the lines of all destinations, from an artifact and its other requirements."""
    linked = (group for group in summary.groups if Route.LINK in routes(group.signature))
    at_build = all(group.signature.needs_device_link for group in linked)
    asked_by_hosts = {need.component for need in required.asked if not need.module_count}
    if (floor := required.nvjitlink) and at_build and Component.LINKER not in asked_by_hosts:
        # Most builds link their objects with nvlink.
        yield PasteLine("pip", "", f"if nvJitLink links this at run time: {floor.wheel}")
        required = replace(required, nvjitlink=None)
    # Containers run no programs of Windows.
    left_out = "container" if on_windows(summary) else ""
    yield from (line for line in machine_lines(required) if line.where != left_out)
    yield from _variant_lines(summary, required.services)


def on_windows(summary: ArtifactSummary) -> bool:
    """Return whether all libraries and programs of an artifact are for Windows."""
    return {host.format for host in summary.hosts} == {"PE"}


def machine_lines(required: Required) -> Iterator[PasteLine]:
    """Yield the lines about drivers, GPUs and nvJitLinks of machines."""
    yield from _linker_lines(required.nvjitlink, required.services)
    services = promised(required.services)
    yield from _driver_lines(required, services)
    yield from _gpu_lines(required.services)
    if (cuda := least_cuda(required, services)) is not None:
        yield PasteLine("variant", f"nvidia :: cuda_version_lower_bound :: {cuda}")


def conda_linker(floor: LinkerFloor) -> str:
    """Return the requirement on conda-forge's package of nvJitLink."""
    return f"libnvjitlink >={floor.at_least},<{floor.ceiling}"


def _linker_lines(floor: LinkerFloor | None, services: Sequence[GpuSupport]) -> Iterator[PasteLine]:
    if floor is None:
        return
    least = floor.at_least
    how = "no trial could show it" if floor.tried else "--trial-link shows it"
    notes = [] if floor.exact else [f"perhaps {floor.possible} is enough; {how}"]
    if floor.newest_producer is not None:
        notes.append(f"assumes that CUDA {floor.newest_producer} or older made the LTO-IR")
    newest = max(release for release in nvjitlink_minors() if release.major < floor.ceiling)
    others: list[tuple[str, GpuSupport]] = []
    for service in services:
        text = ""
        first, last = service.nvjitlink, service.last_nvjitlink
        if service.unlinked:
            text = "with no known version"
        elif first is not None and any(r.driver for r in service.routes if r.nvjitlink):
            end = last if last is not None and last < newest else None
            text = _other_span(first, end, least)
        others.append((text, service))
    note = "; ".join([*notes, *_exceptions(others)])
    yield PasteLine("pip", floor.wheel, note)
    yield PasteLine("conda", conda_linker(floor), note)


def _driver_lines(required: Required, services: Sequence[GpuSupport]) -> Iterator[PasteLine]:
    driver, cuda = least_driver(required, services), least_cuda(required, services)
    if driver is None or cuda is None:
        return
    newest = drivers.driver_branches()[-1]
    ends: set[DriverVersion | None] = set()
    others: list[tuple[str, GpuSupport]] = []
    for service in services:
        last = service.last_driver
        if service.driver is None or last is None:
            continue
        end = last if last.branch < newest else None
        ends.add(end)
        others.append((_other_span(service.driver, end, driver), service))
    below = _cuda_above(end for end in ends if end) if ends and None not in ends else None
    note = "; ".join([f"driver {driver} or newer", *_exceptions(others)])
    conda, container = (f",<{below}", f",cuda<{below}") if below else ("", "")
    yield PasteLine("conda", f"__cuda >={cuda}{conda}", note)
    yield PasteLine("container", f"NVIDIA_REQUIRE_CUDA=cuda>={cuda}{container}", note)


def _cuda_above(ends: Iterable[DriverVersion]) -> Release | None:
    """The CUDA release of the first branch after all of these."""
    last = max(end.branch for end in ends)
    later = next(branch for branch in drivers.driver_branches() if branch > last)
    return drivers.branch_cuda(later)


def _other_span(first: VersionT, last: VersionT | None, floor: VersionT) -> str:
    """The conditions of a GPU beside ``floor`` and all that is newer; empty if that is enough.

    Args:
        first: its own floor.
        last: where what serves it ends; None if nothing newer is known to fail.
        floor: what the line says.
    """
    begin = f"from {first}" if first > floor or (last is not None and last < floor) else ""
    return " ".join(part for part in (begin, f"to {last}" if last is not None else "") if part)


def _exceptions(others: Iterable[tuple[str, GpuSupport]]) -> Iterator[str]:
    alike = grouped((versions, f"sm_{each.number}") for versions, each in others if versions)
    return (f"{', '.join(archs)} {versions}" for versions, archs in alike.items())


def _gpu_lines(services: Sequence[GpuSupport]) -> Iterator[PasteLine]:
    """CEP 46: the version of __cuda_arch is the least compute capability of a machine's GPUs."""
    served = served_range(services)
    if served is None:
        return
    first, end = served
    before = "" if end is None else f",<{capability(end)}"
    note = "put it under run_constrained, since not every client knows __cuda_arch"
    yield PasteLine("conda", f"__cuda_arch >={capability(first)}{before}", note)


def _variant_lines(summary: ArtifactSummary, services: Sequence[GpuSupport]) -> Iterator[PasteLine]:
    """Variant properties of wheels (PEP 825) about GPUs, as NVIDIA's provider knows them."""
    served = {service.number for service in promised(services) if is_served(service)}
    signatures = [group.signature for group in summary.groups]
    for kind, word in ((ImageKind.SASS, "real"), (ImageKind.PTX, "virtual")):
        found = artifact_code.archs(signatures, kind)
        for number in sorted({arch.number for arch in found if _is_whole(arch, services)}):
            if number in served:
                yield PasteLine("variant", f"nvidia :: sm_arch :: {number}_{word}")


def _is_whole(arch: SmArch, services: Sequence[GpuSupport]) -> bool:
    """Return whether all GPUs of its generation from it on are served, as a property says."""
    generation = [s for s in services if s.number // 10 == arch.number // 10 and s.name != NEXT]
    others = [s for s in generation if s.number == arch.number or not gpus.is_tegra(s.number)]
    return all(is_served(service) for service in others if service.number >= arch.number)
