"""A sample project whose policy passes; then one change at a time that has to fail.

The first line of each failure is written out here: it is what a newcomer reads in the log of CI.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from kernels_project import Project
from report_values import valid_json
from samples import FOLDER

from ltocompat.cli import run

Captured = pytest.CaptureFixture[str]
WHEEL = "dist/kernels-1.0-py3-none-manylinux_2_28_x86_64.whl"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    copy = Project.copy(tmp_path / "kernels")
    monkeypatch.chdir(copy.folder)
    return copy


def first_lines(capsys: Captured, number: int = 1) -> list[str]:
    capture_result = capsys.readouterr()
    assert "Traceback" not in capture_result.err
    return capture_result.out.replace("\n  ", " ").splitlines()[:number]


def test_the_wheel_is_one_that_pip_installs(project: Project) -> None:
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-deps"]
    where = project.folder / "site"
    subprocess.run([*pip, "--target", str(where), str(project.build())], check=True)
    assert (where / "kernels" / "libaxpy.so").is_file()


def test_the_project_passes_its_own_policy(project: Project, capsys: Captured) -> None:
    project.build()
    assert run(["audit"]) == 0
    (line,) = first_lines(capsys)
    assert re.fullmatch(
        r"audit passed: dist/\S+\.whl; policy pyproject.toml; not counted: 1 ignored", line
    )


def test_quiet_tells_only_what_is_wrong(project: Project, capsys: Captured) -> None:
    project.build()
    assert run(["audit", "-q"]) == 0
    assert not capsys.readouterr().out
    del project.code["sm_90.cubin"]
    project.build()
    assert run(["audit", "-q"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("audit failed: SASS for sm_90 is required")
    assert any(line.startswith("fail[POL-01] SASS for sm_90 is required") for line in lines)


def test_an_expired_ignore_is_wrong_usage(project: Project, capsys: Captured) -> None:
    project.edit("2099-12-31", "2025-01-31")
    project.build()
    assert run(["audit"]) == 2
    assert " ".join(capsys.readouterr().err.split()) == (
        "ltocompat: pyproject.toml: audit.ignore[0] (PTX-01 in libaxpy.so on prod) expired on "
        "2025-01-31; fix the finding and delete the exception, or extend the exception (reason: "
        "libaxpy gets SASS for H100 in 1.1)"
    )


def test_without_a_policy_what_no_target_changes_is_found(
    project: Project, capsys: Captured
) -> None:
    project.code["libaxpy.so"] = "objects/libaxpy-no-device-link.so"
    path = str(project.build().relative_to(project.folder))
    (project.folder / "pyproject.toml").unlink()
    words = ["--format", "html=a.html", "--format", "sarif=a.sarif", "--format", "github=a.txt"]
    assert run(["audit", path, *words, "--format", "json"]) == 1
    value = valid_json(capsys.readouterr().out)
    assert value["policy"]["source"] == ""
    (result,) = value["results"]
    assert (result["target"], result["verdict"]) == ("every target", "fail")
    assert [each_value["rule"] for each_value in result["findings"]] == ["BLD-01"]
    assert f"{Path(WHEEL).name} on every target<" in (project.folder / "a.html").read_text("utf-8")
    (failure,) = json.loads((project.folder / "a.sarif").read_text("utf-8"))["runs"][0]["results"]
    assert failure["ruleId"] == "BLD-01"
    assert (project.folder / "a.txt").read_text("utf-8").startswith(f"::error file={WHEEL},")


def test_a_policy_that_was_named_must_be_there(folder: Path, capsys: Captured) -> None:
    (folder / "pyproject.toml").write_text('[project]\nname = "libx"\n')
    for name in ("gone.toml", "pyproject.toml"):
        assert run(["audit", str(FOLDER / "README.md"), "--config", name]) == 2
        assert name in capsys.readouterr().err


def test_a_rebuild_keeps_its_baseline(project: Project, capsys: Captured) -> None:
    project.code["scale.ltoir"] = "ltoir/nvrtc-13.5-lto_80.ltoir"
    project.build().unlink()
    old = str(project.build("1.0"))
    assert run(["audit", old, "--write-baseline", "known.json"]) == 0
    new = str(project.build("1.1"))
    assert run(["audit", new]) == 1
    capsys.readouterr()
    assert run(["audit", new, "--baseline", "known.json", "--format", "json"]) == 0
    summary = valid_json(capsys.readouterr().out)["summary"]
    assert summary["passed"]
    assert summary["findings"]["counts"] == 0
    assert summary["findings"]["known"] > 0
    del project.code["sm_90.cubin"]
    worse = str(project.build("1.2"))
    assert run(["audit", worse, "--baseline", "known.json"]) == 1
    assert first_lines(capsys)[0].startswith("audit failed: SASS for sm_90 is required")


def test_every_finding_is_reproduced_by_check_or_require(
    project: Project, capsys: Captured
) -> None:
    project.code["scale.ltoir"] = "ltoir/nvrtc-13.5-lto_80.ltoir"
    project.edit("nvidia-nvjitlink>=13.2,<14", "nvidia-nvjitlink")
    project.edit("[tool.ltocompat.promise]\n", '[tool.ltocompat.promise]\nnvjitlink = "13.2"\n')
    path = str(project.build())
    run(["audit", "--format", "json"])
    audited = findings(valid_json(capsys.readouterr().out))
    goals = ["--deploy-target", "prod", "--deploy-target", "edge"]
    run(["check", path, *goals, "--format", "json"])
    checked = findings(valid_json(capsys.readouterr().out))
    promised = {values for values in audited if values[0].startswith(("POL-", "PKG-09", "PKG-10"))}
    assert audited - promised == checked
    run(["require", path, "--format", "json"])
    (value,) = valid_json(capsys.readouterr().out)["artifacts"]
    assert {each_values[0] for each_values in promised} == {"PKG-10", "POL-02"}
    assert value["nvjitlink"]["sure"] == "13.5"


def findings(value: Any) -> set[tuple[Any, ...]]:  # noqa: ANN401 - parsed JSON
    results = value["results"]
    return {
        (
            each_value["rule"],
            each_value["verdict"],
            each_value["message"],
            result["target"],
            result["gpu"],
        )
        for result in results
        for each_value in result["findings"]
    }
