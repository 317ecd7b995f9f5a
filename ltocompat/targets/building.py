"""Keys and values -> a ``Target``: explicit keys beat the lock, the lock beats stock."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from ltocompat.facts import drivers
from ltocompat.facts.gpus import arm_only
from ltocompat.facts.horizon import position
from ltocompat.model.arch import Release
from ltocompat.model.errors import UsageError
from ltocompat.model.limits import Budget
from ltocompat.model.target import DriverVersion, Gpu, Quantifier, System, Target, VersionSet
from ltocompat.targets.gpu_groups import gpus_named
from ltocompat.targets.inline import EXAMPLE
from ltocompat.targets.systems import MarkerEnvironment, read_system
from ltocompat.targets.versions.drivers import read_driver
from ltocompat.targets.versions.releases import exact_release, known_releases, read_releases

_LIBRARIES = ("compat", "nvjitlink", "nvrtc", "nvlink")


class ValueOrigin(Struct, frozen=True):
    """The origin of the keys of a target.

    Attributes:
        source: the value of ``VersionSet.source``: ``given``, ``prod.toml``.
        folder: the folder to which the path of a lock is relative.
        budget: the budget for reading their locks.
    """

    source: str
    folder: str
    budget: Budget = field(default_factory=Budget)


_Libraries = Mapping[str, VersionSet[Release]]


def build(
    name: str, keys: Mapping[str, str], origin: ValueOrigin, libraries: _Libraries | None = None
) -> Target:
    """Return the target of these keys.

    Args:
        name: its name, unless the keys name it.
        keys: keys from ``inline.KEYS``, with values as in the inline form.
        origin: the origin of the keys.
        libraries: libraries that are known otherwise, by their keys, which override a lock.

    Raises:
        UsageError: a value is invalid, a lock can't be read, or the driver of a toolkit is unknown.
    """
    if not keys.keys() - {"name", "python"}:
        raise UsageError(f"{name!r} is not a key of a deploy target; write {EXAMPLE}")
    system = read_system(keys["os"]) if "os" in keys else System()
    if "python" in keys:
        MarkerEnvironment.of(system, keys["python"])  # raises where it is not a version
    driver = _driver(keys, system, origin)
    gpus = _gpus(keys["gpu"], system, driver) if "gpu" in keys else ()
    if gpus and "os" not in keys and all(gpu.arm or arm_only(gpu.arch.number) for gpu in gpus):
        system = System(machine="aarch64")
    known: dict[str, VersionSet[Any]] = {"driver": driver} if driver else {}
    known |= _libraries(keys, system, origin, libraries or {})
    by_files = "stock" in keys and not keys.keys() & {"driver", "container", "os"}
    sources = {key: origin.source for key in ("os", "gpu", "lto") if key in keys}
    sources |= {key: part.source for key, part in known.items()}
    target = Target(
        name=keys.get("name", name),
        system=system,
        lto=keys.get("lto") != "off",
        gpus=gpus,
        sources=tuple(sorted(sources.items())),
        by_files=by_files,
        windows_driver=_stock_on_windows(keys["stock"]) if by_files else None,
    )
    return replace(target, **known)


def _stock_on_windows(text: str) -> VersionSet[DriverVersion] | None:
    """The driver that comes with a toolkit on Windows; since 13.0 there is none."""
    with suppress(UsageError):
        return stock_driver(exact_release("toolkit", text), System("windows"))
    return None


def _driver(
    keys: Mapping[str, str], system: System, origin: ValueOrigin
) -> VersionSet[DriverVersion] | None:
    if "driver" in keys and "container" in keys:
        raise UsageError("driver= and container= both name the drivers; give one of them")
    if "driver" in keys:
        return read_driver(keys["driver"], origin.source)
    if "container" in keys:
        from ltocompat.targets.versions.container import read_container

        return read_container(keys["container"], origin.source)
    if "stock" in keys:
        return stock_driver(exact_release("toolkit", keys["stock"]), system)
    return None


def _libraries(
    keys: Mapping[str, str], system: System, origin: ValueOrigin, otherwise: _Libraries
) -> dict[str, VersionSet[Release]]:
    found: dict[str, VersionSet[Release]] = {}
    if "stock" in keys:
        found |= stock_libraries(exact_release("toolkit", keys["stock"]))
    if "lock" in keys:
        from ltocompat.targets.lockfiles import locked_libraries

        path = os.path.normpath(os.path.join(origin.folder, keys["lock"]))
        found |= locked_libraries(path, system, keys.get("python"), origin.budget)
    found |= otherwise
    given = (key for key in _LIBRARIES if key in keys)
    return found | {key: read_releases(key, keys[key], origin.source) for key in given}


def _gpus(text: str, system: System, driver: VersionSet[DriverVersion] | None) -> tuple[Gpu, ...]:
    names = [name.strip() for name in text.split("+")]
    if not all(names):
        raise UsageError(f"gpu={text} has an empty name; join names with +: gpu=h100+sm_80")
    return tuple(dict.fromkeys(gpu for name in names for gpu in gpus_named(name, system, driver)))


def stock_libraries(release: Release) -> dict[str, VersionSet[Release]]:
    """Return the toolkit's NVRTC, and its nvJitLink from 12.0 on, by their keys."""
    parts = ["nvrtc"]
    if release >= known_releases("nvjitlink")[0]:
        parts.append("nvjitlink")
    version_set = VersionSet(
        str(release), (release,), quantifier=Quantifier.ONE_OF, source=f"stock {release}"
    )
    return dict.fromkeys(parts, version_set)


def stock_driver(release: Release, system: System) -> VersionSet[DriverVersion]:
    """Return the driver of its first release (GA); for WSL2, the Windows driver.

    Raises:
        UsageError: none is known.
    """
    driver = drivers.stock_driver(release, "linux" if system.name == "linux" else "windows")
    if driver is None:
        newest = drivers.driver_branches()[-1]
        around = position(release, known_releases("toolkit"))
        gap = around.below and around.above and not around.known
        between = f", which is between {around.below} and {around.above}," if gap else ""
        raise UsageError(
            f"CUDA {release}{between} has no known driver for {system}; add a driver, as "
            f"in cuda={release},driver={newest}"
        )
    return read_driver(str(driver), f"stock {release}")
