"""Tell which parts of CUDA go together, by the releases that a program meets of each."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from ltocompat.commands.options import checked
from ltocompat.commands.versions import driver_cuda
from ltocompat.facts import rows
from ltocompat.facts.coherence import PartPair
from ltocompat.model.arch import Release
from ltocompat.model.errors import UsageError, did_you_mean
from ltocompat.model.verdict import Verdict


class Coherence(Struct, frozen=True):
    """Two parts of CUDA in one program, and whether they work together.

    Attributes:
        parts: ``("nvrtc", "headers")``.
        releases: the CUDA release of each part. For a driver, it is the release that
            cuDriverGetVersion() returns.
        verdict: ``ok``: the parts work together. ``undocumented``: the parts worked together in
            every measured case. ``unknown``: some programs work, but others break. ``fail``: all
            programs break.
        breaks: what breaks; for ``ok``, what would break if the releases were not compatible.
        source: the document or the measurement.
    """

    parts: tuple[str, str]
    releases: tuple[Release, Release]
    verdict: Verdict
    breaks: str
    source: str


@checked
def coherent(parts: Mapping[str, str]) -> tuple[Coherence, ...]:
    """Say for each pair of parts whether their releases work together.

    Args:
        parts: the version of each part: ``{"nvcc": "13.1", "libdevice": "13.0", "driver":
            "580.65.06"}``. The parts are nvcc, nvrtc, nvrtc-builtins, nvvm (libNVVM), libdevice,
            headers (of the CUDA runtime), cudart, nvjitlink and driver.

    Returns:
        The pairs of parts that affect each other, the worst first.

    Raises:
        UsageError: a part or a version is invalid, or a driver is newer than all drivers in the
            tables.
    """
    known = {name for pair in rows(PartPair) for name in (pair.first, pair.second)}
    releases: dict[str, Release] = {}
    for name, version in {**parts}.items():
        if name not in known:
            hint = did_you_mean(name, known)
            raise UsageError(
                f"{name!r} is not part of CUDA{hint}; the parts are {', '.join(sorted(known))}"
            )
        release = driver_cuda(version) if name == "driver" else Release.parse(version)
        if release is None:
            raise UsageError(f"the driver {version!r} is not in the tables; give its CUDA release")
        releases[name] = release
    found = []
    for pair in rows(PartPair):
        if pair.first in releases and pair.second in releases:
            both = (pair.first, pair.second)
            met = (releases[pair.first], releases[pair.second])
            found.append(Coherence(both, met, pair.verdict(*met), pair.breaks, pair.source))
    return tuple(sorted(found, key=lambda pair: -pair.verdict))
