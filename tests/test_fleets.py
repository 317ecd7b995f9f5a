"""Fleets: machines that are alike are one row, the worst first, and an upgrade is planned."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from samples import FOLDER
from test_targets_inventory import nodes

from ltocompat.cli import run

# SASS for sm_89 in the form of CUDA 13, which asks for driver 580.65.06, and nothing for sm_75.
LIBRARY = str(FOLDER / "objects" / "libsaxpy.so")


@pytest.fixture
def fleet(tmp_path: Path) -> str:
    l4 = "NVIDIA-L4"
    kinds = (
        (3, "535.161.08", l4),
        (14, "580.65.06", l4),
        (2, "580.95.05", l4),
        (1, "", "Tesla-T4"),
    )
    (tmp_path / "nodes.json").write_text(nodes(*kinds))
    return str(tmp_path / "nodes.json")


def told(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    run(["check", LIBRARY, *words])
    return capsys.readouterr().out


def test_a_row_is_a_class_of_nodes_the_worst_first(
    fleet: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = told(capsys, "--deploy-target", fleet)
    rows = [line.split()[:4] for line in text.splitlines() if line[:2] in ("A ", "B ", "C ", "D ")]
    assert rows == [
        ["A", "3", "l4", "fail"],
        ["D", "1", "t4", "fail"],
        ["B", "14", "l4", "ok"],
        ["C", "2", "l4", "ok"],
    ]
    assert text.splitlines()[-1] == (
        "3 nodes, driver=535.161.08,gpu=l4: fail; 1 node, gpu=t4: fail; 16 nodes: ok"
    )


def test_a_node_without_labels_of_its_gpu_is_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a GPU that nothing tells, no code is known to run on it."""
    (tmp_path / "nodes.json").write_text(
        json.dumps(
            {
                "kind": "Node",
                "metadata": {"name": "n9"},
                "status": {"capacity": {"nvidia.com/gpu": "4"}},
            }
        )
    )
    target = f"nodes={tmp_path / 'nodes.json'},driver=580.65.06"
    assert run(["check", LIBRARY, "--deploy-target", target]) == 2
    assert "node n9: nothing tells which GPU it has; give gpu=" in capsys.readouterr().err
    assert run(["check", LIBRARY, "--deploy-target", f"{target},gpu=t4"]) == 1


def test_the_page_names_the_nodes(fleet: str, capsys: pytest.CaptureFixture[str]) -> None:
    page = told(capsys, "--deploy-target", fleet, "--format=html")
    assert "<dd>3 nodes (n1, n2, n3): driver 535.161.08 " in page
    assert " and 6 more): driver " in page


def test_json_keeps_the_names_of_the_nodes(fleet: str, capsys: pytest.CaptureFixture[str]) -> None:
    document: dict[str, Any] = json.loads(told(capsys, "--deploy-target", fleet, "--format=json"))
    named = {target["name"]: target["nodes"] for target in document["targets"]}
    assert named["driver=535.161.08,gpu=l4"] == ["n1", "n2", "n3"]
    assert len({name for names in named.values() for name in names}) == 20


def test_an_upgrade_is_planned_node_by_node(fleet: str, capsys: pytest.CaptureFixture[str]) -> None:
    upgrade = f"nodes={fleet},driver=580.65.06"
    text = told(capsys, "--deploy-target", fleet, "--deploy-target", upgrade, "--changes")
    assert text.splitlines()[-1] == (
        "1 node, driver=580.65.06,gpu=t4: fail -> fail; 3 nodes: fail -> ok; "
        "2 nodes: ok -> ok; 14 nodes: ok"
    )
    # Nodes that have that driver already, and those that get it, are one target.
    assert "19 nodes, driver=580.65.06,gpu=l4" in text


def test_a_fleet_whose_verdicts_stay_has_no_changes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "nodes.json")
    Path(path).write_text(nodes((2, "580.65.06", "NVIDIA-L4"), (1, "590.44.01", "NVIDIA-L40S")))
    upgrade = f"nodes={path},driver=595.45.04"
    text = told(capsys, "--deploy-target", path, "--deploy-target", upgrade, "--changes")
    assert text.splitlines() == ["1 artifact fares alike on all targets", "3 nodes: ok -> ok"]
