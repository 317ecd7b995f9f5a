"""Findings on modules name the kernels behind them."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

import ltocompat
from ltocompat.cli import run
from ltocompat.model.verdict import Result, Verdict

OLD, NEW = "driver=525.60.13,gpu=sm_90", "driver=610.43.02,gpu=sm_90"


def ptx(*kernels: str, target: str = "sm_80") -> str:
    """PTX of CUDA 13.0, which no driver of CUDA 12 loads."""
    entries = [f".visible .entry {name}()\n{{\nbar.sync 0;\nret;\n}}\n" for name in kernels]
    return f".version 9.0\n.target {target}\n.address_size 64\n" + "".join(entries)


def checked(path: Path, target: str) -> Result:
    (result, *_) = ltocompat.check(path, [target])
    return result


def test_a_module_that_fails_names_its_kernels(tmp_path: Path) -> None:
    path = tmp_path / "a.ptx"
    path.write_text(ptx("_Z3addPfS_", "_Z5scalePf"))
    result = checked(path, OLD)
    assert result.verdict is Verdict.FAIL
    assert result.findings[0].kernels == ("_Z3addPfS_", "_Z5scalePf")
    assert result.findings[0].kernel_count == 2


def test_so_does_one_in_a_package(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as package:
        package.writestr("k/first.ptx", ptx("_Z5firstv"))
        package.writestr("k/second.ptx", ptx("_Z6secondv"))
    result = checked(path, OLD)
    assert result.findings[0].kernels == ("_Z5firstv",)


@pytest.mark.parametrize(("arch", "target"), [("sm_80", NEW), ("sm_100", NEW), ("sm_100", OLD)])
def test_what_works_and_what_serves_nothing_at_all_name_none(
    tmp_path: Path, arch: str, target: str
) -> None:
    path = tmp_path / "a.ptx"
    path.write_text(ptx("_Z3addv", target=arch))
    assert all(not finding.kernels for finding in checked(path, target).findings)


def test_of_many_kernels_the_first_are_named_and_all_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.ptx"
    path.write_text(ptx(*(f"k{number}" for number in range(1500))))
    assert run(["check", str(path), "--deploy-target", OLD]) == 1
    assert "kernels k0, k1, k2 and 1,497 more)" in capsys.readouterr().out
    run(["check", str(path), "--deploy-target", OLD, "--format", "json"])
    (result,) = json.loads(capsys.readouterr().out)["results"]
    found = result["findings"][0]
    assert found["kernels"] == [f"k{number}" for number in range(20)]
    assert found["kernel_count"] == 1500
    run(["check", str(path), "--deploy-target", OLD, "--format", "html"])
    page = capsys.readouterr().out
    assert "k19" in page
    assert "and 1,480 more" in page
