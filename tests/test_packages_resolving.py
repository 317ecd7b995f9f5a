"""From dependencies to nvJitLink and NVRTC; expectations are read from published metadata."""

from __future__ import annotations

from pathlib import Path

import pytest
from newest import from_on
from packages_made import conda, wheel
from packaging.markers import Marker

from ltocompat.facts import linker_wheels
from ltocompat.model.limits import Budget
from ltocompat.packages.reading import package_of
from ltocompat.packages.resolving import not_at_hand, together, ways_to
from ltocompat.packages.values import Dependency, Kind, Package
from ltocompat.targets.versions.packages import Allowed, allowed, published


def read(path: Path) -> Package:
    found = package_of(str(path))
    assert found is not None
    return found


def names(one: Allowed) -> list[str]:
    return sorted(map(str, one.releases))


def test_a_lower_bound_beyond_the_tables_is_a_release_too() -> None:
    assert names(allowed("nvjitlink", "nvidia-nvjitlink", (">=13.99,<14",))) == ["13.99"]


def test_what_two_lines_say_holds_together(tmp_path: Path) -> None:
    """As in libcuvs-cu13 26.10.0: the direct line is narrower than cuda-toolkit's."""
    requires = ("cuda-toolkit[cusparse]==13.*", "nvidia-nvjitlink<14,>=13.3")
    package = read(wheel(tmp_path, {}, requires))
    (way,) = together(ways_to("nvjitlink", package))
    assert names(way.allowed) == from_on("13.3")
    assert way.line == "Requires-Dist: nvidia-nvjitlink<14,>=13.3"


def test_packages_of_nvidia_are_known_with_what_they_bring(tmp_path: Path) -> None:
    """cuFFTMp depends on NVSHMEM, which depends on headers alone; cuDNN leads to NVRTC."""
    package = read(wheel(tmp_path, {}, ("nvidia-nvshmem-cu12", "nvidia-cuda-cccl-cu12", "torch")))
    assert not_at_hand(package, (), Budget()) == ("torch",)
    assert ways_to("nvjitlink", package) == ()
    (way,) = ways_to("nvrtc", read(wheel(tmp_path, {}, ("nvidia-cudnn-cu13>=9",))))
    assert (way.package, way.line) == (
        "nvidia-cuda-nvrtc",
        "Requires-Dist: nvidia-cudnn-cu13>=9 -> nvidia-cuda-nvrtc",
    )
    (way,) = ways_to("nvrtc", read(wheel(tmp_path, {}, ("nvidia-libmathdx-cu12",))))
    assert way.package == "nvidia-cuda-nvrtc-cu12"


def test_metapackages_of_conda_have_the_version_of_their_toolkit(tmp_path: Path) -> None:
    """cuda-libraries 13.2.2 depends on libnvjitlink 13.2.86 (its recipe on conda-forge)."""
    (way,) = together(ways_to("nvjitlink", read(conda(tmp_path, {}, ("cuda-libraries 13.2.2",)))))
    one = way.allowed
    assert (names(one), one.pinned, one.later_major) == (["13.2"], "==13.2.2", False)
    (way,) = together(ways_to("nvrtc", read(conda(tmp_path, {}, ("cuda-toolkit >=12.8,<13",)))))
    one = way.allowed
    assert (names(one), one.pinned) == (["12.8", "12.9"], None)


def test_the_versions_of_the_two_tables_agree() -> None:
    """Every nvJitLink that cuda-toolkit pins was published."""
    wheels = {nvjitlink_wheel.version for nvjitlink_wheel in linker_wheels("nvjitlink")}
    assert {version for _, version in published("nvjitlink")} == wheels


MARKERS = (
    "extra == 'cu12'",
    '"cu12" == extra',
    "extra=='CU_12' or extra == 'b'",
    "extra == 'cu12' and sys_platform == 'win32'",
    "extra != 'cu12' and extra != ''",
    "extra in 'cu12 b'",
    "extra == 'b' and extra not in 'a'",
    "extra == 'a' and python_version >= '3.8' or 'b' == extra",
    "extra == 'absent'",
    "extra == 'cu12' or sys_platform == 'extra'",
)


@pytest.mark.parametrize("marker", MARKERS)
def test_an_extra_brings_what_a_marker_says_of_it(marker: str) -> None:
    """As ``packaging`` evaluates the marker with no extra, and with each by itself."""
    extras = ("a", "b", "cu12", "cu-12")
    package = Package(
        kind=Kind.WHEEL,
        path="p.whl",
        name="p",
        requires=(Dependency("nvidia-nvjitlink", ("",), "Requires-Dist: it", marker=marker),),
        extras=extras,
    )
    environment = {"sys_platform": "linux", "python_version": "3.11"}
    holds = [
        extra for extra in ("", *extras) if Marker(marker).evaluate({**environment, "extra": extra})
    ]
    wanted = [None] if "" in holds else holds
    assert [way.extra for way in ways_to("nvjitlink", package)] == wanted
