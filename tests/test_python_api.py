"""What Python programs call: one value or several, JSON of what came, bytes in memory, scripts."""

from __future__ import annotations

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


def test_a_finding_prints_as_reports_show_it() -> None:
    (result,) = ltocompat.check(PTX, "driver=550.54.15,gpu=h100", route="load")
    lines = str(result.findings[0]).splitlines()
    assert lines[0].startswith("fail[PTX-01] PTX 9.0 needs driver >= 580")
    assert lines[1] == f"  --> {PTX}   1 module"
    assert lines[2].startswith("  fix: ship SASS for sm_90")
    assert len(lines) == 3


def test_what_is_no_record_has_no_document() -> None:
    with pytest.raises(ltocompat.UsageError, match="int has no JSON document"):
        ltocompat.to_json(3)
    with pytest.raises(ltocompat.UsageError, match="NoneType has no JSON document"):
        ltocompat.to_json([])


def test_bytes_lead_to_no_file_that_they_name(monkeypatch: pytest.MonkeyPatch) -> None:
    thin = FOLDER / "objects" / "libaxpy-thin.a"
    monkeypatch.chdir(thin.parent)
    with pytest.raises(ltocompat.UnreadableInput, match="its folder has no such file"):
        ltocompat.producer(thin.read_bytes())


def test_bytes_that_are_cut_are_said_to_be() -> None:
    with pytest.raises(ltocompat.UnreadableInput):
        ltocompat.producer(FATBIN.read_bytes()[:-100])
    assert ltocompat.producer(b"") == ()
