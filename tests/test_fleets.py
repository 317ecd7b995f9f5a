"""Fleets: machines that are alike are one row, the worst first, and an upgrade is planned."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from samples import FOLDER
from test_targets_inventory import nodes

from ltocompat import check
from ltocompat.cli import run
from ltocompat.model.verdict import Verdict

# SASS for sm_89 in the format of CUDA 13, which asks for driver 580.65.06, and nothing for sm_75.
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


def test_a_matrix_of_artifacts_by_classes_of_nodes_is_a_table_a_picture_and_a_page(
    fleet: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = str(FOLDER / "ptx" / "hand-written-compute_75.ptx")
    svg, page = tmp_path / "x.svg", tmp_path / "x.html"
    formats = ("--format", f"html={page}", "--svg", str(svg))
    assert run(["matrix", LIBRARY, other, "--deploy-target", fleet, *formats]) == 0
    text = capsys.readouterr().out
    assert "2 artifacts: on 4 deploy targets, the worst first" in text
    assert "  A 3 nodes (n1, n2, n3), driver=535.161.08,gpu=l4: driver 535.161.08" in text
    row = next(line.split() for line in text.splitlines() if line.startswith("objects/libsaxpy.so"))
    assert row[1:] == ["fail", "ok", "fail"]
    assert "14 nodes  driver=580.65.06,gpu=l4" in svg.read_text()
    assert "SASS-07" in page.read_text()
    assert run(["matrix", LIBRARY, "--format", "html"]) == 2


def of_unknown(*kinds: tuple[int, str, str]) -> list[dict[str, Any]]:
    """Nodes beside one without labels of its GPU, one of an unknown GPU, and one of two drivers."""
    items: list[dict[str, Any]] = json.loads(nodes(*kinds))["items"]
    _, unlabelled, unknown, twofold = json.loads(
        nodes((1, "580.65.06", ""), (1, "580.65.06", "GeForce-410M"), (1, "580.65.06", "NVIDIA-L4"))
    )["items"]
    for name, item in (("n91", unlabelled), ("n92", unknown), ("n93", twofold)):
        item["metadata"]["name"] = name
    unlabelled["status"] = {"capacity": {"nvidia.com/gpu": "4"}}
    twofold["metadata"]["labels"]["nvidia.com/cuda.driver.major"] = "570"
    return [*items, unlabelled, unknown, twofold]


def test_a_node_without_labels_of_its_gpu_is_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a GPU that nothing tells, no code is known to run on it; alone it refuses the file."""
    (tmp_path / "nodes.json").write_text(json.dumps(of_unknown()[1]))
    target = f"nodes={tmp_path / 'nodes.json'},driver=580.65.06"
    assert run(["check", LIBRARY, "--deploy-target", target]) == 2
    assert "node n91: no GPU is named; add gpu=" in capsys.readouterr().err
    assert run(["check", LIBRARY, "--deploy-target", f"{target},gpu=t4"]) == 1


def test_nodes_that_tell_too_little_are_unknown_rows_beside_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = of_unknown((14, "580.65.06", "NVIDIA-L4"))
    path = str(tmp_path / "nodes.json")
    Path(path).write_text(json.dumps({"kind": "NodeList", "items": found}))
    assert run(["check", LIBRARY, "--deploy-target", path]) == 3
    text = capsys.readouterr().out
    assert text.splitlines()[-1] == (
        "1 node, no GPU is named: unknown; 1 node, 'GeForce-410M' is not a known "
        "GPU: unknown; 1 node, its labels name drivers 570 and 580.65.06: unknown; "
        "14 nodes: ok"
    )
    for name in ("n91", "n92", "n93"):
        assert f"{name}: " in text
    # What is given counts for each of them.
    assert run(["check", LIBRARY, "--deploy-target", f"nodes={path},driver=R580,gpu=l4"]) == 0
    assert run(["slim", LIBRARY, "-o", str(tmp_path / "x"), "--deploy-target", path]) == 2
    assert "no GPU is named" in capsys.readouterr().err


