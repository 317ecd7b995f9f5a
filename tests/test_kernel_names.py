"""Findings on modules name the kernels behind them."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from pathlib import Path

import pytest

import ltocompat
from ltocompat.cli import run
from ltocompat.model.verdict import Result

OLD, NEW = "driver=525.60.13,gpu=sm_90", "driver=610.43.02,gpu=sm_90"


def ptx(*kernels: str, target: str = "sm_80") -> str:
    """PTX of CUDA 13.0, which no driver of CUDA 12 loads."""
    entries = [f".visible .entry {name}()\n{{\nbar.sync 0;\nret;\n}}\n" for name in kernels]
    return f".version 9.0\n.target {target}\n.address_size 64\n" + "".join(entries)


def checked(path: Path, target: str) -> Result:
    (result, *_) = ltocompat.check(path, [target])
    return result


def test_of_very_many_modules_some_are_read_and_that_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as package:
        for number in range(70):
            package.writestr(f"k/{number:02}.ptx", ptx(f"k{number:02}"))
    found = checked(path, OLD).findings[0]
    assert (found.module_count, found.kernel_modules, len(found.kernels)) == (70, 60, 60)
    run(["check", str(path), "--deploy-target", OLD])
    assert "kernels k00, k01, k02 and 57 more in 60 of them" in capsys.readouterr().out
    run(["check", str(path), "--deploy-target", OLD, "--format", "html"])
    assert "<dt>Kernels of 60 modules</dt>" in capsys.readouterr().out


def test_of_many_kernels_the_first_are_named_and_all_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.ptx"
    path.write_text(ptx(*(f"k{number}" for number in range(1500))))
    assert run(["check", str(path), "--deploy-target", OLD]) == 1
    assert "kernels k0, k1, k2 and 1,497 more" in capsys.readouterr().out
    run(["check", str(path), "--deploy-target", OLD, "--format", "json"])
    (result,) = json.loads(capsys.readouterr().out)["results"]
    found = result["findings"][0]
    assert found["kernels"] == [f"k{number}" for number in range(20)]
    assert found["kernel_count"] == 1500
    assert found["kernel_modules"] == 1
    run(["check", str(path), "--deploy-target", OLD, "--format", "jsonl"])
    row = json.loads(capsys.readouterr().out.splitlines()[0])
    assert (row["kernels"][-1], row["kernel_count"], row["kernel_modules"]) == ("k19", 1500, 1)
    run(["check", str(path), "--deploy-target", OLD, "--format", "sarif"])
    value = json.loads(capsys.readouterr().out)["runs"][0]["results"][0]["properties"]
    assert (value["kernels"][0], value["kernel_count"], value["kernel_modules"]) == ("k0", 1500, 1)
    run(["check", str(path), "--deploy-target", OLD, "--format", "csv"])
    cells = next(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert cells["kernels"].split("; ") == found["kernels"]
    assert cells["kernel_count"] == "1500"
    run(["check", str(path), "--deploy-target", OLD, "--format", "html"])
    page = capsys.readouterr().out
    assert "k19" in page
    assert "and 1,480 more" in page
