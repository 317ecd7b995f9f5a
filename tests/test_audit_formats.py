"""``audit``: several formats at once, where they go, and the exit codes."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from kernels_project import Project
from msgspec.structs import replace
from packages_made import wheel
from report_values import valid_json
from samples import FOLDER

import ltocompat
from ltocompat.cli import run
from ltocompat.commands.policy.baseline import Baseline
from ltocompat.commands.policy.gate import Audited, audited
from ltocompat.commands.policy.reading import read_policy
from ltocompat.model.arch import Release
from ltocompat.model.requirement import Required

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


def test_one_format_may_take_the_place_of_the_table(capsys: Captured) -> None:
    assert run(["audit", SASS, "--format", "json"]) == 0
    value = valid_json(capsys.readouterr().out)
    assert value["policy"]["source"] == "ltocompat.toml"
    assert value["summary"]["passed"]


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


@pytest.mark.parametrize(("words", "code"), [([], 3), (["--fail-on", "unknown"], 1)])
def test_a_missing_trial_names_the_option_and_the_key_that_decide(
    words: list[str], code: int, folder: Path, capsys: Captured
) -> None:
    assert run(["audit", LTOIR, *words]) == code
    what, how, *_ = capsys.readouterr().out.replace("\n  ", " ").splitlines()
    word = "failed" if words else "undecided: 1 finding needs a trial link"
    assert what.startswith(f"audit {word}: LTO-IR made by 13.1 or 13.2 may need nvJitLink")
    assert how == (
        "what to do: let nvJitLink decide: add --trial-link, or write trial-link = true under "
        "[audit] in ltocompat.toml"
    )
    tables = (folder / "ltocompat.toml").read_text("utf-8")
    (folder / "pyproject.toml").write_text(tables.replace("[", "[tool.ltocompat."), "utf-8")
    assert run(["audit", LTOIR, *words, "--config", "pyproject.toml"]) == code
    assert "under [tool.ltocompat.audit] in pyproject.toml\n" in capsys.readouterr().out
    with (folder / "ltocompat.toml").open("a", encoding="utf-8") as file:
        file.write("[audit]\ntrial-link = true\n")
    assert read_policy("ltocompat.toml").trial_links


def test_a_trial_that_was_made_is_not_advised() -> None:
    open_policy = read_policy("ltocompat.toml")
    (result,) = ltocompat.check(LTOIR, open_policy.targets)
    for policy, advised in (
        (open_policy, True),
        (replace(open_policy, trial_links=True), False),
        (replace(open_policy, trial_links=True, trial_releases=(Release(13, 2),)), True),
        (replace(open_policy, trial_links=True, trial_releases=(Release(13, 1),)), False),
    ):
        (held,) = audited([result], policy, Baseline())
        (finding,) = held.result.findings
        assert ("trial-link = true" in finding.remedy) is advised
        assert finding.decided_by_trial is advised


def test_check_and_audit_name_their_own_way_to_a_trial(folder: Path, capsys: Captured) -> None:
    run(["check", LTOIR, "--deploy-target", "nvjitlink=13.1,gpu=h100"])
    assert "or let nvJitLink decide: add --trial-link\n" in capsys.readouterr().out
    run(["require", LTOIR])
    assert "perhaps 13.1 is enough; --trial-link shows it" in capsys.readouterr().out
    (folder / "ltocompat.toml").unlink()
    run(["audit", LTOIR])
    assert "trial-link = true" not in capsys.readouterr().out


def test_a_half_that_the_policy_leaves_open_is_undecided(folder: Path, capsys: Captured) -> None:
    """Its SASS is judged for the driver; what its LTO-IR needs depends on a linker nobody named."""
    (folder / "ltocompat.toml").write_text('[targets.prod]\ndriver = "580"\ngpu = "h100"\n')
    code = {f"k/{name}": Path(path).read_bytes() for name, path in (("a", SASS), ("b", LTOIR))}
    both = str(wheel(folder, code, name="both"))
    for words in ([], ["--fail-on", "unknown"]):
        assert run(["audit", both, *words]) == 3
        what, how, *_ = capsys.readouterr().out.replace("\n  ", " ").splitlines()
        assert what.startswith("audit undecided: its links can't be checked: the target lacks ")
        assert how.endswith("to the deploy target: [targets.prod] in ltocompat.toml")
    ignored = 'ignore = [{rule = "TGT-01", reason = "never linked", expires = 2099-12-31}]\n'
    with (folder / "ltocompat.toml").open("a", encoding="utf-8") as file:
        file.write(f"[audit]\n{ignored}")
    assert run(["audit", both]) == 0


def test_a_path_that_cannot_be_read_is_no_pass(folder: Path, capsys: Captured) -> None:
    assert run(["audit", SASS, "gone.whl", "--format", "json=a.json"]) == 3
    line, *_ = capsys.readouterr().out.splitlines()
    assert line.startswith("audit undecided: 1 path could not be read: ")
    summary = valid_json((folder / "a.json").read_text("utf-8"))["summary"]
    assert (summary["passed"], summary["outcome"]) == (False, "undecided")


def test_a_verdict_that_is_known_or_ignored_says_so_in_the_table(capsys: Captured) -> None:
    too_new = str(FOLDER / "ptx" / "nvrtc-13.5-compute_80.ptx")
    run(["audit", too_new, "--write-baseline", "known.json"])
    capsys.readouterr()
    assert run(["audit", too_new, "--baseline", "known.json"]) == 0
    assert "fail (known)" in capsys.readouterr().out
    run(["audit", too_new, "--baseline", "known.json", "--format", "html"])
    page = capsys.readouterr().out
    assert "<span>fail</span> <small>(known)</small>" in page
    assert "<span>note</span> <small>(known)</small>" in page
    run(["audit", too_new, "--format", "html"])
    assert "(known)" not in capsys.readouterr().out


def test_a_report_goes_to_a_pipe_that_has_few_letters(
    monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    path = folder / "naïve-\udcff.ptx"
    path.write_bytes(Path(PTX).read_bytes())
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    assert run(["audit", str(path), "--format", "json=x.json", "--format", "html=x.html"]) == 0
    valid_json((folder / "x.json").read_text("utf-8"))


def test_from_python_it_is_a_stream_of_values(folder: Path) -> None:
    records = list(ltocompat.audit(PTX))
    assert [type(record) for record in records] == [
        Required,
        Audited,
        Audited,
    ]  # loaded, and linked
    kernels = Project.copy(folder / "kernels").build()
    library = str(FOLDER / "objects" / "libsaxpy.so")
    found = list(ltocompat.audit([library, kernels], folder / "kernels" / "pyproject.toml"))
    failed = [audited for audited in found if isinstance(audited, Audited) and audited.failed]
    assert {each_audited.result.path for each_audited in failed} == {library}


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


def test_what_has_no_device_code_passes_where_that_is_allowed(
    folder: Path, capsys: Captured
) -> None:
    required = '[audit]\nrequire-archs = ["sm_80"]\n'
    (folder / "ltocompat.toml").write_text(POLICY + required, "utf-8")
    plain = str(FOLDER / "README.md")
    platform = str(wheel(folder, {"empty/__init__.py": b""}, name="empty"))
    (folder / "no files").mkdir()
    capsys.readouterr()
    assert run(["audit", plain]) == 3
    assert capsys.readouterr().out.startswith(
        "audit checked nothing: there is no device code; if that is right, add --allow-empty, or "
        'write no-device-code = "pass" under [audit] in ltocompat.toml; policy ltocompat.toml\n'
    )
    for paths in ([plain], [platform], ["no files"], []):
        assert run(["audit", "--allow-empty", *paths]) == 0
        line, *_ = capsys.readouterr().out.splitlines()
        assert line == "audit passed: there is no device code; policy ltocompat.toml"
    with (folder / "ltocompat.toml").open("a", encoding="utf-8") as file:
        file.write('no-device-code = "pass"\n')
    for paths in ([plain], [platform]):
        assert run(["audit", *paths, "--format", "json"]) == 0
        assert valid_json(capsys.readouterr().out)["summary"]["passed"]


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
        "audit failed: least-driver is 535.54.03, but the SASS needs 580.65.06; POL-02"
    )
    capsys.readouterr()
    run(["require", SASS, "--format", "json"])
    (value,) = valid_json(capsys.readouterr().out)["artifacts"]
    assert value["driver_sass"] == "580.65.06"


def test_an_ignore_hides_a_finding_in_one_file_of_a_package_and_no_other(
    folder: Path, capsys: Captured
) -> None:
    ignores = (
        '[audit]\nfail-on = "jit"\n'
        'ignore = [{rule = "PTX-06", path = "a.ptx", reason = "x", expires = 2099-12-31}]\n'
    )
    (folder / "ltocompat.toml").write_text(POLICY + ignores, "utf-8")
    code = Path(PTX).read_bytes()
    path = wheel(folder, {"k/a.ptx": code}, name="one")
    assert run(["audit", str(path)]) == 0
    two = wheel(folder, {"k/a.ptx": code, "k/b.ptx": code}, name="two")
    capsys.readouterr()
    assert run(["audit", str(two), "--format", "json"]) == 1
    (loaded,) = (r for r in valid_json(capsys.readouterr().out)["results"] if r["route"] == "load")
    table = {found["example"].partition("::")[2]: found["standing"] for found in loaded["findings"]}
    assert table == {"k/a.ptx": "ignored", "k/b.ptx": "counts"}


def test_modules_of_all_files_in_a_package_are_counted(folder: Path, capsys: Captured) -> None:
    code = (FOLDER / "ltoir" / "nvrtc-13.5-lto_80.ltoir").read_bytes()
    path = wheel(folder, {"k/a.ltoir": code, "k/b.ltoir": code, "k/c.ltoir": code}, name="three")
    assert run(["audit", str(path), "--format", "github", "--format", "table=x.txt"]) == 1
    assert "(the first of 3 modules)" in capsys.readouterr().out
    assert "::k/a.ltoir   3 of 3 modules" in (folder / "x.txt").read_text("utf-8")


def rules(value: Any) -> set[str]:  # noqa: ANN401 - parsed JSON
    return {found["rule"] for each_value in value["results"] for found in each_value["findings"]}


def test_the_reasoning_is_shown_where_it_is_asked_for(capsys: Captured) -> None:
    assert run(["audit", SASS]) == 0
    assert "driver >= " not in capsys.readouterr().out
    assert run(["audit", SASS, "--why"]) == 0
    assert "driver >= " in capsys.readouterr().out
