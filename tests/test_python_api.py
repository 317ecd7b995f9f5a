"""What Python programs call: one value or several, JSON of what came, bytes in memory, scripts."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from samples import FOLDER

import ltocompat

ROOT = Path(__file__).parent.parent
PTX = FOLDER / "ptx" / "nvcc-13.0-compute_80.ptx"
FATBIN = FOLDER / "fatbin" / "nvfatbin-13.5-mixed-makers.fatbin"
H100 = "driver=580.65.06,gpu=h100"
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
    with pytest.raises(ltocompat.UsageError, match="an empty answer has no JSON document"):
        ltocompat.to_json([])
    (required,) = ltocompat.require(PTX)
    with pytest.raises(ltocompat.UsageError, match=r"Required with \w+ has no JSON document"):
        ltocompat.to_json([required, *ltocompat.inspect(PTX)])


def test_bytes_have_the_same_names_in_every_answer() -> None:
    data = Path(FATBIN).read_bytes()
    names = ["input-0", str(FATBIN), "input-2"]
    assert [each.path for each in ltocompat.read(data, FATBIN, data)] == names
    assert [each.path for each in ltocompat.check([data, FATBIN, data], H100)] == names


def test_help_shows_no_value_that_nobody_has_set() -> None:
    assert "limits=Limits()," in str(inspect.signature(ltocompat.check))
    assert repr(ltocompat.Limits(depth=3)) == "Limits(depth=3)"
    (links, *_) = ltocompat.matrix(FATBIN)
    assert len(repr(links)) < 200


def test_an_audit_is_not_written_as_the_requirements_that_it_begins_with() -> None:
    with pytest.raises(ltocompat.UsageError, match="Audited has no JSON document"):
        ltocompat.to_json(ltocompat.audit(PTX, targets=["R580,h100"]))


def test_bytes_lead_to_no_file_that_they_name(monkeypatch: pytest.MonkeyPatch) -> None:
    thin = FOLDER / "objects" / "libaxpy-thin.a"
    monkeypatch.chdir(thin.parent)
    with pytest.raises(ltocompat.UnreadableInput, match="its folder has no such file"):
        ltocompat.producer(thin.read_bytes())


def test_bytes_that_are_cut_are_said_to_be() -> None:
    with pytest.raises(ltocompat.UnreadableInput):
        ltocompat.producer(FATBIN.read_bytes()[:-100])
    assert ltocompat.producer(b"") == ()


WRONG = [5, 12.9, None, b"abc", ["x"], object()]
"""Values of types that no argument of text has."""


@pytest.mark.parametrize("value", WRONG, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize(
    "ask",
    [
        lambda value: ltocompat.check(FATBIN, [value]),
        lambda value: ltocompat.check(FATBIN, H100, route=value or 0),  # type: ignore[arg-type]
        lambda value: ltocompat.audit(FATBIN, targets=[value]),
        lambda value: ltocompat.matrix(FATBIN, targets=[value]),
        lambda value: ltocompat.Evaluator([value]),
        lambda value: ltocompat.coherent({"nvrtc": value}),
        ltocompat.coherent,
        lambda value: ltocompat.inspect(FATBIN, where=value or 1),  # type: ignore[arg-type]
        ltocompat.toolkit_ptx,
        ltocompat.cuda_driver,
        ltocompat.explain,
        lambda value: ltocompat.supports(value, "sm_90"),
    ],
)
def test_a_value_of_a_wrong_type_raises_an_error_of_ours_or_a_type_error(
    ask: Callable[[Any], Any], value: object
) -> None:
    """As of any function of Python; never the AttributeError of a line inside."""

    def all_of(found: object) -> object:
        return [*found] if isinstance(found, Iterator) else found

    with pytest.raises((ltocompat.UsageError, TypeError)):
        all_of(ask(value))


def test_a_target_may_be_the_path_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "edge.toml"
    path.write_text('[targets.edge]\ndriver = "580.65.06"\ngpu = "h100"\n')
    (result, *_) = ltocompat.check(FATBIN, path)
    assert result.target.name == "edge"


def test_a_pattern_that_matches_nothing_is_not_the_environment() -> None:
    """``glob`` gives an empty list; only a call without paths checks the environment."""
    empty: list[Any] = [[], (), iter(())]
    for paths in empty:
        with pytest.raises(ltocompat.UsageError, match="no path is named"):
            ltocompat.check(paths, H100)
    with pytest.raises(ltocompat.UsageError, match=r"is neither .*; unpack it: \*paths"):
        list(ltocompat.inspect(["x.so"]))  # type: ignore[arg-type]
