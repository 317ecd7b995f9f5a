"""``stock=12.4``: what that toolkit ships."""

from __future__ import annotations

from ltocompat.facts import drivers
from ltocompat.model.arch import Release
from ltocompat.model.errors import UsageError
from ltocompat.model.target import DriverVersion, Quantifier, System, VersionSet
from ltocompat.targets.versions.drivers import read_driver
from ltocompat.targets.versions.releases import exact_release, known_releases


def stock_release(text: str) -> Release:
    """The toolkit of ``stock=``.

    Raises:
        UsageError: it is no release, or there is none such.
    """
    return exact_release("toolkit", text)


def stock_libraries(release: Release) -> dict[str, VersionSet[Release]]:
    """Its NVRTC, and its nvJitLink from 12.0 on, by their keys."""
    parts = ["nvrtc"]
    if release >= known_releases("nvjitlink")[0]:
        parts.append("nvjitlink")
    version_set = VersionSet(
        str(release), (release,), quantifier=Quantifier.ONE_OF, source=f"stock {release}"
    )
    return dict.fromkeys(parts, version_set)


def stock_driver(release: Release, system: System) -> VersionSet[DriverVersion]:
    """The driver of its first release (GA); of WSL2 that of Windows, which it runs on.

    Raises:
        UsageError: none is known.
    """
    table = "linux" if system.name == "linux" else "windows"
    driver = drivers.stock_driver(release, table)
    if driver is None:
        newest = drivers.driver_branches()[-1]
        raise UsageError(
            f"no page of NVIDIA's in our tables names the driver that comes with CUDA {release} "
            f"for {system}; give one as well, as in cuda={release},driver={newest}"
        )
    return read_driver(str(driver), f"stock {release}")
