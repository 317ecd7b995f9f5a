"""Drivers and cuda-compat: expectations read by hand from NVIDIA's pages."""

from __future__ import annotations

import itertools

import pytest
from newest import from_on

from ltocompat.facts import drivers, rows
from ltocompat.model.arch import Release
from ltocompat.model.target import DriverVersion


def version(text: str) -> DriverVersion:
    return DriverVersion(tuple(map(int, text.split("."))))


@pytest.mark.parametrize(
    ("cuda", "linux", "windows"),
    [
        ("11.0", "450.51.05", "451.48"),
        ("11.8", "520.61.05", "520.06"),
        ("12.0", "525.60.13", "527.41"),
        ("12.4", "550.54.14", "551.61"),
        ("12.8", "570.26", "570.65"),
        ("12.9", "575.51.03", "576.02"),
    ],
)
def test_the_stock_driver_is_that_of_the_first_release(cuda: str, linux: str, windows: str) -> None:
    assert drivers.stock_driver(Release.parse(cuda), "linux") == version(linux)
    assert drivers.stock_driver(Release.parse(cuda), "windows") == version(windows)


@pytest.mark.parametrize("cuda", from_on("13.0"))
def test_no_windows_driver_comes_with_cuda_13(cuda: str) -> None:
    assert drivers.stock_driver(Release.parse(cuda), "windows") is None


def test_the_driver_of_a_release_may_be_known_by_branch_only_or_not_at_all() -> None:
    assert str(drivers.stock_driver(Release(13, 0), "linux")) == "580.65.06"
    assert drivers.stock_driver(Release(13, 4), "linux") == DriverVersion((615,))
    assert drivers.stock_driver(Release(13, 5), "linux") is None
    assert drivers.stock_driver(Release(12, 7), "linux") is None
    assert drivers.stock_driver(Release(10, 2), "linux") is None


def test_rows_rise_with_their_releases() -> None:
    on_linux = [row for row in rows(drivers.ToolkitDriver) if row.linux]
    for older, newer in itertools.pairwise(on_linux):
        assert older.cuda <= newer.cuda
        assert version(older.linux or "") <= version(newer.linux or "")


def test_a_branch_is_one_cuda_release_and_back() -> None:
    branches = drivers.driver_branches()
    assert branches[0] == 450
    assert branches[-1] >= 615
    assert list(branches) == sorted(set(branches))
    for branch in branches:
        cuda = drivers.branch_cuda(branch)
        assert cuda is not None
        assert drivers.cuda_branch(cuda) == branch


@pytest.mark.parametrize(
    ("branch", "cuda"),
    [(450, "11.0"), (525, "12.0"), (550, "12.4"), (565, "12.7"), (580, "13.0"), (615, "13.4")],
)
def test_the_cuda_release_of_a_branch(branch: int, cuda: str) -> None:
    assert drivers.branch_cuda(branch) == Release.parse(cuda)


@pytest.mark.parametrize(
    ("branch", "first"),
    [(525, "525.60.13"), (535, "535.54.03"), (550, "550.54.14"), (580, "580.65.06"), (615, "615")],
)
def test_the_first_driver_of_a_branch(branch: int, first: str) -> None:
    assert str(drivers.first_production(branch)) == first


@pytest.mark.parametrize(("major", "branch"), [(11, 450), (12, 525), (13, 580)])
def test_the_floor_of_a_major(major: int, branch: int) -> None:
    floor = drivers.major_floor(major)
    assert floor is not None
    assert floor.branch == branch


@pytest.mark.parametrize(
    ("package", "branch", "use"),
    [
        ("13.0", 535, "usable"),
        ("13.0", 570, "usable"),
        ("13.0", 580, "native"),
        ("13.0", 590, "none"),
        ("12.4", 535, "usable"),
        ("12.4", 550, None),  # out of support: in no column
        ("12.2", 535, "native"),
        ("12.9", 580, "none"),
        ("11.8", 535, None),
        ("13.5", 580, None),
    ],
)
def test_what_a_compat_package_is_over_a_driver(package: str, branch: int, use: str | None) -> None:
    assert drivers.compat_use(Release.parse(package), branch) == use


def test_the_compat_table_follows_its_rule() -> None:
    """Usable is what is newer than its base; native what is of the same branch."""
    assert {535, 570, 580, 590, 595, 610, 615} <= set(drivers.compat_bases())
    for package, base in itertools.product(drivers.compat_packages(), drivers.compat_bases()):
        built_from = drivers.cuda_branch(package)
        assert built_from is not None
        rule = "native" if built_from == base else "usable" if built_from > base else "none"
        assert drivers.compat_use(package, base) == rule, (package, base)


@pytest.mark.parametrize(
    ("folder", "known"),
    [
        ("/usr/lib/x86_64-linux-gnu", True),
        ("/usr/lib/aarch64-linux-gnu/nvidia", True),
        ("/usr/lib/aarch64-linux-gnu/tegra", True),
        ("/usr/lib/x86_64-linux-gnu/nvidia/current", True),
        ("/usr/lib/nvidia-384", True),
        ("/usr/local/nvidia/lib64", True),
        ("/usr/lib64-nvidia", True),
        ("/usr/lib/wsl/lib", True),
        ("/run/opengl-driver/lib", True),
        ("/nix/store/x-nvidia-x11-550.90.07-6.6.40/lib", True),
        ("/.singularity.d/libs", True),
        ("/usr/local/glibc/usr/lib", True),
        ("/opt/nvidia/current/usr/lib64", True),
        ("/x86_64-bottlerocket-linux-gnu/sys-root/usr/lib/nvidia/tesla", True),
        ("/run/nvidia/driver/usr/lib/x86_64-linux-gnu", True),
        ("/usr/local/cuda-12.9/compat", False),
        ("/usr/lib/nvidia-cuda-toolkit", False),
        ("/usr/lib/python3/dist-packages/nvidia/cuda_runtime/lib", False),
        ("/opt/app", False),
    ],
)
def test_the_folders_of_drivers_on_hosts_and_in_containers(folder: str, known: bool) -> None:
    assert drivers.is_driver_folder(folder) is known
    assert drivers.in_driver_folders(f"{folder}/libcuda.so.1") is known
