"""What CI systems would obey in an output: no name and no metadata of others puts it there."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from package_writer import zip_of
from packages_made import metadata
from samples import FOLDER

from ltocompat.cli import run
from ltocompat.report import FINDING_FORMATS

IMAGE = FOLDER / "fatbin" / "nvfatbin-13.5-sm_90a.fatbin"
NAMES = ("##[set-output name=x;]y.fatbin", "::set-output name=x::y.fatbin")
# The runner of GitHub reads ##[ anywhere in a line, :: at its start; of its format these are ours.
OBEYED = re.compile(
    r"##\[|^\s*::(?!(?:error|warning|notice) (?:file=|title=)|group::|endgroup::)", re.MULTILINE
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in NAMES:
        shutil.copy(IMAGE, tmp_path / name)
    lines = ["##[add-path]/x>=1", "::add-path::/x>=1"]
    (tmp_path / "libx-1.0-py3-none-any.whl").write_bytes(
        zip_of(
            *((name, IMAGE.read_bytes()) for name in NAMES),
            ("libx-1.0.dist-info/METADATA", metadata("##[error]libx", "::1.0", lines)),
            ("libx-1.0.dist-info/WHEEL", b"Wheel-Version: 1.0\nTag: py3-none-any\n"),
            ("libx-1.0.dist-info/RECORD", b""),
        )
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("form", FINDING_FORMATS)
@pytest.mark.parametrize("words", [["check", ".", "--deploy-target", "R450,h100"], ["audit", "."]])
def test_findings(
    words: list[str], form: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run([*words, "--format", form])
    run([words[0], *map(str, folder.iterdir()), *words[2:], "--format", form])
    shown = capsys.readouterr()
    assert not OBEYED.findall(shown.out + shown.err)


@pytest.mark.parametrize("form", ["table", "json", "markdown"])
@pytest.mark.parametrize(
    "words",
    [["inspect"], ["inspect", "--images"], ["require"], ["matrix"], ["extract", "-o", "out"]],
)
def test_other_answers(
    words: list[str], form: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [path.name for path in folder.iterdir()]
    run([words[0], *paths, "##[error]gone.so", *words[1:], "--format", form])
    shown = capsys.readouterr()
    assert not OBEYED.findall(shown.out + shown.err)


def test_nothing_is_lost_in_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["inspect", str(folder / NAMES[0]), "--format", "json"])
    out = capsys.readouterr().out
    assert "\\u0023#[" in out
    (artifact,) = json.loads(out)["artifacts"]
    assert artifact["path"] == str(folder / NAMES[0])
