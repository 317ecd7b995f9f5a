"""What CI systems would obey in an output: no name and no metadata of others puts it there."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import pytest
from package_writer import zip_of
from packages_made import metadata
from samples import FOLDER

from ltocompat.cli import run
from ltocompat.report import FINDING_FORMATS

IMAGE = FOLDER / "fatbin" / "nvfatbin-13.5-sm_90a.fatbin"
NAMES = (
    "##[set-output name=x;]y.fatbin",
    "##vso[task.setvariable variable=x]y.fatbin",
    "##teamcity[setParameter name='x' value='y'].fatbin",
    "###vso[task.complete]y.fatbin",
    "::set-output name=x::y.fatbin",
    " ::add-mask::y.fatbin",
    "\t::add-mask::y.fatbin",
    "y%0A::add-mask::y.fatbin",
    "y\r::add-mask::y.fatbin",
    "y\u2028::add-mask::y.fatbin",
    "y ::add-mask::y.fatbin",
    "\x1b]8;;file:y\x1b\\y.fatbin",
    "\x9b31my\u2066\u202ey\ufeff.fatbin",
)
# What the runners of Azure Pipelines, TeamCity and GitHub read anywhere in a line, and what the
# last one reads behind the blanks that begin one; of its format these are ours.
OBEYED = re.compile(
    r"##\w*\[|^\s*::(?!(?:error|warning|notice) (?:file=|title=)|group::|endgroup::)"
    r"|^::[^\n]*%0[AD]::",
    re.MULTILINE,
)
HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in NAMES:
        shutil.copy(IMAGE, tmp_path / name)
    lines = ["##[add-path]/x>=1", "::add-path::/x>=1", "x>=1; extra == '##vso[x]'"]
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


def assert_nothing_obeyed(words: list[str], forms: Sequence[str], reports: Path) -> None:
    """Nothing that a run shows or writes, in all formats at once, is a command."""
    files = [reports / form for form in forms]
    options = [option for file in files for option in ("--format", f"{file.name}={file}")]
    with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err:
        run([*words, *options])
    texts = {file.name: file.read_bytes().decode("utf-8", "surrogateescape") for file in files}
    assert all(texts.values())
    for form, text in {**texts, "out": out.getvalue(), "err": err.getvalue()}.items():
        assert not OBEYED.findall(text), form
        assert not HIDDEN.findall(text), form


@pytest.fixture
def reports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reports")


@pytest.mark.parametrize("words", [["check", ".", "--deploy-target", "R450,h100"], ["audit", "."]])
def test_findings(words: list[str], folder: Path, reports: Path) -> None:
    assert_nothing_obeyed(words, FINDING_FORMATS, reports)
    paths = map(str, folder.iterdir())
    assert_nothing_obeyed([words[0], *paths, *words[2:]], FINDING_FORMATS, reports)


@pytest.mark.parametrize(
    "words",
    [["inspect"], ["inspect", "--images"], ["require"], ["matrix"], ["extract", "-o", "out"]],
)
def test_other_answers(words: list[str], folder: Path, reports: Path) -> None:
    paths = [path.name for path in folder.iterdir()]
    line = [words[0], *paths, "##[error]gone.so", *words[1:]]
    assert_nothing_obeyed(line, ("table", "json", "markdown"), reports)


def test_nothing_is_lost_in_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["inspect", str(folder / NAMES[0]), "--format", "json"])
    out = capsys.readouterr().out
    assert "\\u0023#[" in out
    (artifact,) = json.loads(out)["artifacts"]
    assert artifact["path"] == str(folder / NAMES[0])
