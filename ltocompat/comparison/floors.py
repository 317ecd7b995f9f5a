"""How the least nvJitLink, the least driver and the GPUs moved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ltocompat.difference import DRIVER_ROSE, LOST_ARCH, LOST_PTX, NVJITLINK_ROSE, Change
from ltocompat.required import LinkerFloor, Required, Service
from ltocompat.target import DriverVersion

_NOTHING = "none"


def floor_moves(old: Required, new: Required) -> Iterator[Change]:
    """Every change of what two artifacts ask of wherever they go."""
    yield from _gpus(old, new)
    if _linker_text(old.nvjitlink) != _linker_text(new.nvjitlink):
        rose = NVJITLINK_ROSE if _linker_rose(old.nvjitlink, new.nvjitlink) else None
        before, after = _linker_text(old.nvjitlink), _linker_text(new.nvjitlink)
        yield Change("nvjitlink", "", "", before, after, 1, rose)
    yield from _drivers(old, new)


def _linker_text(floor: LinkerFloor | None) -> tuple[str, ...] | None:
    if floor is None:
        return None
    if floor.exact:
        return (str(floor.possible),)
    sure = "perhaps newer than all that are known" if floor.sure is None else f"{floor.sure} surely"
    return (f"{floor.possible} possibly", sure)


def _linker_rose(old: LinkerFloor | None, new: LinkerFloor | None) -> bool:
    """Whether either bound rose; that nothing was linked before is the lowest floor of all."""
    if new is None or old is None:
        return new is not None
    if new.sure is None or old.sure is None:
        return new.possible > old.possible or (new.sure is None and old.sure is not None)
    return new.possible > old.possible or new.sure > old.sure


@dataclass(frozen=True, slots=True)
class _Floor:
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
    said: set[tuple[object, object]] = set()
    for about in ("sass", "ptx"):
        before, after = _floor(old, about), _floor(new, about)
        sides = _text(before), _text(after)
        if sides[0] == sides[1]:
            continue
        # Code of a new sort raises the floor when it asks for more than all that was there.
        known = [before] if before.used else [one for one in _floors(old) if one.used]
        rose = after.used and all(after.above(one) for one in known)
        said.add(sides)
        yield Change("driver", "", about, *sides, 1, DRIVER_ROSE if rose else None)
    moved: dict[tuple[DriverVersion, DriverVersion], list[str]] = {}
    for one, other in _served(old, new):
        if one.driver and other.driver and one.driver != other.driver:
            moved.setdefault((one.driver, other.driver), []).append(f"sm_{one.number}")
    for (low, high), archs in moved.items():
        texts = (str(low),), (str(high),)
        if texts not in said:
            rose = high > low
            yield Change("driver", "", ", ".join(archs), *texts, 1, DRIVER_ROSE if rose else None)


def _floor(one: Required, about: str) -> _Floor:
    used = any(getattr(service, about) for service in one.services)
    if about == "sass":
        return _Floor(used, one.driver_sass)
    return _Floor(used, one.driver_ptx, one.ptx_beyond)


def _floors(one: Required) -> tuple[_Floor, _Floor]:
    return _floor(one, "sass"), _floor(one, "ptx")


def _text(floor: _Floor) -> tuple[str, ...] | None:
    return (str(floor),) if floor.used else None


def _served(old: Required, new: Required) -> Iterator[tuple[Service, Service]]:
    others = {service.number: service for service in new.services}
    for one in old.services:
        other = others.get(one.number)
        if other is not None:
            yield one, other


def _gpus(old: Required, new: Required) -> Iterator[Change]:
    """GPUs that are served in another way, together where they fare alike."""
    moved: dict[tuple[str, str], list[str]] = {}
    for one, other in _served(old, new):
        if one.how != other.how:
            moved.setdefault((one.how, other.how), []).append(f"sm_{one.number}")
    for (before, after), archs in moved.items():
        word = (LOST_PTX if before == "ptx" else LOST_ARCH) if after == _NOTHING else None
        sides = [(how,) if how != _NOTHING else None for how in (before, after)]
        yield Change("gpu", "", ", ".join(archs), sides[0], sides[1], len(archs), word)
