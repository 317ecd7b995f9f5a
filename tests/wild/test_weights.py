"""What a released wheel weighs, held against readelf, and against NVIDIA's own fatbinary."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import cuobjdump
import pytest
import wheels

import ltocompat
from ltocompat import Waste

pytestmark = pytest.mark.wild

WHEEL = "torchaudio==2.11.0"
LIBRARIES = ("torchaudio/lib/libtorchaudio.abi3.so", "torchaudio/lib/torchaudio_prefixctc.abi3.so")
REGION_HEADER = 16


def section_size(path: Path) -> int:
    command = ["readelf", "-SW", str(path)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    sizes = re.findall(r" \.nv_fatbin +PROGBITS +[0-9a-f]+ [0-9a-f]+ ([0-9a-f]+)", text)
    return sum(int(size, 16) for size in sizes)


def rebuilt(library: Path, folder: Path) -> int:
    """Bytes of one fatbin of all images of a library, compressed as nvcc does by default."""
    for option in ("-xelf", "-xptx"):
        cuobjdump.run(option, "all", library, cwd=folder).check_returncode()
    images = []
    for path in sorted(folder.iterdir()):
        kind = "elf" if path.suffix == ".cubin" else "ptx"
        text = path.name if kind == "elf" else path.read_text("utf-8")
        (number, *_) = re.findall(r"\bsm_([0-9]+[af]?)\b" if kind == "ptx" else r"\.sm_(\w+)", text)
        images.append(f"--image3=kind={kind},sm={number},file={path}")
    tool = cuobjdump.executable().with_name("fatbinary")
    tool.chmod(0o755)  # the wheel forgets it
    made = folder / "made.fatbin"
    options = ["-64", f"--create={made}", "--compress-all", "--compress-mode=balance"]
    subprocess.run([tool, *options, *images], check=True, cwd=folder)
    return made.stat().st_size


@pytest.mark.parametrize("name", LIBRARIES)
def test_what_could_be_saved_is_saved_by_building_it_anew(name: str, tmp_path: Path) -> None:
    library = wheels.member(WHEEL, name)
    (weight,) = ltocompat.weigh(library)
    assert weight.stored == section_size(library)
    (saving,) = weight.savings
    assert saving.waste is Waste.COMPRESSION
    regions = weight.libraries[0].modules
    # All images lie in one region now.
    saved = weight.stored - rebuilt(library, tmp_path) - REGION_HEADER * (regions - 1)
    assert saving.saved == saved
