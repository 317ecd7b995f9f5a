"""``coherent`` against NVRTC, libNVVM and nvcc with headers and libdevice of other releases.

All come from PyPI; a folder in ``LTOCOMPAT_ORACLE`` keeps them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from toolchains import NVRTC, PackageCache

import ltocompat
from ltocompat import Verdict

pytestmark = pytest.mark.wild

CHILD = Path(__file__).parents[1] / "oracle" / "compiler_child.py"
HEADERS = {
    "12.0": "nvidia-cuda-runtime-cu12==12.0.146",
    "12.9": "nvidia-cuda-runtime-cu12==12.9.79",
    "13.0": "nvidia-cuda-runtime==13.0.96",
    "13.2": "nvidia-cuda-runtime==13.2.75",
}
NVVM = {
    "12.0": "nvidia-cuda-nvcc-cu12==12.0.140",
    "12.9": "nvidia-cuda-nvcc-cu12==12.9.86",
    "13.0": "nvidia-nvvm==13.0.88",
    "13.5": "nvidia-nvvm==13.5.37",
}
NVCC = (
    "nvidia-cuda-nvcc==13.0.88",
    "nvidia-nvvm==13.0.88",
    "nvidia-cuda-crt==13.0.88",
    "nvidia-cuda-runtime==13.0.96",
    "nvidia-cuda-cccl==13.0.85",
)
PLAIN, FP8, CCCL = "cuda_fp16.h", "cuda_fp8.h", "cuda/std/type_traits"


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> PackageCache:
    kept = os.environ.get("LTOCOMPAT_ORACLE")
    return PackageCache(Path(kept) / "packages" if kept else tmp_path_factory.mktemp("packages"))


def verdict(**parts: str) -> Verdict:
    (pair,) = ltocompat.coherent({name.replace("_", "-"): parts[name] for name in parts})
    return pair.verdict


def compiles(kind: str, library: Path, *rest: object) -> bool:
    done = subprocess.run(
        [sys.executable, str(CHILD), kind, str(library), *map(str, rest)],
        env={"LD_LIBRARY_PATH": str(library.parent)},
        capture_output=True,
        check=False,
    )
    return done.returncode == 0


def holds(told: Verdict, plain: bool, all_of_it: bool) -> bool:
    """Whether a verdict is right: what compiles of code that needs little, and of all code."""
    if told is Verdict.FAIL:
        return not plain
    return plain and all_of_it is (told is not Verdict.UNKNOWN)


@pytest.mark.parametrize(
    ("nvrtc", "headers"),
    [
        ("12.9", "12.9"),
        ("12.9", "12.0"),
        ("12.0", "12.9"),
        ("12.9", "13.0"),
        ("13.0", "13.2"),
        ("13.5", "12.0"),
    ],
)
def test_nvrtc_and_headers(cache: PackageCache, nvrtc: str, headers: str) -> None:
    library = cache.file(NVRTC[nvrtc], "libnvrtc.so.[0-9]*")
    folder = cache.file(HEADERS[headers], FP8).parent
    plain, fp8 = (compiles("nvrtc", library, folder, header) for header in (PLAIN, FP8))
    assert holds(verdict(nvrtc=nvrtc, headers=headers), plain, fp8)


@pytest.mark.parametrize(("nvvm", "libdevice"), [("12.0", "13.5"), ("13.5", "12.0")])
def test_nvvm_and_libdevice(cache: PackageCache, nvvm: str, libdevice: str) -> None:
    library = cache.file(NVVM[nvvm], "libnvvm.so*")
    done = compiles("nvvm", library, cache.file(NVVM[libdevice], "libdevice.10.bc"))
    assert holds(verdict(nvvm=nvvm, libdevice=libdevice), done, done)


def test_nvrtc_and_builtins(cache: PackageCache, tmp_path: Path) -> None:
    library = cache.file(NVRTC["12.9"], "libnvrtc.so.[0-9]*")
    builtins = cache.file(NVRTC["12.4"], "libnvrtc-builtins.so.*")
    mixed = [Path(shutil.copy(file, tmp_path)) for file in (library, builtins)]
    done = compiles("nvrtc", mixed[0], tmp_path, "/dev/null")
    assert holds(verdict(nvrtc="12.9", nvrtc_builtins="12.4"), done, done)


@pytest.mark.parametrize(("part", "release"), [("libdevice", "12.9"), ("headers", "13.2")])
def test_nvcc(cache: PackageCache, tmp_path: Path, part: str, release: str) -> None:
    nvcc = cache.fetch(*NVCC) / "nvidia" / "cu13" / "bin" / "nvcc"
    for program in (*nvcc.parent.iterdir(), *(nvcc.parents[1] / "nvvm" / "bin").iterdir()):
        program.chmod(0o755)  # the wheel forgets it
    if part == "libdevice":
        found = cache.file(NVVM[release], "libdevice.10.bc").parent
        option = f"--libdevice-directory={found}"
    else:
        option = f"-I{cache.file(HEADERS[release], FP8).parent}"

    def builds(header: str) -> bool:
        source = tmp_path / "k.cu"
        source.write_text(f"#include <{header}>\n__global__ void k(float *p) {{ *p = sinf(*p); }}")
        cccl = f"-I{nvcc.parents[1] / 'include' / 'cccl'}"
        command: list[str | Path] = [
            nvcc,
            "-arch=sm_80",
            "-cubin",
            option,
            cccl,
            "-o",
            tmp_path / "k",
            source,
        ]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0

    told = verdict(**{"nvcc": "13.0", part: release})
    assert holds(told, builds(PLAIN), builds(CCCL))
