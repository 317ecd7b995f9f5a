"""``audit``: several formats at once, where they go, and the exit codes."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from kernels_project import Project
from packages_made import wheel
from report_values import valid_json
from samples import FOLDER

from ltocompat.cli import run

Captured = pytest.CaptureFixture[str]
PTX = str(FOLDER / "ptx" / "nvrtc-12.4-compute_80.ptx")
LTOIR = str(FOLDER / "fatbin-ltoir" / "nvfatbin-13.1-of-13.1-lto_80.fatbin")
SASS = str(FOLDER / "cubin" / "nvrtc-13.0-sm_90.cubin")
POLICY = """
[targets.prod]
driver = "580.95.05"
nvjitlink = "13.1"
gpu = "h100"
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "ltocompat.toml").write_text(POLICY, "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    return tmp_path


def test_all_formats_at_once_each_in_its_own_file(folder: Path, capsys: Captured) -> None:
    files = ["json=a.json", "markdown=a.md", "sarif=a.sarif", "github=a.txt", "html=a.html"]
    words = [word for file in files for word in ("--format", file)]
    assert run(["audit", PTX, "--fail-on", "jit", *words]) == 1
    assert capsys.readouterr().out.startswith("audit failed: PTX alone: there is no SASS for sm_90")
    assert not valid_json((folder / "a.json").read_text("utf-8"))["summary"]["passed"]
    assert (folder / "a.md").read_text("utf-8").startswith("audit failed: PTX alone")
    (value,) = json.loads((folder / "a.sarif").read_text("utf-8"))["runs"][0]["results"]
    assert (value["ruleId"], value["level"]) == ("PTX-06", "error")
    assert (folder / "a.txt").read_text("utf-8").startswith("::error file=")
    assert (folder / "a.html").read_text("utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["yaml"], "--format 'yaml' is not known; give one of: table, json, markdown, csv, jsonl"),
        (["json", "table"], "json and table both go to standard output"),
        (["json=", "table"], "--format 'json=' names no file; write json=FILE"),
        (["json=a", "html=./a"], "two formats go to one file"),
    ],
)
def test_formats_that_cannot_be_are_wrong_usage(
    words: list[str], text: str, capsys: Captured
) -> None:
    given = [word for each_word in words for word in ("--format", each_word)]
    assert run(["audit", SASS, *given]) == 2
    assert text in capsys.readouterr().err


def test_a_report_never_replaces_what_was_audited(folder: Path, capsys: Captured) -> None:
    path = folder / "x.cubin"
    path.write_bytes(Path(SASS).read_bytes())
    assert run(["audit", "x.cubin", "--format", "json=x.cubin"]) == 2
    assert "would replace x.cubin" in capsys.readouterr().err
    assert path.read_bytes() == Path(SASS).read_bytes()


def test_a_file_that_cannot_be_written_is_told(capsys: Captured) -> None:
    assert run(["audit", SASS, "--format", "json=gone/x.json"]) == 3
    assert "'gone/x.json' can't be written (No such file or directory)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ([SASS], 0),
        ([PTX], 0),
        ([PTX, "--fail-on", "jit"], 1),
        ([PTX, "--strict"], 0),
        ([LTOIR], 3),  # unknown, and nothing else
        ([LTOIR, SASS], 3),  # one more file betters nothing
        ([LTOIR, "--strict"], 1),
        ([str(FOLDER / "README.md")], 3),
        (["gone.whl"], 3),
        (["gone.whl", PTX, "--fail-on", "jit"], 1),
        ([SASS, "--fail-on", "never"], 2),
        ([SASS, "--config", "gone.toml"], 2),
        ([SASS, "--baseline", "gone.json"], 2),
        ([SASS, "--with", SASS], 2),
        ([SASS + "@0x7"], 2),
    ],
)
def test_audit_ends_in_the_code_of_what_counts(
    arguments: list[str], code: int, capsys: Captured
) -> None:
    assert run(["audit", *arguments]) == code
    assert "Traceback" not in capsys.readouterr().err


def test_an_error_is_json_too_where_json_is_asked_for(capsys: Captured) -> None:
    assert run(["audit", SASS, "--config", "gone.toml", "--format", "json"]) == 2
    assert valid_json(capsys.readouterr().out)["error"]["kind"] == "usage"
    assert run(["audit", "gone.whl", "--format", "json"]) == 3
    assert valid_json(capsys.readouterr().out)["error"]["kind"] == "unreadable"


