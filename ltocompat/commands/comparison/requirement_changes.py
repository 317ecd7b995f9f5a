"""How the least nvJitLink, the least driver and the GPUs moved."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from msgspec import Struct

from ltocompat.model.arch import Release
from ltocompat.model.diff import DRIVER_ROSE, LOST_ARCH, LOST_PTX, NVJITLINK_ROSE, Change
from ltocompat.model.requirement import LinkerFloor, Required, Service
from ltocompat.model.target import DriverVersion

_NOTHING = "none"


class RequirementFloors(Struct, frozen=True):
    """What one side asks of wherever it goes.

    Attributes:
        code: what its device code asks.
        imports: the least nvJitLink that has all names which its host code imports, if any.
    """

    code: Required
    imports: Release | None


def floor_moves(before: RequirementFloors, after: RequirementFloors) -> Iterator[Change]:
    """Every change of what two sides ask."""
    old, new = before.code, after.code
    yield from _gpus(old, new)
    yield from _linkers(before, after)
    yield from _drivers(old, new)


def _linkers(old: RequirementFloors, new: RequirementFloors) -> Iterator[Change]:
    """The floors of LTO-IR and of imports; one that rises below the other harms nobody."""
    higher = _rose(
        _bounds(old.code.nvjitlink, old.imports), _bounds(new.code.nvjitlink, new.imports)
    )
    code = old.code.nvjitlink, new.code.nvjitlink
    if code[0] != code[1]:
        word = NVJITLINK_ROSE if higher and _rose(_bounds(code[0]), _bounds(code[1])) else None
        yield Change("nvjitlink", "", "", _linker_text(code[0]), _linker_text(code[1]), 1, word)
    names = old.imports, new.imports
    if names[0] != names[1]:
        floors = [None if name is None else (str(name),) for name in names]
        word = NVJITLINK_ROSE if higher and _rose(_exact(names[0]), _exact(names[1])) else None
        yield Change("nvjitlink-imports", "", "", floors[0], floors[1], 1, word)


_Bounds = tuple[Release, Release] | None
_BEYOND = Release(sys.maxsize, 0)


def _bounds(floor: LinkerFloor | None, imports: Release | None = None) -> _Bounds:
    """Below the first of them nothing works, from the second on everything does."""
    named = _exact(imports)
    if floor is None:
        return named
    found = floor.possible, floor.sure or _BEYOND
    return found if named is None else (max(found[0], named[0]), max(found[1], named[1]))


def _exact(release: Release | None) -> _Bounds:
    return None if release is None else (release, release)


def _rose(old: _Bounds, new: _Bounds) -> bool:
    """Whether either bound is higher; where nothing is asked they are the lowest of all."""
    if new is None or old is None:
        return new is not None
    return new[0] > old[0] or new[1] > old[1]


def _linker_text(floor: LinkerFloor | None) -> tuple[str, ...] | None:
    if floor is None:
        return None
    if floor.exact:
        return (str(floor.possible),)
    sure = "perhaps newer than all that are known" if floor.sure is None else f"{floor.sure} surely"
    return (f"{floor.possible} possibly", sure)


class _Floor(Struct, frozen=True):
    """The least driver for one sort of code.

    Attributes:
        used: such code is loaded.
        version: None where no floor is known.
        beyond: no known driver is enough.
    """

    used: bool
    version: DriverVersion | None
    beyond: bool = False

    def __str__(self) -> str:
        if self.beyond:
            return "newer than every known driver"
        return str(self.version) if self.version else "not known"

    def above(self, other: _Floor) -> bool:
        """Whether it is known to be higher."""
        if self.beyond or other.beyond:
            return self.beyond and not other.beyond
        return (
            self.version is not None and other.version is not None and self.version > other.version
        )


def _drivers(old: Required, new: Required) -> Iterator[Change]:
    """The floors of SASS and PTX, and those of single GPUs where they tell something else."""
    valueses: set[tuple[object, object]] = set()
    for about in ("sass", "ptx"):
        before, after = _floor(old, about), _floor(new, about)
        sides = _text(before), _text(after)
        if sides[0] == sides[1]:
            continue
        # Code of a new sort raises the floor when it asks for more than all that was there.
        known = [before] if before.used else [floor for floor in _floors(old) if floor.used]
        rose = after.used and all(after.above(each_floor) for each_floor in known)
        valueses.add(sides)
        yield Change("driver", "", about, *sides, 1, DRIVER_ROSE if rose else None)
    moved: dict[tuple[DriverVersion, DriverVersion], list[str]] = {}
    for service, other in _served(old, new):
        if service.driver and other.driver and service.driver != other.driver:
            moved.setdefault((service.driver, other.driver), []).append(f"sm_{service.number}")
    for (low, high), archs in moved.items():
        texts = (str(low),), (str(high),)
        if texts not in valueses:
            rose = high > low
            yield Change("driver", "", ", ".join(archs), *texts, 1, DRIVER_ROSE if rose else None)


def _floor(required: Required, about: str) -> _Floor:
    used = any(getattr(service, about) for service in required.services)
    if about == "sass":
        return _Floor(used, required.driver_sass)
    return _Floor(used, required.driver_ptx, required.ptx_beyond)


def _floors(required: Required) -> tuple[_Floor, _Floor]:
    return _floor(required, "sass"), _floor(required, "ptx")


def _text(floor: _Floor) -> tuple[str, ...] | None:
    return (str(floor),) if floor.used else None


def _served(old: Required, new: Required) -> Iterator[tuple[Service, Service]]:
    others = {service.number: service for service in new.services}
    for service in old.services:
        other = others.get(service.number)
        if other is not None:
            yield service, other


def _gpus(old: Required, new: Required) -> Iterator[Change]:
    """GPUs that are served in another way, together where they fare alike."""
    moved: dict[tuple[str, str], list[str]] = {}
    for service, other in _served(old, new):
        if service.how != other.how:
            moved.setdefault((service.how, other.how), []).append(f"sm_{service.number}")
    for (before, after), archs in moved.items():
        word = (LOST_PTX if before == "ptx" else LOST_ARCH) if after == _NOTHING else None
        sides = [(how,) if how != _NOTHING else None for how in (before, after)]
        yield Change("gpu", "", ", ".join(archs), sides[0], sides[1], len(archs), word)
