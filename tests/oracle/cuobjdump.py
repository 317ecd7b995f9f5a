"""NVIDIA's own reader as an oracle: what it lists, and what it extracts."""

from __future__ import annotations

import importlib.metadata
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

_HEADING = re.compile(r"^Fatbin (elf|ptx|nvvm|relocatable ptx|tile ir|concatenated entry) code", re.MULTILINE)
_KINDS = {"elf": "sass", "ptx": "ptx", "nvvm": "ltoir", "relocatable ptx": "ptx", "tile ir": "tileir"}


def executable() -> Path:
    """cuobjdump as the test dependencies bring it."""
    files = importlib.metadata.files("nvidia-cuda-cuobjdump") or []
    (found,) = [Path(str(f.locate())) for f in files if f.name.startswith("cuobjdump")]
    found.chmod(0o755)
    return found


def run(*arguments: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    path = f"{executable().parent}:{shutil.os.environ['PATH']}"  # it looks for nvdisasm there
    return subprocess.run(
        [executable(), *arguments],
        capture_output=True,
        text=True,
        errors="replace",
        cwd=cwd,
        env={"PATH": path},
        check=False,
    )


def listed(path: Path) -> Counter[tuple[str, str]]:
    """(kind, number and suffix of the architecture) of every entry that it lists."""
    text = run("-all", path.name, cwd=path.parent).stdout
    found: Counter[tuple[str, str]] = Counter()
    for part in re.split(r"(?=^Fatbin )", text, flags=re.MULTILINE):
        heading = _HEADING.match(part)
        if heading is None or heading[1] not in _KINDS:
            continue
        arch = re.search(r"^arch = \w+?_(\d+[af]?)", part, re.MULTILINE)
        assert arch is not None, part
        found[_KINDS[heading[1]], arch[1]] += 1
    return found


def extracted(path: Path, what: str, folder: Path) -> list[bytes]:
    """Contents of every file that ``-xelf all`` or ``-xptx all`` writes."""
    folder.mkdir(parents=True, exist_ok=True)
    # It reads the members of thin archives relative to where it runs.
    run("-all", what, "all", path, cwd=folder)
    return sorted(file.read_bytes() for file in folder.iterdir())