def test_trial_link_is_the_key_for_this_run(folder: Path, capsys: Captured) -> None:
    """A cubin needs no linker, so that none has to be at hand."""
    (folder / "ltocompat.toml").write_text(POLICY + '[audit]\ntrial-link = ["13.1"]\n', "utf-8")
    for words, releases in (([], ["13.1"]), (["--trial-link", "--install-linkers"], [])):
        assert run(["audit", SASS, *words, "--no-cache", "--format", "json"]) == 0
        policy = valid_json(capsys.readouterr().out)["policy"]
        assert (policy["trial_links"], policy["trial_releases"]) == (True, releases)


def test_a_path_that_cannot_be_read_is_no_pass(folder: Path, capsys: Captured) -> None:
    assert run(["audit", SASS, "gone.whl", "--format", "json=a.json"]) == 3
    line, *_ = capsys.readouterr().out.splitlines()
    assert line.startswith("audit undecided: 1 path could not be read: ")
    summary = valid_json((folder / "a.json").read_text("utf-8"))["summary"]
    assert (summary["passed"], summary["outcome"]) == (False, "undecided")


def test_a_report_goes_to_a_pipe_that_has_few_letters(
    monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    path = folder / "naïve-\udcff.ptx"
    path.write_bytes(Path(PTX).read_bytes())
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    assert run(["audit", str(path), "--format", "json=x.json", "--format", "html=x.html"]) == 0
    valid_json((folder / "x.json").read_text("utf-8"))


def test_what_is_wrong_on_any_target_is_no_deploy_target(folder: Path) -> None:
    project = Project.copy(folder / "kernels")
    project.edit("nvidia-nvjitlink>=13.2,<14", "nvidia-nvjitlink>=12.0")
    words = ["--format", "html=a.html", "--format", "sarif=a.sarif", "--format", "github=a.txt"]
    assert run(["audit", str(project.build()), *words]) == 1
    page = (folder / "a.html").read_text("utf-8")
    assert "every target" in page
    assert "on 1 deploy target<" in page
    results = json.loads((folder / "a.sarif").read_text("utf-8"))["runs"][0]["results"]
    values = [result["message"]["text"] for result in results]
    assert any("every target" in text for text in values)
    assert not any("target every target" in text for text in values)


def test_check_tells_what_is_wrong_with_a_package_on_any_target(
    folder: Path, capsys: Captured
) -> None:
    project = Project.copy(folder / "kernels")
    project.edit("nvidia-nvjitlink>=13.2,<14", "nvidia-nvjitlink>=12.0")
    path = str(project.build())
    goal = ["--deploy-target", "prod", "--format", "json"]
    run(["check", path, *goal])
    results = valid_json(capsys.readouterr().out)["results"]
    assert [result["target"] for result in results] == ["prod", "every target"]
    run(["check", f"{path}::kernels/scale.ltoir", *goal])  # a part is not a package
    assert len(valid_json(capsys.readouterr().out)["results"]) == 1
    run(["check", path, "--deploy-target"])
    out = capsys.readouterr().out
    assert "every target" not in out  # it is known what this machine has


def test_architectures_are_required_of_all_but_single_images_and_pure_packages(
    folder: Path, capsys: Captured
) -> None:
    required = '[audit]\nrequire-archs = ["sm_80", "sm_90"]\n'
    (folder / "ltocompat.toml").write_text(POLICY + required, "utf-8")
    assert run(["audit", SASS]) == 0  # one image has one architecture
    library = str(FOLDER / "objects" / "libsaxpy.so")
    capsys.readouterr()
    run(["audit", library, "--format", "json"])
    assert "POL-01" in rules(valid_json(capsys.readouterr().out))
    pure = wheel(folder, {"pure/__init__.py": b""}, name="pure", tag="py3-none-any")
    capsys.readouterr()
    assert run(["audit", str(pure)]) == 3
    assert "1 file without device code" in capsys.readouterr().out
    empty = wheel(folder, {"empty/__init__.py": b""}, name="empty")
    assert run(["audit", str(empty)]) == 1
    assert "audit failed: SASS for sm_80, sm_90 is required, but there is no SASS" in (
        capsys.readouterr().out
    )


@pytest.mark.parametrize(
    ("path", "code"),
    [
        (LTOIR, 3),  # there is device code, and what becomes of it is not known
        (str(FOLDER / "broken" / "region-body-cut.fatbin"), 3),
        (str(FOLDER / "broken" / "cubin-shoff-outside.cubin"), 3),
        ("gone.whl", 3),
        (str(FOLDER / "ptx" / "nvrtc-13.5-compute_80.ptx"), 1),
    ],
)
def test_allow_empty_lets_nothing_else_pass(path: str, code: int, capsys: Captured) -> None:
    assert run(["audit", path, "--allow-empty"]) == code
    assert "--allow-empty" not in capsys.readouterr().out


def test_a_least_driver_is_kept(folder: Path, capsys: Captured) -> None:
    least = '[audit]\nleast-driver = "535"\n'
    (folder / "ltocompat.toml").write_text(POLICY + least, "utf-8")
    assert run(["audit", SASS]) == 1
    assert capsys.readouterr().out.startswith(
        "audit failed: least-driver is 535.54.03, but the SASS needs driver 580.65.06; POL-02"
    )
    capsys.readouterr()
    run(["require", SASS, "--format", "json"])
    (value,) = valid_json(capsys.readouterr().out)["artifacts"]
    assert value["driver_sass"] == "580.65.06"


def rules(value: Any) -> set[str]:  # noqa: ANN401 - parsed JSON
    return {found["rule"] for each_value in value["results"] for found in each_value["findings"]}


def test_fixes_that_differ_by_a_gpu_are_one_fix_in_every_format(capsys: Captured) -> None:
    fatbin = str(FOLDER / "fatbin" / "nvcc-13.2-none.fatbin")
    target = "driver=580.95.05,gpu=h100+b300+5090"
    for form in ("table", "github", "sarif", "csv"):
        words = ["audit", fatbin, "--deploy-target", target, "--format", form]
        assert run(words) == 1
        out = capsys.readouterr().out
        assert "ship SASS for sm_90, sm_103, sm_120, or compile the PTX" in out, form
        assert form == "sarif" or "sm_90, or compile" not in out, form


def test_the_first_lines_name_every_gpu_that_fails(capsys: Captured) -> None:
    cubin = str(FOLDER / "cubin" / "nvrtc-13.0-sm_90.cubin")
    assert run(["audit", cubin, "--deploy-target", "R580,gpu=a100+l4"]) == 1
    outcome, todo, *_ = capsys.readouterr().out.splitlines()
    assert outcome.startswith("audit failed: no code for sm_80, sm_89 (error 209")
    assert outcome.endswith("(a100, l4)")
    assert "code=sm_80 -gencode arch=compute_89,code=sm_89" in todo


@pytest.mark.parametrize("gpus", ["l4+a100+h100", "h100+l4", "a100+h100"])
def test_ltoir_is_compiled_for_the_lowest_gpu_alone(gpus: str, capsys: Captured) -> None:
    ltoir = str(FOLDER / "ltoir" / "nvrtc-12.9-lto_100.ltoir")
    assert run(["check", ltoir, "--deploy-target", f"nvjitlink=12.9,driver=R580,gpu={gpus}"]) == 1
    lowest = {"a100": 80, "l4": 89}["a100" if "a100" in gpus else "l4"]
    out = capsys.readouterr().out
    assert f"(-gencode arch=compute_{lowest},code=lto_{lowest})" in out
    assert out.count("-gencode") == 1


def test_a_release_can_be_mended_or_its_policy(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ltocompat.toml").write_text('[targets.oldest]\ndriver = "580.95.05"\ngpu = "h100"\n')
    fatbin = str(FOLDER / "fatbin" / "nvcc-13.2-none.fatbin")
    less = "; if releases needn't run on oldest, change that target in ltocompat.toml"
    for options, told in (([], True), (["--deploy-target", "580.95.05,h100"], False)):
        assert run(["audit", fatbin, *options]) == 1
        assert (less in capsys.readouterr().out.replace("\n  ", " ")) is told


def test_the_headline_is_the_first_finding_below_it(capsys: Captured) -> None:
    fatbin = str(FOLDER / "fatbin" / "nvcc-13.2-none.fatbin")
    words = ["--deploy-target", "driver=580.95.05,gpu=h100", "--max-bytes", "100"]
    assert run(["audit", fatbin, *words]) == 1
    out = capsys.readouterr().out
    assert out.startswith("audit failed: PTX 9.2 needs driver >= 595")
    assert "about the rule: ltocompat explain PTX-01; " in out
    assert out.index("fail[PTX-01]") < out.index("fail[POL-04]")
    assert out.endswith("ltocompat explain PTX-01\n")
