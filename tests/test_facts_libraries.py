"""The table of NVIDIA's packages of libraries: whole, and as other tables and wheels have them."""

from __future__ import annotations

import posixpath
import re
from itertools import product

from packaging.version import Version

from ltocompat.facts import linker_wheels, rows
from ltocompat.facts.libraries import (
    folders_of,
    library_packages,
    packages_with,
    toolkit_majors,
    toolkit_packages,
)
from ltocompat.facts.toolkits import ToolkitPin
from ltocompat.model.library_name import library_major, library_name

ROWS = [row for rows in library_packages().values() for row in rows]
# What NVIDIA's packages ask for that is not NVIDIA's, or a metapackage, or (by nvidia-cudss-cu13
# 0.7.0.20) a name that NVIDIA only keeps from others.
OTHERS = {"cuda-toolkit", "setuptools", "wheel", "libucx-cu12", "nvidia-cublas-cu13", "numpy"} | {
    # Of cuquantum-python, whose own libraries are extension modules.
    *("cuda-bindings", "cuda-pathfinder", "nvmath-python"),
    *("cupy-cuda11x", "cupy-cuda12x", "cupy-cuda13x"),
}


def test_every_row_is_of_one_major_version_and_every_file_a_library() -> None:
    for row in ROWS:
        assert Version(row.first).major == Version(row.last).major == row.major, row
        assert Version(row.first) <= Version(row.last), row
        assert set(row.platforms) <= {"linux-x86_64", "linux-aarch64", "win-amd64"}, row
        endings = {"dll"} if row.platforms == ("win-amd64",) else {"so"}
        for file in row.files:
            (kind,) = re.findall(r"\.(so|dll)(?:\.\d+)*$", file)
            assert kind in endings, row
        names = list(map(posixpath.basename, row.files))
        # A package that moved its files, or brings those of several architectures, has them twice.
        assert len(set(names)) * 3 >= len(names), row
        assert all(row in packages_with(name) for name in names), row


def test_whatever_a_package_asks_for_is_in_the_table_too() -> None:
    names = {require.partition("[")[0] for row in ROWS for require in row.requires}
    assert names - library_packages().keys() == OTHERS
    by_extra = {package for major in toolkit_majors() for package in toolkit_packages(major, "all")}
    assert len(by_extra) > 40
    assert by_extra <= library_packages().keys()


def test_nvjitlink_lies_where_the_table_of_its_wheels_has_it() -> None:
    for wheel in linker_wheels("nvjitlink"):
        rows = [row for row in library_packages()[wheel.package] if wheel.platform in row.platforms]
        assert any(wheel.member in row.files for row in rows), wheel


def test_extras_of_cuda_toolkit_lead_where_the_table_of_its_pins_has_it() -> None:
    for pin in rows(ToolkitPin):
        major = Version(pin.toolkit).major
        for extra in pin.extras:
            assert pin.package in toolkit_packages(major, extra), pin


def test_file_names_lead_to_the_packages_that_bring_them() -> None:
    """As seen by unzip -l of the wheels: two majors, Linux and Windows, letters of any case."""
    for file, package, folder in (
        ("libcublas.so.12", "nvidia-cublas-cu12", "nvidia/cublas/lib"),
        ("libcublasLt.so.13", "nvidia-cublas", "nvidia/cu13/lib"),
        ("libcufft.so.11", "nvidia-cufft-cu12", "nvidia/cufft/lib"),
        ("libcudart.so.11.0", "nvidia-cuda-runtime-cu11", "nvidia/cuda_runtime/lib"),
        ("CUBLAS64_13.DLL", "nvidia-cublas", "nvidia/cu13/bin/x86_64"),
        ("cudart64_12.dll", "nvidia-cuda-runtime-cu12", "nvidia/cuda_runtime/bin"),
    ):
        (row,) = {row.name: row for row in packages_with(file)}.values()
        assert row.name == package
        assert folders_of(row, file) == {folder}
    names = {row.name for row in packages_with("libcudnn.so.9")}
    assert names == {f"nvidia-cudnn{kind}-cu{n}" for kind in ("", "-jit") for n in (12, 13)} | {
        "nvidia-cudnn-cu11"
    }
    for file in ("libcuda.so.1", "libcublas.so", "libz.so.1", "libOpenCL.so.1", "nvcuda.dll", ""):
        assert packages_with(file) == ()


def test_header_only_packages_bring_nothing() -> None:
    for name in ("nvidia-cuda-cccl", "nvidia-cuda-cccl-cu12", "nvidia-cuda-crt", "nvidia-nvml-dev"):
        assert all(not row.files for row in library_packages()[name]), name


def test_their_names_are_those_of_libraries_of_cuda() -> None:
    """So that they are found in the data of programs; plugins of libraries are left out."""
    files = {posixpath.basename(path) for row in ROWS for path in row.files}
    unknown = {file for file in files if library_name(file) is None}
    plugin = re.compile(r"(lib)?cudss_[a-z]+layer_.*|nvshmem_(bootstrap|transport)_.*|nvperf_.*")
    assert {file for file in unknown if not plugin.match(file)} == {
        "nvcomp_cpu64_5.dll",
        "nvcomp_cpu64_6.dll",
    }


def test_a_file_of_windows_has_the_major_of_its_twin_on_linux() -> None:
    """Toolkits before CUDA 12 write cudart64_110.dll beside libcudart.so.11.0."""
    majors: dict[tuple[str, int, str], dict[str, set[int]]] = {}
    for row in ROWS:
        for file in map(posixpath.basename, row.files):
            name, major = library_name(file), library_major(file)
            if name is not None and major is not None:
                twins = majors.setdefault((row.name, row.major, name), {})
                twins.setdefault("dll" if file.endswith("dll") else "so", set()).add(major)
    both = {key: twins for key, twins in majors.items() if len(twins) == 2}
    assert len(both) > 50
    for key, twins in both.items():
        assert twins["dll"] == twins["so"], key


def test_runtimes_of_old_toolkits_have_their_major_on_windows() -> None:
    """The minor belongs to the name before CUDA 12; delvewheel adds a hash."""
    releases = ["6.5", "7.5", "8.0", "9.0", "9.2", "10.0", "10.2", "11.0", "12", "13"]
    for release, bits, copy in product(releases, (32, 64), ("", f"-{'0f' * 16}")):
        name = f"cudart{bits}_{release.replace('.', '')}{copy}.dll"
        assert library_major(name) == int(release.partition(".")[0]), name
