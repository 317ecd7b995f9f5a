"""The site, made as ``nox -s docs`` makes it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"


def build(out: Path) -> Path:
    """Make the site as ``nox -s docs`` does: every warning is an error."""
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "-n", "--keep-going"]
    folders = ["-d", str(out / "doctrees"), str(DOCS), str(out / "site")]
    subprocess.run([*command, *folders], check=True)
    return out / "site"
