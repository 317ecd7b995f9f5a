"""Tells of CUDA releases and updates that the package index has and the tables lack.

``python tests/new_release.py`` ends in 1 where there is one; ``nox -s facts`` drafts its rows.
"""

from __future__ import annotations

import re
import subprocess
import sys

from ltocompat.facts import linker_wheels, rows
from ltocompat.facts.toolkits import ToolkitPin

LIBRARIES = {
    pin.package
    for pin in rows(ToolkitPin)
    if pin.part in ("cufft", "cusolver", "cusparse") and not pin.package.endswith("-cu11")
}
"""Their releases date what a package requires, and a missing one is judged as the next."""
PACKAGES = ("nvidia-nvjitlink", "nvidia-nvjitlink-cu12", "cuda-toolkit", *sorted(LIBRARIES))


def published(package: str) -> list[str]:
    """Every version of a package, as the maintainer's pip lists them."""
    pip = [sys.executable, "-m", "pip", "index", "versions", package]
    answer = subprocess.run(pip, check=True, stdout=subprocess.PIPE, text=True).stdout
    listed = re.search(r"^Available versions: (.+)$", answer, re.MULTILINE)
    return listed[1].split(", ") if listed else []


def missing(package: str, versions: list[str]) -> list[str]:
    """The versions of a package that stand in no table of nvJitLinks, of toolkits or their pins."""
    known = {w.version for w in linker_wheels("nvjitlink") if w.package == package}
    known |= {pin.toolkit for pin in rows(ToolkitPin) if package == "cuda-toolkit"}
    known |= {pin.specifier.strip("=.*") for pin in rows(ToolkitPin) if pin.package == package}
    return [version for version in versions if version not in known]


def main() -> None:
    new = [f"{package} {v}" for package in PACKAGES for v in missing(package, published(package))]
    if new:
        sys.exit(f"the tables lack {', '.join(new)}; CONTRIBUTING.md: Add a CUDA release")


if __name__ == "__main__":
    main()
