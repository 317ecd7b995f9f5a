"""Released wheels: the older one is baselined, and of the newer one what is new is said, no more.

What is new was looked up in the files: versions of imported symbols by readelf -Ws, ISA versions
and modules by cuobjdump --dump-ptx and --list-elf, names of files by unzip -l.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import wheels
from report_values import valid_json

from ltocompat.cli import run

pytestmark = [pytest.mark.wild, pytest.mark.usefixtures("folder")]

Captured = pytest.CaptureFixture[str]
TAGS = tuple(f"--platform=manylinux{name}_x86_64" for name in ("2014", "_2_24", "_2_27", "_2_28"))
POLICY = """
[targets.prod]
driver = "535"
nvjitlink = "12.2"
gpu = ["t4", "h100", "b200", "v100"]
[audit]
fail-on = "unknown"
"""
PAIRS = {
    # The library imports symbols of nvJitLink 12.6, no longer of 12.4; its PTX is 8.5, no longer
    # 8.4; it has one module more. The target sm_100 of nvJitLink is asked for as before.
    ("nvidia-cusparse-cu12==12.3.1.170", "nvidia-cusparse-cu12==12.5.4.2"): (
        {"NJL-01", "NJL-06", "PTX-01", "DRV-03"},
        {"LTO-15"},
    ),
    # The variant for CUDA 12.8 is new, and so are libraries that need nvJitLink. Both releases
    # need libraries of CUDA 11 and 12, and their metadata allows a torch for CUDA 13.
    ("bitsandbytes==0.44.1", "bitsandbytes==0.46.0"): ({"DRV-03", "PKG-01"}, {"PKG-01"}),
    # SASS for sm_100 is new in it, which the driver is too old for, as for the PTX picked before.
    ("cupy-cuda12x==13.3.0", "cupy-cuda12x==14.0.0"): (set(), {"DRV-03"}),
    ("nvidia-curand-cu12==10.3.5.147", "nvidia-curand-cu12==10.3.10.19"): (set(), {"DRV-03"}),
    ("nvidia-nvjpeg-cu12==12.3.1.117", "nvidia-nvjpeg-cu12==12.4.0.76"): (set(), {"DRV-03"}),
    # Modules are new that fail as those before: 1,523 in libcufft, of which 1,141 are linked,
    # one in libnppist, 12 in libcusolver and one in libcusolverMg, and 15 in libnccl.
    ("nvidia-cufft-cu12==11.2.3.18", "nvidia-cufft-cu12==11.3.3.83"): (
        {"DRV-03", "FB-02", "LTO-01", "LTO-15"},
        {"NJL-06"},
    ),
    ("nvidia-npp-cu12==12.2.5.30", "nvidia-npp-cu12==12.4.1.87"): ({"DRV-03"}, {"DRV-03"}),
    ("nvidia-cusolver-cu12==11.6.1.9", "nvidia-cusolver-cu12==11.7.3.90"): ({"DRV-03"}, set()),
    ("nvidia-nccl-cu12==2.21.5", "nvidia-nccl-cu12==2.27.5"): ({"DRV-03"}, set()),
    # SASS for sm_60 and sm_90 is gone, and PTX was never in it.
    ("faiss-gpu-cu12==1.9.0", "faiss-gpu-cu12==1.12.0"): ({"SASS-06"}, set()),
    # SASS for sm_70 and PTX for compute_60 are gone, and flash_attn_3 with PTX 8.7 is new.
    ("xformers==0.0.29", "xformers==0.0.32.post2"): ({"SASS-06", "PTX-01", "DRV-03"}, set()),
}


def wheel_of(requirement: str) -> str:
    folder = wheels.CACHE / requirement.replace("==", "-")
    if not list(folder.glob("*.whl")):
        pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:"]
        pip += [*TAGS, "--python-version=3.11", requirement, "-d", str(folder)]
        subprocess.run(pip, check=True)
    (path,) = folder.glob("*.whl")
    return str(path.resolve())


def audit(capsys: Captured, path: str, *words: str) -> tuple[int, dict[str, set[str]]]:
    """The exit code, and the rules of each standing."""
    capsys.readouterr()
    code = run(["audit", path, "--format", "json", *words])
    value: Any = valid_json(capsys.readouterr().out)
    found: dict[str, set[str]] = {}
    for result in value["results"]:
        for finding in result["findings"]:
            found.setdefault(finding["standing"], set()).add(finding["rule"])
    return code, found


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair[1])
def test_of_the_next_release_what_is_new_is_said_and_nothing_else(
    pair: tuple[str, str], capsys: Captured
) -> None:
    new, known = PAIRS[pair]
    Path("ltocompat.toml").write_text(POLICY, "utf-8")
    older, newer = map(wheel_of, pair)
    assert run(["audit", older, "--write-baseline", "known.json", "-q"]) == 0
    code, found = audit(capsys, older, "--baseline", "known.json")
    assert (code, found.get("counts")) == (0, None)
    code, found = audit(capsys, newer, "--baseline", "known.json")
    assert found.get("counts", set()) == new
    assert found.get("known", set()) == known
    assert code == bool(new)
