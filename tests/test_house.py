"""The house itself: imports run one way, rooms stay small, facts have sources."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "ltocompat"
MODULES = sorted(PACKAGE.rglob("*.py"))

# Rooms from the ground up; a room imports only from its own floor and the floors below.
FLOORS = (
    {"errors", "closing"},
    {"limits", "arch", "search", "byteview"},
    {"place"},
    {"model", "target"},
    {"filters", "codec", "traits", "verdict"},
    {"images", "facts", "required", "grid", "difference", "fingerprint"},
    {"toolkit", "selection", "targets"},
    {"hosts", "containers", "regions", "nvjitlinks", "probe", "packages"},
    {"describing", "compile_options", "trial", "requirements"},
    {"cutting", "inventory", "verdicts"},
    {
        "gathering",
        "narrowing",
        "studying",
        "trying",
        "installed",
        "comparison",
        "shipping",
        "policy",
        "remembering",
    },
    {"api"},
    {"report"},
    {"cli"},
)
NOT_TOGETHER = {("images", "facts"), ("regions", "facts"), ("regions", "toolkit")}


def room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def floor(name: str) -> int:
    return next(number for number, rooms in enumerate(FLOORS) if name in rooms)


def imports(path: Path) -> set[str]:
    """Rooms that a module imports, wherever in the module."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("ltocompat"):
            parts = node.module.split(".")
            found |= {parts[1]} if len(parts) > 1 else {alias.name for alias in node.names}
    return {name for name in found if not name.startswith("_")}


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_run_downwards(path: Path) -> None:
    if room(path) in ("__init__", "__main__"):
        return
    here = room(path)
    for name in imports(path):
        assert floor(name) <= floor(here), f"{here} imports {name}"
        assert (here, name) not in NOT_TOGETHER


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_rooms_stay_small(path: Path) -> None:
    assert len(path.read_text("utf-8").splitlines()) <= 310


def test_every_fact_has_a_source_and_a_date() -> None:
    import tomllib

    for path in sorted((PACKAGE / "facts").glob("*.toml")):
        with path.open("rb") as file:
            tables = tomllib.load(file)
        for rows in tables.values():
            assert all(row["source"] and row["date"] for row in rows), path
