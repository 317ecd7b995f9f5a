"""Questions that only the driver itself can answer; a program of its own, as it loads libcuda.

Prints one JSON object: ``cuda`` (cuDriverGetVersion, 13000 for 13.0), ``libcuda`` (the file that
was loaded), ``driver`` (of the kernel, by NVML) and ``gpus`` ([name, major, minor] each). What
fails is left out. It imports nothing of ltocompat, so that it runs with any Python.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from typing import Any

_NAME_BYTES = 96  # nvml.h, NVML_DEVICE_NAME_V2_BUFFER_SIZE


def _libcuda() -> dict[str, Any]:
    """Needs no GPU: cuDriverGetVersion works without cuInit."""
    library = ctypes.CDLL("libcuda.so.1")
    answer: dict[str, Any] = {}
    version = ctypes.c_int()
    if library.cuDriverGetVersion(ctypes.byref(version)) == 0 and version.value > 0:
        answer["cuda"] = version.value
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        for line in maps:
            path = line.rstrip("\n").partition("/")[2]
            if os.path.basename(path).startswith("libcuda.so"):
                answer["libcuda"] = f"/{path}"
                break
    return answer


def _nvml() -> dict[str, Any]:
    library = ctypes.CDLL("libnvidia-ml.so.1")
    if library.nvmlInit_v2() != 0:
        return {}
    answer: dict[str, Any] = {"gpus": []}
    text = ctypes.create_string_buffer(_NAME_BYTES)
    if library.nvmlSystemGetDriverVersion(text, _NAME_BYTES) == 0:
        answer["driver"] = text.value.decode("utf-8", "replace")
    count = ctypes.c_uint()
    library.nvmlDeviceGetCount_v2(ctypes.byref(count))
    for index in range(count.value):
        device, major, minor = ctypes.c_void_p(), ctypes.c_int(), ctypes.c_int()
        if library.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(device)) != 0:
            continue
        library.nvmlDeviceGetName(device, text, _NAME_BYTES)
        name = text.value.decode("utf-8", "replace")
        # Since driver 510.
        library.nvmlDeviceGetCudaComputeCapability(device, ctypes.byref(major), ctypes.byref(minor))
        answer["gpus"].append([name, major.value, minor.value])
    return answer


def main() -> int:
    """Print the facts that can be determined."""
    answer: dict[str, Any] = {}
    for ask in (_libcuda, _nvml):
        try:
            answer |= ask()
        except (OSError, AttributeError) as error:
            print(f"{ask.__name__}: {error}", file=sys.stderr)  # noqa: T201 - a program's output
    print(json.dumps(answer))  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
