"""Loads files with libcuda through ctypes, without a line of ltocompat: an oracle for trial loads.

``python tests/plain_loads.py FILE...`` prints a JSON line for each: its name, the code of the first
call that failed (0 for none), and that call. CUDA_MODULE_LOADING applies. A context that a module
has spoilt ends the process; whoever asked starts another for the files that are left.
"""

from __future__ import annotations

import ctypes
import json
import sys
from pathlib import Path

_MOST_FUNCTIONS = 65_536


class Cuda:
    """The driver's functions, and a context on the first GPU."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL("libcuda.so.1")
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self._must("cuInit", 0)
        self._must("cuDeviceGet", ctypes.byref(device), 0)
        self._must("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self._must("cuCtxSetCurrent", context)

    def call(self, name: str, *arguments: object) -> int:
        return int(getattr(self.library, name)(*arguments))

    def _must(self, name: str, *arguments: object) -> None:
        code = self.call(name, *arguments)
        if code:
            raise SystemExit(f"{name} says {code}")

    def load(self, data: bytes) -> tuple[int, str]:
        """Load a module, then every kernel in it; the code and name of the call that failed."""
        module, count = ctypes.c_void_p(), ctypes.c_uint()
        image = ctypes.create_string_buffer(data)  # with a zero byte behind it, as PTX must have
        if code := self.call("cuModuleLoadData", ctypes.byref(module), image):
            return code, "cuModuleLoadData"
        try:
            if code := self.call("cuModuleGetFunctionCount", ctypes.byref(count), module):
                return code, "cuModuleGetFunctionCount"
            functions = (ctypes.c_void_p * min(count.value, _MOST_FUNCTIONS))()
            number = ctypes.c_uint(len(functions))
            if number.value:
                code = self.call("cuModuleEnumerateFunctions", functions, number, module)
                if code:
                    return code, "cuModuleEnumerateFunctions"
            for function in functions:
                if code := self.call("cuFuncLoad", ctypes.c_void_p(function)):
                    return code, "cuFuncLoad"
        finally:
            self.call("cuModuleUnload", module)
        return 0, ""


def main() -> None:
    cuda = Cuda()
    for path in sys.argv[1:]:
        print(json.dumps({"path": path, "code": None}), flush=True)  # it may be the last word
        code, call = cuda.load(Path(path).read_bytes())
        print(json.dumps({"path": path, "code": code, "call": call}), flush=True)
        if cuda.call("cuCtxSynchronize"):
            return


if __name__ == "__main__":
    main()
