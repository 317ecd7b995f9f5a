"""PTX ISA versions, CUDA errors and floors, against NVIDIA's own lists and the samples."""

from __future__ import annotations

import subprocess
import sys

import pytest
import samples
from every_case import every
from newest import NEWEST_PTX

from ltocompat import facts
from ltocompat.facts import rows, table
from ltocompat.facts.drivers import cuda_error, driver_functions
from ltocompat.facts.toolkits import OptixRelease, cuda_ptx, ptx_cuda, removed_names
from ltocompat.model.arch import Release


@pytest.mark.parametrize(
    ("isa", "cuda"),
    [
        ("5.0", "8.0"),
        ("6.5", "10.2"),
        ("7.0", "11.0"),
        ("7.8", "11.8"),
        ("8.4", "12.4"),
        ("8.5", "12.5"),
        ("8.6", "12.7"),
        ("8.7", "12.8"),
        ("9.0", "13.0"),
        ("9.5", "13.5"),
    ],
)
def test_the_cuda_release_of_a_ptx_isa(isa: str, cuda: str) -> None:
    assert ptx_cuda(isa) == Release.parse(cuda)


@pytest.mark.parametrize(
    ("cuda", "isa"),
    [("12.4", "8.4"), ("12.6", "8.5"), ("12.7", "8.6"), ("13.0", "9.0"), ("99.0", NEWEST_PTX)],
)
def test_the_newest_ptx_isa_that_a_release_reads(cuda: str, isa: str) -> None:
    assert cuda_ptx(Release.parse(cuda)) == isa


def test_the_table_is_that_of_cuda_bindings() -> None:
    utils = pytest.importorskip("cuda.bindings.utils")
    code = utils.get_minimal_required_cuda_ver_from_ptx_ver
    for major in range(1, 10):
        for minor in range(10):
            try:
                number = code(f"{major}.{minor}")
            except ValueError:  # newer than this version of cuda.bindings, or no such version
                continue
            assert ptx_cuda(f"{major}.{minor}") == Release(number // 1000, number % 1000 // 10)


def test_compilers_write_the_newest_ptx_isa_of_their_release() -> None:
    found = set()
    for sample in samples.GOOD:
        for image in sample.images:
            if "ptx_isa" in image and "made_by" in image and "hand" not in sample.name:
                for maker in image["made_by"]:
                    found.add((maker, image["ptx_isa"]))
    assert len(found) >= 4
    for maker, isa in found:
        assert cuda_ptx(Release.parse(maker)) == isa


NAMED_BY_RULES = (3, 34, 36, 100, 101, 200, 209, 218, 221, 222, 223, 300, 500, 803, 804, 999)


def test_errors_have_the_names_of_cuda_h() -> None:
    driver = pytest.importorskip("cuda.bindings.driver")
    for number in NAMED_BY_RULES:
        error = cuda_error(number)
        assert error is not None
        assert error.name == driver.CUresult(number).name
    for member in driver.CUresult:
        known = cuda_error(int(member))
        # A newer cuda.bindings may know errors that the table doesn't.
        assert known is None or known.name == member.name


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (35, "CUDA driver version is insufficient for CUDA runtime version"),
        (200, "device kernel image is invalid"),
        (209, "no kernel image is available for execution on the device"),
        (222, "the provided PTX was compiled with an unsupported toolchain"),
        (803, "system has unsupported display driver / cuda driver combination"),
        (804, "forward compatibility was attempted on non supported HW"),
    ],
)
def test_errors_say_what_users_read(number: int, text: str) -> None:
    error = cuda_error(number)
    assert error is not None
    assert error.text == text


@pytest.mark.parametrize(
    ("name", "cuda"),
    [
        ("cuCtxCreate_v3", "11.4"),
        ("cuLibraryLoadData", "12.0"),
        ("cuCtxCreate_v4", "12.5"),
        ("cuMemMap", "10.2"),
    ],
)
def test_the_cuda_release_that_brought_a_function_of_the_driver(name: str, cuda: str) -> None:
    assert driver_functions()[name] == Release.parse(cuda)


def test_an_unknown_error_is_none() -> None:
    assert cuda_error(12345) is None


@every(
    "name, value, measured",
    [
        ("zstd-driver", "550.54.14", False),
        ("zstd-linker", "12.4", True),
        ("new-lto-entry-linker", "12.4", True),
        ("lto-producer", "12.0", True),
        ("unversioned-symbols", "12.3", True),
        ("arch-check-linker", "12.2", True),
        ("suffix-entry-linker", "13.0", True),
        ("generation-2-driver", "580", False),
        ("generation-2-linker-exception", "12.5", True),
        ("linked-ltoir", "13.2", True),
        ("relocatable-lto-linker", "13.3", False),
    ],
)
def test_floors(name: str, value: str, measured: bool) -> None:
    (row,) = (row for row in table("floors")["floor"] if row["name"] == name)
    assert (facts.floor(name), row["measured"]) == (value, measured)
    assert row["source"].startswith("measured: ") == measured


def test_importing_the_loaders_reads_no_table() -> None:
    code = (
        "import sys, tomllib; tomllib.loads = None\n"
        "from ltocompat.facts import drivers, gpus, toolkits\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_removed_names_have_something_instead_and_optix_its_driver() -> None:
    # cuda_runtime_api.h of 13.0 has no cudaThreadSynchronize; libcudart of 12.0 no cudaBindTexture.
    assert str(removed_names()["cudaThreadSynchronize"].last) == "12.9"
    assert str(removed_names()["cudaBindTexture"].last) == "11.8"
    assert all(
        row.instead and row.instead not in removed_names() for row in removed_names().values()
    )
    # OptiX 9.0's headers have ABI 105; its download page asks for R570.
    releases = [(row.abi, row.branch) for row in rows(OptixRelease)]
    assert releases == sorted(releases)
    assert (105, 570) in releases
