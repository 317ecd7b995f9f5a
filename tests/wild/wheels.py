"""Real wheels, downloaded when needed by the user's own pip, and unpacked into a cache.

LTOCOMPAT_TEST_WHEELS names another folder for them, such as one on a larger disk.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

_USUAL = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "ltocompat-tests"
CACHE = Path(os.environ.get("LTOCOMPAT_TEST_WHEELS") or _USUAL)


def member(requirement: str, name: str) -> Path:
    """The file ``name`` of a wheel such as ``nvidia-cublas==13.10.0.20``."""
    folder = CACHE / requirement.replace("==", "-")
    path = folder / name
    if not path.exists():
        wheel = _download(requirement, folder)
        with zipfile.ZipFile(wheel) as archive, tempfile.TemporaryDirectory(dir=folder) as half:
            written = archive.extract(name, half)  # a killed run leaves no half of it at its place
            path.parent.mkdir(parents=True, exist_ok=True)
            os.replace(written, path)
    return path


def _download(requirement: str, folder: Path) -> Path:
    found = list(folder.glob("*.whl"))
    if not found:
        pip = [sys.executable, "-m", "pip", "download", "-qq", "--no-deps", "--only-binary=:all:"]
        subprocess.run([*pip, requirement, "-d", str(folder)], check=True)
        found = list(folder.glob("*.whl"))
    (wheel,) = found
    return wheel
