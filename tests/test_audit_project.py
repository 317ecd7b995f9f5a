"""A sample project whose policy passes; then one change at a time that has to fail.

The first line of each failure is written out here: it is what a newcomer reads in the log of CI.
"""

from __future__ import annotations

import json
import shlex
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
    assert first_lines(capsys) == ["audit passed: policy pyproject.toml; not counted: 1 ignored"]


def test_an_ignore_is_shown_with_its_reason_and_its_end(project: Project, capsys: Captured) -> None:
    project.build()
    run(["audit"])
    out = capsys.readouterr().out
    assert (
        "ignored until 2099-12-31 (libaxpy gets SASS for H100 in 1.1): fail PTX-01 on prod" in out
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


def test_a_lost_architecture_fails(project: Project, capsys: Captured) -> None:
    del project.code["sm_90.cubin"]
    project.build()
    assert run(["audit"]) == 1
    what, how = first_lines(capsys, 2)
    assert what == (
        "audit failed: SASS for sm_90 is required, but there is SASS only for sm_80; POL-01 in "
        f"{WHEEL} on every target"
    )
    assert how == (
        "what to do: compile with -gencode arch=compute_90,code=sm_90, or take sm_90 out of "
        "require-archs"
    )


def test_a_pin_too_low_fails(project: Project, capsys: Captured) -> None:
    project.edit("nvidia-nvjitlink>=13.2,<14", "nvidia-nvjitlink>=13.0,<14")
    project.build()
    assert run(["audit"]) == 1
    what, how = first_lines(capsys, 2)
    assert what == (
        "audit failed: the metadata allow nvidia-nvjitlink 13.0, but LTO-IR made by 13.2 is "
        f"inside, so 13.2 or newer is needed; NJL-06 in {WHEEL} on every target"
    )
    command = f"ltocompat repair {WHEEL} -o repaired"
    assert how == f"what to do: write Requires-Dist: nvidia-nvjitlink>=13.2,<14; or run {command}"


def test_a_newer_compiler_fails(project: Project, capsys: Captured) -> None:
    project.code["scale.ltoir"] = "ltoir/nvrtc-13.5-lto_80.ltoir"
    project.edit("nvidia-nvjitlink>=13.2,<14", "nvidia-nvjitlink>=13.5,<14")
    project.build()
    assert run(["audit"]) == 1
    what, how = first_lines(capsys, 2)
    assert what == (
        "audit failed: LTO-IR made by 13.5 needs nvJitLink >= 13.5; the target has 13.2; "
        f"LTO-01 in {WHEEL} on prod (a100, h100), edge (l4)"
    )
    assert how == (
        "what to do: require nvidia-nvjitlink>=13.5,<14, or compile the LTO-IR with the target's "
        "toolkit"
    )


def test_a_missing_device_link_fails(project: Project, capsys: Captured) -> None:
    project.code["libaxpy.so"] = "objects/libaxpy-no-device-link.so"
    project.build()
    assert run(["audit"]) == 1
    (line,) = first_lines(capsys)
    assert line.startswith(
        "audit failed: the undefined __cudaRegisterLinkedBinary_0571d20b_7_axpy_cu_axpy and 1 more:"
        " no device link was made; BLD-01 in "
    )


def test_an_expired_ignore_is_wrong_usage(project: Project, capsys: Captured) -> None:
    project.edit("2099-12-31", "2025-01-31")
    project.build()
    assert run(["audit"]) == 2
    assert " ".join(capsys.readouterr().err.split()) == (
        "ltocompat: pyproject.toml: audit.ignore[0] (PTX-01 in libaxpy.so on prod) expired on "
        "2025-01-31; its reason was: libaxpy gets SASS for H100 in 1.1: fix the finding "
        "and delete the exception, or extend it"
    )


@pytest.mark.parametrize(
    ("old", "new"), [(">=13.2,<14", ">=13.0,<14"), ('"sm_90", "lto_80"', '"sm_100", "lto_80"')]
)
def test_a_failure_names_the_command_that_shows_it_alone(
    old: str, new: str, project: Project, capsys: Captured
) -> None:
    old, new = (f"nvjitlink{text}" if ">" in text else text for text in (old, new))
    project.edit(old, new)
    project.build()
    assert run(["audit"]) == 1
    what, _, alone, _ = first_lines(capsys, 4)
    rule = what.partition("; ")[2].split()[0]
    name, *words = shlex.split(alone.removeprefix("check only this: "))
    assert name == "ltocompat"
    run(words)
    out = capsys.readouterr().out
    assert rule in out if words[0] == "check" else "sm_100" in out


def test_nothing_built_is_wrong_usage(project: Project, capsys: Captured) -> None:
    assert project
    assert run(["audit"]) == 2
    assert "dist/* holds no file; build first, or name a package, or let" in capsys.readouterr().err


def test_without_a_policy_promises_are_held_against_bytes(
    project: Project, capsys: Captured
) -> None:
    text = (project.folder / "pyproject.toml").read_text("utf-8")
    (project.folder / "pyproject.toml").write_text(text.partition("[tool.ltocompat")[0], "utf-8")
    project.build()
    policy = (
        "to also check drivers, nvJitLinks and GPUs, name them in a policy: write "
        '[tool.ltocompat.targets.oldest] with driver = "580" and gpu = ["h100"] into pyproject.toml'
    )
    assert run(["audit"]) == 0
    passed, *others = first_lines(capsys, 99)
    assert passed == "audit passed: no policy was used"
    assert others[-1] == policy
    project.edit("nvidia-nvjitlink>=13.2,<14", "nvidia-nvjitlink>=13.0,<14")
    project.build()
    assert run(["audit"]) == 3  # the LTO-IR is for whoever asks for it
    what, *others = first_lines(capsys, 3)
    assert what == (
        "audit undecided: the metadata allow nvidia-nvjitlink 13.0, but LTO-IR made by 13.2 is "
        f"inside, so 13.2 or newer is needed; NJL-06 in {WHEEL} on every target"
    )
    command = f"ltocompat repair {WHEEL} -o repaired"
    assert others == [
        f"what to do: write Requires-Dist: nvidia-nvjitlink>=13.2,<14; or run {command}",
        "about the rule: ltocompat explain NJL-06; no policy was used",
    ]
    assert run(["audit", "--fail-on", "unknown"]) == 1


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


@pytest.mark.parametrize(
    ("path", "code", "line"),
    [
        ("README.md", 0, "audit passed: there is no device code; no policy was used"),
        ("cubin/nvrtc-13.0-sm_90.cubin", 0, "audit passed: no policy was used"),
        ("broken/cubin-shoff-outside.cubin", 3, "audit undecided: one place can't be read"),
    ],
)
def test_without_a_policy_a_file_ends_in_the_code_of_what_was_read(
    path: str, code: int, line: str, folder: Path, capsys: Captured
) -> None:
    assert folder
    assert run(["audit", str(FOLDER / path)]) == code
    assert first_lines(capsys)[0].startswith(line)


def test_without_a_policy_a_folder_without_files_is_nothing_judged(
    folder: Path, capsys: Captured
) -> None:
    (folder / "wheels").mkdir()
    assert run(["audit", "wheels"]) == 3
    assert "'wheels' holds no file" in first_lines(capsys)[0]
    assert run(["audit", "wheels", "--allow-empty"]) == 0
    (folder / "wheels" / "notes.txt").write_text("no device code")
    assert run(["audit", "wheels"]) == 0


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
    assert {each_values[0] for each_values in promised} == {"PKG-10"}
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
