"""Images with released packages: the line on drivers of their base, held against the code.

What the code needs is known from NVIDIA's table of minor-version compatibility (SASS of CUDA 12
runs from 525.60.13 on, of CUDA 13 from 580.65.06 on, and of CUDA 11 from its first driver) and the
CUDA release that each project built with, which its file name or release notes tell.
"""

from __future__ import annotations

import io
import json
import tarfile
import zipfile
from pathlib import Path

import pytest
from container_images_made import oci_layout
from test_gate import ANY_LINUX, wheel_of

from ltocompat import check
from ltocompat.model.target import ANY_TARGET

pytestmark = pytest.mark.wild

PYTHON_311 = (*ANY_LINUX[:-1], "--platform=manylinux_2_35_x86_64", "--python-version=3.11")
BRANDS = ("tesla", "unknown", "nvidia", "nvidiartx", "geforce", "geforcertx", "quadro", "titan")
SITE = "usr/local/lib/python3.11/site-packages"


def of_base(cuda: str, *branches: int) -> str:
    """The line of nvidia/cuda of that release, which admits older branches for its cuda-compat."""
    older = (f"brand={b},driver>={r},driver<{r + 1}" for r in branches for b in BRANDS)
    return f"NVIDIA_REQUIRE_CUDA=cuda>={cuda} {' '.join(older)}".strip()


def image(wheel: Path, line: str) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar, zipfile.ZipFile(wheel) as archive:
        for member in archive.infolist():
            if not member.is_dir():
                info = tarfile.TarInfo(f"{SITE}/{member.filename}")
                info.size = member.file_size
                with archive.open(member) as file:
                    tar.addfile(info, file)
    env = ["NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_DRIVER_CAPABILITIES=compute,utility", line]
    config = {"os": "linux", "architecture": "amd64", "config": {"Env": [*filter(None, env)]}}
    return oci_layout([out.getvalue()], json.loads(json.dumps(config)))


@pytest.mark.parametrize(
    ("wheel", "line", "rule", "words"),
    [
        ("torch==2.0.1", "", "PKG-19", "starts on any driver"),
        ("vllm==0.2.7", of_base("12.1", 470, 525), "PKG-19", "runs with driver 525.60.13"),
        ("nvidia-pytriton==0.5.14", of_base("9.0"), "PKG-16", "needs driver 525.60.13"),
        ("cupy-cuda12x==14.2.0", of_base("12.9", 535), "PKG-19", "runs with driver 525.60.13"),
        ("cupy-cuda13x==14.2.0", of_base("13.0", 535, 550), "", ""),
        (
            "faiss-gpu-cu12==1.14.1.post1",
            of_base("12.1", 470),
            "PKG-19",
            "runs with driver 525.60.13",
        ),
        ("ctranslate2==4.8.5", of_base("12.2", 470), "PKG-19", "runs with driver 525.60.13"),
        ("bitsandbytes==0.50.2", of_base("12.6", 535), "PKG-19", "runs with driver 450"),
        ("spconv-cu120==2.3.6", of_base("11.8"), "PKG-16", "needs driver 525.60.13"),
        ("warp-lang==1.19.0", of_base("12.4", 470, 535), "PKG-16", "needs driver 580.65.06"),
    ],
)
def test_a_line_on_drivers_is_too_lax_too_strict_missing_or_right(
    tmp_path: Path, wheel: str, line: str, rule: str, words: str
) -> None:
    path = tmp_path / "image.tar"
    path.write_bytes(image(Path(wheel_of(wheel, PYTHON_311)), line))
    found = [r for r in check(path, "driver=580.65.06,gpu=a100") if r.target == ANY_TARGET]
    told = [
        (f.rule, f.message) for r in found for f in r.findings if f.rule in ("PKG-16", "PKG-19")
    ]
    assert [each for each, _ in told] == ([rule] if rule else [])
    assert all(words in message for _, message in told)
