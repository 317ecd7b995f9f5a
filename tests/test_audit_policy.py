"""What the keys of a policy make of real packages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from libraries_made import needs_gcc
from packages_made import library, wheel
from report_values import valid_json
from samples import FOLDER

from ltocompat.cli import run

Captured = pytest.CaptureFixture[str]
OLD, NEW = (FOLDER / "ptx" / f"nvrtc-{release}-compute_80.ptx" for release in ("12.4", "13.5"))
CUBIN = (FOLDER / "cubin" / "nvrtc-13.0-sm_90.cubin").read_bytes()
TARGET = '[targets.prod]\ndriver = "580"\nnvjitlink = "13.3"\ngpu = "h100"\n[audit]\n'


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def audit(path: Path, policy: str, capsys: Captured) -> tuple[int, list[dict[str, Any]]]:
    Path("ltocompat.toml").write_text(TARGET + policy, "utf-8")
    capsys.readouterr()
    code = run(["audit", str(path), "--format", "json"])
    return code, valid_json(capsys.readouterr().out)["results"]


def test_of_variants_the_one_that_fits_best_decides(folder: Path, capsys: Captured) -> None:
    """Driver 580 compiles PTX of 12.4, and not that of 13.5."""
    both = {"k/x_old.ptx": OLD.read_bytes(), "k/x_new.ptx": NEW.read_bytes()}
    path = wheel(folder, both)
    assert audit(path, "", capsys)[0] == 1
    code, results = audit(path, 'variants = ["x_*.ptx"]', capsys)
    verdicts = {result["route"]: result["verdict"] for result in results}
    assert (code, verdicts["load"]) == (0, "jit")
    for result in results:
        assert result["why"][0] == "variant k/x_old.ptx decides; the others: k/x_new.ptx fail"
    assert audit(path, 'variants = ["y_*.ptx"]', capsys)[0] == 1


def test_what_is_no_variant_is_judged_with_each(folder: Path, capsys: Captured) -> None:
    """A pattern that takes the wrong file for a variant of itself hides nothing beside it."""
    path = wheel(folder, {"k/x_1.cubin": CUBIN, "k/x_2.cubin": CUBIN, "k/y.ptx": NEW.read_bytes()})
    assert audit(path, 'variants = ["x_*.cubin"]', capsys)[0] == 1
    bad = wheel(folder, {"k/x_1.ptx": NEW.read_bytes(), "k/x_2.ptx": NEW.read_bytes()}, name="bad")
    assert audit(bad, 'variants = ["x_*.ptx"]', capsys)[0] == 1


@needs_gcc
def test_a_dependency_brings_what_the_policy_says_where_it_is_required(
    folder: Path, capsys: Captured
) -> None:
    host = library(folder, needs=["libnvJitLink.so.13"], imports=["nvJitLinkX"])
    members = {"k/libx.so": host, "k/x.cubin": CUBIN}
    provided = 'provided-by = {torch = ["libnvJitLink.so.*"]}'
    alone = wheel(folder, members, name="alone")
    asking = wheel(folder, members, ["torch>=2.4"], name="asking")
    assert [audit(path, "", capsys)[0] for path in (alone, asking)] != [0, 0]
    assert audit(alone, provided, capsys)[0] != 0
    assert audit(asking, provided, capsys)[0] == 0
    assert audit(asking, 'provided-by = {torch = ["libnvrtc.so.*"]}', capsys)[0] != 0


@pytest.mark.parametrize(
    ("gpus", "code"), [('["h100"]', 0), ('["h100", "a100"]', 1), ('["sm_90a"]', 0), ("[]", 0)]
)
def test_required_gpus_are_served_by_whatever_serves_them(
    gpus: str, code: int, folder: Path, capsys: Captured
) -> None:
    """SASS for sm_90 serves H100, and an A100 has nothing."""
    path = wheel(folder, {"k/x.cubin": CUBIN})
    found, results = audit(path, f"require-gpus = {gpus}", capsys)
    assert found == code
    rules = [finding["rule"] for result in results for finding in result["findings"]]
    assert ("POL-03" in rules) is bool(code)
