"""Released wheels, slimmed for two targets each, and compared without ltocompat.

tests/data/slimmed_wheels.toml lists them. LTOCOMPAT_TEST_FIGURES names a file that gets a line of
JSON for each; the wheels are downloaded as those of test_wild_wheels.py.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest
import slimmed_wheels as independent
import wheels
from test_wild_wheels import TAGS, wheel_of

import ltocompat

pytestmark = pytest.mark.wild

LIST = tomllib.loads((Path(__file__).parents[1] / "data/slimmed_wheels.toml").read_text("utf-8"))
GPUS = {"p100": 60, "v100": 70, "t4": 75, "a100": 80, "l4": 89, "h100": 90}
CASES = [(wheel, keep) for wheel in LIST["wheel"] for keep in wheel["keep"]]


def python_with(version: str, needs: list[str]) -> Path | None:
    """The Python of an environment that has these packages; None where there is no such Python."""
    program = shutil.which(f"python{version}")
    if program is None or subprocess.run([program, "-V"], check=False).returncode:  # a shim
        return None
    text = "-".join([version, *needs])
    folder = wheels.CACHE.absolute() / f"environment-{hashlib.sha256(text.encode()).hexdigest()}"
    if not folder.exists():
        subprocess.run([program, "-m", "venv", str(folder)], check=True)
        pip = [str(folder / "bin/python"), "-m", "pip", "install", "-q"]
        subprocess.run([*pip, *needs], check=True)
    return folder / "bin/python"


def pip_options(wheel: dict[str, Any]) -> list[str]:
    tags = [f"--platform={tag}" for tag in TAGS[wheel["platform"]]]
    return [
        *tags,
        f"--python-version={wheel['python']}",
        "--only-binary=:all:",
        "--ignore-requires-python",
    ]


@pytest.mark.parametrize(
    ("wheel", "keep"),
    CASES,
    ids=[f"{wheel['requirement']}-{wheel['platform']}-{keep}" for wheel, keep in CASES],
)
def test_a_slimmed_wheel_has_the_code_that_it_keeps(
    wheel: dict[str, Any], keep: str, tmp_path: Path
) -> None:
    path = wheel_of(wheel)
    gpus = [GPUS[name] for name in keep.split("+")]
    begun = time.monotonic()
    (found,) = ltocompat.slim(path, output=tmp_path / path.name, keep_gpus=[keep])
    seconds = time.monotonic() - begun
    new = Path(found.output)
    assert independent.not_in_record(new) <= independent.not_in_record(path)  # nnabla's are wrong
    counts = independent.Counts()
    sides = tmp_path / "old", tmp_path / "new"
    old_files, new_files = map(independent.unpacked, (path, new), sides)
    for old, after in zip(old_files, new_files, strict=True):
        independent.compare(old, after, gpus, counts)
        if wheel["platform"] == "linux-x86_64":
            needs = map(independent.needed, (old, after), sides)
            assert len(set(needs)) == 1, old
    assert counts.regions, "nothing was compared"
    python = python_with(wheel["python"], wheel["needs"]) if "imports" in wheel else None
    if python is None:
        options = [f"--target={tmp_path / 'site'}", *pip_options(wheel)]
        independent.install(Path(sys.executable), new, options)
    else:
        printed = []
        for each in (new, path):
            independent.install(python, each, ["--force-reinstall"])
            printed.append(independent.run(python, wheel["imports"], tmp_path))
        assert printed[0] == printed[1]
        assert printed[0][0] == 0, printed
    if "saved" in wheel:
        known = wheel["code"], wheel["saved"][wheel["keep"].index(keep)]
        assert (found.code.stored, found.saved) == known
    (weight,) = ltocompat.weigh(path, keep_gpus=[keep])
    foretold = weight.slim_saved
    assert foretold is not None
    figures = {
        "wheel": path.name,
        "keep": keep,
        "bytes": [found.size, found.new_size],
        "code": [found.code.stored, found.saved],
        "foretold": foretold,
        "untouched": sum(row.size for row in found.untouched),
        "seconds": round(seconds, 1),
        "imported": python is not None,
        **vars(counts),
    }
    shutil.rmtree(tmp_path)
    if "LTOCOMPAT_TEST_FIGURES" in os.environ:
        with open(os.environ["LTOCOMPAT_TEST_FIGURES"], "a", encoding="utf-8") as file:
            file.write(json.dumps(figures) + "\n")
    assert abs(found.saved - foretold) <= 0.05 * foretold, figures
