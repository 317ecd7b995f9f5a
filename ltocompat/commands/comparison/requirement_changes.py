"""How the minimum nvJitLink, the minimum driver and the GPUs moved."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterator
from typing import Generic

from msgspec import Struct

from ltocompat.model.arch import Release
from ltocompat.model.diff import (
    DRIVER_ROSE,
    LOST_ARCH,
    LOST_PTX,
    NVJITLINK_ROSE,
    Change,
    DiffSummary,
)
from ltocompat.model.generic import T, grouped
from ltocompat.model.requirement import GpuSupport, Required
from ltocompat.model.target import DriverVersion
from ltocompat.rules.rule import VersionT

_NOTHING, _LINK = "none", "link"  # how a GPU is served
_NONE_KNOWN = "none known"


# The minimum nvJitLink that exports all names that the host code of each side imports, if any.
_Imports = tuple[Release | None, Release | None]


def floor_moves(old: Required, new: Required, imports: _Imports) -> Iterator[Change]:
    """Yield every change of the requirements."""
    yield from _gpus(old, new)
    yield from _coverage(old, new)
    yield from _linkers(old, new, imports)
    yield from _drivers(old, new)


def _linkers(old: Required, new: Required, imports: _Imports) -> Iterator[Change]:
    """The floors of links, those of single GPUs, and of imports; links ask for imports, too."""
    rose = any(map(operator.lt, _bounds(old), _bounds(new)))
    texts = linker_text(old), linker_text(new)
    if texts[0] != texts[1]:
        yield Change("nvjitlink", "", "", *texts, 1, NVJITLINK_ROSE if rose else None)
    floor = new.nvjitlink
    # As that of a single GPU is told.
    said = {(rose, _NONE_KNOWN if floor is None else str(floor.at_least))}
    yield from _of_gpus("nvjitlink", _moved(old, new, _linker_of), said, NVJITLINK_ROSE)
    before, after = imports
    if before != after:
        word = NVJITLINK_ROSE if rose and after == max(filter(None, imports)) else None
        yield Change("nvjitlink-imports", "", "", _release(before), _release(after), 1, word)


_NOT_ASKED, _BEYOND = Release(0, 0), Release(sys.maxsize, 0)


def _bounds(code: Required) -> tuple[Release, Release]:
    """Below the first of them nothing works, from the second on everything does."""
    floor = code.nvjitlink
    if floor is None:
        return (_BEYOND, _BEYOND) if code.nvjitlink_beyond else (_NOT_ASKED, _NOT_ASKED)
    return floor.possible, floor.sure or _BEYOND


def _release(release: Release | None) -> tuple[str] | None:
    return None if release is None else (str(release),)


def linker_text(code: Required | DiffSummary) -> tuple[str, ...] | None:
    """Return the minimum nvJitLink, possible and sure; None if none is needed."""
    floor = code.nvjitlink
    if floor is None:
        return (_NONE_KNOWN,) if code.nvjitlink_beyond else None
    if floor.exact:
        return (str(floor.possible),)
    sure = "perhaps newer than all known ones" if floor.sure is None else f"{floor.sure} surely"
    return (f"{floor.possible} possibly", sure)


class _Floor(Struct, Generic[VersionT], frozen=True):
    """The minimum driver, or nvJitLink, for one sort of code, or for one GPU.

    Attributes:
        version: None if no floor is known.
        beyond: no known version is enough.
        beyond_text: how that is said.
    """

    version: VersionT | None
    beyond: bool = False
    beyond_text: str = _NONE_KNOWN

    def __str__(self) -> str:
        if self.beyond:
            return self.beyond_text
        return str(self.version) if self.version else "not known"

    def above(self, other: _Floor[VersionT]) -> bool:
        """Return whether it is known to be higher."""
        if self.beyond or other.beyond:
            return self.beyond and not other.beyond
        if self.version is None or other.version is None:
            return False
        return self.version > other.version


def _drivers(old: Required, new: Required) -> Iterator[Change]:
    """The floors of SASS and PTX, and those of single GPUs where they tell something else."""
    said: set[tuple[bool, str]] = set()
    for about in ("sass", "ptx"):
        before, after = _floor(old, about), _floor(new, about)
        was, now = ((str(floor),) if floor else None for floor in (before, after))
        if was == now:
            continue
        # Code of a new sort raises the floor when it asks for more than all that was there.
        every = (_floor(old, "sass"), _floor(old, "ptx"))
        known = [before] if before else [floor for floor in every if floor]
        rose = after is not None and all(after.above(each_floor) for each_floor in known)
        said.add((rose, str(after)))
        yield Change("driver", "", about, was, now, 1, DRIVER_ROSE if rose else None)
    yield from _of_gpus("driver", _moved(old, new, _driver_of), said, DRIVER_ROSE)


def _floor(required: Required, about: str) -> _Floor[DriverVersion] | None:
    """The driver floor of SASS or PTX; None if there is no such code."""
    if not any(getattr(service, about) for service in required.services):
        return None
    if about == "sass":
        return _Floor(required.driver_sass)
    return _Floor(required.driver_ptx, required.ptx_beyond, "newer than every known driver")


def _driver_of(service: GpuSupport) -> _Floor[DriverVersion] | None:
    """The driver floor of a GPU; where links serve it alone, nvJitLinks may be what is missing."""
    missing = service.beyond and service.how != _LINK
    known = service.how != _NOTHING and (service.driver or missing)
    return _Floor(service.driver, missing) if known else None


def _linker_of(service: GpuSupport) -> _Floor[Release] | None:
    missing = service.beyond and service.how == _LINK and service.nvjitlink is None
    known = service.link and (service.nvjitlink or missing)
    return _Floor(service.nvjitlink, missing) if known else None


def _of_gpus(
    kind: str, moved: _Moved[_Floor[VersionT]], said: set[tuple[bool, str]], word: str
) -> Iterator[Change]:
    """Floors of single GPUs that moved, with the GPUs whose did.

    Left out is what was ``said`` of all: whether it rose, and whereto.
    """
    for (before, after), archs in moved.items():
        rose = after.above(before)
        if (rose, str(after)) not in said:
            about = ", ".join(archs)
            sides = (str(before),), (str(after),)
            yield Change(kind, "", about, *sides, 1, word if rose else None)


# Values before and after, each pair with the GPUs that moved so.
_Moved = dict[tuple[T, T], list[str]]


def _moved(old: Required, new: Required, value: Callable[[GpuSupport], T | None]) -> _Moved[T]:
    """Group the GPUs whose value differs; a GPU without a value on a side is left out."""
    values = {service.number: value(service) for service in new.services}
    pairs = ((value(one), values.get(one.number), f"sm_{one.number}") for one in old.services)
    return grouped(
        ((before, after), arch)
        for before, after, arch in pairs
        if before is not None and after is not None and before != after
    )


def _gpus(old: Required, new: Required) -> Iterator[Change]:
    """GPUs that are served in another way, together where they fare alike."""
    for (before, after), archs in _moved(old, new, lambda service: service.how).items():
        word = (LOST_PTX if before == "ptx" else LOST_ARCH) if after == _NOTHING else None
        sides = [(how,) if how != _NOTHING else None for how in (before, after)]
        yield Change("gpu", "", ", ".join(archs), sides[0], sides[1], len(archs), word)


def _coverage(old: Required, new: Required) -> Iterator[Change]:
    """Yield the GPUs of both releases that have less, or more, of the kernels (IMG-04)."""
    moved = _moved(old, new, lambda one: None if one.how == _NOTHING else one.kernels)
    for sides, archs in moved.items():
        before, after = ((f"{here:,} of {most:,}" if most else "all",) for here, most in sides)
        yield Change("coverage", "", ", ".join(archs), before, after, len(archs))
