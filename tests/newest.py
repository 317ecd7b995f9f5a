"""The newest CUDA release in the tables, for tests that hold whichever it is."""

from __future__ import annotations

import re
from pathlib import Path

from samples import FOLDER

from ltocompat.facts import nvjitlink_minors
from ltocompat.facts.toolkits import ptx_releases
from ltocompat.model.arch import Release

NEWEST = nvjitlink_minors()[-1]
NEXT = Release(NEWEST.major, NEWEST.minor + 1)
NEWEST_PTX = ".".join(map(str, max(ptx_releases())))
NEXT_PTX = "{}.{}".format(NEWEST_PTX.split(".")[0], int(NEWEST_PTX.split(".")[1]) + 1)


def from_on(first: str) -> list[str]:
    """The nvJitLinks that were published from ``first`` on, within its major, oldest first."""
    start = Release.parse(first)
    return [str(r) for r in nvjitlink_minors() if r >= start and r.major == start.major]


def ptx_beyond(folder: Path) -> Path:
    """A file of PTX that no driver in the tables reads."""
    text = (FOLDER / "ptx" / "nvrtc-13.5-compute_80.ptx").read_text("utf-8")
    path = folder / "beyond.ptx"
    path.write_text(re.sub(r"(?m)^\.version .*", f".version {NEXT_PTX}", text), "utf-8")
    return path
