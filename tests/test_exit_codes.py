"""The exit code means the same for every verb, and what ends in it is said."""

from __future__ import annotations

from pathlib import Path

import pytest
from packages_made import wheel
from samples import FOLDER

from ltocompat.cli import run

Captured = pytest.CaptureFixture[str]
CUBIN = FOLDER / "cubin" / "nvrtc-13.0-sm_90.cubin"
TARGET = ["--deploy-target", "driver=580.95.05,gpu=h100"]
VERBS: dict[str, list[str]] = {
    "inspect": [],
    "extract": ["-o", "out"],
    "check": TARGET,
    "audit": [],
    "require": [],
    "matrix": [],
    "init": ["-o", "new.toml"],
    "diff": [str(CUBIN)],
}
PART = str(FOLDER / "broken" / "region-body-cut.fatbin")
"""The first of its images is whole."""


pytestmark = pytest.mark.usefixtures("folder")


def half(folder: Path) -> Path:
    """A wheel whose download broke off."""
    path = wheel(folder, {"k/x.cubin": CUBIN.read_bytes() * 9})
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    return path


@pytest.mark.parametrize("verb", VERBS)
def test_a_whole_wheel_is_0_for_every_verb(verb: str, folder: Path) -> None:
    assert run([verb, str(wheel(folder, {"k/x.cubin": CUBIN.read_bytes()})), *VERBS[verb]]) == 0


@pytest.mark.parametrize("verb", ["inspect", "extract"])
def test_a_filter_that_matches_nothing_says_so(verb: str, capsys: Captured) -> None:
    for words in (["--made-by", "11.1"], ["--kind", "tileir"], ["--arch", "sm_50"]):
        assert run([verb, str(CUBIN), *words, *VERBS[verb]]) == 0
        assert "no image matches; to list all, leave out --kind" in capsys.readouterr().err
    assert run([verb, str(CUBIN), "--made-by", "13.0", *VERBS[verb]]) == 0
    assert not capsys.readouterr().err


@pytest.mark.parametrize("verb", VERBS)
def test_a_file_that_was_read_in_part_is_3_beside_what_was_found(
    verb: str, capsys: Captured
) -> None:
    assert run([verb, PART, *VERBS[verb]]) == 3
    assert capsys.readouterr().out


def test_an_input_of_a_link_that_cannot_be_read_is_3(folder: Path, capsys: Captured) -> None:
    arguments = ["link", str(half(folder)), "--arch", "sm_90"]
    assert run(arguments) in (3, 4)  # 4: no nvJitLink is at hand
    assert (
        "is the archive complete?" in (text := "".join(capsys.readouterr()))
        or "no nvJitLink" in text
    )


@pytest.mark.parametrize("options", [[], ["--allow-empty"]])
def test_what_has_no_device_code_passes_where_that_is_allowed_or_nothing_is_asked(
    options: list[str], folder: Path
) -> None:
    cpu = str(wheel(folder, {"k/x.py": b"x"}))
    assert run(["check", cpu, *TARGET, *options]) == (0 if options else 3)
    assert run(["audit", cpu, *options]) == 0
    (folder / "ltocompat.toml").write_text('[targets.x]\ndriver = "580"\n', "utf-8")
    assert run(["audit", cpu, *options]) == (0 if options else 3)
    assert run(["audit", "dist/*.whl", *options]) == (0 if options else 2)
