"""Values of a message, and what follows of them, on both sides of every bound."""

from __future__ import annotations

import pytest

from ltocompat.rules.message_values import CONDITIONS, derived

Values = dict[str, str]


def has(values: Values, name: str) -> str | None:
    return derived(values).get(name)


@pytest.mark.parametrize(
    ("values", "name", "told"),
    [
        # nvcc takes -arch=native from 11.6 on, CMake from 3.24 on.
        ({"nvcc": "11.5"}, "gpu_arch", "XY"),
        ({"nvcc": "11.6"}, "gpu_arch", "native"),
        ({"nvcc": "11.6", "cmake": "3.23"}, "gpu_arch", "XY"),
        ({"nvcc": "11.6", "cmake": "3.24"}, "gpu_arch", "native"),
        ({}, "gpu_arch", "XY"),
        ({"nvcc": "11.6", "gpu_sm": "80"}, "gpu_arch", "80"),
        # Hopper's first toolkit is 11.8, Volta's last one 12.9.
        ({"nvcc": "11.7", "gpu_sm": "90"}, "gpu_needs", "11.8"),
        ({"nvcc": "11.8", "gpu_sm": "90"}, "gpu_needs", None),
        ({"nvcc": "12.9", "gpu_sm": "70"}, "gpu_needs", None),
        ({"nvcc": "13.0", "gpu_sm": "70"}, "gpu_needs", "12.9"),
        ({"gpu_sm": "70"}, "gpu_needs", None),
        # PyTorch's indexes have code for Pascal up to cu126, for Hopper from cu118 on.
        ({"torch": "12.6", "gpu_sm": "61"}, "gpu_sm_index", None),
        ({"torch": "12.8", "gpu_sm": "61"}, "gpu_sm_index", "cu126"),
        ({"torch": "11.7", "gpu_sm": "90"}, "gpu_sm_index", "cu118"),
        ({"torch": "11.8", "gpu_sm": "90"}, "gpu_sm_index", None),
        ({"gpu_sm": "87"}, "gpu_sm_index", None),
        ({"sm": "80"}, "sm_index", "cu118"),
        ({"sm": "90a"}, "sm_first", "12.0"),
        ({"sm": "90"}, "sm_first", "11.8"),
        ({"sm": "100"}, "sm_first", "12.8"),
        ({"sm": "100f"}, "sm_first", "12.9"),
        ({"sm": "100a"}, "sm_first", "12.8"),
        ({"sm": "87"}, "sm_jetson", "https://pypi.jetson-ai-lab.io"),
        ({"sm": "80"}, "sm_jetson", None),
        ({"gpu_sm": "90", "sm": "90a"}, "same_gpu", ""),
        ({"gpu_sm": "90", "sm": "80"}, "same_gpu", None),
        ({"gpu_sm": "90"}, "same_gpu", None),
        # A driver of CUDA 11 runs any 11.x; of another major its own release and older ones.
        ({"smi": "11.4"}, "driver_index", "cu118"),
        ({"smi": "12.4"}, "driver_index", "cu124"),
        ({"smi": "12.5"}, "driver_index", "cu124"),
        ({"smi": "12.4"}, "driver_next", "580"),
        ({"smi": "12.4"}, "driver_dashed", "12-4"),
        # What a driver calls too new was made by a release newer than its own.
        ({"smi": "12.4", "nvcc": "12.4"}, "made", None),
        ({"smi": "12.4", "nvcc": "12.5"}, "made", "12.5"),
        ({"smi": "12.4", "nvcc": "12.4", "torch": "12.8"}, "made", "12.8"),
        ({"nvcc": "12.4", "torch": "12.8"}, "made", "12.4"),
        ({"major": "11"}, "cu_suffix", "-cu11"),
        ({"major": "12"}, "cu_suffix", "-cu12"),
        ({"major": "13"}, "cu_suffix", ""),
        ({"builtins": "12.4"}, "cu_suffix", "-cu12"),
        ({"ptx": "8.5"}, "cu_suffix", "-cu12"),
        ({}, "cu_suffix", ""),
        # The minors of GCC were releases of their own up to 4.9.
        ({"over": "4.9", "compiler": "gcc"}, "host_is", "gcc 4.8"),
        ({"host": "4.8", "compiler": "gcc"}, "host_is", "gcc 4.8"),
        ({"host": "5.4", "compiler": "gcc"}, "host_is", "gcc 5"),
        ({"host": "12", "compiler": "gcc"}, "host_next_is", "gcc 13"),
        ({"host": "99", "compiler": "gcc"}, "host_next_is", None),
        ({"host": "16", "compiler": "clang"}, "host_is", "clang 15"),
        ({"host": "16", "compiler": "clang"}, "host_command", "clang++-15"),
        ({"compiler": "gcc"}, "host_is", None),
        ({"compiler": "Microsoft C++", "build": "12.3"}, "host_next", "12.4"),
        ({"compiler": "Microsoft C++"}, "host_next", None),
        # A package of the CUDA that the text names; without a name it is that of CUDA 12.
        ({"file": "libcudnn.so.9"}, "file_package", "'nvidia-cudnn-cu12==9.*'"),
        ({"file": "libcudnn.so.9", "torch": "11.8"}, "file_package", "'nvidia-cudnn-cu11==9.*'"),
        ({"file": "libcudnn.so.9", "nvcc": "13.0"}, "file_package", "nvidia-cudnn-cu13"),
        ({"file": "libcudnn.so.9", "nvcc": "13.0"}, "package_note", None),
        ({"file": "libcublas.so.12"}, "file_package", "nvidia-cublas-cu12"),
        ({"file": "libcublas.so.12"}, "file_cuda", "12.9"),
        ({"file": "libnvrtc.so.11.2"}, "file_cuda", "11.8"),
        ({"file": "libx.so"}, "file_package", None),
        ({"symbol": "cuGetProcAddress_v2"}, "symbol_cuda", "12.0"),
        ({"symbol": "cuGetProcAddress_v2"}, "symbol_branch", "525"),
        ({"building": "a"}, "package", "a"),
        ({"file": "a b"}, "file_argument", "'a b'"),
        ({"needs_file": "a b"}, "file_argument", "'a b'"),
        ({"symbol": "x" * 60}, "symbol", "x" * 60),
        ({"symbol": "x" * 61}, "symbol", "x" * 60 + "..."),
        ({"needs_file": "/aaa/" + "c" * 43}, "needs_path", "/aaa/" + "c" * 43),
        ({"needs_file": "/aaa/" + "c" * 44}, "needs_path", ".../" + "c" * 44),
        ({"needs_file": "/aaa/" + "c" * 60}, "needs_path", "..." + "c" * 48),
    ],
)
def test_a_value_follows_from_those_of_the_text(
    values: Values, name: str, told: str | None
) -> None:
    assert has(values, name) == told


