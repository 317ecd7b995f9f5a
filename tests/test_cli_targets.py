"""``ltocompat targets``: what it lists is what ``--deploy-target`` takes."""

from __future__ import annotations

from pathlib import Path

import pytest
from report_values import valid_json

from ltocompat.cli import run
from ltocompat.commands.options import complete_target
from ltocompat.facts import drivers, gpus
from ltocompat.model.errors import UsageError
from ltocompat.targets import parse


def test_every_word_is_taken_and_nothing_that_the_tables_know_is_missing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["targets", "--format", "json"]) == 0
    words = valid_json(capsys.readouterr().out)["words"]
    for word in words:
        more = ",driver=615" if word["key"] == "cuda" else ""
        (target,) = parse([f"{word['key']}={word['value']}{more}"])
        if word["key"] == "gpu" and ", sm_" in word["meaning"]:
            assert ", ".join(map(str, target.gpus)) == word["meaning"]
    listed = {word["value"] for word in words}
    assert {f"R{branch}" for branch in drivers.driver_branches()} <= listed
    assert {f"sm_{sm.number}" for sm in gpus.sms()} <= listed
    meanings = " ".join(word["meaning"] for word in words)
    assert all(model.name in meanings for model in gpus.gpu_models())


def test_a_word_narrows_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["targets", "H100"]) == 0
    rows = capsys.readouterr().out.splitlines()[2:]
    assert [row.split()[:2] for row in rows] == [["gpu", "sm_90"]]
    assert run(["targets", "voodoo"]) == 2
    assert "list all with: ltocompat targets" in capsys.readouterr().err
    assert run(["targets", "H1000"]) == 2
    assert "(did you mean h100 or t1000?)" in capsys.readouterr().err


@pytest.mark.parametrize("word", ["MIG", "mig-1g.10gb", "3g.20gb"])
def test_a_profile_of_mig_leads_to_the_gpu_that_has_to_be_named(
    word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["targets", word]) == 0
    (row,) = capsys.readouterr().out.splitlines()[2:]
    assert row.startswith("gpu  a100-mig-1g.5gb  sm_80, as the whole GPU")
    with pytest.raises(UsageError, match=r"write also the GPU .*, as in a100-mig-1g\.5gb$"):
        gpus.find_gpu(word)


@pytest.mark.parametrize(
    ("name", "arch"), [("Tesla T4", "sm_75"), ("NVIDIA H100 80GB HBM3 MIG 1g.10gb", "sm_90")]
)
def test_a_gpu_in_a_spelling_of_its_own_is_found(
    name: str, arch: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["targets", name]) == 0
    assert [row.split()[1] for row in capsys.readouterr().out.splitlines()[2:3]] == [arch]


def test_the_shell_offers_the_targets_of_the_project_and_every_known_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ltocompat.toml").write_text("[targets]\nprod = 'R550'\n")
    monkeypatch.chdir(tmp_path)
    offered = complete_target()
    assert offered[0] == "prod"
    assert {"driver=", "gpu=hopper", "cuda=12.4", "driver=R550"} <= {*offered}
