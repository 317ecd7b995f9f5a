"""A finding in three lines: what is wrong, where, how to mend it; and the line that counts."""

from __future__ import annotations

import os
import pty
import re
import sys

import pytest
import verdict_values as values
from report_values import written
from samples import FOLDER
from verdict_values import ONE, finding, result

import ltocompat
from ltocompat.cli import run
from ltocompat.model.verdict import Extent, Result, Verdict
from ltocompat.report import Options
from ltocompat.report.grouped_findings import headline_of
from ltocompat.report.verbs.check import REPORT

NEWER_PTX = str(FOLDER / "fatbin" / "nvcc-13.2-none.fatbin")
OLD_DRIVER = ["--deploy-target", "driver=580.95.05,gpu=h100"]
NEW_DRIVER = ["--deploy-target", "driver=595,gpu=h100+b200"]
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
SENTENCE = (
    "PTX 9.2 needs driver >= 595 (CUDA 13.2); the target has 580.95.05: the driver refuses it with "
    "error 222 (the provided PTX was compiled with an unsupported toolchain)"
)


@pytest.fixture(autouse=True)
def no_colour_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the machine that runs the tests is set to."""
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)


def test_quiet_tells_only_what_is_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", NEWER_PTX, *OLD_DRIVER, "-q"]) == 1
    assert capsys.readouterr().out.startswith("fail[PTX-01] ")
    assert run(["check", NEWER_PTX, *NEW_DRIVER, "-q"]) == 0
    assert not capsys.readouterr().out


def test_every_headline_of_every_sample_is_one_short_line() -> None:
    target = "driver=525.60.13,nvjitlink=13,gpu=h100"
    found = {
        each
        for record in ltocompat.check(str(FOLDER), [target])
        if isinstance(record, Result)
        for each in record.findings
    }
    assert len(found) > 50
    assert not [line for line in map(headline_of, found) if not 20 < len(line) <= 130]
    assert not [line for line in map(headline_of, found) if line.endswith((":", ": ", ",", "("))]


def test_lines_fit_the_terminal_but_for_places() -> None:
    failed = result(
        Verdict.FAIL,
        ONE,
        values.T4,
        extent=Extent(3, 1617),
        findings=(finding(Verdict.FAIL, SENTENCE, remedy="ship SASS for sm_90, or " * 8),),
    )
    text = written("table", REPORT, [ONE, failed], Options(width=60, why=True, notes=True))
    assert all(len(line) <= 60 for line in text.splitlines())
    assert "--> lib/libx.so@0x1f40.3" in text


@pytest.mark.parametrize("width", [None, 60, 80, 200])
@pytest.mark.parametrize("case", ["one_target", "many_targets", "many_artifacts"])
def test_without_its_colours_an_answer_is_the_same(case: str, width: int | None) -> None:
    records = getattr(values, case)()
    plain = written("table", REPORT, records, Options(width=width, notes=True, why=True))
    view = Options(width=width, notes=True, why=True, color=True)
    coloured = written("table", REPORT, records, view)
    assert COLOUR.sub("", coloured) == plain
    assert "\x1b[1;31mfail[PTX-01]\x1b[0m" in coloured
    assert re.search(r"\x1b\[1;31mfail\b[^\[]*?\x1b\[0m", coloured)


@pytest.mark.parametrize(
    ("variables", "colours"),
    [
        ({}, True),
        ({"NO_COLOR": "1"}, False),
        ({"NO_COLOR": ""}, True),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
        ({"TERM": "dumb"}, False),
    ],
)
def test_a_terminal_gets_colours_unless_told_otherwise(
    variables: dict[str, str], monkeypatch: pytest.MonkeyPatch, *, colours: bool
) -> None:
    for name, value in ({"TERM": "xterm"} | variables).items():
        monkeypatch.setenv(name, value)
    outside, inside = pty.openpty()
    with os.fdopen(inside, "w", encoding="utf-8") as terminal:
        monkeypatch.setattr(sys, "stdout", terminal)
        run(["check", NEWER_PTX, *OLD_DRIVER])
        terminal.flush()
        text = ""
        while "explain PTX-01" not in text:
            text += os.read(outside, 1 << 16).decode()
    os.close(outside)
    assert bool(COLOUR.search(text)) is colours


@pytest.mark.parametrize(("value", "colours"), [("1", True), ("", False)])
def test_a_pipe_gets_colours_where_they_are_forced(
    value: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *,
    colours: bool,
) -> None:
    monkeypatch.setenv("FORCE_COLOR", value)
    run(["check", NEWER_PTX, *OLD_DRIVER])
    assert bool(COLOUR.search(capsys.readouterr().out)) is colours


def test_a_fix_for_several_gpus_has_the_options_of_each(capsys: pytest.CaptureFixture[str]) -> None:
    """Law 7: what is to be pasted cures the finding on every GPU that it names."""
    cubin, ptx = FOLDER / "cubin" / "nvrtc-13.0-sm_90.cubin", FOLDER / "ptx"
    each = "-gencode arch=compute_{0},code=sm_{0} -gencode arch=compute_{1},code=sm_{1}"
    assert run(["check", str(cubin), "--deploy-target", "R580,gpu=a100+l4"]) == 1
    assert f"({each.format(80, 89)})" in capsys.readouterr().out
    assert run(["check", str(cubin), "--deploy-target", "R580,gpu=gtx1080+v100"]) == 1
    out = capsys.readouterr().out
    assert (
        f"fix: with CUDA 12.9 or older, rebuild with SASS for the GPU ({each.format(61, 70)})"
        in out
    )
    code = str(ptx / "nvcc-13.0-compute_80.ptx")
    assert run(["check", code, "--notes", "--deploy-target", "R580,gpu=h100+l4"]) == 0
    assert f"add SASS: {each.format(90, 89)}\n" in capsys.readouterr().out
