"""Which PyPI package holds which release of which CUDA tool, and how it is fetched.

The cu12 nvcc packages hold ptxas and libnvvm only, so a whole nvcc exists from 13.0 on. There never
was a CUDA 12.7.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
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


NVRTC = _cu12(
    "nvidia-cuda-nvrtc",
    *("11.8.89", "12.0.140", "12.1.105", "12.2.140", "12.3.107", "12.4.127", "12.5.82"),
    *("12.6.85", "12.8.93", "12.9.86"),
    *("13.0.88", "13.1.115", "13.2.86", "13.3.33", "13.4.92", "13.5.37"),
)
NVFATBIN = _cu12(
    "nvidia-nvfatbin",
    *("12.4.127", "12.5.82", "12.6.77", "12.8.90", "12.9.82"),
    *("13.0.85", "13.1.115", "13.2.86", "13.3.29", "13.4.92", "13.5.37"),
)
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

PTX_ISA = {
    "11.8": "7.8",
    "12.0": "8.0",
    "12.1": "8.1",
    "12.2": "8.2",
    "12.3": "8.3",
    "12.4": "8.4",
    "12.5": "8.5",
    "12.6": "8.5",
    "12.8": "8.7",
    "12.9": "8.8",
    "13.0": "9.0",
    "13.1": "9.1",
    "13.2": "9.2",
    "13.3": "9.3",
    "13.4": "9.4",
    "13.5": "9.5",
}
"""The PTX ISA that each release's compiler writes by default (PTX ISA documentation)."""


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
