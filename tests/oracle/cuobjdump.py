"""NVIDIA's own reader as an oracle: what it lists, and what it extracts."""

from __future__ import annotations

import contextlib
import functools
import importlib.metadata
import os
import re
import subprocess
from collections import Counter
from pathlib import Path

_KINDS = {
    "elf": "sass",
    "ptx": "ptx",
    "nvvm": "ltoir",
    "relocatable ptx": "ptx",
    "tile ir": "tileir",
}
_HEADING = re.compile(rf"^\s*Fatbin ({'|'.join(_KINDS)}) code:", re.MULTILINE)


@functools.cache
def executable() -> Path:
    """cuobjdump as the test dependencies bring it."""
    files = importlib.metadata.files("nvidia-cuda-cuobjdump") or []
    (found,) = [Path(str(f.locate())) for f in files if f.name in ("cuobjdump", "cuobjdump.exe")]
    found.chmod(0o755)  # the wheel forgets it
    return found


def is_there() -> bool:
    """Return whether it is installed, as on Linux on x86-64 alone."""
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        return bool(importlib.metadata.files("nvidia-cuda-cuobjdump"))
    return False


def run(
    *arguments: str | Path, cwd: Path | None = None, seconds: float | None = None
) -> subprocess.CompletedProcess[str]:
    """Run it; it looks for nvdisasm beside itself and on the search path.

    Raises:
        subprocess.TimeoutExpired: it took more than ``seconds``.
    """
    program = executable()
    environment = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}"}
    return subprocess.run(
        [program, *arguments],
        capture_output=True,
        text=True,
        errors="replace",
        cwd=cwd,
        env=environment,
        check=False,
        timeout=seconds,
    )


def listed(path: Path) -> Counter[tuple[str, str]]:
    """(kind, number and suffix of the architecture) of every image that it lists."""
    # It reads the members of thin archives relative to where it runs.
    return listed_in(run("-all", path.name, cwd=path.parent).stdout)


def listed_in(text: str) -> Counter[tuple[str, str]]:
    """(kind, number and suffix of the architecture) of every image in its listing."""
    found: Counter[tuple[str, str]] = Counter()
    headings = list(_HEADING.finditer(text))
    for heading in headings:
        arch = re.compile(r"\s*=+\s*arch = \w+?_(\d+[af]?)\s").match(text, heading.end())
        assert arch is not None, text[heading.start() : heading.end() + 200]
        found[_KINDS[heading[1]], arch[1]] += 1
    return found


def extracted(path: Path, what: str, folder: Path) -> list[bytes]:
    """Contents of every file that ``-xelf all`` or ``-xptx all`` writes into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    run("-all", what, "all", path, cwd=folder)
    return sorted(file.read_bytes() for file in folder.iterdir())
