"""Which PyPI package holds which release of which CUDA tool, and how it is fetched.

The cu12 nvcc packages hold ptxas and libnvvm only, so a whole nvcc exists from 13.0 on. There never
was a CUDA 12.7.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path


def _cu12(package: str, *versions: str) -> dict[str, str]:
    """The packages of a tool by release ("12.4"): `-cu12` and `-cu11` names, none from 13 on."""
    table = {}
    for version in versions:
        release = version.rpartition(".")[0]
        major = release.partition(".")[0]
        suffix = "" if int(major) >= 13 else f"-cu{major}"
        table[release] = f"{package}{suffix}=={version}"
    return table


_COMPILERS = tomllib.loads(Path(__file__).with_name("compilers.toml").read_text("utf-8"))[
    "compiler"
]
NVRTC: dict[str, str] = {row["release"]: row["nvrtc"] for row in _COMPILERS}
NVFATBIN: dict[str, str] = {
    row["release"]: row["nvfatbin"] for row in _COMPILERS if "nvfatbin" in row
}
PTX_ISA: dict[str, str] = {row["release"]: row["ptx_isa"] for row in _COMPILERS}
NVJITLINK = _cu12(
    "nvidia-nvjitlink",
    *("12.4.127", "12.9.86", "13.0.88", "13.2.86", "13.3.33", "13.4.92", "13.5.37"),
)
PTXAS = _cu12(
    "nvidia-cuda-nvcc", "11.8.89", "12.0.140", "12.4.131", "12.9.86", "13.0.88", "13.5.37"
)
NVCC = {
    release: tuple(
        f"{package}=={version}"
        for package in (
            "nvidia-cuda-nvcc",
            "nvidia-nvvm",
            "nvidia-cuda-crt",
            "nvidia-cuda-runtime",
            *(("nvidia-cuda-tileiras",) if release == "13.5" else ()),
        )
    )
    for release, version in (("13.0", "13.0.88"), ("13.2", "13.2.86"), ("13.5", "13.5.37"))
}
ZIG = "ziglang==0.15.2"
ZSTANDARD = "zstandard==0.25.0"


class PackageCache:
    """Packages from PyPI, unpacked side by side in one folder."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def fetch(self, *requirements: str) -> Path:
        """Install the packages into one tree, once, and return its folder."""
        tree = self._root / "+".join(requirements).replace("==", "-")
        if tree.is_dir():
            return tree
        part = tree.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        pip = [sys.executable, "-m", "pip", "install", "-qq", "--root-user-action=ignore"]
        subprocess.run(
            [*pip, "--no-deps", "--no-compile", "--target", str(part), *requirements], check=True
        )
        part.rename(tree)
        return tree

    def file(self, requirement: str, pattern: str) -> Path:
        """The one file of a package that matches a glob pattern."""
        tree = self.fetch(requirement)
        found = sorted(path for path in tree.rglob(pattern) if path.is_file())
        if not found:
            raise FileNotFoundError(f"{requirement} holds no {pattern}")
        return found[0]
