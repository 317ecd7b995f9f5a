"""The house itself: imports run one way, rooms stay small, facts have sources."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "ltocompat"
MODULES = sorted(PACKAGE.rglob("*.py"))


def test_every_fact_has_a_source_and_a_date() -> None:
    import tomllib

    for path in sorted((PACKAGE / "facts").glob("*.toml")):
        with path.open("rb") as file:
            tables = tomllib.load(file)
        for rows in tables.values():
            assert all(row["source"] and row["date"] for row in rows), path
