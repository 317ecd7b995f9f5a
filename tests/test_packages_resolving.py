"""From dependencies to nvJitLink and NVRTC; expectations are read from published metadata."""

from __future__ import annotations

from pathlib import Path

import pytest
from newest import from_on
from packages_made import conda, wheel
from packaging.markers import Marker
from packaging.version import Version

from ltocompat.facts import linker_wheels, rows
from ltocompat.facts.toolkits import ToolkitPin
from ltocompat.packages.reading import package_of
from ltocompat.packages.resolving import not_at_hand, together, ways_to
from ltocompat.packages.values import Dependency, Kind, Package
from ltocompat.targets.versions.packages import Allowed, allowed, published


def read(path: Path) -> Package:
    found = package_of(str(path))
    assert found is not None
    return found


def admitted(
    folder: Path, *requires: str, part: str = "nvjitlink", extras: tuple[str, ...] = ()
) -> dict[tuple[str, str | None], Allowed]:
    package = read(wheel(folder, {}, requires, extras=extras))
    return {
        key: each_allowed for key, (each_allowed, _) in together(ways_to(part, package)).items()
    }


def names(one: Allowed) -> list[str]:
    return sorted(map(str, one.releases))


def test_a_bare_dependency_admits_all_that_were_published_and_the_next_major(
    tmp_path: Path,
) -> None:
    (one,) = admitted(tmp_path, "nvidia-nvjitlink").values()
    assert names(one) == from_on("13.0")
    assert one.later_major
    assert one.pinned is None


def test_a_name_with_cu12_admits_one_major(tmp_path: Path) -> None:
    (one,) = admitted(tmp_path, "nvidia-nvjitlink-cu12>=12.6").values()
    assert names(one) == ["12.6", "12.8", "12.9"]
    assert not one.later_major


@pytest.mark.parametrize(
    ("specifier", "pinned"),
    [
        ("==12.4.127", "==12.4.127"),
        ("==12.4.*", "==12.4.*"),
        ("==12.*", None),
        (">=12.4,<13", None),
        ("~=12.4", None),
    ],
)
def test_a_pin_is_more_than_a_major(specifier: str, pinned: str | None) -> None:
    found = allowed("nvjitlink", "nvidia-nvjitlink-cu12", (specifier,))
    assert found.pinned == pinned
    assert "12.4" in names(found)


def test_a_lower_bound_beyond_the_tables_is_a_release_too() -> None:
    assert names(allowed("nvjitlink", "nvidia-nvjitlink", (">=13.99,<14",))) == ["13.99"]


# cuda-toolkit 13.0.2 pins ==13.0.88.*, 13.0.3.0 writes >=13.0.88,<14 and leads there by cusparse.
@pytest.mark.parametrize(
    ("toolkit", "releases", "pinned"),
    [
        ("cuda-toolkit[nvjitlink]==13.0.2", ["13.0"], "==13.0.88.*"),
        (
            "cuda-toolkit[nvjitlink]==13.0.3.0",
            from_on("13.0"),
            None,
        ),
        ("cuda-toolkit[cusparse]>=13.3,<14", from_on("13.3"), None),
        ("cuda-toolkit[nvjitlink]==12.9.*", ["12.9"], None),
        ("cuda-toolkit[all]==12.8.1", ["12.8"], "==12.8.93.*"),
    ],
)
def test_cuda_toolkit_leads_to_nvjitlink(
    tmp_path: Path, toolkit: str, releases: list[str], pinned: str | None
) -> None:
    (one,) = admitted(tmp_path, toolkit).values()
    assert names(one) == releases
    assert one.pinned == pinned
    assert not one.later_major


def test_extras_of_cuda_toolkit_decide_what_it_brings(tmp_path: Path) -> None:
    assert not admitted(tmp_path, "cuda-toolkit[cudart]==13.*")
    assert not admitted(tmp_path, "cuda-toolkit==13.*")
    # From 13.0.3.0 on, cublas brings NVRTC, as its own metadata ask.
    assert admitted(tmp_path, "cuda-toolkit[cublas]==13.4.3", part="nvrtc")


def test_what_two_lines_say_holds_together(tmp_path: Path) -> None:
    """As in libcuvs-cu13 26.10.0: the direct line is narrower than cuda-toolkit's."""
    requires = ("cuda-toolkit[cusparse]==13.*", "nvidia-nvjitlink<14,>=13.3")
    package = read(wheel(tmp_path, {}, requires))
    ((one, way),) = together(ways_to("nvjitlink", package)).values()
    assert names(one) == from_on("13.3")
    assert way.line == "Requires-Dist: nvidia-nvjitlink<14,>=13.3"


def test_libraries_of_nvidia_bring_it_too(tmp_path: Path) -> None:
    package = read(wheel(tmp_path, {}, ("nvidia-cusparse-cu12==12.5.10.65",)))
    (way,) = ways_to("nvjitlink", package)
    assert way.package == "nvidia-nvjitlink-cu12"
    assert way.line.endswith("nvidia-cusparse-cu12==12.5.10.65 -> nvidia-nvjitlink-cu12")


def test_an_extra_is_told_apart(tmp_path: Path) -> None:
    """As in cupy-cuda13x: everything of CUDA comes with [ctk]."""
    requires = ("numpy", 'cuda-toolkit[nvrtc]==13.*; extra == "ctk"')
    found = admitted(tmp_path, *requires, part="nvrtc", extras=("ctk", "test"))
    assert list(found) == [("nvidia-cuda-nvrtc", "ctk")]


