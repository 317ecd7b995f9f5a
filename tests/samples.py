"""The bundled samples, as their manifest describes them.

The manifest knows what was put into a sample, not what our parsers say of it.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent.parent / "sample_artifacts"


@dataclass(frozen=True, slots=True)
class Sample:
    """One sample file: its path and its row of the manifest."""

    path: Path
    row: dict[str, Any]

    @property
    def name(self) -> str:
        return str(self.row["path"])

    @property
    def images(self) -> list[dict[str, Any]]:
        return list(self.row.get("images", []))

    @property
    def broken(self) -> bool:
        return "broken" in self.row


def _load() -> list[Sample]:
    with (FOLDER / "MANIFEST.toml").open("rb") as file:
        rows = tomllib.load(file)["artifact"]
    return [Sample(FOLDER / row["path"], row) for row in rows]


ALL = _load()
GOOD = [sample for sample in ALL if not sample.broken]
BROKEN = [sample for sample in ALL if sample.broken]
