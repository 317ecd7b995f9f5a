"""The newest versions in LTO-IR headers that each nvJitLink takes: ``data/ltoir_headers.json``.

``python tests/measure_headers.py`` asks every nvJitLink at hand about LTO-IR of 12.0 with one
byte of its header changed, through its C functions and a process a library, without ltocompat.
"""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
SAMPLE = HERE.parent / "sample_artifacts" / "ltoir" / "nvrtc-12.0-lto_80.ltoir"
STORED = HERE / "data" / "ltoir_headers.json"
# Offsets of the minor versions; of LLVM, that of the major one.
OFFSETS = {"container": 5, "nvvm_ir": 7, "debug": 9, "llvm": 10}
LTOIR = 3


def accepts(library: ctypes.CDLL, data: bytes) -> bool:
    """Whether nvJitLink takes LTO-IR (it looks at the header when it is added)."""
    version = next(
        name
        for major in (13, 12)
        for minor in range(9, -1, -1)
        if hasattr(library, name := f"__nvJitLinkCreate_{major}_{minor}")
    ).removeprefix("__nvJitLinkCreate")
    handle = ctypes.c_void_p()
    options = (ctypes.c_char_p * 2)(b"-arch=sm_80", b"-lto")
    code = library[f"__nvJitLinkCreate{version}"](ctypes.byref(handle), 2, options)
    assert code == 0, code
    add = library[f"__nvJitLinkAddData{version}"]
    code = add(handle, LTOIR, data, ctypes.c_size_t(len(data)), b"x")
    library[f"__nvJitLinkDestroy{version}"](ctypes.byref(handle))
    return int(code) == 0


def newest(library: ctypes.CDLL, field: str) -> int:
    """The highest value of a field that is taken."""
    data = bytearray(SAMPLE.read_bytes())
    found = []
    for value in range(256):
        data[OFFSETS[field]] = value
        if accepts(library, bytes(data)):
            found.append(value)
    return max(found)


def main(libraries: list[str]) -> None:
    """Ask all libraries, or the one that is named."""
    if libraries:
        library = ctypes.CDLL(libraries[0])
        print(json.dumps({field: newest(library, field) for field in OFFSETS}))
        return
    from facts_release.dated import store

    from ltocompat import facts
    from ltocompat.targets.linkers import resolve

    table = {}
    for minor in map(str, facts.nvjitlink_minors()):
        call = [sys.executable, __file__, resolve(minor).path]
        table[minor] = json.loads(subprocess.run(call, check=True, capture_output=True).stdout)
    store(STORED, {"newest": table})


if __name__ == "__main__":
    main(sys.argv[1:])
