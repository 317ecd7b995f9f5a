"""``--format`` of every verb: which formats, where they go, and that no file is half-written."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest
from report_values import valid_json
from samples import FOLDER
from sarif_schema import valid_run

from ltocompat.cli import run
from ltocompat.cli.options import FormatRequest
from ltocompat.cli.run_verb import write_all
from ltocompat.report import FINDING_FORMATS, FORMATS, LIST_FORMATS, Options, Report

Captured = pytest.CaptureFixture[str]
PTX = str(FOLDER / "ptx" / "nvrtc-13.5-compute_80.ptx")
LIBRARY = str(FOLDER / "objects" / "libsaxpy.so")
OLD_DRIVER = ["--deploy-target", "driver=550,gpu=h100"]

FINDING_VERBS = {
    "check": (["check", PTX, *OLD_DRIVER], 1),
    "diff": (["diff", LIBRARY, PTX, "--forbid", "lost-arch"], 1),
    "env": (["env", "--root", "machine"], 0),
    "audit": (["audit", PTX], 0),
}
OTHER_VERBS = {
    "inspect": ["inspect", PTX],
    "require": ["require", PTX],
    "matrix": ["matrix", PTX],
    "explain": ["explain", "PTX-01"],
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "machine").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    return tmp_path


def to_files(*names: str) -> list[str]:
    return [word for name in names for word in ("--format", f"{name}=x.{name}")]


@pytest.mark.parametrize("verb", FINDING_VERBS)
def test_verbs_with_findings_write_every_format_at_once(verb: str, folder: Path) -> None:
    arguments, code = FINDING_VERBS[verb]
    assert run([*arguments, *to_files(*FINDING_FORMATS)]) == code
    valid_json((folder / "x.json").read_text("utf-8"))
    results = valid_run((folder / "x.sarif").read_text("utf-8"))["results"]
    assert bool(results) == (code == 1) or verb == "audit"
    assert (folder / "x.html").read_text("utf-8").startswith("<!doctype html>")
    lines = (folder / "x.github").read_text("utf-8").splitlines()
    assert lines[-1].startswith("ltocompat: ")
    assert {path.name for path in folder.iterdir()} == {
        "machine",
        *(f"x.{name}" for name in FINDING_FORMATS),
    }


@pytest.mark.parametrize("verb", OTHER_VERBS)
def test_other_verbs_write_theirs_and_no_more(verb: str, folder: Path, capsys: Captured) -> None:
    formats = FORMATS if verb == "explain" else LIST_FORMATS
    assert run([*OTHER_VERBS[verb], *to_files(*formats)]) == 0
    on_screen = capsys.readouterr().out
    assert on_screen == (folder / "x.table").read_text("utf-8")
    valid_json((folder / "x.json").read_text("utf-8"))
    assert run([*OTHER_VERBS[verb], "--format", "sarif"]) == 2
    (message,) = " ".join(capsys.readouterr().err.split()).splitlines()
    assert "is for findings, which check and matrix --deploy-target have; " in message
    assert message.endswith(f"give one of: {', '.join(formats)}")


def test_without_the_forbidden_a_comparison_has_no_findings(capsys: Captured) -> None:
    run(["diff", LIBRARY, PTX, "--format", "sarif"])
    assert valid_run(capsys.readouterr().out)["results"] == []


@pytest.mark.parametrize("verb", ["check", "inspect", "require", "matrix", "diff"])
def test_no_report_replaces_what_it_is_about(verb: str, folder: Path, capsys: Captured) -> None:
    path = folder / "x.ptx"
    path.write_bytes(Path(PTX).read_bytes())
    inputs = ["x.ptx", LIBRARY] if verb == "diff" else ["x.ptx@0x0"]
    assert run([verb, *inputs, "--format", "json=./x.ptx"]) == 2
    assert "would replace ./x.ptx; name another file" in capsys.readouterr().err
    assert path.read_bytes() == Path(PTX).read_bytes()


def test_a_file_survives_wrong_usage(folder: Path, capsys: Captured) -> None:
    (folder / "x.json").write_text("of the last run")
    assert run(["check", PTX, "--deploy-target", "colour=red", *to_files("json")]) == 2
    assert (folder / "x.json").read_text() == "of the last run"
    assert capsys.readouterr().out == ""


def test_a_file_survives_a_failure_while_it_is_written(folder: Path) -> None:
    (folder / "x.json").write_text("of the last run")

    def breaks_off(*_: object) -> list[str]:
        raise KeyboardInterrupt

    report: Report[object] = Report(breaks_off, breaks_off)  # type: ignore[arg-type]
    requests = [FormatRequest("table", None), FormatRequest("json", "x.json")]
    with pytest.raises(KeyboardInterrupt):
        write_all(requests, report, Options(), [], sys.stdout)
    assert [path.name for path in folder.iterdir() if path.is_file()] == ["x.json"]
    assert (folder / "x.json").read_text() == "of the last run"


def test_a_file_that_is_replaced_keeps_its_permissions_and_the_link_to_it(folder: Path) -> None:
    real = folder / "real.json"
    real.write_text("of the last run")
    real.chmod(0o640)
    (folder / "x.json").symlink_to(real)
    assert run(["inspect", PTX, *to_files("json")]) == 0
    assert (folder / "x.json").is_symlink()
    valid_json(real.read_text("utf-8"))
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


def test_a_device_is_written_and_not_replaced() -> None:
    assert run(["inspect", PTX, "--format", f"json={os.devnull}"]) == 0
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


def test_a_file_that_cannot_be_written_is_told_before_the_work(capsys: Captured) -> None:
    assert run(["inspect", PTX, "--format", "json=gone/x.json"]) == 3
    captured = capsys.readouterr()
    assert captured.err == (
        "ltocompat: 'gone/x.json' can't be written (No such file or directory); name a writable "
        "file\n"
    )
    assert captured.out == ""