def test_markers_of_another_system_do_not_count(tmp_path: Path) -> None:
    requires = ('nvidia-nvjitlink; sys_platform == "win32"', "numpy; python_version < '3'")
    assert not admitted(tmp_path, *requires)
    arm = ('nvidia-nvjitlink; platform_machine == "aarch64"',)
    assert not admitted(tmp_path, *arm)
    package = read(wheel(tmp_path, {}, arm, tag="py3-none-manylinux_2_28_aarch64"))
    assert ways_to("nvjitlink", package)


def test_packages_at_hand_are_followed(tmp_path: Path) -> None:
    package = read(wheel(tmp_path, {}, ("liby-cu13[jit]==1.*",)))
    requires = ('nvidia-nvjitlink>=13.2,<14; extra == "jit"',)
    other = read(wheel(tmp_path, {}, requires, name="liby-cu13", extras=("jit",)))
    assert not ways_to("nvjitlink", package)
    assert not_at_hand(package) == ("liby-cu13",)
    (way,) = ways_to("nvjitlink", package, (other,))
    assert way.line == (
        'Requires-Dist: liby-cu13[jit]==1.* -> nvidia-nvjitlink>=13.2,<14; extra == "jit"'
    )
    assert way.extra is None
    assert not_at_hand(package, (other,)) == ()


def test_packages_of_nvidia_are_known_with_what_they_bring(tmp_path: Path) -> None:
    """cuFFTMp depends on NVSHMEM, which depends on headers alone; cuDNN leads to NVRTC."""
    package = read(wheel(tmp_path, {}, ("nvidia-nvshmem-cu12", "nvidia-cuda-cccl-cu12", "torch")))
    assert not_at_hand(package) == ("torch",)
    assert ways_to("nvjitlink", package) == ()
    (way,) = ways_to("nvrtc", read(wheel(tmp_path, {}, ("nvidia-cudnn-cu13>=9",))))
    assert (way.package, way.line) == (
        "nvidia-cuda-nvrtc",
        "Requires-Dist: nvidia-cudnn-cu13>=9 -> nvidia-cuda-nvrtc",
    )
    (way,) = ways_to("nvrtc", read(wheel(tmp_path, {}, ("nvidia-libmathdx-cu12",))))
    assert way.package == "nvidia-cuda-nvrtc-cu12"


def test_packages_that_depend_on_each_other_end(tmp_path: Path) -> None:
    package = read(wheel(tmp_path, {}, ("liby",)))
    other = read(wheel(tmp_path, {}, ("libx", "nvidia-nvjitlink"), name="liby"))
    assert {way.package for way in ways_to("nvjitlink", package, (package, other))} == {
        "nvidia-nvjitlink"
    }


def test_cuda_version_bounds_what_conda_installs(tmp_path: Path) -> None:
    path = conda(tmp_path, {}, ("libnvjitlink", "cuda-version >=12.6,<13"))
    ((one, way),) = together(ways_to("nvjitlink", read(path))).values()
    assert names(one) == ["12.6", "12.8", "12.9"]
    assert not one.later_major
    assert way.line == "depends: libnvjitlink"


def test_metapackages_of_conda_have_the_version_of_their_toolkit(tmp_path: Path) -> None:
    """cuda-libraries 13.2.2 depends on libnvjitlink 13.2.86 (its recipe on conda-forge)."""
    ((one, _),) = together(
        ways_to("nvjitlink", read(conda(tmp_path, {}, ("cuda-libraries 13.2.2",))))
    ).values()
    assert (names(one), one.pinned, one.later_major) == (["13.2"], "==13.2.2", False)
    ((one, _),) = together(
        ways_to("nvrtc", read(conda(tmp_path, {}, ("cuda-toolkit >=12.8,<13",))))
    ).values()
    assert (names(one), one.pinned) == (["12.8", "12.9"], None)


def test_what_conda_only_constrains_is_not_installed(tmp_path: Path) -> None:
    path = conda(tmp_path, {}, ("cuda-version >=12",), ("libnvjitlink >=12.9",))
    (way,) = ways_to("nvjitlink", read(path))
    assert way.only_limits
    assert "12.8" not in names(way.allowed)


def test_the_versions_of_the_two_tables_agree() -> None:
    """Every nvJitLink that cuda-toolkit pins was published."""
    wheels = {nvjitlink_wheel.version for nvjitlink_wheel in linker_wheels("nvjitlink")}
    assert {version for _, version in published("nvjitlink")} == wheels


def test_pins_are_ranges_from_the_versions_on_that_nvidia_changed() -> None:
    """12.8.2.0, 12.9.2.0, 13.0.3.0, 13.1.2.0, and all from 13.2.1 on."""
    pins = [pin for pin in rows(ToolkitPin) if pin.part == "nvjitlink"]
    ranges = {pin.toolkit for pin in pins if ">=" in pin.specifier}
    later = {pin.toolkit for pin in pins if Version(pin.toolkit) >= Version("13.2.1")}
    assert ranges == {"12.8.2.0", "12.9.2.0", "13.0.3.0", "13.1.2.0"} | later


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
