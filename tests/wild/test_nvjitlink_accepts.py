"""LTO-IR that was cut out is what NVIDIA's own linker takes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import samples
import wheels
from test_real_libraries import CUVS

import ltocompat
from ltocompat import Extracted, ImageFilter, ImageKind

pytestmark = pytest.mark.wild

NVJITLINK = ("nvidia-nvjitlink==13.5.37", "nvidia/cu13/lib/libnvJitLink.so.13")
LTOIR, FATBIN = 3, 4
ONLY_LTOIR = ImageFilter(kinds=frozenset({ImageKind.LTOIR}))

# The library crashes on some inputs, so that it runs in a process of its own.
CHILD = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
options = (ctypes.c_char_p * 2)(b"-lto", f"-arch={sys.argv[2]}".encode())
handle = ctypes.c_void_p()
assert library.nvJitLinkCreate(ctypes.byref(handle), 2, options) == 0
for path in sys.argv[4:]:
    data = open(path, "rb").read()
    print(library.nvJitLinkAddData(handle, int(sys.argv[3]), data, len(data), b"input"))
"""


def accepted(paths: list[str], kind: int, arch: str) -> list[str]:
    library = str(wheels.member(*NVJITLINK))
    command = [sys.executable, "-c", CHILD, library, arch, str(kind), *paths]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def written(place: Path, folder: Path) -> list[Extracted]:
    found = list(ltocompat.extract(place, output=folder, where=ONLY_LTOIR))
    return [record for record in found if isinstance(record, Extracted)]


def test_single_entry_fatbins_of_a_real_library(tmp_path: Path) -> None:
    files = written(wheels.member(*CUVS), tmp_path)
    assert len(files) == 1549
    assert {file.what for file in files} == {"fatbin"}
    some = [extracted.path for extracted in files[::50]]
    assert accepted(some, FATBIN, "sm_90") == ["0"] * len(some)


def test_raw_ltoir_out_of_an_uncompressed_fatbin(tmp_path: Path) -> None:
    """It keeps up to seven zero bytes of padding, since its header has no length."""
    plain = [s for s in samples.GOOD if s.name.startswith("fatbin-ltoir/")]
    plain = [s for s in plain if s.images[0]["compression"] == "none"]
    files = [extracted for s in plain for extracted in written(s.path, tmp_path)]
    assert {file.what for file in files} == {"ltoir"}
    assert accepted([each_file.path for each_file in files], LTOIR, "sm_121a") == ["0"] * len(files)
