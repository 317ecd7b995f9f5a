"""Rules of the catalogue that are not built, and why."""

from __future__ import annotations

from typing import NamedTuple


class LeftOut(NamedTuple):
    """A rule that is not built.

    Attributes:
        id: its ID.
        title: what is wrong, in a few words.
        why: why it is not built, as a sentence.
    """

    id: str
    title: str
    why: str


_MACHINE = "It needs facts of a machine, which no file shows"

LEFT_OUT: tuple[LeftOut, ...] = (
    LeftOut(
        "DRV-05",
        "GPU before Turing with the open kernel module",
        f"{_MACHINE}: whether the kernel module is the open one (/proc/driver/nvidia/version).",
    ),
    LeftOut(
        "PTX-08",
        "PTX compiler of the driver disabled or missing (errors 223 and 221)",
        f"{_MACHINE}: CUDA_DISABLE_PTX_JIT, and whether libnvidia-ptxjitcompiler is installed.",
    ),
    LeftOut(
        "LTO-10",
        "Driver and nvJitLink of different majors under cuda.core or numba-cuda",
        "It needs the source code and the versions of the Python packages that call the linker.",
    ),
    LeftOut(
        "LTO-13",
        "LTO-IR in a newer dialect of LLVM than the linker's",
        "LTO-01 says the same: the dialect is newer only where the compiler is newer, too.",
    ),
    LeftOut(
        "LTO-16",
        "LTO callback of cuFFT newer than nvJitLink",
        "It is LTO-01 of the library and the callback together: check both with --together.",
    ),
    LeftOut(
        "CMP-04",
        "Image that puts cuda-compat in front of every driver",
        f"{_MACHINE} or an image: ld.so.conf.d and LD_LIBRARY_PATH.",
    ),
    LeftOut(
        "CMP-05",
        "Incomplete folder of cuda-compat",
        f"{_MACHINE} or an image: which libraries lie beside libcuda, and their versions.",
    ),
    LeftOut(
        "CMP-06",
        "cuda-compat with OpenGL or Vulkan interoperation",
        "It needs the source code: whether a program shares memory with OpenGL or Vulkan.",
    ),
)
"""All of them, in the order of the catalogue."""
