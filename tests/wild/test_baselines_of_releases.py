"""Released wheels: the older one is baselined, and of the newer one what is new is said, no more.

What is new was looked up in the files: versions of imported symbols by readelf -Ws, ISA versions
and modules by cuobjdump --dump-ptx and --list-elf, names of files by unzip -l.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import wheels
from report_values import valid_json

from ltocompat.cli import run

pytestmark = [pytest.mark.wild, pytest.mark.usefixtures("folder")]

Captured = pytest.CaptureFixture[str]
TAGS = tuple(f"--platform=manylinux{name}_x86_64" for name in ("2014", "_2_24", "_2_28"))
POLICY = """
[targets.prod]
driver = "535"
nvjitlink = "12.2"
gpu = ["t4", "h100", "b200", "v100"]
[audit]
fail-on = "unknown"
"""
PAIRS = {
    # The library imports symbols of nvJitLink 12.6, no longer of 12.4; its PTX is 8.5, no longer
    # 8.4; it has one module more. The target sm_100 of nvJitLink is asked for as before.
    ("nvidia-cusparse-cu12==12.3.1.170", "nvidia-cusparse-cu12==12.5.4.2"): (
        {"NJL-01", "NJL-06", "PTX-01", "DRV-03"},
        {"LTO-15"},
    ),
    # The variant for CUDA 12.8 is new, and so are libraries that need nvJitLink.
    ("bitsandbytes==0.44.1", "bitsandbytes==0.46.0"): ({"DRV-03", "PKG-01"}, set()),
    # SASS for sm_100 is new in it, which the driver is too old for, as for the PTX picked before.
    ("cupy-cuda12x==13.3.0", "cupy-cuda12x==14.0.0"): (set(), {"DRV-03"}),
}


def wheel_of(requirement: str) -> str:
    folder = wheels.CACHE / requirement.replace("==", "-")
    if not list(folder.glob("*.whl")):
        pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:"]
        pip += [*TAGS, "--python-version=3.11", requirement, "-d", str(folder)]
        subprocess.run(pip, check=True)
    (path,) = folder.glob("*.whl")
    return str(path.resolve())


def audit(capsys: Captured, path: str, *words: str) -> tuple[int, dict[str, set[str]]]:
    """The exit code, and the rules of each standing."""
    capsys.readouterr()
    code = run(["audit", path, "--format", "json", *words])
    value: Any = valid_json(capsys.readouterr().out)
    found: dict[str, set[str]] = {}
    for result in value["results"]:
        for finding in result["findings"]:
            found.setdefault(finding["standing"], set()).add(finding["rule"])
    return code, found


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair[1])
def test_of_the_next_release_what_is_new_is_said_and_nothing_else(
    pair: tuple[str, str], capsys: Captured
) -> None:
    new, known = PAIRS[pair]
    Path("ltocompat.toml").write_text(POLICY, "utf-8")
    older, newer = map(wheel_of, pair)
    assert run(["audit", older, "--write-baseline", "known.json", "-q"]) == 0
    code, found = audit(capsys, older, "--baseline", "known.json")
    assert (code, found.get("counts")) == (0, None)
    code, found = audit(capsys, newer, "--baseline", "known.json")
    assert found.get("counts", set()) == new
    assert found.get("known", set()) == known
    assert code == bool(new)
