"""The gate on released wheels: what passes, what a worse release fails, and the way out."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import readme
import wheels
from wheel_edits import Edit, replaced, rewritten, without_archs

from ltocompat.cli import run

pytestmark = [pytest.mark.wild, pytest.mark.usefixtures("folder")]

Captured = pytest.CaptureFixture[str]
WINDOWS = ("--platform=win_amd64", "--python-version=3.11")
LINUX = ("--platform=manylinux_2_28_x86_64", "--platform=manylinux2014_x86_64")
OTHERS = tuple(f"--platform=manylinux_2_{minor}_x86_64" for minor in (24, 27))
ANY_LINUX = (*LINUX, *OTHERS, "--python-version=3.11")
ARM = ("--platform=manylinux2014_aarch64",)
CUSPARSE = ("nvidia-cusparse==12.9.4.2", ANY_LINUX)
BITSANDBYTES = ("bitsandbytes==0.50.2", ANY_LINUX)
LIBRAFT = ("libraft-cu13==26.10.0", ANY_LINUX)
CUFFT = ("nvidia-cufft==12.5.0.14", ARM)
TEN = (
    ("faiss-cpu==1.15.1", ANY_LINUX),  # no device code
    ("cuda-bindings==13.5.0", ANY_LINUX),  # neither, though it is all about CUDA
    ("cupy-cuda13x==14.2.0", WINDOWS),
    ("nvidia-cusparse==12.9.4.2", WINDOWS),
    CUFFT,
    BITSANDBYTES,  # a file for each CUDA
    ("cupy-cuda13x==14.2.0", ANY_LINUX),
    ("onnxruntime-gpu==1.31.1", ANY_LINUX),
    LIBRAFT,
    CUSPARSE,
)
"""Chosen before any was read: two without device code, two for Windows, one for Arm, one with
variants, four usual ones."""


def wheel_of(requirement: str, options: tuple[str, ...] = ANY_LINUX) -> Path:
    """The wheel, downloaded by pip where it isn't there yet."""
    system = {WINDOWS: "-windows", ARM: "-arm"}.get(options, "")
    folder = wheels.CACHE / f"{requirement.replace('==', '-')}{system}"
    if not list(folder.glob("*.whl")):
        pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:"]
        subprocess.run([*pip, *options, requirement, "-d", str(folder)], check=True)
    (path,) = folder.glob("*.whl")
    return path.resolve()


@pytest.mark.parametrize(
    "requirement", ["libcuvs-cu13==26.10.0", "libraft-cu13==26.10.0", "nvidia-cublas==13.10.0.20"]
)
def test_the_policy_of_the_readme_passes_right_packages(
    requirement: str, folder: Path, capsys: Captured
) -> None:
    (folder / "pyproject.toml").write_text(readme.policy(), "utf-8")
    wheel = str(wheel_of(requirement))
    assert run(["audit", wheel, "--install-linkers"]) == 0
    assert capsys.readouterr().out.startswith(f"audit passed: {wheel}; policy pyproject.toml\n")


def test_without_a_policy_cusparse_fails_and_with_the_line_to_paste_it_passes(
    folder: Path, capsys: Captured
) -> None:
    wheel = wheel_of(*CUSPARSE)
    assert run(["audit", str(wheel)]) == 1
    out = capsys.readouterr().out
    says = "the metadata allows nvidia-nvjitlink 13.0, but the package has LTO-IR, so 13.3 or newer"
    assert out.startswith(f"audit failed: {says} is needed")
    found = re.search(r"fix: write (Requires-Dist: nvidia-nvjitlink>=[0-9.]+,<14)", out)
    assert found
    edits = {"METADATA$": replaced("Requires-Dist: nvidia-nvjitlink", found[1])}
    mended = str(rewritten(wheel, folder, edits))
    assert run(["audit", mended]) == 0
    assert capsys.readouterr().out.startswith(f"audit passed: {mended}; no policy was used\n")


@pytest.mark.parametrize(("requirement", "options"), TEN, ids=str)
def test_a_released_wheel_passes_what_was_written_for_it(
    requirement: str, options: tuple[str, ...], capsys: Captured
) -> None:
    wheel = str(wheel_of(requirement, options))
    assert run(["init", wheel]) == 0
    assert capsys.readouterr().out.startswith("wrote ltocompat.toml; these packages pass it; ")
    assert run(["audit", wheel]) == 0


@pytest.mark.parametrize(
    ("released", "edits", "headline"),
    [
        (
            LIBRAFT,
            {r"\.so": without_archs(80, 86)},
            "no code for sm_80, sm_86, sm_89, which require-gpus lists",
        ),
        (
            LIBRAFT,
            {r"\.so": without_archs(120)},
            "no code for sm_120, which require-gpus lists",
        ),
        # In all of its variants, of which the best decides.
        (
            BITSANDBYTES,
            {r"cuda1\d\d\.so": without_archs(60)},
            "no code for sm_60, sm_61, which require-gpus lists",
        ),
    ],
    ids=["lost Ampere", "lost Blackwell", "lost Pascal"],
)
def test_a_release_that_got_worse_fails_what_was_written_for_the_last(
    released: tuple[str, tuple[str, ...]],
    edits: dict[str, Edit],
    headline: str,
    folder: Path,
    capsys: Captured,
) -> None:
    wheel = wheel_of(*released)
    assert run(["init", str(wheel)]) == 0
    same = rewritten(wheel, folder, {})
    assert run(["audit", str(same)]) == 0
    capsys.readouterr()
    assert run(["audit", str(rewritten(wheel, folder, edits))]) == 1
    out = capsys.readouterr().out
    assert out.startswith("audit failed: no code for sm_")
    assert headline in out


def test_a_dropped_pin_fails_what_was_written_for_the_last_release(
    folder: Path, capsys: Captured
) -> None:
    dropped = wheel_of(*CUSPARSE)
    pin = replaced("Requires-Dist: nvidia-nvjitlink", "Requires-Dist: nvidia-nvjitlink>=13.5,<14")
    pinned = rewritten(dropped, folder, {"METADATA$": pin})
    assert run(["init", str(pinned)]) == 0
    assert run(["audit", str(pinned)]) == 0
    capsys.readouterr()
    assert run(["audit", str(dropped)]) == 1
    out = capsys.readouterr().out
    assert out.startswith("audit failed: the metadata allows nvidia-nvjitlink 13.0, but")


@pytest.mark.parametrize(
    ("before", "after", "moved"),
    [
        (
            ("bitsandbytes==0.45.5", ANY_LINUX),
            BITSANDBYTES,
            ["  GPUs: no longer sm_50, sm_52"],
        ),
        (("libraft-cu13==26.8.0", ANY_LINUX), LIBRAFT, []),
        (("nvidia-cufft==12.4.0.43", ARM), CUFFT, []),
    ],
    ids=["bitsandbytes", "libraft", "cuFFT"],
)
def test_on_the_next_release_init_shows_what_moved(
    before: tuple[str, tuple[str, ...]],
    after: tuple[str, tuple[str, ...]],
    moved: list[str],
    capsys: Captured,
) -> None:
    assert run(["init", str(wheel_of(*before))]) == 0
    capsys.readouterr()
    assert run(["init", str(wheel_of(*after))]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1 : 1 + len(moved)] == moved
    assert moved or lines == ["ltocompat.toml exists, and these packages still pass it"]
