"""Names of CUDA libraries' files, on Linux and Windows, and of the ways they are loaded."""

from __future__ import annotations

import re

LDSO = "ld.so"
PATHFINDER = "cuda-pathfinder"
# The two loading methods that are checked: dlopen by soname, and cuda-python.
NVJITLINK = "libnvJitLink"

_LINUX_NAME = (
    # auditwheel puts a hash into the names of libraries that it copies: libcudart-d0da41ae.so.11.0.
    r"(lib(?:cuda|cudart|nvrtc|nvJitLink|nvrtc-builtins|nvvm|nvfatbin|nvptxcompiler|cudadevrt))"
    r"(?:-[0-9a-f]{8})?(?:\.alt)?(?:\.so(?:\.[0-9]{1,9}){0,3}|\.a)"
)
# Libraries that link or compile device code are above; below are those that programs call. Their
# names count with a version alone: files without one come with toolkits, for linkers.
_CALLED = (
    r"cublas(?:Lt)?|cufftw?|curand|cusolver(?:Mg)?|cusparse(?:Lt)?|cudnn(?:_[a-z_]{1,30})?|cupti|"
    r"npp[a-z]{1,6}|nvjpeg(?:2k)?|nvtiff|nvcomp|cutensor(?:M[gp])?|cudss|nvblas|nvimgcodec|mathdx"
)
_ON_LINUX_ALONE = (
    r"nccl|nvToolsExt|nvtx3interop|nvshmem_host|cufile(?:_rdma)?|cublasmp|cusolverMp|cufftMp|cudla|"
    r"cutensornet|custatevec|custabilizer|cudensitymat|cupauliprop|nvcomp_cpu|cal"
)
_LINUX_CALLED = (
    rf"(lib(?:{_CALLED}|{_ON_LINUX_ALONE}))(?:-[0-9a-f]{{8}})?\.so(?:\.[0-9]{{1,9}}){{1,3}}"
)
_WINDOWS_CALLED = (
    rf"({_CALLED})(?:(?:64)?_[0-9]{{1,9}}(?:\.[0-9]{{1,9}}){{0,3}})?(?:-[0-9a-f]{{32}})?\.dll"
)
_WINDOWS_NAME = (
    r"(?:(nvcuda)|(cudart|nvrtc-builtins|nvrtc|nvvm)(?:32|64)_[0-9]{1,9}(?:_[0-9]{1,9})?"
    r"|(nvJitLink|nvfatbin|nvptxcompiler)_[0-9]{1,9}_[0-9]{1,9})(?:-[0-9a-f]{32})?(?:\.alt)?\.dll"
)
# Those whose names on Linux differ in more than a prefix.
_WINDOWS_LIBRARIES = {"nvcuda": "libcuda", "nvjitlink": "libnvJitLink"}

# Toolkits before CUDA 12 write the minor, too: cudart64_110.dll, cublas64_92.dll, cudart64_12.dll.
_MAJOR = r"\.so\.([0-9]{1,9})|_([0-9]{1,9})[0-9]_[0-9]|(?:32|64)_(1[0-9]|[1-9])[0-9]?(?![0-9_])"


def library_name(file: str) -> str | None:
    """Return ``libnvrtc`` for ``libnvrtc.so.13`` or ``nvrtc64_130_0.dll``; None for other files."""
    linux = re.fullmatch(_LINUX_NAME, file) or re.fullmatch(_LINUX_CALLED, file)
    if linux:
        return linux[1]
    if called := re.fullmatch(_WINDOWS_CALLED, file, re.IGNORECASE):
        return f"lib{called[1]}"
    windows_name = re.fullmatch(_WINDOWS_NAME, file, re.IGNORECASE)
    if windows_name is None:
        return None
    name = next(part for part in windows_name.groups() if part).lower()
    return _WINDOWS_LIBRARIES.get(name, f"lib{name}")


def library_major(file: str) -> int | None:
    """Return 12 for ``libnvrtc.so.12`` and ``nvrtc64_120_0.dll``; None without a major."""
    match = re.search(_MAJOR, file, re.IGNORECASE)
    return int(match[1] or match[2] or match[3]) if match else None
