"""Deploy targets that files name."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from ltocompat.model.errors import UsageError
from ltocompat.targets import parse

PROD = """
[targets.edge]
driver = "550.54.15"
nvjitlink = ">=12.4,<13"
gpu = ["l4", "sm_90"]

[targets]
station = "driver=580,gpu=h100"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "prod.toml").write_text(PROD)
    return tmp_path


def sentence(text: str, where: Path) -> str:
    with pytest.raises(UsageError) as caught:
        parse([text], where=str(where))
    return str(caught.value)


def test_the_same_target_twice_is_there_once(folder: Path) -> None:
    assert len(parse(["prod.toml", "prod.toml:edge"], where=str(folder))) == 2


def test_a_path_may_be_absolute(folder: Path) -> None:
    assert parse([f"{folder}/prod.toml:edge"])[0].name == "edge"


def test_a_lock_lies_beside_the_file_that_names_it(folder: Path) -> None:
    (folder / "requirements.txt").write_text("nvidia-nvjitlink-cu12==12.8.93\n")
    (folder / "a.toml").write_text('[targets.a]\nlock = "requirements.txt"\ndriver = 580\n')
    (target,) = parse([f"{folder}/a.toml"])
    assert target.nvjitlink is not None
    assert (target.nvjitlink.text, target.nvjitlink.source) == ("12.8.93", "requirements.txt")


def test_an_unknown_name_is_told_with_those_that_are_near(tmp_path: Path) -> None:
    (tmp_path / "ltocompat.toml").write_text('[targets]\nedge = "driver=580"\n')
    text = sentence("edgy", tmp_path)
    assert "did you mean edge?" in text
    assert "ltocompat.toml names edge" in text
    assert "no ltocompat.toml or pyproject.toml names any" in sentence("edgy", tmp_path.parent)


@pytest.mark.parametrize(
    ("content", "part"),
    [
        ("[targets.a]\ndrivr = '1'\n", "target a: 'drivr' is not a key of a deploy target"),
        ("[targets.a]\nnvjitlink = 12.10\n", 'quote it: nvjitlink = "..."'),
        ("[targets.a]\ndriver = true\n", "driver = True is not a string"),
        ("[targets.a]\ngpu = ['h100', 3]\n", "is not a string"),
        ("[targets.a]\n", "is not a key of a deploy target"),
        ("[targets]\na = 3\n", "3 is not a table"),
        ("[targets]\na = 'b'\n", "'b' is not a deploy target"),
        ("targets = 3\n", "targets is not a table"),
        ("[other]\n", "names no target; write a table [targets.NAME]"),
        ("lock-version = '1.0'\n", "x.toml has no nvidia-nvjitlink, nvidia-cuda-nvrtc"),
        ("= 3\n", "is not a TOML file"),
        ("a = " + "[" * 20_000, "is not a TOML file"),
        ("a = " + "9" * 5_000, "is not a TOML file"),
    ],
    ids=range(13),
)
def test_an_error_in_a_file_names_the_file_and_the_place(
    tmp_path: Path, content: str, part: str
) -> None:
    (tmp_path / "x.toml").write_text(content)
    text = sentence("x.toml", tmp_path)
    assert part in text
    assert "x.toml" in text


def test_a_file_or_target_that_is_not_there_is_named(folder: Path) -> None:
    assert "there is no file" in sentence("none.toml", folder)
    assert "prod.toml has no target egde (did you mean edge?)" in sentence("prod.toml:egde", folder)


def test_a_lock_file_by_itself_is_what_it_pins(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("numpy\nnvidia-nvjitlink-cu12==12.4.127\n")
    assert parse(["requirements.txt"], where=str(tmp_path)) == tuple(
        replace(target, name="lock=requirements.txt")
        for target in parse(["lock=requirements.txt"], where=str(tmp_path))
    )
    (tmp_path / "requirements.txt").write_text("numpy\n")
    assert "has no nvidia-nvjitlink" in sentence("requirements.txt", tmp_path)
