"""What Python programs call: one value or several, JSON of what came, bytes in memory, scripts."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from samples import FOLDER

import ltocompat

ROOT = Path(__file__).parent.parent
PTX = FOLDER / "ptx" / "nvcc-13.0-compute_80.ptx"
FATBIN = FOLDER / "fatbin" / "nvfatbin-13.5-mixed-makers.fatbin"
SCRIPTS = [
    script
    for page in ("python", "embed")
    for script in re.findall(
        r"(?m)^## (.*)\n(?:(?!##|```).*\n)*```python\n((?:.*\n)*?)```$",
        (ROOT / "docs" / f"{page}.md").read_text("utf-8"),
    )
]


@pytest.mark.parametrize(("title", "code"), SCRIPTS, ids=[title for title, _ in SCRIPTS])
def test_the_scripts_of_the_page_run(
    title: str, code: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    names: dict[str, Any] = {"__name__": "script"}
    exec(compile(code, title, "exec", dont_inherit=True), names)  # noqa: S102 - the page's own
    for test in [value for name, value in names.items() if name.startswith("test_")]:
        test()
    if "DATA_CENTRE" in code:
        assert capsys.readouterr().out == "{80}\n"


@pytest.mark.parametrize("form", [str, lambda text: [text], lambda text: (text,)])
def test_one_target_is_as_good_as_a_list_of_one(form: type) -> None:
    (result,) = ltocompat.check(PTX, form("driver=550,gpu=h100"), route="load")
    assert result.target.name == "driver=550,gpu=h100"
    assert result.verdict is ltocompat.Verdict.FAIL


def test_a_finding_prints_as_reports_show_it() -> None:
    (result,) = ltocompat.check(PTX, "driver=550.54.15,gpu=h100", route="load")
    lines = str(result.findings[0]).splitlines()
    assert lines[0].startswith("fail[PTX-01] PTX 9.0 needs driver >= 580")
    assert lines[1] == f"  --> {PTX}   1 module"
    assert lines[2].startswith("  fix: ship SASS for sm_90")
    assert len(lines) == 3


def test_a_target_value_is_as_good_as_its_spelling() -> None:
    (spelled,) = ltocompat.check(PTX, "driver=550,gpu=h100", route="load")
    (given,) = ltocompat.check(PTX, spelled.target, route="load")
    assert given == spelled


def test_json_is_the_document_of_the_verb(capsys: pytest.CaptureFixture[str]) -> None:
    from ltocompat.cli import run

    target = "driver=550,gpu=h100"
    run(["check", str(PTX), "--deploy-target", target, "--format", "json"])
    shown = json.loads(capsys.readouterr().out)
    assert json.loads(ltocompat.to_json(ltocompat.check(PTX, target))) == shown


def test_json_of_one_record() -> None:
    (required,) = ltocompat.require(str(FATBIN))
    value = json.loads(ltocompat.to_json(required))
    assert value["schema"] == "ltocompat/require/v1"
    assert len(value["artifacts"]) == 1
    assert json.loads(ltocompat.to_json(ltocompat.env()))["schema"] == "ltocompat/env/v1"


def test_what_is_no_record_has_no_document() -> None:
    with pytest.raises(ltocompat.UsageError, match="int has no JSON document"):
        ltocompat.to_json(3)
    with pytest.raises(ltocompat.UsageError, match="NoneType has no JSON document"):
        ltocompat.to_json([])


@pytest.mark.parametrize("folder", ["cubin", "fatbin", "ltoir", "ptx", "objects"])
def test_bytes_in_memory_have_the_makers_of_the_file(folder: str) -> None:
    for path in sorted((FOLDER / folder).iterdir()):
        if path.name == "libaxpy-thin.a":
            continue  # names of files, and no bytes of theirs
        modules = [r for r in ltocompat.inspect(path) if isinstance(r, ltocompat.Module)]
        makers = [maker for m in modules for image in m.images for maker in image.made_by]
        assert ltocompat.producer(path.read_bytes()) == tuple(dict.fromkeys(makers)), path


def test_bytes_lead_to_no_file_that_they_name(monkeypatch: pytest.MonkeyPatch) -> None:
    thin = FOLDER / "objects" / "libaxpy-thin.a"
    monkeypatch.chdir(thin.parent)
    with pytest.raises(ltocompat.UnreadableInput, match="not a file beside it"):
        ltocompat.producer(thin.read_bytes())


def test_bytes_that_are_cut_are_said_to_be() -> None:
    with pytest.raises(ltocompat.UnreadableInput):
        ltocompat.producer(FATBIN.read_bytes()[:-100])
    assert ltocompat.producer(b"") == ()
