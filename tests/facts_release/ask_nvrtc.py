"""Asks one NVRTC what it writes: ``python ask_nvrtc.py LIBRARY SOURCE`` prints a JSON object.

It runs as a child with ``sample_artifacts`` in PYTHONPATH: two releases of NVRTC must not share a
process, and the loader finds its builtins in LD_LIBRARY_PATH, which is read once.
"""

from __future__ import annotations

import ctypes
import json
import re
import sys

from shim import Library, nvrtc


def architectures(library: Library) -> list[int]:
    """What nvrtcGetSupportedArchs gives: 75 of sm_75, ascending."""
    count = ctypes.c_int()
    library.call("nvrtcGetNumSupportedArchs", ctypes.byref(count))
    numbers = (ctypes.c_int * count.value)()
    library.call("nvrtcGetSupportedArchs", numbers)
    return sorted(numbers)


def main() -> None:
    path, source = sys.argv[1:]
    library = Library(path)
    major, minor = ctypes.c_int(), ctypes.c_int()
    library.call("nvrtcVersion", ctypes.byref(major), ctypes.byref(minor))
    numbers = architectures(library)
    ask = {"library": path, "source": source, "options": [f"-arch=compute_{numbers[0]}"]}
    ptx = nvrtc({**ask, "want": "PTX"}).decode()
    oldest, newest = (
        nvrtc({**ask, "options": [f"-arch=sm_{number}", "-dlto"], "want": "LTOIR"})
        for number in (numbers[0], numbers[-1])
    )
    isa = re.search(r"^\.version (\d+\.\d+)", ptx, re.MULTILINE)
    assert isa is not None
    answer = {
        "release": f"{major.value}.{minor.value}",
        "architectures": numbers,
        "ptx_isa": isa[1],
        "ltoir_head": oldest[:256].hex(),
        "newest_ltoir_head": newest[:256].hex(),  # of another LLVM than those below sm_100
    }
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
