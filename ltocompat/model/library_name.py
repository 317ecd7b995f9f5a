"""Names of CUDA libraries' files, on Linux and Windows, and of the ways they are loaded."""

from __future__ import annotations

import re

LDSO = "ld.so"
PATHFINDER = "cuda-pathfinder"
"""The two ways of loading a library that are judged: dlopen by soname, and by cuda-python."""

_LINUX_NAME = re.compile(
    # auditwheel puts a hash into the names of libraries that it copies: libcudart-d0da41ae.so.11.0.
    r"(lib(?:cuda|cudart|nvrtc|nvJitLink|nvrtc-builtins|nvvm|nvfatbin|nvptxcompiler|cudadevrt))"
    r"(?:-[0-9a-f]{8})?(?:\.alt)?(?:\.so(?:\.\d{1,9}){0,3}|\.a)"
)
_WINDOWS_NAME = re.compile(
    r"(?:(nvcuda)|(cudart|nvrtc-builtins|nvrtc|nvvm)(?:32|64)_\d{1,9}(?:_\d{1,9})?"
    r"|(nvJitLink|nvfatbin|nvptxcompiler)_\d{1,9}_\d{1,9})(?:-[0-9a-f]{32})?(?:\.alt)?\.dll",
    re.IGNORECASE,
)
_WINDOWS_LIBRARIES = {
    "nvcuda": "libcuda",
    "cudart": "libcudart",
    "nvrtc": "libnvrtc",
    "nvrtc-builtins": "libnvrtc-builtins",
    "nvvm": "libnvvm",
    "nvjitlink": "libnvJitLink",
    "nvfatbin": "libnvfatbin",
    "nvptxcompiler": "libnvptxcompiler",
}


def library_name(file: str) -> str | None:
    """``libnvrtc`` of ``libnvrtc.so.13`` or ``nvrtc64_130_0.dll``; None for any other file."""
    linux = _LINUX_NAME.fullmatch(file)
    if linux:
        return linux[1]
    windows_name = _WINDOWS_NAME.fullmatch(file)
    if windows_name is None:
        return None
    return _WINDOWS_LIBRARIES[next(part for part in windows_name.groups() if part).lower()]