def test_a_fleet_without_drivers_asks_for_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "slurm.txt"
    path.write_text("NodeName=gpu01 Arch=x86_64\n   Gres=gpu:a100:4\n")
    assert run(["check", LIBRARY, "--deploy-target", str(path)]) == 3
    text = capsys.readouterr().out
    assert "driver any (slurm.txt names none: give driver=), GPU a100 " in text
    assert "driver can be 345 to a later 615 (slurm.txt names none: give driver=)" in text
    assert "fix: give the target's exact driver, or " in text


def test_what_a_site_calls_its_gpus_is_quoted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A profile of MIG names no GPU, and several GPUs are called RTX 6000."""
    path = tmp_path / "slurm.txt"
    kinds = {"gpu1": "gpu:1g.10gb:14(S:0-1)", "gpu2": "gpu:v100:2,gpu:rtx_6000:2", "gpu3": "gpu:4"}
    nodes = {"gpu0": "gpu:a100:4"} | kinds
    path.write_text("".join(f"NodeName={name}\n  Gres={kind}\n" for name, kind in nodes.items()))
    assert run(["check", LIBRARY, "--deploy-target", f"slurm={path},driver=R580"]) == 3
    text = capsys.readouterr().out
    assert "gpu1: '1g.10gb' is not a known GPU" in text
    assert "gpu2: 'rtx 6000' can be one of several GPUs" in text
    assert "gpu3: no GPU is named" in text
    assert run(["check", LIBRARY, "--deploy-target", f"{path},driver=R580"]) == 2
    assert "a file with its key: nodes=FILE" in capsys.readouterr().err


def test_no_file_is_ok_on_a_node_that_tells_nothing(tmp_path: Path) -> None:
    """Not even one that is linked for its own newest GPU, or only has host code to judge."""
    path = tmp_path / "nodes.json"
    path.write_text(json.dumps({"kind": "NodeList", "items": of_unknown((1, "R580", "L4"))}))
    for sample in sorted(FOLDER.glob("*/*"))[::15]:
        verdicts = [r for r in check(sample, str(path)) if r.target.untold]
        assert {r.verdict for r in verdicts} <= {Verdict.UNKNOWN}, sample


def test_the_page_names_the_nodes(fleet: str, capsys: pytest.CaptureFixture[str]) -> None:
    page = told(capsys, "--deploy-target", fleet, "--format=html")
    assert "<dd>3 nodes (n1, n2, n3): driver 535.161.08 " in page
    assert " and 6 more): driver " in page


def test_an_upgrade_is_planned_node_by_node(fleet: str, capsys: pytest.CaptureFixture[str]) -> None:
    upgrade = f"nodes={fleet},driver=580.65.06"
    text = told(capsys, "--deploy-target", fleet, "--deploy-target", upgrade, "--changes")
    assert text.splitlines()[-1] == (
        "1 node, driver=580.65.06,gpu=t4: fail -> fail; 3 nodes: fail -> ok; "
        "2 nodes: ok -> ok; 14 nodes: ok"
    )
    # Nodes that have that driver already, and those that get it, are one target.
    assert re.search(r"19 nodes \(\w+, \w+, \w+ and 16 more\), driver=580.65.06,gpu=l4", text)


def test_a_fleet_whose_verdicts_stay_has_no_changes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "nodes.json")
    Path(path).write_text(nodes((2, "580.65.06", "NVIDIA-L4"), (1, "590.44.01", "NVIDIA-L40S")))
    upgrade = f"nodes={path},driver=595.45.04"
    text = told(capsys, "--deploy-target", path, "--deploy-target", upgrade, "--changes")
    assert text.splitlines() == [
        "no difference between the targets in 1 artifact: 1 ok",
        "3 nodes: ok -> ok",
    ]