@pytest.mark.parametrize(
    ("condition", "values", "holds"),
    [
        # nvcc compresses with Zstandard from 12.8 on; the driver reads it from 550.54 on.
        ("may be Zstandard", {"nvcc": "12.7"}, False),
        ("may be Zstandard", {"nvcc": "12.8"}, True),
        ("may be Zstandard", {"nvcc": "12.8", "torch": "12.6"}, False),
        ("may be Zstandard", {}, True),
        ("driver reads Zstandard", {"driver": "550.40"}, False),
        ("driver reads Zstandard", {"driver": "550.54"}, True),
        ("driver reads Zstandard", {"driver": "535.104"}, False),
        ("driver reads Zstandard", {}, False),
        # Volta came with CUDA 9.0 and went with 13.0.
        ("dropped", {"sm": "70", "build": "8.0"}, False),
        ("dropped", {"sm": "70", "build": "9.0"}, True),
        ("dropped", {"sm": "70"}, True),
        ("dropped", {"sm": "90"}, False),
        ("newer than the tool", {"sm": "70", "build": "8.0"}, True),
        ("newer than the tool", {"sm": "70", "build": "9.0"}, False),
        ("newer than the tool", {"sm": "90"}, True),
        ("newer than the tool", {"sm": "999"}, False),
        ("no such architecture", {"sm": "999"}, True),
        ("no such architecture", {"sm": "90"}, False),
        # The last branch for Kepler is R470, for Volta R580; CUDA 13 begins with R580.
        ("no driver for the GPU", {"gpu_sm": "35", "cuda": "11.8"}, False),
        ("no driver for the GPU", {"gpu_sm": "35", "cuda": "12.0"}, True),
        ("no driver for the GPU", {"gpu_sm": "70", "cuda": "13.0"}, False),
        ("no driver for the GPU", {"gpu_sm": "21", "cuda": "9.2"}, True),
        ("no driver for the GPU", {"gpu_sm": "21"}, True),
        ("no driver for the GPU", {"gpu_sm": "90"}, False),
        ("driver is new enough", {"driver": "580.65", "nvcc": "13.0"}, True),
        ("driver is new enough", {"driver": "575.51", "nvcc": "13.0"}, False),
        ("driver is new enough", {"smi": "12.4", "toolkit": "12.4"}, True),
        ("driver is new enough", {"smi": "13.0"}, True),
        ("driver is new enough", {"smi": "12.9"}, False),
        ("removed", {"symbol": "tex1Dfetch"}, True),
        ("removed", {"symbol": "cuGetProcAddress_v2"}, False),
        # Majors are numbers: a driver of CUDA 9.1 is older than libcudart.so.11.0.
        ("file is newer than the driver", {"major": "11", "smi": "9.1"}, True),
        ("file is newer than the driver", {"major": "12", "smi": "11.4"}, True),
        ("file is newer than the driver", {"major": "12", "smi": "12.0"}, False),
        ("file is newer than the driver", {"major": "9", "smi": "10.2"}, False),
        ("file is newer than the driver", {"major": "12"}, False),
    ],
)
def test_a_condition_holds_from_its_bound_on(condition: str, values: Values, holds: bool) -> None:
    assert CONDITIONS[condition](derived(values)) == holds


def test_a_folder_of_a_package_is_that_of_its_module() -> None:
    for file, module in (("libnvrtc.so.12", "cuda_nvrtc"), ("libcublas.so.13", "cu13")):
        assert f"import nvidia.{module} as m" in derived({"file": file})["package_folder"]
