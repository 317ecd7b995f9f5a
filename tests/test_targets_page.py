"""docs/targets.md tells the truth: each example of a key and each value without one is read."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from test_targets_inventory import OUTPUTS as INVENTORY

from ltocompat.targets import parse
from ltocompat.targets.inline import KEYS

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "targets.md").read_text("utf-8")
ROWS = re.findall(r"^\| (`[^|]*) \|[^|]*\| ([^|]*) \|$", PAGE, re.MULTILINE)
EXAMPLES = [text for _, cell in ROWS for text in re.findall(r"`([^`]+)`", cell)]
OUTPUTS = [output["text"] for output in INVENTORY]
DESCRIBED = {
    "smi.txt": ("+--", "Tesla M60"),
    "nodes.json": ("{", "Node"),
    "nodes.txt": ("NodeName=", "m60"),
    "Dockerfile": ("# FROM", "nvidia/cuda"),
}
"""The file of an example, and how an output that it can be begins and what it has."""
COMMANDS = re.findall(r"--deploy-target (\S+)", PAGE)


def test_every_key_has_a_row() -> None:
    assert {key for cell, _ in ROWS for key in re.findall(r"`(\w+)`", cell)} == {*KEYS, "cuda"}


@pytest.mark.parametrize("text", sorted({*EXAMPLES, *COMMANDS}))
def test_an_example_is_a_target(text: str, tmp_path: Path) -> None:
    lock = shutil.copytree(ROOT / "tests" / "data" / "locks" / "by_system", tmp_path / "locks")
    for name, (start, end) in DESCRIBED.items():
        (lock / name).write_text(next(o for o in OUTPUTS if o.startswith(start) and end in o))
    if text.startswith(("name=", "python=")):
        text += ",driver=550"
    assert parse([text.replace("lock=", "lock=./")], where=str(lock))


def test_the_line_in_a_file_is_a_target(tmp_path: Path) -> None:
    (line,) = re.findall(r"under `\[targets\]`: `(edge = .*?)`", PAGE)
    (tmp_path / "ltocompat.toml").write_text(f"[targets]\n{line}\n")
    (target,) = parse(["edge"], where=str(tmp_path))
    assert [gpu.name for gpu in target.gpus] == ["t4"]
