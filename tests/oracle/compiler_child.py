"""One compiler library of NVIDIA's, in a process of its own; nothing of ltocompat.

``nvrtc LIBRARY INCLUDES HEADER``: compile a kernel that includes the header. ``nvvm LIBRARY
LIBDEVICE``: compile a kernel that calls libdevice. Ends in 0 where it compiles.
"""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

_IR = """\
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-\
f32:32:32-f64:64:64-v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
declare float @__nv_sinf(float)
declare double @__nv_pow(double, double)
define void @k(float* %o, float %x) {
  %v = call float @__nv_sinf(float %x)
  %d = fpext float %v to double
  %w = call double @__nv_pow(double %d, double %d)
  %f = fptrunc double %w to float
  store float %f, float* %o
  ret void
}
!nvvm.annotations = !{!0}
!0 = !{void (float*, float)* @k, !"kernel", i32 1}
!nvvmir.version = !{!1}
!1 = !{i32 2, i32 0, i32 3, i32 1}
"""


def with_nvrtc(library: ctypes.CDLL, includes: str, header: str) -> int:
    """The status of NVRTC."""
    source = f'#include <{header}>\nextern "C" __global__ void k(float *p) {{ p[0] = 1.0f; }}'
    program = ctypes.c_void_p()
    library.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"k.cu", 0, None, None)
    options = [b"-arch=sm_80", f"-I{includes}".encode()]
    array = (ctypes.c_char_p * len(options))(*options)
    return int(library.nvrtcCompileProgram(program, len(options), array))


def with_nvvm(library: ctypes.CDLL, libdevice: bytes) -> int:
    """The statuses of libNVVM, as one that is 0 where all are."""
    program = ctypes.c_void_p()
    library.nvvmCreateProgram(ctypes.byref(program))
    array = (ctypes.c_char_p * 1)(b"-arch=compute_80")
    ir = _IR.encode()
    status = library.nvvmAddModuleToProgram(program, ir, ctypes.c_size_t(len(ir)), b"k")
    size = ctypes.c_size_t(len(libdevice))
    status |= library.nvvmLazyAddModuleToProgram(program, libdevice, size, b"libdevice")
    return int(status | library.nvvmCompileProgram(program, 1, array))


def main() -> None:
    """Compile, and end in 0 or 1."""
    kind, path, *rest = sys.argv[1:]
    library = ctypes.CDLL(path)
    if kind == "nvrtc":
        sys.exit(bool(with_nvrtc(library, *rest)))
    sys.exit(bool(with_nvvm(library, Path(rest[0]).read_bytes())))


if __name__ == "__main__":
    main()
