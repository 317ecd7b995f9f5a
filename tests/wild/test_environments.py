"""Environments of this year: what pip would add for ltocompat, and that it would change nothing.

They are resolved by uv from the metadata of the index; no package of them is downloaded.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.wild

ROOT = Path(__file__).parents[2]
ENVIRONMENTS = (
    "numba-cuda[cu12]",
    "numba-cuda[cu13]",
    "numba-cuda<0.20 cuda-bindings<13",
    "cupy-cuda12x",
    "cupy-cuda13x jupyterlab",
    "torch",
    "torch==2.7.1 transformers<4.55",
    "jax[cuda12]",
    "jax[cuda13]",
    "vllm",
    "cuml-cu13",
    "cudf-cu12==25.10.* packaging==24.2 typer==0.29.2",
)


@pytest.fixture(scope="module")
def uv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("uv")
    pip(["install", "--target", str(folder), "uv"])
    return folder / "bin" / "uv"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip(["wheel", "--no-deps", "-w", str(folder), str(ROOT)])
    (path,) = folder.glob("*.whl")
    return path


def pip(words: list[str]) -> None:
    subprocess.run([sys.executable, "-m", "pip", "-q", *words], check=True)


def resolve(uv: Path, wanted: list[str], pins: Path) -> set[str]:
    """The pins of an environment; those that the file has stay, where they can."""
    given = pins.with_suffix(".in")
    given.write_text("\n".join(wanted), "utf-8")
    words: list[str | Path] = [
        uv,
        "pip",
        "compile",
        "-q",
        "--no-annotate",
        "--no-header",
        "--python-version=3.12",
    ]
    subprocess.run([*words, given, "-o", pins], check=True)
    return set(pins.read_text("utf-8").split("\n"))


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_an_environment_gains_packages_and_changes_none(
    environment: str, uv: Path, wheel: Path, tmp_path: Path
) -> None:
    wanted, pins = environment.split(), tmp_path / "pins.txt"
    before = resolve(uv, wanted, pins)
    after = resolve(uv, [*wanted, f"ltocompat @ {wheel.as_uri()}"], pins)
    assert before <= after
    assert len(after - before) <= 10  # we, eight that we ask for, and what they ask for
    assert not any("cuda" in line for line in after - before)
